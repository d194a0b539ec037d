/*
 * test_bad_input.c: what is refused, with which status and words, and that nothing else happens then.
 *
 * A case is a good call with one to three fields changed.  It must fail in the function it names, leave *ret NULL and
 * the outputs as they were, and the good call must succeed right behind it.
 *
 * Without a platform, device or compiler there is no good call: these cases run in a child, this program started
 * again with OCL_ICD_VENDORS pointing elsewhere.
 */
#define _POSIX_C_SOURCE 200809L /* fork */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profk.h"
#include "support/fixture.h"

enum { N = 5000, K = 10, OFFSET = 3, CANARY = 0xCC, SKIPPED = 77 };

/* Arguments that stand in no struct. */
struct call {
    profk_context *ctx;
    const profk_problem *problem;
    const profk_tuning *tuning;
    cl_context cl;
    cl_device_id device;
    cl_command_queue queue;
    const profk_io *io;
    const cl_event *wait_list;
    cl_uint wait_count;
    uint32_t plan_flags;
};

/* Everything that a call takes. */
struct arguments {
    profk_options options;
    profk_problem problem;
    profk_tuning tuning;
    profk_chunk chunk;
    profk_io io;
    struct call call;
};

/* Handles that a case can put into a field. */
enum { PLAIN, OTHER_BUFFER, OTHER_QUEUE, SMALL_BUFFER, TINY_BUFFER, IMAGE, EVENT, SUB_DEVICE, PART_QUEUE, INPUT, SHARED,
       OTHER_EVENT, HANDLES };

struct change {
    size_t at, nbytes; /* of the field in struct arguments; nbytes 0: no change */
    uint64_t value;
    int handle; /* instead of the value, unless PLAIN */
};

enum stage { CONTEXT, PLAN, EXECUTE };

struct refused {
    const char *name;
    enum stage stage;
    profk_status status;
    const char *words; /* part of the message */
    struct change change[3];
};

static struct fixture fixture;
static struct arguments good;
static void *handles[HANDLES];
static cl_mem outputs[OUTPUTS];
static float input[N + OFFSET];
static uint32_t right[K];

#define SET(field, value)                                                                                            \
    {                                                                                                                \
        offsetof(struct arguments, field), sizeof good.field, (uint64_t)(value), PLAIN                               \
    }
#define PUT(field, handle)                                                                                           \
    {                                                                                                                \
        offsetof(struct arguments, field), sizeof good.field, 0, handle                                              \
    }
#define REAL(field, bits)                                                                                            \
    {                                                                                                                \
        offsetof(struct arguments, field), sizeof good.field, UINT64_C(bits), PLAIN                                  \
    }

#define NAN_BITS 0x7FF8000000000000
#define MINUS_ONE_BITS 0xBFF0000000000000
#define INF_BITS 0x7FF0000000000000
#define TENTH_OF_LEAST_BITS 0x3D3C25C268497682 /* 1e-13 */
#define SIX_TENTHS_BITS 0x3FE3333333333333
#define HALF_BITS 0x3FE0000000000000
#define TWO_BITS 0x4000000000000000

#define ARG PROFK_ERR_ARGUMENT
#define UNSUPPORTED PROFK_ERR_UNSUPPORTED
#define P48 (UINT64_C(1) << 48)
#define P40 (UINT64_C(1) << 40)
#define P32 (UINT64_C(1) << 32)
#define P31 (UINT64_C(1) << 31)

