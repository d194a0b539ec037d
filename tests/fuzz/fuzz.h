/*
 * fuzz.h: what a fuzz target is.  libFuzzer calls it with bytes that it makes up; replay.c with the files of a corpus,
 * in every build.  A target that finds something wrong says it and aborts.
 */
#ifndef PROFK_TESTS_FUZZ_H
#define PROFK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Both names are libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define FUZZ_CHECK(condition)                                                                                        \
    do {                                                                                                             \
        if (!(condition)) {                                                                                          \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                  \
            abort();                                                                                                 \
        }                                                                                                            \
    } while (0)

/* Bytes that are taken one after another; behind the last come zeros. */
struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t fuzz_byte(struct fuzz_bytes *bytes)
{
    if (bytes->left == 0)
        return 0;
    bytes->left--;
    return *bytes->at++;
}

/* A number below bound, 1 to 65536. */
static inline uint32_t fuzz_below(struct fuzz_bytes *bytes, uint32_t bound)
{
    uint32_t low = fuzz_byte(bytes);

    return (bound > 256 ? low | (uint32_t)fuzz_byte(bytes) << 8 : low) % bound;
}

#endif
