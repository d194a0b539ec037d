/* read_speed.c: see read_speed.h. */
#include "read_speed.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "report.h"

/* LOADS vectors at once, so that as many are on their way; in pieces they come from one piece. */
static const char source[] =
    "uint fold4(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }\n"
    "uint fold16(uint16 v) { return fold4(v.s0123 ^ v.s4567 ^ v.s89ab ^ v.scdef); }\n"
    "__kernel void side_by_side(__global const WIDE *in, ulong first, ulong end, __global uint *out)\n"
    "{\n"
    "    WIDE all[LOADS];\n"
    "    ulong step = get_global_size(0), i = first + get_global_id(0);\n"
    "    for (int j = 0; j < LOADS; j++)\n"
    "        all[j] = (WIDE)(0);\n"
    "    for (; i + (LOADS - 1) * step < end; i += LOADS * step)\n"
    "        for (int j = 0; j < LOADS; j++)\n"
    "            all[j] ^= in[i + j * step];\n"
    "    for (; i < end; i += step)\n"
    "        all[0] ^= in[i];\n"
    "    for (int j = 1; j < LOADS; j++)\n"
    "        all[0] ^= all[j];\n"
    "    out[get_global_id(0)] = FOLD(all[0]);\n"
    "}\n"
    "__kernel void in_pieces(__global const WIDE *in, ulong first, ulong end, __global uint *out)\n"
    "{\n"
    "    WIDE all[LOADS];\n"
    "    ulong piece = (end - first + get_global_size(0) - 1) / get_global_size(0);\n"
    "    ulong i = min(end, first + get_global_id(0) * piece), stop = min(end, i + piece);\n"
    "    for (int j = 0; j < LOADS; j++)\n"
    "        all[j] = (WIDE)(0);\n"
    "    for (; i + LOADS <= stop; i += LOADS)\n"
    "        for (int j = 0; j < LOADS; j++)\n"
    "            all[j] ^= in[i + j];\n"
    "    for (; i < stop; i++)\n"
    "        all[0] ^= in[i];\n"
    "    for (int j = 1; j < LOADS; j++)\n"
    "        all[0] ^= all[j];\n"
    "    out[get_global_id(0)] = FOLD(all[0]);\n"
    "}\n";

#define SIDE "side_by_side"
#define PIECES "in_pieces"

static const struct variant {
    const char *how, *kernel;
    unsigned load_nbytes, loads;
    unsigned groups; /* work-groups per compute unit */
} variants[READ_VARIANTS] = {
    {"16-byte loads side by side", SIDE, 16, 1, 16},  {"4 16-byte loads side by side", SIDE, 16, 4, 16},
    {"8 16-byte loads side by side", SIDE, 16, 8, 8}, {"64-byte loads side by side", SIDE, 64, 1, 16},
    {"4 64-byte loads side by side", SIDE, 64, 4, 8}, {"16-byte loads in pieces", PIECES, 16, 1, 16},
    {"64-byte loads in pieces", PIECES, 64, 1, 16},   {"4 64-byte loads in pieces", PIECES, 64, 4, 16},
    {"8 64-byte loads in pieces", PIECES, 64, 8, 4},  {"8 64-byte loads in few pieces", PIECES, 64, 8, 1},
};

static int build(const profk_context *ctx, const struct variant *variant, cl_kernel *ret)
{
    char options[96];
    const char *text = source;
    cl_program program;
    cl_device_id device;
    cl_context cl;
    cl_int error;

    profk_context_handles(ctx, &cl, &device);
    program = clCreateProgramWithSource(cl, 1, &text, NULL, &error);
    if (!program)
        return fail_opencl(error, "clCreateProgramWithSource");
    snprintf(options, sizeof options, "-DWIDE=uint%u -DFOLD=fold%u -DLOADS=%u", variant->load_nbytes / 4,
             variant->load_nbytes / 4, variant->loads);
    error = clBuildProgram(program, 1, &device, options, NULL, NULL);
    if (error == CL_SUCCESS)
        *ret = clCreateKernel(program, variant->kernel, &error);
    clReleaseProgram(program);
    return *ret ? EXIT_DONE : fail_opencl(error, "the build of a reading kernel");
}

/* Side by side: work-groups of 256.  Pieces: one work-item a work-group on a CPU, 64 elsewhere. */
static int shape(const profk_context *ctx, const struct variant *variant, struct reader *reader)
{
    cl_device_type type = 0;
    cl_uint units = 1;
    cl_device_id device;
    size_t allowed = 1;
    cl_int error;

    profk_context_handles(ctx, NULL, &device);
    clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    error =
        clGetKernelWorkGroupInfo(reader->kernel, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof allowed, &allowed, NULL);
    if (error != CL_SUCCESS)
        return fail_opencl(error, "clGetKernelWorkGroupInfo");
    reader->local = strcmp(variant->kernel, SIDE) == 0 ? 256 : type & CL_DEVICE_TYPE_CPU ? 1 : 64;
    if (reader->local > allowed)
        reader->local = allowed;
    reader->global = reader->local * units * variant->groups;
    return EXIT_DONE;
}

