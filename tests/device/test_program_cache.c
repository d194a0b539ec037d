/*
 * test_program_cache.c: kernels that outlive the process.
 *
 * Each run is a process of its own, this program again, with a folder for profk's store and with PoCL's kernel cache
 * off, so that nothing else can remember.  It makes a context and a plan, executes it, judges the answer, and reports
 * how many programs were compiled, loaded and stored by profk's trace and by the layer that counts OpenCL calls.
 */
#define _DEFAULT_SOURCE /* mkdtemp, posix_spawn, setenv, clock_gettime */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/context.h"
#include "runtime/kernels.h"
#include "runtime/key.h"
#include "support/layer_log.h"

enum { N = 20000, K = 10, SKIPPED = 77, PATH_ROOM = 512, THREADS = 4, FILE_MOST = 1 << 28 };

extern char **environ;

static const char *program; /* argv[0] */
static char folder[PATH_ROOM];

/* ---- the process that is run ---- */

/* What the trace said. */
static struct {
    pthread_mutex_t lock;
    unsigned compiled, loaded, stored, not_stored;
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void count_line(void *user, int level, const char *text)
{
    (void)user, (void)level;
    pthread_mutex_lock(&trace.lock);
    trace.compiled += strncmp(text, "compiled ", 9) == 0;
    trace.loaded += strncmp(text, "loaded ", 7) == 0;
    trace.stored += strncmp(text, "stored ", 7) == 0;
    trace.not_stored += strncmp(text, "could not store ", 16) == 0;
    pthread_mutex_unlock(&trace.lock);
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void require(bool so, const char *what)
{
    if (so)
        return;
    fprintf(stderr, "not so: %s: %s\n", what, profk_context_message(NULL));
    exit(1);
}

/* What the process is to do: words of its command line. */
struct wishes {
    uint32_t route, flags;
    bool misses, twice, every_device, threads;
};

static struct wishes read_wishes(int argc, char **argv)
{
    struct wishes w = {.route = PROFK_ROUTE_PROFK};

    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "full") == 0)
            w.route = PROFK_ROUTE_FULL;
        if (strcmp(argv[i], "rows") == 0)
            w.route = PROFK_ROUTE_ROWS;
        if (strcmp(argv[i], "async") == 0)
            w.flags = PROFK_ASYNC;
        w.misses |= strcmp(argv[i], "misses") == 0;
        w.twice |= strcmp(argv[i], "twice") == 0;
        w.every_device |= strcmp(argv[i], "every-device") == 0;
        w.threads |= strcmp(argv[i], "threads") == 0;
    }
    return w;
}

struct job {
    const struct wishes *wishes;
    profk_context *ctx;
    double ms; /* from profk_plan_create() to the end of the first call */
};

static float *input;

/* The k greatest are at 7, 1007, 2007, ... */
static void fill_input(void)
{
    input = malloc(N * sizeof *input);
    require(input != NULL, "memory");
    for (uint32_t i = 0; i < N; i++)
        input[i] = (float)((i * UINT32_C(2654435761)) >> 8);
    for (uint32_t r = 0; r < K; r++)
        input[7 + 1000 * r] = 1e9f - (float)r * 1000;
}

static void judge(cl_command_queue queue, cl_mem indices)
{
    uint64_t found[K];

    require(clEnqueueReadBuffer(queue, indices, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL) == CL_SUCCESS,
            "read");
    for (uint32_t r = 0; r < K; r++)
        require(found[r] == 7 + 1000 * r, "the answer is right");
}

/* PoCL 3.1 aborts now and then where threads run and release kernels of one program at once (test_threads.c): threads
 * build at once, and take turns to run. */
static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;

