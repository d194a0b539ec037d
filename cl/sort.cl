/*
 * sort.cl: puts the k winners in the sequence asked for and writes the caller's buffers.
 *
 * Few winners are sorted by one work-group a row in local memory (bitonic), many by stable radix passes from the last
 * digit up (count, scan, scatter; index digits first, then key digits), and profk_emit copies what needs no sorting.
 * Where a work-group is one work-item (a CPU), it sorts its row, or its share of many winners, alone by such passes
 * (profk_alone).
 * A row without winners (it missed) has nothing written, or with `pad` (approximate mode) index all ones and value 0 in
 * the places beyond its winners.
 *
 * PK_DIGIT_BITS  bits of a radix digit; PK_WG << PK_DIGIT_BITS is at most 4096
 */
#include "element.clh"
#include "row.clh"
#include "order.clh"

#ifndef PK_DIGIT_BITS
#error "PK_DIGIT_BITS must be defined"
#endif

#define PK_DIGITS (1u << PK_DIGIT_BITS)
#define PK_EMITTED 1024u /* pairs that a task of profk_emit copies; the host mirrors it */

PK_KERNEL void profk_bitonic(__global const pk_bits *winner_bits, __global const pk_index *winner_index, uint k,
                             pk_rule rule, pk_output output, uint pad, pk_rows rows, __global const uint *list,
                             __global const pk_row *states, __global pk_bits *values, __global uint *indices32,
                             __global ulong *indices64)
{
    __local pk_bits bits[PK_LOCAL_PAIRS];
    __local pk_index index[PK_LOCAL_PAIRS];
    uint item = (uint)get_local_id(0);

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list);
        ulong from = (ulong)row * k, to = (rows.first + row) * k;
        uint count = states[row].winners;

        for (uint i = item; i < count; i += PK_WG) {
            bits[i] = winner_bits[from + i];
            index[i] = winner_index[from + i];
        }
        pk_sort_local(bits, index, count, output.by_index, rule);
        for (uint i = item; i < count; i += PK_WG)
            pk_write(values, indices32, indices64, output, to + i, bits[i], index[i]);
        for (uint i = count + item; pad && i < k; i += PK_WG)
            pk_write(values, indices32, indices64, output, to + i, 0, ~0ul);
        PK_BARRIER();
    }
}

/* The radix passes split a row's winners into one segment a task and a segment into one run a work-item. */
typedef struct {
    uint begin, end;
} pk_range;

PK_INLINE pk_range pk_run(uint count, uint segment, uint part)
{
    uint run = (segment + PK_WG - 1u) / PK_WG;
    ulong first = (ulong)part * segment;
    ulong begin = first + (ulong)run * (uint)get_local_id(0);
    ulong end = min(begin + run, min(first + segment, (ulong)count));
    pk_range range;
    range.begin = (uint)min(begin, end);
    range.end = (uint)end;
    return range;
}

/* The digit `shift` bits up: of the complemented key, so that ascending digits are descending keys, or of the index. */
PK_INLINE uint pk_sort_digit(pk_bits bits, pk_index index, uint by_key, uint shift, pk_rule rule)
{
    if (by_key)
        return (uint)((pk_bits)~pk_key(bits, rule) >> shift) & (PK_DIGITS - 1u);
    return (uint)(index >> shift) & (PK_DIGITS - 1u);
}

/* table[digit * PK_WG + item] = how often the digit occurs in the work-item's run. */
PK_INLINE void pk_count_run(__global const pk_bits *bits, __global const pk_index *index, pk_range run, uint by_key,
                         uint shift, pk_rule rule, __local uint *table)
{
    uint item = (uint)get_local_id(0);

    for (uint digit = 0; digit < PK_DIGITS; digit++)
        table[digit * PK_WG + item] = 0;
    for (uint i = run.begin; i < run.end; i++)
        table[pk_sort_digit(bits[i], index[i], by_key, shift, rule) * PK_WG + item]++;
    PK_BARRIER();
}

