/* hash.c: words of eight bytes, each mixed into the hash of those before it.  Each step is a bijection of the hash and
 * of the word, so that a change within one word cannot be lost. */
#include "base/hash.h"

#include "base/entropy.h"

#include <string.h>

uint64_t profk__hash(uint64_t hash, const void *bytes, size_t nbytes)
{
    const char *at = bytes;

    hash = profk__mix64(hash + nbytes + UINT64_C(0x9e3779b97f4a7c15));
    while (nbytes > 0) {
        uint64_t word = 0;
        size_t part = nbytes < sizeof word ? nbytes : sizeof word;
        memcpy(&word, at, part);
        hash = profk__mix64((hash ^ word) + UINT64_C(0x9e3779b97f4a7c15));
        at += part;
        nbytes -= part;
    }
    return hash;
}
