/*
 * test_permutation.c: the positions that a sample takes are as chance would have them.
 *
 * One position is uniform, two of a sample (and two of different rows or calls) are uniform over the pairs, the orders
 * of very few elements are equally likely, and the number of positions in a marked set has the hypergeometric law, for
 * n from 5 to 2^40.  No input is needed: a kernel of this file, built from the embedded text of sample.cl, writes
 * positions down, and is first held against what the stage itself draws.  Keys are those of a plan's calls and rows.
 *
 * Every test gives the probability p of a deviation as large, to either side, and fails below 1e-9; there are fewer
 * than 1000 of them, so a right permutation fails less than once in 10^6 seeds.  With too few rounds of its network the
 * same tests do fail.  --long makes eight times the draws.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/entropy.h"
#include "profk.h"
#include "runtime/kernels.h"
#include "stage_fixture.h"
#include "support/fixture.h"
#include "support/inputs.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define P_LIMIT 1e-9 /* TESTS_MAX of them stay below 1e-6 */

enum {
    TESTS_MAX = 1000,
    WG = 16,
    SLOTS = 4,               /* positions of a work-item */
    ROWS = 3,                /* of a call; odd, so that draws that follow one another are of one call or of two */
    POSITIONS_MAX = 1 << 20, /* of a launch */
    EXPECTED_MIN = 100       /* draws in a cell; below, chi-square's law does not hold this far out */
};

static struct test_options options;

/* ---- positions ---- */

static const char positions_kernel[] =
    "PK_KERNEL void positions(__global const ulong *keys, uint rows, uint draws, __global const ulong *slots,\n"
    "                         uint count, ulong n, uint bits, uint rounds, __global ulong *ret)\n"
    "{\n"
    "    uint parts = (count + PK_SLOTS - 1u) / PK_SLOTS;\n"
    "    uint draw = (uint)get_global_id(0) / parts, slot = ((uint)get_global_id(0) - draw * parts) * PK_SLOTS;\n"
    "    uint round_keys[PK_ROUNDS_MAX];\n"
    "    ulong at[PK_SLOTS];\n"
    "\n"
    "    if (draw >= draws)\n"
    "        return;\n"
    "    pk_make_round_keys(pk_row_key(keys[draw / rows], draw % rows), rounds, round_keys);\n"
    "    for (uint j = 0; j < PK_SLOTS; j++)\n"
    "        at[j] = slots[min(slot + j, count - 1u)];\n"
    "    pk_permute(at, n, round_keys, bits, rounds);\n"
    "    for (uint j = 0; j < PK_SLOTS && slot + j < count; j++)\n"
    "        ret[(ulong)draw * count + slot + j] = at[j];\n"
    "}\n";

static struct {
    struct kit kit; /* the stage, for elements of a byte and indices of 64 bits */
    cl_context cl;
    cl_command_queue queue;
    cl_kernel kernel;
    uint32_t tests;
    double least; /* p of all tests */
} lab;

/* A permutation, and the `count` slots that a draw asks for. */
struct source {
    uint64_t n;
    uint32_t bits, rounds;
    const uint64_t *slots;
    uint32_t count;
};

static struct source source_of(uint64_t n, const uint64_t *slots, uint32_t count)
{
    struct source source = {.n = n, .bits = 8, .slots = slots, .count = count};

    while ((n - 1) >> source.bits != 0)
        source.bits++;
    source.rounds = source.bits < 12 ? 10 : 8;
    return source;
}

/* Of the first attempt of a plan's call. */
static uint64_t call_key(uint64_t call)
{
    return profk__mix64(profk__mix64(options.seed + call * UINT64_C(0x9e3779b97f4a7c15)));
}

static void set_args(const struct profk__arg *args, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CHECK(clSetKernelArg(lab.kernel, (cl_uint)i, args[i].nbytes, args[i].value) == CL_SUCCESS);
}

