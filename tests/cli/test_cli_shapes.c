/*
 * test_cli_shapes.c: rows, chunks, asynchronous and approximate calls, and large inputs, through the
 * command.  All of it needs a device; without one the program exits with 77.
 */
#define _XOPEN_SOURCE 700
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <profk.h>

#include "json_reader.h"
#include "shell.h"

enum { N = 70001, K = 50, ROWS = 7, COLUMNS = 5003, ROW_K = 9 };

static uint16_t many[N];             /* many.raw: a few hundred different values, so that ties decide */
static uint16_t grid[ROWS][COLUMNS]; /* grid.npy */

/* --- what is expected ------------------------------------------------------------------------------------------- */

static void add(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, LINE_ROOM - used, format, args);
    va_end(args);
}

/* Appends the k largest of a row as JSON lists; of equal values the lowest index comes first. */
static void expect_row(const uint16_t *row, uint32_t n, uint32_t k, char values[LINE_ROOM], char indices[LINE_ROOM])
{
    uint32_t last_value = UINT32_MAX, last_index = 0, rank, i;

    for (rank = 0; rank < k; rank++) {
        uint32_t best = UINT32_MAX;

        for (i = 0; i < n; i++) {
            bool is_left = row[i] < last_value || (row[i] == last_value && i > last_index);

            if (is_left && (best == UINT32_MAX || row[i] > row[best]))
                best = i;
        }
        last_value = row[best];
        last_index = best;
        add(values, "%s%" PRIu32, rank ? "," : "[", last_value);
        add(indices, "%s%" PRIu32, rank ? "," : "[", last_index);
    }
    add(values, "]");
    add(indices, "]");
}

static void expect(const uint16_t *rows, uint32_t count, uint32_t n, uint32_t k, char values[LINE_ROOM],
                   char indices[LINE_ROOM])
{
    uint32_t r;

    strcpy(values, "[");
    strcpy(indices, "[");
    for (r = 0; r < count; r++) {
        add(values, r ? "," : "");
        add(indices, r ? "," : "");
        expect_row(rows + (size_t)r * n, n, k, values, indices);
    }
    add(values, "]");
    add(indices, "]");
}

static uint16_t next_value(void)
{
    static uint32_t state = 12345;

    state = state * 1664525u + 1013904223u;
    return (uint16_t)(state >> 16) % 701;
}

static void write_grid(void)
{
    static unsigned char bytes[128 + sizeof grid];
    FILE *file = fopen("grid.npy", "wb");
    char header[119];

    snprintf(header, sizeof header, "{'descr': '<u2', 'fortran_order': False, 'shape': (%d, %d), }", ROWS, COLUMNS);
    memset(bytes, ' ', 128);
    memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(bytes + 10, header, strlen(header));
    bytes[127] = '\n';
    memcpy(bytes + 128, grid, sizeof grid);
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, sizeof bytes, file), sizeof bytes);
    fclose(file);
}

static int set_up(void **state)
{
    uint32_t r, i;

    if (set_up_with_devices(state) != 0)
        return -1;
    for (i = 0; i < N; i++)
        many[i] = next_value();
    for (r = 0; r < ROWS; r++)
        for (i = 0; i < COLUMNS; i++)
            grid[r][i] = next_value();
    write_bytes("many.raw", many, sizeof many);
    write_grid();
    return 0;
}

/* --- tests ----------------------------------------------------------------------------------------------------- */

