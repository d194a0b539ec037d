/*
 * execute.c: one call, the ladder of attempts.
 *
 *   attempt   sample | threshold | filter | refine | sort | collect the rows that missed
 *   full      radix selection over the input | sort, the last resort, or at once on route full
 *   rows      one work-group a row; a row in several chunks goes to full where walks do not take it (stages/rows.c)
 *
 * Rows are served in slabs.  An exact call waits at the end of an attempt for the number of rows that missed, repeats
 * it for these rows, at most six times, and then runs the full selection for what is left.  An asynchronous call
 * enqueues attempt, one redraw and full at once; the last two find the rows they serve in a list that the device made,
 * and return at once where it is empty.  An approximate call makes one attempt.
 *
 * The caller's row results are PENDING from the start of the call.  The launch that finishes rows on route rows writes
 * them itself, behind the rows; else they get a copy of the rows' results behind each attempt, so that they never say
 * CERTIFIED of a row whose values and indices were not written.
 */
#include "plan/plan.h"

#include "base/entropy.h"

enum { LIST_GROUPS_PER_UNIT = 4 };

struct run {
    profk_plan *plan;
    const struct profk__call *call;
    struct profk__chain chain;
    struct profk__task task;
};

/* Kernels of this file are about to be enqueued. */
static void launches(struct run *run, enum profk__file file)
{
    run->plan->launched |= UINT32_C(1) << file;
}

static struct profk__pairs pairs(const struct run *run, enum profk__section bits)
{
    const struct profk__workspace *workspace = &run->plan->workspace;

    return (struct profk__pairs){workspace->section[bits], workspace->section[bits + 1]};
}

/* Chunk `number` as a piece of the slab's rows. */
static struct profk__piece next_piece(const void *from, uint64_t number, uint64_t *first)
{
    const struct run *run = from;
    const profk_chunk *chunk = &run->call->chunks[number];
    struct profk__piece piece = {
        .buffer = chunk->buffer,
        .start = chunk->offset + run->task.first_row * run->task.stride,
        .first = *first,
        .count = chunk->count,
    };

    *first += chunk->count;
    return piece;
}

/* Differs for each plan, call and attempt, so that redraws and repeated calls are independent; rows differ by
 * number (cl/permute.clh). */
static uint64_t sample_key(const profk_plan *plan, uint32_t attempt)
{
    return profk__mix64(profk__mix64(plan->problem.seed + plan->call * UINT64_C(0x9e3779b97f4a7c15)) + attempt);
}

static profk_status enqueue_sort(struct run *run, int by_index)
{
    const struct profk__workspace *workspace = &run->plan->workspace;
    struct profk__sort_scratch scratch = {pairs(run, PROFK__SORT_BITS), workspace->section[PROFK__SORT_COUNTS]};

    if (run->call->output.values == NULL && run->call->output.indices == NULL)
        return PROFK_OK;
    launches(run, PROFK__FILE_SORT);
    return profk__stage_sort(&run->chain, &run->task, pairs(run, PROFK__WINNER_BITS), by_index, scratch,
                             &run->call->output);
}

/* The results of the slab's rows become the caller's. */
static profk_status enqueue_results(struct run *run)
{
    const struct profk__task *task = &run->task;
    const struct profk__output *output = &run->call->output;
    uint64_t start = output->row_results_start + task->first_row;

    if (output->row_results == NULL)
        return PROFK_OK;
    return profk__chain_copy(&run->chain, task->results, 0, output->row_results, (size_t)start * sizeof(profk_row),
                             (size_t)task->rows * sizeof(profk_row));
}

static profk_status enqueue_filter(struct run *run, uint32_t capacity)
{
    profk_status st = PROFK_OK;
    uint64_t first = 0;

    launches(run, run->plan->spec.filter_shape == PROFK_SHAPE_STREAM ? PROFK__FILE_STREAM : PROFK__FILE_FILTER);
    for (uint64_t i = 0; i < run->call->chunk_count; i++) {
        struct profk__piece piece = next_piece(run, i, &first);
        TRY(profk__stage_filter(&run->chain, &run->task, &piece, i + 1 == run->call->chunk_count, capacity,
                                pairs(run, PROFK__CANDIDATE_BITS)));
    }
done:
    return st;
}

