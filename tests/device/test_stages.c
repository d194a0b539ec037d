/*
 * test_stages.c: each device stage by itself, against a plain host loop.
 *
 * Work-group sizes 1, 3, 64, 100 and the largest; every element width; both index widths; several rows, all of them,
 * those of a list, or those of an empty list; random elements with many ties.  What a stage must not write is checked
 * as well as what it must.  --small runs little of each, for Oclgrind; --long every stage in every configuration.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profk.h"
#include "stage_fixture.h"
#include "support/fixture.h"
#include "support/inputs.h"
#include "support/reference.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FILE_BIT(name) (1u << PROFK__FILE_##name)

static struct test_options options;

/* ---- what is run ---- */

enum { WIDTHS = 4, CONFIGS = 20 };

/* Work-group, width, index width, vector, vectors of a work-item in a tile, slots of a sample; a row for each size of
 * work-group. */
static const struct config all_configs[CONFIGS] = {
    {1, 1, 4, 16, 2, 0},  {1, 2, 8, 8, 4, 0},    {1, 4, 4, 16, 1, 0},   {1, 8, 8, 8, 2, 0},    {3, 1, 8, 8, 3, 0},
    {3, 2, 4, 2, 8, 0},   {3, 4, 8, 4, 4, 0},    {3, 8, 4, 1, 8, 0},    {64, 1, 8, 16, 2, 0},  {64, 2, 4, 8, 4, 0},
    {64, 4, 8, 4, 4, 0},  {64, 8, 4, 2, 4, 0},   {100, 1, 4, 4, 4, 0},  {100, 2, 8, 16, 2, 0}, {100, 4, 4, 8, 2, 0},
    {100, 8, 8, 4, 1, 0}, {1024, 1, 8, 1, 8, 0}, {1024, 2, 4, 2, 1, 0}, {1024, 4, 8, 4, 2, 0}, {1024, 8, 4, 16, 1, 0},
};
/* Few slots of a sample: a work-item walks on while any of its slots does, long for a small n. */
static const struct config small_configs[] = {
    {1, 4, 4, 4, 2, 4}, {3, 8, 8, 2, 2, 2}, {16, 1, 4, 8, 2, 1}, {5, 2, 8, 4, 3, 2}};

/*
 * Turns of configurations, as bits: a turn has every size of work-group and every width.  Compiling takes most of the
 * time, so only long runs take all turns everywhere.
 */
enum { TURN_0 = 1, TURN_1 = 2, TURN_2 = 4, TURN_3 = 8, ALL_TURNS = 15 };

static bool in_turns(size_t config, uint32_t turns)
{
    size_t turn = (config % WIDTHS + WIDTHS - config / WIDTHS % WIDTHS) % WIDTHS;

    return options.small || options.long_run || (turns >> turn & 1) != 0;
}

/* Vectors of a block of the stream shape: as many as it may have, or 16, or as many as a tile's. */
static uint32_t block_of(const struct config *config, size_t i)
{
    uint32_t most = config->width_nbytes < 4 ? 8 * config->width_nbytes : 32, choice = i % 3 == 0 ? most : 16;

    return i % 3 == 2 ? config->filter_items : choice < most ? choice : most;
}

/* Calls run for the configurations of some turns with a kit of the files. */
static void for_each_config(uint32_t turns, uint32_t shape, uint32_t files,
                            void (*run)(const struct kit *kit, uint64_t *state))
{
    const struct config *configs = options.small ? small_configs : all_configs;
    size_t count = options.small ? COUNT(small_configs) : CONFIGS;

    for (size_t i = 0; i < count; i++) {
        uint64_t state = inputs_mix(options.seed, i);
        struct config config = configs[i];
        struct kit kit;
        if (!in_turns(i, turns))
            continue;
        if (shape == PROFK_SHAPE_STREAM)
            config.filter_items = block_of(&config, i);
        kit_open(&kit, &config, shape, files);
        run(&kit, &state);
        kit_close(&kit);
    }
}

static void at_job(const struct job *job, const char *what)
{
    const struct config *c = &job->kit->config;
    const struct profk__task *task = &job->task;

    at_case("%s: wg=%u width=%u index=%u vector=%u items=%u shape=%u type=%s order=%u nan=%u service=%d rows=%u "
            "n=%" PRIu64 " stride=%" PRIu64 " k=%u pieces=%u",
            what, (unsigned)c->wg, (unsigned)c->width_nbytes, (unsigned)c->index_nbytes, (unsigned)c->vector_width,
            (unsigned)c->filter_items, (unsigned)job->kit->spec.filter_shape, reference_type(job->rule.type)->name,
            (unsigned)job->rule.order, (unsigned)job->rule.nan, (int)job->service, (unsigned)task->rows, task->n,
            task->stride, (unsigned)task->k, (unsigned)job->piece_count);
}

static bool untouched_bytes(const void *bytes, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        if (((const unsigned char *)bytes)[i] != CANARY)
            return false;
    return true;
}

/* Small runs leave the larger sizes of a table out. */
static bool too_large(uint64_t n, uint64_t small_limit)
{
    return options.small && n > small_limit;
}

/* ---- the host itself ---- */

/* Sorting by the host's keys gives the reference's sequence, which compares numbers. */
static void host_keys_order_values(void **unused)
{
    (void)unused;
    for (uint32_t type = REFERENCE_FIRST_TYPE; type < REFERENCE_FIRST_TYPE + REFERENCE_TYPES; type++) {
        for (uint32_t i = 0; i < 6; i++) {
            struct rule rule = {type, i / 2, i % 2};
            uint64_t values[SPECIALS_MAX], x[SPECIALS_MAX];
            struct pair pairs[SPECIALS_MAX];
            uint32_t ranked[SPECIALS_MAX];
            size_t n = special_values(type, values);
            for (size_t j = 0; j < n; j++) {
                reference_store(type, x, j, values[j]);
                pairs[j] = (struct pair){values[j], host_key(rule, values[j]), j};
            }
            CHECK(reference_rank(type, rule.order, rule.nan, x, n, n, ranked));
            sort_by_rank(pairs, n);
            for (size_t j = 0; j < n; j++)
                CHECK(pairs[j].index == ranked[j]);
        }
    }
}

/* ---- sample ---- */

/* Draws into ret, slots pairs a row; the last piece first, so that slots taken by a wrong piece show. */
static void draw(struct job *job, uint32_t slots, uint64_t key, struct pair *ret)
{
    size_t count = (size_t)job->task.rows * slots;
    struct profk__pairs sample = new_pairs(job, count);

    for (uint32_t i = job->piece_count; i-- > 0;)
        CHECK_OK(profk__stage_sample(&job->chain, &job->task, &job->pieces[i], slots, key, sample));
    job_wait(job);
    download_pairs(job, sample, count, ret);
}

/* Distinct positions below n with their values; all positions if slots = n. */
static void check_sample_row(const uint64_t *x, uint64_t n, uint32_t slots, const struct pair *row)
{
    struct pair *sorted = take(slots, sizeof *sorted);

    memcpy(sorted, row, slots * sizeof *row);
    sort_by_index(sorted, slots);
    for (uint32_t i = 0; i < slots; i++) {
        CHECK(sorted[i].index < n && sorted[i].bits == x[sorted[i].index]);
        CHECK(i == 0 || sorted[i].index > sorted[i - 1].index);
    }
    free(sorted);
}

static void check_sample(const struct kit *kit, uint64_t *state, enum service service, uint64_t n, uint32_t slots,
                         uint32_t parts)
{
    const uint32_t rows = 3;
    const uint64_t stride = n + 5;
    struct rule rule = random_rule(kit->config.width_nbytes, state);
    struct pair *drawn = take(rows * slots, sizeof *drawn), *whole = take(rows * slots, sizeof *whole);
    uint64_t *x = take((size_t)(rows * stride), sizeof *x), key = inputs_random(state);
    struct job job;

    random_elements(rule.type, state, (size_t)n, (size_t)(rows * stride), x);
    job_open(&job, kit, rule, service, rows, n, stride, 1, 7);
    job_load(&job, x, 3, parts, state);
    at_job(&job, "sample");
    draw(&job, slots, key, drawn);
    job_load(&job, x, 0, 1, state);
    draw(&job, slots, key, whole);
    for (uint32_t row = 0; row < rows; row++) {
        const struct pair *of_row = drawn + row * slots;
        if (job_serves(&job, row))
            check_sample_row(x + row * stride, n, slots, of_row);
        else
            CHECK(untouched_pairs(&job, of_row, slots));
        CHECK(same_pairs(of_row, whole + row * slots, slots)); /* the same positions for any pieces */
    }
    free(x);
    free(whole);
    free(drawn);
    bench_clear();
}

static void run_sample(const struct kit *kit, uint64_t *state)
{
    static const uint64_t sizes[] = {1, 2, 3, 5, 63, 64, 65, 255, 256, 257, 1000, 4095, 4097, 16385};

    for (size_t i = 0; i < COUNT(sizes) && !too_large(sizes[i], 300); i++) {
        enum service service = (enum service)(i % 2);
        uint32_t some = (uint32_t)(1 + random_below(state, sizes[i]));
        check_sample(kit, state, service, sizes[i], (uint32_t)sizes[i], 1 + (uint32_t)i % PIECES_MAX);
        check_sample(kit, state, SERVE_ALL, sizes[i], some, 2);
    }
    check_sample(kit, state, SERVE_NONE, 100, 20, 2);
}

static void sample_values_and_pieces(void **unused)
{
    (void)unused;
    for_each_config(TURN_0, 0, FILE_BIT(SAMPLE), run_sample);
}

static const struct config narrow_config = {1, 4, 4, 4, 2, 4};

/* A job whose elements are their positions; a row is the same as the next. */
static void open_positions(struct job *job, const struct kit *kit, uint32_t rows, uint64_t n)
{
    uint64_t *x = take((size_t)n, sizeof *x), state = 0;

    for (uint64_t i = 0; i < n; i++)
        x[i] = i;
    job_open(job, kit, (struct rule){PROFK_U32, PROFK_LARGEST, PROFK_NAN_LARGEST}, SERVE_ALL, rows, n, 0, 1, 0);
    job_load(job, x, 0, 1, &state);
    at_job(job, "sample of positions");
    free(x);
}

