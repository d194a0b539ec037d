/* scene.c: the buffers of a call, the call itself, and the judgement row by row; see scene.h for the rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/inputs.h"
#include "support/reference.h"

enum { MARGIN = 3, GUARDS = 61 };

struct fixture fixture;
cl_command_queue aside;

void aside_open(void)
{
    cl_int code;

    aside = clCreateCommandQueue(fixture.cl, fixture.device, 0, &code);
    must(code);
}

void aside_close(void)
{
    clReleaseCommandQueue(aside);
}

void must(cl_int code)
{
    assert_int_equal(code, CL_SUCCESS);
}

void *room(size_t nbytes)
{
    void *memory = malloc(nbytes ? nbytes : 1);

    assert_non_null(memory);
    return memory;
}

cl_mem make_buffer(size_t nbytes, void *content)
{
    const cl_mem_flags copy = content ? CL_MEM_COPY_HOST_PTR : 0;
    cl_int code;
    cl_mem buffer = clCreateBuffer(fixture.cl, CL_MEM_READ_WRITE | copy, nbytes, content, &code);

    must(code);
    return buffer;
}

size_t out_nbytes(const struct scene *s, size_t i)
{
    return (s->out_count[i] + 2 * MARGIN) * s->out_element[i];
}

unsigned char *got_element(const struct scene *s, size_t which, size_t i)
{
    return s->got[which] + (MARGIN + i) * s->out_element[which];
}

/* ---- a scene ---- */

static void fill_input(struct scene *s)
{
    const struct test_case *c = &s->s.c;
    const size_t n = (size_t)c->n, k = (size_t)c->k;

    inputs_guard(c->type, s->image_nbytes / s->element, s->image);
    for (size_t row = 0; row < s->s.rows; row++) {
        unsigned char *x = s->x + row * s->stride * s->element;

        inputs_fill(c->type, c->distribution, inputs_mix(c->seed, row), n, k, x);
        assert_true(reference_rank(c->type, c->order, c->nan, x, n, k, s->ranked + row * k));
    }
}

void scene_lay_out(struct scene *s, const struct spec *spec)
{
    const struct test_case *c = &spec->c;
    const size_t rows = (size_t)spec->rows, k = (size_t)c->k;

    *s = (struct scene){.s = *spec, .element = reference_type(c->type)->nbytes, .stride = (size_t)(c->n + spec->gap)};
    s->offset = 1 + (size_t)(inputs_mix(c->seed, 1) % 23);
    s->image_nbytes = (s->offset + rows * s->stride + GUARDS) * s->element;
    s->image = room(s->image_nbytes);
    s->x = s->image + s->offset * s->element;
    s->ranked = room(rows * k * sizeof *s->ranked);
    s->out_element[OUT_VALUES] = s->element;
    s->out_element[OUT_INDICES] = c->index == PROFK_INDEX_U32 ? 4 : 8;
    s->out_element[OUT_ROW] = sizeof(profk_row);
    s->out_count[OUT_VALUES] = s->out_count[OUT_INDICES] = rows * k;
    s->out_count[OUT_ROW] = rows;
    for (size_t i = 0; i < OUTPUTS; i++) {
        s->got[i] = room(out_nbytes(s, i));
        s->out[i] = make_buffer(out_nbytes(s, i), NULL);
    }
}

void scene_open(struct scene *s, const struct spec *spec)
{
    scene_lay_out(s, spec);
    fill_input(s);
    s->input = make_buffer(s->image_nbytes, s->image);
}

void scene_close(struct scene *s)
{
    must(clReleaseMemObject(s->input));
    for (size_t i = 0; i < OUTPUTS; i++) {
        must(clReleaseMemObject(s->out[i]));
        free(s->got[i]);
    }
    free(s->image);
    free(s->ranked);
}

profk_problem problem_of(const struct spec *spec)
{
    const struct test_case *c = &spec->c;
    profk_problem p = test_case_problem(c);

    p.rows = spec->rows;
    p.row_stride = spec->gap ? c->n + spec->gap : 0;
    p.epsilon = spec->epsilon;
    p.recall = spec->recall;
    p.workspace_limit_nbytes = spec->limit_nbytes;
    p.mode = spec->mode;
    return p;
}

profk_plan *plan_of(const struct spec *spec, profk_info *info)
{
    profk_problem p = problem_of(spec);
    profk_tuning forced = spec->forced;
    profk_plan *plan;

    forced.struct_size = sizeof forced;
    plan = fixture_plan_problem(&fixture, &spec->c, &p, &forced, spec->flags);
    assert_non_null(plan);
    info->struct_size = sizeof *info;
    assert_int_equal(profk_plan_info(plan, info), PROFK_OK);
    return plan;
}

