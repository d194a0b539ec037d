/* options.c: the table of options, its reader and its manual. */
#include "options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "dataset.h"
#include "force.h"
#include "measure.h"
#include "numbers.h"
#include "out.h"
#include "report.h"
#include "suites.h"
#include "types.h"

struct name {
    const char *text;
    uint32_t value;
};

static const struct name order_names[] = {
    {"largest", PROFK_LARGEST}, {"smallest", PROFK_SMALLEST}, {"magnitude", PROFK_MAGNITUDE}, {NULL, 0}};
static const struct name nan_names[] = {{"largest", PROFK_NAN_LARGEST}, {"last", PROFK_NAN_LAST}, {NULL, 0}};
static const struct name sort_names[] = {
    {"rank", PROFK_SORT_RANK}, {"index", PROFK_SORT_INDEX}, {"none", PROFK_SORT_NONE}, {NULL, 0}};
static const struct name index_names[] = {{"u64", PROFK_INDEX_U64}, {"u32", PROFK_INDEX_U32}, {NULL, 0}};
static const struct name mode_names[] = {
    {"exact", PROFK_MODE_EXACT}, {"approximate", PROFK_MODE_APPROXIMATE}, {NULL, 0}};
static const struct name route_names[] = {{"auto", PROFK_ROUTE_AUTO},
                                          {"rows", PROFK_ROUTE_ROWS},
                                          {"profk", PROFK_ROUTE_PROFK},
                                          {"full", PROFK_ROUTE_FULL},
                                          {NULL, 0}};
static const struct name scale_names[] = {
    {"small", SCALE_SMALL}, {"medium", SCALE_MEDIUM}, {"large", SCALE_LARGE}, {NULL, 0}};
static const struct name level_names[] = {{"0", 0}, {"1", 1}, {"2", 2}, {NULL, 0}};
static const struct name tuning_names[] = {{"default", TUNING_DEFAULT}, {"stored", TUNING_STORED}, {NULL, 0}};

/* The readers: each writes its value at place, or returns false if the text is none. */

static bool read_u64(const char *text, const struct name *names, void *place)
{
    (void)names;
    return parse_u64(text, place);
}

static bool read_positive(const char *text, const struct name *names, void *place)
{
    uint64_t value;

    return parse_u64(text, &value) && value > 0 && read_u64(text, names, place);
}

static bool read_decimal_within(const char *text, double low, double high, void *place)
{
    double value;

    if (!parse_decimal(text, &value) || !(value >= low && value <= high))
        return false;
    memcpy(place, &value, sizeof value);
    return true;
}

static bool read_epsilon(const char *text, const struct name *names, void *place)
{
    (void)names;
    return read_decimal_within(text, 1e-12, 0.5, place);
}

static bool read_recall(const char *text, const struct name *names, void *place)
{
    (void)names;
    return read_decimal_within(text, 5e-324, 1.0, place);
}

static bool read_text(const char *text, const struct name *names, void *place)
{
    (void)names;
    memcpy(place, &text, sizeof text);
    return true;
}

static bool read_name(const char *text, const struct name *names, void *place)
{
    for (; names->text; names++) {
        if (strcmp(names->text, text) == 0) {
            memcpy(place, &names->value, sizeof names->value);
            return true;
        }
    }
    return false;
}

bool type_find(const char *name, uint64_t *ret)
{
    const struct type *type;

    for (type = all_types; type->name; type++) {
        if (strcmp(type->name, name) == 0) {
            *ret = type->id;
            return true;
        }
    }
    return false;
}

static bool read_type(const char *text, const struct name *names, void *place)
{
    uint64_t found;
    uint32_t type;

    (void)names;
    if (!type_find(text, &found))
        return false;
    type = (uint32_t)found;
    memcpy(place, &type, sizeof type);
    return true;
}

static bool read_force(const char *text, const struct name *names, void *place)
{
    (void)names;
    return force_parse(text, place);
}

static bool read_seconds(const char *text, const struct name *names, void *place)
{
    (void)names;
    return read_decimal_within(text, 1e-3, 1e9, place);
}

