/*
 * hypergeometric.h: tails of the hypergeometric law, accurate where they are small.
 *
 * Every probability of this library is one upper tail: lower tails are upper tails of the unmarked items.
 */
#ifndef PROFK_PARAMS_HYPERGEOMETRIC_H
#define PROFK_PARAMS_HYPERGEOMETRIC_H

#include <stdbool.h>
#include <stdint.h>

/* S of n items are drawn without replacement, K of the n are marked: X is the number of marked ones drawn. */
struct law {
    uint64_t n; /* 1 .. 2^48 */
    uint64_t K; /* 0 .. n */
    uint64_t S; /* 0 .. n */
};

/* Pr(X = j), for any j; 0 outside the support. */
double profk__hypergeometric_pmf(struct law law, uint64_t j);

/* Pr(X >= t).  Relative error below 1e-12 down to about 1e-300, then 0. */
double profk__hypergeometric_upper(struct law law, uint64_t t);

/* Pr(X < t), likewise. */
double profk__hypergeometric_lower(struct law law, uint64_t t);

/* S K/n (n-K)/n (n-S)/(n-1). */
double profk__hypergeometric_variance(struct law law);

/*
 * Pr(X >= t) <= budget, and Pr(X < t) <= budget.  Decided by the functions above unless the two sides agree to
 * 11 digits; then summed with 30 digits (tiebreak.c), and equality counts as kept.
 */
bool profk__upper_keeps(struct law law, uint64_t t, double budget);
bool profk__lower_keeps(struct law law, uint64_t t, double budget);

/* The same question answered with 30 digits at once: time grows with the standard deviation.  min S, K, t > 0. */
bool profk__upper_keeps_precisely(struct law law, uint64_t t, double budget);

#endif
