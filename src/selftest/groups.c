/*
 * groups.c: what the self-test tries.  Every route and filter shape at tuned and odd work-group sizes, every type,
 * order and NaN policy on hostile values, lengths around the borders, the ways of calling, how often samples miss, and
 * damage that the self-test itself must find.
 *
 * A trial takes a millisecond, its programs take seconds to compile where none are kept.  So the groups whose programs
 * are there already come first, then those with programs that users meet (other types at tuned sizes) beside those that
 * find broken compilers (odd sizes): whenever time runs out, the most telling trials have been made.
 */
#include "selftest/selftest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "selftest/reference.h"
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

/* Once the caller wants to stop or the time is over nothing more is tried, but one trial there must be. */
static bool may_go_on(struct findings *findings)
{
    const profk_options *options = &findings->ctx->options;
    const double spent = (profk__now_s() - findings->begin_s) / findings->budget_s;
    const double done = (double)findings->trials / (double)findings->all;

    if (findings->cancelled || (spent >= 1 && findings->trials > 0))
        return false;
    if (options->progress != NULL &&
        options->progress(options->user, findings->now->name, fmin(fmax(done, spent), 1)) != 0)
        findings->cancelled = true;
    return !findings->cancelled;
}

static void keep_law(struct findings *findings, const struct trial *trial, const struct trial_law *law)
{
    if (findings->law_count == PROFK__LAWS)
        return;
    findings->laws[findings->law_count].shape = trial->tuning.filter_shape;
    findings->laws[findings->law_count++].law = *law;
}

