/*
 * knobs.c: launch sizes, one stage after another.
 *
 * A knob is up to four values that belong together, a call in which they matter, and the candidates.  What the device
 * has now comes first, and the first candidate within 5 % of the best wins, so nothing changes for noise.  All are
 * timed quickly; those within a third of the best again, and longer.
 */
#include "tune/tune.h"

#include <math.h>
#include <stddef.h>

enum { VALUES_MAX = 4, CANDIDATES_MAX = 16 };

#define AT(member) offsetof(struct profk__tuned, member)
#define NONE SIZE_MAX

static const struct knob {
    const char *name;
    size_t places[VALUES_MAX]; /* of the values, NONE behind the last */
    struct profk__trial trial; /* n 0: the whole input */
    uint32_t candidates[CANDIDATES_MAX][VALUES_MAX]; /* work-group size 0 behind the last */
} knobs[PROFK__KNOBS] = {
    {"filter tile",
     {AT(tile.wg), AT(tile.vector_nbytes), AT(tile.items), NONE},
     {"the filter", 0, 32, 1, PROFK_ROUTE_PROFK, 4096, 0, 0},
     {{256, 16, 4}, {128, 16, 4}, {512, 16, 4}, {256, 16, 2}, {256, 16, 8}, {64, 16, 4}, {256, 8, 4}, {1024, 16, 2}}},
    {"filter stream",
     {AT(stream.wg), AT(stream.vector_nbytes), AT(stream.items), NONE},
     {"the filter", 0, 32, 1, PROFK_ROUTE_PROFK, 4096, 0, 0},
     {{1, 64, 16}, {1, 64, 32}, {1, 64, 8}, {1, 32, 16}, {1, 32, 32}, {1, 16, 16}}},
    {"sample",
     {AT(sample_wg), AT(sample_slots), NONE, NONE},
     {"the sample", 0, 2048, 1, PROFK_ROUTE_PROFK, 1 << 17, 0, 0},
     {{1, 64}, {1, 32}, {1, 16}, {16, 16}, {256, 1}, {128, 1}, {256, 4}}},
    {"threshold and refine",
     {AT(threshold_wg), AT(refine_wg), NONE, NONE},
     {"threshold and refine", 1 << 20, 1 << 14, 1, PROFK_ROUTE_PROFK, 1 << 16, 1 << 11, 1 << 17},
     {{1, 1}, {256, 256}, {512, 512}, {1024, 1024}, {128, 128}}},
    {"sort",
     {AT(sort_wg), NONE, NONE, NONE},
     {"the sort", 1 << 20, 1 << 13, 1, PROFK_ROUTE_PROFK, 0, 0, 0},
     {{1}, {128}, {256}, {64}, {512}}},
    {"rows",
     {AT(rows_wg), NONE, NONE, NONE},
     {"rows", 1024, 16, 1024, PROFK_ROUTE_ROWS, 0, 0, 0},
     {{1}, {256}, {128}, {64}, {512}}},
    {"full",
     {AT(full_wg), NONE, NONE, NONE},
     {"full", 1 << 20, 1 << 16, 1, PROFK_ROUTE_FULL, 0, 0, 0},
     {{1}, {256}, {128}, {64}, {512}}},
};

static uint32_t *value_of(struct profk__tuned *tuned, size_t place)
{
    return (uint32_t *)(void *)((char *)tuned + place);
}

static struct profk__tuned with(const struct profk__tuned *tuned, const struct knob *knob, const uint32_t *candidate)
{
    struct profk__tuned changed = *tuned;

    for (unsigned i = 0; i < VALUES_MAX && knob->places[i] != NONE; i++)
        *value_of(&changed, knob->places[i]) = candidate[i];
    return changed;
}

