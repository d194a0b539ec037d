/* test_cli_bench.c: profk bench, its lists, its named benches at their smallest, its files. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json_reader.h"
#include "shell.h"

#define CELL_KEYS                                                                                                    \
    "n,k,rows,dtype,distribution,order,mode,epsilon,route,S,forced_S,t,M,fail_recall,fail_overflow,runs,min_ms,"     \
    "median_ms,p99_ms,mean_ms,read_ms,read_gbs,read_how,ratio,attempts,recall_misses,overflows,redraws,fallbacks,"   \
    "recall,workspace_bytes,input_bytes"

/* --- without a device ----------------------------------------------------------------------------------------- */

static void test_wrong_command_lines(void **state)
{
    static const struct refusal refusals[] = {
        {"profk bench fastest", 2, "no bench 'fastest'"},
        {"profk bench grid check", 2, "two benches"},
        {"profk bench -n", 2, "needs a value"},
        {"profk bench -n ''", 2, "ranges like"},
        {"profk bench -n 1,,2", 2, "ranges like"},
        {"profk bench -n 1,2,", 2, "ranges like"},
        {"profk bench -n 2^", 2, "ranges like"},
        {"profk bench -n ^2", 2, "ranges like"},
        {"profk bench -n 2^64", 2, "ranges like"},
        {"profk bench -n 1^1000", 2, "ranges like"},
        {"profk bench -n 2**20", 2, "ranges like"},
        {"profk bench -n 8..4", 2, "ranges like"},
        {"profk bench -n 4..8*1", 2, "ranges like"},
        {"profk bench -n 4..8*0", 2, "ranges like"},
        {"profk bench -n 4..8+0", 2, "ranges like"},
        {"profk bench -n 4..8*2*2", 2, "ranges like"},
        {"profk bench -n ..8", 2, "ranges like"},
        {"profk bench -n 4..", 2, "ranges like"},
        {"profk bench -n 0..8", 2, "ranges like"},
        {"profk bench -n 1..1000+1", 2, "ranges like"}, /* too long */
        {"profk bench -n 1 -k 0", 2, "from 1 on"},
        {"profk bench -n 1 --rows 0,1", 2, "from 1 on"},
        {"profk bench --dtype f32,f8", 2, "f16, bf16"},
        {"profk bench --distribution normal,odd", 2, "lognormal"},
        {"profk bench --mode exact,fast", 2, "exact, async, approximate"},
        {"profk bench -e 0.1,1", 2, "1e-12 to 0.5"},
        {"profk bench --scale huge", 2, "small, medium, large"},
        {"profk bench --runs 0", 2, "from 1 to"},
        {"profk bench --warmup 0", 2, "from 1 to"},
        {"profk bench --budget 0", 2, "number of seconds"},
        {"profk bench --order biggest", 2, "largest, smallest, magnitude"},
        {"profk bench --values x.npy", 2, "no option"},
        {"profk bench --dump x.bin", 2, "-n"},
        {"profk bench --dump x.bin -n 8 --dtype f32,u8", 2, "one --dtype"},
        {"profk bench distributions --dump x.bin -n 8", 2, "one --distribution"},
        {"profk bench --dump x.bin -n 8 --input v.npy", 2, "--input"},
        {"profk bench --input v.npy --distribution zeros", 2, "--distribution"},
        {"profk bench --input nosuch.npy", 2, "cannot read"},
        {"profk bench --input v.raw", 2, "--dtype"},
        {"profk bench --input empty.raw --dtype f32", 2, "empty"},
        {"profk bench", 3, ""},
        {"profk bench --input v.npy", 3, ""},
    };

    (void)state;
    REFUSE_ALL(refusals);
    refuse("profk bench --dump nosuch/x.bin -n 8", 1, "nosuch");
    succeed("profk bench --help");
}

/* The file has so many bytes and, as 32-bit words, these first ones. */
static void assert_file(const char *path, size_t nbytes, const uint32_t *words, size_t count)
{
    uint32_t found[8];
    struct stat facts;
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    assert_int_equal(fread(found, sizeof *found, count, file), count);
    fclose(file);
    assert_memory_equal(found, words, count * sizeof *words);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_size, nbytes);
}

