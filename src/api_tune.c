/* api_tune.c: entry points of tuning. */
#include "tune/tune.h"

#include <math.h>

profk_status profk_tune(profk_context *ctx, double budget_seconds, char *report, size_t room, size_t *need_ret)
{
    profk_status st = PROFK_OK;
    struct profk__text words = profk__text_in(report, report != NULL ? room : 0);

    if (ctx == NULL || (report == NULL && room > 0) || !isfinite(budget_seconds) || budget_seconds < 0) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_tune: %s",
                         ctx == NULL ? "ctx is NULL" : report == NULL && room > 0 ? "report is NULL but has room"
                                                     : "budget_seconds must be finite and not negative");
        goto done;
    }
    TRY(profk__tune(ctx, budget_seconds > 0 ? budget_seconds : PROFK__BUDGET_DEFAULT_S, &words));
done:
    if (need_ret != NULL)
        *need_ret = words.length + 1;
    return st;
}

static profk_status check_path(const profk_context *ctx, const char *path, const char *name)
{
    if (ctx != NULL && path != NULL && path[0] != '\0')
        return PROFK_OK;
    return profk__fail(PROFK_ERR_ARGUMENT, "%s: %s", name, ctx == NULL ? "ctx is NULL" : "no path is given");
}

profk_status profk_tuning_export(const profk_context *ctx, const char *path)
{
    profk_status st = check_path(ctx, path, "profk_tuning_export");

    return st == PROFK_OK ? profk__tuned_export((profk_context *)ctx, path) : st; /* takes its lock, changes nothing */
}

profk_status profk_tuning_import(profk_context *ctx, const char *path)
{
    profk_status st = check_path(ctx, path, "profk_tuning_import");

    return st == PROFK_OK ? profk__tuned_import(ctx, path) : st;
}
