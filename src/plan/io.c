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

/* Host memory used in place may start anywhere, but devices read and write whole elements. */
static profk_status check_alignment(cl_mem buffer, uint64_t nbytes, const char *name)
{
    profk_status st = PROFK_OK;
    cl_mem_flags flags = 0;
    void *host = NULL;

    TRY_CL(clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof flags, &flags, NULL));
    if ((flags & CL_MEM_USE_HOST_PTR) == 0)
        goto done;
    TRY_CL(clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof host, &host, NULL));
    if ((uintptr_t)host % nbytes != 0)
        st = profk__fail(PROFK_ERR_UNSUPPORTED, "the host memory of %s does not start at a multiple of %llu bytes; align "
                         "it to its elements", name, (unsigned long long)nbytes);
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
    return check_alignment(buffer, nbytes, name);
}

static profk_status check_chunk(const profk_plan *plan, const profk_chunk *chunk, uint64_t number, uint64_t expected)
{
    const profk_problem *p = &plan->problem;
    uint64_t span = chunk->count + (p->rows - 1) * p->row_stride; /* of all rows; problem.c checked the product */

    if (chunk->kind != PROFK_MEM_BUFFER || chunk->flags != 0 || chunk->pointer != NULL || chunk->reserved[0] != 0
        || chunk->reserved[1] != 0)
        return profk__fail(PROFK_ERR_ARGUMENT, "chunk %llu: kind must be PROFK_MEM_BUFFER, and pointer, flags and "
                           "reserved fields 0", (unsigned long long)number);
    if (chunk->first != 0 && chunk->first != expected)
        return profk__fail(PROFK_ERR_ARGUMENT, "chunk %llu starts at element %llu but the ones before end at %llu; "
                           "chunks must tile [0, n) in ascending order", (unsigned long long)number,
                           (unsigned long long)chunk->first, (unsigned long long)expected);
    if (chunk->count > p->n - expected)
        return profk__fail(PROFK_ERR_ARGUMENT, "chunk %llu reaches beyond n = %llu; chunks must tile [0, n)",
                           (unsigned long long)number, (unsigned long long)p->n);
    return check_buffer(plan, chunk->buffer, chunk->offset, span, plan->type->nbytes, "the input");
}

static profk_status check_chunks(const profk_plan *plan, const profk_io *io)
{
    profk_status st = PROFK_OK;
    const profk_problem *p = &plan->problem;
    uint64_t expected = 0;

    if (io->chunks == NULL || io->chunk_count == 0) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "there is no input: chunks is NULL or chunk_count 0");
        goto done;
    }
    if (p->rows > 1 && io->chunk_count > 1) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "several rows take exactly one chunk");
        goto done;
    }
    for (size_t i = 0; i < io->chunk_count; i++) {
        TRY(check_chunk(plan, &io->chunks[i], i, expected));
        expected += io->chunks[i].count;
    }
    if (expected != p->n)
        st = profk__fail(PROFK_ERR_ARGUMENT, "the chunks end at element %llu; they must tile [0, %llu)",
                         (unsigned long long)expected, (unsigned long long)p->n);
done:
    return st;
}

