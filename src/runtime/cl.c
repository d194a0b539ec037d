/* cl.c: OpenCL codes in words, and what to do about them. */
#include "runtime/cl.h"

#include <string.h>

static const struct {
    cl_int code;
    const char *name;
} code_names[] = {
#define NAME(code) {code, #code}
    NAME(CL_SUCCESS), NAME(CL_DEVICE_NOT_FOUND), NAME(CL_DEVICE_NOT_AVAILABLE), NAME(CL_COMPILER_NOT_AVAILABLE),
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE), NAME(CL_OUT_OF_RESOURCES), NAME(CL_OUT_OF_HOST_MEMORY),
    NAME(CL_PROFILING_INFO_NOT_AVAILABLE), NAME(CL_MEM_COPY_OVERLAP), NAME(CL_IMAGE_FORMAT_MISMATCH),
    NAME(CL_IMAGE_FORMAT_NOT_SUPPORTED), NAME(CL_BUILD_PROGRAM_FAILURE), NAME(CL_MAP_FAILURE),
    NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET), NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    NAME(CL_COMPILE_PROGRAM_FAILURE), NAME(CL_LINKER_NOT_AVAILABLE), NAME(CL_LINK_PROGRAM_FAILURE),
    NAME(CL_DEVICE_PARTITION_FAILED), NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE), NAME(CL_INVALID_VALUE),
    NAME(CL_INVALID_DEVICE_TYPE), NAME(CL_INVALID_PLATFORM), NAME(CL_INVALID_DEVICE), NAME(CL_INVALID_CONTEXT),
    NAME(CL_INVALID_QUEUE_PROPERTIES), NAME(CL_INVALID_COMMAND_QUEUE), NAME(CL_INVALID_HOST_PTR),
    NAME(CL_INVALID_MEM_OBJECT), NAME(CL_INVALID_BINARY), NAME(CL_INVALID_BUILD_OPTIONS), NAME(CL_INVALID_PROGRAM),
    NAME(CL_INVALID_PROGRAM_EXECUTABLE), NAME(CL_INVALID_KERNEL_NAME), NAME(CL_INVALID_KERNEL_DEFINITION),
    NAME(CL_INVALID_KERNEL), NAME(CL_INVALID_ARG_INDEX), NAME(CL_INVALID_ARG_VALUE), NAME(CL_INVALID_ARG_SIZE),
    NAME(CL_INVALID_KERNEL_ARGS), NAME(CL_INVALID_WORK_DIMENSION), NAME(CL_INVALID_WORK_GROUP_SIZE),
    NAME(CL_INVALID_WORK_ITEM_SIZE), NAME(CL_INVALID_GLOBAL_OFFSET), NAME(CL_INVALID_EVENT_WAIT_LIST),
    NAME(CL_INVALID_EVENT), NAME(CL_INVALID_OPERATION), NAME(CL_INVALID_BUFFER_SIZE),
    NAME(CL_INVALID_GLOBAL_WORK_SIZE), NAME(CL_INVALID_PROPERTY),
#undef NAME
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    {-9999, "illegal read or write of device memory"}, /* NVIDIA, without a symbol in the headers */
};

const char *profk__cl_code_name(cl_int code)
{
    for (size_t i = 0; i < sizeof code_names / sizeof code_names[0]; i++)
        if (code_names[i].code == code)
            return code_names[i].name;
    return "unknown code";
}

static profk_status status_of(cl_int code)
{
    switch (code) {
    case CL_OUT_OF_HOST_MEMORY:
        return PROFK_ERR_HOST_MEMORY;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        return PROFK_ERR_DEVICE_MEMORY;
    case CL_COMPILER_NOT_AVAILABLE:
        return PROFK_ERR_NO_COMPILER;
    case CL_DEVICE_NOT_AVAILABLE:
        return PROFK_ERR_DEVICE_LOST;
    default:
        return PROFK_ERR_OPENCL;
    }
}

static const char *way_out(profk_status status)
{
    switch (status) {
    case PROFK_ERR_HOST_MEMORY:
        return "free some host memory";
    case PROFK_ERR_DEVICE_MEMORY:
        return "free some device memory or lower the workspace limit";
    case PROFK_ERR_NO_COMPILER:
        return "choose a device with a compiler";
    case PROFK_ERR_DEVICE_LOST:
        return "make a new context or choose another device";
    default:
        return "if the arguments are right, try another device or driver";
    }
}

profk_status profk__cl_check(cl_int code, const char *call)
{
    if (code == CL_SUCCESS)
        return PROFK_OK;
    profk_status status = status_of(code);
    return profk__fail(status, "%.*s failed with %s (%d); %s", (int)strcspn(call, "("), call,
                       profk__cl_code_name(code), (int)code, way_out(status));
}

#define DEFINE_RELEASE(name, type, release)                                                                            \
    void name(type object)                                                                                             \
    {                                                                                                                  \
        if (object != NULL)                                                                                            \
            release(object);                                                                                           \
    }

DEFINE_RELEASE(profk__release_mem, cl_mem, clReleaseMemObject)
DEFINE_RELEASE(profk__release_event, cl_event, clReleaseEvent)
DEFINE_RELEASE(profk__release_kernel, cl_kernel, clReleaseKernel)
DEFINE_RELEASE(profk__release_program, cl_program, clReleaseProgram)
DEFINE_RELEASE(profk__release_queue, cl_command_queue, clReleaseCommandQueue)
DEFINE_RELEASE(profk__release_context, cl_context, clReleaseContext)
