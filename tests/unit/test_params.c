/*
 * test_params.c: S, t, M and their failure probabilities against the paper's Table 3, against 60-digit arithmetic
 * (params_mpmath.csv), against counting every sample of small inputs, and against their own definition.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/error.h"
#include "params/hypergeometric.h"
#include "params/params.h"
#include "support/numbers.h"

#ifndef PROFK_TEST_DATA
#error "PROFK_TEST_DATA names the folder with table3.csv and params_mpmath.csv"
#endif

#define N_MAX ((UINT64_C(1) << 48) - 1)

static double random_budget(void)
{
    return 5e-13 * exp2(random_unit() * log2(0.5 / 5e-13));
}

static double now_ms(void)
{
    struct timespec at;

    timespec_get(&at, TIME_UTC);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec * 1e-6;
}

/* Calls each for the fields of every line of a file that starts with a digit; returns how many there were. */
static int for_each_row(const char *path, void (*each)(char *field[]))
{
    FILE *file = fopen(path, "r");
    char line[512], *field[16];
    int rows = 0;

    if (file == NULL)
        fail_msg("cannot read %s", path);
    while (fgets(line, sizeof line, file) != NULL) {
        size_t fields = 0;
        if (line[0] < '0' || line[0] > '9')
            continue;
        for (char *at = strtok(line, ",\n"); at != NULL && fields < 16; at = strtok(NULL, ",\n"))
            field[fields++] = at;
        each(field);
        rows++;
    }
    fclose(file);
    return rows;
}

static uint64_t integer(const char *text)
{
    return strtoull(text, NULL, 10);
}

/* The table prints three digits. */
static void assert_three_digits(double x, const char *expected)
{
    char text[32];

    snprintf(text, sizeof text, "%.2e", x);
    assert_true(strtod(text, NULL) == strtod(expected, NULL));
}

static void check_table_row(char *field[])
{
    const uint64_t n = integer(field[0]), k = integer(field[1]), S = integer(field[2]);
    profk_params exact, fast;
    uint64_t chosen;

    assert_int_equal(profk_sample_size(n, k, 1e-3, NULL, &chosen), PROFK_OK);
    assert_int_equal(chosen, S);
    assert_int_equal(profk_params_exact(n, k, S, 5e-4, 5e-4, &exact), PROFK_OK);
    assert_int_equal(profk_params_fast(n, k, S, 5e-4, 5e-4, &fast), PROFK_OK);
    assert_true(exact.S == S && fast.S == S);
    assert_int_equal(exact.t, integer(field[3]));
    assert_int_equal(fast.t, integer(field[4]));
    assert_int_equal(exact.M, integer(field[5]));
    assert_int_equal(fast.M, integer(field[6]));
    assert_three_digits(exact.fail_recall + exact.fail_overflow, field[7]);
    assert_three_digits(fast.fail_recall + fast.fail_overflow, field[8]);
}

static void test_table_3(void **state)
{
    (void)state;
    assert_int_equal(for_each_row(PROFK_TEST_DATA "/table3.csv", check_table_row), 21);
}

static double worst_error;

/* A probability that is further off than any before raises worst_error; what a double cannot hold must be 0. */
static void compare_probability(double x, const char *text)
{
    const double expected = strtod(text, NULL);

    if (expected < 1e-290)
        assert_true(x <= 1e-289);
    else if (fabs(x / expected - 1.0) > worst_error)
        worst_error = fabs(x / expected - 1.0);
}

/* n,k,S,eps_recall,eps_overflow,S_lowest,t,M,fail_recall,fail_overflow,recall */
static void check_grid_row(char *field[])
{
    const uint64_t n = integer(field[0]), k = integer(field[1]), S = integer(field[2]);
    const double eps_recall = strtod(field[3], NULL), eps_overflow = strtod(field[4], NULL);
    const uint64_t S_lowest = integer(field[5]);
    profk_params p = {0, 0, 0, -1.0, -1.0};
    const profk_status st = profk_params_exact(n, k, S, eps_recall, eps_overflow, &p);
    double recall;

    assert_int_equal(profk__sample_minimum(n, k, eps_recall), S_lowest);
    assert_int_equal(st, S < S_lowest ? PROFK_ERR_PARAMS : PROFK_OK);
    if (p.t != integer(field[6]) || p.M != integer(field[7]))
        fail_msg("n %s k %s S %s budgets %s %s: t %" PRIu64 " M %" PRIu64 ", expected %s %s", field[0], field[1],
                 field[2], field[3], field[4], p.t, p.M, field[6], field[7]);
    if (st != PROFK_OK)
        return;
    compare_probability(p.fail_recall, field[8]);
    compare_probability(p.fail_overflow, field[9]);
    assert_int_equal(profk_expected_recall(n, k, S, p.t, &recall), PROFK_OK);
    compare_probability(recall, field[10]);
}

static void test_60_digits(void **state)
{
    (void)state;
    worst_error = 0.0;
    assert_in_range(for_each_row(PROFK_TEST_DATA "/params_mpmath.csv", check_grid_row), 400, 1000);
    printf("largest relative error of a probability: %.2g\n", worst_error);
    assert_true(worst_error < 1e-12);
}