/* counts[digit * segments + segment] of a row = how often the digit occurs in the segment. */
PK_KERNEL void profk_radix_count(__global const pk_bits *bits, __global const pk_index *index, uint k, uint segment,
                                 uint by_key, uint shift, pk_rule rule, pk_rows rows, __global const uint *list,
                                 __global const pk_row *states, __global uint *counts)
{
    __local uint table[PK_DIGITS * PK_WG];

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list), part = PK_TASK_PART(task, rows);
        __global uint *to = counts + (ulong)row * (PK_DIGITS * rows.parts);

        pk_count_run(bits + (ulong)row * k, index + (ulong)row * k, pk_run(states[row].winners, segment, part), by_key,
                     shift, rule, table);
        for (uint digit = (uint)get_local_id(0); digit < PK_DIGITS; digit += PK_WG) {
            uint sum = 0;
            for (uint i = 0; i < PK_WG; i++)
                sum += table[digit * PK_WG + i];
            to[digit * rows.parts + part] = sum;
        }
        PK_BARRIER();
    }
}

/* One work-group a row turns its counts, `words` of them, into the places where each digit of each segment starts. */
PK_KERNEL void profk_radix_scan(uint words, pk_rows rows, __global const uint *list, __global uint *counts)
{
    __local uint sums[PK_WG];
    uint item = (uint)get_local_id(0);
    uint run = (words + PK_WG - 1u) / PK_WG;
    uint begin = min(item * run, words), end = min(begin + run, words);

    PK_FOR_EACH_TASK(task, rows, list)
    {
        __global uint *row_counts = counts + (ulong)PK_TASK_ROW(task, rows, list) * words;
        uint sum = 0;

        for (uint i = begin; i < end; i++)
            sum += row_counts[i];
        sums[item] = sum;
        PK_BARRIER();
        sum = 0;
        for (uint i = 0; i < item; i++)
            sum += sums[i];
        for (uint i = begin; i < end; i++) {
            uint here = row_counts[i];
            row_counts[i] = sum;
            sum += here;
        }
        PK_BARRIER();
    }
}

PK_KERNEL void profk_radix_scatter(__global const pk_bits *bits, __global const pk_index *index, uint k, uint segment,
                                   uint by_key, uint shift, pk_rule rule, pk_rows rows, __global const uint *list,
                                   __global const pk_row *states, __global const uint *places,
                                   __global pk_bits *to_bits, __global pk_index *to_index)
{
    __local uint table[PK_DIGITS * PK_WG];
    uint item = (uint)get_local_id(0);

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list), part = PK_TASK_PART(task, rows);
        pk_range run = pk_run(states[row].winners, segment, part);

        pk_count_run(bits + (ulong)row * k, index + (ulong)row * k, run, by_key, shift, rule, table);
        for (uint digit = item; digit < PK_DIGITS; digit += PK_WG) {
            uint place = places[((ulong)row * PK_DIGITS + digit) * rows.parts + part];
            for (uint i = 0; i < PK_WG; i++) {
                uint here = table[digit * PK_WG + i];
                table[digit * PK_WG + i] = place;
                place += here;
            }
        }
        PK_BARRIER();
        for (uint i = run.begin; i < run.end; i++) {
            ulong base = (ulong)row * k;
            pk_bits element = bits[base + i];
            pk_index position = index[base + i];
            uint place = table[pk_sort_digit(element, position, by_key, shift, rule) * PK_WG + item]++;
            to_bits[base + place] = element;
            to_index[base + place] = position;
        }
        PK_BARRIER();
    }
}

#if PK_WG == 1
#define PK_WIDE_BITS 11u /* of a digit where one work-item sorts: the counts of two digits fill 16 KiB */
#define PK_NARROW_BITS 8u /* where there are too few pairs for as many counts */
#define PK_MANY 1024u
#define PK_RUN 64u /* pairs whose words are made at once */

/* A row's pairs and as much room again. */
typedef struct {
    pk_pairs now, other;
} pk_sheets;

