/*
 * test_adapt.c: a plan that misses more often than chance explains makes room, says so, and stays right.
 *
 * No input makes a plan miss, so the test hook overflows the first attempt of every call, and for recall misses the
 * rank of a plan is lowered behind its back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "params/params.h"
#include "plan/plan.h"
#include "support/fixture.h"
#include "support/inputs.h"
#include "support/reference.h"

/* On a CPU the candidates of N take the most memory, so the sample has room; of FEW `full` does, so they have, too. */
enum { N = 1 << 17, K = 100, FEW = 4096, FEW_K = 10 };

static struct fixture fixture;
static unsigned char x[N * 8];
static uint32_t ranked[K];
static struct test_case whole; /* all of x */

/* ---- what is logged ---- */

static struct {
    int lines;
    char last[256];
} news;

static void listen(void *user, int level, const char *text)
{
    (void)user;
    assert_int_equal(level, 1);
    news.lines++;
    snprintf(news.last, sizeof news.last, "%s", text);
}

/* ---- helpers ---- */

static uint64_t k_of(uint64_t n)
{
    return n == FEW ? FEW_K : K;
}

static struct test_case case_of(uint64_t n)
{
    return (struct test_case){
        .type = PROFK_F32, .route = PROFK_ROUTE_PROFK, .n = n, .k = k_of(n), .seed = 2}; /* in order, no event */
}

/* The first n elements of x, and their answer. */
static void load(uint64_t n)
{
    assert_true(reference_rank(PROFK_F32, PROFK_LARGEST, PROFK_NAN_LARGEST, x, (size_t)n, (size_t)k_of(n), ranked));
    assert_true(fixture_load(&fixture, PROFK_F32, x, (size_t)n, 1));
}

