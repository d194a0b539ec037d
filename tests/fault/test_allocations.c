/*
 * test_allocations.c: every request of the library for host memory fails once, at each place where it makes one.
 *
 * Each scenario runs with the first request failing (scarce.h), then the second, and so on until it runs through with
 * nothing left to fail; once so that only this request fails, once so that all behind it fail as well.  Each time
 *   - the status is PROFK_ERR_HOST_MEMORY and the message speaks of memory; or the call succeeds and its answer is
 *     right, where only a seed or what is kept on disk is concerned,
 *   - the outputs are as before, or the row says certified and they are right, or it says they are not valid,
 *   - nothing is left behind: no block, file, lock or OpenCL object,
 *   - the next call succeeds, with the same plan where there is one.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fault/scarce.h"
#include "fault/scenarios.h"
#include "tune/tune.h"

#define FOLDER PROFK_TEST_SCRATCH "/allocations-store"
#define EXPORTED PROFK_TEST_SCRATCH "/allocations-exported"

/* More entries than the list of a folder's names has room for at first; more requests than any scenario makes. */
enum { ENTRIES = 70, TEXT_ROOM = 1 << 16, REQUESTS_MAX = 1000 };

static const profk_options on_disk = {.struct_size = sizeof on_disk, .cache_dir = FOLDER};

static void end_scarcity(void)
{
    scarce_end();
}

/* ---- calls that select nothing, beside the scenarios of scenarios.h ---- */

/* Keeps how such a call ended: is_right tells of a success. */
static void note_plain(struct ending *o, profk_status status, bool is_right)
{
    o->verdict = status != PROFK_OK ? UNTOUCHED : is_right ? RIGHT : WRONG;
    if (status != PROFK_OK)
        note(o, status, NULL);
    end_scarcity();
}

static void run_cache_path(struct ending *o)
{
    char path[512] = "";
    const profk_status status = profk_cache_path(&on_disk, path, sizeof path, NULL);

    note_plain(o, status, strcmp(path, FOLDER) == 0);
    o->recovered = profk_cache_path(&on_disk, path, sizeof path, NULL) == PROFK_OK && strcmp(path, FOLDER) == 0;
}

/* The folder's entries as profk_cache_list() has them while memory abounds. */
static char entries[TEXT_ROOM];

static void fill_folder(void)
{
    static char now[TEXT_ROOM];
    struct profk__store store;
    char key[32];

    assert_int_equal(profk_cache_list(&on_disk, now, sizeof now, NULL), PROFK_OK);
    if (now[0] != '\0' && strcmp(now, entries) == 0)
        return;
    assert_int_equal(profk__store_open(&store, &on_disk), 0);
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(key, sizeof key, "what: entry %d\n", i);
        assert_true(profk__store_put(&store, PROFK__STORE_TUNING, key, "a = 1\n", 6));
    }
    profk__store_close(&store);
    assert_int_equal(profk_cache_list(&on_disk, entries, sizeof entries, NULL), PROFK_OK);
}

static void run_cache_list(struct ending *o)
{
    static char text[TEXT_ROOM];
    const profk_status status = profk_cache_list(&on_disk, text, sizeof text, NULL);

    note_plain(o, status, strcmp(text, entries) == 0);
    o->recovered = profk_cache_list(&on_disk, text, sizeof text, NULL) == PROFK_OK && strcmp(text, entries) == 0;
}

static void run_cache_clear(struct ending *o)
{
    static char text[TEXT_ROOM];
    uint64_t files = 0;
    const profk_status status = profk_cache_clear(&on_disk, &files);

    note_plain(o, status, files == ENTRIES);
    o->recovered = profk_cache_clear(&on_disk, NULL) == PROFK_OK &&
                   profk_cache_list(&on_disk, text, sizeof text, NULL) == PROFK_OK && text[0] == '\0';
}

/* A context with a tuning that is none of the built-in ones, and what its export reads. */
static profk_context *tuned_ctx;
static struct profk__tuned tuned;
static char *exported;
static size_t exported_nbytes;

