/*
 * test_cli.c: syntax, input, output, exit statuses, one row in one piece.  (test_cli_shapes.c has the rest.)
 *
 * The first group needs no device and sees none; without a device the second is skipped and the program exits with
 * 77.
 */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <profk.h>

#include "json_reader.h"
#include "shell.h"

/* --- without a device ----------------------------------------------------------------------------------------- */

static void test_help(void **state)
{
    static const char *const lines[] = {
        "profk --help",          "profk topk --help",    "profk params --help",         "profk explain --help",
        "profk devices --help",  "profk topk -k --help", "profk params --bogus --help", "profk tune --help",
        "profk selftest --help", "profk cache --help",
    };
    char version[64];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        succeed(lines[i]);
        assert_int_equal(strncmp(out, "Usage: profk", 12), 0);
    }
    assert_int_equal(run("profk"), 2);
    assert_string_equal(out, "");
    assert_int_equal(strncmp(err, "Usage: profk", 12), 0);
    succeed("profk --version");
    snprintf(version, sizeof version, "profk %d.%d.%d\n", PROFK_VERSION_MAJOR, PROFK_VERSION_MINOR,
             PROFK_VERSION_PATCH);
    assert_string_equal(out, version);
}

static void test_wrong_command_lines(void **state)
{
    static const struct refusal refusals[] = {
        {"profk bogus", 2, "bogus"},
        {"profk tune x", 2, "takes no"},
        {"profk tune --budget 0", 2, "seconds"},
        {"profk tune --import nowhere.tuning", 2, "nowhere.tuning"},
        {"profk cache", 2, "path, list or clear"},
        {"profk cache purge", 2, "'purge'"},
        {"profk cache path list", 2, "two words"},
        {"profk cache list --json", 2, "no option"},
        {"profk --version now", 2, "--version"},
        {"profk topk", 2, "file is missing"},
        {"profk topk v.npy", 2, "-k is missing"},
        {"profk topk v.npy row.npy -k 1", 2, "two files"},
        {"profk topk -- -k 1", 2, "two files"},
        {"profk topk v.npy -k", 2, "needs a value"},
        {"profk topk v.npy -k3", 2, "no option '-k3'"},
        {"profk topk v.npy -k=3", 2, "no option '-k=3'"},
        {"profk topk v.npy -qv -k 1", 2, "no option '-qv'"},
        {"profk topk v.npy -k 1 --jso", 2, "no option '--jso'"},
        {"profk topk v.npy -k 1 --json=1", 2, "--json takes no value"},
        {"profk topk v.npy -k 1 -q=1", 2, "no option"},
        {"profk topk v.npy -k ''", 2, "not a number"},
        {"profk topk v.npy -k three", 2, "not a number"},
        {"profk topk v.npy -k -1", 2, "not a number"},
        {"profk topk v.npy -k +1", 2, "not a number"},
        {"profk topk v.npy -k 1.0", 2, "not a number"},
        {"profk topk v.npy -k 0x1", 2, "not a number"},
        {"profk topk v.npy -k ' 1'", 2, "not a number"},
        {"profk topk v.npy -k 1e0", 2, "not a number"},
        {"profk topk v.npy -k 18446744073709551616", 2, "not a number"},
        {"profk topk v.npy -k 1 --seed 99999999999999999999", 2, "not a number"},
        {"profk topk v.npy -k 1 -e 0", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 -e 0.51", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 -e 9e-13", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 -e 0x1p-3", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 -e nan", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 -e inf", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 --epsilon=0,1", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 --epsilon=.", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 --epsilon=1e", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 --dtype f8", 2, "f16, bf16"},
        {"profk topk v.npy -k 1 --dtype F32", 2, "f16, bf16"},
        {"profk topk v.npy -k 1 --order biggest", 2, "largest, smallest, magnitude"},
        {"profk topk v.npy -k 1 --nan first", 2, "largest, last"},
        {"profk topk v.npy -k 1 --sort value", 2, "rank, index, none"},
        {"profk topk v.npy -k 1 --index i64", 2, "u64, u32"},
        {"profk topk v.npy -k 1 --mode fast", 2, "exact, approximate"},
        {"profk topk v.npy -k 1 --route slow", 2, "auto, rows, profk, full"},
        {"profk topk v.npy -k 1 --recall 0", 2, "above 0"},
        {"profk topk v.npy -k 1 --recall 1.1", 2, "above 0"},
        {"profk topk v.npy -k 1 --chunks 0", 2, "from 1"},
        {"profk topk v.npy -k 1 --force ''", 2, "shape="},
        {"profk topk v.npy -k 1 --force S", 2, "shape="},
        {"profk topk v.npy -k 1 --force S=0", 2, "shape="},
        {"profk topk v.npy -k 1 --force S=1,", 2, "shape="},
        {"profk topk v.npy -k 1 --force S=1,X=2", 2, "shape="},
        {"profk topk v.npy -k 1 --force shape=round", 2, "shape="},
        {"profk topk v.npy -k 1 --force wg=-1", 2, "shape="},
        {"profk topk v.npy -k 1 --force S=111111111111111111111111111111", 2, "shape="},
        {"profk topk v.npy -k 1 --tuning default", 2, "no option"},
        {"profk topk v.npy -k 1 -n 5", 2, "no option"},
        {"profk topk v.npy -k 1 --recall 0.9", 2, "--mode approximate"},
        {"profk topk v.npy -k 1 --recall 0.9 --mode approximate --mode exact", 2, "--mode approximate"},
        {"profk topk v.npy -k 1 --values a.npy --indices a.npy", 2, "both name"},
        {"profk params -n 5", 2, "-k is missing"},
        {"profk params -k 5", 2, "-n is missing"},
        {"profk params -n 5 -k 5 6", 2, "takes no '6'"},
        {"profk params -n 5 -k 6", 2, ""},
        {"profk params -n 5 -k 0", 2, ""},
        {"profk params -n 281474976710656 -k 1", 2, ""},
        {"profk params -n 5 -k 1 -S 6", 2, ""},
        {"profk params -n 5 -k 1 -S 0", 2, ""},
        {"profk params -n 1000 -k 900 -S 7", 2, ""},
        {"profk params -n 5 -k 1 --csv", 2, "no option"},
        {"profk explain -k 1", 2, "-n is missing"},
        {"profk explain -n 5 -k 6", 2, "only 5 elements"},
        {"profk explain -n 281474976710656 -k 1", 2, "2^48"},
        {"profk explain -n 5 -k 1 --rows 0", 2, "--rows 0"},
        {"profk explain -n 4294967296 -k 1 --index u32", 2, "u32"},
        {"profk explain -n 4294967296 -k 2147483648", 2, "2^31"},
        {"profk explain -n 9 -k 1 --tuning best", 2, "default, stored"},
        {"profk explain -n 9 -k 1 --recall 1", 2, "--mode approximate"},
        {"profk explain -n 9 -k 1 --rows 2 --chunks 2", 2, "single row"},
        {"profk explain -n 9 -k 2 --rows 18446744073709551615", 2, "too many"},
        {"profk explain -n 1000000 -k 900000 --force S=7", 2, "S = 7"},
        {"profk explain -n 9 -k 1 --stats", 2, "no option"},
        {"profk devices gpu", 2, "takes no 'gpu'"},
        {"profk devices -k 1", 2, "no option"},
        {"profk selftest now", 2, "takes no 'now'"},
        {"profk selftest -k 1", 2, "no option"},
        {"profk selftest --csv", 2, "no option"},
    };

    (void)state;
    REFUSE_ALL(refusals);
}

static void test_wrong_input(void **state)
{
    static const struct refusal refusals[] = {
        {"profk topk v.npy -k 6", 2, "k is 6 but a row has only 5"},
        {"profk topk missing.npy -k 1", 2, "missing.npy"},
        {"profk topk '' -k 1", 2, "cannot read"},
        {"profk topk . -k 1", 2, "folder"},
        {"profk topk v.npy/x -k 1", 2, "cannot read"},
        {"profk topk v.raw -k 1", 2, "--dtype"},
        {"profk topk empty.raw -k 1", 2, "--dtype"},
        {"profk topk empty.raw -k 1 --dtype f32", 2, "only 0 elements"},
        {"profk topk odd.raw -k 1 --dtype f32", 2, "no multiple"},
        {"profk topk v.npy -k 1 --dtype i32", 2, "holds f32, not i32"},
        {"profk topk v.npy -k 1 --rows 0", 2, "0 rows"},
        {"profk topk row.npy -k 1 --rows 0", 2, "has 1 rows"},
        {"profk topk norows.npy -k 1 --rows 1", 2, "has 0 rows"},
        {"profk topk norows.npy -k 6", 2, "only 5 elements"},
        {"profk topk v.npy -k 1 --rows 2", 2, "do not divide"},
        {"profk topk rows.npy -k 1 --rows 4", 2, "has 2 rows"},
        {"profk topk rows.npy -k 3", 2, "only 2 elements"},
        {"profk topk rows.npy -k 1 --chunks 2", 2, "single row"},
        {"profk topk v.npy -k 1 --rows 5 --chunks 2", 2, "single row"},
        {"profk topk $ELEVATION -k 100000 --force S=7", 2, "S = 7"},
        {"profk topk $ELEVATION -k 100000 --force S=7 --route profk --async", 2, "S = 7"},
        {"profk topk $ELEVATION -k 100 --force S=99 --mode approximate --recall 1", 2, "recall of 1"},
        {"profk topk $ELEVATION -k 3 --force t=100000", 2, "above the sample"},
        {"profk topk $ELEVATION -k 3 --force count=1", 2, "above M"},
        {"profk topk - -k 1 <&-", 2, "standard input"},
        {"profk topk - -k 1 < odd.raw", 2, "--dtype"},
        {"head -c 40 v.npy | profk topk - -k 1", 2, "ends inside its header"},
        {"profk topk v.npy -k 1 --force S=6", 2, "S=6 is above n"},
        {"profk topk v.npy -k 1 --force S=3,t=4", 2, "t=4"},
        {"profk topk v.npy -k 2 --force M=1", 2, "M=1"},
        {"profk topk v.npy -k 2 --force M=6", 2, "M=6"},
        {"profk topk v.npy -k 2 --force M=3,count=3", 2, "count=3"},
    };

    (void)state;
    REFUSE_ALL(refusals);
}

static void test_terminal_as_input(void **state)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    char line[LINE_ROOM];

    (void)state;
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        skip();
    snprintf(line, sizeof line, "profk topk - -k 1 --dtype u8 <%s", ptsname(terminal));
    refuse(line, 2, "terminal");
    close(terminal);
}

