/*
 * solo.cl: rows for devices whose work-groups have one work-item, that is, CPUs.
 *
 *   profk_columns    short rows: a work-item takes PK_LANES rows at once, one in each lane of its vectors
 *   profk_walk       a work-item walks a row once in wide vectors and keeps what may be of the k best
 *   profk_walk_part  the same for a part of a row, where there are fewer rows than cores or a row comes in pieces;
 *                    profk_walk selects from what the parts keep
 *
 * Columns.  A place of a sequence is a vector that holds a pair of each row, so sorting networks over such places sort
 * all the rows at once (columns.clh).  As many columns as there are winners, or a few more, are sorted, held against
 * the best so far, and the better half of both stays.  Up to eight winners stand in registers, more in local memory;
 * beyond 64 the row must fit there.  Of 32-bit elements words half as wide are tried first where there are few winners
 * (laid.clh, briefs.clh).
 *
 * Walk.  The k best of a part are kept in ascending index: one behind the other they are a row in which places are in
 * the order of indices (walk.clh).
 *
 * PK_LOCAL_PAIRS  pairs that a walk keeps; k is at most half of it
 */
#if PK_WIDTH_BITS == 64
#define PK_VEC 8
#else
#define PK_VEC 16
#endif
#include "element.clh"
#include "row.clh"
#include "order.clh"
#include "vector.clh"
#include "prefilter.clh"

#define PK_BLOCK 8
#define PK_IN_ORDER
#define PK_IN_CACHE
#include "hits.clh"

#if PK_WG != 1
#error "PK_WG must be 1"
#endif

/* pk_key() of each element of a vector. */
#define PK_DEFINE_KEYS(name, vector)                                                                                   \
    PK_INLINE vector name(vector bits, pk_rule rule)                                                               \
    {                                                                                                                  \
        vector size = bits & (vector)(rule.PK_MAGNITUDE);                                                              \
        vector value = select(bits, (vector)(0), size == (vector)(0));                                                 \
        vector negative = PK_AS(vector)((value & (vector)(rule.PK_SIGN_MASK)) != (vector)(0));                         \
        vector flip = (vector)(rule.PK_FLIP) ^ ((vector)(rule.PK_FLIP_CHANGE) & negative);                             \
        vector add = (vector)(rule.PK_ADD) ^ ((vector)(rule.PK_ADD_CHANGE) & negative);                                \
        return select((value ^ flip) + add, (vector)(rule.PK_NAN), size > (vector)(rule.PK_INFINITY));                 \
    }

PK_DEFINE_KEYS(pk_vector_keys, PK_JOIN(PK_UNSIGNED, PK_VEC))

#define PK_STORE(vector, elements) PK_JOIN(vstore, PK_VEC)((vector), 0, (elements))

/*
 * A rough order of elements that costs half as much as keys: theirs but for NaN, zeros and magnitudes of integers.
 * (bits & mask) ^ (all ones if negative & fold) ^ flip, as signed integers.
 */
typedef struct {
    pk_bits mask, fold, flip;
} pk_rough;

PK_INLINE pk_rough pk_rough_of(uint kind, pk_rule rule)
{
    pk_rough rough;

    rough.mask = kind == PK_MAGNITUDE_FLOAT ? rule.PK_MAGNITUDE : PK_ALL;
    rough.fold = kind == PK_LARGEST_FLOAT || kind == PK_SMALLEST_FLOAT ? (pk_bits)(PK_SIGN - 1u)
               : kind == PK_MAGNITUDE_INTEGER                          ? PK_ALL
                                                                       : 0;
    rough.flip = kind == PK_SMALLEST_FLOAT ? PK_ALL : kind == PK_PLAIN_INTEGER ? (pk_bits)(rule.PK_FLIP ^ PK_SIGN) : 0;
    return rough;
}

PK_INLINE pk_vector_signed pk_roughly(pk_vector bits, pk_rough rough)
{
    pk_vector here = bits & (pk_vector)(rough.mask);
    pk_vector negative = PK_ALL_ONES(PK_AS_SIGNED(here) < (pk_vector_signed)(0));
    return PK_AS_SIGNED(here ^ (negative & (pk_vector)(rough.fold)) ^ (pk_vector)(rough.flip));
}

/* Neighbouring tasks go to one work-group, which so reads on where it was. */
typedef struct {
    ulong begin, end;
} pk_span;

PK_INLINE pk_span pk_span_of(ulong tasks)
{
    ulong length = (tasks + get_num_groups(0) - 1u) / get_num_groups(0);
    pk_span span;
    span.begin = min(get_group_id(0) * length, tasks);
    span.end = min(span.begin + length, tasks);
    return span;
}

/* ---- columns ---- */

#include "columns.clh"

