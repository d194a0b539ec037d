/*
 * list_programs: prints every program that the library can ask for at its built-in sizes, one a line, in the form
 * 'filter.cl -DPK_INDEX_BITS=32 ...' that the kernel gate reads.
 *
 *   list_programs           prints the list, exit status 0
 *   list_programs --wg N    prints what a GPU compiles if it is tuned to work-groups of N
 *   list_programs --check   prints nothing but a summary; exit status 1 if there are more than 100 programs
 */
#include "stages/stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS_MAX = 1024, PROGRAMS_ALLOWED = 100 };

static char programs[PROGRAMS_MAX][PROFK__OPTIONS_NBYTES + 32];
static int count;

static void add(const struct profk__spec *spec, enum profk__file file)
{
    struct profk__build build = profk__spec_build(spec, file);
    char options[PROFK__OPTIONS_NBYTES];
    struct profk__text text = profk__text_in(options, sizeof options);
    char *line = programs[count];

    profk__build_options(&build, &text);
    snprintf(line, sizeof programs[0], "%s%s", build.file, strstr(options, " -D")); /* without -cl-std */
    for (int i = 0; i < count; i++)
        if (strcmp(programs[i], line) == 0)
            return;
    count++;
}

/* Every file; the filter in the shape that suits the device.  wg 0: the built-in sizes. */
static void add_files(cl_device_type device_type, uint32_t wg, uint32_t width_nbytes, uint32_t index_nbytes)
{
    const struct profk__device any_device = {.facts = {.max_wg = PROFK__WG_MAX, .type = (uint32_t)device_type}};
    const struct profk__tuned tuned = profk__tuned_builtin(&any_device);
    struct profk__spec spec = profk__spec_default(&tuned, &any_device, 0, width_nbytes, index_nbytes);

    for (int file = 0; wg != 0 && file < PROFK__FILE_COUNT; file++)
        spec.wg[file] = wg;
    profk__spec_settle(&spec, &any_device);
    for (int file = 0; file < PROFK__FILE_COUNT; file++) {
        int is_other_shape = spec.filter_shape == PROFK_SHAPE_TILE ? file == PROFK__FILE_STREAM
                                                                   : file == PROFK__FILE_FILTER;
        if (!is_other_shape && spec.wg[file] != 0)
            add(&spec, (enum profk__file)file);
    }
}

int main(int argc, char **argv)
{
    static const cl_device_type device_types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_CPU};
    static const uint32_t widths_nbytes[] = {1, 2, 4, 8}, indices_nbytes[] = {4, 8};

    uint32_t wg = argc == 3 && strcmp(argv[1], "--wg") == 0 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;

    for (size_t d = 0; d < (wg == 0 ? PROFK__COUNT(device_types) : 1); d++)
        for (size_t w = 0; w < PROFK__COUNT(widths_nbytes); w++)
            for (size_t i = 0; i < PROFK__COUNT(indices_nbytes); i++)
                add_files(device_types[d], wg, widths_nbytes[w], indices_nbytes[i]);

    if (argc > 1 && strcmp(argv[1], "--check") == 0) {
        printf("%d programs, at most %d allowed\n", count, PROGRAMS_ALLOWED);
        return count > 0 && count <= PROGRAMS_ALLOWED ? 0 : 1;
    }
    for (int i = 0; i < count; i++)
        puts(programs[i]);
    return 0;
}