static void test_npy_headers(void **state)
{
    static const struct {
        int version;
        const char *header;
        const char *fragment; /* NULL: good, so that only the device is missing */
    } cases[] = {
        {1, HEADER("<f4", "False", "(5,)"), NULL},
        {2, HEADER("<f4", "False", "(5,)"), NULL},
        {3, HEADER("<f4", "False", "(5L,)"), NULL},
        {1, "{\"shape\":(5,),\"fortran_order\":False,\"descr\":\"<f4\"}", NULL},
        {1, HEADER("|u1", "False", "(20,)"), NULL},
        {1, HEADER("<i1", "False", "(20,)"), NULL},
        {1, HEADER(">u1", "False", "(20,)"), NULL},
        {1, HEADER("=u1", "False", "(20,)"), NULL},
        {1, HEADER("<f4", "False", "(4,)"), NULL}, /* bytes behind the array are ignored */
        {1, HEADER("<f4", "False", "(1, 5)"), NULL},
        {1, HEADER("<f4", "False", "(6,)"), "truncated"},
        {1, HEADER("<f4", "False", "(18446744073709551615, 18446744073709551615)"), "truncated"},
        {1, HEADER("<f4", "False", "(18446744073709551616,)"), "dictionary"},
        {1, HEADER(">f4", "False", "(5,)"), "big-endian"},
        {1, HEADER("<f4", "True", "(5,)"), "Fortran"},
        {1, HEADER("|b1", "False", "(5,)"), "'|b1'"},
        {1, HEADER("<c8", "False", "(2,)"), "'<c8'"},
        {1, HEADER("<U1", "False", "(5,)"), "'<U1'"},
        {1, HEADER("|O", "False", "(5,)"), "'|O'"},
        {1, HEADER("<M8[ns]", "False", "(2,)"), "'<M8[ns]'"},
        {1, HEADER("<f16", "False", "(1,)"), "'<f16'"},
        {1, HEADER("|f4", "False", "(5,)"), "'|f4'"},
        {1, "{'descr': [('a', '<f4'), ('b', '<i4', (2,))], 'fortran_order': False, 'shape': (1,), }\n", "structured"},
        {1, HEADER("<f4", "False", "()"), "0 dimensions"},
        {1, HEADER("<f4", "False", "(1, 1, 5)"), "3 dimensions"},
        {1, HEADER("<f4", "False", "(5)"), "dictionary"},
        {1, HEADER("<f4", "False", "(-5,)"), "dictionary"},
        {1, HEADER("<f4", "False", "(5,,)"), "dictionary"},
        {1, HEADER("<f4", "No", "(5,)"), "dictionary"},
        {1, "{'descr': '<f4', 'shape': (5,)}", "dictionary"},
        {1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (5,)}", "dictionary"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), 'more': 1}", "dictionary"},
        {1, "{'descr': '<f4' 'fortran_order': False, 'shape': (5,)}", "dictionary"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)} x", "dictionary"},
        {1, "{'descr': '<f4", "dictionary"},
        {1, "{'descr': [('a'", "dictionary"},
        {1, "", "dictionary"},
        {4, HEADER("<f4", "False", "(5,)"), "version"},
        {0, HEADER("<f4", "False", "(5,)"), "version"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_npy("h.npy", cases[i].version, cases[i].header, vector, sizeof vector);
        if (cases[i].fragment)
            refuse("profk topk h.npy -k 1", 2, cases[i].fragment);
        else
            refuse("profk topk h.npy -k 1", 3, "");
    }
    for (i = 6; i < 10 + strlen(cases[0].header) + sizeof vector; i++) { /* cut anywhere: never a crash */
        char line[LINE_ROOM];

        snprintf(line, sizeof line, "head -c %zu v.npy >h.npy; profk topk h.npy -k 1", i);
        refuse(line, 2, "");
    }
}