/* Ranks of the t-th sampled position over all samples of S out of n: count[R], for n <= 12. */
static uint64_t count_ranks(uint64_t n, uint64_t S, uint64_t t, uint64_t count[14])
{
    uint64_t samples = 0;

    memset(count, 0, 14 * sizeof count[0]);
    for (uint64_t sample = 0; sample < UINT64_C(1) << n; sample++) {
        uint64_t sampled = 0, rank = 0;
        for (uint64_t position = 1; position <= n; position++)
            if (sample >> (position - 1) & 1 && ++sampled == t)
                rank = position;
        if (sampled == S) {
            samples++;
            count[rank]++;
        }
    }
    return samples;
}

static uint64_t sum_counts(const uint64_t count[14], uint64_t from, uint64_t to)
{
    uint64_t sum = 0;

    for (uint64_t r = from; r <= to; r++)
        sum += count[r];
    return sum;
}

/* For one n and S: every k and t, and Theorem 4's t and M read off the counts.  Some budgets are met exactly. */
static void check_by_counting(uint64_t n, uint64_t S)
{
    static const double budgets[] = {0.5, 0.25, 0.375, 0.125, 0.2071, 0.0123, 5e-13};
    static uint64_t count[14][14]; /* [t][R] */
    double samples = 0.0;

    for (uint64_t t = 1; t <= S; t++)
        samples = (double)count_ranks(n, S, t, count[t]);
    for (uint64_t k = 1; k <= n; k++) {
        for (uint64_t t = 1; t <= S; t++) {
            double miss, over, recall, reached = 0.0;
            for (uint64_t r = 1; r <= n; r++)
                reached += (double)(count[t][r] * (r < k ? r : k));
            assert_int_equal(profk_expected_recall(n, k, S, t, &recall), PROFK_OK);
            assert_close(recall, reached / samples / (double)k, 1e-13);
            for (uint64_t M = k; M <= n; M++) {
                assert_int_equal(profk_failure_probability(n, k, S, t, M, &miss, &over), PROFK_OK);
                assert_close(miss, (double)sum_counts(count[t], 1, k - 1) / samples, 1e-13);
                assert_close(over, (double)sum_counts(count[t], M + 1, n) / samples, 1e-13);
            }
        }
        for (size_t b = 0; b < sizeof budgets / sizeof budgets[0]; b++) {
            uint64_t t = 1, M = k;
            profk_params p = {0};
            const profk_status st = profk_params_exact(n, k, S, budgets[b], budgets[b], &p);
            while (t <= S && (double)sum_counts(count[t], 1, k - 1) > budgets[b] * samples)
                t++;
            assert_int_equal(st, t > S ? PROFK_ERR_PARAMS : PROFK_OK);
            if (t > S)
                continue;
            while ((double)sum_counts(count[t], M + 1, n) > budgets[b] * samples)
                M++;
            assert_int_equal(p.t, t);
            assert_int_equal(p.M, M);
        }
    }
}

static void test_every_small_input(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 12; n++)
        for (uint64_t S = 1; S <= n; S++)
            check_by_counting(n, S);
}

/* t* and M* keep their budgets, t*-1 and M*-1 do not; a larger budget never asks for more. */
static void test_optimality(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++) {
        const uint64_t n = random_size(1, N_MAX), k = random_size(1, n), S = random_size(1, n);
        const double eps_recall = random_budget(), eps_overflow = random_budget();
        profk_params p = {0, 0, 0, -1.0, -1.0}, looser;
        const profk_status st = profk_params_exact(n, k, S, eps_recall, eps_overflow, &p);
        const uint64_t S_lowest = profk__sample_minimum(n, k, eps_recall);
        double miss, over;

        assert_int_equal(st, S < S_lowest ? PROFK_ERR_PARAMS : PROFK_OK);
        if (st != PROFK_OK) {
            assert_true(p.t == 0 && p.fail_recall == -1.0); /* untouched */
            continue;
        }
        assert_true(p.t >= 1 && p.t <= S && p.M >= k && p.M <= n);
        assert_true(p.fail_recall <= eps_recall * (1.0 + 1e-12) && p.fail_overflow <= eps_overflow * (1.0 + 1e-12));
        if (p.t > 1) {
            assert_int_equal(profk_failure_probability(n, k, S, p.t - 1, p.M, &miss, &over), PROFK_OK);
            assert_true(miss > eps_recall * (1.0 - 1e-12));
        }
        if (p.M > k) {
            assert_int_equal(profk_failure_probability(n, k, S, p.t, p.M - 1, &miss, &over), PROFK_OK);
            assert_true(over > eps_overflow * (1.0 - 1e-12));
        }
        assert_int_equal(profk_params_exact(n, k, S, fmin(0.5, eps_recall * 2), eps_overflow, &looser), PROFK_OK);
        assert_true(looser.t <= p.t && looser.M <= p.M);
        assert_int_equal(profk_params_exact(n, k, S, eps_recall, fmin(0.5, eps_overflow * 2), &looser), PROFK_OK);
        assert_true(looser.t == p.t && looser.M <= p.M);
    }
}

