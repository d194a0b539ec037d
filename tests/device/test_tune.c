/*
 * test_tune.c: what tuning finds is kept, refused where it does not belong, and never changes an answer.
 */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "support/inputs.h"
#include "tune/tune.h"

enum { N = 6000, K = 700, ROOM = 1 << 16 };

static char folder[256], path[512];

static profk_context *open_context_with(const char *cache_dir, profk_progress_fn progress)
{
    const profk_options options = {.struct_size = sizeof options, .cache_dir = cache_dir, .progress = progress};
    profk_context *ctx = NULL;

    assert_int_equal(profk_context_create_default(NULL, &options, &ctx), PROFK_OK);
    return ctx;
}

static profk_context *open_context(void)
{
    return open_context_with(folder, NULL);
}

static profk_status make_plan(profk_context *ctx, uint32_t flags, uint32_t *tuned_ret)
{
    profk_problem problem;
    profk_plan *plan = NULL;
    profk_info info = {.struct_size = sizeof info};
    profk_status st;

    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, K);
    st = profk_plan_create(ctx, &problem, NULL, flags, &plan);
    if (st == PROFK_OK)
        assert_int_equal(profk_plan_info(plan, &info), PROFK_OK);
    *tuned_ret = info.tuned;
    profk_plan_destroy(plan);
    return st;
}

static void clear_folder(void)
{
    const profk_options options = {.struct_size = sizeof options, .cache_dir = folder};

    assert_int_equal(profk_cache_clear(&options, NULL), PROFK_OK);
}

/* ---- words ---- */

static struct profk__tuned builtin(profk_context *ctx)
{
    return profk__tuned_builtin(&ctx->device);
}

static void refuse(const char *body, const struct profk__tuned *base)
{
    struct profk__tuned tuned = *base;

    assert_false(profk__tuned_read(body, &tuned));
    assert_memory_equal(&tuned, base, sizeof tuned);
}

/* The text up to `at`, then `middle`, then what follows from `rest` on. */
static void refuse_joined(const char *body, const char *at, const char *middle, const char *rest,
                          const struct profk__tuned *base)
{
    char changed[ROOM];
    struct profk__text text = profk__text_in(changed, sizeof changed);

    profk__text_add(&text, "%.*s%s%s", (int)(at - body), body, middle, rest);
    refuse(changed, base);
}

static void words_are_all_or_nothing(void **unused)
{
    char body[ROOM];
    struct profk__text text = profk__text_in(body, sizeof body);
    profk_context *ctx = open_context_with("", NULL);
    const struct profk__tuned base = builtin(ctx);
    struct profk__tuned read = {0};

    (void)unused;
    profk__tuned_write(&base, &text);
    assert_true(profk__tuned_read(body, &read));
    assert_int_equal(read.is_measured, 1);
    read.is_measured = 0;
    assert_memory_equal(&read, &base, sizeof base);

    for (const char *line = body; *line != '\0'; line += strcspn(line, "\n") + 1) {
        const char *value = strstr(line, " = ") + 3, *end = line + strcspn(line, "\n"), *next = end + 1;

        refuse_joined(body, line, "", next, &base);             /* a line is missing */
        refuse_joined(body, next, "", line, &base);             /* it is there twice */
        refuse_joined(body, value, "99999999999", end, &base);  /* no such value */
        refuse_joined(body, value, "-1", end, &base);
        refuse_joined(body, value, "", end, &base);
        refuse_joined(body, line, "x", line, &base);            /* no such name */
    }
    profk_context_destroy(ctx);
}

/* ---- a session ---- */

static void a_session_is_stored(void **unused)
{
    char report[ROOM];
    size_t need = 0;
    uint32_t tuned = 0;
    profk_context *ctx, *other;

    (void)unused;
    clear_folder();
    ctx = open_context();
    assert_int_equal(make_plan(ctx, PROFK_ESTIMATE, &tuned), PROFK_OK);
    assert_int_equal(tuned, 0);
    assert_int_equal(make_plan(ctx, PROFK_STORED_ONLY, &tuned), PROFK_ERR_UNSUPPORTED);
    assert_int_equal(profk_tune(ctx, 1, report, sizeof report, &need), PROFK_OK);
    assert_int_equal(need, strlen(report) + 1);
    assert_non_null(strstr(report, "\nstored\n"));
    assert_non_null(strstr(report, ctx->device.facts.name));
    assert_int_equal(make_plan(ctx, PROFK_STORED_ONLY, &tuned), PROFK_OK);
    assert_int_equal(tuned, 1);
    assert_int_equal(make_plan(ctx, PROFK_MEASURE, &tuned), PROFK_OK); /* nothing left to measure */

    other = open_context();
    assert_int_equal(make_plan(other, PROFK_ESTIMATE, &tuned), PROFK_OK);
    assert_int_equal(tuned, 1);
    assert_memory_equal(&other->tuned, &ctx->tuned, sizeof ctx->tuned);
    profk_context_destroy(other);
    other = open_context_with("", NULL);
    assert_int_equal(make_plan(other, PROFK_STORED_ONLY, &tuned), PROFK_ERR_UNSUPPORTED);
    profk_context_destroy(other);
    profk_context_destroy(ctx);
}

