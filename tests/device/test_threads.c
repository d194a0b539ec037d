/*
 * test_threads.c: eight threads share one context, each with plans of its own.
 *
 * They start together on an empty cache, so that they also build, load and store programs at once; each makes plans of
 * all types, routes and sequences, executes them in turns (exact and asynchronous), selects from host memory, fails on
 * purpose, reads tuning in, lists and clears the cache, and opens and closes a context of its own.  Answers are judged,
 * messages and log lines are those of the thread's own calls.  Public headers only.  Built with the preset `tsan` the
 * program is a search for races; tests/support/tsan.supp names the libraries that are not instrumented.
 */
#define _DEFAULT_SOURCE /* mkdtemp; barriers */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profk.h"
#include "support/fixture.h"
#include "support/inputs.h"
#include "support/reference.h"

enum { THREADS = 8, N_MAX = 40000, PATH_ROOM = 4096 };

static struct test_options options;
static char folder[PATH_ROOM], tuning[PATH_ROOM + 16];

static struct {
    profk_context *ctx; /* of all */
    profk_options options;
    pthread_barrier_t start;
    pthread_mutex_t launching; /* one thread at a time has commands in a queue, see execute() */
    atomic_uint log_lines;
} shared;

/* A thread, its queues and buffers, and its input. */
struct worker {
    pthread_t thread;
    uint32_t number, rounds, faults;
    struct fixture f;
    unsigned char *x;
    uint32_t *ranked;
};

static _Thread_local uint32_t own_lines; /* that the log got on this thread */

static void on_log(void *user, int level, const char *text)
{
    (void)level;
    own_lines += text[0] != '\0';
    atomic_fetch_add((atomic_uint *)user, 1);
}

static void expect(struct worker *w, bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "FAILED: thread %u: %s (last message: %s)\n", (unsigned)w->number, what,
            profk_context_message(shared.ctx));
    w->faults++;
}

/* ---- what a thread does ---- */

static struct test_case case_of(const struct worker *w, uint32_t round)
{
    const uint32_t turn = w->number + round;

    return (struct test_case){.type = REFERENCE_FIRST_TYPE + turn % REFERENCE_TYPES,
                              .order = turn % 3,
                              .nan = round % 2,
                              .sort = (turn / 2) % 3,
                              .index = w->number % 2,
                              .route = round % 4, /* automatic, rows, profk, full: all threads build alike at once */
                              .distribution = INPUTS_NORMAL,
                              .n = N_MAX - 1000 * w->number,
                              .k = 1 + 97 * turn,
                              /* bit 9: with an event, which is complete only where the call is exact */
                              .seed = inputs_mix(options.seed, w->number * 100 + round) & ~(uint64_t)512};
}

static bool load(struct worker *w, const struct test_case *c)
{
    inputs_fill(c->type, c->distribution, c->seed, (size_t)c->n, (size_t)c->k, w->x);
    return reference_rank(c->type, c->order, c->nan, w->x, (size_t)c->n, (size_t)c->k, w->ranked) &&
           fixture_load(&w->f, c->type, w->x, (size_t)c->n, c->seed);
}

/*
 * PoCL 3.1 counts the users of a kernel's code wrongly and aborts ("pocl_release_dlhandle_cache: Assertion
 * `found->ref_count > 0' failed"), up to one run in four, where threads run and release kernels of one program at
 * once.  So calls take turns; test_plan has threads whose calls run at once, with plans that stay.
 */
static bool execute(struct worker *w, profk_plan *plan, const struct test_case *c)
{
    pthread_mutex_lock(&shared.launching);
    const bool ok = fixture_execute(&w->f, plan, c, w->ranked, NULL);
    pthread_mutex_unlock(&shared.launching);
    return ok;
}

/* Exact, three times; then asynchronous. */
static void run_plans(struct worker *w, const struct test_case *c)
{
    const profk_problem p = test_case_problem(c);
    profk_plan *exact = fixture_plan(&w->f, c, NULL), *async = NULL;
    char text[2048];
    size_t need = 0;

    expect(w, exact != NULL, "no exact plan");
    for (int i = 0; exact && i < 3; i++)
        expect(w, execute(w, exact, c), "a wrong exact answer");
    if (exact)
        expect(w, profk_plan_describe(exact, text, sizeof text, &need) == PROFK_OK && need == strlen(text) + 1,
               "the plan in words");
    expect(w, profk_plan_create(shared.ctx, &p, NULL, PROFK_ASYNC, &async) == PROFK_OK, "no asynchronous plan");
    profk_plan_destroy(exact);
    if (async)
        expect(w, execute(w, async, c), "a wrong asynchronous answer");
    profk_plan_destroy(async);
}

/* By rank, so that the indices are the reference's in its sequence. */
static void run_from_host(struct worker *w, const struct test_case *c)
{
    profk_problem p = test_case_problem(c);
    uint64_t *indices = calloc((size_t)c->k, sizeof *indices);
    bool same = indices != NULL;

    p.sort = PROFK_SORT_RANK;
    p.index = PROFK_INDEX_U64;
    expect(w, profk_topk_host(shared.ctx, &p, w->x, NULL, indices, NULL, NULL) == PROFK_OK,
           "no answer from the host");
    for (size_t i = 0; same && i < c->k; i++)
        same = indices[i] == w->ranked[i];
    expect(w, same, "a wrong answer from host memory");
    free(indices);
}

