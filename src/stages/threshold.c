/* threshold.c: the t-th pair of the sample. */
#include "stages/stages.h"

profk_status profk__stage_threshold(struct profk__chain *chain, const struct profk__task *task,
                                    struct profk__pairs sample, uint32_t slots, uint32_t t, uint64_t count_start,
                                    uint32_t cursor_start)
{
    const struct profk__arg args[] = {
        PROFK__ARG(sample.bits),  PROFK__ARG(sample.index), PROFK__ARG(slots),
        PROFK__ARG(t),            PROFK__ARG(count_start),  PROFK__ARG(cursor_start),
        {task->rule.nbytes, task->rule.bytes},              PROFK__ARG(task->row),
    };

    return profk__launch(chain, &task->kernels[PROFK__KERNEL_threshold], args, PROFK__COUNT(args), 1);
}
