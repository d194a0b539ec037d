/*
 * tuned.h: what is chosen for a device by measurement.
 *
 * A context starts with the built-in values for its type of device; what was measured on the device itself and stored
 * takes their place.  All of it changes the time of a call and never its answer.
 */
#ifndef PROFK_RUNTIME_TUNED_H
#define PROFK_RUNTIME_TUNED_H

#include "runtime/device.h"

/* One shape of the filter. */
struct profk__filter_tuned {
    uint32_t wg;
    uint32_t vector_nbytes; /* loaded at once */
    uint32_t items;         /* vectors of a work-item (tile), of a block that takes one test (stream) */
};

#define PROFK__EPSILON_DEFAULT 1e-3 /* failure budget of a call */

/* Few rows are walked where n * k is at most the first, a few launches' worth of work, or n / k at least the second. */
enum { PROFK__WALK_WORK = 1 << 24, PROFK__WALK_SHARE = 2048 };

struct profk__tuned {
    uint32_t filter_shape; /* PROFK_SHAPE_* */
    struct profk__filter_tuned tile, stream;
    uint32_t sample_wg, threshold_wg, refine_wg, sort_wg, rows_wg, full_wg;
    uint32_t sample_slots;   /* of a work-item */
    uint32_t sort_alone_max; /* winners of a row that a work-group of one sorts without others */
    uint32_t slot_ps;        /* what a slot of the sample costs, picoseconds; 0: unknown, the paper's rule gives S */
    uint32_t candidate_ps;   /* what an element that reaches the threshold costs */
    uint32_t epsilon_ppb;    /* of exact plans that leave theirs at 0, in 1e-9 */
    uint32_t profk_n_min;    /* route auto samples rows from this length on, */
    uint32_t profk_share;    /* while M is at most n / profk_share; */
    uint32_t rows_n_max;     /* else a work-group selects a single row of up to this length */
    uint32_t rows_first_k;   /* route rows goes first while k is at most this, 0: never, where each core has a row, */
    uint32_t rows_first_n;   /* and for fewer rows of up to this length (PROFK__WALK_*) */
    uint32_t is_measured;    /* on the device itself */
};

struct profk__tuned profk__tuned_builtin(const struct profk__device *device);

#endif
