/*
 * cl.h: OpenCL's failures become a status and a message.
 *
 * TRY_CL(clSetKernelArg(...)) is TRY() for an OpenCL call that returns its code; profk__cl_check(code, "clCreateBuffer")
 * serves calls that hand the code out through a pointer.
 */
#ifndef PROFK_RUNTIME_CL_H
#define PROFK_RUNTIME_CL_H

#include "base/error.h"
#include "profk.h"

/* PROFK_OK for CL_SUCCESS, else a message that names the call (text up to its parenthesis) and the code. */
profk_status profk__cl_check(cl_int code, const char *call);

/* "CL_OUT_OF_RESOURCES", or "unknown code". */
const char *profk__cl_code_name(cl_int code);

#define TRY_CL(call) TRY(profk__cl_check((call), #call))

/* Each accepts NULL. */
void profk__release_mem(cl_mem mem);
void profk__release_event(cl_event event);
void profk__release_kernel(cl_kernel kernel);
void profk__release_program(cl_program program);
void profk__release_queue(cl_command_queue queue);
void profk__release_context(cl_context context);

#endif
