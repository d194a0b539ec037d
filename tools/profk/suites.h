/* suites.h: the named benches: which n, k, types ... they measure, at three scales. */
#ifndef PROFK_COMMAND_SUITES_H
#define PROFK_COMMAND_SUITES_H

#include "options.h"

/* small: a test of the bench itself.  medium: minutes on a CPU.  large: a GPU, the sizes of the paper. */
enum { SCALE_SMALL, SCALE_MEDIUM, SCALE_LARGE, SCALE_COUNT, SCALE_BY_DEVICE = SCALE_COUNT };

#define SUITE_NAMES "grid, sample-size, failure-budget, distributions, batches, check or memory"

bool suite_exists(const char *name);

/* Fills in what the command line left open.  most_ret: rows of more elements together are left out, 0: no limit. */
void suite_apply(const char *name /* NULL: one cell */, uint32_t scale, struct bench_options *options,
                 uint64_t *most_ret);

#endif
