/* trial.c: input, one call, comparison, and damage for the comparison to find. */
#include "selftest/trial.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "params/params.h"
#include "selftest/reference.h"

enum { PALETTE = 5, FRONT = 3 }; /* FRONT: elements in front of the input in its buffer */

/* What one trial holds. */
struct hold {
    const struct trial_bench *bench;
    const struct trial *trial;
    uint32_t rows, element_nbytes, index_nbytes;
    unsigned char *input, *values, *indices;
    profk_row *results;
    uint32_t *expected; /* of one row, by rank */
    profk_chunk *chunks;
    size_t chunk_count;
    profk_plan *plan;
    cl_mem input_buffer, value_buffer, index_buffer, result_buffer;
    struct trial_outcome *outcome;
};

static bool refuse(struct hold *hold, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

static bool refuse(struct hold *hold, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(hold->outcome->why, TRIAL_WHY_ROOM, format, args);
    va_end(args);
    return false;
}

/* --- input ---------------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static uint64_t infinity_bits(uint32_t type)
{
    switch (type) {
    case PROFK_F16: return 0x7C00;
    case PROFK_BF16: return 0x7F80;
    case PROFK_F32: return 0x7F800000;
    default: return UINT64_C(0x7FF0) << 48;
    }
}

/* Special: both zeros, NaN of both signs, infinity; as integers zero, the least, the greatest, -1 and another. */
static void fill_palette(uint64_t palette[PALETTE], const struct trial *trial, uint64_t *state)
{
    uint64_t sign = UINT64_C(1) << (8 * profk__reference_nbytes(trial->type) - 1);
    const uint64_t special[PALETTE] = {0, sign, sign - 1, UINT64_MAX, infinity_bits(trial->type)};
    uint32_t i;

    for (i = 0; i < PALETTE; i++)
        palette[i] = trial->pattern == SPECIAL_BITS ? special[i] : next_random(state);
}

static void fill_input(const struct hold *hold)
{
    const struct trial *trial = hold->trial;
    uint32_t nbytes = hold->element_nbytes;
    uint64_t state = hold->bench->seed - 1 + trial->n + 7919ULL * trial->k + trial->type, palette[PALETTE], total, i;

    fill_palette(palette, trial, &state);
    total = FRONT + (uint64_t)hold->rows * trial->n;
    for (i = 0; i < total; i++) {
        uint64_t bits = next_random(&state);

        if (trial->pattern == SAME_BITS)
            bits = palette[0];
        else if (trial->pattern != ANY_BITS && (trial->pattern == FEW_BITS || bits % 8 > 0))
            bits = palette[(bits >> 32) % PALETTE];
        memcpy(hold->input + i * nbytes, &bits, nbytes); /* the low bytes */
    }
}

/* --- run ------------------------------------------------------------------------------------------------------ */

static bool allocate(struct hold *hold)
{
    size_t results = (size_t)hold->rows * hold->trial->k + 1;

    hold->input = malloc(((size_t)hold->rows * hold->trial->n + FRONT) * hold->element_nbytes);
    hold->values = malloc(results * hold->element_nbytes);
    hold->indices = malloc(results * hold->index_nbytes);
    hold->results = calloc(hold->rows, sizeof *hold->results);
    hold->expected = calloc((size_t)hold->trial->k + 1, sizeof *hold->expected);
    hold->chunks = calloc(hold->chunk_count, sizeof *hold->chunks);
    if (!hold->input || !hold->values || !hold->indices || !hold->results || !hold->expected || !hold->chunks)
        return refuse(hold, "no host memory");
    return true;
}

static bool make_buffer(struct hold *hold, cl_mem_flags flags, size_t nbytes, void *host, cl_mem *ret)
{
    cl_int error;

    *ret = clCreateBuffer(hold->bench->cl, flags, nbytes, host, &error);
    return *ret || refuse(hold, "clCreateBuffer failed (OpenCL error %d)", (int)error);
}

static bool make_buffers(struct hold *hold)
{
    size_t results = (size_t)hold->rows * hold->trial->k + 1;
    size_t input_nbytes = ((size_t)hold->rows * hold->trial->n + FRONT) * hold->element_nbytes;

    return make_buffer(hold, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, input_nbytes, hold->input,
                       &hold->input_buffer) &&
           make_buffer(hold, CL_MEM_READ_WRITE, results * hold->element_nbytes, NULL, &hold->value_buffer) &&
           make_buffer(hold, CL_MEM_READ_WRITE, results * hold->index_nbytes, NULL, &hold->index_buffer) &&
           make_buffer(hold, CL_MEM_READ_WRITE, hold->rows * sizeof(profk_row), NULL, &hold->result_buffer);
}

static bool make_plan(struct hold *hold)
{
    const struct trial *trial = hold->trial;
    profk_tuning tuning = trial->tuning;
    profk_problem problem;

    profk_problem_init(&problem, sizeof problem, trial->type, trial->n, trial->k);
    problem.rows = hold->rows;
    problem.seed = hold->bench->seed;
    problem.order = trial->order;
    problem.nan = trial->nan;
    problem.sort = trial->sort;
    problem.index = trial->index;
    problem.mode = trial->mode;
    problem.route = trial->route;
    tuning.struct_size = sizeof tuning;
    hold->outcome->status = profk_plan_create(hold->bench->ctx, &problem, &tuning,
                                              trial->async ? PROFK_ASYNC : PROFK_ESTIMATE, &hold->plan);
    return hold->outcome->status == PROFK_OK || refuse(hold, "no plan: %s", profk_context_message(hold->bench->ctx));
}

static void make_chunks(struct hold *hold)
{
    uint32_t n = hold->trial->n, count = (uint32_t)hold->chunk_count, i;

    for (i = 0; i < count; i++) {
        uint64_t first = (uint64_t)n * i / count, end = (uint64_t)n * (i + 1) / count;

        hold->chunks[i] = (profk_chunk){.buffer = hold->input_buffer, .offset = FRONT + first, .count = end - first};
    }
}

static bool read_back(struct hold *hold, cl_mem buffer, size_t nbytes, void *to)
{
    cl_int error = clEnqueueReadBuffer(hold->bench->queue, buffer, CL_TRUE, 0, nbytes, to, 0, NULL, NULL);

    return error == CL_SUCCESS || refuse(hold, "clEnqueueReadBuffer failed (OpenCL error %d)", (int)error);
}

static bool execute(struct hold *hold)
{
    size_t results = (size_t)hold->rows * hold->trial->k;
    const profk_io io = {.struct_size = sizeof io,
                         .chunks = hold->chunks,
                         .chunk_count = hold->chunk_count,
                         .values = hold->value_buffer,
                         .indices = hold->index_buffer,
                         .row_results = hold->result_buffer};
    cl_event event = NULL;
    cl_int error;

    make_chunks(hold);
    hold->outcome->status = profk_execute(hold->plan, hold->bench->queue, &io, 0, NULL, &event);
    if (hold->outcome->status != PROFK_OK)
        return refuse(hold, "no answer: %s", profk_context_message(hold->bench->ctx));
    error = clWaitForEvents(1, &event);
    clReleaseEvent(event);
    if (error != CL_SUCCESS)
        return refuse(hold, "the selection failed on the device (OpenCL error %d)", (int)error);
    return read_back(hold, hold->value_buffer, results * hold->element_nbytes, hold->values) &&
           read_back(hold, hold->index_buffer, results * hold->index_nbytes, hold->indices) &&
           read_back(hold, hold->result_buffer, hold->rows * sizeof(profk_row), hold->results);
}

/* --- comparison ------------------------------------------------------------------------------------------------ */

static uint64_t index_at(const struct hold *hold, uint64_t i)
{
    uint64_t wide = 0; /* the low bytes of a narrow one */

    memcpy(&wide, hold->indices + i * hold->index_nbytes, hold->index_nbytes);
    return wide;
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* The value at place i must be the element that the index names, bit by bit. */
static bool check_place(struct hold *hold, uint32_t row, uint32_t j)
{
    uint64_t i = (uint64_t)row * hold->trial->k + j, index = index_at(hold, i);
    uint64_t element = FRONT + (uint64_t)row * hold->trial->n + hold->expected[j];

    if (index != hold->expected[j])
        return refuse(hold, "row %" PRIu32 ", place %" PRIu32 ": index %" PRIu64 " instead of %" PRIu32, row, j,
                      index, hold->expected[j]);
    if (memcmp(hold->values + i * hold->element_nbytes, hold->input + element * hold->element_nbytes,
               hold->element_nbytes) != 0)
        return refuse(hold, "row %" PRIu32 ", place %" PRIu32 ": not the value of element %" PRIu64, row, j, index);
    return true;
}

/* An unspecified sequence holds each of the expected indices once, and with each its value. */
static bool check_set(struct hold *hold, uint32_t row)
{
    uint32_t k = hold->trial->k, j;

    for (j = 0; j < k; j++) {
        uint32_t index = (uint32_t)index_at(hold, (uint64_t)row * k + j);
        const uint32_t *found = bsearch(&index, hold->expected, k - j, sizeof index, compare_u32);
        uint32_t place;

        if (!found)
            return refuse(hold, "row %" PRIu32 ": index %" PRIu32 " is none of the top %" PRIu32 ", or there twice",
                          row, index, k);
        place = (uint32_t)(found - hold->expected);
        memmove(hold->expected + place, hold->expected + place + 1, (k - j - place - 1) * sizeof index);
        if (memcmp(hold->values + ((uint64_t)row * k + j) * hold->element_nbytes,
                   hold->input + (FRONT + (uint64_t)row * hold->trial->n + index) * hold->element_nbytes,
                   hold->element_nbytes) != 0)
            return refuse(hold, "row %" PRIu32 ": not the value of element %" PRIu32, row, index);
    }
    return true;
}

static bool check_row(struct hold *hold, uint32_t row)
{
    const struct trial *trial = hold->trial;
    const unsigned char *elements = hold->input + (FRONT + (size_t)row * trial->n) * hold->element_nbytes;
    uint32_t j;

    if (hold->results[row].status != PROFK_ROW_CERTIFIED)
        return refuse(hold, "row %" PRIu32 " was not certified", row);
    if (hold->results[row].R != 0 && hold->results[row].R < trial->k) /* 0: no sample gave the answer */
        return refuse(hold, "row %" PRIu32 " is certified by %" PRIu64 " candidates", row, hold->results[row].R);
    profk__reference_topk(trial->type, trial->order, trial->nan, elements, trial->n, trial->k, hold->expected);
    if (trial->sort != PROFK_SORT_RANK)
        qsort(hold->expected, trial->k, sizeof *hold->expected, compare_u32);
    if (trial->sort == PROFK_SORT_NONE)
        return check_set(hold, row);
    for (j = 0; j < trial->k; j++)
        if (!check_place(hold, row, j))
            return false;
    return true;
}

/* Without forced parameters a third attempt has a chance of one in a million. */
static bool check_attempts(struct hold *hold, uint32_t most)
{
    const struct trial *trial = hold->trial;

    if (trial->attempts && most != trial->attempts)
        return refuse(hold, "%" PRIu32 " attempts instead of %" PRIu32, most, trial->attempts);
    if (!trial->attempts && most > 2)
        return refuse(hold, "%" PRIu32 " attempts, more than chance explains", most);
    return true;
}

static bool check_answer(struct hold *hold)
{
    uint32_t row, most = 0;

    for (row = 0; row < hold->rows; row++) {
        if (!check_row(hold, row))
            return false;
        if (hold->results[row].attempts > most)
            most = hold->results[row].attempts;
    }
    return check_attempts(hold, most);
}

static bool count_misses(struct hold *hold, profk_info *info)
{
    profk_stats stats = {.struct_size = sizeof stats};
    struct trial_law *law = &hold->outcome->law;

    if (profk_plan_info(hold->plan, info) != PROFK_OK || profk_plan_stats(hold->plan, &stats) != PROFK_OK)
        return refuse(hold, "no statistics: %s", profk_context_message(hold->bench->ctx));
    *law = (struct trial_law){.samples = stats.attempts,
                              .missed = stats.recall_misses,
                              .overflowed = stats.overflows,
                              .missed_expected = info->fail_recall * (double)stats.attempts,
                              .overflowed_expected = info->fail_overflow * (double)stats.attempts};
    return stats.attempts == hold->rows ||
           refuse(hold, "%" PRIu64 " samples of %" PRIu32 " rows", stats.attempts, hold->rows);
}

/* Rows that miss are as many as Propositions 2 and 3 say: neither too many nor too few to be chance. */
static bool check_law(struct hold *hold, const profk_info *info)
{
    const struct trial_law *law = &hold->outcome->law;
    uint32_t way;

    for (way = 0; way < 2; way++) {
        double probability = way ? info->fail_overflow : info->fail_recall;
        uint64_t missed = way ? law->overflowed : law->missed;

        if (profk__misses_exceed(law->samples, missed, probability) ||
            profk__misses_exceed(law->samples, law->samples - missed, 1 - probability))
            return refuse(hold, "%" PRIu64 " of %" PRIu64 " samples %s; chance explains about %.0f", missed,
                          law->samples, way ? "overflowed" : "missed the top k", probability * (double)law->samples);
    }
    return true;
}

/* --- damage ---------------------------------------------------------------------------------------------------- */

static void swap_bytes(unsigned char *a, unsigned char *b, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) {
        unsigned char byte = a[i];

        a[i] = b[i];
        b[i] = byte;
    }
}

/* The first result of the last row takes the damage, or its first two. */
static void damage_answer(struct hold *hold, enum damage damage)
{
    const size_t first = (size_t)(hold->rows - 1) * hold->trial->k;
    unsigned char *value = hold->values + first * hold->element_nbytes;
    unsigned char *index = hold->indices + first * hold->index_nbytes;
    profk_row *result = &hold->results[hold->rows - 1];

    switch (damage) {
    case DAMAGE_VALUE: value[0] ^= 1; break;
    case DAMAGE_INDEX: memset(index, 0xFF, hold->index_nbytes); break;
    case DAMAGE_TWICE:
        memcpy(value + hold->element_nbytes, value, hold->element_nbytes);
        memcpy(index + hold->index_nbytes, index, hold->index_nbytes);
        break;
    case DAMAGE_ORDER:
        swap_bytes(value, value + hold->element_nbytes, hold->element_nbytes);
        swap_bytes(index, index + hold->index_nbytes, hold->index_nbytes);
        break;
    case DAMAGE_STATUS: result->status = PROFK_ROW_PENDING; break;
    case DAMAGE_ATTEMPTS: result->attempts += 3; break;
    case DAMAGE_COUNT: result->R = hold->trial->k - 1; break;
    case DAMAGE_LAW: hold->outcome->law.missed /= 2; break;
    case NO_DAMAGE: break;
    }
}

/* Damages what was found right: the same judge must now refuse it. */
static bool check_judge(struct hold *hold, const profk_info *info)
{
    static const char *const names[] = {"",
                                        "a value",
                                        "an index",
                                        "a result twice",
                                        "two results exchanged",
                                        "a row's status",
                                        "too many attempts",
                                        "too few candidates",
                                        "half of the misses"};
    const enum damage damage = hold->trial->damage;

    damage_answer(hold, damage);
    if (hold->trial->law ? check_law(hold, info) : check_answer(hold))
        return refuse(hold, "the self-test took a damaged answer for right (%s)", names[damage]);
    hold->outcome->why[0] = '\0';
    return true;
}

static bool check(struct hold *hold)
{
    profk_info info = {.struct_size = sizeof info};
    bool good = hold->trial->law ? count_misses(hold, &info) && check_law(hold, &info) : check_answer(hold);

    return good && (hold->trial->damage == NO_DAMAGE || check_judge(hold, &info));
}

static void let_go(struct hold *hold)
{
    cl_mem buffers[] = {hold->input_buffer, hold->value_buffer, hold->index_buffer, hold->result_buffer};
    size_t i;

    profk_plan_destroy(hold->plan);
    for (i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (buffers[i])
            clReleaseMemObject(buffers[i]);
    free(hold->input);
    free(hold->values);
    free(hold->indices);
    free(hold->results);
    free(hold->expected);
    free(hold->chunks);
}

bool profk__trial_run(const struct trial_bench *bench, const struct trial *trial, struct trial_outcome *ret)
{
    struct hold hold = {.bench = bench,
                        .trial = trial,
                        .rows = trial->rows ? trial->rows : 1,
                        .element_nbytes = profk__reference_nbytes(trial->type),
                        .index_nbytes = trial->index == PROFK_INDEX_U32 ? 4 : 8,
                        .chunk_count = trial->chunks ? trial->chunks : 1,
                        .outcome = ret};
    bool good;

    *ret = (struct trial_outcome){.status = PROFK_OK};
    good = allocate(&hold);
    if (good) {
        fill_input(&hold);
        good = make_buffers(&hold) && make_plan(&hold) && execute(&hold) && check(&hold);
    }
    let_go(&hold);
    return good;
}
