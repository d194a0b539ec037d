/* error.c: this thread's message and the static texts of the status codes. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

/* Long enough for a compiler's first complaints; a longer text is cut. */
enum { MESSAGE_NBYTES = 4096 };

static _Thread_local char message[MESSAGE_NBYTES];

profk_status profk__fail(profk_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return status;
}

const char *profk__message(void)
{
    return message;
}

const char *profk_status_string(profk_status status)
{
    switch (status) {
#define X(name, value, exit_status, text)                                                                              \
    case PROFK_##name:                                                                                                 \
        return text;
        PROFK_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}
