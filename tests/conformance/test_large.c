/*
 * test_large.c: inputs of more than 2^31 and 2^32 elements.
 *
 * A row of bytes is one value nearly everywhere; greater ones are planted at the ends of its chunks, around 2^31 and
 * 2^32 and in its last chunk, so that the answer is known without sorting: the planted ones, then the others by
 * lowest index.  The longest rows are chunks over one buffer of 1 GiB that occurs several times.  Counts above 2^32
 * must be true ones: a threshold at the far end of an all-equal row gives them, and a count forced to start there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profk.h"
#include "support/fixture.h"
#include "support/inputs.h"

enum { SKIPPED = 77, COMMON = 99, PIECES = 5, MOST_PLANTED = 40, K = 1500 };

static const uint64_t PIECE = (uint64_t)1 << 30;       /* elements of the buffer that occurs several times */
static const uint64_t LAST = ((uint64_t)1 << 26) + 17; /* of the last chunk */
static const uint64_t NEED = (uint64_t)7 << 29;        /* bytes on device and host, with room for the workspace */

static struct fixture fixture;
static struct test_options options;

/* An element that goes before the common ones. */
struct plant {
    uint64_t index;
    uint32_t value;
};

/* A row in chunks and its answer. */
struct row {
    uint64_t n;
    profk_chunk chunk[PIECES];
    size_t chunk_count;
    struct plant planted[MOST_PLANTED];
    size_t planted_count;
};

/* What a call left behind. */
struct answer {
    uint8_t values[K];
    uint64_t indices[K];
    profk_row row;
};

static void must(cl_int code)
{
    assert_int_equal(code, CL_SUCCESS);
}

/* A buffer of nbytes common elements. */
static cl_mem make_common(uint64_t nbytes)
{
    static const uint8_t common[16] = {COMMON, COMMON, COMMON, COMMON, COMMON, COMMON, COMMON, COMMON,
                                       COMMON, COMMON, COMMON, COMMON, COMMON, COMMON, COMMON, COMMON};
    const size_t whole = (size_t)(nbytes / 16 * 16);
    cl_int code;
    cl_mem buffer = clCreateBuffer(fixture.cl, CL_MEM_READ_WRITE, (size_t)nbytes, NULL, &code);

    must(code);
    must(clEnqueueFillBuffer(fixture.queues[0], buffer, common, 16, 0, whole, 0, NULL, NULL));
    if (nbytes > whole)
        must(clEnqueueFillBuffer(fixture.queues[0], buffer, common, 1, whole, (size_t)nbytes - whole, 0, NULL, NULL));
    must(clFinish(fixture.queues[0]));
    return buffer;
}

/* Writes value into element `at` of buffer, and into the answer wherever the row shows that element. */
static void plant(struct row *row, cl_mem buffer, uint64_t at, uint8_t value)
{
    uint64_t first = 0;

    must(clEnqueueWriteBuffer(fixture.queues[0], buffer, CL_TRUE, (size_t)at, 1, &value, 0, NULL, NULL));
    must(clFinish(fixture.queues[0]));
    for (size_t i = 0; i < row->chunk_count; i++) {
        const profk_chunk *c = &row->chunk[i];

        if (c->buffer == buffer && at >= c->offset && at - c->offset < c->count) {
            assert_true(row->planted_count < MOST_PLANTED);
            row->planted[row->planted_count++] = (struct plant){first + at - c->offset, value};
        }
        first += c->count;
    }
}

