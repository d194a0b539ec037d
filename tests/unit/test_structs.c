/*
 * test_structs.c: sizes and offsets of the public structs, which programs have compiled into themselves.
 *
 * A struct may only grow, at its end: a new field is a new line and a new size.  The tables hold where size_t and
 * pointers have 8 bytes; structs of fixed-width fields alone are the same everywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profk.h"

_Static_assert(sizeof(profk_status) == sizeof(int), "a status is an int");
_Static_assert(sizeof(profk_params) == 40, "profk_params");
_Static_assert(sizeof(profk_row) == 16, "profk_row");
_Static_assert(offsetof(profk_params, S) == 0, "profk_params.S");
_Static_assert(offsetof(profk_params, t) == 8, "profk_params.t");
_Static_assert(offsetof(profk_params, M) == 16, "profk_params.M");
_Static_assert(offsetof(profk_params, fail_recall) == 24, "profk_params.fail_recall");
_Static_assert(offsetof(profk_params, fail_overflow) == 32, "profk_params.fail_overflow");
_Static_assert(offsetof(profk_row, status) == 0, "profk_row.status");
_Static_assert(offsetof(profk_row, attempts) == 4, "profk_row.attempts");
_Static_assert(offsetof(profk_row, R) == 8, "profk_row.R");

static const struct {
    const char *name;
    size_t nbytes, expected;
} sizes[] = {
#define SIZE(type, expected) {#type, sizeof(type), expected}
    SIZE(profk_cost, 40),
    SIZE(profk_options, 48),
    SIZE(profk_problem, 104),
    SIZE(profk_tuning, 80),
    SIZE(profk_chunk, 64),
    SIZE(profk_io, 72),
    SIZE(profk_info, 120),
    SIZE(profk_stats, 80),
    SIZE(profk_device, 640),
#undef SIZE
};

static const struct {
    const char *name;
    size_t at, expected;
} fields[] = {
#define FIELD(type, field, expected) {#type "." #field, offsetof(type, field), expected}
    FIELD(profk_cost, struct_size, 0),
    FIELD(profk_cost, slope, 8),
    FIELD(profk_cost, intercept, 16),
    FIELD(profk_cost, S_min, 24),
    FIELD(profk_cost, S_max, 32),
    FIELD(profk_options, struct_size, 0),
    FIELD(profk_options, cache_dir, 8),
    FIELD(profk_options, log, 16),
    FIELD(profk_options, progress, 24),
    FIELD(profk_options, user, 32),
    FIELD(profk_options, flags, 40),
    FIELD(profk_options, reserved, 44),
    FIELD(profk_problem, struct_size, 0),
    FIELD(profk_problem, n, 8),
    FIELD(profk_problem, k, 16),
    FIELD(profk_problem, rows, 24),
    FIELD(profk_problem, row_stride, 32),
    FIELD(profk_problem, seed, 40),
    FIELD(profk_problem, epsilon, 48),
    FIELD(profk_problem, recall, 56),
    FIELD(profk_problem, workspace_limit_nbytes, 64),
    FIELD(profk_problem, type, 72),
    FIELD(profk_problem, order, 76),
    FIELD(profk_problem, nan, 80),
    FIELD(profk_problem, sort, 84),
    FIELD(profk_problem, index, 88),
    FIELD(profk_problem, mode, 92),
    FIELD(profk_problem, route, 96),
    FIELD(profk_problem, reserved, 100),
    FIELD(profk_tuning, struct_size, 0),
    FIELD(profk_tuning, S, 8),
    FIELD(profk_tuning, t, 16),
    FIELD(profk_tuning, M, 24),
    FIELD(profk_tuning, count_start, 32),
    FIELD(profk_tuning, filter_shape, 40),
    FIELD(profk_tuning, filter_wg, 44),
    FIELD(profk_tuning, filter_items, 48),
    FIELD(profk_tuning, vector_width, 52),
    FIELD(profk_tuning, sample_wg, 56),
    FIELD(profk_tuning, threshold_wg, 60),
    FIELD(profk_tuning, refine_wg, 64),
    FIELD(profk_tuning, sort_wg, 68),
    FIELD(profk_tuning, rows_wg, 72),
    FIELD(profk_tuning, full_wg, 76),
    FIELD(profk_chunk, buffer, 0),
    FIELD(profk_chunk, offset, 8),
    FIELD(profk_chunk, count, 16),
    FIELD(profk_chunk, first, 24),
    FIELD(profk_chunk, pointer, 32),
    FIELD(profk_chunk, kind, 40),
    FIELD(profk_chunk, flags, 44),
    FIELD(profk_chunk, reserved, 48),
    FIELD(profk_io, struct_size, 0),
    FIELD(profk_io, chunks, 8),
    FIELD(profk_io, chunk_count, 16),
    FIELD(profk_io, values, 24),
    FIELD(profk_io, indices, 32),
    FIELD(profk_io, row_results, 40),
    FIELD(profk_io, values_offset, 48),
    FIELD(profk_io, indices_offset, 56),
    FIELD(profk_io, row_results_offset, 64),
    FIELD(profk_info, struct_size, 0),
    FIELD(profk_info, S, 8),
    FIELD(profk_info, t, 16),
    FIELD(profk_info, M, 24),
    FIELD(profk_info, workspace_nbytes, 32),
    FIELD(profk_info, slabs, 40),
    FIELD(profk_info, kernel_launches, 48),
    FIELD(profk_info, blocking_calls, 56),
    FIELD(profk_info, programs, 64),
    FIELD(profk_info, epsilon_row, 72),
    FIELD(profk_info, fail_recall, 80),
    FIELD(profk_info, fail_overflow, 88),
    FIELD(profk_info, passes, 96),
    FIELD(profk_info, route, 104),
    FIELD(profk_info, filter_shape, 108),
    FIELD(profk_info, tuned, 112),
    FIELD(profk_info, reserved, 116),
    FIELD(profk_stats, struct_size, 0),
    FIELD(profk_stats, calls, 8),
    FIELD(profk_stats, rows, 16),
    FIELD(profk_stats, attempts, 24),
    FIELD(profk_stats, recall_misses, 32),
    FIELD(profk_stats, overflows, 40),
    FIELD(profk_stats, redraws, 48),
    FIELD(profk_stats, fallbacks, 56),
    FIELD(profk_stats, last_attempts, 64),
    FIELD(profk_stats, last_route, 68),
    FIELD(profk_stats, adaptations, 72),
    FIELD(profk_device, struct_size, 0),
    FIELD(profk_device, id, 8),
    FIELD(profk_device, name, 16),
    FIELD(profk_device, platform, 144),
    FIELD(profk_device, version, 272),
    FIELD(profk_device, driver, 400),
    FIELD(profk_device, why_not, 464),
    FIELD(profk_device, global_nbytes, 592),
    FIELD(profk_device, max_alloc_nbytes, 600),
    FIELD(profk_device, local_nbytes, 608),
    FIELD(profk_device, number, 616),
    FIELD(profk_device, compute_units, 620),
    FIELD(profk_device, max_wg, 624),
    FIELD(profk_device, type, 628),
    FIELD(profk_device, usable, 632),
    FIELD(profk_device, reserved, 636),
#undef FIELD
};

static void structs_have_their_sizes(void **state)
{
    (void)state;
    if (sizeof(size_t) != 8 || sizeof(void *) != 8)
        skip();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].nbytes != sizes[i].expected)
            fail_msg("%s has %zu bytes instead of %zu", sizes[i].name, sizes[i].nbytes, sizes[i].expected);
}

static void fields_have_their_places(void **state)
{
    (void)state;
    if (sizeof(size_t) != 8 || sizeof(void *) != 8)
        skip();
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].at != fields[i].expected)
            fail_msg("%s is at byte %zu instead of %zu", fields[i].name, fields[i].at, fields[i].expected);
}

/* Numbers that programs have compiled in. */
static void constants_have_their_values(void **state)
{
    (void)state;
    assert_true(PROFK_F32 == 1 && PROFK_F16 == 2 && PROFK_BF16 == 3 && PROFK_F64 == 4 && PROFK_I8 == 5);
    assert_true(PROFK_U8 == 6 && PROFK_I16 == 7 && PROFK_U16 == 8 && PROFK_I32 == 9 && PROFK_U32 == 10);
    assert_true(PROFK_I64 == 11 && PROFK_U64 == 12 && PROFK_LARGEST == 0 && PROFK_SMALLEST == 1);
    assert_true(PROFK_MAGNITUDE == 2);
    assert_true(PROFK_NAN_LARGEST == 0 && PROFK_NAN_LAST == 1 && PROFK_SORT_RANK == 0 && PROFK_SORT_INDEX == 1);
    assert_true(PROFK_SORT_NONE == 2 && PROFK_INDEX_U64 == 0 && PROFK_INDEX_U32 == 1 && PROFK_MODE_EXACT == 0);
    assert_true(PROFK_MODE_APPROXIMATE == 1 && PROFK_ROUTE_AUTO == 0 && PROFK_ROUTE_ROWS == 1);
    assert_true(PROFK_ROUTE_PROFK == 2 && PROFK_ROUTE_FULL == 3 && PROFK_ESTIMATE == 0 && PROFK_MEASURE == 1);
    assert_true(PROFK_STORED_ONLY == 2 && PROFK_ASYNC == 4 && PROFK_ROW_PENDING == 0 && PROFK_ROW_CERTIFIED == 1);
    assert_true(PROFK_ROW_RECALL_MISS == 2 && PROFK_ROW_OVERFLOW == 3 && PROFK_SHAPE_TILE == 1);
    assert_true(PROFK_SHAPE_STREAM == 2 && PROFK_MEM_BUFFER == 0 && PROFK_TRACE == 1 && PROFK_DEBUG_SYNC == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_have_their_sizes),
        cmocka_unit_test(fields_have_their_places),
        cmocka_unit_test(constants_have_their_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