/* The same bytes whatever the chunks, the way of calling, the shape and the work-group size. */
static void test_one_answer(void **state)
{
    static const int chunks[] = {1, 2, 7}, sizes[] = {1, 3, 100, 1024};
    static const char *const ways[] = {"", "--async"}, *const shapes[] = {"tile", "stream"};
    char values[LINE_ROOM], indices[LINE_ROOM];
    int c, w, s, g;

    (void)state;
    expect(many, 1, N, K, values, indices);
    for (g = 0; g < 4; g++) {
        for (s = 0; s < 2; s++) {
            for (w = 0; w < 2; w++) {
                for (c = 0; c < 3; c++) {
                    char line[LINE_ROOM];

                    snprintf(line, sizeof line,
                             "profk topk many.raw --dtype u16 -k %d --route profk --chunks %d %s "
                             "--force shape=%s,wg=%d --json",
                             K, chunks[c], ways[w], shapes[s], sizes[g]);
                    succeed(line);
                    assert_member("values", values);
                    assert_member("indices", indices);
                    assert_member("certified", "[true]");
                }
            }
        }
    }
}

static void test_chunks(void **state)
{
    static const char *const options[] = {
        "--chunks 7",
        "--chunks 70001 --route full",
        "--chunks 18446744073709551615 --route full",
        "--chunks 3 --sort index --route auto",
        "--chunks 2 --route rows",
        "--chunks 5 --route full --async",
    };
    char values[LINE_ROOM], indices[LINE_ROOM], line[LINE_ROOM];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof options / sizeof options[0]; i++) {
        snprintf(line, sizeof line, "profk topk v.npy -k 3 %s --json", options[i]);
        succeed(line);
        assert_json();
        assert_member("n", "5");
        assert_member("values",
                      strstr(line, "index") ? "[[1.5,0.10000000149011612,3.0]]" : "[[3.0,1.5,0.10000000149011612]]");
    }
    expect(many, 1, N, K, values, indices);
    for (i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "profk topk many.raw --dtype u16 -k %d --route %s --chunks 7 --json", K,
                 i ? "rows" : "full");
        succeed(line);
        assert_member("values", values);
        assert_member("indices", indices);
        assert_member("R", "[null]");
    }
}

static void test_rows(void **state)
{
    static const char *const options[] = {
        "--route rows",
        "--route profk",
        "--route full",
        "",
        "--route profk --async",
        "--route profk --force shape=stream",
        "--route profk --async --force shape=tile,wg=3",
        "--route profk --rows 7",
        "--route profk --mode approximate -e 1e-12",
    };
    char values[LINE_ROOM], indices[LINE_ROOM], line[LINE_ROOM];
    size_t i;

    (void)state;
    expect(&grid[0][0], ROWS, COLUMNS, ROW_K, values, indices);
    for (i = 0; i < sizeof options / sizeof options[0]; i++) {
        snprintf(line, sizeof line, "profk topk grid.npy -k %d %s --json", ROW_K, options[i]);
        succeed(line);
        assert_json();
        assert_member("rows", "7");
        assert_member("n", "5003");
        assert_member("values", values);
        assert_member("indices", indices);
        assert_member("certified", "[true,true,true,true,true,true,true]");
        if (strstr(line, "--route rows") || strstr(line, "--route full")) {
            assert_member("S", "null");
            assert_member("M", "null");
            assert_member("attempts", "1");
            assert_member("R", "[null,null,null,null,null,null,null]");
        }
    }
    snprintf(line, sizeof line, "tail -c +129 grid.npy | profk topk - --dtype u16 --rows 7 -k %d --json", ROW_K);
    succeed(line);
    assert_member("values", values);
    assert_member("indices", indices);
}

/* S = n, t = k - 1: every attempt misses in every row, the full selection answers. */
static void test_rows_that_miss(void **state)
{
    char values[LINE_ROOM], indices[LINE_ROOM];

    (void)state;
    expect(&grid[0][0], ROWS, COLUMNS, ROW_K, values, indices);
    succeed("profk topk grid.npy -k 9 --route profk --force S=5003,t=8 --json");
    assert_member("attempts", "7");
    assert_member("fallbacks", "7");
    assert_member("R", "[null,null,null,null,null,null,null]");
    assert_member("values", values);
    assert_member("indices", indices);
    succeed("profk topk grid.npy -k 9 --route profk --force S=5003,t=8 --async --json");
    assert_member("attempts", "3");
    assert_member("fallbacks", "7");
    assert_member("certified", "[true,true,true,true,true,true,true]");
    assert_member("R", "[null,null,null,null,null,null,null]");
    assert_member("values", values);
    assert_member("indices", indices);
    succeed("profk topk v.npy -k 3 --route profk --force count=4294967295 --async --chunks 2 --json");
    assert_member("attempts", "2");
    assert_member("values", "[[3.0,1.5,0.10000000149011612]]");
}

