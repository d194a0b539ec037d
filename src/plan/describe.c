/* describe.c: the plan in words. */
#include "plan/plan.h"

static const char *const order_names[] = {"largest", "smallest", "magnitude"};

static void describe_method(const profk_plan *plan, const profk_info *info, struct profk__text *text)
{
    if (info->route == PROFK_ROUTE_ROWS) {
        profk__text_add(text, "route rows: one work-group of %u selects a row", (unsigned)plan->spec.wg[PROFK__FILE_ROWS]);
        if (plan->row_cut.parts > 1)
            profk__text_add(text, " from what each of %u parts keeps", (unsigned)plan->row_cut.parts);
        profk__text_add(text, "\n");
        return;
    }
    if (info->route == PROFK_ROUTE_FULL) {
        profk__text_add(text, "route full: radix selection in %.0f passes over the input, %u segments\n", info->passes,
                        (unsigned)plan->full_cut.segments);
        return;
    }
    profk__text_add(text, "route profk: sample S = %llu, threshold rank t = %llu, buffer M = %llu\n",
                    (unsigned long long)info->S, (unsigned long long)info->t, (unsigned long long)info->M);
    profk__text_add(text, "an attempt misses with probability %.3g + %.3g (recall, overflow), budget %.3g\n",
                    info->fail_recall, info->fail_overflow, info->epsilon_row);
    if (plan->spec.filter_shape == PROFK_SHAPE_STREAM)
        profk__text_add(text, "filter stream: work-groups of %u, vectors of %u elements\n",
                        (unsigned)plan->spec.wg[PROFK__FILE_STREAM], (unsigned)plan->spec.vector_width);
    else
        profk__text_add(text, "filter tile: work-groups of %u, %u vectors of %u elements each\n",
                        (unsigned)plan->spec.wg[PROFK__FILE_FILTER], (unsigned)plan->spec.filter_items,
                        (unsigned)plan->spec.vector_width);
}

void profk__plan_describe(const profk_plan *plan, struct profk__text *text)
{
    const profk_problem *p = &plan->problem;
    profk_info info;

    profk__plan_info(plan, &info);
    profk__text_add(text, "top %llu of %llu %s, %s, %llu row%s, on %s\n", (unsigned long long)p->k,
                    (unsigned long long)p->n, plan->type->name, order_names[p->order], (unsigned long long)p->rows,
                    p->rows == 1 ? "" : "s", plan->ctx->device.facts.name);
    if (profk__problem_is_empty(p)) {
        profk__text_add(text, "nothing to select\n");
        return;
    }
    describe_method(plan, &info, text);
    profk__text_add(text, "workspace %llu bytes, slabs %llu, kernel launches %llu, host synchronisations %llu, programs %llu\n",
                    (unsigned long long)info.workspace_nbytes, (unsigned long long)info.slabs,
                    (unsigned long long)info.kernel_launches, (unsigned long long)info.blocking_calls,
                    (unsigned long long)info.programs);
}
