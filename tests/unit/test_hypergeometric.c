/* test_hypergeometric.c: the law against exact counting, against independent sums, and against its own identities. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "params/hypergeometric.h"
#include "support/numbers.h"

static struct law random_law(uint64_t n_low, uint64_t n_high)
{
    const uint64_t n = random_size(n_low, n_high);
    const uint64_t K = random_size(1, n), S = random_size(1, n);

    return (struct law){n, random_bits() % 4 == 0 ? n - K : K, random_bits() % 4 == 0 ? n - S : S};
}

static uint64_t choose(uint64_t n, uint64_t k)
{
    uint64_t value = 1;

    for (uint64_t i = 0; i < k; i++)
        value = value * (n - i) / (i + 1);
    return k > n ? 0 : value;
}

/* Every law with n <= 30 against binomial coefficients. */
static void test_small_laws(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 30; n++)
        for (uint64_t K = 0; K <= n; K++)
            for (uint64_t S = 0; S <= n; S++) {
                const struct law law = {n, K, S};
                uint64_t above = choose(n, S);
                for (uint64_t t = 0; t <= S + 1; t++) {
                    const uint64_t here = t <= S && K + S <= n + t ? choose(K, t) * choose(n - K, S - t) : 0;
                    const double all = (double)choose(n, S);
                    assert_close(profk__hypergeometric_pmf(law, t), (double)here / all, 1e-13);
                    assert_close(profk__hypergeometric_upper(law, t), (double)above / all, 1e-13);
                    assert_close(profk__hypergeometric_lower(law, t), (all - (double)above) / all, 1e-13);
                    above -= here;
                }
            }
}

/*
 * Pr(X < t) from Pr(X = 0) = product of (n-K-i)/(n-i), as a compensated sum of log1p, and the ratios upwards: slow,
 * and independent of the saddle-point form.  n >= K + S
 */
static double lower_by_log1p(struct law law, uint64_t t)
{
    double log_first = 0.0, carry = 0.0, term, sum;

    for (uint64_t i = 0; i < law.S; i++) {
        const double part = log1p(-(double)law.K / (double)(law.n - i)) - carry, next = log_first + part;
        carry = (next - log_first) - part;
        log_first = next;
    }
    sum = term = exp(log_first);
    for (uint64_t j = 0; j + 1 < t; j++) {
        term *= (double)(law.K - j) * (double)(law.S - j);
        term /= (double)(j + 1) * (double)(law.n - law.K - law.S + j + 1);
        sum += term;
    }
    return sum;
}

static void test_log1p_oracle(void **state)
{
    static const struct {
        struct law law;
        uint64_t t;
    } cases[] = {
        {{1048576, 1777, 8192}, 4},
        {{1048576, 27141, 8192}, 167},
        {{16777216, 39777, 36403}, 58},
        {{268435456, 224429, 234231}, 152},
        {{268435456, 2095476, 16384}, 93},
        {{2147483648, 996031, 16384}, 1},
        {{2147483648, 181989, 262144}, 9},
        {{2147483648, 1752499, 262144}, 168},
        {{1000, 200, 300}, 40},
        {{140737488355328, 298518990674, 16384}, 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_close(profk__hypergeometric_lower(cases[i].law, cases[i].t), lower_by_log1p(cases[i].law, cases[i].t),
                     2e-13);
}

/* What must hold of any law: swapping the margins changes nothing, tails differ by point probabilities, ... */
static void test_identities(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++) {
        const struct law law = random_law(2, UINT64_C(1) << 48), swapped = {law.n, law.S, law.K};
        const double mean = (double)law.K / (double)law.n * (double)law.S;
        const double sigma = sqrt(profk__hypergeometric_variance(law));
        const double z = (double)(random_bits() % 1200) / 100.0 - 6.0, at = mean + z * (sigma + 0.1);
        const uint64_t t = at < 1.0 ? 1 : (uint64_t)at;
        const double upper = profk__hypergeometric_upper(law, t), lower = profk__hypergeometric_lower(law, t);
        const double pmf = profk__hypergeometric_pmf(law, t), next = profk__hypergeometric_upper(law, t + 1);

        assert_true(upper >= 0.0 && upper <= 1.0 && next <= upper);
        assert_close(upper + lower, 1.0, 1e-13);
        assert_close(profk__hypergeometric_upper(swapped, t), upper, 1e-12);
        assert_true(fabs(upper - next - pmf) <= 1e-12 * upper);
        if (law.K < law.n)
            assert_true(profk__hypergeometric_upper((struct law){law.n, law.K + 1, law.S}, t) >=
                        upper * (1.0 - 1e-12));
    }
}

/* On both sides of the variance where summing gives way to integrating: against the sum of point probabilities. */
static void test_wide_laws(void **state)
{
    static const struct law laws[] = {
        {UINT64_C(1) << 24, UINT64_C(1) << 23, UINT64_C(1) << 23},          /* 2^20: summed */
        {(UINT64_C(1) << 24) + 4096, UINT64_C(1) << 23, UINT64_C(1) << 23}, /* just above: integrated */
        {UINT64_C(1) << 40, UINT64_C(1) << 24, UINT64_C(3) << 37},
        {UINT64_C(1) << 47, UINT64_C(1) << 46, UINT64_C(1) << 23},
    };

    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof laws[0]; i++)
        for (int z = 0; z <= 8; z += 2) {
            const double sigma = sqrt(profk__hypergeometric_variance(laws[i]));
            const double mean = (double)laws[i].K / (double)laws[i].n * (double)laws[i].S;
            const uint64_t t = (uint64_t)(mean + z * sigma) + 1, end = t + (uint64_t)(9.5 * sigma);
            double sum = 0.0;
            for (uint64_t j = end; j >= t; j--)
                sum += profk__hypergeometric_pmf(laws[i], j);
            assert_close(profk__hypergeometric_upper(laws[i], t), sum, 1e-12);
        }
}

