/* arguments.c: range checks that the public functions share.  Messages print integers only, so no locale shows. */
#include <inttypes.h>

#include "base/error.h"
#include "params/params.h"

profk_status profk__check_size(uint64_t n)
{
    if (n == 0 || n >= PROFK__N_LIMIT)
        return profk__fail(PROFK_ERR_ARGUMENT, "n = %" PRIu64 " is not in 1..2^48-1", n);
    return PROFK_OK;
}

profk_status profk__check_selection(uint64_t n, uint64_t k)
{
    if (k == 0 || k > n)
        return profk__fail(PROFK_ERR_ARGUMENT, "k = %" PRIu64 " is not in 1..n = %" PRIu64, k, n);
    return PROFK_OK;
}

profk_status profk__check_sample(uint64_t n, uint64_t S)
{
    if (S == 0 || S > n)
        return profk__fail(PROFK_ERR_ARGUMENT, "the sample size S = %" PRIu64 " is not in 1..n = %" PRIu64, S, n);
    return PROFK_OK;
}

profk_status profk__check_rank(uint64_t S, uint64_t t)
{
    if (t == 0 || t > S)
        return profk__fail(PROFK_ERR_ARGUMENT, "the threshold rank t = %" PRIu64 " is not in 1..S = %" PRIu64, t, S);
    return PROFK_OK;
}

profk_status profk__check_budget(double epsilon, double smallest)
{
    if (epsilon >= smallest && epsilon <= PROFK__EPSILON_MAX) /* false for a NaN */
        return PROFK_OK;
    return profk__fail(PROFK_ERR_ARGUMENT, "the failure budget is not in 1e-12..0.5 (one way to fail: 5e-13..0.5)");
}