static void test_rows_as_text(void **state)
{
    static const float values[] = {1.5f, 3.0f};
    static char bytes[TEXT_ROOM];
    FILE *file;

    (void)state;
    succeed("profk topk rows.npy -k 1 --csv");
    assert_string_equal(out, "row,rank,index,value\n0,1,0,1.5\n1,1,1,3.0\n");
    succeed("profk topk rows.npy -k 2 --csv --sort none --route full");
    assert_int_equal(strncmp(out, "row,index,value\n0,", 18), 0);
    succeed("profk topk rows.npy -k 1");
    assert_non_null(strstr(out, "row       rank           index  value\n"));
    assert_non_null(strstr(out, ", certified, "));
    succeed("profk topk rows.npy -k 1 --values a.npy --indices b.npy --csv");
    file = fopen("a.npy", "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), 128 + sizeof values);
    fclose(file);
    assert_non_null(strstr(bytes + 10, "'shape': (2, 1), }"));
    assert_memory_equal(bytes + 128, values, sizeof values);
    succeed("profk topk rows.npy -k 0 --json --async");
    assert_member("values", "[[],[]]");
    assert_member("certified", "[true,true]");
    assert_member("R", "[null,null]");
    assert_member("attempts", "0");
    succeed("profk topk norows.npy -k 2 --json --chunks 3 --mode approximate --async");
    assert_member("values", "[]");
    assert_member("R", "[]");
    assert_int_equal(run("profk topk rows.npy -k 1 --async --stats -v --csv"), 0);
    assert_non_null(strstr(err, "calls 1, rows 2"));
    assert_string_equal(out, "row,rank,index,value\n0,1,0,1.5\n1,1,1,3.0\n");
}

/* S = n, t = 2: R is 2 in every row, and two are all that an approximate answer has. */
static void test_approximate(void **state)
{
    char values[LINE_ROOM], indices[LINE_ROOM];

    (void)state;
    expect(&grid[0][0], ROWS, COLUMNS, 2, values, indices);
    succeed("profk topk grid.npy -k 9 --route profk --mode approximate --force S=5003,t=2 --json");
    assert_json();
    assert_member("mode", "\"approximate\"");
    assert_member("attempts", "1");
    assert_member("fallbacks", "0");
    assert_member("R", "[2,2,2,2,2,2,2]");
    assert_member("certified", "[false,false,false,false,false,false,false]");
    assert_member("values", values);
    assert_member("indices", indices);
    succeed("profk topk v.npy -k 4 --route profk --mode approximate --force S=5,t=2 --csv");
    assert_string_equal(out, "row,rank,index,value\n0,1,3,3.0\n0,2,0,1.5\n");
    succeed("profk topk v.npy -k 4 --route profk --mode approximate --force S=5,t=2 --sort index --chunks 3");
    assert_non_null(strstr(out, "              0  1.5\n              3  3.0\n"));
    assert_non_null(strstr(out, ", not certified, "));
    succeed("profk topk $ELEVATION -k 100 --mode approximate --recall 0.5 --seed 4 --json");
    assert_member("attempts", "1");
    succeed("profk topk $ELEVATION -k 3 --mode approximate --recall 0.9 --route full --json");
    assert_member("certified", "[true]");
    assert_member("values", "[[1076,1073,1071]]");
}

static void test_explain(void **state)
{
    (void)state;
    succeed("profk explain -n 100000 -k 10 --rows 3 --async --force shape=stream --json");
    assert_member("rows", "3");
    assert_member("shape", "\"stream\"");
    assert_member("blocking_calls", "0");
    succeed("profk explain -n 100000 -k 10 --force shape=tile --chunks 4 --json");
    assert_member("shape", "\"tile\"");
    succeed("profk explain -n 100000 -k 10 --route profk --mode approximate --recall 0.5 --json");
    assert_true(member_number(out, "fail_recall") > 0.01);
    succeed("profk explain -n 100 -k 10 --rows 70000 --route rows --json");
    assert_member("route", "\"rows\"");
    assert_member("t", "null");
}

static bool device_is_pocl(void)
{
    profk_device device = {.struct_size = sizeof device};

    return profk_device_find(NULL, &device) == PROFK_OK && strstr(device.platform, "Portable") != NULL;
}

/* 300 MB where PoCL gives 256 MiB at a time; elsewhere the limit does nothing and the answer is the same. */
static void test_larger_than_an_allocation(void **state)
{
    static const long places[] = {1, 268435200, 268435327, 268435328, 268435456, 299999999};
    FILE *file = fopen("large.raw", "wb");
    size_t i;

    (void)state;
    assert_non_null(file);
    for (i = 0; i < sizeof places / sizeof places[0]; i++) {
        assert_int_equal(fseek(file, places[i], SEEK_SET), 0);
        assert_int_equal(fputc(10 + (int)i, file), 10 + (int)i);
    }
    fclose(file);
    for (i = 0; i < 4; i++) {
        static const char *const options[] = {"", "--async", "--chunks 3", "--route full"};
        char line[LINE_ROOM];

        snprintf(line, sizeof line, "POCL_MEMORY_LIMIT=1 profk topk large.raw --dtype u8 -k 8 --json %s", options[i]);
        succeed(line);
        assert_member("values", "[[15,14,13,12,11,10,0,0]]");
        assert_member("indices", "[[299999999,268435456,268435328,268435327,268435200,1,0,2]]");
    }
    if (!device_is_pocl())
        return;
    refuse("POCL_MEMORY_LIMIT=1 profk topk large.raw --dtype u8 -k 8 --rows 2", 2, "fewer rows");
    succeed("POCL_MEMORY_LIMIT=1 profk topk large.raw --dtype u8 -k 8 --route rows --json");
    assert_member("indices", "[[299999999,268435456,268435328,268435327,268435200,1,0,2]]");
}

/* A call that fails on the way leaves one message. */
static void test_failing_calls(void **state)
{
    (void)state;
    if (run("OPENCL_LAYERS=$LAYER FAULT=clCreateBuffer:1:-61 profk topk v.npy -k 1") == 0)
        skip(); /* an ICD loader without layers */
    refuse("OPENCL_LAYERS=$LAYER FAULT=clCreateBuffer:1:-4 profk topk v.npy -k 1", 1, "memory");
    refuse("OPENCL_LAYERS=$LAYER FAULT=clWaitForEvents:0:-14 profk topk v.npy -k 1 --async", 1, "on the device");
    refuse("OPENCL_LAYERS=$LAYER FAULT=clEnqueueNDRangeKernel:1:-5 profk topk v.npy -k 1 --async", 1, "");
}

static int failed_with_device(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_answer),    cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_rows),          cmocka_unit_test(test_rows_that_miss),
        cmocka_unit_test(test_rows_as_text),  cmocka_unit_test(test_approximate),
        cmocka_unit_test(test_explain),       cmocka_unit_test(test_larger_than_an_allocation),
        cmocka_unit_test(test_failing_calls),
    };

    return cmocka_run_group_tests_name("cli, shapes", tests, set_up, tear_down);
}

int main(void)
{
    return shell_main(NULL, failed_with_device);
}
