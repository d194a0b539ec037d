/*
 * test_shapes.c: whatever shape a call has, its answer is the reference's.
 *
 * Rows with gaps and in slabs, chunk lists, asynchronous and approximate plans, host memory at every address, both
 * shapes of the filter, work-groups of 1, 3, 100 and the largest; see scene.h for what is judged.  --long runs the
 * large shapes and 2000 calls of the statistics; --small, for slow devices, 20 instead of the default's 200 and no
 * rows of more than 2^20 elements in all.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/inputs.h"
#include "support/reference.h"

static struct test_options options;

/* ---- rows ---- */

struct row_shape {
    uint64_t rows, n, k, gap;
    uint32_t type, order, sort, distribution;
    bool long_only;
};

static const struct row_shape row_shapes[] = {
    {70001, 4, 2, 0, PROFK_F32, PROFK_LARGEST, PROFK_SORT_RANK, INPUTS_NORMAL, false},
    {70001, 4, 4, 3, PROFK_U8, PROFK_SMALLEST, PROFK_SORT_INDEX, INPUTS_PATTERNS, true},
    {100000, 20, 5, 1, PROFK_F16, PROFK_SMALLEST, PROFK_SORT_RANK, INPUTS_NAN, false},
    {100000, 20, 1, 0, PROFK_I64, PROFK_MAGNITUDE, PROFK_SORT_NONE, INPUTS_SIGNED_ZEROS, true},
    {1000000, 20, 7, 2, PROFK_F32, PROFK_MAGNITUDE, PROFK_SORT_RANK, INPUTS_NORMAL, true},
    {10000, 100, 8, 1, PROFK_F32, PROFK_LARGEST, PROFK_SORT_RANK, INPUTS_NARROW, false},
    {10000, 33, 3, 0, PROFK_F32, PROFK_SMALLEST, PROFK_SORT_INDEX, INPUTS_RELU, false},
    {473, 135, 20, 13, PROFK_BF16, PROFK_MAGNITUDE, PROFK_SORT_INDEX, INPUTS_NAN, false},
    {473, 135, 135, 0, PROFK_F64, PROFK_LARGEST, PROFK_SORT_RANK, INPUTS_DENORMAL, false},
    {6, 131072, 100, 5, PROFK_F32, PROFK_LARGEST, PROFK_SORT_RANK, INPUTS_NORMAL, false},
    {6, 131072, 100, 0, PROFK_F32, PROFK_SMALLEST, PROFK_SORT_INDEX, INPUTS_SIGNED_ZEROS, false},
    {6, 131072, 100, 1, PROFK_U16, PROFK_LARGEST, PROFK_SORT_NONE, INPUTS_ZERO_ONE, false},
    {512, 131072, 100, 0, PROFK_F32, PROFK_LARGEST, PROFK_SORT_RANK, INPUTS_NORMAL, true},
    {512, 131072, 100, 0, PROFK_F32, PROFK_LARGEST, PROFK_SORT_RANK, INPUTS_EQUAL, true},
    {512, 131072, 100, 7, PROFK_F32, PROFK_LARGEST, PROFK_SORT_RANK, INPUTS_ZERO_ONE, true},
    {16, 300000, 1000, 17, PROFK_I32, PROFK_MAGNITUDE, PROFK_SORT_RANK, INPUTS_NORMAL, false},
    {16, 300000, 3000, 0, PROFK_U64, PROFK_SMALLEST, PROFK_SORT_INDEX, INPUTS_NARROW, true},
};

static void rows_on_every_route(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof row_shapes / sizeof *row_shapes; i++) {
        const struct row_shape *r = &row_shapes[i];
        struct spec spec = {.c = {.type = r->type,
                                  .order = r->order,
                                  .nan = i % 2 ? PROFK_NAN_LAST : PROFK_NAN_LARGEST,
                                  .sort = r->sort,
                                  .index = i % 2 ? PROFK_INDEX_U32 : PROFK_INDEX_U64,
                                  .distribution = r->distribution,
                                  .n = r->n,
                                  .k = r->k,
                                  .seed = inputs_mix(options.seed, i)},
                            .rows = r->rows,
                            .gap = r->gap};
        struct scene s;

        if ((r->long_only && !options.long_run) || (options.small && r->rows * r->n > 1 << 20))
            continue;
        scene_open(&s, &spec);
        for (spec.c.route = PROFK_ROUTE_AUTO; spec.c.route <= PROFK_ROUTE_FULL; spec.c.route++)
            for (spec.flags = 0; spec.flags <= PROFK_ASYNC; spec.flags += PROFK_ASYNC)
                if (spec.flags == 0 || i % 2 == 0 || options.long_run)
                    assert_true(run(&s, &spec));
        scene_close(&s);
    }
}

