/* measure.c: see measure.h. */
#include "measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "progress.h"
#include "report.h"
#include "truth.h"

enum { READ_TURNS = 16, LEAST_RUNS = 3 }; /* reads per cell, spread over its calls; calls that no deadline takes */

static const char *const mode_names[] = {"exact", "async", "approximate"};

bool bench_mode_find(const char *name, uint64_t *ret)
{
    for (*ret = 0; *ret < sizeof mode_names / sizeof mode_names[0]; ++*ret)
        if (strcmp(mode_names[*ret], name) == 0)
            return true;
    return false;
}

const char *bench_mode_name(uint32_t mode)
{
    return mode_names[mode];
}

int rig_open(struct rig *rig, const struct settings *settings)
{
    cl_device_id device;
    cl_context cl;
    cl_int error;

    rig->settings = settings;
    rig->deadline = settings->bench.budget > 0.0 ? clock_seconds() + settings->bench.budget : (double)HUGE_VAL;
    profk_context_handles(rig->planned.ctx, &cl, &device);
    rig->queue = clCreateCommandQueue(cl, device, 0, &error);
    if (!rig->queue)
        return fail_opencl(error, "clCreateCommandQueue");
    return read_speed_open(&rig->read_speed, rig->planned.ctx, rig->queue);
}

void rig_close(struct rig *rig)
{
    read_speed_close(&rig->read_speed);
    if (rig->queue)
        clReleaseCommandQueue(rig->queue);
    rig->queue = NULL;
}

/* Everything that one cell holds. */
struct work {
    struct rig *rig;
    const struct dataset *dataset;
    const struct cell *cell;
    struct figures *figures;
    profk_problem problem;
    profk_plan *plan;
    profk_chunk *chunks;
    struct read_span *spans; /* one a chunk */
    size_t chunk_count;
    cl_mem value_buffer, index_buffer, row_buffer;
    unsigned char *values; /* host copies of the results */
    uint64_t *indices;
    profk_row *rows;
    double *seconds; /* of each timed call */
    double recall_sum;
};

/* --- preparation --------------------------------------------------------------------------------------------------- */

static uint32_t element_nbytes(const struct work *work)
{
    return work->dataset->input.type->nbytes;
}

/* No plan is no failure here: another cell may have one. */
static int leave_out(struct work *work, const char *why)
{
    const struct cell *cell = work->cell;

    work->figures->left_out = true;
    if (work->rig->settings->quiet)
        return EXIT_DONE;
    progress_clear();
    fprintf(stderr, "profk: left out n %" PRIu64 ", k %" PRIu64 ", %" PRIu64 " rows: %s\n", cell->n, cell->k,
            cell->rows, why);
    return EXIT_DONE;
}

static int make_plan(struct work *work)
{
    const struct settings *settings = work->rig->settings;
    const struct cell *cell = work->cell;
    profk_problem *problem = &work->problem;
    profk_tuning forced = settings->force;
    profk_status status;

    profk_problem_init(problem, sizeof *problem, work->dataset->input.type->id, cell->n, cell->k);
    problem->rows = cell->rows;
    problem->epsilon = cell->epsilon;
    problem->seed = settings->seed ? settings->seed : 1; /* the same calls every time */
    problem->order = settings->order;
    problem->nan = settings->nan;
    problem->sort = settings->sort;
    problem->route = settings->route;
    problem->mode = cell->mode == BENCH_APPROXIMATE ? PROFK_MODE_APPROXIMATE : PROFK_MODE_EXACT;
    forced.struct_size = sizeof forced;
    if (cell->S)
        forced.S = cell->S;
    status =
        profk_plan_create(work->rig->planned.ctx, problem, &forced,
                          cell->mode == BENCH_ASYNC ? PROFK_ESTIMATE | PROFK_ASYNC : PROFK_ESTIMATE, &work->plan);
    if (status == PROFK_ERR_UNSUPPORTED || status == PROFK_ERR_PARAMS || status == PROFK_ERR_ARGUMENT)
        return leave_out(work, profk_context_message(work->rig->planned.ctx));
    return status == PROFK_OK ? EXIT_DONE : fail_status(status);
}

