/*
 * test_workspace.c: what a plan says about memory, launches and blocking is what the driver sees.
 *
 * The program runs behind support/layer.c, which counts calls and bytes in a file.
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
#include <string.h>

#include "profk.h"
#include "support/fixture.h"
#include "support/inputs.h"
#include "support/reference.h"

#define LOG PROFK_TEST_SCRATCH "/test_workspace.log"

enum { MOST = 1 << 20 };

static struct fixture fixture;

/* Totals since the program began. */
struct counts {
    uint64_t allocated_nbytes, allocations, launches, blocking, builds;
};

/* Names of the layer's log and the total that each adds to. */
static const struct {
    const char *name;
    size_t at;
} meanings[] = {
    {"clCreateBuffer.bytes", offsetof(struct counts, allocated_nbytes)},
    {"clCreateBuffer", offsetof(struct counts, allocations)},
    {"clCreateSubBuffer", offsetof(struct counts, allocations)},
    {"clEnqueueNDRangeKernel", offsetof(struct counts, launches)},
    {"clEnqueueTask", offsetof(struct counts, launches)},
    {"clEnqueueReadBuffer", offsetof(struct counts, blocking)},
    {"clEnqueueWriteBuffer", offsetof(struct counts, blocking)},
    {"clEnqueueMapBuffer", offsetof(struct counts, blocking)},
    {"clWaitForEvents", offsetof(struct counts, blocking)},
    {"clFinish", offsetof(struct counts, blocking)},
    {"clCreateProgramWithSource", offsetof(struct counts, builds)},
    {"clCreateProgramWithBinary", offsetof(struct counts, builds)},
    {"clBuildProgram", offsetof(struct counts, builds)},
    {"clCreateKernel", offsetof(struct counts, builds)},
    {"clCreateKernelsInProgram", offsetof(struct counts, builds)},
};

/* The layer writes its log whenever a context goes. */
static struct counts read_counts(void)
{
    struct counts counts = {0};
    char name[64];
    uint64_t number;
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &fixture.device, NULL, NULL, &code);
    FILE *file;

    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clReleaseContext(context), CL_SUCCESS);
    file = fopen(LOG, "r");
    if (!file)
        fail_msg("the layer wrote no %s; does the ICD loader know OPENCL_LAYERS?", LOG);
    while (fscanf(file, "%63s %" SCNu64, name, &number) == 2)
        for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
            if (strcmp(name, meanings[i].name) == 0)
                *(uint64_t *)(void *)((char *)&counts + meanings[i].at) += number;
    fclose(file);
    return counts;
}

static struct counts minus(struct counts a, struct counts b)
{
    return (struct counts){a.allocated_nbytes - b.allocated_nbytes, a.allocations - b.allocations,
                           a.launches - b.launches, a.blocking - b.blocking, a.builds - b.builds};
}

static const struct test_case cases[] = {
    {.type = PROFK_F32, .n = 1, .k = 1},
    {.type = PROFK_F32, .n = 100, .k = 10},
    {.type = PROFK_F32, .n = 100, .k = 10, .route = PROFK_ROUTE_PROFK},
    {.type = PROFK_F32, .n = 4095, .k = 10},
    {.type = PROFK_F32, .n = 4096, .k = 10},
    {.type = PROFK_F32, .n = 70000, .k = 1},
    {.type = PROFK_F32, .n = 70000, .k = 1, .sort = PROFK_SORT_INDEX, .route = PROFK_ROUTE_FULL},
    {.type = PROFK_F32, .n = MOST, .k = 0},
    {.type = PROFK_F32, .n = MOST, .k = 256},
    {.type = PROFK_F32, .n = MOST, .k = 256, .sort = PROFK_SORT_INDEX},
    {.type = PROFK_F32, .n = MOST, .k = 5000, .route = PROFK_ROUTE_PROFK},
    {.type = PROFK_F32, .n = MOST, .k = 5000, .sort = PROFK_SORT_INDEX, .route = PROFK_ROUTE_PROFK},
    {.type = PROFK_F32, .n = MOST, .k = 5000, .sort = PROFK_SORT_NONE, .route = PROFK_ROUTE_PROFK},
    {.type = PROFK_F32, .n = MOST, .k = 5000, .route = PROFK_ROUTE_FULL},
    {.type = PROFK_F32, .n = MOST, .k = 5000, .sort = PROFK_SORT_INDEX, .route = PROFK_ROUTE_FULL},
    {.type = PROFK_F32, .n = 9000, .k = 9000},
    {.type = PROFK_I8, .n = MOST, .k = 300, .route = PROFK_ROUTE_PROFK},
    {.type = PROFK_U8, .n = MOST, .k = 300, .route = PROFK_ROUTE_FULL},
    {.type = PROFK_F16, .n = 70000, .k = 3000},
    {.type = PROFK_U16, .n = 70000, .k = 3000, .route = PROFK_ROUTE_FULL, .index = PROFK_INDEX_U32},
    {.type = PROFK_F64, .n = MOST, .k = 3000, .route = PROFK_ROUTE_PROFK},
    {.type = PROFK_I64, .n = 70000, .k = 3000, .route = PROFK_ROUTE_FULL},
};

