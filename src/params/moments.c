/* moments.c: what R is on average: its mean and variance, and the share of the top k that passes. */
#include <inttypes.h>

#include "base/error.h"
#include "params/hypergeometric.h"
#include "params/params.h"

profk_status profk_rank_moments(uint64_t n, uint64_t S, uint64_t t, double *mean_ret, double *variance_ret)
{
    profk_status st = PROFK_OK;

    if (mean_ret == NULL || variance_ret == NULL)
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_rank_moments: a result pointer is NULL");
    TRY(profk__check_size(n));
    TRY(profk__check_sample(n, S));
    TRY(profk__check_rank(S, t));
    *mean_ret = (double)(n + 1) / (double)(S + 1) * (double)t;
    *variance_ret = *mean_ret * ((double)(S - t + 1) / (double)(S + 1)) * ((double)(n - S) / (double)(S + 2));
done:
    return st;
}

/* E[min(R, k)] / k.  Both parts are positive: nothing cancels. */
static double expected_recall(uint64_t n, uint64_t k, uint64_t S, uint64_t t)
{
    const double mean = (double)(n + 1) / (double)(S + 1) * (double)t;
    const double below = mean * profk__hypergeometric_upper((struct law){n + 1, k + 1, S + 1}, t + 1);
    const double recall = below / (double)k + profk__hypergeometric_lower((struct law){n, k, S}, t);

    return recall < 1.0 ? recall : 1.0;
}

profk_status profk_expected_recall(uint64_t n, uint64_t k, uint64_t S, uint64_t t, double *recall_ret)
{
    profk_status st = PROFK_OK;

    if (recall_ret == NULL)
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_expected_recall: the result pointer is NULL");
    TRY(profk__check_size(n));
    TRY(profk__check_selection(n, k));
    TRY(profk__check_sample(n, S));
    TRY(profk__check_rank(S, t));
    *recall_ret = expected_recall(n, k, S, t);
done:
    return st;
}

struct recall_question {
    uint64_t n, k, S;
    double rho;
};

/*
 * E[min(R, k)] >= rho k?  For rho from 1/2 on the missing shares are compared, so that a rho close to 1 keeps its
 * digits:
 *
 *     1 - E[min(R, k)]/k = Pr(X_k >= t) - t (n+1)/((S+1) k) Pr(Y >= t+1)
 *
 * loses digits against its first part only, which the slack allows for.
 */
static bool recall_reached(const struct recall_question *q, uint64_t S, uint64_t t)
{
    const double mean = (double)(q->n + 1) / (double)(S + 1) * (double)t;
    double miss, below;

    if (q->rho < 0.5)
        return expected_recall(q->n, q->k, S, t) >= q->rho * (1.0 - 1e-13);
    if (q->rho >= 1.0)
        return t >= q->k; /* R >= k for certain: the top k-1 cannot hold t samples */
    miss = profk__hypergeometric_upper((struct law){q->n, q->k, S}, t);
    below = mean / (double)q->k * profk__hypergeometric_upper((struct law){q->n + 1, q->k + 1, S + 1}, t + 1);
    return miss - below <= (1.0 - q->rho) + 1e-13 * miss;
}

static bool rank_reaches(const void *question, uint64_t t)
{
    const struct recall_question *q = question;

    return recall_reached(q, q->S, t);
}

static bool sample_reaches(const void *question, uint64_t S)
{
    return recall_reached(question, S, S);
}

profk_status profk__rank_for_recall(uint64_t n, uint64_t k, uint64_t S, double rho, uint64_t *t_ret)
{
    const struct recall_question q = {n, k, S, rho};
    profk_status st = PROFK_OK;
    double guess;

    TRY(profk__check_size(n));
    TRY(profk__check_selection(n, k));
    TRY(profk__check_sample(n, S));
    if (!(rho > 0.0 && rho <= 1.0))
        return profk__fail(PROFK_ERR_ARGUMENT, "the expected recall is not above 0 and at most 1");
    if (!rank_reaches(&q, S))
        return profk__fail(PROFK_ERR_PARAMS,
                           "no threshold rank reaches the expected recall with a sample of S = %" PRIu64
                           " for n = %" PRIu64 ", k = %" PRIu64 ": the smallest S that does is %" PRIu64,
                           S, n, k, profk__smallest(S, n, S, sample_reaches, &q));
    guess = rho * (double)k * ((double)(S + 1) / (double)(n + 1));
    *t_ret = profk__smallest(1, S, profk__ceil_clamped(guess, 1, S), rank_reaches, &q);
done:
    return st;
}
