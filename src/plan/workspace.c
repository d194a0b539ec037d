/*
 * workspace.c: one buffer, cut into sections, and the rows that share it.
 *
 * A slab's results, states, lists and winners live throughout the slab.  The other sections come in groups that are
 * never alive together (sample; candidates; full; radix sort) and so start at the same place: the workspace is as large
 * as the largest.  Rows are served in slabs of as many as the limit allows.  In a plan that may adapt the sections of
 * samples and candidates are as large as that leaves them, so that a larger S or M needs neither memory nor other
 * sections.
 */
#include "plan/plan.h"

#define DEFAULT_LIMIT_NBYTES (UINT64_C(256) << 20)
#define SLAB_ROWS_MAX (UINT64_C(1) << 28) /* so that a row's number and the lists stay small */

static uint64_t align(uint64_t nbytes, uint64_t to)
{
    return (nbytes + to - 1) / to * to;
}

/* Sections of one group, in memory one behind the other. */
struct group {
    unsigned first, count; /* enum profk__section */
};

static const struct group lasting = {PROFK__SUMMARY, 7};
static const struct group sample_sections = {PROFK__SAMPLE_BITS, 2}, candidate_sections = {PROFK__CANDIDATE_BITS, 2};
static const struct group passing[] = {
    {PROFK__SAMPLE_BITS, 2},
    {PROFK__CANDIDATE_BITS, 2},
    {PROFK__HISTOGRAM, 2},
    {PROFK__SORT_BITS, 3},
};

/* Places a group's sections from `at` on and returns where they end. */
static uint64_t place(struct profk__layout *layout, struct group group, uint64_t at, uint64_t alignment)
{
    for (unsigned i = group.first; i < group.first + group.count; i++) {
        layout->offset_nbytes[i] = at;
        at += align(layout->nbytes[i], alignment);
    }
    return at;
}

static void set_pairs(struct profk__layout *layout, enum profk__section bits, const profk_plan *plan, uint64_t count)
{
    layout->nbytes[bits] = count * plan->spec.width_nbytes;
    layout->nbytes[bits + 1] = count * plan->spec.index_nbytes;
}

static void set_sizes(struct profk__layout *layout, const profk_plan *plan, uint64_t rows)
{
    const profk_problem *p = &plan->problem;
    uint32_t k = (uint32_t)p->k;
    int samples = p->route == PROFK_ROUTE_PROFK;
    int may_run_full = profk__plan_may_run_full(plan);
    int leaves_winners = samples || may_run_full || !profk__stage_rows_finishes(&plan->spec, k);

    layout->rows = (uint32_t)rows;
    layout->nbytes[PROFK__RESULTS] = rows * sizeof(profk_row);
    if (!leaves_winners) {
        set_pairs(layout, PROFK__WINNER_BITS, plan, rows * plan->row_cut.kept);
        set_pairs(layout, PROFK__SORT_BITS, plan, p->rows == 1 ? plan->row_cut.kept : 0);
        return;
    }
    layout->nbytes[PROFK__STATES] = rows * sizeof(struct profk__row_state);
    set_pairs(layout, PROFK__WINNER_BITS, plan, rows * p->k);
    layout->nbytes[PROFK__SORT_COUNTS] = rows * profk__stage_sort_counts_nbytes(&plan->spec, k, p->sort);
    set_pairs(layout, PROFK__SORT_BITS, plan,
              rows * profk__stage_sort_scratch_pairs(&plan->spec, k, p->sort, plan->sort_parts));
    if (samples) {
        layout->nbytes[PROFK__SUMMARY] = sizeof(struct profk__summary);
        layout->nbytes[PROFK__LIST_A] = layout->nbytes[PROFK__LIST_B] = (rows + 1) * sizeof(cl_uint);
        set_pairs(layout, PROFK__SAMPLE_BITS, plan, rows * plan->params.S);
        set_pairs(layout, PROFK__CANDIDATE_BITS, plan, rows * plan->params.M);
    }
    if (may_run_full) {
        layout->nbytes[PROFK__HISTOGRAM] = rows * profk__stage_full_histogram_nbytes(plan->full_cut);
        layout->nbytes[PROFK__COUNTS] = rows * profk__stage_full_counts_nbytes(plan->full_cut);
    }
}

static struct profk__layout lay_out(const profk_plan *plan, uint64_t rows)
{
    uint64_t alignment = plan->ctx->device.base_align_nbytes;
    struct profk__layout layout = {.rows = 0};

    set_sizes(&layout, plan, rows);
    uint64_t shared = place(&layout, lasting, 0, alignment);
    for (size_t i = 0; i < PROFK__COUNT(passing); i++) {
        uint64_t end = place(&layout, passing[i], shared, alignment);
        layout.total_nbytes = end > layout.total_nbytes ? end : layout.total_nbytes;
    }
    return layout;
}