static bool read_numbers(const char *text, const struct name *names, void *place)
{
    (void)names;
    return list_of_numbers(text, place);
}

static bool read_budgets(const char *text, const struct name *names, void *place)
{
    (void)names;
    return list_of_decimals(text, 1e-12, 0.5, place);
}

static bool read_types(const char *text, const struct name *names, void *place)
{
    (void)names;
    return list_of_words(text, type_find, place);
}

static bool read_distributions(const char *text, const struct name *names, void *place)
{
    (void)names;
    return list_of_words(text, distribution_find, place);
}

static bool read_modes(const char *text, const struct name *names, void *place)
{
    (void)names;
    return list_of_words(text, bench_mode_find, place);
}

/* What an option's operand is. */
struct kind {
    bool (*read)(const char *text, const struct name *names, void *place);
    const char *expected; /* NULL: one of the names */
};

static const struct kind a_number = {read_u64, "a number of decimal digits, at most 18446744073709551615"};
static const struct kind a_count = {read_positive, "a number of decimal digits, from 1 to 18446744073709551615"};
static const struct kind a_budget = {read_epsilon, "a decimal number from 1e-12 to 0.5"};
static const struct kind a_share = {read_recall, "a decimal number above 0, at most 1"};
static const struct kind a_time = {read_seconds, "a number of seconds, from 0.001"};
static const struct kind numbers = {read_numbers, "a list of numbers and ranges like 1000,2^20 or 2^16..2^28*4"};
static const struct kind budgets = {read_budgets, "a list of decimal numbers from 1e-12 to 0.5"};
static const struct kind types = {read_types, "a list of f32, f16, bf16, f64, i8, u8, i16, u16, i32, u32, i64, u64"};
static const struct kind distributions = {read_distributions, "a list of " DISTRIBUTION_NAMES};
static const struct kind modes = {read_modes, "a list of exact, async, approximate"};
static const struct kind a_text = {read_text, "a text"};
static const struct kind a_name = {read_name, NULL};
static const struct kind a_type = {read_type, "one of f32, f16, bf16, f64, i8, u8, i16, u16, i32, u32, i64, u64"};
static const struct kind a_force = {read_force, FORCE_OPERAND " with whole numbers, S, t, M and wg from 1 on"};

struct option {
    const char *brief, *name; /* "-e", "--epsilon"; one of them may be NULL */
    const char *operand;      /* NULL: a flag */
    size_t place;             /* in struct settings */
    const struct kind *kind;
    const struct name *names;
    uint32_t value;       /* what a flag stores */
    uint32_t given;       /* GIVEN_* */
    uint32_t subcommands; /* FOR_* that take it */
    const char *help;
};

#define AT(member) offsetof(struct settings, member)
#define FLAG(member, stored) NULL, AT(member), NULL, NULL, stored, 0
#define VALUE(operand, member, kind, bit) operand, AT(member), &kind, NULL, 0, bit
#define NAME(member, names) "NAME", AT(member), &a_name, names, 0, 0

enum {
    FOR_PLANS = FOR_TOPK | FOR_EXPLAIN,
    FOR_CALLS = FOR_PLANS | FOR_BENCH,
    FOR_ALL = FOR_CALLS | FOR_PARAMS | FOR_DEVICES | FOR_SELFTEST
};

