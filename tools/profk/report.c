/* report.c: the one way in which the command says that it failed. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "progress.h"

int exit_status_of(profk_status status)
{
    switch (status) {
#define X(name, value, exit_status, text)                                                                            \
    case PROFK_##name: return exit_status;
        PROFK_STATUS_LIST(X)
#undef X
    }
    return EXIT_FAILED;
}

int fail(int exit_status, const char *format, ...)
{
    va_list args;

    progress_clear();
    fputs("profk: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return exit_status;
}

/* What to do about a failure whose message does not say. */
static const char *way_out(int exit_status)
{
    if (exit_status == EXIT_WRONG)
        return "; see profk --help for what is possible";
    if (exit_status == EXIT_NO_DEVICE)
        return "; see profk devices for what there is";
    return "; try again, or another --device";
}

int fail_status(profk_status status)
{
    const char *message = profk_context_message(NULL);
    int exit_status = exit_status_of(status), length;

    if (message[0] == '\0')
        message = profk_status_string(status);
    length = (int)strlen(message);
    while (length > 0 && message[length - 1] == '\n')
        length--;
    return fail(exit_status, "%.*s%s", length, message, strstr(message, "; ") ? "" : way_out(exit_status));
}

int fail_opencl(cl_int error, const char *call)
{
    if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES || error == CL_OUT_OF_HOST_MEMORY)
        return fail(EXIT_FAILED, "%s found no memory (OpenCL error %d); free some or take another --device", call,
                    (int)error);
    return fail(EXIT_FAILED, "%s failed (OpenCL error %d); try another --device", call, (int)error);
}