static int stop(void *user, const char *what, double fraction)
{
    (void)user, (void)fraction;
    return strstr(what, "filter") != NULL;
}

static void a_stopped_session_changes_nothing(void **unused)
{
    char report[ROOM];
    uint32_t tuned = 0;
    profk_context *ctx;

    (void)unused;
    clear_folder();
    ctx = open_context_with(folder, stop);
    assert_int_equal(profk_tune(ctx, 100, report, sizeof report, NULL), PROFK_ERR_CANCELLED);
    assert_int_equal(make_plan(ctx, PROFK_MEASURE, &tuned), PROFK_ERR_CANCELLED);
    assert_int_equal(make_plan(ctx, PROFK_STORED_ONLY, &tuned), PROFK_ERR_UNSUPPORTED);
    profk_context_destroy(ctx);
}

static void arguments_are_checked(void **unused)
{
    char report[8];
    profk_context *ctx = open_context_with("", NULL);

    (void)unused;
    assert_int_equal(profk_tune(NULL, 1, NULL, 0, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_tune(ctx, -1, NULL, 0, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_tune(ctx, 1, NULL, sizeof report, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_tuning_export(ctx, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_tuning_import(NULL, path), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_tuning_export(ctx, path), PROFK_ERR_UNSUPPORTED); /* nothing was tuned */
    assert_int_equal(profk_tuning_import(ctx, "/nowhere/at/all"), PROFK_ERR_IO);
    profk_context_destroy(ctx);
}

/* ---- what belongs to another device ---- */

/* A stored tuning is not found once a fact of its key changes. */
static void another_driver_finds_nothing(void **unused)
{
    static const char *const facts[] = {"platform", "device", "driver version", "device version"};
    profk_context *ctx = open_context();
    struct profk__tuned tuned = builtin(ctx);

    (void)unused;
    clear_folder();
    tuned.sample_wg = 3;
    assert_true(profk__tuned_save(ctx, &tuned));
    profk__tuned_load(ctx);
    assert_int_equal(ctx->tuned.sample_wg, 3);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        char *fact = strstr(ctx->device_key, facts[i]);

        assert_non_null(fact);
        fact[strcspn(fact, ":") + 2] ^= 1;
        ctx->tuned = builtin(ctx);
        profk__tuned_load(ctx);
        assert_int_equal(ctx->tuned.is_measured, 0);
        fact[strcspn(fact, ":") + 2] ^= 1;
    }
    ctx->device.facts.compute_units++;
    profk__tuned_load(ctx);
    assert_int_equal(ctx->tuned.is_measured, 0);
    profk_context_destroy(ctx);
}

static void write_file(const char *bytes, size_t nbytes)
{
    assert_int_equal(profk__file_write(path, bytes, nbytes), 0);
}

static void exports_are_imported_whole_or_not(void **unused)
{
    char *bytes = NULL, *driver;
    size_t nbytes = 0;
    profk_context *from = open_context_with("", NULL), *to = open_context();
    struct profk__tuned tuned = builtin(from);

    (void)unused;
    clear_folder();
    tuned.rows_wg = 7;
    tuned.is_measured = 1;
    profk__context_tune(from, &tuned);
    assert_int_equal(profk_tuning_export(from, path), PROFK_OK);
    assert_int_equal(profk_tuning_import(to, path), PROFK_OK);
    assert_memory_equal(&to->tuned, &tuned, sizeof tuned);
    profk_context_destroy(to);
    to = open_context(); /* it was stored, too */
    assert_memory_equal(&to->tuned, &tuned, sizeof tuned);

    assert_int_equal(profk__file_read(path, ROOM, &bytes, &nbytes), 0);
    to->tuned = builtin(to);
    for (size_t cut = 0; cut + 1 < nbytes; cut += 1 + cut % 7) { /* all but the last newline */
        write_file(bytes, cut);
        const profk_status st = profk_tuning_import(to, path);
        assert_true(st == PROFK_ERR_ARGUMENT || (st == PROFK_OK && cut + 8 > nbytes));
    }
    to->tuned = builtin(to);
    driver = strstr(bytes, "driver version: ");
    driver[strlen("driver version: ")] ^= 1;
    write_file(bytes, nbytes);
    assert_int_equal(profk_tuning_import(to, path), PROFK_ERR_UNSUPPORTED);
    assert_non_null(strstr(profk_context_message(to), "driver version"));
    assert_int_equal(to->tuned.is_measured, 0);
    free(bytes);
    profk_context_destroy(from);
    profk_context_destroy(to);
}

/* ---- the promise ---- */

static uint32_t among(uint64_t *state, uint32_t least, uint32_t most)
{
    return least + (uint32_t)(inputs_random(state) % (most - least + 1));
}

/* Any values that a store may hold. */
static struct profk__tuned random_tuned(const struct profk__tuned *base, uint64_t *state)
{
    struct profk__tuned t = *base;
    uint32_t *const wgs[] = {&t.tile.wg,     &t.stream.wg, &t.sample_wg, &t.threshold_wg,
                             &t.refine_wg, &t.sort_wg,   &t.rows_wg,   &t.full_wg};

    for (size_t i = 0; i < sizeof wgs / sizeof wgs[0]; i++)
        *wgs[i] = among(state, 0, 2) == 0 ? 1 : among(state, 1, 100);
    t.filter_shape = among(state, PROFK_SHAPE_TILE, PROFK_SHAPE_STREAM);
    t.tile.vector_nbytes = 1u << among(state, 0, 6);
    t.tile.items = among(state, 1, 8);
    t.stream.vector_nbytes = 1u << among(state, 0, 6);
    t.stream.items = among(state, 1, 64);
    t.sample_slots = among(state, 1, 64);
    t.sort_alone_max = among(state, 0, 1) * UINT32_MAX;
    t.slot_ps = among(state, 0, 1000000);
    t.candidate_ps = among(state, 0, 1000000);
    t.epsilon_ppb = among(state, 1, 500000000);
    t.profk_n_min = among(state, 1 << 10, 10000);
    t.profk_share = among(state, 1, 64);
    t.rows_n_max = among(state, 0, 10000);
    t.rows_first_k = among(state, 0, 2 * K);
    t.rows_first_n = among(state, 0, 1 << 18);
    return t;
}

static void select_with(profk_context *ctx, const struct profk__tuned *tuned, const void *x, uint32_t *values,
                        uint64_t *indices)
{
    profk_problem problem;

    profk__context_tune(ctx, tuned);
    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, K);
    assert_int_equal(profk_topk_host(ctx, &problem, x, values, indices, NULL, NULL), PROFK_OK);
}

static void tuning_never_changes_an_answer(void **unused)
{
    enum { TRIALS = 12 };
    static uint32_t x[N], right_values[K], values[K];
    static uint64_t right_indices[K], indices[K];
    uint64_t state = 20261130;
    profk_context *ctx = open_context_with("", NULL);
    const struct profk__tuned base = builtin(ctx);

    (void)unused;
    for (uint32_t i = 0; i < N; i++)
        x[i] = UINT32_C(0x3f800000) + (uint32_t)(inputs_random(&state) % 512); /* full of ties */
    select_with(ctx, &base, x, right_values, right_indices);
    for (int trial = 0; trial < TRIALS; trial++) {
        const struct profk__tuned tuned = random_tuned(&base, &state);

        select_with(ctx, &tuned, x, values, indices);
        assert_memory_equal(values, right_values, sizeof values);
        assert_memory_equal(indices, right_indices, sizeof indices);
    }
    profk_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_all_or_nothing),     cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(a_stopped_session_changes_nothing), cmocka_unit_test(another_driver_finds_nothing),
        cmocka_unit_test(exports_are_imported_whole_or_not), cmocka_unit_test(tuning_never_changes_an_answer),
        cmocka_unit_test(a_session_is_stored),
    };
    profk_device device = {.struct_size = sizeof device};
    int status;

    if (profk_device_find(NULL, &device) == PROFK_ERR_NO_DEVICE)
        return 77;
    snprintf(folder, sizeof folder, "%s/tune-XXXXXX", PROFK_TEST_SCRATCH);
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/exported", folder);
    status = cmocka_run_group_tests(tests, NULL, NULL);
    clear_folder();
    remove(path);
    rmdir(folder);
    return status;
}