/* S = n is a permutation; rows of a call and draws of one row with different keys differ. */
static void check_permutation(const struct kit *kit, uint64_t n)
{
    const uint32_t rows = 4;
    struct pair *drawn = take((size_t)(2 * rows * n), sizeof *drawn);
    bool *seen = take((size_t)n, sizeof *seen);
    struct job job;

    open_positions(&job, kit, rows, n);
    draw(&job, (uint32_t)n, 1, drawn);
    draw(&job, (uint32_t)n, 2, drawn + rows * n);
    for (uint32_t row = 0; row < 2 * rows; row++) {
        memset(seen, 0, (size_t)n * sizeof *seen);
        for (uint64_t i = 0; i < n; i++) {
            const struct pair *pair = &drawn[row * n + i];
            CHECK(pair->index < n && pair->bits == pair->index && !seen[pair->index]);
            seen[pair->index] = true;
        }
        for (uint32_t other = 0; other < row && n >= 40; other++)
            CHECK(!same_pairs(drawn + row * n, drawn + other * n, 40));
    }
    free(seen);
    free(drawn);
    bench_clear();
}

static void sample_is_a_permutation(void **unused)
{
    struct kit kit;

    (void)unused;
    kit_open(&kit, &narrow_config, 0, FILE_BIT(SAMPLE));
    for (uint64_t n = 1; n <= (options.small ? 40 : 300); n++)
        check_permutation(&kit, n);
    for (uint32_t bits = 9; bits <= 17 && !options.small; bits++)
        for (uint64_t n = (1u << bits) - 1; n <= (1u << bits) + 1; n++)
            check_permutation(&kit, n);
    kit_close(&kit);
}

/* A row's draw goes by its number in the call, whatever slab it is in. */
static void sample_goes_by_row_number(void **unused)
{
    enum { N = 1000, SLOTS = 50 };
    struct pair drawn[2][3 * SLOTS];
    struct kit kit;
    struct job job;

    (void)unused;
    kit_open(&kit, &narrow_config, 0, FILE_BIT(SAMPLE));
    open_positions(&job, &kit, 3, N);
    draw(&job, SLOTS, 77, drawn[0]);
    job.task.first_row = 2;
    draw(&job, SLOTS, 77, drawn[1]);
    CHECK(same_pairs(drawn[0] + 2 * SLOTS, drawn[1], SLOTS));
    CHECK(!same_pairs(drawn[0], drawn[1], SLOTS));
    job.task.first_row = UINT64_C(1) << 33;
    draw(&job, SLOTS, 77, drawn[1]);
    CHECK(!same_pairs(drawn[0], drawn[1], SLOTS));
    job.task.first_row = 0;
    draw(&job, SLOTS, 77 + (UINT64_C(1) << 32), drawn[1]); /* the key's upper half counts */
    CHECK(!same_pairs(drawn[0], drawn[1], SLOTS));
    bench_clear();
    kit_close(&kit);
}

/* (chi-square - degrees of freedom) / its standard deviation, for cells of the same probability. */
static double chi_square_z(const uint32_t *counts, size_t cells, double draws)
{
    double expected = draws / (double)cells, sum = 0, freedom = (double)cells - 1;

    for (size_t i = 0; i < cells; i++)
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return (sum - freedom) / sqrt(2 * freedom);
}

/* The cell of an ordered pair of different positions. */
static size_t pair_cell(uint64_t n, uint64_t a, uint64_t b)
{
    return (size_t)(a * (n - 1) + b - (b > a));
}

static void check_cells(const char *what, uint64_t n, const uint32_t *counts, size_t cells, double draws)
{
    double z = chi_square_z(counts, cells, draws);

    at_case("uniformity of %s: n=%" PRIu64 " z=%.2f", what, n, z);
    CHECK(fabs(z) < 4);
}

/* Positions of the first and the last slot, ordered pairs of them, and pairs of rows that follow one another. */
static void check_uniformity(const struct kit *kit, uint64_t n, uint32_t slots)
{
    enum { ROWS = 500, KEYS = 40 };
    const size_t pairs = (size_t)(n <= 50 ? n * (n - 1) : 1), neighbours = (size_t)(n <= 50 ? n * n : 1);
    uint32_t *first = take((size_t)n, sizeof *first), *last = take((size_t)n, sizeof *last);
    uint32_t *both = take(pairs, sizeof *both), *next = take(neighbours, sizeof *next);
    struct pair *drawn = take((size_t)ROWS * slots, sizeof *drawn);
    struct job job;

    for (uint64_t key = 1; key <= KEYS; key++) {
        open_positions(&job, kit, ROWS, n);
        draw(&job, slots, key, drawn);
        for (uint32_t row = 0; row < ROWS; row++) {
            uint64_t a = drawn[row * slots].index, b = drawn[row * slots + slots - 1].index;
            first[a]++;
            last[b]++;
            if (n <= 50)
                both[pair_cell(n, a, b)]++;
            if (n <= 50 && row > 0)
                next[drawn[(row - 1) * slots].index * n + a]++;
        }
        bench_clear();
    }
    check_cells("the first slot", n, first, (size_t)n, ROWS * KEYS);
    check_cells("the last slot", n, last, (size_t)n, ROWS * KEYS);
    if (n <= 50) {
        check_cells("pairs of slots", n, both, pairs, ROWS * KEYS);
        check_cells("the first slot of two rows", n, next, neighbours, (ROWS - 1) * KEYS);
    }
    free(drawn);
    free(next);
    free(both);
    free(last);
    free(first);
}

/* Keys are 1, 2, 3, ..: a fixed sequence, so this test gives the same numbers whatever the seed. */
static void sample_is_uniform(void **unused)
{
    static const struct {
        uint64_t n;
        uint32_t slots;
    } cases[] = {{5, 2},  {6, 2},   {8, 2},   {8, 5},    {12, 2},  {12, 12},
                 {33, 3}, {40, 17}, {257, 4}, {1000, 2}, {2049, 2}};
    struct kit kit;

    (void)unused;
    kit_open(&kit, &narrow_config, 0, FILE_BIT(SAMPLE));
    for (size_t i = 0; i < COUNT(cases) && !options.small; i++)
        check_uniformity(&kit, cases[i].n, cases[i].slots);
    kit_close(&kit);
}

/*
 * How many of S slots lie among K neighbouring positions has the hypergeometric law; its variance is where a
 * permutation of too few rounds shows first.  The estimate deviates by about sqrt(2 / draws).
 */
static void check_variance(const struct kit *kit, uint64_t n, uint32_t slots, uint64_t K)
{
    enum { ROWS = 500, KEYS = 20 };
    const double draws = ROWS * KEYS, S = slots, part = (double)K / (double)n;
    const double variance = S * part * (1 - part) * ((double)n - S) / ((double)n - 1);
    struct pair *drawn = take((size_t)ROWS * slots, sizeof *drawn);
    double sum = 0;
    struct job job;

    for (uint64_t key = 1; key <= KEYS; key++) {
        open_positions(&job, kit, ROWS, n);
        draw(&job, slots, key, drawn);
        for (uint32_t row = 0; row < ROWS; row++) {
            double hits = 0;
            for (uint32_t i = 0; i < slots; i++)
                hits += drawn[row * slots + i].index < K;
            sum += (hits - S * part) * (hits - S * part);
        }
        bench_clear();
    }
    at_case("variance: n=%" PRIu64 " S=%u K=%" PRIu64 ": %.4f times the right one", n, (unsigned)slots, K,
            sum / draws / variance);
    CHECK(fabs(sum / draws / variance - 1) < 4 * sqrt(2 / draws));
    free(drawn);
}

static void sample_counts_are_hypergeometric(void **unused)
{
    static const uint64_t sizes[] = {300, 2048, 4096, 5000, 65536};
    struct kit kit;

    (void)unused;
    kit_open(&kit, &narrow_config, 0, FILE_BIT(SAMPLE));
    for (size_t i = 0; i < COUNT(sizes) && !options.small; i++) {
        check_variance(&kit, sizes[i], 64, sizes[i] / 4);
        check_variance(&kit, sizes[i], 128, 128);
        if (sizes[i] <= 4096) /* half of all, where too few rounds show best: four of eight give twice the variance */
            check_variance(&kit, sizes[i], (uint32_t)(sizes[i] / 2), sizes[i] / 2);
    }
    kit_close(&kit);
}

/* ---- threshold ---- */

static void check_threshold_row(const struct job *job, uint32_t row, const struct pair *expected,
                                uint64_t count_start, uint32_t cursor_start, const profk_row *result,
                                const struct profk__row_state *state)
{
    if (!job_serves(job, row)) {
        CHECK(untouched_bytes(result, sizeof *result) && untouched_bytes(state, sizeof *state));
        return;
    }
    CHECK(state->tau_key == expected->key && state->tau_index == expected->index);
    CHECK(result->status == PROFK_ROW_PENDING && result->R == count_start);
    CHECK(state->cursor == cursor_start && state->base == cursor_start);
}

static void check_threshold(const struct kit *kit, uint64_t *state, enum service service, uint32_t slots,
                            size_t variety)
{
    enum { ROWS = 3 };
    struct rule rule = random_rule(kit->config.width_nbytes, state);
    struct pair *pairs = take((size_t)ROWS * slots, sizeof *pairs), *ranked = take((size_t)ROWS * slots, sizeof *ranked);
    struct profk__row_state states[ROWS];
    profk_row results[ROWS];
    struct job job;

    job_open(&job, kit, rule, service, ROWS, UINT64_C(1) << 31, 0, 1, 0);
    for (uint32_t row = 0; row < ROWS; row++)
        random_pairs(rule, kit->config.index_nbytes, state, variety, slots, pairs + row * slots);
    memcpy(ranked, pairs, (size_t)ROWS * slots * sizeof *pairs);
    for (uint32_t row = 0; row < ROWS; row++)
        sort_by_rank(ranked + row * slots, slots);
    at_job(&job, "threshold");
    for (uint32_t t = 1; t <= slots;
         t += slots <= 40 || t == slots ? 1 : 1 + (uint32_t)random_below(state, slots - t)) {
        uint64_t count_start = t % 2 == 0 ? 0 : UINT64_C(0x123456789) + t;
        struct profk__pairs sample = upload_pairs(&job, pairs, (size_t)ROWS * slots); /* the stage moves them about */
        CHECK_OK(profk__stage_threshold(&job.chain, &job.task, sample, slots, t, count_start, 3 * t));
        job_wait(&job);
        get_results(&job, results);
        get_states(&job, states);
        for (uint32_t row = 0; row < ROWS; row++)
            check_threshold_row(&job, row, &ranked[row * slots + t - 1], count_start, 3 * t, &results[row],
                                &states[row]);
    }
    free(pairs);
    free(ranked);
    bench_clear();
}

