/*
 * workspace.c: one buffer, cut into sections.
 *
 * The row's state and the winners live throughout a call.  The others come in groups that are never alive together
 * (sample; candidates; full; radix sort) and so start at the same place: the workspace is as large as the largest.
 */
#include "plan/plan.h"

#define DEFAULT_LIMIT_NBYTES (UINT64_C(256) << 20)

static uint64_t align(uint64_t nbytes, uint64_t to)
{
    return (nbytes + to - 1) / to * to;
}

/* Sections of one group, in memory one behind the other. */
struct group {
    unsigned first, count; /* enum profk__section */
};

static const struct group groups[] = {
    {PROFK__SAMPLE_BITS, 2},
    {PROFK__CANDIDATE_BITS, 2},
    {PROFK__HISTOGRAM, 2},
    {PROFK__SORT_BITS, 3},
};

/* Places a group's sections from `at` on and returns where they end. */
static uint64_t place(struct profk__layout *layout, struct group group, uint64_t at, uint64_t alignment)
{
    for (unsigned i = 0; i < group.count; i++) {
        layout->offset_nbytes[group.first + i] = at;
        at += align(layout->nbytes[group.first + i], alignment);
    }
    return at;
}

static void set_pairs(struct profk__layout *layout, enum profk__section bits, const profk_plan *plan, uint64_t count)
{
    layout->nbytes[bits] = count * plan->spec.width_nbytes;
    layout->nbytes[bits + 1] = count * plan->spec.index_nbytes;
}

static void set_sizes(struct profk__layout *layout, const profk_plan *plan)
{
    const profk_problem *p = &plan->problem;

    layout->nbytes[PROFK__ROW] = sizeof(struct profk__row_state);
    set_pairs(layout, PROFK__WINNER_BITS, plan, p->k);
    set_pairs(layout, PROFK__SAMPLE_BITS, plan, plan->params.S);
    set_pairs(layout, PROFK__CANDIDATE_BITS, plan, plan->params.M);
    layout->nbytes[PROFK__HISTOGRAM] = profk__stage_full_histogram_nbytes(plan->segments);
    layout->nbytes[PROFK__COUNTS] = profk__stage_full_counts_nbytes(plan->segments);
    layout->nbytes[PROFK__SORT_COUNTS] = profk__stage_sort_counts_nbytes(&plan->spec, (uint32_t)p->k, p->sort);
    if (layout->nbytes[PROFK__SORT_COUNTS] > 0)
        set_pairs(layout, PROFK__SORT_BITS, plan, p->k);
}

profk_status profk__layout_make(profk_plan *plan)
{
    const profk_device *device = &plan->ctx->device.facts;
    uint64_t alignment = plan->ctx->device.base_align_nbytes;
    uint64_t limit = plan->problem.workspace_limit_nbytes;
    struct profk__layout layout = {{0}, {0}, 0};

    set_sizes(&layout, plan);
    uint64_t shared = place(&layout, (struct group){PROFK__ROW, 3}, 0, alignment);
    for (size_t i = 0; i < PROFK__COUNT(groups); i++) {
        uint64_t end = place(&layout, groups[i], shared, alignment);
        layout.total_nbytes = end > layout.total_nbytes ? end : layout.total_nbytes;
    }

    /* The default is min(largest allocation, max(one row, 256 MiB, 1/8 of it)), and this is one row. */
    if (limit == 0 || limit > device->max_alloc_nbytes)
        limit = device->max_alloc_nbytes;
    if (layout.total_nbytes > limit)
        return profk__fail(PROFK_ERR_UNSUPPORTED, "the workspace would take %llu bytes and may take %llu; raise "
                           "workspace_limit_nbytes, lower k, or choose a device with a larger allocation limit",
                           (unsigned long long)layout.total_nbytes, (unsigned long long)limit);
    plan->layout = layout;
    return PROFK_OK;
}

void profk__workspace_release(profk_plan *plan)
{
    for (int i = 0; i < PROFK__SECTION_COUNT; i++) {
        profk__release_mem(plan->workspace.section[i]);
        plan->workspace.section[i] = NULL;
    }
    profk__release_mem(plan->workspace.buffer);
    plan->workspace.buffer = NULL;
}

/* A sub-buffer cannot be cut again: its parent is. */
static profk_status find_parent(cl_mem *buffer, uint64_t *offset_nbytes)
{
    profk_status st = PROFK_OK;
    cl_mem parent = NULL;
    size_t origin_nbytes = 0;

    TRY_CL(clGetMemObjectInfo(*buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL));
    if (parent == NULL)
        goto done;
    TRY_CL(clGetMemObjectInfo(*buffer, CL_MEM_OFFSET, sizeof origin_nbytes, &origin_nbytes, NULL));
    *buffer = parent;
    *offset_nbytes += origin_nbytes;
done:
    return st;
}

profk_status profk__workspace_cut(profk_plan *plan, cl_mem buffer, uint64_t offset_nbytes)
{
    profk_status st = PROFK_OK;

    profk__workspace_release(plan);
    TRY(find_parent(&buffer, &offset_nbytes));
    for (int i = 0; i < PROFK__SECTION_COUNT; i++) {
        const struct profk__layout *layout = &plan->layout;
        cl_buffer_region region = {(size_t)(offset_nbytes + layout->offset_nbytes[i]), (size_t)layout->nbytes[i]};
        cl_int code = CL_SUCCESS;
        if (region.size == 0)
            continue;
        plan->workspace.section[i] =
            clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
        TRY(profk__cl_check(code, "clCreateSubBuffer"));
    }
    TRY_CL(clRetainMemObject(buffer));
    plan->workspace.buffer = buffer;
done:
    if (st != PROFK_OK)
        profk__workspace_release(plan);
    return st;
}

profk_status profk__workspace_allocate(profk_plan *plan)
{
    profk_status st = PROFK_OK;
    cl_int code = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(plan->ctx->cl, CL_MEM_READ_WRITE, (size_t)plan->layout.total_nbytes, NULL, &code);

    TRY(profk__cl_check(code, "clCreateBuffer"));
    TRY(profk__workspace_cut(plan, buffer, 0));
done:
    profk__release_mem(buffer);
    return st;
}
