/*
 * test_reports.c: what users of other top-k implementations ran into, as small inputs with answers written by hand.
 *
 * A row of the table holds for every type it names, on both routes, in both index widths and all output orders, and
 * for every k up to the length of its answer (of long answers for some and all).  The project and number of the
 * report stand beside it.  Further reports need more than an input and follow as tests of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profk.h"
#include "support/fixture.h"
#include "support/inputs.h"
#include "support/reference.h"

#define T(name) (1u << PROFK_##name)
#define FLOATS (T(F32) | T(F16) | T(BF16) | T(F64))
#define SIGNED (T(I8) | T(I16) | T(I32) | T(I64))
#define UNSIGNED (T(U8) | T(U16) | T(U32) | T(U64))
#define ALL (FLOATS | SIGNED | UNSIGNED)

enum { MOST = 131072, BY_HAND = 99 };

static struct fixture fixture;
static struct test_options options;

struct report {
    const char *who;
    uint32_t types, order, nan;
    /*
     * Words: a number; nan and -nan, quiet ones; inf and -inf; #HEX, the element's bits; a..b, from a to b by steps
     * of one, up or down; word*count.
     */
    const char *input;
    const char *answer; /* indices by rank, written the same way */
};

#define L PROFK_LARGEST, PROFK_NAN_LARGEST
#define L_LAST PROFK_LARGEST, PROFK_NAN_LAST
#define S PROFK_SMALLEST, PROFK_NAN_LARGEST
#define S_LAST PROFK_SMALLEST, PROFK_NAN_LAST
#define A PROFK_MAGNITUDE, PROFK_NAN_LARGEST
#define A_LAST PROFK_MAGNITUDE, PROFK_NAN_LAST

