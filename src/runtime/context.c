/* context.c: what threads that share a context may change. */
#include "runtime/context.h"

struct profk__tuned profk__context_tuned(profk_context *ctx)
{
    profk__lock_take(&ctx->lock);
    struct profk__tuned tuned = ctx->tuned;
    profk__lock_give(&ctx->lock);
    return tuned;
}

void profk__context_tune(profk_context *ctx, const struct profk__tuned *tuned)
{
    profk__lock_take(&ctx->lock);
    ctx->tuned = *tuned;
    profk__lock_give(&ctx->lock);
}
