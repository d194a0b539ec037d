/*
 * test_statistics.c: chance behaves as the theory says, and never touches an answer.
 *
 * First attempts miss as often as Propositions 2 and 3 predict, whatever the data, sorted and periodic data included;
 * ties cost no repetition; forced misses walk the whole ladder and end exact; seeds and work-group sizes change
 * nothing.  --long makes 2000 or 4000 calls per row of the statistics and uses 20 seeds; the default does less of both.
 */
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

#include "profk.h"
#include "support/fixture.h"
#include "support/inputs.h"
#include "support/reference.h"

static struct fixture fixture;
static struct test_options options;

/* An input, its top k and the case that asks for it. */
struct scene {
    struct test_case c;
    void *x;
    uint32_t *ranked;
};

/* Numbers in a pattern: element i is the number that `of` makes of it, with `size` as the pattern's own measure. */
struct pattern {
    const char *name;
    uint64_t (*of)(uint64_t i, uint64_t size);
    uint64_t size;
};

/* What is in the input: one of the distributions, or a pattern of f32 numbers below 2^24 where that is not NULL. */
static void scene_fill(struct scene *s, const struct test_case *c, const struct pattern *pattern)
{
    float *numbers = s->x;

    inputs_fill(c->type, c->distribution, c->seed, (size_t)c->n, (size_t)c->k, s->x);
    for (uint64_t i = 0; pattern && i < c->n; i++)
        numbers[i] = (float)pattern->of(i, pattern->size);
}

static void scene_open(struct scene *s, const struct test_case *c, const struct pattern *pattern)
{
    const size_t n = (size_t)c->n, k = (size_t)c->k;

    s->c = *c;
    s->x = malloc(n * reference_type(c->type)->nbytes);
    s->ranked = malloc(k * sizeof *s->ranked);
    assert_true(s->x && s->ranked);
    scene_fill(s, c, pattern);
    assert_true(reference_rank(c->type, c->order, c->nan, s->x, n, k, s->ranked));
    assert_true(fixture_load(&fixture, c->type, s->x, n, c->seed));
}

static void scene_close(struct scene *s)
{
    free(s->x);
    free(s->ranked);
}

/* ---- the law of the first attempt ---- */

static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Pr(X = j): j of the marked ones among S drawn from n of which some are marked, without replacement. */
static double hypergeometric(double n, double marked, double S, double j)
{
    if (j < 0 || j > marked || j > S || S - j > n - marked)
        return 0;
    return exp(log_choose(marked, j) + log_choose(n - marked, S - j) - log_choose(n, S));
}

/* Pr(low <= X < high). */
static double between(double n, double marked, double S, uint64_t low, uint64_t high)
{
    double sum = 0;

    for (uint64_t j = low; j < high; j++)
        sum += hypergeometric(n, marked, S, (double)j);
    return sum;
}

/* Propositions 2 and 3 at the plan's own S, t and M, to what lgamma can give. */
static void probabilities_are_the_propositions(const struct test_case *c, const profk_info *info)
{
    const double n = (double)c->n, S = (double)info->S;
    const double recall = between(n, (double)c->k - 1, S, info->t, info->S + 1);
    const double overflow = between(n, (double)info->M, S, 0, info->t);

    assert_true(fabs(info->fail_recall - recall) <= 1e-6 * recall + 1e-300);
    assert_true(fabs(info->fail_overflow - overflow) <= 1e-6 * overflow + 1e-300);
}

struct interval {
    uint64_t low, high;
};

static double binomial(double n, double p, double j)
{
    return exp(log_choose(n, j) + j * log(p) + (n - j) * log1p(-p));
}

/* The counts of a binomial variable that leave at most 0.05 % on either side. */
static struct interval binomial_interval(uint64_t trials, double p)
{
    const double n = (double)trials, side = 0.0005; /* the sums reach 1, so the loops end */
    struct interval range = {0, trials};
    double below = 0, above = 0;

    if (p <= 0)
        return (struct interval){0, 0};
    while ((below += binomial(n, p, (double)range.low)) <= side)
        range.low++;
    while ((above += binomial(n, p, (double)range.high)) <= side)
        range.high--;
    return range;
}

