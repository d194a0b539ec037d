/*
 * api_host.c: selection from host memory in one call.
 *
 * Where device and host share memory the input is used in place: a buffer must start at a multiple of the device's base
 * alignment, so it starts at the input's address rounded down, and the elements before the input are skipped by the
 * chunk's offset.  Elsewhere it is copied.  An input larger than one allocation becomes several chunks.
 *
 * The results are read into scratch of the call and copied to the caller only when all of it succeeded.
 */
#include "base/structs.h"
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* A result on the device and the host memory that it passes through. */
struct result {
    cl_mem buffer;
    void *host;
    size_t nbytes;
};

enum { VALUES, INDICES, ROW_RESULTS, RESULT_COUNT };

/* What one call holds. */
struct host_call {
    profk_context *ctx;
    profk_plan *plan;
    cl_command_queue queue;
    profk_chunk *chunks; /* each with a buffer of its own */
    uint64_t chunk_count;
    struct result results[RESULT_COUNT];
};

static profk_status create_buffer(profk_context *ctx, cl_mem_flags flags, uint64_t nbytes, void *host, cl_mem *ret)
{
    cl_int code = CL_SUCCESS;

    if (nbytes > ctx->device.facts.max_alloc_nbytes)
        return profk__fail(PROFK_ERR_UNSUPPORTED, "%llu bytes are more than one allocation of the device holds (%llu)",
                           (unsigned long long)nbytes, (unsigned long long)ctx->device.facts.max_alloc_nbytes);
    *ret = clCreateBuffer(ctx->cl, flags, (size_t)nbytes, host, &code);
    return profk__cl_check(code, "clCreateBuffer");
}

/* Bytes before `at` that a buffer in place takes in; 0 where memory is not shared or elements would be split. */
static uint64_t bytes_before(const profk_context *ctx, const unsigned char *at, uint32_t element_nbytes)
{
    uint64_t before = (uintptr_t)at % ctx->device.base_align_nbytes;

    return ctx->device.unified_memory && before % element_nbytes == 0 ? before : 0;
}

/* The elements [0, count) at `at` become a chunk. */
static profk_status create_chunk(struct host_call *call, const unsigned char *at, uint64_t count, profk_chunk *ret)
{
    profk_status st = PROFK_OK;
    const struct profk__device *device = &call->ctx->device;
    uint32_t element_nbytes = call->plan->type->nbytes;
    uint64_t before = bytes_before(call->ctx, at, element_nbytes);
    int in_place = device->unified_memory && ((uintptr_t)at - before) % device->base_align_nbytes == 0;
    const unsigned char *start = at - before;
    void *host; /* OpenCL takes no pointer to const, but a read-only buffer does not write */

    memcpy(&host, &start, sizeof host);
    TRY(create_buffer(call->ctx, CL_MEM_READ_ONLY | (in_place ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR),
                      before + count * element_nbytes, host, &ret->buffer));
    ret->offset = before / element_nbytes;
    ret->count = count;
done:
    return st;
}

/* Elements of a chunk: all of them, or as many as an allocation holds beside what stands before the first. */
static uint64_t chunk_elements(const struct host_call *call)
{
    const struct profk__device *device = &call->ctx->device;
    uint64_t align = device->base_align_nbytes;
    uint64_t most_nbytes = (device->facts.max_alloc_nbytes - align) / align * align; /* chunks start alike */

    return most_nbytes / call->plan->type->nbytes;
}

static profk_status create_input(struct host_call *call, const void *input)
{
    profk_status st = PROFK_OK;
    const profk_problem *p = &call->plan->problem;
    uint64_t total = p->n + (p->rows - 1) * p->row_stride;
    uint64_t most = p->rows > 1 ? total : chunk_elements(call);
    uint64_t count = (total + most - 1) / most;

    call->chunks = calloc((size_t)count, sizeof *call->chunks);
    if (call->chunks == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory for %llu chunks", (unsigned long long)count);
        goto done;
    }
    call->chunk_count = count;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t first = i * most;
        TRY(create_chunk(call, (const unsigned char *)input + first * call->plan->type->nbytes,
                         total - first < most ? total - first : most, &call->chunks[i]));
    }
    if (p->rows > 1)
        call->chunks[0].count = p->n; /* of a row */
done:
    return st;
}

