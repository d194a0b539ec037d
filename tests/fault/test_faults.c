/*
 * test_faults.c: every OpenCL call that the library makes fails once, at each place where it makes it.
 *
 * A scenario is a piece of a plan's life.  It runs once without a fault, behind support/layer.c, which counts the
 * calls; then again for each entry point and each of its calls, this one failing.  Each time
 *   - the status is the one of the code, and the message names the call,
 *   - the outputs are as before, or the row says certified and they are right, or it says they are not valid,
 *   - nothing is left behind: reference counts of what the caller owns and the bytes on the device are as before,
 *   - the next call succeeds, with the same plan where there is one.
 * Releases are not made to fail: the library could do nothing about it.
 */
#define _POSIX_C_SOURCE 200809L /* setenv, nanosleep */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profk.h"
#include "support/fixture.h"

#define LOG PROFK_TEST_SCRATCH "/test_faults.log"
#define STORE PROFK_TEST_SCRATCH "/test_faults-store"

enum { N = 5000, K = 10, ENTRIES_MAX = 64, CANARY = 0xCC };

static struct fixture fixture;
static cl_mem input_buffer, outputs[OUTPUTS], workspace;
static float input[N];
static uint32_t right[K];

static const size_t output_nbytes[OUTPUTS] = {K * sizeof(float), K * sizeof(uint64_t), sizeof(profk_row)};

/* ---- what the layer saw ---- */

struct entry {
    char name[48];
    uint64_t calls;
};

struct counts {
    struct entry entry[ENTRIES_MAX];
    size_t used;
    uint64_t live_nbytes;
};

static void read_counts(struct counts *ret)
{
    struct entry e;
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &fixture.device, NULL, NULL, &code);
    FILE *file;

    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clReleaseContext(context), CL_SUCCESS); /* the layer writes its log */
    ret->used = 0;
    ret->live_nbytes = 0;
    file = fopen(LOG, "r");
    if (!file)
        fail_msg("the layer wrote no %s; does the ICD loader know OPENCL_LAYERS?", LOG);
    while (fscanf(file, "%47s %" SCNu64, e.name, &e.calls) == 2) {
        if (strcmp(e.name, "clCreateBuffer.live") == 0)
            ret->live_nbytes = e.calls;
        else if (!strchr(e.name, '.') && ret->used < ENTRIES_MAX)
            ret->entry[ret->used++] = e;
    }
    fclose(file);
}

static uint64_t calls_of(const struct counts *counts, const char *name)
{
    for (size_t i = 0; i < counts->used; i++)
        if (strcmp(counts->entry[i].name, name) == 0)
            return counts->entry[i].calls;
    return 0;
}

/* ---- outputs ---- */

enum verdict { UNTOUCHED, RIGHT, NOT_VALID, WRONG };

static void fill_outputs(void)
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

static enum verdict judge_outputs(void)
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

/* How a run ended.  A scenario keeps the first failure and then runs what is left without faults. */
struct ending {
    profk_status status;
    char message[4200];
    enum verdict verdict; /* of the failed call's outputs */
    bool recovered;       /* the same call succeeded behind the failure */
};

static void note(struct ending *o, profk_status status, const void *ret)
{
    o->status = status;
    snprintf(o->message, sizeof o->message, "%s", profk_context_message(NULL));
    unsetenv("FAULT"); /* what follows is to succeed */
    if (ret)
        o->verdict = WRONG; /* *ret must be NULL */
}

static profk_status execute(profk_plan *plan, cl_event *event)
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

static profk_problem problem_of(uint64_t k, uint32_t route)
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

