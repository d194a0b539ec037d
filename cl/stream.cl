/*
 * stream.cl: the filter in the shape that a CPU wants.
 *
 * One work-item walks a long contiguous part of a row in wide vectors.  A block of PK_BLOCK vectors takes one raw test
 * (prefilter.clh); what that lets through is looked at by vectors and then by keys.  A block wholly behind tau_index is
 * held against the successor of tau_key, so that inputs full of ties run at the speed of others.  Counter and stores
 * are those of filter.cl.
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

/* Where a row's candidates go. */
typedef struct {
    __global const pk_bits *elements; /* of the launch */
    __global uint *cursor;
    __global pk_bits *bits;
    __global pk_index *index;
    ulong first; /* index of element 0 */
    uint capacity;
    pk_bits tau_key;
    pk_index tau_index;
} pk_sink;

/* Keeps what reaches the threshold of elements [begin, end), at most 32 of them: one atomic if there is any. */
static inline void pk_keep(pk_sink sink, uint begin, uint end, pk_rule rule)
{
    uint hits = 0;

    for (uint i = begin; i < end; i++)
        if (pk_reaches(pk_key(sink.elements[i], rule), (pk_index)(sink.first + i), sink.tau_key, sink.tau_index))
            hits |= 1u << (i - begin);
    if (hits == 0)
        return;
    uint place = atomic_add(sink.cursor, popcount(hits));
    for (; hits != 0 && place < sink.capacity; hits &= hits - 1u, place++) {
        uint i = begin + 31u - clz(hits & (0u - hits));
        sink.bits[place] = sink.elements[i];
        sink.index[place] = (pk_index)(sink.first + i);
    }
}

/* Walks `count` whole vectors from element `at` on: a raw test for each block, then for each of its vectors. */
static inline void pk_walk(pk_sink sink, uint at, uint count, pk_prefilter filter, pk_rule rule)
{
    __global const void *start = sink.elements + at;
    __global const pk_vector *vectors = (__global const pk_vector *)start;

    for (uint v = 0; v < count; v += PK_BLOCK) {
        bool whole = v + PK_BLOCK <= count;
        if (whole && !pk_may_reach(vectors + v, PK_BLOCK, filter))
            continue;
        for (uint j = v; j < (whole ? v + PK_BLOCK : count); j++)
            if (pk_may_reach(vectors + j, 1, filter))
                pk_keep(sink, at + j * PK_VEC, at + (j + 1u) * PK_VEC, rule);
    }
}

/*
 * The part [begin, end) of a row.  Its vectors [first, middle) reach up to tau_index, the last of them perhaps beyond;
 * [middle, last) lie behind it; what is left at either end are loose elements.
 */
static inline void pk_stream(pk_sink sink, uint begin, uint end, pk_rule rule, uint kind)
{
    uint loose = (uint)((0 - (size_t)(sink.elements + begin)) % sizeof(pk_vector)) / (PK_WIDTH_BITS / 8u);
    uint first = min(begin + loose, end);
    uint vectors = (end - first) / PK_VEC;
    ulong ties = (ulong)sink.tau_index + 1u; /* index of the first element behind the threshold's */
    ulong tied = ties <= sink.first + first ? 0 : (ties - (sink.first + first) + PK_VEC - 1u) / PK_VEC;
    uint up_to = (uint)min(tied, (ulong)vectors);
    uint sides = sink.tau_key == PK_ALL ? 1u : 2u; /* no key is above the greatest */

    for (uint side = 0; side < sides; side++) {
        uint at = side == 0 ? first : first + up_to * PK_VEC;
        pk_prefilter filter = pk_prefilter_of((pk_bits)(sink.tau_key + side), rule, kind);
        pk_walk(sink, at, side == 0 ? up_to : vectors - up_to, filter, rule);
    }
    for (uint side = 0; side < 2u; side++)
        pk_keep(sink, side == 0 ? begin : first + vectors * PK_VEC, side == 0 ? first : end, rule);
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
        pk_stream(sink, (uint)begin, (uint)min(begin + length, (ulong)count), rule, kind);
    }
}
