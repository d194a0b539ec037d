/*
 * profk_params.h: status codes of the library, and the arithmetic that says how large a sample, which threshold and
 * how large a buffer a top-k selection needs.
 *
 * This header needs nothing but the C library: no OpenCL, no device, no context.  profk.h includes it.
 *
 * The problem.  Find the k largest of n values.  Prof-K draws S of the n positions without replacement, takes the
 * t-th largest sampled value as threshold, and copies everything at or above it into a buffer of M entries in one
 * pass.  R, the rank of the threshold among all n, is the number of entries that pass.  Two things can go wrong:
 *
 *     R < k   recall miss: the threshold is too high and some of the top k do not pass
 *     R > M   overflow:    more entries pass than the buffer holds
 *
 * R depends on the positions drawn and not on the values, so both probabilities are known exactly (the order used
 * breaks ties by position: no two entries are equal).  With X_K the number of sampled positions that fall into the
 * top K, which is hypergeometric (n items, K of them marked, S drawn):
 *
 *     Pr(R < k) = Pr(X_{k-1} >= t)        Proposition 2 of the Prof-K paper, version 2
 *     Pr(R > M) = Pr(X_M <= t-1)          Proposition 3
 *
 * Example.  n = 2^20, k = 256, failure budget 1e-3, half of it for each way to fail:
 *
 *     profk_sample_size(1 << 20, 256, 1e-3, NULL, &S);                      S = 8192
 *     profk_params_exact(1 << 20, 256, S, 0.5e-3, 0.5e-3, &p);              p.t = 9, p.M = 2835
 *                                                                           p.fail_recall + p.fail_overflow = 7.09e-4
 *
 * Sample 8192 positions, let everything at or above the 9th largest of them pass, and a buffer of 2835 entries
 * (0.27 % of the input) holds the 256 largest of any 2^20 values, except with probability 7.09e-4.
 *
 * Common rules.  n, k, S, t, M count elements: 1 <= k <= n < 2^48, 1 <= t <= S <= n, k <= M <= n.  Pointers for
 * results must not be NULL.  Whatever a function returns other than PROFK_OK, it has written nothing through them,
 * and profk_context_message(NULL) of profk.h tells this thread what was wrong.  A NaN is out of every range.
 *
 * Threads: every function here may be called from any thread at any time.  They keep no state, allocate nothing,
 * print nothing and do not look at the locale; the same arguments give the same result.
 */
#ifndef PROFK_PARAMS_H
#define PROFK_PARAMS_H

#include <stddef.h>
#include <stdint.h>

/*
 * PROFK_API marks what leaves the library.  Users of a static library on Windows define PROFK_STATIC; the build of
 * the library itself defines PROFK_BUILDING.  Neither matters elsewhere.
 */
#if defined(_WIN32)
#if defined(PROFK_STATIC)
#define PROFK_API
#elif defined(PROFK_BUILDING)
#define PROFK_API __declspec(dllexport)
#else
#define PROFK_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define PROFK_API __attribute__((visibility("default")))
#else
#define PROFK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Every status: name, number, exit status of the `profk` command, text of profk_status_string().
 * Numbers are pinned: they never change their meaning and are never used again.
 */
#define PROFK_STATUS_LIST(X)                                                                                         \
    X(OK, 0, 0, "done")                                                                                              \
    X(ERR_ARGUMENT, 10, 2, "argument out of range")                                                                  \
    X(ERR_UNSUPPORTED, 11, 2, "not possible for this route, type or device")                                         \
    X(ERR_PARAMS, 12, 2, "no threshold rank meets the recall budget at this sample size")                            \
    X(ERR_NO_DEVICE, 20, 3, "no usable OpenCL device")                                                               \
    X(ERR_NO_COMPILER, 21, 3, "the device has no compiler")                                                          \
    X(ERR_BUILD, 30, 1, "a kernel did not compile")                                                                  \
    X(ERR_HOST_MEMORY, 40, 1, "host memory exhausted")                                                               \
    X(ERR_DEVICE_MEMORY, 41, 1, "device memory exhausted")                                                           \
    X(ERR_OPENCL, 50, 1, "an OpenCL call failed")                                                                    \
    X(ERR_DEVICE_LOST, 51, 1, "device lost")                                                                         \
    X(ERR_IO, 60, 1, "file not readable or writable")                                                                \
    X(ERR_CANCELLED, 70, 130, "stopped by the caller")                                                               \
    X(ERR_INTERNAL, 99, 1, "a bug in profk")