static void *input; /* MOST elements of the widest type */

/* The device buffers of a call, big enough for every case. */
struct buffers {
    cl_mem input, values, indices, row;
};

static cl_mem buffer_of(size_t nbytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(fixture.cl, CL_MEM_READ_WRITE, nbytes, NULL, &code);

    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

static struct buffers open_buffers(void)
{
    return (struct buffers){buffer_of(MOST * 8), buffer_of(9000 * 8), buffer_of(9000 * 8), buffer_of(16)};
}

static void close_buffers(const struct buffers *b)
{
    clReleaseMemObject(b->input);
    clReleaseMemObject(b->values);
    clReleaseMemObject(b->indices);
    clReleaseMemObject(b->row);
}

static profk_plan *plan_of(const struct test_case *c)
{
    profk_problem problem;
    profk_plan *plan = NULL;

    profk_problem_init(&problem, sizeof problem, c->type, c->n, c->k);
    problem.sort = c->sort;
    problem.index = c->index;
    problem.route = c->route;
    problem.epsilon = 1e-9; /* an attempt that is repeated would launch more */
    problem.seed = 1;
    if (profk_plan_create(fixture.ctx, &problem, NULL, 0, &plan) != PROFK_OK)
        complain(c, "%s", profk_context_message(fixture.ctx));
    return plan;
}

/* One call, and what the driver saw of it. */
static struct counts run(profk_plan *plan, const struct test_case *c, const struct buffers *b, bool want_event)
{
    const profk_chunk chunk = {.buffer = b->input, .count = c->n};
    const profk_io io = {.struct_size = sizeof io,
                         .chunks = &chunk,
                         .chunk_count = 1,
                         .values = b->values,
                         .indices = b->indices,
                         .row_results = b->row};
    const struct counts before = read_counts();
    cl_event event = NULL;

    if (profk_execute(plan, fixture.queues[0], &io, 0, NULL, want_event ? &event : NULL) != PROFK_OK)
        complain(c, "%s", profk_context_message(fixture.ctx));
    if (event)
        clReleaseEvent(event);
    return minus(read_counts(), before);
}

static bool same(const struct test_case *c, const char *what, uint64_t seen, uint64_t promised)
{
    return seen == promised ? true : complain(c, "%s: %" PRIu64 " where %" PRIu64 " is right", what, seen, promised);
}

/* Plans one case, runs it three times and compares. */
static bool promises_hold(const struct test_case *c, const struct buffers *b)
{
    const struct counts before = read_counts();
    profk_plan *plan = plan_of(c);
    profk_info info = {.struct_size = sizeof info}, later = {.struct_size = sizeof later};
    profk_stats stats = {.struct_size = sizeof stats};
    struct counts first, second, third;
    bool ok;

    if (!plan)
        return false;
    ok = same(c, "buffers made with the plan", minus(read_counts(), before).allocations, 0);
    assert_int_equal(profk_plan_info(plan, &info), PROFK_OK);
    first = run(plan, c, b, true);
    second = run(plan, c, b, true);
    third = run(plan, c, b, false);
    assert_int_equal(profk_plan_info(plan, &later), PROFK_OK);
    assert_int_equal(profk_plan_stats(plan, &stats), PROFK_OK);
    profk_plan_destroy(plan);

    ok = same(c, "redraws", stats.redraws, 0) && ok;
    ok = same(c, "bytes allocated by the first call", first.allocated_nbytes, info.workspace_nbytes) && ok;
    ok = same(c, "buffers made by the second call", second.allocations, 0) && ok;
    ok = same(c, "programs and kernels made by the first call", first.builds, 0) && ok;
    ok = same(c, "programs and kernels made by the second call", second.builds, 0) && ok;
    ok = same(c, "kernel launches of the first call", first.launches, info.kernel_launches) && ok;
    ok = same(c, "kernel launches of the second call", second.launches, info.kernel_launches) && ok;
    ok = same(c, "blocking calls of the first call", first.blocking, info.blocking_calls) && ok;
    ok = same(c, "blocking calls of the second call", second.blocking, info.blocking_calls) && ok;
    ok = same(c, "blocking calls of a call without an event", third.blocking, info.blocking_calls) && ok;
    return same(c, "bytes in a later info", later.workspace_nbytes, info.workspace_nbytes) && ok;
}

static void the_driver_sees_what_info_says(void **state)
{
    const struct buffers b = open_buffers();
    int faults = 0;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        inputs_fill(cases[i].type, INPUTS_NORMAL, i, MOST, (size_t)cases[i].k, input);
        assert_int_equal(clEnqueueWriteBuffer(fixture.queues[0], b.input, CL_TRUE, 0,
                                              MOST * reference_type(cases[i].type)->nbytes, input, 0, NULL, NULL),
                         CL_SUCCESS);
        assert_int_equal(clFinish(fixture.queues[0]), CL_SUCCESS);
        faults += !promises_hold(&cases[i], &b);
    }
    close_buffers(&b);
    assert_int_equal(faults, 0);
}