static void try(struct findings *findings, const struct trial *trial)
{
    struct trial_outcome outcome;
    bool good;

    if (findings->counting) {
        findings->now->all++;
        findings->all++;
        return;
    }
    if (!may_go_on(findings))
        return;
    good = profk__trial_run(&findings->bench, trial, &outcome);
    if (outcome.status == PROFK_ERR_CANCELLED) {
        findings->cancelled = true;
        return;
    }
    findings->now->trials++;
    findings->trials++;
    findings->damaged += trial->damage != NO_DAMAGE;
    findings->found += trial->damage != NO_DAMAGE && good;
    if (trial->law && trial->damage == NO_DAMAGE)
        keep_law(findings, trial, &outcome.law);
    if (!good) {
        findings->now->failed++;
        keep_failure(findings, trial, outcome.why);
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

/* What runs a group, and what of the device it is about: a work-group size in every stage, 0 for those that are tuned,
 * and the bytes of an element. */
struct step {
    uint32_t level; /* the least */
    const char *name;
    void (*run)(struct findings *findings, const struct step *step);
    uint32_t wg, nbytes;
};

static void try_kernels(struct findings *findings, const struct step *step)
{
    const uint32_t most = findings->ctx->device.facts.max_wg;
    uint32_t way, k;

    for (way = 0; way < WAYS; way++) {
        for (k = 1; k <= 301; k += 300) {
            struct trial trial = {.n = 5003, .k = k, .type = PROFK_F32, .pattern = k == 1 ? FEW_BITS : ANY_BITS};

            take_way(&trial, way);
            take_work_groups(&trial, step->wg < most ? step->wg : most);
            try(findings, &trial);
        }
    }
}

/* One type, order and NaN policy: of the twelve pairs of a route and a pattern the one of this number. */
static void try_rule(struct findings *findings, struct trial trial, uint32_t pair, uint32_t wg)
{
    static const uint32_t routes[] = {PROFK_ROUTE_ROWS, PROFK_ROUTE_PROFK, PROFK_ROUTE_FULL};

    trial.pattern = (enum pattern)(pair % 4);
    trial.route = routes[pair % 3];
    trial.sort = (pair + trial.type) % 3;
    trial.index = (pair / 3 + trial.type) % 2;
    trial.chunks = trial.route != PROFK_ROUTE_ROWS && pair >= 6 ? 3 : 1;
    take_work_groups(&trial, wg);
    try(findings, &trial);
}

static void try_pair(struct findings *findings, const struct step *step, uint32_t pair)
{
    uint32_t type, order, nan;

    for (type = PROFK_F32; type <= PROFK_U64; type++)
        for (order = PROFK_LARGEST; order <= PROFK_MAGNITUDE; order++)
            for (nan = PROFK_NAN_LARGEST; nan <= PROFK_NAN_LAST; nan++)
                if (step->nbytes == 0 || profk__reference_nbytes(type) == step->nbytes)
                    try_rule(findings, (struct trial){.n = 4999, .k = 97, .type = type, .order = order, .nan = nan},
                             pair, step->wg);
}

/* By each route once, each time with another pattern. */
static void try_types(struct findings *findings, const struct step *step)
{
    for (uint32_t pair = 0; pair < 3; pair++)
        try_pair(findings, step, pair);
}

/* The other patterns; at another work-group size all of them. */
static void try_types_more(struct findings *findings, const struct step *step)
{
    for (uint32_t pair = step->wg == 0 ? 3 : 0; pair < 12; pair++)
        try_pair(findings, step, pair);
}

static void try_lengths(struct findings *findings, const struct step *step)
{
    static const uint32_t lengths[] = {1, 2, 3, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 20011};
    uint32_t i, route, way;

    (void)step;
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

/* Several rows, several chunks. */
static void try_calls(struct findings *findings, const struct step *step)
{
    uint32_t way;

    (void)step;
    for (way = 0; way < WAYS; way++) {
        struct trial rows = {.n = 1031, .k = 17, .rows = 37, .type = PROFK_F32, .sort = PROFK_SORT_INDEX};
        struct trial chunks = {.n = 9001, .k = 100, .chunks = 7, .type = PROFK_I32, .pattern = FEW_BITS};

        take_way(&rows, way);
        take_way(&chunks, way);
        try(findings, &rows);
        if (chunks.route != PROFK_ROUTE_ROWS)
            try(findings, &chunks);
    }
}

/*
 * Attempts that fail on purpose: a sample of everything whose threshold is one too high, so that every attempt misses
 * and the full selection must answer; a count that starts above the buffer's size, so that the first attempt overflows
 * and the second must answer.
 */
static void try_bad_luck(struct findings *findings)
{
    uint32_t way;

    for (way = 0; way < WAYS; way++) {
        struct trial misses = {.n = 999, .k = 10, .type = PROFK_F32, .tuning = {.S = 999, .t = 9}};
        struct trial overflow = {.n = 999,
                                 .k = 10,
                                 .type = PROFK_F32,
                                 .attempts = 2,
                                 .tuning = {.S = 999, .t = 10, .M = 20, .count_start = 21}};

        take_way(&misses, way);
        take_way(&overflow, way);
        if (misses.route != PROFK_ROUTE_PROFK)
            continue;
        misses.attempts = misses.async ? 3 : 7;
        try(findings, &misses);
        try(findings, &overflow);
    }
}

/*
 * A thousand rows with one sample each, whose rank and buffer are such that many miss: as often as Propositions 2 and 3
 * say.  Pr(R < 10) = Pr(X_9 >= 2) = 0.23 and Pr(R > 30) = Pr(X_30 < 2) = 0.18, X_m of m marked elements of 5003 among
 * 500 drawn.
 */
static struct trial law_trial(uint32_t shape)
{
    return (struct trial){.n = 5003,
                          .k = 10,
                          .rows = 1000,
                          .type = PROFK_F32,
                          .law = true,
                          .mode = PROFK_MODE_APPROXIMATE,
                          .route = PROFK_ROUTE_PROFK,
                          .tuning = {.S = 500, .t = 2, .M = 30, .filter_shape = shape}};
}

static void try_statistics(struct findings *findings, const struct step *step)
{
    (void)step;
    for (uint32_t shape = PROFK_SHAPE_TILE; shape <= PROFK_SHAPE_STREAM; shape++) {
        const struct trial trial = law_trial(shape);

        try(findings, &trial);
    }
}

/* Bad luck; and every kind of damage in every sequence of results, done to a right answer of two rows. */
static void try_faults(struct findings *findings, const struct step *step)
{
    struct trial law = law_trial(0);
    uint32_t damage, sort;

    (void)step;
    try_bad_luck(findings);
    for (damage = DAMAGE_VALUE; damage < DAMAGE_LAW; damage++) {
        for (sort = PROFK_SORT_RANK; sort <= PROFK_SORT_NONE; sort++) {
            const struct trial trial = {.n = 4999,
                                        .k = 97,
                                        .rows = 2,
                                        .type = PROFK_F32,
                                        .sort = sort,
                                        .route = PROFK_ROUTE_PROFK,
                                        .damage = (enum damage)damage};

            if (damage != DAMAGE_ORDER || sort != PROFK_SORT_NONE)
                try(findings, &trial);
        }
    }
    law.damage = DAMAGE_LAW;
    try(findings, &law);
}

static const struct step programme[PROFK__GROUPS] = {
    {0, "kernels", try_kernels, 0, 0},       {0, "faults", try_faults, 0, 0},
    {0, "statistics", try_statistics, 0, 0}, {0, "calls", try_calls, 0, 0},
    {0, "types-32bit", try_types, 0, 4},     {0, "lengths", try_lengths, 0, 0},
    {1, "groups-100", try_kernels, 100, 0},  {0, "types-16bit", try_types, 0, 2},
    {0, "types-64bit", try_types, 0, 8},     {0, "types-8bit", try_types, 0, 1},
    {1, "groups-1", try_kernels, 1, 0},      {1, "groups-max", try_kernels, UINT32_MAX, 0},
    {1, "groups-3", try_kernels, 3, 0},      {0, "types-more", try_types_more, 0, 0},
    {1, "groups-64", try_types_more, 64, 0},
};

/* Counts the trials, so that progress and report know the whole, then makes them. */
void profk__try_everything(struct findings *findings)
{
    for (uint32_t pass = 0; pass < 2; pass++) {
        findings->counting = pass == 0;
        findings->group_count = 0;
        for (uint32_t i = 0; i < PROFK__GROUPS; i++) {
            const double start = profk__now_s();

            if (findings->level < programme[i].level)
                continue;
            findings->now = &findings->groups[findings->group_count++];
            findings->now->name = programme[i].name;
            programme[i].run(findings, &programme[i]);
            findings->now->seconds = profk__now_s() - start;
        }
    }
}
