/*
 * device.c: lists the devices of all platforms and picks one by SPEC.
 *
 * Devices are numbered from 0 in the order in which OpenCL lists platforms and their devices.  A platform without a
 * device (clGetDeviceIDs then fails) is skipped.  The list is read anew each time: nothing here is kept.
 */
#include "runtime/device.h"

#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* All devices of all platforms, *ids_ret to be freed by the caller.  ERR_NO_DEVICE where there is none. */
static profk_status list_devices(cl_device_id **ids_ret, uint32_t *count_ret)
{
    profk_status st = PROFK_OK;
    cl_platform_id *platforms = NULL;
    cl_device_id *ids = NULL;
    cl_uint platform_count = 0, count = 0;
    cl_int code = clGetPlatformIDs(0, NULL, &platform_count);

    if (code != CL_SUCCESS || platform_count == 0) {
        st = profk__fail(PROFK_ERR_NO_DEVICE, "no OpenCL platform (%s, %d); install an OpenCL driver, for a CPU the "
                         "package pocl-opencl-icd, and leave OCL_ICD_VENDORS unset", profk__cl_code_name(code), (int)code);
        goto done;
    }
    platforms = calloc(platform_count, sizeof *platforms);
    if (platforms == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory to list %u platforms", (unsigned)platform_count);
        goto done;
    }
    TRY_CL(clGetPlatformIDs(platform_count, platforms, NULL));
    for (cl_uint p = 0; p < platform_count; p++) {
        cl_uint more = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 0, NULL, &more) != CL_SUCCESS || more == 0)
            continue;
        cl_device_id *grown = realloc(ids, (count + more) * sizeof *ids);
        if (grown == NULL) {
            st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory to list %u devices", (unsigned)(count + more));
            goto done;
        }
        ids = grown;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, more, ids + count, NULL) == CL_SUCCESS)
            count += more;
    }
    if (count == 0) {
        st = profk__fail(PROFK_ERR_NO_DEVICE, "no OpenCL device on any of %u platforms; install a driver for your device, "
                         "for a CPU the package pocl-opencl-icd", (unsigned)platform_count);
        goto done;
    }
    *ids_ret = ids;
    *count_ret = count;
    ids = NULL;
done:
    free(ids);
    free(platforms);
    return st;
}

/* Reads a text of unknown length, cut to room. */
static profk_status read_text(cl_device_id id, cl_device_info what, char *to, size_t room)
{
    profk_status st = PROFK_OK;
    size_t nbytes = 0;
    char *text = NULL;

    TRY_CL(clGetDeviceInfo(id, what, 0, NULL, &nbytes));
    text = calloc(1, nbytes + 1);
    if (text == NULL) {
        st = profk__fail(PROFK_ERR_HOST_MEMORY, "no memory for a device's name");
        goto done;
    }
    TRY_CL(clGetDeviceInfo(id, what, nbytes, text, NULL));
    profk__text_copy(to, room, text);
done:
    free(text);
    return st;
}

/* Why profk cannot use the device, "" if it can. */
static const char *objection(cl_device_id id, const char *version)
{
    cl_bool available = CL_FALSE, compiler = CL_FALSE, little_endian = CL_TRUE;

    clGetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    clGetDeviceInfo(id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL);
    clGetDeviceInfo(id, CL_DEVICE_ENDIAN_LITTLE, sizeof little_endian, &little_endian, NULL);
    if (!available)
        return "the device is not available";
    if (!compiler)
        return "the device has no compiler";
    if (strncmp(version, "OpenCL 1.0", 10) == 0 || strncmp(version, "OpenCL 1.1", 10) == 0)
        return "older than OpenCL 1.2";
    if (!little_endian)
        return "the device is big-endian";
    return "";
}

static profk_status read_platform_name(cl_device_id id, char *to, size_t room)
{
    profk_status st = PROFK_OK;
    cl_platform_id platform = NULL;
    char name[512] = "";

    TRY_CL(clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    TRY_CL(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL));
    profk__text_copy(to, room, name);
done:
    return st;
}

/*
 * Mesa's llvmpipe, which rusticl offers as a device, ends every loop of a work-item once all its loops together have
 * made 65535 iterations (LP_MAX_TGSI_LOOP_ITERATIONS in gallivm's lp_bld_limits.h; seen with Mesa 22.3.6), without a
 * word: results are then wrong.  Its kernels allow 32 work-items whatever they ask for, so that is what is counted on.
 */
static void note_llvmpipe(struct profk__device *device)
{
    if (strncmp(device->facts.name, "llvmpipe", 8) != 0)
        return;
    device->loop_max = 65535;
    device->only_wg = 32;
}

