/* program.c: compiles, asks what work-group size the kernels allow, and keeps the program. */
#include "runtime/program.h"

#include "runtime/kernels.h"

#include <stdlib.h>
#include <string.h>

enum { KERNELS_MAX = 16, LOG_NBYTES = 3000 };

struct profk__program_entry {
    struct profk__program_entry *next;
    cl_program program;
    uint32_t wg;
    char key[PROFK__OPTIONS_NBYTES]; /* file and options asked for */
};

profk_status profk__programs_init(struct profk__programs *programs)
{
    programs->first = NULL;
    return profk__lock_init(&programs->lock);
}

void profk__programs_fini(struct profk__programs *programs)
{
    while (programs->first != NULL) {
        struct profk__program_entry *entry = programs->first;
        programs->first = entry->next;
        profk__release_program(entry->program);
        free(entry);
    }
    profk__lock_fini(&programs->lock);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct profk__define *)a)->name, ((const struct profk__define *)b)->name);
}

void profk__build_options(const struct profk__build *build, struct profk__text *options)
{
    struct profk__define defines[PROFK__DEFINES_MAX + 1];
    uint32_t count = build->define_count;

    memcpy(defines, build->defines, count * sizeof defines[0]);
    defines[count++] = (struct profk__define){"PK_WG", build->wg};
    qsort(defines, count, sizeof defines[0], by_name);
    profk__text_add(options, "-cl-std=CL1.2");
    for (uint32_t i = 0; i < count; i++)
        profk__text_add(options, " -D%s=%u", defines[i].name, (unsigned)defines[i].value);
}

static const struct profk__kernel_source *find_source(const char *file)
{
    for (size_t i = 0; i < profk__kernel_source_count; i++)
        if (strcmp(profk__kernel_sources[i].name, file) == 0)
            return &profk__kernel_sources[i];
    return NULL;
}

static profk_status fail_build(cl_program program, cl_device_id device, cl_int code, const char *file,
                               const char *options)
{
    size_t nbytes = 0;
    char *log = NULL;

    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &nbytes) == CL_SUCCESS)
        log = calloc(1, nbytes + 1);
    if (log != NULL)
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, nbytes, log, NULL);
    int is_build = code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS || code == CL_INVALID_BINARY;
    profk_status status = is_build ? PROFK_ERR_BUILD : profk__cl_check(code, "clBuildProgram");
    profk__fail(status == PROFK_ERR_OPENCL ? PROFK_ERR_BUILD : status, "clBuildProgram failed with %s (%d) for %s %s; report this with the log, or choose another "
                "device\n%.*s", profk__cl_code_name(code), (int)code, file, options, LOG_NBYTES, log == NULL ? "" : log);
    free(log);
    return status == PROFK_ERR_OPENCL ? PROFK_ERR_BUILD : status;
}

static profk_status compile(cl_context cl, cl_device_id device, const struct profk__build *build, cl_program *ret)
{
    profk_status st = PROFK_OK;
    const struct profk__kernel_source *source = find_source(build->file);
    char room[PROFK__OPTIONS_NBYTES];
    struct profk__text options = profk__text_in(room, sizeof room);
    cl_program program = NULL;
    cl_int code = CL_SUCCESS;

    if (source == NULL) {
        st = profk__fail(PROFK_ERR_INTERNAL, "no kernel file %s in the library; report this", build->file);
        goto done;
    }
    profk__build_options(build, &options);
    program = clCreateProgramWithSource(cl, 1, (const char *[]){source->text}, &source->nbytes, &code);
    TRY(profk__cl_check(code, "clCreateProgramWithSource"));
    code = clBuildProgram(program, 1, &device, room, NULL, NULL);
    if (code != CL_SUCCESS) {
        st = fail_build(program, device, code, build->file, room);
        goto done;
    }
    *ret = program;
    program = NULL;
done:
    profk__release_program(program);
    return st;
}

/* The largest work-group size that all kernels of the program allow. */
static profk_status allowed_wg(cl_program program, cl_device_id device, size_t *ret)
{
    profk_status st = PROFK_OK;
    cl_kernel kernels[KERNELS_MAX] = {NULL};
    cl_uint count = 0;
    size_t allowed = SIZE_MAX;

    TRY_CL(clCreateKernelsInProgram(program, KERNELS_MAX, kernels, &count));
    for (cl_uint i = 0; i < count; i++) {
        size_t wg = 0;
        TRY_CL(clGetKernelWorkGroupInfo(kernels[i], device, CL_KERNEL_WORK_GROUP_SIZE, sizeof wg, &wg, NULL));
        allowed = wg < allowed ? wg : allowed;
    }
    *ret = allowed > 0 ? allowed : 1;
done:
    for (cl_uint i = 0; i < KERNELS_MAX; i++)
        profk__release_kernel(kernels[i]);
    return st;
}

/* Compiles for the wanted work-group size, and again for a smaller one while the kernels do not allow it. */
static profk_status compile_allowed(cl_context cl, const struct profk__device *device, struct profk__build build,
                                    cl_program *program_ret, uint32_t *wg_ret)
{
    profk_status st = PROFK_OK;
    cl_program program = NULL;
    size_t allowed = 0;

    build.wg = build.wg < device->facts.max_wg ? build.wg : device->facts.max_wg;
    for (;;) {
        TRY(compile(cl, device->facts.id, &build, &program));
        TRY(allowed_wg(program, device->facts.id, &allowed));
        if (allowed >= build.wg)
            break;
        profk__release_program(program);
        program = NULL;
        build.wg = (uint32_t)allowed;
    }
    *program_ret = program;
    *wg_ret = build.wg;
    program = NULL;
done:
    profk__release_program(program);
    return st;
}

static profk_status add_entry(struct profk__programs *programs, cl_context cl, const struct profk__device *device,
                              const struct profk__build *build, const char *key)
{
    profk_status st = PROFK_OK;
    struct profk__program_entry *entry = calloc(1, sizeof *entry);

    if (entry == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory to keep a program");
        goto done;
    }
    profk__text_copy(entry->key, sizeof entry->key, key);
    TRY(compile_allowed(cl, device, *build, &entry->program, &entry->wg));
    entry->next = programs->first;
    programs->first = entry;
    entry = NULL;
done:
    free(entry);
    return st;
}

profk_status profk__program_get(struct profk__programs *programs, cl_context cl, const struct profk__device *device,
                                const struct profk__build *build, cl_program *program_ret, uint32_t *wg_ret)
{
    profk_status st = PROFK_OK;
    char room[PROFK__OPTIONS_NBYTES];
    struct profk__text key = profk__text_in(room, sizeof room);
    struct profk__program_entry *entry;

    profk__text_add(&key, "%s ", build->file);
    profk__build_options(build, &key);

    profk__lock_take(&programs->lock); /* also while compiling: two threads never build the same program */
    for (entry = programs->first; entry != NULL; entry = entry->next)
        if (strcmp(entry->key, room) == 0)
            break;
    if (entry == NULL) {
        TRY(add_entry(programs, cl, device, build, room));
        entry = programs->first;
    }
    *program_ret = entry->program;
    *wg_ret = entry->wg;
done:
    profk__lock_give(&programs->lock);
    return st;
}
