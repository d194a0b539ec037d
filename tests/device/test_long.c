/*
 * test_long.c: much and for long: thousands of calls and contexts in constant memory, contexts and queues that take
 * turns, plans that outlive failed calls, and many processes on one empty cache folder.
 *
 * What is measured is the process's anonymous memory.
 *
 * test_long [--long] [--seed N]: --long does ten times as much.
 */
#define _DEFAULT_SOURCE /* mkdtemp, setenv, posix_spawn */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profk.h"
#include "support/fixture.h"
#include "support/inputs.h"

enum { N = 6000, K = 10, SKIPPED = 77, PATH_ROOM = 512, PROCESSES = 32 };

/* Memory that may come on top while nothing should: the heap's own unrest, which does not grow with the calls.  A leak
 * of an event a call is several times as much. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { UNREST_NBYTES = 1 << 30 }; /* freed memory is kept for a while; leaks are the sanitizer's to find */
#else
enum { UNREST_NBYTES = 512 << 10 };
#endif

extern char **environ;

static const char *program; /* argv[0] */
static struct test_options options;
static struct fixture fixture;
static uint64_t state;
static float input[N];
static uint32_t right[K];

static int times(int count)
{
    return options.long_run ? 10 * count : count;
}

/* ---- memory ---- */

/* Anonymous memory of the process that is in use, bytes. */
static long anonymous_nbytes(void)
{
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");

    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "Anonymous: %ld kB", &kib) == 1)
            break;
    fclose(file);
    assert_true(kib > 0);
    return kib * 1024;
}

/* ---- selections ---- */

/* The k greatest stand at places drawn from the seed, all others are smaller. */
static void draw_input(void)
{
    for (uint32_t i = 0; i < N; i++)
        input[i] = (float)(inputs_random(&state) >> 44);
    for (uint32_t r = 0; r < K; r++) {
        right[r] = r * (N / K) + (uint32_t)(inputs_random(&state) % (N / K));
        input[right[r]] = 1e9f - (float)r * 1000;
    }
}

/* A plan with what it works on. */
struct job {
    profk_context *ctx;
    profk_plan *plan;
    cl_command_queue queues[2];
    cl_mem input, indices;
};

static void open_job(struct job *job, profk_context *ctx, uint32_t route, uint32_t flags)
{
    profk_problem problem;
    cl_context cl;
    cl_device_id device;
    cl_int code;

    profk_context_handles(ctx, &cl, &device);
    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, K);
    problem.route = route;
    job->ctx = ctx;
    assert_int_equal(profk_plan_create(ctx, &problem, NULL, flags, &job->plan), PROFK_OK);
    for (int i = 0; i < 2; i++) {
        job->queues[i] = clCreateCommandQueue(cl, device, 0, &code);
        assert_int_equal(code, CL_SUCCESS);
    }
    job->input = clCreateBuffer(cl, CL_MEM_COPY_HOST_PTR, sizeof input, input, &code);
    assert_int_equal(code, CL_SUCCESS);
    job->indices = clCreateBuffer(cl, CL_MEM_READ_WRITE, K * sizeof(uint64_t), NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
}

static void close_job(struct job *job)
{
    profk_plan_destroy(job->plan);
    clReleaseMemObject(job->input);
    clReleaseMemObject(job->indices);
    for (int i = 0; i < 2; i++)
        clReleaseCommandQueue(job->queues[i]);
}

static profk_status run_on(const struct job *job, int queue, uint64_t count)
{
    const profk_chunk chunk = {.buffer = job->input, .count = count};
    const profk_io io = {.struct_size = sizeof io, .chunks = &chunk, .chunk_count = 1, .indices = job->indices};

    return profk_execute(job->plan, job->queues[queue], &io, 0, NULL, NULL);
}

static void assert_right(const struct job *job, int queue)
{
    uint64_t found[K];

    assert_int_equal(
        clEnqueueReadBuffer(job->queues[queue], job->indices, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL),
        CL_SUCCESS);
    for (uint32_t r = 0; r < K; r++)
        assert_int_equal(found[r], right[r]);
}

/* ---- one plan, many calls ---- */

