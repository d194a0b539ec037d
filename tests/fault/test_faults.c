/*
 * test_faults.c: every OpenCL call that the library makes fails once, at each place where it makes it.
 *
 * A scenario is a piece of a plan's life.  It runs once without a fault, behind support/layer.c, which counts the
 * calls; then again for each entry point and each of its calls, this one failing.  Each time
 *   - the status is the one of the code, and the message names the call,
 *   - the outputs are as before, or the row says certified and they are right, or it says they are not valid,
 *   - nothing is left behind: reference counts of what the caller owns and the bytes on the device are as before,
 *   - the next call succeeds, with the same plan where there is one.
 * Every call fails with CL_OUT_OF_RESOURCES.  The first and the last one of each entry point fail besides with every
 * code that the specification of OpenCL 1.2 gives for it, and with codes that it does not know.  Releases are not made
 * to fail: the library could do nothing about it.
 */
#define _POSIX_C_SOURCE 200809L /* setenv, getpid */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault/scenarios.h"

enum { ENTRIES_MAX = 64 };

/* ---- what the layer saw ---- */

struct entry {
    char name[48];
    uint64_t calls;
};

struct counts {
    struct entry entry[ENTRIES_MAX];
    size_t used;
    uint64_t live_nbytes, all;
};

static void read_counts(struct counts *ret)
{
    struct entry e;
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &fixture.device, NULL, NULL, &code);
    FILE *file;

    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clReleaseContext(context), CL_SUCCESS); /* the layer writes its log */
    ret->used = 0;
    ret->live_nbytes = ret->all = 0;
    file = fopen(scenarios_log, "r");
    if (!file)
        fail_msg("the layer wrote no %s; does the ICD loader know OPENCL_LAYERS?", scenarios_log);
    while (fscanf(file, "%47s %" SCNu64, e.name, &e.calls) == 2) {
        if (strcmp(e.name, "clCreateBuffer.live") == 0)
            ret->live_nbytes = e.calls;
        else if (strcmp(e.name, "calls.all") == 0)
            ret->all = e.calls;
        else if (!strchr(e.name, '.') && ret->used < ENTRIES_MAX)
            ret->entry[ret->used++] = e;
    }
    fclose(file);
}

static uint64_t calls_of(const struct counts *counts, const char *name)
{
    for (size_t i = 0; i < counts->used; i++)
        if (strcmp(counts->entry[i].name, name) == 0)
            return counts->entry[i].calls;
    return 0;
}

/* ---- faults ---- */

static profk_status status_of(const char *entry, int code)
{
    switch (code) {
    case CL_OUT_OF_HOST_MEMORY: return PROFK_ERR_HOST_MEMORY;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return PROFK_ERR_DEVICE_MEMORY;
    case CL_DEVICE_NOT_AVAILABLE: return PROFK_ERR_DEVICE_LOST;
    case CL_COMPILER_NOT_AVAILABLE: return PROFK_ERR_NO_COMPILER;
    default: return strcmp(entry, "clBuildProgram") == 0 ? PROFK_ERR_BUILD : PROFK_ERR_OPENCL;
    }
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/*
 * Calls whose failure may pass: a wait for work that is done; a fact that only chooses between right ways; a device
 * that cannot be asked when another one serves; a binary that goes to the disk or comes from there.
 */
static bool may_pass(const struct scenario *s, const char *entry)
{
    static const struct {
        const char *name;
        uint32_t flags; /* of the scenarios in which it may, 0: all */
    } entries[] = {
        {"clWaitForEvents", 0},
        {"clGetDeviceInfo", 0},
        {"clGetDeviceIDs", 0},
        {"clGetPlatformIDs", 0},
        {"clGetPlatformInfo", 0},
        {"clGetProgramInfo", LOADS | STORES_ONLY},
        {"clBuildProgram", LOADS},
        {"clCreateProgramWithBinary", LOADS},
        {"clCreateKernelsInProgram", LOADS},
        {"clGetKernelWorkGroupInfo", LOADS},
    };

    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entry, entries[i].name) == 0)
            return entries[i].flags == 0 || (s->flags & entries[i].flags);
    return false;
}

/* A query that fails may stand for "this cannot be used" instead: then the status says so and words may differ. */
static bool may_refuse(const struct scenario *s, const char *entry, profk_status status)
{
    if (!(s->flags & QUERIES_MAY_REFUSE) || !starts_with(entry, "clGet"))
        return false;
    return status == PROFK_ERR_ARGUMENT || status == PROFK_ERR_NO_DEVICE || status == PROFK_ERR_NO_COMPILER;
}

