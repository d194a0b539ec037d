/*
 * test_cli_stopped.c: profk topk and profk tune stopped by SIGINT or SIGTERM at random moments.
 *
 * Whenever it happens, an output file is as it was before or whole, no temporary file lies beside it, and every entry
 * of the store is whole; a temporary that a stopped process was writing to may stay there, for profk cache clear.
 *
 * test_cli_stopped [--long] [--seed N]
 */
#define _XOPEN_SOURCE 700
#include "shell.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profk.h"
#include "support/inputs.h"

enum { N = 1 << 20, K = 50000, OLD_NBYTES = 100 };

static uint64_t seed = 20261130;
static int rounds_topk = 40, rounds_tune = 8;
static uint64_t state;

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void sleep_s(double seconds)
{
    const struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&pause, NULL);
}

/*
 * Runs a line, which begins with exec, and stops it at a random moment of longest_s, or a little later than its end;
 * every fourth round within a tenth of it, so that some are stopped even if the machine was busy when the time was
 * taken.  Returns the exit status.
 */
static int stop_somewhen(const char *line, double longest_s, int round)
{
    const double most_s = round % 4 == 0 ? longest_s / 10 : 1.1 * longest_s;
    const double moment_s = (double)(inputs_random(&state) % 1000) / 1000 * most_s;
    const int number = inputs_random(&state) % 2 ? SIGTERM : SIGINT;
    const pid_t pid = start("%s", line);
    int status;

    sleep_s(moment_s);
    kill(pid, number); /* a process that has ended is not reaped yet, and takes it */
    status = finish(pid);
    /* Stopped; or by the time it knew no signals yet; or it was done. */
    if (status != 130 && status != 128 + number && status != 0)
        fail_msg("%s: exit %d after signal %d at %.3f s of %.3f: %s", line, status, number, moment_s, longest_s, err);
    return status;
}

static bool is_file(const char *path, const unsigned char *bytes, size_t nbytes)
{
    unsigned char *now = malloc(nbytes + 1);
    FILE *file = fopen(path, "rb");
    bool is_equal;

    assert_non_null(now);
    is_equal = file && fread(now, 1, nbytes + 1, file) == nbytes && memcmp(now, bytes, nbytes) == 0;
    if (file)
        fclose(file);
    free(now);
    return is_equal;
}

static unsigned char *read_bytes(const char *path, size_t *nbytes_ret)
{
    struct stat facts;
    unsigned char *bytes;
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &facts), 0);
    *nbytes_ret = (size_t)facts.st_size;
    bytes = malloc(*nbytes_ret);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *nbytes_ret, file), *nbytes_ret);
    fclose(file);
    return bytes;
}

static void write_input(void)
{
    float *x = malloc(N * sizeof *x);
    FILE *file = fopen("x.raw", "wb");

    assert_non_null(x);
    assert_non_null(file);
    for (size_t i = 0; i < N; i++)
        x[i] = (float)(inputs_random(&state) >> 40);
    assert_int_equal(fwrite(x, sizeof *x, N, file), N);
    assert_int_equal(fclose(file), 0);
    free(x);
}

/* ---- profk topk ---- */

static const char *const outputs[] = {"values.npy", "indices.npy"};

static void topk_leaves_no_half_file(void **unused)
{
    static const char line[] = "exec profk topk x.raw --dtype f32 -k 50000 --values values.npy --indices indices.npy";
    unsigned char old[OLD_NBYTES], *whole[2];
    size_t nbytes[2];
    double longest_s = 0;
    int stopped = 0;

    (void)unused;
    memset(old, 'o', sizeof old);
    write_input();
    for (int run_number = 0; run_number < 2; run_number++) { /* the first one compiles */
        longest_s = now_s();
        assert_int_equal(run("%s", line), 0);
        longest_s = now_s() - longest_s;
    }
    for (int i = 0; i < 2; i++)
        whole[i] = read_bytes(outputs[i], &nbytes[i]);
    for (int round = 0; round < rounds_topk; round++) {
        const bool was_there = round % 2;
        int status;

        for (int i = 0; i < 2; i++) {
            remove(outputs[i]);
            if (was_there)
                write_bytes(outputs[i], old, sizeof old);
        }
        status = stop_somewhen(line, longest_s, round);
        stopped += status != 0;
        assert_nothing_left_behind();
        for (int i = 0; i < 2; i++) {
            const bool is_whole = is_file(outputs[i], whole[i], nbytes[i]);
            const bool is_as_before =
                was_there ? is_file(outputs[i], old, sizeof old) : access(outputs[i], F_OK) != 0;

            if (!is_whole && (status == 0 || !is_as_before))
                fail_msg("round %d: %s is neither whole nor as before, exit %d", round, outputs[i], status);
        }
    }
    print_message("%d of %d runs of %.3f s were stopped\n", stopped, rounds_topk, longest_s);
    assert_in_range(stopped, 1, rounds_topk);
    for (int i = 0; i < 2; i++)
        free(whole[i]);
}