static void run_threshold(const struct kit *kit, uint64_t *state)
{
    static const uint32_t sizes[] = {1, 2, 7, 20, 300, 1500};

    for (size_t i = 0; i < COUNT(sizes) && !too_large(sizes[i], 20); i++) {
        check_threshold(kit, state, SERVE_ALL, sizes[i], 1 + random_below(state, sizes[i]));
        check_threshold(kit, state, SERVE_LIST, sizes[i], 1); /* all keys equal */
    }
    check_threshold(kit, state, SERVE_NONE, 5, 2);
}

static void threshold_is_the_pair_of_rank_t(void **unused)
{
    (void)unused;
    for_each_config(ALL_TURNS, 0, FILE_BIT(THRESHOLD), run_threshold);
}

/* ---- filter ---- */

/* A filter run: thresholds, one a row, and what goes with them. */
struct filter_run {
    const uint64_t *x;      /* rows of task.n elements, task.stride apart */
    const uint64_t *keys;   /* of x */
    const struct pair *tau; /* one a row */
    uint32_t capacity;
    uint64_t count_start;
    bool fold_last; /* the last piece is not the row's last */
};

/* Is what stands in a row's buffer made of different true hits? */
static void check_true_hits(const struct job *job, const struct filter_run *run, uint32_t row, struct pair *stored,
                            size_t count)
{
    sort_by_index(stored, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t at = stored[i].index - job->index_base;
        CHECK(at < job->task.n && stored[i].bits == run->x[row * job->task.stride + at]);
        CHECK(pair_reaches(&stored[i], &run->tau[row]));
        CHECK(i == 0 || stored[i].index > stored[i - 1].index);
    }
}

static uint64_t count_hits(const struct job *job, const struct filter_run *run, uint32_t row)
{
    const uint64_t *keys = run->keys + row * job->task.stride;
    uint64_t hits = 0;

    for (uint64_t i = 0; i < job->task.n; i++) {
        const struct pair pair = {0, keys[i], job->index_base + i};
        hits += pair_reaches(&pair, &run->tau[row]);
    }
    return hits;
}

/* As many different true hits as there are, or as fit, are exactly what is to be stored. */
static void check_filter_row(const struct job *job, const struct filter_run *run, uint32_t row,
                             const profk_row *result, const struct profk__row_state *state, struct pair *stored)
{
    uint64_t hits, room = run->count_start > 0 ? 0 : run->capacity;

    if (!job_serves(job, row)) {
        CHECK(untouched_bytes(result, sizeof *result) && untouched_bytes(state, sizeof *state));
        CHECK(untouched_pairs(job, stored, run->capacity));
        return;
    }
    hits = count_hits(job, run, row);
    CHECK(result->R + (state->cursor - state->base) == run->count_start + hits);
    CHECK(state->base <= run->capacity && (!run->fold_last || state->base == state->cursor));
    CHECK(result->status == PROFK_ROW_PENDING);
    room = hits < room ? hits : room;
    check_true_hits(job, run, row, stored, (size_t)room);
    CHECK(untouched_pairs(job, stored + room, run->capacity - (size_t)room));
}

/* The thresholds go through a sample of one. */
static void filter(struct job *job, const struct filter_run *run)
{
    uint32_t rows = job->task.rows;
    size_t room = (size_t)rows * run->capacity;
    profk_row *results = take(rows, sizeof *results);
    struct profk__row_state *states = take(rows, sizeof *states);
    struct pair *stored = take(room, sizeof *stored);
    struct profk__pairs sample = upload_pairs(job, run->tau, rows), candidates = new_pairs(job, room);

    CHECK_OK(profk__stage_threshold(&job->chain, &job->task, sample, 1, 1, run->count_start,
                                    run->count_start > 0 ? run->capacity : 0));
    for (uint32_t i = 0; i < job->piece_count; i++)
        CHECK_OK(profk__stage_filter(&job->chain, &job->task, &job->pieces[i],
                                     i + 1 == job->piece_count && !run->fold_last, run->capacity, candidates));
    job_wait(job);
    get_results(job, results);
    get_states(job, states);
    download_pairs(job, candidates, room, stored);
    for (uint32_t row = 0; row < rows; row++)
        check_filter_row(job, run, row, &results[row], &states[row], stored + (size_t)row * run->capacity);
    free(stored);
    free(states);
    free(results);
}

static uint64_t *make_keys(struct rule rule, const uint64_t *x, size_t count)
{
    uint64_t *keys = take(count, sizeof *keys);

    for (size_t i = 0; i < count; i++)
        keys[i] = host_key(rule, x[i]);
    return keys;
}

/* A threshold that few or many elements reach: an element's value, its index or one near. */
static struct pair random_tau(const struct job *job, const uint64_t *x, uint64_t *state)
{
    uint64_t n = job->task.n, at = random_below(state, n);
    uint64_t index = at + random_below(state, 3);
    struct pair tau = {x[at], 0, job->index_base + (index > 0 && index <= n ? index - 1 : 0)};

    set_keys(job->rule, &tau, 1);
    return tau;
}

/* Indices end with the greatest, or lie beyond 32 bits, or start with 0. */
static uint64_t random_base(const struct kit *kit, uint64_t n, uint64_t *state)
{
    if (random_below(state, 2) == 0)
        return 0;
    return kit->config.index_nbytes == 4 ? (UINT64_C(1) << 32) - n : (UINT64_C(1) << 32) - n / 2;
}

struct filter_shape {
    enum service service;
    uint32_t rows, lead, parts;
    uint64_t n, stride;
    size_t variety;
};

static void check_filter(const struct kit *kit, uint64_t *state, const struct filter_shape *shape, uint32_t capacity,
                         uint64_t count_start)
{
    struct rule rule = random_rule(kit->config.width_nbytes, state);
    size_t total = (size_t)((shape->rows - 1) * shape->stride + shape->n);
    uint64_t *x = take(total, sizeof *x), *keys;
    struct pair *tau = take(shape->rows, sizeof *tau);
    struct filter_run run = {.x = x, .tau = tau, .capacity = capacity, .count_start = count_start};
    struct job job;

    random_elements(rule.type, state, shape->variety, total, x);
    run.keys = keys = make_keys(rule, x, total);
    run.fold_last = random_below(state, 4) == 0;
    job_open(&job, kit, rule, shape->service, shape->rows, shape->n, shape->stride, 1, 0);
    job.index_base = random_base(kit, shape->n, state);
    job_load(&job, x, shape->lead, shape->parts, state);
    for (uint32_t row = 0; row < shape->rows; row++)
        tau[row] = random_tau(&job, x + row * shape->stride, state);
    at_job(&job, "filter");
    filter(&job, &run);
    free(tau);
    free(keys);
    free(x);
    bench_clear();
}

/* Row r starts r elements into the buffer: pieces start at every offset from a vector's boundary. */
static void run_filter_starts(const struct kit *kit, uint64_t *state)
{
    const uint32_t rows = options.small ? 17 : 68;
    const uint32_t step = options.small ? 7 : 1;

    for (uint32_t n = 1; n <= 100; n += step) {
        struct filter_shape shape = {SERVE_ALL, rows, 0, 1, n, 1, 1 + n % 9};
        check_filter(kit, state, &shape, n, 0);
    }
}

/* Around the sizes of vectors, blocks, tiles and parts; several pieces; little room; a count that starts high. */
static void run_filter_sizes(const struct kit *kit, uint64_t *state)
{
    const uint64_t vector = kit->spec.vector_width,
                   tile = kit->spec.wg[PROFK__FILE_FILTER] * kit->spec.filter_items * vector;
    const uint64_t sizes[] = {
        1, vector, 16 * vector, 32 * vector, tile, 4096, 4096 * (uint64_t)kit->spec.wg[PROFK__FILE_STREAM]};

    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (uint64_t n = sizes[i] > 1 ? sizes[i] - 1 : 1; n <= sizes[i] + 1; n++) {
            struct filter_shape shape = {SERVE_ALL, 2, (uint32_t)random_below(state, 68), 1, n, n + 3, 20};
            uint32_t little = (uint32_t)(1 + random_below(state, n));
            if (n > (options.small ? 300 : 50000))
                continue;
            check_filter(kit, state, &shape, (uint32_t)n, 0);
            shape.service = (enum service)random_below(state, SERVICES);
            shape.parts = 1 + (uint32_t)random_below(state, PIECES_MAX);
            shape.rows = 3;
            check_filter(kit, state, &shape, little, 0);
            shape.variety = (size_t)n;
            check_filter(kit, state, &shape, little, random_below(state, 4) == 0 ? little + UINT64_C(5000000000) : 0);
        }
    }
}

/* Two work-items of the stream shape have something to store: parts are of 4096 elements. */
static void run_filter_parts(const struct kit *kit, uint64_t *state)
{
    const uint32_t n = 4096 + 200;
    const struct filter_shape shape = {SERVE_ALL, 1, 3, 1, n, n, 20};

    if (kit->spec.filter_shape == PROFK_SHAPE_STREAM)
        check_filter(kit, state, &shape, n, 0);
}

/* All elements equal: exactly those up to the threshold's index pass, wherever that is. */
static void run_filter_ties(const struct kit *kit, uint64_t *state)
{
    const uint32_t n = options.small ? 70 : 500;
    struct rule rule = random_rule(kit->config.width_nbytes, state);
    uint64_t *x = take(n, sizeof *x), *keys;
    struct pair *tau = take(n, sizeof *tau);
    struct filter_run run = {.x = x, .tau = tau, .capacity = n};
    struct job job;

    random_elements(rule.type, state, 1, n, x);
    run.keys = keys = make_keys(rule, x, n);
    job_open(&job, kit, rule, SERVE_ALL, n, n, 0, 1, 0);
    job.index_base = random_base(kit, n, state);
    job_load(&job, x, 5, 2, state);
    for (uint32_t row = 0; row < n; row++)
        tau[row] = (struct pair){x[0], keys[0], job.index_base + row};
    at_job(&job, "filter of equal elements");
    filter(&job, &run);
    free(tau);
    free(keys);
    free(x);
    bench_clear();
}

