/*
 * full.c: radix selection over the input, one histogram and one choice a digit, then count (a lone work-item has counted
 * one piece while it chose), scan, emit.  Lone work-items guess the first two digits of a long row: guess, try, confirm;
 * where that comes true the launches for these digits end at once.
 */
#include "stages/stages.h"

enum {
    DIGIT_BITS = 8,
    WIDE_DIGIT_BITS = 11, /* PK_DIGITS_MAX of cl/alone.clh */
    WIDE_ELEMENTS_MIN = 1 << 16,
    WIDE_ELEMENTS_A_SEGMENT = 1 << 10,
    GROUPS_PER_UNIT = 4,
    SEGMENT_ELEMENTS_MIN = 4096,
    SEGMENTS_USUAL_MAX = 1024,
    GUESS_ELEMENTS_MIN = 1 << 22, /* of a row: with fewer a sample takes as long as a pass */
    GUESS_SAMPLED = 1 << 16,
    GUESS_RANK_MIN = 32 /* among the sample: a lower one differs by too much */
};

/* Elements of a segment whose loops stay within the device's limit: emit makes some ten iterations a tile. */
static uint64_t segment_max(const struct profk__spec *spec, const struct profk__device *device)
{
    uint64_t most = UINT64_C(1) << 31; /* a segment's counts are 32 bits wide */

    if (device->loop_max != 0)
        most = (uint64_t)device->loop_max / 16 * spec->wg[PROFK__FILE_FULL];
    return most;
}

/*
 * A work-group of one counts wide digits if a segment is long enough for its counters, and if the segments are few enough
 * for the one work-item that adds them up.
 */
static uint32_t digit_bits_max(const struct profk__spec *spec, uint64_t n, uint64_t segments)
{
    int is_long = n / segments >= WIDE_ELEMENTS_MIN && n / segments >= WIDE_ELEMENTS_A_SEGMENT * segments;

    return spec->wg[PROFK__FILE_FULL] == 1 && is_long ? WIDE_DIGIT_BITS : DIGIT_BITS;
}

static uint32_t segments_for(const struct profk__spec *spec, const struct profk__device *device, uint64_t n, uint64_t rows)
{
    uint64_t wanted = (uint64_t)device->facts.compute_units * GROUPS_PER_UNIT / (rows > 0 ? rows : 1) + 1;
    uint64_t useful = n / SEGMENT_ELEMENTS_MIN + 1;
    uint64_t needed = n / segment_max(spec, device) + 1;
    uint64_t segments = wanted < useful ? wanted : useful;

    segments = segments < SEGMENTS_USUAL_MAX ? segments : SEGMENTS_USUAL_MAX;
    segments = segments > needed ? segments : needed;
    return segments < UINT32_MAX ? (uint32_t)segments : UINT32_MAX;
}

/* The digits are those of a row alone, so that launches do not depend on the number of rows. */
struct profk__full_cut profk__stage_full_cut(const struct profk__spec *spec, const struct profk__device *device,
                                             uint64_t n, uint32_t k, uint64_t rows)
{
    struct profk__full_cut cut = profk__stage_full_cut_in(spec, n, k, segments_for(spec, device, n, 1));

    cut.segments = segments_for(spec, device, n, rows);
    return cut;
}

/* Vectors of the sample from which the k-th key is guessed. */
static uint32_t lines_for(const struct profk__spec *spec, uint64_t n, uint32_t k)
{
    uint32_t vector = spec->width_nbytes == 8 ? 8 : 16; /* PK_VEC of cl/alone.clh */
    int pays = n >= GUESS_ELEMENTS_MIN && k >= n / GUESS_SAMPLED * GUESS_RANK_MIN;

    return spec->wg[PROFK__FILE_FULL] == 1 && spec->width_nbytes > 1 && pays ? GUESS_SAMPLED / vector : 0;
}

