/*
 * threshold.cl: the t-th pair of the sample becomes the row's threshold, and the row's counters start anew.
 *
 * One work-group a row.
 */
#include "element.clh"
#include "row.clh"
#include "select.clh"

PK_KERNEL void profk_threshold(__global const pk_bits *sample_bits, __global const pk_index *sample_index, uint slots,
                               uint t, ulong count_start, uint cursor_start, pk_rule rule, __global pk_row *row)
{
    __local uint histogram[PK_DIGITS];
    __local pk_search search[1];

    pk_select(sample_bits, sample_index, slots, t, rule, histogram, search);
    if (get_local_id(0) == 0) {
        row->status = PK_PENDING;
        row->R = count_start;
        row->tau_key = search->key;
        row->tau_index = search->index;
        row->cursor = row->base = cursor_start;
    }
}