/* A device buffer and its scratch, if the caller wants the result. */
static profk_status create_result(struct host_call *call, int which, int wanted, uint64_t nbytes)
{
    profk_status st = PROFK_OK;
    struct result *result = &call->results[which];

    if (!wanted || nbytes == 0)
        goto done;
    result->nbytes = (size_t)nbytes;
    result->host = malloc(result->nbytes);
    if (result->host == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory for %llu bytes of results", (unsigned long long)nbytes);
        goto done;
    }
    TRY(create_buffer(call->ctx, CL_MEM_READ_WRITE, nbytes, NULL, &result->buffer));
done:
    return st;
}

static profk_status run(struct host_call *call)
{
    profk_status st = PROFK_OK;
    const profk_io io = {
        .struct_size = sizeof io,
        .chunks = call->chunks,
        .chunk_count = (size_t)call->chunk_count,
        .values = call->results[VALUES].buffer,
        .indices = call->results[INDICES].buffer,
        .row_results = call->results[ROW_RESULTS].buffer,
    };
    struct profk__call checked;

    TRY(profk__io_check(call->plan, call->queue, &io, 0, NULL, &checked));
    TRY(profk__execute(call->plan, &checked, NULL));
    for (int i = 0; i < RESULT_COUNT; i++) {
        const struct result *result = &call->results[i];
        if (result->buffer != NULL)
            TRY_CL(clEnqueueReadBuffer(call->queue, result->buffer, CL_TRUE, 0, result->nbytes, result->host, 0, NULL,
                                       NULL));
    }
done:
    return st;
}

static void finish(struct host_call *call, int failed)
{
    if (failed && call->queue != NULL)
        clFinish(call->queue); /* the caller's memory is free again when the call returns, whatever happened */
    profk__plan_destroy(call->plan);
    for (uint64_t i = 0; i < call->chunk_count; i++)
        profk__release_mem(call->chunks[i].buffer);
    free(call->chunks);
    for (int i = 0; i < RESULT_COUNT; i++) {
        profk__release_mem(call->results[i].buffer);
        free(call->results[i].host);
    }
    profk__release_queue(call->queue);
}

static profk_status select_host(struct host_call *call, const void *input, void *const to[RESULT_COUNT],
                                profk_stats *stats)
{
    profk_status st = PROFK_OK;
    const profk_problem *p = &call->plan->problem;
    profk_stats counted;
    cl_int code = CL_SUCCESS;

    call->queue = clCreateCommandQueue(call->ctx->cl, call->ctx->device.facts.id, 0, &code);
    TRY(profk__cl_check(code, "clCreateCommandQueue"));
    if (!profk__problem_is_empty(p))
        TRY(create_input(call, input));
    TRY(create_result(call, VALUES, to[VALUES] != NULL, p->rows * p->k * call->plan->type->nbytes));
    TRY(create_result(call, INDICES, to[INDICES] != NULL, p->rows * p->k * (p->index == PROFK_INDEX_U32 ? 4 : 8)));
    TRY(create_result(call, ROW_RESULTS, to[ROW_RESULTS] != NULL, p->rows * sizeof(profk_row)));
    TRY(run(call));
    TRY(profk__plan_settle(call->plan));
    profk__plan_stats(call->plan, &counted);
    if (stats != NULL)
        TRY(profk__struct_out(stats, &counted, sizeof counted, PROFK__FIRST_STATS_NBYTES, "profk_stats"));
    for (int i = 0; i < RESULT_COUNT; i++)
        if (call->results[i].host != NULL)
            memcpy(to[i], call->results[i].host, call->results[i].nbytes);
done:
    return st;
}

profk_status profk_topk_host(profk_context *ctx, const profk_problem *p, const void *input, void *values, void *indices,
                             profk_row *row_results, profk_stats *stats)
{
    profk_status st = PROFK_OK;
    profk_context *own = NULL;
    struct host_call call = {0};
    void *const to[RESULT_COUNT] = {values, indices, row_results};

    if (ctx == NULL) {
        TRY(profk_context_create_default(NULL, NULL, &own));
        ctx = own;
    }
    call.ctx = ctx;
    TRY(profk_plan_create(ctx, p, NULL, PROFK_ESTIMATE, &call.plan));
    if (input == NULL && !profk__problem_is_empty(&call.plan->problem)) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_topk_host: input is NULL");
        goto done;
    }
    TRY(select_host(&call, input, to, stats));
done:
    finish(&call, st != PROFK_OK);
    profk_context_destroy(own);
    return st;
}
