/*
 * groups.c: what the self-test tries.  Every route and filter shape at default and odd work-group sizes, every type,
 * order and NaN policy on hostile values, lengths around the borders, the ways of calling, and how often samples miss.
 */
#include "selftest/selftest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "selftest/trial.h"

static const char *const route_names[] = {"auto", "rows", "profk", "full"};
static const char *const order_names[] = {"largest", "smallest", "magnitude"};
static const char *const nan_names[] = {"largest", "last"};
static const char *const sort_names[] = {"rank", "index", "none"};

static const char *shape_text(const struct trial *trial)
{
    if (trial->route != PROFK_ROUTE_PROFK && trial->route != PROFK_ROUTE_AUTO)
        return "";
    if (trial->tuning.filter_shape == PROFK_SHAPE_TILE)
        return " tile";
    return trial->tuning.filter_shape == PROFK_SHAPE_STREAM ? " stream" : "";
}

/* The trial in the words of the command line, as far as they say where to look, and what went wrong: one line. */
static void keep_failure(struct findings *findings, const struct trial *trial, const char *why)
{
    char *text = findings->failures[findings->failure_count];

    if (findings->failure_count == PROFK__FAILURES_MAX)
        return;
    findings->failure_count++;
    snprintf(text, sizeof findings->failures[0],
             "%s%s, %s %s, nan %s, sort %s, n %" PRIu32 ", k %" PRIu32 ", rows %" PRIu32 ", chunks %" PRIu32
             ", work-groups %" PRIu32 "%s: %s",
             route_names[trial->route], shape_text(trial), profk__type_get(trial->type)->name,
             order_names[trial->order], nan_names[trial->nan], sort_names[trial->sort], trial->n, trial->k,
             trial->rows ? trial->rows : 1, trial->chunks ? trial->chunks : 1, trial->tuning.filter_wg,
             trial->async ? ", asynchronous" : "", why);
    for (; *text != '\0'; text++)
        if (*text == '\n')
            *text = ' ';
}

/* Once the caller wants to stop, nothing more is tried. */
static void try(struct findings *findings, const struct trial *trial)
{
    const profk_options *options = &findings->ctx->options;
    char why[TRIAL_WHY_ROOM] = "";
    profk_status status = PROFK_OK;

    if (findings->cancelled)
        return;
    if (options->progress != NULL
        && options->progress(options->user, findings->now->name, findings->fraction) != 0) {
        findings->cancelled = true;
        return;
    }
    if (profk__trial_run(&findings->bench, trial, why, &status)) {
        findings->now->trials++;
    } else if (status == PROFK_ERR_CANCELLED) {
        findings->cancelled = true;
    } else {
        findings->now->trials++;
        findings->now->failed++;
        keep_failure(findings, trial, why);
    }
}

static const struct {
    uint32_t route, shape;
    bool async;
} ways[] = {
    {PROFK_ROUTE_ROWS, 0, false},
    {PROFK_ROUTE_FULL, 0, false},
    {PROFK_ROUTE_PROFK, PROFK_SHAPE_TILE, false},
    {PROFK_ROUTE_PROFK, PROFK_SHAPE_STREAM, false},
    {PROFK_ROUTE_PROFK, PROFK_SHAPE_TILE, true},
    {PROFK_ROUTE_PROFK, PROFK_SHAPE_STREAM, true},
};

enum { WAYS = sizeof ways / sizeof ways[0] };

static void take_way(struct trial *trial, uint32_t way)
{
    trial->route = ways[way].route;
    trial->tuning.filter_shape = ways[way].shape;
    trial->async = ways[way].async;
}

/* One size for every stage; 0 is the default. */
static void take_work_groups(struct trial *trial, uint32_t wg)
{
    profk_tuning *tuning = &trial->tuning;

    tuning->filter_wg = tuning->sample_wg = tuning->threshold_wg = tuning->refine_wg = wg;
    tuning->sort_wg = tuning->rows_wg = tuning->full_wg = wg;
}

static void try_kernels(struct findings *findings)
{
    const uint32_t sizes[] = {0, 1, 3, 100, findings->ctx->device.facts.max_wg};
    const uint32_t count = findings->level >= 1 ? sizeof sizes / sizeof sizes[0] : 1;
    uint32_t way, s, k;

    for (way = 0; way < WAYS; way++) {
        for (s = 0; s < count; s++) {
            for (k = 1; k <= 301; k += 300) {
                struct trial trial = {.n = 5003, .k = k, .type = PROFK_F32, .pattern = k == 1 ? FEW_BITS : ANY_BITS};

                take_way(&trial, way);
                take_work_groups(&trial, sizes[s]);
                try(findings, &trial);
            }
        }
    }
}