/* The first rows * n elements of the dataset as chunks; rows are in one buffer, which the chunk's count does not tell. */
static int make_chunks(struct work *work)
{
    const struct pieces *pieces = &work->dataset->pieces;
    uint64_t left = work->cell->rows * work->cell->n;
    size_t i;

    work->chunks = calloc(pieces->chunk_count, sizeof *work->chunks);
    work->spans = calloc(pieces->chunk_count, sizeof *work->spans);
    if (!work->chunks || !work->spans)
        return fail(EXIT_FAILED, "no memory for a list of chunks; give a smaller -n");
    for (i = 0; i < pieces->chunk_count && left > 0; i++) {
        profk_chunk chunk = pieces->chunks[i];

        if (chunk.count > left)
            chunk.count = left;
        left -= chunk.count;
        work->spans[i] = (struct read_span){chunk.buffer, chunk.offset * element_nbytes(work),
                                            (chunk.offset + chunk.count) * element_nbytes(work)};
        work->chunks[work->chunk_count++] = chunk;
    }
    if (work->cell->rows > 1)
        work->chunks[0].count = work->cell->n;
    if (work->cell->rows > 1 && work->chunk_count > 1)
        return leave_out(work, "several rows must fit into one allocation of the device");
    return EXIT_DONE;
}

/* A host array of so many elements and the buffer that is read into it. */
static int make_result(struct work *work, uint64_t count, size_t nbytes, void *host_ret, cl_mem *buffer_ret)
{
    void *host = calloc((size_t)count, nbytes);
    cl_context cl;
    cl_int error;

    memcpy(host_ret, &host, sizeof host);
    if (!host)
        return fail(EXIT_FAILED, "no memory for %" PRIu64 " results; give a smaller -k", count);
    profk_context_handles(work->rig->planned.ctx, &cl, NULL);
    *buffer_ret = clCreateBuffer(cl, CL_MEM_READ_WRITE, (size_t)count * nbytes, NULL, &error);
    return *buffer_ret ? EXIT_DONE : fail_opencl(error, "clCreateBuffer for the results");
}

static int make_results(struct work *work)
{
    uint64_t results = work->cell->rows * work->cell->k;
    int status = make_result(work, results, element_nbytes(work), &work->values, &work->value_buffer);

    if (status == EXIT_DONE)
        status = make_result(work, results, sizeof *work->indices, &work->indices, &work->index_buffer);
    if (status == EXIT_DONE)
        status = make_result(work, work->cell->rows, sizeof *work->rows, &work->rows, &work->row_buffer);
    if (status == EXIT_DONE) {
        work->seconds = calloc((size_t)work->rig->settings->bench.runs, sizeof *work->seconds);
        if (!work->seconds)
            status = fail(EXIT_FAILED, "no memory for that many times; give fewer --runs");
    }
    return status;
}

/* --- calls --------------------------------------------------------------------------------------------------------- */

/* One call, waited for. */
static int call(struct work *work, double *seconds_ret)
{
    const profk_io io = {.struct_size = sizeof io,
                         .chunks = work->chunks,
                         .chunk_count = work->chunk_count,
                         .values = work->value_buffer,
                         .indices = work->index_buffer,
                         .row_results = work->row_buffer};
    double start = clock_seconds();
    cl_event event = NULL;
    profk_status status = profk_execute(work->plan, work->rig->queue, &io, 0, NULL, &event);
    cl_int error;

    if (status != PROFK_OK)
        return fail_status(status);
    error = clWaitForEvents(1, &event);
    *seconds_ret = clock_seconds() - start;
    clReleaseEvent(event);
    return error == CL_SUCCESS ? EXIT_DONE : fail_opencl(error, "the selection on the device");
}

static int read_back(struct work *work, cl_mem buffer, uint64_t nbytes, void *to)
{
    cl_int error = clEnqueueReadBuffer(work->rig->queue, buffer, CL_TRUE, 0, (size_t)nbytes, to, 0, NULL, NULL);

    return error == CL_SUCCESS ? EXIT_DONE : fail_opencl(error, "clEnqueueReadBuffer");
}

static int read_rows(struct work *work)
{
    return read_back(work, work->row_buffer, work->cell->rows * sizeof *work->rows, work->rows);
}

