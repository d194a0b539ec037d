/*
 * sort.cl: puts the k winners in the sequence asked for and writes the caller's buffers.
 *
 * Few winners are sorted by one work-group in local memory (bitonic), many by stable radix passes from the last digit
 * up (count, scan, scatter; index digits first, then key digits), and profk_emit copies what needs no sorting.  No
 * kernel has anything to do unless the row is certified.
 *
 * PK_DIGIT_BITS   bits of a radix digit; PK_WG << PK_DIGIT_BITS is at most 4096
 * PK_LOCAL_PAIRS  winners that the bitonic sort holds
 */
#include "element.clh"
#include "row.clh"

#if !defined(PK_DIGIT_BITS) || !defined(PK_LOCAL_PAIRS)
#error "PK_DIGIT_BITS and PK_LOCAL_PAIRS must be defined"
#endif

#define PK_DIGITS (1u << PK_DIGIT_BITS)

/* What the caller wants written. */
#define PK_WANT_VALUES 1u
#define PK_WANT_U32 2u
#define PK_WANT_U64 4u

typedef struct {
    ulong values_start, indices_start; /* places of the first result in the caller's buffers */
    uint wants;
    uint by_index; /* 1: ascending index, 0: rank */
} pk_output;

inline void pk_write(__global pk_bits *values, __global uint *indices32, __global ulong *indices64, pk_output output,
                     uint place, pk_bits bits, pk_index index)
{
    if (output.wants & PK_WANT_VALUES)
        values[output.values_start + place] = bits;
    if (output.wants & PK_WANT_U32)
        indices32[output.indices_start + place] = (uint)index;
    if (output.wants & PK_WANT_U64)
        indices64[output.indices_start + place] = index;
}

/* Must the winner at place `a` of local memory stand behind that at place `b`? */
inline bool pk_behind(__local const pk_bits *bits, __local const pk_index *index, uint a, uint b, uint by_index,
                      pk_rule rule)
{
    if (by_index)
        return index[a] > index[b];
    return !pk_reaches(pk_key(bits[a], rule), index[a], pk_key(bits[b], rule), index[b]);
}

/*
 * Bitonic sort of any count: each merge starts with mirrored pairs (i, size - 1 - i), so all comparisons point the
 * same way and the places from count on may be left out, as if they held winners that belong last.
 */
PK_KERNEL void profk_bitonic(__global const pk_bits *winner_bits, __global const pk_index *winner_index, uint count,
                             pk_rule rule, __global const pk_row *row, pk_output output, __global pk_bits *values,
                             __global uint *indices32, __global ulong *indices64)
{
    __local pk_bits bits[PK_LOCAL_PAIRS];
    __local pk_index index[PK_LOCAL_PAIRS];
    uint item = (uint)get_local_id(0);

    count = pk_if_certified(row, count);
    for (uint i = item; i < count; i += PK_WG) {
        bits[i] = winner_bits[i];
        index[i] = winner_index[i];
    }
    for (uint size = 2; size < 2u * count; size *= 2u) {
        for (uint stride = size / 2u; stride > 0; stride /= 2u) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint p = item; p < size * ((count + size - 1u) / size) / 2u; p += PK_WG) {
                uint in_half = p & (stride - 1u);
                uint a = 2u * (p - in_half) + in_half;
                uint b = stride == size / 2u ? a + 2u * (stride - in_half) - 1u : a + stride;
                if (b < count && pk_behind(bits, index, a, b, output.by_index, rule)) {
                    pk_bits bits_a = bits[a];
                    pk_index index_a = index[a];
                    bits[a] = bits[b];
                    index[a] = index[b];
                    bits[b] = bits_a;
                    index[b] = index_a;
                }
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = item; i < count; i += PK_WG)
        pk_write(values, indices32, indices64, output, i, bits[i], index[i]);
}

/* The radix passes split the winners into one segment a work-group and a segment into one run a work-item. */
typedef struct {
    uint begin, end;
} pk_range;

inline pk_range pk_run(uint count, uint segment)
{
    uint run = (segment + PK_WG - 1u) / PK_WG;
    ulong first = (ulong)get_group_id(0) * segment;
    ulong begin = first + (ulong)run * (uint)get_local_id(0);
    ulong end = min(begin + run, min(first + segment, (ulong)count));
    pk_range range;
    range.begin = (uint)min(begin, end);
    range.end = (uint)end;
    return range;
}