static void binomial_interval_is_right(void **state)
{
    /* Binomial(10, 1/2): Pr(0) = 1/1024 is above 0.05 %, so nothing can be left out. */
    const struct interval ten = binomial_interval(10, 0.5);
    /* Binomial(20, 1/2): Pr(X <= 2) = 211/2^20 and Pr(X <= 3) = 1351/2^20; 0.05 % is 524/2^20. */
    const struct interval twenty = binomial_interval(20, 0.5);

    (void)state;
    assert_int_equal(ten.low, 0);
    assert_int_equal(ten.high, 10);
    assert_int_equal(twenty.low, 3);
    assert_int_equal(twenty.high, 17);
}

struct misses {
    uint64_t recall, overflow;
};

/*
 * Adds what the first attempt of the last call did.  A call tells its misses of either kind but not their sequence.
 * The attempts are independent and alike, so that every sequence of the misses is equally likely: to draw one of them
 * as the first gives the first one's law.
 */
static void count_first(struct misses *first, const profk_stats *before, const profk_stats *after, uint64_t *random)
{
    const uint64_t recall = after->recall_misses - before->recall_misses;
    const uint64_t overflow = after->overflows - before->overflows;

    if (recall + overflow == 0)
        return;
    if (inputs_random(random) % (recall + overflow) < recall)
        first->recall++;
    else
        first->overflow++;
}

static bool lies_inside(const char *what, uint64_t count, uint64_t calls, double p)
{
    const struct interval range = binomial_interval(calls, p);
    const bool ok = count >= range.low && count <= range.high;

    fprintf(stderr, "    %s: %" PRIu64 " of %" PRIu64 ", p = %.6f, interval %" PRIu64 "..%" PRIu64 "%s\n", what,
            count, calls, p, range.low, range.high, ok ? "" : "  OUTSIDE");
    return ok;
}

static profk_plan *plan_with_epsilon(const struct test_case *c, double epsilon)
{
    profk_plan *plan = NULL;
    profk_problem p;

    profk_problem_init(&p, sizeof p, c->type, c->n, c->k);
    p.route = c->route;
    p.seed = c->seed;
    p.epsilon = epsilon;
    assert_int_equal(profk_plan_create(fixture.ctx, &p, NULL, PROFK_ESTIMATE, &plan), PROFK_OK);
    return plan;
}

static bool misses_follow_the_law(const struct test_case *c, const struct pattern *pattern, double epsilon,
                                  uint64_t calls)
{
    struct misses first = {0, 0};
    struct outcome o;
    profk_stats before = {0};
    profk_plan *plan = plan_with_epsilon(c, epsilon);
    uint64_t random = inputs_mix(options.seed, 99);
    struct scene s;
    bool ok = true;

    scene_open(&s, c, pattern);
    for (uint64_t i = 0; i < calls; i++) {
        assert_true(fixture_execute(&fixture, plan, c, s.ranked, &o));
        count_first(&first, &before, &o.stats, &random);
        before = o.stats;
    }
    assert_int_equal(o.stats.calls, calls);
    probabilities_are_the_propositions(c, &o.info);
    fprintf(stderr, "%s, epsilon %g: S=%" PRIu64 " t=%" PRIu64 " M=%" PRIu64 "\n",
            pattern ? pattern->name : inputs_name(c->distribution), epsilon, o.info.S, o.info.t, o.info.M);
    ok = lies_inside("recall misses", first.recall, calls, o.info.fail_recall) && ok;
    ok = lies_inside("overflows", first.overflow, calls, o.info.fail_overflow) && ok;
    profk_plan_destroy(plan);
    scene_close(&s);
    return ok;
}

static void first_attempts_miss_as_often_as_predicted(void **state)
{
    static const double epsilon[] = {0.3, 0.03};
    static const uint32_t distribution[] = {INPUTS_NORMAL, INPUTS_EQUAL};
    const uint64_t calls = options.long_run ? 2000 : 300;
    bool ok = true;

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        const struct test_case c = {.type = PROFK_F32,
                                    .route = PROFK_ROUTE_PROFK,
                                    .distribution = distribution[i % 2],
                                    .n = 65536,
                                    .k = 500,
                                    .seed = inputs_mix(options.seed, i)};

        ok = misses_follow_the_law(&c, NULL, epsilon[i / 2], calls) && ok;
    }
    assert_true(ok);
}

/* ---- structure changes nothing ---- */

static uint64_t ascending(uint64_t i, uint64_t size)
{
    return i + size;
}

static uint64_t descending(uint64_t i, uint64_t size)
{
    return size - i;
}

static uint64_t periodic(uint64_t i, uint64_t size)
{
    return i % size;
}

static uint64_t in_blocks(uint64_t i, uint64_t size)
{
    return i / size;
}

