/*
 * filter.cl: one pass over the input keeps the elements that reach the threshold.
 *
 * Shape tile: a work-group reads PK_WG * PK_ITEMS vectors side by side, counts what it keeps in local memory, takes as
 * many slots of the candidate buffer with one atomic, and stores.  The row's cursor counts every element that passes,
 * stored or not; a launch covers at most 2^31 elements and starts at base <= M < 2^31, so 32 bits cannot wrap.  Where
 * a row needs another launch, profk_fold moves the count into 64 bits in between.
 *
 * PK_VEC    elements of a vector: 1, 2, 4, 8 or 16
 * PK_ITEMS  vectors of a work-item, 1 to 32
 */
#include "element.clh"
#include "row.clh"

#if !defined(PK_VEC) || !defined(PK_ITEMS)
#error "PK_VEC and PK_ITEMS must be defined"
#endif

#define PK_JOIN_(a, b) a##b
#define PK_JOIN(a, b) PK_JOIN_(a, b)

#if PK_VEC == 1
typedef pk_bits pk_vector;
#define pk_vector_key pk_key
#define PK_ANY(condition) (condition)
#else
#if PK_WIDTH_BITS == 8
typedef PK_JOIN(uchar, PK_VEC) pk_vector;
typedef PK_JOIN(char, PK_VEC) pk_vector_condition;
#elif PK_WIDTH_BITS == 16
typedef PK_JOIN(ushort, PK_VEC) pk_vector;
typedef PK_JOIN(short, PK_VEC) pk_vector_condition;
#elif PK_WIDTH_BITS == 32
typedef PK_JOIN(uint, PK_VEC) pk_vector;
typedef PK_JOIN(int, PK_VEC) pk_vector_condition;
#else
typedef PK_JOIN(ulong, PK_VEC) pk_vector;
typedef PK_JOIN(long, PK_VEC) pk_vector_condition;
#endif
PK_DEFINE_KEY(pk_vector_key, pk_vector, pk_vector_condition)
#define PK_ANY(condition) any(condition)
#endif

/* May an element of the vector whose first index is `index` reach the threshold?  A tie counts only up to tau_index. */
inline bool pk_vector_may_reach(pk_vector bits, pk_index index, pk_bits tau_key, pk_index tau_index, pk_rule rule)
{
    pk_vector key = pk_vector_key(bits, rule);
    if (index <= tau_index)
        return PK_ANY(key >= (pk_vector)(tau_key));
    return PK_ANY(key > (pk_vector)(tau_key));
}

/*
 * Vectors are aligned to their size.  Vector v holds elements [v * PK_VEC - skip, v * PK_VEC - skip + PK_VEC) of the
 * launch, skip being the elements between the vector boundary before the launch's first element and that element.  The
 * first and the last vector may reach beyond the launch: they are read element by element.
 */
PK_KERNEL void profk_filter(__global const pk_bits *input,
                            ulong start, /* place in the buffer of the launch's first element */
                            uint count,  /* elements of the launch, at most 2^31 */
                            ulong first, /* index of its first element in the row */
                            uint capacity, pk_rule rule, __global pk_row *row,
                            __global pk_bits *candidate_bits, __global pk_index *candidate_index)
{
    __local uint kept[1], slot[1];
    uint item = (uint)get_local_id(0);
    pk_bits tau_key = (pk_bits)row->tau_key;
    pk_index tau_index = (pk_index)row->tau_index;
    uint skip = (uint)((size_t)(input + start) % sizeof(pk_vector)) / (PK_WIDTH_BITS / 8u);
    uint vectors = (uint)(((ulong)skip + count + PK_VEC - 1u) / PK_VEC);
    ulong tile = (ulong)get_group_id(0) * (PK_WG * PK_ITEMS) + item;
    uint hits = 0; /* bit j: vector j of this work-item may hold something */

    input += start;
    for (uint j = 0; j < PK_ITEMS; j++) {
        ulong v = tile + j * PK_WG;
        if (v >= vectors)
            continue;
        ulong at = v * PK_VEC; /* element `at - skip` of the launch */
        if (at >= skip && at - skip + PK_VEC <= count) {
            __global const void *whole = input + (at - skip);
            if (pk_vector_may_reach(*(__global const pk_vector *)whole, (pk_index)(first + (at - skip)), tau_key,
                                    tau_index, rule))
                hits |= 1u << j;
        } else {
            hits |= 1u << j;
        }
    }

    uint mine = 0;
    for (uint rest = hits; rest != 0; rest &= rest - 1u) {
        ulong at = (tile + (31u - clz(rest & (0u - rest))) * PK_WG) * PK_VEC;
        for (uint e = 0; e < PK_VEC; e++) {
            ulong i = at + e - skip; /* wraps below 0 */
            if (i < count && pk_reaches(pk_key(input[i], rule), (pk_index)(first + i), tau_key, tau_index))
                mine++;
        }
    }

    if (item == 0)
        kept[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint before = mine == 0 ? 0 : PK_LOCAL_ADD(&kept[0], mine);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0 && kept[0] != 0)
        slot[0] = atomic_add(&row->cursor, kept[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (mine == 0)
        return;

    uint old = slot[0];
    for (uint rest = hits; rest != 0; rest &= rest - 1u) {
        ulong at = (tile + (31u - clz(rest & (0u - rest))) * PK_WG) * PK_VEC;
        for (uint e = 0; e < PK_VEC; e++) {
            ulong i = at + e - skip;
            if (i >= count)
                continue;
            pk_bits bits = input[i];
            pk_index index = (pk_index)(first + i);
            if (!pk_reaches(pk_key(bits, rule), index, tau_key, tau_index))
                continue;
            if (old < capacity && before < capacity - old) {
                candidate_bits[old + before] = bits;
                candidate_index[old + before] = index;
            }
            before++;
        }
    }
}

/* Between two filter launches of a row: the count moves to 64 bits and the cursor starts at most at the buffer's end. */
PK_KERNEL void profk_fold(uint capacity, __global pk_row *row)
{
    if (get_global_id(0) != 0)
        return;
    row->R += row->cursor - row->base;
    row->cursor = row->base = min(row->cursor, capacity);
}
