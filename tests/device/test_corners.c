/*
 * test_corners.c: what plans say of themselves on every route, and the parts of a tuning session that take longer than
 * a session of the other tests may; tools/coverage.sh showed that no other test reaches them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tune/tune.h"

enum { ROOM = 1 << 14 };

static profk_context *ctx;

/* ---- plans in words ---- */

static void describe(const profk_problem *p, const profk_tuning *forced, char text[ROOM])
{
    profk_plan *plan = NULL;
    size_t need = 0;

    assert_int_equal(profk_plan_create(ctx, p, forced, 0, &plan), PROFK_OK);
    assert_int_equal(profk_plan_describe(plan, text, ROOM, &need), PROFK_OK);
    assert_int_equal(need, strlen(text) + 1);
    profk_plan_destroy(plan);
}

static void plans_describe_every_route(void **unused)
{
    static const struct {
        uint32_t route, shape;
        uint64_t k, rows;
        const char *words[3];
    } cases[] = {
        {PROFK_ROUTE_ROWS, 0, 5, 3, {"top 5 of 20000 f32, smallest, 3 rows, on ", "route rows: ", "workspace "}},
        {PROFK_ROUTE_FULL, 0, 5, 1, {"1 row, on ", "route full: radix selection in ", "segments"}},
        {PROFK_ROUTE_PROFK,
         PROFK_SHAPE_STREAM,
         5,
         1,
         {"route profk: sample S = ", "budget 0.001", "filter stream: "}},
        {PROFK_ROUTE_PROFK, PROFK_SHAPE_TILE, 5, 1, {"threshold rank t = ", "budget 0.001", "filter tile: "}},
        {PROFK_ROUTE_PROFK, 0, 0, 1, {"top 0 of 20000", "nothing to select", "1 row, on "}},
        {PROFK_ROUTE_AUTO, 0, 5, 0, {"top 5 of 20000", "nothing to select", "0 rows, on "}},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const profk_tuning forced = {.struct_size = sizeof forced, .filter_shape = cases[i].shape};
        char text[ROOM];
        profk_problem p;

        profk_problem_init(&p, sizeof p, PROFK_F32, 20000, cases[i].k);
        p.rows = cases[i].rows;
        p.route = cases[i].route;
        p.order = PROFK_SMALLEST;
        describe(&p, &forced, text);
        for (size_t j = 0; j < 3; j++) {
            if (strstr(text, cases[i].words[j]) == NULL)
                fail_msg("no \"%s\" in case %zu:\n%s", cases[i].words[j], i, text);
        }
    }
}

/* ---- what an approximate plan may ask for ---- */

/* The sample grows until a rank has the recall; what the plan then says of itself has it. */
static void a_sample_grows_until_it_has_the_recall(void **unused)
{
    static const double recalls[] = {0.5, 0.9, 0.999, 0.9999999, 1};

    (void)unused;
    for (size_t i = 0; i < sizeof recalls / sizeof recalls[0]; i++) {
        profk_info info = {.struct_size = sizeof info};
        profk_problem p;
        profk_plan *plan = NULL;
        double expected = 0;

        profk_problem_init(&p, sizeof p, PROFK_F32, 5000, 1000);
        p.route = PROFK_ROUTE_PROFK;
        p.mode = PROFK_MODE_APPROXIMATE;
        p.recall = recalls[i];
        assert_int_equal(profk_plan_create(ctx, &p, NULL, 0, &plan), PROFK_OK);
        assert_int_equal(profk_plan_info(plan, &info), PROFK_OK);
        assert_int_equal(profk_expected_recall(p.n, p.k, info.S, info.t, &expected), PROFK_OK);
        assert_true(expected >= p.recall - 1e-12);
        profk_plan_destroy(plan);
    }
}

static void an_approximate_plan_takes_no_count_start(void **unused)
{
    const profk_tuning forced = {.struct_size = sizeof forced, .count_start = UINT32_MAX};
    profk_problem p;
    profk_plan *plan = NULL;

    (void)unused;
    profk_problem_init(&p, sizeof p, PROFK_F32, 50000, 100);
    p.route = PROFK_ROUTE_PROFK;
    p.mode = PROFK_MODE_APPROXIMATE;
    assert_int_equal(profk_plan_create(ctx, &p, &forced, 0, &plan), PROFK_ERR_ARGUMENT);
    assert_null(plan);
    assert_non_null(strstr(profk_context_message(ctx), "count_start is for exact plans"));
}

