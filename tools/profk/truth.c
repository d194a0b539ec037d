/* truth.c: see truth.h. */
#include "truth.h"

#include <inttypes.h>
#include <profk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parallel.h"

/* How the bits of an element become its rank: a number that is greater for what goes first. */
struct rule {
    uint64_t sign, infinity; /* infinity: of floats, 0 for integers */
    uint64_t nan_rank;
    uint32_t nbytes, order;
    bool is_signed;
};

static struct rule rule_of(const struct question *question)
{
    const struct type *type = question->type;
    bool nan_first = question->nan == PROFK_NAN_LARGEST && question->order != PROFK_SMALLEST;
    struct rule rule = {.nbytes = type->nbytes, .order = question->order, .is_signed = type->name[0] == 'i'};

    rule.sign = UINT64_C(1) << (8 * type->nbytes - 1);
    rule.nan_rank = nan_first ? UINT64_MAX : 0; /* no number of a float type has either rank */
    switch (type->id) {
    case PROFK_F32: rule.infinity = 0x7F800000; break;
    case PROFK_F16: rule.infinity = 0x7C00; break;
    case PROFK_BF16: rule.infinity = 0x7F80; break;
    case PROFK_F64: rule.infinity = UINT64_C(0x7FF) << 52; break;
    default: break;
    }
    return rule;
}

/* Lines all values up from the least to the greatest; floats are sign and size, signed integers two's complement. */
static uint64_t line_up(const struct rule *rule, uint64_t bits)
{
    uint64_t size = bits & (rule->sign - 1);

    if (rule->infinity)
        return bits & rule->sign ? rule->sign - size : rule->sign + size; /* both zeros: sign */
    return rule->is_signed ? bits ^ rule->sign : bits;
}

static uint64_t size_of(const struct rule *rule, uint64_t bits)
{
    if (rule->infinity)
        return (bits & (rule->sign - 1)) + 1; /* leaves 0 to NaN */
    return rule->is_signed && bits & rule->sign ? rule->sign - (bits & (rule->sign - 1)) : bits;
}

static uint64_t rank_of(const struct rule *rule, uint64_t bits)
{
    if (rule->infinity && (bits & (rule->sign - 1)) > rule->infinity)
        return rule->nan_rank;
    if (rule->order == PROFK_MAGNITUDE)
        return size_of(rule, bits);
    if (rule->order == PROFK_SMALLEST)
        return 2 * (rule->sign - 1) + 1 - line_up(rule, bits); /* the greatest number of that many bits */
    return line_up(rule, bits);
}

static uint64_t rank_at(const struct rule *rule, const void *elements, uint64_t i)
{
    const unsigned char *at = (const unsigned char *)elements + i * rule->nbytes;
    uint64_t bits = 0;

    switch (rule->nbytes) { /* constant sizes, so that a loop over elements has no call in it */
    case 1: memcpy(&bits, at, 1); break;
    case 2: memcpy(&bits, at, 2); break;
    case 4: memcpy(&bits, at, 4); break;
    default: memcpy(&bits, at, 8); break;
    }
    return rank_of(rule, bits);
}

/* A pair, and the loop that counts what does not go behind it. */
struct counting {
    struct rule rule;
    const void *elements;
    uint64_t rank, index;
    uint64_t counts[PARALLEL_MOST];
};

static void count_part(void *user, unsigned part, uint64_t first, uint64_t end)
{
    struct counting *counting = user;
    const struct rule rule = counting->rule;
    uint64_t rank = counting->rank, index = counting->index, count = 0, i;

    for (i = first; i < end; i++) {
        uint64_t mine = rank_at(&rule, counting->elements, i);

        count += mine > rank || (mine == rank && i <= index);
    }
    counting->counts[part] = count;
}

static uint64_t count_not_behind(const struct question *question, uint64_t rank, uint64_t index)
{
    struct counting counting = {rule_of(question), question->elements, rank, index, {0}};
    uint64_t total = 0;
    unsigned part;

    parallel_run(question->n, count_part, &counting);
    for (part = 0; part < PARALLEL_MOST; part++)
        total += counting.counts[part];
    return total;
}

static bool refuse(char why[TRUTH_ROOM], uint64_t place, const char *what)
{
    snprintf(why, TRUTH_ROOM, "place %" PRIu64 " of the answer: %s", place, what);
    return false;
}

/* Each value is its element, and the sequence is the one that was asked for; *last_ret: the place of the last pair. */
static bool check_places(const struct question *question, const void *values, const uint64_t *indices,
                         uint64_t *last_ret, char why[TRUTH_ROOM])
{
    const struct rule rule = rule_of(question);
    const unsigned char *elements = question->elements, *bytes = values;
    uint64_t j, last_rank = 0;

    for (*last_ret = j = 0; j < question->k; j++) {
        uint64_t rank = rank_at(&rule, values, j);
        bool behind = rank < last_rank || (rank == last_rank && indices[j] > indices[*last_ret]);

        if (indices[j] >= question->n)
            return refuse(why, j, "an index past the row");
        if (memcmp(bytes + j * rule.nbytes, elements + indices[j] * rule.nbytes, rule.nbytes) != 0)
            return refuse(why, j, "not the element that its index names");
        if (j > 0 && question->sort == PROFK_SORT_RANK && !behind)
            return refuse(why, j, "goes in front of the one before it");
        if (j == 0 || behind) {
            *last_ret = j;
            last_rank = rank;
        }
    }
    return true;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static bool indices_differ(const struct question *question, uint64_t *indices, char why[TRUTH_ROOM])
{
    uint64_t j;

    if (question->sort == PROFK_SORT_RANK)
        return true; /* each pair goes behind the one before it */
    if (question->sort == PROFK_SORT_NONE)
        qsort(indices, (size_t)question->k, sizeof *indices, compare_u64);
    for (j = 1; j < question->k; j++)
        if (indices[j] <= indices[j - 1])
            return refuse(why, j, "an index is there twice, or out of sequence");
    return true;
}

bool truth_check(const struct question *question, const void *values, uint64_t *indices, char why[TRUTH_ROOM])
{
    const struct rule rule = rule_of(question);
    uint64_t last, last_rank, last_index, count;

    if (question->k == 0)
        return true;
    if (!check_places(question, values, indices, &last, why))
        return false;
    last_rank = rank_at(&rule, values, last);
    last_index = indices[last];
    if (!indices_differ(question, indices, why))
        return false;
    count = count_not_behind(question, last_rank, last_index);
    if (count != question->k)
        snprintf(why, TRUTH_ROOM, "%" PRIu64 " elements do not go behind the last of the answer, not %" PRIu64, count,
                 question->k);
    return count == question->k;
}

/* The greatest rank that at least k elements reach, bit by bit: one pass each. */
static uint64_t kth_rank(const struct question *question)
{
    uint64_t bit = UINT64_C(1) << (8 * question->type->nbytes - 1), rank = 0;

    if (count_not_behind(question, UINT64_MAX, UINT64_MAX) >= question->k)
        return UINT64_MAX; /* NaN in front of every number */
    for (; bit > 0; bit >>= 1)
        if (count_not_behind(question, rank | bit, UINT64_MAX) >= question->k)
            rank |= bit;
    return rank;
}

uint64_t truth_hits(const struct question *question, const void *values, uint64_t count)
{
    const struct rule rule = rule_of(question);
    uint64_t kth = kth_rank(question), hits = 0, j;

    for (j = 0; j < count; j++)
        hits += rank_at(&rule, values, j) >= kth;
    return hits;
}
