/* scenarios.c: one device, one input and one answer for all scenarios; see scenarios.h. */
#define _POSIX_C_SOURCE 200809L /* getpid, nanosleep, setenv */
#include "fault/scenarios.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STORE PROFK_TEST_SCRATCH "/fault-store"

enum { N = SCENARIO_N, K = SCENARIO_K, CANARY = 0xCC };

struct fixture fixture;
static void (*end_faults)(void);
static cl_mem input_buffer, outputs[OUTPUTS], workspace;
static float input[N];
static uint32_t right[K];

static const size_t output_nbytes[OUTPUTS] = {K * sizeof(float), K * sizeof(uint64_t), sizeof(profk_row)};

/* ---- outputs ---- */

void fill_outputs(void)
{
    static const unsigned char canary = CANARY;

    for (int i = 0; i < OUTPUTS; i++)
        assert_int_equal(
            clEnqueueFillBuffer(fixture.queues[0], outputs[i], &canary, 1, 0, output_nbytes[i], 0, NULL, NULL),
            CL_SUCCESS);
    assert_int_equal(clFinish(fixture.queues[0]), CL_SUCCESS);
}

static enum verdict judge(const float *values, const uint64_t *indices, const profk_row *row)
{
    unsigned char canaries[K * sizeof(uint64_t)];

    memset(canaries, CANARY, sizeof canaries);
    if (memcmp(row, canaries, sizeof *row) == 0)
        return memcmp(values, canaries, K * sizeof *values) == 0 &&
                       memcmp(indices, canaries, K * sizeof *indices) == 0
                   ? UNTOUCHED
                   : WRONG;
    if (row->status != PROFK_ROW_CERTIFIED)
        return NOT_VALID;
    for (size_t r = 0; r < K; r++)
        if (indices[r] != right[r] || memcmp(&values[r], &input[right[r]], sizeof values[r]) != 0)
            return WRONG;
    return RIGHT;
}

enum verdict judge_outputs(void)
{
    float values[K];
    uint64_t indices[K];
    profk_row row;
    void *const room[OUTPUTS] = {values, indices, &row};

    for (int i = 0; i < OUTPUTS; i++)
        assert_int_equal(
            clEnqueueReadBuffer(fixture.queues[0], outputs[i], CL_TRUE, 0, output_nbytes[i], room[i], 0, NULL, NULL),
            CL_SUCCESS);
    return judge(values, indices, &row);
}

/* ---- scenarios ---- */

void note(struct ending *o, profk_status status, const void *ret)
{
    o->status = status;
    snprintf(o->message, sizeof o->message, "%s", profk_context_message(NULL));
    end_faults(); /* what follows is to succeed */
    if (ret)
        o->verdict = WRONG; /* *ret must be NULL */
}

profk_status execute(profk_plan *plan, cl_event *event)
{
    const profk_chunk chunk = {.buffer = input_buffer, .count = N};
    const profk_io io = {.struct_size = sizeof io,
                         .chunks = &chunk,
                         .chunk_count = 1,
                         .values = outputs[OUT_VALUES],
                         .indices = outputs[OUT_INDICES],
                         .row_results = outputs[OUT_ROW]};

    return profk_execute(plan, fixture.queues[0], &io, 0, NULL, event);
}

profk_problem problem_of(uint64_t k, uint32_t route)
{
    profk_problem problem;

    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, k);
    problem.seed = 7;
    problem.epsilon = 1e-9;
    problem.route = route;
    return problem;
}

/* S = n and t = k - 1 miss for certain. */
static const profk_tuning six_misses = {.struct_size = sizeof six_misses, .S = N, .t = K - 1};

/* Runs plan; after a failure judges the outputs and runs it once more. */
static void run_plan(profk_plan *plan, struct ending *o)
{
    cl_event event = NULL;
    profk_status status = execute(plan, &event);

    if (status == PROFK_OK) {
        clReleaseEvent(event);
        o->verdict = judge_outputs();
        return;
    }
    note(o, status, event);
    if (o->verdict != WRONG)
        o->verdict = judge_outputs();
    fill_outputs();
    o->recovered = execute(plan, NULL) == PROFK_OK && judge_outputs() == RIGHT;
}

static void run_on(profk_context *ctx, uint32_t route, const profk_tuning *tuning, bool own_workspace,
                   struct ending *o)
{
    const profk_problem problem = problem_of(K, route);
    profk_plan *plan = NULL;
    profk_status status = profk_plan_create(ctx, &problem, tuning, 0, &plan);

    if (status != PROFK_OK) {
        note(o, status, plan);
        o->recovered = profk_plan_create(ctx, &problem, tuning, 0, &plan) == PROFK_OK;
    } else if (own_workspace) {
        status = profk_plan_set_workspace(plan, workspace, 0);
        if (status != PROFK_OK) {
            note(o, status, NULL);
            o->recovered = profk_plan_set_workspace(plan, workspace, 0) == PROFK_OK;
        }
    }
    if (status == PROFK_OK)
        run_plan(plan, o);
    profk_plan_destroy(plan);
}