/* A small workspace limit makes slabs, and slabs change nothing. */
static void slabs_change_nothing(void **state)
{
    static const uint32_t routes[] = {PROFK_ROUTE_AUTO, PROFK_ROUTE_ROWS, PROFK_ROUTE_PROFK, PROFK_ROUTE_FULL};
    struct spec spec = {
        .c = {.type = PROFK_F32, .distribution = INPUTS_NARROW, .n = 300, .k = 7}, .rows = 701, .gap = 5};
    struct scene s;
    profk_info whole;

    (void)state;
    spec.c.seed = options.seed;
    scene_open(&s, &spec);
    for (size_t i = 0; i < 4; i++)
        for (uint64_t share = 1; share <= 300; share = share * 7 + 1) {
            spec.c.route = routes[i];
            spec.flags = share == 8 ? PROFK_ASYNC : 0;
            spec.limit_nbytes = 0;
            profk_plan_destroy(plan_of(&spec, &whole));
            assert_int_equal(whole.slabs, 1);
            spec.limit_nbytes = whole.workspace_nbytes / share + 4096;
            assert_true(run(&s, &spec));
            assert_true(s.info.workspace_nbytes <= spec.limit_nbytes);
            if (share > 8 && (routes[i] == PROFK_ROUTE_PROFK || routes[i] == PROFK_ROUTE_FULL))
                assert_true(s.info.slabs > 2);
        }
    scene_close(&s);
}

/* Parameters that miss often: some rows are done at once, some late, some by the full selection. */
static void missed_rows_are_redrawn(void **state)
{
    static const profk_tuning forced[] = {
        {.S = 200, .t = 2, .M = 400}, {.S = 200, .t = 3, .M = 120}, {.S = 500, .t = 6, .M = 60},
        {.S = 64, .M = 400},          {.S = 5000, .t = 49},         {.S = 5000, .t = 51, .M = 60, .count_start = 61}};
    uint32_t seeds = options.long_run ? 10 : 2;

    (void)state;
    for (uint32_t i = 0; i < seeds * 6; i++) {
        struct spec spec = {.c = {.type = i % 2 ? PROFK_F32 : PROFK_U8,
                                  .order = i % 3,
                                  .sort = i / 2 % 3,
                                  .route = PROFK_ROUTE_PROFK,
                                  .distribution = i % 4 ? INPUTS_NORMAL : INPUTS_EQUAL,
                                  .n = 5000,
                                  .k = 50,
                                  .seed = inputs_mix(options.seed, i)},
                            .rows = 120,
                            .gap = i % 5,
                            .epsilon = 0.3,
                            .limit_nbytes = i % 2 ? 1 << 19 : 0,
                            .forced = forced[i % 6]};
        struct scene s;

        scene_open(&s, &spec);
        for (spec.flags = 0; spec.flags <= PROFK_ASYNC; spec.flags += PROFK_ASYNC)
            for (spec.forced.filter_shape = PROFK_SHAPE_TILE; spec.forced.filter_shape <= PROFK_SHAPE_STREAM;
                 spec.forced.filter_shape++) {
                assert_true(run(&s, &spec));
                assert_true(s.stats.redraws > 0 || i % 6 == 3);
                if (spec.forced.t == 49)
                    assert_int_equal(s.stats.fallbacks, 120);
                if (spec.forced.t == 51)
                    assert_int_equal(s.stats.redraws, 120);
            }
        scene_close(&s);
    }
}

/* ---- chunks ---- */

/* Both routes, exact and asynchronous, both shapes, and some work-group sizes over one list of chunks. */
static void try_chunks(struct scene *s, const struct tiling *t, const uint32_t *sizes, size_t size_count)
{
    struct spec spec = s->s;

    for (size_t i = 0; i < size_count * 2; i++)
        for (uint32_t shape = PROFK_SHAPE_TILE; shape <= PROFK_SHAPE_STREAM; shape++)
            for (spec.flags = 0; spec.flags <= PROFK_ASYNC; spec.flags += PROFK_ASYNC) {
                spec.c.route = i % 2 ? PROFK_ROUTE_PROFK : PROFK_ROUTE_FULL;
                if (i % 2 == 0 && shape == PROFK_SHAPE_STREAM)
                    continue;
                spec.forced.filter_shape = shape;
                force_work_group(&spec.forced, sizes[i / 2]);
                assert_true(run_chunks(s, &spec, t->chunk, t->count));
            }
}

static void chunks_and_work_groups_change_nothing(void **state)
{
    static const size_t pieces[] = {1, 2, 7};
    static const uint32_t types[] = {PROFK_F32, PROFK_U8, PROFK_F64, PROFK_BF16};
    const uint32_t sizes[] = {1, 3, 100, largest_work_group()};
    const uint32_t rounds = options.long_run ? 4 : 1;

    (void)state;
    for (uint32_t i = 0; i < rounds * 3; i++) {
        const struct spec spec = {.c = {.type = types[(i + i / 3) % 4],
                                        .order = i % 3,
                                        .sort = i % 2,
                                        .distribution = i % 2 ? INPUTS_EQUAL : INPUTS_NAN,
                                        .n = 20011,
                                        .k = 700,
                                        .seed = inputs_mix(options.seed, i)},
                                  .rows = 1};
        struct tiling t;
        struct scene s;

        scene_open(&s, &spec);
        tiling_open(&t, &s, pieces[i % 3], spec.c.seed);
        try_chunks(&s, &t, sizes, 4);
        tiling_close(&t);
        scene_close(&s);
    }
}

