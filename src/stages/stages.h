/*
 * stages.h: the device stages.  One file each; a stage sets arguments and enqueues, keeps nothing, and knows nothing
 * of retries.
 *
 *   sample -> threshold -> filter -> refine (-> collect) -> sort    the sampled method
 *   rows (-> sort)                                                  a work-group selects a row
 *   full -> sort                                                    radix selection over the input
 *
 * Every stage serves the rows of a slab, all of them or those of a list on the device.
 */
#ifndef PROFK_STAGES_STAGES_H
#define PROFK_STAGES_STAGES_H

#include "runtime/context.h"
#include "stages/key_rule.h"
#include "stages/launch.h"

enum {
    PROFK__WG_MAX = 1024,        /* a stage clips its work-group size to this */
    PROFK__SORT_TABLE_WORDS = 4096, /* local memory of the radix sort: one word a digit and work-item */
    PROFK__LOCAL_NBYTES = 16384  /* local memory that a work-group may take */
};
#define PROFK__LAUNCH_ELEMENTS_MAX (UINT64_C(1) << 31) /* elements of one filter launch */

/* One program a file of cl/; threshold and refine share one where their work-groups have the same size. */
enum profk__file {
    PROFK__FILE_SAMPLE,
    PROFK__FILE_THRESHOLD,
    PROFK__FILE_FILTER,
    PROFK__FILE_STREAM,
    PROFK__FILE_REFINE,
    PROFK__FILE_SORT,
    PROFK__FILE_ROWS,
    PROFK__FILE_SOLO, /* rows, where work-groups have one work-item */
    PROFK__FILE_FULL,
    PROFK__FILE_COUNT
};

#define PROFK__KERNEL_LIST(X) /* name, file */                                                                         \
    X(sample, SAMPLE)                                                                                                  \
    X(threshold, THRESHOLD)                                                                                            \
    X(filter, FILTER)                                                                                                  \
    X(fold, REFINE)                                                                                                    \
    X(stream, STREAM)                                                                                                  \
    X(refine, REFINE)                                                                                                  \
    X(collect, REFINE)                                                                                                 \
    X(bitonic, SORT)                                                                                                   \
    X(radix_count, SORT)                                                                                               \
    X(radix_scan, SORT)                                                                                                \
    X(radix_scatter, SORT)                                                                                             \
    X(alone, SORT)                                                                                                     \
    X(emit, SORT)                                                                                                      \
    X(rows_short, ROWS)                                                                                                \
    X(rows, ROWS)                                                                                                      \
    X(rows_select, ROWS)                                                                                               \
    X(columns, SOLO)                                                                                                   \
    X(walk, SOLO)                                                                                                      \
    X(walk_part, SOLO)                                                                                                 \
    X(full_guess, FULL)                                                                                                \
    X(full_try, FULL)                                                                                                  \
    X(full_confirm, FULL)                                                                                              \
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
    uint32_t width_nbytes; /* of an element */
    uint32_t index_nbytes; /* of an index inside the device: 4 where positions fit, else 8 */
    uint32_t sample_slots; /* of a work-item of the sample */
    uint32_t part_elements_max; /* stream: elements that a work-item walks */
    uint32_t filter_shape; /* PROFK_SHAPE_* */
    uint32_t vector_width; /* elements that the filter loads at once */
    uint32_t filter_items; /* tile: vectors of a work-item; stream: of a block that takes one test */
    uint32_t sort_digit_bits; /* of a digit of the radix sort */
    uint32_t sort_alone_max;  /* winners of a row that a work-group of one sorts without others */
    uint32_t wg[PROFK__FILE_COUNT]; /* solo: 1, or 0 where it is not used */
};

/* What is tuned for the device and a shape, 0 for the one that suits it. */
struct profk__spec profk__spec_default(const struct profk__tuned *tuned, const struct profk__device *device,
                                       uint32_t filter_shape, uint32_t width_nbytes, uint32_t index_nbytes);

/* Fits the work-group sizes to the device and to PROFK__WG_MAX, and settles what depends on them. */
void profk__spec_settle(struct profk__spec *spec, const struct profk__device *device);

/* Pairs among which a work-group of threshold, refine or rows can select on this device. */
uint64_t profk__select_max(const struct profk__spec *spec, enum profk__file file, const struct profk__device *device);

/* What to build for a file. */
struct profk__build profk__spec_build(const struct profk__spec *spec, enum profk__file file);

/* Pairs that a work-group of sort.cl, rows.cl or solo.cl holds in local memory. */
uint32_t profk__local_pairs(const struct profk__spec *spec, enum profk__file file);

