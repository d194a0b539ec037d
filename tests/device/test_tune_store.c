/*
 * test_tune_store.c: stored tuning under trouble: several processes at once, folders that cannot be written, a full
 * disk, entries that are damaged or of another driver, release or format.
 *
 * Whatever happens, an entry is found whole or not at all, a session still serves its context, and answers are right.
 */
#define _DEFAULT_SOURCE /* mkdtemp, setenv, posix_spawn and limits */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "tune/tune.h"

enum { N = 20000, K = 50, ROOM = 1 << 16, PATH_ROOM = 512, SKIPPED = 77, PROCESSES = 4 };

/* Long enough for a candidate or two; too short for any. */
static const double short_s = 0.3, none_s = 1e-9;

extern char **environ;

static const char *program; /* argv[0] */
static char folder[PATH_ROOM];

/* ---- helpers ---- */

static char *in_folder(const char *name, char to[PATH_ROOM])
{
    snprintf(to, PATH_ROOM, "%.300s/%.100s", folder, name);
    return to;
}

/* A session on this context works on a small input: it ends sooner. */
static profk_context *open_context(const char *cache_dir)
{
    const profk_options options = {.struct_size = sizeof options, .cache_dir = cache_dir};
    profk_context *ctx = NULL;

    assert_int_equal(profk_context_create_default(NULL, &options, &ctx), PROFK_OK);
    ctx->device.facts.max_alloc_nbytes = UINT64_C(32) << 20;
    return ctx;
}

/* The k greatest stand at 7, 107, 207, ...; a plan that insists on tuning where the context has one finds them. */
static void assert_right_answer(profk_context *ctx)
{
    static float input[N];
    uint64_t indices[K];
    profk_problem problem;

    for (uint32_t i = 0; i < N; i++)
        input[i] = (float)((i * UINT32_C(2654435761)) >> 8);
    for (uint32_t r = 0; r < K; r++)
        input[7 + 100 * r] = 1e9f - (float)r * 1000;
    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, K);
    assert_int_equal(profk_topk_host(ctx, &problem, input, NULL, indices, NULL, NULL), PROFK_OK);
    for (uint32_t r = 0; r < K; r++)
        assert_int_equal(indices[r], 7 + 100 * r);
}

/* What a process that starts now finds in the folder. */
static bool finds_tuning(const char *cache_dir)
{
    profk_context *ctx = open_context(cache_dir);
    const bool found = ctx->tuned.is_measured != 0;

    assert_right_answer(ctx);
    profk_context_destroy(ctx);
    return found;
}

/* Runs a session; true if its report says that it was stored.  The context is tuned in any case. */
static bool tune(profk_context *ctx, double budget_s)
{
    char report[ROOM];

    assert_int_equal(profk_tune(ctx, budget_s, report, sizeof report, NULL), PROFK_OK);
    assert_int_equal(ctx->tuned.is_measured, 1);
    assert_true(strstr(report, "\nstored\n") || strstr(report, "\nnot stored"));
    return strstr(report, "\nstored\n") != NULL;
}

/* Files of the folder whose names end so; the path of the last goes to path_ret. */
static int count_files(const char *ending, char path_ret[PATH_ROOM])
{
    DIR *open_folder = opendir(folder);
    struct dirent *entry;
    int count = 0;

    assert_non_null(open_folder);
    while ((entry = readdir(open_folder)) != NULL) {
        const size_t length = strlen(entry->d_name), end = strlen(ending);

        if (length < end || strcmp(entry->d_name + length - end, ending) != 0)
            continue;
        in_folder(entry->d_name, path_ret);
        count++;
    }
    closedir(open_folder);
    return count;
}

