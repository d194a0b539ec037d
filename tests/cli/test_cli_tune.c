/*
 * test_cli_tune.c: profk tune measures, keeps, exports and imports, and draws its progress where standard error is a
 * terminal.  Budgets are too small for anything to be found.  The cache is a folder of its own, since what is tuned
 * serves every later plan.
 */
#define _XOPEN_SOURCE 700 /* pseudo-terminals */

#include "shell.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- progress ---- */

/* Runs the line with standard error on a terminal of 4 KiB, and leaves in err what was drawn there. */
static void run_on_terminal(const char *line)
{
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ssize_t length;

    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    const int other_end = open(ptsname(terminal), O_RDWR | O_NOCTTY); /* what was written stays while it is open */
    assert_true(other_end >= 0 && fcntl(terminal, F_SETFL, O_NONBLOCK) == 0);
    assert_int_equal(run("%s 2>%s", line, ptsname(terminal)), 0);
    length = read(terminal, err, sizeof err - 1);
    err[length < 0 ? 0 : length] = '\0';
    close(other_end);
    close(terminal);
}

/* Work of more than a second draws a bar and what is done, and wipes it out in the end. */
static void progress_is_drawn_on_terminals(void **state)
{
    (void)state;
    run_on_terminal("TERM=xterm NO_COLOR= PROFK_CACHE_DIR= profk tune --budget 2");
    assert_non_null(strstr(err, "[\033[32m"));
    assert_non_null(strstr(err, "% "));
    assert_int_equal(err[strlen(err) - 1], '\r');
    run_on_terminal("TERM=xterm NO_COLOR=1 PROFK_CACHE_DIR= profk tune --budget 2");
    assert_non_null(strstr(err, "% "));
    assert_null(strstr(err, "\033"));
    run_on_terminal("TERM=xterm PROFK_CACHE_DIR= profk tune -q --budget 2");
    assert_string_equal(err, "");
}

static int failed(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_and_keeps),
        cmocka_unit_test(says_where_nothing_can_be_kept),
        cmocka_unit_test(exports_and_imports),
        cmocka_unit_test(refuses),
        cmocka_unit_test(progress_is_drawn_on_terminals),
    };

    return cmocka_run_group_tests_name("cli, tune", tests, set_up_with_devices, tear_down);
}

int main(void)
{
    return shell_main(NULL, failed);
}
