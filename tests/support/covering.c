/* covering.c: the greedy way: of some random rows that each hold an uncovered pair, keep the one that covers most. */
#include "support/covering.h"

#include <stdlib.h>
#include <string.h>

#include "support/inputs.h"

enum { CANDIDATES = 16, FREE = 255 };

/* A level of a factor, numbered through. */
struct search {
    const struct covering *c;
    size_t base[COVERING_MAX_FACTORS + 1]; /* number of the factor's first level */
    size_t total;
    size_t missing; /* pairs not yet covered */
    bool *needed;   /* total x total, [lower][higher] */
    uint64_t random;
};

static bool permitted(const struct covering *c, size_t f, size_t a, size_t g, size_t b)
{
    if (!c->forbidden)
        return true;
    return f < g ? !c->forbidden(f, a, g, b) : !c->forbidden(g, b, f, a);
}

static bool *need(const struct search *s, size_t f, size_t a, size_t g, size_t b)
{
    const size_t first = s->base[f] + a, second = s->base[g] + b;

    return first < second ? &s->needed[first * s->total + second] : &s->needed[second * s->total + first];
}

static bool open_search(struct search *s, const struct covering *c, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->c = c;
    s->random = seed;
    for (size_t f = 0; f < c->factors; f++)
        s->base[f + 1] = s->base[f] + c->levels[f];
    s->total = s->base[c->factors];
    s->needed = calloc(s->total * s->total, sizeof *s->needed);
    if (!s->needed)
        return false;
    for (size_t f = 0; f < c->factors; f++)
        for (size_t g = f + 1; g < c->factors; g++)
            for (size_t a = 0; a < c->levels[f]; a++)
                for (size_t b = 0; b < c->levels[g]; b++)
                    if (permitted(c, f, a, g, b)) {
                        *need(s, f, a, g, b) = true;
                        s->missing++;
                    }
    return true;
}

/* How many uncovered pairs level a of factor f makes with the levels already in row; -1 if it may not stand there. */
static int gain(const struct search *s, const uint8_t *row, size_t f, size_t a)
{
    int pairs = 0;

    for (size_t g = 0; g < s->c->factors; g++) {
        if (g == f || row[g] == FREE)
            continue;
        if (!permitted(s->c, f, a, g, row[g]))
            return -1;
        pairs += *need(s, f, a, g, row[g]);
    }
    return pairs;
}

static size_t factor_of(const struct search *s, size_t number)
{
    size_t f = 0;

    while (number >= s->base[f + 1])
        f++;
    return f;
}

/* Puts a random uncovered pair into an empty row. */
static void plant(struct search *s, uint8_t *row)
{
    const size_t cells = s->total * s->total;
    size_t at = inputs_random(&s->random) % cells;

    while (!s->needed[at])
        at = (at + 1) % cells;
    memset(row, FREE, COVERING_MAX_FACTORS);
    for (int i = 0; i < 2; i++) {
        const size_t number = i == 0 ? at / s->total : at % s->total;
        const size_t f = factor_of(s, number);

        row[f] = (uint8_t)(number - s->base[f]);
    }
}

/* Gives factor f the level that covers most, from a random one on; false: none may stand there. */
static bool fill(struct search *s, uint8_t *row, size_t f)
{
    const size_t levels = s->c->levels[f];
    const size_t start = inputs_random(&s->random) % levels;
    int best = -1;

    for (size_t i = 0; i < levels; i++) {
        const size_t a = (start + i) % levels;
        const int pairs = gain(s, row, f, a);

        if (pairs > best) {
            best = pairs;
            row[f] = (uint8_t)a;
        }
    }
    return best >= 0;
}

/* Makes a row that holds an uncovered pair; returns how many it covers, 0 for a dead end. */
static int make_row(struct search *s, uint8_t *row)
{
    const size_t factors = s->c->factors;
    const size_t start = inputs_random(&s->random) % factors;
    int twice = 0;

    plant(s, row);
    for (size_t i = 0; i < factors; i++) {
        const size_t f = (start + i) % factors;

        if (row[f] == FREE && !fill(s, row, f))
            return 0;
    }
    for (size_t f = 0; f < factors; f++)
        twice += gain(s, row, f, row[f]);
    return twice / 2;
}

static void cover(struct search *s, const uint8_t *row)
{
    for (size_t f = 0; f < s->c->factors; f++)
        for (size_t g = f + 1; g < s->c->factors; g++) {
            bool *pair = need(s, f, row[f], g, row[g]);

            s->missing -= *pair;
            *pair = false;
        }
}

bool covering_make(struct covering *c, uint64_t seed)
{
    struct search s;
    bool ok = false;
    size_t dead_ends = 0;

    c->rows = 0;
    c->row = NULL;
    if (!open_search(&s, c, seed))
        return false;
    c->row = malloc(s.missing * sizeof *c->row); /* each row covers a pair at least */
    if (!c->row)
        goto done;
    while (s.missing > 0 && dead_ends < 1000) {
        uint8_t row[COVERING_MAX_FACTORS];
        int most = 0;

        for (int i = 0; i < CANDIDATES; i++) {
            const int pairs = make_row(&s, row);

            if (pairs > most) {
                most = pairs;
                memcpy(c->row[c->rows], row, sizeof row);
            }
        }
        if (most == 0)
            dead_ends++;
        else
            cover(&s, c->row[c->rows++]);
    }
    ok = s.missing == 0;
done:
    free(s.needed);
    return ok;
}

size_t covering_faults(const struct covering *c)
{
    size_t faults = 0;

    for (size_t f = 0; f < c->factors; f++)
        for (size_t g = f + 1; g < c->factors; g++)
            for (size_t a = 0; a < c->levels[f]; a++)
                for (size_t b = 0; b < c->levels[g]; b++) {
                    size_t held = 0;

                    for (size_t i = 0; i < c->rows; i++)
                        held += c->row[i][f] == a && c->row[i][g] == b;
                    faults += permitted(c, f, a, g, b) ? held == 0 : held;
                }
    return faults;
}
