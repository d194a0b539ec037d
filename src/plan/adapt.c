/*
 * adapt.c: a plan watches whether it misses as seldom as epsilon promises, and makes room where it does not.
 *
 * Misses are independent of the input, so an excess means that something else is wrong: a source of randomness, a
 * device.  It costs time, never the answer.  At the end of a call whose counts the host has anyway (exact: read for the
 * ladder; asynchronous: when the plan is settled) the misses since the last change are compared with epsilon_row / 2,
 * the budget of each of the two ways to miss.  If chance does not explain them, the next calls get
 *
 *   recall misses   a higher rank t, for a sixteenth of the failure probability that it has now, and Theorem 4's M
 *   overflows       all the slots that the workspace has
 *   either          where that is all taken, twice the sample: the same buffer then has a margin on both sides
 *
 * and counting begins anew.  The workspace stays: the sections of samples and of candidates have been cut as large as
 * the bytes that they share (workspace.c), and one of the two has room wherever they are not the same size.  Where
 * neither has any, this is said once.  What is forced holds for every attempt, so a plan of forced S, t or M does not
 * adapt.
 */
#include "plan/plan.h"

#include "params/params.h"

#include <math.h>
#include <string.h>

#define RECALL_STEP 16

int profk__plan_adapts(const profk_plan *plan)
{
    const profk_tuning *f = &plan->forced;

    return plan->problem.route == PROFK_ROUTE_PROFK && !profk__problem_is_empty(&plan->problem) && f->S == 0
        && f->t == 0 && f->M == 0;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most_pairs(const profk_plan *plan, enum profk__file file)
{
    uint64_t most = profk__select_max(&plan->spec, file, &plan->ctx->device);

    return least_of(least_of(most, PROFK__COUNT_LIMIT - 1), plan->problem.n);
}

uint64_t profk__plan_slots_most(const profk_plan *plan)
{
    return most_pairs(plan, PROFK__FILE_THRESHOLD);
}

uint64_t profk__plan_capacity_most(const profk_plan *plan)
{
    uint64_t most = most_pairs(plan, PROFK__FILE_REFINE), hook = plan->forced.count_start;

    return hook == 0 || most < hook ? most : hook - 1; /* a count that starts within the buffer would certify it */
}

static profk_status find_probabilities(const profk_plan *plan, profk_params *params)
{
    return profk_failure_probability(plan->problem.n, plan->problem.k, params->S, params->t, params->M,
                                     &params->fail_recall, &params->fail_overflow);
}

/* The next rank for a sample of S that brings Pr(R < k) down to eps_recall as far as the slots go, above `above`. */
static uint64_t find_rank(const profk_plan *plan, uint64_t S, uint64_t above, double eps_recall)
{
    return profk__higher_rank(plan->problem.n, plan->problem.k, S, above, eps_recall, plan->layout.capacity_max,
                              plan->epsilon_row / 2);
}

/* Against recall misses, by a higher rank or a larger sample.  The arguments are in range, so nothing here fails. */
static void against_recall(const profk_plan *plan, profk_params *next)
{
    const profk_params *now = &plan->params;
    double eps_recall = now->fail_recall / RECALL_STEP;
    uint64_t M = 0;

    next->t = find_rank(plan, now->S, now->t, eps_recall);
    if (next->t == now->t) {
        next->S = least_of(2 * now->S, plan->layout.slots_max);
        next->t = find_rank(plan, next->S, 0, eps_recall);
    }
    if (next->t > 0 && profk__buffer_capacity(plan->problem.n, plan->problem.k, next->S, next->t,
                                              plan->epsilon_row / 2, &M) == PROFK_OK)
        next->M = M > now->M ? M : now->M;
}

/* Against overflows, by more slots or, for these, a larger sample. */
static void against_overflow(const profk_plan *plan, profk_params *next)
{
    const profk_params *now = &plan->params;

    next->M = plan->layout.capacity_max;
    if (next->M > now->M || plan->problem.recall != 0) /* which t goes with another S is then no matter of budgets */
        return;
    next->S = least_of(2 * now->S, plan->layout.slots_max);
    next->t = find_rank(plan, next->S, 0, fmin(now->fail_recall, plan->epsilon_row / 2));
}

static const struct {
    const char *what;
    void (*change)(const profk_plan *plan, profk_params *next);
    size_t probability; /* its place in profk_params */
} ways_to_miss[PROFK__WAYS_TO_MISS] = {
    {"lost an element of the top k", against_recall, offsetof(profk_params, fail_recall)},
    {"overflowed the buffer", against_overflow, offsetof(profk_params, fail_overflow)},
};

static double probability(const profk_params *params, int way)
{
    double ret;

    memcpy(&ret, (const char *)params + ways_to_miss[way].probability, sizeof ret);
    return ret;
}

/* Parameters that miss less often in this way; false if there are none. */
static int find_better(const profk_plan *plan, int way, profk_params *next)
{
    *next = plan->params;
    ways_to_miss[way].change(plan, next);
    return next->t > 0 && find_probabilities(plan, next) == PROFK_OK
        && probability(next, way) < probability(&plan->params, way);
}

/* Level 1: it is news whatever the flags are. */
static void tell(const profk_plan *plan, const char *what, uint64_t misses, uint64_t attempts,
                 const profk_params *next /* NULL: nothing better */)
{
    const profk_options *options = &plan->ctx->options;
    const profk_params *now = &plan->params;
    char line[320];
    struct profk__text text = profk__text_in(line, sizeof line);

    if (options->log == NULL)
        return;
    profk__text_add(&text, "%llu of %llu attempts %s, more than a budget of %.3g explains: ",
                    (unsigned long long)misses, (unsigned long long)attempts, what, plan->epsilon_row / 2);
    if (next == NULL)
        profk__text_add(&text, "the workspace has no room for more than");
    else
        profk__text_add(&text, "from now on S = %llu, t = %llu, M = %llu instead of", (unsigned long long)next->S,
                        (unsigned long long)next->t, (unsigned long long)next->M);
    profk__text_add(&text, " S = %llu, t = %llu, M = %llu", (unsigned long long)now->S, (unsigned long long)now->t,
                    (unsigned long long)now->M);
    options->log(options->user, 1, line);
}

/* Both ways to miss have other probabilities now, so both are counted anew. */
static void take(profk_plan *plan, const profk_params *next, const struct profk__summary *counts)
{
    plan->params = *next;
    plan->watch.adaptations++;
    memset(plan->watch.exhausted, 0, sizeof plan->watch.exhausted);
    plan->watch.attempts = counts->attempts;
    plan->watch.misses[PROFK__RECALL] = plan->watch.seen[PROFK__RECALL] = counts->recall_misses;
    plan->watch.misses[PROFK__OVERFLOW] = plan->watch.seen[PROFK__OVERFLOW] = counts->overflows;
}

void profk__plan_adapt(profk_plan *plan)
{
    struct profk__watch *watch = &plan->watch;
    const struct profk__summary counts = profk__plan_counts(plan);
    const uint64_t misses[PROFK__WAYS_TO_MISS] = {counts.recall_misses, counts.overflows};
    const uint64_t attempts = counts.attempts - watch->attempts;

    if (!profk__plan_adapts(plan))
        return;
    for (int way = 0; way < PROFK__WAYS_TO_MISS; way++) {
        profk_params next;
        if (misses[way] == watch->seen[way] || watch->exhausted[way])
            continue; /* nothing new to suspect, or to do */
        watch->seen[way] = misses[way];
        if ((way == PROFK__RECALL && plan->problem.recall != 0) /* the budget is another */
            || !profk__misses_exceed(attempts, misses[way] - watch->misses[way], plan->epsilon_row / 2))
            continue;
        watch->exhausted[way] = !find_better(plan, way, &next);
        tell(plan, ways_to_miss[way].what, misses[way] - watch->misses[way], attempts,
             watch->exhausted[way] ? NULL : &next);
        if (!watch->exhausted[way]) {
            take(plan, &next, &counts);
            break;
        }
    }
}
