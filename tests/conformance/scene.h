/*
 * scene.h: a call of any shape on device buffers, and the judgement of everything that it leaves behind.
 *
 * Inputs stand between elements that would win, outputs between bytes that must not change.  What a row says of
 * itself (status, attempts, R) is held against the plan, its statistics and, where the sample is the whole input,
 * against t, which R then equals.  What is wrong is said on standard error and returned as false; OpenCL calls and
 * plans that fail end the test.
 */
#ifndef PROFK_TESTS_SCENE_H
#define PROFK_TESTS_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profk.h"
#include "support/fixture.h"

enum { CANARY = 0xCC, MOST_CHUNKS = 160, POOLS = 3 };

extern struct fixture fixture;
extern cl_command_queue aside; /* where the test itself reads and fills, not behind what waits for a gate */

void aside_open(void);
void aside_close(void);

/* What a call asks for: a row, and how many of them in which way. */
struct spec {
    struct test_case c;
    uint64_t rows, gap, limit_nbytes; /* gap: row_stride - n */
    uint32_t mode, flags;
    double epsilon, recall;
    profk_tuning forced;
};

/* An input with its answers, the buffers of a call, and what the last call left behind. */
struct scene {
    struct spec s;
    size_t element, stride, offset, image_nbytes;
    unsigned char *image, *x; /* x stands in the image, between winners */
    uint32_t *ranked;         /* k a row */
    size_t out_element[OUTPUTS], out_count[OUTPUTS];
    unsigned char *got[OUTPUTS];
    cl_mem input, out[OUTPUTS];
    profk_info info;
    profk_stats stats;
};

void must(cl_int code);
void *room(size_t nbytes);
cl_mem make_buffer(size_t nbytes, void *content); /* content may be NULL */
void wait_and_release(cl_event event);

/* ---- a scene ---- */

/* Room for everything, nothing filled in. */
void scene_lay_out(struct scene *s, const struct spec *spec);
void scene_open(struct scene *s, const struct spec *spec);
void scene_close(struct scene *s);

size_t out_nbytes(const struct scene *s, size_t i);

/* Element i of output `which` as it was read back. */
unsigned char *got_element(const struct scene *s, size_t which, size_t i);
profk_row row_of(const struct scene *s, size_t row);

/* ---- calls ---- */

void force_work_group(profk_tuning *forced, uint32_t w); /* in every stage */
uint32_t largest_work_group(void);

profk_problem problem_of(const struct spec *spec);
profk_plan *plan_of(const struct spec *spec, profk_info *info);
void clear_outputs(const struct scene *s);

/* The io of a scene; chunk receives its only chunk. */
profk_io io_of(const struct scene *s, profk_chunk *chunk);
bool execute(const struct test_case *c, profk_plan *plan, cl_command_queue queue, const profk_io *io,
             const cl_event *before, cl_event *done);

/* Reads the statistics, which waits for the plan's last call. */
void settle(struct scene *s, profk_plan *plan);

/* One call by a new plan for `spec`, judged; over given chunks, or the scene's own where NULL. */
bool run_chunks(struct scene *s, const struct spec *spec, const profk_chunk *chunks, size_t count);
bool run(struct scene *s, const struct spec *spec);

/* ---- the judgement ---- */

/* Status, attempts and R of a row agree with one another and with the plan. */
bool judge_fate(const struct scene *s, const profk_row *r);
bool judge_row(const struct scene *s, size_t row);

/* The statistics of a plan's only call are the sum of what its rows say. */
bool judge_sums(const struct scene *s);

/* Reads back and judges what a call left; says how the call was made if anything is wrong. */
bool judge(struct scene *s);

/* ---- chunks ---- */

/* A row cut into chunks that lie in several buffers among elements that would win. */
struct tiling {
    profk_chunk chunk[MOST_CHUNKS];
    size_t count;
    unsigned char *pool[POOLS];
    size_t used[POOLS]; /* elements */
    cl_mem buffer[POOLS];
    uint64_t random, next; /* index that comes next */
};

/* `pieces` chunks, cut by chance or one element each, and empty ones between them. */
void tiling_open(struct tiling *t, const struct scene *s, size_t pieces, uint64_t seed);
void tiling_close(struct tiling *t);

#endif
