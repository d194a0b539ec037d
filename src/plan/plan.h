/*
 * plan.h: what a plan is and how its parts come about.
 *
 *   problem.c    the caller's wishes, checked, with every default filled in
 *   route.c      route and parameters S, t, M
 *   workspace.c  what stands where in the workspace, and how many rows share it
 *   plan.c       create, kernels, facts, destroy
 *   io.c         the buffers of a call, checked
 *   execute.c    the ladder of attempts: redraws happen here and nowhere else
 *   adapt.c      more room for the next calls where attempts miss more often than chance explains
 *   describe.c   the plan in words
 */
#ifndef PROFK_PLAN_PLAN_H
#define PROFK_PLAN_PLAN_H

#include "stages/stages.h"

enum { PROFK__ATTEMPTS_MAX = 6, PROFK__ATTEMPTS_MAX_ASYNC = 2 };

#define PROFK__EPSILON_MIN_ROW 1e-12
#define PROFK__COUNT_LIMIT (UINT64_C(1) << 31) /* S and M stay below */

enum { PROFK__RECALL, PROFK__OVERFLOW, PROFK__WAYS_TO_MISS };

/* Sections of the workspace.  Those of different groups below share the same bytes: they live at different times. */
enum profk__section {
    PROFK__SUMMARY, /* throughout a plan's life */
    PROFK__RESULTS, /* throughout a slab */
    PROFK__STATES,
    PROFK__LIST_A, /* of missed rows, in turn */
    PROFK__LIST_B,
    PROFK__WINNER_BITS,
    PROFK__WINNER_INDEX,
    PROFK__SAMPLE_BITS, /* until the threshold is known */
    PROFK__SAMPLE_INDEX,
    PROFK__CANDIDATE_BITS, /* from the filter to refine */
    PROFK__CANDIDATE_INDEX,
    PROFK__HISTOGRAM, /* in full */
    PROFK__COUNTS,
    PROFK__SORT_BITS, /* in the radix sort */
    PROFK__SORT_INDEX,
    PROFK__SORT_COUNTS,
    PROFK__SECTION_COUNT
};

struct profk__layout {
    uint64_t offset_nbytes[PROFK__SECTION_COUNT];
    uint64_t nbytes[PROFK__SECTION_COUNT]; /* 0: not used */
    uint64_t total_nbytes;
    uint64_t slots_max, capacity_max; /* pairs of a row that samples and candidates have room for, at least S and M */
    uint32_t rows; /* of a slab */
};

struct profk__workspace {
    cl_mem buffer; /* the plan's own or the caller's, retained, no sub-buffer; NULL before the first run */
    uint64_t start_nbytes; /* in it */
    cl_mem section[PROFK__SECTION_COUNT];
    int summary_is_written; /* the device has been told to write it */
};

/* What a plan remembers of its last call. */
struct profk__last {
    cl_event event;         /* of its last command, NULL if that is known to be complete */
    cl_command_queue queue; /* retained with event */
};

/* What a plan remembers of its misses; adapt.c. */
struct profk__watch {
    uint64_t attempts, misses[PROFK__WAYS_TO_MISS]; /* made when S, t, M last changed */
    uint64_t seen[PROFK__WAYS_TO_MISS];             /* when they were last judged */
    int exhausted[PROFK__WAYS_TO_MISS];             /* there is no more room against these */
    uint64_t adaptations;
};

struct profk_plan {
    profk_context *ctx;
    struct profk__tuned tuned; /* as the context had it */
    profk_problem problem; /* route as chosen; epsilon, seed and row_stride filled in */
    profk_tuning forced;
    uint32_t flags;
    const struct profk__type *type;
    struct profk__key_rule rule;
    struct profk__spec spec;
    profk_params params; /* of the next call; 0 on routes without a sample */
    double epsilon_row;
    struct profk__full_cut full_cut;
    struct profk__row_cut row_cut;
    uint32_t sort_parts;
    struct profk__layout layout;
    struct profk__workspace workspace;
    struct profk__kernel kernels[PROFK__KERNEL_COUNT];
    uint32_t launched;                /* files whose kernels have been enqueued, bits of enum profk__file */
    uint32_t stored;                  /* those whose programs were handed to the store */
    struct profk__last last;
    uint64_t call;                    /* counts calls, so that each draws anew */
    uint64_t calls, rows;             /* made, and served */
    struct profk__summary summary;    /* as last read */
    struct profk__summary summary_of_old; /* of workspaces that were replaced */
    struct profk__watch watch;
};