static void open_tuned(void)
{
    assert_int_equal(profk_context_create(fixture.cl, fixture.device, &on_disk, &tuned_ctx), PROFK_OK);
    tuned_ctx->device.facts.max_alloc_nbytes = UINT64_C(32) << 20; /* so that a session works on a small input */
    tuned = profk__tuned_builtin(&tuned_ctx->device);
    tuned.rows_wg = 7;
    tuned.is_measured = 1;
    profk__context_tune(tuned_ctx, &tuned);
    assert_int_equal(profk_tuning_export(tuned_ctx, EXPORTED), PROFK_OK);
    assert_int_equal(profk__file_read(EXPORTED, TEXT_ROOM, &exported, &exported_nbytes), 0);
}

static void close_tuned(void)
{
    profk_cache_clear(&on_disk, NULL);
    profk_context_destroy(tuned_ctx);
    remove(EXPORTED);
    free(exported);
}

static bool is_exported(const char *bytes, size_t nbytes)
{
    char *now = NULL;
    size_t now_nbytes = 0;
    const bool is_equal = profk__file_read(EXPORTED, TEXT_ROOM, &now, &now_nbytes) == 0 && now_nbytes == nbytes &&
                          memcmp(now, bytes, nbytes) == 0;

    free(now);
    return is_equal;
}

static void write_other_file(void)
{
    profk__context_tune(tuned_ctx, &tuned);
    assert_int_equal(profk__file_write(EXPORTED, "other", 5), 0);
}

static void run_export(struct ending *o)
{
    const profk_status status = profk_tuning_export(tuned_ctx, EXPORTED);

    note_plain(o, status, true);
    if (!(status == PROFK_OK ? is_exported(exported, exported_nbytes) : is_exported("other", 5)))
        o->verdict = WRONG;
    o->recovered = profk_tuning_export(tuned_ctx, EXPORTED) == PROFK_OK && is_exported(exported, exported_nbytes);
}

static void write_export(void)
{
    const struct profk__tuned builtin = profk__tuned_builtin(&tuned_ctx->device);

    profk__context_tune(tuned_ctx, &builtin);
    assert_int_equal(profk__file_write(EXPORTED, exported, exported_nbytes), 0);
}

static bool has_tuning(bool imported)
{
    const struct profk__tuned builtin = profk__tuned_builtin(&tuned_ctx->device);

    return memcmp(&tuned_ctx->tuned, imported ? &tuned : &builtin, sizeof tuned) == 0;
}

static void run_import(struct ending *o)
{
    const profk_status status = profk_tuning_import(tuned_ctx, EXPORTED);

    note_plain(o, status, true);
    if (!has_tuning(status == PROFK_OK))
        o->verdict = WRONG;
    o->recovered = profk_tuning_import(tuned_ctx, EXPORTED) == PROFK_OK && has_tuning(true);
}

/* Whether the tuning in force is one that could be stored: numbers within their limits. */
static bool is_sane(void)
{
    char words[TEXT_ROOM];
    struct profk__text text = profk__text_in(words, sizeof words);
    struct profk__tuned read = {0};

    profk__tuned_write(&tuned_ctx->tuned, &text);
    return profk__tuned_read(words, &read);
}

/* A session too short to try anything still opens, measures its gain and closes; one candidate that gets no memory is
 * skipped and named in the report. */
static void run_tune(struct ending *o)
{
    const profk_status status = profk_tune(tuned_ctx, 1e-9, NULL, 0, NULL);

    note_plain(o, status, is_sane());
    o->recovered = profk_tune(tuned_ctx, 1e-9, NULL, 0, NULL) == PROFK_OK && is_sane();
}

static const struct own {
    struct scenario scenario;
    void (*prepare)(void); /* before each run; may be NULL */
} own[] = {
    {{"the path of the store", run_cache_path, 0}, NULL},
    {{"the list of the store", run_cache_list, 0}, fill_folder},
    {{"a cleared store", run_cache_clear, 0}, fill_folder},
    {{"an export", run_export, 0}, write_other_file},
    {{"an import", run_import, LOADS}, write_export},
    {{"a tuning session", run_tune, LOADS}, NULL},
};

/* ---- one failure ---- */

/* A seed is drawn from the clock where the system's generator cannot be opened; a miss of the store is no failure. */
static bool may_pass(const struct scenario *s)
{
    return (s->flags & (LOADS | STORES_ONLY)) != 0 || strcmp(scarce_failed(), "fopen") == 0;
}