/* Creates the kernels of a file in kernels[PROFK__KERNEL_COUNT]; lowers spec->wg[file] to what was built. */
profk_status profk__kernels_create(profk_context *ctx, struct profk__spec *spec, enum profk__file file,
                                   struct profk__kernel *kernels);
void profk__kernels_destroy(struct profk__kernel *kernels);

/* Stores the programs of these files, bits of enum profk__file, whose launches are complete. */
void profk__kernels_store(profk_context *ctx, const struct profk__kernel *kernels, uint32_t files);

/* What the stages tell one another of a row; pk_row of cl/row.clh. */
struct profk__row_state {
    uint64_t tau_key, tau_index;
    uint32_t cursor, base, winners, found;
    uint64_t prefix, remaining, above_done, equal_done;
};

/* What became of the attempts since the workspace was first used; pk_summary of cl/select.cl. */
struct profk__summary {
    uint32_t missed, last_attempts;
    uint64_t attempts, recall_misses, overflows, redraws, fallbacks;
};

/* Pairs (element, index) in the workspace. */
struct profk__pairs {
    cl_mem bits, index;
};

/* A piece of the rows: elements [first, first + count) of the first row stand in buffer from `start` on. */
struct profk__piece {
    cl_mem buffer;
    uint64_t start, first, count;
};

/* The pieces that tile the rows, asked for in order: `first` is where the pieces before end, and is moved on. */
struct profk__pieces {
    const void *from;
    uint64_t count;
    struct profk__piece (*next)(const void *from, uint64_t number, uint64_t *first);
};

/* How rows go to work-groups of one, and how they are cut into parts that are walked at once, so that each core has work. */
struct profk__row_cut {
    uint32_t groups;     /* of a launch, at most: a task is short and tells its group about those behind it */
    uint32_t parts;      /* of a row, at most */
    uint32_t part_least; /* elements of a part, if there are several; at least k */
    uint32_t kept;       /* pairs of a row for what parts leave; 0: a row has one part and comes in one piece */
};

/* The rows that a stage serves and what it works on. */
struct profk__task {
    const struct profk__kernel *kernels;
    const struct profk__spec *spec;
    struct profk__key_rule rule;
    uint64_t n, stride;     /* of a row; from a row to the next */
    uint32_t k;
    uint64_t first_row;     /* number of the slab's first row in the call */
    uint32_t rows;          /* of the slab */
    cl_mem list;            /* NULL: all rows of the slab, else the rows listed there */
    uint32_t listed;        /* rows that may stand in the list */
    uint32_t list_groups;   /* work-groups of a launch that serves a list, at most */
    struct profk__row_cut row_cut; /* rows */
    uint32_t sort_parts;           /* sort: of a row's winners */
    cl_mem results, states; /* profk_row and profk__row_state of each row of the slab */
};

/* Puts "rows" and "list" into the arguments: fills the two and returns the work-groups for `parts` tasks a row. */
struct profk__rows {
    uint32_t all, parts;
    uint64_t first;
};
uint64_t profk__serve(const struct profk__task *task, uint64_t parts, struct profk__rows *rows_ret, cl_mem *list_ret);

/* Draws `slots` distinct positions of each row by key; one launch a piece. */
profk_status profk__stage_sample(struct profk__chain *chain, const struct profk__task *task,
                                 const struct profk__piece *piece, uint32_t slots, uint64_t key,
                                 struct profk__pairs sample);

/* The t-th pair of a row's sample becomes its threshold; R starts at count_start and the cursor at cursor_start. */
profk_status profk__stage_threshold(struct profk__chain *chain, const struct profk__task *task,
                                    struct profk__pairs sample, uint32_t slots, uint32_t t, uint64_t count_start,
                                    uint32_t cursor_start);

/* Stores what reaches the threshold, at most capacity pairs a row; is_last: no filter launch of these rows follows. */
profk_status profk__stage_filter(struct profk__chain *chain, const struct profk__task *task,
                                 const struct profk__piece *piece, int is_last, uint32_t capacity,
                                 struct profk__pairs candidates);

/* Launches that the filter takes for `count` elements that are a row's last piece. */
uint64_t profk__stage_filter_launches(uint64_t count);

/* Certifies a row if k <= R <= capacity and selects its winners; approximate: the best of what there is, too. */
profk_status profk__stage_refine(struct profk__chain *chain, const struct profk__task *task,
                                 struct profk__pairs candidates, uint32_t capacity, uint32_t attempt,
                                 uint32_t approximate, struct profk__pairs winners);

/* Lists the rows served that missed in `missed` and adds the attempt up in `summary` (profk__summary), which is written
 * anew if starts. */
profk_status profk__stage_collect(struct profk__chain *chain, const struct profk__task *task, uint32_t attempt,
                                  uint32_t falls_back, uint32_t starts, cl_mem missed, cl_mem summary);

