/*
 * kernels.h: the kernel sources, embedded as bytes by tools/cmake/embed_kernels.cmake.
 *
 * The texts are the files of cl/ with their .clh includes expanded once; #line directives keep names and numbers.
 */
#ifndef PROFK_RUNTIME_KERNELS_H
#define PROFK_RUNTIME_KERNELS_H

#include <stddef.h>

struct profk__kernel_source {
    const char *name;   /* file name in cl/, "filter.cl" */
    const char *text;   /* ASCII, with a final zero */
    size_t nbytes;      /* of text, without the final zero */
    const char *sha256; /* of text, 64 lower-case hex digits */
};

extern const struct profk__kernel_source profk__kernel_sources[];
extern const size_t profk__kernel_source_count;

#endif
