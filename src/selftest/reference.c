/* reference.c: insertion into a sorted list of k, by bisection. */
#include "selftest/reference.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "profk.h"

enum family { IEEE_FLOAT, SIGNED, UNSIGNED };

struct format {
    enum family family;
    uint32_t nbytes;
    uint32_t fraction_bits, exponent_bits; /* of a float */
};

static const struct format formats[] = {
    [PROFK_F32] = {IEEE_FLOAT, 4, 23, 8},  [PROFK_F16] = {IEEE_FLOAT, 2, 10, 5}, [PROFK_BF16] = {IEEE_FLOAT, 2, 7, 8},
    [PROFK_F64] = {IEEE_FLOAT, 8, 52, 11}, [PROFK_I8] = {SIGNED, 1, 0, 0},       [PROFK_U8] = {UNSIGNED, 1, 0, 0},
    [PROFK_I16] = {SIGNED, 2, 0, 0},       [PROFK_U16] = {UNSIGNED, 2, 0, 0},    [PROFK_I32] = {SIGNED, 4, 0, 0},
    [PROFK_U32] = {UNSIGNED, 4, 0, 0},     [PROFK_I64] = {SIGNED, 8, 0, 0},      [PROFK_U64] = {UNSIGNED, 8, 0, 0},
};

/* A number as sign and size; a float's size is `real`, an integer's `whole`, and the other one is 0. */
struct number {
    bool nan, negative;
    double real;
    uint64_t whole;
};

/* What is asked for. */
struct question {
    const struct format *format;
    const void *elements;
    uint32_t order, nan;
};

uint32_t profk__reference_nbytes(uint32_t type)
{
    return formats[type].nbytes;
}

static uint64_t bits_at(const struct format *format, const void *elements, uint32_t i)
{
    const unsigned char *at = (const unsigned char *)elements + (size_t)i * format->nbytes;
    uint64_t bits = 0;
    uint32_t b;

    for (b = format->nbytes; b-- > 0;) /* devices are little-endian, and so is the host */
        bits = bits << 8 | at[b];
    return bits;
}

static struct number float_number(const struct format *format, uint64_t bits)
{
    int bias = (1 << (format->exponent_bits - 1)) - 1, shift = (int)format->fraction_bits;
    uint64_t fraction = bits & ((UINT64_C(1) << format->fraction_bits) - 1), top = UINT64_C(1)
                                                                                   << format->fraction_bits;
    int exponent = (int)(bits >> format->fraction_bits & ((UINT64_C(1) << format->exponent_bits) - 1));
    struct number number = {.negative = (bits >> (8 * format->nbytes - 1)) != 0};

    if (exponent == 2 * bias + 1) {
        number.nan = fraction != 0;
        number.real = (double)INFINITY;
    } else if (exponent == 0) {
        number.real = ldexp((double)fraction, 1 - bias - shift);
    } else {
        number.real = ldexp((double)(fraction | top), exponent - bias - shift);
    }
    if (!number.nan && number.real == 0.0)
        number.negative = false; /* -0.0 equals +0.0 */
    return number;
}

static struct number number_at(const struct format *format, const void *elements, uint32_t i)
{
    uint64_t bits = bits_at(format, elements, i);
    uint64_t sign = UINT64_C(1) << (8 * format->nbytes - 1);

    if (format->family == IEEE_FLOAT)
        return float_number(format, bits);
    if (format->family == SIGNED && bits & sign)
        return (struct number){.negative = true, .whole = (sign - (bits & (sign - 1)))};
    return (struct number){.whole = bits};
}

/* Below, at or above 0 as the size of a is less than, equal to or greater than that of b. */
static int compare_sizes(const struct number *a, const struct number *b)
{
    if (a->whole != b->whole)
        return a->whole < b->whole ? -1 : 1;
    return (a->real > b->real) - (a->real < b->real);
}

static int compare_values(const struct number *a, const struct number *b)
{
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    return a->negative ? compare_sizes(b, a) : compare_sizes(a, b);
}

/* Whether a goes in front of b, apart from the index. */
static bool goes_first(uint32_t order, uint32_t nan, const struct number *a, const struct number *b)
{
    bool nan_first = nan == PROFK_NAN_LARGEST && order != PROFK_SMALLEST;

    if (a->nan || b->nan)
        return a->nan != b->nan && a->nan == nan_first;
    if (order == PROFK_MAGNITUDE)
        return compare_sizes(a, b) > 0;
    return order == PROFK_LARGEST ? compare_values(a, b) > 0 : compare_values(a, b) < 0;
}

/* Where a fresh element belongs among those held: behind all that are equal, for these have lower indices. */
static uint32_t place_of(const struct question *question, const struct number *fresh, const uint32_t *indices,
                         uint32_t held)
{
    uint32_t low = 0, high = held;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct number there = number_at(question->format, question->elements, indices[middle]);

        if (goes_first(question->order, question->nan, fresh, &there))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void profk__reference_topk(uint32_t type, uint32_t order, uint32_t nan, const void *elements, uint32_t n, uint32_t k,
                           uint32_t *indices)
{
    const struct question question = {&formats[type], elements, order, nan};
    uint32_t held = 0, i;

    for (i = 0; i < n && k > 0; i++) {
        struct number fresh = number_at(question.format, elements, i);
        uint32_t place = place_of(&question, &fresh, indices, held);

        if (place == k)
            continue;
        held += held < k;
        memmove(indices + place + 1, indices + place, (held - place - 1) * sizeof *indices);
        indices[place] = i;
    }
}
