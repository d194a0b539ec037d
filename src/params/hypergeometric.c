/*
 * hypergeometric.c: Pr(X = j) and Pr(X >= t) for n up to 2^48, to about 13 digits.
 *
 * The point probability is Loader's saddle-point form.  With the 2 x 2 table of a draw, its cells x and what they are
 * expected to hold, E = row * column / n,
 *
 *                     drawn        not drawn                 Pr(X = j) = sqrt(scale) * exp(stirling - deviance)
 *         marked        j            K - j        | K
 *         unmarked    S - j      n - K - S + j    | n - K    deviance = sum over the cells of x log(x/E) - (x - E)
 *                     S            n - S            n
 *
 * All four cells are off by the same d = j - KS/n, up to sign.  d is computed from the integers jn - KS, exactly;
 * then every part of the deviance is positive and accurate, and nothing cancels.  A difference of lgamma() values
 * would lose as many digits as lgamma(n) has, 16 at n = 2^48.
 *
 * A tail is summed from its near end with the ratio of neighbours until the terms no longer count.  Where the law is
 * wide (variance above WIDE) the sum is replaced by an integral with the first two Euler-Maclaurin terms, which takes
 * the same 80 evaluations however wide it is.  A tail beyond the mean is 1 minus the other tail: it is large, so
 * nothing is lost.
 */
#include "params/hypergeometric.h"

#include <math.h>
#include <stddef.h>

#define TWO_PI 6.283185307179586477

/* Sums of up to 7 * sqrt(WIDE) terms are summed as they are. */
static const double WIDE = 1048576.0;

/* high * 2^64 + low */
struct wide_uint {
    uint64_t high, low;
};

static struct wide_uint multiply(uint64_t a, uint64_t b)
{
    const uint64_t mask = UINT64_C(0xFFFFFFFF);
    const uint64_t low = (a & mask) * (b & mask);
    const uint64_t middle = (a >> 32) * (b & mask) + (low >> 32);
    const uint64_t middle2 = (a & mask) * (b >> 32) + (middle & mask);

    return (struct wide_uint){(a >> 32) * (b >> 32) + (middle >> 32) + (middle2 >> 32),
                              (middle2 << 32) | (low & mask)};
}

/* a - b as a double, with one rounding of the true difference for each half of it. */
static double difference(struct wide_uint a, struct wide_uint b)
{
    const bool negative = a.high < b.high || (a.high == b.high && a.low < b.low);
    const struct wide_uint big = negative ? b : a, small = negative ? a : b;
    const uint64_t high = big.high - small.high - (big.low < small.low);
    const double size = (double)high * 18446744073709551616.0 + (double)(big.low - small.low);

    return negative ? -size : size;
}

/* j - E[X] */
static double deviation(struct law law, uint64_t j)
{
    return difference(multiply(j, law.n), multiply(law.K, law.S)) / (double)law.n;
}

/* log(x!) - log(sqrt(2 pi x) (x/e)^x) for integers and any x >= 16; 0 at x = 0, which has no square root (below). */
static double stirling_error(double x)
{
    static const double series[6] = {1.0 / 12,    -1.0 / 360, 1.0 / 1260,
                                     -1.0 / 1680, 1.0 / 1188, -691.0 / 360360}; /* of 1/x, 1/x^3, ... */
    static const double table[16] = {
        0.0,
        0.081061466795327258219670,
        0.041340695955409294093822,
        0.027677925684998339148789,
        0.020790672103765093111523,
        0.016644691189821192163194,
        0.013876128823070747998746,
        0.011896709945891770095056,
        0.010411265261972096497478,
        0.0092554621827127329177287,
        0.0083305634333628712564693,
        0.0075736754879518407949720,
        0.0069428401072095298656642,
        0.0064089941880042070684396,
        0.0059513701127588477356245,
        0.0055547335519628013710386,
    };
    double sum = 0.0;

    if (x < 15.5)
        return table[(int)x];
    for (size_t i = 6; i-- > 0;)
        sum = sum / (x * x) + series[i];
    return sum / x;
}

/* x log(x/expected) - d, where d = x - expected is known better than that difference. */
static double deviance(double x, double expected, double d)
{
    if (fabs(d) <= 0.25 * (x + expected)) {
        /* log((1+v)/(1-v)) = 2 (v + v^3/3 + ...), v = d/(x+expected): no cancellation for small d. */
        const double v = d / (x + expected);
        double sum = d * v, power = 2.0 * x * v;

        for (int i = 3;; i += 2) {
            power *= v * v;
            const double next = sum + power / i;
            if (next == sum)
                return sum;
            sum = next;
        }
    }
    return x > 0.0 ? x * log(x / expected) - d : expected;
}

/* What x! has before (x/e)^x exp(stirling_error), squared. */
static double root_part(double x)
{
    return x > 0.0 ? TWO_PI * x : 1.0;
}

/* Pr(X = j), continued smoothly to j + y.  No margin is 0, no cell is negative, nor below 16 unless y is 0. */
static double density(struct law law, uint64_t j, double y)
{
    const double n = (double)law.n, d = deviation(law, j) + y;
    const double row[2] = {(double)law.K, (double)(law.n - law.K)};
    const double column[2] = {(double)law.S, (double)(law.n - law.S)};
    const double cell[4] = {(double)j + y, (double)(law.K - j) - y, (double)(law.S - j) - y,
                            (double)(law.n - law.K - (law.S - j)) + y};
    double exponent = -stirling_error(n), scale = 1.0 / root_part(n);

    for (size_t i = 0; i < 4; i++) {
        const double expected = row[i / 2] * column[i % 2] / n;
        const double margin = i < 2 ? row[i] : column[i - 2];

        exponent += stirling_error(margin) - stirling_error(cell[i]);
        exponent -= deviance(cell[i], expected, i == 0 || i == 3 ? d : -d);
        scale *= root_part(margin) / root_part(cell[i]);
    }
    return sqrt(scale) * exp(exponent);
}

