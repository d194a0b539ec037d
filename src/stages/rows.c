/* rows.c: one work-group a row, one launch. */
#include "stages/stages.h"

int profk__stage_rows_finishes(const struct profk__spec *spec, uint32_t k)
{
    return k <= profk__local_pairs(spec, PROFK__FILE_ROWS);
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
    int is_short = n <= profk__local_pairs(task->spec, PROFK__FILE_ROWS);
    const struct profk__arg args[] = {
        PROFK__ARG(piece->buffer), PROFK__ARG(piece->start), PROFK__ARG(task->stride),  PROFK__ARG(n),
        PROFK__ARG(task->k),       PROFK__RULE(task->rule),  PROFK__ARG(words),         PROFK__ARG(rows),
        PROFK__ARG(list),          PROFK__ARG(task->results), PROFK__ARG(values),       PROFK__ARG(indices),
        PROFK__ARG(indices),
    };

    return profk__launch(chain, &task->kernels[is_short ? PROFK__KERNEL_rows_short : PROFK__KERNEL_rows], args,
                         PROFK__COUNT(args), groups);
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
    if (profk__stage_rows_finishes(task->spec, task->k))
        return finish(chain, task, piece, output);
    return select(chain, task, piece, winners);
}
