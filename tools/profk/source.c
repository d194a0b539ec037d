/* source.c: maps files and reads pipes. */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "progress.h"
#include "report.h"
#include "signals.h"

enum { PAGE_NBYTES = 4096, FIRST_ROOM = 1 << 20 };

static int unreadable(const struct source *source)
{
    return fail(EXIT_WRONG, "cannot read %s (%s); give a readable file, or - for standard input", source->name,
                strerror(errno));
}

static int map_file(struct source *source, int fd, off_t nbytes)
{
    void *bytes;

    if (nbytes == 0)
        return EXIT_DONE;
    if ((uint64_t)nbytes > SIZE_MAX)
        return fail(EXIT_WRONG, "%s is too large for this machine's address space; cut it", source->name);
    bytes = mmap(NULL, (size_t)nbytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return unreadable(source);
    source->bytes = bytes;
    source->nbytes = (uint64_t)nbytes;
    source->mapped = true;
    signals_guard(bytes, (size_t)nbytes);
    return EXIT_DONE;
}

/* Moves what was read into twice the room. */
static int grow(struct source *source, size_t *room)
{
    size_t wanted = *room ? *room * 2 : FIRST_ROOM;
    void *bytes = wanted > *room ? aligned_alloc(PAGE_NBYTES, wanted) : NULL;

    if (!bytes)
        return fail(EXIT_FAILED, "no memory for more than %zu bytes of %s; put them into a file, which is mapped",
                    *room, source->name);
    if (source->bytes)
        memcpy(bytes, source->bytes, (size_t)source->nbytes);
    free(source->bytes);
    source->bytes = bytes;
    *room = wanted;
    return EXIT_DONE;
}

static int read_all(struct source *source, int fd)
{
    size_t room = 0;

    for (;;) {
        char what[32];
        ssize_t got;

        if (source->nbytes == room) {
            int status = grow(source, &room);

            if (status != EXIT_DONE)
                return status;
        }
        got = read(fd, (char *)source->bytes + source->nbytes, room - (size_t)source->nbytes);
        if (got == 0)
            return EXIT_DONE;
        if (got < 0 && errno != EINTR)
            return unreadable(source);
        if (got > 0)
            source->nbytes += (uint64_t)got;
        snprintf(what, sizeof what, "read %llu MiB", (unsigned long long)(source->nbytes >> 20));
        progress_report(NULL, what, -1.0);
    }
}

static int open_descriptor(struct source *source, int fd)
{
    struct stat facts;

    if (fstat(fd, &facts) != 0)
        return unreadable(source);
    if (isatty(fd))
        return fail(EXIT_WRONG, "%s is a terminal; give a file or pipe the values in", source->name);
    if (S_ISDIR(facts.st_mode))
        return fail(EXIT_WRONG, "%s is a folder; give a file", source->name);
    if (S_ISREG(facts.st_mode) && lseek(fd, 0, SEEK_CUR) == 0)
        return map_file(source, fd, facts.st_size);
    return read_all(source, fd);
}

int source_open(struct source *source, const char *file)
{
    bool standard = strcmp(file, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC), status;

    memset(source, 0, sizeof *source);
    source->name = standard ? "standard input" : file;
    if (fd < 0)
        return unreadable(source);
    status = open_descriptor(source, fd);
    if (!standard)
        close(fd);
    return status;
}

void source_close(struct source *source)
{
    signals_guard(NULL, 0);
    if (source->mapped)
        munmap(source->bytes, (size_t)source->nbytes);
    else
        free(source->bytes);
    memset(source, 0, sizeof *source);
}
