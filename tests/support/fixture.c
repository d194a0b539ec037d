/* fixture.c: one device, one context and growing buffers for all cases of a program; see fixture.h for the rules. */
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/inputs.h"
#include "support/reference.h"

enum { CANARY = 0xCC, TAIL = 67, GUARDS = 61, SKIPPED = 77 };

static bool is_quiet;

void fixture_quiet(bool quiet)
{
    is_quiet = quiet;
}

void test_case_print(FILE *to, const struct test_case *c)
{
    static const char *const orders[] = {"largest", "smallest", "magnitude"};
    static const char *const policies[] = {"largest", "last"};
    static const char *const sorts[] = {"rank", "index", "none"};
    static const char *const widths[] = {"u64", "u32"};
    static const char *const routes[] = {"auto", "rows", "profk", "full"};

    fprintf(to,
            "type=%s order=%s nan=%s sort=%s index=%s route=%s n=%" PRIu64 " k=%" PRIu64
            " distribution=%s unwanted=%" PRIu32 " seed=%" PRIu64 "\n",
            reference_type(c->type)->name, orders[c->order], policies[c->nan], sorts[c->sort], widths[c->index],
            routes[c->route], c->n, c->k, inputs_name(c->distribution), c->unwanted, c->seed);
}

bool complain(const struct test_case *c, const char *format, ...)
{
    va_list args;

    if (is_quiet)
        return false;
    fprintf(stderr, "FAILED: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n    ");
    test_case_print(stderr, c);
    return false;
}

struct test_options test_options_read(int argc, char **argv, uint64_t default_seed)
{
    struct test_options o = {.seed = default_seed};
    char *end;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--long") == 0) {
            o.long_run = true;
        } else if (strcmp(argv[i], "--small") == 0) {
            o.small = true;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            errno = 0;
            o.seed = strtoull(argv[++i], &end, 0);
            if (errno || *end || end == argv[i])
                goto usage;
        } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
            cmocka_set_test_filter(argv[++i]);
        } else {
            goto usage;
        }
    }
    fprintf(stderr, "%s: seed %" PRIu64 "%s%s\n", argv[0], o.seed, o.long_run ? " --long" : "",
            o.small ? " --small" : "");
    return o;
usage:
    fprintf(stderr, "usage: %s [--long] [--small] [--seed N] [--only PATTERN]\n", argv[0]);
    exit(2);
}

/* ---- device and buffers ---- */

static bool check_cl(cl_int code, const char *what)
{
    if (code != CL_SUCCESS && !is_quiet)
        fprintf(stderr, "FAILED: %s: OpenCL code %d\n", what, (int)code);
    return code == CL_SUCCESS;
}

static bool open_queues(struct fixture *f)
{
    cl_command_queue_properties can = 0;
    cl_int code = clGetDeviceInfo(f->device, CL_DEVICE_QUEUE_PROPERTIES, sizeof can, &can, NULL);

    if (!check_cl(code, "clGetDeviceInfo"))
        return false;
    f->queues[0] = clCreateCommandQueue(f->cl, f->device, 0, &code);
    if (!check_cl(code, "clCreateCommandQueue"))
        return false;
    can &= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    f->queues[1] = clCreateCommandQueue(f->cl, f->device, can, &code);
    return check_cl(code, "clCreateCommandQueue");
}

int fixture_open(struct fixture *f)
{
    profk_status st;

    memset(f, 0, sizeof *f);
    st = profk_context_create_default(NULL, NULL, &f->ctx);
    if (st == PROFK_ERR_NO_DEVICE) {
        fprintf(stderr, "skipped: %s\n", profk_context_message(NULL));
        return SKIPPED;
    }
    if (st != PROFK_OK) {
        fprintf(stderr, "FAILED: no context: %s: %s\n", profk_status_string(st), profk_context_message(NULL));
        return 1;
    }
    profk_context_handles(f->ctx, &f->cl, &f->device);
    return open_queues(f) ? 0 : 1;
}

