/*
 * stages.h: the device stages.  One file each; a stage sets arguments and enqueues, keeps nothing, and knows nothing
 * of retries.
 *
 *   sample -> threshold -> filter -> refine -> sort        the sampled method
 *   full -> sort                                           radix selection over the input
 */
#ifndef PROFK_STAGES_STAGES_H
#define PROFK_STAGES_STAGES_H

#include "runtime/context.h"
#include "stages/key_rule.h"
#include "stages/launch.h"

enum {
    PROFK__WG_MAX = 1024,        /* a stage clips its work-group size to this */
    PROFK__SORT_TABLE_WORDS = 4096, /* local memory of the radix sort: one word a digit and work-item */
    PROFK__LOCAL_NBYTES = 16384, /* local memory that a work-group may take */
    PROFK__SEGMENTS_MAX = 65536  /* work-groups of the radix sort and, where a segment stays below 2^31, of full */
};
#define PROFK__LAUNCH_ELEMENTS_MAX (UINT64_C(1) << 31) /* elements of one filter launch */

/* One program a file of cl/. */
enum profk__file {
    PROFK__FILE_SAMPLE,
    PROFK__FILE_THRESHOLD,
    PROFK__FILE_FILTER,
    PROFK__FILE_REFINE,
    PROFK__FILE_SORT,
    PROFK__FILE_FULL,
    PROFK__FILE_COUNT
};

#define PROFK__KERNEL_LIST(X) /* name, file */                                                                         \
    X(sample, SAMPLE)                                                                                                  \
    X(threshold, THRESHOLD)                                                                                            \
    X(filter, FILTER)                                                                                                  \
    X(fold, FILTER)                                                                                                    \
    X(refine, REFINE)                                                                                                  \
    X(bitonic, SORT)                                                                                                   \
    X(radix_count, SORT)                                                                                               \
    X(radix_scan, SORT)                                                                                                \
    X(radix_scatter, SORT)                                                                                             \
    X(emit, SORT)                                                                                                      \
    X(full_histogram, FULL)                                                                                            \
    X(full_choose, FULL)                                                                                               \
    X(full_count, FULL)                                                                                                \
    X(full_scan, FULL)                                                                                                 \
    X(full_emit, FULL)

enum profk__kernel_id {
#define X(name, file) PROFK__KERNEL_##name,
    PROFK__KERNEL_LIST(X)
#undef X
        PROFK__KERNEL_COUNT
};

/* What specialises the programs of a plan. */
struct profk__spec {
    uint32_t width_nbytes;  /* of an element */
    uint32_t index_nbytes;  /* of an index inside the device: 4 where n < 2^32, else 8 */
    uint32_t vector_width;  /* elements that the filter loads at once */
    uint32_t filter_items;  /* vectors of a work-item of the filter */
    uint32_t sort_digit_bits; /* of a digit of the radix sort */
    uint32_t wg[PROFK__FILE_COUNT];
};

/* Built-in choices for a type of device (CL_DEVICE_TYPE_*). */
struct profk__spec profk__spec_default(cl_device_type device_type, uint32_t width_nbytes, uint32_t index_nbytes);

/* Clips the work-group sizes to the device and to PROFK__WG_MAX, and settles what depends on them. */
void profk__spec_settle(struct profk__spec *spec, const profk_device *device);

/* What to build for a file. */
struct profk__build profk__spec_build(const struct profk__spec *spec, enum profk__file file);

/* Winners that the bitonic sort holds in local memory. */
uint32_t profk__sort_local_pairs(const struct profk__spec *spec);

/* Creates the kernels of a file in kernels[PROFK__KERNEL_COUNT]; lowers spec->wg[file] to what was built. */
profk_status profk__kernels_create(profk_context *ctx, struct profk__spec *spec, enum profk__file file,
                                   struct profk__kernel *kernels);
void profk__kernels_destroy(struct profk__kernel *kernels);