/* ---- tuning ---- */

static int is_power_of_two(uint32_t x)
{
    return x != 0 && (x & (x - 1)) == 0;
}

/* Costs and crossovers are measured, are values that the store takes, and are in the report. */
static void costs_and_crossovers_are_found(void **unused)
{
    char room[ROOM], body[ROOM];
    struct profk__text report = profk__text_in(room, sizeof room), words = profk__text_in(body, sizeof body);
    struct profk__tuned tuned = profk__tuned_builtin(&ctx->device), read;
    struct profk__bench bench;

    (void)unused;
    tuned.epsilon_ppb = 7; /* none of what is chosen among */
    tuned.profk_n_min = tuned.rows_n_max = tuned.rows_first_n = 7;
    assert_int_equal(profk__bench_open(ctx, 1000, &report, &bench), PROFK_OK);
    assert_int_equal(profk__tune_costs(&bench, &tuned), PROFK_OK);
    assert_int_equal(profk__tune_crossovers(&bench, &tuned), PROFK_OK);
    profk__bench_close(&bench);
    print_message("%s", room);
    if (tuned.slot_ps > 0 && tuned.candidate_ps > 0) /* else unknown before, and lost in noise */
        assert_true(tuned.epsilon_ppb == 1000000 || tuned.epsilon_ppb == 3000000 || tuned.epsilon_ppb == 10000000 ||
                    tuned.epsilon_ppb == 30000000);
    else
        assert_int_equal(tuned.epsilon_ppb, 7);
    assert_true(is_power_of_two(tuned.profk_n_min) && tuned.profk_n_min >= 1 << 12 && tuned.profk_n_min <= 1 << 18);
    assert_true(is_power_of_two(tuned.rows_n_max + 1) && tuned.rows_n_max < 1 << 18);
    assert_true(tuned.rows_first_k == 0 ? tuned.rows_first_n == 7
                                        : is_power_of_two(tuned.rows_first_n + 1) && tuned.rows_first_n < 1 << 25);
    assert_true(is_power_of_two(tuned.profk_share));
    assert_non_null(strstr(room, "costs: a slot "));
    assert_non_null(strstr(room, "routes: rows first up to n = "));
    profk__tuned_write(&tuned, &words);
    read = tuned;
    assert_int_equal(profk__tuned_read(body, &read), 1);
}

/* A device that is a GPU has built-in values of its own, which the store takes. */
static void every_type_of_device_has_values(void **unused)
{
    static const cl_device_type types[] = {CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR};

    (void)unused;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char body[ROOM];
        struct profk__text words = profk__text_in(body, sizeof body);
        struct profk__device device = ctx->device;
        struct profk__tuned read;

        device.facts.type = (uint32_t)types[i];
        const struct profk__tuned tuned = profk__tuned_builtin(&device);
        assert_int_equal(tuned.filter_shape, types[i] == CL_DEVICE_TYPE_CPU ? PROFK_SHAPE_STREAM : PROFK_SHAPE_TILE);
        profk__tuned_write(&tuned, &words);
        read = tuned;
        assert_int_equal(profk__tuned_read(body, &read), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_describe_every_route),
        cmocka_unit_test(a_sample_grows_until_it_has_the_recall),
        cmocka_unit_test(an_approximate_plan_takes_no_count_start),
        cmocka_unit_test(costs_and_crossovers_are_found),
        cmocka_unit_test(every_type_of_device_has_values),
    };
    const profk_status st = profk_context_create_default(NULL, NULL, &ctx);
    int status;

    if (st == PROFK_ERR_NO_DEVICE)
        return 77;
    if (st != PROFK_OK)
        return 1;
    status = cmocka_run_group_tests(tests, NULL, NULL);
    profk_context_destroy(ctx);
    return status;
}