static void run_profk(struct ending *o)
{
    run_on(fixture.ctx, PROFK_ROUTE_PROFK, NULL, false, o);
}

static void run_full(struct ending *o)
{
    run_on(fixture.ctx, PROFK_ROUTE_FULL, NULL, false, o);
}

static void run_ladder(struct ending *o)
{
    run_on(fixture.ctx, PROFK_ROUTE_PROFK, &six_misses, false, o);
}

static void run_workspace(struct ending *o)
{
    run_on(fixture.ctx, PROFK_ROUTE_PROFK, NULL, true, o);
}

/* Where a context keeps its kernels. */
static const profk_options nowhere = {.struct_size = sizeof nowhere, .cache_dir = ""};
static const profk_options on_disk = {.struct_size = sizeof on_disk, .cache_dir = STORE};

/* A context of the library's own on the caller's OpenCL context: kernels are built, or loaded. */
static void run_new_context(const profk_options *options, const profk_tuning *tuning, struct ending *o)
{
    profk_context *ctx = NULL;
    profk_status status = profk_context_create(fixture.cl, fixture.device, options, &ctx);

    if (status != PROFK_OK) {
        note(o, status, ctx);
        o->recovered = profk_context_create(fixture.cl, fixture.device, options, &ctx) == PROFK_OK;
    } else {
        run_on(ctx, PROFK_ROUTE_PROFK, tuning, false, o);
    }
    profk_context_destroy(ctx);
}

void run_build(struct ending *o)
{
    run_new_context(&nowhere, NULL, o);
}

static void run_late_build(struct ending *o)
{
    run_new_context(&nowhere, &six_misses, o);
}

/* The run before has left the kernels on disk. */
static void run_load(struct ending *o)
{
    run_new_context(&on_disk, NULL, o);
}

static void run_store(struct ending *o)
{
    profk_cache_clear(&on_disk, NULL);
    run_new_context(&on_disk, NULL, o);
}

static void run_default(struct ending *o)
{
    profk_context *ctx = NULL;
    profk_status status = profk_context_create_default(NULL, NULL, &ctx);

    if (status != PROFK_OK) {
        note(o, status, ctx);
        o->recovered = profk_context_create_default(NULL, NULL, &ctx) == PROFK_OK;
    }
    profk_context_destroy(ctx);
    if (o->verdict != WRONG)
        o->verdict = status == PROFK_OK ? RIGHT : UNTOUCHED;
}

static void run_devices(struct ending *o)
{
    profk_device device = {.struct_size = sizeof device};
    profk_status status = profk_device_get(0, &device);

    if (status != PROFK_OK) {
        o->verdict = device.id == NULL ? UNTOUCHED : WRONG;
        note(o, status, NULL);
        o->recovered = profk_device_get(0, &device) == PROFK_OK;
    } else {
        o->verdict = RIGHT;
    }
}

/* k = 0: nothing to select, with and without row results. */
static profk_status execute_nothing(profk_plan *plan)
{
    const profk_io io = {.struct_size = sizeof io, .row_results = outputs[OUT_ROW]},
                   none = {.struct_size = sizeof io};
    const profk_status status = profk_execute(plan, fixture.queues[0], &io, 0, NULL, NULL);

    return status == PROFK_OK ? profk_execute(plan, fixture.queues[0], &none, 0, NULL, NULL) : status;
}

static void run_nothing(struct ending *o)
{
    const profk_problem problem = problem_of(0, PROFK_ROUTE_AUTO);
    profk_plan *plan = NULL;
    profk_status status = profk_plan_create(fixture.ctx, &problem, NULL, 0, &plan);

    o->verdict = status == PROFK_OK ? RIGHT : UNTOUCHED;
    if (status != PROFK_OK) {
        note(o, status, plan);
        o->recovered =
            profk_plan_create(fixture.ctx, &problem, NULL, 0, &plan) == PROFK_OK && execute_nothing(plan) == PROFK_OK;
    } else {
        status = execute_nothing(plan);
        if (status != PROFK_OK) {
            note(o, status, NULL);
            o->recovered = execute_nothing(plan) == PROFK_OK;
        }
    }
    profk_plan_destroy(plan);
}

/* ctx NULL: the call makes a context of its own. */
static void run_host_on(profk_context *ctx, struct ending *o)
{
    const profk_problem problem = problem_of(K, PROFK_ROUTE_AUTO);
    struct {
        float values[K];
        uint64_t indices[K];
        profk_row row;
    } out;
    profk_status status;

    memset(&out, CANARY, sizeof out);
    status = profk_topk_host(ctx, &problem, input, out.values, out.indices, &out.row, NULL);
    o->verdict = judge(out.values, out.indices, &out.row);
    if (status == PROFK_OK)
        return;
    if (o->verdict != UNTOUCHED) /* outputs are written only when the whole call succeeded */
        o->verdict = WRONG;
    note(o, status, NULL);
    status = profk_topk_host(ctx, &problem, input, out.values, out.indices, &out.row, NULL);
    o->recovered = status == PROFK_OK && judge(out.values, out.indices, &out.row) == RIGHT;
}