static int compare_plants(const void *left, const void *right)
{
    const struct plant *a = left, *b = right;

    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* The first K of the row: what was planted, then the rest by lowest index. */
static void expect(struct row *row, struct answer *ret)
{
    uint64_t next = 0;
    size_t i;

    qsort(row->planted, row->planted_count, sizeof *row->planted, compare_plants);
    for (i = 0; i < row->planted_count; i++) {
        ret->values[i] = (uint8_t)row->planted[i].value;
        ret->indices[i] = row->planted[i].index;
    }
    for (; i < K; next++) {
        bool free_place = true;

        for (size_t j = 0; j < row->planted_count; j++)
            free_place = free_place && row->planted[j].index != next;
        if (free_place) {
            ret->values[i] = COMMON;
            ret->indices[i++] = next;
        }
    }
}

static profk_plan *make_plan(const profk_problem *p, const profk_tuning *forced, uint32_t flags, profk_info *info)
{
    profk_plan *plan = NULL;
    const profk_status st = profk_plan_create(fixture.ctx, p, forced, flags, &plan);

    if (st != PROFK_OK)
        fprintf(stderr, "profk_plan_create: %s\n", profk_context_message(fixture.ctx));
    assert_int_equal(st, PROFK_OK);
    info->struct_size = sizeof *info;
    assert_int_equal(profk_plan_info(plan, info), PROFK_OK);
    return plan;
}

/* Runs plan once over the row and reads everything back. */
static void call(profk_plan *plan, const struct row *row, struct answer *ret)
{
    cl_mem values = clCreateBuffer(fixture.cl, CL_MEM_READ_WRITE, sizeof ret->values, NULL, NULL);
    cl_mem indices = clCreateBuffer(fixture.cl, CL_MEM_READ_WRITE, sizeof ret->indices, NULL, NULL);
    cl_mem result = clCreateBuffer(fixture.cl, CL_MEM_READ_WRITE, sizeof ret->row, NULL, NULL);
    const profk_io io = {.struct_size = sizeof io,
                         .chunks = row->chunk,
                         .chunk_count = row->chunk_count,
                         .values = values,
                         .indices = indices,
                         .row_results = result};
    cl_command_queue queue = fixture.queues[0];
    const profk_status st = profk_execute(plan, queue, &io, 0, NULL, NULL);

    if (st != PROFK_OK)
        fprintf(stderr, "profk_execute: %s\n", profk_context_message(fixture.ctx));
    assert_int_equal(st, PROFK_OK);
    must(clEnqueueReadBuffer(queue, values, CL_TRUE, 0, sizeof ret->values, ret->values, 0, NULL, NULL));
    must(clEnqueueReadBuffer(queue, indices, CL_TRUE, 0, sizeof ret->indices, ret->indices, 0, NULL, NULL));
    must(clEnqueueReadBuffer(queue, result, CL_TRUE, 0, sizeof ret->row, &ret->row, 0, NULL, NULL));
    must(clReleaseMemObject(values));
    must(clReleaseMemObject(indices));
    must(clReleaseMemObject(result));
}

static void compare(const struct answer *got, const struct answer *right)
{
    for (size_t i = 0; i < K; i++)
        if (got->values[i] != right->values[i] || got->indices[i] != right->indices[i]) {
            fprintf(stderr, "place %zu: value %u at %" PRIu64 ", right is %u at %" PRIu64 "\n", i, got->values[i],
                    got->indices[i], right->values[i], right->indices[i]);
            assert_true(false);
        }
    assert_int_equal(got->row.status, PROFK_ROW_CERTIFIED);
}

/* One way to run a row. */
struct way {
    const char *what;
    uint32_t route, flags;
    profk_tuning forced;
};

static const struct way ways[] = {
    {"stream", PROFK_ROUTE_AUTO, 0, {.filter_shape = PROFK_SHAPE_STREAM}},
    {"tile", PROFK_ROUTE_PROFK, 0, {.filter_shape = PROFK_SHAPE_TILE}},
    {"asynchronous", PROFK_ROUTE_PROFK, PROFK_ASYNC, {0}},
    {"full", PROFK_ROUTE_FULL, 0, {0}},
    {"count from 2^32 - 1", PROFK_ROUTE_PROFK, 0, {.count_start = UINT32_MAX}},
    {"count from 2^32 - 5000, async", PROFK_ROUTE_PROFK, PROFK_ASYNC, {.count_start = UINT32_MAX - 4999}},
};

static void run_ways(struct row *row)
{
    struct answer right, got;

    expect(row, &right);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        profk_tuning forced = ways[i].forced;
        profk_problem p;
        profk_info info;
        profk_plan *plan;

        profk_problem_init(&p, sizeof p, PROFK_U8, row->n, K);
        p.route = ways[i].route;
        p.seed = inputs_mix(options.seed, i);
        p.epsilon = 1e-6;
        forced.struct_size = sizeof forced;
        plan = make_plan(&p, &forced, ways[i].flags, &info);
        call(plan, row, &got);
        fprintf(stderr, "    %s: route %" PRIu32 ", attempts %" PRIu32 ", R %" PRIu64 ", M %" PRIu64 "\n",
                ways[i].what, info.route, got.row.attempts, got.row.R, info.M);
        compare(&got, &right);
        if (info.route == PROFK_ROUTE_PROFK) {
            assert_in_range(got.row.R, K, info.M);
            assert_int_equal(got.row.attempts, forced.count_start ? 2 : 1);
        }
        profk_plan_destroy(plan);
    }
}

