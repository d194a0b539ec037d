/*
 * demo_speed.c: the time of one top-k call beside bare reads of the same buffer.
 *
 *   demo_speed [N [K [RUNS]]]     default 67108864 2048 9
 *
 * Fills a device buffer with N normal floats, then lets profk_execute() and four reading kernels take turns on it and
 * prints minimum and median of the call, the minimum of each read, and the ratio of the minima (call to fastest
 * read).  A read loads every byte once, 16 or 64 bytes at a time, either side by side (neighbouring work-items load
 * neighbouring vectors: what a GPU wants) or in pieces (each work-item walks one contiguous piece: what a CPU wants).
 * Times are wall clock around enqueue and wait, warm.  The answer is checked on the host.
 *
 * Exit status: 0 done, 1 a call failed or the answer is wrong, 2 bad arguments, 77 no device.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <profk.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS_MAX = 1000, READ_COUNT = 4 };

static const char read_source[] =
    "uint fold4(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }\n"
    "uint fold16(uint16 v) { return fold4(v.s0123 ^ v.s4567 ^ v.s89ab ^ v.scdef); }\n"
    "__kernel void side_by_side(__global const WIDE *in, ulong count, __global uint *out)\n"
    "{\n"
    "    WIDE all = (WIDE)(0);\n"
    "    for (ulong i = get_global_id(0); i < count; i += get_global_size(0))\n"
    "        all ^= in[i];\n"
    "    out[get_global_id(0)] = FOLD(all);\n"
    "}\n"
    "__kernel void in_pieces(__global const WIDE *in, ulong count, __global uint *out)\n"
    "{\n"
    "    WIDE all = (WIDE)(0);\n"
    "    ulong piece = (count + get_global_size(0) - 1) / get_global_size(0);\n"
    "    ulong end = min(count, (get_global_id(0) + 1) * piece);\n"
    "    for (ulong i = get_global_id(0) * piece; i < end; i++)\n"
    "        all ^= in[i];\n"
    "    out[get_global_id(0)] = FOLD(all);\n"
    "}\n";

static const struct read_variant {
    const char *label, *kernel, *options;
    size_t load_nbytes;
} read_variants[READ_COUNT] = {
    {"16-byte loads side by side", "side_by_side", "-DWIDE=uint4 -DFOLD=fold4", 16},
    {"64-byte loads side by side", "side_by_side", "-DWIDE=uint16 -DFOLD=fold16", 64},
    {"16-byte loads in pieces", "in_pieces", "-DWIDE=uint4 -DFOLD=fold4", 16},
    {"64-byte loads in pieces", "in_pieces", "-DWIDE=uint16 -DFOLD=fold16", 64},
};

struct reader {
    cl_kernel kernel;
    size_t global, local;
};

struct bench {
    uint64_t n, k;
    unsigned runs;
    profk_context *ctx;
    cl_context cl;
    cl_device_id device;
    cl_command_queue queue;
    cl_mem input, values, row, sink;
    struct reader readers[READ_COUNT];
};

_Noreturn static void die(const char *what, long code)
{
    fprintf(stderr, "demo_speed: %s (%ld)\n", what, code);
    exit(1);
}

static void check_cl(const char *what, cl_int code)
{
    if (code != CL_SUCCESS)
        die(what, code);
}

static void check(const struct bench *b, const char *what, profk_status status)
{
    if (status == PROFK_OK)
        return;
    fprintf(stderr, "demo_speed: %s: %s: %s\n", what, profk_status_string(status), profk_context_message(b->ctx));
    exit(status == PROFK_ERR_NO_DEVICE ? 77 : 1);
}

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* A uniform number in (0, 1] with 32 random bits, from a counter (splitmix64): the same data on every machine. */
static float uniform(uint64_t counter)
{
    uint64_t z = counter * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return ((float)(z >> 40) + 1.0f) * 0x1p-24f;
}

/* Normal numbers in pairs by Box and Muller. */
static void fill_normal(float *x, uint64_t n)
{
    const float two_pi = 6.2831853f;

    for (uint64_t i = 0; i < n; i += 2) {
        float radius = sqrtf(-2.0f * logf(uniform(i + 1)));
        float angle = two_pi * uniform(i + 2);

        x[i] = radius * cosf(angle);
        if (i + 1 < n)
            x[i + 1] = radius * sinf(angle);
    }
}

static float *map(const struct bench *b, cl_mem buffer, cl_map_flags flags, size_t nbytes)
{
    cl_int code;
    void *host = clEnqueueMapBuffer(b->queue, buffer, CL_TRUE, flags, 0, nbytes, 0, NULL, NULL, &code);

    check_cl("clEnqueueMapBuffer", code);
    return host;
}

static void unmap(const struct bench *b, cl_mem buffer, float *host)
{
    check_cl("clEnqueueUnmapMemObject", clEnqueueUnmapMemObject(b->queue, buffer, host, 0, NULL, NULL));
    check_cl("clFinish", clFinish(b->queue));
}