static void run_filter(const struct kit *kit, uint64_t *state)
{
    run_filter_starts(kit, state);
    run_filter_sizes(kit, state);
    run_filter_parts(kit, state);
    run_filter_ties(kit, state);
}

static void tile_keeps_what_reaches(void **unused)
{
    (void)unused;
    for_each_config(TURN_0 | TURN_2, PROFK_SHAPE_TILE, FILE_BIT(THRESHOLD) | FILE_BIT(FILTER) | FILE_BIT(REFINE),
                    run_filter);
}

static void stream_keeps_what_reaches(void **unused)
{
    (void)unused;
    for_each_config(TURN_1 | TURN_3, PROFK_SHAPE_STREAM, FILE_BIT(THRESHOLD) | FILE_BIT(STREAM) | FILE_BIT(REFINE),
                    run_filter);
}

/* The special values of a type; of a byte all of its values. */
static size_t values_to_try(uint32_t type, uint64_t *state, uint64_t *ret)
{
    size_t count = 0;

    if (reference_type(type)->nbytes == 1 && !options.small) {
        for (; count < 256; count++)
            ret[count] = count;
        return count;
    }
    count = special_values(type, ret);
    random_elements(type, state, 8, 8, ret + count);
    count += 8;
    for (size_t i = 0; options.small && i < count; i += 5) /* every fifth: checkers are slow */
        ret[i / 5] = ret[i];
    return options.small ? (count + 4) / 5 : count;
}

/*
 * Each value alone in a block (PK_BLOCK vectors) of elements that come last, held against each value as threshold,
 * with the threshold's index before, amid and behind the blocks: a raw test that misses the value skips the block.
 */
static void check_soundness(const struct kit *kit, uint64_t *state, struct rule rule)
{
    const size_t block = 16 * (size_t)kit->spec.vector_width;
    uint64_t values[256], last = last_value(rule);
    size_t count = values_to_try(rule.type, state, values), n = count * block;
    uint32_t places = count < 100 && !options.small ? 3 : 1, rows = (uint32_t)count * places;
    uint64_t *x = take(n, sizeof *x), *keys;
    struct pair *tau = take(rows, sizeof *tau);
    struct filter_run run = {.x = x, .tau = tau, .capacity = (uint32_t)n};
    struct job job;

    for (size_t i = 0; i < n; i++)
        x[i] = last;
    for (size_t i = 0; i < count; i++)
        x[i * block + random_below(state, block)] = values[i];
    run.keys = keys = make_keys(rule, x, n);
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t place = places == 1 ? row % 3 : row / (uint32_t)count;
        uint64_t index = place == 0 ? 0 : place == 1 ? random_below(state, n) : n - 1;
        tau[row] = (struct pair){values[row % count], host_key(rule, values[row % count]), index};
    }
    job_open(&job, kit, rule, SERVE_ALL, rows, n, 0, 1, 0);
    job_load(&job, x, 0, 1, state);
    at_job(&job, "soundness");
    filter(&job, &run);
    free(tau);
    free(keys);
    free(x);
    bench_clear();
}

/* Vectors as wide as a CPU loads them, of four for 32 bits, and of one element. */
static const struct config soundness_configs[][4] = {
    {{1, 1, 4, 16, 8, 0}, {1, 2, 4, 16, 4, 0}, {1, 4, 4, 4, 4, 0}, {1, 8, 4, 8, 4, 0}},
    {{64, 1, 4, 1, 8, 0}, {64, 2, 4, 1, 8, 0}, {64, 4, 4, 1, 8, 0}, {64, 8, 4, 1, 8, 0}},
};

static void check_all_rules(const struct config *configs, uint32_t shape, uint32_t file)
{
    uint64_t state = inputs_mix(options.seed, 1000);

    for (size_t i = 0; i < 4; i++) {
        struct kit kit;
        kit_open(&kit, &configs[i], shape, file | FILE_BIT(THRESHOLD) | FILE_BIT(REFINE));
        for (uint32_t type = REFERENCE_FIRST_TYPE; type < REFERENCE_FIRST_TYPE + REFERENCE_TYPES; type++) {
            uint32_t policies = reference_type(type)->kind == REFERENCE_REAL ? 2 : 1;
            if (reference_type(type)->nbytes != configs[i].width_nbytes)
                continue;
            for (uint32_t j = 0; j < 3 * policies; j++)
                check_soundness(&kit, &state, (struct rule){type, j / policies, j % policies});
        }
        kit_close(&kit);
    }
}

static void stream_skips_nothing_that_reaches(void **unused)
{
    (void)unused;
    check_all_rules(soundness_configs[0], PROFK_SHAPE_STREAM, FILE_BIT(STREAM));
    if (options.long_run)
        check_all_rules(soundness_configs[1], PROFK_SHAPE_STREAM, FILE_BIT(STREAM));
}

static void tile_skips_nothing_that_reaches(void **unused)
{
    (void)unused;
    check_all_rules(soundness_configs[1], PROFK_SHAPE_TILE, FILE_BIT(FILTER));
    if (options.long_run)
        check_all_rules(soundness_configs[0], PROFK_SHAPE_TILE, FILE_BIT(FILTER));
}

/* ---- refine ---- */

enum { REFINE_ROWS = 8 };

/* Row r has R[r] elements that reached the threshold, some of them in launches that are folded already. */
static void set_counts(struct job *job, uint64_t *state, const uint64_t *R, uint32_t capacity)
{
    struct profk__row_state states[REFINE_ROWS];
    profk_row results[REFINE_ROWS];

    for (uint32_t row = 0; row < REFINE_ROWS; row++) {
        uint64_t folded =
            R[row] > UINT32_MAX ? R[row] - random_below(state, capacity) : random_below(state, R[row] + 1);
        uint32_t base = (uint32_t)(folded < capacity ? folded : capacity);
        memset(&states[row], CANARY, sizeof states[row]);
        states[row].base = base;
        states[row].cursor = base + (uint32_t)(R[row] - folded);
        results[row] = (profk_row){PROFK_ROW_PENDING, 99, folded};
    }
    job->task.states = upload_bytes(states, sizeof states);
    job->task.results = upload_bytes(results, sizeof results);
}

/* winners: task.k places. */
static void check_refine_row(const struct job *job, uint64_t R, const struct pair *candidates, uint32_t capacity,
                             bool approximate, const profk_row *result, const struct profk__row_state *state,
                             struct pair *winners)
{
    uint32_t k = job->task.k;
    bool certified = R >= k && R <= capacity;
    size_t count = (size_t)(R < capacity ? R : capacity), wanted = count < k ? count : k;
    struct pair *expected = take(count, sizeof *expected);

    wanted = certified || approximate ? wanted : 0;
    memcpy(expected, candidates, count * sizeof *expected);
    sort_by_rank(expected, count);
    sort_by_rank(winners, wanted);
    CHECK(same_pairs(winners, expected, wanted));
    CHECK(untouched_pairs(job, winners + wanted, k - wanted));
    CHECK(result->status == (certified ? PROFK_ROW_CERTIFIED : R < k ? PROFK_ROW_RECALL_MISS : PROFK_ROW_OVERFLOW));
    CHECK(result->R == R && result->attempts == 3 && state->winners == wanted);
    free(expected);
}

static void check_refine(const struct kit *kit, uint64_t *state, enum service service, uint32_t k, uint32_t capacity,
                         uint32_t approximate)
{
    const uint64_t R[REFINE_ROWS] = {
        0, k - 1, k, (k + capacity) / 2, capacity, capacity + 1, capacity + 1000, (UINT64_C(1) << 32) + k};
    const size_t room = (size_t)REFINE_ROWS * capacity;
    struct rule rule = random_rule(kit->config.width_nbytes, state);
    struct pair *pairs = take(room, sizeof *pairs), *winners = take((size_t)REFINE_ROWS * k, sizeof *winners);
    struct profk__pairs candidates, selected;
    struct profk__row_state states[REFINE_ROWS];
    profk_row results[REFINE_ROWS];
    struct job job;

    job_open(&job, kit, rule, service, REFINE_ROWS, UINT64_C(1) << 40, 0, k, 0);
    set_counts(&job, state, R, capacity);
    for (uint32_t row = 0; row < REFINE_ROWS; row++) {
        random_pairs(rule, kit->config.index_nbytes, state, 1 + random_below(state, capacity), capacity,
                     pairs + (size_t)row * capacity);
        for (uint64_t i = R[row]; i < capacity; i++) /* left by others */
            pairs[row * capacity + i] = (struct pair){first_value(rule), 0, 0};
    }
    candidates = upload_pairs(&job, pairs, room);
    selected = new_pairs(&job, (size_t)REFINE_ROWS * k);
    at_job(&job, "refine");
    CHECK_OK(profk__stage_refine(&job.chain, &job.task, candidates, capacity, 3, approximate, selected));
    job_wait(&job);
    get_results(&job, results);
    get_states(&job, states);
    download_pairs(&job, selected, (size_t)REFINE_ROWS * k, winners);
    for (uint32_t row = 0; row < REFINE_ROWS; row++) {
        if (job_serves(&job, row))
            check_refine_row(&job, R[row], pairs + (size_t)row * capacity, capacity, approximate != 0, &results[row],
                             &states[row], winners + (size_t)row * k);
        else
            CHECK(results[row].attempts == 99 && untouched_bytes(&states[row].winners, sizeof states[row].winners) &&
                  untouched_pairs(&job, winners + (size_t)row * k, k));
    }
    free(winners);
    free(pairs);
    bench_clear();
}

static void run_refine(const struct kit *kit, uint64_t *state)
{
    static const struct {
        uint32_t k, capacity;
    } cases[] = {{1, 1}, {1, 9}, {9, 9}, {5, 30}, {50, 130}, {130, 130}, {700, 1500}, {1, 3000}, {1025, 2500}};

    for (size_t i = 0; i < COUNT(cases) && !too_large(cases[i].capacity, 130); i++) {
        check_refine(kit, state, SERVE_ALL, cases[i].k, cases[i].capacity, i % 2);
        check_refine(kit, state, SERVE_LIST, cases[i].k, cases[i].capacity, (i + 1) % 2);
    }
    check_refine(kit, state, SERVE_NONE, 5, 30, 0);
}