void run_host(struct ending *o)
{
    run_host_on(fixture.ctx, o);
}

static void run_host_alone(struct ending *o)
{
    run_host_on(NULL, o);
}

const struct scenario scenarios[] = {
    {"route profk", run_profk, QUERIES_MAY_REFUSE},
    {"route full", run_full, QUERIES_MAY_REFUSE},
    {"six misses, then full", run_ladder, QUERIES_MAY_REFUSE},
    {"a workspace of the caller", run_workspace, QUERIES_MAY_REFUSE},
    {"k = 0", run_nothing, QUERIES_MAY_REFUSE},
    {"host memory", run_host, QUERIES_MAY_REFUSE},
    {"a device", run_devices, QUERIES_MAY_REFUSE},
    {"a default context", run_default, QUERIES_MAY_REFUSE | LOADS},
    {"a new context", run_build, QUERIES_MAY_REFUSE | BUILDS_ONLY},
    {"full built at its first use", run_late_build, BUILDS_ONLY},
    {"kernels from disk", run_load, QUERIES_MAY_REFUSE | BUILDS_ONLY | LOADS},
    {"kernels to disk", run_store, STORES_ONLY},
    {"host memory, without a context", run_host_alone, QUERIES_MAY_REFUSE | BUILDS_ONLY | LOADS},
};

const size_t scenario_count = sizeof scenarios / sizeof scenarios[0];

/* ---- references ---- */

static cl_uint references_of(cl_mem buffer)
{
    cl_uint count = 0;

    clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL);
    return count;
}

void rest_a_moment(void)
{
    nanosleep(&(struct timespec){0, 2000000}, NULL);
}

struct references read_references(void)
{
    struct references r;

    memset(&r, 0, sizeof r);
    clFinish(fixture.queues[0]);
    clGetContextInfo(fixture.cl, CL_CONTEXT_REFERENCE_COUNT, sizeof r.context, &r.context, NULL);
    clGetCommandQueueInfo(fixture.queues[0], CL_QUEUE_REFERENCE_COUNT, sizeof r.queue, &r.queue, NULL);
    r.input = references_of(input_buffer);
    r.workspace = references_of(workspace);
    for (int i = 0; i < OUTPUTS; i++)
        r.outputs[i] = references_of(outputs[i]);
    return r;
}

struct references settled_references(void)
{
    enum { STILL = 10 };
    struct references last = read_references();

    for (int still = 0; still < STILL; still++) {
        struct references now;

        rest_a_moment();
        now = read_references();
        if (memcmp(&now, &last, sizeof now) != 0)
            still = 0;
        last = now;
    }
    return last;
}

/* ---- before and after all ---- */

static cl_mem buffer_of(size_t nbytes, void *from)
{
    cl_int code;

    return clCreateBuffer(fixture.cl, CL_MEM_READ_WRITE | (from ? CL_MEM_COPY_HOST_PTR : 0), nbytes, from, &code);
}

static void open_buffers(void)
{
    for (uint32_t i = 0; i < N; i++)
        input[i] = (float)((i * UINT32_C(2654435761)) >> 8) + 1;
    for (uint32_t r = 0; r < K; r++) {
        right[r] = 17 + 431 * r;
        input[right[r]] = 1e9f - (float)r * 1000;
    }
    input_buffer = buffer_of(sizeof input, input);
    workspace = buffer_of(1 << 20, NULL);
    for (int i = 0; i < OUTPUTS; i++)
        outputs[i] = buffer_of(output_nbytes[i], NULL);
}

static void close_buffers(void)
{
    clReleaseMemObject(input_buffer);
    clReleaseMemObject(workspace);
    for (int i = 0; i < OUTPUTS; i++)
        clReleaseMemObject(outputs[i]);
}

int scenarios_open(void (*end)(void))
{
    int status = fixture_open(&fixture);

    end_faults = end;
    if (status == 0)
        open_buffers();
    return status;
}

void scenarios_close(void)
{
    if (input_buffer)
        close_buffers();
    fixture_close(&fixture);
}

/* ---- under the layer ---- */

/* One for each process, so that two runs at once do not read each other's. */
char scenarios_log[512];

static void no_faults(void)
{
    unsetenv("FAULT");
}

int scenarios_under_layer(const char *name, int (*run)(void))
{
    int status;

    setenv("OPENCL_LAYERS", PROFK_TEST_LAYER, 1); /* read by the loader at the first OpenCL call */
    snprintf(scenarios_log, sizeof scenarios_log, "%s/%s-%ld.log", PROFK_TEST_SCRATCH, name, (long)getpid());
    setenv("PROFK_LAYER_LOG", scenarios_log, 1);
    no_faults();
    status = scenarios_open(no_faults);
    if (status == 0)
        status = run();
    scenarios_close();
    unsetenv("PROFK_LAYER_LOG"); /* the layer writes a last time at exit */
    remove(scenarios_log);
    return status;
}