/* Draws of all rows of `calls` calls from first_call on, source->count positions each. */
static void draw_positions(const struct source *source, uint64_t first_call, uint32_t calls, uint64_t *ret)
{
    const cl_uint rows = ROWS, draws = calls * ROWS, count = source->count;
    const size_t items = (size_t)draws * ((count + SLOTS - 1) / SLOTS), local = WG;
    const size_t global = (items + WG - 1) / WG * WG, ret_count = (size_t)draws * count;
    uint64_t *keys = take(calls, sizeof *keys);

    for (uint32_t i = 0; i < calls; i++)
        keys[i] = call_key(first_call + i);
    cl_mem keys_buffer = upload_bytes(keys, calls * sizeof *keys);
    cl_mem slots_buffer = upload_bytes(source->slots, count * sizeof *source->slots);
    cl_mem ret_buffer = upload_canaries(ret_count * sizeof *ret);
    const struct profk__arg args[] = {
        PROFK__ARG(keys_buffer),  PROFK__ARG(rows),           PROFK__ARG(draws),
        PROFK__ARG(slots_buffer), PROFK__ARG(count),          PROFK__ARG(source->n),
        PROFK__ARG(source->bits), PROFK__ARG(source->rounds), PROFK__ARG(ret_buffer),
    };
    set_args(args, COUNT(args));
    CHECK(clEnqueueNDRangeKernel(lab.queue, lab.kernel, 1, NULL, &global, &local, 0, NULL, NULL) == CL_SUCCESS);
    CHECK(clFinish(lab.queue) == CL_SUCCESS);
    download_bytes(ret_buffer, ret_count * sizeof *ret, ret);
    free(keys);
    bench_clear();
}

static void build_kernel(cl_device_id device)
{
    const char *texts[2] = {NULL, positions_kernel};
    char build_options[100];
    cl_int code;

    for (size_t i = 0; i < profk__kernel_source_count; i++)
        if (strcmp(profk__kernel_sources[i].name, "sample.cl") == 0)
            texts[0] = profk__kernel_sources[i].text;
    CHECK(texts[0] != NULL);
    cl_program program = clCreateProgramWithSource(lab.cl, 2, texts, NULL, &code);
    CHECK(code == CL_SUCCESS);
    snprintf(build_options, sizeof build_options,
             "-cl-std=CL1.2 -DPK_WIDTH_BITS=8 -DPK_INDEX_BITS=64 -DPK_WG=%d -DPK_SLOTS=%d", WG, SLOTS);
    CHECK(clBuildProgram(program, 1, &device, build_options, NULL, NULL) == CL_SUCCESS);
    lab.kernel = clCreateKernel(program, "positions", &code);
    CHECK(code == CL_SUCCESS);
    clReleaseProgram(program);
}

static int lab_open(void **state)
{
    static const struct config config = {16, 1, 8, 4, 2, 4};
    cl_device_id device;
    struct job job;

    (void)state;
    lab.least = 1;
    kit_open(&lab.kit, &config, 0, 1u << PROFK__FILE_SAMPLE);
    job_open(&job, &lab.kit, (struct rule){PROFK_U8, PROFK_LARGEST, PROFK_NAN_LARGEST}, SERVE_ALL, 1, 1, 1, 1, 0);
    lab.queue = job.chain.queue;
    CHECK(clGetCommandQueueInfo(lab.queue, CL_QUEUE_CONTEXT, sizeof lab.cl, &lab.cl, NULL) == CL_SUCCESS);
    CHECK(clGetCommandQueueInfo(lab.queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) == CL_SUCCESS);
    bench_clear();
    build_kernel(device);
    return 0;
}

static int lab_close(void **state)
{
    (void)state;
    fprintf(stderr, "%u tests, smallest p %.3g, limit %g\n", (unsigned)lab.tests, lab.least, P_LIMIT);
    clReleaseKernel(lab.kernel);
    kit_close(&lab.kit);
    return 0;
}

/* ---- the stage draws the same ---- */

/*
 * The stage's sample of two rows over one piece of a few elements around the position of one slot: the slots whose
 * position lies there are written, the others are not.
 */
