/* text.c: bounded text. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

struct profk__text profk__text_in(char *at, size_t nbytes)
{
    struct profk__text text = {at, nbytes, 0};

    if (nbytes > 0)
        at[0] = '\0';
    return text;
}

void profk__text_add(struct profk__text *text, const char *format, ...)
{
    size_t room = text->length < text->nbytes ? text->nbytes - text->length : 0;
    va_list args;

    va_start(args, format);
    int added = vsnprintf(room > 0 ? text->at + text->length : NULL, room, format, args);
    va_end(args);
    if (added > 0)
        text->length += (size_t)added;
}

void profk__text_copy(char *to, size_t room, const char *text)
{
    struct profk__text copy = profk__text_in(to, room);

    profk__text_add(&copy, "%s", text);
}
