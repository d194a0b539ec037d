/* plan.c: makes a plan, its kernels and its facts. */
#include "plan/plan.h"

#include <stdlib.h>

#define KNOWN_FLAGS (PROFK_MEASURE | PROFK_STORED_ONLY | PROFK_ASYNC)

static profk_status check_flags(uint32_t flags, const struct profk__tuned *tuned)
{
    if ((flags & ~(uint32_t)KNOWN_FLAGS) != 0)
        return profk__fail(PROFK_ERR_ARGUMENT, "plan flags %#x are unknown", (unsigned)flags);
    if ((flags & PROFK_STORED_ONLY) != 0 && !tuned->is_measured)
        return profk__fail(PROFK_ERR_UNSUPPORTED, "no tuning is stored for this device; run 'profk tune' or "
                           "profk_tune(), or use PROFK_ESTIMATE");
    return PROFK_OK;
}

int profk__plan_is_async(const profk_plan *plan)
{
    return (plan->flags & PROFK_ASYNC) != 0 || plan->problem.mode == PROFK_MODE_APPROXIMATE;
}

int profk__plan_may_run_full(const profk_plan *plan)
{
    const profk_problem *p = &plan->problem;

    return p->route == PROFK_ROUTE_FULL || (p->route == PROFK_ROUTE_PROFK && p->mode == PROFK_MODE_EXACT)
        || (p->route == PROFK_ROUTE_ROWS && p->rows == 1 && plan->row_cut.kept == 0); /* in several chunks */
}

uint32_t profk__plan_attempts_max(const profk_plan *plan)
{
    if (plan->problem.mode == PROFK_MODE_APPROXIMATE)
        return 1;
    return (plan->flags & PROFK_ASYNC) != 0 ? PROFK__ATTEMPTS_MAX_ASYNC : PROFK__ATTEMPTS_MAX;
}

/* Positions up to n - 1 fit in 32 bits. */
static uint32_t index_nbytes(uint64_t n)
{
    return n <= (uint64_t)UINT32_MAX + 1 ? 4 : 8;
}

static void set(uint32_t *field, uint32_t forced)
{
    if (forced != 0)
        *field = forced;
}

static struct profk__spec make_spec(const profk_plan *plan)
{
    const struct profk__device *device = &plan->ctx->device;
    const profk_tuning *f = &plan->forced;
    struct profk__spec spec = profk__spec_default(&plan->tuned, device, f->filter_shape, plan->type->nbytes,
                                                  index_nbytes(plan->problem.n));

    set(&spec.vector_width, f->vector_width);
    set(&spec.filter_items, f->filter_items);
    while (spec.filter_items * spec.vector_width > 32 && spec.filter_shape == PROFK_SHAPE_TILE)
        *(f->filter_items != 0 ? &spec.vector_width : &spec.filter_items) /= 2; /* one was forced, the other yields */
    set(&spec.wg[PROFK__FILE_SAMPLE], f->sample_wg);
    set(&spec.wg[PROFK__FILE_THRESHOLD], f->threshold_wg);
    set(&spec.wg[PROFK__FILE_FILTER], f->filter_wg);
    set(&spec.wg[PROFK__FILE_STREAM], f->filter_wg);
    set(&spec.wg[PROFK__FILE_REFINE], f->refine_wg);
    set(&spec.wg[PROFK__FILE_SORT], f->sort_wg);
    set(&spec.wg[PROFK__FILE_ROWS], f->rows_wg);
    set(&spec.wg[PROFK__FILE_FULL], f->full_wg);
    profk__spec_settle(&spec, device);
    return spec;
}

/* The files that a route takes, and how many. */
static size_t files_of(const profk_plan *plan, uint32_t route, enum profk__file files[PROFK__FILE_COUNT])
{
    size_t count = 0;
    uint32_t k = (uint32_t)plan->problem.k;
    int finishes = route == PROFK_ROUTE_ROWS && profk__stage_rows_finishes(&plan->spec, k);

    if (route == PROFK_ROUTE_PROFK) {
        files[count++] = PROFK__FILE_SAMPLE;
        files[count++] = PROFK__FILE_THRESHOLD;
        files[count++] = plan->spec.filter_shape == PROFK_SHAPE_STREAM ? PROFK__FILE_STREAM : PROFK__FILE_FILTER;
        files[count++] = PROFK__FILE_REFINE;
    } else {
        files[count++] = route == PROFK_ROUTE_FULL ? PROFK__FILE_FULL
                                                   : profk__stage_rows_file(&plan->spec, plan->problem.n, k);
    }
    if (!finishes)
        files[count++] = PROFK__FILE_SORT;
    return count;
}