static void *run_job(void *of)
{
    struct job *job = of;
    const struct wishes *w = job->wishes;
    const profk_tuning misses = {.struct_size = sizeof misses, .S = N, .t = K - 1};
    profk_problem problem;
    profk_plan *plan = NULL;
    cl_context cl;
    cl_device_id device;
    cl_int code;

    profk_context_handles(job->ctx, &cl, &device);
    cl_command_queue queue = clCreateCommandQueue(cl, device, 0, &code);
    cl_mem buffer = clCreateBuffer(cl, CL_MEM_COPY_HOST_PTR, N * sizeof *input, input, &code);
    cl_mem indices = clCreateBuffer(cl, CL_MEM_READ_WRITE, K * sizeof(uint64_t), NULL, &code);
    const profk_chunk chunk = {.buffer = buffer, .count = N};
    const profk_io io = {.struct_size = sizeof io, .chunks = &chunk, .chunk_count = 1, .indices = indices};

    require(queue != NULL && buffer != NULL && indices != NULL, "a queue and buffers");
    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, K);
    problem.route = w->route;
    double start = now_ms();
    require(profk_plan_create(job->ctx, &problem, w->misses ? &misses : NULL, w->flags, &plan) == PROFK_OK, "plan");
    pthread_mutex_lock(&running);
    require(profk_execute(plan, queue, &io, 0, NULL, NULL) == PROFK_OK, "execute");
    require(clFinish(queue) == CL_SUCCESS, "finish");
    job->ms = now_ms() - start;
    judge(queue, indices);
    if (w->twice) {
        unsigned stored = trace.stored + trace.not_stored;
        require(profk_execute(plan, queue, &io, 0, NULL, NULL) == PROFK_OK, "execute again");
        require(trace.stored + trace.not_stored == stored, "only the first run of a plan stores");
    }
    profk_plan_destroy(plan);
    pthread_mutex_unlock(&running);
    clReleaseMemObject(indices);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    return NULL;
}

/* An OpenCL context of all devices of the default one's platform; profk serves the default one. */
static profk_context *context_of_every_device(const profk_options *options)
{
    cl_device_id devices[16];
    cl_platform_id platform;
    cl_uint count = 0;
    cl_int code;
    profk_device device = {.struct_size = sizeof device};
    profk_context *ctx = NULL;

    require(profk_device_find(NULL, &device) == PROFK_OK, "device");
    clGetDeviceInfo(device.id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 16, devices, &count);
    cl_context cl = clCreateContext(NULL, count < 16 ? count : 16, devices, NULL, NULL, &code);
    require(cl != NULL, "context of every device");
    require(profk_context_create(cl, device.id, options, &ctx) == PROFK_OK, "context");
    clReleaseContext(cl);
    return ctx;
}