static void test_no_device(void **state)
{
    static const struct refusal refusals[] = {
        {"profk devices", 3, ""},
        {"profk topk v.npy -k 1", 3, ""},
        {"profk topk rows.npy -k 1 --async --force shape=stream", 3, ""},
        {"profk topk v.npy -k 1 --chunks 9 --mode approximate --recall 0.9", 3, ""},
        {"profk selftest", 3, ""},
        {"profk selftest --json --device cpu", 3, ""},
        {"profk topk v.npy -k 1 --device cpu", 3, ""},
        {"profk topk v.npy -k 1 --values out.npy", 3, ""},
        {"profk explain -n 100 -k 1", 3, ""},
        {"OCL_ICD_VENDORS=$FAKE FAKE_DEVICES=0 profk devices", 3, ""},
        {"OCL_ICD_VENDORS=$FAKE FAKE_DEVICES=0 profk topk v.npy -k 1", 3, ""},
        {"OCL_ICD_VENDORS=$FAKE FAKE_COMPILER=0 profk topk v.npy -k 1", 3, ""},
        {"OCL_ICD_VENDORS=$FAKE FAKE_COMPILER=0 profk topk v.npy -k 1 --device 0", 3, "compiler"},
        {"OCL_ICD_VENDORS=$FAKE profk topk v.npy -k 1 --device 9", 3, ""},
        {"OCL_ICD_VENDORS=$FAKE profk topk v.npy -k 1 --device nosuchname", 3, ""},
    };

    (void)state;
    REFUSE_ALL(refusals);
    assert_int_not_equal(access("out.npy", F_OK), 0);
    succeed("OCL_ICD_VENDORS=$FAKE FAKE_COMPILER=0 profk devices --json");
    assert_json();
    assert_non_null(strstr(out, "\"usable\":false,\"why_not\":\""));
    assert_null(strstr(out, "\"why_not\":\"\""));
    succeed("OCL_ICD_VENDORS=$FAKE FAKE_COMPILER=0 profk devices");
    assert_non_null(strstr(out, "not usable"));
}

