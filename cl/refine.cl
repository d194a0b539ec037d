/*
 * refine.cl: checks the count of candidates and selects the exact top k of them.
 *
 * One work-group a row.  The row is certified if k <= R <= M: then every element of the top k reached the threshold
 * and every element that did was stored.  The k winners come out in no particular sequence.
 */
#include "element.clh"
#include "row.clh"
#include "select.clh"

PK_KERNEL void profk_refine(__global const pk_bits *candidate_bits, __global const pk_index *candidate_index, uint k,
                            uint capacity, uint attempt, pk_rule rule, __global pk_row *row,
                            __global pk_bits *winner_bits, __global pk_index *winner_index)
{
    __local uint histogram[PK_DIGITS];
    __local pk_search search[1];
    __local uint winners[1];
    uint item = (uint)get_local_id(0);
    ulong R = row->R + (row->cursor - row->base);
    uint candidates = R < k || R > capacity ? 0 : (uint)R; /* none to look at unless the row is certified */

    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); /* all have read the row before it is written */
    if (item == 0) {
        row->R = R;
        row->attempts = attempt;
        row->status = R < k ? PK_RECALL_MISS : R > capacity ? PK_OVERFLOW : PK_CERTIFIED;
        winners[0] = 0;
    }
    pk_select(candidate_bits, candidate_index, candidates, k, rule, histogram, search);
    for (uint i = item; i < candidates; i += PK_WG) {
        pk_bits bits = candidate_bits[i];
        pk_index index = candidate_index[i];
        if (pk_reaches(pk_key(bits, rule), index, search->key, search->index)) {
            uint place = PK_LOCAL_ADD(&winners[0], 1u);
            winner_bits[place] = bits;
            winner_index[place] = index;
        }
    }
}
