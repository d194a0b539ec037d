/* test_selftest.c: what the library says of its own answers, and how it keeps its time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "selftest/selftest.h"
#include "support/fixture.h"

static struct fixture fixture;
static char report[1 << 14];

static void arguments_are_checked(void **state)
{
    (void)state;
    assert_int_equal(profk_selftest(NULL, 0, report, sizeof report, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_selftest(fixture.ctx, 3, report, sizeof report, NULL), PROFK_ERR_ARGUMENT);
    assert_non_null(strstr(profk_context_message(NULL), "level"));
    assert_int_equal(profk_selftest(fixture.ctx, 0, NULL, 1, NULL), PROFK_ERR_ARGUMENT);
}

/* Level 2 does all that the others do. */
static void this_device_is_right(void **state)
{
    static const char *const words[] = {
        "kernels ",     "faults ",         "statistics ",    "calls ",      "lengths ",  "types-32bit ",
        "types-16bit ", "types-64bit ",    "types-8bit ",    "types-more ", "groups-1 ", "groups-3 ",
        "groups-100 ",  "groups-64 ",      "groups-max ",    "all ",        "seed: 1\n", "programs: ",
        "misses tile",  "misses stream: ", "verdict: pass\n"};
    uint64_t damaged = 0, found = 0;
    size_t need = 0;

    (void)state;
    if (profk_selftest(fixture.ctx, 2, report, sizeof report, &need) != PROFK_OK)
        fail_msg("%s", profk_context_message(NULL));
    assert_int_equal(need, strlen(report) + 1);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_non_null(strstr(report, words[i]));
    assert_null(strstr(report, "failed: "));
    assert_non_null(strstr(report, "damage: "));
    assert_int_equal(sscanf(strstr(report, "damage: "), "damage: %" SCNu64 " answers damaged on purpose, %" SCNu64,
                            &damaged, &found),
                     2);
    assert_true(damaged >= 20 && damaged == found);
}

/* With no time at all there is one trial, and the verdict names what there was not; with time for some there are more. */
static void it_keeps_its_time(void **state)
{
    const profk_options options = {.struct_size = sizeof options, .cache_dir = ""};
    struct profk__text text;
    profk_context *ctx = NULL;
    double start;

    (void)state;
    assert_int_equal(profk_context_create(fixture.cl, fixture.device, &options, &ctx), PROFK_OK);
    for (int limit = 0; limit < 2; limit++) {
        text = profk__text_in(report, sizeof report);
        start = profk__now_s();
        assert_int_equal(profk__selftest(ctx, 1, 0.2 * limit, &text), PROFK_OK);
        assert_true(profk__now_s() - start < 60);
        assert_non_null(strstr(report, "\nverdict: pass in part; not run, for lack of time: "));
        assert_non_null(strstr(report, "groups-64\n"));
        assert_true((strstr(report, "\nkernels         1 of    12 trials     0 failed") != NULL) == (limit == 0));
        assert_true(limit == 1 || strstr(report, "time: kernels in part, faults, statistics, calls, "));
    }
    profk_context_destroy(ctx);
}

static void the_report_fits_its_room(void **state)
{
    char room[33];
    size_t need = 0;

    (void)state;
    memset(room, '#', sizeof room);
    assert_int_equal(profk_selftest(fixture.ctx, 0, room, 32, &need), PROFK_OK);
    assert_true(strlen(room) == 31 && room[32] == '#' && need > 32);
}

struct stop {
    int calls, at;
};

static int count(void *user, const char *what, double fraction)
{
    struct stop *stop = user;

    assert_true(what[0] != '\0' && fraction >= 0 && fraction <= 1);
    return ++stop->calls == stop->at;
}

/* Between trials and, while kernels are built, within one. */
static void the_caller_can_stop_it(void **state)
{
    (void)state;
    for (int at = 1; at <= 40; at += 3) {
        struct stop stop = {0, at};
        const profk_options options = {.struct_size = sizeof options, .progress = count, .user = &stop};
        profk_context *ctx = NULL;

        assert_int_equal(profk_context_create(fixture.cl, fixture.device, &options, &ctx), PROFK_OK);
        assert_int_equal(profk_selftest(ctx, 0, report, sizeof report, NULL), PROFK_ERR_CANCELLED);
        assert_int_equal(stop.calls, at);
        assert_null(strstr(report, "verdict"));
        profk_context_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_checked),  cmocka_unit_test(this_device_is_right),
        cmocka_unit_test(it_keeps_its_time),      cmocka_unit_test(the_report_fits_its_room),
        cmocka_unit_test(the_caller_can_stop_it),
    };
    int status = fixture_open(&fixture);

    if (status == 0)
        status = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_close(&fixture);
    return status;
}
