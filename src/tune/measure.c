/* measure.c: the memory of a tuning session and the times of calls in it. */
#ifndef _WIN32
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#endif
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* f32 elements of the input: beyond every cache, where the device has room. */
enum { INPUT_ELEMENTS = 1 << 24, INPUT_SHARE = 8, OUTPUT_ELEMENTS = 1 << 20 };

double profk__now_s(void)
{
    struct timespec now;

#ifdef _WIN32
    timespec_get(&now, TIME_UTC);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Random numbers in [1, 2): all keys differ in 23 bits. */
static profk_status fill_input(struct profk__bench *bench)
{
    profk_status st = PROFK_OK;
    size_t nbytes = (size_t)bench->input_elements * sizeof(cl_uint);
    cl_uint *bits = malloc(nbytes);
    uint64_t state = 1;

    if (bits == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory for %zu bytes of data to tune with", nbytes);
        goto done;
    }
    for (uint64_t i = 0; i < bench->input_elements; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bits[i] = UINT32_C(0x3f800000) | (cl_uint)(state >> 41);
    }
    TRY_CL(clEnqueueWriteBuffer(bench->queue, bench->input, CL_TRUE, 0, nbytes, bits, 0, NULL, NULL));
done:
    free(bits);
    return st;
}

static profk_status make_buffer(const struct profk__bench *bench, size_t nbytes, cl_mem *ret)
{
    cl_int code = CL_SUCCESS;

    *ret = clCreateBuffer(bench->ctx->cl, CL_MEM_READ_WRITE, nbytes, NULL, &code);
    return profk__cl_check(code, "clCreateBuffer");
}

profk_status profk__bench_open(profk_context *ctx, double budget_s, struct profk__text *report,
                               struct profk__bench *ret)
{
    profk_status st = PROFK_OK;
    uint64_t most_nbytes = ctx->device.facts.max_alloc_nbytes / INPUT_SHARE;
    cl_int code = CL_SUCCESS;
    struct profk__bench bench = {.ctx = ctx, .budget_s = budget_s, .begin_s = profk__now_s(), .report = report};

    bench.input_elements = INPUT_ELEMENTS;
    while (bench.input_elements * sizeof(cl_float) > most_nbytes && bench.input_elements > OUTPUT_ELEMENTS)
        bench.input_elements /= 2;
    bench.queue = clCreateCommandQueue(ctx->cl, ctx->device.facts.id, 0, &code);
    TRY(profk__cl_check(code, "clCreateCommandQueue"));
    TRY(make_buffer(&bench, (size_t)bench.input_elements * sizeof(cl_float), &bench.input));
    TRY(make_buffer(&bench, OUTPUT_ELEMENTS * sizeof(cl_float), &bench.values));
    TRY(make_buffer(&bench, OUTPUT_ELEMENTS * sizeof(cl_ulong), &bench.indices));
    TRY(fill_input(&bench));
    *ret = bench;
done:
    if (st != PROFK_OK)
        profk__bench_close(&bench);
    return st;
}

void profk__bench_close(struct profk__bench *bench)
{
    profk__release_mem(bench->input);
    profk__release_mem(bench->values);
    profk__release_mem(bench->indices);
    profk__release_queue(bench->queue);
}

profk_status profk__bench_may_go_on(struct profk__bench *bench, const char *what, int *ret)
{
    const profk_options *options = &bench->ctx->options;
    double spent = (profk__now_s() - bench->begin_s) / bench->budget_s;

    if (options->progress != NULL
        && options->progress(options->user, what, bench->done > spent ? bench->done : spent < 1 ? spent : 1) != 0)
        return profk__fail(PROFK_ERR_CANCELLED, "stopped by the caller while tuning");
    *ret = spent < 1;
    return PROFK_OK;
}

static profk_status run_once(struct profk__bench *bench, profk_plan *plan, uint64_t elements, double *seconds)
{
    const profk_chunk chunk = {.buffer = bench->input, .count = elements};
    const profk_io io = {.struct_size = sizeof io, .chunks = &chunk, .chunk_count = 1, .values = bench->values,
                         .indices = bench->indices};
    struct profk__call call;
    double start = profk__now_s();
    profk_status st = PROFK_OK;

    TRY(profk__io_check(plan, bench->queue, &io, 0, NULL, &call));
    TRY(profk__execute(plan, &call, NULL));
    *seconds = profk__now_s() - start;
done:
    return st;
}

double profk__trial_seconds(struct profk__bench *bench, const struct profk__tuned *tuned,
                            const struct profk__trial *trial)
{
    enum { RUNS = 3 };
    profk_status st = PROFK_OK;
    const profk_tuning forced = {.struct_size = sizeof forced, .S = trial->S, .t = trial->t, .M = trial->M};
    profk_problem problem;
    profk_plan *plan = NULL;
    double least = (double)INFINITY, seconds = 0;

    profk_problem_init(&problem, sizeof problem, PROFK_F32, trial->n, trial->k);
    problem.rows = trial->rows;
    problem.route = trial->route;
    problem.seed = 1;
    problem.epsilon = PROFK__EPSILON_DEFAULT; /* whatever was tuned before */
    TRY(profk__plan_create(bench->ctx, tuned, &problem, &forced, PROFK_ESTIMATE, &plan));
    for (int run = -1; run < RUNS; run++) {
        TRY(run_once(bench, plan, trial->n, &seconds));
        least = run >= 0 && seconds < least ? seconds : least;
    }
done:
    profk__plan_destroy(plan);
    if (st == PROFK_OK)
        return least;
    profk__text_add(bench->report, "skipped a candidate for %s: %s\n", trial->what, profk__message());
    return (double)INFINITY;
}

void profk__trials_in_turns(struct profk__bench *bench, unsigned count, const struct profk__tuned *const *tuned,
                            const struct profk__trial *trials, double *seconds)
{
    enum { ROUNDS = 4 };

    for (unsigned i = 0; i < count; i++)
        seconds[i] = (double)INFINITY;
    for (unsigned i = 0; i < ROUNDS * count; i++) {
        double least = profk__trial_seconds(bench, tuned[i % count], &trials[i % count]);
        seconds[i % count] = least < seconds[i % count] ? least : seconds[i % count];
        if (!isfinite(least))
            break; /* it would fail again */
    }
}
