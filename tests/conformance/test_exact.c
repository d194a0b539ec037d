/*
 * test_exact.c: what comes back is the top k, element by element, for every type, order, NaN policy, output order and
 * index width.
 *
 * Small n are crossed in full on both routes; larger ones follow a pairwise covering array.  By default a seeded
 * sample of both runs; --long runs all; --small runs some dozens of cases of at most 3000 elements, for checkers that
 * simulate the device.  The harness is tested too: it must find planted faults.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profk.h"
#include "support/covering.h"
#include "support/fixture.h"
#include "support/inputs.h"
#include "support/reference.h"

/* One case in CROSS_RATE of the full cross and one row in ROW_RATE of a covering array run by default. */
enum {
    CROSS_RATE = 61,
    ROW_RATE = 7,
    LONG_ARRAYS = 3,
    MOST_FAILURES = 10,
    CROSS_MAX_N = 257,
    LONGEST = (1 << 20) + 17
};

static struct fixture fixture;
static struct test_options options;

/* ---- the tests of the tests ---- */

/* Whether a must stand before b, straight from the definition. */
static bool stands_before(uint32_t order, uint32_t nan, double a, double b, size_t ia, size_t ib)
{
    const bool nan_last = nan == PROFK_NAN_LAST || order == PROFK_SMALLEST;

    if (order == PROFK_MAGNITUDE) {
        a = fabs(a);
        b = fabs(b);
    }
    if (isnan(a) != isnan(b))
        return (isnan(a) != 0) != nan_last;
    if (isnan(a) || a == b)
        return ia < ib;
    return order == PROFK_SMALLEST ? a < b : a > b;
}

/* As a double, which holds every value of the types of up to 32 bits. */
static double number(uint32_t type, const void *x, size_t i)
{
    const struct reference_type *facts = reference_type(type);
    const uint64_t bits = reference_bits(type, x, i);

    if (facts->kind == REFERENCE_REAL)
        return reference_real(type, bits);
    if (facts->kind == REFERENCE_SIGNED && bits >> (facts->nbytes * 8 - 1))
        return (double)bits - ldexp(1, (int)facts->nbytes * 8);
    return (double)bits;
}

/* An element's rank is the number of elements that stand before it. */
static void compare_with_definition(uint32_t type, uint32_t order, uint32_t nan, const void *x, size_t n, size_t k)
{
    uint32_t ranked[CROSS_MAX_N];

    assert_true(reference_rank(type, order, nan, x, n, k, ranked));
    for (size_t i = 0; i < n; i++) {
        size_t rank = 0;

        for (size_t j = 0; j < n; j++)
            rank += stands_before(order, nan, number(type, x, j), number(type, x, i), j, i);
        if (rank < k)
            assert_int_equal(ranked[rank], i);
    }
}

static void reference_follows_the_definition(void **state)
{
    const size_t n = 100;
    uint64_t x[CROSS_MAX_N];

    (void)state;
    for (uint32_t type = PROFK_F32; type <= PROFK_U64; type++)
        for (uint32_t d = 0; d < INPUTS_DISTRIBUTIONS && reference_type(type)->nbytes < 8; d++)
            for (uint32_t order = PROFK_LARGEST; order <= PROFK_MAGNITUDE; order++)
                for (uint32_t nan = PROFK_NAN_LARGEST; nan <= PROFK_NAN_LAST; nan++) {
                    inputs_fill(type, d, options.seed, n, n / 2, x);
                    compare_with_definition(type, order, nan, x, n, nan ? n : n / 3);
                }
}

