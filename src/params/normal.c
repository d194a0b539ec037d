/* normal.c: the quantile of the standard normal law. */
#include <assert.h>
#include <math.h>

#include "params/params.h"

/* c[0] x^(count-1) + ... + c[count-1] */
static double polynomial(const double *c, int count, double x)
{
    double value = c[0];

    for (int i = 1; i < count; i++)
        value = value * x + c[i];
    return value;
}

/* Acklam's rational approximation of the lower quantile, p <= 1/2: relative error 1.15e-9. */
static double acklam(double p)
{
    static const double a[6] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[6] = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                                6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
    static const double c[6] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[5] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                3.754408661907416e+00, 1.0};

    if (p < 0.02425) {
        const double q = sqrt(-2.0 * log(p));
        return polynomial(c, 6, q) / polynomial(d, 5, q);
    } else {
        const double q = p - 0.5;
        return q * polynomial(a, 6, q * q) / polynomial(b, 6, q * q);
    }
}

/* One step of Halley's method on erfc brings it to the precision of a double. */
double profk__normal_quantile(double upper_tail)
{
    const double p = upper_tail <= 0.5 ? upper_tail : 1.0 - upper_tail;
    const double x = acklam(p);
    const double error = 0.5 * erfc(-x / 1.41421356237309504880) - p;
    const double u = error * 2.50662827463100050242 * exp(0.5 * x * x);
    const double refined = x - u / (1.0 + 0.5 * x * u);

    assert(upper_tail > 0.0 && upper_tail < 1.0);
    return upper_tail <= 0.5 ? -refined : refined;
}
