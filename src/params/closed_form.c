/*
 * closed_form.c: the closed forms of version 1 of the paper, kept to compare with.  No plan is made from them: they
 * rest on a normal approximation, and the rule t = 1 for few expected samples gives up the guarantee: at n = 2^28,
 * k = 2^15, S = 2^15 with epsilon = 1e-3 it fails with probability 0.98.
 */
#include <math.h>

#include "params/params.h"

void profk__v1_params(uint64_t n, uint64_t k, uint64_t S, double eps_recall, double eps_overflow, uint64_t *t_ret,
                      uint64_t *M_ret)
{
    const double alpha = (double)k / (double)n, drawn = (double)S;
    const double unsampled = (double)(n - S) / (double)n;
    const double z_recall = profk__normal_quantile(eps_recall), z = z_recall + profk__normal_quantile(eps_overflow);
    const double spread = sqrt(drawn * alpha * (1.0 - alpha) * unsampled);
    const double excess = z * sqrt((double)k * ((double)(n - k) / drawn) * unsampled);

    *t_ret = drawn * alpha < -log(eps_recall) ? 1 : profk__ceil_clamped(drawn * alpha + z_recall * spread, 1, S);
    *M_ret = profk__ceil_clamped((double)k + excess, k, n);
}

uint64_t profk__v1_sample_size(uint64_t n, uint64_t k, double epsilon, double cost_ratio, uint64_t S_min,
                               uint64_t S_max)
{
    const double z = 2.0 * profk__normal_quantile(epsilon / 2);
    const double factor = z * cost_ratio * log2((double)k) / 2.0;
    const double S = cbrt(factor * factor) * cbrt((double)k * (double)(n - k));
    const uint64_t chosen = profk__ceil_clamped(floor(S + 0.5), S_min, S_max);

    return chosen < n ? chosen : n;
}
