/*
 * fast.c: Algorithm 1 of the paper, version 2: t and M from closed forms, clamped to their legal ranges.
 *
 * Example: n = 2^20, k = 256, S = 8192, both budgets 5e-4, z = 3.29.  mu = 255 * 8192 / 2^20 = 1.99 expected marked
 * samples: Poisson; Pr(X <= 7) = 0.9989 and Pr(X <= 8) = 0.99976, so t = 9.  h = 1/81, (1 - h + z sqrt(h))^3 = 2.478,
 * and M = ceil(127.98 * 9 * 2.478) = 2855 (2835 is the smallest that keeps the budget).
 */
#include <float.h>
#include <math.h>

#include "base/error.h"
#include "params/params.h"

/* j* of equation 11: the smallest j with Pr(Poisson(mu) <= j) >= 1 - epsilon.  mu < 15 */
static uint64_t poisson_quantile(double mu, double epsilon)
{
    double term = exp(-mu), sum = term;
    uint64_t j = 0;

    /* The second condition ends the loop should rounding keep the sum just below 1 - epsilon for good. */
    while (sum < 1.0 - epsilon && ((double)j <= mu || term > DBL_EPSILON / 8)) {
        j++;
        term *= mu / (double)j;
        sum += term;
    }
    return j;
}

uint64_t profk__fast_rank(uint64_t n, uint64_t k, uint64_t S, double eps_recall)
{
    const double share = (double)(k - 1) / (double)n, mu = share * (double)S;
    double z, variance;

    if (mu < 15.0)
        return profk__ceil_clamped((double)(1 + poisson_quantile(mu, eps_recall)), 1, S);
    z = profk__normal_quantile(eps_recall);
    variance = mu * (1.0 - share) * ((double)(n - S) / (double)(n - 1)); /* mu >= 15 takes n > 15 */
    return profk__ceil_clamped(ceil(mu + z * sqrt(variance) + (z * z - 1.0) / 6.0) + 1.0, 1, S);
}

uint64_t profk__fast_capacity(uint64_t n, uint64_t k, uint64_t S, uint64_t t, double eps_overflow)
{
    const double h = 1.0 / (9.0 * (double)t), z = profk__normal_quantile(eps_overflow);
    const double root = 1.0 - h + z * sqrt(h);

    return profk__ceil_clamped((double)(n + 1) / (double)(S + 1) * (double)t * (root * root * root), k, n);
}

profk_status profk_params_fast(uint64_t n, uint64_t k, uint64_t S, double eps_recall, double eps_overflow,
                               profk_params *ret)
{
    profk_status st = PROFK_OK;
    profk_params p = {.S = S};

    if (ret == NULL)
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_params_fast: the result pointer is NULL");
    TRY(profk__check_size(n));
    TRY(profk__check_selection(n, k));
    TRY(profk__check_sample(n, S));
    TRY(profk__check_budget(eps_recall, PROFK__EPSILON_MIN / 2));
    TRY(profk__check_budget(eps_overflow, PROFK__EPSILON_MIN / 2));
    p.t = profk__fast_rank(n, k, S, eps_recall);
    p.M = profk__fast_capacity(n, k, S, p.t, eps_overflow);
    TRY(profk_failure_probability(n, k, S, p.t, p.M, &p.fail_recall, &p.fail_overflow));
    *ret = p;
done:
    return st;
}