/* As many chunks as elements, and chunks of every type. */
static void chunks_of_one_element(void **state)
{
    static const uint32_t automatic = 0;

    (void)state;
    for (uint32_t type = PROFK_F32; type <= PROFK_U64; type++) {
        const struct spec spec = {.c = {.type = type,
                                        .order = type % 3,
                                        .sort = type % 2,
                                        .index = type % 2,
                                        .distribution = INPUTS_SIGNED_ZEROS,
                                        .n = 53,
                                        .k = 17,
                                        .seed = inputs_mix(options.seed, type)},
                                  .rows = 1};
        struct tiling t;
        struct scene s;

        scene_open(&s, &spec);
        for (size_t pieces = 53; pieces > 0; pieces /= 4) {
            tiling_open(&t, &s, pieces, spec.c.seed);
            try_chunks(&s, &t, &automatic, 1);
            tiling_close(&t);
        }
        scene_close(&s);
    }
}

/* A row that is one place of one buffer, several times over: equal values at equal distances. */
static void the_same_place_again(void **state)
{
    enum { TIMES = 5, PART = 4099 };
    struct spec spec = {.c = {.type = PROFK_F32, .distribution = INPUTS_NAN, .n = TIMES * PART, .k = 901}, .rows = 1};
    struct tiling t = {.count = TIMES};
    struct scene s;

    (void)state;
    spec.c.seed = options.seed;
    scene_open(&s, &spec);
    for (size_t i = 1; i < TIMES; i++)
        memcpy(s.x + i * PART * s.element, s.x, PART * s.element);
    assert_true(reference_rank(spec.c.type, 0, 0, s.x, TIMES * PART, (size_t)spec.c.k, s.ranked));
    for (size_t i = 0; i < TIMES; i++)
        t.chunk[i] = (profk_chunk){.buffer = s.input, .offset = s.offset, .count = PART, .first = i * PART};
    try_chunks(&s, &t, &(uint32_t){0}, 1);
    scene_close(&s);
}

/* ---- asynchronous ---- */

static cl_int state_of(cl_event event)
{
    cl_int state = CL_QUEUED;

    must(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    return state;
}

/* The input arrives behind `gate`; returns the event of its arrival. */
static cl_event write_behind(const struct scene *s, cl_command_queue queue, cl_event gate)
{
    static const unsigned char zero = 0;
    cl_event written = NULL;

    must(clEnqueueFillBuffer(aside, s->input, &zero, 1, 0, s->image_nbytes, 0, NULL, NULL));
    must(clFinish(aside));
    must(clEnqueueWriteBuffer(queue, s->input, CL_FALSE, 0, s->image_nbytes, s->image, 1, &gate, &written));
    must(clFlush(queue));
    return written;
}

/* What a forced miss must come to. */
struct rung {
    profk_tuning forced;
    uint32_t attempts;
};

enum { ASYNC_N = 30000, ASYNC_K = 200 };

static const struct rung rungs[] = {
    {{0}, 0},
    {{.S = ASYNC_N, .t = 300, .M = 400}, 1},
    {{.S = ASYNC_N, .t = 300, .M = 400, .count_start = 401}, 2},
    {{.S = ASYNC_N, .t = 300, .M = 400, .count_start = UINT32_MAX - 50}, 2},
    {{.S = ASYNC_N, .t = ASYNC_K - 1}, 3},
    {{.S = ASYNC_N, .t = 401, .M = 400}, 3},
};

static struct spec async_spec(uint32_t i)
{
    const struct spec spec = {.c = {.type = i % 2 ? PROFK_F32 : PROFK_I16,
                                    .sort = i % 3,
                                    .route = PROFK_ROUTE_PROFK,
                                    .distribution = INPUTS_NORMAL,
                                    .n = ASYNC_N,
                                    .k = ASYNC_K,
                                    .seed = inputs_mix(options.seed, i)},
                              .rows = 1 + i % 3,
                              .flags = PROFK_ASYNC};

    return spec;
}

static bool attempts_are(const struct scene *s, uint32_t attempts)
{
    for (size_t row = 0; attempts && row < s->s.rows; row++)
        if (row_of(s, row).attempts != attempts)
            return complain(&s->s.c, "row %zu has %" PRIu32 " attempts, not %" PRIu32, row, row_of(s, row).attempts,
                            attempts);
    return true;
}

/* Between an event that must come before and a copy that waits for the call: nothing runs early, nothing blocks. */
static bool run_gated(struct scene *s, cl_command_queue queue, cl_command_queue other)
{
    const size_t nbytes = out_nbytes(s, OUT_VALUES);
    profk_plan *plan = plan_of(&s->s, &s->info);
    cl_int code;
    cl_event gate = clCreateUserEvent(fixture.cl, &code), done = NULL, copied = NULL, written;
    cl_mem copy = make_buffer(nbytes, NULL);
    unsigned char *got = room(nbytes);
    profk_chunk chunk;
    const profk_io io = io_of(s, &chunk);
    bool ok;

    must(code);
    clear_outputs(s);
    written = write_behind(s, other, gate);
    ok = execute(&s->s.c, plan, queue, &io, &written, &done);
    assert_true(ok);
    assert_true(state_of(done) > CL_COMPLETE);
    must(clEnqueueCopyBuffer(other, s->out[OUT_VALUES], copy, 0, 0, nbytes, 1, &done, &copied));
    must(clFlush(other));
    must(clSetUserEventStatus(gate, CL_COMPLETE));
    must(clEnqueueReadBuffer(other, copy, CL_TRUE, 0, nbytes, got, 1, &copied, NULL));
    assert_int_equal(state_of(done), CL_COMPLETE);
    s->stats.calls = 0; /* seen only through the event and row_results */
    ok = judge(s);
    assert_memory_equal(got, s->got[OUT_VALUES], nbytes);
    must(clReleaseEvent(gate));
    must(clReleaseEvent(written));
    must(clReleaseEvent(copied));
    must(clReleaseEvent(done));
    must(clReleaseMemObject(copy));
    free(got);
    profk_plan_destroy(plan);
    return ok;
}

static void async_calls_keep_to_events(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 6 * 4; i++) {
        struct spec spec = async_spec(i);
        struct scene s;

        spec.forced = rungs[i % 6].forced;
        spec.forced.filter_shape = i / 4 % 2 ? PROFK_SHAPE_TILE : PROFK_SHAPE_STREAM;
        scene_open(&s, &spec);
        assert_true(run_gated(&s, fixture.queues[i / 6 % 2], fixture.queues[i / 12 % 2]));
        assert_true(attempts_are(&s, rungs[i % 6].attempts));
        scene_close(&s);
    }
}

