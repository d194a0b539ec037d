/*
 * profk.h: exact top-k selection on any OpenCL 1.2 device.  These comments are the manual.
 *
 * THE PROMISE.  profk selects the k largest of n values exactly, reading the input once in the common case and with
 * a workspace of O(M + k) elements.  In exact mode the answer is a function of the input alone: not of the device,
 * driver, seed, tuning or launch sizes.  A result that could not be certified is never returned as success.
 *
 * THE ORDER.  Every element is a pair (key, index).  The key is an unsigned integer made from the value's bits such
 * that comparing keys compares values; the index is the position in the row.  a goes before b if key(a) > key(b), or
 * if the keys are equal and index(a) < index(b).  No two pairs are equal, so the top k is one set and one sequence.
 *   PROFK_LARGEST    greatest value first           PROFK_SMALLEST   least value first
 *   PROFK_MAGNITUDE  greatest absolute value first (of the most negative w-bit integer: 2^(w-1))
 * Equal values are ordered by lowest index, in every order.  -0.0 equals +0.0.  All NaN are equal, whatever their
 * sign or payload: with PROFK_NAN_LARGEST (default) NaN compares above +infinity, so it comes first for largest and
 * magnitude and last for smallest; with PROFK_NAN_LAST it comes after every number in every order.  Output values are
 * the input's own bits: signs of zeros and NaN payloads survive.
 *
 * THE METHOD (Prof-K, "Probabilistic One-Pass Filtering").  A sample of S positions is drawn without replacement; its
 * t-th pair is the threshold; one pass over the input stores the R elements that reach it into M slots; if
 * k <= R <= M these hold the answer, certified, else the attempt is repeated with a new sample, at most six times,
 * and then a full radix selection runs.  epsilon bounds the chance of a repetition, never the accuracy.  A plan that
 * misses more often than epsilon allows says so and chooses S, t, M of its next calls anew (profk_stats).
 *
 * CONVENTIONS.  Offsets, strides and counts are in elements; names that end in _nbytes are in bytes.  Structs that
 * the caller fills begin with `size_t struct_size` (set it to sizeof); 0 or less than the first release's size is
 * PROFK_ERR_ARGUMENT; a larger one is accepted if its extra bytes are zero; reserved fields must be 0.  Structs that
 * the library fills are written up to the struct_size that the caller set.  On failure *ret is NULL (handles) or
 * untouched (everything else).  Every destroy function accepts NULL.
 *
 * ERRORS.  Each function returns a profk_status; profk_context_message() then tells this thread what failed and what
 * to do.  Errors found before anything is enqueued leave the outputs untouched; after a later failure a row is valid
 * only if its profk_row says CERTIFIED.  The library prints nothing and changes no process state.
 *
 * THREADS.  A context may be used from several threads at once, a plan by one thread at a time.
 */
#ifndef PROFK_H
#define PROFK_H

#include <stddef.h>
#include <stdint.h>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120 /* what profk needs; a program may ask for more before it includes this file */
#endif
#ifdef __APPLE__
#include <OpenCL/cl.h>
#else
#include <CL/cl.h>
#endif

#include "profk_params.h"

#define PROFK_VERSION_MAJOR 0
#define PROFK_VERSION_MINOR 1
#define PROFK_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* Element types.  bf16 is the upper half of an f32.  f16, bf16 and f64 need no device support: keys are integers. */
enum {
    PROFK_F32 = 1,
    PROFK_F16,
    PROFK_BF16,
    PROFK_F64,
    PROFK_I8,
    PROFK_U8,
    PROFK_I16,
    PROFK_U16,
    PROFK_I32,
    PROFK_U32,
    PROFK_I64,
    PROFK_U64
};

enum { PROFK_LARGEST, PROFK_SMALLEST, PROFK_MAGNITUDE };
enum { PROFK_NAN_LARGEST, PROFK_NAN_LAST };

/* Sequence of the k results: by rank; by ascending index; unspecified (same set, the sequence may vary). */
enum { PROFK_SORT_RANK, PROFK_SORT_INDEX, PROFK_SORT_NONE };

/* Type of the output indices.  U32 is PROFK_ERR_ARGUMENT for n > 2^32 - 1. */
enum { PROFK_INDEX_U64, PROFK_INDEX_U32 };