static profk_plan *plan_of(uint64_t n, const profk_tuning *forced, uint32_t flags, uint32_t mode, double recall)
{
    profk_problem problem;
    profk_plan *plan = NULL;

    profk_problem_init(&problem, sizeof problem, PROFK_F32, n, k_of(n));
    problem.route = PROFK_ROUTE_PROFK;
    problem.seed = 5;
    problem.mode = mode;
    problem.recall = recall;
    if (profk_plan_create(fixture.ctx, &problem, forced, flags, &plan) != PROFK_OK)
        fail_msg("%s", profk_context_message(NULL));
    memset(&news, 0, sizeof news);
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

static void call_once(profk_plan *plan)
{
    assert_true(fixture_execute(&fixture, plan, &whole, ranked, NULL));
}

/* The rank that a plan would have for a far larger budget, with what belongs to it. */
static void lower_rank(profk_plan *plan, uint64_t t)
{
    profk_params *p = &plan->params;

    p->t = t;
    assert_int_equal(profk_failure_probability(N, K, p->S, t, p->M, &p->fail_recall, &p->fail_overflow), PROFK_OK);
}

/* ---- overflows ---- */

/* More slots where there are any, else twice the sample. */
static void check_first_step(const profk_plan *plan, const profk_info *before)
{
    const struct profk__layout *layout = &plan->layout;
    const profk_info now = info_of(plan);

    if (layout->capacity_max > before->M) {
        assert_true(now.M == layout->capacity_max && now.S == before->S && now.t == before->t);
        return;
    }
    assert_true(now.M == before->M && now.S > before->S);
    assert_true(now.S == 2 * before->S || now.S == layout->slots_max);
}

/* Calls that all overflow at first, until there is no more room and that was said; every answer is right. */
static void overflow_until_exhausted(uint64_t n)
{
    const profk_tuning hook = {.struct_size = sizeof hook, .count_start = UINT32_MAX};
    profk_plan *plan = plan_of(n, &hook, 0, PROFK_MODE_EXACT, 0);
    const struct test_case c = case_of(n);
    uint64_t adaptations = 0;
    char words[1024], number[32];

    const profk_info before = info_of(plan);
    load(n);
    for (int call = 1; call <= 99 && !strstr(news.last, "no room"); call++) {
        assert_true(fixture_execute(&fixture, plan, &c, ranked, NULL));
        const profk_stats stats = stats_of(plan);
        assert_int_equal(stats.overflows, call);
        if (call <= 3) /* two overflows in four attempts may be chance, three in six are not */
            assert_int_equal(stats.adaptations, call == 3);
        if (stats.adaptations == 1 && adaptations == 0)
            check_first_step(plan, &before);
        assert_true(stats.adaptations <= adaptations || strstr(news.last, "from now on"));
        adaptations = stats.adaptations;
        assert_true((uint64_t)news.lines == adaptations + (strstr(news.last, "no room") != NULL));
    }
    assert_non_null(strstr(news.last, "no room"));
    const profk_info last = info_of(plan);
    assert_true(last.fail_overflow < before.fail_overflow && last.fail_recall <= 0.5e-3);
    assert_true(last.workspace_nbytes == before.workspace_nbytes && last.kernel_launches == before.kernel_launches);
    for (int call = 0; call < 9; call++) /* said once */
        assert_true(fixture_execute(&fixture, plan, &c, ranked, NULL));
    assert_true((uint64_t)news.lines == adaptations + 1 && stats_of(plan).adaptations == adaptations);
    snprintf(number, sizeof number, "M = %llu", (unsigned long long)last.M);
    assert_int_equal(profk_plan_describe(plan, words, sizeof words, NULL), PROFK_OK);
    assert_non_null(strstr(words, number));
    profk_plan_destroy(plan);
}

static void overflows_make_M_or_S_larger(void **state)
{
    (void)state;
    overflow_until_exhausted(FEW);
    overflow_until_exhausted(N);
}

/* An M that reached the hook's count would certify what was never stored. */
static void M_stays_below_the_hook(void **state)
{
    profk_tuning hook = {.struct_size = sizeof hook};
    profk_plan *plan = plan_of(FEW, NULL, 0, PROFK_MODE_EXACT, 0);
    const struct test_case c = case_of(FEW);

    (void)state;
    load(FEW);
    hook.count_start = info_of(plan).M + 3;
    profk_plan_destroy(plan);
    plan = plan_of(FEW, &hook, 0, PROFK_MODE_EXACT, 0);
    for (int call = 1; call <= 9; call++)
        assert_true(fixture_execute(&fixture, plan, &c, ranked, NULL));
    assert_true(info_of(plan).M < hook.count_start);
    assert_int_equal(stats_of(plan).overflows, 9);
    profk_plan_destroy(plan);
}

/* What a larger M takes lies within the workspace, also within the caller's. */
static void the_workspace_does_not_grow(void **state)
{
    const profk_tuning hook = {.struct_size = sizeof hook, .count_start = UINT32_MAX};
    profk_plan *plan = plan_of(N, &hook, 0, PROFK_MODE_EXACT, 0);
    const size_t need = (size_t)info_of(plan).workspace_nbytes, room = need + 4096;
    unsigned char *bytes = malloc(room);
    const unsigned char canary = 0xCC;
    cl_int code;
    cl_mem memory = clCreateBuffer(fixture.cl, CL_MEM_READ_WRITE, room, NULL, &code);

    (void)state;
    load(N);
    assert_true(bytes && code == CL_SUCCESS);
    assert_int_equal(clEnqueueFillBuffer(fixture.queues[0], memory, &canary, 1, 0, room, 0, NULL, NULL), CL_SUCCESS);
    assert_int_equal(profk_plan_set_workspace(plan, memory, 0), PROFK_OK);
    for (int call = 1; call <= 3; call++)
        call_once(plan);
    assert_int_equal(stats_of(plan).adaptations, 1);
    lower_rank(plan, plan->params.S); /* everything passes: every slot is written */
    call_once(plan);
    assert_int_equal(clEnqueueReadBuffer(fixture.queues[0], memory, CL_TRUE, 0, room, bytes, 0, NULL, NULL),
                     CL_SUCCESS);
    for (size_t i = need; i < room; i++)
        assert_int_equal(bytes[i], canary);
    profk_plan_destroy(plan);
    clReleaseMemObject(memory);
    free(bytes);
}

/* Two sections have room for `count` pairs a row and do not overlap. */
static void check_pairs(const profk_plan *plan, enum profk__section bits, uint64_t count)
{
    const struct profk__layout *layout = &plan->layout;

    assert_true(layout->nbytes[bits] >= layout->rows * count * plan->spec.width_nbytes);
    assert_true(layout->nbytes[bits + 1] >= layout->rows * count * plan->spec.index_nbytes);
    assert_true(layout->offset_nbytes[bits] + layout->nbytes[bits] <= layout->offset_nbytes[bits + 1]);
}

/* Over all shapes: the sections lie within the workspace. */
static void the_sections_fit(void **state)
{
    static const uint64_t shapes[][3] = {/* n, k, rows */
                                         {4096, 1, 1},         {1 << 17, K, 1}, {1 << 20, 2048, 1},
                                         {1 << 14, 100, 1000}, {9000, 9, 7},     {UINT64_C(1) << 33, 2048, 1}};

    (void)state;
    for (uint32_t i = 0; i < 6 * 12; i++) {
        const uint64_t *shape = shapes[i % 6];
        profk_problem problem;
        profk_plan *plan = NULL;

        profk_problem_init(&problem, sizeof problem, PROFK_F32 + i / 6, shape[0], shape[1]);
        problem.rows = shape[2];
        assert_int_equal(profk_plan_create(fixture.ctx, &problem, NULL, 0, &plan), PROFK_OK);
        const struct profk__layout *layout = &plan->layout;
        for (int s = 0; s < PROFK__SECTION_COUNT; s++)
            assert_true(layout->offset_nbytes[s] + layout->nbytes[s] <= layout->total_nbytes);
        if (plan->problem.route == PROFK_ROUTE_PROFK) {
            assert_true(layout->slots_max >= plan->params.S && layout->capacity_max >= plan->params.M);
            assert_true(layout->slots_max <= problem.n && layout->capacity_max <= problem.n);
            check_pairs(plan, PROFK__SAMPLE_BITS, layout->slots_max);
            check_pairs(plan, PROFK__CANDIDATE_BITS, layout->capacity_max);
        }
        profk_plan_destroy(plan);
    }
}

/* ---- recall misses ---- */

static void recall_misses_make_t_larger(void **state)
{
    profk_plan *plan = plan_of(N, NULL, 0, PROFK_MODE_EXACT, 0);
    const profk_info before = info_of(plan);
    uint64_t adaptations = 0;

    (void)state;
    load(N);
    assert_true(before.t > 1);
    lower_rank(plan, 1);
    for (int call = 1; call <= 200; call++) {
        const uint64_t t = plan->params.t;
        call_once(plan);
        assert_int_equal(plan->params.t > t, stats_of(plan).adaptations > adaptations);
        adaptations = stats_of(plan).adaptations;
    }
    const profk_info after = info_of(plan);
    assert_true(adaptations >= 1 && news.lines >= 1 && after.t > 1);
    assert_true(after.S >= before.S && after.M <= plan->layout.capacity_max && after.M >= before.M);
    assert_true(after.workspace_nbytes == before.workspace_nbytes && after.fail_overflow <= 0.5e-3);
    const profk_stats stats = stats_of(plan);
    assert_false(profk__misses_exceed(stats.attempts - plan->watch.attempts,
                                      stats.recall_misses - plan->watch.misses[PROFK__RECALL], 0.5e-3));
    profk_plan_destroy(plan);
}

/* Nothing waits on the host for an asynchronous plan's sake: it looks when it is asked. */
static void asynchronous_plans_look_when_asked(void **state)
{
    profk_plan *plan = plan_of(N, NULL, PROFK_ASYNC, PROFK_MODE_EXACT, 0);

    (void)state;
    load(N);
    const profk_chunk chunk = {.buffer = fixture.input_buffer, .offset = fixture.input_offset, .count = N};
    const profk_io io = {.struct_size = sizeof io, .chunks = &chunk, .chunk_count = 1};
    lower_rank(plan, 1);
    for (int call = 1; call <= 30; call++)
        assert_int_equal(profk_execute(plan, fixture.queues[0], &io, 0, NULL, NULL), PROFK_OK);
    assert_true(plan->params.t == 1 && plan->watch.adaptations == 0);
    assert_int_equal(stats_of(plan).adaptations, 1);
    assert_true(plan->params.t > 1 && news.lines == 1);
    fixture_quiet(true); /* the fixture expects the ladder of exact plans */
    fixture_execute(&fixture, plan, &whole, ranked, NULL);
    fixture_quiet(false);
    assert_true(fixture_judge(&fixture, &whole, ranked));
    profk_plan_destroy(plan);
}

/* ---- who does not adapt ---- */

/* Many misses by design: what is forced holds, and a recall that was asked for is not a miss. */
static void others_stay_as_they_are(void **state)
{
    const profk_tuning forced[] = {{.struct_size = sizeof *forced, .S = N, .t = K - 1},
                                   {.struct_size = sizeof *forced, .S = 4096, .count_start = UINT32_MAX},
                                   {.struct_size = sizeof *forced, .t = 9, .count_start = UINT32_MAX},
                                   {.struct_size = sizeof *forced, .M = 4096, .count_start = UINT32_MAX}};

    (void)state;
    load(N);
    for (size_t i = 0; i < 5; i++) {
        profk_plan *plan = i < 4 ? plan_of(N, &forced[i], 0, PROFK_MODE_EXACT, 0)
                                 : plan_of(N, NULL, 0, PROFK_MODE_APPROXIMATE, 0.5);
        const profk_info before = info_of(plan);

        fixture_quiet(i == 4); /* it expects certified rows */
        for (int call = 1; call <= 9; call++)
            assert_int_equal(fixture_execute(&fixture, plan, &whole, ranked, NULL) || i == 4, 1);
        fixture_quiet(false);
        const profk_info after = info_of(plan);
        const profk_stats stats = stats_of(plan);
        assert_true(stats.recall_misses + stats.overflows >= 3 && stats.adaptations == 0 && news.lines == 0);
        assert_true(after.S == before.S && after.t == before.t && after.M == before.M);
        profk_plan_destroy(plan);
    }
}

/* Approximate plans by budget adapt like others. */
static void approximate_plans_adapt(void **state)
{
    profk_plan *plan = plan_of(N, NULL, 0, PROFK_MODE_APPROXIMATE, 0);

    (void)state;
    load(N);
    lower_rank(plan, 1);
    fixture_quiet(true);
    for (int call = 1; call <= 9; call++)
        fixture_execute(&fixture, plan, &whole, ranked, NULL);
    fixture_quiet(false);
    assert_true(stats_of(plan).adaptations >= 1 && plan->params.t > 1);
    profk_plan_destroy(plan);
}

/* A plan as it is made, many calls: chance alone is no reason. */
static void good_plans_stay_as_they_are(void **state)
{
    profk_plan *plan = plan_of(N, NULL, PROFK_ASYNC, PROFK_MODE_EXACT, 0);

    (void)state;
    load(N);
    const profk_chunk chunk = {.buffer = fixture.input_buffer, .offset = fixture.input_offset, .count = N};
    const profk_io io = {.struct_size = sizeof io, .chunks = &chunk, .chunk_count = 1};
    for (int call = 1; call <= 1000; call++) {
        assert_int_equal(profk_execute(plan, fixture.queues[0], &io, 0, NULL, NULL), PROFK_OK);
        if (call % 50 == 0)
            assert_int_equal(stats_of(plan).adaptations, 0);
    }
    profk_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overflows_make_M_or_S_larger),
        cmocka_unit_test(M_stays_below_the_hook),
        cmocka_unit_test(the_workspace_does_not_grow),
        cmocka_unit_test(the_sections_fit),
        cmocka_unit_test(recall_misses_make_t_larger),
        cmocka_unit_test(asynchronous_plans_look_when_asked),
        cmocka_unit_test(others_stay_as_they_are),
        cmocka_unit_test(approximate_plans_adapt),
        cmocka_unit_test(good_plans_stay_as_they_are),
    };
    const profk_options options = {.struct_size = sizeof options, .log = listen};
    int status = fixture_open(&fixture);

    if (status != 0)
        return status;
    profk_context *own = fixture.ctx;
    inputs_fill(PROFK_F32, INPUTS_NORMAL, 1, N, K, x);
    whole = case_of(N);
    if (profk_context_create(fixture.cl, fixture.device, &options, &fixture.ctx) != PROFK_OK)
        return 1;
    status = cmocka_run_group_tests(tests, NULL, NULL);
    profk_context_destroy(fixture.ctx);
    fixture.ctx = own;
    fixture_close(&fixture);
    return status;
}
