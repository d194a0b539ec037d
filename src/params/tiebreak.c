/*
 * tiebreak.c: compares a tail of the hypergeometric law with a budget in double-double arithmetic, about 30 digits.
 *
 * For a small sample one step in M hardly changes Pr(R > M): with S = 1 by 1/n, which is 4e-15 at n = 2^48.  The
 * comparison then needs more digits than a double has, though rarely; hypergeometric.c asks only when its own digits
 * do not decide.
 *
 * No logarithm and no factorial is needed.  With the weight of one value of X near its mean set to 1, the ratios of
 * neighbours give all others, and
 *
 *     Pr(X >= t) <= budget    is    tail <= budget * (tail + rest)
 *
 * for the sums of the weights from t on and below t.  Both sums run outwards from the anchor until the weights no
 * longer count, some 24 standard deviations in all.
 */
#include "params/hypergeometric.h"

#include <assert.h>
#include <math.h>

/* The unevaluated sum high + low, |low| at most half a unit in the last place of high. */
struct pair {
    double high, low;
};

/* a + b where |a| >= |b|.  Statement by statement, so that no compiler contracts a product into a sum here. */
static struct pair fast_sum(double a, double b)
{
    const double high = a + b;
    const double part = high - a;

    return (struct pair){high, b - part};
}

static struct pair product(double a, double b)
{
    const double high = a * b;

    return (struct pair){high, fma(a, b, -high)};
}

static struct pair add(struct pair a, struct pair b)
{
    const double high = a.high + b.high;
    const double part = high - a.high;
    const double rest_a = high - part;
    const double error = (a.high - rest_a) + (b.high - part);
    const double low = a.low + b.low;

    return fast_sum(high, error + low);
}

static struct pair multiply(struct pair a, struct pair b)
{
    const struct pair p = product(a.high, b.high);
    const double cross = fma(a.high, b.low, a.low * b.high);

    return fast_sum(p.high, p.low + cross);
}

static struct pair divide(struct pair a, struct pair b)
{
    const double quotient = a.high / b.high;
    const struct pair back = multiply(b, (struct pair){quotient, 0.0});
    const double left = a.high - back.high; /* exact: the two are close */
    const double error = (left - back.low) + a.low;

    return fast_sum(quotient, error / b.high);
}

/* Pr(X = j+1) / Pr(X = j) */
static struct pair ratio_up(struct law law, uint64_t j)
{
    return divide(product((double)(law.K - j), (double)(law.S - j)),
                  product((double)(j + 1), (double)(law.n - law.K - (law.S - j) + 1)));
}

/* Pr(X = j-1) / Pr(X = j) */
static struct pair ratio_down(struct law law, uint64_t j)
{
    return divide(product((double)j, (double)(law.n - law.K - (law.S - j))),
                  product((double)(law.K - j + 1), (double)(law.S - j + 1)));
}

bool profk__upper_keeps_precisely(struct law law, uint64_t t, double budget)
{
    const uint64_t low = law.K > law.n - law.S ? law.K - (law.n - law.S) : 0;
    const uint64_t high = law.K < law.S ? law.K : law.S;
    const double mean = (double)law.K / (double)law.n * (double)law.S;
    const uint64_t near = (uint64_t)mean, anchor = near < low ? low : near > high ? high : near;
    const struct pair one = {1.0, 0.0};
    struct pair sum[2] = {{0.0, 0.0}, {0.0, 0.0}}; /* below t, from t on */
    struct pair term = one, allowed, excess;

    assert(t > low && t <= high);
    sum[anchor >= t] = one;
    for (uint64_t j = anchor; j < high && (j < t || term.high > 1e-34 * sum[1].high); j++) {
        term = multiply(term, ratio_up(law, j));
        sum[j + 1 >= t] = add(sum[j + 1 >= t], term);
    }
    term = one;
    for (uint64_t j = anchor; j > low && (j >= t || term.high > 1e-34 * sum[0].high); j--) {
        term = multiply(term, ratio_down(law, j));
        sum[j - 1 >= t] = add(sum[j - 1 >= t], term);
    }
    allowed = multiply(add(sum[0], sum[1]), (struct pair){budget, 0.0});
    excess = add(sum[1], (struct pair){-allowed.high, -allowed.low});
    return excess.high <= 1e-27 * allowed.high; /* equality, up to the rounding of the sums */
}
