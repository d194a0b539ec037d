/*
 * test_cli_tune.c: profk tune measures, keeps, exports and imports; nothing is tried within so small a budget, so this
 * takes no time.  Its cache is a folder of its own, since what is tuned serves every later plan.
 */
#include "shell.h"

#include <stdlib.h>
#include <string.h>

#include "profk.h"

#define TUNE "PROFK_CACHE_DIR=$PWD/cache profk tune "

static void measures_and_keeps(void **state)
{
    (void)state;
    succeed(TUNE "--budget 0.001");
    assert_non_null(strstr(out, "tuning "));
    assert_non_null(strstr(out, "raise the budget"));
    assert_non_null(strstr(out, "\nstored\n"));
    succeed("PROFK_CACHE_DIR=$PWD/cache profk cache list");
    assert_non_null(strstr(out, "tuning"));
    succeed("PROFK_CACHE_DIR=$PWD/cache profk explain -n 100000 -k 10 --tuning stored");
    assert_nothing_left_behind();
}

static void says_where_nothing_can_be_kept(void **state)
{
    (void)state;
    succeed("PROFK_CACHE_DIR= profk tune --budget 0.001");
    assert_non_null(strstr(out, "not stored"));
}

static void exports_and_imports(void **state)
{
    (void)state;
    succeed(TUNE "--budget 0.001 --export first.tuning"); /* only the file: what was tuned before */
    assert_string_equal(out, "");
    succeed("PROFK_CACHE_DIR=$PWD/other profk tune --import first.tuning --export second.tuning");
    succeed("cmp first.tuning second.tuning");
    succeed("PROFK_CACHE_DIR=$PWD/other profk explain -n 100000 -k 10 --tuning stored");
}

static void refuses(void **state)
{
    (void)state;
    succeed("sed 's/^driver version: /&x/' first.tuning > other.tuning");
    refuse(TUNE "--import other.tuning", 2, "driver version");
    succeed("head -c 100 first.tuning > cut.tuning");
    assert_int_not_equal(run(TUNE "--import cut.tuning"), 0);
    assert_string_equal(out, "");
    refuse("PROFK_CACHE_DIR=$PWD/third profk tune --export third.tuning", 2, "nothing was tuned");
    assert_int_not_equal(run(TUNE "--export no/such/folder"), 0);
    refuse(TUNE "--budget 1 --device nobody", 3, "nobody");
    succeed("rm -rf cache other third"); /* the folder is cleared of files only */
}

static int failed(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_and_keeps),
        cmocka_unit_test(says_where_nothing_can_be_kept),
        cmocka_unit_test(exports_and_imports),
        cmocka_unit_test(refuses),
    };

    return cmocka_run_group_tests_name("cli, tune", tests, set_up_with_devices, tear_down);
}

int main(void)
{
    return shell_main(NULL, failed);
}
