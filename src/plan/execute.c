/*
 * execute.c: one call, the ladder of attempts.
 *
 *   attempt 1..6   sample | threshold | filter | refine | sort, then one blocking read of the row's state
 *   full           radix selection over the input | sort, the last resort, or at once on route full
 *
 * An attempt is enqueued whole: refine and sort read on the device whether the row is certified.  The caller's
 * row results are PENDING from the start of the call and get the row's state behind each attempt, so that they never
 * say CERTIFIED of a row whose results were not written.
 */
#include "plan/plan.h"

#include "base/entropy.h"

struct run {
    profk_plan *plan;
    const struct profk__call *call;
    struct profk__chain chain;
    struct profk__task task;
    profk_row row; /* as last read */
};

static struct profk__pairs pairs(const struct run *run, enum profk__section bits)
{
    const struct profk__workspace *workspace = &run->plan->workspace;

    return (struct profk__pairs){workspace->section[bits], workspace->section[bits + 1]};
}

/* Differs for each plan, call and attempt, so that redraws and repeated calls are independent. */
static uint64_t sample_key(const profk_plan *plan, uint32_t attempt)
{
    return profk__mix64(profk__mix64(plan->problem.seed + plan->call * UINT64_C(0x9e3779b97f4a7c15)) + attempt);
}

static profk_status enqueue_sort(struct run *run, int by_index)
{
    profk_status st = PROFK_OK;
    const struct profk__workspace *workspace = &run->plan->workspace;
    struct profk__sort_scratch scratch = {pairs(run, PROFK__SORT_BITS), workspace->section[PROFK__SORT_COUNTS]};

    if (run->call->output.values != NULL || run->call->output.indices != NULL)
        TRY(profk__stage_sort(&run->chain, &run->task, pairs(run, PROFK__WINNER_BITS), by_index, scratch,
                              &run->call->output));
    if (run->call->row_results != NULL)
        TRY(profk__chain_copy(&run->chain, run->task.row, 0, run->call->row_results, run->call->row_results_nbytes,
                              sizeof(profk_row)));
done:
    return st;
}

static profk_status enqueue_attempt(struct run *run, uint32_t attempt)
{
    profk_status st = PROFK_OK;
    const profk_plan *plan = run->plan;
    uint32_t slots = (uint32_t)plan->params.S, t = (uint32_t)plan->params.t, capacity = (uint32_t)plan->params.M;
    uint64_t count_start = attempt == 1 ? plan->forced.count_start : 0;
    struct profk__pairs sample = pairs(run, PROFK__SAMPLE_BITS), candidates = pairs(run, PROFK__CANDIDATE_BITS);

    TRY(profk__stage_sample(&run->chain, &run->task, &run->call->piece, slots, sample_key(plan, attempt), sample));
    TRY(profk__stage_threshold(&run->chain, &run->task, sample, slots, t, count_start,
                               count_start > 0 ? capacity : 0));
    TRY(profk__stage_filter(&run->chain, &run->task, &run->call->piece, 1, capacity, candidates));
    TRY(profk__stage_refine(&run->chain, &run->task, candidates, capacity, attempt, pairs(run, PROFK__WINNER_BITS)));
    TRY(enqueue_sort(run, 0));
done:
    return st;
}

static profk_status enqueue_full(struct run *run, uint32_t attempts)
{
    profk_status st = PROFK_OK;
    const struct profk__workspace *workspace = &run->plan->workspace;

    TRY(profk__stage_full(&run->chain, &run->task, &run->call->piece, run->plan->segments, attempts,
                          workspace->section[PROFK__HISTOGRAM], workspace->section[PROFK__COUNTS],
                          pairs(run, PROFK__WINNER_BITS)));
    TRY(enqueue_sort(run, 1));
done:
    return st;
}

/* The call's one kind of blocking: until the attempt is done and the row's state is here. */
static profk_status wait_for_row(struct run *run)
{
    return profk__chain_read(&run->chain, run->task.row, 0, sizeof run->row, &run->row);
}

static profk_status check_progress(const struct run *run, uint32_t attempt)
{
    const profk_options *options = &run->plan->ctx->options;

    if (options->progress == NULL
        || options->progress(options->user, "selecting", (attempt - 1.0) / (PROFK__ATTEMPTS_MAX + 1)) == 0)
        return PROFK_OK;
    return profk__fail(PROFK_ERR_CANCELLED, "stopped by the caller before attempt %u", (unsigned)attempt);
}

