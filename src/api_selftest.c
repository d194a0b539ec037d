/* api_selftest.c: entry point of the self-test. */
#include "selftest/selftest.h"

#include <math.h>

profk_status profk_selftest(profk_context *ctx, uint32_t level, char *report, size_t room, size_t *need_ret)
{
    profk_status st = PROFK_OK;
    struct profk__text words = profk__text_in(report, report != NULL ? room : 0);

    if (ctx == NULL)
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_selftest: ctx is NULL");
    else if (report == NULL && room > 0)
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_selftest: report is NULL but has room");
    else if (level > 2)
        st = profk__fail(PROFK_ERR_ARGUMENT, "profk_selftest: level is %u; it must be 0, 1 or 2", (unsigned)level);
    else
        st = profk__selftest(ctx, level, level == 1 ? PROFK__SELFTEST_BUDGET_S : (double)INFINITY, &words);
    if (need_ret != NULL)
        *need_ret = words.length + 1;
    return st;
}