/* The state of a row in the workspace; cl/row.clh has the same struct. */
struct profk__row_state {
    profk_row row;
    uint64_t tau_key, tau_index;
    uint32_t cursor, base;
    uint64_t prefix, remaining;
};

/* Pairs (element, index) in the workspace. */
struct profk__pairs {
    cl_mem bits, index;
};

/* A piece of a row: elements [first, first + count) stand in buffer from `start` on. */
struct profk__piece {
    cl_mem buffer;
    uint64_t start, first, count;
};

/* What the stages of one row work on. */
struct profk__task {
    const struct profk__kernel *kernels;
    const struct profk__spec *spec;
    struct profk__key_rule rule;
    uint64_t n;
    uint32_t k;
    cl_mem row; /* profk__row_state */
};

/* Draws `slots` distinct positions of [0, n) by key; one launch a piece. */
profk_status profk__stage_sample(struct profk__chain *chain, const struct profk__task *task,
                                 const struct profk__piece *piece, uint64_t slots, uint64_t key,
                                 struct profk__pairs sample);

/* The t-th pair of the sample becomes the threshold; R starts at count_start and the cursor at cursor_start. */
profk_status profk__stage_threshold(struct profk__chain *chain, const struct profk__task *task,
                                    struct profk__pairs sample, uint32_t slots, uint32_t t, uint64_t count_start,
                                    uint32_t cursor_start);

/* Stores what reaches the threshold, at most capacity pairs; is_last: no filter launch of this row follows. */
profk_status profk__stage_filter(struct profk__chain *chain, const struct profk__task *task,
                                 const struct profk__piece *piece, int is_last, uint32_t capacity,
                                 struct profk__pairs candidates);

/* Launches that the filter takes for `count` elements that are a row's last piece. */
uint64_t profk__stage_filter_launches(uint64_t count);

/* Certifies the row if k <= R <= capacity and selects its winners. */
profk_status profk__stage_refine(struct profk__chain *chain, const struct profk__task *task,
                                 struct profk__pairs candidates, uint32_t capacity, uint32_t attempt,
                                 struct profk__pairs winners);

/* The caller's buffers; values or indices may be NULL. */
struct profk__output {
    cl_mem values, indices;
    uint64_t values_start, indices_start;
    uint32_t sort, index; /* PROFK_SORT_*, PROFK_INDEX_* */
};

/* Scratch of the radix sort: a second set of pairs and the digit counts. */
struct profk__sort_scratch {
    struct profk__pairs pairs;
    cl_mem counts;
};

/* Writes the winners of a certified row; by_index: they already stand in index order. */
profk_status profk__stage_sort(struct profk__chain *chain, const struct profk__task *task,
                               struct profk__pairs winners, int by_index, struct profk__sort_scratch scratch,
                               const struct profk__output *output);

/* Launches that the sort takes, and the bytes of its digit counts (0 where it needs no scratch). */
uint64_t profk__stage_sort_launches(const struct profk__spec *spec, uint64_t n, uint32_t k, uint32_t sort, int by_index);
uint64_t profk__stage_sort_counts_nbytes(const struct profk__spec *spec, uint32_t k, uint32_t sort);

/* Selects from the input itself and certifies the row, winners in index order.  One piece. */
profk_status profk__stage_full(struct profk__chain *chain, const struct profk__task *task,
                               const struct profk__piece *piece, uint32_t segments, uint32_t attempts,
                               cl_mem histogram, cl_mem counts, struct profk__pairs winners);

/* Work-groups that share the input, and launches of the whole stage. */
uint32_t profk__stage_full_segments(const profk_device *device, uint64_t n);
uint64_t profk__stage_full_launches(const struct profk__spec *spec);
uint64_t profk__stage_full_histogram_nbytes(uint32_t segments);
uint64_t profk__stage_full_counts_nbytes(uint32_t segments);

#endif