static void refine_certifies_and_selects(void **unused)
{
    (void)unused;
    for_each_config(TURN_0, 0, FILE_BIT(REFINE), run_refine);
}

/* ---- collect ---- */

/* What collect adds up for the rows served. */
static struct profk__summary expected_summary(const struct job *job, const profk_row *results, uint32_t attempt,
                                              uint32_t falls_back, struct profk__summary s)
{
    uint32_t served = 0, missed = 0;

    for (uint32_t row = 0; row < job->task.rows; row++) {
        if (!job_serves(job, row))
            continue;
        served++;
        missed += results[row].status != PROFK_ROW_CERTIFIED;
        s.recall_misses += results[row].status == PROFK_ROW_RECALL_MISS;
        s.overflows += results[row].status == PROFK_ROW_OVERFLOW;
    }
    s.missed = missed;
    s.attempts += served;
    s.redraws += attempt > 1 ? served : 0;
    s.fallbacks += falls_back ? missed : 0;
    /* The slowest row of the call so far; a call starts with attempt 1 of its first slab. */
    uint32_t before = attempt == 1 && job->task.first_row == 0 ? 0 : s.last_attempts;
    uint32_t now = served == 0 ? 0 : falls_back && missed > 0 ? attempt + 1 : attempt;
    s.last_attempts = now > before ? now : before;
    return s;
}

/* The list: how many, then each missed row once, then nothing. */
static void check_list(const struct job *job, const profk_row *results, uint32_t missed, const uint64_t *list)
{
    bool *listed = take(job->task.rows, sizeof *listed);

    CHECK(list[0] == missed);
    for (uint32_t i = 1; i <= missed; i++) {
        CHECK(list[i] < job->task.rows && !listed[list[i]] && job_serves(job, (uint32_t)list[i]));
        CHECK(results[list[i]].status != PROFK_ROW_CERTIFIED);
        listed[list[i]] = true;
    }
    for (uint32_t i = missed + 1; i <= job->task.rows; i++)
        CHECK(list[i] == canary(sizeof(cl_uint)));
    free(listed);
}

static void check_collect(const struct kit *kit, uint64_t *state, enum service service, uint32_t rows,
                          uint32_t attempt, uint32_t falls_back)
{
    const struct rule rule = {PROFK_U8, PROFK_LARGEST, PROFK_NAN_LARGEST};
    const uint32_t worst = PROFK_ROW_CERTIFIED + (uint32_t)random_below(state, 3);
    const struct profk__summary before = {7, (uint32_t)random_below(state, 4), UINT64_C(1) << 40, 10, 20, 30, 40};
    const struct profk__summary nothing = {0};
    profk_row *results = take(rows, sizeof *results);
    uint64_t *list = take(rows + 1, sizeof *list);
    struct profk__summary after, expected;
    struct job job;

    job_open(&job, kit, rule, service, rows, 100, 0, 1, random_below(state, 2) * 5);
    bool starts = attempt == 1 && job.task.first_row == 0 && random_below(state, 2) == 0;
    for (uint32_t row = 0; row < rows; row++)
        results[row].status = PROFK_ROW_CERTIFIED + (uint32_t)random_below(state, worst - PROFK_ROW_CERTIFIED + 1);
    job.task.results = upload_bytes(results, rows * sizeof *results);
    cl_mem missed = upload_canaries((rows + 1) * sizeof(cl_uint)), summary = upload_bytes(&before, sizeof before);
    at_job(&job, "collect");
    CHECK_OK(profk__stage_collect(&job.chain, &job.task, attempt, falls_back, starts, missed, summary));
    job_wait(&job);
    download(missed, sizeof(cl_uint), rows + 1, list);
    download_bytes(summary, sizeof after, &after);
    expected = expected_summary(&job, results, attempt, falls_back, starts ? nothing : before);
    CHECK(memcmp(&after, &expected, sizeof after) == 0);
    check_list(&job, results, expected.missed, list);
    free(list);
    free(results);
    bench_clear();
}

static void run_collect(const struct kit *kit, uint64_t *state)
{
    static const uint32_t sizes[] = {1, 2, 30, 99, 300};

    for (size_t i = 0; i < COUNT(sizes); i++)
        for (uint32_t j = 0; j < 4 * SERVICES; j++)
            check_collect(kit, state, (enum service)(j % SERVICES), sizes[i], 1 + j / SERVICES % 2, j / SERVICES / 2);
}

static void collect_lists_and_counts(void **unused)
{
    (void)unused;
    for_each_config(TURN_0, 0, FILE_BIT(REFINE), run_collect);
}

/* ---- output: what sort and rows write ---- */

enum { VALUES_START = 3, INDICES_START = 2, RESULTS_START = 3, WANT_VALUES = 1, WANT_INDICES = 2 };

struct written {
    struct profk__output io;
    uint32_t wants, index_nbytes;
    size_t places; /* behind the start */
};

static struct written open_output(const struct job *job, uint32_t sort, uint32_t index, uint32_t wants, uint32_t pad)
{
    struct written out = {.wants = wants, .index_nbytes = index == PROFK_INDEX_U32 ? 4 : 8};

    out.places = (size_t)(job->task.first_row + job->task.rows) * job->task.k;
    out.io = (struct profk__output){
        .values_start = VALUES_START, .indices_start = INDICES_START, .sort = sort, .index = index, .pad = pad};
    if ((wants & WANT_VALUES) != 0)
        out.io.values = upload_canaries((VALUES_START + out.places) * job->kit->config.width_nbytes);
    if ((wants & WANT_INDICES) != 0)
        out.io.indices = upload_canaries((INDICES_START + out.places) * out.index_nbytes);
    return out;
}

/* Everything of one output buffer is as in expected, which covers the start, too. */
static void check_words(cl_mem buffer, uint32_t nbytes, size_t start, const uint64_t *expected, size_t places)
{
    uint64_t *got = take(start + places, sizeof *got);

    download(buffer, nbytes, start + places, got);
    for (size_t i = 0; i < start; i++)
        CHECK(got[i] == canary(nbytes));
    for (size_t i = 0; i < places; i++)
        CHECK(got[start + i] == expected[i]);
    free(got);
}

/* pairs: task.k places a row of the slab in their sequence, of which counts[row] are winners. */
static void check_output(const struct job *job, const struct written *out, const struct pair *pairs,
                         const uint32_t *counts)
{
    uint32_t k = job->task.k, width = job->kit->config.width_nbytes;
    uint64_t *values = take(out->places, sizeof *values), *indices = take(out->places, sizeof *indices);
    uint64_t all = UINT64_MAX >> (64 - 8 * out->index_nbytes);

    for (size_t i = 0; i < out->places; i++) {
        size_t row = i / k, place = i % k;
        bool served = row >= job->task.first_row && job_serves(job, (uint32_t)(row - job->task.first_row));
        row -= served ? (size_t)job->task.first_row : 0;
        bool won = served && place < counts[row], padded = served && !won && out->io.pad != 0;
        values[i] = won ? pairs[row * k + place].bits : padded ? 0 : canary(width);
        indices[i] = won ? pairs[row * k + place].index & all : padded ? all : canary(out->index_nbytes);
    }
    if (out->io.values != NULL)
        check_words(out->io.values, width, VALUES_START, values, out->places);
    if (out->io.indices != NULL)
        check_words(out->io.indices, out->index_nbytes, INDICES_START, indices, out->places);
    free(indices);
    free(values);
}

/* Winners as the caller wants them. */
static void sort_rows(struct pair *pairs, uint32_t k, const uint32_t *counts, uint32_t rows, uint32_t sort)
{
    for (uint32_t row = 0; row < rows; row++) {
        if (sort == PROFK_SORT_RANK)
            sort_by_rank(pairs + (size_t)row * k, counts[row]);
        else if (sort == PROFK_SORT_INDEX)
            sort_by_index(pairs + (size_t)row * k, counts[row]);
    }
}

/* ---- sort ---- */

enum { SORT_ROWS = 4 };

/* Row r has counts[r] winners, in index order if in_order. */
static struct profk__pairs upload_winners(struct job *job, uint64_t *state, const uint32_t *counts, bool in_order,
                                          struct pair *pairs)
{
    struct profk__row_state states[SORT_ROWS];
    uint32_t k = job->task.k;

    memset(states, CANARY, sizeof states);
    for (uint32_t row = 0; row < SORT_ROWS; row++) {
        struct pair *of_row = pairs + (size_t)row * k;
        states[row].winners = counts[row];
        random_pairs(job->rule, job->kit->config.index_nbytes, state, 1 + random_below(state, k), k, of_row);
        if (in_order)
            sort_by_index(of_row, counts[row]);
    }
    job->task.states = upload_bytes(states, sizeof states);
    return upload_pairs(job, pairs, (size_t)SORT_ROWS * k);
}

struct sort_case {
    enum service service;
    uint32_t k, sort, wants, pad;
    bool in_order;
};

static void check_sort(const struct kit *kit, uint64_t *state, const struct sort_case *c)
{
    const uint32_t counts[SORT_ROWS] = {c->k, c->k, c->k / 2, 0};
    struct rule rule = random_rule(kit->config.width_nbytes, state);
    uint64_t n = kit->config.index_nbytes == 4 ? UINT64_C(1) << 32 : UINT64_C(1) << 40;
    struct pair *pairs = take((size_t)SORT_ROWS * c->k, sizeof *pairs);
    uint64_t counts_nbytes = profk__stage_sort_counts_nbytes(&kit->spec, c->k, c->sort);
    struct profk__sort_scratch scratch;
    struct profk__pairs winners;
    struct job job;

    job_open(&job, kit, rule, c->service, SORT_ROWS, n, 0, c->k, 2);
    winners = upload_winners(&job, state, counts, c->in_order, pairs);
    job.task.sort_parts = 1 + (uint32_t)random_below(state, 4);
    scratch.pairs = new_pairs(&job, SORT_ROWS * (size_t)profk__stage_sort_scratch_pairs(&kit->spec, c->k, c->sort,
                                                                                        job.task.sort_parts));
    scratch.counts = upload_canaries((size_t)counts_nbytes * SORT_ROWS);
    struct written out = open_output(&job, c->sort, (uint32_t)random_below(state, 2), c->wants, c->pad);
    at_job(&job, "sort");
    CHECK_OK(profk__stage_sort(&job.chain, &job.task, winners, c->in_order, scratch, &out.io));
    job_wait(&job);
    sort_rows(pairs, c->k, counts, SORT_ROWS, c->sort); /* unsorted winners come out as they stand */
    check_output(&job, &out, pairs, counts);
    free(pairs);
    bench_clear();
}