static void check_stage(uint64_t n, uint32_t slots, uint64_t call, const uint64_t *positions, uint32_t slot)
{
    enum { WIDTH = 17 };
    const uint64_t first = positions[slot] < WIDTH / 2 ? 0 : positions[slot] - WIDTH / 2;
    const uint64_t count = n - first < WIDTH ? n - first : WIDTH;
    struct pair *drawn = take(2 * slots, sizeof *drawn);
    struct job job;

    job_open(&job, &lab.kit, (struct rule){PROFK_U8, PROFK_LARGEST, PROFK_NAN_LARGEST}, SERVE_ALL, 2, n, 0, 1, 0);
    const struct profk__piece piece = {.buffer = upload_canaries(WIDTH), .first = first, .count = count};
    struct profk__pairs sample = new_pairs(&job, 2 * slots);
    CHECK_OK(profk__stage_sample(&job.chain, &job.task, &piece, slots, call_key(call), sample));
    job_wait(&job);
    download_pairs(&job, sample, 2 * slots, drawn);
    for (uint32_t i = 0; i < 2 * slots; i++) {
        at_case("the stage: n=%" PRIu64 " slot %u", n, (unsigned)i);
        CHECK(drawn[i].index == (positions[i] - first < count ? positions[i] : canary(8)));
    }
    free(drawn);
    bench_clear();
}

static void stage_draws_these_positions(void **state)
{
    static const uint64_t sizes[] = {1,
                                     2,
                                     5,
                                     100,
                                     256,
                                     257,
                                     2047,
                                     2048,
                                     2049,
                                     4096,
                                     4097,
                                     65537,
                                     (1ull << 32) - 1,
                                     1ull << 32,
                                     (1ull << 32) + 1,
                                     (1ull << 33) + 5,
                                     1ull << 40,
                                     (1ull << 47) + 12345};
    enum { SOME = 200 };
    uint64_t slots[SOME], positions[ROWS * SOME];

    (void)state;
    for (uint32_t i = 0; i < SOME; i++)
        slots[i] = i;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const uint32_t count = sizes[i] < SOME ? (uint32_t)sizes[i] : SOME;
        const struct source source = source_of(sizes[i], slots, count);
        draw_positions(&source, i, 1, positions);
        check_stage(sizes[i], count, i, positions, 0);
        check_stage(sizes[i], count, i, positions, count / 2);
        check_stage(sizes[i], count, i, positions, 2 * count - 1); /* the last of the second row */
    }
}

/* ---- probabilities of deviations ---- */

/* The chance that a chi-square variable is at least x: the continued fraction where x is large, else 1 - the series. */
static double chi_square_above(double freedom, double x)
{
    const double a = freedom / 2, y = x / 2, factor = y > 0 ? exp(a * log(y) - y - lgamma(a)) : 0;

    if (y < a + 1) {
        double term = 1 / a, sum = term;
        for (double i = a + 1; term > sum * 1e-16; i++)
            sum += term *= y / i;
        return 1 - factor * sum;
    }
    double b = y + 1 - a, c = 1e300, d = 1 / b, h = d, change = 0;
    for (double i = 1; fabs(change - 1) > 1e-14; i++) {
        const double numerator = -i * (i - a);
        b += 2;
        d = 1 / (numerator * d + b);
        c = b + numerator / c;
        change = c * d;
        h *= change;
    }
    return factor * h;
}

/* With an even number of degrees it is the chance of fewer than freedom / 2 events where x / 2 are expected. */
static void chi_square_is_right(void **state)
{
    static const double freedoms[] = {2, 4, 10, 100, 1000}, at[] = {0.2, 0.7, 0.99, 1, 1.01, 1.3, 3};

    (void)state;
    assert_true(fabs(chi_square_above(1, 2.25) - erfc(1.5 / sqrt(2))) < 1e-12);
    for (size_t i = 0; i < COUNT(freedoms); i++)
        for (size_t j = 0; j < COUNT(at); j++) {
            const double x = freedoms[i] * at[j];
            double sum = 0;
            for (double events = 0; events < freedoms[i] / 2; events++)
                sum += exp(events * log(x / 2) - x / 2 - lgamma(events + 1));
            assert_true(fabs(chi_square_above(freedoms[i], x) - sum) < 1e-10 * sum + 1e-13);
        }
}

