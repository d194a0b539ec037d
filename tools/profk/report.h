/* report.h: exit statuses, and the one message on standard error that goes with each failure. */
#ifndef PROFK_COMMAND_REPORT_H
#define PROFK_COMMAND_REPORT_H

#include <profk.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_WRONG = 2, EXIT_NO_DEVICE = 3, EXIT_INTERRUPTED = 130 };

#if defined(__GNUC__)
#define PRINTF_LIKE(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#else
#define PRINTF_LIKE(format_at, first_at)
#endif

/* Prints "profk: MESSAGE" and a newline, and returns exit_status.  The message reads "what is wrong; what to do". */
int fail(int exit_status, const char *format, ...) PRINTF_LIKE(2, 3);

/* The same with the library's message of this thread's last failure and the exit status that belongs to it. */
int fail_status(profk_status status);

/* The same for a call to OpenCL of ours. */
int fail_opencl(cl_int error, const char *call);

/* The exit status that PROFK_STATUS_LIST gives to status. */
int exit_status_of(profk_status status);

#endif