/* The buffers of a call, checked. */
struct profk__call {
    cl_command_queue queue;
    const profk_chunk *chunks; /* the caller's; those without elements may be among them */
    uint64_t chunk_count;
    struct profk__output output;
    cl_uint wait_count;
    const cl_event *wait_list;
};

/* A call selects nothing: k = 0 or no rows. */
int profk__problem_is_empty(const profk_problem *problem);

/* profk_execute() returns before the work is done. */
int profk__plan_is_async(const profk_plan *plan);

/* The full selection may have to run: as route, as last resort, or for a single row of route rows that comes in several
 * chunks, which a work-group cannot select alone. */
int profk__plan_may_run_full(const profk_plan *plan);

/* Attempts before the full selection: 6, asynchronous 2, approximate 1. */
uint32_t profk__plan_attempts_max(const profk_plan *plan);

/* Copies and checks p; ret has defaults filled in except for route, epsilon_row and what belongs to it. */
profk_status profk__problem_check(const profk_problem *p, const struct profk__tuned *tuned, profk_problem *ret);

/* Copies and checks forced (NULL: nothing forced) against a checked problem. */
profk_status profk__tuning_check(const profk_tuning *forced, const profk_problem *problem, profk_tuning *ret);

/* Chooses route, parameters and layout of a plan whose problem, forced, flags, type and spec are set. */
profk_status profk__route_choose(profk_plan *plan);

/* Lays out the workspace for plan->problem.route and plan->params; ERR_UNSUPPORTED if one row exceeds the limit. */
profk_status profk__layout_make(profk_plan *plan);

/* Cuts buffer, from offset_nbytes on, into the plan's sections. */
profk_status profk__workspace_cut(profk_plan *plan, cl_mem buffer, uint64_t offset_nbytes);

/* Of a sub-buffer: its parent, and the place there. */
profk_status profk__find_parent(cl_mem *buffer, uint64_t *offset_nbytes);
profk_status profk__workspace_allocate(profk_plan *plan);
void profk__workspace_release(profk_plan *plan);

/* tuned is copied. */
profk_status profk__plan_create(profk_context *ctx, const struct profk__tuned *tuned, const profk_problem *p,
                                const profk_tuning *forced, uint32_t flags, profk_plan **ret);
void profk__plan_destroy(profk_plan *plan);
void profk__plan_info(const profk_plan *plan, profk_info *ret);

/* Waits for the last call, reads what it counted, and adapts. */
profk_status profk__plan_settle(profk_plan *plan);

/*
 * Hands the programs of a plan whose launches are all complete to the context's store: those of its first run, and once
 * more if a later one was the first to need `full`.  Every other time it does nothing, so that no later run touches a
 * file.
 */
void profk__plan_store_programs(profk_plan *plan);

/* May S, t, M of this plan change?  They are not forced. */
int profk__plan_adapts(const profk_plan *plan);

/* The most that S and M of this plan may become, whatever the memory. */
uint64_t profk__plan_slots_most(const profk_plan *plan);
uint64_t profk__plan_capacity_most(const profk_plan *plan);

/* Chooses S, t, M anew if the attempts counted so far missed too often; no call of the plan is on its way. */
void profk__plan_adapt(profk_plan *plan);

/* What was counted in all workspaces of the plan, as last read. */
struct profk__summary profk__plan_counts(const profk_plan *plan);

/* profk_stats of the first release. */
#define PROFK__FIRST_STATS_NBYTES offsetof(profk_stats, adaptations)

/* What plan has done; settled before. */
void profk__plan_stats(const profk_plan *plan, profk_stats *ret);

/* Creates what the plan still lacks of the kernels that `route` takes. */
profk_status profk__plan_need_kernels(profk_plan *plan, uint32_t route);

void profk__plan_describe(const profk_plan *plan, struct profk__text *text);

/* Checks io against plan.  ret borrows io's chunks. */
profk_status profk__io_check(const profk_plan *plan, cl_command_queue queue, const profk_io *io, cl_uint wait_count,
                             const cl_event *wait_list, struct profk__call *ret);

profk_status profk__execute(profk_plan *plan, const struct profk__call *call, cl_event *event_ret);

#endif