void fixture_close(struct fixture *f)
{
    for (size_t i = 0; i < OUTPUTS; i++) {
        if (f->out[i].buffer)
            clReleaseMemObject(f->out[i].buffer);
        free(f->out[i].bytes);
    }
    if (f->input_buffer)
        clReleaseMemObject(f->input_buffer);
    for (size_t i = 0; i < 2; i++)
        if (f->queues[i])
            clReleaseCommandQueue(f->queues[i]);
    profk_context_destroy(f->ctx);
    memset(f, 0, sizeof *f);
}

int fixture_main(int argc, char **argv, struct test_options *options, struct fixture *f, int (*run)(void))
{
    int status;

    *options = test_options_read(argc, argv, 20240229);
    status = fixture_open(f);
    if (status == 0)
        status = run();
    fixture_close(f);
    return status;
}

/* Makes *buffer hold nbytes, exactly if the fixture is snug. */
static bool grow(const struct fixture *f, cl_mem *buffer, size_t *buffer_nbytes, size_t nbytes)
{
    cl_int code;

    if (*buffer && (f->snug ? *buffer_nbytes == nbytes : *buffer_nbytes >= nbytes))
        return true;
    if (*buffer)
        clReleaseMemObject(*buffer);
    *buffer = clCreateBuffer(f->cl, CL_MEM_READ_WRITE, nbytes ? nbytes : 1, NULL, &code);
    *buffer_nbytes = nbytes;
    return check_cl(code, "clCreateBuffer");
}

bool fixture_load(struct fixture *f, uint32_t type, const void *x, size_t n, uint64_t seed)
{
    const size_t element = reference_type(type)->nbytes;
    const size_t before = 1 + (size_t)(inputs_mix(seed, 1) % 23);
    const size_t behind = f->snug ? 0 : GUARDS;
    const size_t nbytes = (before + n + behind) * element;
    unsigned char *whole = malloc(nbytes);
    bool ok = false;

    if (!whole || !grow(f, &f->input_buffer, &f->input_nbytes, nbytes))
        goto done;
    inputs_guard(type, before, whole);
    if (n)
        memcpy(whole + before * element, x, n * element);
    inputs_guard(type, behind, whole + (before + n) * element);
    ok = check_cl(clEnqueueWriteBuffer(f->queues[0], f->input_buffer, CL_TRUE, 0, nbytes, whole, 0, NULL, NULL),
                  "clEnqueueWriteBuffer")
        && check_cl(clFinish(f->queues[0]), "clFinish"); /* the call may go to the other queue */
    f->input_offset = before;
    f->x = x;
done:
    free(whole);
    return ok;
}

/* ---- the outputs in host memory ---- */

static size_t region_nbytes(const struct output *out)
{
    return (out->offset + out->count + out->tail) * out->element_nbytes;
}

unsigned char *output_element(const struct output *out, size_t i)
{
    return out->bytes + (out->offset + i) * out->element_nbytes;
}

bool fixture_lay_out(struct fixture *f, const struct test_case *c)
{
    const size_t nbytes[OUTPUTS] = {reference_type(c->type)->nbytes, c->index == PROFK_INDEX_U32 ? 4 : 8,
                                    sizeof(profk_row)};
    const size_t count[OUTPUTS] = {(size_t)c->k, (size_t)c->k, 1};

    for (size_t i = 0; i < OUTPUTS; i++) {
        struct output *out = &f->out[i];

        out->element_nbytes = nbytes[i];
        out->count = count[i];
        out->offset = 1 + (size_t)(inputs_mix(c->seed, 10 + i) % 19);
        out->tail = f->snug ? 0 : TAIL;
        out->wanted = !(c->unwanted >> i & 1);
        if (out->room_nbytes < region_nbytes(out)) {
            free(out->bytes);
            out->room_nbytes = region_nbytes(out);
            out->bytes = malloc(out->room_nbytes);
            if (!out->bytes) {
                out->room_nbytes = 0;
                return complain(c, "no memory for %zu bytes", region_nbytes(out));
            }
        }
        memset(out->bytes, CANARY, region_nbytes(out));
    }
    return true;
}

