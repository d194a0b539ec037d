/* inputs.c: one small generator per distribution, called once per element in ascending order. */
#include "support/inputs.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "profk.h"
#include "support/reference.h"

struct stream {
    uint32_t type;
    enum reference_kind kind;
    unsigned width;    /* bits of an element */
    unsigned fraction; /* fraction bits of a float */
    uint64_t state;
    size_t n, i;
    uint64_t chosen; /* EQUAL: the value; RELU: positives still to come; PATTERNS: the first pattern */
};

uint64_t inputs_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint64_t inputs_mix(uint64_t a, uint64_t b)
{
    uint64_t state = a ^ (b * 0xD1342543DE82EF95u + 0x2545F4914F6CDD1Du);

    return inputs_random(&state);
}

static uint64_t draw(struct stream *s)
{
    return inputs_random(&s->state);
}

static uint64_t draw_below(struct stream *s, uint64_t bound)
{
    return draw(s) % bound;
}

/* Uniform on [0, 1). */
static double draw_unit(struct stream *s)
{
    return (double)(draw(s) >> 11) * 0x1p-53;
}

static double draw_normal(struct stream *s)
{
    const double turn = 6.283185307179586 * draw_unit(s);

    return sqrt(-2 * log(1 - draw_unit(s))) * cos(turn);
}

static unsigned fraction_bits(uint32_t type)
{
    return type == PROFK_F16 ? 10 : type == PROFK_BF16 ? 7 : type == PROFK_F32 ? 23 : 52;
}