/*
 * EXACT: certified or an error.  APPROXIMATE: one attempt, PROFK_OK means enqueued, and each row's profk_row tells what
 * happened: CERTIFIED, the row is exact; RECALL_MISS, its R elements are right and the places behind them hold index
 * all ones and value bits 0; OVERFLOW, k true elements of the input, neither certified nor reproducible.
 */
enum { PROFK_MODE_EXACT, PROFK_MODE_APPROXIMATE };

/*
 * How a row is served.  PROFK: sample, threshold, filter, refine.  ROWS: one work-group selects a row, many rows in one
 * launch; n < 2^31.  FULL: radix selection over the input, for large k/n and as last resort.  AUTO takes PROFK when
 * n >= 2^12, M <= n/4 and the workspace fits, else ROWS where n <= 2^14 or there are at least as many rows as compute
 * units, else FULL.  Where work-groups have one work-item (CPUs) and k <= 512, ROWS comes first: for as many rows as
 * compute units, and for fewer, or one in chunks, of n <= 2^24 with n * k <= 2^24 or n / k >= 2048: these are cut into
 * parts, one for each compute unit.  Tuning moves these limits.
 */
enum { PROFK_ROUTE_AUTO, PROFK_ROUTE_ROWS, PROFK_ROUTE_PROFK, PROFK_ROUTE_FULL };

/*
 * Plan flags.  ESTIMATE: stored tuning, else built-in values (default).  MEASURE: if the context has no tuning yet,
 * profk_tune() first, which may take a minute.  STORED_ONLY: PROFK_ERR_UNSUPPORTED unless the device was tuned.  ASYNC:
 * profk_execute() enqueues and returns.
 */
enum { PROFK_ESTIMATE = 0, PROFK_MEASURE = 1, PROFK_STORED_ONLY = 2, PROFK_ASYNC = 4 };

/* profk_row.status; 0 is never success. */
enum { PROFK_ROW_PENDING, PROFK_ROW_CERTIFIED, PROFK_ROW_RECALL_MISS, PROFK_ROW_OVERFLOW };

/* Shape of the filter.  TILE: a work-group reads tiles side by side, what a GPU wants.  STREAM: a work-item walks a long
 * contiguous part, what a CPU wants.  The default goes by the type of device. */
enum { PROFK_SHAPE_TILE = 1, PROFK_SHAPE_STREAM };

enum { PROFK_MEM_BUFFER }; /* profk_chunk.kind: a cl_mem buffer or sub-buffer */

/* profk_options.flags.  TRACE: log each enqueued command, and each program that is compiled, loaded from disk or stored
 * there.  DEBUG_SYNC: wait after each command, so that a failure names it. */
enum { PROFK_TRACE = 1, PROFK_DEBUG_SYNC = 2 };

typedef struct profk_context profk_context;
typedef struct profk_plan profk_plan;

/* Called now and then during long work with what is being done and how far it is (0..1).  Non-zero: ERR_CANCELLED. */
typedef int (*profk_progress_fn)(void *user, const char *what, double fraction);

/* Receives lines of text on the thread that called profk.  Level 0: a trace line that flags asked for.  Level 1: news,
 * whatever the flags: a plan missed more often than chance explains, and what it does about it. */
typedef void (*profk_log_fn)(void *user, int level, const char *text);

/* How a context behaves.  All fields 0 or NULL (but struct_size) are the defaults. */
typedef struct profk_options {
    size_t struct_size;
    const char *cache_dir; /* keeps compiled kernels and tuning; NULL: see profk_cache_path(), "": none */
    profk_log_fn log;
    profk_progress_fn progress;
    void *user; /* handed to log and progress */
    uint32_t flags, reserved;
} profk_options;

/* What to select.  profk_problem_init() fills in the defaults. */
typedef struct profk_problem {
    size_t struct_size;
    uint64_t n;                      /* elements in a row, below 2^48 */
    uint64_t k;                      /* results per row, 0 <= k <= n, below 2^31 */
    uint64_t rows;                   /* each selected by itself; 0 succeeds and does nothing */
    uint64_t row_stride;             /* elements from a row to the next, 0 = n */
    uint64_t seed;                   /* of the samples; 0 = from the operating system when the plan is made */
    double epsilon;                  /* failure budget per call, 1e-12..0.5, 0 = 1e-3 or as tuned.  Never touches an exact answer */
    double recall;                   /* approximate plans: expected recall, 0 = by epsilon */
    uint64_t workspace_limit_nbytes; /* rows are served in slabs that keep it; 0 = min(largest allocation,
                                        max(one row, 256 MiB, 1/8 of the largest allocation)) */
    uint32_t type, order, nan, sort, index, mode, route, reserved;
} profk_problem;

