/*
 * file.h: whole files and the names in a folder, for stores that may be missing.
 *
 * Nothing here records a message or changes the process (no umask, no working folder, no signals).  Functions that
 * return int return 0 or the errno of what failed.  On Windows all of them fail with ENOSYS, so nothing is kept there
 * yet.
 */
#ifndef PROFK_BASE_FILE_H
#define PROFK_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* A file's name while it is written: unique, in the folder of the file that it becomes. */
#define PROFK__TEMPORARY_PREFIX "profk-"
#define PROFK__TEMPORARY_SUFFIX ".tmp"

/* Reads a regular file of at most most_nbytes into memory that the caller frees; a zero follows the bytes. */
int profk__file_read(const char *path, size_t most_nbytes, char **bytes_ret, size_t *nbytes_ret);

/* Writes a file whole or not at all: a temporary beside it, then a rename.  Readable by its owner alone. */
int profk__file_write(const char *path, const void *bytes, size_t nbytes);

int profk__file_remove(const char *path);

/* Seconds since the last write; ENOENT also for what is no regular file. */
int profk__file_age(const char *path, int64_t *seconds_ret);

/* Makes a folder and, where that is missing too, the one that holds it, for their owner alone.  No failure if it is
 * there already. */
int profk__folder_make(const char *path);

/* Calls visit for each name in a folder, in no order. */
int profk__folder_visit(const char *path, void (*visit)(void *user, const char *name), void *user);

#endif