/* The widest law there is, where 2^26 terms would have to be summed: symmetric, so half lies on each side. */
static void test_widest_law(void **state)
{
    const struct law law = {(UINT64_C(1) << 48) - 2, (UINT64_C(1) << 47) - 1, (UINT64_C(1) << 47) - 1};
    const uint64_t middle = (UINT64_C(1) << 46); /* X and S - X have the same law, S is odd */

    (void)state;
    assert_close(profk__hypergeometric_upper(law, middle), 0.5, 1e-12);
    assert_close(profk__hypergeometric_variance(law), 0x1p44, 1e-9);
    /* One step away from the middle is one point probability, 1/sqrt(2 pi variance) there. */
    assert_close(profk__hypergeometric_pmf(law, middle), 0.3989422804014327 * 0x1p-22, 1e-9);
    assert_close(profk__hypergeometric_upper(law, middle + (UINT64_C(5) << 22)), 2.866515718791939e-7, 1e-5);
}

static void test_outside_the_support(void **state)
{
    const uint64_t n = UINT64_C(1) << 48;

    (void)state;
    assert_true(profk__hypergeometric_pmf((struct law){10, 3, 4}, 4) == 0.0);
    assert_true(profk__hypergeometric_pmf((struct law){10, 8, 5}, 2) == 0.0);
    assert_true(profk__hypergeometric_upper((struct law){n, 3, n}, 3) == 1.0);
    assert_true(profk__hypergeometric_upper((struct law){n, 3, n}, 4) == 0.0);
    assert_true(profk__hypergeometric_lower((struct law){n, 0, 5}, 1) == 1.0);
    assert_true(profk__hypergeometric_lower((struct law){n, n, 5}, 5) == 0.0);
    assert_true(profk__hypergeometric_lower((struct law){n, 7, 5}, 6) == 1.0);
    assert_true(profk__hypergeometric_variance((struct law){1, 1, 1}) == 0.0);
    assert_true(profk__hypergeometric_upper((struct law){n, n / 2, n / 2}, n / 2) == 0.0); /* 10^-10^13: 0, no NaN */
    assert_true(profk__hypergeometric_lower((struct law){n, n / 2, n / 2}, 1) == 0.0);
}

/* With 30 digits: agrees with the double wherever that decides, and settles what it cannot. */
static void test_tiebreak(void **state)
{
    const uint64_t n = UINT64_C(1) << 47;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        const struct law law = random_law(2, UINT64_C(1) << 48);
        const uint64_t high = law.K < law.S ? law.K : law.S, low = law.K + law.S > law.n ? law.K + law.S - law.n : 0;
        const double sigma = sqrt(profk__hypergeometric_variance(law));
        const double at = (double)law.K / (double)law.n * (double)law.S + (double)(random_bits() % 7) * sigma;
        const uint64_t t = (uint64_t)at <= low ? low + 1 : (uint64_t)at;
        if (t > high || sigma > 1000.0)
            continue;
        const double tail = profk__hypergeometric_upper(law, t);
        if (tail < 1e-250)
            continue;
        assert_true(profk__upper_keeps_precisely(law, t, tail * (1.0 + 1e-12)));
        assert_false(profk__upper_keeps_precisely(law, t, tail * (1.0 - 1e-12)));
    }
    /* S = 1: Pr(X >= 1) = K/n.  One step is 7e-15. */
    assert_true(profk__upper_keeps((struct law){n, n / 4, 1}, 1, 0.25));
    assert_false(profk__upper_keeps((struct law){n, n / 4 + 1, 1}, 1, 0.25));
    assert_true(profk__lower_keeps((struct law){n, n - n / 4, 1}, 1, 0.25));
    assert_false(profk__lower_keeps((struct law){n, n - n / 4 - 1, 1}, 1, 0.25));
    assert_false(profk__upper_keeps((struct law){10, 3, 1}, 1, 0.3)); /* the double is below 3/10 */
    assert_true(profk__upper_keeps((struct law){10, 1, 1}, 1, 0.1));  /* the double is above 1/10 */
    assert_true(profk__upper_keeps((struct law){8, 3, 1}, 1, 0.375)); /* equal */
    assert_true(profk__lower_keeps((struct law){8, 3, 1}, 2, 1.0));   /* Pr(X < 2) = 1 */
    assert_false(profk__lower_keeps((struct law){8, 3, 1}, 2, 0.5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_laws), cmocka_unit_test(test_log1p_oracle),
        cmocka_unit_test(test_identities), cmocka_unit_test(test_wide_laws),
        cmocka_unit_test(test_widest_law), cmocka_unit_test(test_outside_the_support),
        cmocka_unit_test(test_tiebreak),
    };

    random_open();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
