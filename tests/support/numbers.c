/* numbers.c: SplitMix64 with one state for the whole program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support/inputs.h"

static uint64_t random_state;

void random_open(void)
{
    const char *seed = getenv("PROFK_TEST_SEED");

    random_state = seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    printf("PROFK_TEST_SEED=%" PRIu64 "\n", random_state);
}

uint64_t random_bits(void)
{
    return inputs_random(&random_state);
}

double random_unit(void)
{
    return (double)(random_bits() >> 11) * 0x1p-53;
}

uint64_t random_size(uint64_t low, uint64_t high)
{
    const double x = (double)low * exp2(random_unit() * log2((double)high / (double)low));

    return x >= (double)high ? high : (uint64_t)x;
}

void check_close(double a, double b, double tolerance, const char *what, const char *file, int line)
{
    if (!(fabs(a - b) <= tolerance * fabs(b)))
        fail_msg("%s:%d: %s = %.17g, expected %.17g, relative error %.2g", file, line, what, a, b,
                 fabs(a - b) / fabs(b));
}
