/* full.c: radix selection over the input, one histogram and one choice a digit, then count, scan, emit. */
#include "stages/stages.h"

enum { DIGIT_BITS = 8, DIGITS = 256, GROUPS_PER_UNIT = 4, SEGMENT_ELEMENTS_MIN = 4096, SEGMENTS_USUAL_MAX = 1024 };

/* Elements of a segment whose loops stay within the device's limit: emit makes some ten iterations a tile. */
static uint64_t segment_max(const struct profk__spec *spec, const struct profk__device *device)
{
    uint64_t most = UINT64_C(1) << 31; /* a segment's counts are 32 bits wide */

    if (device->loop_max != 0)
        most = (uint64_t)device->loop_max / 16 * spec->wg[PROFK__FILE_FULL];
    return most;
}

uint32_t profk__stage_full_segments(const struct profk__spec *spec, const struct profk__device *device, uint64_t n,
                                    uint64_t rows)
{
    uint64_t wanted = (uint64_t)device->facts.compute_units * GROUPS_PER_UNIT / (rows > 0 ? rows : 1) + 1;
    uint64_t useful = n / SEGMENT_ELEMENTS_MIN + 1;
    uint64_t needed = n / segment_max(spec, device) + 1;
    uint64_t segments = wanted < useful ? wanted : useful;

    segments = segments < SEGMENTS_USUAL_MAX ? segments : SEGMENTS_USUAL_MAX;
    segments = segments > needed ? segments : needed;
    return segments < UINT32_MAX ? (uint32_t)segments : UINT32_MAX;
}

uint64_t profk__stage_full_launches(const struct profk__spec *spec)
{
    return 2 * (uint64_t)spec->width_nbytes + 3;
}

uint64_t profk__stage_full_histogram_nbytes(uint32_t segments)
{
    return (uint64_t)segments * DIGITS * sizeof(cl_ulong);
}

uint64_t profk__stage_full_counts_nbytes(uint32_t segments)
{
    return (uint64_t)segments * 2 * sizeof(cl_ulong);
}

static profk_status histogram_piece(struct profk__chain *chain, const struct profk__task *task,
                                    const struct profk__piece *piece, uint32_t segments, uint32_t is_first,
                                    uint32_t shift, cl_mem histogram)
{
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, segments, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->stride), PROFK__ARG(piece->count),
        PROFK__ARG(is_first),      PROFK__ARG(shift),        PROFK__RULE(task->rule),  PROFK__ARG(rows),
        PROFK__ARG(list),          PROFK__ARG(task->states), PROFK__ARG(histogram),
    };

    return profk__launch(chain, &task->kernels[PROFK__KERNEL_full_histogram], args, PROFK__COUNT(args), groups);
}

/* Finds the key of rank k, digit by digit. */
static profk_status find_key(struct profk__chain *chain, const struct profk__task *task, struct profk__pieces pieces,
                             uint32_t segments, cl_mem histogram)
{
    profk_status st = PROFK_OK;
    uint32_t shift = DIGIT_BITS * task->spec->width_nbytes;
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, 1, &rows, &list);
    const struct profk__arg choose_args[] = {
        PROFK__ARG(histogram), PROFK__ARG(segments), PROFK__ARG(shift),        PROFK__ARG(task->k),
        PROFK__ARG(rows),      PROFK__ARG(list),     PROFK__ARG(task->states),
    };

    while (shift > 0) {
        uint64_t first = 0;
        shift -= DIGIT_BITS;
        for (uint64_t i = 0; i < pieces.count; i++) {
            struct profk__piece piece = pieces.next(pieces.from, i, &first);
            TRY(histogram_piece(chain, task, &piece, segments, i == 0, shift, histogram));
        }
        TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_choose], choose_args, PROFK__COUNT(choose_args),
                          groups));
    }
done:
    return st;
}

/* Writes the winners of one piece behind those of the pieces before. */
static profk_status emit_piece(struct profk__chain *chain, const struct profk__task *task,
                               const struct profk__piece *piece, uint32_t segments, uint32_t attempts, cl_mem counts,
                               struct profk__pairs winners)
{
    profk_status st = PROFK_OK;
    const struct profk__kernel *scan = &task->kernels[PROFK__KERNEL_full_scan];
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, segments, &rows, &list);
    const struct profk__arg count_args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->stride), PROFK__ARG(piece->count),
        PROFK__RULE(task->rule),   PROFK__ARG(rows),         PROFK__ARG(list),         PROFK__ARG(task->states),
        PROFK__ARG(counts),
    };
    const struct profk__arg scan_args[] = {
        PROFK__ARG(segments), PROFK__ARG(rows), PROFK__ARG(list), PROFK__ARG(task->states), PROFK__ARG(counts),
    };
    const struct profk__arg emit_args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->stride), PROFK__ARG(piece->first),
        PROFK__ARG(piece->count),  PROFK__ARG(task->k),      PROFK__ARG(attempts),     PROFK__RULE(task->rule),
        PROFK__ARG(rows),          PROFK__ARG(list),         PROFK__ARG(counts),       PROFK__ARG(task->results),
        PROFK__ARG(task->states),  PROFK__ARG(winners.bits), PROFK__ARG(winners.index),
    };

    TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_count], count_args, PROFK__COUNT(count_args), groups));
    TRY(profk__launch(chain, scan, scan_args, PROFK__COUNT(scan_args), (task->rows + scan->wg - 1) / scan->wg));
    TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_emit], emit_args, PROFK__COUNT(emit_args), groups));
done:
    return st;
}

profk_status profk__stage_full(struct profk__chain *chain, const struct profk__task *task,
                               struct profk__pieces pieces, uint32_t segments, uint32_t attempts, cl_mem histogram,
                               cl_mem counts, struct profk__pairs winners)
{
    profk_status st = PROFK_OK;
    uint64_t first = 0;

    TRY(find_key(chain, task, pieces, segments, histogram));
    for (uint64_t i = 0; i < pieces.count; i++) {
        struct profk__piece piece = pieces.next(pieces.from, i, &first);
        TRY(emit_piece(chain, task, &piece, segments, attempts, counts, winners));
    }
done:
    return st;
}
