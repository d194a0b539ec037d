/*
 * test_identical.c: however a call is made, and on whatever device, its answer has the same bytes.
 *
 * Fixed problems of every type run over 1, 2 and 7 chunks, exact and asynchronous, with both shapes of the filter and
 * on route full, in work-groups of 1, 3, 100 and the largest.  Each answer is judged against the reference, and the
 * digests of all bytes of values and indices must agree.  Standard output has a line "digest ..." for every problem,
 * which must be the same on every implementation of OpenCL: tools/check.sh --gates compares them.  --small gives the
 * same lines where compilers are slow: types as wide as f32, which share its programs, try every work-group, others
 * one.  --seed makes other inputs, and other lines.
 *
 * No user events: they deadlock inside PoCL's basic device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene.h"

#include <inttypes.h>
#include <stdio.h>

#include "support/inputs.h"

/* n: several tiles and parts, the last ones short.  k: sorted by one work-group; beyond what local memory sorts. */
enum { N = 20011, FEW = 100, MANY = 3000 };

static struct test_options options;

/* What changes nothing about an answer. */
static const size_t piece_counts[] = {1, 2, 7};
static const uint32_t all_flags[] = {0, PROFK_ASYNC};
static const struct {
    uint32_t route, shape;
} ways[] = {
    {PROFK_ROUTE_PROFK, PROFK_SHAPE_TILE},
    {PROFK_ROUTE_PROFK, PROFK_SHAPE_STREAM},
    {PROFK_ROUTE_FULL, 0},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct test_case problems[] = {
#define PROBLEM(TYPE, ORDER, NAN_, SORT, INDEX, DISTRIBUTION, K) \
    {.type = PROFK_##TYPE, .order = PROFK_##ORDER, .nan = PROFK_NAN_##NAN_, .sort = PROFK_SORT_##SORT, \
     .index = PROFK_INDEX_##INDEX, .distribution = INPUTS_##DISTRIBUTION, .n = N, .k = (K)}
    PROBLEM(F32, LARGEST, LARGEST, RANK, U64, NORMAL, FEW),
    PROBLEM(F32, LARGEST, LARGEST, RANK, U32, NAN, MANY),
    PROBLEM(F32, LARGEST, LAST, INDEX, U64, NAN, FEW),
    PROBLEM(F32, SMALLEST, LAST, RANK, U64, SIGNED_ZEROS, MANY),
    PROBLEM(F32, MAGNITUDE, LARGEST, INDEX, U32, NAN, MANY),
    PROBLEM(F32, MAGNITUDE, LAST, RANK, U64, DENORMAL, FEW),
    PROBLEM(F32, LARGEST, LARGEST, RANK, U64, EQUAL, MANY),
    PROBLEM(F32, LARGEST, LARGEST, INDEX, U32, ZERO_ONE, FEW),
    PROBLEM(F32, LARGEST, LARGEST, RANK, U64, INF, FEW),
    PROBLEM(F16, LARGEST, LAST, RANK, U32, NAN, MANY),
    PROBLEM(F16, MAGNITUDE, LARGEST, INDEX, U64, PATTERNS, FEW),
    PROBLEM(BF16, SMALLEST, LARGEST, RANK, U64, NAN, FEW),
    PROBLEM(F64, LARGEST, LARGEST, RANK, U64, NAN, MANY),
    PROBLEM(F64, MAGNITUDE, LAST, INDEX, U32, RELU, FEW),
    PROBLEM(I8, LARGEST, LARGEST, RANK, U64, NORMAL, FEW),
    PROBLEM(U8, SMALLEST, LARGEST, RANK, U32, NORMAL, MANY),
    PROBLEM(I16, MAGNITUDE, LARGEST, RANK, U64, NORMAL, MANY),
    PROBLEM(U16, LARGEST, LARGEST, INDEX, U32, ZERO_ONE, FEW),
    PROBLEM(I32, MAGNITUDE, LARGEST, RANK, U64, NORMAL, FEW),
    PROBLEM(U32, SMALLEST, LARGEST, INDEX, U32, NARROW, MANY),
    PROBLEM(I64, LARGEST, LARGEST, RANK, U64, NORMAL, FEW),
    PROBLEM(U64, LARGEST, LARGEST, RANK, U32, EQUAL, MANY),
#undef PROBLEM
};

/* FNV-1a over the values and indices that the last call left. */
static uint64_t digest(const struct scene *s)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);

    for (size_t which = OUT_VALUES; which <= OUT_INDICES; which++) {
        const unsigned char *bytes = got_element(s, which, 0);

        for (size_t i = 0; i < s->out_count[which] * s->out_element[which]; i++)
            hash = (hash ^ bytes[i]) * UINT64_C(0x100000001B3);
    }
    return hash;
}

/* The answers of one problem so far. */
struct tally {
    uint64_t calls, sampled; /* sampled: on route profk, which a device may refuse where it is forced */
    uint64_t digest;
};

/* Whether a work-group size of the table is tried; with --small a width other than f32's has one of its own. */
static bool is_tried(size_t size, size_t width_nbytes)
{
    return !options.small || width_nbytes == 4 || width_nbytes == (size_t)1 << size;
}

/* Every call over one list of chunks in one size of work-groups. */
static void call_every_way(struct scene *s, const struct tiling *t, uint32_t wg, struct tally *tally)
{
    struct spec spec = s->s;

    force_work_group(&spec.forced, wg);
    for (size_t i = 0; i < COUNT(ways) * COUNT(all_flags); i++) {
        spec.flags = all_flags[i % COUNT(all_flags)];
        spec.c.route = ways[i / COUNT(all_flags)].route;
        spec.forced.filter_shape = ways[i / COUNT(all_flags)].shape;
        assert_true(run_chunks(s, &spec, t->chunk, t->count));
        if (s->info.route == PROFK_ROUTE_PROFK) {
            assert_int_equal(s->info.filter_shape, spec.forced.filter_shape);
            tally->sampled++;
        }
        if (tally->calls++ == 0)
            tally->digest = digest(s);
        assert_true(digest(s) == tally->digest);
    }
}

static struct tally solve(const struct test_case *problem)
{
    const struct spec spec = {.c = *problem, .rows = 1};
    const uint32_t sizes[] = {1, 3, 100, largest_work_group()};
    struct tally tally = {0, 0, 0};
    struct tiling t;
    struct scene s;

    scene_open(&s, &spec);
    for (size_t i = 0; i < COUNT(piece_counts); i++) {
        tiling_open(&t, &s, piece_counts[i], spec.c.seed);
        for (size_t size = 0; size < COUNT(sizes); size++)
            if (is_tried(size, s.element))
                call_every_way(&s, &t, sizes[size], &tally);
        tiling_close(&t);
    }
    scene_close(&s);
    return tally;
}

static void answers_are_identical(void **state)
{
    uint64_t calls = 0, sampled = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(problems); i++) {
        struct test_case problem = problems[i];
        struct tally tally;

        problem.seed = inputs_mix(options.seed, i);
        tally = solve(&problem);
        calls += tally.calls;
        sampled += tally.sampled;
        printf("digest %016" PRIx64 " of each answer: ", tally.digest);
        test_case_print(stdout, &problem);
        fflush(stdout);
    }
    fprintf(stderr, "%zu problems, %" PRIu64 " calls, %" PRIu64 " on route profk\n", COUNT(problems), calls, sampled);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_identical),
    };
    int status;

    aside_open();
    status = cmocka_run_group_tests(tests, NULL, NULL);
    aside_close();
    return status;
}

int main(int argc, char **argv)
{
    return fixture_main(argc, argv, &options, &fixture, run_all);
}