static void reference_knows_the_corners_of_64_bits(void **state)
{
    static const int64_t integers[] = {INT64_MAX, INT64_MIN, -INT64_MAX, INT64_MAX - 1, INT64_MIN, 0};
    static const uint64_t naturals[] = {UINT64_MAX - 1, UINT64_MAX, (uint64_t)1 << 63, 0, UINT64_MAX, 1};
    static const double reals[] = {1.0, 1.0 + 0x1p-52, -0.0, 0.0, -(1.0 + 0x1p-52), 0x1p-1074};
    static const struct {
        uint32_t type, order;
        const void *x;
        uint32_t ranked[6];
    } rows[] = {
        {PROFK_I64, PROFK_LARGEST, integers, {0, 3, 5, 2, 1, 4}},
        {PROFK_I64, PROFK_SMALLEST, integers, {1, 4, 2, 5, 3, 0}},
        {PROFK_I64, PROFK_MAGNITUDE, integers, {1, 4, 0, 2, 3, 5}},
        {PROFK_U64, PROFK_LARGEST, naturals, {1, 4, 0, 2, 5, 3}},
        {PROFK_U64, PROFK_SMALLEST, naturals, {3, 5, 2, 0, 1, 4}},
        {PROFK_U64, PROFK_MAGNITUDE, naturals, {1, 4, 0, 2, 5, 3}},
        {PROFK_F64, PROFK_LARGEST, reals, {1, 0, 5, 2, 3, 4}},
        {PROFK_F64, PROFK_SMALLEST, reals, {4, 2, 3, 5, 0, 1}},
        {PROFK_F64, PROFK_MAGNITUDE, reals, {1, 4, 0, 5, 2, 3}},
    };
    uint32_t ranked[6];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(reference_rank(rows[i].type, rows[i].order, PROFK_NAN_LAST, rows[i].x, 6, 6, ranked));
        assert_memory_equal(ranked, rows[i].ranked, sizeof ranked);
    }
}

/* Writes the right answer of a rank-ordered case into the host side of the outputs. */
static void write_answer(struct fixture *f, const struct test_case *c, const uint32_t *ranked)
{
    const profk_row row = {PROFK_ROW_CERTIFIED, 1, c->k};

    assert_true(fixture_lay_out(f, c));
    for (size_t i = 0; i < c->k; i++) {
        reference_store(c->type, output_element(&f->out[OUT_VALUES], 0), i, reference_bits(c->type, f->x, ranked[i]));
        reference_store(c->index == PROFK_INDEX_U32 ? PROFK_U32 : PROFK_U64, output_element(&f->out[OUT_INDICES], 0),
                        i, ranked[i]);
    }
    memcpy(output_element(&f->out[OUT_ROW], 0), &row, sizeof row);
}

static void exchange(const struct output *out, size_t i, size_t j)
{
    unsigned char kept[8];

    memcpy(kept, output_element(out, i), out->element_nbytes);
    memcpy(output_element(out, i), output_element(out, j), out->element_nbytes);
    memcpy(output_element(out, j), kept, out->element_nbytes);
}

/* Plants fault number i into a right answer; false: no such fault. */
static bool plant(struct fixture *f, struct test_case *c, int i)
{
    struct output *values = &f->out[OUT_VALUES], *indices = &f->out[OUT_INDICES], *row = &f->out[OUT_ROW];

    switch (i) {
    case 0: /* a wrong index beside a right value */ output_element(indices, 3)[0] ^= 1; return true;
    case 1: /* an index off in its highest byte */
        output_element(indices, 3)[indices->element_nbytes - 1] ^= 0x80;
        return true;
    case 2: /* one bit of a value */ output_element(values, 5)[0] ^= 1; return true;
    case 3: /* the right set in a wrong order */
        exchange(values, 1, 2);
        exchange(indices, 1, 2);
        return c->sort != PROFK_SORT_NONE;
    case 4: /* an index twice */
        memcpy(output_element(indices, 4), output_element(indices, 3), indices->element_nbytes);
        memcpy(output_element(values, 4), output_element(values, 3), values->element_nbytes);
        return true;
    case 5: /* values that do not belong to their indices */ exchange(values, 0, 9); return true;
    case 6: values->bytes[values->offset * values->element_nbytes - 1] = 0; return true;
    case 7: output_element(values, 10)[0] = 0; return true;
    case 8: indices->bytes[0] = 0; return true;
    case 9: output_element(indices, 10 + indices->tail)[-1] = 0; return true;
    case 10: output_element(row, 1)[0] = 0; return true;
    case 11: /* the last one is missing */
        memset(output_element(indices, 9), 0xCC, indices->element_nbytes);
        memset(output_element(values, 9), 0xCC, values->element_nbytes);
        return true;
    case 12: /* an output was written that was not asked for */ values->wanted = false; return true;
    case 13: /* something was written although k is 0 */ c->k = 0; return true;
    default: return false;
    }
}

