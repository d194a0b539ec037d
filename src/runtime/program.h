/*
 * program.h: kernel programs, from memory, else from the store on disk, else from the compiler.
 *
 * A program is one file of cl/ specialised by integer macros.  Programs are kept by (file, options) until the cache is
 * finished; callers borrow them.  Falling back from a stored binary to the source, and to a smaller work-group where
 * the built kernel does not allow the size that was asked for, happens here and nowhere else.
 *
 * A program that was compiled goes to the store once, when the plan says that its kernels have run: before its first
 * launch PoCL's binary holds no device code, and every process that loads it compiles for 240-315 ms.
 */
#ifndef PROFK_RUNTIME_PROGRAM_H
#define PROFK_RUNTIME_PROGRAM_H

#include "base/lock.h"
#include "base/text.h"
#include "runtime/device.h"
#include "runtime/store.h"

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
    const struct profk__store *store; /* borrowed */
    const char *device_key;           /* borrowed: what profk__key_add_device() writes, NULL if nothing is stored */
    uint32_t compiled, loaded;        /* how many programs came from where, for reports */
};

profk_status profk__programs_init(struct profk__programs *programs, const struct profk__store *store,
                                  const char *device_key);
void profk__programs_fini(struct profk__programs *programs);

/* Programs that were compiled and programs that the store had, so far. */
void profk__programs_count(struct profk__programs *programs, uint32_t *compiled_ret, uint32_t *loaded_ret);

/* The compiler's options: -cl-std and the macros in alphabetical order. */
void profk__build_options(const struct profk__build *build, struct profk__text *options);

/*
 * Finds or builds a program.  *program_ret is borrowed; *wg_ret is the work-group size it was built with, lower than
 * build->wg where the device or a kernel does not allow that.
 */
profk_status profk__program_get(struct profk__programs *programs, cl_context cl, const struct profk__device *device,
                                const struct profk__build *build, cl_program *program_ret, uint32_t *wg_ret);

/* Stores the binary of a program whose launches are complete, unless that was done or it came from there. */
void profk__program_store(struct profk__programs *programs, cl_program program, cl_device_id device);

#endif