static void count_attempt(profk_stats *stats, const profk_row *row, uint32_t attempt)
{
    stats->attempts++;
    stats->redraws += attempt > 1;
    stats->recall_misses += row->status == PROFK_ROW_RECALL_MISS;
    stats->overflows += row->status == PROFK_ROW_OVERFLOW;
}

/* Up to six attempts; run->row tells whether the last one was certified. */
static profk_status climb(struct run *run)
{
    profk_status st = PROFK_OK;

    for (uint32_t attempt = 1; attempt <= PROFK__ATTEMPTS_MAX; attempt++) {
        TRY(check_progress(run, attempt));
        TRY(enqueue_attempt(run, attempt));
        TRY(wait_for_row(run));
        count_attempt(&run->plan->stats, &run->row, attempt);
        if (run->row.status == PROFK_ROW_CERTIFIED)
            break;
    }
done:
    return st;
}

static profk_status select_full(struct run *run, uint32_t attempts)
{
    profk_status st = PROFK_OK;

    TRY(check_progress(run, attempts));
    TRY(profk__plan_need_kernels(run->plan, PROFK_ROUTE_FULL));
    TRY(enqueue_full(run, attempts));
    TRY(wait_for_row(run));
    if (run->row.status != PROFK_ROW_CERTIFIED)
        st = profk__fail(PROFK_ERR_INTERNAL, "the full selection ended without a certificate; report this");
done:
    return st;
}

static profk_status select_row(struct run *run)
{
    profk_status st = PROFK_OK;
    profk_plan *plan = run->plan;
    const profk_row pending = {PROFK_ROW_PENDING, 0, 0};

    if (run->call->row_results != NULL)
        TRY(profk__chain_fill(&run->chain, run->call->row_results, &pending, run->call->row_results_nbytes,
                              sizeof pending));
    if (plan->problem.route == PROFK_ROUTE_FULL) {
        TRY(select_full(run, 1));
    } else {
        TRY(climb(run));
        if (run->row.status != PROFK_ROW_CERTIFIED) {
            TRY(select_full(run, PROFK__ATTEMPTS_MAX + 1));
            plan->stats.fallbacks++;
        }
    }
    plan->stats.last_route = run->row.attempts > PROFK__ATTEMPTS_MAX ? PROFK_ROUTE_FULL : plan->problem.route;
done:
    return st;
}

/* k = 0 or no rows: certified, nothing selected. */
static profk_status select_nothing(struct run *run)
{
    profk_status st = PROFK_OK;
    const profk_row certified = {PROFK_ROW_CERTIFIED, 0, 0};

    if (run->call->row_results != NULL)
        TRY(profk__chain_fill(&run->chain, run->call->row_results, &certified, run->call->row_results_nbytes,
                              sizeof certified));
    else
        TRY_CL(clEnqueueMarkerWithWaitList(run->call->queue, run->call->wait_count, run->call->wait_list,
                                           &run->chain.last));
    TRY_CL(clWaitForEvents(1, &run->chain.last));
    run->row = certified;
    run->plan->stats.last_route = run->plan->problem.route;
done:
    return st;
}

profk_status profk__execute(profk_plan *plan, const struct profk__call *call, cl_event *event_ret)
{
    profk_status st = PROFK_OK;
    struct run run = {
        .plan = plan,
        .call = call,
        .chain = {call->queue, NULL, call->wait_count, call->wait_list, &plan->ctx->options},
    };

    plan->call++;
    plan->stats.calls++;
    if (profk__problem_is_empty(&plan->problem)) {
        TRY(select_nothing(&run));
    } else {
        if (plan->workspace.buffer == NULL)
            TRY(profk__workspace_allocate(plan));
        run.task = (struct profk__task){plan->kernels, &plan->spec, plan->rule, plan->problem.n,
                                        (uint32_t)plan->problem.k, plan->workspace.section[PROFK__ROW]};
        TRY(select_row(&run));
    }
    plan->stats.rows += plan->problem.rows;
    plan->stats.last_attempts = run.row.attempts;
    plan->last_row = run.row;
    if (event_ret != NULL) {
        *event_ret = run.chain.last;
        run.chain.last = NULL;
    }
done:
    profk__chain_fini(&run.chain);
    return st;
}
