/* context.h: what a context owns.  Made and destroyed in api_device.c. */
#ifndef PROFK_RUNTIME_CONTEXT_H
#define PROFK_RUNTIME_CONTEXT_H

#include "runtime/device.h"
#include "runtime/program.h"
#include "runtime/tuned.h"

struct profk_context {
    cl_context cl;
    struct profk__device device;
    struct profk__lock lock;   /* guards tuned */
    struct profk__tuned tuned; /* see profk__context_tuned() */
    struct profk__programs programs;
    struct profk__store store;
    char *device_key;      /* lines of profk__key_add_device(); NULL if nothing is stored */
    profk_options options; /* cache_dir is NULL: store has it */
};

/* What is tuned now, and a new one in its place.  Plans keep what they were made with. */
struct profk__tuned profk__context_tuned(profk_context *ctx);
void profk__context_tune(profk_context *ctx, const struct profk__tuned *tuned);

/* The caller's options (NULL: the defaults), checked. */
profk_status profk__options_check(const profk_options *options, profk_options *ret);

#endif
