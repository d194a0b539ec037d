/*
 * test_cli_selftest.c: profk selftest.  Text and JSON say the same; the verdict turns bad whatever is damaged: an
 * answer on its way to the host, a call of OpenCL that fails once or always, a device that is lost on the way, a
 * compiler that refuses.
 *
 * With --long it runs where no kernel is kept, and must keep its minute.
 */
#include "shell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json_reader.h"

static char text[TEXT_ROOM]; /* the report as it was printed for people */

/* Item `number` of a list of objects without objects in them, NULL behind the last one. */
static const char *item(const char *list, size_t number)
{
    while (number-- > 0 && list)
        list = strchr(list + 1, '{');
    return list;
}

/* The text has a line that begins like this. */
static void assert_line(const char *line)
{
    char found[LINE_ROOM];

    snprintf(found, sizeof found, "\n%s", line);
    if (!strstr(text, found))
        print_message("no line '%s' in\n%s", line, text);
    assert_non_null(strstr(text, found));
}

/* A member of the last JSON as text, without quotes. */
static const char *member(const char *key)
{
    static char value[LINE_ROOM];
    const char *end, *at = find_member(out, key, &end);

    if (*at == '"')
        snprintf(value, sizeof value, "%.*s", (int)(end - at - 2), at + 1);
    else
        snprintf(value, sizeof value, "%.*s", (int)(end - at), at);
    return value;
}

/* Every group of the JSON that was printed is a line of the text: the same trials, the same failures. */
static size_t assert_groups_agree(void)
{
    const char *end, *list = find_member(out, "groups", &end), *group;
    size_t count = 0;

    for (group = item(list, 1); group && group < end; group = item(list, ++count + 1)) {
        const char *name_end, *name = find_member(group, "name", &name_end);
        double trials = member_number(group, "trials"), left_out = member_number(group, "left_out");
        char line[LINE_ROOM];

        snprintf(line, sizeof line, "%-11.*s %5.0f of %5.0f trials %5.0f failed", (int)(name_end - name - 2),
                 name + 1, trials, trials + left_out, member_number(group, "failed"));
        assert_line(line);
    }
    return count;
}

/* What the JSON that was printed and the text both hold. */
static void assert_text_agrees(void)
{
    const char *end, *list = find_member(out, "misses", &end), *misses = item(list, 1);
    char line[LINE_ROOM];
    size_t count = 0;

    assert_true(assert_groups_agree() >= 9);
    for (; misses && misses < end; misses = item(list, ++count + 1)) {
        const char *shape_end, *shape = find_member(misses, "shape", &shape_end);

        snprintf(line, sizeof line,
                 "misses %.*s: %.0f samples, %.0f missed, theory %.1f, %.0f overflowed, theory %.1f\n",
                 (int)(shape_end - shape - 2), shape + 1, member_number(misses, "samples"),
                 member_number(misses, "missed"), member_number(misses, "missed_theory"),
                 member_number(misses, "overflowed"), member_number(misses, "overflowed_theory"));
        assert_line(line);
    }
    assert_int_equal(count, 2);
    snprintf(line, sizeof line, "damage: %s answers damaged on purpose, ", member("damaged"));
    snprintf(line + strlen(line), sizeof line - strlen(line), "%s found\n", member("found"));
    assert_line(line);
    snprintf(line, sizeof line, "seed: %s\n", member("seed"));
    assert_line(line);
    snprintf(line, sizeof line, "cache: %s\n", member("cache")[0] ? member("cache") : "none");
    assert_line(line);
}

static void test_good(void **state)
{
    (void)state;
    succeed("profk selftest --level 0 --device 0");
    memcpy(text, out, sizeof text);
    assert_int_equal(strncmp(text, "profk ", 6), 0);
    assert_line("verdict: pass\n");
    assert_line("speed: top 2048 of ");
    succeed("profk selftest --level 0 --json --device 0");
    assert_json();
    assert_keys(out, "verdict,not_run,trials,failed,left_out,level,seed,seconds,profk,host,device,tuning,shape,cache,"
                     "programs_compiled,programs_loaded,damaged,found,groups,misses,failures,speed");
    assert_member("verdict", "\"pass\"");
    assert_member("not_run", "\"\"");
    assert_member("left_out", "0");
    assert_member("failures", "[]");
    assert_member("level", "0");
    assert_true(member_number(out, "damaged") >= 20);
    assert_true(member_number(out, "damaged") == member_number(out, "found"));
    assert_text_agrees();
}