int read_speed_open(struct read_speed *speed, const profk_context *ctx, cl_command_queue queue)
{
    size_t items = 0, i;
    cl_context cl;
    cl_int error;
    int status = EXIT_DONE;

    memset(speed, 0, sizeof *speed);
    speed->queue = queue;
    for (i = 0; i < READ_VARIANTS && status == EXIT_DONE; i++) {
        struct reader *reader = &speed->readers[i];

        status = build(ctx, &variants[i], &reader->kernel);
        if (status == EXIT_DONE)
            status = shape(ctx, &variants[i], reader);
        items = reader->global > items ? reader->global : items;
    }
    if (status != EXIT_DONE)
        return status;
    profk_context_handles(ctx, &cl, NULL);
    speed->sink = clCreateBuffer(cl, CL_MEM_READ_WRITE, items * sizeof(cl_uint), NULL, &error);
    return speed->sink ? EXIT_DONE : fail_opencl(error, "clCreateBuffer for the reads");
}

static cl_int enqueue(const struct read_speed *speed, size_t number, const struct read_span *span)
{
    const struct reader *reader = &speed->readers[number];
    cl_ulong load = variants[number].load_nbytes, first = (span->first + load - 1) / load, end = span->end / load;
    cl_int error = CL_SUCCESS;

    if (first >= end)
        return CL_SUCCESS;
    error |= clSetKernelArg(reader->kernel, 0, sizeof span->buffer, &span->buffer);
    error |= clSetKernelArg(reader->kernel, 1, sizeof first, &first);
    error |= clSetKernelArg(reader->kernel, 2, sizeof end, &end);
    error |= clSetKernelArg(reader->kernel, 3, sizeof speed->sink, &speed->sink);
    if (error != CL_SUCCESS)
        return error;
    return clEnqueueNDRangeKernel(speed->queue, reader->kernel, 1, NULL, &reader->global, &reader->local, 0, NULL,
                                  NULL);
}

/* One reader over all spans. */
static int read_once(struct read_speed *speed, size_t number, const struct read_span *spans, size_t count)
{
    double start = clock_seconds();
    cl_int error = CL_SUCCESS;
    size_t i;

    for (i = 0; i < count && error == CL_SUCCESS; i++)
        error = enqueue(speed, number, &spans[i]);
    if (error == CL_SUCCESS)
        error = clFinish(speed->queue);
    if (error != CL_SUCCESS)
        return fail_opencl(error, "a reading kernel");
    speed->readers[number].seconds = fmin(speed->readers[number].seconds, clock_seconds() - start);
    return EXIT_DONE;
}

static bool is_chosen(const struct read_speed *speed, size_t taken, size_t number)
{
    size_t i;

    for (i = 0; i < taken; i++)
        if (speed->chosen[i] == number)
            return true;
    return false;
}

int read_speed_choose(struct read_speed *speed, const struct read_span *spans, size_t count)
{
    enum { TRIES = 3 }; /* the first one compiles */
    size_t number, taken;
    int try, status = EXIT_DONE;

    for (try = 0; try < TRIES; try++) {
        for (number = 0; number < READ_VARIANTS && status == EXIT_DONE; number++) {
            if (try < 2)
                speed->readers[number].seconds = HUGE_VAL;
            status = read_once(speed, number, spans, count);
        }
    }
    for (taken = 0; taken < READ_CHOSEN; taken++) {
        size_t best = READ_VARIANTS;

        for (number = 0; number < READ_VARIANTS; number++)
            if (!is_chosen(speed, taken, number) &&
                (best == READ_VARIANTS || speed->readers[number].seconds < speed->readers[best].seconds))
                best = number;
        speed->chosen[taken] = best;
    }
    return status;
}

int read_speed_turn(struct read_speed *speed, const struct read_span *spans, size_t count)
{
    int status = EXIT_DONE;
    size_t i;

    for (i = 0; i < READ_CHOSEN && status == EXIT_DONE; i++)
        status = read_once(speed, speed->chosen[i], spans, count);
    return status;
}

double read_speed_best(const struct read_speed *speed, const char **how_ret)
{
    size_t best = 0, number;

    for (number = 1; number < READ_VARIANTS; number++)
        if (speed->readers[number].seconds < speed->readers[best].seconds)
            best = number;
    *how_ret = variants[best].how;
    return speed->readers[best].seconds;
}

void read_speed_close(struct read_speed *speed)
{
    size_t i;

    for (i = 0; i < READ_VARIANTS; i++)
        if (speed->readers[i].kernel)
            clReleaseKernel(speed->readers[i].kernel);
    if (speed->sink)
        clReleaseMemObject(speed->sink);
    memset(speed, 0, sizeof *speed);
}
