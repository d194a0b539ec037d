/*
 * launch.h: commands of one call, chained by events.
 *
 * Each command waits for the one before it, so any queue of the device serves, in order or not; the first waits for
 * the caller's events.  The chain keeps the last event.
 */
#ifndef PROFK_STAGES_LAUNCH_H
#define PROFK_STAGES_LAUNCH_H

#include "runtime/cl.h"

struct profk__chain {
    cl_command_queue queue;
    cl_event last;             /* of the last command, NULL before the first */
    cl_uint wait_count;        /* what the first command waits for */
    const cl_event *wait_list;
    const profk_options *options; /* log and flags */
};

/* A kernel of a plan and the size of its work-groups. */
struct profk__kernel {
    cl_kernel handle;
    cl_program program; /* borrowed from the context */
    uint32_t wg;
    const char *name;
};

struct profk__arg {
    size_t nbytes;
    const void *value;
};

#define PROFK__ARG(variable) {sizeof(variable), &(variable)}
#define PROFK__RULE(rule) {(rule).nbytes, (rule).bytes} /* of key_rule.h */
#define PROFK__COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Sets all arguments and enqueues `groups` work-groups. */
profk_status profk__launch(struct profk__chain *chain, const struct profk__kernel *kernel,
                           const struct profk__arg *args, size_t arg_count, uint64_t groups);

/* Fills nbytes at offset with a 16-byte pattern; offset and nbytes are multiples of 16. */
profk_status profk__chain_fill(struct profk__chain *chain, cl_mem buffer, const void *pattern16, size_t offset_nbytes,
                               size_t nbytes);

profk_status profk__chain_copy(struct profk__chain *chain, cl_mem from, size_t from_nbytes, cl_mem to,
                               size_t to_nbytes, size_t nbytes);

/* Blocks until everything in the chain is done and nbytes are in `to`. */
profk_status profk__chain_read(struct profk__chain *chain, cl_mem from, size_t from_nbytes, size_t nbytes, void *to);

/* Blocks until everything in the chain is done. */
profk_status profk__chain_wait(struct profk__chain *chain);

/* Forgets the last event; waits for it first if the call failed, so that nothing of it still runs. */
void profk__chain_fini(struct profk__chain *chain, int failed);

#endif