/* What the caller's objects and the device hold while no scenario runs. */
static struct references idle_references;
static uint64_t idle_nbytes;

static void read_idle(void)
{
    static struct counts counts;

    idle_references = settled_references();
    read_counts(&counts);
    idle_nbytes = counts.live_nbytes;
}

/* What a scenario left behind, NULL if nothing.  A driver may let go of a finished command's objects a little late. */
static const char *leftover(void)
{
    static struct counts counts;
    const char *found = NULL;

    for (int tries = 0; tries < 100; tries++) {
        const struct references now = read_references();

        read_counts(&counts);
        found = memcmp(&idle_references, &now, sizeof now) != 0 ? "something is still referenced"
                : counts.live_nbytes != idle_nbytes             ? "device memory is left behind"
                                                                : NULL;
        if (!found)
            return NULL;
        rest_a_moment();
    }
    read_idle(); /* so that one leak is reported once */
    return found;
}

/* What is wrong with how a run ended, NULL if nothing. */
static const char *fault_of(const struct scenario *s, const char *entry, int code, const struct ending *o)
{
    char number[16];

    if (o->status == PROFK_OK)
        return !may_pass(s, entry) ? "the call succeeded" : o->verdict == RIGHT ? NULL : "success with wrong outputs";
    if (o->verdict == WRONG)
        return "a wrong output is said to be valid, or *ret is not NULL";
    if (!o->recovered)
        return "the call fails also without a fault";
    if (may_refuse(s, entry, o->status))
        return o->message[0] ? NULL : "no message";
    if (o->status != status_of(entry, code))
        return "the status is another one";
    snprintf(number, sizeof number, "(%d)", code);
    return strstr(o->message, entry) && strstr(o->message, number) ? NULL : "the message does not name call and code";
}

/* One fault: the nth call of entry from now on returns code. */
static bool inject(const struct scenario *s, const char *entry, uint64_t nth, int code)
{
    static struct counts before;
    struct ending o = {.status = PROFK_OK, .verdict = UNTOUCHED};
    char fault[128];
    const char *wrong, *left;

    fill_outputs();
    read_counts(&before);
    snprintf(fault, sizeof fault, "%s:%" PRIu64 ":%d", entry, calls_of(&before, entry) + nth, code);
    setenv("FAULT", fault, 1);
    s->run(&o);
    unsetenv("FAULT");
    wrong = fault_of(s, entry, code, &o);
    left = leftover();
    wrong = wrong ? wrong : left;
    if (wrong)
        fprintf(stderr, "FAILED: %s: call %" PRIu64 " of %s returns %d: %s\n    status %d, message: %s\n", s->name,
                nth, entry, code, wrong, (int)o.status, o.message);
    return !wrong;
}

static bool is_wanted(const struct scenario *s, const char *entry)
{
    if (starts_with(entry, "clRelease"))
        return false;
    if (s->flags & STORES_ONLY)
        return strcmp(entry, "clGetProgramInfo") == 0;
    if (!(s->flags & BUILDS_ONLY))
        return true;
    return strstr(entry, "Program") || strcmp(entry, "clCreateKernel") == 0 || starts_with(entry, "clGetKernel") ||
           starts_with(entry, "clRetain") || strcmp(entry, "clGetContextInfo") == 0;
}

/* The scenario without a fault; the calls it makes beyond those of the test itself go to ret. */
static void measure(const struct scenario *s, struct counts *ret)
{
    static struct counts before, idle, after;
    struct ending o = {.status = PROFK_OK, .verdict = UNTOUCHED};

    read_counts(&before);
    read_counts(&idle); /* what read_counts() itself costs */
    fill_outputs();
    read_counts(&before);
    s->run(&o);
    read_counts(&after);
    if (o.status != PROFK_OK || o.verdict != RIGHT)
        fail_msg("%s fails without a fault: %s", s->name, o.message);
    *ret = after;
    for (size_t i = 0; i < ret->used; i++) {
        const char *name = ret->entry[i].name;

        ret->entry[i].calls -= calls_of(&before, name);
        if (strcmp(name, "clCreateContext") == 0)
            ret->entry[i].calls--; /* read_counts() */
        if (strcmp(name, "clEnqueueReadBuffer") == 0 && s->run != run_host && ret->entry[i].calls >= OUTPUTS)
            ret->entry[i].calls -= OUTPUTS; /* judge_outputs() */
    }
}

/* ---- codes ---- */

enum { CODES_MAX = 24 };