/* The chosen sample lies between its bounds and always has a threshold rank; Algorithm 1 stays inside its ranges. */
static void test_sample_size_and_fast_ranges(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++) {
        const uint64_t n = random_size(1, N_MAX), k = random_size(1, n);
        const double epsilon = 2.0 * random_budget() > 0.5 ? 0.5 : 1e-12;
        uint64_t S = 0, S_any = random_size(1, n);
        const uint64_t lowest = profk__sample_minimum(n, k, epsilon / 2);
        profk_params p;

        assert_int_equal(profk_sample_size(n, k, epsilon, NULL, &S), PROFK_OK);
        assert_true(S >= 1 && S <= n && S >= lowest && (S <= 1 << 18 || S == lowest));
        assert_int_equal(profk_params_exact(n, k, S, epsilon / 2, epsilon / 2, &p), PROFK_OK);
        if (lowest > 1)
            assert_int_equal(profk_params_exact(n, k, lowest - 1, epsilon / 2, epsilon / 2, &p), PROFK_ERR_PARAMS);
        assert_int_equal(profk_params_fast(n, k, S_any, random_budget(), random_budget(), &p), PROFK_OK);
        assert_true(p.t >= 1 && p.t <= S_any && p.M >= k && p.M <= n);
    }
}

static uint64_t sample_size(uint64_t n, uint64_t k, const profk_cost *cost)
{
    uint64_t S = 0;

    assert_int_equal(profk_sample_size(n, k, 1e-3, cost, &S), PROFK_OK);
    return S;
}

static void test_sample_size_rule(void **state)
{
    const uint64_t n = UINT64_C(1) << 28;
    profk_cost cost = {sizeof cost, 0.594, -4.29, 0, 0};

    (void)state;
    assert_int_equal(sample_size(n, 1 << 14, &cost), 110643);
    assert_int_equal(sample_size(n, 128, &cost), 1 << 14);           /* k <= 2^7 */
    assert_int_equal(sample_size(n, 1 << 18, &cost), 1 << 18);       /* k/n = 2^-10: not above, S_1 beyond S_max */
    assert_int_equal(sample_size(n, (1 << 18) + 1, &cost), 1 << 14); /* above */
    assert_int_equal(sample_size(1 << 16, 60, NULL), 512);           /* n/128 */
    assert_int_equal(sample_size(1000, 900, NULL), 69);              /* floor 7 misses the budget */
    assert_int_equal(sample_size(1000, 1, NULL), 7);
    assert_int_equal(sample_size(100, 1, NULL), 1);
    assert_int_equal(sample_size(1, 1, NULL), 1);
    cost.S_min = n; /* capped at n/128, and S_max gives way */
    assert_int_equal(sample_size(n, 64, &cost), n / 128);
    cost.S_min = 0;
    cost.S_max = 100;
    assert_int_equal(sample_size(n, 1 << 14, &cost), 100);
    cost = (profk_cost){sizeof cost, 1.0, 0.0, 0, 0}; /* 1/r = 7 there */
    assert_int_equal(sample_size(n, 128, &cost), 1 << 14);
    assert_int_equal(sample_size(n, 129, &cost), 146010);
    cost = (profk_cost){sizeof cost, 0.0, 0.0, 0, 0}; /* 1/r = 0 */
    assert_int_equal(sample_size(n, 1 << 14, &cost), 1 << 14);
    cost = (profk_cost){sizeof cost, 1e300, 1e300, 0, UINT64_MAX};
    assert_int_equal(sample_size(n, 1 << 14, &cost), n);
}

/* A caller with a newer profk_cost: fine as long as what we do not know is zero. */
static void test_cost_struct(void **state)
{
    struct {
        profk_cost known;
        unsigned char newer[24];
    } cost = {{sizeof cost, 0.594, -4.29, 0, 0}, {0}};
    uint64_t S = 7;

    (void)state;
    assert_int_equal(sample_size(UINT64_C(1) << 28, 1 << 14, &cost.known), 110643);
    cost.newer[23] = 1;
    assert_int_equal(profk_sample_size(100, 1, 1e-3, &cost.known, &S), PROFK_ERR_ARGUMENT);
    cost.known.struct_size = sizeof(profk_cost);
    assert_int_equal(profk_sample_size(100, 1, 1e-3, &cost.known, &S), PROFK_OK);
    S = 7;
    cost.known.struct_size = 0;
    assert_int_equal(profk_sample_size(100, 1, 1e-3, &cost.known, &S), PROFK_ERR_ARGUMENT);
    cost.known.struct_size = sizeof(profk_cost) - 1;
    assert_int_equal(profk_sample_size(100, 1, 1e-3, &cost.known, &S), PROFK_ERR_ARGUMENT);
    cost.known = (profk_cost){sizeof(profk_cost), (double)NAN, 0.0, 0, 0};
    assert_int_equal(profk_sample_size(100, 1, 1e-3, &cost.known, &S), PROFK_ERR_ARGUMENT);
    cost.known = (profk_cost){sizeof(profk_cost), 0.0, (double)INFINITY, 0, 0};
    assert_int_equal(profk_sample_size(100, 1, 1e-3, &cost.known, &S), PROFK_ERR_ARGUMENT);
    cost.known = (profk_cost){sizeof(profk_cost), 0.0, 0.0, 9, 8};
    assert_int_equal(profk_sample_size(100, 1, 1e-3, &cost.known, &S), PROFK_ERR_ARGUMENT);
    assert_int_equal(S, 7);
}

