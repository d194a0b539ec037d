/*
 * full.cl: exact selection by passes over the whole input, with no memory proportional to n.
 *
 * For each key digit from the top: profk_full_histogram counts the digit's values in each segment of the input among
 * the elements that agree with the digits found so far, one launch a chunk; profk_full_choose adds the segments up and
 * fixes the next digit of the k-th key.  Then, chunk by chunk, profk_full_count counts for each segment the elements
 * above and at that key, profk_full_scan turns the counts into places, and profk_full_emit writes the elements above
 * it and the first ones at it, in index order.  No tie needs a second look: equal keys are taken in index order.
 *
 * Work-groups of one first guess a range of keys from a sample of a long row (profk_full_guess) and count in it what the
 * second digit tells of keys from its start on, and the elements above it (profk_full_try).  If these counts say that the
 * k-th key is in the range (profk_full_confirm), two digits are found by one pass; else the guess is forgotten.
 *
 * A segment of a chunk is one task; it has fewer than 2^32 elements.  Digits have `bits` bits, 8 or, in work-groups of
 * one, at most 11.  Such groups also count while they choose: where there is one chunk, profk_full_count is not needed.
 */
#include "element.clh"
#include "row.clh"

#if PK_WG == 1
#include "alone.clh"
#else
#define PK_DIGITS_MAX 256u
#endif

/* Segment `part` of `count` elements. */
typedef struct {
    ulong begin, end;
} pk_segment;

PK_INLINE pk_segment pk_segment_of(ulong count, uint part, uint parts)
{
    ulong length = (count + parts - 1u) / parts;
    pk_segment segment;
    segment.begin = min(part * length, count);
    segment.end = min(segment.begin + length, count);
    return segment;
}

/* The bits of the digits before the one of `bits` bits that is `shift` bits up. */
PK_INLINE pk_bits pk_mask_above(uint shift, uint bits)
{
    return shift + bits == PK_WIDTH_BITS ? 0 : (pk_bits)((pk_bits)~(pk_bits)0 << (shift + bits));
}

#if PK_WG == 1
#define PK_NOT_GUESSED ~0u /* a turn; the host mirrors it */

/* Has a guess found a digit, which `turn` digits are before, ahead of its turn? */
PK_INLINE bool pk_is_found(__global const pk_row *state, uint turn)
{
    return turn != PK_NOT_GUESSED && turn < state->found;
}
#endif

/* histogram[((row * parts + part) << bits) + digit], over the chunks up to this one; the first chunk starts it. */
PK_KERNEL void profk_full_histogram(__global const pk_bits *input, ulong start, ulong stride, ulong count,
                                    uint is_first, uint turn, uint shift, uint bits, pk_rule rule, pk_rows rows,
                                    __global const uint *list, __global const pk_row *states,
                                    __global ulong *histogram)
{
#if PK_WG == 1
    __local ushort counts[PK_DIGITS_MAX * PK_COPIES];
#else
    __local uint counts[PK_DIGITS_MAX];
    uint item = (uint)get_local_id(0);
#endif

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list), part = PK_TASK_PART(task, rows);
        __global const pk_bits *elements = input + start + row * stride;
        __global ulong *to = histogram + (((ulong)row * rows.parts + part) << bits);
        pk_segment segment = pk_segment_of(count, part, rows.parts);
        pk_bits mask = pk_mask_above(shift, bits);
        pk_bits prefix = mask == 0 ? 0 : (pk_bits)states[row].prefix;

#if PK_WG == 1
        if (pk_is_found(&states[row], turn))
            continue;
        pk_counted counted = {prefix, (pk_bits)~mask, shift, 1u << bits};
        for (uint digit = 0; digit < counted.values && is_first; digit++)
            to[digit] = 0;
        pk_count_alone(elements + segment.begin, (uint)(segment.end - segment.begin), counted, rule, counts, to);
#else
        (void)turn;
        for (uint digit = item; digit < PK_DIGITS_MAX; digit += PK_WG)
            counts[digit] = 0;
        PK_BARRIER();
        for (ulong i = segment.begin + item; i < segment.end; i += PK_WG) {
            pk_bits key = pk_key(elements[i], rule);
            if (((key ^ prefix) & mask) == 0)
                PK_LOCAL_ADD(&counts[(uint)(key >> shift) & 255u], 1u);
        }
        PK_BARRIER();
        for (uint digit = item; digit < PK_DIGITS_MAX; digit += PK_WG)
            to[digit] = (is_first ? 0 : to[digit]) + counts[digit];
        PK_BARRIER();
#endif
    }
}