static const struct refused cases[] = {
    /* options */
    {"options.struct_size 0", CONTEXT, ARG, "struct_size", {SET(options.struct_size, 0)}},
    {"options.struct_size small", CONTEXT, ARG, "struct_size", {SET(options.struct_size, 8)}},
    {"options.flags unknown", CONTEXT, ARG, "flags", {SET(options.flags, 4)}},
    {"options.flags high bit", CONTEXT, ARG, "flags", {SET(options.flags, P31)}},
    {"options.reserved", CONTEXT, ARG, "reserved", {SET(options.reserved, 1)}},
    {"no OpenCL context", CONTEXT, ARG, "cl is NULL", {SET(call.cl, 0)}},
    {"no device", CONTEXT, ARG, "device is NULL", {SET(call.device, 0)}},
    {"device of another context", CONTEXT, ARG, "device", {PUT(call.device, SUB_DEVICE)}},

    /* problem */
    {"no context", PLAN, ARG, "ctx is NULL", {SET(call.ctx, 0)}},
    {"no problem", PLAN, ARG, "profk_problem is NULL", {SET(call.problem, 0)}},
    {"problem.struct_size 0", PLAN, ARG, "struct_size", {SET(problem.struct_size, 0)}},
    {"problem.struct_size small", PLAN, ARG, "struct_size", {SET(problem.struct_size, sizeof(profk_problem) - 8)}},
    {"n = 2^48", PLAN, ARG, "2^48", {SET(problem.n, P48)}},
    {"n = 2^64 - 1", PLAN, ARG, "2^48", {SET(problem.n, UINT64_MAX)}},
    {"k > n", PLAN, ARG, "5001", {SET(problem.k, N + 1)}},
    {"k > 0 = n", PLAN, ARG, "k is", {SET(problem.n, 0)}},
    {"k = 2^31", PLAN, ARG, "2^31", {SET(problem.n, P40), SET(problem.k, P31)}},
    {"type 0", PLAN, ARG, "type", {SET(problem.type, 0)}},
    {"type 13", PLAN, ARG, "type", {SET(problem.type, PROFK_U64 + 1)}},
    {"order 3", PLAN, ARG, "order", {SET(problem.order, 3)}},
    {"nan 2", PLAN, ARG, "nan", {SET(problem.nan, 2)}},
    {"sort 3", PLAN, ARG, "sort", {SET(problem.sort, 3)}},
    {"index 2", PLAN, ARG, "index", {SET(problem.index, 2)}},
    {"mode 2", PLAN, ARG, "mode", {SET(problem.mode, 2)}},
    {"route 4", PLAN, ARG, "route", {SET(problem.route, 4)}},
    {"route 2^32 - 1", PLAN, ARG, "route", {SET(problem.route, UINT32_MAX)}},
    {"problem.reserved", PLAN, ARG, "reserved", {SET(problem.reserved, 1)}},
    {"epsilon NaN", PLAN, ARG, "epsilon", {REAL(problem.epsilon, NAN_BITS)}},
    {"epsilon -1", PLAN, ARG, "epsilon", {REAL(problem.epsilon, MINUS_ONE_BITS)}},
    {"epsilon inf", PLAN, ARG, "epsilon", {REAL(problem.epsilon, INF_BITS)}},
    {"epsilon 0.6", PLAN, ARG, "epsilon", {REAL(problem.epsilon, SIX_TENTHS_BITS)}},
    {"epsilon 1e-13", PLAN, ARG, "epsilon", {REAL(problem.epsilon, TENTH_OF_LEAST_BITS)}},
    {"recall of an exact plan", PLAN, ARG, "recall", {REAL(problem.recall, HALF_BITS)}},
    {"recall NaN", PLAN, ARG, "recall", {REAL(problem.recall, NAN_BITS), SET(problem.mode, 1)}},
    {"recall 2", PLAN, ARG, "recall", {REAL(problem.recall, TWO_BITS), SET(problem.mode, 1)}},
    {"recall -1", PLAN, ARG, "recall", {REAL(problem.recall, MINUS_ONE_BITS), SET(problem.mode, 1)}},
    {"u32 indices of 2^32", PLAN, ARG, "u64", {SET(problem.index, PROFK_INDEX_U32), SET(problem.n, P32)}},
    {"rows overlap", PLAN, ARG, "row_stride", {SET(problem.row_stride, N - 1)}},
    {"rows * row_stride overflows", PLAN, ARG, "row_stride", {SET(problem.rows, P40), SET(problem.row_stride, P40)}},
    {"rows * k overflows", PLAN, ARG, "rows", {SET(problem.rows, P48), SET(problem.k, N)}},
    {"a long row on route rows", PLAN, UNSUPPORTED, "too long",
     {SET(problem.route, PROFK_ROUTE_ROWS), SET(problem.n, P31), SET(problem.index, PROFK_INDEX_U64)}},
    {"STORED_ONLY", PLAN, UNSUPPORTED, "tuning", {SET(call.plan_flags, PROFK_STORED_ONLY)}},
    {"plan flag 8", PLAN, ARG, "flags", {SET(call.plan_flags, 8)}},
    {"plan flag 2^31", PLAN, ARG, "flags", {SET(call.plan_flags, P31)}},
    {"workspace of a byte", PLAN, UNSUPPORTED, "workspace", {SET(problem.workspace_limit_nbytes, 1)}},
    {"the same on route profk",
     PLAN,
     UNSUPPORTED,
     "workspace",
     {SET(problem.workspace_limit_nbytes, 1), SET(problem.route, PROFK_ROUTE_PROFK)}},
    {"the same on route full",
     PLAN,
     UNSUPPORTED,
     "workspace",
     {SET(problem.workspace_limit_nbytes, 1), SET(problem.route, PROFK_ROUTE_FULL)}},
    {"M beyond 2^31",
     PLAN,
     UNSUPPORTED,
     "2^31",
     {SET(problem.n, P40), SET(problem.k, P31 - 1), SET(problem.route, PROFK_ROUTE_PROFK)}},

    /* tuning */
    {"tuning.struct_size 0", PLAN, ARG, "struct_size", {SET(tuning.struct_size, 0)}},
    {"tuning.struct_size small", PLAN, ARG, "struct_size", {SET(tuning.struct_size, sizeof(profk_tuning) - 8)}},
    {"S > n", PLAN, ARG, "S is 5001", {SET(tuning.S, N + 1)}},
    {"t > S", PLAN, ARG, "t is 101", {SET(tuning.S, 100), SET(tuning.t, 101)}},
    {"t > n", PLAN, ARG, "t is", {SET(tuning.t, N + 1)}},
    {"t > S that was chosen", PLAN, ARG, "t is", {SET(tuning.t, N)}},
    {"M < k", PLAN, ARG, "M is 9", {SET(tuning.M, K - 1)}},
    {"M > n", PLAN, ARG, "M is 5001", {SET(tuning.M, N + 1)}},
    {"M = 2^31", PLAN, UNSUPPORTED, "M is", {SET(tuning.M, P31), SET(problem.n, P40)}},
    {"count_start = M",
     PLAN,
     ARG,
     "count_start",
     {SET(tuning.M, 500), SET(tuning.count_start, 500), SET(problem.route, PROFK_ROUTE_PROFK)}},
    {"count_start = 1",
     PLAN,
     ARG,
     "count_start",
     {SET(tuning.count_start, 1), SET(problem.route, PROFK_ROUTE_PROFK)}},
    {"S = 1 misses the budget", PLAN, PROFK_ERR_PARAMS, "2", {SET(tuning.S, 1)}},
    {"filter_shape 3", PLAN, ARG, "filter_shape", {SET(tuning.filter_shape, 3)}},
    {"vector_width 3", PLAN, ARG, "vector_width", {SET(tuning.vector_width, 3)}},
    {"vector_width 32", PLAN, ARG, "vector_width", {SET(tuning.vector_width, 32)}},
    {"filter_items 9", PLAN, ARG, "filter_items", {SET(tuning.filter_items, 9)}},
    {"filter_items * vector_width 40",
     PLAN,
     ARG,
     "filter_items",
     {SET(tuning.filter_items, 5), SET(tuning.vector_width, 8)}},

    /* execute */
    {"no io", EXECUTE, ARG, "profk_io is NULL", {SET(call.io, 0)}},
    {"io.struct_size 0", EXECUTE, ARG, "struct_size", {SET(io.struct_size, 0)}},
    {"io.struct_size small", EXECUTE, ARG, "struct_size", {SET(io.struct_size, sizeof(profk_io) - 8)}},
    {"no queue", EXECUTE, ARG, "queue", {SET(call.queue, 0)}},
    {"queue of another context", EXECUTE, ARG, "queue", {PUT(call.queue, OTHER_QUEUE)}},
    {"queue of another device", EXECUTE, ARG, "queue", {PUT(call.queue, PART_QUEUE)}},
    {"wait_count without wait_list", EXECUTE, ARG, "wait_list", {SET(call.wait_count, 1)}},
    {"wait_list without wait_count", EXECUTE, ARG, "wait_list", {PUT(call.wait_list, EVENT)}},
    {"event of another context",
     EXECUTE,
     ARG,
     "wait_list[0] belongs",
     {PUT(call.wait_list, OTHER_EVENT), SET(call.wait_count, 1)}},
    {"values in the input", EXECUTE, ARG, "overlap", {PUT(io.values, INPUT)}},
    {"indices in the input", EXECUTE, ARG, "overlap", {PUT(io.indices, INPUT)}},
    {"row_results in the input", EXECUTE, ARG, "overlap", {PUT(io.row_results, INPUT)}},
    {"values in indices", EXECUTE, ARG, "overlap", {PUT(io.values, SHARED), PUT(io.indices, SHARED)}},
    {"the last byte of values in indices",
     EXECUTE,
     ARG,
     "overlap",
     {PUT(io.values, SHARED), PUT(io.indices, SHARED), SET(io.indices_offset, 6)}},
    {"row_results in indices", EXECUTE, ARG, "overlap", {PUT(io.row_results, SHARED), PUT(io.indices, SHARED)}},
    {"chunks NULL", EXECUTE, ARG, "chunk", {SET(io.chunks, 0)}},
    {"chunk_count 0", EXECUTE, ARG, "chunk", {SET(io.chunk_count, 0)}},
    {"chunk.kind 1", EXECUTE, ARG, "kind", {SET(chunk.kind, 1)}},
    {"chunk.flags", EXECUTE, ARG, "flags", {SET(chunk.flags, 1)}},
    {"chunk.reserved[0]", EXECUTE, ARG, "reserved", {SET(chunk.reserved[0], 1)}},
    {"chunk.reserved[1]", EXECUTE, ARG, "reserved", {SET(chunk.reserved[1], 1)}},
    {"chunk.pointer", EXECUTE, ARG, "pointer", {PUT(chunk.pointer, EVENT)}},
    {"chunk.buffer NULL", EXECUTE, ARG, "input is NULL", {SET(chunk.buffer, 0)}},
    {"input of another context", EXECUTE, ARG, "input", {PUT(chunk.buffer, OTHER_BUFFER)}},
    {"input an image", EXECUTE, ARG, "input", {PUT(chunk.buffer, IMAGE)}},
    {"the chunk ends early", EXECUTE, ARG, "tile", {SET(chunk.count, N - 1)}},
    {"the chunk ends late", EXECUTE, ARG, "tile", {SET(chunk.count, N + 1)}},
    {"an empty chunk", EXECUTE, ARG, "tile", {SET(chunk.count, 0)}},
    {"the chunk starts late", EXECUTE, ARG, "tile", {SET(chunk.first, 1)}},
    {"input too small by one", EXECUTE, ARG, "input", {SET(chunk.offset, OFFSET + 1)}},
    {"input beyond the end", EXECUTE, ARG, "input", {SET(chunk.offset, N + OFFSET + 1)}},
    {"input far beyond the end", EXECUTE, ARG, "input", {SET(chunk.offset, UINT64_MAX)}},
    {"input offset that wraps in bytes", EXECUTE, ARG, "input", {SET(chunk.offset, P31 << 31)}},
    {"values too small by one", EXECUTE, ARG, "values", {SET(io.values_offset, OFFSET + 1)}},
    {"values offset that wraps in bytes", EXECUTE, ARG, "values", {SET(io.values_offset, P31 << 31)}},
    {"values of another context", EXECUTE, ARG, "values", {PUT(io.values, OTHER_BUFFER)}},
    {"values an image", EXECUTE, ARG, "values", {PUT(io.values, IMAGE)}},
    {"indices too small", EXECUTE, ARG, "indices", {PUT(io.indices, SMALL_BUFFER), SET(io.indices_offset, 0)}},
    {"indices too small by one", EXECUTE, ARG, "indices", {SET(io.indices_offset, OFFSET + 1)}},
    {"indices offset that wraps in bytes", EXECUTE, ARG, "indices", {SET(io.indices_offset, P31 << 30)}},
    {"indices of another context", EXECUTE, ARG, "indices", {PUT(io.indices, OTHER_BUFFER)}},
    {"row_results too small",
     EXECUTE,
     ARG,
     "row_results",
     {PUT(io.row_results, TINY_BUFFER), SET(io.row_results_offset, 0)}},
    {"row_results too small by one", EXECUTE, ARG, "row_results", {SET(io.row_results_offset, OFFSET + 1)}},
    {"row_results offset that wraps in bytes", EXECUTE, ARG, "row_results", {SET(io.row_results_offset, P31 << 29)}},
    {"row_results of another context", EXECUTE, ARG, "row_results", {PUT(io.row_results, OTHER_BUFFER)}},
};

