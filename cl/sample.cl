/*
 * sample.cl: draws S of the row's n positions without replacement.
 *
 * One work-item a slot.  Slot i holds the element at position pk_permute(i); the launch of a chunk writes the slots
 * whose position lies in the chunk, so the launches of all chunks fill all slots.
 */
#include "element.clh"
#include "permute.clh"

PK_KERNEL void profk_sample(__global const pk_bits *input, /* the chunk's buffer */
                            ulong start,                   /* place of the chunk's first element in it */
                            ulong first, ulong count,      /* the chunk is [first, first + count) of the row */
                            ulong n, ulong slots, ulong key, uint bits, uint rounds,
                            __global pk_bits *sample_bits, __global pk_index *sample_index)
{
    ulong slot = get_global_id(0);
    if (slot >= slots)
        return;

    ulong position = pk_permute(slot, n, key, bits, rounds);
    if (position - first >= count)
        return;
    sample_bits[slot] = input[start + (position - first)];
    sample_index[slot] = (pk_index)position;
}