/* The digit `shift` bits up: of the complemented key, so that ascending digits are descending keys, or of the index. */
inline uint pk_sort_digit(pk_bits bits, pk_index index, uint by_key, uint shift, pk_rule rule)
{
    if (by_key)
        return (uint)((pk_bits)~pk_key(bits, rule) >> shift) & (PK_DIGITS - 1u);
    return (uint)(index >> shift) & (PK_DIGITS - 1u);
}

/* table[digit * PK_WG + item] = how often the digit occurs in the work-item's run. */
inline void pk_count_run(__global const pk_bits *bits, __global const pk_index *index, pk_range run, uint by_key,
                         uint shift, pk_rule rule, __local uint *table)
{
    uint item = (uint)get_local_id(0);

    for (uint digit = 0; digit < PK_DIGITS; digit++)
        table[digit * PK_WG + item] = 0;
    for (uint i = run.begin; i < run.end; i++)
        table[pk_sort_digit(bits[i], index[i], by_key, shift, rule) * PK_WG + item]++;
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* counts[digit * segments + segment] = how often the digit occurs in the segment. */
PK_KERNEL void profk_radix_count(__global const pk_bits *bits, __global const pk_index *index, uint count,
                                 uint segment, uint by_key, uint shift, pk_rule rule, __global const pk_row *row,
                                 __global uint *counts)
{
    __local uint table[PK_DIGITS * PK_WG];

    pk_count_run(bits, index, pk_run(pk_if_certified(row, count), segment), by_key, shift, rule, table);
    for (uint digit = (uint)get_local_id(0); digit < PK_DIGITS; digit += PK_WG) {
        uint sum = 0;
        for (uint i = 0; i < PK_WG; i++)
            sum += table[digit * PK_WG + i];
        counts[digit * (uint)get_num_groups(0) + (uint)get_group_id(0)] = sum;
    }
}

/* One work-group turns the counts into the places where each digit of each segment starts. */
PK_KERNEL void profk_radix_scan(uint words, __global const pk_row *row, __global uint *counts)
{
    __local uint sums[PK_WG];
    uint item = (uint)get_local_id(0);
    uint sum = 0;

    words = pk_if_certified(row, words);
    uint run = (words + PK_WG - 1u) / PK_WG;
    uint begin = min(item * run, words), end = min(begin + run, words);
    for (uint i = begin; i < end; i++)
        sum += counts[i];
    sums[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = 0;
    for (uint i = 0; i < item; i++)
        sum += sums[i];
    for (uint i = begin; i < end; i++) {
        uint here = counts[i];
        counts[i] = sum;
        sum += here;
    }
}

PK_KERNEL void profk_radix_scatter(__global const pk_bits *bits, __global const pk_index *index, uint count,
                                   uint segment, uint by_key, uint shift, pk_rule rule, __global const pk_row *row,
                                   __global const uint *places, __global pk_bits *to_bits, __global pk_index *to_index)
{
    __local uint table[PK_DIGITS * PK_WG];
    uint item = (uint)get_local_id(0);
    pk_range run = pk_run(pk_if_certified(row, count), segment);

    pk_count_run(bits, index, run, by_key, shift, rule, table);
    for (uint digit = item; digit < PK_DIGITS; digit += PK_WG) {
        uint place = places[digit * (uint)get_num_groups(0) + (uint)get_group_id(0)];
        for (uint i = 0; i < PK_WG; i++) {
            uint here = table[digit * PK_WG + i];
            table[digit * PK_WG + i] = place;
            place += here;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = run.begin; i < run.end; i++) {
        uint place = table[pk_sort_digit(bits[i], index[i], by_key, shift, rule) * PK_WG + item]++;
        to_bits[place] = bits[i];
        to_index[place] = index[i];
    }
}

PK_KERNEL void profk_emit(__global const pk_bits *winner_bits, __global const pk_index *winner_index, uint count,
                          __global const pk_row *row, pk_output output, __global pk_bits *values,
                          __global uint *indices32, __global ulong *indices64)
{
    uint i = (uint)get_global_id(0);

    if (i < pk_if_certified(row, count))
        pk_write(values, indices32, indices64, output, i, winner_bits[i], winner_index[i]);
}