/*
 * Forced choices; 0 = choose.  S, t, M are range-checked (1 <= t <= S <= n, k <= M <= n), not checked
 * against the budget, and hold for every attempt; but S without t must be able to meet the budget (ERR_PARAMS names
 * the smallest S that does), and M not forced is Theorem 4's for the t in force.  They choose no route.  Work-group
 * sizes are lowered to what each kernel allows on the device; filter_items counts vectors per work-item (1..8) and
 * vector_width elements per vector (1, 2, 4, 8, 16); their product is at most 32 (shape tile).
 */
typedef struct profk_tuning {
    size_t struct_size;
    uint64_t S, t, M;
    uint64_t count_start; /* test hook of exact plans, first attempt only: 0, or above M: R starts here and the buffer
                             starts full; an M that adapts stays below */
    uint32_t filter_shape, filter_wg, filter_items, vector_width, sample_wg, threshold_wg, refine_wg, sort_wg, rows_wg,
        full_wg;
} profk_tuning;

/* A piece of the input: elements [offset, offset + count) of buffer are elements [first, first + count) of the row. */
typedef struct profk_chunk {
    cl_mem buffer;
    uint64_t offset; /* place in the buffer */
    uint64_t count;
    uint64_t first; /* index of its first element; 0 = right behind the chunk before */
    const void *pointer;
    uint32_t kind, flags;
    uint64_t reserved[2];
} profk_chunk;

/* What became of a row. */
typedef struct profk_row {
    uint32_t status;   /* PROFK_ROW_* */
    uint32_t attempts; /* attempts made, plus one where the full selection ran as last resort (7; asynchronous 3);
                          0 for k = 0 */
    uint64_t R;        /* elements that reached the threshold, 0 where none was used (routes rows and full, k = 0) */
} profk_row;

/* The buffers of one call.  They must belong to the context and must not overlap one another. */
typedef struct profk_io {
    size_t struct_size;
    const profk_chunk *chunks; /* they tile [0, n) in ascending order; a buffer may occur in several.  rows > 1:
                                  exactly one, row r at offset + r * row_stride */
    size_t chunk_count;
    cl_mem values;      /* rows * k elements of the input's type, NULL = not wanted */
    cl_mem indices;     /* rows * k indices of the problem's index type, NULL = not wanted */
    cl_mem row_results; /* rows profk_row, NULL = not wanted */
    uint64_t values_offset, indices_offset, row_results_offset;
} profk_io;

/* What a plan will do.  S, t, M and the probabilities are those of the next call (profk_stats.adaptations), and 0 on
 * routes without a sample. */
typedef struct profk_info {
    size_t struct_size;
    uint64_t S, t, M;
    uint64_t workspace_nbytes; /* device memory the first run takes */
    uint64_t slabs;            /* groups of rows that share the workspace */
    uint64_t kernel_launches;  /* of a call over one chunk that is certified at its first attempt */
    uint64_t blocking_calls;   /* host synchronisations of such a call: one a slab on route profk, else one;
                                  asynchronous and approximate plans 0 */
    uint64_t programs;         /* kernel programs that the plan has built */
    double epsilon_row;        /* failure budget of one row and attempt */
    double fail_recall;        /* Pr(R < k), Proposition 2 */
    double fail_overflow;      /* Pr(R > M), Proposition 3 */
    double passes;             /* reads of the input by such a call, in units of n elements, where guesses come true */
    uint32_t route, filter_shape, tuned, reserved;
} profk_info;

/* What a plan has done since it was made. */
typedef struct profk_stats {
    size_t struct_size;
    uint64_t calls, rows;
    uint64_t attempts;       /* attempts of the sampled method, all rows and calls */
    uint64_t recall_misses;  /* attempts that ended with R < k */
    uint64_t overflows;      /* attempts that ended with R > M */
    uint64_t redraws;        /* attempts after a row's first */
    uint64_t fallbacks;      /* rows that ended in the full selection as last resort */
    uint32_t last_attempts;  /* of the last call, its slowest row, counted as in profk_row */
    uint32_t last_route;     /* PROFK_ROUTE_* that served the last call's slowest row */
    uint64_t adaptations;    /* times that S, t, M were chosen anew.  A plan of which none is forced compares its misses
                                since the last time, of either kind, with epsilon_row / 2 an attempt.  If they are more
                                than that explains (a chance below 1e-6), the next calls get a higher t (recall misses),
                                a larger M (overflows) or a larger S, as far as the workspace allows, which never
                                grows.  Looked at when a call ends; asynchronous and approximate plans: by
                                profk_plan_stats() and profk_plan_set_workspace().  Approximate plans by recall:
                                overflows alone */
} profk_stats;

