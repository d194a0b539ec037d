/*
 * filter.c: the pass over the input, in launches of at most 2^31 elements of a row.
 *
 * Either shape finds out on the device where its vectors are aligned, wherever the buffer and the piece start.
 */
#include "stages/stages.h"

/* Stream: a work-item's part.  Short enough to share the work evenly, long enough to run. */
enum { PARTS_WANTED = 1024, PART_ELEMENTS_MIN = 1 << 12 };

uint64_t profk__stage_filter_launches(uint64_t count)
{
    return 2 * ((count + PROFK__LAUNCH_ELEMENTS_MAX - 1) / PROFK__LAUNCH_ELEMENTS_MAX) - 1;
}

static profk_status fold(struct profk__chain *chain, const struct profk__task *task, uint32_t capacity)
{
    const struct profk__kernel *kernel = &task->kernels[PROFK__KERNEL_fold];
    struct profk__rows rows;
    cl_mem list;
    const struct profk__arg args[] = {
        PROFK__ARG(capacity), PROFK__ARG(rows), PROFK__ARG(list), PROFK__ARG(task->results), PROFK__ARG(task->states),
    };

    profk__serve(task, 1, &rows, &list);
    return profk__launch(chain, kernel, args, PROFK__COUNT(args), (task->rows + kernel->wg - 1) / kernel->wg);
}

static profk_status filter_tile(struct profk__chain *chain, const struct profk__task *task,
                                const struct profk__piece *piece, uint32_t capacity, struct profk__pairs candidates)
{
    const struct profk__kernel *kernel = &task->kernels[PROFK__KERNEL_filter];
    uint32_t count = (uint32_t)piece->count;
    uint64_t vectors_max = count / task->spec->vector_width + 2; /* a part at either end */
    uint64_t tile = (uint64_t)kernel->wg * task->spec->filter_items;
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, (vectors_max + tile - 1) / tile, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(piece->buffer),    PROFK__ARG(piece->start), PROFK__ARG(task->stride), PROFK__ARG(count),
        PROFK__ARG(piece->first),     PROFK__ARG(capacity),     PROFK__ARG(task->rule.kind), PROFK__RULE(task->rule),
        PROFK__ARG(rows),             PROFK__ARG(list),         PROFK__ARG(task->states),
        PROFK__ARG(candidates.bits),  PROFK__ARG(candidates.index),
    };

    return profk__launch(chain, kernel, args, PROFK__COUNT(args), groups);
}

static uint32_t part_length(uint32_t count, uint32_t most)
{
    uint32_t length = count / PARTS_WANTED / 256 * 256;

    return length < PART_ELEMENTS_MIN ? PART_ELEMENTS_MIN : length > most ? most : length;
}

static profk_status filter_stream(struct profk__chain *chain, const struct profk__task *task,
                                  const struct profk__piece *piece, uint32_t capacity, struct profk__pairs candidates)
{
    const struct profk__kernel *kernel = &task->kernels[PROFK__KERNEL_stream];
    uint32_t count = (uint32_t)piece->count, length = part_length(count, task->spec->part_elements_max);
    uint64_t group = (uint64_t)length * kernel->wg;
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, (count + group - 1) / group, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(piece->buffer),   PROFK__ARG(piece->start),      PROFK__ARG(task->stride),
        PROFK__ARG(count),           PROFK__ARG(length),            PROFK__ARG(piece->first),
        PROFK__ARG(capacity),        PROFK__ARG(task->rule.kind),   PROFK__RULE(task->rule),
        PROFK__ARG(rows),            PROFK__ARG(list),              PROFK__ARG(task->states),
        PROFK__ARG(candidates.bits), PROFK__ARG(candidates.index),
    };

    return profk__launch(chain, kernel, args, PROFK__COUNT(args), groups);
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
        if (task->spec->filter_shape == PROFK_SHAPE_STREAM)
            TRY(filter_stream(chain, task, &part, capacity, candidates));
        else
            TRY(filter_tile(chain, task, &part, capacity, candidates));
        if (!is_last || left > part.count)
            TRY(fold(chain, task, capacity));
    }
done:
    return st;
}
