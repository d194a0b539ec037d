/* sample.c: the sample of one attempt, by a keyed permutation of the positions (cl/permute.clh). */
#include "stages/stages.h"

enum { BITS_MIN = 8, ROUNDS = 8, ROUNDS_SHORT = 10, BITS_SHORT = 12 }; /* below 12 bits 8 rounds are too few */

static uint32_t position_bits(uint64_t n)
{
    uint32_t bits = BITS_MIN;

    while ((n - 1) >> bits != 0)
        bits++;
    return bits;
}

profk_status profk__stage_sample(struct profk__chain *chain, const struct profk__task *task,
                                 const struct profk__piece *piece, uint32_t slots, uint64_t key,
                                 struct profk__pairs sample)
{
    const struct profk__kernel *kernel = &task->kernels[PROFK__KERNEL_sample];
    uint32_t bits = position_bits(task->n);
    uint32_t rounds = bits < BITS_SHORT ? ROUNDS_SHORT : ROUNDS;
    struct profk__rows rows;
    cl_mem list;
    uint64_t group = (uint64_t)kernel->wg * task->spec->sample_slots;
    uint64_t groups = profk__serve(task, (slots + group - 1) / group, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->stride), PROFK__ARG(piece->first),
        PROFK__ARG(piece->count),  PROFK__ARG(task->n),      PROFK__ARG(slots),        PROFK__ARG(key),
        PROFK__ARG(bits),          PROFK__ARG(rounds),       PROFK__ARG(rows),         PROFK__ARG(list),
        PROFK__ARG(sample.bits),   PROFK__ARG(sample.index),
    };

    return profk__launch(chain, kernel, args, PROFK__COUNT(args), groups);
}
