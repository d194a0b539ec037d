/* test_layer.c: the layer itself, on the first device: faults hit the call they name, counts and bytes are right. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <CL/cl.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/layer_log.h"

static cl_device_id device;

static void counts_and_faults(void **state)
{
    const char *path = PROFK_TEST_SCRATCH "/test_layer.log";
    const cl_buffer_region half = {0, 512};
    struct layer_log log;
    cl_context context;
    cl_mem a, b, part;
    cl_int code;

    (void)state;
    remove(path);
    assert_int_equal(setenv("PROFK_LAYER_LOG", path, 1), 0);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);

    assert_int_equal(setenv("FAULT", "clFinish:1:-5,clCreateBuffer:2:-4", 1), 0);
    a = clCreateBuffer(context, CL_MEM_READ_WRITE, 1024, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_null(clCreateBuffer(context, CL_MEM_READ_WRITE, 1 << 20, NULL, &code));
    assert_int_equal(code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    part = clCreateSubBuffer(a, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clReleaseMemObject(part), CL_SUCCESS);
    assert_int_equal(clRetainMemObject(a), CL_SUCCESS);
    assert_int_equal(clReleaseMemObject(a), CL_SUCCESS);
    assert_int_equal(clReleaseMemObject(a), CL_SUCCESS);
    b = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(setenv("FAULT", "clReleaseMemObject:0:-38", 1), 0);
    assert_int_equal(clReleaseMemObject(b), CL_INVALID_MEM_OBJECT);
    assert_int_equal(unsetenv("FAULT"), 0);
    assert_int_equal(clReleaseContext(context), CL_SUCCESS);

    assert_true(layer_log_read(&log, path));
    assert_int_equal(layer_log_number(&log, "clCreateContext"), 1);
    assert_int_equal(layer_log_number(&log, "clCreateBuffer"), 3);
    assert_int_equal(layer_log_number(&log, "clReleaseMemObject"), 4);
    assert_int_equal(layer_log_number(&log, "clRetainMemObject"), 1);
    assert_int_equal(layer_log_number(&log, "clFinish"), 0);
    assert_int_equal(layer_log_number(&log, "clCreateBuffer.bytes"), 1024 + 4096);
    assert_int_equal(layer_log_number(&log, "clCreateBuffer.peak"), 4096);
    assert_int_equal(layer_log_number(&log, "clCreateBuffer.live"), 4096);
    assert_int_equal(clReleaseMemObject(b), CL_SUCCESS);
}

/* From a call on everything is lost, or what needs the device. */
static void losses(void **state)
{
    struct layer_log log;
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    char fault[64];

    (void)state;
    assert_int_equal(clRetainContext(context), CL_SUCCESS);
    assert_int_equal(clReleaseContext(context), CL_SUCCESS); /* the layer writes its log */
    assert_true(layer_log_read(&log, PROFK_TEST_SCRATCH "/test_layer.log"));
    snprintf(fault, sizeof fault, "DEVICE:%llu:-2", (unsigned long long)layer_log_number(&log, "calls.all") + 2);
    assert_int_equal(setenv("FAULT", fault, 1), 0);
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    assert_int_equal(clFinish(queue), CL_DEVICE_NOT_AVAILABLE);
    assert_int_equal(clRetainCommandQueue(queue), CL_SUCCESS);
    assert_null(clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &code));
    assert_int_equal(code, CL_DEVICE_NOT_AVAILABLE);
    assert_int_equal(setenv("FAULT", "ALL:1:-2", 1), 0);
    assert_int_equal(clRetainCommandQueue(queue), CL_DEVICE_NOT_AVAILABLE);
    assert_int_equal(clReleaseCommandQueue(queue), CL_SUCCESS);
    assert_int_equal(unsetenv("FAULT"), 0);
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    assert_int_equal(clReleaseCommandQueue(queue), CL_SUCCESS);
    assert_int_equal(clReleaseContext(context), CL_SUCCESS);
}

/* Of three long reads the second brings one bit wrong; from the third call on all fail. */
static void damage_and_loss(void **state)
{
    unsigned char zeros[64] = {0}, got[64];
    cl_context context;
    cl_command_queue queue;
    cl_mem buffer;
    cl_int code;

    (void)state;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    queue = clCreateCommandQueue(context, device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(setenv("DAMAGE", "2", 1), 0);
    for (int read = 1; read <= 4; read++) { /* the short one is not counted as a long one */
        const size_t nbytes = read == 2 ? 63 : 64;

        code = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, nbytes, got, 0, NULL, NULL);
        assert_int_equal(code, CL_SUCCESS);
        assert_int_equal(got[0], read == 3);
        assert_memory_equal(got + 1, zeros + 1, nbytes - 1);
    }
    assert_int_equal(unsetenv("DAMAGE"), 0);
    assert_int_equal(setenv("FAULT", "clFinish:3+:-36", 1), 0);
    for (int finish = 1; finish <= 4; finish++)
        assert_int_equal(clFinish(queue), finish < 3 ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE);
    assert_int_equal(unsetenv("FAULT"), 0);
    assert_int_equal(clReleaseMemObject(buffer), CL_SUCCESS);
    assert_int_equal(clReleaseCommandQueue(queue), CL_SUCCESS);
    assert_int_equal(clReleaseContext(context), CL_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_and_faults), cmocka_unit_test(damage_and_loss),
                                       cmocka_unit_test(losses)};
    cl_platform_id platforms[16];
    cl_uint count = 0;

    if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS)
        return 77;
    for (cl_uint i = 0; i < count && i < 16 && !device; i++)
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    return device ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