/* ---- the judgement ---- */

static bool all_canaries(const unsigned char *bytes, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        if (bytes[i] != CANARY)
            return false;
    return true;
}

static bool judge_canaries(const struct test_case *c, const struct output *out, size_t written, const char *name)
{
    const size_t before = out->offset * out->element_nbytes;
    const size_t inside = (out->wanted ? written : 0) * out->element_nbytes;
    const size_t behind = region_nbytes(out) - before - inside;

    if (!all_canaries(out->bytes, before))
        return complain(c, "%s: written before the output", name);
    if (!all_canaries(out->bytes + before + inside, behind))
        return complain(c, "%s: written behind the output", name);
    return true;
}

static uint64_t got_index(const struct output *out, size_t i)
{
    return reference_bits(out->element_nbytes == 4 ? PROFK_U32 : PROFK_U64, output_element(out, 0), i);
}

/* Sort none, with indices: got is a permutation of ranked.  Leaves it in sequence. */
static bool judge_set(const struct test_case *c, const struct output *indices, unsigned char *marks,
                      uint32_t *sequence)
{
    for (size_t i = 0; i < c->k; i++) {
        const uint64_t index = got_index(indices, i);

        if (index >= c->n)
            return complain(c, "place %zu: index %" PRIu64 " is not below n", i, index);
        if (marks[index] != 1)
            return complain(c, "place %zu: index %" PRIu64 " %s", i, index,
                            marks[index] ? "occurs twice" : "is not among the top k");
        marks[index] = 2;
        sequence[i] = (uint32_t)index;
    }
    return true;
}

