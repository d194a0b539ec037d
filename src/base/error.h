/*
 * error.h: one status type, one message per thread, one way out of a function.
 *
 * A function that can fail returns profk_status.  It declares `profk_status st = PROFK_OK;`, calls what may fail
 * through TRY(), and ends in a label `done:` that releases everything it acquired.  Whoever detects a failure says so
 * with profk__fail(), which records the text for profk_context_message(); whoever passes it on adds nothing.
 */
#ifndef PROFK_BASE_ERROR_H
#define PROFK_BASE_ERROR_H

#include "profk_params.h"

#if defined(__GNUC__)
#define PROFK__PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#else
#define PROFK__PRINTF(format_at, first_at)
#endif

/* Records what went wrong and what to do about it as this thread's message and returns status. */
profk_status profk__fail(profk_status status, const char *format, ...) PROFK__PRINTF(2, 3);

/* This thread's last failure, "" if there was none.  Valid until the thread's next failure. */
const char *profk__message(void);

#define TRY(call)                                                                                                     \
    do {                                                                                                               \
        st = (call);                                                                                                   \
        if (st != PROFK_OK)                                                                                            \
            goto done;                                                                                                 \
    } while (0)

#endif