static void harness_finds_planted_faults(void **state)
{
    static uint64_t x[40];
    static struct fixture f;
    uint32_t ranked[10];

    (void)state;
    f.x = x;
    fixture_quiet(true);
    for (uint32_t sort = PROFK_SORT_RANK; sort <= PROFK_SORT_NONE; sort++)
        for (uint32_t i = 0; i < 2 * REFERENCE_TYPES; i++) {
            struct test_case c = {.type = 1 + i % 12, .sort = sort, .index = i / 12, .n = 40, .k = 10, .seed = i};

            for (int fault = -1; fault < 14; fault++) {
                inputs_fill(c.type, INPUTS_SORTED, i, 40, 10, x);
                assert_true(reference_rank(c.type, c.order, c.nan, x, 40, 10, ranked));
                for (size_t j = 0; sort == PROFK_SORT_INDEX && j < 10; j++)
                    ranked[j] = 30 + (uint32_t)j; /* of a sorted input the top ten are the last ten */
                c.k = 10;
                write_answer(&f, &c, ranked);
                if (fault < 0)
                    assert_true(fixture_judge(&f, &c, ranked));
                else if (plant(&f, &c, fault))
                    assert_false(fixture_judge(&f, &c, ranked));
            }
        }
    fixture_quiet(false);
    for (size_t i = 0; i < OUTPUTS; i++)
        free(f.out[i].bytes);
}

/* ---- the full cross of small n ---- */

static size_t small_n(size_t i)
{
    static const size_t above[] = {127, 128, 129, 255, 256, 257};

    return i < 70 ? i + 1 : above[i - 70];
}

/* The distinct ones of {0, 1, 2, n/2, n-1, n} that are at most n, ascending for n > 4. */
static size_t small_k(size_t n, size_t *k)
{
    const size_t wanted[] = {0, 1, 2, n / 2, n - 1, n};
    size_t count = 0;

    for (size_t i = 0; i < 6; i++) {
        bool is_new = wanted[i] <= n;

        for (size_t j = 0; j < count; j++)
            is_new = is_new && k[j] != wanted[i];
        if (is_new)
            k[count++] = wanted[i];
    }
    return count;
}

struct tally {
    uint64_t cases, run, failures;
};

/* Which of the cases run: all of them, or one in CROSS_RATE. */
static bool is_chosen(uint64_t number)
{
    return options.long_run || inputs_mix(options.seed, number) % CROSS_RATE == 0;
}

/* Output order, index width and route, for one input, order, policy and k. */
static void cross_outputs(struct test_case *c, const uint32_t *ranked, struct tally *tally)
{
    for (uint32_t i = 0; i < 12 && tally->failures < MOST_FAILURES; i++) {
        const uint64_t number = tally->cases++;
        const uint64_t chance = inputs_mix(options.seed, ~number);

        if (!is_chosen(number))
            continue;
        c->sort = i % 3;
        c->index = i / 3 % 2;
        c->route = i / 6 ? PROFK_ROUTE_FULL : PROFK_ROUTE_PROFK;
        c->seed = chance;
        c->unwanted = chance >> 32 & 7 ? 0 : chance >> 40 & 7; /* one call in eight leaves out some outputs */
        tally->run++;
        tally->failures += !fixture_run(&fixture, c, NULL, ranked, NULL);
    }
}

/* One input of n elements, every order, policy and k. */
static void cross_input(uint32_t type, size_t n, struct tally *tally)
{
    uint64_t x[CROSS_MAX_N];
    uint32_t ranked[CROSS_MAX_N];
    size_t k[6];
    const size_t k_count = small_k(n, k);

    for (uint32_t i = 0; i < 6; i++) {
        struct test_case c = {.type = type, .order = i % 3, .nan = i / 3, .n = n};
        const uint64_t seed = inputs_mix(options.seed, (uint64_t)type << 32 | n << 8 | i);

        c.distribution = (uint32_t)(seed % INPUTS_DISTRIBUTIONS);
        inputs_fill(type, c.distribution, seed, n, 1 + n / 2, x);
        assert_true(fixture_load(&fixture, type, x, n, seed));
        assert_true(reference_rank(type, c.order, c.nan, x, n, n, ranked));
        for (size_t j = 0; j < k_count; j++) {
            c.k = k[j];
            cross_outputs(&c, ranked, tally);
        }
    }
}

static void full_cross_of_small_n(void **state)
{
    struct tally tally = {0, 0, 0};

    (void)state;
    for (uint32_t type = PROFK_F32; type <= PROFK_U64; type++) {
        for (size_t i = 0; i < 76; i++)
            cross_input(type, small_n(i), &tally);
        fprintf(stderr, "cross, up to %s: %" PRIu64 " of %" PRIu64 " cases run, %" PRIu64 " failed\n",
                reference_type(type)->name, tally.run, tally.cases, tally.failures);
    }
    assert_int_equal(tally.failures, 0);
}

/* ---- the covering array of larger n ---- */