static uint64_t low_bits(unsigned count)
{
    return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

static uint64_t sign_bit(const struct stream *s)
{
    return (uint64_t)1 << (s->width - 1);
}

static uint64_t infinity_bits(const struct stream *s)
{
    return low_bits(s->width - 1 - s->fraction) << s->fraction & ~sign_bit(s);
}

static uint64_t encode_half(double real)
{
    const uint64_t sign = signbit(real) ? 0x8000 : 0;
    const double size = fabs(real);
    int exponent;

    if (isnan(real))
        return 0x7E00;
    if (size >= 65520)
        return sign | 0x7C00;
    exponent = size < 0x1p-14 ? -14 : ilogb(size);
    /* The fraction carries its leading one into the exponent field, so a carry out of the rounding fits too. */
    return sign | (((uint64_t)(exponent + 14) << 10) + (uint64_t)rint(ldexp(size, 10 - exponent)));
}

uint64_t inputs_encode(uint32_t type, double real)
{
    const float single = (float)real;
    uint32_t bits;
    uint64_t wide;

    if (type == PROFK_F16)
        return encode_half(real);
    if (type == PROFK_F64) {
        memcpy(&wide, &real, sizeof wide);
        return wide;
    }
    memcpy(&bits, &single, sizeof bits);
    if (type == PROFK_F32)
        return bits;
    return isnan(real) ? 0x7FC0 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

/* The integer nearest to real inside the type's range. */
static uint64_t encode_integer(const struct stream *s, double real)
{
    const uint64_t most = s->kind == REFERENCE_SIGNED ? low_bits(s->width - 1) : low_bits(s->width);
    const double low = s->kind == REFERENCE_SIGNED ? -(double)sign_bit(s) : 0;

    if (real <= low)
        return s->kind == REFERENCE_SIGNED ? sign_bit(s) : 0;
    if (real >= (double)most)
        return most;
    return real < 0 ? (uint64_t)(int64_t)real & low_bits(s->width) : (uint64_t)real;
}

/* Least and greatest value: the two infinities, or the integer range. */
static uint64_t extreme(const struct stream *s, bool greatest)
{
    if (s->kind == REFERENCE_REAL)
        return infinity_bits(s) | (greatest ? 0 : sign_bit(s));
    return encode_integer(s, greatest ? (double)INFINITY : -(double)INFINITY);
}

static uint64_t one(const struct stream *s)
{
    return s->kind == REFERENCE_REAL ? inputs_encode(s->type, 1) : 1;
}

static uint64_t normal(struct stream *s)
{
    const double z = draw_normal(s);
    const double scale = ldexp(1, (int)s->width - 3);

    if (s->kind == REFERENCE_REAL)
        return inputs_encode(s->type, z);
    /* The low digits that a double cannot hold are drawn apart. */
    return encode_integer(s, s->kind == REFERENCE_SIGNED ? z * scale : z * scale + 4 * scale) ^
           (s->width == 64 ? draw_below(s, 1024) : 0);
}

static uint64_t narrow(struct stream *s)
{
    if (s->kind == REFERENCE_REAL)
        return inputs_encode(s->type, 128.6 + 0.1 * draw_unit(s));
    return ((uint64_t)5 << (s->width - 4)) + draw_below(s, (uint64_t)1 << s->width / 3);
}

/* Element i of n in ascending order, from its own n-th part of the range. */
static uint64_t ramp(struct stream *s, size_t i)
{
    const double part = ((double)i + draw_unit(s)) / (double)s->n;
    const double range = ldexp(1, (int)s->width);

    if (s->kind == REFERENCE_REAL)
        return inputs_encode(s->type, 2000 * part - 1000);
    return encode_integer(s, s->kind == REFERENCE_SIGNED ? range * part - range / 2 : range * part);
}

static uint64_t sorted(struct stream *s)
{
    return ramp(s, s->i);
}

static uint64_t reversed(struct stream *s)
{
    return ramp(s, s->n - 1 - s->i);
}

static uint64_t equal(struct stream *s)
{
    return s->chosen;
}

static uint64_t zero_one(struct stream *s)
{
    return draw_below(s, 2) ? one(s) : 0;
}

static uint64_t relu(struct stream *s)
{
    if (draw_below(s, s->n - s->i) >= s->chosen)
        return 0;
    s->chosen--;
    if (s->kind == REFERENCE_REAL)
        return inputs_encode(s->type, 0.01 + fabs(draw_normal(s)));
    return 1 + draw_below(s, low_bits(s->width - 1));
}

static uint64_t signed_zeros(struct stream *s)
{
    static const int64_t integers[] = {0, 0, 0, 1, -1};
    const uint64_t tiny = draw_below(s, 64) == 0 ? 1 + draw_below(s, 3) : 0;

    if (s->kind == REFERENCE_REAL)
        return tiny | (draw_below(s, 2) ? sign_bit(s) : 0);
    return (uint64_t)integers[draw_below(s, 5)] & low_bits(s->width);
}

/* A NaN of either sign and any payload, one bit and all bits more often than chance would have it. */
static uint64_t any_nan(struct stream *s)
{
    const uint64_t all = low_bits(s->fraction);
    const uint64_t payloads[] = {1, all, (uint64_t)1 << (s->fraction - 1), 1 + draw_below(s, all)};

    return infinity_bits(s) | payloads[draw_below(s, 4)] | (draw_below(s, 2) ? sign_bit(s) : 0);
}

static uint64_t some_nan(struct stream *s)
{
    if (draw_below(s, 100) > 0)
        return normal(s);
    return s->kind == REFERENCE_REAL ? any_nan(s) : extreme(s, draw_below(s, 2));
}

static uint64_t most_inf(struct stream *s)
{
    return draw_below(s, 10) > 0 ? extreme(s, draw_below(s, 2)) : normal(s);
}

static uint64_t denormal(struct stream *s)
{
    if (s->kind == REFERENCE_REAL)
        return draw_below(s, low_bits(s->fraction) + 1) | (draw_below(s, 2) ? sign_bit(s) : 0);
    return (draw_below(s, 16) - (s->kind == REFERENCE_SIGNED ? 8 : 0)) & low_bits(s->width);
}

static uint64_t patterns(struct stream *s)
{
    const uint64_t pattern = (s->chosen + s->i * 40503) & 0xFFFF; /* odd: all patterns within 65536 elements */

    if (s->width <= 16)
        return pattern & low_bits(s->width);
    return pattern << (s->width - 16) | (draw_below(s, 2) ? draw(s) & low_bits(s->width - 16) : 0);
}

static const struct {
    const char *name;
    uint64_t (*next)(struct stream *s);
} distributions[INPUTS_DISTRIBUTIONS] = {
    [INPUTS_NORMAL] = {"normal", normal},
    [INPUTS_NARROW] = {"narrow", narrow},
    [INPUTS_SORTED] = {"sorted", sorted},
    [INPUTS_REVERSED] = {"reversed", reversed},
    [INPUTS_EQUAL] = {"equal", equal},
    [INPUTS_ZERO_ONE] = {"zero-one", zero_one},
    [INPUTS_RELU] = {"relu", relu},
    [INPUTS_SIGNED_ZEROS] = {"signed-zeros", signed_zeros},
    [INPUTS_NAN] = {"nan", some_nan},
    [INPUTS_INF] = {"inf", most_inf},
    [INPUTS_DENORMAL] = {"denormal", denormal},
    [INPUTS_PATTERNS] = {"patterns", patterns},
};

const char *inputs_name(uint32_t distribution)
{
    return distribution < INPUTS_DISTRIBUTIONS ? distributions[distribution].name : "by hand";
}

static struct stream open_stream(uint32_t type, uint64_t seed, size_t n)
{
    const struct reference_type *facts = reference_type(type);
    const struct stream s = {.type = type,
                             .kind = facts->kind,
                             .width = (unsigned)facts->nbytes * 8,
                             .fraction = fraction_bits(type),
                             .state = seed,
                             .n = n};

    return s;
}

/* The value of an all-equal input: a special one or an ordinary one. */
static uint64_t choose_constant(struct stream *s)
{
    const uint64_t constants[] = {0,         sign_bit(s),       low_bits(s->width), one(s),
                                  normal(s), extreme(s, false), extreme(s, true),   s->n};

    return constants[draw_below(s, 8)] & low_bits(s->width);
}

void inputs_fill(uint32_t type, uint32_t distribution, uint64_t seed, size_t n, size_t k, void *out)
{
    struct stream s = open_stream(type, inputs_mix(seed, distribution), n);

    if (distribution == INPUTS_EQUAL)
        s.chosen = choose_constant(&s);
    else if (distribution == INPUTS_RELU)
        s.chosen = k ? draw_below(&s, k) : 0;
    else
        s.chosen = draw(&s);
    for (s.i = 0; s.i < n; s.i++)
        reference_store(type, out, s.i, distributions[distribution].next(&s));
}

void inputs_guard(uint32_t type, size_t n, void *out)
{
    const struct stream s = open_stream(type, 0, n);

    for (size_t i = 0; i < n; i++) {
        const bool as_nan = s.kind == REFERENCE_REAL && i % 3 == 2;

        reference_store(type, out, i, as_nan ? low_bits(s.width) : extreme(&s, i % 3 == 0));
    }
}
