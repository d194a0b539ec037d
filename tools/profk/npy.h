/*
 * npy.h: the header of NumPy's file format, versions 1.0 to 3.0.
 *
 *   6 bytes "\x93NUMPY", major, minor, length of the text (2 bytes little-endian in version 1, else 4), the text:
 *   {'descr': '<f4', 'fortran_order': False, 'shape': (3,), } with blanks and a newline behind it, then the array.
 */
#ifndef PROFK_COMMAND_NPY_H
#define PROFK_COMMAND_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NPY_MAX_DIMS = 2, NPY_HEADER_ROOM = 192 };

struct npy {
    char descr[8]; /* as written, cut; "" where it is no string (a structured type) */
    bool fortran_order;
    uint32_t dims; /* of the array, may be above NPY_MAX_DIMS */
    uint64_t shape[NPY_MAX_DIMS];
    uint64_t data_at; /* bytes in front of the array */
};

bool npy_recognise(const void *bytes, uint64_t nbytes);

/* NULL, or what is wrong with the header. */
const char *npy_parse(const void *bytes, uint64_t nbytes, struct npy *ret);

/* Writes the whole header of a C-ordered array into room and returns its length, a multiple of 64. */
size_t npy_header(char room[NPY_HEADER_ROOM], const char *descr, uint32_t dims, const uint64_t shape[NPY_MAX_DIMS]);

#endif
