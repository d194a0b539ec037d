/*
 * route.c: how a row is served and with which S, t, M.
 *
 * Theorem 4 gives t and M for a sample size; the device's costs give the sample size, or the paper's rule where they are
 * not known; an approximate plan may ask for an expected recall instead of a budget.  What the caller forces is taken as
 * it is.  The sampled method is worth its parts from some thousand elements on and while the buffer stays below a
 * quarter of the input (runtime/tuned.h).  Else a work-group selects a
 * whole row, where rows are short or enough to keep every compute unit busy, or the passes of the full selection run.
 * A caller who asks for a route gets it.
 */
#include "plan/plan.h"

#include "params/params.h"

/* The rank for the expected recall; a sample that is not forced grows until it has one. */
static profk_status choose_rank_for_recall(const profk_plan *plan, profk_params *params)
{
    const profk_problem *p = &plan->problem;
    profk_status st = profk__rank_for_recall(p->n, p->k, params->S, p->recall, &params->t);

    while (st == PROFK_ERR_PARAMS && plan->forced.S == 0 && params->S < p->n) {
        params->S = params->S < p->n / 2 ? 2 * params->S : p->n;
        st = profk__rank_for_recall(p->n, p->k, params->S, p->recall, &params->t);
    }
    return st;
}

/* What gives the sample size: the device's own costs, where they are known, or the paper's rule. */
enum sizing { BY_PRICE, BY_PAPER };

static profk_status choose_sample_size(const profk_plan *plan, enum sizing sizing, uint64_t *ret)
{
    const profk_problem *p = &plan->problem;
    const struct profk__tuned *tuned = &plan->tuned;

    if (sizing == BY_PAPER || tuned->slot_ps == 0 || tuned->candidate_ps == 0)
        return profk_sample_size(p->n, p->k, plan->epsilon_row, NULL, ret);
    *ret = profk__sample_by_price(p->n, p->k, plan->epsilon_row, tuned->slot_ps, tuned->candidate_ps);
    return PROFK_OK;
}

/* S, t, M for what is not forced. */
static profk_status choose_params(const profk_plan *plan, enum sizing sizing, profk_params *ret)
{
    profk_status st = PROFK_OK;
    const profk_problem *p = &plan->problem;
    const profk_tuning *f = &plan->forced;
    double eps_half = plan->epsilon_row / 2;
    profk_params params = {.S = f->S, .t = f->t};

    if (params.S == 0)
        TRY(choose_sample_size(plan, sizing, &params.S));
    if (params.t > params.S) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "t is %llu but the sample chosen has S = %llu; force S as well",
                         (unsigned long long)params.t, (unsigned long long)params.S);
        goto done;
    }
    if (params.t == 0 && p->recall != 0)
        TRY(choose_rank_for_recall(plan, &params));
    if (params.t == 0)
        TRY(profk_params_exact(p->n, p->k, params.S, eps_half, eps_half, &params));
    else
        TRY(profk__buffer_capacity(p->n, p->k, params.S, params.t, eps_half, &params.M));
    if (f->M != 0)
        params.M = f->M;
    if (f->M >= PROFK__COUNT_LIMIT) {
        st = profk__fail(PROFK_ERR_UNSUPPORTED, "M is %llu; the buffer holds fewer than 2^31 elements",
                         (unsigned long long)f->M);
        goto done;
    }
    TRY(profk_failure_probability(p->n, p->k, params.S, params.t, params.M, &params.fail_recall,
                                  &params.fail_overflow));
    *ret = params;
done:
    return st;
}

static profk_status check_count_start(const profk_plan *plan, const profk_params *params)
{
    if (plan->forced.count_start == 0)
        return PROFK_OK;
    if (plan->problem.mode == PROFK_MODE_APPROXIMATE)
        return profk__fail(PROFK_ERR_ARGUMENT, "count_start is for exact plans: an approximate one would have nothing to "
                           "select from");
    if (plan->forced.count_start > params->M)
        return PROFK_OK;
    return profk__fail(PROFK_ERR_ARGUMENT, "count_start is %llu; it must be 0 or above M = %llu",
                       (unsigned long long)plan->forced.count_start, (unsigned long long)params->M);
}

/* Tries the sampled method: parameters within 32 bits and a workspace within its limit. */
static profk_status take_profk(profk_plan *plan, const profk_params *params)
{
    const struct profk__device *device = &plan->ctx->device;

    if (params->M >= PROFK__COUNT_LIMIT || params->S >= PROFK__COUNT_LIMIT)
        return profk__fail(PROFK_ERR_UNSUPPORTED, "route profk would need S = %llu samples and M = %llu slots, and has "
                           "at most 2^31 - 1 of each; use route full", (unsigned long long)params->S,
                           (unsigned long long)params->M);
    if (params->S > profk__select_max(&plan->spec, PROFK__FILE_THRESHOLD, device)
        || params->M > profk__select_max(&plan->spec, PROFK__FILE_REFINE, device))
        return profk__fail(PROFK_ERR_UNSUPPORTED, "route profk would need S = %llu samples and M = %llu slots, more than "
                           "loops on this device can select from; use route full", (unsigned long long)params->S,
                           (unsigned long long)params->M);
    plan->params = *params;
    plan->problem.route = PROFK_ROUTE_PROFK;
    return profk__layout_make(plan);
}