static void test_odd_sizes(void **state)
{
    (void)state;
    succeed("profk selftest --level 2 --json");
    assert_json();
    assert_member("verdict", "\"pass\"");
    assert_member("left_out", "0");
    assert_member("level", "2");
    assert_non_null(strstr(out, "\"groups-100\""));
}

/* The report says fail, and how many failures; one message says so too. */
static void assert_fails(const char *fault, const char *failed)
{
    int status = run("OPENCL_LAYERS=$LAYER %s profk selftest --level 0 --json", fault);
    const char *newline = strchr(err, '\n'), *verdict;

    if (status != 1)
        print_message("%s: exit %d\n%s%s", fault, status, out, err);
    assert_int_equal(status, 1);
    assert_json();
    verdict = member("verdict");
    if (strcmp(verdict, "fail") != 0)
        print_message("%s: %s\n", fault, out);
    assert_string_equal(verdict, "fail");
    if (failed)
        assert_member("failed", failed);
    assert_true(strcmp(member("failures"), "[]") != 0);
    assert_true(strncmp(err, "profk: ", 7) == 0 && newline && newline[1] == '\0');
}

static void test_damage(void **state)
{
    (void)state;
    if (run("OPENCL_LAYERS=$LAYER FAULT=clCreateBuffer:1:-61 profk topk v.npy -k 1") == 0)
        skip();                                                  /* an ICD loader without layers */
    assert_fails("DAMAGE=1", "1");                               /* values */
    assert_fails("DAMAGE=2", "1");                               /* indices */
    assert_fails("DAMAGE=300", "1");                             /* late */
    assert_fails("FAULT=clEnqueueNDRangeKernel:99:-5", "1");     /* a launch */
    assert_fails("FAULT=clEnqueueReadBuffer:2:-5", "1");         /* a read */
    assert_fails("FAULT=clCreateBuffer:30:-61", "1");            /* memory */
    assert_fails("FAULT=clWaitForEvents:0:-14", NULL);           /* every command fails on the device */
    assert_fails("FAULT=clEnqueueNDRangeKernel:200+:-36", NULL); /* the device is lost */
    assert_fails("PROFK_CACHE_DIR= FAULT=clBuildProgram:3+:-11", NULL);
    assert_int_equal(run("OPENCL_LAYERS=$LAYER FAULT=clCreateCommandQueue:0:-6 profk selftest --json"), 1);
    assert_string_equal(out, ""); /* nothing was tried: no report */
}

/* Where the kernels are kept only the bare reads of the speed are compiled. */
static void test_speed_fails(void **state)
{
    (void)state;
    if (run("OPENCL_LAYERS=$LAYER FAULT=clCreateBuffer:1:-61 profk topk v.npy -k 1") == 0)
        skip(); /* an ICD loader without layers */
    assert_fails("FAULT=clCreateProgramWithSource:0:-6", "0");
    assert_member("speed", "null");
    assert_non_null(strstr(out, "speed was measured"));
}

static double now_s(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Without any kernel kept, neither by profk nor by PoCL: a minute, of which this machine may lend some to others. */
static void test_cold(void **state)
{
    const char *line = "POCL_CACHE_DIR=$PWD/cold PROFK_CACHE_DIR= profk selftest";
    double begin = now_s();

    (void)state;
    assert_int_equal(run("%s; status=$?; rm -rf cold; exit $status", line), 0);
    print_message("cold: %.1f s\n%s", now_s() - begin, out);
    assert_true(now_s() - begin < 90);
    memcpy(text, out, sizeof text);
    assert_non_null(strstr(text, "verdict: pass"));
    begin = now_s();
    assert_int_equal(run("%s --json; status=$?; rm -rf cold; exit $status", line), 0);
    assert_true(now_s() - begin < 90);
    assert_json();
    assert_member("level", "1");
    assert_true((member_number(out, "left_out") > 0) ==
                (strcmp(member("verdict"), "pass in part") == 0 && strcmp(member("not_run"), "speed") != 0));
    assert_true((strcmp(member("verdict"), "pass") == 0) == (member("not_run")[0] == '\0'));
}

static int failed(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_odd_sizes),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_speed_fails),
    };

    return cmocka_run_group_tests_name("selftest", tests, set_up_with_devices, tear_down);
}

static int failed_cold(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cold)};

    return cmocka_run_group_tests_name("selftest, cold", tests, set_up_with_devices, tear_down);
}

int main(int count, char **arguments)
{
    return shell_main(NULL, count > 1 && strcmp(arguments[1], "--long") == 0 ? failed_cold : failed);
}
