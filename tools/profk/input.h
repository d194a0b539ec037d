/* input.h: FILE as rows of elements of one type.  The first bytes decide whether it is .npy or raw binary. */
#ifndef PROFK_COMMAND_INPUT_H
#define PROFK_COMMAND_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "source.h"
#include "types.h"

struct input {
    struct source source;
    const struct type *type;
    uint64_t rows, n; /* of a row */
    uint64_t data_at; /* bytes in front of the first element */
    bool has_rows;    /* a 2-D file, or rows were asked for: outputs are (rows, k), else (k,) */
};

/*
 * dtype 0: whatever the file says.  rows NULL: as the file says.  Everything is checked against the file's size.
 * Returns an exit status and has printed the message; *input can always be closed.
 */
int input_open(struct input *input, const char *file, uint32_t dtype, const uint64_t *rows);
void input_close(struct input *input);

#endif
