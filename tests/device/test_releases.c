/*
 * test_releases.c: programs built against another release.
 *
 * The first release's structs have fixed sizes, an older program passes these and no byte more; a newer program passes
 * larger ones, whose further bytes must be zero where it asks for something.  Each struct lies in a block of exactly
 * its size, so that a sanitizer sees what goes beyond, and is followed here by canaries where the library fills it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "profk.h"
#include "support/fixture.h"

enum { N = 5000, K = 10, MORE = 40, CANARY = 0xCC };

/* Bytes of the first release's structs where size_t and pointers have 8. */
enum {
    FIRST_COST = 40,
    FIRST_OPTIONS = 48,
    FIRST_PROBLEM = 104,
    FIRST_TUNING = 80,
    FIRST_IO = 72,
    FIRST_INFO = 120,
    FIRST_STATS = 72,
    FIRST_DEVICE = 640
};

static struct fixture fixture;
static float x[N];

/* ---- structs that a program fills ---- */

static profk_status use_options(const void *at)
{
    profk_context *ctx = NULL;
    profk_status status = profk_context_create(fixture.cl, fixture.device, at, &ctx);
    size_t need = 0;

    assert_int_equal(ctx != NULL, status == PROFK_OK);
    profk_context_destroy(ctx);
    assert_int_equal(profk_cache_path(at, NULL, 0, &need), status);
    return status;
}

/* Makes a plan of these and runs it over the loaded input; any may be NULL for one that is right. */
static profk_status run(const profk_problem *problem, const profk_tuning *tuning, const profk_io *io)
{
    const profk_chunk chunk = {.buffer = fixture.input_buffer, .offset = fixture.input_offset, .count = N};
    profk_problem own;
    profk_io own_io = {.struct_size = sizeof own_io, .chunks = &chunk, .chunk_count = 1};
    profk_plan *plan = NULL;
    profk_status status;

    profk_problem_init(&own, sizeof own, PROFK_F32, N, K);
    if (io != NULL) { /* its chunk is made here */
        memcpy((char *)(uintptr_t)io + offsetof(profk_io, chunks), &own_io.chunks, sizeof own_io.chunks);
        memcpy((char *)(uintptr_t)io + offsetof(profk_io, chunk_count), &own_io.chunk_count, sizeof own_io.chunk_count);
    }
    status = profk_plan_create(fixture.ctx, problem ? problem : &own, tuning, 0, &plan);
    if (status == PROFK_OK)
        status = profk_execute(plan, fixture.queues[0], io ? io : &own_io, 0, NULL, NULL);
    profk_plan_destroy(plan);
    return status;
}

static profk_status use_problem(const void *at)
{
    return run(at, NULL, NULL);
}

static profk_status use_tuning(const void *at)
{
    return run(NULL, at, NULL);
}

static profk_status use_io(const void *at)
{
    return run(NULL, NULL, at);
}

static profk_status use_cost(const void *at)
{
    uint64_t S = 0;

    return profk_sample_size(1 << 20, 256, 1e-3, at, &S);
}

static void fill_nothing(void *at)
{
    (void)at;
}

/* struct_size is the caller's in what profk_problem_init() makes. */
static void fill_problem(void *at)
{
    size_t struct_size;

    memcpy(&struct_size, at, sizeof struct_size);
    profk_problem_init(at, struct_size, PROFK_F32, N, K);
}

static void fill_cost(void *at)
{
    const uint64_t S[2] = {1, 1 << 18};

    memcpy((char *)at + offsetof(profk_cost, S_min), S, sizeof S);
}

static const struct {
    const char *name;
    size_t first_nbytes;
    void (*fill)(void *at);
    profk_status (*use)(const void *at);
} inputs[] = {
    {"profk_options", FIRST_OPTIONS, fill_nothing, use_options},
    {"profk_problem", FIRST_PROBLEM, fill_problem, use_problem},
    {"profk_tuning", FIRST_TUNING, fill_nothing, use_tuning},
    {"profk_io", FIRST_IO, fill_nothing, use_io},
    {"profk_cost", FIRST_COST, fill_cost, use_cost},
};

/* The struct with nbytes of which the last is `last`. */
static profk_status use(size_t i, size_t nbytes, unsigned char last)
{
    unsigned char *at = calloc(1, nbytes);
    profk_status status;

    assert_non_null(at);
    memcpy(at, &nbytes, sizeof nbytes);
    if (nbytes >= inputs[i].first_nbytes)
        inputs[i].fill(at);
    if (last != 0)
        at[nbytes - 1] = last;
    status = inputs[i].use(at);
    free(at);
    return status;
}

