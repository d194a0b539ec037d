/* select.c: buffers, one call, results. */
#include "select.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "report.h"

/* Everything that one run holds on the device. */
struct job {
    cl_context cl;
    cl_device_id device;
    cl_command_queue queue;
    cl_mem input, values, indices, rows;
    uint64_t first; /* element of the input buffer where the row begins */
};

static int fail_opencl(const char *call, cl_int error)
{
    if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES || error == CL_OUT_OF_HOST_MEMORY)
        return fail(EXIT_FAILED, "%s found no memory (OpenCL error %d); free some or take another --device", call,
                    (int)error);
    return fail(EXIT_FAILED, "%s failed (OpenCL error %d); try another --device", call, (int)error);
}

static bool shares_host_memory(cl_device_id device)
{
    cl_bool shares = CL_FALSE;

    clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof shares, &shares, NULL);
    return shares == CL_TRUE;
}

/* Bytes to which the device wants buffers aligned. */
static size_t base_alignment(cl_device_id device)
{
    cl_uint bits = 0;

    clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    return bits >= 8 ? bits / 8 : 1;
}

/*
 * The input as a buffer.  A device that shares host memory uses the mapping itself, from the data's address rounded
 * down to the device's alignment (the mapping begins at the file's first byte, so that stays inside it); job->first
 * skips what was gained.  Otherwise the data are copied.
 */
static int wrap_input(struct job *job, const struct input *input)
{
    unsigned char *data = (unsigned char *)input->source.bytes + input->data_at;
    size_t nbytes = (size_t)(input->rows * input->n * input->type->nbytes);
    size_t head = (size_t)((uintptr_t)data % base_alignment(job->device));
    cl_int error;

    if (shares_host_memory(job->device) && head % input->type->nbytes == 0 && head <= input->data_at) {
        job->first = head / input->type->nbytes;
        job->input =
            clCreateBuffer(job->cl, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, nbytes + head, data - head, &error);
    } else {
        job->input = clCreateBuffer(job->cl, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, nbytes, data, &error);
    }
    return job->input ? EXIT_DONE : fail_opencl("clCreateBuffer for the input", error);
}

static int make_buffer(struct job *job, size_t nbytes, cl_mem *ret)
{
    cl_int error;

    *ret = clCreateBuffer(job->cl, CL_MEM_READ_WRITE, nbytes, NULL, &error);
    return *ret ? EXIT_DONE : fail_opencl("clCreateBuffer for the results", error);
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

    return error == CL_SUCCESS ? EXIT_DONE : fail_opencl("clEnqueueReadBuffer", error);
}

static int execute(struct job *job, struct planned *planned, struct answer *answer)
{
    profk_chunk chunk = {.buffer = job->input, .offset = job->first, .count = planned->problem.n};
    profk_io io = {.struct_size = sizeof io,
                   .chunks = &chunk,
                   .chunk_count = 1,
                   .values = job->values,
                   .indices = job->indices,
                   .row_results = job->rows};
    double start = clock_seconds();
    profk_status status = profk_execute(planned->plan, job->queue, &io, 0, NULL, NULL);

    answer->seconds = clock_seconds() - start;
    return status == PROFK_OK ? EXIT_DONE : fail_status(status);
}

static int open_job(struct job *job, const struct planned *planned, const struct input *input)
{
    uint64_t nbytes = input->rows * input->n * input->type->nbytes;
    cl_int error;

    if (nbytes > planned->device.max_alloc_nbytes)
        return fail(exit_status_of(PROFK_ERR_UNSUPPORTED),
                    "%s has %" PRIu64 " bytes but one allocation of %s at most %" PRIu64 "; take another --device",
                    input->source.name, nbytes, planned->device.name, planned->device.max_alloc_nbytes);
    profk_context_handles(planned->ctx, &job->cl, &job->device);
    job->queue = clCreateCommandQueue(job->cl, job->device, 0, &error);
    if (!job->queue)
        return fail_opencl("clCreateCommandQueue", error);
    return wrap_input(job, input);
}

static void close_job(struct job *job)
{
    cl_mem buffers[] = {job->input, job->values, job->indices, job->rows};
    size_t i;

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

static int read_stats(struct planned *planned, profk_stats *ret)
{
    profk_status status;

    ret->struct_size = sizeof *ret;
    status = profk_plan_stats(planned->plan, ret);
    return status == PROFK_OK ? EXIT_DONE : fail_status(status);
}

int select_run(struct planned *planned, const struct input *input, struct answer *answer)
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
        status = open_job(&job, planned, input);
    for (i = 0; i < 3 && status == EXIT_DONE; i++)
        status = make_results(&job, &all[i], needed);
    answer->rows = rows;
    if (status == EXIT_DONE && needed)
        status = execute(&job, planned, answer);
    for (i = 0; i < 3 && status == EXIT_DONE && needed; i++)
        status = read_results(&job, &all[i]);
    if (status == EXIT_DONE && !needed)
        certify_nothing(planned, answer);
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