/* min(largest allocation, max(one row, 256 MiB, 1/8 of the largest allocation)), or what the caller allows. */
static uint64_t limit_nbytes(const profk_plan *plan, uint64_t one_row_nbytes)
{
    uint64_t most = plan->ctx->device.facts.max_alloc_nbytes;
    uint64_t limit = plan->problem.workspace_limit_nbytes;

    if (limit == 0) {
        limit = most / 8 > DEFAULT_LIMIT_NBYTES ? most / 8 : DEFAULT_LIMIT_NBYTES;
        limit = one_row_nbytes > limit ? one_row_nbytes : limit;
    }
    return limit < most ? limit : most;
}

/* More rows than these cannot fit; below, no sum of sizes leaves 64 bits. */
static uint64_t rows_max(const struct profk__layout *one_row, uint64_t limit)
{
    const uint64_t *nbytes = one_row->nbytes;
    uint64_t samples = nbytes[PROFK__SAMPLE_BITS] + nbytes[PROFK__SAMPLE_INDEX];
    uint64_t candidates = nbytes[PROFK__CANDIDATE_BITS] + nbytes[PROFK__CANDIDATE_INDEX];
    uint64_t per_row = sizeof(profk_row) + nbytes[PROFK__WINNER_BITS] + nbytes[PROFK__WINNER_INDEX]
                     + (samples > candidates ? samples : candidates);

    return limit / per_row < SLAB_ROWS_MAX ? limit / per_row : SLAB_ROWS_MAX;
}

/* Two sections of pairs, `count` a row, take all that their group has, up to `most` a row; returns how many that is.
 * Each of the two may need filling up. */
static uint64_t widen(struct profk__layout *layout, const profk_plan *plan, struct group pairs, uint64_t count,
                      uint64_t most)
{
    uint64_t alignment = plan->ctx->device.base_align_nbytes;
    uint64_t room = layout->total_nbytes - layout->offset_nbytes[pairs.first];
    uint64_t each = layout->rows * (uint64_t)(plan->spec.width_nbytes + plan->spec.index_nbytes);
    uint64_t wider = room > 2 * alignment ? (room - 2 * alignment) / each : 0;

    wider = wider < most ? wider : most;
    if (wider <= count)
        return count;
    set_pairs(layout, (enum profk__section)pairs.first, plan, layout->rows * wider);
    place(layout, pairs, layout->offset_nbytes[pairs.first], alignment);
    return wider;
}

profk_status profk__layout_make(profk_plan *plan)
{
    struct profk__layout one_row = lay_out(plan, 1);
    uint64_t one_row_nbytes = one_row.total_nbytes;
    uint64_t limit = limit_nbytes(plan, one_row_nbytes);

    if (one_row_nbytes > limit && plan->sort_parts > 1) { /* one core sorts with less scratch than several */
        plan->sort_parts = 1;
        one_row = lay_out(plan, 1);
        one_row_nbytes = one_row.total_nbytes;
    }
    uint64_t low = 1, high = rows_max(&one_row, limit);

    if (one_row_nbytes > limit)
        return profk__fail(PROFK_ERR_UNSUPPORTED, "the workspace would take %llu bytes and may take %llu; raise "
                           "workspace_limit_nbytes, lower k, or choose a device with a larger allocation limit",
                           (unsigned long long)one_row_nbytes, (unsigned long long)limit);
    high = high < plan->problem.rows ? high : plan->problem.rows;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (lay_out(plan, middle).total_nbytes <= limit)
            low = middle;
        else
            high = middle - 1;
    }
    plan->layout = lay_out(plan, low);
    plan->layout.slots_max = plan->params.S;
    plan->layout.capacity_max = plan->params.M;
    if (profk__plan_adapts(plan)) {
        struct profk__layout *layout = &plan->layout;
        layout->slots_max = widen(layout, plan, sample_sections, plan->params.S, profk__plan_slots_most(plan));
        layout->capacity_max =
            widen(layout, plan, candidate_sections, plan->params.M, profk__plan_capacity_most(plan));
    }
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

profk_status profk__find_parent(cl_mem *buffer, uint64_t *offset_nbytes)
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

/* The counts of a workspace that goes away are added to those of the ones before. */
static void keep_summary(profk_plan *plan)
{
    struct profk__summary *old = &plan->summary_of_old, *now = &plan->summary;

    old->attempts += now->attempts;
    old->recall_misses += now->recall_misses;
    old->overflows += now->overflows;
    old->redraws += now->redraws;
    old->fallbacks += now->fallbacks;
    *now = (struct profk__summary){.last_attempts = now->last_attempts};
    plan->workspace.summary_is_written = 0;
}

profk_status profk__workspace_cut(profk_plan *plan, cl_mem buffer, uint64_t offset_nbytes)
{
    profk_status st = PROFK_OK;

    profk__workspace_release(plan);
    keep_summary(plan);
    TRY(profk__find_parent(&buffer, &offset_nbytes));
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
    plan->workspace.start_nbytes = offset_nbytes;
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
