/* program.c: loads or compiles, asks what work-group size the kernels allow, and keeps the program. */
#include "runtime/program.h"

#include "runtime/kernels.h"
#include "runtime/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_MAX = 16, LOG_NBYTES = 3000, DEVICES_MAX = 64, WG_LINE_NBYTES = 16 };

struct profk__program_entry {
    struct profk__program_entry *next;
    const struct profk__kernel_source *source;
    cl_program program;
    uint32_t wg;
    int to_store;                    /* compiled by this process, and not stored yet */
    char key[PROFK__OPTIONS_NBYTES]; /* file and options asked for */
};

profk_status profk__programs_init(struct profk__programs *programs, const struct profk__store *store,
                                  const char *device_key)
{
    programs->first = NULL;
    programs->store = store;
    programs->device_key = device_key;
    programs->compiled = programs->loaded = 0;
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

void profk__programs_count(struct profk__programs *programs, uint32_t *compiled_ret, uint32_t *loaded_ret)
{
    profk__lock_take(&programs->lock);
    *compiled_ret = programs->compiled;
    *loaded_ret = programs->loaded;
    profk__lock_give(&programs->lock);
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

static profk_status compile(cl_context cl, cl_device_id device, const struct profk__kernel_source *source,
                            const struct profk__build *build, cl_program *ret)
{
    profk_status st = PROFK_OK;
    char room[PROFK__OPTIONS_NBYTES];
    struct profk__text options = profk__text_in(room, sizeof room);
    cl_program program = NULL;
    cl_int code = CL_SUCCESS;

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

/* The largest work-group size that all kernels of the program allow.  Returns OpenCL's code and, if that is a failure,
 * the call that it is of. */
static cl_int allowed_wg(cl_program program, cl_device_id device, size_t *ret, const char **call_ret)
{
    cl_kernel kernels[KERNELS_MAX] = {NULL};
    cl_uint count = 0;
    size_t allowed = SIZE_MAX;
    cl_int code = clCreateKernelsInProgram(program, KERNELS_MAX, kernels, &count);

    *call_ret = code != CL_SUCCESS ? "clCreateKernelsInProgram" : "clGetKernelWorkGroupInfo";
    for (cl_uint i = 0; i < count && code == CL_SUCCESS; i++) {
        size_t wg = 0;
        code = clGetKernelWorkGroupInfo(kernels[i], device, CL_KERNEL_WORK_GROUP_SIZE, sizeof wg, &wg, NULL);
        allowed = wg < allowed ? wg : allowed;
    }
    for (cl_uint i = 0; i < KERNELS_MAX; i++)
        profk__release_kernel(kernels[i]);
    *ret = allowed > 0 ? allowed : 1;
    return code;
}

/* Compiles for the wanted work-group size, and again for a smaller one while the kernels do not allow it. */
static profk_status compile_allowed(cl_context cl, const struct profk__device *device, struct profk__build build,
                                    struct profk__program_entry *entry)
{
    profk_status st = PROFK_OK;
    cl_program program = NULL;
    size_t allowed = 0;
    const char *call = "";

    build.wg = build.wg < device->facts.max_wg ? build.wg : device->facts.max_wg;
    for (;;) {
        TRY(compile(cl, device->facts.id, entry->source, &build, &program));
        cl_int code = allowed_wg(program, device->facts.id, &allowed, &call);
        TRY(profk__cl_check(code, call));
        if (allowed >= build.wg)
            break;
        profk__release_program(program);
        program = NULL;
        build.wg = (uint32_t)allowed;
    }
    entry->program = program;
    entry->wg = build.wg;
    entry->to_store = 1;
    program = NULL;
done:
    profk__release_program(program);
    return st;
}

/* ---- the store: an entry's body is the line `wg N`, the size that was built, and the driver's binary ---- */

/* 0 where nothing is stored. */
static int store_key(const struct profk__programs *programs, const struct profk__program_entry *entry,
                     char key[PROFK__KEY_NBYTES])
{
    struct profk__text text = profk__text_in(key, PROFK__KEY_NBYTES);

    if (programs->device_key == NULL)
        return 0;
    profk__text_add(&text, "%s", programs->device_key);
    profk__key_add_program(&text, entry->source->sha256, entry->key);
    return text.length < text.nbytes;
}

/* The work-group size in front of a binary, 0 if there is none; *line_ret are the bytes that it takes. */
static uint32_t read_wg(const char *body, size_t nbytes, size_t *line_ret)
{
    char line[WG_LINE_NBYTES];
    uint32_t wg = 0;

    for (size_t i = sizeof "wg " - 1; i < nbytes && i < sizeof "wg 1024" - 1 && body[i] >= '0' && body[i] <= '9'; i++)
        wg = 10 * wg + (uint32_t)(body[i] - '0');
    snprintf(line, sizeof line, "wg %u\n", (unsigned)wg);
    *line_ret = strlen(line);
    return nbytes > *line_ret && memcmp(body, line, *line_ret) == 0 ? wg : 0;
}

/* A program from a stored body.  The driver has the last word: 0 if it refuses the binary, or its work-groups. */
static int load_binary(cl_context cl, const struct profk__device *device, struct profk__build build, const char *body,
                       size_t nbytes, struct profk__program_entry *entry)
{
    char room[PROFK__OPTIONS_NBYTES];
    struct profk__text options = profk__text_in(room, sizeof room);
    cl_int code = CL_SUCCESS, status = CL_SUCCESS;
    size_t line_nbytes = 0, allowed = 0;
    uint32_t wg = read_wg(body, nbytes, &line_nbytes);
    const char *call = "";

    if (wg < 1 || wg > build.wg || wg > device->facts.max_wg)
        return 0;
    build.wg = wg;
    profk__build_options(&build, &options);
    const unsigned char *binary = (const unsigned char *)body + line_nbytes;
    size_t binary_nbytes = nbytes - line_nbytes;
    cl_program program =
        clCreateProgramWithBinary(cl, 1, &device->facts.id, &binary_nbytes, &binary, &status, &code);
    if (code != CL_SUCCESS || status != CL_SUCCESS
        || clBuildProgram(program, 1, &device->facts.id, room, NULL, NULL) != CL_SUCCESS
        || allowed_wg(program, device->facts.id, &allowed, &call) != CL_SUCCESS || allowed < wg) {
        profk__release_program(program);
        return 0;
    }
    entry->program = program;
    entry->wg = wg;
    return 1;
}

/* 1 if an earlier process has left the program.  Records no message: whatever fails is a miss. */
static int load(const struct profk__programs *programs, cl_context cl, const struct profk__device *device,
                const struct profk__build *build, struct profk__program_entry *entry)
{
    char key[PROFK__KEY_NBYTES], *body = NULL;
    size_t nbytes = 0;
    int loaded = store_key(programs, entry, key)
              && profk__store_get(programs->store, PROFK__STORE_BINARY, key, &body, &nbytes)
              && load_binary(cl, device, *build, body, nbytes, entry);

    free(body);
    return loaded;
}

/* The body for the store, to be freed; NULL where the driver gives no binary.  A program of the caller's context has
 * room for one binary for each of its devices; only ours is built. */
static char *fetch_binary(cl_program program, cl_device_id device, uint32_t wg, size_t *nbytes_ret)
{
    cl_device_id devices[DEVICES_MAX];
    size_t sizes[DEVICES_MAX] = {0}, nbytes = 0, at = 0;
    unsigned char *binaries[DEVICES_MAX] = {NULL};
    char line[WG_LINE_NBYTES];

    if (clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof devices, devices, &nbytes) != CL_SUCCESS
        || clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, NULL) != CL_SUCCESS)
        return NULL;
    size_t count = nbytes / sizeof devices[0];
    while (at < count && devices[at] != device)
        at++;
    if (at == count || sizes[at] == 0)
        return NULL;
    size_t line_nbytes = (size_t)snprintf(line, sizeof line, "wg %u\n", (unsigned)wg);
    char *body = malloc(line_nbytes + sizes[at]);
    if (body == NULL)
        return NULL;
    memcpy(body, line, line_nbytes);
    binaries[at] = (unsigned char *)body + line_nbytes;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof binaries[0], binaries, NULL) != CL_SUCCESS) {
        free(body);
        return NULL;
    }
    *nbytes_ret = line_nbytes + sizes[at];
    return body;
}

