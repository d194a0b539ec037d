/*
 * trial.h: one selection on the device, made from a seed and compared with the host.  Uses the public API alone.
 */
#ifndef PROFK_SELFTEST_TRIAL_H
#define PROFK_SELFTEST_TRIAL_H

#include <stdbool.h>

#include "profk.h"

enum { TRIAL_WHY_ROOM = 384 };

/* What the elements are: any bits (so also NaN of every kind), a few different ones, zeros of both signs among NaN
 * and infinities, all the same. */
enum pattern { ANY_BITS, FEW_BITS, SPECIAL_BITS, SAME_BITS };

/* What is done to an answer that was found right, so that the judge must now refuse it: that it can fail is tested as
 * well.  The last one is for the counts of misses, the others for an answer. */
enum damage {
    NO_DAMAGE,
    DAMAGE_VALUE,    /* one bit of a value */
    DAMAGE_INDEX,    /* an index that is not among the answer's */
    DAMAGE_TWICE,    /* one result stands in two places */
    DAMAGE_ORDER,    /* two results in each other's place; none where the sequence is unspecified */
    DAMAGE_STATUS,   /* a row that is not certified */
    DAMAGE_ATTEMPTS, /* more attempts than chance explains */
    DAMAGE_COUNT,    /* fewer candidates than results */
    DAMAGE_LAW       /* half of the misses */
};

struct trial {
    uint32_t n, k, rows; /* rows 0: 1 */
    uint32_t type, order, nan, sort, index, mode, route;
    uint32_t chunks; /* 0: 1 */
    enum pattern pattern;
    bool async;
    bool law; /* an approximate call of many rows, judged by how many of them missed */
    enum damage damage;
    uint32_t attempts; /* that the slowest row must have taken, 0: 1 or 2 */
    profk_tuning tuning;
};

/* Where the trials run; all of it is the caller's. */
struct trial_bench {
    profk_context *ctx;
    cl_context cl;
    cl_command_queue queue;
    uint64_t seed; /* of inputs and samples */
};

/* How often samples missed, and how often they should have. */
struct trial_law {
    uint64_t samples, missed, overflowed;
    double missed_expected, overflowed_expected;
};

/* What came of a trial. */
struct trial_outcome {
    char why[TRIAL_WHY_ROOM]; /* of one that failed */
    profk_status status;      /* what the library returned, if that is the reason, else PROFK_OK */
    struct trial_law law;     /* of one that asked for it */
};

/* False where the device's answer is wrong, where there was none, and where a planted damage was not found. */
bool profk__trial_run(const struct trial_bench *bench, const struct trial *trial, struct trial_outcome *ret);

#endif
