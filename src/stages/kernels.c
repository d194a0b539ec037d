/* kernels.c: what specialises the programs, and the kernels that a plan owns. */
#include "stages/stages.h"

static const char *const file_names[PROFK__FILE_COUNT] = {
    [PROFK__FILE_SAMPLE] = "sample.cl", [PROFK__FILE_THRESHOLD] = "select.cl", [PROFK__FILE_FILTER] = "filter.cl",
    [PROFK__FILE_STREAM] = "stream.cl", [PROFK__FILE_REFINE] = "select.cl",       [PROFK__FILE_SORT] = "sort.cl",
    [PROFK__FILE_ROWS] = "rows.cl",     [PROFK__FILE_SOLO] = "solo.cl",
    [PROFK__FILE_FULL] = "full.cl",
};

static const struct {
    const char *name;
    enum profk__file file;
} kernel_table[PROFK__KERNEL_COUNT] = {
#define X(name, file) {"profk_" #name, PROFK__FILE_##file},
    PROFK__KERNEL_LIST(X)
#undef X
};

struct profk__spec profk__spec_default(const struct profk__tuned *tuned, const struct profk__device *device,
                                       uint32_t filter_shape, uint32_t width_nbytes, uint32_t index_nbytes)
{
    uint32_t shape = filter_shape != 0 ? filter_shape : tuned->filter_shape;
    const struct profk__filter_tuned *filter = shape == PROFK_SHAPE_STREAM ? &tuned->stream : &tuned->tile;
    uint32_t vector_width = filter->vector_nbytes / width_nbytes;
    uint32_t stream_items_max = width_nbytes < 4 ? 8 * width_nbytes : 32; /* a bit of an element for each: cl/hits.clh */
    struct profk__spec spec = {
        .width_nbytes = width_nbytes,
        .index_nbytes = index_nbytes,
        .sample_slots = tuned->sample_slots,
        .part_elements_max = device->loop_max == 0 ? 1 << 18 : 1 << 13,
        .filter_shape = shape,
        .vector_width = vector_width < 1 ? 1 : vector_width > 16 ? 16 : vector_width,
        .filter_items = filter->items,
        .sort_alone_max = tuned->sort_alone_max,
        .wg = {
            [PROFK__FILE_SAMPLE] = tuned->sample_wg, [PROFK__FILE_THRESHOLD] = tuned->threshold_wg,
            [PROFK__FILE_FILTER] = filter->wg,       [PROFK__FILE_STREAM] = filter->wg,
            [PROFK__FILE_REFINE] = tuned->refine_wg, [PROFK__FILE_SORT] = tuned->sort_wg,
            [PROFK__FILE_ROWS] = tuned->rows_wg,     [PROFK__FILE_FULL] = tuned->full_wg,
        },
    };

    if (shape == PROFK_SHAPE_STREAM && spec.filter_items > stream_items_max)
        spec.filter_items = stream_items_max;
    while (shape == PROFK_SHAPE_TILE && spec.filter_items * spec.vector_width > 32)
        spec.filter_items /= 2;
    return spec;
}

/* Local memory of rows.cl beside the pairs: a histogram and a few words. */
enum { ROWS_LOCAL_NBYTES = 2048 };

uint32_t profk__local_pairs(const struct profk__spec *spec, enum profk__file file)
{
    if (file == PROFK__FILE_SOLO)
        return spec->width_nbytes <= 4 ? 1024 : 512; /* beside 1024 maxima */
    uint32_t room = PROFK__LOCAL_NBYTES - (file == PROFK__FILE_ROWS ? ROWS_LOCAL_NBYTES : 0);
    uint32_t pairs = 1;

    while (2 * pairs * (spec->width_nbytes + spec->index_nbytes) <= room && pairs < 2048)
        pairs *= 2;
    return pairs;
}

void profk__spec_settle(struct profk__spec *spec, const struct profk__device *device)
{
    uint32_t most = device->facts.max_wg < PROFK__WG_MAX ? device->facts.max_wg : PROFK__WG_MAX;

    for (int file = 0; file < PROFK__FILE_COUNT; file++) {
        uint32_t wanted = device->loop_max == 0 ? spec->wg[file] : device->only_wg;
        spec->wg[file] = wanted < most ? wanted : most;
    }
    spec->wg[PROFK__FILE_SOLO] = spec->wg[PROFK__FILE_ROWS] == 1;
    spec->sort_digit_bits = 1;
    while (spec->sort_digit_bits < 8
           && spec->wg[PROFK__FILE_SORT] << (spec->sort_digit_bits + 1) <= PROFK__SORT_TABLE_WORDS)
        spec->sort_digit_bits++;
}

