/*
 * rows.c: rows that are selected whole, in one launch.
 *
 *   rows_short, rows, rows_select   a work-group a row (rows.cl)
 *   columns, walk                   work-groups of one, and not too many winners (solo.cl)
 *   walk_part, walk                 the same, two launches for rows that are long and fewer than cores, more for a row
 *                                   in several pieces
 */
#include "stages/stages.h"

/* Rows for which columns is faster than a walk; measured in the commits that added and changed it. */
static int suits_columns(const struct profk__spec *spec, uint64_t n, uint32_t k)
{
    enum { FITS = 128, FITS_TWICE = 64, COMPARES = 1 << 14 }; /* solo.cl: PK_COLUMNS fit */
    enum { SHORT = 512, SHORT_OF_WIDE = 256, FEW = 8 };        /* briefs.clh makes few winners of 32 bits narrow */
    uint64_t n_max = spec->width_nbytes < 4 || (spec->width_nbytes == 4 && k <= FEW) ? SHORT : SHORT_OF_WIDE;

    return n <= FITS || (k <= FITS_TWICE && n <= n_max && n * k <= COMPARES);
}

int profk__stage_rows_finishes(const struct profk__spec *spec, uint32_t k)
{
    return k <= profk__local_pairs(spec, PROFK__FILE_ROWS);
}

enum profk__kernel_id profk__stage_rows_kernel(const struct profk__spec *spec, uint64_t n, uint32_t k)
{
    if (spec->wg[PROFK__FILE_SOLO] == 1) {
        if (suits_columns(spec, n, k))
            return PROFK__KERNEL_columns;
        if (k <= profk__local_pairs(spec, PROFK__FILE_SOLO) / 2)
            return PROFK__KERNEL_walk;
    }
    if (!profk__stage_rows_finishes(spec, k))
        return PROFK__KERNEL_rows_select;
    return n <= profk__local_pairs(spec, PROFK__FILE_ROWS) ? PROFK__KERNEL_rows_short : PROFK__KERNEL_rows;
}

enum profk__file profk__stage_rows_file(const struct profk__spec *spec, uint64_t n, uint32_t k)
{
    enum profk__kernel_id id = profk__stage_rows_kernel(spec, n, k);

    return id == PROFK__KERNEL_columns || id == PROFK__KERNEL_walk ? PROFK__FILE_SOLO : PROFK__FILE_ROWS;
}

/* A walk looks ahead into what it then finds in the cache. */
double profk__stage_rows_passes(const struct profk__spec *spec, uint64_t n, uint32_t k)
{
    enum profk__kernel_id id = profk__stage_rows_kernel(spec, n, k);

    return id == PROFK__KERNEL_rows || id == PROFK__KERNEL_rows_select ? spec->width_nbytes + 2.0 : 1.0;
}

static uint32_t parts_of(struct profk__row_cut cut, uint64_t n)
{
    uint64_t parts = n / cut.part_least;

    return parts >= cut.parts ? cut.parts : parts > 1 ? (uint32_t)parts : 1;
}

struct profk__row_cut profk__stage_row_cut(const struct profk__spec *spec, uint32_t compute_units, uint64_t n,
                                           uint32_t k, uint64_t rows)
{
    enum { GROUPS_A_UNIT = 64, UNITS_MAX = 1024 }; /* the last to end are a small part of all */
    enum { PIECES = 8 }; /* whose winners are kept until they are joined */
    enum { PART_ELEMENTS = 1 << 16, PART_WINNERS = 64 }; /* worth a launch, and a part leaves k for the last one */
    enum profk__kernel_id id = profk__stage_rows_kernel(spec, n, k);
    struct profk__row_cut cut = {
        .groups = GROUPS_A_UNIT * (compute_units < UNITS_MAX ? compute_units : UNITS_MAX),
        .parts = 1,
        .part_least = PART_ELEMENTS > PART_WINNERS * k ? PART_ELEMENTS : PART_WINNERS * k,
    };

    if (id == PROFK__KERNEL_walk && rows < compute_units) {
        cut.parts = (uint32_t)(compute_units / rows);
        cut.parts = parts_of(cut, n);
    }
    if (cut.parts > 1)
        cut.kept = cut.parts * k;
    if ((id == PROFK__KERNEL_walk || id == PROFK__KERNEL_columns) && rows == 1)
        cut.kept = (cut.parts + PIECES) * k;
    return cut;
}

