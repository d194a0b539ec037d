/*
 * params.h: what the rest of the library may ask of the parameters beyond profk_params.h, and what the files here
 * share.
 *
 * Pure arithmetic: the C library and src/base/error.h only.
 */
#ifndef PROFK_PARAMS_PARAMS_H
#define PROFK_PARAMS_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "profk_params.h"

/* Sizes stay below this, so that they and their sums are exact as doubles. */
#define PROFK__N_LIMIT (UINT64_C(1) << 48)

/* Budgets of a whole call lie in EPSILON_MIN..EPSILON_MAX; those of one way to fail may be half as small. */
#define PROFK__EPSILON_MIN 1e-12
#define PROFK__EPSILON_MAX 0.5

/*
 * For the plan.  Sizes and budgets must be in range (1 <= k <= n < 2^48, 1 <= t <= S <= n, budgets 5e-13..0.5): the
 * two functions with a status check them like the public ones, profk__sample_minimum() asserts them.
 */

/* The smallest S with Pr(X_{k-1} = S) <= budget, that is, for which some threshold rank keeps a recall budget. */
uint64_t profk__sample_minimum(uint64_t n, uint64_t k, double budget);

/*
 * The sample size that costs least where a slot of the sample has the price `slot` and an element that reaches the
 * threshold the price `candidate`, both above 0 and in the same unit; 1 <= k <= n and epsilon 1e-12..0.5, not checked.
 * Costs at most a quarter more than the best (t goes in steps); some threshold rank keeps the budget epsilon / 2 at it.
 */
uint64_t profk__sample_by_price(uint64_t n, uint64_t k, double epsilon, double slot, double candidate);

/*
 * The smallest t with E[min(R, k)] >= rho k, 0 < rho <= 1.  PROFK_ERR_PARAMS if even t = S has less; the message
 * names the smallest S that does.  Equality counts, to about 13 digits of the share that may be missed.
 */
profk_status profk__rank_for_recall(uint64_t n, uint64_t k, uint64_t S, double rho, uint64_t *t_ret);

/* The smallest M in k..n with Pr(R > M) <= eps_overflow, for any t: Theorem 4 (ii). */
profk_status profk__buffer_capacity(uint64_t n, uint64_t k, uint64_t S, uint64_t t, double eps_overflow,
                                    uint64_t *M_ret);

/* Have `misses` of `attempts` attempts, each of which misses with probability `budget` at most, a chance of less than
 * one in a million?  budget 5e-13..1. */
bool profk__misses_exceed(uint64_t attempts, uint64_t misses, double budget);

/*
 * The smallest rank above t with Pr(R < k) <= eps_recall (S where none has), or the largest below it that keeps
 * Pr(R > M_max) <= eps_overflow; t itself where t + 1 does not keep that.  Arguments in range, not checked; any
 * eps_recall >= 0.
 */
uint64_t profk__higher_rank(uint64_t n, uint64_t k, uint64_t S, uint64_t t, double eps_recall, uint64_t M_max,
                            double eps_overflow);

/* Shared by the files of this folder. */

/* PROFK_OK, or PROFK_ERR_ARGUMENT with a message. */
profk_status profk__check_size(uint64_t n);
profk_status profk__check_selection(uint64_t n, uint64_t k);
profk_status profk__check_sample(uint64_t n, uint64_t S);
profk_status profk__check_rank(uint64_t S, uint64_t t);
profk_status profk__check_budget(double epsilon, double smallest);

/* Is x large enough?  Once true it must stay true for larger x. */
typedef bool (*profk__holds_fn)(const void *question, uint64_t x);

/* The smallest x in low..high for which holds(question, x); high holds unasked.  Cheap if guess is close. */
uint64_t profk__smallest(uint64_t low, uint64_t high, uint64_t guess, profk__holds_fn holds, const void *question);

/* x rounded up to an integer in low..high; low for a NaN. */
uint64_t profk__ceil_clamped(double x, uint64_t low, uint64_t high);

/* z with Pr(Z > z) = upper_tail for a standard normal Z; 0 < upper_tail < 1. */
double profk__normal_quantile(double upper_tail);

/* Algorithm 1: lines 5 to 14 for t, clamped to 1..S; line 15 for M, clamped to k..n. */
uint64_t profk__fast_rank(uint64_t n, uint64_t k, uint64_t S, double eps_recall);
uint64_t profk__fast_capacity(uint64_t n, uint64_t k, uint64_t S, uint64_t t, double eps_overflow);

/*
 * Version 1's closed forms, for comparison only: they rest on a normal approximation and choose no plan.
 * Equation 6 and line 8 of its Algorithm 1 for t, Corollary 4 for M, Theorem 5 for S (cost_ratio = tau_B / tau_A).
 */
void profk__v1_params(uint64_t n, uint64_t k, uint64_t S, double eps_recall, double eps_overflow, uint64_t *t_ret,
                      uint64_t *M_ret);
uint64_t profk__v1_sample_size(uint64_t n, uint64_t k, double epsilon, double cost_ratio, uint64_t S_min,
                               uint64_t S_max);

#endif