static const struct report reports[] = {
    /* NaN, inf, signed zero */
    {"pytorch#16762: NaN among inf", FLOATS, L, "nan inf inf 3", "0 1 2 3"},
    {"pytorch#16762, smallest", FLOATS, S, "nan inf inf 3", "3 1 2 0"},
    {"pytorch#16762, NaN last", FLOATS, L_LAST, "nan inf inf 3", "1 2 3 0"},
    {"pytorch#16762, magnitude", FLOATS, A, "nan -inf inf -3", "0 1 2 3"},
    {"pytorch#16762, magnitude, NaN last", FLOATS, A_LAST, "nan -inf inf -3", "1 2 3 0"},
    {"pytorch#117617: the sign of a NaN", FLOATS, L, "1 nan -nan", "1 2 0"},
    {"pytorch#117617, the other way round", FLOATS, L, "-nan nan 1", "0 1 2"},
    {"pytorch#117617, smallest", FLOATS, S, "-nan nan 1", "2 0 1"},
    {"pytorch#117617, smallest, NaN last", FLOATS, S_LAST, "-nan -inf nan 1", "1 3 0 2"},
    {"pytorch#1810, #37278, cutorch#377, torch7#618: all NaN", FLOATS, L, "nan*5", "0..4"},
    {"the same, NaN last", FLOATS, L_LAST, "-nan nan*2 -nan*2", "0..4"},
    {"the same, smallest, NaN last", FLOATS, S_LAST, "nan*5", "0..4"},
    {"tt-metal#56626: a negative NaN behind numbers", FLOATS, L, "1..64 -nan", "64 63..0"},
    {"tt-metal#56626: and behind -inf, NaN last", FLOATS, L_LAST, "-nan -inf 1..4", "5..1 0"},
    {"raft#1822: indices of inf", FLOATS, L, "-inf*10 1", "10 0..9"},
    {"raft#1822, smallest", FLOATS, S, "inf*10 1", "10 0..9"},
    {"flashinfer#4621, onnxruntime#32404: real -inf is not padding", FLOATS, L, "-inf*3 2 -inf*40 1 -inf*20",
     "3 44 0..2 4..6"},
    {"the same with the least integer", T(I8), L, "-128*3 2 -128*40 1 -128*20", "3 44 0..2 4..6"},
    {"jax#6443, jax#2124: zeros of both signs", FLOATS, L, "-0 0 -0", "0 1 2"},
    {"jax#6443, smallest", FLOATS, S, "0 -0 0 -0", "0..3"},
    {"jax#6443, magnitude", FLOATS, A, "-0 0 -1 -0", "2 0 1 3"},
    {"cudf#24214: canonical NaN and zeros", FLOATS, L, "-0 1 nan 0 -nan -1 -0", "2 4 1 0 3 6 5"},
    {"numpy#16006, cupy#3324, onnx#7754: NaN last when ascending", FLOATS, S, "2 nan 1 -inf inf", "3 2 0 4 1"},
    {"signalling NaN and payloads are NaN", T(F32), L, "inf #7F800001 #FFC12345 #7FFFFFFF #FF800001", "1..4 0"},
    {"signalling NaN and payloads are NaN", T(F64), L,
     "inf #7FF0000000000001 #FFF8000012345678 #7FFFFFFFFFFFFFFF #FFF0000000000001", "1..4 0"},
    {"signalling NaN and payloads are NaN", T(F16), S_LAST, "#7C01 #FE00 inf #7FFF #FC01 -inf", "5 2 0 1 3 4"},
    {"denormals are not flushed to zero", FLOATS, L, "0 #1 -0 #2 #3", "4 3 1 0 2"},
    {"denormals are not flushed to zero, negative", T(F32), S, "0 #80000001 #80000003 #80000002", "2 3 1 0"},
    {"neighbours of the largest number", T(F32), L, "#7F7FFFFE #7F7FFFFF inf #7F7FFFFE", "2 1 0 3"},

    /* every pattern of 16 bits */
    {"raft#2796, torch-xpu-ops#1147: negative bf16, all patterns", T(BF16), L, "#0..#FFFF",
     "32641..32767 65409..65535 32640..1 0 32768 32769..65408"},
    {"the same, f16", T(F16), L, "#0..#FFFF", "31745..32767 64513..65535 31744..1 0 32768 32769..64512"},
    {"the same, f16, smallest", T(F16), S, "#0..#FFFF", "64512..32769 0 32768 1..31744 31745..32767 64513..65535"},
    {"the same, bf16, NaN last", T(BF16), L_LAST, "#0..#FFFF",
     "32640..1 0 32768 32769..65408 32641..32767 65409..65535"},

    /* ties and order */
    {"pytorch#27542: first of two equals", ALL, L, "1 2 5 4 5", "2 4 3 1 0"},
    {"pytorch#127196: the same", ALL, L, "3 2 3 2 1 1", "0 2 1 3 4 5"},
    {"pytorch#127196, smallest", ALL, S, "3 2 3 2 1 1", "4 5 1 3 0 2"},
    {"onnxruntime#3391: all zeros", ALL, L, "0*1024", "0..9"},
    {"onnxruntime#3391, smallest", ALL, S, "0*1024", "0..9"},
    {"cccl#6387, #6391, #9255, #9354: ties at the border", ALL, L, "10 8 8 8 6 5", "0 1 2"},
    {"the same with the border elsewhere", ALL, L, "5 6 8 8 8 10", "5 2 3 4 1 0"},
    {"arrayfire#394: a stable order of equal keys", ALL, L, "1 0 1 0 1 0 1 0 2 1", "8 0 2 4 6 9 1 3 5 7"},
    {"magnitude takes both signs", FLOATS | SIGNED, A, "-3 3 2 -4 4 0", "3 4 0 1 2 5"},
    {"the most negative integer has a magnitude", T(I8), A, "127 -128 -127 -128 0", "1 3 0 2 4"},
    {"the most negative integer has a magnitude", T(I64), A, "#7FFFFFFFFFFFFFFF #8000000000000000 1", "1 0 2"},
    {"integers are not compared as floats", T(I64) | T(U64), L, "#20000000000000 #20000000000001 #1FFFFFFFFFFFFF",
     "1 0 2"},
    {"unsigned integers are not signed", T(U32), L, "#7FFFFFFF #80000000 #FFFFFFFF 0", "2 1 0 3"},
    {"signed integers are not unsigned", T(I32), L, "#7FFFFFFF #80000000 #FFFFFFFF 0", "0 3 2 1"},
    {"flashinfer#3529: all zeros, the shape of the report", T(F32) | T(F16), L, "0*131072", "0..127"},

    /* sizes */
    {"AcceleratedKernels.jl#97, arrayfire#663, compute#83: 31 elements", ALL, L, "31..1", "0..30"},
    {"the same, 32", ALL, L, "1..32", "31..0"},
    {"the same, 33", ALL, L, "1..33", "32..0"},
    {"the same, 34", ALL, S, "34..1", "33..0"},
    {"arrayfire#2283: k above 256", T(F32) | T(U16) | T(I64), L, "1..1100", "1099..0"},
    {"faiss#2103, #4008, #1384: k about 2048 and 4096", T(F32) | T(I32), S, "5000..1", "4999..903"},
    {"topk of one", ALL, L, "7", "0"},
};