enum { F_N, F_K, F_DISTRIBUTION, F_ROUTE, F_TYPE, F_ORDER, F_NAN, F_SORT, F_INDEX, FACTORS };
enum { N_LEVELS = 38, K_LEVELS = 15 };

/* 2^9 - 1 .. 2^20 + 1, then the two that are no power of two. */
static size_t large_n(size_t level)
{
    if (level == 36)
        return 100000;
    if (level == 37)
        return LONGEST;
    return ((size_t)1 << (9 + level / 3)) + level % 3 - 1;
}

static size_t large_k(size_t level, size_t n)
{
    static const size_t fixed[] = {1, 15, 16, 17, 31, 32, 33, 255, 256, 257, 2047, 2048, 2049};

    return level < 13 ? fixed[level] : n - (level == 13);
}

static bool k_above_n(size_t f, size_t a, size_t g, size_t b)
{
    return f == F_N && g == F_K && large_k(b, large_n(a)) > large_n(a);
}

static struct covering make_array(uint64_t seed)
{
    struct covering c = {.factors = FACTORS,
                         .levels = {N_LEVELS, K_LEVELS, INPUTS_DISTRIBUTIONS, 2, REFERENCE_TYPES, 3, 2, 3, 2},
                         .forbidden = k_above_n};

    assert_true(covering_make(&c, seed));
    assert_int_equal(covering_faults(&c), 0);
    return c;
}

/* Fills, loads, ranks and runs one case. */
static bool run_alone(const struct test_case *c, const profk_tuning *forced, struct outcome *ret)
{
    void *x = malloc((size_t)c->n * reference_type(c->type)->nbytes);
    uint32_t *ranked = malloc((size_t)(c->k + 1) * sizeof *ranked);
    bool ok = false;

    if (!x || !ranked)
        complain(c, "no memory");
    else {
        inputs_fill(c->type, c->distribution, c->seed, (size_t)c->n, (size_t)c->k, x);
        ok = fixture_load(&fixture, c->type, x, (size_t)c->n, c->seed) &&
             reference_rank(c->type, c->order, c->nan, x, (size_t)c->n, (size_t)c->k, ranked) &&
             fixture_run(&fixture, c, forced, ranked, ret);
    }
    free(x);
    free(ranked);
    return ok;
}

static struct test_case row_case(const uint8_t *row, uint64_t seed)
{
    const size_t n = large_n(row[F_N]);
    const struct test_case c = {.type = PROFK_F32 + row[F_TYPE],
                                .order = row[F_ORDER],
                                .nan = row[F_NAN],
                                .sort = row[F_SORT],
                                .index = row[F_INDEX],
                                .route = row[F_ROUTE] ? PROFK_ROUTE_FULL : PROFK_ROUTE_PROFK,
                                .distribution = row[F_DISTRIBUTION],
                                .n = n,
                                .k = large_k(row[F_K], n),
                                .seed = seed};

    return c;
}

static size_t run_array(uint64_t seed)
{
    struct covering array = make_array(seed);
    size_t run = 0, failures = 0;

    for (size_t i = 0; i < array.rows && failures < MOST_FAILURES; i++) {
        const struct test_case c = row_case(array.row[i], inputs_mix(seed, i));

        if (!options.long_run && c.seed % ROW_RATE > 0)
            continue;
        run++;
        failures += !run_alone(&c, NULL, NULL);
    }
    fprintf(stderr, "covering array of seed %" PRIu64 ": %zu of %zu rows run, %zu failed\n", seed, run, array.rows,
            failures);
    free(array.row);
    return failures;
}

/* Each further array holds all pairs again in other company. */
static void covering_array_of_large_n(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < (options.long_run ? LONG_ARRAYS : 1); i++)
        assert_int_equal(run_array(options.seed + i), 0);
}

/* Every pattern of the 16-bit types and of 8-bit ones, all of them wanted: each is ranked against each other one. */
static void every_pattern_of_narrow_types(void **state)
{
    size_t failures = 0;

    (void)state;
    for (uint32_t type = PROFK_F32; type <= PROFK_U64; type++)
        for (uint32_t i = 0; i < 12 && reference_type(type)->nbytes <= 2; i++) {
            const struct test_case c = {.type = type,
                                        .order = i % 3,
                                        .nan = i / 3 % 2,
                                        .route = i / 6 ? PROFK_ROUTE_FULL : PROFK_ROUTE_PROFK,
                                        .distribution = INPUTS_PATTERNS,
                                        .n = 65536,
                                        .k = 65536,
                                        .seed = inputs_mix(options.seed, type * 12 + i)};

            if (options.long_run || i % 4 == type % 4)
                failures += !run_alone(&c, NULL, NULL);
        }
    assert_int_equal(failures, 0);
}