static profk_status enqueue_sample(struct run *run, uint32_t slots, uint32_t attempt)
{
    profk_status st = PROFK_OK;
    uint64_t first = 0;

    launches(run, PROFK__FILE_SAMPLE);
    for (uint64_t i = 0; i < run->call->chunk_count; i++) {
        struct profk__piece piece = next_piece(run, i, &first);
        TRY(profk__stage_sample(&run->chain, &run->task, &piece, slots, sample_key(run->plan, attempt),
                                pairs(run, PROFK__SAMPLE_BITS)));
    }
done:
    return st;
}

/* The list that attempt `attempt` makes of the rows it missed; the next attempt serves it. */
static cl_mem missed_of(const struct run *run, uint32_t attempt)
{
    return run->plan->workspace.section[attempt % 2 != 0 ? PROFK__LIST_A : PROFK__LIST_B];
}

static profk_status enqueue_attempt(struct run *run, uint32_t attempt)
{
    profk_status st = PROFK_OK;
    const profk_plan *plan = run->plan;
    struct profk__chain *chain = &run->chain;
    struct profk__task *task = &run->task;
    uint32_t slots = (uint32_t)plan->params.S, t = (uint32_t)plan->params.t, capacity = (uint32_t)plan->params.M;
    uint32_t approximate = plan->problem.mode == PROFK_MODE_APPROXIMATE;
    uint32_t falls_back = attempt == profk__plan_attempts_max(plan) && !approximate;
    uint64_t count_start = attempt == 1 ? plan->forced.count_start : 0;

    task->list = attempt == 1 ? NULL : missed_of(run, attempt - 1);
    TRY(enqueue_sample(run, slots, attempt));
    launches(run, PROFK__FILE_THRESHOLD);
    launches(run, PROFK__FILE_REFINE);
    TRY(profk__stage_threshold(chain, task, pairs(run, PROFK__SAMPLE_BITS), slots, t, count_start,
                               count_start > 0 ? capacity : 0));
    TRY(enqueue_filter(run, capacity));
    TRY(profk__stage_refine(chain, task, pairs(run, PROFK__CANDIDATE_BITS), capacity, attempt, approximate,
                            pairs(run, PROFK__WINNER_BITS)));
    TRY(enqueue_sort(run, 0));
    TRY(profk__stage_collect(chain, task, attempt, falls_back, !plan->workspace.summary_is_written,
                             missed_of(run, attempt), plan->workspace.section[PROFK__SUMMARY]));
    run->plan->workspace.summary_is_written = 1;
done:
    return st;
}

/* attempts: what the rows' results say; the list, if any, is set by the caller. */
static profk_status enqueue_full(struct run *run, uint32_t attempts)
{
    profk_status st = PROFK_OK;
    const struct profk__workspace *workspace = &run->plan->workspace;
    struct profk__pieces pieces = {run, run->call->chunk_count, next_piece};

    launches(run, PROFK__FILE_FULL);
    TRY(profk__stage_full(&run->chain, &run->task, pieces, run->plan->full_cut, attempts,
                          workspace->section[PROFK__HISTOGRAM], workspace->section[PROFK__COUNTS],
                          pairs(run, PROFK__WINNER_BITS)));
    TRY(enqueue_sort(run, 1));
done:
    return st;
}

/* The blocking end of an exact attempt: how many rows missed. */
static profk_status wait_for_summary(struct run *run)
{
    profk_plan *plan = run->plan;

    return profk__chain_read(&run->chain, plan->workspace.section[PROFK__SUMMARY], 0, sizeof plan->summary,
                             &plan->summary);
}

static profk_status check_progress(const struct run *run, uint32_t attempt)
{
    const profk_options *options = &run->plan->ctx->options;
    double rungs = profk__plan_attempts_max(run->plan) + 1.0;
    double rows_done = (double)run->task.first_row + run->task.rows * (attempt - 1) / rungs;

    if (options->progress == NULL
        || options->progress(options->user, "selecting", rows_done / (double)run->plan->problem.rows) == 0)
        return PROFK_OK;
    return profk__fail(PROFK_ERR_CANCELLED, "stopped by the caller before attempt %u", (unsigned)attempt);
}

