/*
 * async.c: a selection between two commands of the program's own, without the host waiting in between.  The input
 * arrives by a write, profk waits for it on the device, and a kernel that weighs the winners waits for profk.
 *
 *     cc async.c $(pkg-config --cflags --libs profk) -lOpenCL -o async
 */
#include <profk.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 20, K = 64 };

static float x[N];

static const char *const source = "__kernel void weigh(__global const float *value, __global float *weight)\n"
                                  "{\n"
                                  "    size_t i = get_global_id(0);\n"
                                  "    weight[i] = value[i] / value[0];\n"
                                  "}\n";

/* Ends the program if a call failed. */
static void check(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s failed. %s\n", what, profk_context_message(NULL));
    exit(1);
}

static cl_mem make_buffer(cl_context context, size_t nbytes)
{
    cl_int code = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, nbytes, NULL, &code);

    check(code == CL_SUCCESS, "clCreateBuffer");
    return buffer;
}

static cl_kernel make_kernel(cl_context context, cl_device_id device, cl_mem values, cl_mem weights)
{
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);

    check(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS, "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "weigh", NULL);
    check(kernel != NULL && clSetKernelArg(kernel, 0, sizeof values, &values) == CL_SUCCESS &&
              clSetKernelArg(kernel, 1, sizeof weights, &weights) == CL_SUCCESS,
          "clCreateKernel");
    clReleaseProgram(program);
    return kernel;
}

static int is_right(profk_row row, const float *weight)
{
    int right = row.status == PROFK_ROW_CERTIFIED;

    for (int i = 0; i < K; i++) /* the greatest values are N, N - 1, N - 2, ... */
        right = right && fabsf(weight[i] - (float)(N - i) / (float)N) < 4e-7f;
    return right;
}

int main(void)
{
    cl_context context = NULL;
    cl_device_id device = NULL;
    profk_context *ctx = NULL;
    profk_plan *plan = NULL;
    profk_problem problem;
    profk_row row;
    float weight[K];
    const size_t size = K;
    cl_event written = NULL, selected = NULL, weighed = NULL;

    for (uint32_t i = 0; i < N; i++)
        x[i] = (float)(1 + (i * 40503u) % N); /* 1 .. N, scattered */

    check(profk_context_create_default(NULL, NULL, &ctx) == PROFK_OK, "profk_context_create_default");
    profk_context_handles(ctx, &context, &device);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    check(queue != NULL, "clCreateCommandQueue");
    cl_mem input = make_buffer(context, sizeof x), results = make_buffer(context, sizeof row);
    cl_mem values = make_buffer(context, K * sizeof(float)), weights = make_buffer(context, sizeof weight);
    cl_kernel kernel = make_kernel(context, device, values, weights);
    profk_chunk chunk = {input, 0, N, 0, NULL, PROFK_MEM_BUFFER, 0, {0, 0}};
    profk_io io = {sizeof io, &chunk, 1, values, NULL, results, 0, 0, 0};

    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, K);
    check(profk_plan_create(ctx, &problem, NULL, PROFK_ASYNC, &plan) == PROFK_OK, "profk_plan_create");

    /* Three commands, each waiting on the device for the one before; none of these calls waits. */
    check(clEnqueueWriteBuffer(queue, input, CL_FALSE, 0, sizeof x, x, 0, NULL, &written) == CL_SUCCESS,
          "clEnqueueWriteBuffer");
    check(profk_execute(plan, queue, &io, 1, &written, &selected) == PROFK_OK, "profk_execute");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 1, &selected, &weighed) == CL_SUCCESS,
          "clEnqueueNDRangeKernel");

    /* The program's own wait.  The row says whether the result is certified. */
    check(clEnqueueReadBuffer(queue, weights, CL_TRUE, 0, sizeof weight, weight, 1, &weighed, NULL) == CL_SUCCESS &&
              clEnqueueReadBuffer(queue, results, CL_TRUE, 0, sizeof row, &row, 1, &weighed, NULL) == CL_SUCCESS,
          "clEnqueueReadBuffer");
    printf("status %u after %u attempt(s); weights %.7f %.7f ... %.7f\n", (unsigned)row.status,
           (unsigned)row.attempts, (double)weight[0], (double)weight[1], (double)weight[K - 1]);
    check(is_right(row, weight), "the comparison with the input");

    clReleaseEvent(written);
    clReleaseEvent(selected);
    clReleaseEvent(weighed);
    profk_plan_destroy(plan);
    clReleaseKernel(kernel);
    clReleaseMemObject(input);
    clReleaseMemObject(values);
    clReleaseMemObject(weights);
    clReleaseMemObject(results);
    clReleaseCommandQueue(queue);
    profk_context_destroy(ctx);
    return 0;
}
