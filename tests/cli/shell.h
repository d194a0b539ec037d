/*
 * shell.h: the command as a user meets it: shell lines in a folder of their own, with `profk` first in the PATH, and
 * what they leave on standard output and standard error.
 */
#ifndef PROFK_TEST_SHELL_H
#define PROFK_TEST_SHELL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

enum { EXIT_SKIPPED = 77, TEXT_ROOM = 1 << 16, LINE_ROOM = 4096 };

/* What the last run() left. */
extern char out[TEXT_ROOM], err[TEXT_ROOM];

#if defined(__GNUC__)
#define SHELL_LINE __attribute__((format(printf, 1, 2)))
#else
#define SHELL_LINE
#endif

/* Starts a shell line; its streams are files unless it redirects them itself. */
pid_t start(const char *format, ...) SHELL_LINE;
int finish(pid_t pid); /* the exit status, or 128 + signal */

#define run(...) finish(start(__VA_ARGS__))

/* The line succeeds and says nothing on standard error. */
void succeed(const char *line);

/* The line fails with this status, nothing on standard output and one message that holds the fragment. */
void refuse(const char *line, int expected, const char *fragment);

struct refusal {
    const char *line;
    int status;
    const char *fragment;
};

void refuse_all(const struct refusal *refusals, size_t count);

#define REFUSE_ALL(table) refuse_all(table, sizeof(table) / sizeof((table)[0]))

void assert_nothing_left_behind(void); /* no temporary file */

void read_text(const char *path, char text[TEXT_ROOM]);
void write_bytes(const char *path, const void *bytes, size_t nbytes);

/* A .npy file of any header text, right or wrong. */
void write_npy(const char *path, int version, const char *header, const void *data, size_t nbytes);

#define HEADER(descr, order, shape) "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }     \n"

extern const unsigned char patterns[16]; /* t.raw and bf16.npy */
extern const float vector[5];            /* v.npy (5,), row.npy (1, 5), rows.npy (2, 2), norows.npy (0, 5), v.raw */

/* What main() of a test of the command does.  `profk` is in the PATH, $ELEVATION is the example file, $FAKE the folder
 * of the fake platform, $LAYER the layer that makes calls fail.  The first groups see no device, or there are none
 * (NULL); the others need one.  Each returns how many tests failed; this, an exit status, 77 without a device. */
int shell_main(int (*failed_without_device)(void), int (*failed_with_device)(void));

/* Of a group of tests: a folder with the files above; no device is seen, or those of the machine. */
int set_up_without_devices(void **state);
int set_up_with_devices(void **state);
int tear_down(void **state);

#endif
