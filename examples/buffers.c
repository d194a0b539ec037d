/*
 * buffers.c: top-k inside a program that has its own OpenCL context, queue and buffers.  The plan is made once and run
 * on two inputs; the results stay on the device until they are read.
 *
 *     cc buffers.c $(pkg-config --cflags --libs profk) -lOpenCL -o buffers
 */
#include <profk.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 20, K = 5, RUNS = 2 };

static int32_t x[N];

/* Ends the program if a call failed. */
static void check(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s failed. %s\n", what, profk_context_message(NULL));
    exit(1);
}

/* The program's own device and context; here whatever profk would choose. */
static cl_context open_device(cl_device_id *device_ret)
{
    profk_device device;
    cl_int code = CL_SUCCESS;

    device.struct_size = sizeof device;
    check(profk_device_find(NULL, &device) == PROFK_OK, "profk_device_find");
    *device_ret = device.id;
    cl_context context = clCreateContext(NULL, 1, &device.id, NULL, NULL, &code);
    check(code == CL_SUCCESS, "clCreateContext");
    return context;
}

static cl_mem make_buffer(cl_context context, size_t nbytes)
{
    cl_int code = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, nbytes, NULL, &code);

    check(code == CL_SUCCESS, "clCreateBuffer");
    return buffer;
}

static void print_results(cl_command_queue queue, cl_mem values, cl_mem indices)
{
    int32_t value[K];
    uint64_t index[K];

    check(clEnqueueReadBuffer(queue, values, CL_TRUE, 0, sizeof value, value, 0, NULL, NULL) == CL_SUCCESS
              && clEnqueueReadBuffer(queue, indices, CL_TRUE, 0, sizeof index, index, 0, NULL, NULL) == CL_SUCCESS,
          "clEnqueueReadBuffer");
    for (int i = 0; i < K; i++) {
        printf("  x[%7" PRIu64 "] = %" PRId32 "\n", index[i], value[i]);
        check(x[index[i]] == value[i], "the comparison with the input");
    }
}

int main(void)
{
    cl_device_id device;
    cl_context context = open_device(&device);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_mem input = make_buffer(context, sizeof x);
    cl_mem values = make_buffer(context, K * sizeof(int32_t)), indices = make_buffer(context, K * sizeof(uint64_t));
    profk_context *ctx = NULL;
    profk_plan *plan = NULL;
    profk_problem problem;
    profk_chunk chunk = {input, 0, N, 0, NULL, PROFK_MEM_BUFFER, 0, {0, 0}};
    profk_io io = {sizeof io, &chunk, 1, values, indices, NULL, 0, 0, 0};

    profk_problem_init(&problem, sizeof problem, PROFK_I32, N, K);
    problem.order = PROFK_MAGNITUDE;
    check(queue != NULL, "clCreateCommandQueue");
    check(profk_context_create(context, device, NULL, &ctx) == PROFK_OK, "profk_context_create");
    check(profk_plan_create(ctx, &problem, NULL, PROFK_ESTIMATE, &plan) == PROFK_OK, "profk_plan_create");

    for (uint32_t run = 1; run <= RUNS; run++) {
        cl_event written = NULL;
        for (uint32_t i = 0; i < N; i++)
            x[i] = (int32_t)((i * 2654435761u * run) >> 4) - (1 << 27);
        check(clEnqueueWriteBuffer(queue, input, CL_FALSE, 0, sizeof x, x, 0, NULL, &written) == CL_SUCCESS,
              "clEnqueueWriteBuffer");
        check(profk_execute(plan, queue, &io, 1, &written, NULL) == PROFK_OK, "profk_execute");
        clReleaseEvent(written);
        printf("run %" PRIu32 ", greatest absolute values:\n", run);
        print_results(queue, values, indices);
    }

    profk_plan_destroy(plan);
    profk_context_destroy(ctx);
    clReleaseMemObject(input);
    clReleaseMemObject(values);
    clReleaseMemObject(indices);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