/* How often a digit occurs in all segments. */
PK_INLINE ulong pk_total(__global const ulong *from, uint segments, uint bits, uint digit)
{
    ulong total = 0;

    for (uint segment = 0; segment < segments; segment++)
        total += from[((ulong)segment << bits) + digit];
    return total;
}

#if PK_WG == 1
/* counts[] of profk_full_count, as far as the digits up to this one tell; of one chunk. */
PK_INLINE void pk_count_above(__global const ulong *from, uint segments, uint values, uint digit, bool is_first,
                              __global ulong *counts)
{
    for (uint segment = 0; segment < segments; segment++, from += values) {
        ulong above = is_first ? 0 : counts[2u * segment];
        for (uint value = digit + 1u; value < values; value++)
            above += from[value];
        counts[2u * segment] = above;
        counts[2u * segment + 1u] = from[digit];
    }
}
#endif

/* The digit of the k-th key: the greatest value such that `remaining` or more elements have it or a greater one.
 * *remaining: how many of those that have it belong to the k. */
PK_INLINE uint pk_digit_of(__local const ulong *totals, uint values, ulong *remaining)
{
    uint digit = values - 1u;

    for (; *remaining > totals[digit]; digit--)
        *remaining -= totals[digit];
    return digit;
}

PK_INLINE void pk_fix(__global pk_row *state, ulong prefix, ulong remaining)
{
    state->prefix = prefix;
    state->remaining = remaining;
    state->above_done = state->equal_done = 0;
}

/* One work-group a row.  The first digit starts the search. */
PK_KERNEL void profk_full_choose(__global const ulong *histogram, uint segments, uint turn, uint shift, uint bits,
                                 uint k, pk_rows rows, __global const uint *list, __global pk_row *states,
                                 __global ulong *counts)
{
    __local ulong totals[PK_DIGITS_MAX];
    uint item = (uint)get_local_id(0);

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list);
        __global const ulong *from = histogram + (((ulong)row * segments) << bits);
        uint values = 1u << bits;

#if PK_WG == 1
        if (pk_is_found(&states[row], turn))
            continue;
#endif
        for (uint digit = item; digit < values; digit += PK_WG)
            totals[digit] = pk_total(from, segments, bits, digit);
        PK_BARRIER();
        /* every work-item walks the totals, one writes: see search.clh */
        __global pk_row *state = &states[row];
        bool is_first = pk_mask_above(shift, bits) == 0;
        ulong prefix = is_first ? 0 : state->prefix, remaining = is_first ? k : state->remaining;
        uint digit = pk_digit_of(totals, values, &remaining);
#if PK_WG == 1
        pk_fix(state, prefix + ((ulong)digit << shift), remaining);
        pk_count_above(from, segments, values, digit, is_first, counts + (ulong)row * segments * 2u);
#else
        (void)turn;
        (void)counts;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); /* all have read the state before it is written */
        if (item == 0)
            pk_fix(state, prefix + ((ulong)digit << shift), remaining);
#endif
        PK_BARRIER();
    }
}

#if PK_WG == 1
/* Narrows a range of a sample, in which totals[] counts and above which `above` are, to what the k-th key is in if its
 * rank among the sample is `rank`, give or take `spare`; false if the range is too narrow or few values hold much of the
 * sample: what is in the range is counted one by one. */
PK_INLINE bool pk_narrow(pk_counted *range, __local const ulong *totals, uint above, uint rank, uint spare, uint sampled)
{
    uint first = 0, last = range->values;

    while (last > 0 && above + totals[last - 1u] + spare <= rank)
        above += (uint)totals[--last];
    uint reach = above;
    for (first = last; first > 0 && reach < rank + spare; first--)
        reach += (uint)totals[first - 1u];
    range->least += (pk_bits)((pk_bits)first << range->shift);
    range->span = (pk_bits)((pk_bits)(last - first) << range->shift) - 1u;
    return above + spare <= rank && reach >= rank + spare && reach - above <= sampled / 16u;
}

/*
 * Guesses a range of keys among which the k-th one is, around that of its rank among a sample of `lines` vectors: what
 * the second digit can tell of, and of that what four times the difference usual of such a rank leaves.
 */
