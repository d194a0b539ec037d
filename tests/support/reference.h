/*
 * reference.h: what the answer of a selection is, computed on the host by comparing values.
 *
 * Elements become numbers, exactly: f16, bf16, f32 and f64 a double, integers a 64-bit integer of their signedness.
 * Numbers are compared as numbers; NaN are set apart by the policy; equal values go by lowest index.  The reference
 * knows nothing of the library's keys, so that a wrong key cannot confirm itself.
 */
#ifndef PROFK_TESTS_REFERENCE_H
#define PROFK_TESTS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REFERENCE_TYPES = 12, REFERENCE_FIRST_TYPE = 1 }; /* PROFK_F32 to PROFK_U64 */

enum reference_kind { REFERENCE_REAL, REFERENCE_SIGNED, REFERENCE_UNSIGNED };

struct reference_type {
    const char *name; /* "f32" */
    size_t nbytes;
    enum reference_kind kind;
};

/* The facts of PROFK_F32 .. PROFK_U64. */
const struct reference_type *reference_type(uint32_t type);

/* The bits of element i of x, in the low end. */
uint64_t reference_bits(uint32_t type, const void *x, size_t i);

/* Writes the low bits into element i of x. */
void reference_store(uint32_t type, void *x, size_t i, uint64_t bits);

/* The value of a float type's bits, widened exactly; a NaN gives a NaN. */
double reference_real(uint32_t type, uint64_t bits);

/* Writes the indices of the first k of x's n elements, in rank order.  n is below 2^32; false: no memory. */
bool reference_rank(uint32_t type, uint32_t order, uint32_t nan, const void *x, size_t n, size_t k, uint32_t *ret);

#endif
