/*
 * selftest.h: does this device, with its driver and compiler, give the right answers?
 *
 *   groups.c     what is tried, in which order
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

enum {
    PROFK__GROUPS = 15,
    PROFK__FAILURES_MAX = 10,
    PROFK__FAILURE_ROOM = 160 + TRIAL_WHY_ROOM,
    PROFK__LAWS = 2,
    PROFK__SEED = 1
};

/* Level 1 starts nothing new after that many seconds.  What may still be on its way then, programs for one trial, and
 * what the command measures besides, must fit into the rest of a minute. */
#define PROFK__SELFTEST_BUDGET_S 35.0

struct group {
    const char *name;
    uint64_t all, trials, failed; /* trials: those that were made, of all */
    double seconds;
};

/* What the trials left. */
struct findings {
    profk_context *ctx;
    struct trial_bench bench;
    uint32_t level;
    double begin_s, budget_s; /* seconds on the clock, seconds from then on (INFINITY: no end) */
    struct group groups[PROFK__GROUPS];
    struct group *now;
    uint32_t group_count, failure_count;
    char failures[PROFK__FAILURES_MAX][PROFK__FAILURE_ROOM]; /* "trial: why", the first ones */
    struct {
        uint32_t shape;
        struct trial_law law;
    } laws[PROFK__LAWS];
    uint32_t law_count;
    uint64_t all, trials;     /* of all groups */
    uint64_t damaged, found;  /* answers that were damaged on purpose, and those whose damage was found */
    bool counting, cancelled; /* counting: nothing is tried, only counted */
};

/* Runs the groups of findings->level while there is time, one trial at least. */
void profk__try_everything(struct findings *findings);

/* profk_selftest() with arguments that are right. */
profk_status profk__selftest(profk_context *ctx, uint32_t level, double budget_s, struct profk__text *report);

#endif
