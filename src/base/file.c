/* file.c: POSIX files. */
#ifndef _WIN32
#define _POSIX_C_SOURCE 200809L /* open() with O_CLOEXEC, lstat() */
#endif
#include "base/file.h"

#include <errno.h>

#ifdef _WIN32

int profk__file_read(const char *path, size_t most_nbytes, char **bytes_ret, size_t *nbytes_ret)
{
    (void)path, (void)most_nbytes, (void)bytes_ret, (void)nbytes_ret;
    return ENOSYS;
}

int profk__file_write(const char *path, const void *bytes, size_t nbytes)
{
    (void)path, (void)bytes, (void)nbytes;
    return ENOSYS;
}

int profk__file_remove(const char *path)
{
    (void)path;
    return ENOSYS;
}

int profk__file_age(const char *path, int64_t *seconds_ret)
{
    (void)path, (void)seconds_ret;
    return ENOSYS;
}

int profk__folder_make(const char *path)
{
    (void)path;
    return ENOSYS;
}

int profk__folder_visit(const char *path, void (*visit)(void *user, const char *name), void *user)
{
    (void)path, (void)visit, (void)user;
    return ENOSYS;
}

#else

#include "base/entropy.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Reads what a descriptor holds, which must be most_nbytes at most; the file may grow or shrink meanwhile. */
static int read_all(int fd, size_t most_nbytes, char **bytes_ret, size_t *nbytes_ret)
{
    struct stat facts;
    char *bytes = NULL;
    size_t nbytes, done = 0;
    int error = 0;

    if (fstat(fd, &facts) != 0)
        return errno;
    if (!S_ISREG(facts.st_mode) || facts.st_size < 0)
        return ENOENT;
    if ((uint64_t)facts.st_size > most_nbytes)
        return EFBIG;
    nbytes = (size_t)facts.st_size;
    bytes = malloc(nbytes + 1);
    if (bytes == NULL)
        return ENOMEM;
    while (done < nbytes && error == 0) {
        ssize_t got = read(fd, bytes + done, nbytes - done);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || errno != EINTR)
            error = got == 0 ? EIO : errno;
    }
    if (error != 0) {
        free(bytes);
        return error;
    }
    bytes[nbytes] = '\0';
    *bytes_ret = bytes;
    *nbytes_ret = nbytes;
    return 0;
}

int profk__file_read(const char *path, size_t most_nbytes, char **bytes_ret, size_t *nbytes_ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe under the name must not block */
    if (fd < 0)
        return errno;
    int error = read_all(fd, most_nbytes, bytes_ret, nbytes_ret);
    close(fd);
    return error;
}

static int write_all(int fd, const char *bytes, size_t nbytes)
{
    while (nbytes > 0) {
        ssize_t wrote = write(fd, bytes, nbytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote == 0 ? EIO : errno;
        bytes += wrote;
        nbytes -= (size_t)wrote;
    }
    return 0;
}

/* "FOLDER/profk-0123456789abcdef.tmp", to be freed; the number is drawn anew each time. */
static char *temporary_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    int folder_nbytes = slash == NULL ? 0 : (int)(slash + 1 - path);
    size_t room = (size_t)folder_nbytes + sizeof PROFK__TEMPORARY_PREFIX PROFK__TEMPORARY_SUFFIX + 16;
    char *temporary = malloc(room);

    if (temporary != NULL)
        snprintf(temporary, room, "%.*s" PROFK__TEMPORARY_PREFIX "%016" PRIx64 PROFK__TEMPORARY_SUFFIX, folder_nbytes,
                 path, profk__entropy());
    return temporary;
}

int profk__file_write(const char *path, const void *bytes, size_t nbytes)
{
    char *temporary = temporary_beside(path);
    int error = 0, fd;

    if (temporary == NULL)
        return ENOMEM;
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0) {
        error = errno;
        goto done; /* nothing was made */
    }
    error = write_all(fd, bytes, nbytes);
    if (close(fd) != 0 && error == 0)
        error = errno; /* some file systems notice only here that the disk is full */
    if (error == 0 && rename(temporary, path) != 0)
        error = errno;
    if (error != 0)
        unlink(temporary);
done:
    free(temporary);
    return error;
}

int profk__file_remove(const char *path)
{
    return unlink(path) == 0 ? 0 : errno;
}

int profk__file_age(const char *path, int64_t *seconds_ret)
{
    struct stat facts;

    if (lstat(path, &facts) != 0)
        return errno;
    if (!S_ISREG(facts.st_mode))
        return ENOENT;
    *seconds_ret = (int64_t)time(NULL) - (int64_t)facts.st_mtime;
    return 0;
}

static int make_one(const char *path)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : errno;
}

int profk__folder_make(const char *path)
{
    int error = make_one(path);
    size_t length = strlen(path);
    char *parent;

    while (length > 0 && path[length - 1] == '/')
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    if (error != ENOENT || length == 0)
        return error;
    parent = malloc(length + 1);
    if (parent == NULL)
        return ENOMEM;
    memcpy(parent, path, length);
    parent[length] = '\0';
    error = make_one(parent);
    free(parent);
    return error != 0 ? error : make_one(path);
}

int profk__folder_visit(const char *path, void (*visit)(void *user, const char *name), void *user)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    if (folder == NULL)
        return errno;
    while ((entry = readdir(folder)) != NULL)
        visit(user, entry->d_name);
    closedir(folder);
    return 0;
}

#endif
