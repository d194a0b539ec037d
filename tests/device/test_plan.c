/*
 * test_plan.c: what a plan promises and does, through the public interface.
 *
 * Routes and parameters, the text, calls that select nothing, seeds, events and queues, where buffers may begin,
 * workspaces, outputs, statistics, callbacks, threads, and the one call for host memory.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profk.h"
#include "support/fixture.h"
#include "support/inputs.h"
#include "support/reference.h"

enum { N = 5000, K = 10, MOST = 1 << 20, CANARY = 0xCC };

static const uint32_t sampled_and_full[] = {PROFK_ROUTE_PROFK, PROFK_ROUTE_FULL};

static struct fixture fixture;

/* ---- helpers ---- */

static profk_problem problem_of(uint32_t type, uint64_t n, uint64_t k)
{
    profk_problem problem;

    profk_problem_init(&problem, sizeof problem, type, n, k);
    problem.seed = 1;
    return problem;
}

static profk_plan *plan_on(profk_context *ctx, const profk_problem *problem, const profk_tuning *tuning)
{
    profk_plan *plan = NULL;

    if (profk_plan_create(ctx, problem, tuning, 0, &plan) != PROFK_OK)
        fail_msg("profk_plan_create: %s", profk_context_message(ctx));
    return plan;
}

static profk_info info_of(const profk_plan *plan)
{
    profk_info info = {.struct_size = sizeof info};

    assert_int_equal(profk_plan_info(plan, &info), PROFK_OK);
    return info;
}

static profk_stats stats_of(profk_plan *plan)
{
    profk_stats stats = {.struct_size = sizeof stats};

    assert_int_equal(profk_plan_stats(plan, &stats), PROFK_OK);
    return stats;
}

static profk_info info_for(const profk_problem *problem, const profk_tuning *tuning)
{
    profk_plan *plan = plan_on(fixture.ctx, problem, tuning);
    const profk_info info = info_of(plan);

    profk_plan_destroy(plan);
    return info;
}

static cl_mem buffer_of(size_t nbytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(fixture.cl, CL_MEM_READ_WRITE, nbytes, NULL, &code);

    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

static cl_mem part_of(cl_mem buffer, size_t origin, size_t nbytes)
{
    const cl_buffer_region region = {origin, nbytes};
    cl_int code;
    cl_mem part = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);

    assert_int_equal(code, CL_SUCCESS);
    return part;
}

