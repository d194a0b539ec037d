/*
 * api_host.c: selection from host memory in one call.
 *
 * The results are read into scratch of the call and copied to the caller only when all of it succeeded.
 */
#include "base/structs.h"
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* Device buffers of one call and the host memory that their content passes through. */
struct buffers {
    cl_mem input, values, indices;
    void *host_values, *host_indices;
    size_t values_nbytes, indices_nbytes;
};

static profk_status create(profk_context *ctx, cl_mem_flags flags, uint64_t nbytes, void *host, cl_mem *ret)
{
    cl_int code = CL_SUCCESS;

    if (nbytes > ctx->device.facts.max_alloc_nbytes)
        return profk__fail(PROFK_ERR_UNSUPPORTED, "%llu bytes are more than one allocation of the device holds (%llu)",
                           (unsigned long long)nbytes, (unsigned long long)ctx->device.facts.max_alloc_nbytes);
    *ret = clCreateBuffer(ctx->cl, flags, (size_t)nbytes, host, &code);
    return profk__cl_check(code, "clCreateBuffer");
}

static profk_status create_input(profk_context *ctx, const profk_plan *plan, const void *input, cl_mem *ret)
{
    uint64_t nbytes = plan->problem.n * plan->type->nbytes;
    int in_place = ctx->device.unified_memory && (uintptr_t)input % ctx->device.base_align_nbytes == 0;
    void *host; /* OpenCL takes no pointer to const, but a read-only buffer does not write */

    memcpy(&host, &input, sizeof host);
    return create(ctx, CL_MEM_READ_ONLY | (in_place ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR), nbytes, host, ret);
}

/* A device buffer and its scratch, if the caller wants the result. */
static profk_status create_output(profk_context *ctx, int wanted, size_t nbytes, cl_mem *buffer_ret, void **host_ret)
{
    profk_status st = PROFK_OK;

    if (!wanted)
        goto done;
    *host_ret = malloc(nbytes);
    if (*host_ret == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory for %zu bytes of results", nbytes);
        goto done;
    }
    TRY(create(ctx, CL_MEM_WRITE_ONLY, nbytes, NULL, buffer_ret));
done:
    return st;
}

static profk_status read_back(cl_command_queue queue, cl_mem buffer, size_t nbytes, void *host)
{
    if (buffer == NULL)
        return PROFK_OK;
    return profk__cl_check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, nbytes, host, 0, NULL, NULL),
                           "clEnqueueReadBuffer");
}

static profk_status run(profk_context *ctx, profk_plan *plan, cl_command_queue queue, const void *input,
                        struct buffers *b, int want_values, int want_indices)
{
    profk_status st = PROFK_OK;
    const profk_problem *p = &plan->problem;
    profk_chunk chunk = {.count = p->n};
    profk_io io = {.struct_size = sizeof io, .chunks = &chunk, .chunk_count = 1};
    struct profk__call call;

    if (!profk__problem_is_empty(p)) {
        b->values_nbytes = (size_t)p->k * plan->type->nbytes;
        b->indices_nbytes = (size_t)p->k * (p->index == PROFK_INDEX_U32 ? 4 : 8);
        TRY(create_input(ctx, plan, input, &b->input));
        TRY(create_output(ctx, want_values, b->values_nbytes, &b->values, &b->host_values));
        TRY(create_output(ctx, want_indices, b->indices_nbytes, &b->indices, &b->host_indices));
    }
    chunk.buffer = b->input;
    io.values = b->values;
    io.indices = b->indices;
    TRY(profk__io_check(plan, queue, &io, 0, NULL, &call));
    TRY(profk__execute(plan, &call, NULL));
    TRY(read_back(queue, b->values, b->values_nbytes, b->host_values));
    TRY(read_back(queue, b->indices, b->indices_nbytes, b->host_indices));
done:
    return st;
}

profk_status profk_topk_host(profk_context *ctx, const profk_problem *p, const void *input, void *values, void *indices,
                             profk_row *row_results, profk_stats *stats)
{
    profk_status st = PROFK_OK;
    profk_context *own = NULL;
    profk_plan *plan = NULL;
    cl_command_queue queue = NULL;
    cl_int code = CL_SUCCESS;
    struct buffers b = {0};

    if (ctx == NULL) {
        TRY(profk_context_create_default(NULL, NULL, &own));
        ctx = own;
    }
    TRY(profk__plan_create(ctx, p, NULL, PROFK_ESTIMATE, &plan));
    if (input == NULL && !profk__problem_is_empty(&plan->problem)) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_topk_host: input is NULL");
        goto done;
    }
    queue = clCreateCommandQueue(ctx->cl, ctx->device.facts.id, 0, &code);
    TRY(profk__cl_check(code, "clCreateCommandQueue"));
    TRY(run(ctx, plan, queue, input, &b, values != NULL, indices != NULL));
    if (stats != NULL)
        TRY(profk__struct_out(stats, &plan->stats, sizeof plan->stats, sizeof plan->stats, "profk_stats"));
    if (row_results != NULL && plan->problem.rows > 0)
        *row_results = plan->last_row;
    if (b.host_values != NULL)
        memcpy(values, b.host_values, b.values_nbytes);
    if (b.host_indices != NULL)
        memcpy(indices, b.host_indices, b.indices_nbytes);
done:
    free(b.host_values);
    free(b.host_indices);
    profk__release_mem(b.input);
    profk__release_mem(b.values);
    profk__release_mem(b.indices);
    profk__release_queue(queue);
    profk__plan_destroy(plan);
    profk_context_destroy(own);
    return st;
}