PK_INLINE bool pk_guess(pk_lines lines, ulong n, uint k, pk_counted *range, pk_rule rule, __local ulong *totals)
{
    uint sampled = lines.count * PK_VEC, rank = (uint)((ulong)k * sampled / n), above, root;
    pk_bits span = range->span;
    uint second_up = PK_WIDTH_BITS - (uint)clz(span);
    pk_counted first = {0, (pk_bits)~(pk_bits)0, second_up, 1u << (PK_WIDTH_BITS - second_up)};
    ulong remaining = max(rank, 1u);

    pk_count_lines(lines, first, rule, totals);
    range->least = (pk_bits)((pk_bits)pk_digit_of(totals, first.values, &remaining) << second_up);
    pk_count_lines(lines, *range, rule, totals);
    range->least += (pk_bits)((pk_bits)pk_digit_of(totals, range->values, &remaining) << range->shift);
    range->least -= min(range->least, (pk_bits)(span / 2u));
    range->least = min(range->least, (pk_bits)~span);
    above = pk_count_lines(lines, *range, rule, totals);
    for (root = 0; root * root < rank; root++) {
    }
    return pk_narrow(range, totals, above, rank, 4u * root + 2u, sampled);
}

/* A task a row.  shift, bits: of the second digit. */
PK_KERNEL void profk_full_guess(__global const pk_bits *input, ulong start, ulong stride, ulong count, uint lines_count,
                                uint shift, uint bits, uint k, pk_rule rule, pk_rows rows, __global const uint *list,
                                __global pk_row *states)
{
    __local ulong totals[PK_DIGITS_MAX];

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list);
        pk_lines lines = {input + start + row * stride, count / lines_count, lines_count};
        pk_counted range = {0, (pk_bits)~pk_mask_above(shift, bits), shift, 1u << bits};
        bool is_good = lines.step >= PK_VEC && pk_guess(lines, count, k, &range, pk_apart(rule), totals);

        states[row].found = is_good ? 1u : 0;
        states[row].prefix = range.least;
        states[row].remaining = range.span;
    }
}

/* profk_full_histogram for the guessed range; counts[.. 2 * part] receives the elements above it. */
PK_KERNEL void profk_full_try(__global const pk_bits *input, ulong start, ulong stride, ulong count, uint shift,
                              uint bits, pk_rule rule, pk_rows rows, __global const uint *list,
                              __global const pk_row *states, __global ulong *histogram, __global ulong *counts)
{
    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list), part = PK_TASK_PART(task, rows);
        ulong place = (ulong)row * rows.parts + part;
        __global ulong *to = histogram + (place << bits);
        pk_segment segment = pk_segment_of(count, part, rows.parts);
        pk_counted counted = {(pk_bits)states[row].prefix, (pk_bits)states[row].remaining, shift, 1u << bits};

        if (states[row].found == 0)
            continue;
        for (uint value = 0; value < counted.values; value++)
            to[value] = 0;
        counts[2u * place] = pk_count_guessed(input + start + row * stride + segment.begin,
                                              (uint)(segment.end - segment.begin), counted, rule, to);
    }
}

/* A task a row: profk_full_choose for the guessed range, if the k-th key is in it. */
PK_KERNEL void profk_full_confirm(__global const ulong *histogram, uint segments, uint shift, uint bits, uint k,
                                  pk_rows rows, __global const uint *list, __global pk_row *states,
                                  __global ulong *counts)
{
    __local ulong totals[PK_DIGITS_MAX];

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list), values = 1u << bits;
        __global const ulong *from = histogram + (((ulong)row * segments) << bits);
        __global ulong *row_counts = counts + (ulong)row * segments * 2u;
        __global pk_row *state = &states[row];
        ulong within = 0, above = 0, remaining;

        if (state->found == 0)
            continue;
        for (uint digit = 0; digit < values; digit++) {
            totals[digit] = pk_total(from, segments, bits, digit);
            within += totals[digit];
        }
        for (uint segment = 0; segment < segments; segment++)
            above += row_counts[2u * segment];
        state->found = above < k && k <= above + within ? 2u : 0;
        if (state->found == 0)
            continue;
        remaining = k - above;
        uint digit = pk_digit_of(totals, values, &remaining);
        pk_fix(state, state->prefix + ((ulong)digit << shift), remaining);
        pk_count_above(from, segments, values, digit, false, row_counts);
    }
}
#endif

/* Of segment `part` of a row: counts[.. 2 * part] elements above the k-th key, counts[.. 2 * part + 1] at it. */
PK_KERNEL void profk_full_count(__global const pk_bits *input, ulong start, ulong stride, ulong count, pk_rule rule,
                                pk_rows rows, __global const uint *list, __global const pk_row *states,
                                __global ulong *counts)
{
    __local uint found[2];
    uint item = (uint)get_local_id(0);

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list), part = PK_TASK_PART(task, rows);
        __global const pk_bits *elements = input + start + row * stride;
        pk_segment segment = pk_segment_of(count, part, rows.parts);
        pk_bits pivot = (pk_bits)states[row].prefix;
        uint above = 0, equal = 0;

        for (uint i = item; i < 2u; i += PK_WG)
            found[i] = 0;
        PK_BARRIER();
        for (ulong i = segment.begin + item; i < segment.end; i += PK_WG) {
            pk_bits key = pk_key(elements[i], rule);
            above += key > pivot;
            equal += key == pivot;
        }
        PK_LOCAL_ADD(&found[0], above);
        PK_LOCAL_ADD(&found[1], equal);
        PK_BARRIER();
        for (uint i = item; i < 2u; i += PK_WG)
            counts[((ulong)row * rows.parts + part) * 2u + i] = found[i];
        PK_BARRIER();
    }
}