/* Exact: attempt, wait, repeat for the rows that missed, then full for what is left. */
static profk_status climb(struct run *run)
{
    profk_status st = PROFK_OK;
    profk_plan *plan = run->plan;
    uint32_t attempt = 1;

    for (; attempt <= PROFK__ATTEMPTS_MAX; attempt++) {
        TRY(check_progress(run, attempt));
        TRY(enqueue_attempt(run, attempt));
        TRY(enqueue_results(run));
        TRY(wait_for_summary(run));
        if (plan->summary.missed == 0)
            goto done;
        run->task.listed = plan->summary.missed;
    }
    TRY(check_progress(run, attempt));
    TRY(profk__plan_need_kernels(plan, PROFK_ROUTE_FULL));
    run->task.list = missed_of(run, attempt - 1);
    TRY(enqueue_full(run, attempt));
    TRY(enqueue_results(run));
    TRY(wait_for_summary(run));
done:
    return st;
}

/* Asynchronous: all rungs of the ladder at once; the later ones serve lists that may turn out empty. */
static profk_status enqueue_ladder(struct run *run)
{
    profk_status st = PROFK_OK;
    uint32_t attempt = 1, attempts_max = profk__plan_attempts_max(run->plan);

    for (; attempt <= attempts_max; attempt++)
        TRY(enqueue_attempt(run, attempt));
    if (run->plan->problem.mode == PROFK_MODE_EXACT) {
        run->task.list = missed_of(run, attempts_max);
        TRY(enqueue_full(run, attempt));
    }
    TRY(enqueue_results(run));
done:
    return st;
}

/* Where rows are finished in one launch, that has written the caller's results, too. */
static profk_status enqueue_rows(struct run *run)
{
    profk_status st = PROFK_OK;
    profk_plan *plan = run->plan;
    struct profk__pieces pieces = {run, run->call->chunk_count, next_piece};

    launches(run, profk__stage_rows_file(&plan->spec, plan->problem.n, run->task.k));
    TRY(profk__stage_rows(&run->chain, &run->task, pieces, &run->call->output, pairs(run, PROFK__WINNER_BITS),
                          pairs(run, PROFK__SORT_BITS)));
    if (profk__stage_rows_finishes(&plan->spec, run->task.k))
        goto done;
    TRY(enqueue_sort(run, 0));
    TRY(enqueue_results(run));
done:
    return st;
}

static profk_status select_slab(struct run *run)
{
    profk_status st = PROFK_OK;
    profk_plan *plan = run->plan;

    run->task.list = NULL;
    if (plan->problem.route == PROFK_ROUTE_PROFK)
        return profk__plan_is_async(plan) ? enqueue_ladder(run) : climb(run);

    TRY(check_progress(run, 1));
    if (plan->problem.route == PROFK_ROUTE_FULL || (run->call->chunk_count > 1 && plan->row_cut.kept == 0)) {
        TRY(profk__plan_need_kernels(plan, PROFK_ROUTE_FULL));
        TRY(enqueue_full(run, 1));
        TRY(enqueue_results(run));
    } else {
        TRY(enqueue_rows(run));
    }
    plan->summary.last_attempts = 1;
done:
    return st;
}

/* A launch that serves a list has a small grid whose groups take many tasks, unless the device must have short loops. */
static uint32_t list_groups(const struct profk__device *device)
{
    return device->loop_max == 0 ? device->facts.compute_units * LIST_GROUPS_PER_UNIT : UINT32_MAX;
}

static struct profk__task make_task(const profk_plan *plan)
{
    const struct profk__workspace *workspace = &plan->workspace;
    const profk_problem *p = &plan->problem;

    return (struct profk__task){
        .kernels = plan->kernels,
        .spec = &plan->spec,
        .rule = plan->rule,
        .n = p->n,
        .stride = p->row_stride,
        .k = (uint32_t)p->k,
        .list_groups = list_groups(&plan->ctx->device),
        .row_cut = plan->row_cut,
        .sort_parts = plan->sort_parts,
        .results = workspace->section[PROFK__RESULTS],
        .states = workspace->section[PROFK__STATES],
    };
}