/* One type, order and NaN policy on all patterns and routes, at the default work-group size and, from level 1 on, at a
 * wide one. */
static void try_rule(struct findings *findings, struct trial trial)
{
    static const uint32_t routes[] = {PROFK_ROUTE_ROWS, PROFK_ROUTE_PROFK, PROFK_ROUTE_FULL};
    uint32_t count;

    for (count = 0; count < (findings->level >= 1 ? 24U : 12U); count++) {
        trial.pattern = (enum pattern)(count % 4);
        trial.route = routes[count % 3];
        trial.sort = (count + trial.type) % 3;
        trial.index = (count / 3 + trial.type) % 2;
        take_work_groups(&trial, count < 12 ? 0 : 64);
        try(findings, &trial);
    }
}

static void try_types(struct findings *findings)
{
    uint32_t type, order, nan;

    for (type = PROFK_F32; type <= PROFK_U64; type++)
        for (order = PROFK_LARGEST; order <= PROFK_MAGNITUDE; order++)
            for (nan = PROFK_NAN_LARGEST; nan <= PROFK_NAN_LAST; nan++)
                try_rule(findings, (struct trial){.n = 4999, .k = 97, .type = type, .order = order, .nan = nan});
}

static void try_lengths(struct findings *findings)
{
    static const uint32_t lengths[] = {1, 2, 3, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 20011};
    uint32_t i, route, way;

    for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const uint32_t n = lengths[i], ks[] = {1, n / 2, n < 3000 ? n : 257};

        for (way = 0; way < 3; way++) {
            for (route = PROFK_ROUTE_AUTO; route <= PROFK_ROUTE_FULL; route++) {
                struct trial trial = {.n = n, .k = ks[way], .type = PROFK_F32, .pattern = FEW_BITS, .route = route};

                if (trial.k > 3000)
                    trial.k = 3000; /* what the host's list manages */
                if (trial.k > 0)
                    try(findings, &trial);
            }
        }
    }
}

/* Several rows, several chunks, and a sample of everything whose threshold is one too high, so that attempts miss. */
static void try_calls(struct findings *findings)
{
    uint32_t way;

    for (way = 0; way < WAYS; way++) {
        struct trial rows = {.n = 1031, .k = 17, .rows = 37, .type = PROFK_F32, .sort = PROFK_SORT_INDEX};
        struct trial chunks = {.n = 9001, .k = 100, .chunks = 7, .type = PROFK_I16, .pattern = FEW_BITS};
        struct trial misses = {.n = 999, .k = 10, .type = PROFK_F32, .tuning = {.S = 999, .t = 9}};

        take_way(&rows, way);
        take_way(&chunks, way);
        take_way(&misses, way);
        misses.attempts = misses.async ? 3 : 7;
        try(findings, &rows);
        if (chunks.route != PROFK_ROUTE_ROWS)
            try(findings, &chunks);
        if (misses.route == PROFK_ROUTE_PROFK)
            try(findings, &misses);
    }
}

/*
 * A thousand rows with one sample each, whose rank and buffer are such that many miss: as often as Propositions 2 and 3
 * say.  Pr(R < 10) = Pr(X_9 >= 2) = 0.23 and Pr(R > 30) = Pr(X_30 < 2) = 0.18, X_m of m marked elements of 5003 among
 * 500 drawn.
 */
static void try_statistics(struct findings *findings)
{
    for (uint32_t shape = PROFK_SHAPE_TILE; shape <= PROFK_SHAPE_STREAM; shape++) {
        const struct trial trial = {.n = 5003, .k = 10, .rows = 1000, .type = PROFK_F32, .law = true,
                                    .mode = PROFK_MODE_APPROXIMATE, .route = PROFK_ROUTE_PROFK,
                                    .tuning = {.S = 500, .t = 2, .M = 30, .filter_shape = shape}};

        try(findings, &trial);
    }
}

/* Least level, name, what to run. */
static const struct {
    uint32_t level;
    const char *name;
    void (*run)(struct findings *findings);
} programme[PROFK__GROUPS] = {
    {0, "kernels", try_kernels}, {0, "types", try_types},           {0, "lengths", try_lengths},
    {0, "calls", try_calls},     {1, "statistics", try_statistics},
};

void profk__try_everything(struct findings *findings)
{
    for (uint32_t i = 0; i < PROFK__GROUPS; i++) {
        double start = profk__now_s();

        if (findings->level < programme[i].level)
            continue;
        findings->now = &findings->groups[findings->group_count++];
        findings->now->name = programme[i].name;
        findings->fraction = (double)i / (double)PROFK__GROUPS;
        programme[i].run(findings);
        findings->now->seconds = profk__now_s() - start;
    }
}