static double either_side(double above)
{
    return fmin(1, 2 * fmin(above, 1 - above));
}

/* p of counts against cells of the probabilities given.  Cells of probability 0 must be empty: p is 0 if not. */
static double chi_square_p(const uint64_t *counts, const double *probabilities, size_t cells)
{
    double draws = 0, sum = 0, freedom = -1;

    for (size_t i = 0; i < cells; i++)
        draws += (double)counts[i];
    for (size_t i = 0; i < cells; i++) {
        const double expected = draws * probabilities[i], off = (double)counts[i] - expected;
        if (probabilities[i] <= 0 && counts[i] > 0)
            return 0;
        if (probabilities[i] <= 0)
            continue;
        CHECK(expected >= (double)EXPECTED_MIN);
        sum += off * off / expected;
        freedom++;
    }
    return freedom > 0 ? either_side(chi_square_above(freedom, sum)) : 1;
}

/* Keeps the smallest p of a group of tests; a wrong network is meant to fail, and so is not in the account. */
struct verdict {
    bool is_wrong; /* the network has too few rounds */
    double least;
};

static void give_verdict(struct verdict *verdict, double p)
{
    verdict->least = fmin(verdict->least, p);
    if (verdict->is_wrong)
        return;
    lab.tests++;
    lab.least = fmin(lab.least, p);
    CHECK(lab.tests <= TESTS_MAX);
    CHECK(p >= P_LIMIT);
}

/* ---- classes of positions ---- */

/* Position x is of class y / width % classes where y = x step mod n, or min(y / width, classes - 1) if !wraps. */
struct cut {
    uint64_t n, step, width;
    uint32_t classes;
    bool wraps;
};

static uint32_t class_of(const struct cut *cut, uint64_t position)
{
    const uint64_t at = position * cut->step % cut->n / cut->width, last = cut->classes - 1;

    return (uint32_t)(cut->wraps ? at % cut->classes : at < last ? at : last);
}

/* Positions of a class; step and n have no common factor. */
static uint64_t class_size(const struct cut *cut, uint32_t class)
{
    const uint64_t width = cut->width, before = class * width;

    if (!cut->wraps)
        return class + 1 < cut->classes ? width : cut->n - before;
    const uint64_t period = width * cut->classes, rest = cut->n % period;
    return cut->n / period * width + (rest < before ? 0 : rest - before < width ? rest - before : width);
}

static void class_sizes_are_right(void **state)
{
    static const struct cut cuts[] = {{100, 1, 33, 3, false}, {100, 7, 5, 4, true}, {5, 1, 1, 5, false},
                                      {96, 5, 1, 7, true},    {97, 1, 8, 4, true},  {97, 3, 16, 6, false}};

    (void)state;
    for (size_t i = 0; i < COUNT(cuts); i++) {
        uint64_t counts[8] = {0};
        for (uint64_t x = 0; x < cuts[i].n; x++)
            counts[class_of(&cuts[i], x)]++;
        for (uint32_t class = 0; class < cuts[i].classes; class ++)
            assert_int_equal(counts[class], class_size(&cuts[i], class));
    }
}

enum { CUTS = 3, CLASSES_MAX = 256 };

/* Neighbours together; the remainder of a division by classes; bits from the middle of the position. */
static uint32_t make_cuts(uint64_t n, uint32_t classes, struct cut cuts[CUTS])
{
    const struct source source = source_of(n, NULL, 0);
    const uint64_t middle = UINT64_C(1) << (source.bits / 2 - 1);
    uint32_t count = 0;

    cuts[count++] = (struct cut){n, 1, n / classes, classes, false};
    if (n >= 2 * classes)
        cuts[count++] = (struct cut){n, 1, 1, classes, true};
    if (n / middle >= 2 * classes)
        cuts[count++] = (struct cut){n, 1, middle, classes, true};
    return count;
}

