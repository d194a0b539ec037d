/*
 * program.h: kernel programs, built at run time and kept in memory.
 *
 * A program is one file of cl/ specialised by integer macros.  Programs are kept by (file, options) until the cache is
 * finished; callers borrow them.  Falling back to a smaller work-group where the built kernel does not allow the size
 * that was asked for happens here and nowhere else.
 */
#ifndef PROFK_RUNTIME_PROGRAM_H
#define PROFK_RUNTIME_PROGRAM_H

#include "base/lock.h"
#include "base/text.h"
#include "runtime/device.h"

enum { PROFK__DEFINES_MAX = 8, PROFK__OPTIONS_NBYTES = 256 };

struct profk__define {
    const char *name; /* "PK_WIDTH_BITS" */
    uint32_t value;
};

/* What to build.  PK_WG is added from wg. */
struct profk__build {
    const char *file; /* "filter.cl" */
    uint32_t wg;      /* work-items of a work-group wanted, 1 to 1024 */
    uint32_t define_count;
    struct profk__define defines[PROFK__DEFINES_MAX];
};

struct profk__program_entry;

struct profk__programs {
    struct profk__lock lock;
    struct profk__program_entry *first;
};

profk_status profk__programs_init(struct profk__programs *programs);
void profk__programs_fini(struct profk__programs *programs);

/* The compiler's options: -cl-std and the macros in alphabetical order. */
void profk__build_options(const struct profk__build *build, struct profk__text *options);

/*
 * Finds or builds a program.  *program_ret is borrowed; *wg_ret is the work-group size it was built with, lower than
 * build->wg where the device or a kernel does not allow that.
 */
profk_status profk__program_get(struct profk__programs *programs, cl_context cl, const struct profk__device *device,
                                const struct profk__build *build, cl_program *program_ret, uint32_t *wg_ret);

#endif
