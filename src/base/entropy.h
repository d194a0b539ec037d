/* entropy.h: random bits from the operating system, and the hash that stretches them. */
#ifndef PROFK_BASE_ENTROPY_H
#define PROFK_BASE_ENTROPY_H

#include <stdint.h>

/* 64 bits that differ from run to run and from call to call; never fails. */
uint64_t profk__entropy(void);

/* Bijection on 64 bits with full avalanche (the finaliser of SplitMix64). */
uint64_t profk__mix64(uint64_t x);

#endif