/* The folder of the stores needs no device. */
static void test_cache(void **state)
{
    (void)state;
    succeed("PROFK_CACHE_DIR=$PWD/kept profk cache path");
    assert_non_null(strstr(out, "/kept\n"));
    succeed("PROFK_CACHE_DIR=kept profk cache list");
    assert_string_equal(out, "");
    assert_int_equal(run("mkdir -p home/.cache/profk; cd home/.cache/profk; echo x >profk-0123456789abcdef.bin; "
                         "echo mine >notes.txt"), 0);
    succeed("unset PROFK_CACHE_DIR; XDG_CACHE_HOME=home/.cache HOME=$PWD/home profk cache list");
    assert_non_null(strstr(out, "profk-0123456789abcdef.bin     binary          2  -  damaged"));
    succeed("unset PROFK_CACHE_DIR; XDG_CACHE_HOME=$PWD/home/.cache profk cache clear");
    assert_string_equal(out, "1 file removed\n");
    succeed("cat home/.cache/profk/notes.txt && rm -r home");
    succeed("PROFK_CACHE_DIR= profk cache clear");
    assert_string_equal(out, "0 files removed\n");
    succeed("PROFK_CACHE=0 profk cache list");
    refuse("PROFK_CACHE_DIR= profk cache path", 1, "PROFK_CACHE_DIR");
    refuse("PROFK_CACHE=0 profk cache path", 1, "PROFK_CACHE");
    refuse("unset PROFK_CACHE_DIR XDG_CACHE_HOME HOME; profk cache path", 1, "HOME");
    refuse("PROFK_CACHE_DIR=v.npy profk cache list", 1, "v.npy");
    refuse("PROFK_CACHE_DIR=v.npy profk cache clear", 1, "v.npy");
}

