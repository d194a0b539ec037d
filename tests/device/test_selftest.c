/* test_selftest.c: what the library says of its own answers; public headers only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "profk.h"
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
    static const char *const words[] = {"kernels ", "types ", "lengths ", "calls ", "statistics ", "all ", " MB/s, ",
                                        "verdict: pass\n"};
    size_t need = 0;

    (void)state;
    if (profk_selftest(fixture.ctx, 2, report, sizeof report, &need) != PROFK_OK)
        fail_msg("%s", profk_context_message(NULL));
    assert_int_equal(need, strlen(report) + 1);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_non_null(strstr(report, words[i]));
    assert_null(strstr(report, "failed: "));
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
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(this_device_is_right),
        cmocka_unit_test(the_report_fits_its_room),
        cmocka_unit_test(the_caller_can_stop_it),
    };
    int status = fixture_open(&fixture);

    if (status == 0)
        status = cmocka_run_group_tests(tests, NULL, NULL);
    fixture_close(&fixture);
    return status;
}