/* What is wrong with how a run ended in which a request failed, NULL if nothing. */
static const char *fault_of(const struct scenario *s, const struct ending *o)
{
    if (o->verdict == WRONG)
        return "a wrong answer is said to be right, or a failure left something changed";
    if (o->status == PROFK_OK)
        return !may_pass(s) ? "the call succeeded" : o->verdict == RIGHT ? NULL : "success without an answer";
    if (o->status != PROFK_ERR_HOST_MEMORY)
        return "the status is another one";
    if (!strstr(o->message, "memory"))
        return "the message does not speak of memory";
    return o->recovered ? NULL : "the call fails also when memory is there again";
}

/* References while no scenario runs. */
static struct references idle;

/* Whether what the caller owns is referenced as then, in a moment at least. */
static bool let_go(void)
{
    for (int tries = 0; tries < 100; tries++) {
        const struct references now = read_references();

        if (memcmp(&now, &idle, sizeof now) == 0)
            return true;
        rest_a_moment();
    }
    return false;
}

/* Once without a fault: what the shared context compiles for s it keeps. */
static void warm_up(const struct scenario *s)
{
    struct ending o = {.status = PROFK_OK, .verdict = UNTOUCHED};

    fill_outputs();
    s->run(&o);
    if (o.status != PROFK_OK || o.verdict != RIGHT)
        fail_msg("%s fails without a fault: %s", s->name, o.message);
    idle = settled_references();
}

/* Runs s with the nth request failing; *failed_ret tells whether there was one. */
static bool starve(const struct scenario *s, unsigned long nth, bool for_good, bool *failed_ret)
{
    struct ending o = {.status = PROFK_OK, .verdict = UNTOUCHED};
    const char *wrong;

    fill_outputs();
    const long held = scarce_held();
    profk_context_create(NULL, NULL, NULL, NULL); /* a message that is not about memory */
    scarce_begin(nth, for_good);
    s->run(&o);
    scarce_end();
    *failed_ret = scarce_failed() != NULL;
    if (!*failed_ret)
        wrong = o.status == PROFK_OK && o.verdict == RIGHT ? NULL : "it fails without a fault";
    else
        wrong = fault_of(s, &o);
    if (!wrong && scarce_held() != held)
        wrong = "a block, a file or a lock is left behind";
    if (!wrong && !let_go())
        wrong = "an OpenCL object is still referenced";
    if (wrong)
        fprintf(stderr, "FAILED: %s: request %lu (%s)%s fails: %s\n    status %d, message: %s\n", s->name, nth,
                scarce_failed() ? scarce_failed() : "none", for_good ? " and all behind it" : "", wrong,
                (int)o.status, o.message);
    return !wrong;
}

/* Returns the number of faults found; *runs_ret grows by the number of failures that were made. */
static unsigned long starve_everywhere(const struct scenario *s, void (*prepare)(void), unsigned long *runs_ret)
{
    unsigned long faults = 0, requests[2];

    if (prepare)
        prepare();
    warm_up(s);
    for (int for_good = 0; for_good < 2; for_good++) {
        unsigned long nth = 0;
        bool failed = true;

        while (failed) {
            assert_in_range(++nth, 1, REQUESTS_MAX);
            if (prepare)
                prepare();
            faults += !starve(s, nth, for_good != 0, &failed);
        }
        requests[for_good] = nth - 1;
    }
    printf("%s: %lu requests fail one by one, %lu and all behind\n", s->name, requests[0], requests[1]);
    *runs_ret += requests[0] + requests[1];
    return faults;
}

static void every_request_fails_once(void **state)
{
    unsigned long faults = 0, runs = 0;

    (void)state;
    for (size_t i = 0; i < scenario_count; i++)
        faults += starve_everywhere(&scenarios[i], NULL, &runs);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        faults += starve_everywhere(&own[i].scenario, own[i].prepare, &runs);
    printf("%lu failures\n", runs);
    assert_int_equal(faults, 0);
    assert_in_range(runs, 200, 20000); /* else something is no longer wrapped */
}

/* ---- a compiler that refuses, and no memory for its log ---- */