static void run_build(struct ending *o)
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
static void run_nothing(struct ending *o)
{
    const profk_problem problem = problem_of(0, PROFK_ROUTE_AUTO);
    const profk_io io = {.struct_size = sizeof io, .row_results = outputs[OUT_ROW]},
                   none = {.struct_size = sizeof io};
    profk_plan *plan = NULL;
    profk_status status;

    assert_int_equal(profk_plan_create(fixture.ctx, &problem, NULL, 0, &plan), PROFK_OK);
    status = profk_execute(plan, fixture.queues[0], &io, 0, NULL, NULL);
    if (status == PROFK_OK)
        status = profk_execute(plan, fixture.queues[0], &none, 0, NULL, NULL);
    o->verdict = RIGHT;
    if (status != PROFK_OK) {
        note(o, status, NULL);
        o->recovered = profk_execute(plan, fixture.queues[0], &io, 0, NULL, NULL) == PROFK_OK;
    }
    profk_plan_destroy(plan);
}

static void run_host(struct ending *o)
{
    const profk_problem problem = problem_of(K, PROFK_ROUTE_AUTO);
    struct {
        float values[K];
        uint64_t indices[K];
        profk_row row;
    } out;
    profk_status status;

    memset(&out, CANARY, sizeof out);
    status = profk_topk_host(fixture.ctx, &problem, input, out.values, out.indices, &out.row, NULL);
    o->verdict = judge(out.values, out.indices, &out.row);
    if (status == PROFK_OK)
        return;
    if (o->verdict != UNTOUCHED) /* outputs are written only when the whole call succeeded */
        o->verdict = WRONG;
    note(o, status, NULL);
    status = profk_topk_host(fixture.ctx, &problem, input, out.values, out.indices, &out.row, NULL);
    o->recovered = status == PROFK_OK && judge(out.values, out.indices, &out.row) == RIGHT;
}

enum {
    QUERIES_MAY_REFUSE = 1, /* a device or buffer that cannot be asked is refused or taken for careful */
    BUILDS_ONLY = 2,        /* only calls that concern programs: others fail elsewhere, faster */
    LOADS = 4,              /* programs come from disk: what fails is a miss, and they are built */
    STORES_ONLY = 8         /* only calls that fetch binaries for the disk: what fails is not stored */
};

static const struct scenario {
    const char *name;
    void (*run)(struct ending *o);
    uint32_t flags;
} scenarios[] = {
    {"route profk", run_profk, QUERIES_MAY_REFUSE},
    {"route full", run_full, QUERIES_MAY_REFUSE},
    {"six misses, then full", run_ladder, QUERIES_MAY_REFUSE},
    {"a workspace of the caller", run_workspace, QUERIES_MAY_REFUSE},
    {"k = 0", run_nothing, QUERIES_MAY_REFUSE},
    {"host memory", run_host, QUERIES_MAY_REFUSE},
    {"a device", run_devices, QUERIES_MAY_REFUSE},
    {"a default context", run_default, QUERIES_MAY_REFUSE},
    {"a new context", run_build, QUERIES_MAY_REFUSE | BUILDS_ONLY},
    {"full built at its first use", run_late_build, BUILDS_ONLY},
    {"kernels from disk", run_load, QUERIES_MAY_REFUSE | BUILDS_ONLY | LOADS},
    {"kernels to disk", run_store, STORES_ONLY},
};

/* ---- faults ---- */

static profk_status status_of(const char *entry, int code)
{
    if (code == CL_OUT_OF_HOST_MEMORY)
        return PROFK_ERR_HOST_MEMORY;
    switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return PROFK_ERR_DEVICE_MEMORY;
    case CL_DEVICE_NOT_AVAILABLE: return PROFK_ERR_DEVICE_LOST;
    default: return strcmp(entry, "clBuildProgram") == 0 ? PROFK_ERR_BUILD : PROFK_ERR_OPENCL;
    }
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/*
 * Calls whose failure may pass: a wait for work that is done; a fact that only chooses between right ways; a device
 * that cannot be asked when another one serves; a binary that goes to the disk or comes from there.
 */
static bool may_pass(const struct scenario *s, const char *entry)
{
    static const struct {
        const char *name;
        uint32_t flags; /* of the scenarios in which it may, 0: all */
    } entries[] = {
        {"clWaitForEvents", 0},
        {"clGetDeviceInfo", 0},
        {"clGetDeviceIDs", 0},
        {"clGetPlatformIDs", 0},
        {"clGetPlatformInfo", 0},
        {"clGetProgramInfo", LOADS | STORES_ONLY},
        {"clBuildProgram", LOADS},
        {"clCreateProgramWithBinary", LOADS},
        {"clCreateKernelsInProgram", LOADS},
        {"clGetKernelWorkGroupInfo", LOADS},
    };

    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entry, entries[i].name) == 0)
            return entries[i].flags == 0 || (s->flags & entries[i].flags);
    return false;
}