static void test_dump(void **state)
{
    static const uint32_t f32[] = {0x80000000, 0xBF800000, 0xC0000000}; /* -0, -1, -2 */
    static const uint32_t f16[] = {0x3C000000, 0x42004000};             /* 0 1 2 3 */
    static const uint32_t bf16[] = {0x3F800000, 0x40404000};
    static const uint32_t i32[] = {0, 1, 2}, u8[] = {0x83828180}, f64[] = {0, 0, 0, 0x3FF00000};

    (void)state;
    succeed("profk bench --dump a.bin -n 5,7 --distribution descending");
    assert_file("a.bin", 7 * 4, f32, 3);
    succeed("profk bench --dump a.bin -n 4 --distribution ascending --dtype f16");
    assert_file("a.bin", 4 * 2, f16, 2);
    succeed("profk bench --dump a.bin -n 4 --distribution ascending --dtype bf16");
    assert_file("a.bin", 4 * 2, bf16, 2);
    succeed("profk bench --dump a.bin -n 3 --rows 2 --distribution ascending --dtype i32");
    assert_file("a.bin", 6 * 4, i32, 3);
    succeed("profk bench --dump a.bin -n 200 --distribution ascending --dtype u8");
    assert_file("a.bin", 200, u8, 1);
    succeed("profk bench --dump a.bin -n 2 --distribution ascending --dtype f64");
    assert_file("a.bin", 2 * 8, f64, 4);

    /* a shorter input is the beginning of a longer one, whatever the number of threads */
    succeed("profk bench --dump a.bin -n 1000");
    succeed("profk bench --dump b.bin -n 2^20");
    assert_int_equal(run("cmp -n 4000 a.bin b.bin"), 0);
    assert_nothing_left_behind();
}

/* --- with a device -------------------------------------------------------------------------------------------- */

/* The object behind the next '{' in the list of cells; NULL behind the last. */
static const char *next_cell(const char *at)
{
    const char *end;

    if (!at)
        at = find_member(out, "cells", &end);
    return strchr(at + 1, '{');
}

static size_t count_cells(void)
{
    size_t count = 0;
    const char *cell;

    for (cell = next_cell(NULL); cell; cell = next_cell(cell)) {
        assert_keys(cell, CELL_KEYS);
        assert_true(member_number(cell, "min_ms") > 0.0);
        assert_true(member_number(cell, "min_ms") <= member_number(cell, "median_ms"));
        assert_true(member_number(cell, "median_ms") <= member_number(cell, "p99_ms"));
        assert_true(member_number(cell, "read_ms") > 0.0);
        assert_true(member_number(cell, "ratio") > 0.0);
        count++;
    }
    return count;
}

/* Runs a bench as JSON and returns how many cells it had. */
static size_t bench(const char *arguments)
{
    int status = run("profk bench --json %s", arguments);

    if (status != 0 || err[0] != '\0')
        print_message("profk bench --json %s\n  exit %d\n  err: %s\n", arguments, status, err);
    assert_int_equal(status, 0);
    assert_string_equal(err, "");
    assert_json();
    assert_keys(out, "bench,device,platform,driver,version,warmup,seconds,complete,cells");
    return count_cells();
}

static void test_one_cell(void **state)
{
    const char *cell;

    (void)state;
    assert_int_equal(bench("-n 2^14 -k 100 --runs 4 --warmup 2 --route profk"), 1);
    assert_member("bench", "\"single\"");
    assert_member("warmup", "2");
    assert_member("complete", "true");
    cell = next_cell(NULL);
    assert_int_equal(member_number(cell, "n"), 16384);
    assert_int_equal(member_number(cell, "k"), 100);
    assert_int_equal(member_number(cell, "runs"), 4);
    assert_int_equal(member_number(cell, "input_bytes"), 65536);
    assert_true(member_number(cell, "attempts") >= 4);
}

static void test_lists(void **state)
{
    (void)state;
    assert_int_equal(bench("-n 1000,2^12..2^14 -k 1..9+4,2000 --runs 1 --warmup 1"),
                     15); /* 4 * 4 less k 2000 of 1000 */
    assert_int_equal(bench("-n 4096..70000*4 -k 5 --runs 1 --dtype f32,u8 --distribution zeros,cauchy"), 12);
    assert_int_equal(bench("-n 2^14 -k 5 -S 0,100,1000 --runs 1"), 2); /* 1000 is above n/32 */
    assert_int_equal(bench("-n 300 -k 5,7 --rows 1,4 --mode exact,async,approximate -e 0.5,0.1 --runs 2"), 24);
    assert_int_equal(bench("-n 3000 -k 7 --order smallest --sort none --nan last --route full --runs 2"), 1);
    assert_int_equal(bench("-n 2^14 -k 5 --force S=64,t=2,M=3000,shape=tile --runs 2"), 1);
}

/* What an approximate call brings is a share; forced to miss, it is a small one. */
static void test_recall(void **state)
{
    (void)state;
    assert_int_equal(bench("-n 2^14 -k 64 --mode approximate --route profk --force S=1024,t=1,M=64 --runs 8"), 1);
    assert_true(member_number(next_cell(NULL), "recall") < 1.0);
    assert_true(member_number(next_cell(NULL), "recall") > 0.0);
    assert_int_equal(bench("-n 2^14 -k 64 --mode approximate --route full --runs 1"), 1);
    assert_true(member_number(next_cell(NULL), "recall") == 1.0);
    assert_int_equal(bench("-n 2^14 -k 64 --runs 1"), 1);
    assert_true(strstr(out, "\"recall\":null") != NULL);
}