static void run_threads(struct job *job)
{
    pthread_t threads[THREADS];
    struct job jobs[THREADS];

    for (int i = 0; i < THREADS; i++) {
        jobs[i] = *job;
        require(pthread_create(&threads[i], NULL, run_job, &jobs[i]) == 0, "thread");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static int run_child(const char *report, int argc, char **argv)
{
    const struct wishes wishes = read_wishes(argc, argv);
    const profk_options options = {.struct_size = sizeof options, .log = count_line, .flags = PROFK_TRACE};
    struct job job = {&wishes, NULL, 0};

    fill_input();
    if (wishes.every_device) {
        job.ctx = context_of_every_device(&options);
    } else {
        profk_status st = profk_context_create_default(NULL, &options, &job.ctx);
        if (st == PROFK_ERR_NO_DEVICE)
            return SKIPPED;
        require(st == PROFK_OK, "context");
    }
    if (wishes.threads)
        run_threads(&job);
    else
        run_job(&job);
    profk_context_destroy(job.ctx);
    free(input);
    FILE *file = fopen(report, "w");
    require(file != NULL, "report");
    fprintf(file, "%u %u %u %u %f\n", trace.compiled, trace.loaded, trace.stored, trace.not_stored, job.ms);
    fclose(file);
    return 0;
}

/* ---- running it ---- */

struct report {
    unsigned compiled, loaded, stored, not_stored;
    double ms;
    uint64_t from_source, from_binary; /* calls of OpenCL */
};

static char *in_folder(const char *name, char to[PATH_ROOM])
{
    snprintf(to, PATH_ROOM, "%.300s/%.100s", folder, name);
    return to;
}

/* Each process has a folder of its own for what PoCL unpacks and for its reports. */
static pid_t start(int number, const char *wishes)
{
    char report[PATH_ROOM], log[PATH_ROOM], pocl[PATH_ROOM], words[200], name[40];
    char *argv[12] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "--child", report};
    int argc = 3;
    pid_t pid = -1;

    snprintf(name, sizeof name, "report-%d", number);
    in_folder(name, report);
    snprintf(name, sizeof name, "log-%d", number);
    setenv("PROFK_LAYER_LOG", in_folder(name, log), 1);
    snprintf(name, sizeof name, "pocl-%d-XXXXXX", number);
    assert_non_null(mkdtemp(in_folder(name, pocl)));
    setenv("POCL_CACHE_DIR", pocl, 1);
    setenv("POCL_KERNEL_CACHE", "0", 1);
    setenv("OPENCL_LAYERS", PROFK_TEST_LAYER, 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* the compiler leaks, and here it always runs */
    remove(report);
    snprintf(words, sizeof words, "%s", wishes);
    for (char *word = strtok(words, " "); word != NULL && argc < 11; word = strtok(NULL, " "))
        argv[argc++] = word;
    assert_int_equal(posix_spawn(&pid, program, NULL, NULL, argv, environ), 0);
    return pid;
}

static struct report finish(pid_t pid, int number)
{
    struct report r = {.ms = 0};
    static struct layer_log log;
    char path[PATH_ROOM], name[40];
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    snprintf(name, sizeof name, "report-%d", number);
    FILE *file = fopen(in_folder(name, path), "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%u %u %u %u %lf", &r.compiled, &r.loaded, &r.stored, &r.not_stored, &r.ms), 5);
    fclose(file);
    snprintf(name, sizeof name, "log-%d", number);
    assert_true(layer_log_read(&log, in_folder(name, path)));
    r.from_source = layer_log_number(&log, "clCreateProgramWithSource");
    r.from_binary = layer_log_number(&log, "clCreateProgramWithBinary");
    assert_int_equal(r.compiled, r.from_source); /* no work-group has to shrink here */
    return r;
}

static struct report run(const char *wishes)
{
    return finish(start(0, wishes), 0);
}

#define assert_report(r, compiled_, loaded_, stored_)                                                                \
    do {                                                                                                             \
        assert_int_equal((r).compiled, compiled_);                                                                   \
        assert_int_equal((r).loaded, loaded_);                                                                       \
        assert_int_equal((r).stored, stored_);                                                                       \
        assert_int_equal((r).not_stored, 0);                                                                         \
    } while (0)

static void use_cache(const char *name)
{
    char path[PATH_ROOM];

    setenv("PROFK_CACHE_DIR", in_folder(name, path), 1);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/programs-XXXXXX", PROFK_TEST_SCRATCH);
    if (mkdtemp(folder) == NULL)
        return 1;
    use_cache("cache");
    return 0;
}

static int remove_folder(void **state)
{
    char command[PATH_ROOM + 16];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* Calls each with the path of each entry; returns how many there are. */
static unsigned for_each_entry(void (*each)(const char *path))
{
    static char paths[32][2 * PATH_ROOM];
    char cache[PATH_ROOM];
    DIR *entries = opendir(in_folder("cache", cache));
    struct dirent *entry;
    unsigned count = 0;

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        assert_non_null(strstr(entry->d_name, ".bin")); /* no temporary is left */
        assert_true(count < 32);
        snprintf(paths[count++], sizeof paths[0], "%s/%s", cache, entry->d_name);
    }
    closedir(entries);
    for (unsigned i = 0; i < count && each != NULL; i++)
        each(paths[i]);
    return count;
}

/* ---- tests ---- */

static void the_second_process_compiles_nothing(void **state)
{
    const struct report cold = run("profk twice"), warm = run("profk twice"), third = run("profk twice");

    (void)state;
    assert_true(cold.compiled > 0);
    assert_report(cold, cold.compiled, 0, cold.compiled);
    assert_int_equal(cold.from_binary, 0);
    assert_report(warm, 0, cold.compiled, 0);
    assert_int_equal(warm.from_binary, cold.compiled);
    assert_report(third, 0, cold.compiled, 0);
    assert_int_equal(for_each_entry(NULL), cold.compiled);
    printf("%u programs, profk_plan_create() to the end of the first call: cold %.0f ms, warm %.1f and %.1f ms\n",
           cold.compiled, cold.ms, warm.ms, third.ms);
    assert_true(warm.ms < cold.ms);
}

static void other_routes_and_kinds_of_plans(void **state)
{
    static const char *const wishes[] = {"full", "async", "profk misses twice"};

    (void)state;
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) { /* what the one before stored is found */
        const struct report cold = run(wishes[i]), warm = run(wishes[i]);

        assert_int_equal(cold.stored, cold.compiled);
        assert_report(warm, 0, cold.compiled + cold.loaded, 0);
    }
}

