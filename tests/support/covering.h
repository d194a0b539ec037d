/*
 * covering.h: pairwise covering arrays.
 *
 * Given factors with some levels each, a covering array is a short list of rows (one level per factor) in which every
 * pair of levels of two different factors occurs at least once, except pairs that are forbidden.
 */
#ifndef PROFK_TESTS_COVERING_H
#define PROFK_TESTS_COVERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COVERING_MAX_FACTORS = 12, COVERING_MAX_LEVELS = 64 };

struct covering {
    size_t factors;
    size_t levels[COVERING_MAX_FACTORS];
    /* Whether level a of factor f cannot meet level b of factor g, f < g; NULL: all can. */
    bool (*forbidden)(size_t f, size_t a, size_t g, size_t b);
    size_t rows;
    uint8_t (*row)[COVERING_MAX_FACTORS]; /* the array; free() it */
};

/* Makes the rows from a seed; the same seed gives the same rows.  false: no memory, or the rules leave no way. */
bool covering_make(struct covering *c, uint64_t seed);

/* The number of permitted pairs that no row holds, plus the number of rows that hold a forbidden one. */
size_t covering_faults(const struct covering *c);

#endif