/* ---- one position, two positions ---- */

static void test_position(const struct cut *cut, const uint64_t *drawn, uint32_t count, uint32_t draws, uint32_t slot,
                          struct verdict *verdict)
{
    uint64_t counts[CLASSES_MAX] = {0};
    double probabilities[CLASSES_MAX];

    for (uint32_t i = 0; i < draws; i++)
        counts[class_of(cut, drawn[(size_t)i * count + slot])]++;
    for (uint32_t i = 0; i < cut->classes; i++)
        probabilities[i] = (double)class_size(cut, i) / (double)cut->n;
    at_case("one position: n=%" PRIu64 " slot=%u width=%" PRIu64 " classes=%u", cut->n, (unsigned)slot, cut->width,
            (unsigned)cut->classes);
    give_verdict(verdict, chi_square_p(counts, probabilities, cut->classes));
}

/* Pairs that stand `apart` places from one another in `drawn`, each position in at most one of them. */
static void test_pairs(const struct cut *cut, const uint64_t *drawn, size_t stride, size_t apart, size_t pairs,
                       bool of_one_sample, struct verdict *verdict)
{
    const uint32_t classes = cut->classes;
    const double n = (double)cut->n, all = n * (of_one_sample ? n - 1 : n);
    uint64_t *counts = take((size_t)classes * classes, sizeof *counts);
    double *probabilities = take((size_t)classes * classes, sizeof *probabilities);

    for (size_t i = 0; i < pairs; i++)
        counts[class_of(cut, drawn[i * stride]) * classes + class_of(cut, drawn[i * stride + apart])]++;
    for (uint32_t i = 0; i < classes * classes; i++) {
        const uint32_t a = i / classes, b = i % classes;
        const double others = (double)class_size(cut, b) - (of_one_sample && a == b);
        probabilities[i] = (double)class_size(cut, a) * others / all;
    }
    at_case("pairs: n=%" PRIu64 " apart=%zu width=%" PRIu64 " classes=%u", cut->n, apart, cut->width,
            (unsigned)classes);
    give_verdict(verdict, chi_square_p(counts, probabilities, (size_t)classes * classes));
    free(probabilities);
    free(counts);
}

enum { PLACES = 5 };

/* The first slots, one in the middle and the last of a sample. */
static void choose_slots(uint64_t n, uint64_t slots[PLACES])
{
    const uint64_t S = n / 2 < 1 << 18 ? (n + 1) / 2 + 2 : 1 << 18;

    memcpy(slots, (const uint64_t[PLACES]){0, 1, 2, S / 2 > 2 ? S / 2 : 3, S - 1 > 3 ? S - 1 : 4},
           PLACES * sizeof *slots);
}

static void test_places(struct source source, uint32_t calls, struct verdict *verdict)
{
    const uint32_t draws = calls * ROWS, few = source.n < 8 ? (uint32_t)source.n : 8;
    uint64_t *drawn = take((size_t)draws * PLACES, sizeof *drawn);
    struct cut cuts[CUTS];

    draw_positions(&source, 0, calls, drawn);
    uint32_t count = make_cuts(source.n, source.n < CLASSES_MAX ? (uint32_t)source.n : CLASSES_MAX, cuts);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t slot = 0; slot < PLACES; slot++)
            test_position(&cuts[i], drawn, PLACES, draws, slot, verdict);
    count = make_cuts(source.n, few, cuts);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t other = 1; other < PLACES; other++)
            test_pairs(&cuts[i], drawn, PLACES, other, draws, true, verdict);
        for (size_t apart = 1; apart <= ROWS;
             apart += ROWS - 1) /* the draw that follows; the same row of the next call */
            test_pairs(&cuts[i], drawn, 2 * apart * PLACES, apart * PLACES, draws / (2 * apart), false, verdict);
    }
    free(drawn);
}