/* What every function that can fail returns: PROFK_OK, which is 0, or one of PROFK_ERR_*. */
typedef enum profk_status {
#define PROFK_ENUMERATOR(name, value, exit_status, text) PROFK_##name = value,
    PROFK_STATUS_LIST(PROFK_ENUMERATOR)
#undef PROFK_ENUMERATOR
} profk_status;

/*
 * profk_status_string() returns the text of a status in PROFK_STATUS_LIST, and "unknown status" for any other number.
 * The text is static, in English, without a full stop; it is never NULL and must not be freed.
 */
PROFK_API const char *profk_status_string(profk_status status);

/* Parameters of one selection, and how often it misses with them. */
typedef struct profk_params {
    uint64_t S;           /* sample size, elements: 1 .. n */
    uint64_t t;           /* threshold rank: the t-th largest of the sample is the threshold, 1 .. S */
    uint64_t M;           /* buffer capacity, elements: k .. n */
    double fail_recall;   /* Pr(R < k), exact for these S and t */
    double fail_overflow; /* Pr(R > M), exact for these S, t and M */
} profk_params;

/*
 * What sampling one element costs against selecting one element from the buffer, as a function of k:
 *
 *     1/r(k) = max(0, slope * log2(k) + intercept)
 *
 * r(k) is the cost of a sampled element divided by that of a buffered one (Proposition 7); 1/r = 0 means that the
 * buffer costs nothing next to the sample, and the sample is then as small as allowed.  The paper's GPU has slope
 * 0.594 and intercept -4.29.  Set struct_size to sizeof(profk_cost).
 */
typedef struct profk_cost {
    size_t struct_size; /* bytes of this struct that the caller knows */
    double slope;       /* per doubling of k; finite */
    double intercept;   /* finite */
    uint64_t S_min;     /* smallest sample, elements; 0 = 2^14, or S_max where that is smaller.  Never above n/128 */
    uint64_t S_max;     /* largest sample, elements; 0 = 2^18, or S_min where that is larger */
} profk_cost;

/*
 * profk_params_exact() finds the smallest threshold rank and the smallest buffer that keep a failure budget
 * (Theorem 4).
 *
 * eps_recall and eps_overflow are what each way to fail may have: 5e-13 (half of the smallest budget, 1e-12) to 0.5.
 * The usual choice is half of the total budget for each.  On success
 *
 *     ret->t  is the smallest t in 1..S with Pr(R < k) <= eps_recall,
 *     ret->M  is the smallest M in k..n with Pr(R > M) <= eps_overflow at that t,
 *
 * ret->S is S, and the fail_ fields hold the probabilities themselves.  No other pair that keeps both budgets has a
 * smaller t or a smaller M (Corollary 5).  A probability that equals its budget keeps it.
 *
 * The law is summed as it is, without a normal or Poisson approximation; the probabilities carry a relative error
 * below 1e-12.  Where a probability lies closer to its budget than that, it is summed again with about 30 digits, so
 * that t and M are the true ones.  (Above a variance of 2^20, which takes S > 2^20, this second sum is left out:
 * there one step in t or M changes the probability by far more than the error.)  A call takes a few microseconds
 * where t is small, and at most some milliseconds for any n, k and S.
 *
 * PROFK_ERR_ARGUMENT  n = 0 or n >= 2^48, k = 0 or k > n, S = 0 or S > n, a budget outside 5e-13..0.5, ret is NULL
 * PROFK_ERR_PARAMS    even t = S misses the recall budget: the whole sample falls into the top k-1 with probability
 *                     above eps_recall.  The message names the smallest S for which some t keeps it.
 */
PROFK_API profk_status profk_params_exact(uint64_t n, uint64_t k, uint64_t S, double eps_recall, double eps_overflow,
                                          profk_params *ret);

/*
 * profk_params_fast() is like profk_params_exact(), but takes t and M from the closed forms of Algorithm 1: a
 * Cornish-Fisher or Poisson quantile for t, a Wilson-Hilferty quantile for M.
 *
 * They need a handful of arithmetic operations and, in the paper's range (S and k far below n), err on the large
 * side: t equals the exact one or exceeds it by one, M exceeds it by 0.1 to 3 %.  They are clamped to
 * t <= S and k <= M <= n.  Where the sample or the selection is a large part of the input they may miss a budget, and
 * nothing here turns that into an error: compare the fail_ fields, which are exact, with the budgets.
 *
 * PROFK_ERR_ARGUMENT  as for profk_params_exact()
 */
PROFK_API profk_status profk_params_fast(uint64_t n, uint64_t k, uint64_t S, double eps_recall, double eps_overflow,
                                         profk_params *ret);