#if PK_WIDTH_BITS <= 32 && PK_INDEX_BITS == 32
#define PK_SORT_BITS 32u
typedef uint pk_sort_bits;
#else
#define PK_SORT_BITS 64u
typedef ulong pk_sort_bits;
#endif

/* What is sorted by: the complemented key, so that ascending words are descending keys, or the index. */
PK_INLINE pk_sort_bits pk_sort_word(pk_pairs pairs, uint i, uint by_key, pk_rule rule)
{
    return by_key ? (pk_sort_bits)(pk_bits)~pk_key(pairs.bits[i], rule) : (pk_sort_bits)pairs.index[i];
}

/* Words of at most PK_RUN pairs from `from` on; returns how many.  A loop of their own: a CPU makes them in vectors. */
PK_INLINE uint pk_sort_words(pk_pairs pairs, uint from, uint count, uint by_key, pk_rule rule, pk_sort_bits *words)
{
    uint here = min(count - from, PK_RUN);

    for (uint j = 0; j < here; j++)
        words[j] = pk_sort_word(pairs, from + j, by_key, rule);
    return here;
}

/* One stable pass over the digit of `bits` bits, `shift` bits up, from sheets.now to sheets.other.  counts[] says how
 * often each value of it occurs; next[] is to say so of the digit above. */
PK_INLINE void pk_pass(pk_sheets sheets, uint count, uint by_key, uint shift, uint bits, pk_rule rule,
                       __local uint *counts, __local uint *next)
{
    uint mask = (1u << bits) - 1u, place = 0;
    uint above = min(shift + bits, PK_SORT_BITS - 1u); /* nobody reads what is counted above the last digit */
    pk_sort_bits words[PK_RUN];

    for (uint digit = 0; digit <= mask; digit++) {
        uint here = counts[digit];
        counts[digit] = place;
        place += here;
        next[digit] = 0;
    }
    for (uint from = 0; from < count; from += PK_RUN) {
        uint here = pk_sort_words(sheets.now, from, count, by_key, rule, words);
        for (uint j = 0; j < here; j++) {
            uint to = counts[(uint)(words[j] >> shift) & mask]++;
            next[(uint)(words[j] >> above) & mask]++;
            sheets.other.bits[to] = sheets.now.bits[from + j];
            sheets.other.index[to] = sheets.now.index[from + j];
        }
    }
}

/* The bits in which words differ. */
PK_INLINE pk_sort_bits pk_differing(pk_pairs pairs, uint count, uint by_key, pk_rule rule)
{
    pk_sort_bits first = count == 0 ? 0 : pk_sort_word(pairs, 0, by_key, rule), differ = 0;
    pk_sort_bits words[PK_RUN];

    for (uint from = 0; from < count; from += PK_RUN) {
        uint here = pk_sort_words(pairs, from, count, by_key, rule, words);
        for (uint j = 0; j < here; j++)
            differ |= words[j] ^ first;
    }
    return differ;
}

/* counts[] says how often each value of the digit of `bits` bits, `shift` bits up, occurs. */
PK_INLINE void pk_count_digits(pk_pairs pairs, uint count, uint by_key, uint shift, uint bits, pk_rule rule,
                               __local uint *counts)
{
    pk_sort_bits words[PK_RUN];

    for (uint digit = 0; digit < 1u << bits; digit++)
        counts[digit] = 0;
    for (uint from = 0; from < count; from += PK_RUN) {
        uint here = pk_sort_words(pairs, from, count, by_key, rule, words);
        for (uint j = 0; j < here; j++)
            counts[(uint)(words[j] >> shift) & ((1u << bits) - 1u)]++;
    }
}