/* ---- the store ---- */

/* Every entry of the store is whole, and profk works with what is there. */
static void assert_whole_store(void)
{
    succeed("profk cache list");
    assert_null(strstr(out, "damaged"));
    assert_int_equal(run("profk topk v.npy -k 2 --json"), 0);
    assert_non_null(strstr(out, "[3,0]"));
}

static void tune_leaves_whole_entries(void **unused)
{
    static const char line[] = "exec profk tune -q --budget 0.5";
    double longest_s = now_s();
    int stopped = 0;

    (void)unused;
    setenv("PROFK_CACHE_DIR", "store", 1);
    assert_int_equal(run("%s", line), 0);
    longest_s = now_s() - longest_s;
    for (int round = 0; round < rounds_tune; round++) {
        if (round % 4 == 0)
            assert_int_equal(run("rm -rf store"), 0); /* kernels are stored again */
        stopped += stop_somewhen(line, longest_s, round) != 0;
        assert_whole_store();
    }
    print_message("%d of %d sessions of %.3f s were stopped\n", stopped, rounds_tune, longest_s);
    assert_in_range(stopped, 1, rounds_tune);
    assert_int_equal(run("%s", line), 0);
    assert_whole_store();
    succeed("profk cache list");
    assert_non_null(strstr(out, ".tuning"));
    assert_int_equal(run("rm -rf store"), 0);
}

static void export_leaves_no_half_file(void **unused)
{
    unsigned char old[OLD_NBYTES], *whole;
    size_t nbytes;
    double longest_s;

    (void)unused;
    memset(old, 'o', sizeof old);
    setenv("PROFK_CACHE_DIR", "store", 1);
    assert_int_equal(run("profk tune -q --budget 0.001 && profk tune --export whole"), 0);
    longest_s = now_s();
    assert_int_equal(run("profk tune --export whole"), 0);
    longest_s = now_s() - longest_s;
    whole = read_bytes("whole", &nbytes);
    for (int round = 0; round < rounds_topk / 2; round++) {
        int status;

        write_bytes("exported", old, sizeof old);
        status = stop_somewhen("exec profk tune --export exported", longest_s, round);
        if (!is_file("exported", whole, nbytes) && (status == 0 || !is_file("exported", old, sizeof old)))
            fail_msg("round %d: the export is neither whole nor as before, exit %d", round, status);
        assert_int_equal(run("ls profk-*.tmp"), 2); /* none */
    }
    free(whole);
    assert_int_equal(run("rm -rf store"), 0);
}

/* Stopped for certain while the library has a temporary file there: the export is whole all the same. */
static void export_is_finished_first(void **unused)
{
    const double until_s = now_s() + 60;
    unsigned char *whole;
    size_t nbytes;
    pid_t pid;

    (void)unused;
    setenv("PROFK_CACHE_DIR", "store", 1);
    assert_int_equal(run("profk tune -q --budget 0.001 && profk tune --export whole"), 0);
    whole = read_bytes("whole", &nbytes);
    pid = start("LD_PRELOAD=%s ASAN_OPTIONS=\"$ASAN_OPTIONS:verify_asan_link_order=0\" exec profk tune --export slow",
                PROFK_SLOW_RENAME);
    while (run("ls profk-*.tmp") != 0 && now_s() < until_s)
        sleep_s(0.01);
    kill(pid, SIGTERM);
    assert_int_equal(finish(pid), 130);
    assert_true(is_file("slow", whole, nbytes));
    assert_int_equal(run("ls profk-*.tmp"), 2);
    free(whole);
    assert_int_equal(run("rm -rf store"), 0);
}

static int failed(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topk_leaves_no_half_file),
        cmocka_unit_test(tune_leaves_whole_entries),
        cmocka_unit_test(export_leaves_no_half_file),
        cmocka_unit_test(export_is_finished_first),
    };

    return cmocka_run_group_tests_name("cli, stopped", tests, set_up_with_devices, tear_down);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--long") == 0) {
            rounds_topk = 1000;
            rounds_tune = 200;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 0);
        } else {
            fprintf(stderr, "usage: %s [--long] [--seed N]\n", argv[0]);
            return 2;
        }
    }
    fprintf(stderr, "%s: seed %" PRIu64 "\n", argv[0], seed);
    state = seed;
    return shell_main(NULL, failed);
}
