/* output.c: temporary and rename. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"
#include "signals.h"

enum { MAX_LINKS = 40, MAX_TRIES = 100 };

static int unwritable(struct output *output)
{
    int error = errno;

    output_discard(output);
    return fail(EXIT_FAILED, "cannot write %s (%s); choose another path or make room", output->asked,
                strerror(error));
}

/* The bytes of path up to its last '/', that included. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* folder + name; false with errno set if it is too long. */
static int join(char path[PATH_MAX], size_t folder, const char *name)
{
    if (folder + strlen(name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return 0;
    }
    memcpy(path + folder, name, strlen(name) + 1);
    return 1;
}

/* Replaces target by what it links to until it is no link. */
static int follow_links(char target[PATH_MAX])
{
    int hops;

    for (hops = 0; hops < MAX_LINKS; hops++) {
        char link[PATH_MAX];
        ssize_t length = readlink(target, link, sizeof link - 1);

        if (length < 0)
            return errno == EINVAL || errno == ENOENT;
        link[length] = '\0';
        if (!join(target, link[0] == '/' ? 0 : folder_length(target), link))
            return 0;
    }
    errno = ELOOP;
    return 0;
}

/* Opens a new file beside the target.  It is remembered before it exists, so that no signal can leave it behind. */
static int open_temporary(struct output *output, mode_t mode)
{
    size_t folder = folder_length(output->target);
    unsigned i;

    memcpy(output->temporary, output->target, folder);
    for (i = 0; i < MAX_TRIES; i++) {
        char name[64];

        snprintf(name, sizeof name, ".profk-%ld-%u.tmp", (long)getpid(), i);
        if (!join(output->temporary, folder, name))
            return 0;
        if (access(output->temporary, F_OK) == 0)
            continue;
        signals_remember(output->temporary);
        output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (output->fd >= 0)
            return 1;
        signals_forget(output->temporary);
        if (errno != EEXIST)
            break;
    }
    return 0;
}

int output_open(struct output *output, const char *path)
{
    struct stat facts;
    int exists, opened;

    memset(output, 0, sizeof *output);
    output->fd = -1;
    if (!path)
        return EXIT_DONE;
    output->asked = path;
    exists = stat(path, &facts) == 0;
    if (exists && !S_ISREG(facts.st_mode)) {
        output->fd = open(path, O_WRONLY | O_CLOEXEC);
        return output->fd >= 0 ? EXIT_DONE : unwritable(output);
    }
    if (exists && access(path, W_OK) != 0)
        return unwritable(output);
    if (path[0] == '\0' || path[strlen(path) - 1] == '/') {
        errno = path[0] ? EISDIR : ENOENT;
        return unwritable(output);
    }
    opened = join(output->target, 0, path) && follow_links(output->target) && open_temporary(output, 0666);
    if (!opened)
        output->temporary[0] = '\0'; /* nothing to remove */
    if (opened && exists)
        opened = fchmod(output->fd, facts.st_mode & 07777) == 0;
    return opened ? EXIT_DONE : unwritable(output);
}

int output_write(struct output *output, const void *bytes, size_t nbytes)
{
    const char *at = bytes;

    while (output->asked && nbytes > 0) {
        ssize_t wrote = write(output->fd, at, nbytes);

        if (wrote < 0 && errno != EINTR)
            return unwritable(output);
        if (wrote > 0) {
            at += wrote;
            nbytes -= (size_t)wrote;
        }
    }
    return EXIT_DONE;
}

int output_close(struct output *output)
{
    int fd = output->fd;

    output->fd = -1;
    if (fd >= 0 && close(fd) != 0 && errno != EINTR)
        return unwritable(output);
    return EXIT_DONE;
}

int output_commit(struct output *output)
{
    if (!output->asked || output->temporary[0] == '\0')
        return EXIT_DONE;
    if (rename(output->temporary, output->target) != 0)
        return unwritable(output);
    signals_forget(output->temporary);
    output->temporary[0] = '\0';
    return EXIT_DONE;
}

void output_discard(struct output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    output->fd = -1;
    if (output->temporary[0] != '\0') {
        unlink(output->temporary);
        signals_forget(output->temporary);
        output->temporary[0] = '\0';
    }
}