static void test_shape_errors(void **state)
{
    static const uint64_t bad[][3] = {/* n, k, S */
                                      {0, 1, 1},   {0, 0, 0},          {N_MAX + 1, 1, 1},   {UINT64_MAX, 1, 1},
                                      {10, 0, 1},  {10, 11, 1},        {10, UINT64_MAX, 1}, {10, 1, 0},
                                      {10, 1, 11}, {10, 1, UINT64_MAX}};
    const profk_params before = {1, 2, 3, 4.0, 5.0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const uint64_t n = bad[i][0], k = bad[i][1], S = bad[i][2];
        profk_params p = before;
        uint64_t S_ret = 7, M = 8, t = 9;
        double a = -1.0, b = -1.0;

        assert_int_equal(profk_params_exact(n, k, S, 5e-4, 5e-4, &p), PROFK_ERR_ARGUMENT);
        assert_true(profk__message()[0] != '\0');
        assert_int_equal(profk_params_fast(n, k, S, 5e-4, 5e-4, &p), PROFK_ERR_ARGUMENT);
        assert_int_equal(profk_failure_probability(n, k, S, 1, k, &a, &b), PROFK_ERR_ARGUMENT);
        assert_int_equal(profk_expected_recall(n, k, S, 1, &a), PROFK_ERR_ARGUMENT);
        assert_int_equal(profk__buffer_capacity(n, k, S, 1, 5e-4, &M), PROFK_ERR_ARGUMENT);
        assert_int_equal(profk__rank_for_recall(n, k, S, 0.5, &t), PROFK_ERR_ARGUMENT);
        if (k != 1 || S == 1)
            assert_int_equal(profk_sample_size(n, k, 1e-3, NULL, &S_ret), PROFK_ERR_ARGUMENT);
        if (k == 1)
            assert_int_equal(profk_rank_moments(n, S, 1, &a, &b), PROFK_ERR_ARGUMENT);
        assert_memory_equal(&p, &before, sizeof p);
        assert_true(S_ret == 7 && M == 8 && t == 9 && a == -1.0 && b == -1.0);
    }
}