/* A device as profk sees it. */
typedef struct profk_device {
    size_t struct_size;
    cl_device_id id;
    char name[128], platform[128], version[128], driver[64];
    char why_not[128]; /* why it cannot be used, "" where it can */
    uint64_t global_nbytes, max_alloc_nbytes, local_nbytes;
    uint32_t number;        /* place in the order of profk_device_get(), from 0 */
    uint32_t compute_units; /* CL_DEVICE_MAX_COMPUTE_UNITS */
    uint32_t max_wg;        /* CL_DEVICE_MAX_WORK_GROUP_SIZE */
    uint32_t type;          /* CL_DEVICE_TYPE_* */
    uint32_t usable, reserved;
} profk_device;

/* PROFK_VERSION_MAJOR * 10000 + PROFK_VERSION_MINOR * 100 + PROFK_VERSION_PATCH of the library that runs. */
PROFK_API uint32_t profk_version(void);

/*
 * profk_device_get() describes device `number` of all platforms, in the order in which OpenCL lists them, usable or
 * not.  Set ret->struct_size first; the other fields are filled.
 *
 * PROFK_ERR_ARGUMENT   ret is NULL or its struct_size too small
 * PROFK_ERR_NO_DEVICE  number is past the last device, or there is no OpenCL platform at all (the message says which)
 * PROFK_ERR_OPENCL     an OpenCL query failed
 */
PROFK_API profk_status profk_device_get(uint32_t number, profk_device *ret);

/*
 * profk_device_find() is like profk_device_get(), but takes a text: all digits is a number; exactly "gpu" or "cpu" the
 * first usable device of that type; anything else a case-insensitive part of a device's or platform's name, first
 * usable match.  NULL or "": the environment variable PROFK_DEVICE unless unset or empty, else the first usable GPU,
 * else the first usable device.
 *
 * PROFK_ERR_NO_DEVICE    nothing matches, or what matches is not usable (the message says why)
 * PROFK_ERR_NO_COMPILER  what matches has no compiler
 * Otherwise as profk_device_get().
 */
PROFK_API profk_status profk_device_find(const char *spec, profk_device *ret);

/*
 * profk_context_create() prepares `device` of the caller's OpenCL context `cl`, which is retained.  options may be
 * NULL.  Nothing is compiled here.  On success *ret must be released with profk_context_destroy().
 *
 * PROFK_ERR_ARGUMENT     ret, cl or device is NULL, device is not of cl, an option is out of range
 * PROFK_ERR_NO_COMPILER  the device has no compiler
 * PROFK_ERR_NO_DEVICE    the device cannot be used; the message says why
 * PROFK_ERR_HOST_MEMORY, PROFK_ERR_OPENCL
 */
PROFK_API profk_status profk_context_create(cl_context cl, cl_device_id device, const profk_options *options,
                                            profk_context **ret);

/* profk_context_create_default() is like profk_context_create(), but finds the device by profk_device_find(spec) and
 * makes an OpenCL context of its own.  Errors of both. */
PROFK_API profk_status profk_context_create_default(const char *spec, const profk_options *options,
                                                    profk_context **ret);

/* profk_context_handles() lends the OpenCL context and device of ctx; either output may be NULL.  Not retained. */
PROFK_API void profk_context_handles(const profk_context *ctx, cl_context *cl_ret, cl_device_id *device_ret);

/*
 * profk_context_message() returns the text of this thread's last failure: the call, the OpenCL code, the build log,
 * the way out.  "" if nothing failed.  ctx may be NULL, also after a failure without a context.  The text is valid
 * until the thread's next failure.
 */
PROFK_API const char *profk_context_message(const profk_context *ctx);

/* profk_context_destroy() releases ctx.  Its plans must have been destroyed before. */
PROFK_API void profk_context_destroy(profk_context *ctx);

