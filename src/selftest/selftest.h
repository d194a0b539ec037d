/*
 * selftest.h: does this device, with its driver and compiler, give the right answers?
 *
 *   groups.c     what is tried
 *   trial.c      one selection, made from a seed and compared with the host
 *   reference.c  the host's answer, which shares no idea with the kernels
 *   selftest.c   from a context to a report
 *
 * Trials call the public interface alone; they carry no data but what a seed makes.
 */
#ifndef PROFK_SELFTEST_SELFTEST_H
#define PROFK_SELFTEST_SELFTEST_H

#include "selftest/trial.h"
#include "tune/tune.h"

enum { PROFK__GROUPS = 5, PROFK__FAILURES_MAX = 10, PROFK__FAILURE_ROOM = 160 + TRIAL_WHY_ROOM };

struct group {
    const char *name;
    uint64_t trials, failed;
    double seconds;
};

/* What the trials left. */
struct findings {
    profk_context *ctx;
    struct trial_bench bench;
    uint32_t level;
    struct group groups[PROFK__GROUPS];
    struct group *now;
    uint32_t group_count, failure_count;
    char failures[PROFK__FAILURES_MAX][PROFK__FAILURE_ROOM]; /* "trial: why", the first ones */
    double fraction; /* of the whole that is done, for the caller's progress */
    bool cancelled;
};

/* Runs the groups of findings->level. */
void profk__try_everything(struct findings *findings);

/* profk_selftest() with arguments that are right. */
profk_status profk__selftest(profk_context *ctx, uint32_t level, struct profk__text *report);

#endif