static void calls_on_one_plan(void **unused)
{
    static const struct {
        const char *name;
        uint32_t route, flags;
        int calls;
    } kinds[] = {
        {"route profk", PROFK_ROUTE_PROFK, 0, 10000},
        {"route profk, asynchronous", PROFK_ROUTE_PROFK, PROFK_ASYNC, 10000},
        {"route rows", PROFK_ROUTE_ROWS, 0, 10000},
        {"route full", PROFK_ROUTE_FULL, 0, 10000},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const int calls = times(kinds[i].calls), warm = calls / 4;
        struct job job;
        long before = 0, growth;

        open_job(&job, fixture.ctx, kinds[i].route, kinds[i].flags);
        for (int call = 0; call < calls; call++) {
            if (call == warm)
                before = anonymous_nbytes();
            assert_int_equal(run_on(&job, 0, N), PROFK_OK);
            if (call % 50 == 0)
                assert_right(&job, 0);
            if (call % 1000 == 7) /* a call that is refused on the way */
                assert_int_equal(run_on(&job, 0, N - 1), PROFK_ERR_ARGUMENT);
        }
        growth = anonymous_nbytes() - before;
        printf("%s: %d calls, %ld bytes more than after %d\n", kinds[i].name, calls, growth, warm);
        assert_right(&job, 0);
        close_job(&job);
        assert_true(growth <= UNREST_NBYTES);
    }
}

static void calls_from_host_memory(void **unused)
{
    const int calls = times(2000), warm = calls / 4;
    profk_problem problem;
    uint64_t found[K];
    long before = 0, growth;

    (void)unused;
    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, K);
    for (int call = 0; call < calls; call++) {
        if (call == warm)
            before = anonymous_nbytes();
        assert_int_equal(profk_topk_host(fixture.ctx, &problem, input, NULL, found, NULL, NULL), PROFK_OK);
        for (uint32_t r = 0; r < K; r++)
            assert_int_equal(found[r], right[r]);
    }
    growth = anonymous_nbytes() - before;
    printf("profk_topk_host: %d calls, %ld bytes more than after %d\n", calls, growth, warm);
    assert_true(growth <= UNREST_NBYTES);
}

/* ---- contexts ---- */

static const profk_options nowhere = {.struct_size = sizeof nowhere, .cache_dir = ""};

static void make_context(void)
{
    profk_context *ctx = NULL;

    assert_int_equal(profk_context_create_default(NULL, &nowhere, &ctx), PROFK_OK);
    profk_context_destroy(ctx);
}

/* The same without profk. */
static void make_raw_context(void)
{
    cl_int code;
    cl_context cl = clCreateContext(NULL, 1, &fixture.device, NULL, NULL, &code);

    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clReleaseContext(cl), CL_SUCCESS);
}

static void use_context(void)
{
    profk_context *ctx = NULL;
    struct job job;

    assert_int_equal(profk_context_create(fixture.cl, fixture.device, &nowhere, &ctx), PROFK_OK);
    open_job(&job, ctx, PROFK_ROUTE_PROFK, 0);
    assert_int_equal(run_on(&job, 0, N), PROFK_OK);
    assert_right(&job, 0);
    close_job(&job);
    profk_context_destroy(ctx);
}

/* How much more memory there is after the last three quarters of so many. */
static long growth_of(void (*make)(void), int count)
{
    long before = 0;

    for (int i = 0; i < count; i++) {
        if (i == count / 4)
            before = anonymous_nbytes();
        make();
    }
    return anonymous_nbytes() - before;
}

static void contexts_come_and_go(void **unused)
{
    const int count = times(1000);
    const long raw = growth_of(make_raw_context, count), growth = growth_of(make_context, count);

    (void)unused;
    printf("%d contexts: %ld bytes more, without profk %ld\n", count, growth, raw);
    assert_true(growth <= UNREST_NBYTES + (raw > 0 ? raw : 0));
}

/*
 * PoCL 3.1 keeps a kilobyte or so of each kernel that ran (plain OpenCL calls that build, run and release a kernel
 * do the same), and its memory grows in steps.  A program that is left behind, its text and its binary, is a hundred
 * kilobytes.
 */
static void contexts_with_kernels_come_and_go(void **unused)
{
    enum { STEPS_NBYTES = 8 << 20, KEPT_NBYTES = 16 << 10 };
    const int count = times(80);
    const long growth = growth_of(use_context, count);

    (void)unused;
    printf("%d contexts that build and run: %ld bytes more\n", count, growth);
    assert_true(growth <= UNREST_NBYTES + STEPS_NBYTES + count * (long)KEPT_NBYTES);
}

/* ---- taking turns ---- */

