/* replay.c: main() of a fuzz target without a fuzzer: runs every file that it is given. */
#include "fuzz.h"

#include <string.h>

enum { FILE_NBYTES_MAX = 1 << 20 };

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(FILE_NBYTES_MAX), *exact = NULL;
    size_t nbytes = 0;
    int ok = file != NULL && bytes != NULL;

    if (ok)
        nbytes = fread(bytes, 1, FILE_NBYTES_MAX, file);
    ok = ok && !ferror(file) && (exact = malloc(nbytes > 0 ? nbytes : 1)) != NULL;
    if (ok) { /* as large as what it holds, for AddressSanitizer */
        memcpy(exact, bytes, nbytes);
        LLVMFuzzerTestOneInput(exact, nbytes);
    } else {
        perror(path);
    }
    free(exact);
    free(bytes);
    if (file != NULL)
        fclose(file);
    return ok;
}

int main(int argc, char **argv)
{
    int failed = 0, status = LLVMFuzzerInitialize(&argc, &argv);

    if (status != 0)
        return status;
    for (int i = 1; i < argc; i++) {
        fprintf(stderr, "%s\n", argv[i]); /* the last one is what a crash is about */
        failed += !replay(argv[i]);
    }
    printf("%d files\n", argc - 1);
    return failed > 0 || argc < 2;
}