static void async_on_the_other_routes(void **state)
{
    static const uint32_t routes[] = {PROFK_ROUTE_AUTO, PROFK_ROUTE_ROWS, PROFK_ROUTE_FULL};

    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        struct spec spec = async_spec(i);
        struct scene s;

        spec.c.route = routes[i % 3];
        scene_open(&s, &spec);
        assert_true(run_gated(&s, fixture.queues[i / 3], fixture.queues[1]));
        scene_close(&s);
        spec.c.k = 0;
        scene_open(&s, &spec);
        assert_true(run_gated(&s, fixture.queues[i / 3], fixture.queues[1]));
        scene_close(&s);
    }
}

/*
 * Opens the gate of one of two calls, then that of the other.  The second call must not run before both are open: it
 * waits for its own input and for the first call, whose workspace it uses.
 */
static void open_gates(const cl_event *gate, const cl_event *done, size_t first)
{
    const struct timespec while_it_could_run = {.tv_nsec = 20 * 1000 * 1000};
    bool waits;

    must(clSetUserEventStatus(gate[first], CL_COMPLETE));
    if (first == 0)
        must(clWaitForEvents(1, &done[0]));
    nanosleep(&while_it_could_run, NULL);
    waits = state_of(done[1]) > CL_COMPLETE;
    must(clSetUserEventStatus(gate[1 - first], CL_COMPLETE)); /* whatever it found: nothing may wait for ever */
    assert_true(waits);
}

/* Two calls of one plan over different inputs, both made before the first can start; the plan goes while they run. */
static void async_calls_back_to_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 12; i++) {
        struct spec spec = async_spec(i);
        profk_info info = {0};
        struct scene s[2];
        cl_event written[2], done[2] = {NULL, NULL}, gate[2];
        profk_plan *plan;

        spec.forced = rungs[i % 6].forced;
        plan = plan_of(&spec, &info);
        for (size_t j = 0; j < 2; j++) {
            profk_chunk chunk;
            profk_io io;

            gate[j] = clCreateUserEvent(fixture.cl, NULL);
            spec.c.seed = inputs_mix(spec.c.seed, j);
            scene_open(&s[j], &spec);
            s[j].info = info;
            clear_outputs(&s[j]);
            written[j] = write_behind(&s[j], fixture.queues[1 - j], gate[j]);
            io = io_of(&s[j], &chunk);
            assert_true(execute(&spec.c, plan, fixture.queues[(i / 6 + j) % 2], &io, &written[j], &done[j]));
        }
        open_gates(gate, done, (i + i / 6) % 2);
        profk_plan_destroy(plan);
        for (size_t j = 0; j < 2; j++) {
            wait_and_release(done[j]);
            must(clReleaseEvent(written[j]));
            must(clReleaseEvent(gate[j]));
            assert_true(judge(&s[j]));
            assert_true(attempts_are(&s[j], rungs[i % 6].attempts));
            scene_close(&s[j]);
        }
    }
}

