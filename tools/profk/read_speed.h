/*
 * read_speed.h: how fast the device can read a buffer at all, the figure beside every time of profk bench.
 *
 * Several kernels load every byte once: 16 or 64 bytes at a time; side by side (neighbouring work-items load
 * neighbouring vectors: what a GPU wants) or in pieces (a work-item walks one contiguous piece: what a CPU wants); one
 * load after the other or several at once.  read_speed_choose() tries them all on the buffer and keeps the fastest
 * few, and these take turns with what is measured, so that all meet the same machine.
 */
#ifndef PROFK_COMMAND_READ_SPEED_H
#define PROFK_COMMAND_READ_SPEED_H

#include <profk.h>

enum { READ_VARIANTS = 10, READ_CHOSEN = 4 };

struct read_speed {
    cl_command_queue queue;
    cl_mem sink;
    struct reader {
        cl_kernel kernel;
        size_t global, local;
        double seconds; /* the fastest turn on the buffer that was chosen for */
    } readers[READ_VARIANTS];
    size_t chosen[READ_CHOSEN]; /* of the readers, the fastest first as they were when they were chosen */
};

/* Parts of buffers, as bytes; what does not fill a load at either end is left out. */
struct read_span {
    cl_mem buffer;
    uint64_t first, end;
};

/* Each returns an exit status and has printed the message; *speed can be closed whatever they return. */
int read_speed_open(struct read_speed *speed, const profk_context *ctx, cl_command_queue queue);
int read_speed_choose(struct read_speed *speed, const struct read_span *spans, size_t count);
int read_speed_turn(struct read_speed *speed, const struct read_span *spans, size_t count);
void read_speed_close(struct read_speed *speed);

/* The fastest turn since read_speed_choose(), in seconds, and the words for how it read. */
double read_speed_best(const struct read_speed *speed, const char **how_ret);

#endif