/* The row that shows one buffer four times and then another. */
static void long_row_open(struct row *row)
{
    cl_mem many = make_common(PIECE), last = make_common(LAST);

    *row = (struct row){.n = 4 * PIECE + LAST, .chunk_count = PIECES};
    for (size_t i = 0; i < PIECES; i++)
        row->chunk[i] = i + 1 < PIECES ? (profk_chunk){.buffer = many, .count = PIECE, .first = i * PIECE}
                                       : (profk_chunk){.buffer = last, .count = LAST};
}

static void row_close(struct row *row)
{
    for (size_t i = 0; i < row->chunk_count; i++)
        if (i + 1 == row->chunk_count || row->chunk[i].buffer != row->chunk[i + 1].buffer)
            must(clReleaseMemObject(row->chunk[i].buffer));
}

static void more_than_2_32_elements(void **state)
{
    struct row row;

    (void)state;
    long_row_open(&row);
    run_ways(&row); /* all equal */
    plant(&row, row.chunk[0].buffer, 0, 200);
    plant(&row, row.chunk[0].buffer, PIECE - 1, 201);
    plant(&row, row.chunk[0].buffer, PIECE / 3, 200);
    plant(&row, row.chunk[4].buffer, 0, 202);
    plant(&row, row.chunk[4].buffer, 1, 200);
    plant(&row, row.chunk[4].buffer, LAST / 2, 255);
    plant(&row, row.chunk[4].buffer, LAST - 2, 255);
    plant(&row, row.chunk[4].buffer, LAST - 1, 254);
    run_ways(&row);
    row_close(&row);
}

/*
 * A threshold at the far end of an all-equal row: R is the place of the t-th sampled element, above 2^32.  A count
 * that wrapped would be far from what the moments of R allow, and often inside [k, M].
 */
static void counts_above_2_32_are_true(void **state)
{
    const uint32_t seeds = 4;
    struct row row;

    (void)state;
    long_row_open(&row);
    for (uint32_t i = 0; i < 2 * seeds; i++) {
        profk_tuning forced = {.struct_size = sizeof forced, .S = 16384, .M = 1 << 24, .filter_shape = 1 + i % 2};
        double mean, variance;
        profk_problem p;
        profk_info info;
        profk_plan *plan;
        struct answer got;

        /* E[R] right above 2^32, so that R mod 2^32 lies in [k, M] now and then; else far above. */
        forced.t = i < seeds ? (uint64_t)ceil(ldexp(1, 32) / (double)row.n * 16385) + 20 : forced.S;
        profk_problem_init(&p, sizeof p, PROFK_U8, row.n, K);
        p.route = PROFK_ROUTE_PROFK;
        p.mode = PROFK_MODE_APPROXIMATE;
        p.seed = inputs_mix(options.seed, i);
        plan = make_plan(&p, &forced, PROFK_ESTIMATE, &info);
        call(plan, &row, &got);
        assert_int_equal(profk_rank_moments(row.n, forced.S, forced.t, &mean, &variance), PROFK_OK);
        fprintf(stderr, "    R %" PRIu64 " = 2^32 + %" PRId64 ", mean %.0f, deviation %.0f\n", got.row.R,
                (int64_t)(got.row.R - ((uint64_t)1 << 32)), mean, sqrt(variance));
        assert_int_equal(got.row.status, PROFK_ROW_OVERFLOW);
        assert_true(got.row.R <= row.n);
        assert_true(fabs((double)got.row.R - mean) <= 7 * sqrt(variance) + 1);
        profk_plan_destroy(plan);
    }
    row_close(&row);
}

