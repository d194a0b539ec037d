/*
 * full.cl: exact selection by passes over the whole input, with no memory proportional to n.
 *
 * For each key digit from the top: profk_full_histogram counts the digit's values in each segment of the input among
 * the elements that agree with the digits found so far, profk_full_choose adds the segments up and fixes the next
 * digit of the k-th key.  Then profk_full_count counts, for each segment, the elements above and at that key,
 * profk_full_scan turns the counts into places, and profk_full_emit writes the elements above it and the first ones at
 * it, in index order.  No tie needs a second look: equal keys are taken in index order.
 */
#include "element.clh"
#include "row.clh"

#define PK_DIGITS 256u

/* Segment g of the input is elements [begin, end). */
typedef struct {
    ulong begin, end;
} pk_segment;

inline pk_segment pk_segment_of(ulong n, ulong length)
{
    pk_segment segment;
    segment.begin = min((ulong)get_group_id(0) * length, n);
    segment.end = min(segment.begin + length, n);
    return segment;
}

/* The bits of the digits before the one that is `shift` bits up. */
inline pk_bits pk_mask_above(uint shift)
{
    return shift + 8u == PK_WIDTH_BITS ? 0 : (pk_bits)((pk_bits)~(pk_bits)0 << (shift + 8u));
}

/* histogram[segment * 256 + digit]; a segment has fewer than 2^32 elements. */
PK_KERNEL void profk_full_histogram(__global const pk_bits *input, ulong start, ulong n, ulong length, uint shift,
                                    pk_rule rule, __global const pk_row *row, __global uint *histogram)
{
    __local uint counts[PK_DIGITS];
    uint item = (uint)get_local_id(0);
    pk_segment segment = pk_segment_of(n, length);
    pk_bits mask = pk_mask_above(shift);
    pk_bits prefix = mask == 0 ? 0 : (pk_bits)row->prefix;

    for (uint digit = item; digit < PK_DIGITS; digit += PK_WG)
        counts[digit] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (ulong i = segment.begin + item; i < segment.end; i += PK_WG) {
        pk_bits key = pk_key(input[start + i], rule);
        if (((key ^ prefix) & mask) == 0)
            PK_LOCAL_ADD(&counts[(uint)(key >> shift) & 255u], 1u);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint digit = item; digit < PK_DIGITS; digit += PK_WG)
        histogram[(uint)get_group_id(0) * PK_DIGITS + digit] = counts[digit];
}

/* One work-group.  The first digit starts the search. */
PK_KERNEL void profk_full_choose(__global const uint *histogram, uint segments, uint shift, ulong k,
                                 __global pk_row *row)
{
    __local ulong totals[PK_DIGITS];
    uint item = (uint)get_local_id(0);

    for (uint digit = item; digit < PK_DIGITS; digit += PK_WG) {
        ulong total = 0;
        for (uint segment = 0; segment < segments; segment++)
            total += histogram[segment * PK_DIGITS + digit];
        totals[digit] = total;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item != 0)
        return;

    bool first = pk_mask_above(shift) == 0;
    ulong remaining = first ? k : row->remaining;
    uint digit = PK_DIGITS - 1u;
    for (; remaining > totals[digit]; digit--)
        remaining -= totals[digit];
    row->prefix = (first ? 0 : row->prefix) | (ulong)digit << shift;
    row->remaining = remaining;
}

/* counts[2 * segment] = elements above the k-th key, counts[2 * segment + 1] = elements at it. */
PK_KERNEL void profk_full_count(__global const pk_bits *input, ulong start, ulong n, ulong length, pk_rule rule,
                                __global const pk_row *row, __global ulong *counts)
{
    __local uint found[2];
    uint item = (uint)get_local_id(0);
    pk_segment segment = pk_segment_of(n, length);
    pk_bits pivot = (pk_bits)row->prefix;
    uint above = 0, equal = 0;

    for (uint i = item; i < 2u; i += PK_WG)
        found[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (ulong i = segment.begin + item; i < segment.end; i += PK_WG) {
        pk_bits key = pk_key(input[start + i], rule);
        above += key > pivot;
        equal += key == pivot;
    }
    PK_LOCAL_ADD(&found[0], above);
    PK_LOCAL_ADD(&found[1], equal);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        counts[2u * (uint)get_group_id(0)] = found[0];
        counts[2u * (uint)get_group_id(0) + 1u] = found[1];
    }
}

/* counts become sums over the segments before. */
PK_KERNEL void profk_full_scan(uint segments, __global ulong *counts)
{
    ulong above = 0, equal = 0;

    if (get_global_id(0) != 0)
        return;
    for (uint segment = 0; segment < segments; segment++) {
        ulong above_here = counts[2u * segment], equal_here = counts[2u * segment + 1u];
        counts[2u * segment] = above;
        counts[2u * segment + 1u] = equal;
        above += above_here;
        equal += equal_here;
    }
}

/* Sums the words of the work-items before this one; words[PK_WG] receives the sum of all.  words has PK_WG + 1. */
inline uint pk_sum_before(uint word, __local uint *words)
{
    uint item = (uint)get_local_id(0);

    words[item] = word;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint stride = 1; stride < PK_WG; stride *= 2u) {
        uint other = item >= stride ? words[item - stride] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        words[item] += other;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == PK_WG - 1u)
        words[PK_WG] = words[item];
    barrier(CLK_LOCAL_MEM_FENCE);
    return words[item] - word;
}

/* An element above the pivot, or among the first `remaining` at it, goes behind all such elements of lower index. */
PK_KERNEL void profk_full_emit(__global const pk_bits *input, ulong start, ulong n, ulong length, uint attempts,
                               pk_rule rule, __global const ulong *counts, __global pk_row *row,
                               __global pk_bits *winner_bits, __global pk_index *winner_index)
{
    __local uint words[PK_WG + 1];
    uint item = (uint)get_local_id(0);
    pk_segment segment = pk_segment_of(n, length);
    pk_bits pivot = (pk_bits)row->prefix;
    ulong remaining = row->remaining;
    ulong above = counts[2u * (uint)get_group_id(0)], equal = counts[2u * (uint)get_group_id(0) + 1u];

    if (get_global_id(0) == 0) {
        row->status = PK_CERTIFIED;
        row->attempts = attempts;
        row->R = 0;
    }
    for (ulong tile = segment.begin; tile < segment.end; tile += PK_WG) {
        ulong i = tile + item;
        pk_bits bits = i < segment.end ? input[start + i] : 0;
        pk_bits key = pk_key(bits, rule);
        uint is_above = i < segment.end && key > pivot, is_equal = i < segment.end && key == pivot;
        /* one scan of both counts: a work-group has at most 1024 work-items */
        uint before = pk_sum_before(is_above | is_equal << 16, words);
        ulong equal_before = equal + (before >> 16);

        if (is_above || (is_equal && equal_before < remaining)) {
            ulong place = above + (before & 0xffffu) + min(equal_before, remaining);
            winner_bits[place] = bits;
            winner_index[place] = (pk_index)i;
        }
        above += words[PK_WG] & 0xffffu;
        equal += words[PK_WG] >> 16;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