#undef L
#undef L_LAST
#undef S
#undef S_LAST
#undef A
#undef A_LAST

/* ---- the little language of the table ---- */

/* Reads a number, NaN or bits at *at and moves behind it.  is_bits tells which of the two it was. */
static double read_number(const char **at, bool *is_bits, uint64_t *bits)
{
    char *end;
    double real = 0;

    *is_bits = **at == '#';
    if (*is_bits)
        *bits = strtoull(*at + 1, &end, 16);
    else if (strncmp(*at, "nan", 3) == 0 || strncmp(*at, "-nan", 4) == 0) {
        real = **at == '-' ? -(double)NAN : (double)NAN;
        end = (char *)(uintptr_t)strstr(*at, "nan") + 3;
    } else if (strncmp(*at, "inf", 3) == 0 || **at == '-') /* strtod would take "1..2" for 1. */
        real = strtod(*at, &end);
    else
        real = (double)strtol(*at, &end, 10);
    assert_true(end != *at);
    *at = end;
    return real;
}

static uint64_t to_bits(uint32_t type, double real)
{
    const struct reference_type *facts = reference_type(type);
    uint64_t bits;

    if (facts->kind != REFERENCE_REAL)
        return (uint64_t)(int64_t)real;
    bits = inputs_encode(type, real);
    if (isnan(real)) /* encode makes positive NaN where the type is narrow */
        bits = (bits & ~((uint64_t)1 << (facts->nbytes * 8 - 1))) | (uint64_t)(signbit(real) != 0)
                                                                        << (facts->nbytes * 8 - 1);
    return bits;
}

/* Writes what text says as elements of type; returns how many. */
static size_t read_words(const char *text, uint32_t type, void *x)
{
    size_t n = 0;

    while (*text) {
        bool is_bits;
        uint64_t bits = 0, last = 0;
        double real = read_number(&text, &is_bits, &bits), end = 0;
        size_t count = 1;

        if (strncmp(text, "..", 2) == 0) {
            text += 2;
            end = read_number(&text, &is_bits, &last);
            count = 1 + (is_bits ? (size_t)(last - bits) : (size_t)fabs(end - real));
            for (size_t i = 0; i < count; i++)
                reference_store(type, x, n++,
                                is_bits ? bits + i : to_bits(type, end > real ? real + (double)i : real - (double)i));
        } else {
            if (*text == '*')
                count = strtoul(text + 1, (char **)(uintptr_t)&text, 10);
            for (size_t i = 0; i < count; i++)
                reference_store(type, x, n++, is_bits ? bits : to_bits(type, real));
        }
        assert_true(n <= MOST && (*text == ' ' || *text == 0));
        text += *text == ' ';
    }
    return n;
}

static void the_words_are_read_as_meant(void **state)
{
    static const uint32_t right[] = {3, 2, 1, 7, 7, 0x7F800001, 0x80000000, 0x7FC00000, 0xFFC00000, 0xFF800000};
    uint32_t got[16];
    float one;

    (void)state;
    assert_int_equal(read_words("3..1 7*2 #7F800001 #80000000 #7FC00000 #FFC00000 #FF800000", PROFK_U32, got), 10);
    assert_memory_equal(got, right, sizeof right);
    assert_int_equal(read_words("nan -nan -inf -0 1", PROFK_F32, got), 5);
    assert_memory_equal(got, &right[7], 3 * sizeof *got);
    assert_int_equal(got[3], right[6]);
    memcpy(&one, &got[4], sizeof one);
    assert_true(one > 0.99F && one < 1.01F);
    assert_int_equal(read_words("#7FC0..#7FC2", PROFK_BF16, got), 3);
    assert_int_equal(got[0], 0x7FC17FC0);
}

/* ---- the table ---- */

/* All output orders, widths and routes of one k. */
static size_t run_outputs(const struct report *r, uint32_t type, size_t n, size_t k, const uint32_t *answer)
{
    size_t failures = 0;

    for (uint32_t i = 0; i < 12; i++) {
        const struct test_case c = {.type = type,
                                    .order = r->order,
                                    .nan = r->nan,
                                    .sort = i % 3,
                                    .index = i / 3 % 2,
                                    .route = i / 6 ? PROFK_ROUTE_FULL : PROFK_ROUTE_PROFK,
                                    .distribution = BY_HAND,
                                    .n = n,
                                    .k = k,
                                    .seed = inputs_mix(options.seed, k * 12 + i)};

        if (!options.long_run && k > 1 && (i + k) % 4 > 0) /* a quarter of all by default */
            continue;
        if (!fixture_run(&fixture, &c, NULL, answer, NULL)) {
            fprintf(stderr, "    in %s\n", r->who);
            failures++;
        }
    }
    return failures;
}

