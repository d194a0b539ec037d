/*
 * layer.c: an OpenCL layer that makes chosen calls fail and counts all of them.
 *
 * The ICD loader puts it between a program and its driver: OPENCL_LAYERS=/path/to/layer.so PROGRAM.
 *
 *   FAULT=NAME:NTH:CODE[,...]  the NTH call (from 1) of NAME returns CODE and does nothing; NTH 0 means every call,
 *                              NTH+ that one and all behind it: a device that is lost on the way.
 *                              Read at every call, so a test may change it while it runs.
 *   FAULT=ALL:NTH:CODE         a driver that is gone: from the NTH call of any on, all calls but releases return CODE.
 *   FAULT=DEVICE:NTH:CODE      a device that is gone: the same, but only for calls that need it (clEnqueue..., clFlush,
 *                              clFinish, clWaitForEvents, clBuildProgram, clCreateBuffer and clCreateCommandQueue).
 *   DAMAGE=NTH                 the NTH blocking read of 64 bytes or more brings one bit of its first byte wrong.
 *   PROFK_LAYER_LOG=FILE       rewritten at each clReleaseContext and at exit, one "NAME NUMBER" a line:
 *                              the calls of every entry point that was called, failed ones included, then
 *                              calls.all (their sum),
 *                              clCreateBuffer.bytes (all buffers that were made), .live (those not yet freed) and
 *                              .peak (the most that lived at one time).  Sub-buffers count no bytes.
 *
 * Counters are atomic: a program may call from several threads.  An entry point that is not in ENTRIES is neither
 * counted nor made to fail.
 */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
