/*
 * sort.c: the winners in their final sequence, written to the caller's buffers.
 *
 *   nothing to sort            emit
 *   work-groups of one         alone, one launch, each core a share, unless there are many winners and many cores
 *   few winners                bitonic, one launch
 *   many                       radix passes of three launches (count, scan, scatter) from the last digit up, then emit
 *
 * By rank the passes go over the index digits first, then over the key digits; winners that already stand in index
 * order need the key digits only.
 */
#include "stages/stages.h"

enum method { EMIT, ALONE, BITONIC, RADIX };

enum { EMITTED = 1024 }; /* PK_EMITTED of cl/sort.cl */

static enum method choose(const struct profk__spec *spec, uint32_t k, uint32_t sort, int by_index)
{
    if (sort == PROFK_SORT_NONE || k == 1 || (sort == PROFK_SORT_INDEX && by_index))
        return EMIT;
    if (spec->wg[PROFK__FILE_SORT] == 1 && k <= spec->sort_alone_max)
        return ALONE;
    return k <= profk__local_pairs(spec, PROFK__FILE_SORT) ? BITONIC : RADIX;
}

/* Work-groups of a radix pass: a few thousand winners each, so that the table of counts stays small. */
static uint32_t segments_of(uint32_t k)
{
    uint32_t segments = k / 4096 + 1;

    return segments < 256 ? segments : 256;
}

static uint32_t digits_of(uint32_t bits, uint32_t digit_bits)
{
    return (bits + digit_bits - 1) / digit_bits;
}

static uint32_t index_bits(uint64_t n)
{
    uint32_t bits = 1;

    while ((n - 1) >> bits != 0)
        bits++;
    return bits;
}

/* How many passes go over each part of the pair. */
struct passes {
    uint32_t index, key;
};

static struct passes passes_of(const struct profk__spec *spec, uint64_t n, uint32_t sort, int by_index)
{
    uint32_t digit_bits = spec->sort_digit_bits;
    struct passes passes = {
        by_index ? 0 : digits_of(index_bits(n), digit_bits),
        sort == PROFK_SORT_RANK ? digits_of(8 * spec->width_nbytes, digit_bits) : 0,
    };
    return passes;
}

uint64_t profk__stage_sort_launches(const struct profk__spec *spec, uint64_t n, uint32_t k, uint32_t sort, int by_index)
{
    struct passes passes = passes_of(spec, n, sort, by_index);

    return choose(spec, k, sort, by_index) == RADIX ? 3 * (uint64_t)(passes.index + passes.key) + 1 : 1;
}

uint32_t profk__stage_sort_parts(const struct profk__spec *spec, uint32_t compute_units, uint32_t k, uint64_t rows)
{
    enum { PART_WINNERS = 1 << 14 }; /* with fewer, waking a second core takes as long as what it saves */
    uint64_t parts = rows < compute_units ? compute_units / rows : 1;

    if (choose(spec, k, PROFK_SORT_RANK, 0) != ALONE || k < 2 * PART_WINNERS)
        return 1;
    return parts < k / PART_WINNERS ? (uint32_t)parts : k / PART_WINNERS;
}

uint64_t profk__stage_sort_scratch_pairs(const struct profk__spec *spec, uint32_t k, uint32_t sort, uint32_t parts)
{
    enum method method = choose(spec, k, sort, 0);

    if (method == ALONE && parts > 1)
        return 2 * ((uint64_t)k + parts);
    return method == ALONE || method == RADIX ? k : 0;
}

uint64_t profk__stage_sort_counts_nbytes(const struct profk__spec *spec, uint32_t k, uint32_t sort)
{
    if (choose(spec, k, sort, 0) != RADIX)
        return 0;
    return (uint64_t)segments_of(k) * 256 * sizeof(cl_uint); /* a digit has at most 8 bits */
}

enum { WANT_VALUES = 1, WANT_U32 = 2, WANT_U64 = 4 };

struct profk__output_words profk__output_words(const struct profk__output *output)
{
    struct profk__output_words words = {output->values_start, output->indices_start, 0, 0,
                                        output->sort == PROFK_SORT_INDEX};

    words.wants |= output->values != NULL ? WANT_VALUES : 0;
    words.wants |= output->indices == NULL ? 0 : output->index == PROFK_INDEX_U32 ? WANT_U32 : WANT_U64;
    return words;
}

