/*
 * truth.h: whether an answer is the exact one, for inputs of any length: one pass over them, no sort, no copy.
 *
 * The answer is right if each value is the element that its index names, no index is there twice, and exactly k pairs
 * (value, index) of the input do not go behind the last pair of the answer.  Nothing else has these three properties.
 */
#ifndef PROFK_COMMAND_TRUTH_H
#define PROFK_COMMAND_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "types.h"

enum { TRUTH_ROOM = 160 };

/* A row and what was asked of it; order, nan and sort are the library's numbers. */
struct question {
    const struct type *type;
    uint32_t order, nan, sort;
    const void *elements;
    uint64_t n, k;
};

/* False with the reason in why.  indices may be changed (sorted). */
bool truth_check(const struct question *question, const void *values, uint64_t *indices, char why[TRUTH_ROOM]);

/* How many of the `count` values, all of them elements of the row, are among its true first k; equal ones count. */
uint64_t truth_hits(const struct question *question, const void *values, uint64_t count);

#endif