static profk_status check_wait_list(const profk_plan *plan, cl_uint count, const cl_event *list)
{
    if ((count > 0) != (list != NULL))
        return profk__fail(PROFK_ERR_ARGUMENT, "wait_count is %u but wait_list is %s", (unsigned)count,
                           list == NULL ? "NULL" : "not NULL");
    for (cl_uint i = 0; i < count; i++) {
        cl_context context = NULL;
        if (list[i] == NULL
            || clGetEventInfo(list[i], CL_EVENT_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
            return profk__fail(PROFK_ERR_ARGUMENT, "wait_list[%u] is no event", (unsigned)i);
        if (context != plan->ctx->cl)
            return profk__fail(PROFK_ERR_ARGUMENT, "wait_list[%u] belongs to another context than the plan", (unsigned)i);
    }
    return PROFK_OK;
}

/* Bytes of a buffer that is no part of another. */
struct span {
    cl_mem buffer;
    uint64_t begin, end;
    const char *name;
};

static profk_status span_of(cl_mem buffer, uint64_t start, uint64_t count, uint64_t nbytes, const char *name,
                            struct span *ret)
{
    profk_status st = PROFK_OK;
    uint64_t begin = start * nbytes;

    TRY(profk__find_parent(&buffer, &begin));
    *ret = (struct span){buffer, begin, begin + count * nbytes, name};
done:
    return st;
}

static profk_status check_apart(const struct span *a, const struct span *b)
{
    if (a->buffer != b->buffer || a->begin >= b->end || b->begin >= a->end)
        return PROFK_OK;
    return profk__fail(PROFK_ERR_ARGUMENT, "%s and %s overlap in one buffer", a->name, b->name);
}

/* What is written must lie apart from all else: the input is read again after the first rows are written. */
static profk_status check_overlaps(const profk_plan *plan, const profk_io *io)
{
    profk_status st = PROFK_OK;
    const profk_problem *p = &plan->problem;
    uint64_t results = p->rows * p->k;
    const struct {
        cl_mem buffer;
        uint64_t start, count, nbytes;
        const char *name;
    } outputs[] = {
        {io->values, io->values_offset, results, plan->type->nbytes, "values"},
        {io->indices, io->indices_offset, results, p->index == PROFK_INDEX_U32 ? 4 : 8, "indices"},
        {io->row_results, io->row_results_offset, p->rows, sizeof(profk_row), "row_results"},
        {plan->workspace.buffer, plan->workspace.start_nbytes, plan->layout.total_nbytes, 1, "the workspace"},
    };
    struct span written[4], read;
    size_t count = 0;

    for (size_t i = 0; i < 4; i++) {
        if (outputs[i].buffer == NULL || outputs[i].count == 0)
            continue;
        TRY(span_of(outputs[i].buffer, outputs[i].start, outputs[i].count, outputs[i].nbytes, outputs[i].name,
                    &written[count]));
        for (size_t j = 0; j < count; j++)
            TRY(check_apart(&written[j], &written[count]));
        count++;
    }
    for (size_t i = 0; i < io->chunk_count && !profk__problem_is_empty(p); i++) {
        const profk_chunk *chunk = &io->chunks[i];
        TRY(span_of(chunk->buffer, chunk->offset, chunk->count + (p->rows - 1) * p->row_stride, plan->type->nbytes,
                    "the input", &read));
        for (size_t j = 0; j < count; j++)
            TRY(check_apart(&read, &written[j]));
    }
done:
    return st;
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
    TRY(check_wait_list(plan, wait_count, wait_list));
    if (!profk__problem_is_empty(p))
        TRY(check_chunks(plan, &io));
    if (io.values != NULL && results > 0)
        TRY(check_buffer(plan, io.values, io.values_offset, results, plan->type->nbytes, "values"));
    if (io.indices != NULL && results > 0)
        TRY(check_buffer(plan, io.indices, io.indices_offset, results, p->index == PROFK_INDEX_U32 ? 4 : 8, "indices"));
    if (io.row_results != NULL)
        TRY(check_buffer(plan, io.row_results, io.row_results_offset, p->rows, sizeof(profk_row), "row_results"));
    TRY(check_overlaps(plan, &io));
    call.chunks = io.chunks;
    call.chunk_count = io.chunk_count;
    call.output = (struct profk__output){
        .values = io.values,
        .indices = io.indices,
        .values_start = io.values_offset,
        .indices_start = io.indices_offset,
        .row_results = p->rows > 0 ? io.row_results : NULL,
        .row_results_start = io.row_results_offset,
        .sort = p->sort,
        .index = p->index,
        .pad = p->mode == PROFK_MODE_APPROXIMATE,
    };
    *ret = call;
done:
    return st;
}
