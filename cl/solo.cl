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
 * Walk.  What is ahead of the work-item falls into groups (element i into group i % groups), and k of the groups'
 * maxima are not below the k-th greatest of these maxima: a bound that k elements reach, and few more if there are 4 k
 * groups.  The raw test of prefilter.clh finds the vectors that may reach it; their keys are held against it and what
 * reaches it is kept, in ascending index.  Where room runs out the k best of what was kept stay, the bound becomes the
 * successor of the last of them, since a tie goes to the lower index, and a bound is looked for ahead again.
 * The k best of a part are kept in ascending index, too: one behind the other they are a row in which places are in the
 * order of indices.
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

/* Keys as a walk keeps them: in slots, so that a vector of them can count. */
#if PK_WIDTH_BITS == 8
typedef ushort pk_slot;
#define PK_SLOT_BITS 16u
#define PK_SLOTS PK_JOIN(ushort, PK_VEC)
#define PK_TO_SLOTS convert_ushort16
#else
typedef pk_bits pk_slot;
#define PK_SLOT_BITS PK_WIDTH_BITS
#define PK_SLOTS PK_JOIN(PK_UNSIGNED, PK_VEC)
#define PK_TO_SLOTS(vector) (vector)
#endif
typedef PK_SLOTS pk_slots;

#define PK_GROUPS 1024u                                /* maxima, at most */
#define PK_AHEAD ((1u << 17) / (PK_WIDTH_BITS / 8u))   /* elements that are looked at for a bound, at least */
#define PK_AHEAD_MAX (4u * PK_AHEAD)                   /* and at most: they stay in the second cache */
#define PK_AHEAD_A_WINNER 1024u /* for a first one: what passes a worse bound takes longer than looking at these */

PK_DEFINE_LANES(pk_add_slots, pk_slots, +)

/*
 * All ones, that is -1, where a relation of two vectors of slots holds.  Sums of it are negated at their end: from a
 * difference LLVM makes a sum of ones, which Oclgrind 21.10 takes for 255.
 */
#define PK_TRUE(relation) PK_AS(PK_SLOTS)(relation)

typedef struct {
    __global const pk_bits *elements;
    __local pk_slot *keys; /* of what is kept, in ascending index */
    __local uint *index;
    uint count, k;
    pk_slot bound; /* what has a lower key is not of the k best */
    bool ended;    /* nothing behind is of the k best */
} pk_walker;

/* Bits of an element that is roughly there, or of one that is behind it. */
PK_INLINE pk_vector pk_exactly(pk_vector_signed roughly, pk_rough rough)
{
    pk_vector here = PK_AS(PK_JOIN(PK_UNSIGNED, PK_VEC))(roughly) ^ (pk_vector)(rough.flip);
    pk_vector negative = PK_ALL_ONES(PK_AS_SIGNED(here) < (pk_vector_signed)(0));
    return here ^ (negative & (pk_vector)(rough.fold));
}

PK_INLINE uint pk_count(__local const pk_slots *keys, uint vectors, pk_slot least)
{
    pk_slots sum = (pk_slots)(0);

    for (uint v = 0; v < vectors; v++)
        sum += PK_TRUE(keys[v] >= (pk_slots)(least));
    return pk_add_slots((pk_slots)(0) - sum);
}

/* The bits in which keys differ. */
PK_INLINE pk_slot pk_differing(__local const pk_slot *keys, uint count)
{
    pk_slot first = keys[0], differ = 0;

    for (uint i = 1; i < count; i++)
        differ |= keys[i] ^ first;
    return differ;
}

/*
 * Finds, bit by bit, a bound that `rank` or more of `count` keys reach; *reach: how many.  It is the key of that rank,
 * or lower where at most `enough` reach it.  The vectors are filled up with 0.
 */
PK_INLINE pk_slot pk_bound_of(__local const pk_slots *keys, uint vectors, uint count, uint rank, uint enough,
                              uint *reach)
{
    __local const pk_slot *of_lane = (__local const pk_slot *)keys;
    uint bits = PK_SLOT_BITS - (uint)clz(pk_differing(of_lane, count));
    pk_slot bound = bits == PK_SLOT_BITS ? 0 : (pk_slot)(of_lane[0] >> bits << bits);

    *reach = count;
    for (uint bit = bits; bit > 0 && *reach > enough; bit--) {
        pk_slot higher = bound | (pk_slot)((pk_slot)1 << (bit - 1u));
        uint here = pk_count(keys, vectors, higher);
        bound = here >= rank ? higher : bound;
        *reach = here >= rank ? here : *reach;
    }
    return bound;
}

/* Fills the last vector up with 0 and returns the number of vectors. */
PK_INLINE uint pk_fill_up(__local pk_slot *keys, uint count)
{
    uint vectors = (count + PK_VEC - 1u) / PK_VEC;

    for (uint i = count; i < vectors * PK_VEC; i++)
        keys[i] = 0;
    return vectors;
}