/* Each digit takes a loop over the pairs, one that moves four at a time and one over the digit's values; the search takes
 * one more before it starts, and storing another. */
uint64_t profk__select_max(const struct profk__spec *spec, enum profk__file file, const struct profk__device *device)
{
    enum { DIGITS = 256 };
    uint32_t digits = spec->width_nbytes + spec->index_nbytes;

    if (device->loop_max == 0)
        return UINT32_MAX;
    return (uint64_t)((device->loop_max - DIGITS * digits) / (digits * 13 / 4 + 2) - 1) * spec->wg[file];
}

static void define(struct profk__build *build, const char *name, uint32_t value)
{
    build->defines[build->define_count++] = (struct profk__define){name, value};
}

struct profk__build profk__spec_build(const struct profk__spec *spec, enum profk__file file)
{
    struct profk__build build = {.file = file_names[file], .wg = spec->wg[file]};

    define(&build, "PK_WIDTH_BITS", 8 * spec->width_nbytes);
    define(&build, "PK_INDEX_BITS", file == PROFK__FILE_SOLO ? 32 : 8 * spec->index_nbytes); /* n < 2^31 */
    if (file == PROFK__FILE_SAMPLE)
        define(&build, "PK_SLOTS", spec->sample_slots);
    if (file == PROFK__FILE_FILTER || file == PROFK__FILE_STREAM)
        define(&build, "PK_VEC", spec->vector_width);
    if (file == PROFK__FILE_FILTER)
        define(&build, "PK_ITEMS", spec->filter_items);
    if (file == PROFK__FILE_STREAM)
        define(&build, "PK_BLOCK", spec->filter_items);
    if (file == PROFK__FILE_SORT)
        define(&build, "PK_DIGIT_BITS", spec->sort_digit_bits);
    if (file == PROFK__FILE_SORT || file == PROFK__FILE_ROWS || file == PROFK__FILE_SOLO)
        define(&build, "PK_LOCAL_PAIRS", profk__local_pairs(spec, file));
    return build;
}

/* Is a kernel there only where a work-group is one work-item? */
static int is_for_lone_items(int id)
{
    return id == PROFK__KERNEL_alone || id == PROFK__KERNEL_full_guess || id == PROFK__KERNEL_full_try
        || id == PROFK__KERNEL_full_confirm;
}

profk_status profk__kernels_create(profk_context *ctx, struct profk__spec *spec, enum profk__file file,
                                   struct profk__kernel *kernels)
{
    profk_status st = PROFK_OK;
    struct profk__build build;
    cl_program program = NULL;

    build = profk__spec_build(spec, file);
    TRY(profk__program_get(&ctx->programs, ctx->cl, &ctx->device, &build, &program, &spec->wg[file]));
    for (int id = 0; id < PROFK__KERNEL_COUNT; id++) {
        cl_int code = CL_SUCCESS;
        if (kernel_table[id].file != file || kernels[id].handle != NULL)
            continue;
        if (is_for_lone_items(id) && spec->wg[file] != 1)
            continue; /* not in the program */
        kernels[id].handle = clCreateKernel(program, kernel_table[id].name, &code);
        TRY(profk__cl_check(code, "clCreateKernel"));
        kernels[id].program = program;
        kernels[id].name = kernel_table[id].name;
        kernels[id].wg = spec->wg[file];
    }
done:
    return st;
}

void profk__kernels_store(profk_context *ctx, const struct profk__kernel *kernels, uint32_t files)
{
    for (int id = 0; id < PROFK__KERNEL_COUNT; id++)
        if (kernels[id].handle != NULL && (files >> kernel_table[id].file & 1) != 0)
            profk__program_store(&ctx->programs, kernels[id].program, ctx->device.facts.id);
}

void profk__kernels_destroy(struct profk__kernel *kernels)
{
    for (int id = 0; id < PROFK__KERNEL_COUNT; id++) {
        profk__release_kernel(kernels[id].handle);
        kernels[id].handle = NULL;
    }
}