static void run_sort(const struct kit *kit, uint64_t *state)
{
    const uint32_t local = profk__local_pairs(&kit->spec, PROFK__FILE_SORT);
    const uint32_t sizes[] = {1, 2, 3, 31, 100, local - 1, local, local + 1, 5000, 9001};

    for (size_t i = 0; i < COUNT(sizes) && !too_large(sizes[i], 100); i++) {
        for (uint32_t sort = PROFK_SORT_RANK; sort <= PROFK_SORT_NONE; sort++) {
            struct sort_case c = {SERVE_ALL, sizes[i], sort, WANT_VALUES | WANT_INDICES, (uint32_t)i % 2, false};
            check_sort(kit, state, &c);
            c.in_order = true;
            c.service = SERVE_LIST;
            c.wants = i % 2 == 0 ? WANT_VALUES : WANT_INDICES;
            check_sort(kit, state, &c);
        }
        struct sort_case nothing = {SERVE_NONE, sizes[i], PROFK_SORT_RANK, WANT_VALUES | WANT_INDICES, 1, false};
        check_sort(kit, state, &nothing);
    }
    if (options.small)
        check_sort(kit, state,
                   &(struct sort_case){SERVE_LIST, local + 1, PROFK_SORT_RANK, WANT_VALUES | WANT_INDICES, 1, false});
}

static void sort_orders_and_pads(void **unused)
{
    (void)unused;
    for_each_config(TURN_1, 0, FILE_BIT(SORT), run_sort);
}

/* ---- rows and full: selection from the input ---- */

/* The k winners of a row of x, by rank. */
static void select_on_host(const struct job *job, const uint64_t *x, struct pair *ret)
{
    size_t n = (size_t)job->task.n;
    struct pair *pairs = take(n, sizeof *pairs);

    for (size_t i = 0; i < n; i++)
        pairs[i] = (struct pair){x[i], host_key(job->rule, x[i]), job->index_base + i};
    sort_by_rank(pairs, n);
    memcpy(ret, pairs, job->task.k * sizeof *pairs);
    free(pairs);
}

enum { INPUT_ROWS = 3, INPUT_ROWS_MAX = 40 };

static void check_certified(const struct job *job, const profk_row *results, uint32_t attempts)
{
    for (uint32_t row = 0; row < job->task.rows; row++) {
        const profk_row *result = &results[row];
        if (job_serves(job, row))
            CHECK(result->status == PROFK_ROW_CERTIFIED && result->attempts == attempts && result->R == 0);
        else
            CHECK(untouched_bytes(result, sizeof *result));
    }
}

static void check_results(const struct job *job, uint32_t attempts, bool sets_winners)
{
    struct profk__row_state states[INPUT_ROWS_MAX];
    profk_row results[INPUT_ROWS_MAX];

    get_results(job, results);
    get_states(job, states);
    check_certified(job, results, attempts);
    for (uint32_t row = 0; row < job->task.rows && sets_winners; row++)
        CHECK(!job_serves(job, row) || states[row].winners == job->task.k);
}

/* The caller's row results, which go before the workspace's. */
static void check_callers_results(const struct job *job, cl_mem buffer)
{
    profk_row results[RESULTS_START + INPUT_ROWS_MAX + 2];
    const size_t first = RESULTS_START + (size_t)job->task.first_row;

    CHECK(first + job->task.rows <= COUNT(results));
    download_bytes(buffer, (first + job->task.rows) * sizeof *results, results);
    CHECK(untouched_bytes(results, first * sizeof *results));
    check_certified(job, results + first, 1);
    get_results(job, results);
    CHECK(untouched_bytes(results, job->task.rows * sizeof *results));
}

/* Winners that went to their buffer, in any sequence or in index order, as expected. */
static void check_winners(const struct job *job, struct profk__pairs winners, struct pair *expected, bool in_order)
{
    uint32_t k = job->task.k;
    struct pair *got = take((size_t)job->task.rows * k, sizeof *got);

    download_pairs(job, winners, (size_t)job->task.rows * k, got);
    for (uint32_t row = 0; row < job->task.rows; row++) {
        struct pair *of_row = got + (size_t)row * k;
        if (!job_serves(job, row)) {
            CHECK(untouched_pairs(job, of_row, k));
            continue;
        }
        if (!in_order)
            sort_by_index(of_row, k);
        sort_by_index(expected + (size_t)row * k, k);
        CHECK(same_pairs(of_row, expected + (size_t)row * k, k));
    }
    free(got);
}

/* Sequences of a row that no sort was asked for may vary: brings what came out and what should into index order. */
static void check_unsorted(const struct job *job, const struct written *out, struct pair *expected)
{
    uint32_t k = job->task.k;
    uint64_t *values = take(VALUES_START + out->places, sizeof *values);
    uint64_t *indices = take(INDICES_START + out->places, sizeof *indices);
    struct pair *got = take(k, sizeof *got);

    download(out->io.values, job->kit->config.width_nbytes, VALUES_START + out->places, values);
    download(out->io.indices, out->index_nbytes, INDICES_START + out->places, indices);
    for (uint32_t row = 0; row < job->task.rows; row++) {
        size_t from = (size_t)(job->task.first_row + row) * k;
        if (!job_serves(job, row))
            continue;
        for (uint32_t i = 0; i < k; i++)
            got[i] = (struct pair){values[VALUES_START + from + i], 0, indices[INDICES_START + from + i]};
        sort_by_index(got, k);
        sort_by_index(expected + (size_t)row * k, k);
        CHECK(same_pairs(got, expected + (size_t)row * k, k));
    }
    free(got);
    free(indices);
    free(values);
}

/* What the rows of an input look like beside their elements, which are random with ties. */
enum arrangement {
    SHUFFLED,
    ASCENDING, /* the best come last, and each goes before all that came earlier */
    DESCENDING,
    SAW, /* the best stand at every 64th place */
    NEAR, /* many differ in their lower bits only */
    APART, /* rows are scaled, flat, or hold few great elements: one tells little about the next */
    SPREAD, /* random in their lower bits, those that have one or two digits less */
    LYING, /* the same, but what a guess looks at is all above the rest, or below it */
};

struct input {
    uint32_t rows, parts;
    uint64_t n;
    uint32_t k;
    bool has_base;
    enum arrangement arrangement;
    uint32_t lines; /* vectors from which a guess is made */
};

/* Elements near one element or zero, but for their sign or for all bits, or each near the one before. */
static void bring_near(const struct input *input, const struct kit *kit, uint64_t *state, uint64_t *row)
{
    enum { NEAR_ONE, NEAR_ZERO, TWINS, HOWS };
    const uint32_t bits = 8 * kit->config.width_nbytes, bits_max = bits == 8 ? 7 : 14;
    const uint64_t all = UINT64_MAX >> (64 - bits);
    const uint64_t low = UINT64_C(1) << random_below(state, 1 + random_below(state, bits_max));
    const uint64_t others = random_below(state, 2) == 0 ? 16 : UINT64_MAX; /* one in so many is of another kind */
    const uint64_t how = random_below(state, HOWS), middle = how == NEAR_ONE ? row[0] : 0;
    const uint64_t turns[] = {0, 0, all ^ all >> 1, all}, turns_count = 1 + random_below(state, COUNT(turns));

    for (uint64_t i = 1; i < input->n; i++) {
        uint64_t turned = turns[random_below(state, turns_count)];
        if (how == TWINS && i % 2 != 0)
            row[i] = row[i - 1] ^ random_below(state, low);
        else if (how != TWINS && random_below(state, others) != 0)
            row[i] = middle ^ turned ^ random_below(state, low);
    }
}

static void arrange(const struct input *input, struct rule rule, uint64_t *row)
{
    size_t n = (size_t)input->n, to = 0;
    struct pair *pairs = take(n, sizeof *pairs);

    for (size_t i = 0; i < n; i++)
        pairs[i].bits = row[i];
    set_keys(rule, pairs, n);
    sort_by_rank(pairs, n);
    if (input->arrangement == SAW) {
        for (size_t first = 0; first < 64; first++)
            for (size_t i = first; i < n; i += 64)
                row[i] = pairs[to++].bits;
    }
    for (size_t i = 0; i < n && input->arrangement != SAW; i++)
        row[i] = pairs[input->arrangement == ASCENDING ? n - 1 - i : i].bits;
    free(pairs);
}

/* A row that is scaled, or all of whose elements are one, or that has about k elements before all others. */
static void bring_apart(const struct input *input, const struct kit *kit, struct rule rule, uint64_t *state,
                        uint64_t *row)
{
    enum { ALIKE, SCALED, FLAT, FEW, HOWS };
    const uint64_t how = random_below(state, HOWS), shift = 1 + random_below(state, 8 * kit->config.width_nbytes - 1);
    const uint64_t few = how == FLAT ? 0 : input->k + random_below(state, 3) - 1;

    if (how == FEW)
        arrange(input, rule, row);
    for (uint64_t i = 0; i < input->n; i++) {
        if (how == SCALED)
            row[i] >>= shift;
        if ((how == FLAT || how == FEW) && i >= few)
            row[i] = row[input->n - 1];
    }
}