/* Keeps the k best of what was kept. */
PK_INLINE void pk_compact(pk_walker *walker)
{
    uint k = walker->k, reach, to = 0;
    uint vectors = pk_fill_up(walker->keys, walker->count);
    __local const void *keys = walker->keys;
    pk_slot bound = pk_bound_of((__local const pk_slots *)keys, vectors, walker->count, k, k, &reach);
    pk_slot least = (pk_slot)PK_ALL;
    /* If more than k reach it, it is the k-th key: so many of them are among the k. */
    uint ties = reach == k || bound == PK_ALL ? k : k - pk_count((__local const pk_slots *)keys, vectors, (pk_slot)(bound + 1u));

    for (uint i = 0; i < walker->count; i++) {
        pk_slot key = walker->keys[i];
        uint index = walker->index[i];
        uint is_tie = key == bound;
        uint stays = (key > bound) | (is_tie & (uint)(ties > 0));

        ties -= is_tie & stays;
        walker->keys[to] = key;
        walker->index[to] = index;
        least = stays && key < least ? key : least;
        to += stays;
    }
    walker->count = k;
    walker->ended = least == (pk_slot)PK_ALL;
    walker->bound = walker->ended ? least : (pk_slot)(least + 1u);
}

/*
 * Looks for a better bound among `vectors` vectors, with 4 k groups, or fewer if k is large.  What is left
 * at the end, fewer elements than there are groups, is not looked at.  Maxima are found in a rough order: whichever
 * element stands for its group, a bound that k of them reach is one that k elements reach.
 */
PK_INLINE void pk_look_ahead(pk_walker *walker, uint from, uint vectors, __local pk_slots *maxima, uint kind, pk_rule rule)
{
    uint lines = 64u / PK_VEC, reach;
    __global const pk_bits *elements = walker->elements + from;
    __local void *start = maxima;
    __local pk_vector_signed *best = (__local pk_vector_signed *)start;
    pk_rough rough = pk_rough_of(kind, rule);

    while (lines * PK_VEC < 4u * walker->k && lines < PK_GROUPS / PK_VEC)
        lines *= 2u;
    if (vectors < 2u * lines)
        return;
    for (uint line = 0; line < lines; line++)
        best[line] = pk_roughly(PK_LOAD(elements + line * PK_VEC), rough);
    for (uint v = lines; v + lines <= vectors; v += lines)
        for (uint line = 0; line < lines; line += 4u) { /* four at a time, so that loads overlap */
            __global const pk_bits *here = elements + (v + line) * PK_VEC;
            pk_vector_signed a = max(best[line], pk_roughly(PK_LOAD(here), rough));
            pk_vector_signed b = max(best[line + 1u], pk_roughly(PK_LOAD(here + PK_VEC), rough));
            pk_vector_signed c = max(best[line + 2u], pk_roughly(PK_LOAD(here + 2 * PK_VEC), rough));
            pk_vector_signed d = max(best[line + 3u], pk_roughly(PK_LOAD(here + 3 * PK_VEC), rough));
            best[line] = a;
            best[line + 1u] = b;
            best[line + 2u] = c;
            best[line + 3u] = d;
        }
    for (uint line = lines; line-- > 0;) /* downwards: a slot may be wider than an element */
        maxima[line] = PK_TO_SLOTS(pk_vector_keys(pk_exactly(best[line], rough), rule));
    walker->bound = max(walker->bound, pk_bound_of(maxima, lines, lines * PK_VEC, walker->k,
                                                   walker->k + walker->k / 8u, &reach));
}

/* Keeps what was found and reaches the bound; returns whether that is another one, because what was kept before had
 * become many. */
PK_INLINE bool pk_keep(pk_walker *walker, pk_found *found, pk_rule rule)
{
    bool are_many = walker->count > 2u * walker->k || walker->count + found->count > PK_LOCAL_PAIRS;
    uint count = found->count, to;

    if (are_many)
        pk_compact(walker);
    to = walker->count;
    for (uint i = 0; i < count; i++) {
        uint at = found->at[i];
        pk_slot key = pk_key(walker->elements[at], rule);
        walker->keys[to] = key;
        walker->index[to] = at;
        to += key >= walker->bound ? 1u : 0;
    }
    walker->count = to;
    found->count = 0;
    return are_many;
}

