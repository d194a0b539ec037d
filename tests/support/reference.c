/* reference.c: the host reference; see reference.h for what it may and may not know. */
#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profk.h"

/* Which elements go first whatever their values: a NaN may come before or behind all numbers. */
enum { BEFORE_NUMBERS, NUMBERS, BEHIND_NUMBERS };

struct item {
    union {
        double real;
        int64_t integer;
        uint64_t natural;
    } value;
    uint32_t index;
    uint32_t band;
};

typedef int compare_fn(const void *, const void *);

const struct reference_type *reference_type(uint32_t type)
{
    static const struct reference_type types[REFERENCE_TYPES] = {
        [PROFK_F32 - 1] = {"f32", 4, REFERENCE_REAL},   [PROFK_F16 - 1] = {"f16", 2, REFERENCE_REAL},
        [PROFK_BF16 - 1] = {"bf16", 2, REFERENCE_REAL}, [PROFK_F64 - 1] = {"f64", 8, REFERENCE_REAL},
        [PROFK_I8 - 1] = {"i8", 1, REFERENCE_SIGNED},   [PROFK_U8 - 1] = {"u8", 1, REFERENCE_UNSIGNED},
        [PROFK_I16 - 1] = {"i16", 2, REFERENCE_SIGNED}, [PROFK_U16 - 1] = {"u16", 2, REFERENCE_UNSIGNED},
        [PROFK_I32 - 1] = {"i32", 4, REFERENCE_SIGNED}, [PROFK_U32 - 1] = {"u32", 4, REFERENCE_UNSIGNED},
        [PROFK_I64 - 1] = {"i64", 8, REFERENCE_SIGNED}, [PROFK_U64 - 1] = {"u64", 8, REFERENCE_UNSIGNED},
    };

    return &types[type - 1];
}

uint64_t reference_bits(uint32_t type, const void *x, size_t i)
{
    const size_t nbytes = reference_type(type)->nbytes;
    const unsigned char *at = (const unsigned char *)x + i * nbytes;
    uint8_t b8;
    uint16_t b16;
    uint32_t b32;
    uint64_t b64;

    switch (nbytes) {
    case 1: memcpy(&b8, at, sizeof b8); return b8;
    case 2: memcpy(&b16, at, sizeof b16); return b16;
    case 4: memcpy(&b32, at, sizeof b32); return b32;
    default: memcpy(&b64, at, sizeof b64); return b64;
    }
}

void reference_store(uint32_t type, void *x, size_t i, uint64_t bits)
{
    const size_t nbytes = reference_type(type)->nbytes;
    unsigned char *at = (unsigned char *)x + i * nbytes;
    const uint8_t b8 = (uint8_t)bits;
    const uint16_t b16 = (uint16_t)bits;
    const uint32_t b32 = (uint32_t)bits;

    switch (nbytes) {
    case 1: memcpy(at, &b8, sizeof b8); break;
    case 2: memcpy(at, &b16, sizeof b16); break;
    case 4: memcpy(at, &b32, sizeof b32); break;
    default: memcpy(at, &bits, sizeof bits);
    }
}

/* IEEE binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. */
static double widen_half(uint64_t bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const double fraction = (double)(bits & 1023);
    double size;

    if (exponent == 31)
        size = fraction > 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        size = ldexp(fraction, -24);
    else
        size = ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 & 1 ? -size : size;
}