/*
 * profk_sample_size() chooses S: lines 1 to 4 of Algorithm 1, which minimise the cost of sampling plus that of the
 * buffer up to a factor of 1.59 in S (Proposition 7), then raised where no threshold rank could keep the budget.
 *
 * epsilon is the budget for both ways to fail together, 1e-12 to 0.5; half of it counts for each.  cost may be NULL
 * for the paper's.  With S_min = max(1, min(cost's S_min, floor(n/128))) the choice is
 *
 *     S_min                                          if k <= 2^7, or 1/r(k) = 0, or k/n > 2^-10
 *     clip(floor(max(S_1, S_2)), S_min, S_max)       otherwise, where z = Phi^-1(1 - epsilon/2),
 *                                                    S_1 = (z/r)^(2/3) (k n)^(1/3),  S_2 = ((z^2 + 1/2) n/r)^(1/2)
 *
 * at most n, and at least the smallest S whose chance to fall entirely into the top k-1 is at most epsilon/2; with
 * that S, profk_params_exact(n, k, S, epsilon/2, ...) succeeds.  That last step may exceed S_max.
 *
 * Example: n = 2^28, k = 2^14, epsilon = 1e-3 gives 110643; n = 1000, k = 900 gives 69, where the floor n/128 = 7
 * would let the sample fall into the top 899 with probability 0.47.
 *
 * PROFK_ERR_ARGUMENT  n = 0 or n >= 2^48, k = 0 or k > n, epsilon outside 1e-12..0.5, S_ret is NULL; in cost:
 *                     struct_size 0 or below that of the first release, or above sizeof(profk_cost) with bytes behind
 *                     it that are not zero; slope or intercept not finite; S_min above S_max, both given
 */
PROFK_API profk_status profk_sample_size(uint64_t n, uint64_t k, double epsilon, const profk_cost *cost,
                                         uint64_t *S_ret);

/*
 * profk_failure_probability() computes *recall_ret = Pr(R < k) and *overflow_ret = Pr(R > M) for any S, t and M
 * (Propositions 2 and 3).
 *
 * Both are probabilities in 0..1 with a relative error below 1e-12; below about 1e-300 they become 0.  The events
 * exclude each other because M >= k, so their sum is the probability that one attempt fails.
 *
 * Example: n = 2^31, k = 32, S = 16384, t = 1, M = 996031 gives 2.4e-4 and 5.0e-4, together 7.36e-4.
 *
 * PROFK_ERR_ARGUMENT  n = 0 or n >= 2^48, k = 0 or k > n, S = 0 or S > n, t = 0 or t > S, M < k or M > n, a result
 *                     pointer is NULL
 */
PROFK_API profk_status profk_failure_probability(uint64_t n, uint64_t k, uint64_t S, uint64_t t, uint64_t M,
                                                 double *recall_ret, double *overflow_ret);

/*
 * profk_rank_moments() computes the mean and the variance of R, the number of entries that pass the threshold
 * (Lemma 6; the variance is in Lemma 1 of version 1):
 *
 *     E[R] = t (n+1)/(S+1)        Var(R) = t (S-t+1) (n+1) (n-S) / ((S+1)^2 (S+2))
 *
 * in elements and elements squared.  Example: n = 1000, S = 99, t = 10 gives 100.1 and 803.7, about 100 +- 28.
 *
 * PROFK_ERR_ARGUMENT  n = 0 or n >= 2^48, S = 0 or S > n, t = 0 or t > S, a result pointer is NULL
 */
PROFK_API profk_status profk_rank_moments(uint64_t n, uint64_t S, uint64_t t, double *mean_ret, double *variance_ret);

/*
 * profk_expected_recall() computes the share of the true top k that passes the threshold on average,
 * *recall_ret = E[min(R, k)] / k, in 0..1.  The buffer is taken to be large enough.
 *
 * Of the top k exactly min(R, k) pass, so this is what an approximate selection with threshold rank t returns without
 * a check:
 *
 *     E[min(R, k)] = t (n+1)/(S+1) Pr(Y >= t+1) + k Pr(X_k <= t-1),     Y hypergeometric (n+1, k+1 marked, S+1 drawn)
 *
 * with a relative error below 1e-12.  Example: n = 10, k = 2, S = 1, t = 1: R is uniform on 1..10, min(R, 2) is 1
 * once and 2 nine times, the expected recall is 0.95.
 *
 * PROFK_ERR_ARGUMENT  n = 0 or n >= 2^48, k = 0 or k > n, S = 0 or S > n, t = 0 or t > S, recall_ret is NULL
 */
PROFK_API profk_status profk_expected_recall(uint64_t n, uint64_t k, uint64_t S, uint64_t t, double *recall_ret);

#ifdef __cplusplus
}
#endif

#endif