/* Passes over the bits in which words differ, in as few digits as will do, all of one width. */
PK_INLINE pk_sheets pk_sort_by(pk_sheets sheets, uint count, uint by_key, pk_rule rule, __local uint *places)
{
    uint most = count < PK_MANY ? PK_NARROW_BITS : PK_WIDE_BITS;
    pk_sort_bits differ = pk_differing(sheets.now, count, by_key, rule);

    if (differ == 0)
        return sheets;
    uint low = PK_SORT_BITS - 1u - (uint)clz(differ & (0 - differ)), high = PK_SORT_BITS - (uint)clz(differ);
    uint passes = (high - low + most - 1u) / most, bits = (high - low + passes - 1u) / passes;

    pk_count_digits(sheets.now, count, by_key, low, bits, rule, places);
    for (uint pass = 0; pass < passes; pass++) {
        uint of_pass = (pass & 1u) << PK_WIDE_BITS;
        pk_pass(sheets, count, by_key, low + pass * bits, bits, rule, places + of_pass,
                places + ((1u << PK_WIDE_BITS) - of_pass));
        pk_pairs swapped = sheets.now;
        sheets.now = sheets.other;
        sheets.other = swapped;
    }
    return sheets;
}

/* Puts equal keys, which stand together, in index order; gives up where that takes many steps. */
PK_INLINE bool pk_mend_ties(pk_pairs pairs, uint count, pk_rule rule)
{
    ulong steps_left = 2ul * count;
    pk_sort_bits words[PK_RUN], before = 0;
    pk_index index_before = 0;

    for (uint from = 0; from < count; from += PK_RUN) {
        uint here = pk_sort_words(pairs, from, count, 1, rule, words);
        for (uint j = 0; j < here; j++) {
            uint i = from + j;
            pk_index index = pairs.index[i];
            bool is_out = i > 0 && words[j] == before && index_before > index;

            before = words[j];
            index_before = is_out ? index_before : index;
            if (!is_out)
                continue;
            pk_bits bits = pairs.bits[i];
            uint place = i;

            while (place > 0 && steps_left > 0 && pk_sort_word(pairs, place - 1u, 1, rule) == words[j]
                   && pairs.index[place - 1u] > index) {
                pairs.bits[place] = pairs.bits[place - 1u];
                pairs.index[place] = pairs.index[place - 1u];
                place--;
                steps_left--;
            }
            pairs.bits[place] = bits;
            pairs.index[place] = index;
        }
    }
    return steps_left > 0;
}

/* Sorts pairs.  Ties are rare or many: by key alone first, and only if that leaves much to mend by index and key. */
PK_INLINE pk_sheets pk_sort_pairs(pk_sheets sheets, uint count, uint by_index, pk_rule rule, __local uint *places)
{
    if (!by_index) {
        sheets = pk_sort_by(sheets, count, 1, rule, places);
        if (pk_mend_ties(sheets.now, count, rule))
            return sheets;
    }
    sheets = pk_sort_by(sheets, count, 0, rule, places);
    return by_index ? sheets : pk_sort_by(sheets, count, 1, rule, places);
}

#define PK_TRIED 64u

/* The least word of part `part`, from 1 on: that of its rank among some, so that parts are about as large. */
PK_INLINE pk_sort_bits pk_least_of_part(pk_pairs pairs, uint count, uint by_key, uint part, uint parts, pk_rule rule)
{
    pk_sort_bits tried[PK_TRIED], least = 0;

    for (uint i = 0; i < PK_TRIED; i++)
        tried[i] = pk_sort_word(pairs, (uint)((ulong)count * i / PK_TRIED), by_key, rule);
    for (uint i = 0; i < PK_TRIED; i++) {
        uint rank = 0;
        for (uint j = 0; j < PK_TRIED; j++)
            rank += tried[j] < tried[i] || (tried[j] == tried[i] && j < i) ? 1u : 0;
        least = rank == PK_TRIED * part / parts ? tried[i] : least;
    }
    return least;
}

/*
 * The share of a part of a row's pairs: those whose words lie between the least of the part and of the next one.
 * Returns which places they have among all.  They go to `to`, to places from begin + part on, with room for one more
 * behind them.
 */