/* The top k at a stride of a power of two, alike or not. */
static uint64_t combed(uint64_t i, uint64_t size)
{
    return i % size == 0 ? 1000 + i : i % 7;
}

/* The top k together in the middle. */
static uint64_t peaked(uint64_t i, uint64_t size)
{
    return i < size ? i : 2 * size - i;
}

enum { STRUCTURED_N = 65536 };

static void structured_inputs_miss_as_often(void **state)
{
    static const struct pattern patterns[] = {
        {"ascending", ascending, 1},
        {"descending", descending, STRUCTURED_N},
        {"period 2", periodic, 2},
        {"period 256", periodic, 256},
        {"period 16384", periodic, 16384},
        {"blocks of 64", in_blocks, 64},
        {"blocks of 16384", in_blocks, 16384},
        {"every 128th", combed, 128},
        {"a peak", peaked, STRUCTURED_N / 2},
    };
    const uint64_t calls = options.long_run ? 4000 : 1000;
    bool ok = true;

    (void)state;
    for (uint32_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const struct test_case c = {.type = PROFK_F32,
                                    .route = PROFK_ROUTE_PROFK,
                                    .n = STRUCTURED_N,
                                    .k = 500,
                                    .seed = inputs_mix(options.seed, 100 + i)};

        ok = misses_follow_the_law(&c, &patterns[i], 0.3, calls) && ok;
    }
    assert_true(ok);
}

/* ---- ties cost nothing ---- */

static void ties_need_no_fallback(void **state)
{
    static const uint32_t distribution[] = {INPUTS_EQUAL, INPUTS_ZERO_ONE, INPUTS_RELU};
    static const uint32_t type[] = {PROFK_F32, PROFK_U8, PROFK_BF16, PROFK_I64};
    const uint32_t types = options.long_run ? 4 : 1;

    (void)state;
    for (uint32_t i = 0; i < 3 * types; i++) {
        const struct test_case c = {.type = type[i / 3],
                                    .route = PROFK_ROUTE_PROFK,
                                    .distribution = distribution[i % 3],
                                    .n = 1 << 22,
                                    .k = 2048,
                                    .seed = inputs_mix(options.seed, i)};
        struct scene s;
        struct outcome o;

        scene_open(&s, &c, NULL);
        assert_true(fixture_run(&fixture, &c, NULL, s.ranked, &o));
        assert_int_equal(o.stats.fallbacks, 0);
        assert_int_equal(o.stats.last_route, PROFK_ROUTE_PROFK);
        assert_true(o.row.R >= c.k);
        scene_close(&s);
    }
}

/* ---- the ladder, forced ---- */

/* What a forced plan must come to.  With S = n the sample is the whole input, so that R = t at every attempt. */
struct ladder {
    const char *what;
    profk_tuning forced;
    uint32_t attempts;
    uint64_t R, recall_misses, overflows, fallbacks;
};

enum { LADDER_N = 50000, LADDER_K = 300 };

static const struct ladder ladders[] = {
    {"six recall misses", {.S = LADDER_N, .t = LADDER_K - 1}, 7, 0, 6, 0, 1},
    {"six recall misses, M forced", {.S = LADDER_N, .t = LADDER_K - 1, .M = 4096}, 7, 0, 6, 0, 1},
    {"a threshold far too high", {.S = LADDER_N, .t = 1, .M = 4096}, 7, 0, 6, 0, 1},
    {"six overflows by one", {.S = LADDER_N, .t = 513, .M = 512}, 7, 0, 0, 6, 1},
    {"six overflows of everything", {.S = LADDER_N, .t = LADDER_N, .M = 512}, 7, 0, 0, 6, 1},
    {"six overflows of M = k", {.S = LADDER_N, .t = LADDER_K + 1, .M = LADDER_K}, 7, 0, 0, 6, 1},
    {"M = k, just enough", {.S = LADDER_N, .t = LADDER_K, .M = LADDER_K}, 1, LADDER_K, 0, 0, 0},
    {"M full to the last place", {.S = LADDER_N, .t = 512, .M = 512}, 1, 512, 0, 0, 0},
    {"everything passes", {.S = LADDER_N, .t = LADDER_N, .M = LADDER_N}, 1, LADDER_N, 0, 0, 0},
    {"count just above M", {.S = LADDER_N, .t = 350, .M = 512, .count_start = 513}, 2, 350, 0, 1, 0},
    {"count wraps 32 bits into [k, M]",
     {.S = LADDER_N, .t = 400, .M = 512, .count_start = UINT32_MAX - 20},
     2,
     400,
     0,
     1,
     0},
    {"count ends at 2^32",
     {.S = LADDER_N, .t = 400, .M = 512, .count_start = (uint64_t)UINT32_MAX - 399},
     2,
     400,
     0,
     1,
     0},
    {"count at 2^32 - 1", {.S = LADDER_N, .t = 301, .M = 512, .count_start = UINT32_MAX}, 2, 301, 0, 1, 0},
    {"count above 2^32",
     {.S = LADDER_N, .t = 301, .M = 512, .count_start = ((uint64_t)1 << 32) + 5},
     2,
     301,
     0,
     1,
     0},
    {"count, then five misses", {.S = LADDER_N, .t = 299, .M = 512, .count_start = UINT32_MAX - 100}, 7, 0, 5, 1, 1},
};