/* The message is about this thread's k, whatever fails elsewhere at the time. */
static void fail_on_purpose(struct worker *w, uint32_t round)
{
    const uint64_t k = UINT64_C(1000000) + 1000 * w->number + round;
    profk_problem p;
    profk_plan *plan = NULL;
    char words[64];

    profk_problem_init(&p, sizeof p, PROFK_F32, 10, k);
    snprintf(words, sizeof words, "k is %" PRIu64, k);
    for (int i = 0; i < 50; i++) {
        expect(w, profk_plan_create(shared.ctx, &p, NULL, 0, &plan) == PROFK_ERR_ARGUMENT && plan == NULL,
               "a plan with k > n");
        expect(w, strstr(profk_context_message(shared.ctx), words) != NULL, "the message of another thread");
    }
}

/* What is in the context and on the disk for all.  The cache may change at any time, so lists are not compared. */
static void use_what_is_shared(struct worker *w, uint32_t round)
{
    profk_options own = shared.options;
    profk_context *ctx = NULL;
    char path[PATH_ROOM + 32], list[8192];

    snprintf(path, sizeof path, "%s-%u", tuning, (unsigned)w->number);
    expect(w, profk_tuning_export(shared.ctx, path) == PROFK_OK, "tuning not written");
    expect(w, profk_tuning_import(shared.ctx, tuning) == PROFK_OK, "tuning not read");
    expect(w, profk_cache_list(&own, list, sizeof list, NULL) == PROFK_OK, "no list of the cache");
    if (w->number == 0 && round % 2 == 1)
        expect(w, profk_cache_clear(&own, NULL) == PROFK_OK, "the cache is not cleared");
    expect(w, profk_context_create(w->f.cl, w->f.device, &own, &ctx) == PROFK_OK, "no second context");
    profk_context_destroy(ctx);
}

static bool open_worker(struct worker *w)
{
    cl_int codes[2];

    w->f = (struct fixture){.ctx = shared.ctx};
    profk_context_handles(shared.ctx, &w->f.cl, &w->f.device);
    for (int i = 0; i < 2; i++)
        w->f.queues[i] = clCreateCommandQueue(w->f.cl, w->f.device, 0, &codes[i]);
    w->x = malloc(N_MAX * sizeof(uint64_t));
    w->ranked = malloc(N_MAX * sizeof *w->ranked);
    return codes[0] == CL_SUCCESS && codes[1] == CL_SUCCESS && w->x && w->ranked;
}

static void close_worker(struct worker *w)
{
    for (size_t i = 0; i < OUTPUTS; i++) {
        if (w->f.out[i].buffer)
            clReleaseMemObject(w->f.out[i].buffer);
        free(w->f.out[i].bytes);
    }
    if (w->f.input_buffer)
        clReleaseMemObject(w->f.input_buffer);
    for (int i = 0; i < 2; i++)
        if (w->f.queues[i])
            clReleaseCommandQueue(w->f.queues[i]);
    free(w->x);
    free(w->ranked);
}

static void *work(void *user)
{
    struct worker *w = user;

    own_lines = 0;
    expect(w, open_worker(w), "no queue or no memory");
    pthread_barrier_wait(&shared.start);
    for (uint32_t round = 0; round < w->rounds && w->faults == 0; round++) {
        const struct test_case c = case_of(w, round);

        expect(w, load(w, &c), "the input is not on the device");
        run_plans(w, &c);
        run_from_host(w, &c);
        fail_on_purpose(w, round);
        use_what_is_shared(w, round);
    }
    expect(w, own_lines > 0, "no line of the log came on this thread");
    close_worker(w);
    return NULL;
}

/* ---- the test ---- */

static void threads_get_right_answers(void **state)
{
    static struct worker workers[THREADS];
    uint32_t faults = 0;

    (void)state;
    assert_int_equal(pthread_barrier_init(&shared.start, NULL, THREADS), 0);
    assert_int_equal(pthread_mutex_init(&shared.launching, NULL), 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i, .rounds = options.long_run ? 48 : options.small ? 2 : 8};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        faults += workers[i].faults;
    }
    pthread_barrier_destroy(&shared.start);
    pthread_mutex_destroy(&shared.launching);
    assert_int_equal(faults, 0);
    assert_true(atomic_load(&shared.log_lines) > 0);
}

/* Trace lines of every command, an empty cache, and a tuning (nothing is tried: there is no time) to read in. */
static int open_shared(void **state)
{
    (void)state;
    shared.options = (profk_options){.struct_size = sizeof shared.options,
                                     .cache_dir = folder,
                                     .log = on_log,
                                     .user = &shared.log_lines,
                                     .flags = PROFK_TRACE};
    assert_int_equal(profk_context_create_default(NULL, &shared.options, &shared.ctx), PROFK_OK);
    assert_int_equal(profk_tune(shared.ctx, 1e-6, NULL, 0, NULL), PROFK_OK);
    assert_int_equal(profk_tuning_export(shared.ctx, tuning), PROFK_OK);
    assert_int_equal(profk_cache_clear(&shared.options, NULL), PROFK_OK);
    profk_context_destroy(shared.ctx); /* has the programs of the tuning in memory */
    assert_int_equal(profk_context_create_default(NULL, &shared.options, &shared.ctx), PROFK_OK);
    return profk_tuning_import(shared.ctx, tuning) != PROFK_OK;
}

static int close_shared(void **state)
{
    char command[2 * PATH_ROOM];

    (void)state;
    profk_context_destroy(shared.ctx);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_get_right_answers)};

    snprintf(folder, sizeof folder, "%s/threads-XXXXXX", PROFK_TEST_SCRATCH);
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(tuning, sizeof tuning, "%s/exported", folder);
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}

int main(int argc, char **argv)
{
    static struct fixture device; /* whether there is one */

    return fixture_main(argc, argv, &options, &device, run_all);
}