/* Table 3 of the paper through the command, with the S given and with the S chosen. */
static void test_params(void **state)
{
    FILE *table = fopen(PROFK_TEST_DATA "/table3.csv", "r");
    char row[256];
    int rows = 0;

    (void)state;
    assert_non_null(table);
    while (fgets(row, sizeof row, table)) {
        unsigned long long n, k, S, t_exact, t_fast, M_exact, M_fast;
        double fail_exact, fail_fast;
        char exact[160], line[LINE_ROOM];
        const char *end, *at;
        int given;

        if (sscanf(row, "%llu,%llu,%llu,%llu,%llu,%llu,%llu,%lf,%lf", &n, &k, &S, &t_exact, &t_fast, &M_exact,
                   &M_fast, &fail_exact, &fail_fast) != 9)
            continue;
        rows++;
        for (given = 0; given < 2; given++) {
            snprintf(line, sizeof line, "profk params -n %llu -k %llu -e 0.001 --json", n, k);
            if (given)
                snprintf(line + strlen(line), sizeof line - strlen(line), " -S %llu", S);
            succeed(line);
            assert_json();
            assert_keys(out, "n,k,epsilon,S,exact,fast");
            assert_true(member_number(out, "S") == (double)S);
            at = find_member(out, "exact", &end);
            assert_keys(at, "t,M,fail_recall,fail_overflow");
            snprintf(exact, sizeof exact, "{\"t\":%llu,\"M\":%llu,", t_exact, M_exact);
            assert_int_equal(strncmp(at, exact, strlen(exact)), 0);
            assert_true(fabs(member_number(at, "fail_recall") + member_number(at, "fail_overflow") - fail_exact) <=
                        0.00501 * fail_exact);
            at = find_member(out, "fast", &end);
            snprintf(exact, sizeof exact, "{\"t\":%llu,\"M\":%llu,", t_fast, M_fast);
            assert_int_equal(strncmp(at, exact, strlen(exact)), 0);
            assert_true(fabs(member_number(at, "fail_recall") + member_number(at, "fail_overflow") - fail_fast) <=
                        0.00501 * fail_fast);
        }
    }
    fclose(table);
    assert_int_equal(rows, 21);
    succeed("profk params -n 1048576 -k 256");
    assert_non_null(strstr(out, "2835"));
    succeed("profk params -k 1 -n 5 -n 9 -k 9 --epsilon=0.1 -e .5e-0 --json"); /* the last one wins */
    assert_member("n", "9");
    assert_member("k", "9");
    assert_member("epsilon", "0.5");
}

/* --- with a device -------------------------------------------------------------------------------------------- */

static void test_json(void **state)
{
    (void)state;
    succeed("profk topk $ELEVATION -k 3 --route profk --json");
    assert_json();
    assert_keys(out, "n,k,rows,dtype,order,nan,sort,index,mode,epsilon,seed,route,device,S,t,M,attempts,fallbacks,"
                     "certified,R,seconds,values,indices");
    assert_member("n", "138632");
    assert_member("k", "3");
    assert_member("rows", "1");
    assert_member("dtype", "\"i16\"");
    assert_member("order", "\"largest\"");
    assert_member("nan", "\"largest\"");
    assert_member("sort", "\"rank\"");
    assert_member("index", "\"u64\"");
    assert_member("mode", "\"exact\"");
    assert_member("epsilon", "0.001");
    assert_member("route", "\"profk\"");
    assert_member("fallbacks", "0");
    assert_member("certified", "[true]");
    assert_member("values", "[[1076,1073,1071]]");
    assert_member("indices", "[[119910,119909,119911]]");
    succeed("profk topk --json $ELEVATION --order=smallest -k 4 --csv --seed 18446744073709551615 --json");
    assert_member("seed", "18446744073709551615");
    assert_member("values", "[[236,244,244,245]]");
    assert_member("indices", "[[116411,115623,138582,115624]]");
    succeed("profk topk $ELEVATION -k 3 --sort index --index u32 --json");
    assert_member("values", "[[1073,1076,1071]]");
    assert_member("indices", "[[119909,119910,119911]]");
}

static void test_routes(void **state)
{
    (void)state;
    succeed("profk topk $ELEVATION -k 3 --route full --json");
    assert_member("route", "\"full\"");
    assert_member("S", "null");
    assert_member("t", "null");
    assert_member("M", "null");
    assert_member("R", "[null]");
    assert_member("attempts", "1");
    assert_member("fallbacks", "0");
    assert_member("values", "[[1076,1073,1071]]");
    succeed("profk topk $ELEVATION -k 3 --route profk --force wg=3,shape=tile,S=4096 --json");
    assert_member("S", "4096");
    assert_member("indices", "[[119910,119909,119911]]");
    refuse("profk topk $ELEVATION -k 100000 --route profk --force S=7", 2, "");
    refuse("profk topk v.npy -k 1 --device nosuchname", 3, "nosuchname");
}