profk_status profk__plan_need_kernels(profk_plan *plan, uint32_t route)
{
    profk_status st = PROFK_OK;
    const profk_options *options = &plan->ctx->options;
    enum profk__file files[PROFK__FILE_COUNT];
    size_t count = files_of(plan, route, files);

    for (size_t i = 0; i < count; i++) {
        if (options->progress != NULL
            && options->progress(options->user, "building kernels", (double)i / (double)count) != 0) {
            st = profk__fail(PROFK_ERR_CANCELLED, "stopped by the caller while building kernels");
            goto done;
        }
        TRY(profk__kernels_create(plan->ctx, &plan->spec, files[i], plan->kernels));
    }
done:
    return st;
}

static profk_status build(profk_plan *plan)
{
    profk_status st = PROFK_OK;

    if (profk__problem_is_empty(&plan->problem))
        goto done;
    TRY(profk__plan_need_kernels(plan, plan->problem.route));
    if (plan->problem.route == PROFK_ROUTE_PROFK && profk__plan_may_run_full(plan) && profk__plan_is_async(plan))
        TRY(profk__plan_need_kernels(plan, PROFK_ROUTE_FULL)); /* nobody waits to see whether they are needed */
done:
    return st;
}

profk_status profk__plan_create(profk_context *ctx, const struct profk__tuned *tuned, const profk_problem *p,
                                const profk_tuning *forced, uint32_t flags, profk_plan **ret)
{
    profk_status st = PROFK_OK;
    profk_plan *plan = calloc(1, sizeof *plan);

    if (plan == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory for a plan");
        goto done;
    }
    plan->ctx = ctx;
    plan->tuned = *tuned;
    TRY(profk__problem_check(p, tuned, &plan->problem));
    TRY(profk__tuning_check(forced, &plan->problem, &plan->forced));
    TRY(check_flags(flags, tuned));
    plan->flags = flags;
    plan->type = profk__type_get(plan->problem.type);
    plan->rule = profk__key_rule_make(plan->type, plan->problem.order, plan->problem.nan);
    plan->spec = make_spec(plan);
    TRY(profk__route_choose(plan));
    TRY(build(plan));
    *ret = plan;
    plan = NULL;
done:
    profk__plan_destroy(plan);
    return st;
}

/* The last call is complete or has failed; either way nothing of it runs any more. */
static profk_status wait_for_last(profk_plan *plan)
{
    profk_status st = PROFK_OK;

    if (plan->last.event != NULL)
        st = profk__cl_check(clWaitForEvents(1, &plan->last.event), "clWaitForEvents");
    return st;
}

static void forget_last(profk_plan *plan)
{
    profk__release_event(plan->last.event);
    profk__release_queue(plan->last.queue);
    plan->last = (struct profk__last){NULL, NULL};
}

void profk__plan_store_programs(profk_plan *plan)
{
    uint32_t files = plan->launched & ~plan->stored;

    if (plan->stored != 0)
        files &= UINT32_C(1) << PROFK__FILE_FULL;
    if (files != 0)
        profk__kernels_store(plan->ctx, plan->kernels, files);
    plan->stored |= files;
}

profk_status profk__plan_settle(profk_plan *plan)
{
    profk_status st = PROFK_OK;

    if (plan->last.event == NULL)
        goto done;
    TRY(wait_for_last(plan));
    profk__plan_store_programs(plan);
    if (plan->workspace.summary_is_written)
        TRY_CL(clEnqueueReadBuffer(plan->last.queue, plan->workspace.section[PROFK__SUMMARY], CL_TRUE, 0,
                                   sizeof plan->summary, &plan->summary, 0, NULL, NULL));
    profk__plan_adapt(plan);
done:
    forget_last(plan);
    return st;
}

void profk__plan_destroy(profk_plan *plan)
{
    if (plan == NULL)
        return;
    if (wait_for_last(plan) == PROFK_OK) /* a failure was the call's and is known by its event */
        profk__plan_store_programs(plan);
    forget_last(plan);
    profk__kernels_destroy(plan->kernels);
    profk__workspace_release(plan);
    free(plan);
}

struct profk__summary profk__plan_counts(const profk_plan *plan)
{
    const struct profk__summary *old = &plan->summary_of_old, *now = &plan->summary;

    return (struct profk__summary){
        .missed = now->missed,
        .last_attempts = now->last_attempts,
        .attempts = old->attempts + now->attempts,
        .recall_misses = old->recall_misses + now->recall_misses,
        .overflows = old->overflows + now->overflows,
        .redraws = old->redraws + now->redraws,
        .fallbacks = old->fallbacks + now->fallbacks,
    };
}

