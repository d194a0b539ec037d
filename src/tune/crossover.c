/*
 * crossover.c: what a slot and a candidate cost, the failure budget, and from where on a route pays.
 *
 * Costs come from three calls over the same input: eight times the sample at the same R gives a slot's, eight times R
 * at the same sample a candidate's (the fit of Appendix E.1 with what refine really reads).
 */
#include "tune/tune.h"

#include "params/params.h"

#include <math.h>

enum { SMALL_K = 16, WALK_K = 64 };
enum { FIT_S = 1 << 14, FIT_T = 1 << 3, FIT_FACTOR = 8, FIT_K = 1 << 11 };

/* A cost in picoseconds, at least 1 so that it counts as known; the old one where noise hid it. */
static uint32_t picoseconds(double seconds, double count, uint32_t old)
{
    double ps = seconds / count * 1e12;

    return !isfinite(ps) || ps < 1 || ps > 1e9 ? old : (uint32_t)ps;
}

/* What the budget is: the first within 5 % of the best at (2^26, 2^11), by the costs.  A miss costs a second call. */
static uint32_t choose_epsilon(const struct profk__tuned *tuned, double read_s_per_element)
{
    static const uint32_t candidates_ppb[] = {1000000, 3000000, 10000000, 30000000};
    const uint64_t n = UINT64_C(1) << 26, k = 1 << 11;
    double seconds[4], best = (double)INFINITY;
    unsigned chosen = 0;

    for (unsigned i = 0; i < 4; i++) {
        double epsilon = candidates_ppb[i] * 1e-9;
        uint64_t S = profk__sample_by_price(n, k, epsilon, tuned->slot_ps, tuned->candidate_ps);
        double R = (double)n * (double)profk__fast_rank(n, k, S, epsilon / 2) / (double)S;
        double call = ((double)S * tuned->slot_ps + R * tuned->candidate_ps) * 1e-12 + (double)n * read_s_per_element;
        seconds[i] = call * (1 + epsilon);
        best = seconds[i] < best ? seconds[i] : best;
    }
    while (seconds[chosen] > 1.05 * best)
        chosen++;
    return candidates_ppb[chosen];
}

profk_status profk__tune_costs(struct profk__bench *bench, struct profk__tuned *tuned)
{
    profk_status st = PROFK_OK;
    uint64_t n = bench->input_elements;
    double R = (double)n * (double)FIT_T / (double)FIT_S;
    uint64_t M = 2 * FIT_FACTOR * (uint64_t)R;
    const struct profk__trial trials[3] = {
        {"costs", n, FIT_K, 1, PROFK_ROUTE_PROFK, FIT_S, FIT_T, M},
        {"costs", n, FIT_K, 1, PROFK_ROUTE_PROFK, FIT_S, FIT_T * FIT_FACTOR, M},
        {"costs", n, FIT_K, 1, PROFK_ROUTE_PROFK, FIT_S * FIT_FACTOR, FIT_T * FIT_FACTOR, M},
    };
    const struct profk__tuned *const all[3] = {tuned, tuned, tuned};
    int may_go_on = 0;
    double seconds[3];

    TRY(profk__bench_may_go_on(bench, "costs", &may_go_on));
    if (!may_go_on)
        goto done;
    profk__trials_in_turns(bench, 3, all, trials, seconds);
    tuned->candidate_ps = picoseconds(seconds[1] - seconds[0], (FIT_FACTOR - 1) * R, tuned->candidate_ps);
    tuned->slot_ps = picoseconds(seconds[2] - seconds[0], (FIT_FACTOR - 1) * (double)FIT_S, tuned->slot_ps);
    if (tuned->slot_ps != 0 && tuned->candidate_ps != 0)
        tuned->epsilon_ppb = choose_epsilon(tuned, seconds[0] / (double)n);
    profk__text_add(bench->report, "costs: a slot %lu ps, a candidate %lu ps; epsilon %lu ppb\n",
                    (unsigned long)tuned->slot_ps, (unsigned long)tuned->candidate_ps,
                    (unsigned long)tuned->epsilon_ppb);
done:
    return st;
}

