/* tune.c: one tuning session from built-in values to stored ones. */
#include "tune/tune.h"

#include <math.h>

/* Which shape of the filter, with the sizes just found for each. */
static profk_status choose_shape(struct profk__bench *bench, struct profk__tuned *tuned)
{
    profk_status st = PROFK_OK;
    struct profk__tuned other = *tuned;
    const struct profk__trial trial = {"the filter's shape", bench->input_elements, 32, 1, PROFK_ROUTE_PROFK, 4096, 0, 0};
    const struct profk__tuned *const both[2] = {tuned, &other};
    const struct profk__trial trials[2] = {trial, trial};
    double seconds[2];
    int may_go_on = 0, is_other;

    other.filter_shape = tuned->filter_shape == PROFK_SHAPE_TILE ? PROFK_SHAPE_STREAM : PROFK_SHAPE_TILE;
    TRY(profk__bench_may_go_on(bench, "filter shape", &may_go_on));
    if (!may_go_on)
        goto done;
    profk__trials_in_turns(bench, 2, both, trials, seconds);
    is_other = seconds[1] * 1.05 < seconds[0];
    profk__text_add(bench->report, "filter shape: %s, %lu us (the other %lu us)\n",
                    both[is_other]->filter_shape == PROFK_SHAPE_TILE ? "tile" : "stream",
                    (unsigned long)(seconds[is_other] * 1e6), (unsigned long)(seconds[!is_other] * 1e6));
    if (is_other)
        *tuned = other;
done:
    return st;
}

static void say_gain(struct profk__bench *bench, const struct profk__tuned *before, const struct profk__tuned *after)
{
    const struct profk__trial trial = {"the gain", bench->input_elements, 2048, 1, PROFK_ROUTE_PROFK, 0, 0, 0};
    const struct profk__tuned *const both[2] = {before, after};
    const struct profk__trial trials[2] = {trial, trial};
    double seconds[2];

    profk__trials_in_turns(bench, 2, both, trials, seconds);
    profk__text_add(bench->report, "the top 2048 of %llu: %lu us before, %lu us now\n",
                    (unsigned long long)trial.n, (unsigned long)(seconds[0] * 1e6), (unsigned long)(seconds[1] * 1e6));
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