static void two_contexts_take_turns(void **unused)
{
    profk_context *contexts[2] = {NULL, NULL};
    struct job jobs[2];

    (void)unused;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(profk_context_create_default(NULL, NULL, &contexts[i]), PROFK_OK);
        open_job(&jobs[i], contexts[i], i ? PROFK_ROUTE_PROFK : PROFK_ROUTE_FULL, i ? PROFK_ASYNC : 0);
    }
    for (int turn = 0; turn < times(300); turn++) {
        const int i = (int)(inputs_random(&state) % 2);

        assert_int_equal(run_on(&jobs[i], 0, N), PROFK_OK);
        if (turn % 3 == 0)
            assert_right(&jobs[i], 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_right(&jobs[i], 0);
        close_job(&jobs[i]);
    }
    profk_context_destroy(contexts[0]); /* the other one goes on working */
    open_job(&jobs[1], contexts[1], PROFK_ROUTE_PROFK, 0);
    assert_int_equal(run_on(&jobs[1], 0, N), PROFK_OK);
    assert_right(&jobs[1], 0);
    close_job(&jobs[1]);
    profk_context_destroy(contexts[1]);
}

/* Each call waits on the device for the plan's call before, whichever queue that was on. */
static void two_queues_take_turns(void **unused)
{
    static const uint32_t flags[] = {0, PROFK_ASYNC};

    (void)unused;
    for (size_t f = 0; f < 2; f++) {
        struct job job;

        open_job(&job, fixture.ctx, PROFK_ROUTE_PROFK, flags[f]);
        for (int turn = 0; turn < times(300); turn++) {
            const int queue = (int)(inputs_random(&state) % 2);

            assert_int_equal(run_on(&job, queue, N), PROFK_OK);
            if (inputs_random(&state) % 4 == 0)
                assert_right(&job, queue);
        }
        for (int queue = 0; queue < 2; queue++)
            assert_int_equal(clFinish(job.queues[queue]), CL_SUCCESS);
        assert_right(&job, 0);
        close_job(&job);
    }
}

/* ---- processes ---- */

/* The process that is run: all on its own, with the folder that the environment names. */
static int run_child(void)
{
    profk_context *ctx = NULL;
    profk_problem problem;
    uint64_t found[K];

    state = 1;
    draw_input();
    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, K);
    problem.route = PROFK_ROUTE_PROFK;
    if (profk_context_create_default(NULL, NULL, &ctx) != PROFK_OK ||
        profk_topk_host(ctx, &problem, input, NULL, found, NULL, NULL) != PROFK_OK) {
        fprintf(stderr, "%s\n", profk_context_message(ctx));
        return 1;
    }
    for (uint32_t r = 0; r < K; r++)
        if (found[r] != right[r])
            return 2;
    profk_context_destroy(ctx);
    return 0;
}

/* Names in the folder that end so. */
static int count_files(const char *folder, const char *ending)
{
    DIR *open_folder = opendir(folder);
    struct dirent *entry;
    int count = 0;

    assert_non_null(open_folder);
    while ((entry = readdir(open_folder)) != NULL) {
        const size_t length = strlen(entry->d_name), end = strlen(ending);

        count += length >= end && strcmp(entry->d_name + length - end, ending) == 0;
    }
    closedir(open_folder);
    return count;
}

static void processes_share_an_empty_folder(void **unused)
{
    char folder[PATH_ROOM], command[PATH_ROOM + 16], list[1 << 14], *before = getenv("PROFK_CACHE_DIR");
    char *argv[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "--child", NULL};
    pid_t pids[PROCESSES];
    int status;

    (void)unused;
    before = before ? strdup(before) : NULL;
    snprintf(folder, sizeof folder, "%s/long-XXXXXX", PROFK_TEST_SCRATCH);
    assert_non_null(mkdtemp(folder));
    setenv("PROFK_CACHE_DIR", folder, 1);
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(posix_spawn(&pids[i], program, NULL, NULL, argv, environ), 0);
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(folder, ".tmp"), 0);
    assert_in_range(count_files(folder, ".bin"), 4, 10); /* one for each program, whoever stored it */
    assert_int_equal(profk_cache_list(NULL, list, sizeof list, NULL), PROFK_OK);
    assert_null(strstr(list, "damaged"));
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
    if (before)
        setenv("PROFK_CACHE_DIR", before, 1);
    else
        unsetenv("PROFK_CACHE_DIR");
    free(before);
}

/* ---- the program ---- */

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_on_one_plan),
        cmocka_unit_test(calls_from_host_memory),
        cmocka_unit_test(contexts_come_and_go),
        cmocka_unit_test(contexts_with_kernels_come_and_go),
        cmocka_unit_test(two_contexts_take_turns),
        cmocka_unit_test(two_queues_take_turns),
        cmocka_unit_test(processes_share_an_empty_folder),
    };

    state = options.seed;
    draw_input();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 2 && strcmp(argv[1], "--child") == 0)
        return run_child();
    return fixture_main(argc, argv, &options, &fixture, run);
}
