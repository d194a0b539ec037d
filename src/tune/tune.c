/* tune.c: one tuning session from built-in values to stored ones. */
#include "tune/tune.h"

#include <math.h>

/* Which shape of the filter, with the sizes just found for each. */
static profk_status choose_shape(struct profk__bench *bench, struct profk__tuned *tuned)
{
    profk_status st = PROFK_OK;
    struct profk__tuned other = *tuned;
    const struct profk__trial trial = {"the filter's shape", bench->input_elements, 32, 1, PROFK_ROUTE_PROFK, 4096, 0, 0};
    int may_go_on = 0;

    other.filter_shape = tuned->filter_shape == PROFK_SHAPE_TILE ? PROFK_SHAPE_STREAM : PROFK_SHAPE_TILE;
    TRY(profk__bench_may_go_on(bench, "filter shape", &may_go_on));
    if (!may_go_on)
        goto done;
    double now_s = profk__trial_seconds(bench, tuned, &trial, PROFK__RUNS);
    double other_s = profk__trial_seconds(bench, &other, &trial, PROFK__RUNS);
    if (other_s * 1.05 < now_s)
        *tuned = other;
    profk__text_add(bench->report, "filter shape: %s, %lu us (the other %lu us)\n",
                    tuned->filter_shape == PROFK_SHAPE_TILE ? "tile" : "stream",
                    (unsigned long)((tuned->filter_shape == other.filter_shape ? other_s : now_s) * 1e6),
                    (unsigned long)((tuned->filter_shape == other.filter_shape ? now_s : other_s) * 1e6));
done:
    return st;
}

static void say_gain(struct profk__bench *bench, const struct profk__tuned *before, const struct profk__tuned *after)
{
    const struct profk__trial trial = {"the gain", bench->input_elements, 2048, 1, PROFK_ROUTE_PROFK, 0, 0, 0};
    double before_s = profk__trial_seconds(bench, before, &trial, PROFK__RUNS);
    double after_s = profk__trial_seconds(bench, after, &trial, PROFK__RUNS);

    profk__text_add(bench->report, "the top 2048 of %llu: %lu us before, %lu us now\n",
                    (unsigned long long)trial.n, (unsigned long)(before_s * 1e6), (unsigned long)(after_s * 1e6));
}

profk_status profk__tune(profk_context *ctx, double budget_s, struct profk__text *report)
{
    profk_status st = PROFK_OK;
    const struct profk__tuned builtin = profk__tuned_builtin(&ctx->device);
    struct profk__tuned tuned = builtin;
    struct profk__bench bench;
    int is_open = 0, may_go_on = 0;

    TRY(profk__bench_open(ctx, budget_s, report, &bench));
    is_open = 1;
    profk__text_add(report, "tuning %s (%s, driver %s)\n", ctx->device.facts.name, ctx->device.facts.platform,
                    ctx->device.facts.driver);
    for (unsigned knob = 0; knob < PROFK__KNOBS; knob++) {
        bench.done = (double)knob / (PROFK__KNOBS + 3);
        TRY(profk__tune_knob(&bench, knob, &tuned));
        if (knob == 1)
            TRY(choose_shape(&bench, &tuned));
    }
    TRY(profk__tune_costs(&bench, &tuned));
    TRY(profk__tune_crossovers(&bench, &tuned));
    TRY(profk__bench_may_go_on(&bench, "the gain", &may_go_on));
    say_gain(&bench, &builtin, &tuned);
    profk__text_add(report, "%s %.0f s\n", may_go_on ? "done in" : "what was not tried stays (raise the budget): out of time after",
                    profk__now_s() - bench.begin_s);
    tuned.is_measured = 1;
    profk__context_tune(ctx, &tuned);
    profk__text_add(report, "%s\n", profk__tuned_save(ctx, &tuned) ? "stored"
                                    : "not stored: there is no cache folder that can be written");
done:
    if (is_open)
        profk__bench_close(&bench);
    return st;
}