/* profk_problem_init() writes struct_size, type, n, k, rows = 1 and zeroes the rest: exact, largest, NaN largest, by
 * rank, u64 indices.  struct_size is the caller's sizeof(profk_problem). */
PROFK_API void profk_problem_init(profk_problem *p, size_t struct_size, uint32_t type, uint64_t n, uint64_t k);

/*
 * profk_plan_create() prepares selections of one shape on ctx's device: route, parameters, kernels.
 *
 * forced may be NULL.  No device memory is allocated here: profk_plan_info() tells how much the first run will take.
 * The first plan of a device for an element width compiles kernels (tenths of a second to seconds); later ones find
 * them in the context's memory or on disk (profk_cache_path()).  Exact plans build the kernels of the full selection
 * only when a call first needs them, asynchronous ones here.
 *
 * On success *ret must be released with profk_plan_destroy() before ctx.  On failure *ret is NULL.
 *
 * PROFK_ERR_ARGUMENT       k > n, n >= 2^48, k >= 2^31, an unknown type or flag, epsilon out of range, a reserved
 *                          field that is not 0, a NULL pointer, a forced value out of range
 * PROFK_ERR_UNSUPPORTED    M >= 2^31, forced or needed by a forced route, a row of 2^31 elements or more on route rows, or
 *                          more than the workspace limit; PROFK_MEASURE, PROFK_STORED_ONLY
 * PROFK_ERR_PARAMS         no threshold rank meets the recall budget at the forced S; the message names the smallest
 *                          S that does
 * PROFK_ERR_BUILD          the device's compiler rejected a kernel; the message holds the log
 * PROFK_ERR_HOST_MEMORY, PROFK_ERR_OPENCL
 *
 * Threads: plans of one context may be made in several threads; one plan is used by one thread at a time, because
 * OpenCL kernel arguments are shared state.
 */
PROFK_API profk_status profk_plan_create(profk_context *ctx, const profk_problem *p, const profk_tuning *forced,
                                         uint32_t flags, profk_plan **ret);

/* profk_plan_info() tells what plan will do; set ret->struct_size first.  ERR_ARGUMENT: a NULL pointer or struct_size
 * too small. */
PROFK_API profk_status profk_plan_info(const profk_plan *plan, profk_info *ret);

/*
 * profk_plan_describe() writes the plan in words into text, at most room bytes with the final zero, cut if longer.
 * *need_ret, if not NULL, receives the bytes that the whole text takes with its final zero.  text may be NULL with
 * room 0.  ERR_ARGUMENT: plan is NULL, or text is NULL with room > 0.
 */
PROFK_API profk_status profk_plan_describe(const profk_plan *plan, char *text, size_t room, size_t *need_ret);

/*
 * profk_plan_set_workspace() makes the plan use profk_info.workspace_nbytes of buffer from offset_nbytes on, instead
 * of memory of its own, from the next call on.  buffer is retained; NULL returns to own memory.  offset_nbytes plus
 * the place of a sub-buffer must be a multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN / 8 and of 128.  Waits for the plan's
 * last call.
 * ERR_ARGUMENT: plan is NULL, the buffer is of another context, too small, or misaligned.
 */
PROFK_API profk_status profk_plan_set_workspace(profk_plan *plan, cl_mem buffer, uint64_t offset_nbytes);

/* profk_plan_stats() tells what plan has done; set ret->struct_size first.  Asynchronous and approximate plans: waits
 * for the last call.  ERR_ARGUMENT: a NULL pointer or struct_size too small.  ERR_OPENCL: the last call failed. */
PROFK_API profk_status profk_plan_stats(profk_plan *plan, profk_stats *ret);

/* profk_plan_destroy() waits for the plan's last call and releases the plan. */
PROFK_API void profk_plan_destroy(profk_plan *plan);

