/* out.c: a buffer in front of write(2). */
#include "out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    char bytes[1 << 16];
    size_t used;
    int error; /* errno of the first write that failed; nothing is written after it */
} out;

static void flush_buffer(void)
{
    size_t done = 0;

    while (done < out.used && out.error == 0) {
        ssize_t wrote = write(STDOUT_FILENO, out.bytes + done, out.used - done);

        if (wrote >= 0)
            done += (size_t)wrote;
        else if (errno != EINTR)
            out.error = errno;
    }
    out.used = 0;
}

void out_bytes(const char *bytes, size_t count)
{
    while (count > 0) {
        size_t room = sizeof out.bytes - out.used, part = count < room ? count : room;

        memcpy(out.bytes + out.used, bytes, part);
        out.used += part;
        bytes += part;
        count -= part;
        if (out.used == sizeof out.bytes)
            flush_buffer();
    }
}

void out_text(const char *text)
{
    out_bytes(text, strlen(text));
}

void out_format(const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    out_text(line);
}

int out_finish(void)
{
    flush_buffer();
    if (out.error == 0 || out.error == EPIPE)
        return EXIT_DONE;
    return fail(EXIT_FAILED, "cannot write to standard output (%s); free some space or send it elsewhere",
                strerror(out.error));
}