/* Statistics wait for the call, and after a second one they count both. */
static void async_statistics_wait(void **state)
{
    struct spec spec = async_spec(2);
    struct scene s;
    profk_plan *plan;
    profk_chunk chunk;
    profk_io io;
    cl_event done = NULL;

    (void)state;
    spec.forced = rungs[4].forced;
    scene_open(&s, &spec);
    plan = plan_of(&spec, &s.info);
    io = io_of(&s, &chunk);
    clear_outputs(&s);
    assert_true(execute(&spec.c, plan, fixture.queues[0], &io, NULL, &done));
    settle(&s, plan);
    assert_int_equal(state_of(done), CL_COMPLETE);
    must(clReleaseEvent(done));
    assert_true(judge(&s));
    assert_int_equal(s.stats.last_route, PROFK_ROUTE_FULL);
    for (uint64_t calls = 2; calls < 5; calls++) {
        assert_true(execute(&spec.c, plan, fixture.queues[calls % 2], &io, NULL, NULL));
        settle(&s, plan);
        assert_int_equal(s.stats.calls, calls);
        assert_int_equal(s.stats.rows, calls * spec.rows);
        assert_int_equal(s.stats.attempts, 2 * calls * spec.rows);
        assert_int_equal(s.stats.recall_misses, 2 * calls * spec.rows);
        assert_int_equal(s.stats.fallbacks, calls * spec.rows);
    }
    profk_plan_destroy(plan);
    scene_close(&s);
}

/* Replaces a buffer by a part of a larger one with the same content. */
static void become_part(cl_mem *buffer, size_t nbytes, size_t align)
{
    const cl_buffer_region region = {align, nbytes};
    cl_mem whole = make_buffer(align + nbytes + align, NULL), part;
    cl_int code;

    part = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    must(code);
    must(clEnqueueCopyBuffer(aside, *buffer, part, 0, 0, nbytes, 0, NULL, NULL));
    must(clFinish(aside));
    must(clReleaseMemObject(whole));
    must(clReleaseMemObject(*buffer));
    *buffer = part;
}

static void parts_of_buffers(void **state)
{
    cl_uint align_bits = 0;

    (void)state;
    must(clGetDeviceInfo(fixture.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align_bits, &align_bits, NULL));
    for (uint32_t i = 0; i < 12; i++) {
        struct spec spec = async_spec(i);
        struct scene s;

        spec.c.route = i % 4;
        spec.flags = i / 4 % 2 ? PROFK_ASYNC : 0;
        scene_open(&s, &spec);
        become_part(&s.input, s.image_nbytes, align_bits / 8);
        for (size_t j = 0; j < OUTPUTS; j++)
            become_part(&s.out[j], out_nbytes(&s, j), align_bits / 8);
        assert_true(run(&s, &spec));
        scene_close(&s);
    }
}

/* ---- approximate ---- */

/* Rows that miss either way, and rows that do not, in every output order. */
static void approximate_rows_say_what_they_are(void **state)
{
    enum { N = 3001, K = 40 };
    static const profk_tuning forced[] = {{.S = N, .t = K - 1},       {.S = N, .t = 1},
                                          {.S = N, .t = K, .M = K},   {.S = N, .t = K + 1, .M = K},
                                          {.S = N, .t = N, .M = 100}, {.S = N, .t = 60, .M = 64},
                                          {.S = 150, .t = 2},         {.S = 150, .t = 2, .M = 41},
                                          {.S = 150, .t = 3, .M = 55}};
    static const uint32_t types[] = {PROFK_F32, PROFK_F16, PROFK_U8, PROFK_I64};
    static const uint32_t distributions[] = {INPUTS_NORMAL, INPUTS_EQUAL, INPUTS_NAN, INPUTS_ZERO_ONE};

    (void)state;
    for (uint32_t i = 0; i < 12; i++) {
        struct spec spec = {.c = {.type = types[i % 4],
                                  .order = i % 3,
                                  .sort = i / 4,
                                  .nan = i % 2,
                                  .index = i / 2 % 2,
                                  .route = PROFK_ROUTE_PROFK,
                                  .distribution = distributions[i / 3],
                                  .n = N,
                                  .k = K,
                                  .seed = inputs_mix(options.seed, i)},
                            .rows = 1 + i * 3,
                            .mode = PROFK_MODE_APPROXIMATE};
        struct scene s;

        scene_open(&s, &spec);
        for (size_t j = 0; j < sizeof forced / sizeof *forced; j++) {
            spec.forced = forced[j];
            spec.forced.filter_shape = (i + j) % 2 ? PROFK_SHAPE_TILE : PROFK_SHAPE_STREAM;
            spec.flags = j / 2 % 2 ? PROFK_ASYNC : 0;
            assert_true(run(&s, &spec));
        }
        scene_close(&s);
    }
}

static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Whether `count` successes of `trials` lie where all but 0.05 % on either side do. */
static bool is_likely(const char *what, uint64_t count, uint64_t trials, double p)
{
    const double n = (double)trials;
    double below = 0, at = 0; /* Pr(X < count), Pr(X = count) */
    bool ok = count == 0;

    for (uint64_t j = 0; p > 0 && j <= count; j++) {
        below += at;
        at = exp(log_choose(n, (double)j) + (double)j * log(p) + (n - (double)j) * log1p(-p));
    }
    if (p > 0)
        ok = below + at >= 0.0005 && 1 - below >= 0.0005;
    fprintf(stderr, "    %s: %" PRIu64 " of %" PRIu64 ", p = %.6f%s\n", what, count, trials, p,
            ok ? "" : "  OUTSIDE 99.9 %");
    return ok;
}

