/*
 * exact.c: Theorem 4.  Both conditions are monotone, so the smallest t and M are found by stepping from Algorithm 1's
 * guess and bisecting; every question sums one small tail.
 *
 * Example: n = 2^20, k = 256, S = 8192, both budgets 5e-4.  Pr(R < 256) = Pr(X_255 >= t) is 2.1e-4 for t = 9 and
 * 1.00e-3 for t = 8, so t* = 9.  Pr(R > M) = Pr(X_M <= 8) is just above 5e-4 at M = 2834 and just below at M = 2835,
 * so M* = 2835.
 */
#include <inttypes.h>

#include "base/error.h"
#include "params/hypergeometric.h"
#include "params/params.h"

/* What stays fixed while t or M is searched. */
struct selection {
    uint64_t n, k, S, t;
    double budget;
};

/* Pr(R < k) <= budget with threshold rank t? */
static bool recall_kept(const void *question, uint64_t t)
{
    const struct selection *q = question;

    return profk__upper_keeps((struct law){q->n, q->k - 1, q->S}, t, q->budget);
}

/* Pr(R > M) <= budget? */
static bool overflow_kept(const void *question, uint64_t M)
{
    const struct selection *q = question;

    return profk__lower_keeps((struct law){q->n, M, q->S}, q->t, q->budget);
}

profk_status profk__buffer_capacity(uint64_t n, uint64_t k, uint64_t S, uint64_t t, double eps_overflow,
                                    uint64_t *M_ret)
{
    const struct selection q = {n, k, S, t, eps_overflow};
    profk_status st = PROFK_OK;

    TRY(profk__check_size(n));
    TRY(profk__check_selection(n, k));
    TRY(profk__check_sample(n, S));
    TRY(profk__check_rank(S, t));
    TRY(profk__check_budget(eps_overflow, PROFK__EPSILON_MIN / 2));
    *M_ret = profk__smallest(k, n, profk__fast_capacity(n, k, S, t, eps_overflow), overflow_kept, &q);
done:
    return st;
}

/* Theorem 4 (i), or PROFK_ERR_PARAMS.  Arguments are in range. */
static profk_status threshold_rank(uint64_t n, uint64_t k, uint64_t S, double eps_recall, uint64_t *t_ret)
{
    const struct selection q = {n, k, S, 0, eps_recall};

    if (!recall_kept(&q, S))
        return profk__fail(PROFK_ERR_PARAMS,
                           "no threshold rank meets the recall budget with a sample of S = %" PRIu64
                           " for n = %" PRIu64 ", k = %" PRIu64 ": the smallest S that does is %" PRIu64,
                           S, n, k, profk__sample_minimum(n, k, eps_recall));
    *t_ret = profk__smallest(1, S, profk__fast_rank(n, k, S, eps_recall), recall_kept, &q);
    return PROFK_OK;
}

profk_status profk_params_exact(uint64_t n, uint64_t k, uint64_t S, double eps_recall, double eps_overflow,
                                profk_params *ret)
{
    profk_status st = PROFK_OK;
    profk_params p = {.S = S};

    if (ret == NULL)
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_params_exact: the result pointer is NULL");
    TRY(profk__check_size(n));
    TRY(profk__check_selection(n, k));
    TRY(profk__check_sample(n, S));
    TRY(profk__check_budget(eps_recall, PROFK__EPSILON_MIN / 2));
    TRY(profk__check_budget(eps_overflow, PROFK__EPSILON_MIN / 2));
    TRY(threshold_rank(n, k, S, eps_recall, &p.t));
    TRY(profk__buffer_capacity(n, k, S, p.t, eps_overflow, &p.M));
    TRY(profk_failure_probability(n, k, S, p.t, p.M, &p.fail_recall, &p.fail_overflow));
    *ret = p;
done:
    return st;
}

profk_status profk_failure_probability(uint64_t n, uint64_t k, uint64_t S, uint64_t t, uint64_t M, double *recall_ret,
                                       double *overflow_ret)
{
    profk_status st = PROFK_OK;

    if (recall_ret == NULL || overflow_ret == NULL)
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_failure_probability: a result pointer is NULL");
    TRY(profk__check_size(n));
    TRY(profk__check_selection(n, k));
    TRY(profk__check_sample(n, S));
    TRY(profk__check_rank(S, t));
    if (M < k || M > n)
        return profk__fail(PROFK_ERR_ARGUMENT,
                           "the buffer capacity M = %" PRIu64 " is not in k..n = %" PRIu64 "..%" PRIu64, M, k, n);
    *recall_ret = profk__hypergeometric_upper((struct law){n, k - 1, S}, t);
    *overflow_ret = profk__hypergeometric_lower((struct law){n, M, S}, t);
done:
    return st;
}
