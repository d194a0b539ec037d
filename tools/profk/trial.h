/*
 * trial.h: one selection on the device, made from a seed and compared with the host.  Uses the public API alone.
 */
#ifndef PROFK_COMMAND_TRIAL_H
#define PROFK_COMMAND_TRIAL_H

#include <profk.h>
#include <stdbool.h>

enum { TRIAL_WHY_ROOM = 384 };

/* What the elements are: any bits (so also NaN of every kind), a few different ones, zeros of both signs among NaN
 * and infinities, all the same. */
enum pattern { ANY_BITS, FEW_BITS, SPECIAL_BITS, SAME_BITS };

struct trial {
    uint32_t n, k, rows; /* rows 0: 1 */
    uint32_t type, order, nan, sort, index, mode, route;
    uint32_t chunks; /* 0: 1 */
    enum pattern pattern;
    bool async;
    uint32_t attempts; /* that the slowest row must have taken, 0: 1 or 2 */
    profk_tuning tuning;
};

/* Where the trials run; all of it is the caller's. */
struct bench {
    profk_context *ctx;
    cl_context cl;
    cl_command_queue queue;
};

/* False with the reason in why where the device's answer is wrong or there was none. */
bool trial_run(const struct bench *bench, const struct trial *trial, char why[TRIAL_WHY_ROOM]);

#endif
