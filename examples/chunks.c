/*
 * chunks.c: the greatest elements of one long row that lies in pieces in two buffers, as inputs do that are larger
 * than one allocation or arrive in parts.  The pieces tile the row in ascending order; an index counts from the row's
 * start.
 *
 *     cc chunks.c $(pkg-config --cflags --libs profk) -lOpenCL -o chunks
 */
#include <profk.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PART = 300000, N = 3 * PART, K = 4 };

static uint16_t x[N];

/* Ends the program if a call failed. */
static void check(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s failed. %s\n", what, profk_context_message(NULL));
    exit(1);
}

static cl_mem make_buffer(cl_context context, size_t nbytes, void *content)
{
    cl_int code = CL_SUCCESS;
    cl_mem buffer =
        clCreateBuffer(context, CL_MEM_READ_WRITE | (content ? CL_MEM_COPY_HOST_PTR : 0), nbytes, content, &code);

    check(code == CL_SUCCESS, "clCreateBuffer");
    return buffer;
}

/* How many elements stand before element i: greater ones, and equal ones with a lower index. */
static int place_of(uint64_t i)
{
    int place = 0;

    for (uint64_t j = 0; j < N; j++)
        place += x[j] > x[i] || (x[j] == x[i] && j < i);
    return place;
}

int main(void)
{
    cl_context context = NULL;
    cl_device_id device = NULL;
    profk_context *ctx = NULL;
    profk_plan *plan = NULL;
    profk_problem problem;
    uint16_t value[K];
    uint64_t index[K];

    for (uint32_t i = 0; i < N; i++)
        x[i] = (uint16_t)(i * 2654435761u >> 17); /* many ties */

    check(profk_context_create_default(NULL, NULL, &ctx) == PROFK_OK, "profk_context_create_default");
    profk_context_handles(ctx, &context, &device);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    check(queue != NULL, "clCreateCommandQueue");

    /* The row's first and last part lie in one buffer, its middle part in another. */
    cl_mem outer = make_buffer(context, 2 * PART * sizeof *x, NULL);
    cl_mem middle = make_buffer(context, PART * sizeof *x, x + PART);
    check(clEnqueueWriteBuffer(queue, outer, CL_TRUE, 0, PART * sizeof *x, x, 0, NULL, NULL) == CL_SUCCESS &&
              clEnqueueWriteBuffer(queue, outer, CL_TRUE, PART * sizeof *x, PART * sizeof *x, x + 2 * PART, 0, NULL,
                                   NULL) == CL_SUCCESS,
          "clEnqueueWriteBuffer");
    profk_chunk chunks[3] = {{outer, 0, PART, 0, NULL, PROFK_MEM_BUFFER, 0, {0, 0}},
                             {middle, 0, PART, PART, NULL, PROFK_MEM_BUFFER, 0, {0, 0}},
                             {outer, PART, PART, 2 * PART, NULL, PROFK_MEM_BUFFER, 0, {0, 0}}};
    cl_mem values = make_buffer(context, sizeof value, NULL), indices = make_buffer(context, sizeof index, NULL);
    profk_io io = {sizeof io, chunks, 3, values, indices, NULL, 0, 0, 0};

    profk_problem_init(&problem, sizeof problem, PROFK_U16, N, K);
    check(profk_plan_create(ctx, &problem, NULL, PROFK_ESTIMATE, &plan) == PROFK_OK, "profk_plan_create");
    check(profk_execute(plan, queue, &io, 0, NULL, NULL) == PROFK_OK, "profk_execute");
    check(clEnqueueReadBuffer(queue, values, CL_TRUE, 0, sizeof value, value, 0, NULL, NULL) == CL_SUCCESS &&
              clEnqueueReadBuffer(queue, indices, CL_TRUE, 0, sizeof index, index, 0, NULL, NULL) == CL_SUCCESS,
          "clEnqueueReadBuffer");
    for (int i = 0; i < K; i++) {
        printf("%d  x[%6" PRIu64 "] = %u\n", i + 1, index[i], (unsigned)value[i]);
        check(index[i] < N && x[index[i]] == value[i] && place_of(index[i]) == i, "the comparison with the input");
    }

    profk_plan_destroy(plan);
    clReleaseMemObject(outer);
    clReleaseMemObject(middle);
    clReleaseMemObject(values);
    clReleaseMemObject(indices);
    clReleaseCommandQueue(queue);
    profk_context_destroy(ctx);
    return 0;
}
