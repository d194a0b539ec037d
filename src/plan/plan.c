/* plan.c: makes a plan, its kernels and its facts. */
#include "plan/plan.h"

#include <stdlib.h>

#define KNOWN_FLAGS (PROFK_MEASURE | PROFK_STORED_ONLY | PROFK_ASYNC)

static profk_status check_flags(uint32_t flags)
{
    if ((flags & ~(uint32_t)KNOWN_FLAGS) != 0)
        return profk__fail(PROFK_ERR_ARGUMENT, "plan flags %#x are unknown", (unsigned)flags);
    if ((flags & PROFK_ASYNC) != 0)
        return profk__fail(PROFK_ERR_UNSUPPORTED, "asynchronous plans are not in this release; use flags 0");
    if ((flags & PROFK_STORED_ONLY) != 0)
        return profk__fail(PROFK_ERR_UNSUPPORTED, "no tuning is stored for this device; use PROFK_ESTIMATE");
    if ((flags & PROFK_MEASURE) != 0)
        return profk__fail(PROFK_ERR_UNSUPPORTED, "tuning is not in this release; use PROFK_ESTIMATE");
    return PROFK_OK;
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
    const profk_device *device = &plan->ctx->device.facts;
    const profk_tuning *f = &plan->forced;
    struct profk__spec spec = profk__spec_default(device->type, plan->type->nbytes, index_nbytes(plan->problem.n));

    set(&spec.vector_width, f->vector_width);
    set(&spec.filter_items, f->filter_items);
    while (spec.filter_items * spec.vector_width > 32) /* one of them was forced: the other gives way */
        *(f->filter_items != 0 ? &spec.vector_width : &spec.filter_items) /= 2;
    set(&spec.wg[PROFK__FILE_SAMPLE], f->sample_wg);
    set(&spec.wg[PROFK__FILE_THRESHOLD], f->threshold_wg);
    set(&spec.wg[PROFK__FILE_FILTER], f->filter_wg);
    set(&spec.wg[PROFK__FILE_REFINE], f->refine_wg);
    set(&spec.wg[PROFK__FILE_SORT], f->sort_wg);
    set(&spec.wg[PROFK__FILE_FULL], f->full_wg);
    profk__spec_settle(&spec, device);
    return spec;
}

profk_status profk__plan_need_kernels(profk_plan *plan, uint32_t route)
{
    static const enum profk__file profk_files[] = {PROFK__FILE_SAMPLE, PROFK__FILE_THRESHOLD, PROFK__FILE_FILTER,
                                                   PROFK__FILE_REFINE, PROFK__FILE_SORT};
    static const enum profk__file full_files[] = {PROFK__FILE_FULL, PROFK__FILE_SORT};
    profk_status st = PROFK_OK;
    const profk_options *options = &plan->ctx->options;
    const enum profk__file *files = route == PROFK_ROUTE_FULL ? full_files : profk_files;
    size_t count = route == PROFK_ROUTE_FULL ? PROFK__COUNT(full_files) : PROFK__COUNT(profk_files);

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

profk_status profk__plan_create(profk_context *ctx, const profk_problem *p, const profk_tuning *forced, uint32_t flags,
                                profk_plan **ret)
{
    profk_status st = PROFK_OK;
    profk_plan *plan = calloc(1, sizeof *plan);

    if (plan == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory for a plan");
        goto done;
    }
    plan->ctx = ctx;
    plan->stats.struct_size = sizeof plan->stats;
    TRY(profk__problem_check(p, &plan->problem));
    TRY(profk__tuning_check(forced, &plan->problem, &plan->forced));
    TRY(check_flags(flags));
    plan->type = profk__type_get(plan->problem.type);
    plan->rule = profk__key_rule_make(plan->type, plan->problem.order, plan->problem.nan);
    plan->spec = make_spec(plan);
    TRY(profk__route_choose(plan));
    if (!profk__problem_is_empty(&plan->problem))
        TRY(profk__plan_need_kernels(plan, plan->problem.route));
    *ret = plan;
    plan = NULL;
done:
    profk__plan_destroy(plan);
    return st;
}

void profk__plan_destroy(profk_plan *plan)
{
    if (plan == NULL)
        return;
    profk__kernels_destroy(plan->kernels);
    profk__workspace_release(plan);
    free(plan);
}

/* How many programs the plan's kernels come from: those whose first kernel differs in file. */
static uint64_t count_programs(const profk_plan *plan)
{
    static const enum profk__kernel_id first_of_file[] = {
        PROFK__KERNEL_sample, PROFK__KERNEL_threshold, PROFK__KERNEL_filter,
        PROFK__KERNEL_refine, PROFK__KERNEL_bitonic,   PROFK__KERNEL_full_histogram,
    };
    uint64_t count = 0;

    for (size_t i = 0; i < PROFK__COUNT(first_of_file); i++)
        count += plan->kernels[first_of_file[i]].handle != NULL;
    return count;
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
    };

    if (!profk__problem_is_empty(p)) {
        int is_full = p->route == PROFK_ROUTE_FULL;
        info.slabs = 1;
        info.blocking_calls = 1;
        info.filter_shape = is_full ? 0 : PROFK_SHAPE_TILE;
        info.kernel_launches =
            (is_full ? profk__stage_full_launches(&plan->spec) : 3 + profk__stage_filter_launches(p->n))
            + profk__stage_sort_launches(&plan->spec, p->n, (uint32_t)p->k, p->sort, is_full);
        info.passes = is_full ? plan->type->nbytes + 2.0 : 1.0 + (double)plan->params.S / (double)p->n;
    }
    *ret = info;
}
