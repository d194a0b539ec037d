/*
 * source.h: the bytes of FILE.  A regular file (also one behind standard input) is mapped from its beginning;
 * anything else is read to its end into page-aligned memory.
 */
#ifndef PROFK_COMMAND_SOURCE_H
#define PROFK_COMMAND_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct source {
    const char *name; /* for messages */
    void *bytes;      /* page-aligned, NULL where nbytes is 0 */
    uint64_t nbytes;
    bool mapped;
};

/* file "-" is standard input.  Returns an exit status and has printed the message; *source can always be closed. */
int source_open(struct source *source, const char *file);
void source_close(struct source *source);

#endif
