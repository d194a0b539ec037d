/* suites.c: a table; its texts are what could stand on the command line. */
#include "suites.h"

#include <assert.h>
#include <string.h>

#include "dataset.h"
#include "measure.h"

#define ALL_DISTRIBUTIONS                                                                                            \
    "normal,uniform,uniform-1-2,narrow,lognormal,exponential,cauchy,zeros,binary,few-positives,ascending,descending"
#define PAPER_BUDGETS "0.3,0.1,0.03,0.01,0.003,1e-3,1e-4"

static const struct suite {
    const char *name;
    const char *n[SCALE_COUNT], *k[SCALE_COUNT];
    const char *rows[2]; /* small, else */
    const char *S[2];
    const char *distributions, *modes, *epsilons;
    uint64_t runs[SCALE_COUNT], most[SCALE_COUNT];
} suites[] = {
    /* one cell: a call beside reads of its input */
    {"single",
     {"2^16", "2^26", "2^28"},
     {"2^8", "2^11", "2^13"},
     {"1", "1"},
     {"0", "0"},
     "normal",
     "exact",
     "1e-3",
     {5, 9, 30},
     {0, 0, 0}},
    /* Figures 2, 3 and 5: latency and speed-up over n and k */
    {"grid",
     {"2^14,2^16", "2^16..2^28*4", "2^21..2^30"},
     {"2^3,2^8", "2^5..2^17*8", "2^5..2^19*4"},
     {"1", "1"},
     {"0", "0"},
     "normal",
     "exact",
     "1e-3",
     {5, 11, 30},
     {0, 0, 0}},
    /* Table 5 and Figure 7 */
    {"sample-size",
     {"2^16", "2^21..2^26", "2^21..2^28"},
     {"2^4", "2^5..2^17*8", "2^5..2^17*8"},
     {"1", "1"},
     {"0,2^9,2^10", "0,2^12..2^18"},
     "normal",
     "exact",
     "1e-3",
     {5, 15, 30},
     {0, 0, 0}},
    /* Table 8 and Figure 9 */
    {"failure-budget",
     {"2^14", "2^22,2^24", "2^24,2^28"},
     {"2^4", "2^8,2^14", "2^8,2^14"},
     {"1", "1"},
     {"0", "0"},
     "normal",
     "exact",
     PAPER_BUDGETS,
     {20, 2000, 2000},
     {0, 0, 0}},
    /* Table 7, and what it leaves out: ties and sequences */
    {"distributions",
     {"2^14", "2^24", "2^27"},
     {"2^4", "2^8,2^13", "2^8,2^13"},
     {"1", "1"},
     {"0", "0"},
     ALL_DISTRIBUTIONS,
     "exact",
     "1e-3",
     {3, 15, 30},
     {0, 0, 0}},
    /* Figure 8 and Table 6 */
    {"batches",
     {"2^12", "2^16..2^22*4", "2^16..2^22*4"},
     {"8", "64,1024", "64,1024"},
     {"1,3", "1,16,128,1024"},
     {"0", "0"},
     "normal",
     "exact,approximate",
     "1e-3,1e-2,0.1,0.3",
     {5, 20, 30},
     {1 << 16, 1 << 26, 1 << 28}},
    /* Appendix D: what the look at R costs */
    {"check",
     {"2^14", "2^16..2^26*4", "2^21..2^30"},
     {"8", "2^13", "2^13"},
     {"1", "1"},
     {"0", "0"},
     "normal",
     "exact,async,approximate",
     "1e-3",
     {5, 21, 30},
     {0, 0, 0}},
    /* Figure 4 */
    {"memory",
     {"2^14", "2^21..2^26", "2^21..2^30"},
     {"8", "2^13", "2^13"},
     {"1", "1"},
     {"0", "0"},
     "normal",
     "exact",
     "1e-3",
     {3, 3, 3},
     {0, 0, 0}},
};

static const struct suite *find_suite(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof suites / sizeof suites[0]; i++)
        if (!name || strcmp(suites[i].name, name) == 0)
            return &suites[i];
    return NULL;
}

bool suite_exists(const char *name)
{
    return find_suite(name) != NULL;
}

static void fill_numbers(struct list *list, const char *text)
{
    bool good = list->count > 0 || list_of_numbers(text, list);

    assert(good);
    (void)good;
}

static void fill_words(struct list *list, const char *text, bool (*find)(const char *word, uint64_t *ret))
{
    bool good = list->count > 0 || list_of_words(text, find, list);

    assert(good);
    (void)good;
}

void suite_apply(const char *name, uint32_t scale, struct bench_options *options, uint64_t *most_ret)
{
    const struct suite *suite = find_suite(name);
    bool own_shape = options->n.count > 0 || options->rows.count > 0, small = scale == SCALE_SMALL;

    *most_ret = own_shape ? 0 : suite->most[scale];
    fill_numbers(&options->n, suite->n[scale]);
    fill_numbers(&options->k, suite->k[scale]);
    fill_numbers(&options->rows, suite->rows[!small]);
    fill_numbers(&options->S, suite->S[!small]);
    fill_words(&options->dtype, "f32", type_find);
    fill_words(&options->distribution, suite->distributions, distribution_find);
    fill_words(&options->mode, suite->modes, bench_mode_find);
    if (options->epsilon.count == 0)
        list_of_decimals(suite->epsilons, 1e-12, 0.5, &options->epsilon);
    if (options->runs == 0)
        options->runs = suite->runs[scale];
}
