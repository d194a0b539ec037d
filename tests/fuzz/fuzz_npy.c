/* fuzz_npy.c: the reader of .npy headers; what it takes it takes again from the header that is written for it. */
#include "fuzz.h"

#include <string.h>

#include "npy.h"
#include "types.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

static int is_type(const char *descr)
{
    for (const struct type *type = all_types; type->name != NULL; type++)
        if (strcmp(type->descr, descr) == 0)
            return 1;
    return 0;
}

static void write_and_read(const struct npy *npy)
{
    char header[NPY_HEADER_ROOM];
    struct npy again;
    size_t nbytes = npy_header(header, npy->descr, npy->dims, npy->shape);

    FUZZ_CHECK(nbytes <= NPY_HEADER_ROOM && nbytes % 64 == 0 && npy_recognise(header, nbytes));
    FUZZ_CHECK(npy_parse(header, nbytes, &again) == NULL);
    FUZZ_CHECK(again.dims == npy->dims && again.data_at == nbytes && !again.fortran_order);
    FUZZ_CHECK(memcmp(again.shape, npy->shape, npy->dims * sizeof *npy->shape) == 0);
    FUZZ_CHECK(strcmp(again.descr, npy->descr) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct npy npy;

    if (npy_parse(data, nbytes, &npy) != NULL) /* whether it is recognised or not */
        return 0;
    FUZZ_CHECK(npy.data_at <= nbytes && memchr(npy.descr, '\0', sizeof npy.descr) != NULL);
    if (npy.dims >= 1 && npy.dims <= NPY_MAX_DIMS && is_type(npy.descr))
        write_and_read(&npy);
    (void)npy_recognise(data, nbytes);
    return 0;
}