/* X(name, parameters, arguments) for calls that return their status. */
#define STATUS_ENTRIES(X) \
    X(clGetPlatformIDs, (cl_uint a, cl_platform_id *b, cl_uint *c), (a, b, c)) \
    X(clGetPlatformInfo, (cl_platform_id a, cl_platform_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    X(clGetDeviceIDs, (cl_platform_id a, cl_device_type b, cl_uint c, cl_device_id *d, cl_uint *e), (a, b, c, d, e)) \
    X(clGetDeviceInfo, (cl_device_id a, cl_device_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    X(clCreateSubDevices, (cl_device_id a, const cl_device_partition_property *b, cl_uint c, cl_device_id *d, cl_uint *e), (a, b, c, d, e)) \
    X(clRetainDevice, (cl_device_id a), (a)) \
    X(clReleaseDevice, (cl_device_id a), (a)) \
    X(clRetainContext, (cl_context a), (a)) \
    X(clGetContextInfo, (cl_context a, cl_context_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    X(clRetainCommandQueue, (cl_command_queue a), (a)) \
    X(clReleaseCommandQueue, (cl_command_queue a), (a)) \
    X(clGetCommandQueueInfo, (cl_command_queue a, cl_command_queue_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    X(clRetainMemObject, (cl_mem a), (a)) \
    X(clReleaseMemObject, (cl_mem a), (a)) \
    X(clGetMemObjectInfo, (cl_mem a, cl_mem_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    X(clRetainProgram, (cl_program a), (a)) \
    X(clReleaseProgram, (cl_program a), (a)) \
    X(clBuildProgram, (cl_program a, cl_uint b, const cl_device_id *c, const char *d, void (CL_CALLBACK *e)(cl_program, void *), void *f), (a, b, c, d, e, f)) \
    X(clGetProgramInfo, (cl_program a, cl_program_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    X(clGetProgramBuildInfo, (cl_program a, cl_device_id b, cl_program_build_info c, size_t d, void *e, size_t *f), (a, b, c, d, e, f)) \
    X(clCreateKernelsInProgram, (cl_program a, cl_uint b, cl_kernel *c, cl_uint *d), (a, b, c, d)) \
    X(clRetainKernel, (cl_kernel a), (a)) \
    X(clReleaseKernel, (cl_kernel a), (a)) \
    X(clSetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void *d), (a, b, c, d)) \
    X(clGetKernelInfo, (cl_kernel a, cl_kernel_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    X(clGetKernelWorkGroupInfo, (cl_kernel a, cl_device_id b, cl_kernel_work_group_info c, size_t d, void *e, size_t *f), (a, b, c, d, e, f)) \
    X(clWaitForEvents, (cl_uint a, const cl_event *b), (a, b)) \
    X(clGetEventInfo, (cl_event a, cl_event_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    X(clRetainEvent, (cl_event a), (a)) \
    X(clReleaseEvent, (cl_event a), (a)) \
    X(clSetUserEventStatus, (cl_event a, cl_int b), (a, b)) \
    X(clSetEventCallback, (cl_event a, cl_int b, void (CL_CALLBACK *c)(cl_event, cl_int, void *), void *d), (a, b, c, d)) \
    X(clGetEventProfilingInfo, (cl_event a, cl_profiling_info b, size_t c, void *d, size_t *e), (a, b, c, d, e)) \
    X(clFlush, (cl_command_queue a), (a)) \
    X(clFinish, (cl_command_queue a), (a)) \
    X(clEnqueueWriteBuffer, (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, const void *f, cl_uint g, const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i)) \
    X(clEnqueueCopyBuffer, (cl_command_queue a, cl_mem b, cl_mem c, size_t d, size_t e, size_t f, cl_uint g, const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i)) \
    X(clEnqueueFillBuffer, (cl_command_queue a, cl_mem b, const void *c, size_t d, size_t e, size_t f, cl_uint g, const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i)) \
    X(clEnqueueUnmapMemObject, (cl_command_queue a, cl_mem b, void *c, cl_uint d, const cl_event *e, cl_event *f), (a, b, c, d, e, f)) \
    X(clEnqueueMigrateMemObjects, (cl_command_queue a, cl_uint b, const cl_mem *c, cl_mem_migration_flags d, cl_uint e, const cl_event *f, cl_event *g), (a, b, c, d, e, f, g)) \
    X(clEnqueueNDRangeKernel, (cl_command_queue a, cl_kernel b, cl_uint c, const size_t *d, const size_t *e, const size_t *f, cl_uint g, const cl_event *h, cl_event *i), (a, b, c, d, e, f, g, h, i)) \
    X(clEnqueueTask, (cl_command_queue a, cl_kernel b, cl_uint c, const cl_event *d, cl_event *e), (a, b, c, d, e)) \
    X(clEnqueueMarkerWithWaitList, (cl_command_queue a, cl_uint b, const cl_event *c, cl_event *d), (a, b, c, d)) \
    X(clEnqueueBarrierWithWaitList, (cl_command_queue a, cl_uint b, const cl_event *c, cl_event *d), (a, b, c, d))

/* X(type, name, parameters without the status, arguments) for calls that return an object and store their status. */
#define OBJECT_ENTRIES(X) \
    X(cl_context, clCreateContext, (const cl_context_properties *a, cl_uint b, const cl_device_id *c, void (CL_CALLBACK *d)(const char *, const void *, size_t, void *), void *e, cl_int *status), (a, b, c, d, e, status)) \
    X(cl_context, clCreateContextFromType, (const cl_context_properties *a, cl_device_type b, void (CL_CALLBACK *c)(const char *, const void *, size_t, void *), void *d, cl_int *status), (a, b, c, d, status)) \
    X(cl_command_queue, clCreateCommandQueue, (cl_context a, cl_device_id b, cl_command_queue_properties c, cl_int *status), (a, b, c, status)) \
    X(cl_mem, clCreateSubBuffer, (cl_mem a, cl_mem_flags b, cl_buffer_create_type c, const void *d, cl_int *status), (a, b, c, d, status)) \
    X(cl_program, clCreateProgramWithSource, (cl_context a, cl_uint b, const char **c, const size_t *d, cl_int *status), (a, b, c, d, status)) \
    X(cl_program, clCreateProgramWithBinary, (cl_context a, cl_uint b, const cl_device_id *c, const size_t *d, const unsigned char **e, cl_int *f, cl_int *status), (a, b, c, d, e, f, status)) \
    X(cl_kernel, clCreateKernel, (cl_program a, const char *b, cl_int *status), (a, b, status)) \
    X(cl_event, clCreateUserEvent, (cl_context a, cl_int *status), (a, status)) \
    X(void *, clEnqueueMapBuffer, (cl_command_queue a, cl_mem b, cl_bool c, cl_map_flags d, size_t e, size_t f, cl_uint g, const cl_event *h, cl_event *i, cl_int *status), (a, b, c, d, e, f, g, h, i, status))
/* clang-format on */

/* These do more than count: see below. */
#define SPECIAL_ENTRIES(X) X(clCreateBuffer) X(clEnqueueReadBuffer) X(clReleaseContext)

#define STATUS_NUMBER(name, parameters, arguments) NUMBER_##name,
#define OBJECT_NUMBER(type, name, parameters, arguments) NUMBER_##name,
#define SPECIAL_NUMBER(name) NUMBER_##name,
enum { STATUS_ENTRIES(STATUS_NUMBER) OBJECT_ENTRIES(OBJECT_NUMBER) SPECIAL_ENTRIES(SPECIAL_NUMBER) ENTRY_COUNT };

#define STATUS_NAME(name, parameters, arguments) #name,
#define OBJECT_NAME(type, name, parameters, arguments) #name,
#define SPECIAL_NAME(name) #name,
static const char *const names[] = {STATUS_ENTRIES(STATUS_NAME) OBJECT_ENTRIES(OBJECT_NAME)
                                        SPECIAL_ENTRIES(SPECIAL_NAME)};

static struct _cl_icd_dispatch mine;        /* what the program calls */
static const struct _cl_icd_dispatch *next; /* what we call */
static atomic_ulong calls[ENTRY_COUNT];
static atomic_ulong all_calls;
static atomic_ullong made_nbytes, live_nbytes, peak_nbytes;

static void write_log(void)
{
    const char *path = getenv("PROFK_LAYER_LOG");
    FILE *file = path && *path ? fopen(path, "w") : NULL;

    if (!file)
        return;
    for (int i = 0; i < ENTRY_COUNT; i++)
        if (calls[i])
            fprintf(file, "%s %lu\n", names[i], (unsigned long)calls[i]);
    fprintf(file, "calls.all %lu\n", (unsigned long)all_calls);
    fprintf(file, "clCreateBuffer.bytes %llu\n", (unsigned long long)made_nbytes);
    fprintf(file, "clCreateBuffer.live %llu\n", (unsigned long long)live_nbytes);
    fprintf(file, "clCreateBuffer.peak %llu\n", (unsigned long long)peak_nbytes);
    fclose(file);
}

static int starts_with(const char *name, const char *start)
{
    return !strncmp(name, start, strlen(start));
}

static int needs_device(const char *name)
{
    static const char *const starts[] = {"clEnqueue",      "clFlush",        "clFinish",            "clWaitForEvents",
                                         "clBuildProgram", "clCreateBuffer", "clCreateCommandQueue"};

    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (starts_with(name, starts[i]))
            return 1;
    return 0;
}

/* Whether a fault of that name, at its NTH call, concerns the call that is the nth of its own and the sum_th of all. */
static int concerns(const char *fault, unsigned long at, const char *name, unsigned long nth, unsigned long sum_th)
{
    if (!strcmp(fault, "ALL"))
        return sum_th >= at && !starts_with(name, "clRelease");
    if (!strcmp(fault, "DEVICE"))
        return sum_th >= at && needs_device(name);
    return !strcmp(fault, name) && (at == 0 || at == nth);
}

/* Counts a call and returns the status that FAULT wants for it, CL_SUCCESS where it may pass. */
static cl_int enter(int number)
{
    unsigned long nth = atomic_fetch_add(&calls[number], 1) + 1, sum_th = atomic_fetch_add(&all_calls, 1) + 1;
    const char *fault = getenv("FAULT");

    while (fault && *fault) {
        char name[64], colon[3];
        unsigned long at;
        int code;

        if (sscanf(fault, "%63[^:]:%lu%2[+:]%d", name, &at, colon, &code) == 4 &&
            (concerns(name, at, names[number], nth, sum_th) ||
             (*colon == '+' && !strcmp(name, names[number]) && at < nth)))
            return code;
        fault = strchr(fault, ',');
        fault = fault ? fault + 1 : NULL;
    }
    return CL_SUCCESS;
}

#define STATUS_WRAPPER(name, parameters, arguments)                                                                  \
    static cl_int CL_API_CALL my_##name parameters                                                                   \
    {                                                                                                                \
        cl_int fault = enter(NUMBER_##name);                                                                         \
        return fault ? fault : next->name arguments;                                                                 \
    }
STATUS_ENTRIES(STATUS_WRAPPER)

#define OBJECT_WRAPPER(type, name, parameters, arguments)                                                            \
    static type CL_API_CALL my_##name parameters                                                                     \
    {                                                                                                                \
        cl_int fault = enter(NUMBER_##name);                                                                         \
        if (!fault)                                                                                                  \
            return next->name arguments;                                                                             \
        if (status)                                                                                                  \
            *status = fault;                                                                                         \
        return NULL;                                                                                                 \
    }
OBJECT_ENTRIES(OBJECT_WRAPPER)

/* The driver frees a buffer: that may be later than its last release by the program, when a command still holds it. */
static void CL_CALLBACK buffer_is_freed(cl_mem buffer, void *nbytes)
{
    (void)buffer;
    atomic_fetch_sub(&live_nbytes, (unsigned long)(uintptr_t)nbytes);
}

static cl_mem CL_API_CALL my_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t nbytes, void *host,
                                            cl_int *status)
{
    cl_int fault = enter(NUMBER_clCreateBuffer);
    cl_mem buffer;

    if (fault) {
        if (status)
            *status = fault;
        return NULL;
    }
    buffer = next->clCreateBuffer(context, flags, nbytes, host, status);
    if (buffer) {
        unsigned long long live = atomic_fetch_add(&live_nbytes, nbytes) + nbytes;
        unsigned long long peak = peak_nbytes;

        atomic_fetch_add(&made_nbytes, nbytes);
        next->clSetMemObjectDestructorCallback(buffer, buffer_is_freed, (void *)(uintptr_t)nbytes);
        while (live > peak && !atomic_compare_exchange_weak(&peak_nbytes, &peak, live))
            ;
    }
    return buffer;
}

static cl_int CL_API_CALL my_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                                 size_t offset, size_t nbytes, void *to, cl_uint wait_count,
                                                 const cl_event *wait_list, cl_event *event)
{
    static atomic_ulong reads;
    const char *damage = getenv("DAMAGE");
    const unsigned long nth = damage ? strtoul(damage, NULL, 10) : 0;
    cl_int status = enter(NUMBER_clEnqueueReadBuffer);

    if (status == CL_SUCCESS)
        status = next->clEnqueueReadBuffer(queue, buffer, blocking, offset, nbytes, to, wait_count, wait_list, event);
    if (status == CL_SUCCESS && blocking && nbytes >= 64 && atomic_fetch_add(&reads, 1) + 1 == nth)
        *(unsigned char *)to ^= 1;
    return status;
}

static cl_int CL_API_CALL my_clReleaseContext(cl_context context)
{
    cl_int fault = enter(NUMBER_clReleaseContext);
    cl_int status = fault ? fault : next->clReleaseContext(context);

    write_log();
    return status;
}

#define EXPORT CL_API_ENTRY __attribute__((visibility("default")))

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *value, size_t *need_ret)
{
    static const char name[] = "profk test layer";
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const void *from = what == CL_LAYER_API_VERSION ? (const void *)&version : name;
    size_t nbytes = what == CL_LAYER_API_VERSION ? sizeof version : sizeof name;

    if (what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME)
        return CL_INVALID_VALUE;
    if (value && room < nbytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, from, nbytes);
    if (need_ret)
        *need_ret = nbytes;
    return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entry_count, const struct _cl_icd_dispatch *target,
                                      cl_uint *entry_count_ret, const struct _cl_icd_dispatch **ret)
{
    size_t entry_max = sizeof mine / sizeof mine.clGetPlatformIDs;
    size_t count = entry_count < entry_max ? entry_count : entry_max;

    memcpy(&mine, target, count * sizeof mine.clGetPlatformIDs);
    next = target;
#define STATUS_INSTALL(name, parameters, arguments) mine.name = my_##name;
#define OBJECT_INSTALL(type, name, parameters, arguments) mine.name = my_##name;
#define SPECIAL_INSTALL(name) mine.name = my_##name;
    STATUS_ENTRIES(STATUS_INSTALL)
    OBJECT_ENTRIES(OBJECT_INSTALL)
    SPECIAL_ENTRIES(SPECIAL_INSTALL)
    *entry_count_ret = (cl_uint)count;
    *ret = &mine;
    return atexit(write_log) == 0 ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}
