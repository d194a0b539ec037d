/*
 * rows.c: rows that are selected whole, one launch.
 *
 *   rows_short, rows, rows_select   a work-group a row (rows.cl)
 *   columns, walk                   work-groups of one, and not too many winners (solo.cl)
 */
#include "stages/stages.h"

/* Rows for which columns is faster than a walk; measured in the commit that added it. */
static int suits_columns(uint64_t n, uint32_t k)
{
    enum { FITS = 128, FITS_TWICE = 64, SHORT = 512, COMPARES = 1 << 14 }; /* solo.cl: PK_COLUMNS fit */

    return n <= FITS || (k <= FITS_TWICE && n <= SHORT && n * k <= COMPARES);
}

/* Work-groups of solo.cl take many tasks each: a task is short, and starting a work-group takes as long. */
enum { SOLO_GROUPS_MAX = 1024 };

int profk__stage_rows_finishes(const struct profk__spec *spec, uint32_t k)
{
    return k <= profk__local_pairs(spec, PROFK__FILE_ROWS);
}

enum profk__kernel_id profk__stage_rows_kernel(const struct profk__spec *spec, uint64_t n, uint32_t k)
{
    if (spec->wg[PROFK__FILE_SOLO] == 1) {
        if (suits_columns(n, k))
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

/* Selects, sorts and writes out. */
static profk_status finish(struct profk__chain *chain, const struct profk__task *task,
                           const struct profk__piece *piece, const struct profk__output *output)
{
    uint32_t n = (uint32_t)task->n;
    struct profk__output_words words = profk__output_words(output);
    cl_mem values = output->values != NULL ? output->values : task->results;
    cl_mem indices = output->indices != NULL ? output->indices : task->results;
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, 1, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->stride),  PROFK__ARG(n),
        PROFK__ARG(task->k),       PROFK__RULE(task->rule),  PROFK__ARG(words),         PROFK__ARG(rows),
        PROFK__ARG(list),          PROFK__ARG(task->results), PROFK__ARG(values),       PROFK__ARG(indices),
        PROFK__ARG(indices),
    };
    enum profk__kernel_id id = profk__stage_rows_kernel(task->spec, task->n, task->k);

    return profk__launch(chain, &task->kernels[id], args, PROFK__COUNT(args), groups);
}

/* The same in work-groups of one. */
static profk_status finish_alone(struct profk__chain *chain, const struct profk__task *task,
                                 const struct profk__piece *piece, const struct profk__output *output)
{
    uint32_t n = (uint32_t)task->n;
    struct profk__output_words words = profk__output_words(output);
    cl_mem values = output->values != NULL ? output->values : task->results;
    cl_mem indices = output->indices != NULL ? output->indices : task->results;
    struct profk__rows rows;
    cl_mem list;
    uint64_t groups = profk__serve(task, 1, &rows, &list);
    const struct profk__arg args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start),   PROFK__ARG(task->stride), PROFK__ARG(n),
        PROFK__ARG(task->k),       PROFK__ARG(task->rule.kind), PROFK__RULE(task->rule), PROFK__ARG(words),
        PROFK__ARG(rows),          PROFK__ARG(list),           PROFK__ARG(task->results), PROFK__ARG(values),
        PROFK__ARG(indices),       PROFK__ARG(indices),
    };
    enum profk__kernel_id id = profk__stage_rows_kernel(task->spec, task->n, task->k);

    return profk__launch(chain, &task->kernels[id], args, PROFK__COUNT(args),
                         groups < SOLO_GROUPS_MAX ? groups : SOLO_GROUPS_MAX);
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

profk_status profk__stage_rows(struct profk__chain *chain, const struct profk__task *task,
                               const struct profk__piece *piece, const struct profk__output *output,
                               struct profk__pairs winners)
{
    switch (profk__stage_rows_kernel(task->spec, task->n, task->k)) {
    case PROFK__KERNEL_rows_select:
        return select(chain, task, piece, winners);
    case PROFK__KERNEL_columns:
    case PROFK__KERNEL_walk:
        return finish_alone(chain, task, piece, output);
    default:
        return finish(chain, task, piece, output);
    }
}