static const struct option options[] = {
    {"-n", NULL, VALUE("N", n, a_number, GIVEN_N), FOR_PARAMS | FOR_EXPLAIN, "elements in a row"},
    {"-k", NULL, VALUE("K", k, a_number, GIVEN_K), FOR_PLANS | FOR_PARAMS, "results per row, at most its elements"},
    {"-S", NULL, VALUE("S", S, a_number, GIVEN_S), FOR_PARAMS, "sample size (default: chosen for n and k)"},
    {"-n", NULL, VALUE("LIST", bench.n, numbers, 0), FOR_BENCH,
     "elements in a row: 1000,2^20 or 2^16..2^28*4 (16 to 28 by fours; *2 is the default, +STEP adds)"},
    {"-k", NULL, VALUE("LIST", bench.k, numbers, 0), FOR_BENCH, "results per row; those above n are left out"},
    {"-S", NULL, VALUE("LIST", bench.S, numbers, 0), FOR_BENCH,
     "sample sizes, 0: chosen (default); those above n/32 are left out"},
    {NULL, "--rows", VALUE("LIST", bench.rows, numbers, 0), FOR_BENCH, "rows (default 1)"},
    {NULL, "--dtype", VALUE("LIST", bench.dtype, types, 0), FOR_BENCH, "element types (default f32)"},
    {NULL, "--distribution", VALUE("LIST", bench.distribution, distributions, 0), FOR_BENCH,
     DISTRIBUTION_NAMES " (default normal)"},
    {NULL, "--mode", VALUE("LIST", bench.mode, modes, 0), FOR_BENCH, "exact (default), async, approximate"},
    {"-e", "--epsilon", VALUE("LIST", bench.epsilon, budgets, 0), FOR_BENCH,
     "chances of a second attempt per call, 1e-12 to 0.5 (default 0.001)"},
    {NULL, "--scale", NAME(bench.scale, scale_names), FOR_BENCH,
     "small, medium or large: the sizes of a named bench (default: large on a GPU, else medium)"},
    {NULL, "--runs", VALUE("R", bench.runs, a_count, 0), FOR_BENCH, "timed calls per cell"},
    {NULL, "--warmup", VALUE("W", bench.warmup, a_count, 0), FOR_BENCH, "calls in front of them (default 3)"},
    {NULL, "--budget", VALUE("SECONDS", bench.budget, a_time, 0), FOR_BENCH,
     "start no cell and no fourth call after that many seconds"},
    {NULL, "--budget", VALUE("SECONDS", bench.budget, a_time, 0), FOR_TUNE, "try nothing new after that many (default 60)"},
    {NULL, "--export", VALUE("FILE", export_path, a_text, 0), FOR_TUNE,
     "measure nothing: write what is tuned, for other machines with this device and driver"},
    {NULL, "--import", VALUE("FILE", import_path, a_text, 0), FOR_TUNE, "measure nothing: take what such a machine wrote"},
    {NULL, "--input", VALUE("FILE", bench.input, a_text, 0), FOR_BENCH,
     "measure on the first elements of a .npy or raw file instead of a made input"},
    {NULL, "--dump", VALUE("FILE", bench.dump, a_text, 0), FOR_BENCH,
     "write the made input as raw binary and measure nothing"},
    {NULL, "--rows", VALUE("R", rows, a_number, GIVEN_ROWS), FOR_PLANS,
     "rows of the input, each selected by itself (default 1; 2-D files say it)"},
    {NULL, "--dtype", VALUE("T", dtype, a_type, 0), FOR_PLANS,
     "f32 f16 bf16 f64 i8 u8 i16 u16 i32 u32 i64 u64; needed for raw files"},
    {NULL, "--order", NAME(order, order_names), FOR_CALLS, "largest (default), smallest or magnitude"},
    {NULL, "--nan", NAME(nan, nan_names), FOR_CALLS, "largest (default): above +infinity; last: behind every number"},
    {NULL, "--sort", NAME(sort, sort_names), FOR_CALLS, "rank (default), index or none"},
    {NULL, "--index", NAME(index, index_names), FOR_PLANS, "u64 (default) or u32"},
    {"-e", "--epsilon", VALUE("E", epsilon, a_budget, 0), FOR_PLANS | FOR_PARAMS,
     "chance of a second attempt, 1e-12 to 0.5 (default 0.001); never touches the answer"},
    {NULL, "--seed", VALUE("N", seed, a_number, 0), FOR_CALLS,
     "seed of the samples (default, and 0: from the system; bench: 1)"},
    {NULL, "--mode", NAME(mode, mode_names), FOR_PLANS,
     "exact (default), or approximate: one attempt, rows may miss some of their k"},
    {NULL, "--recall", VALUE("P", recall, a_share, GIVEN_RECALL), FOR_PLANS,
     "with --mode approximate: expected share of the true k, above 0, at most 1 (default: by -e)"},
    {NULL, "--route", NAME(route, route_names), FOR_CALLS,
     "auto (default), rows (a work-group selects a row), profk (sampled) or full (radix selection)"},
    {NULL, "--chunks", VALUE("C", chunks, a_count, 0), FOR_PLANS,
     "pieces in which a single row is handed over (default 1); never touches the answer"},
    {NULL, "--async", FLAG(async, 1), FOR_PLANS, "enqueue every attempt at once and wait for the last event"},
    {NULL, "--force", VALUE("LIST", force, a_force, 0), FOR_CALLS, FORCE_OPERAND},
    {NULL, "--tuning", NAME(tuning, tuning_names), FOR_EXPLAIN,
     "default: the built-in values; stored: what profk tune has stored (default: stored if there, else built-in)"},
    {NULL, "--device", VALUE("SPEC", device, a_text, 0), FOR_CALLS | FOR_SELFTEST | FOR_TUNE,
     "number of `profk devices`, gpu, cpu or part of a name (default: PROFK_DEVICE, else the first GPU)"},
    {NULL, "--level", NAME(level, level_names), FOR_SELFTEST,
     "0: no odd work-group sizes; 1 (default): all, as far as a minute goes; 2: all"},
    {NULL, "--json", FLAG(format, FORMAT_JSON), FOR_ALL, "print one JSON object"},
    {NULL, "--csv", FLAG(format, FORMAT_CSV), FOR_TOPK | FOR_BENCH, "print comma-separated values"},
    {NULL, "--values", VALUE("OUT.npy", values, a_text, 0), FOR_TOPK, "write the values to a file"},
    {NULL, "--indices", VALUE("OUT.npy", indices, a_text, 0), FOR_TOPK, "write the indices to a file"},
    {NULL, "--stats", FLAG(stats, 1), FOR_TOPK, "print attempts and misses on standard error"},
    {"-q", NULL, FLAG(quiet, 1), FOR_TOPK | FOR_BENCH | FOR_TUNE, "no progress bar"},
    {"-v", NULL, FLAG(verbose, 1), FOR_TOPK, "print the plan on standard error"},
    {NULL, "--help", FLAG(help, 1), FOR_ALL | FOR_CACHE | FOR_TUNE, "print this text"},
};