/*
 * profk_execute() runs plan once on queue, in order or not, behind the events of wait_list.
 *
 * Exact plans return when the result is certified and in the buffers; *event_ret (may be NULL) is then an event that
 * is already complete.  Asynchronous and approximate plans return when everything is enqueued and flushed: one attempt
 * (asynchronous: and a redraw and the full selection, which do nothing unless needed), no host synchronisation;
 * *event_ret completes when the results are in the buffers, and until then the caller keeps them and the input as they
 * are.  A call waits on the device for the plan's call before.  The caller releases *event_ret.
 *
 * The first run allocates the workspace unless it was set, and stores kernels that were compiled on disk (asynchronous
 * and approximate plans: the next profk_plan_stats(), profk_plan_set_workspace() or profk_plan_destroy() does).  Later
 * runs allocate, compile and touch no file, but the first one whose six attempts all miss builds, and stores, the full
 * selection.
 *
 * PROFK_ERR_ARGUMENT       a NULL pointer, a queue or buffer of another context or device, a buffer too small, chunks
 *                          that do not tile [0, n), outputs or the workspace that overlap one another or the input
 *                          (gaps between rows count) in a buffer or its sub-buffers, wait_list NULL with wait_count > 0
 *                          or the reverse, an event of another context
 * PROFK_ERR_UNSUPPORTED    a CL_MEM_USE_HOST_PTR buffer whose host memory is not aligned to its elements
 * PROFK_ERR_DEVICE_MEMORY  no memory for the workspace
 * PROFK_ERR_BUILD          as profk_plan_create(), for the full selection
 * PROFK_ERR_OPENCL, PROFK_ERR_DEVICE_LOST, PROFK_ERR_HOST_MEMORY
 * PROFK_ERR_CANCELLED      the progress callback asked for it
 *
 * A failure on the device after an asynchronous call returned shows as an error status of its event.
 */
PROFK_API profk_status profk_execute(profk_plan *plan, cl_command_queue queue, const profk_io *io, cl_uint wait_count,
                                     const cl_event *wait_list, cl_event *event_ret);

/*
 * profk_topk_host() selects from host memory in one call and blocks until the result is there.
 *
 * input holds the rows, row r from element r * row_stride on; values rows * k elements of the same type, indices
 * rows * k uint64_t or uint32_t by p->index, row_results one profk_row a row; these three and stats (set its
 * struct_size) may be NULL.  ctx NULL: a default context for this call.  The input is used in place where device and
 * host share memory, else copied to the device; a single row larger than one allocation goes through several chunks.
 * Outputs are written only when the whole call succeeded.
 *
 * Errors of profk_context_create_default(), profk_plan_create() and profk_execute(); ERR_UNSUPPORTED also where
 * several rows together are larger than one allocation of the device.
 */
PROFK_API profk_status profk_topk_host(profk_context *ctx, const profk_problem *p, const void *input, void *values,
                                       void *indices, profk_row *row_results, profk_stats *stats);

/*
 * profk_cache_path() writes the folder in which compiled kernels and tuned parameters are kept from process to process,
 * "" if nothing is kept; it may not exist yet.  It is options->cache_dir where that is not NULL, else
 *   PROFK_CACHE_DIR           of the environment, where set; empty, or PROFK_CACHE=0: nothing is kept
 *   XDG_CACHE_HOME/profk      if absolute
 *   HOME/.cache/profk         if absolute; else nothing is kept
 * read when a context is made.  The folder and its parent are made when first needed, for the user alone.  Any number
 * of processes may share it.  What is found there is only used if platform, device, driver version, kernel text,
 * options and format are the same and no byte has changed.  Trouble with it never fails a call: then kernels are
 * compiled.  It keeps what is of no use any more (an older driver's, say) until it is cleared.
 *
 * Like profk_plan_describe() it writes at most room bytes with the final zero, and *need_ret, if not NULL, receives the
 * bytes that the whole text takes.  options may be NULL.  No device is needed.
 * ERR_ARGUMENT: path is NULL with room > 0, or options are wrong.  ERR_HOST_MEMORY.
 */
PROFK_API profk_status profk_cache_path(const profk_options *options, char *path, size_t room, size_t *need_ret);

/*
 * profk_cache_list() writes a line for each entry of that folder, sorted by name: file, kind (binary or tuning), bytes,
 * device, and what it is.  "" where the folder is missing or nothing is kept.  Room and need as in profk_cache_path();
 * another process may change the need between two calls.
 * ERR_ARGUMENT as profk_cache_path().  ERR_IO: the folder cannot be read.  ERR_HOST_MEMORY.
 */
PROFK_API profk_status profk_cache_list(const profk_options *options, char *text, size_t room, size_t *need_ret);

/*
 * profk_cache_clear() removes profk's own files from that folder: entries of any release, and temporaries that nobody
 * has written to for an hour.  Other files and the folder stay.  *files_ret (may be NULL) receives how many were
 * removed, also on failure.  Contexts keep what they have in memory.
 * ERR_ARGUMENT: options are wrong.  ERR_IO: the folder cannot be read or a file not removed.  ERR_HOST_MEMORY.
 */
