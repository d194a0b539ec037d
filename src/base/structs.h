/*
 * structs.h: structs that grow.  Public structs begin with `size_t struct_size`, set by the caller; a caller built
 * against an older release knows fewer fields, one built against a newer release more.
 */
#ifndef PROFK_BASE_STRUCTS_H
#define PROFK_BASE_STRUCTS_H

#include "base/error.h"

#include <stddef.h>

/*
 * Copies the caller's struct at `from` into `to`, `known` bytes that begin with zeros behind what the caller knows.
 * first_nbytes is the size in the first release.  ERR_ARGUMENT: NULL, struct_size below first_nbytes, or bytes beyond
 * `known` that are not zero (fields of a newer release that ask for something).
 */
profk_status profk__struct_in(void *to, size_t known, size_t first_nbytes, const void *from, const char *name);

/* Copies `from` (known bytes) out to the caller's struct, as far as the caller knows it; struct_size stays. */
profk_status profk__struct_out(void *to, const void *from, size_t known, size_t first_nbytes, const char *name);

#endif