static uint32_t calls_of(uint32_t calls)
{
    return options.long_run ? 8 * calls : calls;
}

static void positions_are_uniform(void **state)
{
    static const uint64_t sizes[] = {5,
                                     6,
                                     7,
                                     12,
                                     33,
                                     100,
                                     255,
                                     256,
                                     257,
                                     1000,
                                     2049,
                                     4096,
                                     4097,
                                     65536,
                                     65537,
                                     1000003,
                                     (1ull << 31) + 11,
                                     1ull << 32,
                                     (1ull << 32) + 1,
                                     1ull << 40};

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct verdict verdict = {false, 1};
        uint64_t slots[PLACES];
        choose_slots(sizes[i], slots);
        test_places(source_of(sizes[i], slots, PLACES), calls_of(30000), &verdict);
        fprintf(stderr, "    one and two positions, n = %" PRIu64 ": smallest p %.3g\n", sizes[i], verdict.least);
    }
}

/* ---- orders ---- */

/* Number of the order in which n <= 6 positions stand, 0 to n! - 1. */
static uint32_t order_of(const uint64_t *positions, uint32_t n)
{
    uint32_t order = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t smaller = 0;
        for (uint32_t j = i + 1; j < n; j++)
            smaller += positions[j] < positions[i];
        order = order * (n - i) + smaller;
    }
    return order;
}

static void test_orders(struct source source, uint32_t calls, struct verdict *verdict)
{
    enum { ORDERS_MAX = 720 };
    const uint32_t n = source.count, draws = calls * ROWS;
    uint64_t *drawn = take((size_t)draws * n, sizeof *drawn), counts[ORDERS_MAX] = {0};
    double probabilities[ORDERS_MAX];
    size_t orders = 1;

    for (uint32_t i = 2; i <= n; i++)
        orders *= i;
    draw_positions(&source, 0, calls, drawn);
    for (uint32_t i = 0; i < draws; i++)
        counts[order_of(drawn + (size_t)i * n, n)]++;
    for (size_t i = 0; i < orders; i++)
        probabilities[i] = 1 / (double)orders;
    at_case("orders of n=%" PRIu64, source.n);
    give_verdict(verdict, chi_square_p(counts, probabilities, orders));
    free(drawn);
}

static const uint64_t first_slots[] = {0, 1, 2, 3, 4, 5};

static void orders_are_equally_likely(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 6; n++) {
        struct verdict verdict = {false, 1};
        test_orders(source_of(n, first_slots, n), calls_of(30000), &verdict);
        fprintf(stderr, "    orders of %u elements: p %.3g\n", (unsigned)n, verdict.least);
    }
}

/* ---- counts in a set ---- */

/* Pr(X = j) for j = 0 to S, X of S slots in a set of K of n: by ratios from the mode on, so that n may be 2^40. */
static void fill_law(double n, double K, double S, double *pmf)
{
    const size_t slots = (size_t)S, mode = (size_t)fmin(fmin(S, K), floor((S + 1) * (K + 1) / (n + 2)));
    double sum = 1;

    pmf[mode] = 1;
    for (size_t j = mode; j < slots; j++)
        sum += pmf[j + 1] =
            pmf[j] * (K - (double)j) * (S - (double)j) / (((double)j + 1) * (n - K - S + (double)j + 1));
    for (size_t j = mode; j > 0; j--)
        sum += pmf[j - 1] =
            pmf[j] * (double)j * (n - K - S + (double)j) / ((K - (double)j + 1) * (S - (double)j + 1));
    for (size_t j = 0; j <= slots; j++)
        pmf[j] = pmf[j] > 0 ? pmf[j] / sum : 0;
}