/* Numbers that have their first eight or nine bits in common. */
static void bring_spread(const struct input *input, const struct kit *kit, uint64_t *state, uint64_t *row)
{
    const uint32_t bits = 8 * kit->config.width_nbytes, vector = bits == 64 ? 8 : 16;
    const uint64_t all = UINT64_MAX >> (64 - bits), low = all >> (8 + random_below(state, 2));
    const uint64_t middle = (all >> 2 ^ (random_below(state, 2) == 0 ? all ^ all >> 1 : 0)) & ~low;
    const uint64_t half = low ^ low >> 1, seen = random_below(state, 2) == 0 ? half : 0;
    const uint64_t step = input->lines != 0 ? input->n / input->lines : input->n;

    for (uint64_t i = 0; i < input->n; i++) {
        bool is_seen = i / step < input->lines && i % step < vector;
        row[i] = middle | (inputs_random(state) & low);
        if (input->arrangement == LYING)
            row[i] = (row[i] & ~half) | (is_seen ? seen : seen ^ half);
    }
}

/* A job over random rows, and their winners by rank. */
static struct pair *open_input(struct job *job, const struct kit *kit, uint64_t *state, enum service service,
                               const struct input *input)
{
    struct rule rule = random_rule(kit->config.width_nbytes, state);
    const uint64_t n = input->n;
    const size_t variety = random_below(state, 3) == 0 ? 1 : 1 + (size_t)random_below(state, 2 * n);
    const uint64_t stride = n + random_below(state, 5);
    uint64_t *x = take((size_t)(input->rows * stride), sizeof *x);
    struct pair *expected = take((size_t)input->rows * input->k, sizeof *expected);

    CHECK(input->rows <= INPUT_ROWS_MAX);
    random_elements(rule.type, state, variety, (size_t)(input->rows * stride), x);
    for (uint32_t row = 0; row < input->rows && input->arrangement != SHUFFLED; row++)
        if (input->arrangement == NEAR)
            bring_near(input, kit, state, x + row * stride);
        else if (input->arrangement == SPREAD || input->arrangement == LYING)
            bring_spread(input, kit, state, x + row * stride);
        else if (input->arrangement == APART)
            bring_apart(input, kit, rule, state, x + row * stride);
        else
            arrange(input, rule, x + row * stride);
    job_open(job, kit, rule, service, input->rows, n, stride, input->k, 2);
    job->index_base = input->has_base ? random_base(kit, n, state) : 0;
    job_load(job, x, (uint32_t)random_below(state, 9), input->parts, state);
    for (uint32_t row = 0; row < input->rows; row++)
        if (job_serves(job, row))
            select_on_host(job, x + row * stride, expected + (size_t)row * input->k);
    free(x);
    return expected;
}

static struct profk__piece next_piece(const void *from, uint64_t number, uint64_t *first)
{
    const struct job *job = from;

    *first += job->pieces[number].count;
    return job->pieces[number];
}

/* Rows that walks take are cut into parts, of any length from k on; there is room for a piece's winners and some. */
static void cut_rows(struct job *job, uint64_t *state)
{
    struct profk__task *task = &job->task;
    enum profk__kernel_id id = profk__stage_rows_kernel(task->spec, task->n, task->k);
    uint32_t parts = 1 + (uint32_t)random_below(state, 3);

    if (id != PROFK__KERNEL_walk && id != PROFK__KERNEL_columns)
        return;
    task->row_cut.groups = 1 + (uint32_t)random_below(state, 40);
    task->row_cut.parts = parts;
    task->row_cut.part_least = task->k + (uint32_t)random_below(state, task->n / 2 + 1);
    task->row_cut.kept = (parts + 1 + (uint32_t)random_below(state, 3)) * task->k;
}

static void check_rows(const struct kit *kit, uint64_t *state, enum service service, const struct input *input,
                       uint32_t sort, uint32_t wants)
{
    const uint32_t k = input->k;
    uint32_t counts[INPUT_ROWS_MAX];
    bool finishes = profk__stage_rows_finishes(&kit->spec, k) != 0;
    struct job job;
    struct pair *expected = open_input(&job, kit, state, service, input);
    struct profk__pieces pieces = {&job, input->parts, next_piece};
    struct written out = open_output(&job, sort, (uint32_t)random_below(state, 2), wants, 0);
    struct profk__pairs winners, other;

    for (uint32_t row = 0; row < input->rows; row++)
        counts[row] = k;
    cut_rows(&job, state);
    winners = new_pairs(&job, (size_t)input->rows * (finishes ? job.task.row_cut.kept : k));
    other = new_pairs(&job, (size_t)input->rows * job.task.row_cut.kept);
    if (finishes && random_below(state, 2) == 0) {
        out.io.row_results_start = RESULTS_START;
        out.io.row_results = upload_canaries((RESULTS_START + job.task.first_row + input->rows) * sizeof(profk_row));
    }
    at_job(&job, "rows");
    CHECK_OK(profk__stage_rows(&job.chain, &job.task, pieces, &out.io, winners, other));
    job_wait(&job);
    if (out.io.row_results != NULL)
        check_callers_results(&job, out.io.row_results);
    else
        check_results(&job, 1, !finishes);
    if (!finishes) {
        check_winners(&job, winners, expected, false);
    } else if (sort == PROFK_SORT_NONE) {
        check_unsorted(&job, &out, expected);
    } else {
        sort_rows(expected, k, counts, input->rows, sort);
        check_output(&job, &out, expected, counts);
    }
    free(expected);
    bench_clear();
}

static void run_rows(const struct kit *kit, uint64_t *state)
{
    const uint32_t local = profk__local_pairs(&kit->spec, PROFK__FILE_ROWS);
    const uint32_t sizes[] = {1, 2, 7, 100, 333, local, local + 1, 5000};

    for (size_t i = 0; i < COUNT(sizes) && !too_large(sizes[i], 100); i++) {
        const uint32_t n = sizes[i], ks[] = {1, (n + 1) / 2, n, 1 + (uint32_t)random_below(state, n)};
        for (size_t j = 0; j < COUNT(ks); j++) {
            uint32_t both = WANT_VALUES | WANT_INDICES, one = j % 2 == 0 ? WANT_VALUES : WANT_INDICES;
            const struct input input = {INPUT_ROWS, 1, n, ks[j], false, SHUFFLED, 0};
            check_rows(kit, state, SERVE_ALL, &input, PROFK_SORT_RANK, both);
            check_rows(kit, state, SERVE_LIST, &input, PROFK_SORT_INDEX, one);
            check_rows(kit, state, SERVE_ALL, &input, PROFK_SORT_NONE, both);
        }
    }
    check_rows(kit, state, SERVE_NONE, &(struct input){INPUT_ROWS, 1, 9, 4, false, SHUFFLED, 0}, PROFK_SORT_RANK,
               WANT_VALUES | WANT_INDICES);
    for (uint32_t i = 0; options.small && i < 2; i++) /* too long for local memory; the winners fit, or do not */
        check_rows(kit, state, SERVE_LIST,
                   &(struct input){INPUT_ROWS, 1, local + 1, i == 0 ? 5 : local + 1, false, SHUFFLED, 0}, PROFK_SORT_RANK,
                   WANT_VALUES | WANT_INDICES);
}

static void rows_selects_whole_rows(void **unused)
{
    (void)unused;
    for_each_config(TURN_2, 0, FILE_BIT(ROWS) | FILE_BIT(SOLO), run_rows);
}

/* Work-groups of one: many rows in a vector, and walks that run out of room, over whole rows, parts and pieces. */
static void run_solo(const struct kit *kit, uint64_t *state)
{
    static const uint32_t sizes[] = {1,   2,   3,   4,   5,   7,   8,   9,    15,   16,   17,   31,    33,   64,
                                     100, 127, 128, 129, 255, 256, 257, 511,  512,  513,  700,  1023,  1024, 1025,
                                     2047, 2048, 2049, 3000, 4111, 8192, 20011, 70001};
    const uint32_t most = profk__local_pairs(&kit->spec, PROFK__FILE_SOLO) / 2;
    uint32_t turn = 0;

    for (size_t i = 0; i < COUNT(sizes) && !too_large(sizes[i], 300); i++) {
        const uint32_t n = sizes[i], ks[] = {1, 4, 5, 8, 9, 64, n / 2 + 1, n - 1, n, most,
                                             1 + (uint32_t)random_below(state, n)};
        for (size_t j = 0; j < COUNT(ks); j++) {
            for (enum arrangement arrangement = SHUFFLED; arrangement <= SAW; arrangement++, turn++) {
                const uint32_t rows = n < 600 ? 1 + (uint32_t)random_below(state, INPUT_ROWS_MAX) : 2;
                const struct input input = {rows, 1 + turn % 2 * (uint32_t)random_below(state, PIECES_MAX), n, ks[j],
                                            false, arrangement, 0};
                enum profk__kernel_id id = profk__stage_rows_kernel(&kit->spec, n, ks[j]);
                if (ks[j] < 1 || ks[j] > n || (id != PROFK__KERNEL_columns && id != PROFK__KERNEL_walk))
                    continue;
                if (options.small && turn % 5 != 0)
                    continue;
                check_rows(kit, state, turn % 3 == 0 ? SERVE_LIST : SERVE_ALL, &input, turn % 3,
                           turn % 3 == 2 ? WANT_VALUES | WANT_INDICES : (uint32_t)WANT_VALUES << turn % 2);
            }
        }
    }
    check_rows(kit, state, SERVE_NONE, &(struct input){INPUT_ROWS, 1, 9, 4, false, SHUFFLED, 0}, PROFK_SORT_RANK,
               WANT_VALUES | WANT_INDICES);
}

/* Short rows in which the upper bits of keys do not tell (cl/briefs.clh). */
static void run_near(const struct kit *kit, uint64_t *state)
{
    const uint32_t count = (options.small ? 20u : 80u) * (kit->config.width_nbytes == 4 ? 12 : 1);

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t n = 1 + (uint32_t)random_below(state, i % 4 == 0 ? 8 : i % 4 == 1 ? 20 : options.small ? 70 : 512);
        const uint32_t most = n < 8 ? n : 8 + i % 2, k = 1 + (uint32_t)random_below(state, most < n ? most : n);
        const uint32_t rows = 1 + (uint32_t)random_below(state, i % 2 == 0 ? 2 : INPUT_ROWS_MAX);
        const struct input input = {rows, 1, n, k, false, i % 3 == 0 ? SHUFFLED : NEAR, 0};
        check_rows(kit, state, SERVE_ALL, &input, PROFK_SORT_RANK, WANT_VALUES | WANT_INDICES);
    }
}