static void programs_of_other_releases_ask(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        const size_t first = inputs[i].first_nbytes;

        if (use(i, first, 0) != PROFK_OK || use(i, first + MORE, 0) != PROFK_OK)
            fail_msg("%s: %s", inputs[i].name, profk_context_message(NULL));
        assert_int_equal(use(i, first + MORE, 1), PROFK_ERR_ARGUMENT);
        assert_non_null(strstr(profk_context_message(NULL), inputs[i].name));
        assert_int_equal(use(i, first - 1, 0), PROFK_ERR_ARGUMENT);
        assert_non_null(strstr(profk_context_message(NULL), inputs[i].name));
    }
}

/* ---- structs that the library fills ---- */

static profk_plan *plan;

static profk_status fill_info(void *at)
{
    return profk_plan_info(plan, at);
}

static profk_status fill_stats(void *at)
{
    return profk_plan_stats(plan, at);
}

static profk_status fill_stats_of_host(void *at)
{
    profk_problem problem;

    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, K);
    return profk_topk_host(fixture.ctx, &problem, x, NULL, NULL, NULL, at);
}

static profk_status fill_device(void *at)
{
    return profk_device_get(0, at);
}

static profk_status fill_device_found(void *at)
{
    return profk_device_find(NULL, at);
}

static const struct {
    const char *name;
    size_t first_nbytes, known_nbytes;
    profk_status (*fill)(void *at);
} outputs[] = {
    {"profk_info", FIRST_INFO, sizeof(profk_info), fill_info},
    {"profk_stats", FIRST_STATS, sizeof(profk_stats), fill_stats},
    {"profk_stats of profk_topk_host", FIRST_STATS, sizeof(profk_stats), fill_stats_of_host},
    {"profk_device", FIRST_DEVICE, sizeof(profk_device), fill_device},
    {"profk_device, found", FIRST_DEVICE, sizeof(profk_device), fill_device_found},
};

/* What the library writes into a struct of nbytes: `written` is where canaries begin. */
static void fill(size_t i, size_t nbytes, size_t written)
{
    unsigned char *at = malloc(nbytes);
    size_t struct_size = 0;

    assert_non_null(at);
    memset(at, CANARY, nbytes);
    memcpy(at, &nbytes, sizeof nbytes);
    if (outputs[i].fill(at) != PROFK_OK)
        fail_msg("%s: %s", outputs[i].name, profk_context_message(NULL));
    memcpy(&struct_size, at, sizeof struct_size);
    assert_int_equal(struct_size, nbytes);
    assert_int_not_equal(memcmp(at + written - 4, "\xCC\xCC\xCC\xCC", 4), 0);
    for (size_t b = written; b < nbytes; b++)
        assert_int_equal(at[b], CANARY);
    free(at);
}

static void programs_of_other_releases_are_told(void **state)
{
    const profk_chunk chunk = {.buffer = fixture.input_buffer, .offset = fixture.input_offset, .count = N};
    const profk_io io = {.struct_size = sizeof io, .chunks = &chunk, .chunk_count = 1};
    profk_problem problem;

    (void)state;
    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, K);
    assert_int_equal(profk_plan_create(fixture.ctx, &problem, NULL, 0, &plan), PROFK_OK);
    assert_int_equal(profk_execute(plan, fixture.queues[0], &io, 0, NULL, NULL), PROFK_OK);
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        const size_t first = outputs[i].first_nbytes, known = outputs[i].known_nbytes;
        size_t struct_size = first - 1;
        unsigned char *small = calloc(1, first);

        fill(i, first, first);
        fill(i, known, known);
        fill(i, known + MORE, known);
        assert_non_null(small);
        memcpy(small, &struct_size, sizeof struct_size);
        assert_int_equal(outputs[i].fill(small), PROFK_ERR_ARGUMENT);
        free(small);
    }
    profk_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_other_releases_ask),
        cmocka_unit_test(programs_of_other_releases_are_told),
    };
    int status = fixture_open(&fixture);

    if (status == 0 && sizeof(size_t) == 8 && sizeof(void *) == 8) {
        for (int i = 0; i < N; i++)
            x[i] = (float)(i * 7919 % N);
        status = fixture_load(&fixture, PROFK_F32, x, N, 1) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    } else if (status == 0) {
        status = 77;
    }
    fixture_close(&fixture);
    return status;
}