void clear_outputs(const struct scene *s)
{
    static const unsigned char canary = CANARY;

    for (size_t i = 0; i < OUTPUTS; i++)
        must(clEnqueueFillBuffer(aside, s->out[i], &canary, 1, 0, out_nbytes(s, i), 0, NULL, NULL));
    must(clFinish(aside));
}

profk_io io_of(const struct scene *s, profk_chunk *chunk)
{
    const profk_io io = {.struct_size = sizeof io,
                         .chunks = chunk,
                         .chunk_count = 1,
                         .values = s->out[OUT_VALUES],
                         .indices = s->out[OUT_INDICES],
                         .row_results = s->out[OUT_ROW],
                         .values_offset = MARGIN,
                         .indices_offset = MARGIN,
                         .row_results_offset = MARGIN};

    *chunk = (profk_chunk){.buffer = s->input, .offset = s->offset, .count = s->s.c.n};
    return io;
}

bool execute(const struct test_case *c, profk_plan *plan, cl_command_queue queue, const profk_io *io,
                    const cl_event *before, cl_event *done)
{
    const profk_status st = profk_execute(plan, queue, io, before ? 1 : 0, before, done);

    return st == PROFK_OK ||
           complain(c, "profk_execute: %s: %s", profk_status_string(st), profk_context_message(fixture.ctx));
}

void wait_and_release(cl_event event)
{
    must(clWaitForEvents(1, &event));
    must(clReleaseEvent(event));
}

static bool collect(struct scene *s)
{
    for (size_t i = 0; i < OUTPUTS; i++) {
        const size_t nbytes = out_nbytes(s, i), margin = MARGIN * s->out_element[i];

        must(clEnqueueReadBuffer(aside, s->out[i], CL_TRUE, 0, nbytes, s->got[i], 0, NULL, NULL));
        for (size_t j = 0; j < margin; j++)
            if (s->got[i][j] != CANARY || s->got[i][nbytes - 1 - j] != CANARY)
                return complain(&s->s.c, "output %zu: written beside its rows", i);
    }
    return true;
}

/* ---- the judgement ---- */

profk_row row_of(const struct scene *s, size_t row)
{
    profk_row r;

    memcpy(&r, got_element(s, OUT_ROW, row), sizeof r);
    return r;
}

/* Attempts of the sampled method that a row may have before the full selection. */
static uint32_t attempts_max(const struct scene *s)
{
    return s->s.mode == PROFK_MODE_APPROXIMATE ? 1 : s->s.flags & PROFK_ASYNC ? 2 : 6;
}

bool judge_fate(const struct scene *s, const profk_row *r)
{
    const struct test_case *c = &s->s.c;
    const bool sampled = s->info.route == PROFK_ROUTE_PROFK && c->k > 0, exact = s->s.mode == PROFK_MODE_EXACT;
    const uint32_t most = attempts_max(s);
    uint32_t status = PROFK_ROW_CERTIFIED;

    if (!sampled || (exact && r->attempts == most + 1)) {
        if (r->status == status && r->R == 0 && r->attempts == (c->k == 0 ? 0 : sampled ? most + 1 : 1))
            return true;
        return complain(c, "status %" PRIu32 ", attempts %" PRIu32 ", R %" PRIu64 " without a sample", r->status,
                        r->attempts, r->R);
    }
    if (r->R < c->k)
        status = PROFK_ROW_RECALL_MISS;
    else if (r->R > s->info.M)
        status = PROFK_ROW_OVERFLOW;
    if (r->status != status || (exact && status != PROFK_ROW_CERTIFIED) || r->attempts < 1 || r->attempts > most)
        return complain(c, "status %" PRIu32 ", attempts %" PRIu32 ", R %" PRIu64 "; M is %" PRIu64, r->status,
                        r->attempts, r->R, s->info.M);
    if (s->info.S == c->n && r->R != s->info.t && (exact || s->s.forced.count_start == 0))
        return complain(c, "the sample is the input, but R is %" PRIu64 ", not t = %" PRIu64, r->R, s->info.t);
    return true;
}