/* The entry of program if it waits to be stored; it does no longer. */
static struct profk__program_entry *take_to_store(struct profk__programs *programs, cl_program program)
{
    struct profk__program_entry *entry;

    profk__lock_take(&programs->lock);
    for (entry = programs->first; entry != NULL; entry = entry->next)
        if (entry->program == program)
            break;
    if (entry != NULL && !entry->to_store)
        entry = NULL;
    if (entry != NULL)
        entry->to_store = 0;
    profk__lock_give(&programs->lock);
    return entry;
}

void profk__program_store(struct profk__programs *programs, cl_program program, cl_device_id device)
{
    char key[PROFK__KEY_NBYTES], *body = NULL;
    size_t nbytes = 0;

    if (programs->device_key == NULL)
        return;
    /* What is written below is constant in an entry that exists, and entries live as long as the cache: no lock while
     * the driver and the disk take their time. */
    const struct profk__program_entry *entry = take_to_store(programs, program);
    if (entry == NULL || !store_key(programs, entry, key))
        return;
    body = fetch_binary(program, device, entry->wg, &nbytes);
    if (body != NULL)
        profk__store_put(programs->store, PROFK__STORE_BINARY, key, body, nbytes);
    free(body);
}

/* ---- memory ---- */

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
    entry->source = find_source(build->file);
    if (entry->source == NULL) {
        st = profk__fail(PROFK_ERR_INTERNAL, "no kernel file %s in the library; report this", build->file);
        goto done;
    }
    if (!load(programs, cl, device, build, entry))
        TRY(compile_allowed(cl, device, *build, entry));
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
    const char *made = NULL;

    profk__text_add(&key, "%s ", build->file);
    profk__build_options(build, &key);

    profk__lock_take(&programs->lock); /* also while compiling: two threads never build the same program */
    for (entry = programs->first; entry != NULL; entry = entry->next)
        if (strcmp(entry->key, room) == 0)
            break;
    if (entry == NULL) {
        TRY(add_entry(programs, cl, device, build, room));
        entry = programs->first;
        made = entry->to_store ? "compiled" : "loaded";
        ++*(entry->to_store ? &programs->compiled : &programs->loaded);
    }
    *program_ret = entry->program;
    *wg_ret = entry->wg;
done:
    profk__lock_give(&programs->lock);
    if (made != NULL)
        profk__store_tell(programs->store, made, room); /* without the lock: the log may call profk */
    return st;
}
