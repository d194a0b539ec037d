/*
 * sample_size.c: how many positions to sample: lines 1 to 4 of Algorithm 1 and the smallest sample that a budget
 * allows.
 *
 * Example: n = 2^28, k = 2^14, epsilon = 1e-3.  z = 3.2905, 1/r = 0.594 * 14 - 4.29 = 4.026,
 * S_1 = 13.25^(2/3) * (2^42)^(1/3) = 91730, S_2 = sqrt(11.33 * 2^28 * 4.026) = 110643, which lies between
 * S_min = 2^14 and S_max = 2^18: S = 110643.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "params/hypergeometric.h"
#include "params/params.h"

/* Bytes of profk_cost in the first release. */
#define COST_NBYTES_FIRST (offsetof(profk_cost, S_max) + sizeof(uint64_t))

/* Calibrated on the paper's GPU; it prints 0.59 and 4.3, which miss 8 rows of its own Table 3. */
static const double PAPER_SLOPE = 0.594, PAPER_INTERCEPT = -4.29;
static const uint64_t PAPER_S_MIN = UINT64_C(1) << 14, PAPER_S_MAX = UINT64_C(1) << 18;

/* Up to this k, and from k/n = 2^-10 on, the smallest sample is best. */
enum { K_SMALL = 128, RETAINED_SHARE = 1024 };

struct sample_question {
    uint64_t n, k;
    double budget;
};

/* Pr(X_{k-1} = S) <= budget? */
static bool sample_suffices(const void *question, uint64_t S)
{
    const struct sample_question *q = question;

    return profk__upper_keeps((struct law){q->n, q->k - 1, S}, S, q->budget);
}

uint64_t profk__sample_minimum(uint64_t n, uint64_t k, double budget)
{
    const struct sample_question q = {n, k, budget};
    /* Pr(X_{k-1} = S) is at most ((k-1)/n)^S.  A sample of k cannot fall into the top k-1. */
    const double guess = log(budget) / log1p(-(double)(n - k + 1) / (double)n);

    assert(k >= 1 && k <= n && n < PROFK__N_LIMIT && budget > 0.0 && budget <= PROFK__EPSILON_MAX);
    return profk__smallest(1, k, profk__ceil_clamped(guess, 1, k), sample_suffices, &q);
}

/* Checks cost and reads it, filling in defaults. */
static profk_status read_cost(const profk_cost *cost, profk_cost *read)
{
    const unsigned char *byte = (const unsigned char *)cost;

    *read = (profk_cost){sizeof(profk_cost), PAPER_SLOPE, PAPER_INTERCEPT, PAPER_S_MIN, PAPER_S_MAX};
    if (cost == NULL)
        return PROFK_OK;
    if (cost->struct_size < COST_NBYTES_FIRST)
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_cost: struct_size is not set, or below the first release's");
    for (size_t i = sizeof(profk_cost); i < cost->struct_size; i++)
        if (byte[i] != 0)
            return profk__fail(PROFK_ERR_ARGUMENT, "profk_cost: a field is set that this version does not know");
    if (!isfinite(cost->slope) || !isfinite(cost->intercept))
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_cost: slope and intercept must be finite");
    if (cost->S_min > cost->S_max && cost->S_max != 0)
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_cost: S_min = %" PRIu64 " is above S_max = %" PRIu64,
                           cost->S_min, cost->S_max);
    read->slope = cost->slope;
    read->intercept = cost->intercept;
    if (cost->S_min != 0) {
        read->S_min = cost->S_min;
        read->S_max = cost->S_max != 0 ? cost->S_max : cost->S_min > PAPER_S_MAX ? cost->S_min : PAPER_S_MAX;
    } else if (cost->S_max != 0) {
        read->S_max = cost->S_max;
        read->S_min = cost->S_max < PAPER_S_MIN ? cost->S_max : PAPER_S_MIN;
    }
    return PROFK_OK;
}

/* Lines 1 to 4 of Algorithm 1. */
static uint64_t cheapest(uint64_t n, uint64_t k, double epsilon, const profk_cost *cost)
{
    const uint64_t capped = n / 128 < cost->S_min ? n / 128 : cost->S_min, S_min = capped == 0 ? 1 : capped;
    const uint64_t S_max = cost->S_max < n ? cost->S_max : n;
    const double per_r = cost->slope * log2((double)k) + cost->intercept; /* 1/r(k) */
    const double z = profk__normal_quantile(epsilon / 2);
    double S_1, S_2;

    if (k <= K_SMALL || !(per_r > 0.0) || k > n / RETAINED_SHARE)
        return S_min;
    S_1 = cbrt(z * per_r * z * per_r) * cbrt((double)k * (double)n);
    S_2 = sqrt((z * z + 0.5) * (double)n * per_r);
    return profk__ceil_clamped(floor(S_1 > S_2 ? S_1 : S_2), S_min, S_max);
}

profk_status profk_sample_size(uint64_t n, uint64_t k, double epsilon, const profk_cost *cost, uint64_t *S_ret)
{
    profk_status st = PROFK_OK;
    profk_cost read;
    uint64_t S, S_lowest;

    if (S_ret == NULL)
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_sample_size: the result pointer is NULL");
    TRY(profk__check_size(n));
    TRY(profk__check_selection(n, k));
    TRY(profk__check_budget(epsilon, PROFK__EPSILON_MIN));
    TRY(read_cost(cost, &read));
    S = cheapest(n, k, epsilon, &read);
    S_lowest = profk__sample_minimum(n, k, epsilon / 2);
    *S_ret = S < S_lowest ? S_lowest : S;
done:
    return st;
}
