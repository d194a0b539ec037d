/* selftest.c: runs the groups on a context and says what they found, a line each (profk.h). */
#include "selftest/selftest.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Seconds with two digits and a point, whatever the locale. */
static void add_seconds(struct profk__text *report, double seconds)
{
    uint64_t hundredths = (uint64_t)(seconds * 100 + 0.5);

    profk__text_add(report, "%6" PRIu64 ".%02" PRIu64 " s\n", hundredths / 100, hundredths % 100);
}

static void add_group(struct profk__text *report, const struct group *group)
{
    profk__text_add(report, "%-10s %7" PRIu64 " trials %7" PRIu64 " failed ", group->name, group->trials,
                    group->failed);
    add_seconds(report, group->seconds);
}

static struct group sum_up(const struct findings *findings)
{
    struct group all = {.name = "all"};

    for (uint32_t i = 0; i < findings->group_count; i++) {
        all.trials += findings->groups[i].trials;
        all.failed += findings->groups[i].failed;
        all.seconds += findings->groups[i].seconds;
    }
    return all;
}

/* One selection beyond the caches, in bytes of input a second; a figure, no verdict. */
static profk_status add_speed(profk_context *ctx, struct profk__text *report)
{
    profk_status st = PROFK_OK;
    const struct profk__tuned tuned = profk__context_tuned(ctx);
    struct profk__bench bench = {.ctx = ctx};

    TRY(profk__bench_open(ctx, (double)INFINITY, report, &bench));
    const struct profk__trial call = {.what = "the speed", .n = bench.input_elements, .k = 256, .rows = 1};
    double seconds = profk__trial_seconds(&bench, &tuned, &call, PROFK__RUNS);
    if (isfinite(seconds) && seconds > 0)
        profk__text_add(report, "speed      %7" PRIu64 " MB/s, top %" PRIu64 " of %" PRIu64 " f32\n",
                        (uint64_t)((double)call.n * 4e-6 / seconds), call.k, call.n);
    profk__bench_close(&bench);
done:
    return st;
}

static void add_findings(struct profk__text *report, const struct findings *findings, const struct group *all)
{
    for (uint32_t i = 0; i < findings->group_count; i++)
        add_group(report, &findings->groups[i]);
    add_group(report, all);
    for (uint32_t i = 0; i < findings->failure_count; i++)
        profk__text_add(report, "failed: %s\n", findings->failures[i]);
}

profk_status profk__selftest(profk_context *ctx, uint32_t level, struct profk__text *report)
{
    profk_status st = PROFK_OK;
    struct group all;
    cl_int code = CL_SUCCESS;
    struct findings *findings = calloc(1, sizeof *findings); /* too large for a stack */

    if (findings == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory for the findings of a self-test");
        goto done;
    }
    findings->ctx = ctx;
    findings->level = level;
    findings->bench = (struct trial_bench){ctx, ctx->cl,
                                           clCreateCommandQueue(ctx->cl, ctx->device.facts.id, 0, &code)};
    TRY(profk__cl_check(code, "clCreateCommandQueue"));
    profk__try_everything(findings);
    all = sum_up(findings);
    add_findings(report, findings, &all);
    if (findings->cancelled)
        TRY(profk__fail(PROFK_ERR_CANCELLED, "stopped by the caller after %" PRIu64 " trials", all.trials));
    if (level >= 2)
        TRY(add_speed(ctx, report));
    profk__text_add(report, "verdict: %s\n", all.failed ? "fail" : "pass");
    if (all.failed)
        TRY(profk__fail(PROFK_ERR_INTERNAL, "%" PRIu64 " of %" PRIu64 " trials failed; take another device or driver.  "
                        "The first: %s", all.failed, all.trials, findings->failures[0]));
done:
    if (findings != NULL)
        profk__release_queue(findings->bench.queue);
    free(findings);
    return st;
}