/* p of the mean and of the variance around the law's own mean; the sums of this many draws are normal. */
static void test_moments(const uint64_t *histogram, const double *pmf, uint32_t slots, struct verdict *verdict)
{
    double mean = 0, second = 0, fourth = 0, draws = 0, first_sum = 0, second_sum = 0;

    for (uint32_t j = 0; j <= slots; j++)
        mean += pmf[j] * j;
    for (uint32_t j = 0; j <= slots; j++) {
        const double off = j - mean, times = (double)histogram[j];
        second += pmf[j] * off * off;
        fourth += pmf[j] * off * off * off * off;
        draws += times;
        first_sum += times * off;
        second_sum += times * off * off;
    }
    give_verdict(verdict, erfc(fabs(first_sum) / sqrt(2 * draws * second)));
    if (fourth > second * second * (1 + 1e-9)) /* else X takes two values at one distance from the mean */
        give_verdict(verdict, erfc(fabs(second_sum - draws * second) / sqrt(2 * draws * (fourth - second * second))));
}

/* Neighbouring values share a cell until EXPECTED_MIN draws are expected in it. */
static double law_p(const uint64_t *histogram, const double *pmf, uint32_t slots, double draws)
{
    uint64_t *counts = take(slots + 1, sizeof *counts);
    double *probabilities = take(slots + 1, sizeof *probabilities), left = 1;
    size_t cell = 0;

    for (uint32_t j = 0; j <= slots; j++) {
        counts[cell] += histogram[j];
        probabilities[cell] += pmf[j];
        left -= pmf[j];
        if (probabilities[cell] * draws >= (double)EXPECTED_MIN && left * draws >= (double)EXPECTED_MIN) {
            cell++;
            counts[cell] = 0;
        }
    }
    const double p = chi_square_p(counts, probabilities, cell + 1);
    free(probabilities);
    free(counts);
    return p;
}

/* How many of S slots fall into the first class of each cut. */
static void count_hits(const struct source *source, const struct cut *cuts, uint32_t cut_count, uint32_t calls,
                       uint64_t *const *histograms)
{
    const uint32_t room = POSITIONS_MAX / (ROWS * source->count), batch = room < calls ? room : calls;
    uint64_t *drawn = take((size_t)batch * ROWS * source->count, sizeof *drawn);

    for (uint32_t done = 0; done < calls; done += batch) {
        const uint32_t now = calls - done < batch ? calls - done : batch;
        draw_positions(source, done, now, drawn);
        for (uint32_t draw = 0; draw < now * ROWS; draw++)
            for (uint32_t i = 0; i < cut_count; i++) {
                uint32_t hits = 0;
                for (uint32_t slot = 0; slot < source->count; slot++)
                    hits += class_of(&cuts[i], drawn[(size_t)draw * source->count + slot]) == 0;
                histograms[i][hits]++;
            }
    }
    free(drawn);
}

enum { SETS = 4 };

/*
 * Sets of about K positions: the first ones, those at a stride (the top K of periodic data), in blocks, scattered.
 * The stride and the blocks are powers of two.
 */
static void make_sets(uint64_t n, uint64_t K, struct cut sets[SETS])
{
    uint64_t step = (UINT64_C(1) << 19) + 21; /* prime */
    uint32_t classes = 2;

    while (classes * K * 2 <= n && classes < 1u << 30)
        classes *= 2;
    step = n % step == 0 ? 1 : step;
    const uint64_t block = n / classes >= 64 ? 16 : 1;
    sets[0] = (struct cut){n, 1, K, 2, false};
    sets[1] = (struct cut){n, 1, 1, classes, true};
    sets[2] = (struct cut){n, 1, block, classes, true};
    sets[3] = (struct cut){n, step, K, 2, false};
}

static void test_counts(struct source source, uint64_t K, uint32_t calls, struct verdict *verdict)
{
    const uint32_t slots = source.count;
    uint64_t *histograms[SETS];
    double *pmf = take(slots + 1, sizeof *pmf);
    struct cut sets[SETS];

    make_sets(source.n, K, sets);
    for (uint32_t i = 0; i < SETS; i++)
        histograms[i] = take(slots + 1, sizeof *histograms[i]);
    count_hits(&source, sets, SETS, calls, histograms);
    for (uint32_t i = 0; i < SETS; i++) {
        const uint64_t marked = class_size(&sets[i], 0);
        fill_law((double)source.n, (double)marked, slots, pmf);
        at_case("counts: n=%" PRIu64 " S=%u K=%" PRIu64 " set %u", source.n, (unsigned)slots, marked, (unsigned)i);
        give_verdict(verdict, law_p(histograms[i], pmf, slots, (double)calls * (double)ROWS));
        test_moments(histograms[i], pmf, slots, verdict);
        free(histograms[i]);
    }
    free(pmf);
}