/* Where a launch that finishes rows certifies them. */
static cl_mem results_of(const struct profk__task *task, const struct profk__output *output,
                         struct profk__output_words *words)
{
    if (output->row_results == NULL)
        return task->results;
    words->results_start = output->row_results_start + task->first_row;
    return output->row_results;
}

/* Selects, sorts and writes out. */
static profk_status finish(struct profk__chain *chain, const struct profk__task *task,
                           const struct profk__piece *piece, const struct profk__output *output)
{
    uint32_t n = (uint32_t)task->n;
    struct profk__output_words words = profk__output_words(output);
    cl_mem results = results_of(task, output, &words);
    cl_mem values = output->values != NULL ? output->values : task->results;
    cl_mem indices = output->indices != NULL ? output->indices : task->results;
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, 1, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->stride),  PROFK__ARG(n),
        PROFK__ARG(task->k),       PROFK__RULE(task->rule),  PROFK__ARG(words),         PROFK__ARG(rows),
        PROFK__ARG(list),          PROFK__ARG(results),      PROFK__ARG(values),        PROFK__ARG(indices),
        PROFK__ARG(indices),
    };
    enum profk__kernel_id id = profk__stage_rows_kernel(task->spec, task->n, task->k);

    return profk__launch(chain, &task->kernels[id], args, PROFK__COUNT(args), groups);
}

/* Rows as a walk finds them: a piece of the input, or what the parts of each kept and its indices there. */
struct walked {
    cl_mem bits, names; /* names: NULL where an index is first + the place */
    uint64_t start, stride;
    uint32_t n, first;
};

/* Work-groups of one for so many tasks: they take many each, because starting a work-group takes as long as a task. */
static uint64_t groups_for(const struct profk__task *task, uint64_t tasks)
{
    return tasks < task->row_cut.groups ? tasks : task->row_cut.groups;
}

/* The same in work-groups of one. */
static profk_status finish_alone(struct profk__chain *chain, const struct profk__task *task,
                                 enum profk__kernel_id id, const struct walked *in, const struct profk__output *output)
{
    struct profk__output_words words = profk__output_words(output);
    cl_mem results = results_of(task, output, &words);
    cl_mem values = output->values != NULL ? output->values : task->results;
    cl_mem indices = output->indices != NULL ? output->indices : task->results;
    cl_mem names = in->names != NULL ? in->names : task->results;
    uint32_t has_names = in->names != NULL;
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, 1, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(in->bits),   PROFK__ARG(in->start),        PROFK__ARG(in->stride),    PROFK__ARG(in->n),
        PROFK__ARG(task->k),    PROFK__ARG(task->rule.kind),  PROFK__RULE(task->rule),   PROFK__ARG(words),
        PROFK__ARG(rows),       PROFK__ARG(list),             PROFK__ARG(results),       PROFK__ARG(values),
        PROFK__ARG(indices),    PROFK__ARG(indices),          PROFK__ARG(names),         PROFK__ARG(has_names),
    };
    size_t arg_count = PROFK__COUNT(args) - (id == PROFK__KERNEL_walk ? 0 : 2);

    return profk__launch(chain, &task->kernels[id], args, arg_count, groups_for(task, groups));
}

/* Each of `parts` parts leaves its k best, in pairs of the row from `start` on. */
static profk_status walk_parts(struct profk__chain *chain, const struct profk__task *task, const struct walked *in,
                               uint32_t parts, struct profk__pairs kept, uint32_t start)
{
    cl_mem names = in->names != NULL ? in->names : task->results;
    uint32_t has_names = in->names != NULL;
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, parts, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(in->bits),  PROFK__ARG(in->start),        PROFK__ARG(in->stride),  PROFK__ARG(in->n),
        PROFK__ARG(in->first), PROFK__ARG(task->k),          PROFK__ARG(task->rule.kind), PROFK__RULE(task->rule),
        PROFK__ARG(rows),      PROFK__ARG(list),             PROFK__ARG(names),       PROFK__ARG(has_names),
        PROFK__ARG(kept.bits), PROFK__ARG(kept.index),       PROFK__ARG(start),       PROFK__ARG(task->row_cut.kept),
    };

    return profk__launch(chain, &task->kernels[PROFK__KERNEL_walk_part], args, PROFK__COUNT(args),
                         groups_for(task, groups));
}

