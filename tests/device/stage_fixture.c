/* stage_fixture.c: see stage_fixture.h. */
#include "stage_fixture.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profk.h"
#include "support/inputs.h"
#include "support/reference.h"

enum { SKIPPED = 77 };

static struct {
    profk_context *ctx;
    cl_command_queue queue;
    uint64_t seed;
    size_t buffer_count;
    cl_mem buffers[BUFFERS_MAX];
    char at[256];
} bench;

/* ---- complaints ---- */

void at_case(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(bench.at, sizeof bench.at, format, args);
    va_end(args);
}

void check_at(bool ok, const char *what, const char *file, int line)
{
    if (!ok)
        fail_msg("%s:%d: not so: %s\n    %s\n    --seed %" PRIu64, file, line, what, bench.at, bench.seed);
}

void check_status(profk_status status, const char *what, const char *file, int line)
{
    if (status != PROFK_OK)
        fail_msg("%s:%d: %s: %s: %s\n    %s\n    --seed %" PRIu64, file, line, what, profk_status_string(status),
                 profk_context_message(bench.ctx), bench.at, bench.seed);
}

void *take(size_t count, size_t nbytes)
{
    void *memory = calloc(count + 1, nbytes);

    CHECK(memory != NULL);
    return memory;
}

/* ---- the host's pairs ---- */

static uint64_t all_bits(uint32_t type)
{
    return UINT64_MAX >> (64 - 8 * reference_type(type)->nbytes);
}

/* Ascending with the value, 0 for NaN if it comes last; the value's absolute one for magnitude. */
static uint64_t float_key(struct rule rule, uint64_t bits)
{
    uint64_t all = all_bits(rule.type), sign = all ^ all >> 1, size = bits & ~sign;

    if (isnan(reference_real(rule.type, bits)))
        return rule.order == PROFK_SMALLEST || rule.nan == PROFK_NAN_LAST ? 0 : all;
    if (rule.order == PROFK_MAGNITUDE)
        return size + 1;
    uint64_t ascending = reference_real(rule.type, bits) < 0 ? sign - size : sign + size;
    /* Negative numbers have the complement of their bits, one less than sign - size: no key is left between zeros. */
    ascending -= reference_real(rule.type, bits) < 0;
    return rule.order == PROFK_SMALLEST ? all - ascending : ascending;
}

uint64_t host_key(struct rule rule, uint64_t bits)
{
    uint64_t all = all_bits(rule.type), sign = all ^ all >> 1;
    enum reference_kind kind = reference_type(rule.type)->kind;

    if (kind == REFERENCE_REAL)
        return float_key(rule, bits);
    if (kind == REFERENCE_SIGNED && rule.order == PROFK_MAGNITUDE)
        return bits < sign ? bits : all - bits + 1;
    uint64_t ascending = kind == REFERENCE_SIGNED ? (bits + sign) & all : bits;
    return rule.order == PROFK_SMALLEST ? all - ascending : ascending;
}

bool pair_reaches(const struct pair *pair, const struct pair *tau)
{
    return pair->key > tau->key || (pair->key == tau->key && pair->index <= tau->index);
}

static int by_index(const void *a, const void *b)
{
    const struct pair *p = a, *q = b;

    return p->index < q->index ? -1 : p->index > q->index;
}

static int by_rank(const void *a, const void *b)
{
    const struct pair *p = a, *q = b;

    return p->key != q->key ? (p->key > q->key ? -1 : 1) : by_index(a, b);
}

void sort_by_rank(struct pair *pairs, size_t count)
{
    qsort(pairs, count, sizeof *pairs, by_rank);
}

void sort_by_index(struct pair *pairs, size_t count)
{
    qsort(pairs, count, sizeof *pairs, by_index);
}

void set_keys(struct rule rule, struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pairs[i].key = host_key(rule, pairs[i].bits);
}

/* Zero, denormals, the least normal number, one, the greatest, infinity, NaN; each with both signs. */
static size_t special_floats(uint32_t type, uint64_t *ret)
{
    uint64_t all = all_bits(type), sign = all ^ all >> 1;
    uint64_t infinity = inputs_encode(type, (double)INFINITY), one = inputs_encode(type, 1.0);
    uint64_t normal = infinity & (0 - infinity); /* the exponent's lowest bit */
    const uint64_t sizes[] = {0,
                              1,
                              2,
                              normal - 1,
                              normal,
                              normal + 1,
                              one - 1,
                              one,
                              one + 1,
                              infinity - 1,
                              infinity,
                              infinity + 1,
                              infinity + 2,
                              infinity + normal / 2,
                              sign - 1};
    size_t count = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ret[count++] = sizes[i];
        ret[count++] = sizes[i] | sign;
    }
    return count;
}