/* ---- the good call ---- */

static cl_mem buffer_of(cl_context cl, size_t nbytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(cl, CL_MEM_READ_WRITE, nbytes, NULL, &code);

    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

static const size_t element_nbytes[OUTPUTS] = {sizeof(float), sizeof(uint64_t), sizeof(profk_row)};
static const size_t element_count[OUTPUTS] = {K, K, 1};

static size_t region_nbytes(int i)
{
    return (OFFSET + element_count[i]) * element_nbytes[i];
}

static void fill_outputs(void)
{
    static const unsigned char canary = CANARY;

    for (int i = 0; i < OUTPUTS; i++)
        assert_int_equal(
            clEnqueueFillBuffer(fixture.queues[0], outputs[i], &canary, 1, 0, region_nbytes(i), 0, NULL, NULL),
            CL_SUCCESS);
}

static void read_output(int i, unsigned char *room)
{
    assert_int_equal(
        clEnqueueReadBuffer(fixture.queues[0], outputs[i], CL_TRUE, 0, region_nbytes(i), room, 0, NULL, NULL),
        CL_SUCCESS);
}

static bool outputs_untouched(void)
{
    unsigned char bytes[256];

    for (int i = 0; i < OUTPUTS; i++) {
        read_output(i, bytes);
        for (size_t at = 0; at < region_nbytes(i); at++)
            if (bytes[at] != CANARY)
                return false;
    }
    return true;
}

static void make_input(void)
{
    for (uint32_t i = 0; i < N + OFFSET; i++)
        input[i] = (float)((i * UINT32_C(2654435761)) >> 8) + 1;
    for (uint32_t r = 0; r < K; r++) /* the answer: ten large values at known places */
        right[r] = 17 + 431 * r;
    for (uint32_t r = 0; r < K; r++)
        input[OFFSET + right[r]] = 1e9f - (float)r * 1000;
}

static int open_all(void)
{
    int status = fixture_open(&fixture);
    cl_int code = CL_SUCCESS;

    if (status != 0)
        return status;
    make_input();
    for (int i = 0; i < OUTPUTS; i++)
        outputs[i] = clCreateBuffer(fixture.cl, CL_MEM_READ_WRITE, region_nbytes(i), NULL, &code);
    good.options.struct_size = sizeof good.options;
    profk_problem_init(&good.problem, sizeof good.problem, PROFK_F32, N, K);
    good.tuning.struct_size = sizeof good.tuning;
    good.chunk = (profk_chunk){.offset = OFFSET, .count = N};
    good.chunk.buffer =
        clCreateBuffer(fixture.cl, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof input, input, &code);
    good.io = (profk_io){.struct_size = sizeof good.io,
                         .chunk_count = 1,
                         .values = outputs[OUT_VALUES],
                         .indices = outputs[OUT_INDICES],
                         .row_results = outputs[OUT_ROW],
                         .values_offset = OFFSET,
                         .indices_offset = OFFSET,
                         .row_results_offset = OFFSET};
    good.call.ctx = fixture.ctx;
    good.call.cl = fixture.cl;
    good.call.device = fixture.device;
    good.call.queue = fixture.queues[0];
    return 0;
}

static void close_all(void)
{
    for (int i = 0; i < OUTPUTS; i++)
        if (outputs[i])
            clReleaseMemObject(outputs[i]);
    if (good.chunk.buffer)
        clReleaseMemObject(good.chunk.buffer);
    fixture_close(&fixture);
}

/* Runs the good call with plan, or with a plan of its own, and looks at the answer. */
static bool good_call_works(profk_plan *plan)
{
    const profk_problem problem = good.problem;
    profk_plan *own = NULL;
    profk_io io = good.io;
    unsigned char values[256], indices[256], row[256];
    profk_row result;
    bool ok;

    if (!plan && profk_plan_create(fixture.ctx, &problem, NULL, 0, &own) != PROFK_OK)
        return false;
    io.chunks = &good.chunk;
    fill_outputs();
    ok = profk_execute(plan ? plan : own, fixture.queues[0], &io, 0, NULL, NULL) == PROFK_OK;
    profk_plan_destroy(own);
    if (!ok)
        return false;
    read_output(OUT_VALUES, values);
    read_output(OUT_INDICES, indices);
    read_output(OUT_ROW, row);
    memcpy(&result, row + OFFSET * sizeof result, sizeof result);
    for (size_t r = 0; r < K; r++) {
        uint64_t index;
        memcpy(&index, indices + (OFFSET + r) * sizeof index, sizeof index);
        ok = ok && index == right[r] &&
             memcmp(values + (OFFSET + r) * sizeof(float), &input[OFFSET + right[r]], sizeof(float)) == 0;
    }
    return ok && result.status == PROFK_ROW_CERTIFIED;
}

/* ---- the table ---- */

/* A second context; a sub-device, and a context and queue with it: what belongs elsewhere. */
struct elsewhere {
    cl_context other, pair;
    cl_device_id parts[2];
    cl_event event, other_event;
    profk_context *part_ctx; /* on parts[0]; parts[1] has the queue */
};

static bool split_device(struct elsewhere *e)
{
    const cl_device_partition_property by_one[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id parts[64];
    cl_uint count = 0;

    if (clCreateSubDevices(fixture.device, by_one, 64, parts, &count) != CL_SUCCESS || count < 2) {
        for (cl_uint i = 0; i < count && i < 64; i++)
            clReleaseDevice(parts[i]);
        return false;
    }
    for (cl_uint i = 2; i < count && i < 64; i++)
        clReleaseDevice(parts[i]);
    memcpy(e->parts, parts, sizeof e->parts);
    return true;
}

static void open_elsewhere(struct elsewhere *e)
{
    static const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    static const cl_image_desc extent = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 64};
    cl_int code;

    memset(e, 0, sizeof *e);
    e->other = clCreateContext(NULL, 1, &fixture.device, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    handles[OTHER_BUFFER] = buffer_of(e->other, 1 << 20);
    handles[OTHER_QUEUE] = clCreateCommandQueue(e->other, fixture.device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    handles[SMALL_BUFFER] = buffer_of(fixture.cl, K * sizeof(uint64_t) - 1);
    handles[TINY_BUFFER] = buffer_of(fixture.cl, sizeof(profk_row) - 1);
    handles[IMAGE] = clCreateImage(fixture.cl, CL_MEM_READ_WRITE, &format, &extent, NULL, &code);
    e->event = clCreateUserEvent(fixture.cl, &code);
    assert_int_equal(code, CL_SUCCESS);
    handles[EVENT] = &e->event;
    e->other_event = clCreateUserEvent(e->other, &code);
    assert_int_equal(code, CL_SUCCESS);
    handles[OTHER_EVENT] = &e->other_event;
    handles[INPUT] = good.chunk.buffer;
    handles[SHARED] = buffer_of(fixture.cl, 1 << 12);
    if (!split_device(e))
        return;
    handles[SUB_DEVICE] = e->parts[0];
    e->pair = clCreateContext(NULL, 2, e->parts, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    if (profk_context_create(e->pair, e->parts[0], NULL, &e->part_ctx) != PROFK_OK)
        return; /* PoCL 3.1 lists the parent device as the context's */
    handles[PART_QUEUE] = clCreateCommandQueue(e->pair, e->parts[1], 0, &code);
    assert_int_equal(code, CL_SUCCESS);
}

static void close_elsewhere(struct elsewhere *e)
{
    clReleaseMemObject(handles[OTHER_BUFFER]);
    clReleaseMemObject(handles[SHARED]);
    clReleaseEvent(e->other_event);
    clReleaseMemObject(handles[SMALL_BUFFER]);
    clReleaseMemObject(handles[TINY_BUFFER]);
    if (handles[IMAGE])
        clReleaseMemObject(handles[IMAGE]);
    clReleaseCommandQueue(handles[OTHER_QUEUE]);
    clReleaseContext(e->other);
    clReleaseEvent(e->event);
    profk_context_destroy(e->part_ctx);
    if (handles[PART_QUEUE])
        clReleaseCommandQueue(handles[PART_QUEUE]);
    if (e->pair) {
        clReleaseContext(e->pair);
        clReleaseDevice(e->parts[0]);
        clReleaseDevice(e->parts[1]);
    }
    memset(handles, 0, sizeof handles);
}

/* The good arguments, pointing at one another. */
static void connect(struct arguments *a)
{
    *a = good;
    a->io.chunks = &a->chunk;
    a->call.problem = &a->problem;
    a->call.tuning = &a->tuning;
    a->call.io = &a->io;
}

/* false: a handle that the case needs does not exist on this device. */
static bool change(struct arguments *a, const struct refused *c, const struct elsewhere *e)
{
    for (int i = 0; i < 3 && c->change[i].nbytes > 0; i++) {
        const struct change *change = &c->change[i];
        const void *from = &change->value;

        if (change->handle != PLAIN) {
            if (!handles[change->handle])
                return false;
            from = &handles[change->handle];
        }
        if (change->handle == PART_QUEUE)
            a->call.ctx = e->part_ctx;
        memcpy((char *)a + change->at, from, change->nbytes); /* little-endian hosts: the low bytes of a value */
    }
    return true;
}

/* What is wrong with how the case was refused, NULL if nothing. */
static const char *fault_of(const struct refused *c, profk_status status, enum stage stage, const void *ret)
{
    const char *message = profk_context_message(fixture.ctx);

    if (status == PROFK_OK)
        return "it was accepted";
    if (stage != c->stage)
        return "it failed in another function";
    if (status != c->status)
        return "the status is another one";
    if (ret)
        return "*ret is not NULL";
    if (!strstr(message, c->words))
        return "the message lacks the words";
    if (strcmp(message, profk_context_message(NULL)) != 0)
        return "the messages with and without a context differ";
    return NULL;
}

/* Makes context, plan and call up to the first failure. */
static const char *run_case(const struct refused *c, struct arguments *a)
{
    static const unsigned char garbage[8] = {0};
    profk_context *ctx = (profk_context *)(uintptr_t)garbage;
    profk_plan *plan = (profk_plan *)(uintptr_t)garbage;
    cl_event event = (cl_event)(uintptr_t)garbage;
    profk_status status;
    const char *fault;

    if (c->stage == CONTEXT) {
        status = profk_context_create(a->call.cl, a->call.device, &a->options, &ctx);
        fault = fault_of(c, status, CONTEXT, ctx);
        if (status == PROFK_OK)
            profk_context_destroy(ctx);
        return fault;
    }
    status = profk_plan_create(a->call.ctx, a->call.problem, a->call.tuning, a->call.plan_flags, &plan);
    if (status != PROFK_OK || c->stage == PLAN) {
        fault = fault_of(c, status, PLAN, plan);
        if (status == PROFK_OK)
            profk_plan_destroy(plan);
        return fault;
    }
    status = profk_execute(plan, a->call.queue, a->call.io, a->call.wait_count, a->call.wait_list, &event);
    fault = fault_of(c, status, EXECUTE, event);
    if (!fault && !outputs_untouched())
        fault = "an output was written";
    if (!fault && a->call.ctx == fixture.ctx && !good_call_works(plan))
        fault = "the plan does not work any more";
    profk_plan_destroy(plan);
    return fault;
}

static void every_case_is_refused(void **state)
{
    struct elsewhere elsewhere;
    int faults = 0;

    (void)state;
    open_elsewhere(&elsewhere);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arguments a;
        const char *fault;

        connect(&a);
        if (!change(&a, &cases[i], &elsewhere)) {
            fprintf(stderr, "skipped, not possible on this device: %s\n", cases[i].name);
            continue;
        }
        fill_outputs();
        fault = run_case(&cases[i], &a);
        if (!fault && !good_call_works(NULL))
            fault = "the good call does not work any more";
        if (fault) {
            fprintf(stderr, "FAILED: %s: %s; last message: %s\n", cases[i].name, fault, profk_context_message(NULL));
            faults++;
        }
    }
    close_elsewhere(&elsewhere);
    assert_int_equal(faults, 0);
}

/* What stands just inside a limit is accepted. */
static void the_edges_are_accepted(void **state)
{
    static const struct refused edges[] = {
        {"n = 2^48 - 1", PLAN, PROFK_OK, "", {SET(problem.n, P48 - 1)}},
        {"k = n", PLAN, PROFK_OK, "", {SET(problem.k, N)}},
        {"u32 indices of 2^32 - 1",
         PLAN,
         PROFK_OK,
         "",
         {SET(problem.index, PROFK_INDEX_U32), SET(problem.n, P32 - 1)}},
        {"epsilon 0.5", PLAN, PROFK_OK, "", {REAL(problem.epsilon, HALF_BITS)}},
        {"epsilon 1e-12", PLAN, PROFK_OK, "", {REAL(problem.epsilon, 0x3D719799812DEA11)}},
        {"S = n", PLAN, PROFK_OK, "", {SET(tuning.S, N)}},
        {"t = S", PLAN, PROFK_OK, "", {SET(tuning.S, 100), SET(tuning.t, 100)}},
        {"M = k", PLAN, PROFK_OK, "", {SET(tuning.M, K)}},
        {"M = n", PLAN, PROFK_OK, "", {SET(tuning.M, N)}},
        {"count_start = M + 1", PLAN, PROFK_OK, "", {SET(tuning.M, 500), SET(tuning.count_start, 501)}},
        {"row_stride above n", PLAN, PROFK_OK, "", {SET(problem.row_stride, N + 1)}},
        {"no rows", PLAN, PROFK_OK, "", {SET(problem.rows, 0)}},
    };
    const struct elsewhere none = {0};

    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        struct arguments a;
        profk_plan *plan = NULL;
        profk_status status;

        connect(&a);
        assert_true(change(&a, &edges[i], &none));
        status = profk_plan_create(a.call.ctx, a.call.problem, a.call.tuning, 0, &plan);
        if (status != PROFK_OK && status != PROFK_ERR_UNSUPPORTED) /* a small device has no room for 2^48 - 1 */
            fail_msg("%s: %s", edges[i].name, profk_context_message(NULL));
        profk_plan_destroy(plan);
    }
}

/* ---- structs of a later release ---- */

struct later_options {
    profk_options known;
    uint64_t later[2];
};
struct later_problem {
    profk_problem known;
    uint64_t later[2];
};
struct later_tuning {
    profk_tuning known;
    uint64_t later[2];
};
struct later_io {
    profk_io known;
    uint64_t later[2];
};

/* Context, plan and call with structs that are longer than ours; the last word of struct number `dirty` is not 0. */
static profk_status run_later(int dirty)
{
    struct later_options options = {good.options, {0, dirty == 0}};
    struct later_problem problem = {good.problem, {0, dirty == 1}};
    struct later_tuning tuning = {good.tuning, {0, dirty == 2}};
    struct later_io io = {good.io, {0, dirty == 3}};
    profk_context *ctx = NULL;
    profk_plan *plan = NULL;
    profk_status status;

    options.known.struct_size = sizeof options;
    problem.known.struct_size = sizeof problem;
    tuning.known.struct_size = sizeof tuning;
    io.known.struct_size = sizeof io;
    io.known.chunks = &good.chunk;
    status = profk_context_create(fixture.cl, fixture.device, &options.known, &ctx);
    if (status == PROFK_OK)
        status = profk_plan_create(ctx, &problem.known, &tuning.known, 0, &plan);
    if (status == PROFK_OK)
        status = profk_execute(plan, fixture.queues[0], &io.known, 0, NULL, NULL);
    profk_plan_destroy(plan);
    profk_context_destroy(ctx);
    return status;
}

static void longer_structs_are_accepted_if_zero(void **state)
{
    static const char *const names[] = {"profk_options", "profk_problem", "profk_tuning", "profk_io"};

    (void)state;
    assert_int_equal(run_later(-1), PROFK_OK);
    for (int dirty = 0; dirty < 4; dirty++) {
        assert_int_equal(run_later(dirty), PROFK_ERR_ARGUMENT);
        assert_non_null(strstr(profk_context_message(NULL), names[dirty]));
    }
}

/* Structs that the library fills. */
enum { INFO, STATS, DEVICE_BY_NUMBER, DEVICE_BY_SPEC, FILLED };

static profk_status fill(int which, profk_plan *plan, void *ret)
{
    switch (which) {
    case INFO: return profk_plan_info(plan, ret);
    case STATS: return profk_plan_stats(plan, ret);
    case DEVICE_BY_NUMBER: return profk_device_get(0, ret);
    default: return profk_device_find(NULL, ret);
    }
}

static bool all_canaries(const unsigned char *bytes, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        if (bytes[i] != CANARY)
            return false;
    return true;
}

static void filled_structs_keep_to_their_size(void **state)
{
    static const size_t sizes[FILLED] = {sizeof(profk_info), sizeof(profk_stats), sizeof(profk_device),
                                         sizeof(profk_device)};
    static const size_t first_sizes[FILLED] = {sizeof(profk_info), offsetof(profk_stats, adaptations),
                                               sizeof(profk_device), sizeof(profk_device)}; /* the first release's */
    union {
        size_t struct_size;
        unsigned char bytes[2048];
    } u;
    profk_plan *plan = NULL;

    (void)state;
    assert_int_equal(profk_plan_create(fixture.ctx, &good.problem, NULL, 0, &plan), PROFK_OK);
    for (int which = 0; which < FILLED; which++) {
        const size_t refused[] = {0, sizeof u.struct_size, first_sizes[which] - 8};

        assert_int_equal(fill(which, plan, NULL), PROFK_ERR_ARGUMENT);
        for (size_t i = 0; i < 3; i++) {
            memset(u.bytes, CANARY, sizeof u.bytes);
            u.struct_size = refused[i];
            assert_int_equal(fill(which, plan, &u), PROFK_ERR_ARGUMENT);
            assert_non_null(strstr(profk_context_message(NULL), "struct_size"));
            assert_int_equal(u.struct_size, refused[i]);
            assert_true(all_canaries(u.bytes + sizeof u.struct_size, sizeof u.bytes - sizeof u.struct_size));
        }
        memset(u.bytes, CANARY, sizeof u.bytes);
        u.struct_size = sizeof u.bytes - 64; /* a later release's */
        assert_int_equal(fill(which, plan, &u), PROFK_OK);
        assert_int_equal(u.struct_size, sizeof u.bytes - 64);
        assert_false(all_canaries(u.bytes + sizeof u.struct_size, sizes[which] - sizeof u.struct_size));
        assert_true(all_canaries(u.bytes + sizeof u.bytes - 64, 64));
    }
    profk_plan_destroy(plan);
}

static void problem_init_sets_every_field(void **state)
{
    profk_problem p;

    (void)state;
    memset(&p, CANARY, sizeof p);
    profk_problem_init(&p, sizeof p, PROFK_I16, 7, 3);
    assert_int_equal(p.struct_size, sizeof p);
    assert_true(p.n == 7 && p.k == 3 && p.rows == 1 && p.type == PROFK_I16);
    assert_true(p.row_stride == 0 && p.seed == 0 && p.order == PROFK_LARGEST && p.mode == PROFK_MODE_EXACT);
    assert_true(p.route == PROFK_ROUTE_AUTO && p.sort == PROFK_SORT_RANK && p.index == PROFK_INDEX_U64);
    assert_true(p.epsilon == 0 && p.recall == 0 && p.workspace_limit_nbytes == 0 && p.reserved == 0);
}

/* ---- single functions ---- */

static void null_pointers(void **state)
{
    cl_context cl = fixture.cl;
    cl_device_id device = fixture.device;
    profk_context *ctx = fixture.ctx;
    size_t need = 77;
    char text[8] = "abc";
    profk_plan *plan = NULL;
    profk_info info = {.struct_size = sizeof info};
    profk_stats stats = {.struct_size = sizeof stats};

    (void)state;
    profk_context_destroy(NULL);
    profk_plan_destroy(NULL);
    profk_problem_init(NULL, sizeof(profk_problem), PROFK_F32, 1, 1);
    profk_context_handles(ctx, NULL, NULL);
    profk_context_handles(ctx, &cl, NULL);
    profk_context_handles(ctx, NULL, &device);
    assert_true(cl == fixture.cl && device == fixture.device);

    assert_int_equal(profk_context_create(cl, device, NULL, NULL), PROFK_ERR_ARGUMENT);
    assert_non_null(strstr(profk_context_message(NULL), "ret is NULL"));
    assert_int_equal(profk_context_create_default(NULL, NULL, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_plan_create(ctx, &good.problem, NULL, 0, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_plan_info(NULL, &info), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_plan_stats(NULL, &stats), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_plan_describe(NULL, text, sizeof text, &need), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_plan_set_workspace(NULL, NULL, 0), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_execute(NULL, fixture.queues[0], &good.io, 0, NULL, NULL), PROFK_ERR_ARGUMENT);
    assert_non_null(strstr(profk_context_message(NULL), "plan is NULL"));
    assert_int_equal(profk_plan_create(ctx, &good.problem, NULL, 0, &plan), PROFK_OK);
    assert_int_equal(profk_plan_describe(plan, NULL, 1, &need), PROFK_ERR_ARGUMENT);
    assert_int_equal(need, 77);
    assert_string_equal(text, "abc");
    profk_plan_destroy(plan);
    assert_true(good_call_works(NULL));
}

static void devices_that_do_not_exist(void **state)
{
    static const char *const specs[] = {"4294967295", "99999999999999999999999", "no such device", "77"};
    profk_device device = {.struct_size = sizeof device};
    profk_context *ctx = fixture.ctx;

    (void)state;
    assert_int_equal(profk_device_get(UINT32_MAX, &device), PROFK_ERR_NO_DEVICE);
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        assert_int_equal(profk_device_find(specs[i], &device), PROFK_ERR_NO_DEVICE);
        ctx = fixture.ctx;
        assert_int_equal(profk_context_create_default(specs[i], NULL, &ctx), PROFK_ERR_NO_DEVICE);
        assert_null(ctx);
        assert_true(strlen(profk_context_message(NULL)) > 10);
    }
    assert_null(device.id);
    assert_int_equal(device.name[0], 0);
}

/* The smallest S that the message names is the one that profk_params_exact() accepts. */
static void the_smallest_sample_is_named(void **state)
{
    static const uint64_t ks[] = {10, 100, 1000, 4000, 4999};

    (void)state;
    for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
        profk_problem problem = good.problem;
        profk_tuning tuning = {.struct_size = sizeof tuning, .S = 1};
        profk_params params;
        profk_plan *plan = NULL;
        char number[32];
        uint64_t least = 1;

        problem.k = ks[i];
        while (profk_params_exact(N, ks[i], least, 0.5e-3, 0.5e-3, &params) != PROFK_OK)
            least++;
        assert_true(least > 1);
        assert_int_equal(profk_plan_create(fixture.ctx, &problem, &tuning, 0, &plan), PROFK_ERR_PARAMS);
        snprintf(number, sizeof number, " %" PRIu64, least);
        if (!strstr(profk_context_message(fixture.ctx), number))
            fail_msg("k = %" PRIu64 ": no%s in: %s", ks[i], number, profk_context_message(fixture.ctx));
        tuning.S = least;
        assert_int_equal(profk_plan_create(fixture.ctx, &problem, &tuning, 0, &plan), PROFK_OK);
        profk_plan_destroy(plan);
    }
}

static void workspaces_that_do_not_fit(void **state)
{
    profk_plan *plan = NULL;
    profk_info info = {.struct_size = sizeof info};
    struct elsewhere e;
    cl_uint align_bits = 0;
    cl_mem exact;

    (void)state;
    open_elsewhere(&e);
    clGetDeviceInfo(fixture.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align_bits, &align_bits, NULL);
    profk_problem sampled = good.problem; /* the route that takes more than one section */
    sampled.route = PROFK_ROUTE_PROFK;
    assert_int_equal(profk_plan_create(fixture.ctx, &sampled, NULL, 0, &plan), PROFK_OK);
    assert_int_equal(profk_plan_info(plan, &info), PROFK_OK);
    assert_true(info.workspace_nbytes > align_bits / 8);
    exact = buffer_of(fixture.cl, (size_t)info.workspace_nbytes);

    const struct {
        cl_mem buffer;
        uint64_t offset_nbytes;
    } bad[] = {{handles[OTHER_BUFFER], 0}, {handles[TINY_BUFFER], 0},
               {exact, align_bits / 8},    {exact, info.workspace_nbytes},
               {exact, UINT64_MAX - 7},    {good.chunk.buffer, 4},
               {handles[IMAGE], 0}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (!bad[i].buffer)
            continue;
        if (profk_plan_set_workspace(plan, bad[i].buffer, bad[i].offset_nbytes) != PROFK_ERR_ARGUMENT ||
            !strstr(profk_context_message(NULL), "workspace"))
            fail_msg("workspace %zu: %s", i, profk_context_message(NULL));
        assert_true(good_call_works(plan));
    }
    assert_int_equal(profk_plan_set_workspace(plan, exact, 0), PROFK_OK);
    assert_int_equal(profk_plan_set_workspace(plan, exact, 1), PROFK_ERR_ARGUMENT);
    assert_true(good_call_works(plan));
    profk_plan_destroy(plan);
    clReleaseMemObject(exact);
    close_elsewhere(&e);
}

static profk_status execute_with(profk_plan *plan, cl_mem values, uint64_t values_offset, cl_mem indices,
                                 uint64_t indices_offset)
{
    profk_io io = good.io;

    io.chunks = &good.chunk;
    io.row_results = NULL;
    io.values = values;
    io.values_offset = values_offset;
    io.indices = indices;
    io.indices_offset = indices_offset;
    return profk_execute(plan, fixture.queues[0], &io, 0, NULL, NULL);
}

/* Neighbours in one buffer are no overlap; parts of one buffer may be one, and so may the workspace. */
static void places_in_one_buffer(void **state)
{
    const profk_problem problem = good.problem;
    profk_info info = {.struct_size = sizeof info};
    profk_plan *plan = NULL;
    unsigned char found[K * (sizeof(float) + sizeof(uint64_t))];
    cl_uint align_bits = 0;
    cl_int code;

    (void)state;
    clGetDeviceInfo(fixture.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align_bits, &align_bits, NULL);
    assert_int_equal(profk_plan_create(fixture.ctx, &problem, NULL, 0, &plan), PROFK_OK);
    assert_int_equal(profk_plan_info(plan, &info), PROFK_OK);
    size_t align = align_bits / 8, workspace = (size_t)(info.workspace_nbytes + align - 1) / align * align;
    cl_mem whole = buffer_of(fixture.cl, workspace + 4096);

    assert_int_equal(execute_with(plan, whole, 0, whole, K * sizeof(float) / sizeof(uint64_t)), PROFK_OK);
    assert_int_equal(clEnqueueReadBuffer(fixture.queues[0], whole, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL), 0);
    for (size_t r = 0; r < K; r++) {
        uint64_t index;
        memcpy(&index, found + K * sizeof(float) + r * sizeof index, sizeof index);
        assert_int_equal(index, right[r]);
        assert_memory_equal(found + r * sizeof(float), &input[OFFSET + right[r]], sizeof(float));
    }

    cl_buffer_region region = {align, 2048};
    cl_mem part = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(execute_with(plan, whole, align / sizeof(float) - K, part, 0), PROFK_OK);
    assert_int_equal(execute_with(plan, whole, align / sizeof(float) - K + 1, part, 0), PROFK_ERR_ARGUMENT);
    assert_non_null(strstr(profk_context_message(NULL), "overlap"));

    assert_int_equal(profk_plan_set_workspace(plan, whole, 0), PROFK_OK);
    assert_int_equal(execute_with(plan, whole, workspace / sizeof(float), NULL, 0), PROFK_OK);
    assert_int_equal(execute_with(plan, whole, info.workspace_nbytes / sizeof(float) - 1, NULL, 0), PROFK_ERR_ARGUMENT);
    assert_non_null(strstr(profk_context_message(NULL), "workspace"));
    assert_int_equal(profk_plan_set_workspace(plan, NULL, 0), PROFK_OK);
    assert_true(good_call_works(plan));
    profk_plan_destroy(plan);
    clReleaseMemObject(part);
    clReleaseMemObject(whole);
}

/* Host memory that starts between two elements. */
static void inputs_between_elements(void **state)
{
    static _Alignas(4096) unsigned char memory[8192 * 4 + 64];
    static const uint32_t routes[] = {PROFK_ROUTE_PROFK, PROFK_ROUTE_FULL};
    cl_int code;
    cl_mem buffer;

    (void)state;
    buffer = clCreateBuffer(fixture.cl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 8192 * 4, memory + 1, &code);
    if (code != CL_SUCCESS) /* some drivers take no such pointer at all */
        return;
    for (size_t i = 0; i < 2; i++) {
        profk_problem problem = good.problem;
        profk_plan *plan = NULL;
        profk_chunk chunk = {.buffer = buffer, .count = N};
        profk_io io = good.io;

        problem.route = routes[i];
        io.chunks = &chunk;
        assert_int_equal(profk_plan_create(fixture.ctx, &problem, NULL, 0, &plan), PROFK_OK);
        fill_outputs();
        assert_int_equal(profk_execute(plan, fixture.queues[0], &io, 0, NULL, NULL), PROFK_ERR_UNSUPPORTED);
        assert_true(outputs_untouched());
        profk_plan_destroy(plan);
    }
    clReleaseMemObject(buffer);
}

/* profk_topk_host() with one thing wrong each: status as given, outputs as they were. */
static void host_calls(void **state)
{
    static const struct {
        const char *name;
        profk_status status;
        uint64_t k, rows, stats_size;
        bool has_problem, has_input;
    } bad[] = {
        {"no problem", PROFK_ERR_ARGUMENT, K, 1, sizeof(profk_stats), false, true},
        {"no input", PROFK_ERR_ARGUMENT, K, 1, sizeof(profk_stats), true, false},
        {"k > n", PROFK_ERR_ARGUMENT, N + 1, 1, sizeof(profk_stats), true, true},
        {"stats.struct_size 0", PROFK_ERR_ARGUMENT, K, 1, 0, true, true},
        {"stats.struct_size small", PROFK_ERR_ARGUMENT, K, 1, 8, true, true},
        {"rows larger than an allocation", PROFK_ERR_UNSUPPORTED, K, P31, sizeof(profk_stats), true, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        profk_problem problem = good.problem;
        struct {
            float values[K];
            uint64_t indices[K];
            profk_row row;
            profk_stats stats;
        } out;
        profk_status status;

        memset(&out, CANARY, sizeof out);
        out.stats.struct_size = (size_t)bad[i].stats_size;
        problem.rows = bad[i].rows;
        problem.k = bad[i].k;
        status = profk_topk_host(fixture.ctx, bad[i].has_problem ? &problem : NULL, bad[i].has_input ? input : NULL,
                                 out.values, out.indices, &out.row, &out.stats);
        if (status != bad[i].status)
            fail_msg("%s: status %d: %s", bad[i].name, (int)status, profk_context_message(NULL));
        out.stats.struct_size = 0;
        memset(&out.stats.struct_size, CANARY, sizeof out.stats.struct_size);
        if (!all_canaries((unsigned char *)&out, sizeof out))
            fail_msg("%s: an output was written", bad[i].name);
        assert_true(good_call_works(NULL));
    }
}

/* ---- without platform, device or compiler ---- */

struct child {
    const char *name, *vendors, *setting;
    const char *spec; /* NULL: none */
    profk_status status;
    const char *words;
};

static const struct child children[] = {
    {"no platform", PROFK_TEST_VENDORS "/none", "FAKE=", NULL, PROFK_ERR_NO_DEVICE, "platform"},
    {"no platform, by number", PROFK_TEST_VENDORS "/none", "FAKE=", "0", PROFK_ERR_NO_DEVICE, "platform"},
    {"a platform without devices", PROFK_TEST_VENDORS "/fake", "FAKE_DEVICES=0", NULL, PROFK_ERR_NO_DEVICE, "device"},
    {"no compiler, by number", PROFK_TEST_VENDORS "/fake", "FAKE_COMPILER=0", "0", PROFK_ERR_NO_COMPILER, "compiler"},
    {"no compiler, by name", PROFK_TEST_VENDORS "/fake", "FAKE_COMPILER=0", "fake", PROFK_ERR_NO_COMPILER, "compiler"},
    {"no compiler anywhere", PROFK_TEST_VENDORS "/fake", "FAKE_COMPILER=0", NULL, PROFK_ERR_NO_COMPILER, "compiler"},
    {"no context on the device", PROFK_TEST_VENDORS "/fake", "FAKE=", "0", PROFK_ERR_HOST_MEMORY, "clCreateContext"},
};

/* In the child: the statuses of what needs a device.  Returns the exit status. */
static int run_child(const struct child *c)
{
    profk_problem problem;
    profk_context *ctx = (profk_context *)&problem;
    float value = (float)CANARY;
    profk_status status = profk_context_create_default(c->spec, NULL, &ctx);

    if (status != c->status || ctx || !strstr(profk_context_message(NULL), c->words)) {
        fprintf(stderr, "FAILED: %s: status %d where %d is right, or not NULL, or without '%s': %s\n", c->name,
                (int)status, (int)c->status, c->words, profk_context_message(NULL));
        return 1;
    }
    if (c->spec)
        return 0;
    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, 1);
    status = profk_topk_host(NULL, &problem, input, &value, NULL, NULL, NULL);
    if (status != c->status || value != (float)CANARY) {
        fprintf(stderr, "FAILED: %s: profk_topk_host: status %d where %d is right\n", c->name, (int)status,
                (int)c->status);
        return 1;
    }
    return 0;
}

static char *self;

static void without_a_device(void **state)
{
    int faults = 0;

    (void)state;
    for (size_t i = 0; i < sizeof children / sizeof children[0]; i++) {
        char vendors[4096], number[16];
        int status = -1;
        pid_t pid;

        snprintf(vendors, sizeof vendors, "OCL_ICD_VENDORS=%s", children[i].vendors);
        snprintf(number, sizeof number, "%zu", i);
        pid = fork();
        if (pid == 0) {
            execlp("env", "env", "-u", "PROFK_DEVICE", vendors, children[i].setting, self, "--child", number,
                   (char *)NULL);
            _exit(127);
        }
        assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
        faults += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(faults, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_is_refused), cmocka_unit_test(places_in_one_buffer),
        cmocka_unit_test(the_edges_are_accepted),
        cmocka_unit_test(longer_structs_are_accepted_if_zero),
        cmocka_unit_test(filled_structs_keep_to_their_size),
        cmocka_unit_test(problem_init_sets_every_field),
        cmocka_unit_test(null_pointers),
        cmocka_unit_test(devices_that_do_not_exist),
        cmocka_unit_test(the_smallest_sample_is_named),
        cmocka_unit_test(workspaces_that_do_not_fit),
        cmocka_unit_test(host_calls),
        cmocka_unit_test(without_a_device),
        cmocka_unit_test(inputs_between_elements),
    };
    int status;

    self = argv[0];
    if (argc == 3 && strcmp(argv[1], "--child") == 0)
        return run_child(&children[strtoul(argv[2], NULL, 10) % (sizeof children / sizeof children[0])]);
    status = open_all();
    if (status == 0)
        status = cmocka_run_group_tests(tests, NULL, NULL);
    close_all();
    return status;
}