/* What the specification lists for an entry point beyond CL_OUT_OF_RESOURCES and CL_OUT_OF_HOST_MEMORY. */
static const struct listed {
    const char *entry;
    int codes[CODES_MAX]; /* the last is followed by 0 */
} listed[] = {
    {"clGetPlatformIDs", {CL_INVALID_VALUE}},
    {"clGetPlatformInfo", {CL_INVALID_PLATFORM, CL_INVALID_VALUE}},
    {"clGetDeviceIDs", {CL_INVALID_PLATFORM, CL_INVALID_DEVICE_TYPE, CL_INVALID_VALUE, CL_DEVICE_NOT_FOUND}},
    {"clGetDeviceInfo", {CL_INVALID_DEVICE, CL_INVALID_VALUE}},
    {"clCreateContext",
     {CL_INVALID_PLATFORM, CL_INVALID_PROPERTY, CL_INVALID_VALUE, CL_INVALID_DEVICE, CL_DEVICE_NOT_AVAILABLE}},
    {"clRetainContext", {CL_INVALID_CONTEXT}},
    {"clGetContextInfo", {CL_INVALID_CONTEXT, CL_INVALID_VALUE}},
    {"clCreateCommandQueue", {CL_INVALID_CONTEXT, CL_INVALID_DEVICE, CL_INVALID_VALUE, CL_INVALID_QUEUE_PROPERTIES}},
    {"clRetainCommandQueue", {CL_INVALID_COMMAND_QUEUE}},
    {"clGetCommandQueueInfo", {CL_INVALID_COMMAND_QUEUE, CL_INVALID_VALUE}},
    {"clCreateBuffer",
     {CL_INVALID_CONTEXT, CL_INVALID_VALUE, CL_INVALID_BUFFER_SIZE, CL_INVALID_HOST_PTR,
      CL_MEM_OBJECT_ALLOCATION_FAILURE}},
    {"clCreateSubBuffer",
     {CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE, CL_INVALID_BUFFER_SIZE, CL_MISALIGNED_SUB_BUFFER_OFFSET,
      CL_MEM_OBJECT_ALLOCATION_FAILURE}},
    {"clRetainMemObject", {CL_INVALID_MEM_OBJECT}},
    {"clGetMemObjectInfo", {CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE}},
    {"clCreateProgramWithSource", {CL_INVALID_CONTEXT, CL_INVALID_VALUE}},
    {"clCreateProgramWithBinary", {CL_INVALID_CONTEXT, CL_INVALID_VALUE, CL_INVALID_DEVICE, CL_INVALID_BINARY}},
    {"clBuildProgram",
     {CL_INVALID_PROGRAM, CL_INVALID_VALUE, CL_INVALID_DEVICE, CL_INVALID_BINARY, CL_INVALID_BUILD_OPTIONS,
      CL_INVALID_OPERATION, CL_COMPILER_NOT_AVAILABLE, CL_BUILD_PROGRAM_FAILURE}},
    {"clGetProgramInfo", {CL_INVALID_PROGRAM, CL_INVALID_VALUE, CL_INVALID_PROGRAM_EXECUTABLE}},
    {"clCreateKernelsInProgram", {CL_INVALID_PROGRAM, CL_INVALID_PROGRAM_EXECUTABLE, CL_INVALID_VALUE}},
    {"clCreateKernel",
     {CL_INVALID_PROGRAM, CL_INVALID_PROGRAM_EXECUTABLE, CL_INVALID_KERNEL_NAME, CL_INVALID_KERNEL_DEFINITION,
      CL_INVALID_VALUE}},
    {"clGetKernelWorkGroupInfo", {CL_INVALID_DEVICE, CL_INVALID_VALUE, CL_INVALID_KERNEL}},
    {"clSetKernelArg",
     {CL_INVALID_KERNEL, CL_INVALID_ARG_INDEX, CL_INVALID_ARG_VALUE, CL_INVALID_MEM_OBJECT, CL_INVALID_SAMPLER,
      CL_INVALID_ARG_SIZE}},
    {"clWaitForEvents",
     {CL_INVALID_VALUE, CL_INVALID_CONTEXT, CL_INVALID_EVENT, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST}},
    {"clGetEventInfo", {CL_INVALID_VALUE, CL_INVALID_EVENT}},
    {"clRetainEvent", {CL_INVALID_EVENT}},
    {"clFlush", {CL_INVALID_COMMAND_QUEUE}},
    {"clFinish", {CL_INVALID_COMMAND_QUEUE}},
    {"clEnqueueReadBuffer",
     {CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE,
      CL_INVALID_EVENT_WAIT_LIST, CL_MISALIGNED_SUB_BUFFER_OFFSET, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
      CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_INVALID_OPERATION}},
    {"clEnqueueCopyBuffer",
     {CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE,
      CL_INVALID_EVENT_WAIT_LIST, CL_MISALIGNED_SUB_BUFFER_OFFSET, CL_MEM_COPY_OVERLAP,
      CL_MEM_OBJECT_ALLOCATION_FAILURE}},
    {"clEnqueueFillBuffer",
     {CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE,
      CL_INVALID_EVENT_WAIT_LIST, CL_MISALIGNED_SUB_BUFFER_OFFSET, CL_MEM_OBJECT_ALLOCATION_FAILURE}},
    {"clEnqueueNDRangeKernel",
     {CL_INVALID_PROGRAM_EXECUTABLE, CL_INVALID_COMMAND_QUEUE, CL_INVALID_KERNEL, CL_INVALID_CONTEXT,
      CL_INVALID_KERNEL_ARGS, CL_INVALID_WORK_DIMENSION, CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_GLOBAL_OFFSET,
      CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE, CL_MISALIGNED_SUB_BUFFER_OFFSET,
      CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_INVALID_EVENT_WAIT_LIST}},
    {"clEnqueueMarkerWithWaitList", {CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT, CL_INVALID_EVENT_WAIT_LIST}},
};

