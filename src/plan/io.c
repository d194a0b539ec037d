/* io.c: the buffers of one call, checked before anything is enqueued. */
#include "plan/plan.h"

#include "base/structs.h"

static profk_status check_queue(const profk_plan *plan, cl_command_queue queue)
{
    profk_status st = PROFK_OK;
    cl_context context = NULL;
    cl_device_id device = NULL;

    if (queue == NULL) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "queue is NULL");
        goto done;
    }
    if (clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS
        || clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) != CL_SUCCESS)
        st = profk__fail(PROFK_ERR_ARGUMENT, "queue is not a command queue");
    else if (context != plan->ctx->cl || device != plan->ctx->device.facts.id)
        st = profk__fail(PROFK_ERR_ARGUMENT, "the queue belongs to another context or device than the plan");
done:
    return st;
}

/* `count` elements of nbytes each from `start` on lie in the buffer, which belongs to the plan's context. */
static profk_status check_buffer(const profk_plan *plan, cl_mem buffer, uint64_t start, uint64_t count, uint64_t nbytes,
                                 const char *name)
{
    cl_context context = NULL;
    cl_mem_object_type type = 0;
    size_t size_nbytes = 0;

    if (buffer == NULL)
        return profk__fail(PROFK_ERR_ARGUMENT, "the buffer of %s is NULL", name);
    if (clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS
        || clGetMemObjectInfo(buffer, CL_MEM_TYPE, sizeof type, &type, NULL) != CL_SUCCESS
        || clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size_nbytes, &size_nbytes, NULL) != CL_SUCCESS
        || type != CL_MEM_OBJECT_BUFFER)
        return profk__fail(PROFK_ERR_ARGUMENT, "the memory object of %s is no buffer", name);
    if (context != plan->ctx->cl)
        return profk__fail(PROFK_ERR_ARGUMENT, "the buffer of %s belongs to another context than the plan", name);
    if (start > size_nbytes / nbytes || count > size_nbytes / nbytes - start)
        return profk__fail(PROFK_ERR_ARGUMENT, "the buffer of %s has %zu bytes; %llu elements of %llu bytes from "
                           "element %llu on do not fit", name, size_nbytes, (unsigned long long)count,
                           (unsigned long long)nbytes, (unsigned long long)start);
    return PROFK_OK;
}

static profk_status check_chunks(const profk_plan *plan, const profk_io *io, struct profk__piece *ret)
{
    const profk_problem *p = &plan->problem;

    if (io->chunks == NULL || io->chunk_count == 0)
        return profk__fail(PROFK_ERR_ARGUMENT, "there is no input: chunks is NULL or chunk_count 0");
    if (io->chunk_count > 1)
        return profk__fail(PROFK_ERR_UNSUPPORTED, "several chunks are not in this release; pass one");

    const profk_chunk *chunk = &io->chunks[0];
    if (chunk->kind != PROFK_MEM_BUFFER || chunk->flags != 0 || chunk->pointer != NULL || chunk->reserved[0] != 0
        || chunk->reserved[1] != 0)
        return profk__fail(PROFK_ERR_ARGUMENT, "a chunk's kind must be PROFK_MEM_BUFFER, and its pointer, flags and "
                           "reserved fields 0");
    if (chunk->first != 0 || chunk->count != p->n)
        return profk__fail(PROFK_ERR_ARGUMENT, "the chunk is [%llu, %llu); the chunks must tile [0, %llu)",
                           (unsigned long long)chunk->first, (unsigned long long)(chunk->first + chunk->count),
                           (unsigned long long)p->n);
    *ret = (struct profk__piece){chunk->buffer, chunk->offset, 0, chunk->count};
    return check_buffer(plan, chunk->buffer, chunk->offset, chunk->count, plan->type->nbytes, "the input");
}

profk_status profk__io_check(const profk_plan *plan, cl_command_queue queue, const profk_io *caller_io,
                             cl_uint wait_count, const cl_event *wait_list, struct profk__call *ret)
{
    profk_status st = PROFK_OK;
    const profk_problem *p = &plan->problem;
    uint64_t results = p->rows * p->k;
    profk_io io;
    struct profk__call call = {.queue = queue, .wait_count = wait_count, .wait_list = wait_list};

    TRY(profk__struct_in(&io, sizeof io, sizeof io, caller_io, "profk_io"));
    TRY(check_queue(plan, queue));
    if ((wait_count > 0) != (wait_list != NULL)) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "wait_count is %u but wait_list is %s", (unsigned)wait_count,
                         wait_list == NULL ? "NULL" : "not NULL");
        goto done;
    }
    if (!profk__problem_is_empty(p))
        TRY(check_chunks(plan, &io, &call.piece));
    if (io.values != NULL && results > 0)
        TRY(check_buffer(plan, io.values, io.values_offset, results, plan->type->nbytes, "values"));
    if (io.indices != NULL && results > 0)
        TRY(check_buffer(plan, io.indices, io.indices_offset, results, p->index == PROFK_INDEX_U32 ? 4 : 8, "indices"));
    if (io.row_results != NULL)
        TRY(check_buffer(plan, io.row_results, io.row_results_offset, p->rows, sizeof(profk_row), "row_results"));
    call.output = (struct profk__output){io.values, io.indices, io.values_offset, io.indices_offset, p->sort, p->index};
    call.row_results = p->rows > 0 ? io.row_results : NULL;
    call.row_results_nbytes = (size_t)io.row_results_offset * sizeof(profk_row);
    *ret = call;
done:
    return st;
}
