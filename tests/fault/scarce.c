/* scarce.c: the functions that the linker puts in place of the system's; see scarce.h. */
#define _POSIX_C_SOURCE 200809L /* opendir() and open() with their flags */
#include "fault/scarce.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static struct {
    bool is_on, for_good;
    unsigned long fails_at, requests;
    const char *failed;
} scarce;
static long held;

void scarce_begin(unsigned long nth, bool for_good)
{
    scarce.is_on = true;
    scarce.for_good = for_good;
    scarce.fails_at = nth;
    scarce.requests = 0;
    scarce.failed = NULL;
}

unsigned long scarce_end(void)
{
    scarce.is_on = false;
    return scarce.requests;
}

const char *scarce_failed(void)
{
    return scarce.failed;
}

long scarce_held(void)
{
    return held;
}

/* Whether this request may have what it asks for. */
static bool grant(const char *name)
{
    if (!scarce.is_on)
        return true;
    scarce.requests++;
    if (scarce.fails_at == 0 || scarce.requests < scarce.fails_at ||
        (scarce.requests > scarce.fails_at && !scarce.for_good))
        return true;
    if (!scarce.failed)
        scarce.failed = name;
    errno = ENOMEM;
    return false;
}

/* What a request returned, counted. */
static void *count(void *got)
{
    held += got != NULL;
    return got;
}

/* The linker makes these names: the system's function, and what is called in its place. */
void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t count, size_t nbytes);
void *__real_realloc(void *block, size_t nbytes);
void __real_free(void *block);
FILE *__real_fopen(const char *path, const char *mode);
int __real_fclose(FILE *file);
DIR *__real_opendir(const char *path);
int __real_closedir(DIR *folder);
int __real_open(const char *path, int flags, ...);
int __real_close(int fd);
int __real_pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attributes);
int __real_pthread_mutex_destroy(pthread_mutex_t *lock);
void *__wrap_malloc(size_t nbytes);
void *__wrap_calloc(size_t elements, size_t nbytes);
void *__wrap_realloc(void *block, size_t nbytes);
void __wrap_free(void *block);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_fclose(FILE *file);
DIR *__wrap_opendir(const char *path);
int __wrap_closedir(DIR *folder);
int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
int __wrap_pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attributes);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *lock);

void *__wrap_malloc(size_t nbytes)
{
    return grant("malloc") ? count(__real_malloc(nbytes)) : NULL;
}

void *__wrap_calloc(size_t elements, size_t nbytes)
{
    return grant("calloc") ? count(__real_calloc(elements, nbytes)) : NULL;
}

void *__wrap_realloc(void *block, size_t nbytes)
{
    void *grown = grant("realloc") ? __real_realloc(block, nbytes) : NULL;

    held += grown != NULL && block == NULL;
    return grown;
}

void __wrap_free(void *block)
{
    held -= block != NULL;
    __real_free(block);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    return grant("fopen") ? count(__real_fopen(path, mode)) : NULL;
}

int __wrap_fclose(FILE *file)
{
    held--;
    return __real_fclose(file);
}

DIR *__wrap_opendir(const char *path)
{
    return grant("opendir") ? count(__real_opendir(path)) : NULL;
}

int __wrap_closedir(DIR *folder)
{
    held--;
    return __real_closedir(folder);
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode = 0;
    int fd;

    if (flags & O_CREAT) {
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    fd = grant("open") ? __real_open(path, flags, mode) : -1;
    held += fd >= 0;
    return fd;
}

int __wrap_close(int fd)
{
    held--;
    return __real_close(fd);
}

int __wrap_pthread_mutex_init(pthread_mutex_t *lock, const pthread_mutexattr_t *attributes)
{
    if (!grant("pthread_mutex_init"))
        return ENOMEM;
    held++;
    return __real_pthread_mutex_init(lock, attributes);
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *lock)
{
    held--;
    return __real_pthread_mutex_destroy(lock);
}