static profk_status take_full(profk_plan *plan)
{
    plan->params = (profk_params){0};
    plan->problem.route = PROFK_ROUTE_FULL;
    return profk__layout_make(plan);
}

static int rows_fit(const profk_plan *plan)
{
    return plan->problem.n < PROFK__COUNT_LIMIT
        && plan->problem.n <= profk__select_max(&plan->spec, PROFK__FILE_ROWS, &plan->ctx->device);
}

static profk_status take_rows(profk_plan *plan)
{
    if (!rows_fit(plan))
        return profk__fail(PROFK_ERR_UNSUPPORTED, "a row of %llu elements is too long for route rows on this device; use "
                           "route full", (unsigned long long)plan->problem.n);
    plan->params = (profk_params){0};
    plan->problem.route = PROFK_ROUTE_ROWS;
    return profk__layout_make(plan);
}

static int rows_are_faster(const profk_plan *plan)
{
    const profk_problem *p = &plan->problem;

    return rows_fit(plan) && (p->n <= plan->tuned.rows_n_max || p->rows >= plan->ctx->device.facts.compute_units);
}

/* The share that each of several rows has in the budget of a call, as far down as the parameters go. */
static double epsilon_of_row(const profk_problem *p)
{
    double epsilon = p->epsilon / (double)(p->rows > 0 ? p->rows : 1);

    return epsilon > PROFK__EPSILON_MIN_ROW ? epsilon : PROFK__EPSILON_MIN_ROW;
}

/* The sampled method pays for a row of this length and a buffer of this size. */
static int profk_pays(const profk_plan *plan, const profk_params *params)
{
    const struct profk__tuned *tuned = &plan->tuned;

    return plan->problem.n >= tuned->profk_n_min && params->M <= plan->problem.n / tuned->profk_share;
}

/* Rows read once, each by a work-item of its own: enough of them to keep every core busy, or fewer, in parts, of a
 * length at which that is faster.  Who forces what only the sampled method has is not taken from it. */
static int walk_pays(const profk_plan *plan)
{
    const profk_problem *p = &plan->problem;
    const profk_tuning *f = &plan->forced;
    uint32_t k = (uint32_t)p->k; /* at least 1 */
    int is_forced = f->S != 0 || f->t != 0 || f->M != 0 || f->count_start != 0 || f->filter_shape != 0;
    int is_batch = p->rows > 1 && p->rows >= plan->ctx->device.facts.compute_units;
    int is_short = p->n <= plan->tuned.rows_first_n
        && (p->n <= PROFK__WALK_WORK / k || p->n / PROFK__WALK_SHARE >= k);

    return !is_forced && k <= plan->tuned.rows_first_k && (is_batch || is_short) && rows_fit(plan)
        && profk__stage_rows_file(&plan->spec, p->n, k) == PROFK__FILE_SOLO;
}

/* A buffer that is too large for the device's own sample size may not be for the paper's. */
static profk_status choose(profk_plan *plan, const profk_params *params)
{
    profk_params others;

    if (walk_pays(plan) && take_rows(plan) == PROFK_OK)
        return PROFK_OK;
    if (profk_pays(plan, params) && take_profk(plan, params) == PROFK_OK)
        return PROFK_OK;
    if (choose_params(plan, BY_PAPER, &others) == PROFK_OK && profk_pays(plan, &others)
        && take_profk(plan, &others) == PROFK_OK)
        return PROFK_OK;
    if (rows_are_faster(plan) && take_rows(plan) == PROFK_OK)
        return PROFK_OK;
    return take_full(plan);
}

profk_status profk__route_choose(profk_plan *plan)
{
    profk_status st = PROFK_OK;
    const profk_problem *p = &plan->problem;
    profk_params params = {0};

    plan->epsilon_row = epsilon_of_row(p);
    plan->full_cut = profk__stage_full_cut(&plan->spec, &plan->ctx->device, p->n, (uint32_t)p->k, p->rows);
    if (profk__problem_is_empty(p)) {
        if (p->route == PROFK_ROUTE_AUTO)
            plan->problem.route = PROFK_ROUTE_FULL;
        goto done;
    }
    plan->row_cut = profk__stage_row_cut(&plan->spec, plan->ctx->device.facts.compute_units, p->n, (uint32_t)p->k,
                                         p->rows);
    plan->sort_parts = profk__stage_sort_parts(&plan->spec, plan->ctx->device.facts.compute_units, (uint32_t)p->k,
                                               p->rows);
    if (p->route == PROFK_ROUTE_FULL || p->route == PROFK_ROUTE_ROWS) {
        TRY(p->route == PROFK_ROUTE_FULL ? take_full(plan) : take_rows(plan));
        goto done;
    }
    TRY(choose_params(plan, BY_PRICE, &params));
    TRY(check_count_start(plan, &params));
    TRY(p->route == PROFK_ROUTE_PROFK ? take_profk(plan, &params) : choose(plan, &params));
done:
    return st;
}