/* A query that fails may stand for "this cannot be used" instead: then the status says so and words may differ. */
static bool may_refuse(const struct scenario *s, const char *entry, profk_status status)
{
    if (!(s->flags & QUERIES_MAY_REFUSE) || !starts_with(entry, "clGet"))
        return false;
    return status == PROFK_ERR_ARGUMENT || status == PROFK_ERR_NO_DEVICE || status == PROFK_ERR_NO_COMPILER;
}

static void rest_a_moment(void)
{
    nanosleep(&(struct timespec){0, 2000000}, NULL);
}

/* Reference counts of what the caller owns. */
struct references {
    cl_uint context, queue, input, outputs[OUTPUTS], workspace;
};

static cl_uint references_of(cl_mem buffer)
{
    cl_uint count = 0;

    clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL);
    return count;
}

static struct references read_references(void)
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

/* What the caller's objects and the device hold while no scenario runs. */
static struct references idle_references;
static uint64_t idle_nbytes;

static void read_idle(void)
{
    static struct counts counts;

    rest_a_moment();
    idle_references = read_references();
    read_counts(&counts);
    idle_nbytes = counts.live_nbytes;
}

/* What a scenario left behind, NULL if nothing.  A driver may let go of a finished command's objects a little late. */
static const char *leftover(void)
{
    static struct counts counts;
    const char *found = NULL;

    for (int tries = 0; tries < 100; tries++) {
        const struct references now = read_references();

        read_counts(&counts);
        found = memcmp(&idle_references, &now, sizeof now) != 0 ? "something is still referenced"
                : counts.live_nbytes != idle_nbytes             ? "device memory is left behind"
                                                                : NULL;
        if (!found)
            return NULL;
        rest_a_moment();
    }
    read_idle(); /* so that one leak is reported once */
    return found;
}

/* What is wrong with how a run ended, NULL if nothing. */
static const char *fault_of(const struct scenario *s, const char *entry, int code, const struct ending *o)
{
    if (o->status == PROFK_OK)
        return !may_pass(s, entry) ? "the call succeeded" : o->verdict == RIGHT ? NULL : "success with wrong outputs";
    if (o->verdict == WRONG)
        return "a wrong output is said to be valid, or *ret is not NULL";
    if (!o->recovered)
        return "the call fails also without a fault";
    if (may_refuse(s, entry, o->status))
        return o->message[0] ? NULL : "no message";
    if (o->status != status_of(entry, code))
        return "the status is another one";
    return strstr(o->message, entry) ? NULL : "the message does not name the call";
}

/* One fault: the nth call of entry from now on returns code. */
static bool inject(const struct scenario *s, const char *entry, uint64_t nth, int code)
{
    static struct counts before;
    struct ending o = {.status = PROFK_OK, .verdict = UNTOUCHED};
    char fault[128];
    const char *wrong, *left;

    fill_outputs();
    read_counts(&before);
    snprintf(fault, sizeof fault, "%s:%" PRIu64 ":%d", entry, calls_of(&before, entry) + nth, code);
    setenv("FAULT", fault, 1);
    s->run(&o);
    unsetenv("FAULT");
    wrong = fault_of(s, entry, code, &o);
    left = leftover();
    wrong = wrong ? wrong : left;
    if (wrong)
        fprintf(stderr, "FAILED: %s: call %" PRIu64 " of %s returns %d: %s\n    status %d, message: %s\n", s->name,
                nth, entry, code, wrong, (int)o.status, o.message);
    return !wrong;
}

