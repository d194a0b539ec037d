/* words.c: tuned values as lines of text, for the store and for people. */
#include "tune/tune.h"

#include <stddef.h>
#include <string.h>

/* A value, where it stands, and what it may be. */
static const struct word {
    const char *name;
    size_t place;
    uint32_t least, most;
    int is_power; /* of two */
} words[] = {
#define WORD(name, member, least, most, is_power) {name, offsetof(struct profk__tuned, member), least, most, is_power}
    WORD("filter_shape", filter_shape, PROFK_SHAPE_TILE, PROFK_SHAPE_STREAM, 0),
    WORD("tile_wg", tile.wg, 1, PROFK__WG_MAX, 0),
    WORD("tile_vector_nbytes", tile.vector_nbytes, 1, 64, 1),
    WORD("tile_items", tile.items, 1, 8, 0),
    WORD("stream_wg", stream.wg, 1, PROFK__WG_MAX, 0),
    WORD("stream_vector_nbytes", stream.vector_nbytes, 1, 64, 1),
    WORD("stream_items", stream.items, 1, 64, 0),
    WORD("sample_wg", sample_wg, 1, PROFK__WG_MAX, 0),
    WORD("sample_slots", sample_slots, 1, 64, 0),
    WORD("threshold_wg", threshold_wg, 1, PROFK__WG_MAX, 0),
    WORD("refine_wg", refine_wg, 1, PROFK__WG_MAX, 0),
    WORD("sort_wg", sort_wg, 1, PROFK__WG_MAX, 0),
    WORD("sort_alone_max", sort_alone_max, 0, UINT32_MAX, 0),
    WORD("rows_wg", rows_wg, 1, PROFK__WG_MAX, 0),
    WORD("full_wg", full_wg, 1, PROFK__WG_MAX, 0),
    WORD("slot_ps", slot_ps, 0, 1000000000, 0),
    WORD("candidate_ps", candidate_ps, 0, 1000000000, 0),
    WORD("epsilon_ppb", epsilon_ppb, 1, 500000000, 0),
    WORD("profk_n_min", profk_n_min, 1 << 10, 1 << 24, 0),
    WORD("profk_share", profk_share, 1, 1024, 0),
    WORD("rows_n_max", rows_n_max, 0, 1 << 24, 0),
    WORD("rows_first_k", rows_first_k, 0, UINT32_MAX, 0),
    WORD("rows_first_n", rows_first_n, 0, 1 << 30, 0),
#undef WORD
};

enum { WORDS = sizeof words / sizeof words[0] };

static uint32_t *value_of(struct profk__tuned *tuned, const struct word *word)
{
    return (uint32_t *)(void *)((char *)tuned + word->place);
}

void profk__tuned_write(const struct profk__tuned *tuned, struct profk__text *text)
{
    struct profk__tuned copy = *tuned;

    for (size_t i = 0; i < WORDS; i++)
        profk__text_add(text, "%s = %lu\n", words[i].name, (unsigned long)*value_of(&copy, &words[i]));
}

static const struct word *find(const struct profk__store_line *line)
{
    for (size_t i = 0; i < WORDS; i++)
        if (strlen(words[i].name) == line->name_length && memcmp(words[i].name, line->name, line->name_length) == 0)
            return &words[i];
    return NULL;
}

/* Decimal digits only, at most ten of them. */
static int read_number(const char *digits, size_t length, uint64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return 0;
        *ret = *ret * 10 + (uint64_t)(digits[i] - '0');
    }
    return length > 0 && length <= 10;
}

static int is_possible(const struct word *word, uint64_t value)
{
    return value >= word->least && value <= word->most && (!word->is_power || (value & (value - 1)) == 0);
}

int profk__tuned_read(const char *body, struct profk__tuned *ret)
{
    struct profk__tuned tuned = *ret;
    struct profk__store_line line;
    int seen[WORDS] = {0}, got;
    size_t count = 0;

    while ((got = profk__store_next(&body, &line)) == 1) {
        const struct word *word = find(&line);
        uint64_t value = 0;

        if (word == NULL || seen[word - words]++ || !read_number(line.value, line.value_length, &value)
            || !is_possible(word, value))
            return 0;
        *value_of(&tuned, word) = (uint32_t)value;
        count++;
    }
    if (got < 0 || count != WORDS)
        return 0;
    tuned.is_measured = 1;
    *ret = tuned;
    return 1;
}
