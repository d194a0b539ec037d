/*
 * stage_fixture.h: one stage on the device, and the host's idea of pairs.
 *
 *   bench   the device, one queue (out of order where the device can), and the buffers of the case at hand
 *   kit     the kernels of one specialisation
 *   job     a task over some rows with its input, states and results
 *
 * On the host every element, key and index is 64 bits wide; upload and download narrow and widen.  Buffers are as
 * large as what they hold, so that a checker sees the first byte beyond, and start full of 0xCC, so that a test sees
 * what was not to be written.  Keys are made here a second time, from numbers; nothing of the library's rule is used.
 */
#ifndef PROFK_TESTS_STAGE_FIXTURE_H
#define PROFK_TESTS_STAGE_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/stages.h"

enum { PIECES_MAX = 4, SPECIALS_MAX = 64, BUFFERS_MAX = 48, CANARY = 0xCC };

/* ---- the host's pairs ---- */

struct rule {
    uint32_t type, order, nan; /* PROFK_F32.., PROFK_LARGEST.., PROFK_NAN_LARGEST.. */
};

struct pair {
    uint64_t bits, key, index;
};

/* Greater key = earlier; from the number that the bits are. */
uint64_t host_key(struct rule rule, uint64_t bits);
bool pair_reaches(const struct pair *pair, const struct pair *tau);
void sort_by_rank(struct pair *pairs, size_t count);
void sort_by_index(struct pair *pairs, size_t count);

/* Fills in the keys of pairs whose bits are there. */
void set_keys(struct rule rule, struct pair *pairs, size_t count);

/* Values at which a type's order has a corner; at most SPECIALS_MAX.  Returns how many. */
size_t special_values(uint32_t type, uint64_t *ret);

/* The special values that come first and last in the rule's order. */
uint64_t first_value(struct rule rule);
uint64_t last_value(struct rule rule);

/* Any type of the width, order and policy. */
struct rule random_rule(uint32_t width_nbytes, uint64_t *state);

/* `count` elements drawn from `variety` different ones, special and random. */
void random_elements(uint32_t type, uint64_t *state, size_t variety, size_t count, uint64_t *ret);

/* `count` different indices in no order, over all that index_nbytes bytes hold (8: some beyond 32 bits) or dense. */
void random_indices(uint32_t index_nbytes, uint64_t *state, size_t count, uint64_t *ret);

/* Keyed pairs of the two above. */
void random_pairs(struct rule rule, uint32_t index_nbytes, uint64_t *state, size_t variety, size_t count,
                  struct pair *ret);

uint64_t random_below(uint64_t *state, uint64_t bound);

/* malloc that does not fail; NULL is a failed test. */
void *take(size_t count, size_t nbytes);

/* ---- the device ---- */

/* 0, 77 (no device) or 1 (said why).  The seed is for messages. */
int bench_open(uint64_t seed);
void bench_close(void);
const struct profk__device *bench_device(void);

/* Releases all buffers. */
void bench_clear(void);

cl_mem upload(uint32_t nbytes, const uint64_t *values, size_t count); /* elements of nbytes bytes each */
cl_mem upload_bytes(const void *bytes, size_t nbytes);
cl_mem upload_canaries(size_t nbytes);
void download(cl_mem buffer, uint32_t nbytes, size_t count, uint64_t *ret);
void download_bytes(cl_mem buffer, size_t nbytes, void *ret);

/* What an element of nbytes bytes looks like that nobody has written. */
uint64_t canary(uint32_t nbytes);

struct config {
    uint32_t wg, width_nbytes, index_nbytes, vector_width, filter_items;
    uint32_t sample_slots; /* 0: the device's */
};

struct kit {
    struct config config;
    struct profk__spec spec;
    struct profk__kernel kernels[PROFK__KERNEL_COUNT];
};

/* files: bits 1 << PROFK__FILE_*; shape: PROFK_SHAPE_*. */
void kit_open(struct kit *kit, const struct config *config, uint32_t shape, uint32_t files);
void kit_close(struct kit *kit);

/* ---- a task ---- */

enum service {
    SERVE_ALL,
    SERVE_LIST,
    SERVE_NONE,
    SERVICES
}; /* all rows; every other one, backwards; an empty list */

struct job {
    const struct kit *kit;
    struct rule rule;
    enum service service;
    uint64_t index_base; /* added to the indices of all pieces */
    struct profk__task task;
    struct profk__chain chain;
    uint32_t piece_count;
    struct profk__piece pieces[PIECES_MAX];
};

/* Results and states are full of canaries; a list is served by fewer work-groups than it has rows. */
void job_open(struct job *job, const struct kit *kit, struct rule rule, enum service service, uint32_t rows,
              uint64_t n, uint64_t stride, uint32_t k, uint64_t first_row);

/*
 * Cuts rows of x into `parts` pieces at random places, each in a buffer of its own behind `lead` elements; whatever
 * is not of the piece would come first if it were read.
 */
void job_load(struct job *job, const uint64_t *x, uint32_t lead, uint32_t parts, uint64_t *state);

bool job_serves(const struct job *job, uint32_t row);
struct profk__pairs new_pairs(const struct job *job, size_t count);
struct profk__pairs upload_pairs(const struct job *job, const struct pair *pairs, size_t count);
void download_pairs(const struct job *job, struct profk__pairs from, size_t count, struct pair *ret);
void get_results(const struct job *job, profk_row *ret);
void get_states(const struct job *job, struct profk__row_state *ret);
void job_wait(struct job *job);

/* ---- complaints ---- */

/* What the case at hand is, for the message of a failure. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void at_case(const char *format, ...);

void check_at(bool ok, const char *what, const char *file, int line);
void check_status(profk_status status, const char *what, const char *file, int line);
#define CHECK(condition) check_at((condition), #condition, __FILE__, __LINE__)
#define CHECK_OK(call) check_status((call), #call, __FILE__, __LINE__)

/* Are the bits and indices of two sequences the same? */
bool same_pairs(const struct pair *a, const struct pair *b, size_t count);

/* Is each pair untouched? */
bool untouched_pairs(const struct job *job, const struct pair *pairs, size_t count);

#endif