static void write_buffer(cl_mem buffer, size_t at, size_t nbytes, const void *from)
{
    assert_int_equal(clEnqueueWriteBuffer(fixture.queues[0], buffer, CL_TRUE, at, nbytes, from, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_int_equal(clFinish(fixture.queues[0]), CL_SUCCESS);
}

static void read_buffer(cl_mem buffer, size_t at, size_t nbytes, void *to)
{
    assert_int_equal(clEnqueueReadBuffer(fixture.queues[0], buffer, CL_TRUE, at, nbytes, to, 0, NULL, NULL),
                     CL_SUCCESS);
}

static void fill_buffer(cl_mem buffer, size_t nbytes)
{
    static const unsigned char canary = CANARY;

    assert_int_equal(clEnqueueFillBuffer(fixture.queues[0], buffer, &canary, 1, 0, nbytes, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_int_equal(clFinish(fixture.queues[0]), CL_SUCCESS);
}

static bool all_canaries(const unsigned char *bytes, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        if (bytes[i] != CANARY)
            return false;
    return true;
}

static size_t base_alignment(void)
{
    cl_uint bits = 0;

    clGetDeviceInfo(fixture.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    return bits / 8 < 128 ? 128 : bits / 8;
}

static void rest(long milliseconds)
{
    nanosleep(&(struct timespec){0, milliseconds * 1000000}, NULL);
}

/* An input in host memory and its answer. */
struct data {
    unsigned char *x;
    uint32_t *ranked;
};

static struct data data_for(const struct test_case *c)
{
    struct data d = {malloc((size_t)c->n * 8 + 1), malloc((size_t)(c->k + 1) * sizeof(uint32_t))};

    assert_true(d.x && d.ranked);
    inputs_fill(c->type, c->distribution, c->seed, (size_t)c->n, (size_t)c->k, d.x);
    assert_true(reference_rank(c->type, c->order, c->nan, d.x, (size_t)c->n, (size_t)c->k, d.ranked));
    return d;
}

static void data_free(struct data *d)
{
    free(d->x);
    free(d->ranked);
}

/* ---- route and parameters ---- */

static profk_params params_for(uint64_t n, uint64_t k, double epsilon)
{
    profk_params params;
    uint64_t S;

    assert_int_equal(profk_sample_size(n, k, epsilon, NULL, &S), PROFK_OK);
    assert_int_equal(profk_params_exact(n, k, S, epsilon / 2, epsilon / 2, &params), PROFK_OK);
    return params;
}

/* The smallest k whose buffer is more than a quarter of n. */
static uint64_t crossover_of(uint64_t n)
{
    uint64_t k = 1;

    while (params_for(n, k, 1e-3).M <= n / 4)
        k++;
    return k;
}

/* What a plan takes if it must sample. */
static profk_params sampled_params(const profk_problem *problem)
{
    profk_problem sampled = *problem;
    profk_info info;

    sampled.route = PROFK_ROUTE_PROFK;
    info = info_for(&sampled, NULL);
    return (profk_params){info.S, info.t, info.M, info.fail_recall, info.fail_overflow};
}

/* A CPU whose work-groups have one work-item: all but Mesa's, which is treated as a GPU. */
static bool walks_rows(void)
{
    cl_device_type type = 0;
    char name[256] = "";

    clGetDeviceInfo(fixture.device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    clGetDeviceInfo(fixture.device, CL_DEVICE_NAME, sizeof name, name, NULL);
    return (type & CL_DEVICE_TYPE_CPU) != 0 && strstr(name, "llvmpipe") == NULL;
}

/* A single row is left to one work-group up to 2^14 elements, or where there is but one compute unit. */
static uint32_t unsampled_route(const profk_problem *problem)
{
    cl_uint compute_units = 0;

    clGetDeviceInfo(fixture.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof compute_units, &compute_units, NULL);
    return problem->n <= 1 << 14 || problem->rows >= compute_units ? PROFK_ROUTE_ROWS : PROFK_ROUTE_FULL;
}

static void auto_takes_the_route_that_the_header_says(void **state)
{
    static const uint64_t sizes[] = {1,     2,     100,     4095,          4096, 4097, 1 << 14, (1 << 14) + 1,
                                     65536, 65537, 1 << 18, (1 << 18) + 1, MOST};
    const bool walks = walks_rows();

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint64_t n = sizes[i], k = crossover_of(n);

        for (uint64_t near = k > 2 ? k - 2 : 1; near <= k + 1 && near <= n; near++) {
            const profk_problem problem = problem_of(PROFK_F32, n, near);
            const bool sampled =
                n >= 4096 && (params_for(n, near, 1e-3).M <= n / 4 || sampled_params(&problem).M <= n / 4);

            assert_int_equal(info_for(&problem, NULL).route,
                             walks && near <= 512 && n <= 1 << 24 && (n * near <= 1 << 24 || n / 2048 >= near) ? PROFK_ROUTE_ROWS
                             : sampled                          ? PROFK_ROUTE_PROFK
                                                                : unsampled_route(&problem));
        }
    }
}

static void forced_routes_and_buffers(void **state)
{
    static const struct {
        uint64_t n, k, M;
        uint32_t route, expected;
    } cases[] = {
        {8192, 10, 2048, PROFK_ROUTE_AUTO, PROFK_ROUTE_PROFK},
        {8192, 10, 2049, PROFK_ROUTE_AUTO, PROFK_ROUTE_ROWS},
        {8192, 10, 0, PROFK_ROUTE_ROWS, PROFK_ROUTE_ROWS},
        {1, 1, 0, PROFK_ROUTE_ROWS, PROFK_ROUTE_ROWS},
        {8192, 10, 2049, PROFK_ROUTE_PROFK, PROFK_ROUTE_PROFK},
        {8192, 10, 8192, PROFK_ROUTE_PROFK, PROFK_ROUTE_PROFK},
        {8192, 10, 0, PROFK_ROUTE_FULL, PROFK_ROUTE_FULL},
        {1, 1, 0, PROFK_ROUTE_PROFK, PROFK_ROUTE_PROFK},
        {1, 1, 0, PROFK_ROUTE_FULL, PROFK_ROUTE_FULL},
        {100, 100, 0, PROFK_ROUTE_PROFK, PROFK_ROUTE_PROFK},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const profk_tuning tuning = {.struct_size = sizeof tuning, .M = cases[i].M};
        profk_problem problem = problem_of(PROFK_F32, cases[i].n, cases[i].k);
        profk_info info;

        problem.route = cases[i].route;
        info = info_for(&problem, &tuning);
        assert_int_equal(info.route, cases[i].expected);
        if (cases[i].M && info.route == PROFK_ROUTE_PROFK)
            assert_int_equal(info.M, cases[i].M);
    }
}

/* A workspace limit below what the sampled method takes, but not below what full takes. */
static void a_limit_turns_to_full(void **state)
{
    profk_problem problem = problem_of(PROFK_F32, MOST, 1024); /* more than a CPU walks for */
    uint64_t sampled, full;

    (void)state;
    sampled = info_for(&problem, NULL).workspace_nbytes;
    problem.route = PROFK_ROUTE_FULL;
    full = info_for(&problem, NULL).workspace_nbytes;
    problem.route = PROFK_ROUTE_AUTO;
    problem.workspace_limit_nbytes = sampled;
    assert_int_equal(info_for(&problem, NULL).route, PROFK_ROUTE_PROFK);
    if (full >= sampled)
        return;
    problem.workspace_limit_nbytes = sampled - 1;
    assert_int_equal(info_for(&problem, NULL).route, PROFK_ROUTE_FULL);
}

/* Several cores sort with more scratch than one: a limit below that leaves the sort to one. */
static void a_limit_leaves_the_sort_to_one_core(void **state)
{
    profk_problem problem = problem_of(PROFK_F32, MOST, 1 << 16);
    cl_uint compute_units = 0;
    uint64_t most;

    (void)state;
    clGetDeviceInfo(fixture.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof compute_units, &compute_units, NULL);
    if (!walks_rows() || compute_units < 2 || compute_units > 6)
        return; /* work-groups of more than one, nothing to share, or a sort by launches for all */
    problem.route = PROFK_ROUTE_FULL;
    most = info_for(&problem, NULL).workspace_nbytes;
    problem.workspace_limit_nbytes = most - 1;
    assert_true(info_for(&problem, NULL).workspace_nbytes <= most - 8 * problem.k);
}

static void info_says_what_the_engine_says(void **state)
{
    static const double budgets[] = {0, 0.5, 0.01, 1e-3, 1e-9, 1e-12};
    static const uint64_t ks[] = {1, 256, 2048};

    (void)state;
    for (size_t b = 0; b < sizeof budgets / sizeof budgets[0]; b++)
        for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
            const double epsilon = budgets[b] > 0 ? budgets[b] : 1e-3;
            profk_problem problem = problem_of(PROFK_F32, MOST, ks[i]);
            profk_params right;
            profk_info info;

            problem.epsilon = budgets[b];
            problem.route = PROFK_ROUTE_PROFK;
            info = info_for(&problem, NULL);
            assert_int_equal(profk_params_exact(MOST, ks[i], info.S, epsilon / 2, epsilon / 2, &right), PROFK_OK);
            assert_true(info.t == right.t && info.M == right.M);
            assert_true(info.epsilon_row == epsilon);
            assert_true(info.fail_recall == right.fail_recall && info.fail_overflow == right.fail_overflow);
            assert_true(info.slabs == 1 && info.blocking_calls == 1);
            assert_true(info.filter_shape == PROFK_SHAPE_TILE || info.filter_shape == PROFK_SHAPE_STREAM);
            assert_true(info.kernel_launches >= 5 && info.programs >= 1 && info.workspace_nbytes > 0);
            assert_true(info.passes >= 1 && info.passes < 1.5 && info.tuned == 0 && info.reserved == 0);
            problem.route = PROFK_ROUTE_FULL;
            info = info_for(&problem, NULL);
            assert_true(info.S == 0 && info.t == 0 && info.M == 0 && info.fail_recall == 0 &&
                        info.fail_overflow == 0);
            assert_true(info.filter_shape == 0 && info.passes > 1 && info.workspace_nbytes > 0 && info.slabs == 1);
        }
}

/* What is forced stands in info; what is not follows Theorem 4 for the rest. */
static void info_says_what_was_forced(void **state)
{
    profk_problem problem = problem_of(PROFK_F32, MOST, 256);
    profk_tuning tuning = {.struct_size = sizeof tuning, .S = 4096};
    profk_params right;
    profk_info info;
    double recall, overflow;

    (void)state;
    problem.route = PROFK_ROUTE_PROFK;
    assert_int_equal(profk_params_exact(MOST, 256, 4096, 0.5e-3, 0.5e-3, &right), PROFK_OK);
    info = info_for(&problem, &tuning);
    assert_true(info.S == 4096 && info.t == right.t && info.M == right.M);
    tuning.t = right.t; /* the same t, forced: the same M */
    info = info_for(&problem, &tuning);
    assert_true(info.S == 4096 && info.t == right.t && info.M == right.M);
    tuning.t = right.t + 3;
    tuning.M = 300;
    info = info_for(&problem, &tuning);
    assert_true(info.S == 4096 && info.t == right.t + 3 && info.M == 300);
    assert_int_equal(profk_failure_probability(MOST, 256, 4096, right.t + 3, 300, &recall, &overflow), PROFK_OK);
    assert_true(info.fail_recall == recall && info.fail_overflow == overflow);
}

static void the_description_fits_its_room(void **state)
{
    profk_problem problem = problem_of(PROFK_F32, MOST, 256);
    profk_plan *plan = plan_on(fixture.ctx, &problem, NULL);
    const profk_info info = info_of(plan);
    char whole[4096], text[4096], number[32];
    size_t need = 0;

    (void)state;
    assert_int_equal(profk_plan_describe(plan, NULL, 0, NULL), PROFK_OK);
    assert_int_equal(profk_plan_describe(plan, NULL, 0, &need), PROFK_OK);
    assert_true(need > 20 && need < sizeof whole);
    assert_int_equal(profk_plan_describe(plan, whole, sizeof whole, NULL), PROFK_OK);
    assert_int_equal(strlen(whole) + 1, need);
    for (size_t room = 0; room <= need + 1; room++) {
        size_t again = 0;

        memset(text, CANARY, sizeof text);
        assert_int_equal(profk_plan_describe(plan, text, room, &again), PROFK_OK);
        assert_int_equal(again, need);
        assert_true(all_canaries((unsigned char *)text + room, sizeof text - room));
        if (room == 0)
            continue;
        assert_int_equal(strlen(text), (room < need ? room : need) - 1);
        assert_memory_equal(text, whole, strlen(text));
    }
    snprintf(number, sizeof number, "%" PRIu64, info.M);
    assert_non_null(strstr(whole, number));
    snprintf(number, sizeof number, "%" PRIu64, info.workspace_nbytes);
    assert_non_null(strstr(whole, number));
    profk_plan_destroy(plan);
}

/* ---- nothing to select ---- */

static void selects_nothing(uint64_t n, uint64_t k, uint64_t rows, uint32_t route, bool want_row,
                            cl_command_queue queue)
{
    profk_problem problem = problem_of(PROFK_F32, n, k);
    cl_mem out[OUTPUTS];
    profk_io io = {.struct_size = sizeof io};
    const profk_row certified = {PROFK_ROW_CERTIFIED, 0, 0};
    unsigned char bytes[512];
    cl_int state = CL_QUEUED;
    cl_event event = NULL;
    profk_plan *plan;
    profk_stats stats;

    problem.rows = rows;
    problem.route = route;
    plan = plan_on(fixture.ctx, &problem, NULL);
    for (int i = 0; i < OUTPUTS; i++)
        fill_buffer(out[i] = buffer_of(sizeof bytes), sizeof bytes);
    io.values = out[OUT_VALUES];
    io.indices = out[OUT_INDICES];
    io.row_results = want_row ? out[OUT_ROW] : NULL;
    io.row_results_offset = 3;
    if (profk_execute(plan, queue, &io, 0, NULL, &event) != PROFK_OK)
        fail_msg("%s", profk_context_message(NULL));
    assert_int_equal(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
                     CL_SUCCESS);
    assert_int_equal(state, CL_COMPLETE);
    clReleaseEvent(event);
    for (int i = 0; i < OUTPUTS; i++) {
        read_buffer(out[i], 0, sizeof bytes, bytes);
        if (i == OUT_ROW && want_row && rows > 0) {
            assert_memory_equal(bytes + 3 * sizeof certified, &certified, sizeof certified);
            memset(bytes + 3 * sizeof certified, CANARY, sizeof certified);
        }
        assert_true(all_canaries(bytes, sizeof bytes));
        clReleaseMemObject(out[i]);
    }
    stats = stats_of(plan);
    assert_true(stats.calls == 1 && stats.rows == rows && stats.attempts == 0 && stats.last_attempts == 0);
    profk_plan_destroy(plan);
}

static void nothing_to_select(void **state)
{
    static const uint32_t routes[] = {PROFK_ROUTE_AUTO, PROFK_ROUTE_ROWS, PROFK_ROUTE_PROFK, PROFK_ROUTE_FULL};
    static const struct {
        uint64_t n, k, rows;
    } shapes[] = {{0, 0, 1}, {N, 0, 1}, {1, 0, 1}, {N, K, 0}, {0, 0, 0}, {UINT64_C(1) << 40, 0, 1}};

    (void)state;
    for (size_t r = 0; r < 4; r++)
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
            for (int variant = 0; variant < 4; variant++)
                selects_nothing(shapes[i].n, shapes[i].k, shapes[i].rows, routes[r], variant & 1,
                                fixture.queues[variant >> 1]);
}

/* ---- seeds ---- */

enum { CALLS = 5 };

/* R of five calls. */
static void ranks_of(uint64_t seed, const struct test_case *c, const struct data *d, uint64_t ret[CALLS])
{
    profk_problem problem = problem_of(c->type, c->n, c->k);
    profk_plan *plan;
    struct outcome o;

    problem.seed = seed;
    problem.route = PROFK_ROUTE_PROFK;
    plan = plan_on(fixture.ctx, &problem, NULL);
    for (int i = 0; i < CALLS; i++) {
        assert_true(fixture_execute(&fixture, plan, c, d->ranked, &o));
        ret[i] = o.row.R;
    }
    profk_plan_destroy(plan);
}

static void seeds_fix_the_samples(void **state)
{
    const struct test_case c = {.type = PROFK_F32, .route = PROFK_ROUTE_PROFK, .n = 1 << 17, .k = 100, .seed = 3};
    struct data d = data_for(&c);
    uint64_t a[CALLS], b[CALLS];

    (void)state;
    assert_true(fixture_load(&fixture, c.type, d.x, (size_t)c.n, 3));
    ranks_of(5, &c, &d, a);
    ranks_of(5, &c, &d, b);
    assert_memory_equal(a, b, sizeof a);
    assert_true(a[0] != a[1] || a[1] != a[2]); /* each call draws anew */
    ranks_of(6, &c, &d, b);
    assert_memory_not_equal(a, b, sizeof a);
    ranks_of(0, &c, &d, a);
    ranks_of(0, &c, &d, b);
    assert_memory_not_equal(a, b, sizeof a);
    data_free(&d);
}

/* ---- events and queues ---- */

static void *complete_later(void *event)
{
    rest(60);
    clSetUserEventStatus(event, CL_COMPLETE);
    return NULL;
}

/* The input arrives while the call already waits for it. */
static void waits_for_its_input(uint32_t route, int queue)
{
    struct test_case c = {.type = PROFK_F32, .route = route, .n = N, .k = K, .seed = 11};
    struct data d = data_for(&c);
    profk_plan *plan = fixture_plan(&fixture, &c, NULL);
    cl_mem in = buffer_of(N * sizeof(float)), values = buffer_of(K * sizeof(float));
    const profk_chunk chunk = {.buffer = in, .count = N};
    const profk_io io = {.struct_size = sizeof io, .chunks = &chunk, .chunk_count = 1, .values = values};
    float got[K];
    cl_event wait[2];
    cl_command_queue other;
    pthread_t thread;
    cl_int code;

    assert_non_null(plan);
    fill_buffer(in, N * sizeof(float));
    other = clCreateCommandQueue(fixture.cl, fixture.device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    wait[1] = clCreateUserEvent(fixture.cl, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clEnqueueWriteBuffer(other, in, CL_FALSE, 0, N * sizeof(float), d.x, 1, &wait[1], &wait[0]),
                     CL_SUCCESS);
    assert_int_equal(clFlush(other), CL_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, complete_later, wait[1]), 0);
    assert_int_equal(profk_execute(plan, fixture.queues[queue], &io, 2, wait, NULL), PROFK_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    read_buffer(values, 0, sizeof got, got);
    for (size_t r = 0; r < K; r++)
        assert_memory_equal(&got[r], d.x + d.ranked[r] * sizeof(float), sizeof(float));
    clReleaseEvent(wait[0]);
    clReleaseEvent(wait[1]);
    clReleaseCommandQueue(other);
    clReleaseMemObject(in);
    clReleaseMemObject(values);
    profk_plan_destroy(plan);
    data_free(&d);
}

static void wait_lists_are_kept(void **state)
{
    (void)state;
    for (int route = 0; route < 2; route++)
        for (int queue = 0; queue < 2; queue++)
            waits_for_its_input(sampled_and_full[route], queue);
}

/* With nothing to select the event still comes behind the wait list. */
static void nothing_waits_too(void **state)
{
    const profk_problem problem = problem_of(PROFK_F32, N, 0);
    const profk_io io = {.struct_size = sizeof io};
    profk_plan *plan = plan_on(fixture.ctx, &problem, NULL);
    cl_int code, status = CL_QUEUED;
    cl_event event = clCreateUserEvent(fixture.cl, &code);
    pthread_t thread;

    (void)state;
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, complete_later, event), 0);
    assert_int_equal(profk_execute(plan, fixture.queues[0], &io, 1, &event, NULL), PROFK_OK);
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    assert_int_equal(status, CL_COMPLETE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    clReleaseEvent(event);
    profk_plan_destroy(plan);
}

/* In order and out of order, with an event and without: the fixture takes both from bits 8 and 9 of the seed. */
static void any_queue_serves(void **state)
{
    (void)state;
    for (uint64_t variant = 0; variant < 24; variant++) {
        struct test_case c = {.type = PROFK_F32, .order = PROFK_SMALLEST, .n = 20000, .k = variant < 12 ? 50 : 5000};
        struct data d;

        c.seed = (variant % 4) << 8;
        c.route = sampled_and_full[variant / 4 % 2];
        c.sort = (uint32_t)(variant / 4 % 3);
        d = data_for(&c);
        assert_true(fixture_load(&fixture, c.type, d.x, (size_t)c.n, variant));
        assert_true(fixture_run(&fixture, &c, NULL, d.ranked, NULL));
        data_free(&d);
    }
}

/* ---- where buffers begin ---- */

enum { SHIFTS = 68, GUARDS = 40 };

/* The input behind `shift` elements that would win, in `buffer` or in host memory that the buffer uses. */
static void run_shifted(profk_plan *plan, const struct test_case *c, const struct data *d, size_t shift,
                        cl_mem buffer, size_t offset)
{
    cl_mem own = fixture.input_buffer;
    bool ok;

    fixture.input_buffer = buffer;
    fixture.input_offset = offset;
    fixture.x = d->x;
    ok = fixture_execute(&fixture, plan, c, d->ranked, NULL);
    fixture.input_buffer = own;
    if (!ok)
        fail_msg("shift %zu, offset %zu", shift, offset);
}

static void shifts_of(const struct test_case *c, const profk_tuning *tuning)
{
    const size_t element = reference_type(c->type)->nbytes, n = (size_t)c->n, room = (SHIFTS + n + GUARDS) * element;
    struct data d = data_for(c);
    profk_plan *plan = fixture_plan(&fixture, c, tuning);
    unsigned char *memory = aligned_alloc(4096, (room + 8192) / 4096 * 4096);
    cl_mem buffer = buffer_of(room);

    assert_true(plan && memory);
    for (size_t shift = 0; shift < SHIFTS; shift++) {
        inputs_guard(c->type, SHIFTS + n + GUARDS, memory);
        memcpy(memory + shift * element, d.x, n * element);
        write_buffer(buffer, 0, room, memory);
        run_shifted(plan, c, &d, shift, buffer, shift);
    }
    clReleaseMemObject(buffer);
    for (size_t shift = 0; shift < SHIFTS / 2; shift++) { /* a buffer whose memory is aligned to its elements only */
        const size_t offset = shift % 5;
        cl_int code;

        inputs_guard(c->type, SHIFTS + n + GUARDS, memory);
        memcpy(memory + (shift + offset) * element, d.x, n * element);
        buffer = clCreateBuffer(fixture.cl, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, (offset + n) * element,
                                memory + shift * element, &code);
        if (code != CL_SUCCESS)
            break; /* some drivers take no such memory */
        run_shifted(plan, c, &d, shift, buffer, offset);
        clReleaseMemObject(buffer);
    }
    free(memory);
    profk_plan_destroy(plan);
    data_free(&d);
}

static void inputs_begin_anywhere(void **state)
{
    static const uint32_t types[] = {PROFK_U8, PROFK_F16, PROFK_F32, PROFK_F64};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (size_t route = 0; route < 2; route++) {
            const struct test_case c = {
                .type = types[i], .route = sampled_and_full[route], .n = 1003, .k = 7, .seed = 5};
            shifts_of(&c, NULL);
        }
}

static void inputs_begin_anywhere_for_wide_vectors(void **state)
{
    static const struct {
        uint32_t type, width;
    } wide[] = {{PROFK_U8, 16}, {PROFK_F64, 16}, {PROFK_F32, 1}, {PROFK_U16, 16}, {PROFK_F32, 16}};

    (void)state;
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        const struct test_case c = {.type = wide[i].type, .route = PROFK_ROUTE_PROFK, .n = 301, .k = 5, .seed = 6};
        const profk_tuning tuning = {
            .struct_size = sizeof tuning, .vector_width = wide[i].width, .filter_items = 2, .filter_wg = 3};

        shifts_of(&c, &tuning);
    }
}

/* Input, outputs and workspace as pieces of one buffer each, with offsets of their own. */
static void sub_buffers_serve(void **state)
{
    enum { OFFSET = 5, REGIONS = OUTPUTS + 1 };
    const size_t align = base_alignment(), region = 4 * align + (K + OFFSET) * 8;

    (void)state;
    for (size_t route = 0; route < 2; route++) {
        const struct test_case c = {.type = PROFK_F32, .route = sampled_and_full[route], .n = N, .k = K, .seed = 8};
        const size_t step = (region + align - 1) / align * align, size[OUTPUTS] = {4, 8, 16},
                     count[OUTPUTS] = {K, K, 1};
        struct data d = data_for(&c);
        profk_plan *plan = fixture_plan(&fixture, &c, NULL);
        cl_mem in = buffer_of(align + (OFFSET + N) * 4), in_part = part_of(in, align, (OFFSET + N) * 4);
        cl_mem out = buffer_of(REGIONS * step), part[OUTPUTS];
        unsigned char *bytes = malloc(REGIONS * step);
        const profk_chunk chunk = {.buffer = in_part, .offset = OFFSET, .count = N};
        profk_io io = {.struct_size = sizeof io,
                       .chunks = &chunk,
                       .chunk_count = 1,
                       .values_offset = OFFSET,
                       .indices_offset = OFFSET,
                       .row_results_offset = OFFSET};

        assert_true(plan && bytes);
        write_buffer(in, align + OFFSET * 4, N * 4, d.x);
        fill_buffer(out, REGIONS * step);
        for (size_t i = 0; i < OUTPUTS; i++)
            part[i] = part_of(out, i * step + align, (OFFSET + count[i]) * size[i]);
        io.values = part[OUT_VALUES];
        io.indices = part[OUT_INDICES];
        io.row_results = part[OUT_ROW];
        if (profk_execute(plan, fixture.queues[0], &io, 0, NULL, NULL) != PROFK_OK)
            fail_msg("%s", profk_context_message(NULL));
        read_buffer(out, 0, REGIONS * step, bytes);
        for (size_t r = 0; r < K; r++) {
            const uint64_t index = d.ranked[r];

            assert_memory_equal(bytes + align + (OFFSET + r) * 4, d.x + index * 4, 4);
            assert_memory_equal(bytes + step + align + (OFFSET + r) * 8, &index, 8);
        }
        assert_int_equal(*(uint32_t *)(void *)(bytes + 2 * step + align + OFFSET * 16), PROFK_ROW_CERTIFIED);
        for (size_t i = 0; i < OUTPUTS; i++) {
            memset(bytes + i * step + align + OFFSET * size[i], CANARY, count[i] * size[i]);
            clReleaseMemObject(part[i]);
        }
        assert_true(all_canaries(bytes, REGIONS * step));
        clReleaseMemObject(in_part);
        clReleaseMemObject(in);
        clReleaseMemObject(out);
        free(bytes);
        profk_plan_destroy(plan);
        data_free(&d);
    }
}

/* ---- workspaces of the caller ---- */

/* plan in workspace_nbytes of `buffer` from `at` of `parent` on: right results, and no byte around them changes. */
static void work_in(profk_plan *plan, const struct test_case *c, const struct data *d, cl_mem parent, cl_mem buffer,
                    size_t offset, size_t at, size_t parent_nbytes)
{
    const size_t need = (size_t)info_of(plan).workspace_nbytes;
    unsigned char *bytes = malloc(parent_nbytes);

    assert_non_null(bytes);
    fill_buffer(parent, parent_nbytes);
    assert_int_equal(profk_plan_set_workspace(plan, buffer, offset), PROFK_OK);
    assert_true(fixture_execute(&fixture, plan, c, d->ranked, NULL));
    assert_true(fixture_execute(&fixture, plan, c, d->ranked, NULL));
    read_buffer(parent, 0, parent_nbytes, bytes);
    assert_true(all_canaries(bytes, at));
    assert_true(all_canaries(bytes + at + need, parent_nbytes - at - need));
    assert_false(all_canaries(bytes + at, need));
    free(bytes);
}

static void workspaces_of_the_caller(void **state)
{
    const size_t align = base_alignment();

    (void)state;
    for (uint32_t variant = 0; variant < 6; variant++) {
        const struct test_case c = {.type = variant & 1 ? PROFK_U8 : PROFK_F64,
                                    .n = 20000,
                                    .k = variant < 4 ? 50 : 3000,
                                    .route = sampled_and_full[variant / 2 % 2],
                                    .seed = 9};
        struct data d = data_for(&c);
        profk_plan *plan = fixture_plan(&fixture, &c, NULL);
        const size_t need = (size_t)info_of(plan).workspace_nbytes, room = 5 * align + need + 100;
        cl_mem parent = buffer_of(room), part = part_of(parent, 2 * align, align + need);

        assert_true(fixture_load(&fixture, c.type, d.x, (size_t)c.n, 1));
        work_in(plan, &c, &d, parent, parent, 0, 0, room);
        work_in(plan, &c, &d, parent, parent, align, align, room);
        work_in(plan, &c, &d, parent, part, 0, 2 * align, room);
        work_in(plan, &c, &d, parent, part, align, 3 * align, room);
        clReleaseMemObject(part); /* the plan holds what it needs */
        clReleaseMemObject(parent);
        assert_true(fixture_execute(&fixture, plan, &c, d.ranked, NULL));
        assert_int_equal(profk_plan_set_workspace(plan, NULL, 0), PROFK_OK);
        assert_true(fixture_execute(&fixture, plan, &c, d.ranked, NULL));
        profk_plan_destroy(plan);
        data_free(&d);
    }
}

/* ---- outputs and statistics ---- */

static void any_outputs(void **state)
{
    (void)state;
    for (uint32_t variant = 0; variant < 8 * 2 * 3 * 2; variant++) {
        const struct test_case c = {.type = PROFK_I16,
                                    .unwanted = variant % 8,
                                    .route = sampled_and_full[variant / 8 % 2],
                                    .sort = variant / 16 % 3,
                                    .index = variant / 48,
                                    .distribution = INPUTS_ZERO_ONE,
                                    .n = 9000,
                                    .k = 3000,
                                    .seed = variant};
        struct data d = data_for(&c);

        assert_true(fixture_load(&fixture, c.type, d.x, (size_t)c.n, variant));
        assert_true(fixture_run(&fixture, &c, NULL, d.ranked, NULL));
        data_free(&d);
    }
}

static void statistics_count(void **state)
{
    static const struct {
        uint64_t S, t, M, count_start;
        profk_stats each; /* what a call adds; last_* are the same after every call */
        uint64_t R;
    } cases[] = {
        {N, K, K, 0, {.attempts = 1, .last_attempts = 1, .last_route = PROFK_ROUTE_PROFK}, K},
        {N, K + 7, K + 7, 0, {.attempts = 1, .last_attempts = 1, .last_route = PROFK_ROUTE_PROFK}, K + 7},
        {N,
         K - 1,
         K,
         0,
         {.attempts = 6,
          .recall_misses = 6,
          .redraws = 5,
          .fallbacks = 1,
          .last_attempts = 7,
          .last_route = PROFK_ROUTE_FULL},
         0},
        {N,
         K + 8,
         K + 7,
         0,
         {.attempts = 6,
          .overflows = 6,
          .redraws = 5,
          .fallbacks = 1,
          .last_attempts = 7,
          .last_route = PROFK_ROUTE_FULL},
         0},
        {N,
         K,
         K,
         K + 1,
         {.attempts = 2, .overflows = 1, .redraws = 1, .last_attempts = 2, .last_route = PROFK_ROUTE_PROFK},
         K},
        {N,
         K,
         K,
         UINT32_MAX,
         {.attempts = 2, .overflows = 1, .redraws = 1, .last_attempts = 2, .last_route = PROFK_ROUTE_PROFK},
         K},
        {N,
         K,
         K,
         UINT64_C(1) << 32,
         {.attempts = 2, .overflows = 1, .redraws = 1, .last_attempts = 2, .last_route = PROFK_ROUTE_PROFK},
         K},
    };
    const struct test_case c = {.type = PROFK_F32, .route = PROFK_ROUTE_PROFK, .n = N, .k = K, .seed = 4};
    struct data d = data_for(&c);

    (void)state;
    assert_true(fixture_load(&fixture, c.type, d.x, N, 4));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const profk_tuning tuning = {.struct_size = sizeof tuning,
                                     .S = cases[i].S,
                                     .t = cases[i].t,
                                     .M = cases[i].M,
                                     .count_start = cases[i].count_start};
        const profk_stats *each = &cases[i].each;
        profk_plan *plan = fixture_plan(&fixture, &c, &tuning);

        assert_non_null(plan);
        for (uint64_t calls = 1; calls <= 3; calls++) {
            struct outcome o;

            assert_true(fixture_execute(&fixture, plan, &c, d.ranked, &o));
            assert_true(o.stats.calls == calls && o.stats.rows == calls);
            assert_int_equal(o.stats.attempts, calls * each->attempts);
            assert_int_equal(o.stats.recall_misses, calls * each->recall_misses);
            assert_int_equal(o.stats.overflows, calls * each->overflows);
            assert_int_equal(o.stats.redraws, calls * each->redraws);
            assert_int_equal(o.stats.fallbacks, calls * each->fallbacks);
            assert_int_equal(o.stats.last_attempts, each->last_attempts);
            assert_int_equal(o.stats.last_route, each->last_route);
            assert_int_equal(o.row.R, cases[i].R);
            assert_int_equal(o.row.attempts, each->last_attempts);
        }
        profk_plan_destroy(plan);
    }
    data_free(&d);
}

/* ---- callbacks ---- */

struct listener {
    int calls, stop_at; /* the call that says stop, from 1; 0: none */
    int lines, kernels, bad;
    double last;
};

static int progress(void *user, const char *what, double fraction)
{
    struct listener *l = user;

    l->bad += !what || !*what || !(fraction >= 0 && fraction <= 1);
    return ++l->calls == l->stop_at;
}

static void trace(void *user, int level, const char *text)
{
    struct listener *l = user;

    l->lines++;
    l->kernels += strstr(text, "profk_") != NULL;
    l->bad += level != 0 || !*text;
}

static profk_context *context_with(profk_options options)
{
    profk_context *ctx = NULL;

    options.struct_size = sizeof options;
    assert_int_equal(profk_context_create(fixture.cl, fixture.device, &options, &ctx), PROFK_OK);
    return ctx;
}

/* Every call of the progress callback may stop what it reports; afterwards everything works. */
static void progress_can_stop_it(void **state)
{
    const struct test_case c = {.type = PROFK_F32, .route = PROFK_ROUTE_PROFK, .n = N, .k = K, .seed = 2};
    const profk_tuning six_misses = {.struct_size = sizeof six_misses, .S = N, .t = K - 1};
    struct listener l = {0};
    profk_context *ctx = context_with((profk_options){.progress = progress, .user = &l}), *own = fixture.ctx;
    struct data d = data_for(&c);
    int in_plan, in_all;

    (void)state;
    assert_true(fixture_load(&fixture, c.type, d.x, N, 2));
    fixture.ctx = ctx;
    assert_true(fixture_run(&fixture, &c, &six_misses, d.ranked, NULL)); /* builds everything */
    l.calls = 0;
    profk_plan_destroy(fixture_plan(&fixture, &c, &six_misses));
    in_plan = l.calls;
    l.calls = 0;
    assert_true(fixture_run(&fixture, &c, &six_misses, d.ranked, NULL));
    in_all = l.calls;
    assert_true(in_plan > 0 && in_all >= in_plan + 7);
    for (int stop = 1; stop <= in_all; stop++) {
        const profk_problem problem = {.struct_size = sizeof problem,
                                       .n = N,
                                       .k = K,
                                       .rows = 1,
                                       .seed = 2,
                                       .type = PROFK_F32,
                                       .route = PROFK_ROUTE_PROFK};
        profk_plan *plan = NULL;
        profk_status status;

        l.calls = 0;
        l.stop_at = stop;
        status = profk_plan_create(ctx, &problem, &six_misses, 0, &plan);
        assert_int_equal(status, stop <= in_plan ? PROFK_ERR_CANCELLED : PROFK_OK);
        if (status == PROFK_OK) {
            fixture_quiet(true);
            assert_false(fixture_execute(&fixture, plan, &c, d.ranked, NULL));
            assert_non_null(strstr(profk_context_message(ctx), "stopped"));
            assert_int_equal(l.calls, stop);
            fixture_execute(&fixture, plan, &c, d.ranked, NULL); /* its statistics hold the stopped call too */
            fixture_quiet(false);
            assert_true(l.calls >= stop + 7);
            assert_true(fixture_judge(&fixture, &c, d.ranked));
        } else {
            assert_null(plan);
        }
        profk_plan_destroy(plan);
    }
    assert_int_equal(l.bad, 0);
    fixture.ctx = own;
    profk_context_destroy(ctx);
    data_free(&d);
}

/* A call that was stopped leaves no row that is certified. */
static void a_stopped_row_is_not_certified(void **state)
{
    const profk_problem problem = problem_of(PROFK_F32, N, K);
    const profk_tuning six_misses = {.struct_size = sizeof six_misses, .S = N, .t = K - 1};
    struct listener l = {0};
    profk_context *ctx = context_with((profk_options){.progress = progress, .user = &l});
    profk_problem forced = problem;
    cl_mem in = buffer_of(N * 4), row = buffer_of(sizeof(profk_row));
    const profk_chunk chunk = {.buffer = in, .count = N};
    const profk_io io = {.struct_size = sizeof io, .chunks = &chunk, .chunk_count = 1, .row_results = row};
    cl_event event = (cl_event)&l;
    profk_plan *plan;
    profk_row got;

    (void)state;
    forced.route = PROFK_ROUTE_PROFK;
    fill_buffer(in, N * 4);
    plan = plan_on(ctx, &forced, &six_misses);
    l.stop_at = l.calls + 4;
    assert_int_equal(profk_execute(plan, fixture.queues[0], &io, 0, NULL, &event), PROFK_ERR_CANCELLED);
    assert_null(event);
    read_buffer(row, 0, sizeof got, &got);
    assert_int_not_equal(got.status, PROFK_ROW_CERTIFIED);
    profk_plan_destroy(plan);
    clReleaseMemObject(in);
    clReleaseMemObject(row);
    profk_context_destroy(ctx);
}

static void traces_name_each_command(void **state)
{
    static const uint32_t flags[] = {0, PROFK_TRACE, PROFK_DEBUG_SYNC, PROFK_TRACE | PROFK_DEBUG_SYNC};

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        const struct test_case c = {
            .type = PROFK_U32, .route = sampled_and_full[i / 4], .n = 9000, .k = 3000, .seed = 2};
        struct listener l = {0};
        profk_context *ctx = context_with((profk_options){.log = trace, .user = &l, .flags = flags[i % 4]});
        profk_context *own = fixture.ctx;
        struct data d = data_for(&c);
        struct outcome o;

        assert_true(fixture_load(&fixture, c.type, d.x, (size_t)c.n, 2));
        fixture.ctx = ctx;
        assert_true(fixture_run(&fixture, &c, NULL, d.ranked, &o));
        if (flags[i % 4] & PROFK_TRACE) {
            assert_int_equal(l.kernels, o.info.kernel_launches * o.row.attempts);
            assert_true(l.lines > l.kernels); /* fill, copy, read */
        } else {
            assert_int_equal(l.lines, 0);
        }
        assert_int_equal(l.bad, 0);
        fixture.ctx = own;
        profk_context_destroy(ctx);
        data_free(&d);
    }
}

/* ---- threads ---- */

struct worker {
    pthread_t thread;
    uint32_t type, number;
    uint64_t k;
    int faults;
};

/* A plan, a queue and buffers of its own, the context shared with the others. */
static void *work(void *user)
{
    struct worker *w = user;
    const struct test_case c = {
        .type = w->type, .n = 20000, .k = w->k, .seed = w->number, .route = sampled_and_full[w->number % 2]};
    struct fixture f = {.ctx = fixture.ctx, .cl = fixture.cl, .device = fixture.device};
    struct data d = {malloc(20000 * 8), malloc(20000 * sizeof(uint32_t))};
    profk_plan *plan = NULL;
    cl_int code;

    f.queues[0] = clCreateCommandQueue(f.cl, f.device, 0, &code);
    f.queues[1] = clCreateCommandQueue(f.cl, f.device, 0, &code);
    inputs_fill(c.type, INPUTS_NORMAL, c.seed, (size_t)c.n, (size_t)c.k, d.x);
    w->faults += !reference_rank(c.type, c.order, c.nan, d.x, (size_t)c.n, (size_t)c.k, d.ranked);
    w->faults += !fixture_load(&f, c.type, d.x, (size_t)c.n, c.seed);
    plan = fixture_plan(&f, &c, NULL);
    for (int i = 0; plan && i < 25; i++) {
        char words[64];

        w->faults += !fixture_execute(&f, plan, &c, d.ranked, NULL);
        snprintf(words, sizeof words, "k is %" PRIu64, UINT64_C(30000) + w->number);
        const profk_problem bad = {
            .struct_size = sizeof bad, .n = 20000, .k = 30000 + w->number, .rows = 1, .type = PROFK_F32};
        profk_plan *none = NULL;
        w->faults += profk_plan_create(f.ctx, &bad, NULL, 0, &none) != PROFK_ERR_ARGUMENT;
        rest(1);
        w->faults += !strstr(profk_context_message(f.ctx), words); /* this thread's own */
    }
    w->faults += !plan;
    profk_plan_destroy(plan);
    for (size_t i = 0; i < OUTPUTS; i++) {
        clReleaseMemObject(f.out[i].buffer);
        free(f.out[i].bytes);
    }
    clReleaseMemObject(f.input_buffer);
    clReleaseCommandQueue(f.queues[0]);
    clReleaseCommandQueue(f.queues[1]);
    data_free(&d);
    return NULL;
}

static void threads_share_a_context(void **state)
{
    struct worker workers[] = {{.type = PROFK_F32, .k = 50},
                               {.type = PROFK_F32, .k = 3000},
                               {.type = PROFK_I64, .k = 9},
                               {.type = PROFK_U8, .k = 500}};
    enum { WORKERS = sizeof workers / sizeof workers[0] };
    profk_context *own = fixture.ctx;

    (void)state;
    fixture.ctx = context_with((profk_options){0}); /* an empty one: the threads also build at once */
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers[i].number = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    for (uint32_t i = 0; i < WORKERS; i++)
        assert_int_equal(workers[i].faults, 0);
    profk_context_destroy(fixture.ctx);
    fixture.ctx = own;
}

/* ---- host memory ---- */

/* Index r of the answer in either width. */
static uint64_t index_at(const void *indices, uint32_t width, size_t r)
{
    return reference_bits(width == PROFK_INDEX_U32 ? PROFK_U32 : PROFK_U64, indices, r);
}

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Compares with ranked; sort none is brought into index order first. */
static bool right_indices(const struct test_case *c, const void *indices, const uint32_t *ranked)
{
    uint32_t *got = malloc((size_t)c->k * 2 * sizeof *got), *want = got + c->k;
    bool ok = got != NULL;

    for (size_t r = 0; ok && r < c->k; r++) {
        got[r] = (uint32_t)index_at(indices, c->index, r);
        want[r] = ranked[r];
    }
    if (ok && c->sort != PROFK_SORT_RANK)
        qsort(want, (size_t)c->k, sizeof *want, by_value);
    if (ok && c->sort == PROFK_SORT_NONE)
        qsort(got, (size_t)c->k, sizeof *got, by_value);
    ok = ok && memcmp(got, want, (size_t)c->k * sizeof *got) == 0;
    free(got);
    return ok;
}

static void host_call(const struct test_case *c, profk_context *ctx, size_t shift)
{
    const size_t element = reference_type(c->type)->nbytes, width = c->index == PROFK_INDEX_U32 ? 4 : 8;
    const size_t k = (size_t)c->k, room = k * 8 + 64;
    struct data d = data_for(c);
    unsigned char *memory = aligned_alloc(4096, 16 * 4096), *values = malloc(room), *indices = malloc(room);
    profk_problem problem = problem_of(c->type, c->n, c->k);
    profk_row row = {0};
    profk_stats stats = {.struct_size = sizeof stats};
    const bool want_values = !(c->unwanted & 1), want_indices = !(c->unwanted & 2), want_more = !(c->unwanted & 4);

    assert_true(memory && values && indices && (size_t)c->n * element + shift * element <= 16 * 4096);
    memcpy(memory + shift * element, d.x, (size_t)c->n * element);
    memset(values, CANARY, room);
    memset(indices, CANARY, room);
    problem.sort = c->sort;
    problem.order = c->order;
    problem.index = c->index;
    problem.route = c->route;
    if (profk_topk_host(ctx, &problem, memory + shift * element, want_values ? values : NULL,
                        want_indices ? indices : NULL, want_more ? &row : NULL,
                        want_more ? &stats : NULL) != PROFK_OK)
        fail_msg("%s", profk_context_message(NULL));
    assert_true(all_canaries(values + (want_values ? k * element : 0), room - (want_values ? k * element : 0)));
    assert_true(all_canaries(indices + (want_indices ? k * width : 0), room - (want_indices ? k * width : 0)));
    if (want_indices)
        assert_true(right_indices(c, indices, d.ranked));
    for (size_t r = 0; want_values && want_indices && r < k; r++)
        assert_memory_equal(values + r * element, d.x + index_at(indices, c->index, r) * element, element);
    for (size_t r = 0; want_values && c->sort == PROFK_SORT_RANK && r < k; r++)
        assert_memory_equal(values + r * element, d.x + d.ranked[r] * element, element);
    assert_int_equal(row.status, want_more ? PROFK_ROW_CERTIFIED : PROFK_ROW_PENDING);
    assert_int_equal(row.attempts > 0, want_more && k > 0);
    assert_true(stats.calls == want_more && stats.rows == want_more && stats.last_attempts == row.attempts);
    free(memory);
    free(values);
    free(indices);
    data_free(&d);
}

static void host_memory_in_one_call(void **state)
{
    static const uint32_t types[] = {PROFK_F32, PROFK_U8, PROFK_F64, PROFK_BF16};

    (void)state;
    for (uint32_t variant = 0; variant < 3 * 2 * 8 * 2; variant++) {
        const struct test_case c = {.type = types[variant % 4],
                                    .order = variant % 3,
                                    .sort = variant / 16 % 3,
                                    .index = variant & 1,
                                    .unwanted = variant / 2 % 8,
                                    .n = 6000,
                                    .k = variant % 5 == 4 ? 0 : 11 + variant % 3 * 700,
                                    .route = variant / 48 ? PROFK_ROUTE_FULL : PROFK_ROUTE_AUTO,
                                    .seed = variant};

        host_call(&c, fixture.ctx, variant % 4 ? variant % 7 : 0);
    }
}

static void host_memory_without_a_context(void **state)
{
    const struct test_case c = {.type = PROFK_F32, .n = 5000, .k = 10, .seed = 1};
    const struct test_case none = {.type = PROFK_F32, .n = 0, .k = 0, .seed = 1};

    (void)state;
    host_call(&c, NULL, 0);
    host_call(&none, NULL, 0);
}

/* No rows: nothing is written, not even the one row result. */
static void host_memory_without_rows(void **state)
{
    profk_problem problem = problem_of(PROFK_F32, 100, 10);
    unsigned char bytes[3][sizeof(profk_row) * 8];

    (void)state;
    memset(bytes, CANARY, sizeof bytes);
    problem.rows = 0;
    assert_int_equal(
        profk_topk_host(fixture.ctx, &problem, NULL, bytes[0], bytes[1], (profk_row *)(void *)bytes[2], NULL),
        PROFK_OK);
    assert_true(all_canaries(bytes[0], sizeof bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_takes_the_route_that_the_header_says),
        cmocka_unit_test(forced_routes_and_buffers),
        cmocka_unit_test(a_limit_turns_to_full),
        cmocka_unit_test(a_limit_leaves_the_sort_to_one_core),
        cmocka_unit_test(info_says_what_the_engine_says),
        cmocka_unit_test(info_says_what_was_forced),
        cmocka_unit_test(the_description_fits_its_room),
        cmocka_unit_test(nothing_to_select),
        cmocka_unit_test(seeds_fix_the_samples),
        cmocka_unit_test(wait_lists_are_kept),
        cmocka_unit_test(nothing_waits_too),
        cmocka_unit_test(any_queue_serves),
        cmocka_unit_test(inputs_begin_anywhere),
        cmocka_unit_test(inputs_begin_anywhere_for_wide_vectors),
        cmocka_unit_test(sub_buffers_serve),
        cmocka_unit_test(workspaces_of_the_caller),
        cmocka_unit_test(any_outputs),
        cmocka_unit_test(statistics_count),
        cmocka_unit_test(progress_can_stop_it),
        cmocka_unit_test(a_stopped_row_is_not_certified),
        cmocka_unit_test(traces_name_each_command),
        cmocka_unit_test(threads_share_a_context),
        cmocka_unit_test(host_memory_in_one_call),
        cmocka_unit_test(host_memory_without_a_context),
        cmocka_unit_test(host_memory_without_rows),
    };
    int status = fixture_open(&fixture);

    if (status == 0)
        status = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_close(&fixture);
    return status;
}