static size_t run_report(const struct report *r, uint32_t type)
{
    static uint64_t x[MOST];
    static uint32_t answer[MOST];
    const size_t n = read_words(r->input, type, x);
    const size_t most = read_words(r->answer, PROFK_U32, answer);
    size_t failures = 0;

    assert_true(fixture_load(&fixture, type, x, n, n));
    for (size_t k = 1; k <= most; k++)
        if (most <= 64 || k == 1 || k == 257 || (k >= 2047 && k <= 2049) || k == most)
            failures += run_outputs(r, type, n, k, answer);
    return failures;
}

static void reports_have_their_right_answer(void **state)
{
    size_t failures = 0;

    (void)state;
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
        for (uint32_t type = PROFK_F32; type <= PROFK_U64; type++)
            if (reports[i].types >> type & 1)
                failures += run_report(&reports[i], type);
    assert_int_equal(failures, 0);
}

/* ---- reports that need more than an input ---- */

/* A case of n elements; the caller frees both. */
static void prepare(const struct test_case *c, void **x_ret, uint32_t **ranked_ret)
{
    const size_t n = (size_t)c->n, k = (size_t)c->k;

    *x_ret = malloc((n + 1) * reference_type(c->type)->nbytes);
    *ranked_ret = malloc((k + 1) * sizeof **ranked_ret);
    assert_true(*x_ret && *ranked_ret);
    inputs_fill(c->type, c->distribution, c->seed, n, k, *x_ret);
    assert_true(reference_rank(c->type, c->order, c->nan, *x_ret, n, k, *ranked_ret));
    assert_true(fixture_load(&fixture, c->type, *x_ret, n, c->seed));
}

/* pytorch#49205, #91878, tensorflow#29971: k = 0 succeeds and writes nothing but the row. */
static void nothing_wanted_is_no_error(void **state)
{
    static const uint64_t n[] = {0, 5, 5000};
    static const float x[5000] = {1, 2, 3, 4, 5};

    (void)state;
    for (uint32_t i = 0; i < 12; i++) {
        const struct test_case c = {.type = PROFK_F32, .sort = i % 3, .n = n[i % 3], .route = i / 3, .seed = i << 8};

        if (c.route == PROFK_ROUTE_ROWS)
            continue;
        assert_true(fixture_load(&fixture, c.type, x, (size_t)c.n, i));
        assert_true(fixture_run(&fixture, &c, NULL, NULL, NULL));
    }
}

/* onnxruntime#13876, flashinfer#5185, faiss#1731: k above n is refused before anything happens. */
static void k_above_n_is_refused(void **state)
{
    profk_plan *plan = (profk_plan *)&fixture;
    profk_problem p;

    (void)state;
    for (uint64_t n = 0; n < 6; n++) {
        profk_problem_init(&p, sizeof p, PROFK_F32, n, n + 1);
        assert_int_equal(profk_plan_create(fixture.ctx, &p, NULL, PROFK_ESTIMATE, &plan), PROFK_ERR_ARGUMENT);
        assert_null(plan);
        assert_true(strlen(profk_context_message(fixture.ctx)) > 0);
    }
}

/* tensorflow#109523, pytorch#173622, jax#29003: sizes that need 64 bits; a plan alone needs no data. */
static void plans_of_huge_inputs(void **state)
{
    static const uint64_t n[] = {INT32_MAX, (uint64_t)INT32_MAX + 18, UINT32_MAX, (uint64_t)UINT32_MAX + 1,
                                 ((uint64_t)1 << 40) + 1};

    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (uint32_t index = PROFK_INDEX_U64; index <= PROFK_INDEX_U32; index++) {
            const bool is_possible = index == PROFK_INDEX_U64 || n[i] <= UINT32_MAX;
            profk_info info = {.struct_size = sizeof info};
            profk_plan *plan = NULL;
            profk_problem p;

            profk_problem_init(&p, sizeof p, PROFK_F64, n[i], 2048);
            p.index = index;
            assert_int_equal(profk_plan_create(fixture.ctx, &p, NULL, PROFK_ESTIMATE, &plan),
                             is_possible ? PROFK_OK : PROFK_ERR_ARGUMENT);
            if (!is_possible)
                continue;
            assert_int_equal(profk_plan_info(plan, &info), PROFK_OK);
            if (n[i] >> 33 == 0) { /* beyond, M grows with n: at 2^40 half a gigabyte, which may be above the limit */
                assert_int_equal(info.route, PROFK_ROUTE_PROFK);
                assert_true(info.workspace_nbytes < (uint64_t)16 << 20);
            }
            profk_plan_destroy(plan);
        }
}

