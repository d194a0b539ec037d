/*
 * entropy.c: seeds.  They decide how long a call takes, never what it answers, so a poor source is no danger: where
 * the system's generator cannot be read, the clock and an address serve.
 */
#ifdef _WIN32
#define _CRT_RAND_S /* declares rand_s() */
#endif
#include "base/entropy.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t profk__mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static int system_bits(uint64_t *ret)
{
#ifdef _WIN32
    unsigned int low, high;

    if (rand_s(&low) != 0 || rand_s(&high) != 0)
        return 0;
    *ret = (uint64_t)high << 32 | low;
    return 1;
#else
    FILE *file = fopen("/dev/urandom", "rb");
    if (file == NULL)
        return 0;
    setvbuf(file, NULL, _IONBF, 0);
    size_t got = fread(ret, sizeof *ret, 1, file);
    fclose(file);
    return got == 1;
#endif
}

uint64_t profk__entropy(void)
{
    uint64_t bits = 0;

    if (!system_bits(&bits)) {
        struct timespec now = {0, 0};
        timespec_get(&now, TIME_UTC);
        bits = profk__mix64((uint64_t)now.tv_sec ^ (uint64_t)now.tv_nsec << 32) ^ (uint64_t)(uintptr_t)&now;
    }
    return profk__mix64(bits);
}
