/* dataset.c: see dataset.h. */
#include "dataset.h"

#include <inttypes.h>
#include <math.h>
#include <profk.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"
#include "report.h"

enum { ALIGN_NBYTES = 4096 }; /* of the memory: devices that share it take it in place */

/* --- distributions: element i as a real number --------------------------------------------------------------------- */

/* 64 random bits from a counter (splitmix64). */
static uint64_t random_bits(uint64_t counter)
{
    uint64_t z = (counter + 1) * UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* In (0, 1], so that a logarithm is finite. */
static double uniform_above_0(uint64_t counter)
{
    return ((double)(random_bits(counter) >> 11) + 1.0) * 0x1p-53;
}

static double uniform(uint64_t i)
{
    return (double)(random_bits(i) >> 11) * 0x1p-53;
}

/* In pairs, by Box and Muller. */
static double normal(uint64_t i)
{
    const double two_pi = 6.283185307179586;
    double radius = sqrt(-2.0 * log(uniform_above_0(i & ~UINT64_C(1)))), angle = two_pi * uniform(i | 1);

    return radius * (i & 1 ? sin(angle) : cos(angle));
}

static double uniform_1_2(uint64_t i)
{
    return 1.0 + uniform(i);
}

static double narrow(uint64_t i)
{
    return 128.6 + 0.1 * uniform(i);
}

static double lognormal(uint64_t i)
{
    return exp(normal(i));
}

static double exponential(uint64_t i)
{
    return -log(uniform_above_0(i));
}

static double cauchy(uint64_t i)
{
    const double pi = 3.141592653589793;

    return tan(pi * (uniform(i) - 0.5));
}

static double zero(uint64_t i)
{
    (void)i;
    return 0.0;
}

static double binary(uint64_t i)
{
    return (double)(random_bits(i) >> 63);
}

/* One element in 2^16 is positive, as behind a rectifier: fewer than k of them, or a few more. */
static double few_positives(uint64_t i)
{
    return random_bits(i) % 65536 == 0 ? uniform_above_0(~i) : 0.0;
}

static double ascending(uint64_t i)
{
    return (double)i;
}

static double descending(uint64_t i)
{
    return -(double)i;
}

static const struct distribution {
    const char *name;
    double (*element)(uint64_t i);
    int log2_range; /* nearly all elements lie within +-2^log2_range, from which integers are scaled; WHOLE: as is */
} distributions[] = {
#define WHOLE (-1000)
    {"normal", normal, 3},           {"uniform", uniform, 0},
    {"uniform-1-2", uniform_1_2, 1}, {"narrow", narrow, 8},
    {"lognormal", lognormal, 8},     {"exponential", exponential, 5},
    {"cauchy", cauchy, 12},          {"zeros", zero, WHOLE},
    {"binary", binary, WHOLE},       {"few-positives", few_positives, 0},
    {"ascending", ascending, WHOLE}, {"descending", descending, WHOLE},
};

enum { DISTRIBUTION_COUNT = sizeof distributions / sizeof distributions[0] };

bool distribution_find(const char *name, uint64_t *ret)
{
    for (*ret = 0; *ret < DISTRIBUTION_COUNT; ++*ret)
        if (strcmp(distributions[*ret].name, name) == 0)
            return true;
    return false;
}

const char *distribution_name(uint32_t distribution)
{
    return distribution < DISTRIBUTION_COUNT ? distributions[distribution].name : "file";
}

/* --- from real numbers to elements --------------------------------------------------------------------------------- */

static uint64_t f32_bits(double x)
{
    float narrowed = (float)x;
    uint32_t bits;

    memcpy(&bits, &narrowed, sizeof bits);
    return bits;
}

static uint64_t bf16_bits(double x)
{
    uint64_t bits = f32_bits(x);

    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16; /* to nearest, ties to even; the inputs hold no NaN */
}

static uint64_t f64_bits(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The significand as an integer of 11 bits (fewer below 2^-14) and the exponent in front of it; a carry carries. */
static uint64_t f16_bits(double x)
{
    double size = fabs(x);
    uint64_t sign = signbit(x) ? 0x8000 : 0, bits = 0x7C00;
    int exponent;

    if (size < 65536.0) {
        frexp(size, &exponent);
        exponent = size < 0x1p-14 ? -14 : exponent - 1;
        bits = ((uint64_t)(exponent + 14) << 10) + (uint64_t)nearbyint(ldexp(size, 10 - exponent));
    }
    return sign | bits;
}

/* Of w bits, two's complement; unsigned ones have half of the range added, which turns the sign bit over. */
static uint64_t integer_bits(double x, const struct distribution *from, uint32_t w, bool is_signed)
{
    double limit = ldexp(1.0, (int)w - 1);
    int64_t value;

    if (from->log2_range != WHOLE)
        x = nearbyint(ldexp(x, (int)w - 1 - from->log2_range));
    if (x >= limit)
        value = (int64_t)((UINT64_C(1) << (w - 1)) - 1);
    else
        value = (int64_t)(x < -limit ? -limit : x);
    return (uint64_t)value ^ (is_signed ? 0 : UINT64_C(1) << (w - 1));
}

static uint64_t element_bits(const struct distribution *from, const struct type *type, uint64_t i)
{
    double x = from->element(i);

    switch (type->id) {
    case PROFK_F32: return f32_bits(x);
    case PROFK_F16: return f16_bits(x);
    case PROFK_BF16: return bf16_bits(x);
    case PROFK_F64: return f64_bits(x);
    default: return integer_bits(x, from, 8 * type->nbytes, type->name[0] == 'i');
    }
}

struct making {
    const struct distribution *from;
    const struct type *type;
    unsigned char *to;
};

static void make_part(void *user, unsigned part, uint64_t first, uint64_t end)
{
    const struct making *making = user;
    uint32_t nbytes = making->type->nbytes;
    uint64_t i;

    (void)part;
    for (i = first; i < end; i++) {
        uint64_t bits = element_bits(making->from, making->type, i);

        memcpy(making->to + i * nbytes, &bits, nbytes); /* the low bytes: hosts are little-endian */
    }
}

int dataset_make(struct dataset *dataset, uint32_t type, uint32_t distribution, uint64_t total)
{
    struct input *input = &dataset->input;
    struct making making = {&distributions[distribution], type_of_id(type), NULL};
    uint64_t nbytes;

    memset(dataset, 0, sizeof *dataset);
    dataset->distribution = distribution;
    if (total < SIZE_MAX / 8 - ALIGN_NBYTES) {
        nbytes = (total * making.type->nbytes + ALIGN_NBYTES - 1) / ALIGN_NBYTES * ALIGN_NBYTES;
        dataset->memory = aligned_alloc(ALIGN_NBYTES, (size_t)nbytes);
    }
    if (!dataset->memory)
        return fail(EXIT_FAILED, "no memory for an input of %" PRIu64 " elements of %s; give a smaller -n", total,
                    making.type->name);
    making.to = dataset->memory;
    parallel_run(total, make_part, &making);
    *input = (struct input){.type = making.type, .rows = 1, .n = total};
    input->source.name = "the input";
    input->source.bytes = dataset->memory;
    input->source.nbytes = total * making.type->nbytes;
    return EXIT_DONE;
}

int dataset_open(struct dataset *dataset, const char *file, uint32_t type)
{
    int status;

    memset(dataset, 0, sizeof *dataset);
    dataset->distribution = DISTRIBUTION_FILE;
    status = input_open(&dataset->input, file, type, NULL);
    dataset->input.n *= dataset->input.rows;
    dataset->input.rows = 1;
    if (status == EXIT_DONE && dataset->input.n == 0)
        status = fail(EXIT_WRONG, "%s is empty; give a file with elements", dataset->input.source.name);
    return status;
}

int dataset_upload(struct dataset *dataset, const struct planned *planned)
{
    return pieces_open(&dataset->pieces, planned, &dataset->input, 1);
}

void dataset_close(struct dataset *dataset)
{
    pieces_close(&dataset->pieces);
    if (dataset->memory)
        free(dataset->memory);
    else if (dataset->input.source.bytes)
        input_close(&dataset->input);
    memset(dataset, 0, sizeof *dataset);
}