static int compare_bits(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* Sort none, without indices: the values' bits, sorted, are those of the top k. */
static bool judge_multiset(const struct test_case *c, const void *x, const struct output *values,
                           const uint32_t *ranked)
{
    const size_t k = (size_t)c->k;
    uint64_t *bits = malloc(2 * k * sizeof *bits);
    bool ok = bits != NULL;

    if (!bits)
        return complain(c, "no memory");
    for (size_t i = 0; i < k; i++) {
        bits[i] = reference_bits(c->type, output_element(values, 0), i);
        bits[k + i] = reference_bits(c->type, x, ranked[i]);
    }
    qsort(bits, k, sizeof *bits, compare_bits);
    qsort(bits + k, k, sizeof *bits, compare_bits);
    for (size_t i = 0; ok && i < k; i++)
        if (bits[i] != bits[k + i])
            ok = complain(c, "sorted by bits, value %zu is 0x%" PRIx64 " where 0x%" PRIx64 " is right", i, bits[i],
                          bits[k + i]);
    free(bits);
    return ok;
}

static bool judge_sequence(const struct fixture *f, const struct test_case *c, const uint32_t *sequence)
{
    const struct output *values = &f->out[OUT_VALUES], *indices = &f->out[OUT_INDICES];

    for (size_t i = 0; i < c->k; i++) {
        const uint64_t right = reference_bits(c->type, f->x, sequence[i]);

        if (indices->wanted && got_index(indices, i) != sequence[i])
            return complain(c, "place %zu: index %" PRIu64 " where %" PRIu32 " is right", i, got_index(indices, i),
                            sequence[i]);
        if (values->wanted && reference_bits(c->type, output_element(values, 0), i) != right)
            return complain(c, "place %zu (index %" PRIu32 "): value bits 0x%" PRIx64 " where 0x%" PRIx64 " is right",
                            i, sequence[i], reference_bits(c->type, output_element(values, 0), i), right);
    }
    return true;
}

/* The results of a case with k > 0: brings the expected sequence into the order that was asked for and compares. */
static bool judge_results(const struct fixture *f, const struct test_case *c, const uint32_t *ranked)
{
    const struct output *values = &f->out[OUT_VALUES], *indices = &f->out[OUT_INDICES];
    unsigned char *marks = NULL;
    uint32_t *sequence = NULL;
    size_t found = 0;
    bool ok = false;

    if (c->sort == PROFK_SORT_RANK)
        return judge_sequence(f, c, ranked);
    if (c->sort == PROFK_SORT_NONE && !indices->wanted)
        return !values->wanted || judge_multiset(c, f->x, values, ranked);
    marks = calloc((size_t)c->n, 1);
    sequence = malloc((size_t)c->k * sizeof *sequence);
    if (!marks || !sequence) {
        complain(c, "no memory");
        goto done;
    }
    for (size_t i = 0; i < c->k; i++)
        marks[ranked[i]] = 1;
    if (c->sort == PROFK_SORT_NONE && !judge_set(c, indices, marks, sequence))
        goto done;
    for (size_t i = 0; c->sort == PROFK_SORT_INDEX && i < c->n; i++)
        if (marks[i])
            sequence[found++] = (uint32_t)i;
    ok = judge_sequence(f, c, sequence);
done:
    free(marks);
    free(sequence);
    return ok;
}

bool fixture_judge(const struct fixture *f, const struct test_case *c, const uint32_t *ranked)
{
    static const char *const names[OUTPUTS] = {"values", "indices", "row results"};
    const size_t written[OUTPUTS] = {(size_t)c->k, (size_t)c->k, 1};

    for (size_t i = 0; i < OUTPUTS; i++)
        if (!judge_canaries(c, &f->out[i], written[i], names[i]))
            return false;
    return c->k == 0 || judge_results(f, c, ranked);
}

/* A device whose driver ends long loops refuses large samples and buffers, and long rows on route rows: then another
 * route must give the answer. */
static bool is_refused_by_loops(const struct fixture *f)
{
    return strstr(profk_context_message(f->ctx), "on this device") != NULL;
}

/* What the plan promised for a case. */
static bool judge_info(const struct fixture *f, const struct test_case *c, const profk_info *info)
{
    if (c->k == 0)
        return true;
    if (c->route != PROFK_ROUTE_AUTO && info->route != c->route &&
        !(c->route == PROFK_ROUTE_PROFK && is_refused_by_loops(f)))
        return complain(c, "the plan takes route %" PRIu32, info->route);
    if (info->route != PROFK_ROUTE_PROFK)
        return true;
    if (info->t < 1 || info->t > info->S || info->S > c->n || info->M < c->k || info->M > c->n)
        return complain(c, "S=%" PRIu64 " t=%" PRIu64 " M=%" PRIu64 " out of range", info->S, info->t, info->M);
    return true;
}

static bool judge_row(const struct test_case *c, const profk_info *info, const profk_row *row)
{
    const bool sampled = c->k > 0 && info->route == PROFK_ROUTE_PROFK && row->attempts < 7;
    const uint32_t least = c->k > 0, most = c->k == 0 ? 0 : info->route == PROFK_ROUTE_PROFK ? 7 : 1;

    if (row->status != PROFK_ROW_CERTIFIED)
        return complain(c, "row status %" PRIu32 " is not certified", row->status);
    if (row->attempts < least || row->attempts > most)
        return complain(c, "row has %" PRIu32 " attempts", row->attempts);
    if (sampled ? row->R < c->k || row->R > info->M : row->R != 0)
        return complain(c, "row has R=%" PRIu64 " after %" PRIu32 " attempts, M=%" PRIu64, row->R, row->attempts,
                        info->M);
    return true;
}

/* Statistics agree with one another and with the last row. */
static bool judge_stats(const struct test_case *c, const profk_info *info, const profk_stats *s, const profk_row *row)
{
    const bool sampled = info->route == PROFK_ROUTE_PROFK && c->k > 0;
    const uint32_t route = row->attempts == 7 ? PROFK_ROUTE_FULL : info->route;

    if (s->calls == 0 || s->rows != s->calls)
        return complain(c, "statistics: %" PRIu64 " calls, %" PRIu64 " rows", s->calls, s->rows);
    if (sampled && s->attempts != s->rows + s->redraws)
        return complain(c, "statistics: %" PRIu64 " attempts of %" PRIu64 " rows with %" PRIu64 " redraws",
                        s->attempts, s->rows, s->redraws);
    if (s->recall_misses + s->overflows != s->redraws + s->fallbacks)
        return complain(
            c, "statistics: %" PRIu64 " misses, %" PRIu64 " overflows; %" PRIu64 " redraws, %" PRIu64 " fallbacks",
            s->recall_misses, s->overflows, s->redraws, s->fallbacks);
    if (!sampled && s->recall_misses + s->overflows + s->redraws + s->fallbacks > 0)
        return complain(c, "statistics speak of misses on a route without a sample");
    if (c->unwanted >> OUT_ROW & 1)
        return true;
    if (s->last_attempts != row->attempts)
        return complain(c, "statistics: last attempts %" PRIu32 ", row %" PRIu32, s->last_attempts, row->attempts);
    if (c->k > 0 && s->last_route != route)
        return complain(c, "statistics: last route %" PRIu32 ", not %" PRIu32, s->last_route, route);
    return true;
}

/* ---- running a case ---- */

profk_problem test_case_problem(const struct test_case *c)
{
    profk_problem p;

    profk_problem_init(&p, sizeof p, c->type, c->n, c->k);
    p.order = c->order;
    p.nan = c->nan;
    p.sort = c->sort;
    p.index = c->index;
    p.route = c->route;
    p.seed = c->seed | 1;
    return p;
}

profk_plan *fixture_plan(struct fixture *f, const struct test_case *c, const profk_tuning *forced)
{
    profk_problem p = test_case_problem(c);

    return fixture_plan_problem(f, c, &p, forced, PROFK_ESTIMATE);
}

profk_plan *fixture_plan_problem(struct fixture *f, const struct test_case *c, profk_problem *p,
                                 const profk_tuning *forced, uint32_t flags)
{
    profk_plan *plan = NULL;
    profk_status st = profk_plan_create(f->ctx, p, forced, flags, &plan);

    if (st == PROFK_ERR_UNSUPPORTED && is_refused_by_loops(f)) {
        p->route = PROFK_ROUTE_AUTO; /* the answer must be the same */
        st = profk_plan_create(f->ctx, p, forced, flags, &plan);
    }
    if (st != PROFK_OK)
        complain(c, "profk_plan_create: %s: %s", profk_status_string(st), profk_context_message(f->ctx));
    return plan;
}

static bool grow_outputs(struct fixture *f)
{
    for (size_t i = 0; i < OUTPUTS; i++)
        if (!grow(f, &f->out[i].buffer, &f->out[i].buffer_nbytes, region_nbytes(&f->out[i])))
            return false;
    return true;
}

/* Fills the outputs on the device with canaries; events of the fills go to filled, which the caller releases. */
static bool fill_outputs(const struct fixture *f, cl_command_queue queue, cl_event *filled)
{
    static const unsigned char canary = CANARY;

    for (size_t i = 0; i < OUTPUTS; i++) {
        const struct output *out = &f->out[i];

        if (!check_cl(clEnqueueFillBuffer(queue, out->buffer, &canary, 1, 0, region_nbytes(out), 0, NULL, &filled[i]),
                      "clEnqueueFillBuffer"))
            return false;
    }
    return true;
}

static bool read_outputs(struct fixture *f)
{
    for (size_t i = 0; i < OUTPUTS; i++)
        if (!check_cl(clEnqueueReadBuffer(f->queues[0], f->out[i].buffer, CL_TRUE, 0, region_nbytes(&f->out[i]),
                                          f->out[i].bytes, 0, NULL, NULL),
                      "clEnqueueReadBuffer"))
            return false;
    return true;
}

static bool judge_event(const struct test_case *c, cl_event done)
{
    cl_int state = CL_QUEUED;

    if (!done)
        return complain(c, "no event was returned");
    if (!check_cl(clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
                  "clGetEventInfo"))
        return complain(c, "the event is not usable");
    clReleaseEvent(done);
    return state == CL_COMPLETE ? true : complain(c, "the event's state is %d, not complete", (int)state);
}

/* The call itself, on the queue and with the events that the seed chooses. */
static bool call(struct fixture *f, profk_plan *plan, const struct test_case *c)
{
    const bool out_of_order = c->seed >> 8 & 1, want_event = c->seed >> 9 & 1;
    cl_command_queue queue = f->queues[out_of_order];
    cl_event filled[OUTPUTS] = {NULL}, done = NULL;
    const struct output *out = f->out;
    const profk_chunk chunk = {.buffer = f->input_buffer, .offset = f->input_offset, .count = c->n};
    const profk_io io = {.struct_size = sizeof io,
                         .chunks = &chunk,
                         .chunk_count = 1,
                         .values = out[OUT_VALUES].wanted ? out[OUT_VALUES].buffer : NULL,
                         .indices = out[OUT_INDICES].wanted ? out[OUT_INDICES].buffer : NULL,
                         .row_results = out[OUT_ROW].wanted ? out[OUT_ROW].buffer : NULL,
                         .values_offset = out[OUT_VALUES].offset,
                         .indices_offset = out[OUT_INDICES].offset,
                         .row_results_offset = out[OUT_ROW].offset};
    profk_status st;
    bool ok = fill_outputs(f, queue, filled);

    if (!ok)
        goto done;
    st = profk_execute(plan, queue, &io, out_of_order ? OUTPUTS : 0, out_of_order ? filled : NULL,
                       want_event ? &done : NULL);
    if (st != PROFK_OK)
        ok = complain(c, "profk_execute: %s: %s", profk_status_string(st), profk_context_message(f->ctx));
    else if (want_event)
        ok = judge_event(c, done);
done:
    for (size_t i = 0; i < OUTPUTS; i++)
        if (filled[i])
            clReleaseEvent(filled[i]);
    return ok;
}

bool fixture_execute(struct fixture *f, profk_plan *plan, const struct test_case *c, const uint32_t *ranked,
                     struct outcome *ret)
{
    struct outcome own;
    struct outcome *o = ret ? ret : &own;
    profk_status st;

    memset(o, 0, sizeof *o);
    o->info.struct_size = sizeof o->info;
    o->stats.struct_size = sizeof o->stats;
    st = profk_plan_info(plan, &o->info);
    if (st != PROFK_OK)
        return complain(c, "profk_plan_info: %s", profk_status_string(st));
    if (!fixture_lay_out(f, c) || !grow_outputs(f) || !call(f, plan, c))
        return false;
    st = profk_plan_stats(plan, &o->stats);
    if (st != PROFK_OK)
        return complain(c, "profk_plan_stats: %s", profk_status_string(st));
    if (!read_outputs(f) || !fixture_judge(f, c, ranked) || !judge_info(f, c, &o->info))
        return false;
    memcpy(&o->row, output_element(&f->out[OUT_ROW], 0), sizeof o->row);
    if (f->out[OUT_ROW].wanted && !judge_row(c, &o->info, &o->row))
        return false;
    return judge_stats(c, &o->info, &o->stats, &o->row);
}

bool fixture_run(struct fixture *f, const struct test_case *c, const profk_tuning *forced, const uint32_t *ranked,
                 struct outcome *ret)
{
    struct outcome own;
    struct outcome *o = ret ? ret : &own;
    profk_plan *plan = fixture_plan(f, c, forced);
    bool ok = plan != NULL;

    if (ok)
        ok = fixture_execute(f, plan, c, ranked, o);
    if (ok && o->stats.calls != 1)
        ok = complain(c, "statistics count %" PRIu64 " calls after the first", o->stats.calls);
    profk_plan_destroy(plan);
    return ok;
}
