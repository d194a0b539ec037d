/*
 * pieces.h: the input as buffers and chunks.
 *
 * Where device and host share memory each buffer is a part of the mapping itself; a buffer must start at a multiple
 * of the device's base alignment, so it starts at the part's address rounded down, and the chunk's offset skips what
 * was gained.  Elsewhere, and where an element would be split by that, the part is copied.  A single row larger than
 * one allocation becomes several buffers; several rows have one.
 */
#ifndef PROFK_COMMAND_PIECES_H
#define PROFK_COMMAND_PIECES_H

#include "input.h"
#include "planned.h"

struct pieces {
    cl_mem *buffers;
    profk_chunk *chunks;
    size_t buffer_count, chunk_count;
};

/*
 * wanted: chunks of about equal length in which a single row is handed over, at most n; each is cut again where a
 * buffer ends.  Returns an exit status and has printed the message; pieces can be closed whatever this returns.
 */
int pieces_open(struct pieces *pieces, const struct planned *planned, const struct input *input, uint64_t wanted);
void pieces_close(struct pieces *pieces);

#endif
