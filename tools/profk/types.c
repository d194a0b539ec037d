/* types.c: one row per element type, and the exact widening of floats to double. */
#include "types.h"

#include <inttypes.h>
#include <math.h>
#include <profk.h>
#include <stdio.h>
#include <string.h>

/* bf16 has no name of its own in .npy files: its bits are written as u2. */
const struct type all_types[] = {
    {"f32", "<f4", PROFK_F32, 4}, {"f16", "<f2", PROFK_F16, 2}, {"bf16", "<u2", PROFK_BF16, 2},
    {"f64", "<f8", PROFK_F64, 8}, {"i8", "|i1", PROFK_I8, 1},   {"u8", "|u1", PROFK_U8, 1},
    {"i16", "<i2", PROFK_I16, 2}, {"u16", "<u2", PROFK_U16, 2}, {"i32", "<i4", PROFK_I32, 4},
    {"u32", "<u4", PROFK_U32, 4}, {"i64", "<i8", PROFK_I64, 8}, {"u64", "<u8", PROFK_U64, 8},
    {NULL, NULL, 0, 0},
};

const struct type *type_of_id(uint32_t id)
{
    const struct type *type = all_types;

    while (type->name && type->id != id)
        type++;
    return type->name ? type : NULL;
}

/* The element's bits, zero-extended. */
static uint64_t element_bits(const struct type *type, const void *elements, uint64_t i)
{
    const unsigned char *at = (const unsigned char *)elements + i * type->nbytes;
    uint64_t bits = 0;
    uint32_t b;

    for (b = type->nbytes; b-- > 0;)
        bits = bits << 8 | at[b];
    return bits;
}

static int64_t sign_extended(uint64_t bits, uint32_t nbytes)
{
    uint64_t sign = UINT64_C(1) << (8 * nbytes - 1);
    int64_t value;

    bits = (bits ^ sign) - sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double double_of_f32(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float value;

    memcpy(&value, &word, sizeof value);
    return (double)value;
}

static double double_of_f64(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 1 sign bit, 5 exponent bits with bias 15, 10 fraction bits. */
static double double_of_f16(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double fraction = (double)(bits & 1023), size;

    if (exponent == 31)
        size = fraction > 0.0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        size = ldexp(fraction, -24);
    else
        size = ldexp(fraction + 1024.0, exponent - 25);
    return bits >> 15 ? -size : size;
}

bool format_element(char text[NUMBER_ROOM], const struct type *type, const void *elements, uint64_t i)
{
    uint64_t bits = element_bits(type, elements, i);

    switch (type->id) {
    case PROFK_F32: return format_double(text, double_of_f32(bits));
    case PROFK_F16: return format_double(text, double_of_f16(bits));
    case PROFK_BF16: return format_double(text, double_of_f32(bits << 16));
    case PROFK_F64: return format_double(text, double_of_f64(bits));
    case PROFK_I8:
    case PROFK_I16:
    case PROFK_I32:
    case PROFK_I64: snprintf(text, NUMBER_ROOM, "%" PRId64, sign_extended(bits, type->nbytes)); return true;
    default: snprintf(text, NUMBER_ROOM, "%" PRIu64, bits); return true;
    }
}
