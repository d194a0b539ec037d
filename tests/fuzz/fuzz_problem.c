/*
 * fuzz_problem.c: whole problems on a device, against the reference.
 *
 * The bytes say type, order, policy, lengths, rows, gap, pieces, mode, route, forced parameters, and what is left of
 * them is the input, repeated.  Refusing is allowed, in the two ways that the interface has for it.  The corpus has
 * every program that a case may want, so that whoever has run it once compiles no more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fuzz.h"

#include <string.h>

#include "conformance/scene.h"
#include "support/inputs.h"
#include "support/reference.h"

enum { N_MAX = 600, ROWS_MAX = 4, PIECES_MAX = 5 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    int status = fixture_open(&fixture);

    (void)argc;
    (void)argv;
    if (status == 0)
        aside_open();
    return status;
}

/* Rows made of the bytes that are left, and their answers. */
static void fill(struct scene *s, const struct fuzz_bytes *bytes)
{
    const struct test_case *c = &s->s.c;
    size_t row_nbytes = (size_t)c->n * s->element, place = 0;

    inputs_guard(c->type, s->image_nbytes / s->element, s->image);
    for (size_t row = 0; row < s->s.rows; row++) {
        unsigned char *x = s->x + row * s->stride * s->element;
        for (size_t i = 0; i < row_nbytes; i++, place++)
            x[i] = bytes->left == 0 ? 0 : bytes->at[place % bytes->left];
        FUZZ_CHECK(reference_rank(c->type, c->order, c->nan, x, (size_t)c->n, (size_t)c->k,
                                  s->ranked + row * (size_t)c->k));
    }
    s->input = make_buffer(s->image_nbytes, s->image);
}

/* Parameters of the sampled method that miss more or less often. */
static void force_parameters(struct spec *spec, struct fuzz_bytes *bytes)
{
    uint32_t n = (uint32_t)spec->c.n, k = (uint32_t)spec->c.k;

    spec->forced.S = 1 + fuzz_below(bytes, n);
    spec->forced.t = 1 + fuzz_below(bytes, (uint32_t)spec->forced.S);
    spec->forced.M = k + fuzz_below(bytes, n - k + 1);
}

static struct spec read_spec(struct fuzz_bytes *bytes)
{
    struct spec spec = {.epsilon = 0.001};
    struct test_case *c = &spec.c;
    uint32_t bits;

    c->type = PROFK_F32 + fuzz_below(bytes, REFERENCE_TYPES);
    c->n = 1 + fuzz_below(bytes, N_MAX);
    c->k = 1 + fuzz_below(bytes, (uint32_t)c->n);
    spec.rows = 1 + fuzz_below(bytes, ROWS_MAX);
    spec.gap = fuzz_below(bytes, 5);
    c->order = fuzz_below(bytes, 3);
    c->sort = fuzz_below(bytes, 3);
    c->route = fuzz_below(bytes, 4);
    bits = fuzz_byte(bytes);
    c->nan = bits & 1;
    c->index = bits >> 1 & 1;
    spec.flags = (bits & 4) != 0 ? PROFK_ASYNC : 0;
    spec.mode = (bits & 8) != 0 ? PROFK_MODE_APPROXIMATE : PROFK_MODE_EXACT;
    if (c->type == PROFK_F32 && (bits & 16) != 0) /* compiling takes most of the time: not for every width */
        force_work_group(&spec.forced, 3);
    if (c->type == PROFK_F32 && (bits & 32) != 0)
        spec.forced.filter_shape = PROFK_SHAPE_TILE;
    if ((bits & 64) != 0)
        force_parameters(&spec, bytes);
    c->seed = inputs_mix(fuzz_byte(bytes), fuzz_byte(bytes));
    return spec;
}

/* Is the problem one that a plan may refuse? */
static bool is_refused(const struct spec *spec)
{
    profk_problem p = problem_of(spec);
    profk_tuning forced = spec->forced;
    profk_plan *plan = NULL;
    profk_status st;

    forced.struct_size = sizeof forced;
    st = profk_plan_create(fixture.ctx, &p, &forced, spec->flags, &plan);
    profk_plan_destroy(plan);
    FUZZ_CHECK(st == PROFK_OK || (plan == NULL && (st == PROFK_ERR_ARGUMENT || st == PROFK_ERR_UNSUPPORTED)));
    return st != PROFK_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct fuzz_bytes bytes = {data, nbytes};
    struct spec spec = read_spec(&bytes);
    size_t pieces = 1 + fuzz_below(&bytes, PIECES_MAX);
    struct scene s;
    bool ok;

    if (is_refused(&spec))
        return 0;
    scene_lay_out(&s, &spec);
    fill(&s, &bytes);
    if (spec.rows == 1 && pieces > 1) {
        struct tiling t;
        tiling_open(&t, &s, pieces, spec.c.seed);
        ok = run_chunks(&s, &spec, t.chunk, t.count);
        tiling_close(&t);
    } else {
        ok = run(&s, &spec);
    }
    FUZZ_CHECK(ok);
    scene_close(&s);
    return 0;
}
