/* full.c: radix selection over the input, one histogram and one choice a digit, then count, scan, emit. */
#include "stages/stages.h"

enum { DIGIT_BITS = 8, DIGITS = 256, GROUPS_PER_UNIT = 4, SEGMENT_ELEMENTS_MIN = 4096, SEGMENTS_USUAL_MAX = 1024 };

uint32_t profk__stage_full_segments(const profk_device *device, uint64_t n)
{
    uint64_t wanted = (uint64_t)device->compute_units * GROUPS_PER_UNIT;
    uint64_t useful = n / SEGMENT_ELEMENTS_MIN + 1;
    uint64_t needed = (n >> 31) + 1; /* a segment's counts are 32 bits wide */
    uint64_t segments = wanted < useful ? wanted : useful;

    segments = segments < SEGMENTS_USUAL_MAX ? segments : SEGMENTS_USUAL_MAX;
    return (uint32_t)(segments > needed ? segments : needed); /* n < 2^48, so below 2^18 */
}

uint64_t profk__stage_full_launches(const struct profk__spec *spec)
{
    return 2 * (uint64_t)spec->width_nbytes + 3;
}

uint64_t profk__stage_full_histogram_nbytes(uint32_t segments)
{
    return (uint64_t)segments * DIGITS * sizeof(cl_uint);
}

uint64_t profk__stage_full_counts_nbytes(uint32_t segments)
{
    return (uint64_t)segments * 2 * sizeof(cl_ulong);
}

/* Finds the key of rank k, digit by digit. */
static profk_status find_key(struct profk__chain *chain, const struct profk__task *task,
                             const struct profk__piece *piece, uint32_t segments, uint64_t length, cl_mem histogram)
{
    profk_status st = PROFK_OK;
    uint64_t k = task->k;

    for (uint32_t shift = DIGIT_BITS * task->spec->width_nbytes; shift > 0;) {
        shift -= DIGIT_BITS;
        const struct profk__arg histogram_args[] = {
            PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->n), PROFK__ARG(length),
            PROFK__ARG(shift), {task->rule.nbytes, task->rule.bytes}, PROFK__ARG(task->row), PROFK__ARG(histogram),
        };
        const struct profk__arg choose_args[] = {
            PROFK__ARG(histogram), PROFK__ARG(segments), PROFK__ARG(shift), PROFK__ARG(k), PROFK__ARG(task->row),
        };
        TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_histogram], histogram_args,
                          PROFK__COUNT(histogram_args), segments));
        TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_choose], choose_args, PROFK__COUNT(choose_args), 1));
    }
done:
    return st;
}

profk_status profk__stage_full(struct profk__chain *chain, const struct profk__task *task,
                               const struct profk__piece *piece, uint32_t segments, uint32_t attempts,
                               cl_mem histogram, cl_mem counts, struct profk__pairs winners)
{
    profk_status st = PROFK_OK;
    uint64_t length = (task->n + segments - 1) / segments;
    const struct profk__arg count_args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->n), PROFK__ARG(length),
        {task->rule.nbytes, task->rule.bytes}, PROFK__ARG(task->row), PROFK__ARG(counts),
    };
    const struct profk__arg scan_args[] = {PROFK__ARG(segments), PROFK__ARG(counts)};
    const struct profk__arg emit_args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->n), PROFK__ARG(length),
        PROFK__ARG(attempts), {task->rule.nbytes, task->rule.bytes}, PROFK__ARG(counts), PROFK__ARG(task->row),
        PROFK__ARG(winners.bits), PROFK__ARG(winners.index),
    };

    TRY(find_key(chain, task, piece, segments, length, histogram));
    TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_count], count_args, PROFK__COUNT(count_args), segments));
    TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_scan], scan_args, PROFK__COUNT(scan_args), 1));
    TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_emit], emit_args, PROFK__COUNT(emit_args), segments));
done:
    return st;
}