struct profk__full_cut profk__stage_full_cut_in(const struct profk__spec *spec, uint64_t n, uint32_t k,
                                                uint32_t segments)
{
    uint32_t width_bits = 8 * spec->width_nbytes, most = digit_bits_max(spec, n, segments);
    uint32_t digits = (width_bits + most - 1) / most;

    return (struct profk__full_cut){segments, digits, (width_bits + digits - 1) / digits, lines_for(spec, n, k)};
}

uint32_t profk__stage_full_passes(const struct profk__spec *spec, struct profk__full_cut cut)
{
    return cut.digits - (cut.lines != 0) + (spec->wg[PROFK__FILE_FULL] > 1) + 1;
}

uint64_t profk__stage_full_launches(const struct profk__spec *spec, struct profk__full_cut cut)
{
    uint64_t guess = cut.lines != 0 ? 3 : 0, count = spec->wg[PROFK__FILE_FULL] > 1;

    return guess + 2 * (uint64_t)cut.digits + count + 2; /* scan, emit */
}

uint64_t profk__stage_full_histogram_nbytes(struct profk__full_cut cut)
{
    return (uint64_t)cut.segments * sizeof(cl_ulong) << cut.digit_bits;
}

uint64_t profk__stage_full_counts_nbytes(struct profk__full_cut cut)
{
    return (uint64_t)cut.segments * 2 * sizeof(cl_ulong);
}

enum { NOT_GUESSED = -1 }; /* PK_NOT_GUESSED of cl/full.cl, as a turn */

/* `bits` bits of a key, `shift` bits up, behind `turn` other digits. */
struct digit {
    uint32_t turn, shift, bits;
};

static struct digit digit_of(const struct profk__task *task, struct profk__full_cut cut, uint32_t turn)
{
    uint32_t width_bits = 8 * task->spec->width_nbytes, left = cut.digits - turn;
    uint32_t shift = width_bits * (left - 1) / cut.digits;

    return (struct digit){turn, shift, width_bits * left / cut.digits - shift};
}

/* Finds two digits of each row's key of rank k by one pass, if a guess comes true. */
static profk_status guess(struct profk__chain *chain, const struct profk__task *task, const struct profk__piece *piece,
                          struct profk__full_cut cut, cl_mem histogram, cl_mem counts)
{
    profk_status st = PROFK_OK;
    struct digit digit = digit_of(task, cut, 1);
    struct profk__rows rows, row_tasks;
    cl_mem list;
    uint64_t groups = profk__serve(task, cut.segments, &rows, &list);
    uint64_t row_groups = profk__serve(task, 1, &row_tasks, &list);
    const struct profk__arg guess_args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->stride), PROFK__ARG(piece->count),
        PROFK__ARG(cut.lines),     PROFK__ARG(digit.shift),  PROFK__ARG(digit.bits),   PROFK__ARG(task->k),
        PROFK__RULE(task->rule),   PROFK__ARG(row_tasks),    PROFK__ARG(list),         PROFK__ARG(task->states),
    };
    const struct profk__arg try_args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->stride), PROFK__ARG(piece->count),
        PROFK__ARG(digit.shift),   PROFK__ARG(digit.bits),   PROFK__RULE(task->rule),  PROFK__ARG(rows),
        PROFK__ARG(list),          PROFK__ARG(task->states), PROFK__ARG(histogram),    PROFK__ARG(counts),
    };
    const struct profk__arg confirm_args[] = {
        PROFK__ARG(histogram), PROFK__ARG(cut.segments), PROFK__ARG(digit.shift),  PROFK__ARG(digit.bits),
        PROFK__ARG(task->k),   PROFK__ARG(row_tasks),    PROFK__ARG(list),         PROFK__ARG(task->states),
        PROFK__ARG(counts),
    };

    TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_guess], guess_args, PROFK__COUNT(guess_args),
                      row_groups));
    TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_try], try_args, PROFK__COUNT(try_args), groups));
    TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_confirm], confirm_args, PROFK__COUNT(confirm_args),
                      row_groups));
done:
    return st;
}