/* Places [first, k) of a row that missed hold nothing. */
static bool judge_nothing(const struct scene *s, size_t row, size_t first)
{
    const size_t k = (size_t)s->s.c.k, index_nbytes = s->out_element[OUT_INDICES];
    const uint64_t nowhere = index_nbytes == 4 ? UINT32_MAX : UINT64_MAX;

    for (size_t i = row * k + first; i < (row + 1) * k; i++) {
        const uint64_t index =
            reference_bits(index_nbytes == 4 ? PROFK_U32 : PROFK_U64, got_element(s, OUT_INDICES, 0), i);
        const uint64_t bits = reference_bits(s->s.c.type, got_element(s, OUT_VALUES, 0), i);

        if (index != nowhere || bits != 0)
            return complain(&s->s.c, "behind R: index 0x%" PRIx64 ", value bits 0x%" PRIx64, index, bits);
    }
    return true;
}

/* A row that overflowed: k elements of the input, each at most once. */
static bool judge_elements(const struct scene *s, size_t row)
{
    const struct test_case *c = &s->s.c;
    const void *x = s->x + row * s->stride * s->element;
    unsigned char *seen = calloc((size_t)c->n, 1);
    bool ok = true;

    assert_non_null(seen);
    for (size_t i = row * (size_t)c->k; ok && i < (row + 1) * c->k; i++) {
        const uint64_t index = reference_bits(s->out_element[OUT_INDICES] == 4 ? PROFK_U32 : PROFK_U64,
                                              got_element(s, OUT_INDICES, 0), i);

        if (index >= c->n || seen[index]++)
            ok = complain(c, "overflow: index %" PRIu64 " is not below n or occurs twice", index);
        else if (reference_bits(c->type, x, (size_t)index) !=
                 reference_bits(c->type, got_element(s, OUT_VALUES, 0), i))
            ok = complain(c, "overflow: the value at index %" PRIu64 " is not the input's", index);
    }
    free(seen);
    return ok;
}

bool judge_row(const struct scene *s, size_t row)
{
    const size_t k = (size_t)s->s.c.k;
    const profk_row r = row_of(s, row);
    struct fixture view = {.x = s->x + row * s->stride * s->element};
    struct test_case c = s->s.c;

    if (!judge_fate(s, &r))
        return false;
    if (r.status == PROFK_ROW_OVERFLOW)
        return judge_elements(s, row);
    if (r.status == PROFK_ROW_RECALL_MISS)
        c.k = r.R;
    for (size_t i = 0; i < OUTPUTS; i++)
        view.out[i] = (struct output){.bytes = got_element(s, i, i == OUT_ROW ? row : row * k),
                                      .element_nbytes = s->out_element[i],
                                      .count = i == OUT_ROW ? 1 : (size_t)c.k,
                                      .wanted = true};
    return fixture_judge(&view, &c, s->ranked + row * k) && judge_nothing(s, row, (size_t)c.k);
}

bool judge_sums(const struct scene *s)
{
    const bool sampled = s->info.route == PROFK_ROUTE_PROFK && s->s.c.k > 0;
    const uint32_t most = attempts_max(s);
    const profk_stats *got = &s->stats;
    uint64_t attempts = 0, fallbacks = 0, recall_misses = 0, overflows = 0;
    uint32_t slowest = 0;

    for (size_t row = 0; row < s->s.rows; row++) {
        const profk_row r = row_of(s, row);

        slowest = r.attempts > slowest ? r.attempts : slowest;
        fallbacks += sampled && r.attempts > most;
        attempts += !sampled ? 0 : r.attempts > most ? most : r.attempts;
        recall_misses += r.status == PROFK_ROW_RECALL_MISS;
        overflows += r.status == PROFK_ROW_OVERFLOW;
    }
    if (got->calls != 1 || got->rows != s->s.rows || got->last_attempts != slowest || got->fallbacks != fallbacks ||
        got->attempts != attempts || got->redraws != (sampled ? attempts - s->s.rows : 0))
        return complain(
            &s->s.c,
            "statistics: attempts %" PRIu64 ", redraws %" PRIu64 ", fallbacks %" PRIu64 ", slowest %" PRIu32
            "; the rows: %" PRIu64 " attempts, %" PRIu64 " fallbacks, slowest %" PRIu32,
            got->attempts, got->redraws, got->fallbacks, got->last_attempts, attempts, fallbacks, slowest);
    if (s->s.mode == PROFK_MODE_APPROXIMATE ? got->recall_misses != recall_misses || got->overflows != overflows
                                            : got->recall_misses + got->overflows != got->redraws + fallbacks)
        return complain(&s->s.c, "statistics: %" PRIu64 " recall misses, %" PRIu64 " overflows", got->recall_misses,
                        got->overflows);
    return true;
}

