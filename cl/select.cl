/*
 * select.cl: what one work-group a row does between the wide stages.
 *
 *   profk_threshold  the t-th pair of the sample becomes the row's threshold, and its counters start anew
 *   profk_fold       between two filter launches the count moves to 64 bits
 *   profk_refine     checks the count of candidates and selects the exact top k of them
 *   profk_collect    lists the rows that missed
 *
 * A row is certified if k <= R <= M: then every element of the top k reached the threshold and every element that did
 * was stored.  The winners come out in no particular sequence.  A row that missed has none, except in approximate mode:
 * there it has the best of what was stored.
 */
#include "element.clh"
#include "row.clh"
#include "narrow.clh"

/* The sample is no longer what it was when this is done. */
PK_KERNEL void profk_threshold(__global pk_bits *sample_bits, __global pk_index *sample_index, uint slots, uint t,
                               ulong count_start, uint cursor_start, pk_rule rule, pk_rows rows,
                               __global const uint *list, __global pk_result *results, __global pk_row *states)
{
    __local pk_desk desk[1];

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list);
        pk_pairs sample = {sample_bits + (ulong)row * slots, sample_index + (ulong)row * slots};
        pk_search search = pk_search_start(sample, slots, t, rule, desk);

        while (search.count > 1u && search.bits_done < PK_PAIR_BITS)
            search = pk_narrow(search, sample, rule, desk, false, sample);
        PK_GLOBAL_BARRIER();
        if (get_local_id(0) == 0) {
            __global pk_row *state = &states[row];
            results[row].status = PK_PENDING;
            results[row].R = count_start;
            state->tau_key = pk_key(sample.bits[0], rule);
            state->tau_index = sample.index[0];
            state->cursor = state->base = cursor_start;
        }
        PK_BARRIER();
    }
}

/* Between two filter launches: a row's count moves to 64 bits and its cursor starts at most at the buffer's end. */
PK_KERNEL void profk_fold(uint capacity, pk_rows rows, __global const uint *list, __global pk_result *results,
                          __global pk_row *states)
{
    uint count = pk_row_count(rows, list);

    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        uint row = pk_row_at(rows, list, (uint)i);
        __global pk_row *state = &states[row];
        results[row].R += state->cursor - state->base;
        state->cursor = state->base = min(state->cursor, capacity);
    }
}

/* The candidates are no longer what they were when this is done. */
PK_KERNEL void profk_refine(__global pk_bits *candidate_bits, __global pk_index *candidate_index, uint k,
                            uint capacity, uint attempt, uint approximate, pk_rule rule, pk_rows rows,
                            __global const uint *list, __global pk_result *results, __global pk_row *states,
                            __global pk_bits *winner_bits, __global pk_index *winner_index)
{
    __local pk_desk desk[1];
    uint item = (uint)get_local_id(0);

    PK_FOR_EACH_TASK(task, rows, list)
    {
        uint row = PK_TASK_ROW(task, rows, list);
        pk_pairs candidates = {candidate_bits + (ulong)row * capacity, candidate_index + (ulong)row * capacity};
        pk_pairs winners = {winner_bits + (ulong)row * k, winner_index + (ulong)row * k};
        __global const pk_row *state = &states[row];
        ulong R = results[row].R + (state->cursor - state->base);
        bool certified = R >= k && R <= capacity;
        uint count = certified || approximate ? (uint)min(R, (ulong)capacity) : 0, wanted = min(k, count);

        PK_GLOBAL_BARRIER(); /* all have read the row before it is written */
        if (item == 0) {
            results[row].status = certified ? PK_CERTIFIED : R < k ? PK_RECALL_MISS : PK_OVERFLOW;
            results[row].attempts = attempt;
            results[row].R = R;
            states[row].winners = wanted;
            desk->above = 0;
        }
        pk_search search = pk_search_start(candidates, count, wanted, rule, desk);
        while (search.rank < search.count && search.bits_done < PK_PAIR_BITS)
            search = pk_narrow(search, candidates, rule, desk, true, winners);
        PK_GLOBAL_BARRIER();
        for (uint i = item; i < search.count; i += PK_WG) { /* all that are left are winners */
            winners.bits[wanted - search.count + i] = candidates.bits[i];
            winners.index[wanted - search.count + i] = candidates.index[i];
        }
        PK_BARRIER();
    }
}

/* What became of the attempts since the plan was made. */
typedef struct {
    uint missed;        /* rows in the list just made */
    uint last_attempts; /* of the last call, its slowest row */
    ulong attempts, recall_misses, overflows, redraws, fallbacks;
} pk_summary;

/* One work-group lists those of the rows served that are not certified: to[0] rows, then their numbers.  After the
 * last attempt these go to the full selection, if falls_back.  starts: the summary is new. */
PK_KERNEL void profk_collect(uint attempt, uint falls_back, uint starts, pk_rows rows, __global const uint *from, __global uint *to,
                             __global const pk_result *results, __global pk_summary *summary)
{
    __local uint counted[3]; /* missed, recall misses, overflows */
    uint item = (uint)get_local_id(0);
    uint count = pk_row_count(rows, from);

    for (uint i = item; i < 3u; i += PK_WG)
        counted[i] = 0;
    PK_BARRIER();
    for (uint i = item; i < count; i += PK_WG) {
        uint row = pk_row_at(rows, from, i);
        uint status = results[row].status;
        if (status == PK_CERTIFIED)
            continue;
        to[1u + PK_LOCAL_ADD(&counted[0], 1u)] = row;
        PK_LOCAL_ADD(&counted[status == PK_RECALL_MISS ? 1 : 2], 1u);
    }
    PK_BARRIER();
    if (item == 0) {
        pk_summary sum;
        sum.last_attempts = attempt == 1u && rows.first == 0 ? 0 : summary->last_attempts;
        sum.attempts = starts ? 0 : summary->attempts;
        sum.recall_misses = starts ? 0 : summary->recall_misses;
        sum.overflows = starts ? 0 : summary->overflows;
        sum.redraws = starts ? 0 : summary->redraws;
        sum.fallbacks = starts ? 0 : summary->fallbacks;

        to[0] = sum.missed = counted[0];
        sum.attempts += count;
        sum.recall_misses += counted[1];
        sum.overflows += counted[2];
        sum.redraws += attempt > 1u ? count : 0;
        sum.fallbacks += falls_back ? counted[0] : 0;
        if (count > 0)
            sum.last_attempts = max(sum.last_attempts, falls_back && counted[0] > 0 ? attempt + 1u : attempt);
        *summary = sum;
    }
}
