/* select.c: buffers, one call, results. */
#include "select.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pieces.h"
#include "report.h"
#include "signals.h"

/* Everything that one run holds on the device. */
struct job {
    cl_context cl;
    cl_command_queue queue;
    struct pieces input;
    cl_mem values, indices, rows;
};

static int make_buffer(struct job *job, size_t nbytes, cl_mem *ret)
{
    cl_int error;

    *ret = clCreateBuffer(job->cl, CL_MEM_READ_WRITE, nbytes, NULL, &error);
    return *ret ? EXIT_DONE : fail_opencl(error, "clCreateBuffer for the results");
}

/* A host array of count elements and, unless count is 0, the buffer that fills it. */
struct results {
    void **host;
    cl_mem *buffer;
    uint64_t count;
    size_t nbytes; /* of an element */
};

static int make_results(struct job *job, const struct results *results, bool on_device)
{
    uint64_t nbytes = results->count * results->nbytes;

    *results->host = calloc(results->count ? (size_t)results->count : 1, results->nbytes);
    if (!*results->host)
        return fail(EXIT_FAILED, "no memory for %" PRIu64 " bytes of results; give a smaller -k", nbytes);
    return on_device && nbytes ? make_buffer(job, (size_t)nbytes, results->buffer) : EXIT_DONE;
}

static int read_results(struct job *job, const struct results *results)
{
    cl_int error = clEnqueueReadBuffer(job->queue, *results->buffer, CL_TRUE, 0,
                                       (size_t)results->count * results->nbytes, *results->host, 0, NULL, NULL);

    return error == CL_SUCCESS ? EXIT_DONE : fail_opencl(error, "clEnqueueReadBuffer");
}

/* Exact plans return with a complete event, the others enqueue. */
static int wait_for(cl_event event)
{
    cl_int error = clWaitForEvents(1, &event);

    return error == CL_SUCCESS ? EXIT_DONE : fail_opencl(error, "the selection on the device");
}

static int execute(struct job *job, struct planned *planned, struct answer *answer)
{
    profk_io io = {.struct_size = sizeof io,
                   .chunks = job->input.chunks,
                   .chunk_count = job->input.chunk_count,
                   .values = job->values,
                   .indices = job->indices,
                   .row_results = job->rows};
    double start = clock_seconds();
    cl_event event = NULL;
    profk_status failure = profk_execute(planned->plan, job->queue, &io, 0, NULL, &event);
    int status = failure == PROFK_OK ? wait_for(event) : fail_status(failure);

    answer->seconds = clock_seconds() - start;
    if (event)
        clReleaseEvent(event);
    return status;
}

static int open_job(struct job *job, const struct planned *planned, const struct input *input, uint64_t chunks)
{
    cl_device_id device;
    cl_int error;

    profk_context_handles(planned->ctx, &job->cl, &device);
    job->queue = clCreateCommandQueue(job->cl, device, 0, &error);
    if (!job->queue)
        return fail_opencl(error, "clCreateCommandQueue");
    return pieces_open(&job->input, planned, input, chunks);
}

static void close_job(struct job *job)
{
    cl_mem buffers[] = {job->values, job->indices, job->rows};
    size_t i;

    if (job->queue)
        clFinish(job->queue); /* whatever failed, the mapping is used no more */
    pieces_close(&job->input);
    for (i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (buffers[i])
            clReleaseMemObject(buffers[i]);
    if (job->queue)
        clReleaseCommandQueue(job->queue);
}

/* Nothing is asked for: certified by definition, and no device memory is needed. */
static void certify_nothing(const struct planned *planned, struct answer *answer)
{
    uint64_t r;

    for (r = 0; r < planned->problem.rows; r++)
        answer->rows[r].status = PROFK_ROW_CERTIFIED;
}

/* Exact means certified, row by row, or failed. */
static int check_certified(const struct planned *planned, const struct answer *answer)
{
    uint64_t r;

    for (r = 0; r < planned->problem.rows && planned->problem.mode == PROFK_MODE_EXACT; r++)
        if (answer->rows[r].status != PROFK_ROW_CERTIFIED)
            return fail(EXIT_FAILED, "row %" PRIu64 " was not certified; run profk selftest, and tell us", r);
    return EXIT_DONE;
}

static int read_stats(struct planned *planned, profk_stats *ret)
{
    profk_status status;

    ret->struct_size = sizeof *ret;
    status = profk_plan_stats(planned->plan, ret);
    return status == PROFK_OK ? EXIT_DONE : fail_status(status);
}

int select_run(struct planned *planned, const struct input *input, uint64_t chunks, struct answer *answer)
{
    const profk_problem *p = &planned->problem;
    bool needed = p->k > 0 && p->rows > 0;
    size_t index_nbytes = p->index == PROFK_INDEX_U32 ? sizeof(uint32_t) : sizeof(uint64_t);
    struct job job = {0};
    void *rows = NULL;
    const struct results all[] = {
        {&answer->values, &job.values, p->rows * p->k, input->type->nbytes},
        {&answer->indices, &job.indices, p->rows * p->k, index_nbytes},
        {&rows, &job.rows, p->rows, sizeof(profk_row)},
    };
    int status = EXIT_DONE, i;

    memset(answer, 0, sizeof *answer);
    if (needed)
        status = open_job(&job, planned, input, chunks);
    for (i = 0; i < 3 && status == EXIT_DONE; i++)
        status = make_results(&job, &all[i], needed);
    answer->rows = rows;
    signals_install();
    if (status == EXIT_DONE && needed)
        status = execute(&job, planned, answer);
    for (i = 0; i < 3 && status == EXIT_DONE && needed; i++)
        status = read_results(&job, &all[i]);
    if (status == EXIT_DONE && !needed)
        certify_nothing(planned, answer);
    if (status == EXIT_DONE)
        status = check_certified(planned, answer);
    if (status == EXIT_DONE)
        status = read_stats(planned, &answer->stats);
    close_job(&job);
    return status;
}

void select_free(struct answer *answer)
{
    free(answer->values);
    free(answer->indices);
    free(answer->rows);
    memset(answer, 0, sizeof *answer);
}