static cl_mem make_buffer(const struct bench *b, size_t nbytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(b->cl, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, nbytes, NULL, &code);

    check_cl("clCreateBuffer", code);
    return buffer;
}

static struct reader make_reader(const struct bench *b, const struct read_variant *variant)
{
    const char *text = read_source;
    const int pieces = !strcmp(variant->kernel, "in_pieces");
    struct reader reader;
    cl_device_type type = 0;
    cl_uint units = 1;
    cl_program program;
    size_t allowed;
    cl_int code;

    check_cl("clGetDeviceInfo", clGetDeviceInfo(b->device, CL_DEVICE_TYPE, sizeof type, &type, NULL));
    check_cl("clGetDeviceInfo", clGetDeviceInfo(b->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL));
    program = clCreateProgramWithSource(b->cl, 1, &text, NULL, &code);
    check_cl("clCreateProgramWithSource", code);
    check_cl("clBuildProgram", clBuildProgram(program, 1, &b->device, variant->options, NULL, NULL));
    reader.kernel = clCreateKernel(program, variant->kernel, &code);
    check_cl("clCreateKernel", code);
    check_cl("clReleaseProgram", clReleaseProgram(program));

    /* Side by side: some 16 work-groups of 256 per compute unit.  Pieces: few long ones on a CPU, many elsewhere. */
    check_cl("clGetKernelWorkGroupInfo", clGetKernelWorkGroupInfo(reader.kernel, b->device, CL_KERNEL_WORK_GROUP_SIZE,
                                                                  sizeof allowed, &allowed, NULL));
    reader.local = !pieces ? 256 : type & CL_DEVICE_TYPE_CPU ? 1 : 64;
    if (reader.local > allowed)
        reader.local = allowed;
    reader.global = reader.local * units * 16;
    return reader;
}

static void run_reader(const struct bench *b, const struct reader *reader, size_t load_nbytes)
{
    cl_ulong count = b->n * sizeof(float) / load_nbytes;

    check_cl("clSetKernelArg", clSetKernelArg(reader->kernel, 0, sizeof b->input, &b->input));
    check_cl("clSetKernelArg", clSetKernelArg(reader->kernel, 1, sizeof count, &count));
    check_cl("clSetKernelArg", clSetKernelArg(reader->kernel, 2, sizeof b->sink, &b->sink));
    check_cl("clEnqueueNDRangeKernel", clEnqueueNDRangeKernel(b->queue, reader->kernel, 1, NULL, &reader->global,
                                                              &reader->local, 0, NULL, NULL));
    check_cl("clFinish", clFinish(b->queue));
}

static void setup(struct bench *b)
{
    size_t sink_items = 1;
    cl_int code;
    float *x;

    check(b, "no context", profk_context_create_default(NULL, NULL, &b->ctx));
    profk_context_handles(b->ctx, &b->cl, &b->device);
    b->queue = clCreateCommandQueue(b->cl, b->device, 0, &code);
    check_cl("clCreateCommandQueue", code);
    for (int i = 0; i < READ_COUNT; i++) {
        b->readers[i] = make_reader(b, &read_variants[i]);
        if (b->readers[i].global > sink_items)
            sink_items = b->readers[i].global;
    }
    b->sink = make_buffer(b, sink_items * sizeof(cl_uint));
    b->values = make_buffer(b, b->k * sizeof(float));
    b->row = make_buffer(b, sizeof(profk_row));
    b->input = make_buffer(b, b->n * sizeof(float));
    x = map(b, b->input, CL_MAP_WRITE, b->n * sizeof(float));
    fill_normal(x, b->n);
    unmap(b, b->input, x);
}

static void teardown(struct bench *b)
{
    for (int i = 0; i < READ_COUNT; i++)
        clReleaseKernel(b->readers[i].kernel);
    clReleaseMemObject(b->input);
    clReleaseMemObject(b->values);
    clReleaseMemObject(b->row);
    clReleaseMemObject(b->sink);
    clReleaseCommandQueue(b->queue);
    profk_context_destroy(b->ctx);
}