/* The same threshold in an exact plan: six overflows, then the full selection. */
static void overflows_above_2_32_end_exact(void **state)
{
    const profk_tuning forced = {.struct_size = sizeof forced, .S = 1000, .t = 1000, .M = 1 << 20};
    profk_stats stats = {.struct_size = sizeof stats};
    struct answer right, got;
    profk_problem p;
    profk_info info;
    profk_plan *plan;
    struct row row;

    (void)state;
    long_row_open(&row);
    expect(&row, &right);
    profk_problem_init(&p, sizeof p, PROFK_U8, row.n, K);
    p.route = PROFK_ROUTE_PROFK;
    p.seed = options.seed;
    plan = make_plan(&p, &forced, PROFK_ASYNC, &info);
    call(plan, &row, &got);
    compare(&got, &right);
    assert_int_equal(got.row.attempts, 3);
    assert_int_equal(profk_plan_stats(plan, &stats), PROFK_OK);
    assert_int_equal(stats.overflows, 2);
    assert_int_equal(stats.fallbacks, 1);
    profk_plan_destroy(plan);
    row_close(&row);
}

/* A row that a 31-bit place does not reach, in one chunk where a buffer may be as large. */
static void a_little_more_than_2_31(void **state)
{
    const uint64_t half = (uint64_t)1 << 31, n = half + 17;
    cl_ulong most = 0;
    struct row row = {.n = n, .chunk_count = 1};

    (void)state;
    must(clGetDeviceInfo(fixture.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL));
    if (most >= n) {
        row.chunk[0] = (profk_chunk){.buffer = make_common(n), .count = n};
    } else {
        row.chunk_count = 3;
        row.chunk[0] = row.chunk[1] = (profk_chunk){.buffer = make_common(half / 2), .count = half / 2};
        row.chunk[1].first = half / 2;
        row.chunk[2] = (profk_chunk){.buffer = make_common(17), .count = 17};
    }
    fprintf(stderr, "    %zu chunks\n", row.chunk_count);
    run_ways(&row);
    plant(&row, row.chunk[0].buffer, 0, 100);
    plant(&row, row.chunk[row.chunk_count - 1].buffer, most >= n ? n - 1 : 16, 120);
    plant(&row, row.chunk[row.chunk_count - 1].buffer, most >= n ? half : 0, 110);
    plant(&row, row.chunk[0].buffer, most >= n ? half - 1 : half / 2 - 1, 110);
    run_ways(&row);
    row_close(&row);
}

/* Bytes of host memory that may be taken, as far as the system says. */
static uint64_t host_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    uint64_t kib = UINT64_MAX >> 10;

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib << 10;
}

static bool has_memory(void)
{
    cl_ulong device = 0, most = 0;

    clGetDeviceInfo(fixture.device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof device, &device, NULL);
    clGetDeviceInfo(fixture.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL);
    if (device >= NEED && most >= PIECE && host_memory() >= NEED)
        return true;
    fprintf(stderr,
            "skipped: memory is short: %" PRIu64 " MiB on the device (largest buffer %" PRIu64 "), %" PRIu64
            " on the host; needed are %" PRIu64 " and a buffer of %" PRIu64 "\n",
            (uint64_t)(device >> 20), (uint64_t)(most >> 20), host_memory() >> 20, NEED >> 20, PIECE >> 20);
    return false;
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_little_more_than_2_31),
        cmocka_unit_test(more_than_2_32_elements),
        cmocka_unit_test(counts_above_2_32_are_true),
        cmocka_unit_test(overflows_above_2_32_end_exact),
    };

    return has_memory() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}

int main(int argc, char **argv)
{
    return fixture_main(argc, argv, &options, &fixture, run_all);
}