static bool ladder_came_true(const struct ladder *l, const struct test_case *c, const struct outcome *o)
{
    const profk_stats *s = &o->stats;
    const uint32_t route = l->fallbacks ? PROFK_ROUTE_FULL : PROFK_ROUTE_PROFK;

    if (o->row.attempts != l->attempts || o->row.R != l->R)
        return complain(c, "%s: attempts %" PRIu32 ", R %" PRIu64, l->what, o->row.attempts, o->row.R);
    if (s->recall_misses != l->recall_misses || s->overflows != l->overflows || s->fallbacks != l->fallbacks)
        return complain(c, "%s: %" PRIu64 " recall misses, %" PRIu64 " overflows, %" PRIu64 " fallbacks", l->what,
                        s->recall_misses, s->overflows, s->fallbacks);
    if (s->last_route != route)
        return complain(c, "%s: last route %" PRIu32, l->what, s->last_route);
    if ((l->forced.M && o->info.M != l->forced.M) || o->info.S != l->forced.S || o->info.t != l->forced.t)
        return complain(c, "%s: the plan does not keep S, t, M", l->what);
    return true;
}

static void forced_misses_end_exact(void **state)
{
    static const uint32_t type[] = {PROFK_F32, PROFK_U8, PROFK_F64, PROFK_BF16};
    static const uint32_t distribution[] = {INPUTS_NORMAL, INPUTS_ZERO_ONE, INPUTS_NAN, INPUTS_RELU};
    const uint32_t types = options.long_run ? 4 : 2;
    size_t failures = 0;

    (void)state;
    for (uint32_t i = 0; i < types; i++) {
        const struct test_case c = {.type = type[i],
                                    .order = i % 3,
                                    .sort = i % 2 ? PROFK_SORT_INDEX : PROFK_SORT_RANK,
                                    .route = PROFK_ROUTE_PROFK,
                                    .distribution = distribution[i],
                                    .n = LADDER_N,
                                    .k = LADDER_K,
                                    .seed = inputs_mix(options.seed, i)};
        struct scene s;

        scene_open(&s, &c, NULL);
        for (size_t j = 0; j < sizeof ladders / sizeof *ladders; j++) {
            profk_tuning forced = ladders[j].forced;
            struct outcome o;

            forced.struct_size = sizeof forced;
            failures += !fixture_run(&fixture, &c, &forced, s.ranked, &o) || !ladder_came_true(&ladders[j], &c, &o);
        }
        scene_close(&s);
    }
    assert_int_equal(failures, 0);
}

/* A second call of a plan that fell back starts at the first attempt again, and the statistics add up. */
static void a_plan_that_fell_back_goes_on(void **state)
{
    const struct test_case c = {
        .type = PROFK_I32, .route = PROFK_ROUTE_PROFK, .n = 9000, .k = 77, .seed = options.seed};
    const profk_tuning forced = {.struct_size = sizeof forced, .S = 9000, .t = 76, .M = 200};
    profk_plan *plan = fixture_plan(&fixture, &c, &forced);
    struct scene s;
    struct outcome o;

    (void)state;
    assert_non_null(plan);
    scene_open(&s, &c, NULL);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_true(fixture_execute(&fixture, plan, &c, s.ranked, &o));
        assert_int_equal(o.row.attempts, 7);
        assert_int_equal(o.stats.attempts, 6 * i);
        assert_int_equal(o.stats.fallbacks, i);
        assert_int_equal(o.stats.redraws, 5 * i);
    }
    profk_plan_destroy(plan);
    scene_close(&s);
}

