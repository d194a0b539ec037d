/*
 * inputs.h: test data of every type and distribution, reproducible from a 64-bit seed.
 *
 * Integers get what corresponds: 1 % extremes for 1 % NaN, 90 % extremes for 90 % inf, tiny numbers for denormals.
 */
#ifndef PROFK_TESTS_INPUTS_H
#define PROFK_TESTS_INPUTS_H

#include <stddef.h>
#include <stdint.h>

enum inputs_distribution {
    INPUTS_NORMAL,
    INPUTS_NARROW,   /* uniform on [128.6, 128.7]; integers: a narrow range in the middle of the positive ones */
    INPUTS_SORTED,   /* ascending over the type's range, with ties */
    INPUTS_REVERSED, /* descending */
    INPUTS_EQUAL,    /* n times the same bits */
    INPUTS_ZERO_ONE,
    INPUTS_RELU,         /* fewer than k positive values among zeros */
    INPUTS_SIGNED_ZEROS, /* zeros of both signs and a few tiny values */
    INPUTS_NAN,          /* normal with 1 % NaN of both signs and any payload */
    INPUTS_INF,          /* normal with 90 % inf of both signs */
    INPUTS_DENORMAL,     /* of both signs */
    INPUTS_PATTERNS,     /* every 16-bit pattern in turn, in the upper half of wider types */
    INPUTS_DISTRIBUTIONS
};

const char *inputs_name(uint32_t distribution);

/* Steps *state and returns 64 random bits (splitmix64). */
uint64_t inputs_random(uint64_t *state);

/* Mixes a and b into a seed for something smaller. */
uint64_t inputs_mix(uint64_t a, uint64_t b);

/* The bits of the float type's value nearest to real, ties to even. */
uint64_t inputs_encode(uint32_t type, double real);

/* Fills n elements of out.  k is what RELU must stay below; the others ignore it. */
void inputs_fill(uint32_t type, uint32_t distribution, uint64_t seed, size_t n, size_t k, void *out);

/* Fills n elements with values that would win a place in every order, to stand around an input. */
void inputs_guard(uint32_t type, size_t n, void *out);

#endif