static int read_values(struct work *work)
{
    return read_back(work, work->value_buffer, work->cell->rows * work->cell->k * element_nbytes(work), work->values);
}

static struct question question_of(const struct work *work, uint64_t row)
{
    const struct input *input = &work->dataset->input;
    const unsigned char *bytes = input->source.bytes;

    return (struct question){.type = input->type,
                             .order = work->problem.order,
                             .nan = work->problem.nan,
                             .sort = work->problem.sort,
                             .elements = bytes + input->data_at + row * work->cell->n * input->type->nbytes,
                             .n = work->cell->n,
                             .k = work->cell->k};
}

/* Every row that says it is certified must be the exact answer; in exact mode each must say so. */
static int check_answer(struct work *work)
{
    uint64_t k = work->cell->k, results = work->cell->rows * k, row;
    int status = read_rows(work);

    if (status == EXIT_DONE)
        status = read_values(work);
    if (status == EXIT_DONE)
        status = read_back(work, work->index_buffer, results * sizeof *work->indices, work->indices);
    for (row = 0; row < work->cell->rows && status == EXIT_DONE; row++) {
        struct question question = question_of(work, row);
        bool certified = work->rows[row].status == PROFK_ROW_CERTIFIED, right = true;
        char why[TRUTH_ROOM] = "not certified";

        if (certified)
            right =
                truth_check(&question, work->values + row * k * element_nbytes(work), work->indices + row * k, why);
        if (!right || (!certified && work->cell->mode != BENCH_APPROXIMATE))
            status = fail(EXIT_FAILED,
                          "WRONG answer for n %" PRIu64 ", k %" PRIu64 ", row %" PRIu64 ": %s; run profk selftest, "
                          "and tell us",
                          work->cell->n, k, row, why);
    }
    return status;
}

/* The share of the true first k that each row of an approximate call has brought. */
static int add_recall(struct work *work)
{
    uint64_t k = work->cell->k, row;
    int status = read_rows(work);
    bool have_values = false;

    for (row = 0; row < work->cell->rows && status == EXIT_DONE; row++) {
        struct question question = question_of(work, row);
        uint64_t hits = k;

        if (work->rows[row].status == PROFK_ROW_RECALL_MISS)
            hits = work->rows[row].R;
        if (work->rows[row].status == PROFK_ROW_OVERFLOW) {
            if (!have_values)
                status = read_values(work);
            have_values = true;
            hits = truth_hits(&question, work->values + row * k * element_nbytes(work), k);
        }
        work->recall_sum += (double)hits / (double)k;
    }
    return status;
}

static int warm_up(struct work *work)
{
    uint64_t calls = work->rig->settings->bench.warmup, i;
    double seconds;
    int status = call(work, &seconds);

    if (status == EXIT_DONE)
        status = check_answer(work);
    for (i = 1; i < calls && status == EXIT_DONE; i++)
        status = call(work, &seconds);
    if (status == EXIT_DONE)
        status = read_speed_choose(&work->rig->read_speed, work->spans, work->chunk_count);
    return status;
}

/* Calls and reads take turns, so that both meet the same machine. */
static int time_calls(struct work *work)
{
    uint64_t runs = work->rig->settings->bench.runs, between = (runs + READ_TURNS - 1) / READ_TURNS, i;
    int status = EXIT_DONE;

    for (i = 0; i < runs && status == EXIT_DONE; i++) {
        if (i >= LEAST_RUNS && clock_seconds() > work->rig->deadline)
            break;
        status = call(work, &work->seconds[i]);
        if (status == EXIT_DONE && work->cell->mode == BENCH_APPROXIMATE)
            status = add_recall(work);
        if (status == EXIT_DONE && i % between == 0)
            status = read_speed_turn(&work->rig->read_speed, work->spans, work->chunk_count);
        work->figures->runs += status == EXIT_DONE;
    }
    return status;
}

static int read_stats(struct work *work, profk_stats *ret)
{
    profk_status status;

    *ret = (profk_stats){.struct_size = sizeof *ret};
    status = profk_plan_stats(work->plan, ret);
    return status == PROFK_OK ? EXIT_DONE : fail_status(status);
}

