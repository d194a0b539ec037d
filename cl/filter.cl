/*
 * filter.cl: one pass over the input keeps the elements that reach the threshold.
 *
 * Shape tile: a work-group reads PK_WG * PK_ITEMS vectors side by side, counts what it keeps in local memory, takes as
 * many slots of the candidate buffer with one atomic, and stores.  The row's cursor counts every element that passes,
 * stored or not; a launch covers at most 2^31 elements and starts at base <= M < 2^31, so 32 bits cannot wrap.  Where
 * a row needs another launch, profk_fold (select.cl) moves the count into 64 bits in between.
 *
 * PK_ITEMS  vectors of a work-item, 1 to 32
 */
#include "element.clh"
#include "row.clh"
#include "vector.clh"
#include "prefilter.clh"

#ifndef PK_ITEMS
#error "PK_ITEMS must be defined"
#endif

/*
 * Vectors are aligned to their size.  Vector v holds elements [v * PK_VEC - skip, v * PK_VEC - skip + PK_VEC) of the
 * launch, skip being the elements between the vector boundary before the launch's first element and that element.  The
 * first and the last vector may reach beyond the launch: they are read element by element.
 */
PK_KERNEL void profk_filter(__global const pk_bits *input,
                            ulong start, ulong stride, /* place of the launch's first element; from a row to the next */
                            uint count,                /* elements of a row that the launch covers, at most 2^31 */
                            ulong first,               /* index of the first of them */
                            uint capacity, uint kind, pk_rule rule, pk_rows rows, __global const uint *list,
                            __global pk_row *states, __global pk_bits *candidate_bits,
                            __global pk_index *candidate_index)
{
    __local uint kept[1], slot[1];
    uint item = (uint)get_local_id(0);

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list);
        uint tile = PK_TASK_PART(task, rows) * (PK_WG * PK_ITEMS) + item; /* this work-item's first vector */
        __global const pk_bits *elements = input + start + row * stride;
        pk_bits tau_key = (pk_bits)states[row].tau_key;
        pk_index tau_index = (pk_index)states[row].tau_index;
        /* a tile wholly behind tau_index is held against the successor of tau_key: ties do not count there */
        ulong tile_first = (ulong)PK_TASK_PART(task, rows) * (PK_WG * PK_ITEMS * PK_VEC);
        uint is_behind = tile_first >= PK_VEC && first + (tile_first - PK_VEC) >= tau_index && tau_key != PK_ALL;
        pk_prefilter filter;
        pk_prefilter_of((pk_bits)(tau_key + is_behind), rule, kind, &filter);
        uint skip = (uint)((size_t)elements % sizeof(pk_vector)) / (PK_WIDTH_BITS / 8u);
        uint vectors = (uint)(((ulong)skip + count + PK_VEC - 1u) / PK_VEC);
        uint hits = 0; /* bit j: vector j of this work-item may hold something */

        for (uint j = 0; j < PK_ITEMS; j++) {
            uint v = tile + j * PK_WG;
            uint at = v * PK_VEC; /* element `at - skip` of the launch; it has at most 2^31, so this fits */
            bool whole = at >= skip && at - skip + PK_VEC <= count;
            bool may_reach = v < vectors;
            if (whole) {
                __global const void *vector = elements + (at - skip);
                pk_vector bits = *(__global const pk_vector *)vector;
                may_reach = pk_may_reach(pk_tested(bits, filter.mask, filter.flip0),
                                         pk_tested(bits, filter.mask, filter.flip1), &filter);
            }
            hits |= may_reach ? 1u << j : 0;
        }

        uint mine = 0;
        for (uint rest = hits; rest != 0; rest &= rest - 1u) {
            uint at = (tile + (31u - clz(rest & (0u - rest))) * PK_WG) * PK_VEC;
            uint end = min(at + PK_VEC - skip, count);
            for (uint i = max(at, skip) - skip; i < end; i++)
                if (pk_reaches(pk_key(elements[i], rule), (pk_index)(first + i), tau_key, tau_index))
                    mine++;
        }

        if (item == 0)
            kept[0] = 0;
        PK_BARRIER();
        uint before = mine == 0 ? 0 : PK_LOCAL_ADD(&kept[0], mine);
        PK_BARRIER();
        if (item == 0 && kept[0] != 0)
            slot[0] = atomic_add(&states[row].cursor, kept[0]);
        PK_BARRIER();

        uint old = slot[0];
        ulong base = (ulong)row * capacity;
        for (uint rest = mine == 0 ? 0 : hits; rest != 0; rest &= rest - 1u) {
            uint at = (tile + (31u - clz(rest & (0u - rest))) * PK_WG) * PK_VEC;
            uint end = min(at + PK_VEC - skip, count);
            for (uint i = max(at, skip) - skip; i < end; i++) {
                pk_bits bits = elements[i];
                pk_index index = (pk_index)(first + i);
                if (!pk_reaches(pk_key(bits, rule), index, tau_key, tau_index))
                    continue;
                if (old < capacity && before < capacity - old) {
                    candidate_bits[base + old + before] = bits;
                    candidate_index[base + old + before] = index;
                }
                before++;
            }
        }
        PK_BARRIER();
    }
}