static void test_named_benches(void **state)
{
    static const struct {
        const char *name;
        size_t cells;
    } benches[] = {{"grid", 4},     {"sample-size", 3}, {"failure-budget", 7}, {"distributions", 12},
                   {"batches", 16}, {"check", 3},       {"memory", 1}};
    char line[128];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof benches / sizeof benches[0]; i++) {
        snprintf(line, sizeof line, "%s --scale small --runs 1 --warmup 1", benches[i].name);
        assert_int_equal(bench(line), benches[i].cells);
    }
}

static void test_csv_and_table(void **state)
{
    (void)state;
    succeed("profk bench -n 5000,6000 -k 3 --runs 1 --csv");
    assert_int_equal(strncmp(out, CELL_KEYS "\n5000,3,1,f32,normal,largest,exact,0.001,",
                             strlen(CELL_KEYS "\n5000,3,1,f32,normal,largest,exact,0.001,")),
                     0);
    succeed("profk bench -n 5000,6000 -k 3 --runs 1 -q");
    assert_non_null(strstr(out, "min ms"));
    assert_non_null(strstr(out, "\n        6000        3 "));
}

static void test_files(void **state)
{
    (void)state;
    assert_int_equal(bench("--input v.npy -k 2 --runs 1"), 1);
    assert_int_equal(bench("--input rows.npy -n 2 --rows 2 -k 1 --runs 1"), 1);
    succeed("profk bench --dump a.bin -n 10000 --dtype i16 --distribution cauchy");
    assert_int_equal(bench("--input a.bin --dtype i16 -n 100,10000,10001 -k 9 --runs 1"), 2);
    assert_int_equal(bench("--input $ELEVATION -k 10 --order magnitude --runs 1"), 1);
    assert_true(strstr(out, "\"distribution\":\"file\"") != NULL);
    refuse("profk bench --input v.npy -n 6 -k 2", 2, "no cell");
    refuse("profk bench -n 5 -k 6", 2, "no cell");
}

/* A cell that no plan serves is left out with a note; alone it is a failure. */
static void test_left_out(void **state)
{
    (void)state;
    assert_int_equal(run("profk bench -n 2^14 -k 8,16383 -S 100 --route profk --runs 1 --json"), 0);
    assert_json();
    assert_int_equal(count_cells(), 1);
    assert_non_null(strstr(err, "left out n 16384, k 16383"));
    refuse("profk bench -n 2^14 -k 16383 -S 100 --route profk --runs 1 -q", 2, "no cell");
}

static void test_budget(void **state)
{
    (void)state;
    assert_int_equal(bench("-n 2^14 -k 1..100+1 --runs 10 --budget 0.001"), 1);
    assert_member("complete", "false");
    assert_int_equal(member_number(next_cell(NULL), "runs"), 3);
}

/* A call that fails leaves nothing on standard output. */
static void test_failing_calls(void **state)
{
    (void)state;
    if (run("OPENCL_LAYERS=$LAYER FAULT=clCreateBuffer:1:-61 profk topk v.npy -k 1") == 0)
        return; /* a loader without layers */
    refuse("OPENCL_LAYERS=$LAYER FAULT=clCreateBuffer:1:-4 profk bench -n 2^14 -k 8 --json", 1, "memory");
    refuse("OPENCL_LAYERS=$LAYER FAULT=clCreateBuffer:4:-4 profk bench -n 2^14 -k 8 --json", 1, "memory");
    refuse("OPENCL_LAYERS=$LAYER FAULT=clBuildProgram:1:-11 profk bench -n 2^14 -k 8 --json", 1, "");
}

static int failed_without_device(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_command_lines),
        cmocka_unit_test(test_dump),
    };

    return cmocka_run_group_tests_name("bench, no device", tests, set_up_without_devices, tear_down);
}

static int failed_with_device(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_cell),      cmocka_unit_test(test_lists),
        cmocka_unit_test(test_recall),        cmocka_unit_test(test_named_benches),
        cmocka_unit_test(test_csv_and_table), cmocka_unit_test(test_files),
        cmocka_unit_test(test_left_out),      cmocka_unit_test(test_budget),
        cmocka_unit_test(test_failing_calls),
    };

    return cmocka_run_group_tests_name("bench, device", tests, set_up_with_devices, tear_down);
}

int main(void)
{
    return shell_main(failed_without_device, failed_with_device);
}