double reference_real(uint32_t type, uint64_t bits)
{
    uint32_t single_bits;
    float single;
    double wide;

    if (type == PROFK_F16)
        return widen_half(bits);
    if (type == PROFK_F64) {
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
    single_bits = (uint32_t)(type == PROFK_BF16 ? bits << 16 : bits);
    memcpy(&single, &single_bits, sizeof single);
    return (double)single;
}

/* The signed integer whose two's complement in nbytes bytes is bits. */
static int64_t widen_signed(uint64_t bits, size_t nbytes)
{
    const uint64_t sign = (uint64_t)1 << (nbytes * 8 - 1);

    if (bits & sign) /* value = bits - 2 sign, written so that nothing overflows */
        return -(int64_t)(sign - 1 - (bits & (sign - 1))) - 1;
    return (int64_t)bits;
}

static struct item make_item(uint32_t type, uint32_t order, uint32_t nan, const void *x, size_t i)
{
    const struct reference_type *facts = reference_type(type);
    const uint64_t bits = reference_bits(type, x, i);
    struct item item = {.value.natural = bits, .index = (uint32_t)i, .band = NUMBERS};
    int64_t integer;

    if (facts->kind == REFERENCE_REAL) {
        item.value.real = reference_real(type, bits);
        if (isnan(item.value.real)) {
            item.value.real = 0;
            item.band = nan == PROFK_NAN_LAST || order == PROFK_SMALLEST ? BEHIND_NUMBERS : BEFORE_NUMBERS;
        }
        if (order == PROFK_MAGNITUDE)
            item.value.real = fabs(item.value.real);
    } else if (facts->kind == REFERENCE_SIGNED) {
        integer = widen_signed(bits, facts->nbytes);
        if (order == PROFK_MAGNITUDE) /* as unsigned, so that the most negative integer has a magnitude too */
            item.value.natural = integer < 0 ? (uint64_t)(-(integer + 1)) + 1 : (uint64_t)integer;
        else
            item.value.integer = integer;
    }
    return item;
}

/* Says by qsort's rule which of two items goes first; two items of one row are never equal. */
#define COMPARE(name, field, goes_before)                                                                            \
    static int name(const void *left, const void *right)                                                             \
    {                                                                                                                \
        const struct item *a = left, *b = right;                                                                     \
                                                                                                                     \
        if (a->band != b->band)                                                                                      \
            return a->band < b->band ? -1 : 1;                                                                       \
        if (a->value.field != b->value.field)                                                                        \
            return a->value.field goes_before b->value.field ? -1 : 1;                                               \
        return a->index < b->index ? -1 : a->index > b->index;                                                       \
    }
COMPARE(greatest_real, real, >)
COMPARE(greatest_integer, integer, >)
COMPARE(greatest_natural, natural, >)
COMPARE(least_real, real, <)
COMPARE(least_integer, integer, <)
COMPARE(least_natural, natural, <)
#undef COMPARE

static compare_fn *comparison(uint32_t type, uint32_t order)
{
    static compare_fn *const greatest[] = {greatest_real, greatest_integer, greatest_natural};
    static compare_fn *const least[] = {least_real, least_integer, least_natural};
    const enum reference_kind kind = reference_type(type)->kind;

    if (order == PROFK_MAGNITUDE && kind == REFERENCE_SIGNED)
        return greatest_natural;
    return order == PROFK_SMALLEST ? least[kind] : greatest[kind];
}

static void swap(struct item *a, struct item *b)
{
    const struct item kept = *a;

    *a = *b;
    *b = kept;
}

/* Moves the middle item to the place it has in sorted order, smaller ones before it, and returns that place. */
static size_t split(struct item *a, size_t n, compare_fn *compare)
{
    size_t place = 0;

    swap(&a[n / 2], &a[n - 1]);
    for (size_t i = 0; i + 1 < n; i++)
        if (compare(&a[i], &a[n - 1]) < 0)
            swap(&a[i], &a[place++]);
    swap(&a[place], &a[n - 1]);
    return place;
}

/* Moves the first k of n items, in any sequence, to the front. */
static void select_first(struct item *a, size_t n, size_t k, compare_fn *compare)
{
    size_t low = 0, high = n; /* items before low are in, items from high on are out */

    while (low < k && k < high) {
        const size_t place = low + split(a + low, high - low, compare);

        if (place < k)
            low = place + 1;
        else
            high = place;
    }
}

bool reference_rank(uint32_t type, uint32_t order, uint32_t nan, const void *x, size_t n, size_t k, uint32_t *ret)
{
    compare_fn *compare = comparison(type, order);
    struct item *items = malloc((n + 1) * sizeof *items);

    if (!items)
        return false;
    for (size_t i = 0; i < n; i++)
        items[i] = make_item(type, order, nan, x, i);
    select_first(items, n, k, compare);
    qsort(items, k, sizeof *items, compare);
    for (size_t i = 0; i < k; i++)
        ret[i] = items[i].index;
    free(items);
    return true;
}