/* S = n and t = k - 1: the threshold is the (k - 1)-th element, so all six attempts miss and `full` answers. */
static void test_forced_misses(void **state)
{
    (void)state;
    succeed("profk topk v.npy -k 3 --route profk --force S=5,t=2 --json --seed 7");
    assert_member("seed", "7");
    assert_member("route", "\"profk\"");
    assert_member("S", "5");
    assert_member("t", "2");
    assert_member("attempts", "7");
    assert_member("fallbacks", "1");
    assert_member("R", "[null]");
    assert_member("certified", "[true]");
    assert_member("values", "[[3.0,1.5,0.10000000149011612]]");
    assert_member("indices", "[[3,0,2]]");
}

static void test_types(void **state)
{
    static const struct {
        const char *options, *values, *indices;
    } cases[] = {
        {"--dtype f16 -k 8",
         "[[\"NaN\",65504.0,1.0,5.960464477539063e-08,-0.0,-0.002735137939453125,-3.0,\"-Infinity\"]]",
         "[[0,5,2,4,3,7,6,1]]"},
        {"--dtype f16 -k 1 --nan last", "[[65504.0]]", "[[5]]"},
        {"--dtype bf16 -k 2", "[[2.679225179003971e+36,2.648071397852762e+36]]", "[[0,5]]"},
        {"--dtype f32 -k 4",
         "[[2.648071556309087e+36,-2.152394441202919e-41,-1.6001582767639575e-23,-2.668516383645893e+36]]",
         "[[2,1,3,0]]"},
        {"--dtype f64 -k 2 --order smallest", "[[-2.459877079069021e-185,-3.25959442045174e-310]]", "[[1,0]]"},
        {"--dtype i8 -k 3 --order smallest", "[[-128,-103,-102]]", "[[7,15,14]]"},
        {"--dtype u8 -k 3", "[[255,252,194]]", "[[10,3,13]]"},
        {"--dtype i16 -k 3", "[[31745,31743,15360]]", "[[0,5,2]]"},
        {"--dtype u16 -k 2", "[[64512,49664]]", "[[1,6]]"},
        {"--dtype i32 -k 4", "[[2080309249,-67077119,-1717911040,-2147468288]]", "[[2,0,3,1]]"},
        {"--dtype u32 -k 1", "[[4227890177]]", "[[0]]"},
        {"--dtype i64 -k 2 --order magnitude", "[[-9223306061929219071,-7378371732157038591]]", "[[0,1]]"},
        {"--dtype u64 -k 2", "[[11068372341552513025,9223438011780332545]]", "[[1,0]]"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[LINE_ROOM];

        snprintf(line, sizeof line, "profk topk t.raw %s --json", cases[i].options);
        succeed(line);
        assert_json();
        assert_member("values", cases[i].values);
        assert_member("indices", cases[i].indices);
    }
    succeed("profk topk bf16.npy --dtype bf16 -k 2 --json");
    assert_member("dtype", "\"bf16\"");
    assert_member("values", "[[2.679225179003971e+36,2.648071397852762e+36]]");
}

static void test_csv_and_table(void **state)
{
    (void)state;
    succeed("profk topk v.npy -k 3 --csv");
    assert_string_equal(out, "row,rank,index,value\n0,1,3,3.0\n0,2,0,1.5\n0,3,2,0.10000000149011612\n");
    succeed("profk topk v.npy -k 3 --json --csv --sort index");
    assert_string_equal(out, "row,index,value\n0,0,1.5\n0,2,0.10000000149011612\n0,3,3.0\n");
    succeed("profk topk t.raw --dtype f16 -k 1 --csv");
    assert_string_equal(out, "row,rank,index,value\n0,1,0,NaN\n");
    succeed("profk topk v.npy -k 1");
    assert_non_null(strstr(out, "rank"));
    assert_non_null(strstr(out, "3.0\n"));
    assert_non_null(strstr(out, ", certified, "));
}

static void test_empty_answers(void **state)
{
    static const char *const lines[] = {
        "profk topk v.npy -k 0 --json",
        "profk topk v.npy -k 0 --json --route full",
        "profk topk empty.raw -k 0 --json --dtype f64",
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        succeed(lines[i]);
        assert_json();
        assert_member("S", "null");
        assert_member("M", "null");
        assert_member("attempts", "0");
        assert_member("certified", "[true]");
        assert_member("R", "[null]");
        assert_member("values", "[[]]");
        assert_member("indices", "[[]]");
    }
    succeed("profk topk norows.npy -k 2 --rows 0 --json");
    assert_json();
    assert_member("rows", "0");
    assert_member("n", "5");
    assert_member("certified", "[]");
    assert_member("R", "[]");
    assert_member("values", "[]");
    assert_member("indices", "[]");
}

static void test_standard_input(void **state)
{
    static const char *const lines[] = {
        "profk topk - -k 1 --json <v.npy",
        "cat v.npy | profk topk - -k 1 --json",
        "cat v.npy | profk topk /dev/stdin -k 1 --json",
        "cat v.raw | profk topk --json --dtype f32 -k 1 -- -",
        "cat v.npy v.raw | profk topk - -k 1 --json",
        "(head -c 8 >/dev/null; profk topk - -k 1 --json --dtype f32) <v.raw",
        "profk topk row.npy -k 1 --json --rows 1",
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        succeed(lines[i]);
        assert_member("values", "[[3.0]]");
    }
    succeed("head -c 3000000 /dev/zero | profk topk - -k 1 --dtype i64 --json");
    assert_member("n", "375000");
}

/* An odd header length leaves the elements unaligned, so that they are copied instead of used in place. */
static void test_unaligned_array(void **state)
{
    (void)state;
    write_npy("odd.npy", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}", vector, sizeof vector);
    succeed("profk topk odd.npy -k 5 --json");
    assert_member("values", "[[3.0,1.5,0.10000000149011612,-0.0,-2.0]]");
}

static void assert_file(const char *path, size_t nbytes, const char *header, const void *data, size_t data_nbytes)
{
    static char bytes[TEXT_ROOM];
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), nbytes);
    fclose(file);
    assert_memory_equal(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    assert_memory_equal(bytes + 10, header, strlen(header));
    assert_int_equal(bytes[127], '\n');
    assert_memory_equal(bytes + 128, data, data_nbytes);
}

