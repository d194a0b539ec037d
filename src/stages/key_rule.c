/* key_rule.c: the table of types and the eight words of a rule. */
#include "stages/key_rule.h"

#include "profk.h"

#include <string.h>

static const struct profk__type types[] = {
    [PROFK_F32] = {"f32", 4, PROFK__FLOAT, 0x7F800000},
    [PROFK_F16] = {"f16", 2, PROFK__FLOAT, 0x7C00},
    [PROFK_BF16] = {"bf16", 2, PROFK__FLOAT, 0x7F80},
    [PROFK_F64] = {"f64", 8, PROFK__FLOAT, UINT64_C(0x7FF0000000000000)},
    [PROFK_I8] = {"i8", 1, PROFK__SIGNED, 0},
    [PROFK_U8] = {"u8", 1, PROFK__UNSIGNED, 0},
    [PROFK_I16] = {"i16", 2, PROFK__SIGNED, 0},
    [PROFK_U16] = {"u16", 2, PROFK__UNSIGNED, 0},
    [PROFK_I32] = {"i32", 4, PROFK__SIGNED, 0},
    [PROFK_U32] = {"u32", 4, PROFK__UNSIGNED, 0},
    [PROFK_I64] = {"i64", 8, PROFK__SIGNED, 0},
    [PROFK_U64] = {"u64", 8, PROFK__UNSIGNED, 0},
};

const struct profk__type *profk__type_get(uint32_t type)
{
    return type >= 1 && type < sizeof types / sizeof types[0] ? &types[type] : NULL;
}

/* What the words of pk_rule are made of. */
struct words {
    uint64_t magnitude, infinity, nan, sign, flip_positive, flip_negative, add_positive, add_negative;
};

/* Adding after the exclusive-or makes room for key 0 (floats) or completes a negation (integers). */
static struct words magnitude_words(struct words w, enum profk__kind kind, uint64_t all, uint64_t sign)
{
    if (kind == PROFK__FLOAT) {
        w.flip_negative = sign;
        w.add_positive = w.add_negative = 1;
    } else if (kind == PROFK__SIGNED) {
        w.flip_negative = all;
        w.add_negative = 1;
    }
    return w;
}

static struct words make_words(const struct profk__type *type, uint32_t order, uint32_t nan)
{
    uint64_t all = UINT64_MAX >> (64 - 8 * type->nbytes);
    uint64_t sign = all ^ all >> 1;
    uint64_t complement = order == PROFK_SMALLEST ? all : 0;
    int is_float = type->kind == PROFK__FLOAT;
    struct words w = {
        .magnitude = is_float ? all >> 1 : all,
        .infinity = is_float ? type->infinity : all,
        .nan = order == PROFK_SMALLEST || nan == PROFK_NAN_LAST ? 0 : all,
        .sign = type->kind == PROFK__UNSIGNED ? 0 : sign,
    };

    if (order == PROFK_MAGNITUDE)
        return magnitude_words(w, type->kind, all, sign);
    w.flip_positive = (type->kind == PROFK__UNSIGNED ? 0 : sign) ^ complement;
    w.flip_negative = (is_float ? all : sign) ^ complement;
    return w;
}

static uint32_t kind_of(const struct profk__type *type, uint32_t order)
{
    if (type->kind == PROFK__FLOAT)
        return PROFK__LARGEST_FLOAT + order;
    return type->kind == PROFK__SIGNED && order == PROFK_MAGNITUDE ? PROFK__MAGNITUDE_INTEGER : PROFK__PLAIN_INTEGER;
}

struct profk__key_rule profk__key_rule_make(const struct profk__type *type, uint32_t order, uint32_t nan)
{
    const struct words w = make_words(type, order, nan);
    const uint64_t words[] = {
        w.magnitude,     w.infinity, w.nan, w.sign,
        w.flip_positive, w.flip_positive ^ w.flip_negative,
        w.add_positive,  w.add_positive ^ w.add_negative,
    };
    struct profk__key_rule rule = {.kind = kind_of(type, order)};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (uint32_t b = 0; b < type->nbytes; b++) /* little-endian, as all devices that profk uses */
            rule.bytes[rule.nbytes++] = (unsigned char)(words[i] >> 8 * b);
    return rule;
}