/* What any call may return: no host memory; a device that is gone; a vendor's own code; one that nobody knows. */
static const int common_codes[] = {CL_OUT_OF_HOST_MEMORY, CL_DEVICE_NOT_AVAILABLE, -9999, -4321};

enum { LISTED = sizeof listed / sizeof listed[0], COMMON = sizeof common_codes / sizeof common_codes[0] };

/* In how many scenarios the codes of listed[i] were tried. */
static unsigned tried[LISTED];

static unsigned long faults, runs;

static void fail_call(const struct scenario *s, const struct entry *entry, uint64_t nth, int code)
{
    faults += !inject(s, entry->name, nth, code);
    runs++;
}

/* The first and the last call fail with each code in turn; two scenarios are enough for an entry point. */
static void fail_with_listed_codes(const struct scenario *s, const struct entry *entry)
{
    enum { SCENARIOS_EACH = 2 };
    size_t i = 0;

    while (i < LISTED && strcmp(listed[i].entry, entry->name) != 0)
        i++;
    if (i == LISTED)
        fail_msg("%s is called, but its codes are not listed", entry->name);
    if (tried[i]++ >= SCENARIOS_EACH)
        return;
    for (size_t c = 0; c < CODES_MAX && listed[i].codes[c]; c++) {
        fail_call(s, entry, 1, listed[i].codes[c]);
        if (entry->calls > 1)
            fail_call(s, entry, entry->calls, listed[i].codes[c]);
    }
}

static void every_call_fails(void **state)
{
    static struct counts counts;

    (void)state;
    for (size_t i = 0; i < scenario_count; i++) {
        const struct scenario *s = &scenarios[i];

        measure(s, &counts); /* compiles what is missing, and the context keeps it */
        measure(s, &counts);
        read_idle();
        for (size_t e = 0; e < counts.used; e++) {
            const struct entry *entry = &counts.entry[e];

            if (!is_wanted(s, entry->name) || entry->calls == 0)
                continue;
            for (uint64_t nth = 1; nth <= entry->calls; nth++)
                fail_call(s, entry, nth, CL_OUT_OF_RESOURCES);
            for (size_t c = 0; c < COMMON; c++)
                fail_call(s, entry, 1, common_codes[c]);
            fail_with_listed_codes(s, entry);
        }
    }
    printf("%lu faults\n", runs);
    assert_int_equal(faults, 0);
}

/* A compiler that fails, and a log that cannot be read either. */
static void a_build_without_a_log(void **state)
{
    static struct counts before;
    struct ending o = {.status = PROFK_OK, .verdict = UNTOUCHED};
    char fault[128];

    (void)state;
    read_counts(&before);
    snprintf(fault, sizeof fault, "clBuildProgram:%" PRIu64 ":%d,clGetProgramBuildInfo:0:%d",
             calls_of(&before, "clBuildProgram") + 2, CL_BUILD_PROGRAM_FAILURE, CL_OUT_OF_RESOURCES);
    setenv("FAULT", fault, 1);
    run_build(&o);
    unsetenv("FAULT");
    assert_int_equal(o.status, PROFK_ERR_BUILD);
    assert_non_null(strstr(o.message, "clBuildProgram"));
    assert_true(o.recovered);
}

/* ---- the program ---- */

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails),
        cmocka_unit_test(a_build_without_a_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return scenarios_under_layer("test_faults", run);
}
