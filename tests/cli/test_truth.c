/*
 * test_truth.c: the host's judgement in profk bench.  Right answers are made by sorting; each change of one is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <profk.h>

#include "../../tools/profk/truth.h"

enum { N = 300000, K = 7 }; /* N: enough for several threads */

static float row[N];
static float values[K];
static uint64_t indices[K];

static struct question ask(uint32_t order, uint32_t sort)
{
    return (struct question){type_of_id(PROFK_F32), order, PROFK_NAN_LARGEST, sort, row, N, K};
}

/* The row is 0, but for a few elements; its top 7 by rank are these and the first zeros. */
static void make_row(void)
{
    static const uint64_t top[K] = {200000, 5, 299999, 0, 1, 2, 3};
    size_t j;

    memset(row, 0, sizeof row);
    row[200000] = 3.0f;
    row[5] = row[299999] = 2.0f;
    row[2] = -0.0f; /* equals 0.0 */
    row[77] = -5.0f;
    memcpy(indices, top, sizeof top);
    for (j = 0; j < K; j++)
        values[j] = row[indices[j]];
}

static bool is_right(uint32_t sort)
{
    const struct question question = ask(PROFK_LARGEST, sort);
    uint64_t copy[K];
    char why[TRUTH_ROOM] = "";

    memcpy(copy, indices, sizeof copy);
    return truth_check(&question, values, copy, why);
}

static void put(size_t place, uint64_t index)
{
    indices[place] = index;
    values[place] = row[index < N ? index : 0];
}

static void test_right_answer(void **state)
{
    (void)state;
    make_row();
    assert_true(is_right(PROFK_SORT_RANK));
    assert_true(is_right(PROFK_SORT_NONE));
    assert_false(is_right(PROFK_SORT_INDEX));
    put(0, 5);
    put(1, 200000);
    assert_false(is_right(PROFK_SORT_RANK));
    assert_true(is_right(PROFK_SORT_NONE));
}

static void test_wrong_answers(void **state)
{
    static const struct {
        size_t place;
        uint64_t index;
    } changes[] = {
        {6, 4},  /* a later one of equals */
        {6, 2},  /* twice */
        {6, 77}, /* too small */
        {0, 5},  /* the greatest is missing, another is there twice */
        {2, 4},  /* one of the greater ones is missing */
        {3, N},  /* past the row */
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        make_row();
        put(changes[i].place, changes[i].index);
        assert_false(is_right(PROFK_SORT_RANK));
        assert_false(is_right(PROFK_SORT_NONE));
    }
    make_row();
    values[5] = 0.0f; /* equal, but not the bits of -0.0 */
    assert_false(is_right(PROFK_SORT_RANK));
}

/* The place of each value in every order, NaN included. */
static void test_orders(void **state)
{
    static const float x[] = {1.0f, -2.0f, 0.5f, -0.0f};
    static const uint64_t best[] = {0, 1, 1}; /* largest, smallest, magnitude */
    uint32_t order;

    (void)state;
    for (order = PROFK_LARGEST; order <= PROFK_MAGNITUDE; order++) {
        struct question question = {type_of_id(PROFK_F32), order, PROFK_NAN_LARGEST, PROFK_SORT_RANK, x, 4, 1};
        uint64_t index;

        for (index = 0; index < 4; index++) {
            uint64_t copy = index;
            char why[TRUTH_ROOM];

            assert_int_equal(truth_check(&question, &x[index], &copy, why), index == best[order]);
        }
    }
}

static void test_nan(void **state)
{
    static const uint32_t bits[] = {0x3F800000, 0xFFC00001, 0x7F800000}; /* 1, a NaN, infinity */
    static const uint64_t best[2][3] = {{1, 0, 1}, {2, 0, 2}};
    uint32_t nan, order;

    (void)state;
    for (nan = PROFK_NAN_LARGEST; nan <= PROFK_NAN_LAST; nan++) {
        for (order = PROFK_LARGEST; order <= PROFK_MAGNITUDE; order++) {
            struct question question = {type_of_id(PROFK_F32), order, nan, PROFK_SORT_RANK, bits, 3, 1};
            uint64_t index;

            for (index = 0; index < 3; index++) {
                uint64_t copy = index;
                char why[TRUTH_ROOM];

                assert_int_equal(truth_check(&question, &bits[index], &copy, why), index == best[nan][order]);
            }
        }
    }
}

static void test_hits(void **state)
{
    const struct question question = ask(PROFK_LARGEST, PROFK_SORT_RANK);

    (void)state;
    make_row();
    assert_int_equal(truth_hits(&question, values, K), K);
    values[0] = -5.0f;
    assert_int_equal(truth_hits(&question, values, K), K - 1);
}

/* Signed, unsigned and 64-bit elements. */
static void test_integers(void **state)
{
    static const int8_t i8[] = {-128, 127, 5};
    static const uint64_t u64[] = {UINT64_MAX, 0, UINT64_MAX - 1};
    const struct question least = {type_of_id(PROFK_I8), PROFK_SMALLEST, 0, PROFK_SORT_RANK, i8, 3, 1};
    const struct question widest = {type_of_id(PROFK_I8), PROFK_MAGNITUDE, 0, PROFK_SORT_RANK, i8, 3, 1};
    const struct question greatest = {type_of_id(PROFK_U64), PROFK_LARGEST, 0, PROFK_SORT_RANK, u64, 3, 1};
    uint64_t zero = 0, one = 1;
    char why[TRUTH_ROOM];

    (void)state;
    assert_true(truth_check(&least, &i8[0], &zero, why));
    assert_true(truth_check(&widest, &i8[0], &zero, why));
    assert_false(truth_check(&widest, &i8[1], &one, why));
    assert_true(truth_check(&greatest, &u64[0], &zero, why));
    assert_int_equal(truth_hits(&greatest, &u64[0], 1), 1);
    assert_int_equal(truth_hits(&greatest, &u64[2], 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_answer), cmocka_unit_test(test_wrong_answers), cmocka_unit_test(test_orders),
        cmocka_unit_test(test_nan),          cmocka_unit_test(test_hits),          cmocka_unit_test(test_integers),
    };

    return cmocka_run_group_tests_name("truth", tests, NULL, NULL) ? EXIT_FAILURE : EXIT_SUCCESS;
}