/* A row's counts become sums over the segments and chunks before. */
PK_KERNEL void profk_full_scan(uint segments, pk_rows rows, __global const uint *list, __global pk_row *states,
                               __global ulong *counts)
{
    uint count = pk_row_count(rows, list);

    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        uint row = pk_row_at(rows, list, (uint)i);
        __global ulong *row_counts = counts + (ulong)row * segments * 2u;
        ulong above = states[row].above_done, equal = states[row].equal_done;

        for (uint segment = 0; segment < segments; segment++) {
            ulong above_here = row_counts[2u * segment], equal_here = row_counts[2u * segment + 1u];
            row_counts[2u * segment] = above;
            row_counts[2u * segment + 1u] = equal;
            above += above_here;
            equal += equal_here;
        }
        states[row].above_done = above;
        states[row].equal_done = equal;
    }
}

#if PK_WG > 1
/* Sums the words of the work-items before this one; words[PK_WG] receives the sum of all.  words has PK_WG + 1. */
PK_INLINE uint pk_sum_before(uint word, __local uint *words)
{
    uint item = (uint)get_local_id(0);

    words[item] = word;
    PK_BARRIER();
    for (uint stride = 1; stride < PK_WG; stride *= 2u) {
        uint other = item >= stride ? words[item - stride] : 0;
        PK_BARRIER();
        words[item] += other;
        PK_BARRIER();
    }
    if (item == PK_WG - 1u)
        words[PK_WG] = words[item];
    PK_BARRIER();
    return words[item] - word;
}
#endif

/* An element above the pivot, or among the first `remaining` at it, goes behind all such elements of lower index. */
PK_KERNEL void profk_full_emit(__global const pk_bits *input, ulong start, ulong stride, ulong first, ulong count,
                               uint k, uint attempts, pk_rule rule, pk_rows rows, __global const uint *list,
                               __global const ulong *counts, __global pk_result *results, __global pk_row *states,
                               __global pk_bits *winner_bits, __global pk_index *winner_index)
{
#if PK_WG > 1
    __local uint words[PK_WG + 1];
#endif
    uint item = (uint)get_local_id(0);

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list), part = PK_TASK_PART(task, rows);
        __global const pk_bits *elements = input + start + row * stride;
        __global const ulong *before_segment = counts + ((ulong)row * rows.parts + part) * 2u;
        pk_segment segment = pk_segment_of(count, part, rows.parts);
        pk_bits pivot = (pk_bits)states[row].prefix;
        ulong remaining = states[row].remaining;
        ulong above = before_segment[0], equal = before_segment[1];

        if (part == 0 && item == 0) {
            results[row].status = PK_CERTIFIED;
            results[row].attempts = attempts;
            results[row].R = 0;
            states[row].winners = k;
        }
#if PK_WG == 1
        pk_winners winners;
        winners.bits = winner_bits;
        winners.index = winner_index;
        winners.place = (ulong)row * k + above + min(equal, remaining);
        winners.left = remaining - min(equal, remaining);
        pk_take_alone(elements + segment.begin, (uint)(segment.end - segment.begin), first + segment.begin, pivot, rule,
                      winners);
#else
        for (ulong tile = segment.begin; tile < segment.end; tile += PK_WG) {
            ulong i = tile + item;
            pk_bits bits = i < segment.end ? elements[i] : 0;
            pk_bits key = pk_key(bits, rule);
            uint is_above = i < segment.end && key > pivot, is_equal = i < segment.end && key == pivot;
            /* one scan of both counts: a work-group has at most 1024 work-items */
            uint before = pk_sum_before(is_above | is_equal << 16, words);
            ulong equal_before = equal + (before >> 16);

            if (is_above || (is_equal && equal_before < remaining)) {
                ulong place = (ulong)row * k + above + (before & 0xffffu) + min(equal_before, remaining);
                winner_bits[place] = bits;
                winner_index[place] = (pk_index)(first + i);
            }
            above += words[PK_WG] & 0xffffu;
            equal += words[PK_WG] >> 16;
            PK_BARRIER();
        }
#endif
    }
}