static void a_failed_build_without_memory(void **state)
{
    static const profk_options nowhere = {.struct_size = sizeof nowhere, .cache_dir = ""};
    const profk_problem problem = problem_of(SCENARIO_K, PROFK_ROUTE_PROFK);
    profk_context *ctx = NULL;
    profk_plan *plan = NULL;
    unsigned long builds = 0;

    (void)state;
    assert_int_equal(profk_context_create(fixture.cl, fixture.device, &nowhere, &ctx), PROFK_OK);
    setenv("FAULT", "clBuildProgram:0:-11", 1); /* CL_BUILD_PROGRAM_FAILURE */
    for (unsigned long nth = 1; nth == 1 || scarce_failed(); nth++) {
        profk_status status;

        scarce_begin(nth, true);
        status = profk_plan_create(ctx, &problem, NULL, 0, &plan);
        scarce_end();
        assert_null(plan);
        if (status == PROFK_ERR_BUILD) {
            builds++;
            assert_non_null(strstr(profk_context_message(ctx), "clBuildProgram"));
        } else {
            assert_int_equal(status, PROFK_ERR_HOST_MEMORY);
            assert_non_null(strstr(profk_context_message(ctx), "no memory"));
        }
    }
    unsetenv("FAULT");
    assert_int_not_equal(builds, 0);
    assert_int_equal(profk_plan_create(ctx, &problem, NULL, 0, &plan), PROFK_OK);
    profk_plan_destroy(plan);
    profk_context_destroy(ctx);
}

/* ---- calls that need no memory ---- */

/* profk.h: later runs allocate, compile and touch no file. */
static void later_runs_request_nothing(void **state)
{
    static const uint32_t routes[] = {PROFK_ROUTE_ROWS, PROFK_ROUTE_PROFK, PROFK_ROUTE_FULL};

    (void)state;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++)
        for (uint32_t flags = 0; flags <= PROFK_ASYNC; flags += PROFK_ASYNC) {
            const profk_problem problem = problem_of(SCENARIO_K, routes[i]);
            profk_plan *plan = NULL;

            assert_int_equal(profk_plan_create(fixture.ctx, &problem, NULL, flags, &plan), PROFK_OK);
            assert_int_equal(execute(plan, NULL), PROFK_OK);
            assert_int_equal(judge_outputs(), RIGHT); /* waits */
            fill_outputs();
            scarce_begin(1, true);
            assert_int_equal(execute(plan, NULL), PROFK_OK);
            assert_int_equal(scarce_end(), 0);
            assert_int_equal(judge_outputs(), RIGHT);
            profk_plan_destroy(plan);
        }
}

static void parameters_request_nothing(void **state)
{
    profk_params params = {0};
    uint64_t S = 0;
    double mean, variance, recall, overflow;

    (void)state;
    scarce_begin(1, true);
    assert_int_equal(profk_sample_size(1 << 20, 100, 1e-3, NULL, &S), PROFK_OK);
    assert_int_equal(profk_params_exact(1 << 20, 100, S, 1e-3, 1e-3, &params), PROFK_OK);
    assert_int_equal(profk_params_fast(1 << 20, 100, S, 1e-3, 1e-3, &params), PROFK_OK);
    assert_int_equal(profk_failure_probability(1 << 20, 100, S, params.t, params.M, &recall, &overflow), PROFK_OK);
    assert_int_equal(profk_rank_moments(1 << 20, S, params.t, &mean, &variance), PROFK_OK);
    assert_int_equal(scarce_end(), 0);
}

/* ---- the program ---- */

static int open_all(void **state)
{
    (void)state;
    open_tuned();
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    close_tuned();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_fails_once),
        cmocka_unit_test(a_failed_build_without_memory),
        cmocka_unit_test(later_runs_request_nothing),
        cmocka_unit_test(parameters_request_nothing),
    };
    int status;

    setenv("OPENCL_LAYERS", PROFK_TEST_LAYER, 1); /* read by the loader at the first OpenCL call */
    unsetenv("FAULT");
    status = scenarios_open(end_scarcity);
    if (status == 0)
        status = cmocka_run_group_tests(tests, open_all, close_all);
    scenarios_close();
    return status;
}
