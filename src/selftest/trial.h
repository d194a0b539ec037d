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

struct trial {
    uint32_t n, k, rows; /* rows 0: 1 */
    uint32_t type, order, nan, sort, index, mode, route;
    uint32_t chunks; /* 0: 1 */
    enum pattern pattern;
    bool async;
    bool law; /* an approximate call of many rows, judged by how many of them missed */
    uint32_t attempts; /* that the slowest row must have taken, 0: 1 or 2 */
    profk_tuning tuning;
};

/* Where the trials run; all of it is the caller's. */
struct trial_bench {
    profk_context *ctx;
    cl_context cl;
    cl_command_queue queue;
};

/* False with the reason in why where the device's answer is wrong or there was none; *status_ret is then what the
 * library returned, if that is the reason, else PROFK_OK. */
bool profk__trial_run(const struct trial_bench *bench, const struct trial *trial, char why[TRIAL_WHY_ROOM],
                      profk_status *status_ret);

#endif