/* Fills the caller's row results. */
static profk_status fill_results(struct run *run, uint32_t status)
{
    const profk_row row = {status, 0, 0};
    const struct profk__output *output = &run->call->output;

    if (output->row_results == NULL)
        return PROFK_OK;
    return profk__chain_fill(&run->chain, output->row_results, &row, (size_t)output->row_results_start * sizeof row,
                             (size_t)run->plan->problem.rows * sizeof row);
}

static profk_status select_rows(struct run *run)
{
    profk_status st = PROFK_OK;
    profk_plan *plan = run->plan;

    if (plan->workspace.buffer == NULL)
        TRY(profk__workspace_allocate(plan));
    run->task = make_task(plan);
    TRY(fill_results(run, PROFK_ROW_PENDING));
    for (uint64_t first = 0; first < plan->problem.rows; first += plan->layout.rows) {
        uint64_t left = plan->problem.rows - first;
        run->task.first_row = first;
        run->task.rows = left < plan->layout.rows ? (uint32_t)left : plan->layout.rows;
        run->task.listed = run->task.rows;
        TRY(select_slab(run));
    }
done:
    return st;
}

/* k = 0 or no rows: certified, nothing selected. */
static profk_status select_nothing(struct run *run)
{
    profk_status st = PROFK_OK;

    TRY(fill_results(run, PROFK_ROW_CERTIFIED));
    if (run->chain.last == NULL)
        TRY_CL(clEnqueueMarkerWithWaitList(run->call->queue, run->chain.wait_count, run->chain.wait_list,
                                           &run->chain.last));
    run->plan->summary.last_attempts = 0;
done:
    return st;
}

/* Is the plan's last call still on its way?  One that failed is over, too, and must not fail this one. */
static int last_call_runs(const profk_plan *plan)
{
    cl_int status = CL_QUEUED;

    if (plan->last.event == NULL)
        return 0;
    clGetEventInfo(plan->last.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status > CL_COMPLETE;
}

/* The first command waits for the caller's events and for the plan's last call. */
static profk_status start_chain(struct run *run, cl_event waits[2])
{
    profk_status st = PROFK_OK;
    const struct profk__call *call = run->call;

    run->chain = (struct profk__chain){call->queue, NULL, call->wait_count, call->wait_list, &run->plan->ctx->options};
    if (!last_call_runs(run->plan))
        goto done;
    run->chain.wait_count = 1;
    run->chain.wait_list = waits;
    waits[0] = run->plan->last.event;
    if (call->wait_count > 0) {
        TRY_CL(clEnqueueMarkerWithWaitList(call->queue, call->wait_count, call->wait_list, &waits[1]));
        run->chain.wait_count = 2;
    }
done:
    return st;
}

/* Waits or, asynchronous, remembers the last command. */
static profk_status end_chain(struct run *run)
{
    profk_status st = PROFK_OK;
    profk_plan *plan = run->plan;

    if (!profk__plan_is_async(plan)) {
        if (plan->problem.route != PROFK_ROUTE_PROFK || profk__problem_is_empty(&plan->problem))
            TRY(profk__chain_wait(&run->chain)); /* route profk has waited for the summary */
        profk__plan_store_programs(plan);
        profk__plan_adapt(plan);
        goto done;
    }
    TRY_CL(clFlush(run->call->queue));
    TRY_CL(clRetainEvent(run->chain.last));
    profk__release_event(plan->last.event);
    plan->last.event = run->chain.last;
    if (plan->last.queue != run->call->queue) {
        TRY_CL(clRetainCommandQueue(run->call->queue));
        profk__release_queue(plan->last.queue);
        plan->last.queue = run->call->queue;
    }
done:
    return st;
}

profk_status profk__execute(profk_plan *plan, const struct profk__call *call, cl_event *event_ret)
{
    profk_status st = PROFK_OK;
    struct run run = {.plan = plan, .call = call};
    cl_event waits[2] = {NULL, NULL};

    plan->call++;
    plan->calls++;
    TRY(start_chain(&run, waits));
    TRY(profk__problem_is_empty(&plan->problem) ? select_nothing(&run) : select_rows(&run));
    TRY(end_chain(&run));
    plan->rows += plan->problem.rows;
    if (event_ret != NULL) {
        *event_ret = run.chain.last;
        run.chain.last = NULL;
    }
done:
    profk__release_event(waits[1]);
    profk__chain_fini(&run.chain, st != PROFK_OK);
    return st;
}
