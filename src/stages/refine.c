/* refine.c: the check of R and the exact top k of the candidates. */
#include "stages/stages.h"

profk_status profk__stage_refine(struct profk__chain *chain, const struct profk__task *task,
                                 struct profk__pairs candidates, uint32_t capacity, uint32_t attempt,
                                 struct profk__pairs winners)
{
    const struct profk__arg args[] = {
        PROFK__ARG(candidates.bits), PROFK__ARG(candidates.index), PROFK__ARG(task->k),
        PROFK__ARG(capacity),        PROFK__ARG(attempt),          {task->rule.nbytes, task->rule.bytes},
        PROFK__ARG(task->row),       PROFK__ARG(winners.bits),     PROFK__ARG(winners.index),
    };

    return profk__launch(chain, &task->kernels[PROFK__KERNEL_refine], args, PROFK__COUNT(args), 1);
}