PK_KERNEL void profk_columns(__global const pk_bits *input, ulong start, ulong stride, uint n, uint k, uint kind,
                             pk_rule rule, pk_output output, pk_rows rows, __global const uint *list,
                             __global pk_result *results, __global pk_bits *values, __global uint *indices32,
                             __global ulong *indices64)
{
    __local pk_pack columns[PK_COLUMNS];
    __local pk_names names[PK_COLUMNS];
#if PK_WIDTH_BITS == 32
    __local uint keys[PK_LANES * PK_LAID_MAX] __attribute__((aligned(64))); /* also taken as vectors */
    __local pk_brief best[PK_BRIEF_WINNERS_MAX + 1u];
    pk_briefs briefs = {best, 0, PK_RESTS_MIN};
#endif
    uint count = pk_row_count(rows, list);
    ulong tasks = ((ulong)count + PK_LANES - 1u) / PK_LANES;
    pk_span span = pk_span_of(tasks);

    (void)kind;
    for (ulong first = span.begin * PK_LANES; first < span.end * PK_LANES; first += PK_LANES) {
        __global const pk_bits *at[PK_LANES];

        for (uint lane = 0; lane < PK_LANES; lane++) {
            uint place = (uint)min(first + lane, (ulong)count - 1u); /* lanes without a row take the last */
            at[lane] = input + start + pk_row_at(rows, list, place) * stride;
        }
#if PK_WIDTH_BITS == 32
        pk_laid source = pk_lay(at, n, kind, rule, keys);
        if (!pk_try_briefs(&briefs, source, k, names))
#else
        pk_source source = {at, n};
#endif
            pk_name_by_packs(source, k, rule, columns, names);
        if (output.by_index)
            pk_sort_names(k, columns, names);
        for (uint lane = 0; lane < PK_LANES && first + lane < count; lane++) {
            __local const uint *name = (__local const uint *)names + lane;
            uint row = pk_row_at(rows, list, (uint)first + lane);
            ulong to = (rows.first + row) * k;

            /* Not pk_write(): with few elements a row, what is written takes as long as what is read. */
            if (output.wants & PK_WANT_VALUES)
                for (uint i = 0; i < k; i++)
                    values[output.values_start + to + i] = at[lane][name[i * PK_LANES]];
            if (output.wants & PK_WANT_U32)
                for (uint i = 0; i < k; i++)
                    indices32[output.indices_start + to + i] = name[i * PK_LANES];
            if (output.wants & PK_WANT_U64)
                for (uint i = 0; i < k; i++)
                    indices64[output.indices_start + to + i] = name[i * PK_LANES];
            pk_certify(&results[output.results_start + row]);
        }
    }
}

/* ---- walk ---- */

#include "walk.clh"

#define PK_WALK_MEMORY                                                                                                 \
    __local pk_slots keys[PK_LOCAL_PAIRS / PK_VEC];                                                                    \
    __local uint index[PK_LOCAL_PAIRS];                                                                                \
    __local pk_slots maxima[PK_GROUPS / PK_VEC]

/* names: of what is in the input if has_names, else indices are places. */
PK_KERNEL void profk_walk(__global const pk_bits *input, ulong start, ulong stride, uint n, uint k, uint kind,
                          pk_rule rule, pk_output output, pk_rows rows, __global const uint *list,
                          __global pk_result *results, __global pk_bits *values, __global uint *indices32,
                          __global ulong *indices64, __global const uint *names, uint has_names)
{
    PK_WALK_MEMORY;
    pk_span span = pk_span_of(pk_row_count(rows, list));
    pk_hint hint = {0, false, span.end - span.begin > 1u ? 0 : ~0u, PK_HINT_RESTS_MIN};

    for (ulong task = span.begin; task < span.end; task++) {
        uint row = pk_row_at(rows, list, (uint)task);
        pk_sink sink;
        pk_walker walker;

        sink.values = values;
        sink.indices32 = indices32;
        sink.indices64 = indices64;
        sink.names = names + (start + row * stride); /* not looked at without them */
        sink.has_names = has_names;
        sink.start = (rows.first + row) * k;

        pk_walk_over(&walker, input + start + row * stride, n, k, kind, rule, keys, index, maxima, &hint);
        if (walker.count > k + (output.by_index ? 0 : k / 2u + 32u))
            pk_compact(&walker);
        if (output.by_index)
            for (uint i = 0; i < k; i++)
                pk_put(&walker, &sink, output, i, index[i]);
        else
            pk_put_ranked(&walker, &sink, output);
        pk_certify(&results[output.results_start + row]);
    }
}

/*
 * Keeps the k best of each part of a row, or all where there are fewer, in ascending index.  They go to pairs of the
 * row, of which there are kept_stride, from kept_start on.  first: the index of the input's first element.
 */
PK_KERNEL void profk_walk_part(__global const pk_bits *input, ulong start, ulong stride, uint n, uint first, uint k,
                               uint kind, pk_rule rule, pk_rows rows, __global const uint *list,
                               __global const uint *names, uint has_names, __global pk_bits *kept_bits,
                               __global uint *kept_index, uint kept_start, uint kept_stride)
{
    PK_WALK_MEMORY;
    pk_span span = pk_span_of(pk_task_count(rows, list));

    for (ulong task = span.begin; task < span.end; task++) {
        uint row = PK_TASK_ROW(task, rows, list), part = PK_TASK_PART(task, rows);
        uint begin = (uint)((ulong)n * part / rows.parts), end = (uint)((ulong)n * (part + 1u) / rows.parts);
        ulong from = start + row * stride + begin, to = (ulong)row * kept_stride + kept_start + part * k;
        pk_hint none = {0, false, ~0u, 0};
        pk_walker walker;

        pk_walk_over(&walker, input + from, end - begin, k, kind, rule, keys, index, maxima, &none);
        if (walker.count > k)
            pk_compact(&walker);
        for (uint i = 0; i < walker.count; i++) {
            kept_bits[to + i] = walker.elements[index[i]];
            kept_index[to + i] = has_names ? names[from + index[i]] : first + begin + index[i];
        }
    }
}
