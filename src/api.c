/* api.c: entry points of problems and plans. */
#include "base/structs.h"
#include "tune/tune.h"

#include <string.h>

uint32_t profk_version(void)
{
    return PROFK_VERSION_MAJOR * 10000 + PROFK_VERSION_MINOR * 100 + PROFK_VERSION_PATCH;
}

void profk_problem_init(profk_problem *p, size_t struct_size, uint32_t type, uint64_t n, uint64_t k)
{
    if (p == NULL || struct_size < sizeof p->struct_size)
        return;
    const profk_problem problem = {.struct_size = struct_size, .n = n, .k = k, .rows = 1, .type = type};
    memset(p, 0, struct_size);
    memcpy(p, &problem, struct_size < sizeof problem ? struct_size : sizeof problem);
}

profk_status profk_plan_create(profk_context *ctx, const profk_problem *p, const profk_tuning *forced, uint32_t flags,
                               profk_plan **ret)
{
    profk_status st = PROFK_OK;
    struct profk__tuned tuned;

    if (ret != NULL)
        *ret = NULL;
    if (ret == NULL || ctx == NULL) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_plan_create: %s is NULL", ret == NULL ? "ret" : "ctx");
        goto done;
    }
    tuned = profk__context_tuned(ctx);
    if ((flags & PROFK_MEASURE) != 0 && !tuned.is_measured) {
        struct profk__text nowhere = profk__text_in(NULL, 0);
        TRY(profk__tune(ctx, PROFK__BUDGET_DEFAULT_S, &nowhere));
        tuned = profk__context_tuned(ctx);
    }
    TRY(profk__plan_create(ctx, &tuned, p, forced, flags, ret));
done:
    return st;
}

profk_status profk_plan_info(const profk_plan *plan, profk_info *ret)
{
    profk_info info;

    if (plan == NULL)
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_plan_info: plan is NULL");
    profk__plan_info(plan, &info);
    return profk__struct_out(ret, &info, sizeof info, sizeof info, "profk_info");
}

profk_status profk_plan_describe(const profk_plan *plan, char *text, size_t room, size_t *need_ret)
{
    if (plan == NULL)
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_plan_describe: plan is NULL");
    if (text == NULL && room > 0)
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_plan_describe: text is NULL but has room");
    struct profk__text words = profk__text_in(text, room);
    profk__plan_describe(plan, &words);
    if (need_ret != NULL)
        *need_ret = words.length + 1;
    return PROFK_OK;
}

static profk_status check_workspace(const profk_plan *plan, cl_mem buffer, uint64_t offset_nbytes)
{
    profk_status st = PROFK_OK;
    cl_context context = NULL;
    cl_mem_object_type type = 0;
    size_t nbytes = 0, origin_nbytes = 0;
    uint64_t need = plan->layout.total_nbytes, alignment = plan->ctx->device.base_align_nbytes;

    if (clGetMemObjectInfo(buffer, CL_MEM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS
        || clGetMemObjectInfo(buffer, CL_MEM_TYPE, sizeof type, &type, NULL) != CL_SUCCESS
        || context != plan->ctx->cl || type != CL_MEM_OBJECT_BUFFER) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "the workspace is no buffer of the plan's context");
        goto done;
    }
    TRY_CL(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof nbytes, &nbytes, NULL));
    TRY_CL(clGetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof origin_nbytes, &origin_nbytes, NULL));
    if (offset_nbytes > nbytes || nbytes - offset_nbytes < need)
        st = profk__fail(PROFK_ERR_ARGUMENT, "the workspace has %zu bytes; the plan needs %llu from byte %llu on", nbytes,
                         (unsigned long long)need, (unsigned long long)offset_nbytes);
    else if ((origin_nbytes + offset_nbytes) % alignment != 0)
        st = profk__fail(PROFK_ERR_ARGUMENT, "the workspace must start at a multiple of %llu bytes",
                         (unsigned long long)alignment);
done:
    return st;
}

profk_status profk_plan_set_workspace(profk_plan *plan, cl_mem buffer, uint64_t offset_nbytes)
{
    profk_status st = PROFK_OK;

    if (plan == NULL)
        return profk__fail(PROFK_ERR_ARGUMENT, "profk_plan_set_workspace: plan is NULL");
    if (buffer != NULL)
        TRY(check_workspace(plan, buffer, offset_nbytes));
    TRY(profk__plan_settle(plan));
    if (buffer == NULL) {
        profk__workspace_release(plan); /* the next run allocates */
        goto done;
    }
    TRY(profk__workspace_cut(plan, buffer, offset_nbytes));
done:
    return st;
}

profk_status profk_plan_stats(profk_plan *plan, profk_stats *ret)
{
    profk_status st = PROFK_OK;
    profk_stats stats;

    if (plan == NULL) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_plan_stats: plan is NULL");
        goto done;
    }
    TRY(profk__plan_settle(plan));
    profk__plan_stats(plan, &stats);
    TRY(profk__struct_out(ret, &stats, sizeof stats, PROFK__FIRST_STATS_NBYTES, "profk_stats"));
done:
    return st;
}

void profk_plan_destroy(profk_plan *plan)
{
    profk__plan_destroy(plan);
}

profk_status profk_execute(profk_plan *plan, cl_command_queue queue, const profk_io *io, cl_uint wait_count,
                           const cl_event *wait_list, cl_event *event_ret)
{
    profk_status st = PROFK_OK;
    struct profk__call call;

    if (event_ret != NULL)
        *event_ret = NULL;
    if (plan == NULL) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_execute: plan is NULL");
        goto done;
    }
    TRY(profk__io_check(plan, queue, io, wait_count, wait_list, &call));
    TRY(profk__execute(plan, &call, event_ret));
done:
    return st;
}