void profk__plan_stats(const profk_plan *plan, profk_stats *ret)
{
    const struct profk__summary counts = profk__plan_counts(plan);
    int fell_back = counts.last_attempts > profk__plan_attempts_max(plan) && plan->problem.mode == PROFK_MODE_EXACT;

    *ret = (profk_stats){
        .struct_size = sizeof *ret,
        .calls = plan->calls,
        .rows = plan->rows,
        .attempts = counts.attempts,
        .recall_misses = counts.recall_misses,
        .overflows = counts.overflows,
        .redraws = counts.redraws,
        .fallbacks = counts.fallbacks,
        .last_attempts = counts.last_attempts,
        .last_route = fell_back ? PROFK_ROUTE_FULL : plan->problem.route,
        .adaptations = plan->watch.adaptations,
    };
}

/* How many programs the plan's kernels come from: one a file, counted by its first kernel. */
static uint64_t count_programs(const profk_plan *plan)
{
    static const enum profk__kernel_id first_of_file[] = {
        PROFK__KERNEL_sample, PROFK__KERNEL_threshold, PROFK__KERNEL_filter, PROFK__KERNEL_stream,
        PROFK__KERNEL_refine, PROFK__KERNEL_bitonic,   PROFK__KERNEL_rows,   PROFK__KERNEL_walk,
        PROFK__KERNEL_full_histogram,
    };
    const uint32_t *wg = plan->spec.wg;
    uint64_t count = 0;

    for (size_t i = 0; i < PROFK__COUNT(first_of_file); i++)
        count += plan->kernels[first_of_file[i]].handle != NULL;
    if (plan->kernels[PROFK__KERNEL_threshold].handle != NULL && wg[PROFK__FILE_THRESHOLD] == wg[PROFK__FILE_REFINE])
        count--; /* the same program */
    return count;
}

/* Launches for one slab and one chunk, certified at the first attempt. */
static uint64_t count_launches(const profk_plan *plan)
{
    const profk_problem *p = &plan->problem;
    uint32_t k = (uint32_t)p->k;
    uint64_t full = profk__stage_full_launches(&plan->spec, plan->full_cut);
    uint64_t sort = profk__stage_sort_launches(&plan->spec, p->n, k, p->sort, 0);
    uint64_t sort_after_full = profk__stage_sort_launches(&plan->spec, p->n, k, p->sort, 1);
    uint64_t attempt = 4 + profk__stage_filter_launches(p->n) + sort; /* sample, threshold, refine, collect */

    if (p->route == PROFK_ROUTE_FULL)
        return full + sort_after_full;
    if (p->route == PROFK_ROUTE_ROWS)
        return plan->row_cut.parts > 1 ? 2 : profk__stage_rows_finishes(&plan->spec, k) ? 1 : 1 + sort;
    if (profk__plan_is_async(plan) && p->mode == PROFK_MODE_EXACT)
        return 2 * attempt + full + sort_after_full;
    return attempt;
}

static double count_passes(const profk_plan *plan)
{
    switch (plan->problem.route) {
    case PROFK_ROUTE_FULL:
        return profk__stage_full_passes(&plan->spec, plan->full_cut);
    case PROFK_ROUTE_ROWS:
        return profk__stage_rows_passes(&plan->spec, plan->problem.n, (uint32_t)plan->problem.k);
    default:
        return 1.0 + (double)plan->params.S / (double)plan->problem.n;
    }
}

void profk__plan_info(const profk_plan *plan, profk_info *ret)
{
    const profk_problem *p = &plan->problem;
    profk_info info = {
        .struct_size = sizeof info,
        .S = plan->params.S,
        .t = plan->params.t,
        .M = plan->params.M,
        .workspace_nbytes = plan->layout.total_nbytes,
        .programs = count_programs(plan),
        .epsilon_row = plan->epsilon_row,
        .fail_recall = plan->params.fail_recall,
        .fail_overflow = plan->params.fail_overflow,
        .route = p->route,
        .tuned = plan->tuned.is_measured,
    };

    info.blocking_calls = profk__plan_is_async(plan) ? 0 : 1;
    if (!profk__problem_is_empty(p)) {
        info.slabs = (p->rows + plan->layout.rows - 1) / plan->layout.rows;
        if (p->route == PROFK_ROUTE_PROFK)
            info.blocking_calls *= info.slabs;
        info.filter_shape = p->route == PROFK_ROUTE_PROFK ? plan->spec.filter_shape : 0;
        info.kernel_launches = info.slabs * count_launches(plan);
        info.passes = count_passes(plan);
    }
    *ret = info;
}
