/*
 * options.h: the command line.  One struct holds what any subcommand may be told, one table (options.c) says which
 * option goes where, and --help is written from the same table.
 */
#ifndef PROFK_COMMAND_OPTIONS_H
#define PROFK_COMMAND_OPTIONS_H

#include <profk.h>
#include <stdbool.h>
#include <stdint.h>

#include "lists.h"

/* Subcommands, as bits. */
enum { FOR_TOPK = 1, FOR_PARAMS = 2, FOR_EXPLAIN = 4, FOR_DEVICES = 8, FOR_SELFTEST = 16, FOR_BENCH = 32,
       FOR_CACHE = 64, FOR_TUNE = 128 };

enum { FORMAT_HUMAN, FORMAT_JSON, FORMAT_CSV };
enum { TUNING_ANY, TUNING_DEFAULT, TUNING_STORED };

/* settings.given: options whose absence differs from every value. */
enum { GIVEN_N = 1, GIVEN_K = 2, GIVEN_ROWS = 4, GIVEN_RECALL = 8, GIVEN_S = 16 };

/* What profk bench alone is told; lists of count 0 were not given. */
struct bench_options {
    const char *suite, *input, *dump; /* NULL: not given */
    struct list n, k, rows, S, dtype, distribution, mode;
    struct decimals epsilon;
    uint64_t runs, warmup; /* runs 0: not given */
    double budget;         /* seconds, 0: no end */
    uint32_t scale;
};

struct settings {
    const char *file, *device, *values, *indices; /* NULL: not given; of cache, file is its word */
    const char *export_path, *import_path;
    uint64_t n, k, rows, seed, chunks, S;
    double epsilon, recall;
    profk_tuning force;
    uint32_t dtype, order, nan, sort, index, mode, route; /* the library's numbers; dtype 0: not given */
    uint32_t format, tuning, async, stats, quiet, verbose, help, given;
    uint32_t level; /* of the self-test */
    struct bench_options bench;
};

struct subcommand {
    const char *name;
    uint32_t bit;         /* FOR_* */
    const char *operands; /* of the usage line */
    const char *summary;
    int (*run)(const struct settings *settings);
};

/*
 * Reads the arguments behind the subcommand's name.  Returns an exit status and has printed the message; with --help
 * anywhere in front of --, settings->help is set and nothing else was checked.
 */
int options_parse(const struct subcommand *subcommand, int count, char *const *arguments, struct settings *settings);

/* Whether --help stands in front of any --; it beats every error. */
bool options_ask_for_help(int count, char *const *arguments);

/* The subcommand's manual, on standard output. */
void options_help(const struct subcommand *subcommand);

/* The number of an element type's name. */
bool type_find(const char *name, uint64_t *ret);

/* The option's text for a value, as in --order largest. */
const char *order_name(uint32_t order);
const char *nan_name(uint32_t nan);
const char *sort_name(uint32_t sort);
const char *index_name(uint32_t index);
const char *mode_name(uint32_t mode);
const char *route_name(uint32_t route);

#endif