PROFK_API profk_status profk_cache_clear(const profk_options *options, uint64_t *files_ret);

/*
 * Measures the context's device: launch sizes and shape of the filter, launch sizes of the other stages, what a slot of
 * the sample and a candidate cost, the failure budget of exact plans that leave theirs at 0, and from where on routes
 * pay (design: the first candidate within 5 % of the best, minimum of several runs).  The outcome serves plans that the
 * context makes from then on, is stored for later processes with the same device, driver and release, and never changes
 * an answer.
 *
 * budget_seconds   0 = 60; nothing new is tried after that long, and what was not tried stays as it was
 * report, room     receives a text of lines, cut to room bytes with the final zero; NULL with room 0.  Candidates that
 *                  a device refuses are named there and skipped.
 * need_ret         may be NULL; receives the bytes of the whole report with its final zero
 *
 * Blocks; options.progress is asked now and then.  Takes up to 64 MiB on host and device each.  Other threads may use
 * the context meanwhile, to the harm of what is measured.
 * ERR_ARGUMENT: ctx or report is NULL, the budget is negative or not finite.  ERR_CANCELLED: progress said so; nothing
 * has changed.  ERR_HOST_MEMORY, ERR_DEVICE_MEMORY, ERR_OPENCL, ERR_BUILD.
 */
PROFK_API profk_status profk_tune(profk_context *ctx, double budget_seconds, char *report, size_t room,
                                  size_t *need_ret);

/*
 * Writes what is tuned for the context's device to a file, as text, and reads it for another machine with the same
 * device, driver and release, where it is stored as well.  All or nothing: a file that is changed, cut or of another
 * device changes nothing.
 * ERR_ARGUMENT: ctx is NULL, no path, or the file is no such export.  ERR_UNSUPPORTED: nothing was tuned; or the file
 * is of another device, driver or release, and the message says which line differs.  ERR_IO: the file cannot be written
 * or read.  ERR_HOST_MEMORY.
 */
PROFK_API profk_status profk_tuning_export(const profk_context *ctx, const char *path);
PROFK_API profk_status profk_tuning_import(profk_context *ctx, const char *path);

/*
 * profk_selftest() asks whether ctx's device, with its driver and compiler, gives the right answers: it makes small
 * selections from a seed and compares each with the host.
 *
 *   level 0  every route, filter shape, type, order and NaN policy, lengths around the borders, the ways of calling;
 *            attempts that miss or overflow on purpose; right answers that are damaged on purpose, so that the
 *            comparison must refuse them; whether samples miss as often as theory says
 *   level 1  also at odd work-group sizes; starts nothing new after 35 seconds
 *   level 2  the same without a limit
 *
 * It takes seconds where the kernels are kept, else minutes: some seventy programs are compiled.  What is most telling
 * comes first, and the verdict names what level 1 has left out.  The report is lines of text:
 *
 *   NAME TRIALS of ALL trials FAILED failed SECONDS s      a group, at last `all`
 *   misses SHAPE: N samples, MISSED missed, theory X, OVERFLOWED overflowed, theory Y
 *   damage: N answers damaged on purpose, FOUND found
 *   failed: TRIAL: WHY                                     each of the first ten that failed
 *   seed: N, tuning: default|stored, shape: tile|stream, programs: N compiled, N from the cache    (a line each)
 *   verdict: pass | pass in part | fail                    and, after that: `; not run, for lack of time: GROUPS`
 *
 * Room and need as in profk_plan_describe(); 16 KiB hold every report.  The context's progress callback may stop it.
 *
 * PROFK_OK             also where the verdict is `pass in part`
 * PROFK_ERR_INTERNAL   an answer was wrong or missing: do not trust the device; the message names the first trial
 * PROFK_ERR_ARGUMENT   ctx is NULL, report is NULL with room > 0, level is above 2
 * PROFK_ERR_CANCELLED  the progress callback asked for it; the report has no verdict then
 * PROFK_ERR_HOST_MEMORY, PROFK_ERR_DEVICE_MEMORY, PROFK_ERR_OPENCL
 */
PROFK_API profk_status profk_selftest(profk_context *ctx, uint32_t level, char *report, size_t room, size_t *need_ret);

#ifdef __cplusplus
}
#endif

#endif
