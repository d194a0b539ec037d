/*
 * excess.c: have more attempts missed than a budget explains, and what to do about it.
 *
 * Attempts are independent, each misses with at most the budget's probability p, so the misses among a of them are at
 * most binomial.  A binomial law is a hypergeometric one whose population is large: a of 2^48 items are drawn of which
 * p 2^48 are marked.  The two tails differ by a few parts in 2^48 / a of themselves, which no verdict here needs.
 *
 * Example: at p = 5e-4 three misses in six attempts have the chance 20 p^3 = 2.5e-9, far below one in a million; two in
 * four have 6 p^2 = 1.5e-6, not quite.
 */
#include <math.h>

#include "params/hypergeometric.h"
#include "params/params.h"

/* The question is asked after each call that missed, so a plan that keeps its budget is suspected some times in a million
 * plans' lives. */
static const double SUSPICIOUS = 1e-6;

bool profk__misses_exceed(uint64_t attempts, uint64_t misses, double budget)
{
    const uint64_t drawn = attempts < PROFK__N_LIMIT ? attempts : PROFK__N_LIMIT;
    const struct law law = {PROFK__N_LIMIT, (uint64_t)ceil(budget * (double)PROFK__N_LIMIT), drawn};

    return misses > 0 && profk__hypergeometric_upper(law, misses) < SUSPICIOUS;
}

/* What stays fixed while t is searched. */
struct question {
    uint64_t n, k, S, M;
    double budget;
};

static bool recall_kept(const void *question, uint64_t t)
{
    const struct question *q = question;

    return profk__upper_keeps((struct law){q->n, q->k - 1, q->S}, t, q->budget);
}

static bool overflows(const void *question, uint64_t t)
{
    const struct question *q = question;

    return !profk__lower_keeps((struct law){q->n, q->M, q->S}, t, q->budget);
}

uint64_t profk__higher_rank(uint64_t n, uint64_t k, uint64_t S, uint64_t t, double eps_recall, uint64_t M_max,
                            double eps_overflow)
{
    const struct question recall = {n, k, S, 0, fmax(eps_recall, 1e-300)}, overflow = {n, k, S, M_max, eps_overflow};
    uint64_t wanted = t < S ? profk__smallest(t + 1, S, t + 1, recall_kept, &recall) : t;

    return wanted > t ? profk__smallest(t + 1, wanted + 1, wanted, overflows, &overflow) - 1 : t;
}