/* The caller's buffers; each may be NULL. */
struct profk__output {
    cl_mem values, indices;
    uint64_t values_start, indices_start;
    cl_mem row_results;         /* written by a stage that certifies and writes a row in one launch */
    uint64_t row_results_start; /* number of the first in it */
    uint32_t sort, index;       /* PROFK_SORT_*, PROFK_INDEX_* */
    uint32_t pad;               /* 1: places beyond a row's winners get index all ones and value 0 */
};

/* pk_output of cl/order.clh */
struct profk__output_words {
    uint64_t values_start, indices_start, results_start;
    uint32_t wants, by_index;
};
struct profk__output_words profk__output_words(const struct profk__output *output);

/* Scratch of the radix sort: a second set of pairs and the digit counts. */
struct profk__sort_scratch {
    struct profk__pairs pairs;
    cl_mem counts;
};

/* Writes the winners; by_index: they already stand in index order. */
profk_status profk__stage_sort(struct profk__chain *chain, const struct profk__task *task,
                               struct profk__pairs winners, int by_index, struct profk__sort_scratch scratch,
                               const struct profk__output *output);

/* Parts of a row's winners that work-groups of one sort at once, so that each core has work. */
uint32_t profk__stage_sort_parts(const struct profk__spec *spec, uint32_t compute_units, uint32_t k, uint64_t rows);

/* Launches that the sort takes, and its scratch for a row: pairs, and bytes of the digit counts. */
uint64_t profk__stage_sort_launches(const struct profk__spec *spec, uint64_t n, uint32_t k, uint32_t sort,
                                    int by_index);
uint64_t profk__stage_sort_scratch_pairs(const struct profk__spec *spec, uint32_t k, uint32_t sort, uint32_t parts);
uint64_t profk__stage_sort_counts_nbytes(const struct profk__spec *spec, uint32_t k, uint32_t sort);

/* The kernel that selects rows of n elements, and its file; rows_select leaves the winners to the sort stage. */
enum profk__kernel_id profk__stage_rows_kernel(const struct profk__spec *spec, uint64_t n, uint32_t k);
double profk__stage_rows_passes(const struct profk__spec *spec, uint64_t n, uint32_t k); /* over the input */

struct profk__row_cut profk__stage_row_cut(const struct profk__spec *spec, uint32_t compute_units, uint64_t n,
                                           uint32_t k, uint64_t rows);

enum profk__file profk__stage_rows_file(const struct profk__spec *spec, uint64_t n, uint32_t k);

/* Can the rows' kernel sort the winners itself and write them out?  Else they go to `winners` and the sort stage follows. */
int profk__stage_rows_finishes(const struct profk__spec *spec, uint32_t k);

/* A work-group selects each row, or each of its parts and then the row, and certifies it: in output->row_results, if that
 * is there and it finishes, else in task->results.  n < 2^31.  Rows in several pieces: cut.kept is not 0.  What parts leave stands in `winners` and `other`, which are of cut.kept pairs a row. */
profk_status profk__stage_rows(struct profk__chain *chain, const struct profk__task *task, struct profk__pieces pieces,
                               const struct profk__output *output, struct profk__pairs winners,
                               struct profk__pairs other);

/* How the full selection cuts up a row and its keys. */
struct profk__full_cut {
    uint32_t segments;   /* of a row */
    uint32_t digits;     /* of a key */
    uint32_t digit_bits; /* of the widest digit */
    uint32_t lines;      /* vectors of a sample from which two digits of a row in one piece are guessed, 0: they are not */
};
struct profk__full_cut profk__stage_full_cut(const struct profk__spec *spec, const struct profk__device *device,
                                             uint64_t n, uint32_t k, uint64_t rows);
struct profk__full_cut profk__stage_full_cut_in(const struct profk__spec *spec, uint64_t n, uint32_t k,
                                                uint32_t segments);

/*
 * Selects from the input itself and certifies the rows, winners in index order.  histogram and counts hold what the cut
 * takes for a row.
 */
profk_status profk__stage_full(struct profk__chain *chain, const struct profk__task *task,
                               struct profk__pieces pieces, struct profk__full_cut cut, uint32_t attempts,
                               cl_mem histogram, cl_mem counts, struct profk__pairs winners);

/* Reads of the input and launches of the whole stage for one piece, guesses coming true; scratch of one row. */
uint32_t profk__stage_full_passes(const struct profk__spec *spec, struct profk__full_cut cut);
uint64_t profk__stage_full_launches(const struct profk__spec *spec, struct profk__full_cut cut);
uint64_t profk__stage_full_histogram_nbytes(struct profk__full_cut cut);
uint64_t profk__stage_full_counts_nbytes(struct profk__full_cut cut);

#endif
