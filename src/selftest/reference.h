/*
 * reference.h: top-k on the host, for small inputs.  It compares values (floats as double, integers as sign and
 * size), never keys, so that it shares no idea with the kernels.
 */
#ifndef PROFK_SELFTEST_REFERENCE_H
#define PROFK_SELFTEST_REFERENCE_H

#include <stdint.h>

uint32_t profk__reference_nbytes(uint32_t type); /* of a PROFK_F32 .. PROFK_U64 */

/* Indices of the first k of n elements by rank, in the order and NaN policy of profk.h. */
void profk__reference_topk(uint32_t type, uint32_t order, uint32_t nan, const void *elements, uint32_t n, uint32_t k,
                           uint32_t *indices);

#endif
