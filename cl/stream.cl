/*
 * stream.cl: the filter in the shape that a CPU wants.
 *
 * One work-item walks a long contiguous part of a row in wide vectors.  Blocks of PK_BLOCK vectors take a raw test
 * (prefilter.clh); of a block that passes the elements are asked (hits.clh), and last the keys.  What lies wholly behind
 * tau_index is held against the successor of tau_key, so that inputs full of ties run at the speed of others.  Counter
 * and stores are those of filter.cl.
 *
 * PK_BLOCK  vectors of a block
 */
#include "element.clh"
#include "row.clh"
#include "vector.clh"
#include "prefilter.clh"

#ifndef PK_BLOCK
#error "PK_BLOCK must be defined"
#endif
#include "hits.clh"

/* Where a row's candidates go. */
typedef struct {
    __global const pk_bits *elements; /* of the launch */
    __global uint *cursor;
    __global pk_bits *bits;
    __global pk_index *index;
    ulong first; /* index of element 0 */
    uint capacity;
    pk_word tau_key;
    pk_index tau_index;
} pk_sink;

/* Stores what was found and does reach the threshold: one atomic for all of it, so that cores seldom meet at the cursor
 * or in a cache line. */
PK_INLINE void pk_store(pk_sink sink, pk_found *found, pk_rule rule)
{
    uint count = found->count, kept = 0;

    found->count = 0;
    for (uint i = 0; i < count; i++) {
        uint at = found->at[i];
        bool reaches = pk_reaches(pk_key(sink.elements[at], rule), (pk_index)(sink.first + at), (pk_bits)sink.tau_key,
                                  sink.tau_index);
        found->at[kept] = at;
        kept += reaches ? 1u : 0;
    }

    uint place = kept == 0 ? 0 : atomic_add(sink.cursor, kept);
    uint room = place < sink.capacity ? min(kept, sink.capacity - place) : 0;
    for (uint i = 0; i < room; i++) {
        sink.bits[place + i] = sink.elements[found->at[i]];
        sink.index[place + i] = (pk_index)(sink.first + found->at[i]);
    }
}

/* Stores what passes of a block of `count` rows from element `at` on. */
PK_INLINE void pk_block(pk_sink sink, pk_found *found, uint at, uint count, const pk_prefilter *filter, bool may_have_second,
                        pk_rule rule)
{
    pk_find(sink.elements, at, count, filter, may_have_second, found);
    if (found->count >= PK_FOUND)
        pk_store(sink, found, rule);
}

PK_INLINE void pk_walk(pk_sink sink, pk_found *found, uint at, uint vectors, const pk_prefilter *filter, pk_rule rule)
{
    uint blocks = vectors / PK_BLOCK, here;
    uint rest = vectors - vectors / PK_BLOCK * PK_BLOCK; /* see PK_TASK_PART for why not % */

    for (; blocks != 0; blocks -= here, at += here * (PK_BLOCK * PK_VEC)) {
        here = min(blocks, PK_BATCH);
        pk_batch batch = pk_test(sink.elements + at, here, filter);
        for (uint hits = batch.hits; hits != 0; hits &= hits - 1u)
            pk_block(sink, found, at + pk_lowest(hits) * (PK_BLOCK * PK_VEC), PK_BLOCK, filter, batch.may_have_second, rule);
    }
    if (rest != 0)
        pk_block(sink, found, at, rest, filter, true, rule);
}

/*
 * The part [begin, end) of a row.  Its vectors [first, middle) reach up to tau_index, the last of them perhaps beyond;
 * [middle, last) lie behind it; what is left at either end are loose elements.
 */
PK_INLINE void pk_stream(pk_sink sink, pk_found *found, uint begin, uint end, pk_rule rule, uint kind)
{
    uint loose = (uint)((0 - (size_t)(sink.elements + begin)) % sizeof(pk_vector)) / (PK_WIDTH_BITS / 8u);
    uint first = min(begin + loose, end);
    uint vectors = (end - first) / PK_VEC;
    ulong ties = (ulong)sink.tau_index + 1u; /* index of the first element behind the threshold's */
    ulong tied = ties <= sink.first + first ? 0 : (ties - (sink.first + first) + PK_VEC - 1u) / PK_VEC;
    uint up_to = (uint)min(tied, (ulong)vectors);
    uint sides = sink.tau_key == PK_ALL ? 1u : 2u; /* no key is above the greatest */

    pk_prefilter filter;

    pk_prefilter_of((pk_bits)sink.tau_key, rule, kind, &filter);
    pk_find_loose(found, begin, first);
    pk_find_loose(found, first + vectors * PK_VEC, end);
    for (uint side = 0; side < sides; side++) {
        uint at = side == 0 ? first : first + up_to * PK_VEC;
        if (side == 1)
            pk_prefilter_of((pk_bits)(sink.tau_key + 1u), rule, kind, &filter);
        pk_walk(sink, found, at, side == 0 ? up_to : vectors - up_to, &filter, rule);
    }
}

PK_KERNEL void profk_stream(__global const pk_bits *input,
                            ulong start, ulong stride, /* place of the launch's first element; from a row to the next */
                            uint count,                /* elements of a row that the launch covers, at most 2^31 */
                            uint length,               /* of a work-item's part */
                            ulong first,               /* index of the launch's first element */
                            uint capacity, uint kind, pk_rule rule, pk_rows rows, __global const uint *list,
                            __global pk_row *states, __global pk_bits *candidate_bits,
                            __global pk_index *candidate_index)
{
    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list);
        ulong begin = ((ulong)PK_TASK_PART(task, rows) * PK_WG + (uint)get_local_id(0)) * length;
        pk_sink sink;
        pk_found found;

        if (begin >= count)
            continue;
        sink.elements = input + start + row * stride;
        sink.cursor = &states[row].cursor;
        sink.bits = candidate_bits + (ulong)row * capacity;
        sink.index = candidate_index + (ulong)row * capacity;
        sink.first = first;
        sink.capacity = capacity;
        sink.tau_key = (pk_bits)states[row].tau_key;
        sink.tau_index = (pk_index)states[row].tau_index;
        found.count = 0;
        pk_stream(sink, &found, (uint)begin, (uint)min(begin + length, (ulong)count), rule, kind);
        pk_store(sink, &found, rule);
    }
}
