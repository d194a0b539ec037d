/*
 * economy.c: the sample size that costs least on a device whose costs are known.
 *
 * A slot of the sample costs one price (its load and its share of the threshold's selection), an element that reaches
 * the threshold another (it is stored, and refine looks at it).  On average E[R] = (n+1) t / (S+1) elements do, so the
 * call costs slot * S + candidate * (n+1) t(S) / (S+1) beside the pass over the input: a larger sample buys a tighter
 * threshold.  This is the cost of Section 4 with what refine really reads, R candidates, in the place of M slots.
 */
#include "params/params.h"

#include <math.h>

enum { STEPS_PER_DOUBLING = 8 };
static const double S_LEAST = 64, S_MOST = 1 << 22;

uint64_t profk__sample_by_price(uint64_t n, uint64_t k, double epsilon, double slot, double candidate)
{
    const uint64_t lowest = profk__sample_minimum(n, k, epsilon / 2);
    const double most = S_MOST < (double)n / 2 ? S_MOST : (double)n / 2;
    uint64_t best_S = lowest;
    double best = (double)INFINITY;

    for (double size = S_LEAST; size <= most; size *= exp2(1.0 / (double)STEPS_PER_DOUBLING)) {
        const uint64_t S = (uint64_t)size;
        double price;

        if (S < lowest)
            continue;
        price = slot * size + candidate * (double)n * (double)profk__fast_rank(n, k, S, epsilon / 2) / size;
        if (price < best) {
            best = price;
            best_S = S;
        }
    }
    return best_S;
}