enum { OPTION_COUNT = sizeof options / sizeof options[0] };

/* The name of a value; "?" cannot happen for values that the library gives. */
static const char *name_of(const struct name *names, uint32_t value)
{
    for (; names->text; names++)
        if (names->value == value)
            return names->text;
    return "?";
}

const char *order_name(uint32_t order)
{
    return name_of(order_names, order);
}

const char *nan_name(uint32_t nan)
{
    return name_of(nan_names, nan);
}

const char *sort_name(uint32_t sort)
{
    return name_of(sort_names, sort);
}

const char *index_name(uint32_t index)
{
    return name_of(index_names, index);
}

const char *mode_name(uint32_t mode)
{
    return name_of(mode_names, mode);
}

const char *route_name(uint32_t route)
{
    return name_of(route_names, route);
}

/* The option that argument spells; *inline_ret is what follows "--name=", else NULL. */
static const struct option *find_option(const char *argument, uint32_t subcommand, const char **inline_ret)
{
    size_t length = strcspn(argument, "="), i;

    *inline_ret = NULL;
    for (i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &options[i];

        if (!(option->subcommands & subcommand))
            continue;
        if (option->brief && strcmp(option->brief, argument) == 0)
            return option;
        if (option->name && strlen(option->name) == length && strncmp(option->name, argument, length) == 0) {
            *inline_ret = argument[length] ? argument + length + 1 : NULL;
            return option;
        }
    }
    return NULL;
}

static int wrong_operand(const struct subcommand *subcommand, const struct option *option, const char *argument,
                         const char *text)
{
    char expected[128] = "one of ";
    const struct name *name;
    int length = (int)strcspn(argument, "=");

    if (option->kind->expected)
        return fail(EXIT_WRONG, "%.*s: '%s' is not %s; see profk %s --help", length, argument, text,
                    option->kind->expected, subcommand->name);
    for (name = option->names; name->text; name++) {
        strcat(expected, name->text);
        if (name[1].text)
            strcat(expected, ", ");
    }
    return fail(EXIT_WRONG, "%.*s: '%s' is not %s; see profk %s --help", length, argument, text, expected,
                subcommand->name);
}