static profk_status histogram_piece(struct profk__chain *chain, const struct profk__task *task,
                                    const struct profk__piece *piece, uint32_t segments, uint32_t is_first,
                                    struct digit digit, cl_mem histogram)
{
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, segments, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->stride), PROFK__ARG(piece->count),
        PROFK__ARG(is_first),      PROFK__ARG(digit.turn),   PROFK__ARG(digit.shift),  PROFK__ARG(digit.bits),
        PROFK__RULE(task->rule),   PROFK__ARG(rows),         PROFK__ARG(list),         PROFK__ARG(task->states),
        PROFK__ARG(histogram),
    };

    return profk__launch(chain, &task->kernels[PROFK__KERNEL_full_histogram], args, PROFK__COUNT(args), groups);
}

static profk_status choose(struct profk__chain *chain, const struct profk__task *task, uint32_t segments,
                           struct digit digit, cl_mem histogram, cl_mem counts)
{
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, 1, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(histogram),  PROFK__ARG(segments), PROFK__ARG(digit.turn), PROFK__ARG(digit.shift),
        PROFK__ARG(digit.bits), PROFK__ARG(task->k),  PROFK__ARG(rows),       PROFK__ARG(list),
        PROFK__ARG(task->states), PROFK__ARG(counts),
    };

    return profk__launch(chain, &task->kernels[PROFK__KERNEL_full_choose], args, PROFK__COUNT(args), groups);
}

/* Finds the key of rank k, digit by digit. */
static profk_status find_key(struct profk__chain *chain, const struct profk__task *task, struct profk__pieces pieces,
                             struct profk__full_cut cut, cl_mem histogram, cl_mem counts)
{
    profk_status st = PROFK_OK;
    int is_guessed = cut.lines != 0 && pieces.count == 1;

    for (uint32_t turn = 0; turn < cut.digits; turn++) {
        struct digit digit = digit_of(task, cut, turn);
        uint64_t first = 0;
        for (uint64_t i = 0; i < pieces.count; i++) {
            struct profk__piece piece = pieces.next(pieces.from, i, &first);
            if (is_guessed && turn == 0)
                TRY(guess(chain, task, &piece, cut, histogram, counts));
            digit.turn = is_guessed ? turn : (uint32_t)NOT_GUESSED;
            TRY(histogram_piece(chain, task, &piece, cut.segments, i == 0, digit, histogram));
        }
        TRY(choose(chain, task, cut.segments, digit, histogram, counts));
    }
done:
    return st;
}

/* Writes the winners of one piece behind those of the pieces before. */
static profk_status emit_piece(struct profk__chain *chain, const struct profk__task *task,
                               const struct profk__piece *piece, int counts_again, uint32_t segments,
                               uint32_t attempts, cl_mem counts, struct profk__pairs winners)
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

    if (counts_again)
        TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_count], count_args, PROFK__COUNT(count_args),
                          groups));
    TRY(profk__launch(chain, scan, scan_args, PROFK__COUNT(scan_args), (task->rows + scan->wg - 1) / scan->wg));
    TRY(profk__launch(chain, &task->kernels[PROFK__KERNEL_full_emit], emit_args, PROFK__COUNT(emit_args), groups));
done:
    return st;
}

profk_status profk__stage_full(struct profk__chain *chain, const struct profk__task *task,
                               struct profk__pieces pieces, struct profk__full_cut cut, uint32_t attempts,
                               cl_mem histogram, cl_mem counts, struct profk__pairs winners)
{
    profk_status st = PROFK_OK;
    int is_alone = task->kernels[PROFK__KERNEL_full_choose].wg == 1; /* and counts one piece while it chooses */
    uint64_t first = 0;

    TRY(find_key(chain, task, pieces, cut, histogram, counts));
    for (uint64_t i = 0; i < pieces.count; i++) {
        struct profk__piece piece = pieces.next(pieces.from, i, &first);
        TRY(emit_piece(chain, task, &piece, !is_alone || pieces.count > 1, cut.segments, attempts, counts, winners));
    }
done:
    return st;
}