static bool is_wanted(const struct scenario *s, const char *entry)
{
    if (starts_with(entry, "clRelease"))
        return false;
    if (s->flags & STORES_ONLY)
        return strcmp(entry, "clGetProgramInfo") == 0;
    if (!(s->flags & BUILDS_ONLY))
        return true;
    return strstr(entry, "Program") || strcmp(entry, "clCreateKernel") == 0 || starts_with(entry, "clGetKernel") ||
           starts_with(entry, "clRetain") || strcmp(entry, "clGetContextInfo") == 0;
}

/* The scenario without a fault; the calls it makes beyond those of the test itself go to ret. */
static void measure(const struct scenario *s, struct counts *ret)
{
    static struct counts before, idle, after;
    struct ending o = {.status = PROFK_OK, .verdict = UNTOUCHED};

    read_counts(&before);
    read_counts(&idle); /* what read_counts() itself costs */
    fill_outputs();
    read_counts(&before);
    s->run(&o);
    read_counts(&after);
    if (o.status != PROFK_OK || o.verdict != RIGHT)
        fail_msg("%s fails without a fault: %s", s->name, o.message);
    *ret = after;
    for (size_t i = 0; i < ret->used; i++) {
        const char *name = ret->entry[i].name;

        ret->entry[i].calls -= calls_of(&before, name);
        if (strcmp(name, "clCreateContext") == 0)
            ret->entry[i].calls--; /* read_counts() */
        if (strcmp(name, "clEnqueueReadBuffer") == 0 && s->run != run_host && ret->entry[i].calls >= OUTPUTS)
            ret->entry[i].calls -= OUTPUTS; /* judge_outputs() */
    }
}

static void every_call_fails_once(void **state)
{
    static const int more_codes[] = {CL_OUT_OF_HOST_MEMORY, CL_MEM_OBJECT_ALLOCATION_FAILURE,
                                     CL_DEVICE_NOT_AVAILABLE};
    static struct counts counts;
    unsigned long faults = 0, runs = 0;

    (void)state;
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        const struct scenario *s = &scenarios[i];

        measure(s, &counts); /* compiles what is missing, and the context keeps it */
        measure(s, &counts);
        read_idle();
        for (size_t e = 0; e < counts.used; e++) {
            const struct entry *entry = &counts.entry[e];

            if (!is_wanted(s, entry->name))
                continue;
            for (uint64_t nth = 1; nth <= entry->calls; nth++, runs++)
                faults += !inject(s, entry->name, nth, CL_OUT_OF_RESOURCES);
            for (size_t c = 0; c < 3 && entry->calls > 0; c++, runs++)
                faults += !inject(s, entry->name, 1, more_codes[c]);
        }
    }
    printf("%lu faults\n", runs);
    assert_int_equal(faults, 0);
}

/* A compiler that fails, and a log that cannot be read either. */
static void a_build_without_a_log(void **state)
{
    static struct counts before;
    struct ending o = {.status = PROFK_OK, .verdict = UNTOUCHED};
    char fault[128];

    (void)state;
    read_counts(&before);
    snprintf(fault, sizeof fault, "clBuildProgram:%" PRIu64 ":%d,clGetProgramBuildInfo:0:%d",
             calls_of(&before, "clBuildProgram") + 2, CL_BUILD_PROGRAM_FAILURE, CL_OUT_OF_RESOURCES);
    setenv("FAULT", fault, 1);
    run_build(&o);
    unsetenv("FAULT");
    assert_int_equal(o.status, PROFK_ERR_BUILD);
    assert_non_null(strstr(o.message, "clBuildProgram"));
    assert_true(o.recovered);
}

/* ---- the program ---- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_once),
        cmocka_unit_test(a_build_without_a_log),
    };
    int status;

    setenv("OPENCL_LAYERS", PROFK_TEST_LAYER, 1); /* read by the loader at the first OpenCL call */
    setenv("PROFK_LAYER_LOG", LOG, 1);
    unsetenv("FAULT");
    remove(LOG);
    status = fixture_open(&fixture);
    if (status == 0) {
        open_buffers();
        status = cmocka_run_group_tests(tests, NULL, NULL);
        close_buffers();
    }
    fixture_close(&fixture);
    return status;
}
