/*
 * filter.c: the pass over the input, in launches of at most 2^31 elements.
 *
 * The kernel finds out by itself where its vectors are aligned, wherever the buffer and the piece start.
 */
#include "stages/stages.h"

uint64_t profk__stage_filter_launches(uint64_t count)
{
    return 2 * ((count + PROFK__LAUNCH_ELEMENTS_MAX - 1) / PROFK__LAUNCH_ELEMENTS_MAX) - 1;
}

static profk_status fold(struct profk__chain *chain, const struct profk__task *task, uint32_t capacity)
{
    const struct profk__arg args[] = {PROFK__ARG(capacity), PROFK__ARG(task->row)};

    return profk__launch(chain, &task->kernels[PROFK__KERNEL_fold], args, PROFK__COUNT(args), 1);
}

static profk_status filter(struct profk__chain *chain, const struct profk__task *task,
                           const struct profk__piece *piece, uint32_t capacity, struct profk__pairs candidates)
{
    const struct profk__kernel *kernel = &task->kernels[PROFK__KERNEL_filter];
    uint32_t count = (uint32_t)piece->count;
    uint64_t vectors_max = count / task->spec->vector_width + 2; /* a part at either end */
    uint64_t tile = (uint64_t)kernel->wg * task->spec->filter_items;
    const struct profk__arg args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start),
        PROFK__ARG(count),         PROFK__ARG(piece->first),
        PROFK__ARG(capacity),      {task->rule.nbytes, task->rule.bytes},
        PROFK__ARG(task->row),     PROFK__ARG(candidates.bits),
        PROFK__ARG(candidates.index),
    };

    return profk__launch(chain, kernel, args, PROFK__COUNT(args), (vectors_max + tile - 1) / tile);
}

profk_status profk__stage_filter(struct profk__chain *chain, const struct profk__task *task,
                                 const struct profk__piece *piece, int is_last, uint32_t capacity,
                                 struct profk__pairs candidates)
{
    profk_status st = PROFK_OK;

    for (uint64_t done_count = 0; done_count < piece->count; done_count += PROFK__LAUNCH_ELEMENTS_MAX) {
        uint64_t left = piece->count - done_count;
        struct profk__piece part = *piece;
        part.start += done_count;
        part.first += done_count;
        part.count = left < PROFK__LAUNCH_ELEMENTS_MAX ? left : PROFK__LAUNCH_ELEMENTS_MAX;
        TRY(filter(chain, task, &part, capacity, candidates));
        if (!is_last || left > part.count)
            TRY(fold(chain, task, capacity));
    }
done:
    return st;
}
