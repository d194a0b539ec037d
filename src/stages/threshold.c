/* threshold.c: the t-th pair of each row's sample. */
#include "stages/stages.h"

profk_status profk__stage_threshold(struct profk__chain *chain, const struct profk__task *task,
                                    struct profk__pairs sample, uint32_t slots, uint32_t t, uint64_t count_start,
                                    uint32_t cursor_start)
{
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, 1, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(sample.bits), PROFK__ARG(sample.index),  PROFK__ARG(slots),
        PROFK__ARG(t),           PROFK__ARG(count_start),   PROFK__ARG(cursor_start),
        PROFK__RULE(task->rule), PROFK__ARG(rows),          PROFK__ARG(list),
        PROFK__ARG(task->results), PROFK__ARG(task->states),
    };

    return profk__launch(chain, &task->kernels[PROFK__KERNEL_threshold], args, PROFK__COUNT(args), groups);
}