/* The standard deviation of min(R, k)/k: E[min(R, k)^2] is the sum over j < k of (2j + 1) Pr(R > j). */
static double deviation_of_recall(const struct spec *spec, const profk_info *info)
{
    const double k = (double)spec->c.k;
    double mean = 1, square = 1; /* j = 0 */

    for (uint64_t j = 1; j < spec->c.k; j++) {
        double recall_miss, above; /* Pr(R > j) */

        assert_int_equal(profk_failure_probability(spec->c.n, 1, info->S, info->t, j, &recall_miss, &above),
                         PROFK_OK);
        mean += above;
        square += (2 * (double)j + 1) * above;
    }
    return sqrt(fmax(0, square - mean * mean)) / k;
}

/* Whether the mean of min(R, k)/k is within three standard errors of the prediction. */
static bool recall_is_predicted(const profk_row *rows, uint64_t count, const struct spec *spec,
                                const profk_info *info)
{
    const double k = (double)spec->c.k, error = deviation_of_recall(spec, info) / sqrt((double)count);
    double sum = 0, predicted = 0, mean;
    bool ok;

    for (uint64_t i = 0; i < count; i++)
        sum += rows[i].R < spec->c.k ? (double)rows[i].R / k : 1;
    mean = sum / (double)count;
    assert_int_equal(profk_expected_recall(spec->c.n, spec->c.k, info->S, info->t, &predicted), PROFK_OK);
    ok = fabs(mean - predicted) <= 3 * error && predicted >= spec->recall;
    fprintf(stderr, "    recall %.5f, predicted %.5f, standard error %.5f%s\n", mean, predicted, error,
            ok ? "" : "  WRONG");
    return ok;
}

/* Many calls one behind the other, each with a row result of its own. */
static void many_calls(struct scene *s, profk_row *rows, uint64_t calls)
{
    profk_plan *plan = plan_of(&s->s, &s->info);
    cl_mem results = make_buffer((size_t)calls * sizeof *rows, NULL);
    profk_chunk chunk;
    profk_io io = io_of(s, &chunk);

    io.row_results = results;
    io.values = io.indices = NULL;
    for (io.row_results_offset = 0; io.row_results_offset < calls; io.row_results_offset++)
        assert_true(execute(&s->s.c, plan, fixture.queues[0], &io, NULL, NULL));
    settle(s, plan);
    must(clEnqueueReadBuffer(fixture.queues[0], results, CL_TRUE, 0, (size_t)calls * sizeof *rows, rows, 0, NULL,
                             NULL));
    must(clReleaseMemObject(results));
    profk_plan_destroy(plan);
}

static bool law_holds(const struct spec *spec, uint64_t calls)
{
    profk_row *rows = room((size_t)calls * sizeof *rows);
    uint64_t misses = 0, overflows = 0;
    struct scene s;
    bool ok = true;

    scene_open(&s, spec);
    many_calls(&s, rows, calls);
    for (uint64_t i = 0; i < calls; i++) {
        ok = judge_fate(&s, &rows[i]) && ok;
        misses += rows[i].status == PROFK_ROW_RECALL_MISS;
        overflows += rows[i].status == PROFK_ROW_OVERFLOW;
    }
    fprintf(stderr, "recall %g, epsilon %g: S=%" PRIu64 " t=%" PRIu64 " M=%" PRIu64 "\n", spec->recall, spec->epsilon,
            s.info.S, s.info.t, s.info.M);
    ok = s.stats.recall_misses == misses && s.stats.overflows == overflows && s.stats.attempts == calls && ok;
    ok = is_likely("recall misses", misses, calls, s.info.fail_recall) && ok;
    ok = is_likely("overflows", overflows, calls, s.info.fail_overflow) && ok;
    ok = recall_is_predicted(rows, calls, spec, &s.info) && ok;
    scene_close(&s);
    free(rows);
    return ok;
}

static void approximate_recall_is_as_predicted(void **state)
{
    static const double recall[] = {0.5, 0.9, 0.99, 0, 0};
    static const double epsilon[] = {0, 0, 0, 0.5, 0.02};
    const uint64_t calls = options.long_run ? 2000 : options.small ? 20 : 200;
    bool ok = true;

    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        const struct spec spec = {.c = {.type = PROFK_F32,
                                        .route = PROFK_ROUTE_PROFK,
                                        .distribution = i % 2 ? INPUTS_ZERO_ONE : INPUTS_NORMAL,
                                        .n = 1 << 20,
                                        .k = 1 << 11,
                                        .seed = inputs_mix(options.seed, 100 + i)},
                                  .rows = 1,
                                  .mode = PROFK_MODE_APPROXIMATE,
                                  .recall = recall[i],
                                  .epsilon = epsilon[i],
                                  .forced = {.S = 8192}};

        ok = law_holds(&spec, calls) && ok;
    }
    assert_true(ok);
}