static struct walked kept_of(const struct profk__task *task, struct profk__pairs kept, uint32_t count)
{
    return (struct walked){kept.bits, kept.index, 0, task->row_cut.kept, count, 0};
}

/* The parts of all pieces leave their k best, one behind the other in ascending index; where there is no room for those
 * of the next piece, the k best of them are all that is kept. */
static profk_status walk_pieces(struct profk__chain *chain, const struct profk__task *task, struct profk__pieces pieces,
                                struct profk__pairs kept, struct profk__pairs other, struct walked *ret)
{
    profk_status st = PROFK_OK;
    uint32_t count = 0;
    uint64_t first = 0;

    for (uint64_t i = 0; i < pieces.count; i++) {
        const uint32_t here = (uint32_t)first;
        const struct profk__piece piece = pieces.next(pieces.from, i, &first);
        const struct walked in = {piece.buffer, NULL, piece.start, task->stride, (uint32_t)piece.count, here};
        uint32_t parts = parts_of(task->row_cut, piece.count);
        uint32_t more = piece.count < task->k ? (uint32_t)piece.count : parts * task->k;

        if (count + more > task->row_cut.kept) {
            const struct walked before = kept_of(task, kept, count);
            struct profk__pairs joined = other;
            TRY(walk_parts(chain, task, &before, 1, joined, 0));
            count = count < task->k ? count : task->k;
            other = kept;
            kept = joined;
        }
        TRY(walk_parts(chain, task, &in, parts, kept, count));
        count += more;
    }
    *ret = kept_of(task, kept, count);
done:
    return st;
}

static profk_status rows_alone(struct profk__chain *chain, const struct profk__task *task, enum profk__kernel_id id,
                               struct profk__pieces pieces, const struct profk__output *output,
                               struct profk__pairs kept, struct profk__pairs other)
{
    profk_status st = PROFK_OK;
    struct walked in = {.stride = task->stride, .n = (uint32_t)task->n};
    uint64_t first = 0;

    if (pieces.count == 1 && task->row_cut.parts == 1) {
        const struct profk__piece piece = pieces.next(pieces.from, 0, &first);
        in.bits = piece.buffer;
        in.start = piece.start;
    } else {
        TRY(walk_pieces(chain, task, pieces, kept, other, &in));
        id = PROFK__KERNEL_walk;
    }
    TRY(finish_alone(chain, task, id, &in, output));
done:
    return st;
}

static profk_status select(struct profk__chain *chain, const struct profk__task *task,
                           const struct profk__piece *piece, struct profk__pairs winners)
{
    uint32_t n = (uint32_t)task->n;
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, 1, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start),  PROFK__ARG(task->stride), PROFK__ARG(n),
        PROFK__ARG(task->k),       PROFK__RULE(task->rule),   PROFK__ARG(rows),         PROFK__ARG(list),
        PROFK__ARG(task->results), PROFK__ARG(task->states),  PROFK__ARG(winners.bits), PROFK__ARG(winners.index),
    };

    return profk__launch(chain, &task->kernels[PROFK__KERNEL_rows_select], args, PROFK__COUNT(args), groups);
}

profk_status profk__stage_rows(struct profk__chain *chain, const struct profk__task *task, struct profk__pieces pieces,
                               const struct profk__output *output, struct profk__pairs winners,
                               struct profk__pairs other)
{
    enum profk__kernel_id id = profk__stage_rows_kernel(task->spec, task->n, task->k);
    uint64_t first = 0;

    if (id == PROFK__KERNEL_columns || id == PROFK__KERNEL_walk)
        return rows_alone(chain, task, id, pieces, output, winners, other);
    const struct profk__piece piece = pieces.next(pieces.from, 0, &first);
    return id == PROFK__KERNEL_rows_select ? select(chain, task, &piece, winners) : finish(chain, task, &piece, output);
}