static void several_threads_and_devices(void **state)
{
    struct report cold = run("rows threads"), warm = run("rows threads");

    (void)state;
    assert_report(cold, cold.compiled, 0, cold.compiled);
    assert_report(warm, 0, cold.compiled, 0);
    use_cache("cache-2");
    setenv("POCL_DEVICES", "pthread pthread", 1); /* two devices, one name */
    cold = run("rows every-device");
    warm = run("rows every-device");
    unsetenv("POCL_DEVICES");
    assert_report(cold, cold.compiled, 0, cold.compiled);
    assert_report(warm, 0, cold.compiled, 0);
}

static void two_processes_start_cold(void **state)
{
    const pid_t first = start(1, "rows"), second = start(2, "rows");
    const struct report a = finish(first, 1), b = finish(second, 2), warm = run("rows");

    (void)state;
    assert_int_equal(a.stored, a.compiled);
    assert_int_equal(b.stored, b.compiled);
    assert_int_equal(a.compiled + a.loaded, b.compiled + b.loaded);
    assert_report(warm, 0, a.compiled + a.loaded, 0);
}

static void rewrite(const char *path, void (*change)(char *bytes, size_t *nbytes))
{
    char *bytes = NULL;
    size_t nbytes = 0;

    assert_int_equal(profk__file_read(path, FILE_MOST, &bytes, &nbytes), 0);
    change(bytes, &nbytes);
    assert_int_equal(profk__file_write(path, bytes, nbytes), 0);
    free(bytes);
}

static void cut(char *bytes, size_t *nbytes)
{
    (void)bytes;
    *nbytes /= 2;
}

static void flip(char *bytes, size_t *nbytes)
{
    bytes[*nbytes - 100] ^= 1;
}

static void age(char *bytes, size_t *nbytes)
{
    (void)nbytes;
    bytes[sizeof "# profk binary " - 1] ^= 1;
}

static void cut_entry(const char *path)
{
    rewrite(path, cut);
}

static void flip_entry(const char *path)
{
    rewrite(path, flip);
}

static void age_entry(const char *path)
{
    rewrite(path, age);
}

static void empty_entry(const char *path)
{
    assert_int_equal(profk__file_write(path, "", 0), 0);
}

/* In turn. */
static void damage_entry(const char *path)
{
    static void (*const damages[])(const char *path) = {cut_entry, flip_entry, age_entry, empty_entry};
    static size_t number;

    damages[number++ % 4](path);
}

/* What is damaged is compiled again and stored again, and the answer is right all the while. */
static void damaged_entries_are_compiled_again(void **state)
{
    const struct report cold = run("profk");
    struct report r;

    (void)state;
    assert_true(cold.compiled >= 4); /* one for each kind of damage */
    assert_int_equal(for_each_entry(damage_entry), cold.compiled);
    r = run("profk");
    assert_report(r, cold.compiled, 0, cold.compiled);
    r = run("profk");
    assert_report(r, 0, cold.compiled, 0);
}

