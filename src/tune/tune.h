/*
 * tune.h: measures a device, and keeps what was found.
 *
 *   tune.c       the order of things, the time budget, the report
 *   knobs.c      what is tried: a table of candidates for each stage
 *   crossover.c  costs of a slot and a candidate, epsilon, and where routes change
 *   measure.c    times of calls
 *   words.c      tuned values as text and back, and which values are possible
 *   stored.c     in the store, in a file
 *
 * All that is found here changes the time of a call and never its answer.
 */
#ifndef PROFK_TUNE_TUNE_H
#define PROFK_TUNE_TUNE_H

#include "plan/plan.h"

/* ---- words.c ---- */

/* Appends a line `name = value` for each value. */
void profk__tuned_write(const struct profk__tuned *tuned, struct profk__text *text);

/* Reads such lines: each name once, and all values possible, else 0 and *ret is as it was. */
int profk__tuned_read(const char *body, struct profk__tuned *ret);

/* ---- stored.c ---- */

/* What the store has for the context's device takes the place of the built-in values. */
void profk__tuned_load(profk_context *ctx);

/* 1: it is in the store.  0: it is not, which changes nothing. */
int profk__tuned_save(const profk_context *ctx, const struct profk__tuned *tuned);

/* ERR_UNSUPPORTED if nothing was measured, ERR_IO. */
profk_status profk__tuned_export(profk_context *ctx, const char *path);

/* ERR_IO; ERR_ARGUMENT for what is no export; ERR_UNSUPPORTED for that of another device, driver or release. */
profk_status profk__tuned_import(profk_context *ctx, const char *path);

/* ---- measure.c ---- */

/* A device's memory and clock while it is tuned. */
struct profk__bench {
    profk_context *ctx;
    cl_command_queue queue;
    cl_mem input, values, indices;
    uint64_t input_elements; /* f32 */
    double begin_s, budget_s;
    double done;             /* share of all work, for the progress */
    struct profk__text *report;
};

double profk__now_s(void);

profk_status profk__bench_open(profk_context *ctx, double budget_s, struct profk__text *report,
                               struct profk__bench *ret);
void profk__bench_close(struct profk__bench *bench);

/* Is there time left?  Asks the caller's progress as well: ERR_CANCELLED. */
profk_status profk__bench_may_go_on(struct profk__bench *bench, const char *what, int *ret);

/* A call to be timed. */
struct profk__trial {
    const char *what; /* for the report */
    uint64_t n, k, rows;
    uint32_t route;
    uint64_t S, t, M; /* forced, 0: chosen */
};

/* The least time of a few calls, after one that is not counted; INFINITY where the plan cannot be made or run, which is
 * reported. */
double profk__trial_seconds(struct profk__bench *bench, const struct profk__tuned *tuned,
                            const struct profk__trial *trial);

/* The least times of several calls, each with its own values and trial, in turns: a clock that drifts drifts for all.
 * INFINITY for one that cannot be run, and for those behind it. */
void profk__trials_in_turns(struct profk__bench *bench, unsigned count, const struct profk__tuned *const *tuned,
                            const struct profk__trial *trials, double *seconds);

/* ---- knobs.c, crossover.c: each improves *tuned and reports what it changed ---- */

enum { PROFK__KNOBS = 7 };
profk_status profk__tune_knob(struct profk__bench *bench, unsigned knob, struct profk__tuned *tuned);

profk_status profk__tune_costs(struct profk__bench *bench, struct profk__tuned *tuned);
profk_status profk__tune_crossovers(struct profk__bench *bench, struct profk__tuned *tuned);

/* ---- tune.c ---- */

#define PROFK__BUDGET_DEFAULT_S 60.0

/* Measures the device, makes what it finds the context's, and stores it.  ERR_CANCELLED changes nothing. */
profk_status profk__tune(profk_context *ctx, double budget_s, struct profk__text *report);

#endif