/* Where the reader stands. */
struct cursor {
    const struct subcommand *subcommand;
    char *const *next, *const *end;
    struct settings *settings;
};

static int take_option(struct cursor *at, const struct option *option, const char *argument, const char *text)
{
    void *place = (char *)at->settings + option->place;
    const char *name = at->subcommand->name;

    if (!option->operand) {
        if (text)
            return fail(EXIT_WRONG, "%.*s takes no value; see profk %s --help", (int)strcspn(argument, "="), argument,
                        name);
        memcpy(place, &option->value, sizeof option->value);
        return EXIT_DONE;
    }
    if (!text && at->next == at->end)
        return fail(EXIT_WRONG, "%s needs a value: %s; see profk %s --help", argument, option->operand, name);
    if (!text)
        text = *at->next++;
    if (!option->kind->read(text, option->names, place))
        return wrong_operand(at->subcommand, option, argument, text);
    at->settings->given |= option->given;
    return EXIT_DONE;
}

static int take_operand(struct cursor *at, const char *argument)
{
    bool bench = at->subcommand->bit == FOR_BENCH;
    const char **place = bench ? &at->settings->bench.suite : &at->settings->file;

    if (!(at->subcommand->bit & (FOR_TOPK | FOR_BENCH | FOR_CACHE)))
        return fail(EXIT_WRONG, "profk %s takes no '%s'; see profk %s --help", at->subcommand->name, argument,
                    at->subcommand->name);
    if (*place)
        return fail(EXIT_WRONG, "'%s' and '%s' are two %s; give one", *place, argument,
                    bench                                ? "benches"
                    : at->subcommand->bit == FOR_CACHE ? "words"
                                                         : "files");
    *place = argument;
    return EXIT_DONE;
}

static int take_argument(struct cursor *at, bool options_ended)
{
    const char *argument = *at->next++, *text;
    const struct option *option;

    if (options_ended || argument[0] != '-' || argument[1] == '\0')
        return take_operand(at, argument);
    option = find_option(argument, at->subcommand->bit, &text);
    if (!option)
        return fail(EXIT_WRONG, "profk %s knows no option '%s'; see profk %s --help", at->subcommand->name, argument,
                    at->subcommand->name);
    return take_option(at, option, argument, text);
}

bool options_ask_for_help(int count, char *const *arguments)
{
    int i;

    for (i = 0; i < count && strcmp(arguments[i], "--") != 0; i++)
        if (strcmp(arguments[i], "--help") == 0)
            return true;
    return false;
}

int options_parse(const struct subcommand *subcommand, int count, char *const *arguments, struct settings *settings)
{
    struct cursor at = {subcommand, arguments, arguments + count, settings};
    bool options_ended = false;

    memset(settings, 0, sizeof *settings);
    settings->rows = settings->chunks = 1;
    settings->epsilon = 1e-3;
    settings->level = 1;
    settings->bench.warmup = 3;
    settings->bench.scale = SCALE_BY_DEVICE;
    settings->help = options_ask_for_help(count, arguments);
    if (settings->help)
        return EXIT_DONE;
    while (at.next < at.end) {
        int status;

        if (!options_ended && strcmp(*at.next, "--") == 0) {
            options_ended = true;
            at.next++;
            continue;
        }
        status = take_argument(&at, options_ended);
        if (status != EXIT_DONE)
            return status;
    }
    return EXIT_DONE;
}

void options_help(const struct subcommand *subcommand)
{
    size_t i;

    out_format("Usage: profk %s %s\n\n%s\n\nOptions:\n", subcommand->name, subcommand->operands, subcommand->summary);
    for (i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &options[i];
        char left[64];

        if (!(option->subcommands & subcommand->bit))
            continue;
        snprintf(left, sizeof left, "%s%s%s%s%s", option->brief ? option->brief : "",
                 option->brief && option->name ? ", " : "", option->name ? option->name : "",
                 option->operand ? " " : "", option->operand ? option->operand : "");
        out_format("  %-20s  %s\n", left, option->help);
    }
}
