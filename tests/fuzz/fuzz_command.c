/*
 * fuzz_command.c: the command line, up to where a subcommand would start; no device is touched.
 *
 * The first byte says which subcommand; the others are arguments, each ended by a line feed.
 */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "numbers.h"
#include "options.h"
#include "report.h"

enum { ARGUMENTS_MAX = 64 };

static const struct subcommand subcommands[] = {
    {"topk", FOR_TOPK, "", "", NULL},         {"params", FOR_PARAMS, "", "", NULL},
    {"explain", FOR_EXPLAIN, "", "", NULL},   {"devices", FOR_DEVICES, "", "", NULL},
    {"selftest", FOR_SELFTEST, "", "", NULL}, {"bench", FOR_BENCH, "", "", NULL},
    {"cache", FOR_CACHE, "", "", NULL},
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

static int is_known(const char *name)
{
    return strcmp(name, "?") != 0;
}

/* What was accepted is in its range. */
static void check_settings(const struct settings *s)
{
    FUZZ_CHECK(s->epsilon >= 1e-12 && s->epsilon <= 0.5 && s->recall >= 0 && s->recall <= 1);
    FUZZ_CHECK(is_known(order_name(s->order)) && is_known(nan_name(s->nan)) && is_known(sort_name(s->sort)));
    FUZZ_CHECK(is_known(index_name(s->index)) && is_known(mode_name(s->mode)) && is_known(route_name(s->route)));
    FUZZ_CHECK(s->chunks > 0 && s->format <= FORMAT_CSV && s->dtype <= PROFK_U64);
    FUZZ_CHECK(s->bench.n.count <= LIST_ROOM && s->bench.k.count <= LIST_ROOM && s->bench.rows.count <= LIST_ROOM);
    FUZZ_CHECK(s->bench.S.count <= LIST_ROOM && s->bench.dtype.count <= LIST_ROOM);
    FUZZ_CHECK(s->bench.epsilon.count <= DECIMALS_ROOM);
    for (size_t i = 0; i < s->bench.epsilon.count; i++)
        FUZZ_CHECK(s->bench.epsilon.values[i] >= 1e-12 && s->bench.epsilon.values[i] <= 0.5);
}

/* A decimal that is read is printed so that it reads back. */
static void check_decimal(const char *text)
{
    char printed[NUMBER_ROOM];
    double x, again;

    if (!parse_decimal(text, &x) || isinf(x))
        return;
    FUZZ_CHECK(x >= 0 && format_double(printed, x) && strlen(printed) < NUMBER_ROOM);
    FUZZ_CHECK(parse_decimal(printed, &again) && again == x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct settings settings;
    char *text, *arguments[ARGUMENTS_MAX], *at;
    int count = 0;

    if (nbytes == 0)
        return 0;
    text = malloc(nbytes);
    FUZZ_CHECK(text != NULL);
    memcpy(text, data + 1, nbytes - 1);
    text[nbytes - 1] = '\0';
    for (at = text; *at != '\0' && count < ARGUMENTS_MAX; count++) {
        arguments[count] = at;
        at += strcspn(at, "\n");
        if (*at == '\n')
            *at++ = '\0';
        check_decimal(arguments[count]);
    }
    const struct subcommand *subcommand = &subcommands[data[0] % (sizeof subcommands / sizeof subcommands[0])];
    int status = options_parse(subcommand, count, arguments, &settings);
    FUZZ_CHECK(status == EXIT_DONE || status == EXIT_WRONG);
    if (status == EXIT_DONE && settings.help)
        FUZZ_CHECK(options_ask_for_help(count, arguments));
    else if (status == EXIT_DONE)
        check_settings(&settings);
    free(text);
    return 0;
}