static void test_other_errors(void **state)
{
    const double bad_budget[] = {0.0, -0.1,        4.9e-13,          0.50000001,
                                 1.0, (double)NAN, (double)INFINITY, -(double)INFINITY};
    profk_params p;
    uint64_t x = 7;
    double a = -1.0, b = -1.0;

    (void)state;
    for (size_t i = 0; i < sizeof bad_budget / sizeof bad_budget[0]; i++) {
        assert_int_equal(profk_params_exact(100, 5, 9, bad_budget[i], 0.1, &p), PROFK_ERR_ARGUMENT);
        assert_int_equal(profk_params_exact(100, 5, 9, 0.1, bad_budget[i], &p), PROFK_ERR_ARGUMENT);
        assert_int_equal(profk_params_fast(100, 5, 9, bad_budget[i], 0.1, &p), PROFK_ERR_ARGUMENT);
        assert_int_equal(profk_params_fast(100, 5, 9, 0.1, bad_budget[i], &p), PROFK_ERR_ARGUMENT);
        assert_int_equal(profk_sample_size(100, 5, bad_budget[i], NULL, &x), PROFK_ERR_ARGUMENT);
        assert_int_equal(profk__buffer_capacity(100, 5, 9, 1, bad_budget[i], &x), PROFK_ERR_ARGUMENT);
    }
    assert_int_equal(profk_sample_size(100, 5, 9e-13, NULL, &x), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_params_exact(100, 5, 9, 0.1, 0.1, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_params_fast(100, 5, 9, 0.1, 0.1, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_sample_size(100, 5, 0.1, NULL, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_failure_probability(100, 5, 9, 1, 5, NULL, &b), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_failure_probability(100, 5, 9, 1, 5, &a, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_rank_moments(100, 9, 1, NULL, &b), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_rank_moments(100, 9, 1, &a, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_expected_recall(100, 5, 9, 1, NULL), PROFK_ERR_ARGUMENT);
    for (uint64_t t = 0; t <= 10; t += 10) {
        assert_int_equal(profk_failure_probability(100, 5, 9, t, 50, &a, &b), PROFK_ERR_ARGUMENT);
        assert_int_equal(profk_rank_moments(100, 9, t, &a, &b), PROFK_ERR_ARGUMENT);
        assert_int_equal(profk_expected_recall(100, 5, 9, t, &a), PROFK_ERR_ARGUMENT);
        assert_int_equal(profk__buffer_capacity(100, 5, 9, t, 0.1, &x), PROFK_ERR_ARGUMENT);
    }
    assert_int_equal(profk_failure_probability(100, 5, 9, 1, 4, &a, &b), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_failure_probability(100, 5, 9, 1, 101, &a, &b), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk__rank_for_recall(100, 5, 9, 0.0, &x), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk__rank_for_recall(100, 5, 9, 1.0000001, &x), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk__rank_for_recall(100, 5, 9, (double)NAN, &x), PROFK_ERR_ARGUMENT);
    assert_true(x == 7 && a == -1.0 && b == -1.0);
    /* The smallest and the largest legal budgets. */
    assert_int_equal(profk_params_exact(100, 5, 9, 1e-12 / 2, 0.5, &p), PROFK_OK);
    assert_int_equal(profk_params_fast(100, 5, 9, 0.5, 1e-12 / 2, &p), PROFK_OK);
    assert_int_equal(profk_sample_size(100, 5, 1e-12, NULL, &x), PROFK_OK);
    assert_int_equal(profk_sample_size(100, 5, 0.5, NULL, &x), PROFK_OK);
}

/* The message of ERR_PARAMS names the smallest S that does: Algorithm 1's S = 7 cannot serve k = 900 of n = 1000. */
static void test_params_message(void **state)
{
    profk_params p;

    (void)state;
    assert_int_equal(profk_params_exact(1000, 900, 7, 5e-4, 5e-4, &p), PROFK_ERR_PARAMS);
    assert_non_null(strstr(profk__message(), "smallest S that does is 69"));
    assert_int_equal(profk_params_exact(1000, 900, 68, 5e-4, 5e-4, &p), PROFK_ERR_PARAMS);
    assert_int_equal(profk_params_exact(1000, 900, 69, 5e-4, 5e-4, &p), PROFK_OK);
    /* Algorithm 1 is clamped there, and its probability tells. */
    assert_int_equal(profk_params_fast(1000, 900, 7, 5e-4, 5e-4, &p), PROFK_OK);
    assert_true(p.t == 7 && p.M == 1000 && p.fail_recall > 0.4 && p.fail_overflow == 0.0);
}

/* The largest input, with every other argument at its ends. */
static void test_extremes(void **state)
{
    const uint64_t sizes[] = {1, 2, 1000, UINT64_C(1) << 24, UINT64_C(1) << 47, N_MAX - 1, N_MAX};
    const double budgets[] = {1e-12 / 2, 1e-3, 0.5};

    (void)state;
    for (size_t i = 0; i < 7; i++)
        for (size_t j = 0; j < 7; j++)
            for (size_t b = 0; b < 3; b++) {
                const uint64_t k = sizes[i], S = sizes[j];
                profk_params p;
                double mean, variance, recall;
                const profk_status st = profk_params_exact(N_MAX, k, S, budgets[b], budgets[b], &p);
                assert_int_equal(st, S < profk__sample_minimum(N_MAX, k, budgets[b]) ? PROFK_ERR_PARAMS : PROFK_OK);
                assert_int_equal(profk_params_fast(N_MAX, k, S, budgets[b], budgets[b], &p), PROFK_OK);
                assert_true(p.t >= 1 && p.t <= S && p.M >= k && p.M <= N_MAX);
                assert_true(p.fail_recall >= 0.0 && p.fail_recall <= 1.0 && p.fail_overflow >= 0.0);
                assert_int_equal(profk_rank_moments(N_MAX, S, p.t, &mean, &variance), PROFK_OK);
                assert_true(mean >= (double)p.t && mean <= 0x1p48 && variance >= 0.0 && variance < 0x1p96);
                assert_int_equal(profk_expected_recall(N_MAX, k, S, p.t, &recall), PROFK_OK);
                assert_true(recall > 0.0 && recall <= 1.0);
            }
}

/* Algorithm 1's Poisson sum ends whatever the budget, and gives the quantile: at n = 2^47 the exact law is close. */
static void test_poisson_loop(void **state)
{
    const uint64_t n = UINT64_C(1) << 47, S = 1 << 14;

    (void)state;
    for (double mu = 0.0; mu < 15.0; mu += 0.37)
        for (double epsilon = 0.5; epsilon > 1e-300; epsilon /= 3.0) {
            const uint64_t k = 1 + (uint64_t)(mu * (double)(n / S)), t = profk__fast_rank(n, k, S, epsilon);
            const struct law law = {n, k - 1, S};
            assert_true(t >= 1 && t <= 100);
            if (epsilon >= 5e-13) {
                assert_true(profk__hypergeometric_upper(law, t) <= epsilon * 1.001);
                assert_true(t == 1 || profk__hypergeometric_upper(law, t - 1) > epsilon * 0.98);
            }
        }
}

static void test_normal_quantile(void **state)
{
    (void)state;
    assert_true(profk__normal_quantile(0.5) == 0.0);
    assert_close(profk__normal_quantile(0.25), 0.67448975019608174320, 1e-15);
    assert_close(profk__normal_quantile(5e-4), 3.2905267314918945085, 1e-15);
    assert_close(profk__normal_quantile(5e-13), 7.1305068481713247, 1e-15);
    assert_close(profk__normal_quantile(0.9), -1.2815515655446004, 1e-15);
    for (double p = 5e-13; p <= 0.5; p *= 1.01)
        assert_close(0.5 * erfc(profk__normal_quantile(p) / sqrt(2.0)), p, 1e-13);
}

/* Lemma 6 and the variance of version 1's Lemma 1, against sums over the law of R. */
static void test_moments(void **state)
{
    static const uint64_t cases[][3] = {{1000, 99, 10}, {1000, 1, 1}, {1000, 1000, 17}, {777, 300, 300}, {1, 1, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint64_t n = cases[i][0], S = cases[i][1], t = cases[i][2];
        double mean = 0.0, square = 0.0, m, v;
        for (uint64_t r = t; r <= n; r++) {
            const double p = profk__hypergeometric_lower((struct law){n, r - 1, S}, t) -
                             profk__hypergeometric_lower((struct law){n, r, S}, t);
            mean += p * (double)r;
            square += p * (double)r * (double)r;
        }
        assert_int_equal(profk_rank_moments(n, S, t, &m, &v), PROFK_OK);
        assert_close(m, mean, 1e-11);
        assert_true(fabs(v - (square - mean * mean)) <= 1e-9 * square);
    }
    double m, v;
    assert_int_equal(profk_rank_moments(1000, 99, 10, &m, &v), PROFK_OK); /* the header's example */
    assert_close(m, 100.1, 1e-14);
    assert_close(v, 10.0 * 90 * 1001 * 901 / (100.0 * 100 * 101), 1e-14);
}

/* The smallest t in 1..S+1 with an expected recall of at least rho, by asking every t. */
static uint64_t first_rank(uint64_t n, uint64_t k, uint64_t S, double rho)
{
    uint64_t t = 1;
    double recall;

    for (; t <= S; t++) {
        assert_int_equal(profk_expected_recall(n, k, S, t, &recall), PROFK_OK);
        if (recall >= rho)
            break;
    }
    return t;
}

/* rho = 1 takes t = k.  A rho just below 1 is decided more finely than profk_expected_recall() can tell. */
static void test_rank_for_recall(void **state)
{
    static const double rhos[] = {1e-9, 0.1, 0.5, 0.75, 0.9, 0.95, 0.99, 0.9999, 1.0 - 1e-9, 1.0};

    (void)state;
    for (int i = 0; i < 300; i++) {
        const uint64_t n = random_size(2, UINT64_C(1) << 40), k = random_size(1, n);
        const uint64_t S = random_size(1, n < 2000 ? n : 2000);
        for (size_t r = 0; r < sizeof rhos / sizeof rhos[0]; r++) {
            uint64_t t = S + 1;
            const profk_status st = profk__rank_for_recall(n, k, S, rhos[r], &t);
            assert_int_equal(st, t > S ? PROFK_ERR_PARAMS : PROFK_OK);
            if (rhos[r] == 1.0)
                assert_int_equal(t, k <= S ? k : S + 1);
            else
                assert_in_range(t, first_rank(n, k, S, rhos[r] - 1e-13 * rhos[r]),
                                first_rank(n, k, S, rhos[r] + 1e-13 * rhos[r]));
        }
    }
    uint64_t t = 0;
    assert_int_equal(profk__rank_for_recall(10, 2, 1, 0.95, &t), PROFK_OK); /* reached exactly */
    assert_int_equal(t, 1);
    assert_int_equal(profk__rank_for_recall(10, 2, 1, 0.96, &t), PROFK_ERR_PARAMS);
    assert_non_null(strstr(profk__message(), "smallest S that does is 2"));
    assert_int_equal(profk__rank_for_recall(N_MAX, 1 << 20, 1 << 24, 0.999, &t), PROFK_OK);
    double recall;
    assert_int_equal(profk_expected_recall(N_MAX, 1 << 20, 1 << 24, t, &recall), PROFK_OK);
    assert_true(recall >= 0.999);
}

/* M for a t of the caller's: Theorem 4's own at t*, more for a larger t. */
static void test_buffer_capacity(void **state)
{
    uint64_t M = 0;

    (void)state;
    assert_int_equal(profk__buffer_capacity(1 << 20, 256, 8192, 9, 5e-4, &M), PROFK_OK);
    assert_int_equal(M, 2835);
    for (uint64_t t = 1, before = 0; t <= 8192; t = t * 3 + 1, before = M) {
        double miss, over;
        assert_int_equal(profk__buffer_capacity(1 << 20, 256, 8192, t, 5e-4, &M), PROFK_OK);
        assert_true(M > before);
        assert_int_equal(profk_failure_probability(1 << 20, 256, 8192, t, M, &miss, &over), PROFK_OK);
        assert_true(over <= 5e-4);
    }
}

/* Version 1 where its assumptions hold, and where its t = 1 rule breaks the promise: misses 0.98 of all calls. */
static void test_version_1(void **state)
{
    const uint64_t n = UINT64_C(1) << 28;
    uint64_t t, M;
    double miss, over;

    (void)state;
    profk__v1_params(n, 1 << 15, 1 << 15, 5e-4, 5e-4, &t, &M);
    assert_int_equal(t, 1);
    assert_int_equal(profk_failure_probability(n, 1 << 15, 1 << 15, t, M, &miss, &over), PROFK_OK);
    assert_true(miss > 0.975 && miss < 0.985);
    profk__v1_params(1 << 20, 1 << 14, 1 << 13, 5e-4, 5e-4, &t, &M); /* 128 + 3.29 sqrt(125), 2^14 + 6.58 sqrt(...) */
    assert_int_equal(t, 165);
    assert_int_equal(M, 25803);
    assert_int_equal(profk__v1_sample_size(1000000000, 100, 1e-3, 1.0, 1, UINT64_C(1) << 40), 36290);
    assert_int_equal(profk__v1_sample_size(1000000000, 1, 1e-3, 1.0, 32768, 131072), 32768);
    assert_int_equal(profk__v1_sample_size(1000, 10, 1e-3, 1.0, 32768, 131072), 1000);
}

static bool at_least(const void *question, uint64_t x)
{
    return x >= *(const uint64_t *)question;
}

static void test_search(void **state)
{
    (void)state;
    for (uint64_t low = 0; low < 5; low++)
        for (uint64_t high = low; high < 20; high++)
            for (uint64_t answer = low; answer <= high; answer++)
                for (uint64_t guess = 0; guess < 22; guess++)
                    assert_int_equal(profk__smallest(low, high, guess, at_least, &answer), answer);
    for (int i = 0; i < 1000; i++) {
        const uint64_t high = random_size(1, UINT64_MAX / 2), answer = random_size(1, high);
        assert_int_equal(profk__smallest(1, high, random_size(1, high), at_least, &answer), answer);
    }
    assert_int_equal(profk__ceil_clamped(-1e300, 3, 9), 3);
    assert_int_equal(profk__ceil_clamped((double)NAN, 3, 9), 3);
    assert_int_equal(profk__ceil_clamped(3.5, 3, 9), 4);
    assert_int_equal(profk__ceil_clamped(1e300, 3, 9), 9);
}

/* The bar: the exact pair under 2 ms at n = 2^31.  And nothing takes a time that grows with S. */
static void test_time(void **state)
{
    static const uint64_t cases[][3] = {/* n, k, S */
                                        {UINT64_C(1) << 31, 32, 16384},
                                        {UINT64_C(1) << 31, 1 << 11, 233638},
                                        {UINT64_C(1) << 31, 1 << 20, 262144},
                                        {UINT64_C(1) << 47, UINT64_C(1) << 46, 1 << 21},
                                        {UINT64_C(1) << 47, UINT64_C(1) << 46, UINT64_C(1) << 46}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double best = 1e9;
        for (int run = 0; run < 7; run++) {
            profk_params p;
            const double start = now_ms();
            assert_int_equal(profk_params_exact(cases[i][0], cases[i][1], cases[i][2], 5e-4, 5e-4, &p), PROFK_OK);
            best = fmin(best, now_ms() - start);
        }
        printf("n = 2^%.0f, k = %" PRIu64 ", S = %" PRIu64 ": %.4f ms\n", log2((double)cases[i][0]), cases[i][1],
               cases[i][2], best);
        assert_true(best < (i < 3 ? 2.0 : 50.0));
    }
}

static void test_status_list(void **state)
{
    static const struct {
        profk_status status;
        int value, exit_status;
        const char *text;
    } list[] = {
#define ROW(name, value, exit_status, text) {PROFK_##name, value, exit_status, text},
        PROFK_STATUS_LIST(ROW)
#undef ROW
    };

    (void)state;
    assert_int_equal(sizeof list / sizeof list[0], 14);
    for (size_t i = 0; i < 14; i++) {
        assert_int_equal(list[i].status, list[i].value);
        assert_string_equal(profk_status_string(list[i].status), list[i].text);
    }
    assert_int_equal(PROFK_OK, 0);
    assert_int_equal(PROFK_ERR_PARAMS, 12);
    assert_int_equal(PROFK_ERR_INTERNAL, 99);
    assert_string_equal(profk_status_string(PROFK_ERR_PARAMS),
                        "no threshold rank meets the recall budget at this sample size");
}

/* The price of a call with sample size S, by the exact rank. */
static double price_of(uint64_t n, uint64_t k, uint64_t S, double epsilon, double slot, double candidate)
{
    profk_params params;

    assert_int_equal(profk_params_exact(n, k, S, epsilon / 2, epsilon / 2, &params), PROFK_OK);
    return slot * (double)S + candidate * (double)(n + 1) * (double)params.t / (double)(S + 1);
}

/* No sample size on a fine grid costs less by more than a quarter and a rank, which the fast formula may be off by, and
 * the one chosen keeps the budget. */
static void test_sample_by_price(void **state)
{
    static const double slots[] = {1, 16, 400};
    const double candidate = 30;

    (void)state;
    for (size_t i = 0; i < 60; i++) {
        const uint64_t n = random_size(256, UINT64_C(1) << 40), k = random_size(1, n / 8);
        const double epsilon = exp2(-1 - 25 * random_unit()), slot = slots[i % 3];
        const uint64_t S = profk__sample_by_price(n, k, epsilon, slot, candidate);
        const double price = price_of(n, k, S, epsilon, slot, candidate);
        const double rank = candidate * (double)(n + 1) / (double)(S + 1);

        assert_true(S >= profk__sample_minimum(n, k, epsilon / 2) && S <= n);
        for (double other = 64; other < (double)n / 2 && other < (1 << 22); other *= 1.03)
            if (other >= (double)profk__sample_minimum(n, k, epsilon / 2))
                if (price > rank + 1.25 * price_of(n, k, (uint64_t)other, epsilon, slot, candidate))
                    fail_msg("n %" PRIu64 ", k %" PRIu64 ", epsilon %g, slot %g: S %" PRIu64 " costs %g, %" PRIu64
                             " costs %g", n, k, epsilon, slot, S, price, (uint64_t)other,
                             price_of(n, k, (uint64_t)other, epsilon, slot, candidate));
    }
}

/* Pr(X >= misses) for a binomial law, term by term. */
static double binomial_upper(uint64_t trials, uint64_t misses, double p)
{
    const double n = (double)trials;
    double sum = 0, term = 1;

    for (uint64_t j = misses; j <= trials && term > sum * 1e-9; j++) {
        const double x = (double)j;
        sum += term = exp(lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) + x * log(p) + (n - x) * log1p(-p));
    }
    return sum;
}

/* The first number of misses that chance does not explain is the binomial law's. */
static void test_misses_exceed(void **state)
{
    static const double budgets[] = {0.25, 0.05, 5e-4, 1e-6, 5e-13};
    static const uint64_t trials[] = {1, 2, 6, 20, 100, 1000, 1000000, 100000000};

    (void)state;
    assert_true(profk__misses_exceed(6, 3, 5e-4) && !profk__misses_exceed(4, 2, 5e-4)); /* excess.c */
    assert_true(profk__misses_exceed(1, 1, 5e-13) && !profk__misses_exceed(1, 1, 5e-4));
    assert_true(profk__misses_exceed(UINT64_MAX, UINT64_C(1) << 47, 5e-4));
    for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++)
        for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
            const double mean = budgets[b] * (double)trials[i], spread = sqrt(mean) + 5;
            assert_false(profk__misses_exceed(trials[i], 0, budgets[b]));
            for (uint64_t misses = mean > 2 * spread ? (uint64_t)(mean + 3 * spread) : 1;
                 misses <= trials[i] && (double)misses < mean + 8 * spread; misses++) {
                const double tail = binomial_upper(trials[i], misses, budgets[b]);
                if (fabs(tail - 1e-6) > 1e-3 * 1e-6) /* lgamma's digits */
                    assert_int_equal(profk__misses_exceed(trials[i], misses, budgets[b]), tail < 1e-6);
                if (mean > 1e6)
                    misses += (uint64_t)(spread / 16);
            }
        }
}

/* The rank found keeps both sides, and no smaller one does the first. */
static void test_higher_rank(void **state)
{
    double recall, overflow;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        const uint64_t n = random_size(2, UINT64_C(1) << 30), k = random_size(1, n);
        const uint64_t S = random_size(1, n < 99999 ? n : 99999);
        const uint64_t t = random_size(1, S), M_max = random_size(k, n);
        const double eps_recall = random_budget(), eps_overflow = random_budget();
        const uint64_t r = profk__higher_rank(n, k, S, t, eps_recall, M_max, eps_overflow);

        assert_true(r >= t && r <= S);
        assert_int_equal(profk_failure_probability(n, k, S, r, M_max, &recall, &overflow), PROFK_OK);
        assert_true(r == t || overflow <= eps_overflow * (1 + 1e-9));
        if (r < S && (r == t || recall > eps_recall * (1 + 1e-9))) { /* the buffer was in the way */
            assert_int_equal(profk_failure_probability(n, k, S, r + 1, M_max, &recall, &overflow), PROFK_OK);
            assert_true(overflow > eps_overflow * (1 - 1e-9));
        } else if (r > t + 1) {
            assert_int_equal(profk_failure_probability(n, k, S, r - 1, M_max, &recall, &overflow), PROFK_OK);
            assert_true(recall > eps_recall * (1 - 1e-9));
        }
    }
    assert_int_equal(profk__higher_rank(1 << 20, 256, 8192, 8, 5e-4, 1 << 20, 5e-4), 9); /* exact.c */
    assert_int_equal(profk__higher_rank(1 << 20, 256, 8192, 8, 5e-4, 2835, 5e-4), 9);
    assert_int_equal(profk__higher_rank(1 << 20, 256, 8192, 8, 5e-4, 2834, 5e-4), 8);
    assert_int_equal(profk__higher_rank(1000, 10, 1000, 10, 0.0, 1000, 0.1), 11); /* nothing to win, but no harm */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_3),
        cmocka_unit_test(test_60_digits),
        cmocka_unit_test(test_every_small_input),
        cmocka_unit_test(test_optimality),
        cmocka_unit_test(test_sample_size_and_fast_ranges),
        cmocka_unit_test(test_sample_size_rule),
        cmocka_unit_test(test_sample_by_price),
        cmocka_unit_test(test_cost_struct),
        cmocka_unit_test(test_shape_errors),
        cmocka_unit_test(test_other_errors),
        cmocka_unit_test(test_params_message),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_poisson_loop),
        cmocka_unit_test(test_normal_quantile),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_rank_for_recall),
        cmocka_unit_test(test_buffer_capacity),
        cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_misses_exceed),
        cmocka_unit_test(test_higher_rank),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_status_list),
    };

    random_open();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