/* Where nothing can be kept the answer is right and each process compiles. */
static void nowhere_to_store(void **state)
{
    char path[PATH_ROOM], *home = getenv("HOME") != NULL ? strdup(getenv("HOME")) : NULL;
    struct report r;

    (void)state;
    assert_int_equal(profk__file_write(in_folder("file", path), "x", 1), 0);
    use_cache("file/below");
    r = run("rows");
    assert_true(r.compiled > 0);
    assert_int_equal(r.not_stored, r.compiled);
    assert_int_equal(r.stored + r.loaded, 0);
    unsetenv("PROFK_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    r = run("rows");
    assert_true(r.compiled > 0);
    assert_report(r, r.compiled, 0, 0);
    assert_int_equal(r.from_binary, 0);
    if (home != NULL)
        setenv("HOME", home, 1);
    free(home);
}

/* ---- in this process: entries that are whole, but not what the driver or the plan can use ---- */

static struct profk__build build_of(uint32_t wg)
{
    return (struct profk__build){
        .file = "sample.cl",
        .wg = wg,
        .define_count = 3,
        .defines = {{"PK_WIDTH_BITS", 32}, {"PK_INDEX_BITS", 32}, {"PK_SLOTS", 1}},
    };
}

static void key_of(const profk_context *ctx, uint32_t wg, char key[PROFK__KEY_NBYTES])
{
    const struct profk__build build = build_of(wg);
    struct profk__text text = profk__text_in(key, PROFK__KEY_NBYTES);
    char what[PROFK__OPTIONS_NBYTES];
    struct profk__text words = profk__text_in(what, sizeof what);
    const char *sha256 = NULL;

    for (size_t i = 0; i < profk__kernel_source_count; i++)
        if (strcmp(profk__kernel_sources[i].name, build.file) == 0)
            sha256 = profk__kernel_sources[i].sha256;
    assert_non_null(sha256);
    profk__text_add(&words, "%s ", build.file);
    profk__build_options(&build, &words);
    profk__text_add(&text, "%s", ctx->device_key);
    profk__key_add_program(&text, sha256, what);
}

/* Gets the program with a fresh memory; returns the work-group size, and counts in the trace. */
static uint32_t get_fresh(profk_context *ctx, uint32_t wg, bool store)
{
    struct profk__programs programs;
    const struct profk__build build = build_of(wg);
    cl_program got = NULL;
    uint32_t built = 0;

    assert_int_equal(profk__programs_init(&programs, &ctx->store, ctx->device_key), PROFK_OK);
    assert_int_equal(profk__program_get(&programs, ctx->cl, &ctx->device, &build, &got, &built), PROFK_OK);
    assert_non_null(got);
    if (store)
        profk__program_store(&programs, got, ctx->device.facts.id);
    profk__programs_fini(&programs);
    return built;
}

static void whole_entries_that_do_not_serve(void **state)
{
    static const char *const bodies[] = {"wg 8\nnot a binary", "wg 16\n", "wg 08\nx", ""};
    char cache[PATH_ROOM], key8[PROFK__KEY_NBYTES], key16[PROFK__KEY_NBYTES], *body = NULL;
    const profk_options options = {.struct_size = sizeof options,
                                   .cache_dir = in_folder("cache", cache),
                                   .log = count_line,
                                   .flags = PROFK_TRACE};
    profk_context *ctx = NULL;
    size_t nbytes = 0;

    (void)state;
    assert_int_equal(profk_context_create_default(NULL, &options, &ctx), PROFK_OK);
    key_of(ctx, 8, key8);
    key_of(ctx, 16, key16);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        trace.compiled = trace.loaded = 0;
        assert_true(profk__store_put(&ctx->store, PROFK__STORE_BINARY, key8, bodies[i], strlen(bodies[i])));
        assert_int_equal(get_fresh(ctx, 8, false), 8);
        assert_int_equal(trace.compiled, 1);
    }
    get_fresh(ctx, 8, true);
    trace.compiled = trace.loaded = 0;
    assert_int_equal(get_fresh(ctx, 8, false), 8);
    assert_int_equal(trace.loaded, 1);

    /* 16 were asked for and 8 built: the entry says so, and nothing is compiled to find out. */
    assert_true(profk__store_get(&ctx->store, PROFK__STORE_BINARY, key8, &body, &nbytes));
    assert_true(profk__store_put(&ctx->store, PROFK__STORE_BINARY, key16, body, nbytes));
    free(body);
    assert_int_equal(get_fresh(ctx, 16, false), 8);
    assert_int_equal(trace.loaded, 2);
    assert_int_equal(trace.compiled, 0);
    profk_context_destroy(ctx);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(the_second_process_compiles_nothing), IN_A_FOLDER(other_routes_and_kinds_of_plans),
        IN_A_FOLDER(several_threads_and_devices),         IN_A_FOLDER(two_processes_start_cold),
        IN_A_FOLDER(damaged_entries_are_compiled_again),  IN_A_FOLDER(nowhere_to_store),
        IN_A_FOLDER(whole_entries_that_do_not_serve),
    };
    profk_device device = {.struct_size = sizeof device};

    if (argc > 2 && strcmp(argv[1], "--child") == 0)
        return run_child(argv[2], argc - 3, argv + 3);
    program = argv[0];
    if (profk_device_find(NULL, &device) == PROFK_ERR_NO_DEVICE)
        return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
