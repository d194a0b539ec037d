/* context.h: what a context owns.  Made and destroyed in api_device.c. */
#ifndef PROFK_RUNTIME_CONTEXT_H
#define PROFK_RUNTIME_CONTEXT_H

#include "runtime/device.h"
#include "runtime/program.h"

struct profk_context {
    cl_context cl;
    struct profk__device device;
    struct profk__programs programs;
    profk_options options; /* cache_dir is not kept */
};

#endif