/* Samples of the first S slots. */
static void test_sample(uint64_t n, uint32_t S, uint64_t K, uint32_t calls, uint32_t rounds, struct verdict *verdict)
{
    uint64_t *slots = take(S, sizeof *slots);

    for (uint32_t i = 0; i < S; i++)
        slots[i] = i;
    struct source source = source_of(n, slots, S);
    source.rounds = rounds > 0 ? rounds : source.rounds;
    test_counts(source, K, calls, verdict);
    free(slots);
}

static void counts_are_hypergeometric(void **state)
{
    static const struct {
        uint64_t n, K;
        uint32_t S, calls;
    } cases[] = {
        {5, 2, 2, 20000},
        {7, 3, 4, 20000},
        {12, 6, 6, 20000},
        {40, 20, 20, 10000},
        {300, 75, 64, 5000},
        {2048, 1024, 1024, 1500},
        {4096, 1024, 64, 5000},
        {4097, 1000, 128, 5000},
        {65536, 512, 2048, 1500},
        {1000003, 1000, 4096, 1000},
        {1 << 24, 2048, 1 << 14, 500},
        {(1ull << 31) + 11, 1 << 20, 1 << 13, 500},
        {1ull << 32, 1ull << 27, 512, 5000},
        {1ull << 40, 1ull << 39, 512, 5000},
        {1ull << 40, 1ull << 34, 4096, 1000},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct verdict verdict = {false, 1};
        test_sample(cases[i].n, cases[i].S, cases[i].K, calls_of(cases[i].calls), 0, &verdict);
        fprintf(stderr, "    counts, n = %" PRIu64 ", S = %u, K = %" PRIu64 ": smallest p %.3g\n", cases[i].n,
                (unsigned)cases[i].S, cases[i].K, verdict.least);
    }
}

/* ---- the tests find what is wrong ---- */

/* For small n, where few rounds show. */
static void too_few_rounds_are_found(void **state)
{
    struct verdict pairs = {true, 1}, orders = {true, 1}, counts = {true, 1}, four = {true, 1};
    uint64_t slots[PLACES];

    (void)state;
    choose_slots(33, slots);
    struct source source = source_of(33, slots, PLACES);
    source.rounds = 2;
    test_places(source, 20000, &pairs);
    source = source_of(5, first_slots, 5);
    source.rounds = 2;
    test_orders(source, 30000, &orders);
    test_sample(65536, 2048, 512, 1500, 2, &counts);
    test_sample(2048, 1024, 1024, 1500, 4, &four);
    fprintf(stderr, "    two rounds: pairs p %.3g, orders p %.3g, counts p %.3g; four: counts p %.3g\n", pairs.least,
            orders.least, counts.least, four.least);
    assert_true(pairs.least < P_LIMIT);
    assert_true(orders.least < P_LIMIT);
    assert_true(counts.least < P_LIMIT);
    assert_true(four.least < P_LIMIT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chi_square_is_right),         cmocka_unit_test(class_sizes_are_right),
        cmocka_unit_test(stage_draws_these_positions), cmocka_unit_test(positions_are_uniform),
        cmocka_unit_test(orders_are_equally_likely),   cmocka_unit_test(counts_are_hypergeometric),
        cmocka_unit_test(too_few_rounds_are_found),
    };
    int status;

    options = test_options_read(argc, argv, 20260601);
    status = bench_open(options.seed);
    if (status == 0)
        status = cmocka_run_group_tests(tests, lab_open, lab_close);
    bench_close();
    return status;
}
