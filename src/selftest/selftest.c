/* selftest.c: runs the groups on a context and says what they found, a line each (profk.h). */
#include "selftest/selftest.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* With so many digits and a point, whatever the locale. */
static void add_decimal(struct profk__text *report, double value, int digits, const char *behind)
{
    const uint64_t unit = digits == 1 ? 10 : 100, whole = (uint64_t)(value * (double)unit + 0.5);

    profk__text_add(report, "%" PRIu64 ".%0*" PRIu64 "%s", whole / unit, digits, whole % unit, behind);
}

static void add_group(struct profk__text *report, const struct group *group)
{
    profk__text_add(report, "%-11s %5" PRIu64 " of %5" PRIu64 " trials %5" PRIu64 " failed  ", group->name,
                    group->trials, group->all, group->failed);
    add_decimal(report, group->seconds, 2, " s\n");
}

static struct group sum_up(const struct findings *findings)
{
    struct group all = {.name = "all", .all = findings->all, .trials = findings->trials};

    for (uint32_t i = 0; i < findings->group_count; i++) {
        all.failed += findings->groups[i].failed;
        all.seconds += findings->groups[i].seconds;
    }
    return all;
}

static void add_laws(struct profk__text *report, const struct findings *findings)
{
    for (uint32_t i = 0; i < findings->law_count; i++) {
        const struct trial_law *law = &findings->laws[i].law;

        profk__text_add(report, "misses %s: %" PRIu64 " samples, %" PRIu64 " missed, theory ",
                        findings->laws[i].shape == PROFK_SHAPE_TILE ? "tile" : "stream", law->samples, law->missed);
        add_decimal(report, law->missed_expected, 1, "");
        profk__text_add(report, ", %" PRIu64 " overflowed, theory ", law->overflowed);
        add_decimal(report, law->overflowed_expected, 1, "\n");
    }
}

/* What has nothing to do with right or wrong, but with what exactly was tried. */
static void add_facts(struct profk__text *report, const struct findings *findings, uint32_t compiled, uint32_t loaded)
{
    const struct profk__tuned tuned = profk__context_tuned(findings->ctx);

    profk__text_add(report, "seed: %d\n", PROFK__SEED);
    profk__text_add(report, "tuning: %s\n", tuned.is_measured ? "stored" : "default");
    profk__text_add(report, "shape: %s\n", tuned.filter_shape == PROFK_SHAPE_TILE ? "tile" : "stream");
    profk__text_add(report, "programs: %" PRIu32 " compiled, %" PRIu32 " from the cache\n", compiled, loaded);
}

/* The verdict names what it is not about. */
static void add_verdict(struct profk__text *report, const struct findings *findings, const struct group *all)
{
    const uint64_t left = all->all - all->trials;
    const char *between = "; not run, for lack of time: ";

    profk__text_add(report, "verdict: %s", all->failed ? "fail" : left ? "pass in part" : "pass");
    for (uint32_t i = 0; i < findings->group_count; i++) {
        const struct group *group = &findings->groups[i];

        if (group->trials < group->all) {
            profk__text_add(report, "%s%s%s", between, group->name, group->trials ? " in part" : "");
            between = ", ";
        }
    }
    profk__text_add(report, "\n");
}

static void add_findings(struct profk__text *report, const struct findings *findings, const struct group *all)
{
    for (uint32_t i = 0; i < findings->group_count; i++)
        add_group(report, &findings->groups[i]);
    add_group(report, all);
    add_laws(report, findings);
    profk__text_add(report, "damage: %" PRIu64 " answers damaged on purpose, %" PRIu64 " found\n", findings->damaged,
                    findings->found);
    for (uint32_t i = 0; i < findings->failure_count; i++)
        profk__text_add(report, "failed: %s\n", findings->failures[i]);
}

static profk_status run(struct findings *findings, struct profk__text *report)
{
    profk_status st = PROFK_OK;
    struct profk__programs *programs = &findings->ctx->programs;
    uint32_t compiled, loaded, compiled_before, loaded_before;
    struct group all;

    profk__programs_count(programs, &compiled_before, &loaded_before);
    profk__try_everything(findings);
    profk__programs_count(programs, &compiled, &loaded);
    all = sum_up(findings);
    add_facts(report, findings, compiled - compiled_before, loaded - loaded_before);
    add_findings(report, findings, &all);
    if (findings->cancelled)
        TRY(profk__fail(PROFK_ERR_CANCELLED, "stopped by the caller after %" PRIu64 " trials", all.trials));
    add_verdict(report, findings, &all);
    if (all.failed)
        TRY(profk__fail(PROFK_ERR_INTERNAL,
                        "%" PRIu64 " of %" PRIu64 " trials failed; take another device or driver.  "
                        "The first: %s",
                        all.failed, all.trials, findings->failures[0]));
done:
    return st;
}

profk_status profk__selftest(profk_context *ctx, uint32_t level, double budget_s, struct profk__text *report)
{
    profk_status st = PROFK_OK;
    cl_int code = CL_SUCCESS;
    struct findings *findings = calloc(1, sizeof *findings); /* too large for a stack */

    if (findings == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory for the findings of a self-test");
        goto done;
    }
    findings->ctx = ctx;
    findings->level = level;
    findings->begin_s = profk__now_s();
    findings->budget_s = budget_s;
    findings->bench = (struct trial_bench){
        ctx, ctx->cl, clCreateCommandQueue(ctx->cl, ctx->device.facts.id, 0, &code), PROFK__SEED};
    TRY(profk__cl_check(code, "clCreateCommandQueue"));
    TRY(run(findings, report));
done:
    if (findings != NULL)
        profk__release_queue(findings->bench.queue);
    free(findings);
    return st;
}
