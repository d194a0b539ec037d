/*
 * measure.h: one cell of a bench: calls of one plan on one input, beside bare reads of that input.
 *
 * Times are wall clock from profk_execute() until its event is complete, behind warm-up calls.  Values and indices are
 * both written.  The first answer is checked on the host.  A plan that the library refuses is no failure: the cell is
 * left out.
 */
#ifndef PROFK_COMMAND_MEASURE_H
#define PROFK_COMMAND_MEASURE_H

#include "dataset.h"
#include "options.h"
#include "read_speed.h"

enum { BENCH_EXACT, BENCH_ASYNC, BENCH_APPROXIMATE }; /* the modes */

bool bench_mode_find(const char *name, uint64_t *ret);
const char *bench_mode_name(uint32_t mode);

/* What is measured on the input of a dataset: its first rows * n elements. */
struct cell {
    uint64_t n, k, rows, S; /* S 0: chosen */
    uint32_t mode;
    double epsilon;
};

/* What came out; numbers that a route or mode does not have are 0. */
struct figures {
    uint64_t n, k, rows, runs, S, t, M, forced_S;
    uint64_t attempts, recall_misses, overflows, redraws, fallbacks; /* of the timed calls */
    uint64_t workspace_nbytes, input_nbytes;
    double epsilon, fail_recall, fail_overflow;
    double min_ms, median_ms, p99_ms, mean_ms, read_ms, read_gbs, ratio; /* ratio: of min_ms to read_ms */
    double recall;                                                       /* approximate: mean over calls and rows */
    const char *dtype, *distribution, *order, *mode, *route, *read_how;
    bool sampled, approximate, left_out;
};

/* The device and what all cells share. */
struct rig {
    const struct settings *settings;
    struct planned planned; /* device and context; no plan */
    cl_command_queue queue;
    struct read_speed read_speed;
    double deadline; /* on the clock; HUGE_VAL: none */
};

/* What the rig has beside a device and a context, which planned must have already.  Returns an exit status and has
 * printed the message; rig can be closed whatever this returns. */
int rig_open(struct rig *rig, const struct settings *settings);
void rig_close(struct rig *rig); /* planned stays open */

/* Returns an exit status and has printed the message; a wrong answer is EXIT_FAILED. */
int measure_cell(struct rig *rig, const struct dataset *dataset, const struct cell *cell, struct figures *ret);

#endif
