/* types.h: the element types and how one element is written as text. */
#ifndef PROFK_COMMAND_TYPES_H
#define PROFK_COMMAND_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "numbers.h"

struct type {
    const char *name;  /* of --dtype */
    const char *descr; /* in a .npy header */
    uint32_t id;       /* PROFK_F32 ... */
    uint32_t nbytes;   /* of an element */
};

extern const struct type all_types[]; /* ends with a NULL name */

const struct type *type_of_id(uint32_t id);

/* Writes element i of elements; false where it is NaN or infinite, which JSON must quote. */
bool format_element(char text[NUMBER_ROOM], const struct type *type, const void *elements, uint64_t i);

#endif