/* A workspace of the caller's: the plan allocates nothing, and keeps no buffer behind it. */
static void a_workspace_of_the_caller_serves(void **state)
{
    const struct buffers b = open_buffers();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct test_case *c = &cases[i];
        profk_plan *plan = plan_of(c);
        profk_info info = {.struct_size = sizeof info};
        cl_uint references = 0;
        cl_mem workspace;

        assert_non_null(plan);
        assert_int_equal(profk_plan_info(plan, &info), PROFK_OK);
        workspace = buffer_of(info.workspace_nbytes > 0 ? (size_t)info.workspace_nbytes : 1);
        assert_int_equal(profk_plan_set_workspace(plan, workspace, 0), PROFK_OK);
        assert_true(same(c, "bytes allocated beside the caller's", run(plan, c, &b, true).allocated_nbytes, 0));
        assert_int_equal(profk_plan_set_workspace(plan, NULL, 0), PROFK_OK);
        assert_int_equal(clGetMemObjectInfo(workspace, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL),
                         CL_SUCCESS);
        assert_int_equal(references, 1);
        assert_true(same(c, "bytes allocated again", run(plan, c, &b, true).allocated_nbytes, info.workspace_nbytes));
        profk_plan_destroy(plan);
        clReleaseMemObject(workspace);
    }
    close_buffers(&b);
}

/* Large inputs need little memory; nothing is allocated to find that out. */
static void workspaces_stay_small(void **state)
{
    static const struct {
        uint64_t n, k, most_nbytes;
    } large[] = {{1 << 30, 8192, 4 << 20}, {1 << 30, 1, 4 << 20}, {1 << 30, 1 << 16, 16 << 20}};

    (void)state;
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        const struct counts before = read_counts();
        profk_problem problem;
        profk_plan *plan = NULL;
        profk_info info = {.struct_size = sizeof info};

        profk_problem_init(&problem, sizeof problem, PROFK_F32, large[i].n, large[i].k);
        assert_int_equal(profk_plan_create(fixture.ctx, &problem, NULL, 0, &plan), PROFK_OK);
        assert_int_equal(profk_plan_info(plan, &info), PROFK_OK);
        assert_int_equal(info.route, PROFK_ROUTE_PROFK);
        if (info.workspace_nbytes > large[i].most_nbytes)
            fail_msg("n = %" PRIu64 ", k = %" PRIu64 ": a workspace of %" PRIu64 " bytes", large[i].n, large[i].k,
                     info.workspace_nbytes);
        profk_plan_destroy(plan);
        assert_int_equal(minus(read_counts(), before).allocations, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_driver_sees_what_info_says),
        cmocka_unit_test(a_workspace_of_the_caller_serves),
        cmocka_unit_test(workspaces_stay_small),
    };
    int status;

    setenv("OPENCL_LAYERS", PROFK_TEST_LAYER, 1); /* read by the loader at the first OpenCL call */
    setenv("PROFK_LAYER_LOG", LOG, 1);
    unsetenv("FAULT");
    remove(LOG);
    input = calloc(MOST, 8);
    status = input ? fixture_open(&fixture) : 1;
    if (status == 0)
        status = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_close(&fixture);
    free(input);
    return status;
}
