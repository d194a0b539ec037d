/* force.c: a table of keys. */
#include "force.h"

#include <string.h>

#include "numbers.h"

enum { MAX_VALUE = 24 }; /* longest value, final zero included: 2^64 - 1 has 20 digits */

static bool set_u64(profk_tuning *tuning, size_t place, const char *text)
{
    uint64_t value;

    if (!parse_u64(text, &value))
        return false;
    memcpy((char *)tuning + place, &value, sizeof value);
    return true;
}

static bool set_positive(profk_tuning *tuning, size_t place, const char *text)
{
    uint64_t value;

    return parse_u64(text, &value) && value > 0 && set_u64(tuning, place, text);
}

static bool set_shape(profk_tuning *tuning, size_t place, const char *text)
{
    (void)place;
    tuning->filter_shape = strcmp(text, "tile") == 0 ? PROFK_SHAPE_TILE : PROFK_SHAPE_STREAM;
    return tuning->filter_shape == PROFK_SHAPE_TILE || strcmp(text, "stream") == 0;
}

/* One work-group size for every stage; the library lowers it to what each kernel allows. */
static bool set_work_groups(profk_tuning *tuning, size_t place, const char *text)
{
    uint64_t value;
    uint32_t wg;

    (void)place;
    if (!parse_u64(text, &value) || value == 0)
        return false;
    wg = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
    tuning->filter_wg = tuning->sample_wg = tuning->threshold_wg = tuning->refine_wg = tuning->sort_wg = wg;
    tuning->rows_wg = tuning->full_wg = wg;
    return true;
}

static const struct {
    const char *key;
    bool (*set)(profk_tuning *tuning, size_t place, const char *text);
    size_t place;
} keys[] = {
    {"S", set_positive, offsetof(profk_tuning, S)},
    {"t", set_positive, offsetof(profk_tuning, t)},
    {"M", set_positive, offsetof(profk_tuning, M)},
    {"shape", set_shape, 0},
    {"wg", set_work_groups, 0},
    {"count", set_u64, offsetof(profk_tuning, count_start)},
};

/* One KEY=VALUE of `length` bytes. */
static bool set_pair(profk_tuning *tuning, const char *pair, size_t length)
{
    const char *equals = memchr(pair, '=', length);
    char value[MAX_VALUE];
    size_t key_length, value_length, i;

    if (!equals)
        return false;
    key_length = (size_t)(equals - pair);
    value_length = length - key_length - 1;
    if (value_length >= sizeof value)
        return false;
    memcpy(value, equals + 1, value_length);
    value[value_length] = '\0';
    for (i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strlen(keys[i].key) == key_length && memcmp(keys[i].key, pair, key_length) == 0)
            return keys[i].set(tuning, keys[i].place, value);
    return false;
}

bool force_parse(const char *text, profk_tuning *ret)
{
    profk_tuning tuning = {.struct_size = sizeof tuning};

    for (;;) {
        size_t length = strcspn(text, ",");

        if (!set_pair(&tuning, text, length))
            return false;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    *ret = tuning;
    return true;
}
