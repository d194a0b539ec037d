/*
 * dataset.h: the input of profk bench, in host memory and on the device.
 *
 * Element i of a made input is a function of its distribution, its type and i, so shorter inputs are the beginnings of
 * longer ones, and every machine makes the same (up to the last bit of its logarithm and cosine).
 */
#ifndef PROFK_COMMAND_DATASET_H
#define PROFK_COMMAND_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "input.h"
#include "pieces.h"
#include "planned.h"

#define DISTRIBUTION_NAMES                                                                                           \
    "normal, uniform, uniform-1-2, narrow, lognormal, exponential, cauchy, zeros, binary, few-positives, "           \
    "ascending, descending"

/* Integers are made from the real numbers: scaled to most of their range, clamped, unsigned ones moved up by half. */
bool distribution_find(const char *name, uint64_t *ret);
const char *distribution_name(uint32_t distribution); /* "file" for DISTRIBUTION_FILE */

enum { DISTRIBUTION_FILE = 1000 };

struct dataset {
    struct input input; /* one row */
    struct pieces pieces;
    uint32_t distribution;
    void *memory; /* of a made input */
};

/* Makes `total` elements, or opens a file and takes what it holds.  dataset can be closed whatever these return. */
int dataset_make(struct dataset *dataset, uint32_t type, uint32_t distribution, uint64_t total);
int dataset_open(struct dataset *dataset, const char *file, uint32_t type /* 0: as the file says */);

/* Brings it to the device of planned, which has a context. */
int dataset_upload(struct dataset *dataset, const struct planned *planned);

void dataset_close(struct dataset *dataset);

#endif
