/* tuned.c: the built-in choices for a type of device. */
#include "runtime/tuned.h"

#include <string.h>

/* Up to so many cores a row's winners are sorted sooner by one of them than by launches for all. */
enum { SORT_ALONE_UNITS = 6, SORT_ALONE_K = 1 << 15 };

/* What holds for any device: rows that are worth sampling, and the failure budget of a call. */
static const struct profk__tuned common = {
    .epsilon_ppb = (uint32_t)(PROFK__EPSILON_DEFAULT * 1e9 + 0.5),
    .profk_n_min = 1 << 12,
    .profk_share = 4,
    .rows_n_max = 1 << 14,
};

/* What differs between implementations for CPUs, as measured on two cores of x86-64; the first one stands for those
 * that are not known.  PoCL's lie between what `profk tune` finds at 2^24 elements (a slot 8000, a candidate 7700) and what
 * 2^28 show, where a slot waits for the page tables and a candidate hides behind the memory (18000 and 2000). */
static const struct cpu_costs {
    const char *platform; /* part of its name */
    uint32_t slot_ps, candidate_ps;
} cpus[] = {
    {"Portable Computing Language", 10000, 5000}, /* PoCL 3.1 */
    {"Intel", 13500, 20800},                    /* its CPU runtime 2026.22 */
};

static const struct cpu_costs *costs_of(const struct profk__device *device)
{
    for (size_t i = 0; i < sizeof cpus / sizeof cpus[0]; i++)
        if (strstr(device->facts.platform, cpus[i].platform) != NULL)
            return &cpus[i];
    return &cpus[0];
}

/*
 * A CPU.  A work-group is a loop of one core: where work-items share counters in local memory one of them is fastest,
 * since it needs no atomics, and one that walks a long part alone (stream) reads fastest.  Loads of a sample miss every
 * cache: one work-item overlaps those of many slots.
 */
static struct profk__tuned of_cpu(const struct profk__device *device)
{
    struct profk__tuned tuned = common;
    const struct cpu_costs *costs = costs_of(device);

    tuned.filter_shape = PROFK_SHAPE_STREAM;
    tuned.stream = (struct profk__filter_tuned){1, 64, 16};
    tuned.tile = (struct profk__filter_tuned){256, 16, 4};
    tuned.sample_wg = tuned.threshold_wg = tuned.refine_wg = tuned.sort_wg = tuned.rows_wg = tuned.full_wg = 1;
    tuned.sample_slots = 64;
    tuned.sort_alone_max = device->facts.compute_units <= SORT_ALONE_UNITS ? UINT32_MAX : SORT_ALONE_K;
    tuned.rows_first_k = 512; /* a walk with a bound (cl/solo.cl) reads a row once, */
    tuned.rows_first_n = 1 << 24; /* and what caches hold sooner than sampling does; beyond them both wait for memory */
    tuned.slot_ps = costs->slot_ps;
    tuned.candidate_ps = costs->candidate_ps;
    return tuned;
}

/* A GPU, and what is not known: 256 work-items fit everywhere, and tiles read side by side. */
static struct profk__tuned of_gpu(void)
{
    struct profk__tuned tuned = common;

    tuned.filter_shape = PROFK_SHAPE_TILE;
    tuned.tile = (struct profk__filter_tuned){256, 16, 4}; /* 16 bytes: the widest load of a lane */
    tuned.stream = (struct profk__filter_tuned){256, 16, 16};
    tuned.sample_wg = tuned.threshold_wg = tuned.refine_wg = tuned.rows_wg = tuned.full_wg = 256;
    tuned.sort_wg = 128; /* digits of five bits, and no spill where 256 made ptxas keep to 32 registers */
    tuned.sample_slots = 1;
    return tuned;
}

struct profk__tuned profk__tuned_builtin(const struct profk__device *device)
{
    int is_cpu = (device->facts.type & CL_DEVICE_TYPE_CPU) != 0 && device->loop_max == 0; /* short loops: like a GPU */

    return is_cpu ? of_cpu(device) : of_gpu();
}