/* ---- host memory ---- */

/* The rows of a scene from host memory that starts `at` bytes behind an aligned place. */
static bool run_host(struct scene *s, unsigned char *memory, size_t at)
{
    const size_t nbytes = (size_t)((s->s.rows - 1) * s->stride + s->s.c.n) * s->element;
    const profk_problem p = problem_of(&s->s);
    profk_status st;

    for (size_t i = 0; i < OUTPUTS; i++)
        memset(s->got[i], CANARY, out_nbytes(s, i));
    inputs_guard(s->s.c.type, at / s->element, memory + at % s->element);
    memcpy(memory + at, s->x, nbytes);
    inputs_guard(s->s.c.type, 64 / s->element, memory + at + nbytes);
    s->stats.struct_size = sizeof s->stats;
    st = profk_topk_host(fixture.ctx, &p, memory + at, got_element(s, OUT_VALUES, 0), got_element(s, OUT_INDICES, 0),
                         (profk_row *)(void *)got_element(s, OUT_ROW, 0), &s->stats);
    if (st != PROFK_OK)
        return complain(&s->s.c, "profk_topk_host: %s: %s", profk_status_string(st),
                        profk_context_message(fixture.ctx));
    if (memcmp(memory + at, s->x, nbytes) != 0)
        return complain(&s->s.c, "the input changed");
    for (size_t row = 0; row < s->s.rows; row++)
        if (!judge_row(s, row))
            return complain(&s->s.c, "row %zu, %zu bytes behind an aligned place", row, at);
    return judge_sums(s);
}

static void host_memory_at_every_address(void **state)
{
    (void)state;
    for (uint32_t type = PROFK_F32; type <= PROFK_U64; type++) {
        struct spec spec = {.c = {.type = type,
                                  .order = type % 3,
                                  .sort = type % 2,
                                  .index = type / 2 % 2,
                                  .distribution = INPUTS_NAN,
                                  .n = 1237,
                                  .k = 11,
                                  .seed = inputs_mix(options.seed, type)},
                            .rows = type % 2 ? 1 : 3,
                            .gap = type % 2 ? 0 : 7,
                            .epsilon = 0.1};
        unsigned char *whole, *memory;
        struct scene s;

        scene_open(&s, &spec);
        whole = room(s.image_nbytes + 8192);
        memory = whole + (0 - (uintptr_t)whole) % 4096;
        for (size_t at = 0; at < 64; at += s.element) {
            const size_t turn = at / s.element;

            s.s.c.route = (uint32_t)turn % 4;
            s.s.mode = turn / 4 % 2 && s.s.c.route >= PROFK_ROUTE_PROFK ? PROFK_MODE_APPROXIMATE : PROFK_MODE_EXACT;
            profk_plan_destroy(plan_of(&s.s, &s.info));
            assert_true(run_host(&s, memory, at));
        }
        free(whole);
        scene_close(&s);
    }
}

/* ---- the test on raw bits ---- */

enum { MOST_SPECIAL = 64, SPECIAL_N = 1500, SPECIAL_T = 5, SPECIAL_K = 3 };

static size_t add_special(uint32_t type, uint64_t bits, uint64_t *special, size_t count)
{
    const unsigned width = (unsigned)reference_type(type)->nbytes * 8;

    special[count] = width < 64 ? bits & (((uint64_t)1 << width) - 1) : bits;
    return count + 1;
}

/* Where orders of bits and orders of values part: the ends of every range, its neighbours, both signs, NaN. */
static size_t special_values(uint32_t type, uint64_t *special)
{
    const unsigned width = (unsigned)reference_type(type)->nbytes * 8;
    const uint64_t sign = (uint64_t)1 << (width - 1);
    size_t count = 0;

    for (uint64_t side = 0; side < 2; side++) {
        for (uint64_t i = 0; i < 3; i++) {
            count = add_special(type, side * sign + i, special, count);            /* zeros, denormals; 0, 1, least */
            count = add_special(type, side * sign + sign - 1 - i, special, count); /* NaN; the greatest */
        }
        if (reference_type(type)->kind != REFERENCE_REAL) {
            count = add_special(type, side * sign + (sign >> 1), special, count);
            continue;
        }
        const uint64_t infinity = inputs_encode(type, (double)INFINITY), one = inputs_encode(type, 1);
        const uint64_t least_normal = infinity & (0 - infinity); /* the exponent's lowest bit */

        for (uint64_t i = 0; i < 4; i++)
            count = add_special(type, side * sign + infinity + i - 1, special, count); /* greatest, infinity, NaN */
        for (uint64_t i = 0; i < 3; i++) {
            count = add_special(type, side * sign + least_normal + i - 1, special, count);
            count = add_special(type, side * sign + one + i - 1, special, count);
        }
        count = add_special(type, side * sign + (infinity | infinity >> 1), special, count); /* quiet NaN */
    }
    return count;
}