/* --- figures ------------------------------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    double x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* The smallest time that at least this share of the sorted calls does not exceed. */
static double quantile_ms(const struct work *work, double share)
{
    uint64_t runs = work->figures->runs, place = (uint64_t)ceil(share * (double)runs);

    return 1e3 * work->seconds[place > 0 ? place - 1 : 0];
}

static void fill_times(struct work *work)
{
    struct figures *figures = work->figures;
    uint64_t i;

    qsort(work->seconds, (size_t)figures->runs, sizeof *work->seconds, compare_doubles);
    figures->min_ms = quantile_ms(work, 0.0);
    figures->median_ms = quantile_ms(work, 0.5);
    figures->p99_ms = quantile_ms(work, 0.99);
    for (i = 0; i < figures->runs; i++)
        figures->mean_ms += 1e3 * work->seconds[i] / (double)figures->runs;
    figures->read_ms = 1e3 * read_speed_best(&work->rig->read_speed, &figures->read_how);
    figures->read_gbs = (double)figures->input_nbytes / figures->read_ms * 1e-6;
    figures->ratio = figures->min_ms / figures->read_ms;
    figures->recall = work->recall_sum / (double)(figures->runs * figures->rows);
}

static void fill_shape(struct work *work)
{
    const struct cell *cell = work->cell;
    struct figures *figures = work->figures;
    profk_info info = {.struct_size = sizeof info};

    profk_plan_info(work->plan, &info);
    figures->n = cell->n;
    figures->k = cell->k;
    figures->rows = cell->rows;
    figures->epsilon = cell->epsilon;
    figures->dtype = work->dataset->input.type->name;
    figures->distribution = distribution_name(work->dataset->distribution);
    figures->order = order_name(work->problem.order);
    figures->mode = bench_mode_name(cell->mode);
    figures->approximate = cell->mode == BENCH_APPROXIMATE;
    figures->route = route_name(info.route);
    figures->sampled = info.route == PROFK_ROUTE_PROFK;
    figures->S = info.S;
    figures->forced_S = cell->S;
    figures->t = info.t;
    figures->M = info.M;
    figures->fail_recall = info.fail_recall;
    figures->fail_overflow = info.fail_overflow;
    figures->workspace_nbytes = info.workspace_nbytes;
    figures->input_nbytes = cell->rows * cell->n * element_nbytes(work);
}

static int measure(struct work *work)
{
    profk_stats before, after;
    struct figures *figures = work->figures;
    int status = warm_up(work);

    fill_shape(work);
    if (status == EXIT_DONE)
        status = read_stats(work, &before);
    if (status == EXIT_DONE)
        status = time_calls(work);
    if (status == EXIT_DONE)
        status = read_stats(work, &after);
    if (status != EXIT_DONE)
        return status;
    fill_times(work);
    figures->attempts = after.attempts - before.attempts;
    figures->recall_misses = after.recall_misses - before.recall_misses;
    figures->overflows = after.overflows - before.overflows;
    figures->redraws = after.redraws - before.redraws;
    figures->fallbacks = after.fallbacks - before.fallbacks;
    return EXIT_DONE;
}

static void release(struct work *work)
{
    cl_mem buffers[] = {work->value_buffer, work->index_buffer, work->row_buffer};
    size_t i;

    profk_plan_destroy(work->plan);
    clFinish(work->rig->queue);
    for (i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (buffers[i])
            clReleaseMemObject(buffers[i]);
    free(work->chunks);
    free(work->spans);
    free(work->values);
    free(work->indices);
    free(work->rows);
    free(work->seconds);
}

int measure_cell(struct rig *rig, const struct dataset *dataset, const struct cell *cell, struct figures *ret)
{
    struct work work = {.rig = rig, .dataset = dataset, .cell = cell, .figures = ret};
    int status;

    memset(ret, 0, sizeof *ret);
    status = make_plan(&work);
    if (status == EXIT_DONE && !ret->left_out)
        status = make_chunks(&work);
    if (status == EXIT_DONE && !ret->left_out)
        status = make_results(&work);
    if (status == EXIT_DONE && !ret->left_out)
        status = measure(&work);
    release(&work);
    return status;
}