PK_INLINE pk_range pk_take_share(pk_pairs pairs, uint count, uint by_key, uint part, uint parts, pk_rule rule, pk_pairs to)
{
    pk_sort_bits all = (pk_sort_bits)~(pk_sort_bits)0, words[PK_RUN];
    pk_sort_bits least = part == 0 ? 0 : pk_least_of_part(pairs, count, by_key, part, parts, rule);
    pk_sort_bits next = part + 1u == parts ? all : pk_least_of_part(pairs, count, by_key, part + 1u, parts, rule);
    bool is_empty = part + 1u < parts && next == least;
    pk_sort_bits span = (part + 1u == parts ? next : next - 1u) - least;
    pk_range share;

    share.begin = 0;
    for (uint from = 0; from < count; from += PK_RUN) {
        uint here = pk_sort_words(pairs, from, count, by_key, rule, words);
        for (uint j = 0; j < here; j++)
            share.begin += words[j] < least ? 1u : 0;
    }
    uint place = share.begin + part;
    for (uint from = 0; !is_empty && from < count; from += PK_RUN) {
        uint here = pk_sort_words(pairs, from, count, by_key, rule, words);
        for (uint j = 0; j < here; j++) { /* written whether it is of the share or not: no branch */
            to.bits[place] = pairs.bits[from + j];
            to.index[place] = pairs.index[from + j];
            place += words[j] - least <= span ? 1u : 0;
        }
    }
    share.end = place - part;
    return share;
}

/* One work-item sorts a row, or a part of it.  other: room for as many pairs as the row has; of a row in parts, twice as
 * many and twice `parts`. */
PK_KERNEL void profk_alone(__global pk_bits *winner_bits, __global pk_index *winner_index, uint k, pk_rule rule,
                           pk_output output, uint pad, pk_rows rows, __global const uint *list,
                           __global const pk_row *states, __global pk_bits *values, __global uint *indices32,
                           __global ulong *indices64, __global pk_bits *other_bits, __global pk_index *other_index)
{
    __local uint places[2u << PK_WIDE_BITS];

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list), part = PK_TASK_PART(task, rows);
        uint count = states[row].winners;
        ulong from = (ulong)row * k, to = (rows.first + row) * k;
        pk_sheets sheets = {{winner_bits + from, winner_index + from}, {other_bits + from, other_index + from}};
        pk_range share = {0, count};

        if (rows.parts > 1u) {
            ulong room = k + rows.parts, own = 2u * room * row;
            pk_pairs others = {other_bits + own, other_index + own};

            if (count != 0)
                share = pk_take_share(sheets.now, count, !output.by_index, part, rows.parts, rule, others);
            own += share.begin + part;
            sheets.now.bits = other_bits + own;
            sheets.now.index = other_index + own;
            sheets.other.bits = other_bits + own + room;
            sheets.other.index = other_index + own + room;
        }
        sheets = pk_sort_pairs(sheets, share.end - share.begin, output.by_index, rule, places);
        for (uint i = share.begin; i < share.end; i++)
            pk_write(values, indices32, indices64, output, to + i, sheets.now.bits[i - share.begin],
                     sheets.now.index[i - share.begin]);
        for (uint i = count; pad && part + 1u == rows.parts && i < k; i++)
            pk_write(values, indices32, indices64, output, to + i, 0, ~0ul);
    }
}
#endif

/* Same arguments as profk_bitonic; the rule is not needed. */
PK_KERNEL void profk_emit(__global const pk_bits *winner_bits, __global const pk_index *winner_index, uint k,
                          pk_rule rule, pk_output output, uint pad, pk_rows rows, __global const uint *list,
                          __global const pk_row *states, __global pk_bits *values, __global uint *indices32,
                          __global ulong *indices64)
{
    (void)rule;
    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list), part = PK_TASK_PART(task, rows);
        uint winners = states[row].winners, end = min((part + 1u) * PK_EMITTED, k);
        ulong from = (ulong)row * k, to = (rows.first + row) * k;

        for (uint i = part * PK_EMITTED + (uint)get_local_id(0); i < end; i += PK_WG) {
            if (i < winners)
                pk_write(values, indices32, indices64, output, to + i, winner_bits[from + i], winner_index[from + i]);
            else if (pad)
                pk_write(values, indices32, indices64, output, to + i, 0, ~0ul);
        }
    }
}