static void test_output_files(void **state)
{
    static const float values[] = {3.0f, 1.5f};
    static const uint64_t wide[] = {3, 0};
    static const uint32_t narrow[] = {3, 0};
    struct stat facts;

    (void)state;
    succeed("umask 027; profk topk v.npy -k 2 --values a.npy --indices b.npy --csv");
    assert_file("a.npy", 136, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", values, sizeof values);
    assert_file("b.npy", 144, "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }", wide, sizeof wide);
    assert_int_equal(stat("a.npy", &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0640);
    succeed("chmod 600 a.npy; ln -s a.npy link.npy; ln -s new.npy dangling.npy; "
            "profk topk v.npy -k 2 --rows 1 --index u32 --values link.npy --indices dangling.npy --csv");
    assert_file("a.npy", 136, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", values, sizeof values);
    assert_file("new.npy", 136, "{'descr': '<u4', 'fortran_order': False, 'shape': (1, 2), }", narrow, sizeof narrow);
    assert_int_equal(stat("a.npy", &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_int_equal(lstat("link.npy", &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    succeed("profk topk bf16.npy --dtype bf16 -k 1 --values a.npy --csv");
    assert_file("a.npy", 130, "{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }", "\x01\x7C", 2);
    succeed("profk topk norows.npy -k 2 --values a.npy --csv");
    assert_file("a.npy", 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2), }", "", 0);
    succeed("profk topk v.npy -k 2 --values /dev/null --csv");
    succeed("cp v.npy self.npy; profk topk self.npy -k 2 --values self.npy --csv"); /* the input may be replaced */
    assert_file("self.npy", 136, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", values, sizeof values);
    assert_nothing_left_behind();
}

static void test_unwritable_outputs(void **state)
{
    static const struct refusal refusals[] = {
        {"profk topk v.npy -k 1 --values nowhere/a.npy", 1, "nowhere/a.npy"},
        {"profk topk v.npy -k 1 --values .", 1, "."},
        {"profk topk v.npy -k 1 --values ''", 1, "cannot write"},
        {"profk topk v.npy -k 1 --values new/", 1, "new/"},
        {"profk topk v.npy -k 1 --values v.npy/a.npy", 1, "v.npy/a.npy"},
        {"profk topk v.npy -k 1 --values /dev/full", 1, "/dev/full"},
        {"profk topk v.npy -k 1 --values kept.npy --indices nowhere/b.npy", 1, "nowhere/b.npy"},
        {"profk topk v.npy -k 1 --values kept.npy --indices /dev/full", 1, "/dev/full"},
        {"ln -s loop.npy loop.npy; profk topk v.npy -k 1 --values loop.npy", 1, "loop.npy"},
        {"profk topk v.npy -k 1 --json >/dev/full", 1, "standard output"},
        {"profk topk v.npy -k 1 --json >&-", 1, "standard output"},
        {"profk params -n 9 -k 1 >/dev/full", 1, "standard output"},
    };

    (void)state;
    write_bytes("kept.npy", "kept", 4);
    REFUSE_ALL(refusals);
    read_text("kept.npy", out);
    assert_string_equal(out, "kept");
    assert_nothing_left_behind();
    assert_int_equal(run("profk topk v.npy -k 1 --json | true; test $? = 0"), 0);
    assert_string_equal(err, "");
}

/* What they print goes to standard error and changes nothing on standard output. */
static void test_talkative_options(void **state)
{
    (void)state;
    assert_int_equal(run("profk topk v.npy -k 1 --csv --stats -v"), 0);
    assert_string_equal(out, "row,rank,index,value\n0,1,3,3.0\n");
    assert_non_null(strstr(err, "recall misses"));
    succeed("profk topk v.npy -k 1 --csv -q");
    assert_string_equal(out, "row,rank,index,value\n0,1,3,3.0\n");
}

static void test_explain(void **state)
{
    (void)state;
    succeed("profk explain -n 1073741824 -k 8192 --json --tuning default");
    assert_json();
    assert_keys(out, "n,k,rows,dtype,order,epsilon,epsilon_row,route,shape,S,t,M,fail_recall,fail_overflow,"
                     "workspace_bytes,slabs,kernel_launches,blocking_calls,passes,device,tuning");
    assert_member("dtype", "\"f32\"");
    assert_member("route", "\"profk\"");
    assert_member("tuning", "\"default\"");
    assert_true(member_number(out, "workspace_bytes") <= 4.0 * 1024 * 1024);
    succeed("profk explain -n 100 -k 50 --dtype f64 --order smallest --json");
    assert_member("dtype", "\"f64\"");
    assert_member("order", "\"smallest\"");
    assert_member("route", "\"rows\"");
    assert_member("shape", "null");
    assert_member("S", "null");
    assert_member("fail_recall", "null");
    succeed("profk explain -n 100 -k 50");
    assert_non_null(strstr(out, "workspace_bytes"));
}

static void test_devices(void **state)
{
    (void)state;
    succeed("profk devices");
    succeed("profk devices --json");
    assert_json();
    assert_keys(strchr(out, '[') + 1, "number,name,platform,version,driver,type,compute_units,global_bytes,"
                                      "max_alloc_bytes,local_bytes,max_work_group,usable,why_not");
}

/* Waits up to 20 seconds for standard error to say something. */
static void wait_for_message(void)
{
    const struct timespec pause = {0, 20000000};
    int tries;

    for (tries = 0; tries < 1000; tries++) {
        struct stat facts;

        if (stat("stderr.txt", &facts) == 0 && facts.st_size > 0)
            return;
        nanosleep(&pause, NULL);
    }
    fail();
}

/*
 * Both tests stop the command where it opens a pipe that nobody reads: behind input and plan (which -v prints),
 * in front of the selection.
 */
static void test_interrupted(void **state)
{
    pid_t pid;
    int number;

    (void)state;
    remove("stderr.txt");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    for (number = 0; number < 2; number++) {
        const struct timespec pause = {0, 200000000};

        remove("stderr.txt");
        pid = start("exec profk topk v.npy -k 1 -v --values part.npy --indices fifo");
        wait_for_message();
        nanosleep(&pause, NULL);
        kill(pid, number ? SIGTERM : SIGINT);
        assert_int_equal(finish(pid), 130);
        assert_string_equal(out, "");
        assert_int_not_equal(access("part.npy", F_OK), 0);
        assert_nothing_left_behind();
    }
}

/* Several times: threads that meet the end of the file at once are what went wrong before. */
static void test_shrinking_input(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        pid_t pid;
        int fd;

        assert_int_equal(run("cp $ELEVATION shrink.npy"), 0);
        remove("stderr.txt");
        pid = start("exec profk topk shrink.npy -k 1 -v --values fifo");
        wait_for_message();
        assert_int_equal(truncate("shrink.npy", 4096), 0);
        fd = open("fifo", O_RDONLY);
        assert_true(fd >= 0);
        assert_int_equal(finish(pid), 2);
        close(fd);
        assert_string_equal(out, "");
        assert_non_null(strstr(err, "shorter"));
    }
}

static int failed_without_device(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help),        cmocka_unit_test(test_wrong_command_lines),
        cmocka_unit_test(test_wrong_input), cmocka_unit_test(test_terminal_as_input),
        cmocka_unit_test(test_npy_headers), cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_params),      cmocka_unit_test(test_cache),
    };

    return cmocka_run_group_tests_name("cli, no device", tests, set_up_without_devices, tear_down);
}

static int failed_with_device(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_forced_misses),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_csv_and_table),
        cmocka_unit_test(test_empty_answers),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_unaligned_array),
        cmocka_unit_test(test_output_files),
        cmocka_unit_test(test_unwritable_outputs),
        cmocka_unit_test(test_talkative_options),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_shrinking_input),
    };

    return cmocka_run_group_tests_name("cli, device", tests, set_up_with_devices, tear_down);
}

int main(void)
{
    return shell_main(failed_without_device, failed_with_device);
}