/* What ends in the caller's buffers.  The results stand in for a buffer that is not wanted. */
static profk_status write_out(struct profk__chain *chain, const struct profk__task *task, enum method method,
                              struct profk__pairs winners, struct profk__pairs other,
                              const struct profk__output *output)
{
    static const enum profk__kernel_id ids[] = {
        [EMIT] = PROFK__KERNEL_emit, [ALONE] = PROFK__KERNEL_alone, [BITONIC] = PROFK__KERNEL_bitonic,
        [RADIX] = PROFK__KERNEL_emit, /* what the passes have sorted */
    };
    const struct profk__kernel *kernel = &task->kernels[ids[method]];
    struct profk__output_words words = profk__output_words(output);
    cl_mem values = output->values != NULL ? output->values : task->results;
    cl_mem indices = output->indices != NULL ? output->indices : task->results;
    struct profk__rows rows;
    cl_mem list;
    uint64_t parts = ids[method] == PROFK__KERNEL_emit ? ((uint64_t)task->k + EMITTED - 1) / EMITTED
                   : method == ALONE                   ? task->sort_parts
                                                       : 1;
    uint64_t groups = profk__serve(task, parts, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(winners.bits), PROFK__ARG(winners.index), PROFK__ARG(task->k),      PROFK__RULE(task->rule),
        PROFK__ARG(words),        PROFK__ARG(output->pad),   PROFK__ARG(rows),         PROFK__ARG(list),
        PROFK__ARG(task->states), PROFK__ARG(values),        PROFK__ARG(indices),      PROFK__ARG(indices),
        PROFK__ARG(other.bits),   PROFK__ARG(other.index),
    };
    size_t arg_count = PROFK__COUNT(args) - (method == ALONE ? 0 : 2);

    return profk__launch(chain, kernel, args, arg_count, groups);
}

/* One stable pass over the digit `shift` bits up of the key or the index. */
static profk_status radix_pass(struct profk__chain *chain, const struct profk__task *task, struct profk__pairs from,
                               struct profk__pairs to, cl_mem counts, uint32_t by_key, uint32_t shift)
{
    profk_status st = PROFK_OK;
    uint32_t segments = segments_of(task->k);
    uint32_t segment = (task->k + segments - 1) / segments;
    uint32_t words = segments << task->spec->sort_digit_bits;
    struct profk__rows rows, whole_rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, segments, &rows, &list);
    uint64_t row_groups = profk__serve(task, 1, &whole_rows, &list);
    const struct profk__arg count_args[] = {
        PROFK__ARG(from.bits), PROFK__ARG(from.index),  PROFK__ARG(task->k), PROFK__ARG(segment),
        PROFK__ARG(by_key),    PROFK__ARG(shift),       PROFK__RULE(task->rule), PROFK__ARG(rows),
        PROFK__ARG(list),      PROFK__ARG(task->states), PROFK__ARG(counts),
    };
    const struct profk__arg scan_args[] = {
        PROFK__ARG(words), PROFK__ARG(whole_rows), PROFK__ARG(list), PROFK__ARG(counts),
    };
    const struct profk__arg scatter_args[] = {
        PROFK__ARG(from.bits), PROFK__ARG(from.index),  PROFK__ARG(task->k), PROFK__ARG(segment),
        PROFK__ARG(by_key),    PROFK__ARG(shift),       PROFK__RULE(task->rule), PROFK__ARG(rows),
        PROFK__ARG(list),      PROFK__ARG(task->states), PROFK__ARG(counts), PROFK__ARG(to.bits),
        PROFK__ARG(to.index),
    };

    TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_radix_count], count_args, PROFK__COUNT(count_args), groups));
    TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_radix_scan], scan_args, PROFK__COUNT(scan_args), row_groups));
    TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_radix_scatter], scatter_args, PROFK__COUNT(scatter_args),
                      groups));
done:
    return st;
}

profk_status profk__stage_sort(struct profk__chain *chain, const struct profk__task *task,
                               struct profk__pairs winners, int by_index, struct profk__sort_scratch scratch,
                               const struct profk__output *output)
{
    profk_status st = PROFK_OK;
    enum method method = choose(task->spec, task->k, output->sort, by_index);
    struct passes passes = passes_of(task->spec, task->n, output->sort, by_index);
    uint32_t digit_bits = task->spec->sort_digit_bits;
    struct profk__pairs from = winners, to = scratch.pairs;

    for (uint32_t pass = 0; method == RADIX && pass < passes.index + passes.key; pass++) {
        uint32_t by_key = pass >= passes.index;
        uint32_t shift = digit_bits * (by_key ? pass - passes.index : pass);
        TRY(radix_pass(chain, task, from, to, scratch.counts, by_key, shift));
        struct profk__pairs swapped = from;
        from = to;
        to = swapped;
    }
    TRY(write_out(chain, task, method, from, to, output));
done:
    return st;
}
