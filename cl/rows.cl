/*
 * rows.cl: one work-group selects a whole row, many rows in one launch.
 *
 *   profk_rows_short   the row fits in local memory and is sorted there
 *   profk_rows         the k-th pair is found by radix selection over the input; the winners are sorted in local memory
 *   profk_rows_select  the winners do not fit: they go to their buffer and the sort stage follows
 */
#include "element.clh"
#include "row.clh"
#include "order.clh"
#define PK_INDEX_IS_PLACE
#include "search.clh"

PK_KERNEL void profk_rows_short(__global const pk_bits *input, ulong start, ulong stride, uint n, uint k, pk_rule rule,
                                pk_output output, pk_rows rows, __global const uint *list,
                                __global pk_result *results, __global pk_bits *values, __global uint *indices32,
                                __global ulong *indices64)
{
    __local pk_bits bits[PK_LOCAL_PAIRS];
    __local pk_index index[PK_LOCAL_PAIRS];
    uint item = (uint)get_local_id(0);

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list);
        __global const pk_bits *elements = input + start + row * stride;
        ulong to = (rows.first + row) * k;

        for (uint i = item; i < n; i += PK_WG) {
            bits[i] = elements[i];
            index[i] = i;
        }
        pk_sort_local(bits, index, n, 0, rule);
        if (output.by_index)
            pk_sort_local(bits, index, k, 1, rule);
        for (uint i = item; i < k; i += PK_WG)
            pk_write(values, indices32, indices64, output, to + i, bits[i], index[i]);
        if (item == 0)
            pk_certify(&results[output.results_start + row]);
        PK_BARRIER();
    }
}

PK_KERNEL void profk_rows(__global const pk_bits *input, ulong start, ulong stride, uint n, uint k, pk_rule rule,
                          pk_output output, pk_rows rows, __global const uint *list, __global pk_result *results,
                          __global pk_bits *values, __global uint *indices32, __global ulong *indices64)
{
    __local pk_bits bits[PK_LOCAL_PAIRS];
    __local pk_index index[PK_LOCAL_PAIRS];
    __local uint histogram[PK_DIGITS];
    __local pk_pair found[1];
    __local uint winners[1];
    uint item = (uint)get_local_id(0);

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list);
        __global const pk_bits *elements = input + (start + row * stride);

        if (item == 0)
            winners[0] = 0;
        pk_select(elements, 0, n, k, rule, histogram, found);
        for (uint i = item; i < n; i += PK_WG) {
            if (pk_reaches(pk_key(elements[i], rule), i, (pk_bits)found->key, found->index)) {
                uint place = PK_LOCAL_ADD(&winners[0], 1u);
                bits[place] = elements[i];
                index[place] = i;
            }
        }
        PK_BARRIER();
        pk_sort_local(bits, index, k, output.by_index, rule);
        for (uint i = item; i < k; i += PK_WG)
            pk_write(values, indices32, indices64, output, (rows.first + row) * k + i, bits[i], index[i]);
        if (item == 0)
            pk_certify(&results[output.results_start + row]);
        PK_BARRIER();
    }
}

PK_KERNEL void profk_rows_select(__global const pk_bits *input, ulong start, ulong stride, uint n, uint k,
                                 pk_rule rule, pk_rows rows, __global const uint *list, __global pk_result *results,
                                 __global pk_row *states, __global pk_bits *winner_bits,
                                 __global pk_index *winner_index)
{
    __local uint histogram[PK_DIGITS];
    __local pk_pair found[1];
    __local uint winners[1];
    uint item = (uint)get_local_id(0);

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list);
        __global const pk_bits *elements = input + start + row * stride;

        if (item == 0)
            winners[0] = 0;
        pk_select(elements, 0, n, k, rule, histogram, found);
        for (uint i = item; i < n; i += PK_WG) {
            if (pk_reaches(pk_key(elements[i], rule), i, (pk_bits)found->key, found->index)) {
                ulong place = (ulong)row * k + PK_LOCAL_ADD(&winners[0], 1u);
                winner_bits[place] = elements[i];
                winner_index[place] = i;
            }
        }
        if (item == 0) {
            pk_certify(&results[row]);
            states[row].winners = k;
        }
        PK_BARRIER();
    }
}