/* Is route `first` faster than `second`? */
static int is_faster(struct profk__bench *bench, const struct profk__tuned *tuned, uint64_t n, uint64_t k,
                     uint32_t first, uint32_t second)
{
    const struct profk__trial trials[2] = {{"routes", n, k, 1, first, 0, 0, 0}, {"routes", n, k, 1, second, 0, 0, 0}};
    const struct profk__tuned *const both[2] = {tuned, tuned};
    double seconds[2];

    profk__trials_in_turns(bench, 2, both, trials, seconds);
    return seconds[0] < seconds[1];
}

/* The smallest n, a power of two, from which on `later` is the faster route. */
static profk_status crossing(struct profk__bench *bench, const struct profk__tuned *tuned, uint32_t k,
                             uint32_t sooner, uint32_t later, uint32_t first_n, uint32_t last_n, uint32_t *ret)
{
    profk_status st = PROFK_OK;
    uint32_t n = last_n;
    int may_go_on = 0;

    for (; n >= first_n; n /= 2) {
        TRY(profk__bench_may_go_on(bench, "routes", &may_go_on));
        if (!may_go_on)
            goto done; /* what was before stays */
        if (!is_faster(bench, tuned, n, k, later, sooner))
            break;
    }
    *ret = 2 * n;
done:
    return st;
}

/* The smallest share of n that the buffer may be before full is faster. */
static profk_status buffer_share(struct profk__bench *bench, struct profk__tuned *tuned)
{
    profk_status st = PROFK_OK;
    enum { N = 1 << 20 };
    int may_go_on = 0;

    for (uint32_t share = 4; share <= 256; share *= 2) {
        uint64_t k = N / share * 3 / 4; /* M is somewhat more */
        TRY(profk__bench_may_go_on(bench, "routes", &may_go_on));
        if (!may_go_on)
            goto done;
        if (!is_faster(bench, tuned, N, k, PROFK_ROUTE_FULL, PROFK_ROUTE_PROFK)) {
            tuned->profk_share = share;
            break;
        }
    }
done:
    return st;
}

profk_status profk__tune_crossovers(struct profk__bench *bench, struct profk__tuned *tuned)
{
    profk_status st = PROFK_OK;
    uint32_t full_n = tuned->rows_n_max + 1, profk_n = tuned->rows_first_n + 1;
    uint32_t k = 2 * tuned->rows_first_k > SMALL_K ? 2 * tuned->rows_first_k : SMALL_K; /* that of no walk */

    TRY(crossing(bench, tuned, k, PROFK_ROUTE_ROWS, PROFK_ROUTE_FULL, 4 * k, 1 << 17, &full_n));
    tuned->rows_n_max = full_n - 1;
    TRY(crossing(bench, tuned, k, PROFK_ROUTE_ROWS, PROFK_ROUTE_PROFK, 1 << 12, 1 << 17, &tuned->profk_n_min));
    if (tuned->rows_first_k != 0) {
        TRY(crossing(bench, tuned, WALK_K, PROFK_ROUTE_ROWS, PROFK_ROUTE_PROFK, 1 << 12,
                     (uint32_t)bench->input_elements, &profk_n));
        tuned->rows_first_n = profk_n - 1;
    }
    TRY(buffer_share(bench, tuned));
    profk__text_add(bench->report, "routes: rows first up to n = %lu, k = %lu; profk from n = %lu on while M <= n / %lu; "
                    "else rows up to n = %lu, then full\n", (unsigned long)tuned->rows_first_n,
                    (unsigned long)tuned->rows_first_k, (unsigned long)tuned->profk_n_min,
                    (unsigned long)tuned->profk_share, (unsigned long)tuned->rows_n_max);
done:
    return st;
}
