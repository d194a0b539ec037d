/*
 * problem.c: what the caller asks for, checked and completed.
 *
 * Everything that can be refused without looking at parameters or at the device is refused here, before anything is
 * built or enqueued.
 */
#include "plan/plan.h"

#include "base/entropy.h"
#include "base/structs.h"

#define N_LIMIT (UINT64_C(1) << 48)
#define K_LIMIT (UINT64_C(1) << 31)

int profk__problem_is_empty(const profk_problem *problem)
{
    return problem->k == 0 || problem->rows == 0;
}

/* One field that must stay below a limit. */
struct choice {
    const char *name;
    uint32_t value, limit;
};

static profk_status check_choices(const profk_problem *p)
{
    const struct choice choices[] = {
        {"order", p->order, PROFK_MAGNITUDE + 1},    {"nan", p->nan, PROFK_NAN_LAST + 1},
        {"sort", p->sort, PROFK_SORT_NONE + 1},      {"index", p->index, PROFK_INDEX_U32 + 1},
        {"mode", p->mode, PROFK_MODE_APPROXIMATE + 1}, {"route", p->route, PROFK_ROUTE_FULL + 1},
        {"reserved", p->reserved, 1},
    };

    if (profk__type_get(p->type) == NULL)
        return profk__fail(PROFK_ERR_ARGUMENT, "type %u is none of PROFK_F32 .. PROFK_U64", (unsigned)p->type);
    for (size_t i = 0; i < PROFK__COUNT(choices); i++)
        if (choices[i].value >= choices[i].limit)
            return profk__fail(PROFK_ERR_ARGUMENT, "%s is %u; it must be below %u", choices[i].name,
                               (unsigned)choices[i].value, (unsigned)choices[i].limit);
    return PROFK_OK;
}

static profk_status check_sizes(const profk_problem *p)
{
    uint64_t stride = p->row_stride != 0 ? p->row_stride : p->n;

    if (p->n >= N_LIMIT)
        return profk__fail(PROFK_ERR_ARGUMENT, "n is %llu; it must be below 2^48", (unsigned long long)p->n);
    if (p->k > p->n)
        return profk__fail(PROFK_ERR_ARGUMENT, "k is %llu but there are only n = %llu elements; lower k",
                           (unsigned long long)p->k, (unsigned long long)p->n);
    if (p->k >= K_LIMIT)
        return profk__fail(PROFK_ERR_ARGUMENT, "k is %llu; it must be below 2^31", (unsigned long long)p->k);
    if (stride < p->n)
        return profk__fail(PROFK_ERR_ARGUMENT, "row_stride is %llu, less than n = %llu; rows may not overlap",
                           (unsigned long long)stride, (unsigned long long)p->n);
    if (p->rows > 1 && stride > 0 && p->rows > UINT64_MAX / 8 / stride)
        return profk__fail(PROFK_ERR_ARGUMENT, "rows * row_stride is beyond 64 bits");
    if (p->rows > 1 && p->k > 0 && p->rows > UINT64_MAX / 16 / p->k)
        return profk__fail(PROFK_ERR_ARGUMENT, "rows * k is beyond 64 bits");
    if (p->index == PROFK_INDEX_U32 && p->n > UINT32_MAX)
        return profk__fail(PROFK_ERR_ARGUMENT, "u32 indices hold n up to 2^32 - 1; ask for u64");
    return PROFK_OK;
}

static profk_status check_budgets(const profk_problem *p)
{
    if (p->epsilon != 0 && !(p->epsilon >= 1e-12 && p->epsilon <= 0.5))
        return profk__fail(PROFK_ERR_ARGUMENT, "epsilon is %g; it must be 0 (default) or in 1e-12..0.5", p->epsilon);
    if (p->recall != 0 && !(p->recall > 0 && p->recall <= 1))
        return profk__fail(PROFK_ERR_ARGUMENT, "recall is %g; it must be 0 or in (0, 1]", p->recall);
    if (p->recall != 0 && p->mode != PROFK_MODE_APPROXIMATE)
        return profk__fail(PROFK_ERR_ARGUMENT, "recall is for approximate plans; an exact one has recall 1");
    return PROFK_OK;
}

profk_status profk__problem_check(const profk_problem *p, const struct profk__tuned *tuned, profk_problem *ret)
{
    profk_status st = PROFK_OK;
    profk_problem problem;

    TRY(profk__struct_in(&problem, sizeof problem, sizeof problem, p, "profk_problem"));
    TRY(check_choices(&problem));
    TRY(check_sizes(&problem));
    TRY(check_budgets(&problem));
    if (problem.row_stride == 0)
        problem.row_stride = problem.n;
    if (problem.epsilon == 0)
        problem.epsilon = problem.mode == PROFK_MODE_EXACT ? tuned->epsilon_ppb * 1e-9 : PROFK__EPSILON_DEFAULT;
    while (problem.seed == 0)
        problem.seed = profk__entropy();
    *ret = problem;
done:
    return st;
}

static profk_status check_forced_params(const profk_tuning *f, const profk_problem *problem)
{
    uint64_t S_most = f->S != 0 ? f->S : problem->n;

    if (f->S > problem->n)
        return profk__fail(PROFK_ERR_ARGUMENT, "S is %llu; it must be at most n = %llu", (unsigned long long)f->S,
                           (unsigned long long)problem->n);
    if (f->t > S_most)
        return profk__fail(PROFK_ERR_ARGUMENT, "t is %llu; it must be at most S = %llu", (unsigned long long)f->t,
                           (unsigned long long)S_most);
    if (f->M != 0 && (f->M < problem->k || f->M > problem->n))
        return profk__fail(PROFK_ERR_ARGUMENT, "M is %llu; it must be in k..n = %llu..%llu", (unsigned long long)f->M,
                           (unsigned long long)problem->k, (unsigned long long)problem->n);
    return PROFK_OK;
}

static profk_status check_forced_filter(const profk_tuning *f)
{
    if (f->filter_shape > PROFK_SHAPE_STREAM)
        return profk__fail(PROFK_ERR_ARGUMENT, "filter_shape is %u; it must be 0, TILE or STREAM",
                           (unsigned)f->filter_shape);
    if (f->vector_width > 16 || (f->vector_width & (f->vector_width - 1)) != 0)
        return profk__fail(PROFK_ERR_ARGUMENT, "vector_width is %u; it must be 0, 1, 2, 4, 8 or 16",
                           (unsigned)f->vector_width);
    if (f->filter_items > 8)
        return profk__fail(PROFK_ERR_ARGUMENT, "filter_items is %u; it must be at most 8", (unsigned)f->filter_items);
    if (f->filter_items * f->vector_width > 32)
        return profk__fail(PROFK_ERR_ARGUMENT, "filter_items * vector_width is %u; it must be at most 32",
                           (unsigned)(f->filter_items * f->vector_width));
    return PROFK_OK;
}

profk_status profk__tuning_check(const profk_tuning *forced, const profk_problem *problem, profk_tuning *ret)
{
    profk_status st = PROFK_OK;
    profk_tuning tuning = {.struct_size = sizeof tuning};

    if (forced != NULL)
        TRY(profk__struct_in(&tuning, sizeof tuning, sizeof tuning, forced, "profk_tuning"));
    if (!profk__problem_is_empty(problem))
        TRY(check_forced_params(&tuning, problem));
    TRY(check_forced_filter(&tuning));
    *ret = tuning;
done:
    return st;
}