bool judge(struct scene *s)
{
    const struct spec *spec = &s->s;
    bool ok = collect(s);
    size_t row = 0;

    while (ok && row < spec->rows && (ok = judge_row(s, row)))
        row++;
    if (ok && s->stats.calls)
        ok = judge_sums(s);
    if (!ok)
        fprintf(stderr,
                "    row %zu of %" PRIu64 ", gap %" PRIu64 ", mode %" PRIu32 ", flags %" PRIu32 ", S %" PRIu64
                ", t %" PRIu64 ", M %" PRIu64 ", slabs %" PRIu64 ", shape %" PRIu32 ", filter_wg %" PRIu32 "\n",
                row, spec->rows, spec->gap, spec->mode, spec->flags, s->info.S, s->info.t, s->info.M, s->info.slabs,
                s->info.filter_shape, spec->forced.filter_wg);
    return ok;
}

void settle(struct scene *s, profk_plan *plan)
{
    s->stats.struct_size = sizeof s->stats;
    assert_int_equal(profk_plan_stats(plan, &s->stats), PROFK_OK);
}

bool run_chunks(struct scene *s, const struct spec *spec, const profk_chunk *chunks, size_t count)
{
    profk_chunk own;
    profk_io io = io_of(s, &own);
    profk_plan *plan;
    cl_event done = NULL;
    bool ok;

    s->s = *spec;
    plan = plan_of(spec, &s->info);
    if (chunks) {
        io.chunks = chunks;
        io.chunk_count = count;
    }
    clear_outputs(s);
    ok = execute(&spec->c, plan, fixture.queues[spec->c.seed >> 8 & 1], &io, NULL, &done);
    if (ok) {
        wait_and_release(done);
        settle(s, plan);
        ok = judge(s);
    }
    profk_plan_destroy(plan);
    return ok;
}

bool run(struct scene *s, const struct spec *spec)
{
    return run_chunks(s, spec, NULL, 0);
}

/* ---- chunks ---- */

/* Adds the next `count` elements of the scene's row. */
static void add_chunk(struct tiling *t, const struct scene *s, uint64_t count)
{
    const size_t pool = (size_t)(inputs_random(&t->random) % POOLS);
    const bool says_first = inputs_random(&t->random) % 2;
    profk_chunk *chunk = &t->chunk[t->count++];

    assert_true(t->count <= MOST_CHUNKS);
    t->used[pool] += 1 + (size_t)(inputs_random(&t->random) % 5);
    *chunk = (profk_chunk){.offset = t->used[pool], .count = count, .first = says_first ? t->next : 0};
    chunk->reserved[0] = pool; /* until the buffers are made */
    memcpy(t->pool[pool] + t->used[pool] * s->element, s->x + t->next * s->element, (size_t)count * s->element);
    t->used[pool] += (size_t)count;
    t->next += count;
}

static int compare_cuts(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

void tiling_open(struct tiling *t, const struct scene *s, size_t pieces, uint64_t seed)
{
    const uint64_t n = s->s.c.n;
    const size_t most = (size_t)n + MOST_CHUNKS * 6;
    uint64_t cut[MOST_CHUNKS];

    *t = (struct tiling){.random = seed};
    for (size_t i = 0; i < POOLS; i++) {
        t->pool[i] = room(most * s->element);
        inputs_guard(s->s.c.type, most, t->pool[i]);
    }
    for (size_t i = 0; i < pieces; i++)
        cut[i] = i + 1 == pieces ? n : pieces == n ? i + 1 : inputs_random(&t->random) % (n + 1);
    qsort(cut, pieces, sizeof *cut, compare_cuts);
    for (size_t i = 0; i < pieces; i++) {
        if (pieces > 1 && inputs_random(&t->random) % 3 == 0)
            add_chunk(t, s, 0);
        add_chunk(t, s, cut[i] - t->next);
    }
    if (pieces > 1)
        add_chunk(t, s, 0);
    for (size_t i = 0; i < POOLS; i++)
        t->buffer[i] = make_buffer(most * s->element, t->pool[i]);
    for (size_t i = 0; i < t->count; i++) {
        t->chunk[i].buffer = t->buffer[t->chunk[i].reserved[0]];
        t->chunk[i].reserved[0] = 0;
    }
}

void tiling_close(struct tiling *t)
{
    for (size_t i = 0; i < POOLS; i++) {
        must(clReleaseMemObject(t->buffer[i]));
        free(t->pool[i]);
    }
}

uint32_t largest_work_group(void)
{
    size_t largest = 1;

    must(clGetDeviceInfo(fixture.device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof largest, &largest, NULL));
    return (uint32_t)largest;
}

void force_work_group(profk_tuning *forced, uint32_t w)
{
    forced->filter_wg = forced->sample_wg = forced->threshold_wg = forced->refine_wg = forced->sort_wg = w;
    forced->rows_wg = forced->full_wg = w;
}