profk_status profk__device_read(cl_device_id id, struct profk__device *ret)
{
    profk_status st = PROFK_OK;
    struct profk__device device = {0};
    profk_device *facts = &device.facts;
    cl_ulong global_nbytes = 0, max_alloc_nbytes = 0, local_nbytes = 0;
    cl_uint compute_units = 0, align_bits = 0;
    cl_device_type type = 0;
    cl_bool unified = CL_FALSE;
    size_t max_wg = 0;

    TRY(read_text(id, CL_DEVICE_NAME, facts->name, sizeof facts->name));
    TRY(read_text(id, CL_DEVICE_VERSION, facts->version, sizeof facts->version));
    TRY(read_text(id, CL_DRIVER_VERSION, facts->driver, sizeof facts->driver));
    TRY(read_platform_name(id, facts->platform, sizeof facts->platform));
    TRY_CL(clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL));
    TRY_CL(clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof global_nbytes, &global_nbytes, NULL));
    TRY_CL(clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof max_alloc_nbytes, &max_alloc_nbytes, NULL));
    TRY_CL(clGetDeviceInfo(id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local_nbytes, &local_nbytes, NULL));
    TRY_CL(clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof compute_units, &compute_units, NULL));
    TRY_CL(clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof max_wg, &max_wg, NULL));
    /* Facts that only choose between equally right ways: a driver that does not know them gets the careful one. */
    clGetDeviceInfo(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align_bits, &align_bits, NULL);
    clGetDeviceInfo(id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL);

    facts->struct_size = sizeof *facts;
    facts->id = id;
    facts->global_nbytes = global_nbytes;
    facts->max_alloc_nbytes = max_alloc_nbytes;
    facts->local_nbytes = local_nbytes;
    facts->compute_units = compute_units > 0 ? compute_units : 1;
    facts->max_wg = max_wg < 1 ? 1 : max_wg > UINT32_MAX ? UINT32_MAX : (uint32_t)max_wg;
    facts->type = (uint32_t)type;
    profk__text_copy(facts->why_not, sizeof facts->why_not, objection(id, facts->version));
    facts->usable = facts->why_not[0] == '\0';
    device.base_align_nbytes = align_bits / 8 < 128 ? 128 : align_bits / 8; /* at least the largest OpenCL type */
    device.unified_memory = unified == CL_TRUE;
    note_llvmpipe(&device);
    *ret = device;
done:
    return st;
}

/* One of the listed devices. */
static profk_status read_listed(const cl_device_id *ids, uint32_t number, struct profk__device *ret)
{
    profk_status st = profk__device_read(ids[number], ret);

    ret->facts.number = number;
    return st;
}

profk_status profk__device_get(uint32_t number, struct profk__device *ret)
{
    profk_status st = PROFK_OK;
    cl_device_id *ids = NULL;
    uint32_t count = 0;

    TRY(list_devices(&ids, &count));
    if (number >= count) {
        st = profk__fail(PROFK_ERR_NO_DEVICE, "there is no device %u, the last one is %u; 'profk devices' lists them",
                         (unsigned)number, (unsigned)(count - 1));
        goto done;
    }
    TRY(read_listed(ids, number, ret));
done:
    free(ids);
    return st;
}

profk_status profk__device_check(const struct profk__device *device)
{
    const profk_device *facts = &device->facts;

    if (facts->usable)
        return PROFK_OK;
    return profk__fail(strstr(facts->why_not, "compiler") != NULL ? PROFK_ERR_NO_COMPILER : PROFK_ERR_NO_DEVICE,
                       "device '%s' cannot be used: %s; choose another one ('profk devices' lists them)", facts->name,
                       facts->why_not);
}

static int contains(const char *text, const char *part)
{
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (part[i] != '\0' && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (part[i] == '\0')
            return 1;
    }
    return 0;
}

static int matches(const profk_device *facts, const char *spec)
{
    if (strcmp(spec, "gpu") == 0)
        return (facts->type & CL_DEVICE_TYPE_GPU) != 0;
    if (strcmp(spec, "cpu") == 0)
        return (facts->type & CL_DEVICE_TYPE_CPU) != 0;
    return contains(facts->name, spec) || contains(facts->platform, spec);
}

/* The first usable device that matches; where only unusable ones do, the first of them and its objection.  found_ret
 * not NULL: that nothing usable matches is no failure, and told there. */
static profk_status find_match(const char *spec, struct profk__device *ret, int *found_ret)
{
    profk_status st = PROFK_OK;
    struct profk__device unusable = {0};
    cl_device_id *ids = NULL;
    uint32_t count = 0;
    int seen = 0;

    TRY(list_devices(&ids, &count));
    for (uint32_t number = 0; number < count; number++) {
        struct profk__device device;
        TRY(read_listed(ids, number, &device));
        if (spec[0] != '\0' && !matches(&device.facts, spec))
            continue;
        if (device.facts.usable) {
            *ret = device;
            if (found_ret != NULL)
                *found_ret = 1;
            goto done;
        }
        if (!seen)
            unusable = device;
        seen = 1;
    }
    if (found_ret != NULL)
        goto done;
    st = seen ? profk__device_check(&unusable)
              : profk__fail(PROFK_ERR_NO_DEVICE, "no device matches '%s'; 'profk devices' lists them", spec);
done:
    free(ids);
    return st;
}

/* The first usable GPU, else the first usable device. */
static profk_status find_default(struct profk__device *ret)
{
    int found = 0;
    profk_status st = find_match("gpu", ret, &found);

    return st != PROFK_OK || found ? st : find_match("", ret, NULL);
}

profk_status profk__device_find(const char *spec, struct profk__device *ret)
{
    if (spec == NULL || spec[0] == '\0')
        spec = getenv("PROFK_DEVICE");
    if (spec == NULL || spec[0] == '\0')
        return find_default(ret);

    if (spec[strspn(spec, "0123456789")] != '\0')
        return find_match(spec, ret, NULL);
    unsigned long long number = strtoull(spec, NULL, 10); /* saturates */
    profk_status st = profk__device_get(number < UINT32_MAX ? (uint32_t)number : UINT32_MAX, ret);
    return st == PROFK_OK ? profk__device_check(ret) : st;
}
