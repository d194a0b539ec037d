/* select.h: runs a plan on an input and brings the answer to host memory. */
#ifndef PROFK_COMMAND_SELECT_H
#define PROFK_COMMAND_SELECT_H

#include "input.h"
#include "planned.h"

struct answer {
    void *values;  /* rows * k elements of the input's type */
    void *indices; /* rows * k uint64_t or uint32_t, by the problem's index type */
    profk_row *rows;
    profk_stats stats;
    double seconds; /* from the call to profk_execute() until its event was complete */
};

/* Returns an exit status and has printed the message; answer can be freed whatever this returns. */
int select_run(struct planned *planned, const struct input *input, uint64_t chunks, struct answer *answer);
void select_free(struct answer *answer);

#endif