static uint64_t support_low(struct law law)
{
    return law.K > law.n - law.S ? law.K - (law.n - law.S) : 0;
}

static uint64_t support_high(struct law law)
{
    return law.K < law.S ? law.K : law.S;
}

double profk__hypergeometric_variance(struct law law)
{
    const double n = (double)law.n, K = (double)law.K, S = (double)law.S;

    return law.n < 2 ? 0.0 : S * (K / n) * ((n - K) / n) * ((n - S) / (n - 1.0));
}

/* Pr(X = t) + Pr(X = t+1) + ...  t is inside the support and not far below the mode. */
static double summed_tail(struct law law, uint64_t t)
{
    const double steps = (double)(support_high(law) - t);
    const double marked = (double)(law.K - t), drawn = (double)(law.S - t);
    const double next = (double)(t + 1), rest = (double)(law.n - law.K - (law.S - t)) + 1.0;
    double term = density(law, t, 0.0), sum = term;

    if (term < 1e-300)
        return 0.0; /* subnormal numbers are inaccurate, and a hundred times as slow */
    for (double i = 0.0; i < steps && term > sum * 1e-20; i++) {
        term *= (marked - i) * (drawn - i) / ((next + i) * (rest + i));
        sum += term;
    }
    return sum;
}

/* Integral of density(law, t, y) over y from from to to: Gauss-Legendre, 10 points on each of 8 pieces. */
static double integral(struct law law, uint64_t t, double from, double to)
{
    static const double node[5] = {0.14887433898163121088, 0.43339539412924719080, 0.67940956829902440623,
                                   0.86506336668898451073, 0.97390652851717172008};
    static const double weight[5] = {0.29552422471475287017, 0.26926671930999635509, 0.21908636251598204400,
                                     0.14945134915058059315, 0.066671344308688137594};
    const double half = (to - from) / 16.0;
    double sum = 0.0;

    for (int piece = 7; piece >= 0; piece--) { /* small ones first */
        const double centre = from + half * (2 * piece + 1);
        for (size_t i = 0; i < 5; i++)
            sum += weight[i] * (density(law, t, centre - half * node[i]) + density(law, t, centre + half * node[i]));
    }
    return sum * half;
}

/*
 * Like summed_tail(), for a variance above WIDE:
 *
 *     f(t) + f(t+1) + ... = integral of f from t-1/2 on  +  f'/24 - 7 f'''/5760 + ...   at t-1/2
 *
 * The derivatives come from those of log f: slope = log f(t)/f(t-1), and -1/variance.  The term left out is
 * slope^6 / 31000 of the tail, below 1e-17 as slope is about z/1024.  Every cell is larger than the variance,
 * so t - 1/2 is inside the law.
 */
static double integrated_tail(struct law law, uint64_t t)
{
    const double variance = profk__hypergeometric_variance(law), sigma = sqrt(variance);
    const double z = (deviation(law, t) - 0.5) / sigma;
    const double end = z + (sqrt(z * z + 88.0) - z) * 1.02; /* the density falls to e^-44 of its first value */
    double first, slope;

    if (z > 37.2)
        return 0.0; /* below 1e-302 */
    first = density(law, t, -0.5);
    slope =
        log((double)(law.K - t + 1) * (double)(law.S - t + 1) / ((double)t * (double)(law.n - law.K - (law.S - t))));
    return integral(law, t, -0.5, -0.5 + (end - z) * sigma) +
           first * slope * (1.0 / 24 - 7.0 / 5760 * (slope * slope - 3.0 / variance));
}

/* Pr(X >= t) for t above the mean and inside the support. */
static double near_tail(struct law law, uint64_t t)
{
    const double tail = profk__hypergeometric_variance(law) > WIDE ? integrated_tail(law, t) : summed_tail(law, t);

    return tail < 1.0 ? tail : 1.0;
}

/* The same draw, with the other items marked: its X is S - X. */
static struct law unmarked(struct law law)
{
    law.K = law.n - law.K;
    return law;
}

double profk__hypergeometric_pmf(struct law law, uint64_t j)
{
    if (j < support_low(law) || j > support_high(law))
        return 0.0;
    return support_low(law) == support_high(law) ? 1.0 : density(law, j, 0.0);
}

double profk__hypergeometric_upper(struct law law, uint64_t t)
{
    if (t <= support_low(law))
        return 1.0;
    if (t > support_high(law))
        return 0.0;
    if (deviation(law, t) > 0.0)
        return near_tail(law, t);
    return 1.0 - near_tail(unmarked(law), law.S - t + 1);
}

double profk__hypergeometric_lower(struct law law, uint64_t t)
{
    return t > law.S ? 1.0 : profk__hypergeometric_upper(unmarked(law), law.S - t + 1);
}

bool profk__upper_keeps(struct law law, uint64_t t, double budget)
{
    const double tail = profk__hypergeometric_upper(law, t);

    /* Wide laws need no second look: with S above 2^20 one step changes a tail by 1e-9 of it or more. */
    if (fabs(tail - budget) > 1e-11 * budget || profk__hypergeometric_variance(law) > WIDE)
        return tail <= budget;
    return profk__upper_keeps_precisely(law, t, budget);
}

bool profk__lower_keeps(struct law law, uint64_t t, double budget)
{
    return t > law.S ? budget >= 1.0 : profk__upper_keeps(unmarked(law), law.S - t + 1, budget);
}