/* M = k leaves no room: with a real sample nearly every attempt misses one way or the other. */
static void no_room_ends_exact(void **state)
{
    static const profk_tuning forced[] = {
        {.struct_size = sizeof forced[0], .M = 100},
        {.struct_size = sizeof forced[0], .S = 2048, .M = 100},
        {.struct_size = sizeof forced[0], .S = 2048, .t = 21, .M = 100},
        {.struct_size = sizeof forced[0], .S = 1, .t = 1, .M = 100},
        {.struct_size = sizeof forced[0], .S = 1, .t = 1, .M = 20000},
    };
    const struct test_case c = {
        .type = PROFK_F16, .route = PROFK_ROUTE_PROFK, .n = 20000, .k = 100, .seed = options.seed};
    struct scene s;

    (void)state;
    scene_open(&s, &c, NULL);
    for (size_t i = 0; i < sizeof forced / sizeof *forced; i++) {
        struct outcome o;

        assert_true(fixture_run(&fixture, &c, &forced[i], s.ranked, &o));
        assert_int_equal(o.info.M, forced[i].M);
        if (o.row.attempts < 7)
            assert_in_range(o.row.R, 100, forced[i].M);
    }
    scene_close(&s);
}

/* ---- seeds and launch sizes ---- */

static uint32_t largest_work_group(void)
{
    size_t largest = 1;

    assert_int_equal(clGetDeviceInfo(fixture.device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof largest, &largest, NULL),
                     CL_SUCCESS);
    return (uint32_t)largest;
}

/* The values and indices of the last run, one behind the other. */
static void keep_outputs(unsigned char *kept)
{
    const struct output *values = &fixture.out[OUT_VALUES], *indices = &fixture.out[OUT_INDICES];
    const size_t nbytes = values->count * values->element_nbytes;

    memcpy(kept, output_element(values, 0), nbytes);
    memcpy(kept + nbytes, output_element(indices, 0), indices->count * indices->element_nbytes);
}

static void compare_launch_sizes(const struct test_case *c, const uint32_t *sizes, size_t size_count, uint64_t seeds)
{
    const size_t nbytes = (size_t)c->k * (reference_type(c->type)->nbytes + (c->index == PROFK_INDEX_U32 ? 4 : 8));
    unsigned char *first = malloc(nbytes), *other = malloc(nbytes);
    struct scene s;

    assert_true(first && other);
    scene_open(&s, c, NULL);
    for (size_t i = 0; i < size_count; i++)
        for (uint64_t seed = 0; seed < seeds; seed++) {
            const uint32_t w = sizes[i];
            const profk_tuning forced = {.struct_size = sizeof forced,
                                         .filter_wg = w,
                                         .sample_wg = w,
                                         .threshold_wg = w,
                                         .refine_wg = w,
                                         .sort_wg = w,
                                         .rows_wg = w,
                                         .full_wg = w};
            struct test_case run = *c;

            run.seed = inputs_mix(c->seed, seed);
            assert_true(fixture_run(&fixture, &run, &forced, s.ranked, NULL));
            keep_outputs(i == 0 && seed == 0 ? first : other);
            if (i > 0 || seed > 0)
                assert_memory_equal(first, other, nbytes);
        }
    scene_close(&s);
    free(first);
    free(other);
}

static void seeds_and_work_groups_change_nothing(void **state)
{
    static const uint32_t routes[] = {PROFK_ROUTE_PROFK, PROFK_ROUTE_FULL};
    const uint32_t sizes[] = {1, 3, 64, largest_work_group()};
    const uint64_t seeds = options.long_run ? 20 : 3;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct test_case c = {.type = PROFK_F32,
                                    .route = routes[i],
                                    .distribution = INPUTS_NARROW,
                                    .n = 20000,
                                    .k = 700,
                                    .seed = options.seed};

        compare_launch_sizes(&c, sizes, 4, seeds);
    }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binomial_interval_is_right),
        cmocka_unit_test(forced_misses_end_exact),
        cmocka_unit_test(a_plan_that_fell_back_goes_on),
        cmocka_unit_test(no_room_ends_exact),
        cmocka_unit_test(ties_need_no_fallback),
        cmocka_unit_test(seeds_and_work_groups_change_nothing),
        cmocka_unit_test(first_attempts_miss_as_often_as_predicted),
        cmocka_unit_test(structured_inputs_miss_as_often),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fixture_main(argc, argv, &options, &fixture, run_all);
}
