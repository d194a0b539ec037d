/* slow_rename.c: preloaded, makes rename() take a second, so that a test can stop the command before it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

int rename(const char *from, const char *to)
{
    int (*next)(const char *, const char *);
    const struct timespec a_second = {1, 0};

    *(void **)&next = dlsym(RTLD_NEXT, "rename"); /* as POSIX has it: C knows no such conversion */
    nanosleep(&a_second, NULL);
    return next(from, to);
}
