/*
 * test_launches.c: how many commands a call enqueues and where it waits, counted by support/layer.c.
 *
 * The number of kernel launches is that of the plan's promise and of a slab, not of its rows.  On a plan's second
 * call (f32, u32 indices, one row, one chunk, certified at the first attempt, k <= 2^11) an exact plan launches at
 * most 6 kernels on a CPU and 12 elsewhere, fills or copies at most 3 times and blocks once; an asynchronous one
 * does not block.  No second call allocates or compiles.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "profk.h"
#include "support/fixture.h"
#include "support/inputs.h"
#include "support/layer_log.h"

enum { SKIPPED = 77, MOST_N = 1 << 22, MOST_K = 1 << 16, MOST_ROWS = 2000 };

static const char log_path[] = PROFK_TEST_SCRATCH "/test_launches.log";
static struct fixture fixture;
static struct test_options options;
static cl_mem input, values, indices, row_results;

enum { LAUNCHES, TRANSFERS, WAITS, MAKINGS, KINDS };

/* Which kind of command each entry point is.  The library reads and maps with blocking calls only. */
static const struct {
    const char *name;
    unsigned kind;
} entries[] = {
    {"clEnqueueNDRangeKernel", LAUNCHES},
    {"clEnqueueTask", LAUNCHES},
    {"clEnqueueFillBuffer", TRANSFERS},
    {"clEnqueueCopyBuffer", TRANSFERS},
    {"clEnqueueMigrateMemObjects", TRANSFERS},
    {"clEnqueueReadBuffer", WAITS},
    {"clEnqueueWriteBuffer", WAITS},
    {"clEnqueueMapBuffer", WAITS},
    {"clWaitForEvents", WAITS},
    {"clFinish", WAITS},
    {"clCreateBuffer", MAKINGS},
    {"clCreateSubBuffer", MAKINGS},
    {"clCreateKernel", MAKINGS},
    {"clCreateProgramWithSource", MAKINGS},
    {"clBuildProgram", MAKINGS},
};

struct counts {
    uint64_t of[KINDS];
};

/* What the layer has counted so far: it writes its log when a context is released. */
static struct counts count(void)
{
    struct counts counts = {{0}};
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &fixture.device, NULL, NULL, &code);
    struct layer_log log;

    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clReleaseContext(context), CL_SUCCESS);
    assert_true(layer_log_read(&log, log_path));
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        counts.of[entries[i].kind] += layer_log_number(&log, entries[i].name);
    return counts;
}

static profk_problem problem(uint32_t route, uint64_t n, uint64_t k, uint64_t rows)
{
    profk_problem p;

    profk_problem_init(&p, sizeof p, PROFK_F32, n, k);
    p.index = PROFK_INDEX_U32;
    p.route = route;
    p.rows = rows;
    p.seed = options.seed;
    p.epsilon = 1e-6; /* certified at the first attempt */
    return p;
}

static profk_plan *make_plan(const profk_problem *p, uint32_t flags, profk_info *info)
{
    profk_plan *plan = NULL;
    const profk_status st = profk_plan_create(fixture.ctx, p, NULL, flags, &plan);

    if (st != PROFK_OK)
        fprintf(stderr, "profk_plan_create: %s\n", profk_context_message(fixture.ctx));
    assert_int_equal(st, PROFK_OK);
    info->struct_size = sizeof *info;
    assert_int_equal(profk_plan_info(plan, info), PROFK_OK);
    return plan;
}

static void call(profk_plan *plan, const profk_problem *p, cl_event *done)
{
    const profk_chunk chunk = {.buffer = input, .count = p->n};
    const profk_io io = {.struct_size = sizeof io,
                         .chunks = &chunk,
                         .chunk_count = 1,
                         .values = values,
                         .indices = indices,
                         .row_results = row_results};

    assert_int_equal(profk_execute(plan, fixture.queues[0], &io, 0, NULL, done), PROFK_OK);
}

/* What a plan's second call does until it returns; every row must be certified at the first attempt. */
static struct counts second_call(const profk_problem *p, uint32_t flags, profk_info *info)
{
    profk_plan *plan = make_plan(p, flags, info);
    profk_row *rows = calloc((size_t)p->rows, sizeof *rows);
    struct counts before, after;
    cl_event done = NULL;

    assert_non_null(rows);
    call(plan, p, NULL);
    before = count();
    call(plan, p, &done);
    after = count();
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    assert_int_equal(clReleaseEvent(done), CL_SUCCESS);
    assert_int_equal(clEnqueueReadBuffer(fixture.queues[0], row_results, CL_TRUE, 0, (size_t)p->rows * sizeof *rows,
                                         rows, 0, NULL, NULL),
                     CL_SUCCESS);
    for (size_t i = 0; i < p->rows; i++) {
        assert_int_equal(rows[i].status, PROFK_ROW_CERTIFIED);
        assert_int_equal(rows[i].attempts, 1);
    }
    for (size_t i = 0; i < KINDS; i++)
        after.of[i] -= before.of[i];
    profk_plan_destroy(plan);
    free(rows);
    return after;
}

static uint64_t most_launches(void)
{
    cl_device_type type = 0;

    assert_int_equal(clGetDeviceInfo(fixture.device, CL_DEVICE_TYPE, sizeof type, &type, NULL), CL_SUCCESS);
    return type & CL_DEVICE_TYPE_CPU ? 6 : 12;
}

static void say(const char *what, const profk_problem *p, const struct counts *c)
{
    fprintf(stderr,
            "%-12s n=%-8" PRIu64 " k=%-5" PRIu64 " rows=%-5" PRIu64 " sort=%" PRIu32 ": %" PRIu64
            " launches, %" PRIu64 " fills and copies, %" PRIu64 " waits\n",
            what, p->n, p->k, p->rows, p->sort, c->of[LAUNCHES], c->of[TRANSFERS], c->of[WAITS]);
}