/* pytorch#88227, #133542, torchtitan#3336: a hundred runs give the same bytes, whatever ran between them. */
static void a_hundred_runs_agree(void **state)
{
    const struct test_case c = {.type = PROFK_BF16,
                                .sort = PROFK_SORT_RANK,
                                .route = PROFK_ROUTE_PROFK,
                                .n = 5000,
                                .k = 300,
                                .distribution = INPUTS_RELU,
                                .seed = options.seed};
    struct test_case other = c;
    profk_plan *plan = fixture_plan(&fixture, &c, NULL), *between = NULL;
    uint32_t *ranked;
    void *x;

    (void)state;
    other.route = PROFK_ROUTE_FULL;
    other.order = PROFK_SMALLEST;
    between = fixture_plan(&fixture, &other, NULL);
    assert_true(plan && between);
    prepare(&c, &x, &ranked);
    for (int i = 0; i < 100; i++) {
        assert_true(fixture_execute(&fixture, plan, &c, ranked, NULL));
        if (i % 10 == 0) {
            uint32_t *others = malloc((size_t)other.k * sizeof *others);

            assert_true(others && reference_rank(other.type, other.order, other.nan, x, (size_t)other.n,
                                                 (size_t)other.k, others));
            assert_true(fixture_execute(&fixture, between, &other, others, NULL));
            free(others);
        }
    }
    profk_plan_destroy(plan);
    profk_plan_destroy(between);
    free(x);
    free(ranked);
}

/* kekzl/imp#1144: the second call of a plan writes its own results over 0xCC, not the first call's. */
static void a_second_call_with_other_data(void **state)
{
    static const uint32_t distributions[] = {INPUTS_NORMAL, INPUTS_NAN, INPUTS_EQUAL, INPUTS_REVERSED, INPUTS_INF};
    static const uint32_t routes[] = {PROFK_ROUTE_PROFK, PROFK_ROUTE_FULL};

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct test_case c = {.type = PROFK_F32, .route = routes[i], .n = 4097, .k = 33, .seed = 3 * options.seed};
        profk_plan *plan = fixture_plan(&fixture, &c, NULL);

        assert_non_null(plan);
        for (size_t j = 0; j < 5; j++) {
            uint32_t *ranked;
            void *x;

            c.distribution = distributions[j];
            c.seed = inputs_mix(options.seed, j);
            prepare(&c, &x, &ranked);
            assert_true(fixture_execute(&fixture, plan, &c, ranked, NULL));
            free(x);
            free(ranked);
        }
        profk_plan_destroy(plan);
    }
}

/*
 * flashinfer#2604, vllm#51782, sglang#36807: more candidates than the buffer holds are never cut off in silence.
 * Values in [1, 1.245), rows about the size of the buffer and far above it; six overflows, then the full selection.
 */
static void a_full_buffer_is_noticed(void **state)
{
    static const uint64_t n[] = {16383, 16384, 16385, 40000};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct test_case c = {.type = PROFK_F32,
                              .route = PROFK_ROUTE_PROFK,
                              .distribution = BY_HAND,
                              .n = n[i],
                              .k = 2048,
                              .seed = options.seed};
        const uint64_t M = n[i] < 16384 ? n[i] : 16384;
        const profk_tuning forced = {.struct_size = sizeof forced, .S = n[i], .t = n[i], .M = M};
        float *x = malloc((size_t)n[i] * sizeof *x);
        uint32_t *ranked = malloc((size_t)c.k * sizeof *ranked);
        uint64_t random = options.seed;
        struct outcome o;

        assert_true(x && ranked);
        for (size_t j = 0; j < n[i]; j++)
            x[j] = 1 + 0.245F * (float)(inputs_random(&random) >> 40) * 0x1p-24F;
        assert_true(reference_rank(c.type, c.order, c.nan, x, (size_t)c.n, (size_t)c.k, ranked));
        assert_true(fixture_load(&fixture, c.type, x, (size_t)c.n, c.seed));
        assert_true(fixture_run(&fixture, &c, &forced, ranked, &o));
        assert_int_equal(o.row.attempts, n[i] > M ? 7 : 1);
        assert_int_equal(o.row.R, n[i] > M ? 0 : n[i]);
        assert_int_equal(o.stats.overflows, n[i] > M ? 6 : 0);
        free(x);
        free(ranked);
    }
}