static void find_tuning(char path[PATH_ROOM])
{
    assert_int_equal(count_files(".tuning", path), 1);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/tune-store-XXXXXX", PROFK_TEST_SCRATCH);
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char command[PATH_ROOM + 16];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* ---- several processes ---- */

/* The process that is run: a session into the folder, another one, and an answer. */
static int run_child(const char *cache_dir)
{
    profk_context *ctx = open_context(cache_dir);
    const bool stored = tune(ctx, short_s) && tune(ctx, none_s);

    assert_right_answer(ctx);
    profk_context_destroy(ctx);
    return stored ? 0 : 1;
}

static pid_t start(void)
{
    char *argv[] = {(char *)(uintptr_t)program, (char *)(uintptr_t) "--child", folder, NULL};
    pid_t pid = -1;

    assert_int_equal(posix_spawn(&pid, program, NULL, NULL, argv, environ), 0);
    return pid;
}

static void processes_tune_into_one_folder(void **state)
{
    char path[PATH_ROOM];
    pid_t pids[PROCESSES];
    profk_context *reader;
    int running = PROCESSES, status, found = 0;

    (void)state;
    reader = open_context(folder);
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = start();
    while (running > 0) { /* whoever reads meanwhile finds a whole entry or none */
        reader->tuned = profk__tuned_builtin(&reader->device);
        profk__tuned_load(reader);
        found += reader->tuned.is_measured != 0;
        assert_true(found == 0 || reader->tuned.is_measured); /* once there, an entry is only replaced */
        for (int i = 0; i < PROCESSES; i++)
            if (pids[i] != 0 && waitpid(pids[i], &status, WNOHANG) == pids[i]) {
                assert_int_equal(status, 0);
                pids[i] = 0;
                running--;
            }
        usleep(500);
    }
    profk_context_destroy(reader);
    assert_true(finds_tuning(folder));
    find_tuning(path);
    assert_int_equal(count_files(PROFK__TEMPORARY_SUFFIX, path), 0);
}

/* ---- folders that cannot be written ---- */

static void nowhere_to_store(void **state)
{
    static const char *const names[] = {"file", "file/below"};
    char path[PATH_ROOM];

    (void)state;
    assert_int_equal(profk__file_write(in_folder("file", path), "x", 1), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        profk_context *ctx = open_context(in_folder(names[i], path));

        assert_false(tune(ctx, none_s));
        assert_right_answer(ctx);
        profk_context_destroy(ctx);
        assert_false(finds_tuning(path));
    }
}

/* Without HOME and its like there is no folder at all. */
static void without_a_home(void **state)
{
    static const char *const names[] = {"PROFK_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    char kept[3][PATH_ROOM];
    profk_context *ctx;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);

        snprintf(kept[i], sizeof kept[i], "%s", value ? value : "");
        unsetenv(names[i]);
    }
    ctx = open_context(NULL);
    assert_false(tune(ctx, none_s));
    assert_right_answer(ctx);
    profk_context_destroy(ctx);
    assert_false(finds_tuning(NULL));
    for (size_t i = 0; i < 3; i++)
        if (kept[i][0] != '\0')
            setenv(names[i], kept[i], 1);
}

static void a_folder_that_is_removed(void **state)
{
    char path[PATH_ROOM];
    profk_context *ctx = open_context(folder);

    (void)state;
    assert_true(tune(ctx, none_s));
    assert_int_equal(remove_folder(NULL), 0);
    assert_true(tune(ctx, none_s)); /* it is made again */
    find_tuning(path);
    assert_true(finds_tuning(folder));
    profk_context_destroy(ctx);
}

