/* shell.c: see shell.h. */
#define _XOPEN_SOURCE 700
#include "shell.h"

#include <fcntl.h>
#include <glob.h>
#include <profk.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

char out[TEXT_ROOM], err[TEXT_ROOM];

/* --- running -------------------------------------------------------------------------------------------------- */

void read_text(const char *path, char text[TEXT_ROOM])
{
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    text[fread(text, 1, TEXT_ROOM - 1, file)] = '\0';
    fclose(file);
}

/* Starts a shell line; its streams are files unless it redirects them itself. */
pid_t start(const char *format, ...)
{
    const int write_flags = O_WRONLY | O_CREAT | O_TRUNC;
    char line[LINE_ROOM], shell[] = "sh", option[] = "-c", *const arguments[] = {shell, option, line, NULL};
    posix_spawn_file_actions_t streams;
    va_list args;
    pid_t pid;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    posix_spawn_file_actions_init(&streams);
    posix_spawn_file_actions_addopen(&streams, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&streams, 1, "stdout.txt", write_flags, 0600);
    posix_spawn_file_actions_addopen(&streams, 2, "stderr.txt", write_flags, 0600);
    assert_int_equal(posix_spawn(&pid, "/bin/sh", &streams, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&streams);
    return pid;
}

/* The exit status, or 128 + signal. */
int finish(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    read_text("stdout.txt", out);
    read_text("stderr.txt", err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void show(const char *line, int status)
{
    print_message("%s\n  exit %d\n  out: %s\n  err: %s\n", line, status, out, err);
}

/* The line succeeds and says nothing on standard error. */
void succeed(const char *line)
{
    int status = run("%s", line);

    if (status != 0 || err[0] != '\0')
        show(line, status);
    assert_int_equal(status, 0);
    assert_string_equal(err, "");
}

/* The line fails with this status, nothing on standard output and one message that holds the fragment. */
void refuse(const char *line, int expected, const char *fragment)
{
    int status = run("%s", line);
    const char *newline = strchr(err, '\n');
    bool one_message = strncmp(err, "profk: ", 7) == 0 && strstr(err, "; ") && newline && newline[1] == '\0';

    if (status != expected || out[0] != '\0' || !one_message || !strstr(err, fragment))
        show(line, status);
    assert_int_equal(status, expected);
    assert_string_equal(out, "");
    assert_true(one_message);
    assert_non_null(strstr(err, fragment));
}

void refuse_all(const struct refusal *refusals, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        refuse(refusals[i].line, refusals[i].status, refusals[i].fragment);
}

void assert_nothing_left_behind(void)
{
    glob_t found;

    assert_int_equal(glob(".profk-*", 0, NULL, &found), GLOB_NOMATCH);
    globfree(&found);
}

/* --- files ---------------------------------------------------------------------------------------------------- */

void write_bytes(const char *path, const void *bytes, size_t nbytes)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, nbytes, file), nbytes);
    assert_int_equal(fclose(file), 0);
}

/* A .npy file of any header text, right or wrong. */
void write_npy(const char *path, int version, const char *header, const void *data, size_t nbytes)
{
    size_t length = strlen(header), prefix = version == 1 ? 10 : 12;
    unsigned char bytes[LINE_ROOM] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};

    assert_true(prefix + length + nbytes <= sizeof bytes);
    bytes[8] = (unsigned char)(length & 0xFF);
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + prefix, header, length);
    memcpy(bytes + prefix + length, data, nbytes);
    write_bytes(path, bytes, prefix + length + nbytes);
}

/* Bits of every kind for every type: as f16 NaN, -inf, 1, -0, denormal, largest, -3, small. */
const unsigned char patterns[16] = {0x01, 0x7C, 0x00, 0xFC, 0x00, 0x3C, 0x00, 0x80,
                                    0x01, 0x00, 0xFF, 0x7B, 0x00, 0xC2, 0x9A, 0x99};
const float vector[5] = {1.5f, -2.0f, 0.1f, 3.0f, -0.0f};

static char *vendors; /* OCL_ICD_VENDORS as it was when the program began, a copy; NULL: unset */

static void set_environment(void)
{
    static char path[LINE_ROOM];
    char command[] = PROFK_COMMAND;

    *strrchr(command, '/') = '\0';
    snprintf(path, sizeof path, "%s:%s", command, getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("FAKE", PROFK_TEST_VENDORS "/fake", 1);
    setenv("LAYER", PROFK_TEST_LAYER, 1);
    setenv("ELEVATION", PROFK_EXAMPLE_DATA "/elevation.npy", 1);
    unsetenv("PROFK_DEVICE");
    if (getenv("OCL_ICD_VENDORS"))
        vendors = strdup(getenv("OCL_ICD_VENDORS"));
}

int shell_main(int (*failed_without_device)(void), int (*failed_with_device)(void))
{
    profk_device device = {.struct_size = sizeof device};
    bool has_device;
    int failed;

    set_environment();
    has_device = profk_device_find(NULL, &device) == PROFK_OK;
    failed = failed_without_device ? failed_without_device() : 0;
    if (has_device)
        failed += failed_with_device();
    return failed ? EXIT_FAILURE : has_device ? EXIT_SUCCESS : EXIT_SKIPPED;
}

static int set_up(void **state)
{
    static char folder[sizeof PROFK_TEST_SCRATCH + 16];

    (void)state;
    strcpy(folder, PROFK_TEST_SCRATCH "/cli-XXXXXX");
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return -1;
    write_npy("v.npy", 1, HEADER("<f4", "False", "(5,)"), vector, sizeof vector);
    write_npy("row.npy", 1, HEADER("<f4", "False", "(1, 5)"), vector, sizeof vector);
    write_npy("rows.npy", 1, HEADER("<f4", "False", "(2, 2)"), vector, sizeof vector);
    write_npy("norows.npy", 1, HEADER("<f4", "False", "(0, 5)"), vector, 0);
    write_bytes("v.raw", vector, sizeof vector);
    write_bytes("t.raw", patterns, sizeof patterns);
    write_npy("bf16.npy", 1, HEADER("<u2", "False", "(8,)"), patterns, sizeof patterns);
    write_bytes("odd.raw", vector, 7);
    write_bytes("empty.raw", vector, 0);
    return 0;
}

int set_up_without_devices(void **state)
{
    setenv("OCL_ICD_VENDORS", PROFK_TEST_VENDORS "/none", 1);
    return set_up(state);
}

int set_up_with_devices(void **state)
{
    if (vendors)
        setenv("OCL_ICD_VENDORS", vendors, 1);
    else
        unsetenv("OCL_ICD_VENDORS");
    return set_up(state);
}

int tear_down(void **state)
{
    char folder[LINE_ROOM];
    glob_t found;
    size_t i;

    (void)state;
    if (glob("*", 0, NULL, &found) == 0) {
        for (i = 0; i < found.gl_pathc; i++)
            remove(found.gl_pathv[i]);
        globfree(&found);
    }
    return getcwd(folder, sizeof folder) && chdir("..") == 0 ? rmdir(folder) : -1;
}
