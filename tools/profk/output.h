/*
 * output.h: a .npy file that appears whole or not at all.
 *
 * A temporary file in the target's folder is filled and renamed.  A symbolic link is followed; a path that exists and
 * is no regular file (a pipe, /dev/null) is written directly.  Functions return an exit status and have printed the
 * message.  An output that was never opened may be committed and discarded: nothing happens.
 */
#ifndef PROFK_COMMAND_OUTPUT_H
#define PROFK_COMMAND_OUTPUT_H

#include <limits.h>
#include <stddef.h>

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

struct output {
    const char *asked; /* the path as given, NULL while there is nothing to write */
    int fd;
    char target[PATH_MAX];
    char temporary[PATH_MAX]; /* "" where the target is written directly */
};

int output_open(struct output *output, const char *path /* NULL: none */);
int output_write(struct output *output, const void *bytes, size_t nbytes);
int output_close(struct output *output);  /* everything is on its way to the disk */
int output_commit(struct output *output); /* behind output_close(): takes its place */
void output_discard(struct output *output);

#endif