/* The k-th value v is right if fewer than k elements are greater and at least k are greater or equal. */
static int answer_is_right(const struct bench *b)
{
    float *values = map(b, b->values, CL_MAP_READ, b->k * sizeof(float));
    float *x = map(b, b->input, CL_MAP_READ, b->n * sizeof(float));
    const float v = values[b->k - 1];
    uint64_t greater = 0, equal = 0;
    int descending = 1;

    for (uint64_t i = 0; i < b->n; i++) {
        greater += x[i] > v;
        equal += x[i] == v;
    }
    for (uint64_t i = 1; i < b->k; i++)
        descending &= values[i - 1] >= values[i];
    unmap(b, b->input, x);
    unmap(b, b->values, values);
    return descending && greater < b->k && greater + equal >= b->k;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Lets the call and the reads take turns, so that all meet the same machine; times are in ms. */
static void measure(const struct bench *b, profk_plan *plan, double *call_ms, double read_ms[READ_COUNT])
{
    profk_chunk chunk = {.buffer = b->input, .count = b->n};
    profk_io io = {
        .struct_size = sizeof io, .chunks = &chunk, .chunk_count = 1, .values = b->values, .row_results = b->row};

    for (int i = 0; i < READ_COUNT; i++) {
        run_reader(b, &b->readers[i], read_variants[i].load_nbytes);
        read_ms[i] = HUGE_VAL;
    }
    check(b, "first call", profk_execute(plan, b->queue, &io, 0, NULL, NULL));
    for (unsigned run = 0; run < b->runs; run++) {
        double start = now_ms();

        check(b, "profk_execute", profk_execute(plan, b->queue, &io, 0, NULL, NULL));
        call_ms[run] = now_ms() - start;
        for (int i = 0; i < READ_COUNT; i++) {
            start = now_ms();
            run_reader(b, &b->readers[i], read_variants[i].load_nbytes);
            read_ms[i] = fmin(read_ms[i], now_ms() - start);
        }
    }
    qsort(call_ms, b->runs, sizeof *call_ms, ascending);
}

static void report(const struct bench *b, profk_plan *plan, const double *call_ms, const double read_ms[READ_COUNT])
{
    static const char *const routes[] = {"auto", "rows", "profk", "full"};
    const double gbytes = (double)b->n * sizeof(float) * 1e-9;
    profk_info info = {.struct_size = sizeof info};
    profk_stats stats = {.struct_size = sizeof stats};
    char name[256] = "?";
    double fastest = HUGE_VAL;

    check(b, "profk_plan_info", profk_plan_info(plan, &info));
    check(b, "profk_plan_stats", profk_plan_stats(plan, &stats));
    check_cl("clGetDeviceInfo", clGetDeviceInfo(b->device, CL_DEVICE_NAME, sizeof name, name, NULL));
    printf("top %llu of %llu normal floats (%.3f GB) on %s\n", (unsigned long long)b->k, (unsigned long long)b->n,
           gbytes, name);
    printf("route %s, S = %llu, t = %llu, M = %llu; %llu calls, %llu attempts, %llu fallbacks\n",
           routes[info.route & 3], (unsigned long long)info.S, (unsigned long long)info.t, (unsigned long long)info.M,
           (unsigned long long)stats.calls, (unsigned long long)stats.attempts, (unsigned long long)stats.fallbacks);
    printf("  %-32s minimum %9.3f ms   median %9.3f ms\n", "profk, whole call", call_ms[0], call_ms[b->runs / 2]);
    for (int i = 0; i < READ_COUNT; i++) {
        fastest = fmin(fastest, read_ms[i]);
        printf("  read, %-26s minimum %9.3f ms   %7.2f GB/s\n", read_variants[i].label, read_ms[i],
               gbytes / (read_ms[i] * 1e-3));
    }
    printf("  the call takes %.2f times the fastest read\n", call_ms[0] / fastest);
}

static int parse_count(const char *text, uint64_t max, uint64_t *ret)
{
    char *end;

    *ret = strtoull(text, &end, 10);
    return text[0] >= '1' && text[0] <= '9' && *end == '\0' && *ret <= max;
}

int main(int argc, char **argv)
{
    static double call_ms[RUNS_MAX];
    double read_ms[READ_COUNT];
    struct bench b = {.n = UINT64_C(1) << 26, .k = 2048, .runs = 9};
    uint64_t runs = b.runs;
    profk_problem problem;
    profk_plan *plan;
    int right;

    if (argc > 4 || (argc > 1 && !parse_count(argv[1], UINT64_C(1) << 40, &b.n)) ||
        (argc > 2 && !parse_count(argv[2], b.n, &b.k)) || (argc > 3 && !parse_count(argv[3], RUNS_MAX, &runs)) ||
        b.n < 16 || b.k > b.n) {
        fprintf(stderr, "usage: demo_speed [N [K [RUNS]]]    16 <= N, 1 <= K <= N, 1 <= RUNS <= %d\n", RUNS_MAX);
        return 2;
    }
    b.runs = (unsigned)runs;
    setup(&b);
    profk_problem_init(&problem, sizeof problem, PROFK_F32, b.n, b.k);
    check(&b, "profk_plan_create", profk_plan_create(b.ctx, &problem, NULL, PROFK_ESTIMATE, &plan));
    measure(&b, plan, call_ms, read_ms);
    report(&b, plan, call_ms, read_ms);
    right = answer_is_right(&b);
    printf("  checked on the host: %s\n", right ? "right" : "WRONG");
    profk_plan_destroy(plan);
    teardown(&b);
    return right ? 0 : 1;
}