/*
 * Row `row` of the scene: SPECIAL_T elements from before a cut in the ranked special values, the rest from behind it,
 * both mostly from right at the cut.  The rank of the last of the SPECIAL_T is then t, whatever is equal to what.
 */
static void fill_special_row(struct scene *s, size_t row, const uint64_t *special, const uint32_t *rank, size_t count)
{
    const struct test_case *c = &s->s.c;
    unsigned char *x = s->x + row * s->stride * s->element;
    const size_t cut = 1 + row % (count - 1);
    uint64_t random = inputs_mix(c->seed, row);

    for (size_t i = 0; i < c->n; i++) {
        const size_t behind = count - cut, reach = inputs_random(&random) % 4 ? 1 : behind;

        reference_store(c->type, x, i, special[rank[cut + inputs_random(&random) % reach]]);
    }
    for (size_t i = 0; i < SPECIAL_T; i++) {
        const size_t reach = inputs_random(&random) % 2 ? 1 : cut;

        reference_store(c->type, x, (size_t)(inputs_random(&random) % c->n),
                        special[rank[cut - 1 - inputs_random(&random) % reach]]);
    }
    assert_true(reference_rank(c->type, c->order, c->nan, x, (size_t)c->n, (size_t)c->k, s->ranked + row * c->k));
}

static void fill_special(struct scene *s)
{
    const struct test_case *c = &s->s.c;
    uint64_t special[MOST_SPECIAL], packed[MOST_SPECIAL];
    uint32_t rank[MOST_SPECIAL];
    const size_t count = special_values(c->type, special);

    for (size_t i = 0; i < count; i++)
        reference_store(c->type, packed, i, special[i]);
    assert_true(reference_rank(c->type, c->order, c->nan, packed, count, count, rank));
    inputs_guard(c->type, s->image_nbytes / s->element, s->image);
    for (size_t row = 0; row < s->s.rows; row++)
        fill_special_row(s, row, special, rank, count);
    s->input = make_buffer(s->image_nbytes, s->image);
}

/*
 * With a sample that is the whole input the threshold is the pair of rank t, and R is t: one element that the stream
 * shape skips wrongly makes R less.  judge_fate() sees that.
 */
static void no_shape_skips_what_passes(void **state)
{
    const uint32_t seeds = options.long_run ? 12 : 1;

    (void)state;
    for (uint32_t i = 0; i < REFERENCE_TYPES * 6 * seeds; i++) {
        struct spec spec = {.c = {.type = REFERENCE_FIRST_TYPE + i % REFERENCE_TYPES,
                                  .order = i / REFERENCE_TYPES % 3,
                                  .nan = i / REFERENCE_TYPES / 3 % 2,
                                  .sort = i % 2,
                                  .route = PROFK_ROUTE_PROFK,
                                  .distribution = INPUTS_DISTRIBUTIONS,
                                  .n = SPECIAL_N,
                                  .k = SPECIAL_K,
                                  .seed = inputs_mix(options.seed, i)},
                            .rows = 2 * MOST_SPECIAL,
                            .gap = i % 3,
                            .mode = PROFK_MODE_APPROXIMATE,
                            .forced = {.S = SPECIAL_N, .t = SPECIAL_T, .M = 64}};
        struct scene s;

        scene_lay_out(&s, &spec);
        fill_special(&s);
        for (spec.forced.filter_shape = PROFK_SHAPE_TILE; spec.forced.filter_shape <= PROFK_SHAPE_STREAM;
             spec.forced.filter_shape++)
            for (spec.forced.t = SPECIAL_K; spec.forced.t <= SPECIAL_T; spec.forced.t++)
                assert_true(run(&s, &spec));
        spec.forced = (profk_tuning){.S = 70, .filter_shape = PROFK_SHAPE_STREAM}; /* thresholds anywhere, redraws */
        spec.mode = PROFK_MODE_EXACT;
        spec.epsilon = 0.5;
        assert_true(run(&s, &spec));
        scene_close(&s);
    }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_shape_skips_what_passes),
        cmocka_unit_test(rows_on_every_route),
        cmocka_unit_test(slabs_change_nothing),
        cmocka_unit_test(missed_rows_are_redrawn),
        cmocka_unit_test(chunks_and_work_groups_change_nothing),
        cmocka_unit_test(chunks_of_one_element),
        cmocka_unit_test(the_same_place_again),
        cmocka_unit_test(async_calls_keep_to_events),
        cmocka_unit_test(async_on_the_other_routes),
        cmocka_unit_test(async_calls_back_to_back),
        cmocka_unit_test(async_statistics_wait),
        cmocka_unit_test(parts_of_buffers),
        cmocka_unit_test(approximate_rows_say_what_they_are),
        cmocka_unit_test(approximate_recall_is_as_predicted),
        cmocka_unit_test(host_memory_at_every_address),
    };
    int status;

    aside_open();
    status = cmocka_run_group_tests(tests, NULL, NULL);
    aside_close();
    return status;
}

int main(int argc, char **argv)
{
    return fixture_main(argc, argv, &options, &fixture, run_all);
}