/* One walk over the row; what is kept afterwards has the k best. */
PK_INLINE void pk_walk(pk_walker *walker, uint n, __local pk_slots *maxima, uint kind, pk_rule rule)
{
    uint whole = n - n % PK_VEC, bound_at = 0, step;
    uint ahead_first = clamp(PK_AHEAD_A_WINNER * walker->k, PK_AHEAD, PK_AHEAD_MAX);
    pk_prefilter filter;
    pk_found found;

    found.count = 0;
    pk_look_ahead(walker, 0, min(whole, ahead_first) / PK_VEC, maxima, kind, rule);
    pk_prefilter_of((pk_bits)walker->bound, rule, kind, &filter);
    for (uint at = 0; at < whole && !walker->ended; at += step) {
        uint rows = min((whole - at) / PK_VEC, PK_BATCH * PK_BLOCK), blocks = rows / PK_BLOCK;
        pk_batch batch = {1u, true};

        if (blocks != 0)
            batch = pk_test(walker->elements + at, blocks, &filter);
        rows = blocks == 0 ? rows : PK_BLOCK; /* of a block */
        step = max(blocks, 1u) * rows * PK_VEC;
        for (uint hits = batch.hits; hits != 0; hits &= hits - 1u) {
            uint block = at + pk_lowest(hits) * (PK_BLOCK * PK_VEC), next = block + rows * PK_VEC;

            pk_find(walker->elements, block, rows, &filter, batch.has_second, &found);
            if (found.count < PK_FOUND || !pk_keep(walker, &found, rule))
                continue;
            if (next < max(2u * bound_at, PK_AHEAD)) { /* soon, as if what is ahead were better than what is behind */
                uint ahead = clamp(2u * (next - bound_at), 4u * PK_GROUPS, PK_AHEAD_MAX);
                pk_look_ahead(walker, next, min(whole - next, ahead) / PK_VEC, maxima, kind, rule);
            }
            pk_prefilter_of((pk_bits)walker->bound, rule, kind, &filter);
            bound_at = next;
        }
    }
    pk_find_loose(&found, whole, n);
    pk_keep(walker, &found, rule);
}

/* Looks for the k best of n elements. */
PK_INLINE void pk_walk_over(pk_walker *walker, __global const pk_bits *elements, uint n, uint k, uint kind,
                            pk_rule rule, __local pk_slots *keys, __local uint *index, __local pk_slots *maxima)
{
    __local void *start_of_keys = keys;

    walker->elements = elements;
    walker->keys = (__local pk_slot *)start_of_keys;
    walker->index = index;
    walker->count = 0;
    walker->k = k;
    walker->bound = 0;
    walker->ended = false;
    pk_walk(walker, n, maxima, kind, rule);
}

/* Where a row's winners go. */
typedef struct {
    __global pk_bits *values;
    __global uint *indices32;
    __global ulong *indices64;
    __global const uint *names; /* the index of each element, if has_names, else that is its place */
    uint has_names;
    ulong start;
} pk_sink;

PK_INLINE void pk_put(const pk_walker *walker, const pk_sink *sink, pk_output output, uint rank, uint place)
{
    uint index = sink->has_names ? sink->names[place] : place;

    pk_write(sink->values, sink->indices32, sink->indices64, output, sink->start + rank, walker->elements[place],
             index);
}

/* Writes what is kept by rank: how many of the others go before it. */
PK_INLINE void pk_put_ranked(const pk_walker *walker, const pk_sink *sink, pk_output output)
{
    uint count = walker->count, vectors = pk_fill_up(walker->keys, count);
    pk_slot ranks[PK_VEC];

    for (uint v = 0; v < vectors; v++) {
        uint begin = v * PK_VEC, end = min(begin + PK_VEC, count);
        pk_slots mine = PK_LOAD(walker->keys + begin), rank = (pk_slots)(0);

        for (uint j = 0; j < begin; j++)
            rank += PK_TRUE((pk_slots)(walker->keys[j]) >= mine);
        for (uint j = begin; j < end; j++) {
            pk_slots other = (pk_slots)(walker->keys[j]), behind = (pk_slots)((pk_slot)(j - begin));
            rank += PK_TRUE((other > mine) | ((other == mine) & (PK_LANE_NUMBERS(pk_slots) > behind)));
        }
        for (uint j = end; j < count; j++)
            rank += PK_TRUE((pk_slots)(walker->keys[j]) > mine);
        PK_STORE((pk_slots)(0) - rank, ranks);
        for (uint i = begin; i < end; i++)
            if (ranks[i - begin] < walker->k)
                pk_put(walker, sink, output, (uint)ranks[i - begin], walker->index[i]);
    }
}

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

        pk_walk_over(&walker, input + start + row * stride, n, k, kind, rule, keys, index, maxima);
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
        pk_walker walker;

        pk_walk_over(&walker, input + from, end - begin, k, kind, rule, keys, index, maxima);
        if (walker.count > k)
            pk_compact(&walker);
        for (uint i = 0; i < walker.count; i++) {
            kept_bits[to + i] = walker.elements[index[i]];
            kept_index[to + i] = has_names ? names[from + index[i]] : first + begin + index[i];
        }
    }
}
