/*
 * fixture.h: runs one selection through the public API on device buffers and judges everything that comes back.
 *
 * The input stands at an odd offset between elements that would win if they were read; the outputs stand at offsets of
 * their own in memory filled with 0xCC.  A run is right if
 *   - indices are the reference's, as numbers, in the sequence that the case asks for (NONE: the same set),
 *   - values are, bit for bit, the input's at these indices,
 *   - no byte before or behind an output changed, nor any byte of an output that was not asked for,
 *   - the row is certified, and attempts, R and the plan's statistics agree with one another and with the route,
 *   - the event, where one was asked for, is complete.
 * What is wrong is said on standard error together with all that is needed to run the case again.
 */
#ifndef PROFK_TESTS_FIXTURE_H
#define PROFK_TESTS_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profk.h"

/* The outputs of a call, as places in arrays and, shifted, as bits of test_case.unwanted. */
enum { OUT_VALUES, OUT_INDICES, OUT_ROW, OUTPUTS };

struct test_case {
    uint32_t type, order, nan, sort, index, route;
    uint32_t distribution; /* INPUTS_*, for the message only */
    uint32_t unwanted;     /* bit OUT_*: the call passes NULL for this output */
    uint64_t n, k;
    uint64_t seed; /* of the input, the plan's samples, the offsets and the queue */
};

/* An output region as it was read back: count elements behind offset, tail elements behind them. */
struct output {
    unsigned char *bytes;
    size_t element_nbytes, offset, count, tail;
    size_t room_nbytes;
    cl_mem buffer;
    size_t buffer_nbytes;
    bool wanted;
};

struct fixture {
    profk_context *ctx;
    cl_context cl;
    cl_device_id device;
    cl_command_queue queues[2]; /* in order; out of order where the device can */
    bool snug; /* buffers end with their last element, for checkers that watch buffer ends; no canaries behind */
    cl_mem input_buffer;
    size_t input_nbytes, input_offset;
    const void *x; /* the loaded input, borrowed */
    struct output out[OUTPUTS];
};

/* What a run left behind besides its outputs in fixture.out. */
struct outcome {
    profk_info info;
    profk_stats stats;
    profk_row row;
};

/* How a test program was called: --long, --small, --seed N; --only PATTERN runs the tests of these names, '*' and '?'
 * standing for anything. */
struct test_options {
    bool long_run, small;
    uint64_t seed;
};

/* Reads the command line and prints the seed; exits with status 2 on anything unknown. */
struct test_options test_options_read(int argc, char **argv, uint64_t default_seed);

/* Opens the device that PROFK_DEVICE names, or the default one.  Returns 0, 77 (no device) or 1 (said why). */
int fixture_open(struct fixture *f);
void fixture_close(struct fixture *f);

/* What main() of a test program does: reads the options, runs `run` on the open fixture; returns the exit status. */
int fixture_main(int argc, char **argv, struct test_options *options, struct fixture *f, int (*run)(void));

/* Puts n elements of x between guards on the device.  x must stay until the next load. */
bool fixture_load(struct fixture *f, uint32_t type, const void *x, size_t n, uint64_t seed);

/* The problem of a case: one row, exact. */
profk_problem test_case_problem(const struct test_case *c);

/* Makes the plan of a case; NULL and a message on failure.  forced may be NULL.  The second one takes a problem of
 * more than the case says; where a driver that ends long loops refuses it, route auto takes the place of its own. */
profk_plan *fixture_plan(struct fixture *f, const struct test_case *c, const profk_tuning *forced);
profk_plan *fixture_plan_problem(struct fixture *f, const struct test_case *c, profk_problem *p,
                                 const profk_tuning *forced, uint32_t flags);

/* Runs plan once on the loaded input and judges it; ranked holds the k indices of the answer.  ret may be NULL. */
bool fixture_execute(struct fixture *f, profk_plan *plan, const struct test_case *c, const uint32_t *ranked,
                     struct outcome *ret);

/* fixture_plan(), one fixture_execute(), and the plan is gone again. */
bool fixture_run(struct fixture *f, const struct test_case *c, const profk_tuning *forced, const uint32_t *ranked,
                 struct outcome *ret);

/* The part of the judgement that needs no device: canaries, indices and values of f->out against x. */
bool fixture_judge(const struct fixture *f, const struct test_case *c, const uint32_t *ranked);

/* Lays out f->out for a case (sizes, offsets, host memory full of canaries) without a device. */
bool fixture_lay_out(struct fixture *f, const struct test_case *c);

/* Element i of an output in host memory. */
unsigned char *output_element(const struct output *out, size_t i);

/* While quiet, faults are found but not printed. */
void fixture_quiet(bool quiet);

/* Prints what makes up a case: all that is needed to run it again, on one line. */
void test_case_print(FILE *to, const struct test_case *c);

/* Prints a case on standard error, under a printf-like complaint.  Returns false. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool complain(const struct test_case *c, const char *format, ...);

#endif
