/* numbers.h: random numbers of the unit tests, and whether what was computed is near enough. */
#ifndef PROFK_TESTS_NUMBERS_H
#define PROFK_TESTS_NUMBERS_H

#include <stdint.h>

/* Seeds what follows from PROFK_TEST_SEED or the clock, and prints the seed. */
void random_open(void);

uint64_t random_bits(void);
double random_unit(void);                           /* uniform on [0, 1) */
uint64_t random_size(uint64_t low, uint64_t high); /* in low..high, all magnitudes alike */

/* |a - b| <= tolerance * |b|, else the test fails. */
#define assert_close(a, b, tolerance) check_close(a, b, tolerance, #a, __FILE__, __LINE__)
void check_close(double a, double b, double tolerance, const char *what, const char *file, int line);

#endif