size_t special_values(uint32_t type, uint64_t *ret)
{
    uint64_t all = all_bits(type), sign = all ^ all >> 1;
    const uint64_t integers[] = {0, 1, 2, 100, sign - 2, sign - 1, sign, sign + 1, sign + 2, all - 100, all - 1, all};

    if (reference_type(type)->kind == REFERENCE_REAL)
        return special_floats(type, ret);
    memcpy(ret, integers, sizeof integers);
    return sizeof integers / sizeof integers[0];
}

static uint64_t extreme_value(struct rule rule, bool first)
{
    uint64_t values[SPECIALS_MAX];
    size_t count = special_values(rule.type, values), best = 0;

    for (size_t i = 1; i < count; i++) {
        uint64_t key = host_key(rule, values[i]), best_key = host_key(rule, values[best]);
        if (first ? key > best_key : key < best_key)
            best = i;
    }
    return values[best];
}

uint64_t first_value(struct rule rule)
{
    return extreme_value(rule, true);
}

uint64_t last_value(struct rule rule)
{
    return extreme_value(rule, false);
}

uint64_t random_below(uint64_t *state, uint64_t bound)
{
    return inputs_random(state) % bound;
}

struct rule random_rule(uint32_t width_nbytes, uint64_t *state)
{
    struct rule rule;

    do
        rule.type = REFERENCE_FIRST_TYPE + (uint32_t)random_below(state, REFERENCE_TYPES);
    while (reference_type(rule.type)->nbytes != width_nbytes);
    rule.order = (uint32_t)random_below(state, 3);
    rule.nan = (uint32_t)random_below(state, 2);
    return rule;
}

void random_elements(uint32_t type, uint64_t *state, size_t variety, size_t count, uint64_t *ret)
{
    uint64_t specials[SPECIALS_MAX], all = all_bits(type), first = inputs_random(state);
    size_t special_count = special_values(type, specials);

    for (size_t i = 0; i < count; i++) {
        uint64_t value = inputs_mix(first, random_below(state, variety));
        ret[i] = value % 3 == 0 ? specials[value / 3 % special_count] : value >> 3 & all;
    }
}

static void shuffle(uint64_t *state, uint64_t *values, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)random_below(state, i);
        uint64_t kept = values[i - 1];
        values[i - 1] = values[j];
        values[j] = kept;
    }
}

void random_indices(uint32_t index_nbytes, uint64_t *state, size_t count, uint64_t *ret)
{
    uint64_t top = UINT64_C(1) << (index_nbytes == 4 ? 32 : 40);
    uint64_t gap = random_below(state, 2) == 0 ? 1 : top / (count + 1);

    for (size_t i = 0; i < count; i++)
        ret[i] = i * gap + random_below(state, gap);
    if (count > 0 && gap > 1)
        ret[count - 1] = top - 1;
    shuffle(state, ret, count);
}

void random_pairs(struct rule rule, uint32_t index_nbytes, uint64_t *state, size_t variety, size_t count,
                  struct pair *ret)
{
    uint64_t *bits = take(count, sizeof *bits), *index = take(count, sizeof *index);

    random_elements(rule.type, state, variety, count, bits);
    random_indices(index_nbytes, state, count, index);
    for (size_t i = 0; i < count; i++)
        ret[i] = (struct pair){bits[i], host_key(rule, bits[i]), index[i]};
    free(index);
    free(bits);
}

bool same_pairs(const struct pair *a, const struct pair *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i].bits != b[i].bits || a[i].index != b[i].index)
            return false;
    return true;
}

uint64_t canary(uint32_t nbytes)
{
    return UINT64_C(0xCCCCCCCCCCCCCCCC) >> (64 - 8 * nbytes);
}

/* ---- the device ---- */

