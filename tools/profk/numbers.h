/* numbers.h: numbers to and from text, strictly and the same in every locale. */
#ifndef PROFK_COMMAND_NUMBERS_H
#define PROFK_COMMAND_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum { NUMBER_ROOM = 40 }; /* enough for every text made here, its final zero included */

/* Decimal digits only, up to 2^64 - 1. */
bool parse_u64(const char *text, uint64_t *ret);

/* Decimal or exponent notation: 0.5, .5, 5e-1; no sign in front, no hexadecimal, no inf, no nan. */
bool parse_decimal(const char *text, double *ret);

/*
 * The shortest decimal that reads back to the same double, always with '.' or an exponent: 3.0, -0.0, 1e-05, 1e+16.
 * False and NaN, Infinity or -Infinity where x is not finite.
 */
bool format_double(char text[NUMBER_ROOM], double x);

#endif
