/* launch.c: kernel arguments, launches, fills, copies and the one blocking read. */
#include "stages/launch.h"

#include "base/text.h"

static cl_uint wait_count(const struct profk__chain *chain)
{
    return chain->last != NULL ? 1 : chain->wait_count;
}

static const cl_event *wait_list(const struct profk__chain *chain)
{
    return chain->last != NULL ? &chain->last : chain->wait_list;
}

/* The command is enqueued: its event takes the place of the one before. */
static profk_status advance(struct profk__chain *chain, cl_event event, const char *what, uint64_t groups, uint32_t wg)
{
    const profk_options *options = chain->options;

    profk__release_event(chain->last);
    chain->last = event;
    if (options->log != NULL && (options->flags & PROFK_TRACE) != 0) {
        char line[128];
        struct profk__text text = profk__text_in(line, sizeof line);
        profk__text_add(&text, groups > 0 ? "%s %llu x %u" : "%s", what, (unsigned long long)groups, (unsigned)wg);
        options->log(options->user, 0, line);
    }
    if ((options->flags & PROFK_DEBUG_SYNC) == 0)
        return PROFK_OK;
    return profk__cl_check(clWaitForEvents(1, &chain->last), what);
}

static profk_status fail(cl_int code, const char *call, const char *kernel)
{
    char words[96];
    struct profk__text text = profk__text_in(words, sizeof words);

    profk__text_add(&text, "%s of %s", call, kernel);
    return profk__cl_check(code, words);
}

profk_status profk__launch(struct profk__chain *chain, const struct profk__kernel *kernel,
                           const struct profk__arg *args, size_t arg_count, uint64_t groups)
{
    size_t local = kernel->wg, global;
    cl_event event = NULL;

    for (cl_uint i = 0; i < arg_count; i++) {
        cl_int code = clSetKernelArg(kernel->handle, i, args[i].nbytes, args[i].value);
        if (code != CL_SUCCESS)
            return fail(code, "clSetKernelArg", kernel->name);
    }
    if (groups > SIZE_MAX / kernel->wg)
        return profk__fail(PROFK_ERR_UNSUPPORTED, "%s would need more work-items than the host can count", kernel->name);
    global = (size_t)groups * local;
    cl_int code = clEnqueueNDRangeKernel(chain->queue, kernel->handle, 1, NULL, &global, &local, wait_count(chain),
                                         wait_list(chain), &event);
    if (code != CL_SUCCESS)
        return fail(code, "clEnqueueNDRangeKernel", kernel->name);
    return advance(chain, event, kernel->name, groups, kernel->wg);
}

profk_status profk__chain_fill(struct profk__chain *chain, cl_mem buffer, const void *pattern16, size_t offset_nbytes,
                               size_t nbytes)
{
    profk_status st = PROFK_OK;
    cl_event event = NULL;

    TRY_CL(clEnqueueFillBuffer(chain->queue, buffer, pattern16, 16, offset_nbytes, nbytes, wait_count(chain),
                               wait_list(chain), &event));
    TRY(advance(chain, event, "fill", 0, 0));
done:
    return st;
}

profk_status profk__chain_copy(struct profk__chain *chain, cl_mem from, size_t from_nbytes, cl_mem to,
                               size_t to_nbytes, size_t nbytes)
{
    profk_status st = PROFK_OK;
    cl_event event = NULL;

    TRY_CL(clEnqueueCopyBuffer(chain->queue, from, to, from_nbytes, to_nbytes, nbytes, wait_count(chain),
                               wait_list(chain), &event));
    TRY(advance(chain, event, "copy", 0, 0));
done:
    return st;
}

/* A blocking call may return success although what it waited for failed (PoCL 3.1): the event knows. */
static profk_status check_event(cl_event event, const char *call)
{
    cl_int status = CL_COMPLETE;

    profk_status st = profk__cl_check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                                     NULL), "clGetEventInfo");
    if (st == PROFK_OK && status < 0)
        st = profk__fail(PROFK_ERR_OPENCL, "%s waited for a command or an event that failed with %d; look at the events "
                         "of the wait list", call, (int)status);
    return st;
}

profk_status profk__chain_read(struct profk__chain *chain, cl_mem from, size_t from_nbytes, size_t nbytes, void *to)
{
    profk_status st = PROFK_OK;
    cl_event event = NULL;

    TRY_CL(clEnqueueReadBuffer(chain->queue, from, CL_TRUE, from_nbytes, nbytes, to, wait_count(chain),
                               wait_list(chain), &event));
    TRY(advance(chain, event, "read", 0, 0));
    TRY(check_event(event, "clEnqueueReadBuffer"));
done:
    return st;
}

profk_status profk__chain_wait(struct profk__chain *chain)
{
    profk_status st = profk__cl_check(clWaitForEvents(1, &chain->last), "clWaitForEvents");

    return st == PROFK_OK ? check_event(chain->last, "clWaitForEvents") : st;
}

void profk__chain_fini(struct profk__chain *chain, int failed)
{
    if (failed && chain->last != NULL)
        clWaitForEvents(1, &chain->last); /* its failure changes nothing: the call has failed already */
    profk__release_event(chain->last);
    chain->last = NULL;
}