static void report(struct profk__bench *bench, const struct knob *knob, const uint32_t *from, double from_s,
                   const uint32_t *to, double to_s)
{
    profk__text_add(bench->report, "%s:", knob->name);
    for (unsigned i = 0; i < VALUES_MAX && knob->places[i] != NONE; i++)
        profk__text_add(bench->report, "%s%lu", i == 0 ? " " : " x ", (unsigned long)from[i]);
    if (to == from) {
        profk__text_add(bench->report, " stays, %lu us\n", (unsigned long)(from_s * 1e6));
        return;
    }
    for (unsigned i = 0; i < VALUES_MAX && knob->places[i] != NONE; i++)
        profk__text_add(bench->report, "%s%lu", i == 0 ? " becomes " : " x ", (unsigned long)to[i]);
    profk__text_add(bench->report, ", %lu -> %lu us\n", (unsigned long)(from_s * 1e6), (unsigned long)(to_s * 1e6));
}

/* What the tuned values are now, then the table's candidates that differ from it. */
static unsigned list_candidates(const struct profk__tuned *tuned, const struct knob *knob,
                                uint32_t list[CANDIDATES_MAX + 1][VALUES_MAX])
{
    struct profk__tuned now = *tuned;
    unsigned count = 1;

    for (unsigned i = 0; i < VALUES_MAX; i++)
        list[0][i] = knob->places[i] != NONE ? *value_of(&now, knob->places[i]) : 0;
    for (unsigned c = 0; c < CANDIDATES_MAX && knob->candidates[c][0] != 0; c++) {
        int is_new = 0;
        for (unsigned i = 0; i < VALUES_MAX && knob->places[i] != NONE; i++)
            is_new |= knob->candidates[c][i] != list[0][i];
        for (unsigned i = 0; i < VALUES_MAX; i++)
            list[count][i] = knob->candidates[c][i];
        count += is_new != 0;
    }
    return count;
}

profk_status profk__tune_knob(struct profk__bench *bench, unsigned number, struct profk__tuned *tuned)
{
    enum { ROUNDS = 2 };
    static const double keeps[ROUNDS] = {1.33, 1.05};
    static const int runs[ROUNDS] = {PROFK__RUNS_QUICK, PROFK__RUNS};
    profk_status st = PROFK_OK;
    const struct knob *knob = &knobs[number];
    struct profk__trial trial = knob->trial;
    uint32_t list[CANDIDATES_MAX + 1][VALUES_MAX];
    double seconds[CANDIDATES_MAX + 1], best = (double)INFINITY;
    unsigned count = list_candidates(tuned, knob, list), chosen = 0;
    struct profk__tuned base = *tuned;
    int may_go_on = 1;

    if (number < 2) /* a shape is tried whichever is in use */
        base.filter_shape = number == 0 ? PROFK_SHAPE_TILE : PROFK_SHAPE_STREAM;
    trial.n = trial.n == 0 ? bench->input_elements : trial.n;
    for (unsigned c = 0; c < count; c++)
        seconds[c] = 0;
    for (int round = 0; round < ROUNDS && may_go_on; round++) {
        double limit = best * keeps[0];
        best = (double)INFINITY;
        for (unsigned c = 0; c < count; c++) {
            struct profk__tuned changed = with(&base, knob, list[c]);
            TRY(profk__bench_may_go_on(bench, knob->name, &may_go_on));
            if (round > 0 && seconds[c] > limit)
                continue;
            if (may_go_on || c == 0)
                seconds[c] = profk__trial_seconds(bench, &changed, &trial, runs[round]);
            else if (round == 0)
                seconds[c] = (double)INFINITY; /* no time to find out */
            best = seconds[c] < best ? seconds[c] : best;
        }
    }
    while (chosen + 1 < count && !(seconds[chosen] <= best * keeps[1]))
        chosen++;
    if (!isfinite(seconds[chosen]))
        chosen = 0; /* none runs: leave it */
    report(bench, knob, list[0], seconds[0], list[chosen], seconds[chosen]);
    *tuned = with(tuned, knob, list[chosen]);
done:
    return st;
}
