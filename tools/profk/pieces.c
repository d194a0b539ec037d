/* pieces.c: see pieces.h. */
#include "pieces.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* How a device takes host memory. */
struct ground {
    cl_context cl;
    size_t align_nbytes; /* of a buffer's start */
    bool shares_memory;
};

/* The input cut into parts of `most` elements, the last one shorter; each becomes a buffer. */
struct cut {
    struct ground ground;
    const struct input *input;
    uint64_t total, most; /* elements */
    uint64_t head;        /* elements in front of the part in each buffer */
    bool in_place;
};

static struct ground explore(const struct planned *planned)
{
    struct ground ground = {.cl = NULL};
    cl_device_id device;
    cl_bool shares = CL_FALSE;
    cl_uint bits = 0;

    profk_context_handles(planned->ctx, &ground.cl, &device);
    clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof shares, &shares, NULL);
    clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    ground.shares_memory = shares == CL_TRUE;
    ground.align_nbytes = bits / 8 < 128 ? 128 : bits / 8; /* at least the largest OpenCL type */
    return ground;
}

/* The mapping begins at the file's first byte, on a page, so what is gained by rounding down stays inside it. */
static struct cut plan_cut(const struct planned *planned, const struct input *input)
{
    struct cut cut = {.ground = explore(planned), .input = input, .total = input->rows * input->n};
    uint64_t element = input->type->nbytes, align = cut.ground.align_nbytes;
    uint64_t head = ((uintptr_t)input->source.bytes + input->data_at) % align;

    cut.in_place = cut.ground.shares_memory && head % element == 0 && head <= input->data_at;
    cut.head = cut.in_place ? head / element : 0;
    cut.most = (planned->device.max_alloc_nbytes - align) / align * align / element; /* all parts start alike */
    return cut;
}

static int refuse_size(const struct planned *planned, const struct cut *cut)
{
    return fail(exit_status_of(PROFK_ERR_UNSUPPORTED),
                "the %" PRIu64 " rows of %s have %" PRIu64 " bytes, one allocation of %s at most %" PRIu64
                "; give fewer rows at a time or take another --device",
                cut->input->rows, cut->input->source.name, cut->total * cut->input->type->nbytes,
                planned->device.name, planned->device.max_alloc_nbytes);
}

/* Route rows reads a row from one buffer. */
static int make_part(const struct cut *cut, uint64_t first, uint64_t count, cl_mem *ret)
{
    uint64_t element = cut->input->type->nbytes;
    unsigned char *start =
        (unsigned char *)cut->input->source.bytes + cut->input->data_at + (first - cut->head) * element;
    cl_mem_flags use = cut->in_place ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
    cl_int error;

    *ret = clCreateBuffer(cut->ground.cl, CL_MEM_READ_ONLY | use, (size_t)((count + cut->head) * element), start,
                          &error);
    return *ret ? EXIT_DONE : fail_opencl(error, "clCreateBuffer for the input");
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int make_buffers(struct pieces *pieces, const struct cut *cut)
{
    uint64_t first = 0;
    int status = EXIT_DONE;

    while (first < cut->total && status == EXIT_DONE) {
        uint64_t count = least(cut->total - first, cut->most);

        status = make_part(cut, first, count, &pieces->buffers[pieces->buffer_count]);
        pieces->buffer_count += status == EXIT_DONE;
        first += count;
    }
    return status;
}

/* A chunk ends where one of `wanted` equal pieces ends and where a buffer does. */
static void make_chunks(struct pieces *pieces, const struct cut *cut, uint64_t wanted)
{
    uint64_t length = cut->total / wanted, longer = cut->total % wanted; /* the first ones have one element more */
    uint64_t at = 0, piece = 1, part = 0;

    while (at < cut->total) {
        uint64_t piece_end = piece * length + least(piece, longer), part_end = (part + 1) * cut->most;
        uint64_t end = least(least(piece_end, part_end), cut->total);

        pieces->chunks[pieces->chunk_count++] = (profk_chunk){.buffer = pieces->buffers[part],
                                                              .offset = cut->head + at - part * cut->most,
                                                              .count = end - at,
                                                              .first = at};
        piece += end == piece_end;
        part += end == part_end;
        at = end;
    }
}

/* Rows share a buffer, and the chunk's length is that of a row. */
static void make_rows_chunk(struct pieces *pieces, const struct cut *cut)
{
    pieces->chunks[0] = (profk_chunk){.buffer = pieces->buffers[0], .offset = cut->head, .count = cut->input->n};
    pieces->chunk_count = 1;
}

int pieces_open(struct pieces *pieces, const struct planned *planned, const struct input *input, uint64_t wanted)
{
    struct cut cut = plan_cut(planned, input);
    uint64_t parts = (cut.total + cut.most - 1) / cut.most;
    int status;

    memset(pieces, 0, sizeof *pieces);
    wanted = least(wanted, cut.total);
    if (parts > 1 && input->rows > 1)
        return refuse_size(planned, &cut);
    pieces->buffers = calloc((size_t)parts, sizeof *pieces->buffers);
    pieces->chunks = calloc((size_t)(parts + wanted), sizeof *pieces->chunks);
    if (!pieces->buffers || !pieces->chunks)
        return fail(EXIT_FAILED, "no memory for a list of %" PRIu64 " chunks; give fewer --chunks", parts + wanted);
    status = make_buffers(pieces, &cut);
    if (status == EXIT_DONE && input->rows > 1)
        make_rows_chunk(pieces, &cut);
    else if (status == EXIT_DONE)
        make_chunks(pieces, &cut, wanted);
    return status;
}

void pieces_close(struct pieces *pieces)
{
    size_t i;

    for (i = 0; i < pieces->buffer_count; i++)
        clReleaseMemObject(pieces->buffers[i]);
    free(pieces->buffers);
    free(pieces->chunks);
    memset(pieces, 0, sizeof *pieces);
}
