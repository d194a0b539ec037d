/* hash.h: a short fingerprint of bytes: it names files and notices damage, and protects from no one. */
#ifndef PROFK_BASE_HASH_H
#define PROFK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Continues `hash`, 0 to begin with, over nbytes.  Two inputs of one length that differ within one aligned word of
 * eight bytes never have the same hash. */
uint64_t profk__hash(uint64_t hash, const void *bytes, size_t nbytes);

#endif