/* RadiK's scaling by one sampled element maps many values to few: x[0] = 1e8 must not make the others equal. */
static void a_giant_does_not_blur_the_others(void **state)
{
    enum { N = 1 << 16 };
    static float x[N];
    uint32_t ranked[100];

    (void)state;
    x[0] = 1e8F;
    ranked[0] = 0;
    for (uint32_t i = 1; i < N; i++)
        x[i] = (float)i / 1024; /* exact */
    for (uint32_t i = 1; i < 100; i++)
        ranked[i] = N - i;
    assert_true(fixture_load(&fixture, PROFK_F32, x, N, 5));
    for (uint32_t i = 0; i < 2; i++) {
        const struct test_case c = {.type = PROFK_F32,
                                    .route = i ? PROFK_ROUTE_FULL : PROFK_ROUTE_PROFK,
                                    .n = N,
                                    .k = 100,
                                    .distribution = BY_HAND,
                                    .seed = options.seed};

        assert_true(fixture_run(&fixture, &c, NULL, ranked, NULL));
    }
}

/* torch-xpu-ops#4898, cutorch#780, pytorch#191871: devices that allow few work-items per group. */
static void small_work_groups_serve(void **state)
{
    static const uint32_t sizes[] = {2, 32, 100};
    const uint32_t count = options.long_run ? 3 : 1;

    (void)state;
    for (uint32_t i = 0; i < 2 * count; i++) {
        const uint32_t w = sizes[i / 2];
        const struct test_case c = {.type = PROFK_I16,
                                    .route = i % 2 ? PROFK_ROUTE_FULL : PROFK_ROUTE_PROFK,
                                    .n = 9001,
                                    .k = 1000,
                                    .distribution = INPUTS_NORMAL,
                                    .seed = options.seed};
        const profk_tuning forced = {.struct_size = sizeof forced,
                                     .filter_wg = w,
                                     .sample_wg = w,
                                     .threshold_wg = w,
                                     .refine_wg = w,
                                     .sort_wg = w,
                                     .full_wg = w};
        uint32_t *ranked;
        void *x;

        prepare(&c, &x, &ranked);
        assert_true(fixture_run(&fixture, &c, &forced, ranked, NULL));
        free(x);
        free(ranked);
    }
}

/* pocl#935: two contexts in turn, each with programs of its own; the first one's are gone before the last call. */
static void two_contexts_take_turns(void **state)
{
    const struct test_case c = {.type = PROFK_U16,
                                .route = PROFK_ROUTE_PROFK,
                                .n = 3000,
                                .k = 40,
                                .distribution = INPUTS_NORMAL,
                                .seed = options.seed};
    struct fixture other;
    uint32_t *ranked;
    void *x;

    (void)state;
    assert_int_equal(fixture_open(&other), 0);
    prepare(&c, &x, &ranked);
    assert_true(fixture_load(&other, c.type, x, (size_t)c.n, c.seed));
    for (int i = 0; i < 3; i++) {
        assert_true(fixture_run(&fixture, &c, NULL, ranked, NULL));
        assert_true(fixture_run(&other, &c, NULL, ranked, NULL));
    }
    fixture_close(&other);
    assert_true(fixture_run(&fixture, &c, NULL, ranked, NULL));
    free(x);
    free(ranked);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_words_are_read_as_meant),
        cmocka_unit_test(reports_have_their_right_answer),
        cmocka_unit_test(nothing_wanted_is_no_error),
        cmocka_unit_test(k_above_n_is_refused),
        cmocka_unit_test(plans_of_huge_inputs),
        cmocka_unit_test(a_hundred_runs_agree),
        cmocka_unit_test(a_second_call_with_other_data),
        cmocka_unit_test(a_full_buffer_is_noticed),
        cmocka_unit_test(a_giant_does_not_blur_the_others),
        cmocka_unit_test(small_work_groups_serve),
        cmocka_unit_test(two_contexts_take_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fixture_main(argc, argv, &options, &fixture, run_all);
}
