/*
 * sample.cl: draws S of each row's n positions without replacement.
 *
 * Slot i of a row holds the element at position pk_permute(i); the launch of a chunk writes the slots whose position
 * lies in the chunk, so the launches of all chunks fill all slots.  A work-item first computes the positions of its
 * slots and then loads them all, so that the loads, which miss every cache, overlap.
 *
 * PK_SLOTS  slots of a work-item
 */
#include "element.clh"
#include "row.clh"

#ifndef PK_SLOTS
#error "PK_SLOTS must be defined"
#endif
#include "permute.clh"

PK_KERNEL void profk_sample(__global const pk_bits *input, /* the chunk's buffer */
                            ulong start, ulong stride,     /* place of the chunk in it; from a row to the next */
                            ulong first, ulong count,      /* the chunk is [first, first + count) of the row */
                            ulong n, uint slots, ulong key, uint bits, uint rounds, pk_rows rows,
                            __global const uint *list, __global pk_bits *sample_bits, __global pk_index *sample_index)
{
    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list);
        uint slot = PK_TASK_PART(task, rows) * (PK_WG * PK_SLOTS) + (uint)get_local_id(0);
        __global const pk_bits *elements = input + start + row * stride;
        ulong base = (ulong)row * slots;
        uint round_keys[PK_ROUNDS_MAX];
        ulong positions[PK_SLOTS];

        pk_make_round_keys(pk_row_key(key, rows.first + row), rounds, round_keys);
        for (uint j = 0; j < PK_SLOTS; j++)
            positions[j] = min(slot + j * PK_WG, slots - 1u);
        pk_permute(positions, n, round_keys, bits, rounds);
        for (uint j = 0; j < PK_SLOTS; j++) {
            ulong place = base + slot + j * PK_WG;
            ulong at = positions[j] - first; /* from the chunk's first element; wraps before it */
            if (slot + j * PK_WG < slots && at < count) {
                sample_bits[place] = elements[at];
                sample_index[place] = (pk_index)positions[j];
            }
        }
    }
}
