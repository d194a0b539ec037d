/* input.c: from bytes to rows of elements. */
#include "input.h"

#include <inttypes.h>
#include <profk.h>
#include <string.h>

#include "npy.h"
#include "report.h"

/* The type that a descr names, NULL if profk has none; one-byte types may carry any byte-order mark. */
static const struct type *type_of_descr(const char *descr)
{
    const struct type *type;

    for (type = all_types; type->name; type++) {
        bool order_is_fine =
            descr[0] == type->descr[0] || (type->nbytes == 1 && descr[0] && strchr("<>=|", descr[0]));

        if (type->id != PROFK_BF16 && order_is_fine && strcmp(descr + 1, type->descr + 1) == 0)
            return type;
    }
    return NULL;
}

static int refuse_descr(const char *name, const struct npy *npy)
{
    if (npy->descr[0] == '\0')
        return fail(EXIT_WRONG, "%s holds structured elements; save one of its fields as an array of its own", name);
    if (npy->descr[0] == '>')
        return fail(EXIT_WRONG, "%s is big-endian ('%s'); save it with astype(x.dtype.newbyteorder('<'))", name,
                    npy->descr);
    return fail(EXIT_WRONG,
                "%s holds elements of type '%s'; convert them to little-endian floats or integers of 1 to 8 bytes",
                name, npy->descr);
}

/* --dtype beside a .npy file must say the same; bf16 is allowed over <u2, because NumPy has no name for it. */
static int choose_type(struct input *input, const struct npy *npy, uint32_t dtype)
{
    const char *name = input->source.name;

    input->type = type_of_descr(npy->descr);
    if (!input->type)
        return refuse_descr(name, npy);
    if (dtype == PROFK_BF16 && input->type->id == PROFK_U16)
        input->type = type_of_id(PROFK_BF16);
    if (dtype && dtype != input->type->id)
        return fail(EXIT_WRONG, "%s holds %s, not %s; leave --dtype out", name, input->type->name,
                    type_of_id(dtype)->name);
    return EXIT_DONE;
}

/* Whether rows * n elements are in the file. */
static bool array_fits(const struct input *input)
{
    uint64_t elements = (input->source.nbytes - input->data_at) / input->type->nbytes;

    return input->rows == 0 || input->n <= elements / input->rows;
}

static int layout_npy(struct input *input, uint32_t dtype)
{
    const char *name = input->source.name, *wrong;
    struct npy npy;
    int status;

    wrong = npy_parse(input->source.bytes, input->source.nbytes, &npy);
    if (wrong)
        return fail(EXIT_WRONG, "%s is no usable .npy file: %s; save it again with numpy.save", name, wrong);
    status = choose_type(input, &npy, dtype);
    if (status != EXIT_DONE)
        return status;
    if (npy.dims == 0 || npy.dims > NPY_MAX_DIMS)
        return fail(EXIT_WRONG, "%s has %" PRIu32 " dimensions; reshape it to 1 or 2", name, npy.dims);
    if (npy.fortran_order)
        return fail(EXIT_WRONG, "%s is in Fortran order; save it with numpy.ascontiguousarray", name);
    input->has_rows = npy.dims == 2;
    input->rows = input->has_rows ? npy.shape[0] : 1;
    input->n = npy.shape[npy.dims - 1];
    input->data_at = npy.data_at;
    if (!array_fits(input))
        return fail(EXIT_WRONG,
                    "%s is truncated: it ends before its %" PRIu64 " x %" PRIu64 " elements of %s do; "
                    "copy it again",
                    name, input->rows, input->n, input->type->name);
    return EXIT_DONE;
}

static int layout_raw(struct input *input, uint32_t dtype)
{
    const struct source *source = &input->source;

    if (!dtype)
        return fail(EXIT_WRONG, "%s is no .npy file; say with --dtype what its elements are", source->name);
    input->type = type_of_id(dtype);
    if (source->nbytes % input->type->nbytes != 0)
        return fail(EXIT_WRONG,
                    "%s has %" PRIu64 " bytes, which is no multiple of the %" PRIu32 " bytes of %s; "
                    "check --dtype and the file",
                    source->name, source->nbytes, input->type->nbytes, input->type->name);
    input->rows = 1;
    input->n = source->nbytes / input->type->nbytes;
    return EXIT_DONE;
}

/* --rows divides a vector into rows and must equal what a 2-D file has. */
static int apply_rows(struct input *input, uint64_t rows)
{
    const char *name = input->source.name;

    if (input->has_rows && rows != input->rows)
        return fail(EXIT_WRONG, "%s has %" PRIu64 " rows, not %" PRIu64 "; leave --rows out", name, input->rows,
                    rows);
    if (!input->has_rows && (rows == 0 || input->n % rows != 0))
        return fail(EXIT_WRONG, "%" PRIu64 " elements of %s do not divide into %" PRIu64 " rows; change --rows",
                    input->n, name, rows);
    if (!input->has_rows) {
        input->rows = rows;
        input->n /= rows;
    }
    input->has_rows = true;
    return EXIT_DONE;
}

int input_open(struct input *input, const char *file, uint32_t dtype, const uint64_t *rows)
{
    int status;

    memset(input, 0, sizeof *input);
    status = source_open(&input->source, file);
    if (status != EXIT_DONE)
        return status;
    if (npy_recognise(input->source.bytes, input->source.nbytes))
        status = layout_npy(input, dtype);
    else
        status = layout_raw(input, dtype);
    if (status == EXIT_DONE && rows)
        status = apply_rows(input, *rows);
    return status;
}

void input_close(struct input *input)
{
    source_close(&input->source);
}
