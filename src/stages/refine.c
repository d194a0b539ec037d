/* refine.c: the check of R, the exact top k of the candidates, and the list of the rows that missed. */
#include "stages/stages.h"

profk_status profk__stage_refine(struct profk__chain *chain, const struct profk__task *task,
                                 struct profk__pairs candidates, uint32_t capacity, uint32_t attempt,
                                 uint32_t approximate, struct profk__pairs winners)
{
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, 1, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(candidates.bits), PROFK__ARG(candidates.index), PROFK__ARG(task->k),
        PROFK__ARG(capacity),        PROFK__ARG(attempt),          PROFK__ARG(approximate),
        PROFK__RULE(task->rule),     PROFK__ARG(rows),             PROFK__ARG(list),
        PROFK__ARG(task->results),   PROFK__ARG(task->states),     PROFK__ARG(winners.bits),
        PROFK__ARG(winners.index),
    };

    return profk__launch(chain, &task->kernels[PROFK__KERNEL_refine], args, PROFK__COUNT(args), groups);
}

profk_status profk__stage_collect(struct profk__chain *chain, const struct profk__task *task, uint32_t attempt,
                                  uint32_t falls_back, uint32_t starts, cl_mem missed, cl_mem summary)
{
    struct profk__rows rows;
    cl_mem list;
    const struct profk__arg args[] = {
        PROFK__ARG(attempt), PROFK__ARG(falls_back), PROFK__ARG(starts),        PROFK__ARG(rows),
        PROFK__ARG(list),    PROFK__ARG(missed),     PROFK__ARG(task->results), PROFK__ARG(summary),
    };

    profk__serve(task, 1, &rows, &list);
    return profk__launch(chain, &task->kernels[PROFK__KERNEL_collect], args, PROFK__COUNT(args), 1);
}