/* Long rows that one work-item walks, each with a bound that the one before hints at, or misled by it. */
static void run_apart(const struct kit *kit, uint64_t *state)
{
    for (uint32_t i = 0; i < (options.small ? 8u : 60u); i++) {
        const uint32_t n = 600 + (uint32_t)random_below(state, options.small ? 100 : 3000);
        const uint32_t k = 1 + (uint32_t)random_below(state, n / 40);
        const uint32_t rows = 2 + (uint32_t)random_below(state, INPUT_ROWS_MAX - 1);
        const struct input input = {rows, 1, n, k, false, i % 4 == 0 ? SHUFFLED : APART, 0};
        check_rows(kit, state, SERVE_ALL, &input, PROFK_SORT_RANK, WANT_VALUES | WANT_INDICES);
    }
}

static void in_work_groups_of_one(enum profk__file file, void (*run)(const struct kit *kit, uint64_t *state))
{
    static const struct config solo_configs[] = {
        {1, 4, 4, 16, 1, 0}, {1, 1, 8, 16, 1, 0}, {1, 2, 4, 16, 1, 0}, {1, 8, 4, 8, 1, 0}};

    for (size_t i = 0; i < COUNT(solo_configs); i++) {
        uint64_t state = inputs_mix(options.seed, i);
        struct kit kit;
        kit_open(&kit, &solo_configs[i], 0, 1u << file);
        if (kit.spec.wg[file] == 1)
            run(&kit, &state);
        kit_close(&kit);
    }
}

static void rows_alone_select_whole_rows(void **unused)
{
    (void)unused;
    in_work_groups_of_one(PROFK__FILE_SOLO, run_solo);
}

static void rows_alone_tell_near_keys(void **unused)
{
    (void)unused;
    in_work_groups_of_one(PROFK__FILE_SOLO, run_near);
}

static void rows_alone_go_by_those_before(void **unused)
{
    (void)unused;
    in_work_groups_of_one(PROFK__FILE_SOLO, run_apart);
}

/* Rows of a job whose first digits a guess has found. */
static uint32_t rows_found(const struct job *job)
{
    struct profk__row_state states[INPUT_ROWS_MAX];
    uint32_t count = 0;

    get_states(job, states);
    for (uint32_t row = 0; row < job->task.rows; row++)
        count += job_serves(job, row) && states[row].found == 2;
    return count;
}

/* Runs the full selection of a job and frees what is expected of it; returns for how many rows a guess came true, of
 * which lines != 0 vectors of a row were looked at. */
static uint32_t full(struct job *job, uint32_t segments, uint32_t lines, struct pair *expected)
{
    uint32_t found;
    struct profk__pieces pieces = {job, job->piece_count, next_piece};
    struct profk__pairs winners = new_pairs(job, (size_t)INPUT_ROWS * job->task.k);
    struct profk__full_cut cut = profk__stage_full_cut_in(&job->kit->spec, job->task.n, job->task.k, segments);
    cl_mem histogram = upload_canaries(INPUT_ROWS * (size_t)profk__stage_full_histogram_nbytes(cut));
    cl_mem counts = upload_canaries(INPUT_ROWS * (size_t)profk__stage_full_counts_nbytes(cut));

    cut.lines = lines;
    at_job(job, "full");
    CHECK_OK(profk__stage_full(&job->chain, &job->task, pieces, cut, 5, histogram, counts, winners));
    job_wait(job);
    check_results(job, 5, true);
    check_winners(job, winners, expected, true);
    found = lines != 0 ? rows_found(job) : 0;
    free(expected);
    bench_clear();
    return found;
}

static void check_full(const struct kit *kit, uint64_t *state, enum service service, uint64_t n, uint32_t k,
                       uint32_t parts, uint32_t segments)
{
    struct job job;
    const struct input input = {INPUT_ROWS, parts, n, k, true, SHUFFLED, 0};
    struct pair *expected = open_input(&job, kit, state, service, &input);

    full(&job, segments, 0, expected);
}

/*
 * Each value alone in a block of 128 elements that come last, for ranks from the first value to the last one: a test of
 * a whole block that misses the value skips the block.
 */
static void check_full_soundness(const struct kit *kit, uint64_t *state, struct rule rule)
{
    enum { BLOCK = 128, RANKS = 12 };
    uint64_t values[256], last = last_value(rule);
    size_t count = values_to_try(rule.type, state, values), n = count * BLOCK;
    uint64_t *x = take(n, sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = last;
    for (size_t i = 0; i < count; i++)
        x[i * BLOCK + random_below(state, BLOCK)] = values[i];
    for (uint32_t rank = 0; rank <= RANKS; rank++) {
        struct job job;
        uint32_t k = 1 + (uint32_t)(rank * (count - 1) / RANKS);
        struct pair *expected = take((size_t)INPUT_ROWS * k, sizeof *expected);
        job_open(&job, kit, rule, SERVE_ALL, INPUT_ROWS, n, 0, k, 0); /* the same row again and again */
        job_load(&job, x, 0, 1, state);
        for (uint32_t row = 0; row < INPUT_ROWS; row++)
            select_on_host(&job, x, expected + (size_t)row * k);
        full(&job, 1 + rank % 3, 0, expected);
    }
    free(x);
}

static void full_skips_nothing_that_is_wanted(void **unused)
{
    uint64_t state = inputs_mix(options.seed, 2000);

    (void)unused;
    for (size_t i = 0; i < 4 && !options.small; i++) {
        struct kit kit;
        kit_open(&kit, &soundness_configs[0][i], 0, FILE_BIT(FULL));
        for (uint32_t type = REFERENCE_FIRST_TYPE; type < REFERENCE_FIRST_TYPE + REFERENCE_TYPES; type++) {
            uint32_t policies = reference_type(type)->kind == REFERENCE_REAL ? 2 : 1;
            for (uint32_t j = 0; j < 3 * policies && reference_type(type)->nbytes == kit.config.width_nbytes; j++)
                check_full_soundness(&kit, &state, (struct rule){type, j / policies, j % policies});
        }
        kit_close(&kit);
    }
}

static void run_full(const struct kit *kit, uint64_t *state)
{
    static const uint32_t sizes[] = {1, 2, 7, 100, 513, 3000};

    for (size_t i = 0; i < COUNT(sizes) && !too_large(sizes[i], 7); i++) {
        const uint32_t n = sizes[i], ks[] = {1, n, 1 + (uint32_t)random_below(state, n)};
        for (size_t j = 0; j < COUNT(ks); j++) {
            uint32_t parts = 1 + (uint32_t)random_below(state, PIECES_MAX);
            uint32_t segments = 1 + (uint32_t)random_below(state, 9);
            check_full(kit, state, SERVE_ALL, n, ks[j], 1, segments);
            check_full(kit, state, (enum service)(j % 2), n, ks[j], parts, segments);
        }
    }
    check_full(kit, state, SERVE_NONE, 9, 4, 2, 3);
    if (kit->config.wg == 1 && !options.small) { /* wide digits */
        check_full(kit, state, SERVE_ALL, 140001, 7, 1, 1);
        check_full(kit, state, SERVE_LIST, 140001, 70000, 1, 2);
        check_full(kit, state, SERVE_ALL, 140001, 5000, 3, 2);
    }
}

/* Guesses that come true, some that may, and some that do not: what is selected is the same. */
static void run_guesses(const struct kit *kit, uint64_t *state)
{
    const uint32_t vector = kit->config.width_nbytes == 8 ? 8 : 16, n_most = options.small ? 8000 : 30000;
    uint32_t found = 0;

    for (uint32_t i = 0; i < (options.small ? 9u : 60u) && kit->config.width_nbytes > 1; i++) {
        const uint32_t n = n_most / 2 + (uint32_t)random_below(state, n_most / 2);
        const uint32_t k = n / 50 + (uint32_t)random_below(state, i % 3 == 0 ? n / 20 : n / 2);
        const enum arrangement arrangement = i % 3 == 0 ? SPREAD : i % 3 == 1 ? LYING : i % 2 == 0 ? NEAR : SHUFFLED;
        const uint32_t lines = n / vector / (1 + (uint32_t)random_below(state, i % 3 == 0 ? 1 : 3));
        const struct input input = {INPUT_ROWS, 1, n, k, true, arrangement, lines};
        struct job job;
        struct pair *expected = open_input(&job, kit, state, (enum service)(i % 2), &input);
        uint32_t found_here = full(&job, 1 + (uint32_t)random_below(state, 9), input.lines, expected);
        found += arrangement == SPREAD ? found_here : 0;
    }
    CHECK(kit->config.width_nbytes == 1 || found > 0);
}

static void full_goes_by_guesses(void **unused)
{
    (void)unused;
    in_work_groups_of_one(PROFK__FILE_FULL, run_guesses);
}

static void full_selects_from_the_input(void **unused)
{
    (void)unused;
    for_each_config(TURN_3, 0, FILE_BIT(FULL), run_full);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_keys_order_values),
        cmocka_unit_test(sample_values_and_pieces),
        cmocka_unit_test(sample_is_a_permutation),
        cmocka_unit_test(sample_goes_by_row_number),
        cmocka_unit_test(sample_is_uniform),
        cmocka_unit_test(sample_counts_are_hypergeometric),
        cmocka_unit_test(threshold_is_the_pair_of_rank_t),
        cmocka_unit_test(tile_keeps_what_reaches),
        cmocka_unit_test(stream_keeps_what_reaches),
        cmocka_unit_test(tile_skips_nothing_that_reaches),
        cmocka_unit_test(stream_skips_nothing_that_reaches),
        cmocka_unit_test(refine_certifies_and_selects),
        cmocka_unit_test(collect_lists_and_counts),
        cmocka_unit_test(sort_orders_and_pads),
        cmocka_unit_test(rows_selects_whole_rows),
        cmocka_unit_test(rows_alone_select_whole_rows),
        cmocka_unit_test(rows_alone_tell_near_keys),
        cmocka_unit_test(rows_alone_go_by_those_before),
        cmocka_unit_test(full_selects_from_the_input),
        cmocka_unit_test(full_goes_by_guesses),
        cmocka_unit_test(full_skips_nothing_that_is_wanted),
    };
    int status;

    options = test_options_read(argc, argv, 20240229);
    status = bench_open(options.seed);
    if (status == 0)
        status = cmocka_run_group_tests(tests, NULL, NULL);
    bench_close();
    return status;
}