static void second_calls_are_short(void **state)
{
    static const uint64_t sizes[][2] = {
        {1 << 22, 1 << 11}, {1 << 20, 1 << 11}, {1 << 20, 100}, {100000, 1}, {8192, 17}};

    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (uint32_t sort = PROFK_SORT_RANK; sort <= PROFK_SORT_NONE; sort++) {
            profk_problem p = problem(PROFK_ROUTE_PROFK, sizes[i][0], sizes[i][1], 1);
            profk_info info;
            struct counts c;

            p.sort = sort;
            c = second_call(&p, PROFK_ESTIMATE, &info);
            say("exact", &p, &c);
            assert_int_equal(c.of[LAUNCHES], info.kernel_launches);
            assert_int_equal(c.of[WAITS], info.blocking_calls);
            assert_in_range(c.of[LAUNCHES], 1, most_launches());
            assert_in_range(c.of[TRANSFERS], 0, 3);
            assert_int_equal(c.of[WAITS], 1);
            assert_int_equal(c.of[MAKINGS], 0);
        }
}

/* The longest single launch: the plan's own numbers, no memory needed. */
static void plans_for_the_longest_rows_promise_the_same(void **state)
{
    const profk_problem p = problem(PROFK_ROUTE_PROFK, (uint64_t)1 << 31, 1 << 11, 1);
    profk_info info;

    (void)state;
    profk_plan_destroy(make_plan(&p, PROFK_ESTIMATE, &info));
    assert_in_range(info.kernel_launches, 1, most_launches());
    assert_int_equal(info.blocking_calls, 1);
}

static void asynchronous_calls_do_not_wait(void **state)
{
    static const uint32_t routes[] = {PROFK_ROUTE_PROFK, PROFK_ROUTE_FULL, PROFK_ROUTE_ROWS};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (uint32_t mode = PROFK_MODE_EXACT; mode <= PROFK_MODE_APPROXIMATE; mode++) {
            profk_problem p = problem(routes[i], 1 << 17, 1 << 11, 1 + i);
            profk_info info;
            struct counts c;

            p.mode = mode;
            c = second_call(&p, PROFK_ASYNC, &info);
            say("asynchronous", &p, &c);
            assert_int_equal(c.of[WAITS], 0);
            assert_int_equal(c.of[MAKINGS], 0);
            assert_int_equal(info.blocking_calls, 0);
        }
}

/* Twice the rows, the same launches, as long as they fit into one slab. */
static void launches_do_not_depend_on_rows(void **state)
{
    static const uint64_t shapes[][3] = {
        {20, 5, 1000}, {135, 20, 200}, {5000, 50, 100}, {70000, 300, 8}, {4096, 3000, 9}};
    struct counts last[2] = {{{0}}};

    (void)state;
    for (uint32_t route = PROFK_ROUTE_ROWS; route <= PROFK_ROUTE_FULL; route++)
        for (size_t i = 0; i < 5; i++)
            for (uint64_t times = 1; times <= 2; times++)
                for (uint32_t flags = 0; flags <= PROFK_ASYNC; flags += PROFK_ASYNC) {
                    const profk_problem p = problem(route, shapes[i][0], shapes[i][1], shapes[i][2] * times);
                    profk_info info;
                    const struct counts c = second_call(&p, flags, &info);

                    say(flags ? "rows, async" : "rows", &p, &c);
                    assert_int_equal(info.slabs, 1);
                    assert_int_equal(c.of[MAKINGS], 0);
                    assert_int_equal(c.of[WAITS], info.blocking_calls);
                    if (flags == 0)
                        assert_int_equal(c.of[LAUNCHES], info.kernel_launches);
                    if (times == 2)
                        assert_memory_equal(&c, &last[flags == 0], sizeof c);
                    last[flags == 0] = c;
                }
}

static cl_mem make_buffer(size_t nbytes, void *content)
{
    cl_int code;
    cl_mem buffer =
        clCreateBuffer(fixture.cl, CL_MEM_READ_WRITE | (content ? CL_MEM_COPY_HOST_PTR : 0), nbytes, content, &code);

    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

static int open_buffers(void **state)
{
    float *x = malloc(MOST_N * sizeof *x);

    (void)state;
    assert_non_null(x);
    inputs_fill(PROFK_F32, INPUTS_NORMAL, options.seed, MOST_N, 0, x);
    input = make_buffer(MOST_N * sizeof *x, x);
    values = make_buffer(MOST_K * sizeof *x, NULL);
    indices = make_buffer(MOST_K * sizeof(uint32_t), NULL);
    row_results = make_buffer(MOST_ROWS * sizeof(profk_row), NULL);
    free(x);
    return 0;
}

static int close_buffers(void **state)
{
    (void)state;
    clReleaseMemObject(input);
    clReleaseMemObject(values);
    clReleaseMemObject(indices);
    clReleaseMemObject(row_results);
    return 0;
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_calls_are_short),
        cmocka_unit_test(plans_for_the_longest_rows_promise_the_same),
        cmocka_unit_test(asynchronous_calls_do_not_wait),
        cmocka_unit_test(launches_do_not_depend_on_rows),
    };

    return cmocka_run_group_tests(tests, open_buffers, close_buffers);
}

int main(int argc, char **argv)
{
    if (!getenv("OPENCL_LAYERS")) {
        fprintf(stderr, "skipped: run with OPENCL_LAYERS=%s\n", PROFK_TEST_LAYER);
        return SKIPPED;
    }
    if (setenv("PROFK_LAYER_LOG", log_path, 1) != 0)
        return 1;
    remove(log_path);
    return fixture_main(argc, argv, &options, &fixture, run_all);
}