int bench_open(uint64_t seed)
{
    cl_context cl;
    cl_device_id device;
    cl_command_queue_properties can = 0;
    cl_int code;
    profk_status st = profk_context_create_default(NULL, NULL, &bench.ctx);

    bench.seed = seed;
    if (st == PROFK_ERR_NO_DEVICE) {
        fprintf(stderr, "skipped: %s\n", profk_context_message(NULL));
        return SKIPPED;
    }
    if (st != PROFK_OK) {
        fprintf(stderr, "FAILED: no context: %s\n", profk_context_message(NULL));
        return 1;
    }
    profk_context_handles(bench.ctx, &cl, &device);
    clGetDeviceInfo(device, CL_DEVICE_QUEUE_PROPERTIES, sizeof can, &can, NULL);
    bench.queue = clCreateCommandQueue(cl, device, can & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    return code == CL_SUCCESS ? 0 : 1;
}

void bench_clear(void)
{
    while (bench.buffer_count > 0)
        clReleaseMemObject(bench.buffers[--bench.buffer_count]);
}

void bench_close(void)
{
    bench_clear();
    if (bench.queue != NULL)
        clReleaseCommandQueue(bench.queue);
    profk_context_destroy(bench.ctx);
    memset(&bench, 0, sizeof bench);
}

const struct profk__device *bench_device(void)
{
    return &bench.ctx->device;
}

cl_mem upload_bytes(const void *bytes, size_t nbytes)
{
    cl_int code = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(bench.ctx->cl, CL_MEM_READ_WRITE, nbytes > 0 ? nbytes : 1, NULL, &code);

    CHECK(code == CL_SUCCESS && bench.buffer_count < BUFFERS_MAX);
    bench.buffers[bench.buffer_count++] = buffer;
    if (nbytes > 0) /* a blocking write has copied its bytes but need not have ended: the queue has no order */
        CHECK(clEnqueueWriteBuffer(bench.queue, buffer, CL_TRUE, 0, nbytes, bytes, 0, NULL, NULL) == CL_SUCCESS
              && clFinish(bench.queue) == CL_SUCCESS);
    return buffer;
}

cl_mem upload(uint32_t nbytes, const uint64_t *values, size_t count)
{
    unsigned char *bytes = take(count, nbytes);

    for (size_t i = 0; i < count; i++)
        memcpy(bytes + i * nbytes, &values[i], nbytes); /* little-endian, as all devices that profk uses */
    cl_mem buffer = upload_bytes(bytes, count * nbytes);
    free(bytes);
    return buffer;
}

cl_mem upload_canaries(size_t nbytes)
{
    unsigned char *bytes = take(nbytes, 1);

    memset(bytes, CANARY, nbytes);
    cl_mem buffer = upload_bytes(bytes, nbytes);
    free(bytes);
    return buffer;
}

void download_bytes(cl_mem buffer, size_t nbytes, void *ret)
{
    if (nbytes > 0)
        CHECK(clEnqueueReadBuffer(bench.queue, buffer, CL_TRUE, 0, nbytes, ret, 0, NULL, NULL) == CL_SUCCESS);
}

void download(cl_mem buffer, uint32_t nbytes, size_t count, uint64_t *ret)
{
    unsigned char *bytes = take(count, nbytes);

    download_bytes(buffer, count * nbytes, bytes);
    for (size_t i = 0; i < count; i++) {
        ret[i] = 0;
        memcpy(&ret[i], bytes + i * nbytes, nbytes);
    }
    free(bytes);
}

void kit_open(struct kit *kit, const struct config *config, uint32_t shape, uint32_t files)
{
    const struct profk__device *device = bench_device();
    const struct profk__tuned tuned = profk__tuned_builtin(device);

    memset(kit, 0, sizeof *kit);
    kit->config = *config;
    kit->spec = profk__spec_default(&tuned, device, shape, config->width_nbytes, config->index_nbytes);
    kit->spec.vector_width = config->vector_width;
    kit->spec.filter_items = config->filter_items;
    if (config->sample_slots != 0)
        kit->spec.sample_slots = config->sample_slots;
    for (int file = 0; file < PROFK__FILE_COUNT; file++)
        kit->spec.wg[file] = config->wg;
    profk__spec_settle(&kit->spec, device);
    for (uint32_t file = 0; file < PROFK__FILE_COUNT; file++)
        if ((files >> file & 1) != 0 && kit->spec.wg[file] != 0)
            CHECK_OK(profk__kernels_create(bench.ctx, &kit->spec, file, kit->kernels));
}

void kit_close(struct kit *kit)
{
    profk__kernels_destroy(kit->kernels);
}

/* ---- a task ---- */

bool job_serves(const struct job *job, uint32_t row)
{
    return job->service == SERVE_ALL || (job->service == SERVE_LIST && row % 2 == 0);
}

/* The list as the device would make it: how many, then the rows. */
static cl_mem upload_list(const struct job *job)
{
    uint64_t *words = take(job->task.rows + 1, sizeof *words);
    uint64_t count = 0;

    for (uint32_t row = job->task.rows; row-- > 0;)
        if (job_serves(job, row))
            words[++count] = row;
    words[0] = count;
    cl_mem list = upload(sizeof(cl_uint), words, (size_t)count + 1);
    free(words);
    return list;
}

void job_open(struct job *job, const struct kit *kit, struct rule rule, enum service service, uint32_t rows,
              uint64_t n, uint64_t stride, uint32_t k, uint64_t first_row)
{
    *job = (struct job){.kit = kit, .rule = rule, .service = service};
    job->task = (struct profk__task){
        .kernels = kit->kernels,
        .spec = &kit->spec,
        .rule = profk__key_rule_make(profk__type_get(rule.type), rule.order, rule.nan),
        .n = n,
        .stride = stride,
        .k = k,
        .first_row = first_row,
        .rows = rows,
        .listed = rows,
        .list_groups = rows > 4 ? 2 : 1,
        .row_cut = {1, 1, 1, 0},
        .sort_parts = 1,
        .results = upload_canaries(rows * sizeof(profk_row)),
        .states = upload_canaries(rows * sizeof(struct profk__row_state)),
    };
    if (service != SERVE_ALL)
        job->task.list = upload_list(job);
    job->chain = (struct profk__chain){.queue = bench.queue, .options = &bench.ctx->options};
}

/* One piece of all rows, in a buffer that ends with the last of its elements. */
static struct profk__piece load_piece(const struct job *job, const uint64_t *x, uint32_t lead, uint64_t first,
                                      uint64_t count)
{
    const struct profk__task *task = &job->task;
    size_t total = (size_t)(lead + (task->rows - 1) * task->stride + first + count);
    uint64_t *elements = take(total, sizeof *elements), poison = first_value(job->rule);
    struct profk__piece piece = {.start = lead + first, .first = job->index_base + first, .count = count};

    for (size_t i = 0; i < total; i++)
        elements[i] = poison;
    for (uint32_t row = 0; row < task->rows; row++)
        for (uint64_t i = row * task->stride + first, end = i + count; i < end; i++)
            elements[lead + i] = x[i];
    piece.buffer = upload(job->kit->config.width_nbytes, elements, total);
    free(elements);
    return piece;
}

void job_load(struct job *job, const uint64_t *x, uint32_t lead, uint32_t parts, uint64_t *state)
{
    uint64_t first = 0, n = job->task.n;

    CHECK(parts <= PIECES_MAX);
    job->piece_count = parts;
    for (uint32_t part = 0; part < parts; part++) {
        uint64_t end = part + 1 == parts ? n : first + random_below(state, n - first + 1);
        job->pieces[part] = load_piece(job, x, lead, first, end - first);
        first = end;
    }
}

struct profk__pairs new_pairs(const struct job *job, size_t count)
{
    const struct config *config = &job->kit->config;

    return (struct profk__pairs){upload_canaries(count * config->width_nbytes),
                                 upload_canaries(count * config->index_nbytes)};
}

struct profk__pairs upload_pairs(const struct job *job, const struct pair *pairs, size_t count)
{
    const struct config *config = &job->kit->config;
    uint64_t *words = take(count, sizeof *words);
    struct profk__pairs buffers;

    for (size_t i = 0; i < count; i++)
        words[i] = pairs[i].bits;
    buffers.bits = upload(config->width_nbytes, words, count);
    for (size_t i = 0; i < count; i++)
        words[i] = pairs[i].index;
    buffers.index = upload(config->index_nbytes, words, count);
    free(words);
    return buffers;
}

void download_pairs(const struct job *job, struct profk__pairs from, size_t count, struct pair *ret)
{
    const struct config *config = &job->kit->config;
    uint64_t *words = take(count, sizeof *words);

    download(from.bits, config->width_nbytes, count, words);
    for (size_t i = 0; i < count; i++)
        ret[i] = (struct pair){words[i], host_key(job->rule, words[i]), 0};
    download(from.index, config->index_nbytes, count, words);
    for (size_t i = 0; i < count; i++)
        ret[i].index = words[i];
    free(words);
}

bool untouched_pairs(const struct job *job, const struct pair *pairs, size_t count)
{
    const struct config *config = &job->kit->config;

    for (size_t i = 0; i < count; i++)
        if (pairs[i].bits != canary(config->width_nbytes) || pairs[i].index != canary(config->index_nbytes))
            return false;
    return true;
}

void get_results(const struct job *job, profk_row *ret)
{
    download_bytes(job->task.results, job->task.rows * sizeof *ret, ret);
}

void get_states(const struct job *job, struct profk__row_state *ret)
{
    download_bytes(job->task.states, job->task.rows * sizeof *ret, ret);
}

void job_wait(struct job *job)
{
    CHECK(clFinish(bench.queue) == CL_SUCCESS);
    profk__chain_fini(&job->chain, 0);
}
