/* api_later.c: the frozen entry points that a later release fills; until then each says that it is not there. */
#include "base/error.h"
#include "profk.h"

static profk_status not_yet(const char *name)
{
    return profk__fail(PROFK_ERR_UNSUPPORTED, "%s is not in this release; do without it", name);
}

profk_status profk_selftest(profk_context *ctx, uint32_t level, char *report, size_t room, size_t *need_ret)
{
    (void)ctx, (void)level, (void)report, (void)room, (void)need_ret;
    return not_yet("profk_selftest");
}
