/*
 * text.h: a text that grows into memory of a fixed size.
 *
 * Appending never writes beyond the room; what does not fit is counted, so that the caller can tell how much the whole
 * text takes.
 */
#ifndef PROFK_BASE_TEXT_H
#define PROFK_BASE_TEXT_H

#include "base/error.h"

#include <stddef.h>

struct profk__text {
    char *at;      /* the room, may be NULL if nbytes is 0 */
    size_t nbytes; /* of the room, with the final zero */
    size_t length; /* of the whole text, without the final zero; beyond nbytes - 1 it is cut */
};

/* Starts an empty text in `nbytes` bytes at `at`. */
struct profk__text profk__text_in(char *at, size_t nbytes);

/* Appends like printf. */
void profk__text_add(struct profk__text *text, const char *format, ...) PROFK__PRINTF(2, 3);

/* Copies text into room bytes at `to`, cut if longer; to may be NULL if room is 0. */
void profk__text_copy(char *to, size_t room, const char *text);

#endif