/* No file of this process grows beyond so many bytes; the signal that says so is to be ignored. */
static void limit_files(rlim_t nbytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = nbytes < limit.rlim_max ? nbytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk(void **state)
{
    char exported[PATH_ROOM], path[PATH_ROOM], *before = NULL, *after = NULL;
    size_t before_nbytes = 0, after_nbytes = 0;
    profk_context *ctx = open_context(folder);

    (void)state;
    assert_true(tune(ctx, none_s)); /* what this compiles is in the context's memory from here on */
    assert_int_equal(profk_tuning_export(ctx, in_folder("exported", exported)), PROFK_OK);
    assert_int_equal(profk__file_read(exported, ROOM, &before, &before_nbytes), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t nbytes = 0; nbytes < 800; nbytes += 133) {
        limit_files(nbytes);
        assert_false(tune(ctx, none_s));
        assert_int_equal(profk_tuning_export(ctx, exported), PROFK_ERR_IO);
        assert_non_null(strstr(profk_context_message(ctx), exported));
        assert_int_equal(profk_tuning_import(ctx, exported), PROFK_OK); /* serves this context all the same */
        limit_files(RLIM_INFINITY);
        assert_true(finds_tuning(folder)); /* the entry of before */
        assert_int_equal(profk__file_read(exported, ROOM, &after, &after_nbytes), 0);
        assert_int_equal(after_nbytes, before_nbytes);
        assert_memory_equal(after, before, before_nbytes);
        free(after);
    }
    signal(SIGXFSZ, SIG_DFL);
    assert_true(tune(ctx, none_s));
    assert_int_equal(count_files(PROFK__TEMPORARY_SUFFIX, path), 0);
    free(before);
    profk_context_destroy(ctx);
}

/* ---- damaged entries ---- */

/* Whether ctx finds what the folder holds now; its tuning is the built-in one if not. */
static bool is_found(profk_context *ctx)
{
    const struct profk__tuned builtin = profk__tuned_builtin(&ctx->device);

    ctx->tuned = builtin;
    profk__tuned_load(ctx);
    if (!ctx->tuned.is_measured)
        assert_memory_equal(&ctx->tuned, &builtin, sizeof builtin);
    return ctx->tuned.is_measured != 0;
}

static void damaged_entries_are_ignored(void **state)
{
    char path[PATH_ROOM], *bytes = NULL;
    size_t nbytes = 0;
    profk_context *ctx = open_context(folder);

    (void)state;
    assert_true(tune(ctx, none_s));
    find_tuning(path);
    assert_int_equal(profk__file_read(path, ROOM, &bytes, &nbytes), 0);
    for (size_t cut = 0; cut < nbytes; cut++) {
        assert_int_equal(profk__file_write(path, bytes, cut), 0);
        assert_false(is_found(ctx));
    }
    for (size_t i = 0; i < nbytes; i++) {
        bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
        assert_int_equal(profk__file_write(path, bytes, nbytes), 0);
        assert_false(is_found(ctx));
        bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
    }
    assert_right_answer(ctx);
    assert_true(tune(ctx, none_s)); /* takes the place of what is damaged */
    assert_true(is_found(ctx));
    free(bytes);
    profk_context_destroy(ctx);
}

/* Changes the letter behind `label` in an entry and makes its checksum right again: as another driver, release or
 * device with the same hash would have written it. */
static void forge(const char *path, const char *label, const char *bytes, size_t nbytes)
{
    static char forged[ROOM];
    char *payload, *checksum, *at;
    uint64_t hash;

    memcpy(forged, bytes, nbytes + 1);
    at = strstr(forged, label);
    assert_non_null(at);
    at[strlen(label)] ^= 1;
    payload = strstr(forged, "payload: ");
    assert_non_null(payload);
    checksum = strchr(payload, '\n') + 1;
    at = strstr(checksum, "\n\n") + 2; /* the body */
    hash = profk__hash(0, forged, (size_t)(checksum - forged));
    hash = profk__hash(hash, at, nbytes - (size_t)(at - forged));
    snprintf(checksum, sizeof "checksum: 0123456789abcdef", "checksum: %016llx", (unsigned long long)hash);
    checksum[strlen("checksum: 0123456789abcdef")] = '\n';
    assert_int_equal(profk__file_write(path, forged, nbytes), 0);
}

static void entries_of_others_are_ignored(void **state)
{
    static const char *const labels[] = {"# profk tuning ",  "platform: ",      "device: ",  "driver version: ",
                                         "device version: ", "compute_units: ", "kernels: ", "\nwhat: "};
    char path[PATH_ROOM], *bytes = NULL;
    size_t nbytes = 0;
    profk_context *ctx = open_context(folder);

    (void)state;
    assert_true(tune(ctx, none_s));
    find_tuning(path);
    assert_int_equal(profk__file_read(path, ROOM, &bytes, &nbytes), 0);
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        forge(path, labels[i], bytes, nbytes);
        assert_false(is_found(ctx));
        assert_false(finds_tuning(folder));
    }
    forge(path, "\ncandidate_ps = ", bytes, nbytes); /* a value may be another one: the forging is sound */
    assert_true(is_found(ctx));
    free(bytes);
    profk_context_destroy(ctx);
}

/* ---- the program ---- */

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(processes_tune_into_one_folder),
        IN_A_FOLDER(nowhere_to_store),
        IN_A_FOLDER(without_a_home),
        IN_A_FOLDER(a_folder_that_is_removed),
        IN_A_FOLDER(a_full_disk),
        IN_A_FOLDER(damaged_entries_are_ignored),
        IN_A_FOLDER(entries_of_others_are_ignored),
    };
    profk_device device = {.struct_size = sizeof device};

    if (argc == 3 && strcmp(argv[1], "--child") == 0)
        return run_child(argv[2]);
    program = argv[0];
    if (profk_device_find(NULL, &device) == PROFK_ERR_NO_DEVICE)
        return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