/* ---- few and small, for simulators ---- */

/* Some dozens of cases over every type, order, policy, output order, width, distribution and both routes. */
static void small_cases(void **state)
{
    static const size_t n[] = {1, 2, 7, 33, 64, 100, 129, 257, 511, 1000, 2049, 3000};
    size_t failures = 0;

    (void)state;
    fixture.snug = true;
    for (uint32_t i = 0; i < 48; i++) {
        const size_t length = n[(i + i / 12) % 12];
        const size_t k[] = {1, length / 2, length, length / 10, 17, length - 1};
        const struct test_case c = {.type = PROFK_F32 + i % 12,
                                    .order = i / 4 % 3,
                                    .nan = i / 3 % 2,
                                    .sort = (i + i / 12) % 3,
                                    .index = i / 2 % 2,
                                    .route = i / 12 % 2 ? PROFK_ROUTE_FULL : PROFK_ROUTE_PROFK,
                                    .distribution = (i * 5 + i / 12) % INPUTS_DISTRIBUTIONS,
                                    .n = length,
                                    .k = k[i % 6] < length ? k[i % 6] : length,
                                    .seed = inputs_mix(options.seed, i)};

        failures += !run_alone(&c, NULL, NULL);
    }
    assert_int_equal(failures, 0);
}

/* Work-groups of one, of no power of two, and smaller than any device's own choice. */
static void small_work_groups(void **state)
{
    static const uint32_t sizes[] = {1, 5, 48};

    (void)state;
    fixture.snug = true;
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t w = sizes[i / 2];
        const profk_tuning forced = {.struct_size = sizeof forced,
                                     .filter_wg = w,
                                     .sample_wg = w,
                                     .threshold_wg = w,
                                     .refine_wg = w,
                                     .sort_wg = w,
                                     .full_wg = w};
        const struct test_case c = {.type = i % 4 < 2 ? PROFK_F32 : PROFK_U16,
                                    .route = i % 2 ? PROFK_ROUTE_FULL : PROFK_ROUTE_PROFK,
                                    .distribution = INPUTS_SORTED,
                                    .n = 701,
                                    .k = 60,
                                    .seed = inputs_mix(options.seed, i)};

        assert_true(run_alone(&c, &forced, NULL));
    }
}

/* The ladder: six misses in a row, an overflow near the end of the counter, a buffer without a spare place. */
static void small_ladder(void **state)
{
    static const profk_tuning forced[] = {
        {.struct_size = sizeof forced[0], .S = 300, .t = 19, .M = 40},
        {.struct_size = sizeof forced[0], .S = 300, .t = 41, .M = 40},
        {.struct_size = sizeof forced[0], .S = 300, .t = 25, .M = 40, .count_start = UINT32_MAX - 7},
        {.struct_size = sizeof forced[0], .S = 300, .t = 20, .M = 20, .filter_wg = 3, .sort_wg = 3, .refine_wg = 3},
    };
    static const uint32_t attempts[] = {7, 7, 2, 1};

    (void)state;
    fixture.snug = true;
    for (uint32_t i = 0; i < 4; i++) {
        const struct test_case c = {.type = i % 2 ? PROFK_F32 : PROFK_U8,
                                    .route = PROFK_ROUTE_PROFK,
                                    .distribution = INPUTS_NORMAL,
                                    .n = 300,
                                    .k = 20,
                                    .seed = options.seed};
        struct outcome o;

        assert_true(run_alone(&c, &forced[i], &o));
        assert_int_equal(o.row.attempts, attempts[i]);
    }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_follows_the_definition), cmocka_unit_test(reference_knows_the_corners_of_64_bits),
        cmocka_unit_test(harness_finds_planted_faults),     cmocka_unit_test(full_cross_of_small_n),
        cmocka_unit_test(every_pattern_of_narrow_types),    cmocka_unit_test(covering_array_of_large_n),
    };
    const struct CMUnitTest small[] = {
        cmocka_unit_test(small_cases),
        cmocka_unit_test(small_work_groups),
        cmocka_unit_test(small_ladder),
    };

    return options.small ? cmocka_run_group_tests(small, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fixture_main(argc, argv, &options, &fixture, run_all);
}
