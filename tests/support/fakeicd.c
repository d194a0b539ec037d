/*
 * fakeicd.c: an OpenCL platform of devices that can be looked at and nothing else.  Creating a context on one fails.
 *
 *   OCL_ICD_VENDORS=DIR  a folder with a file fake.icd that names this library
 *   FAKE_DEVICES=N       number of GPUs, default 2, at most 8; 0: a platform without devices
 *   FAKE_COMPILER=0      the devices have no compiler
 *
 * Both are read at every call.
 */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include <stdlib.h>
#include <string.h>

enum { DEVICES_MAX = 8 };

struct _cl_platform_id {
    struct _cl_icd_dispatch *dispatch;
};
struct _cl_device_id {
    struct _cl_icd_dispatch *dispatch;
    int number;
};

static struct _cl_icd_dispatch table;
static struct _cl_platform_id platform = {&table};
static struct _cl_device_id devices[DEVICES_MAX];

static cl_uint setting(const char *name, cl_uint otherwise)
{
    const char *value = getenv(name);

    return value && *value ? (cl_uint)strtoul(value, NULL, 10) : otherwise;
}

/* Answers a query: nbytes at `from`, into the caller's room. */
static cl_int put(const void *from, size_t nbytes, size_t room, void *value, size_t *need_ret)
{
    if (value && room < nbytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, from, nbytes);
    if (need_ret)
        *need_ret = nbytes;
    return CL_SUCCESS;
}

#define PUT_TEXT(text) return put(text, sizeof text, room, value, need_ret)
#define PUT(type, x)                                                                                                 \
    do {                                                                                                             \
        type answer = (x);                                                                                           \
        return put(&answer, sizeof answer, room, value, need_ret);                                                   \
    } while (0)

static cl_int CL_API_CALL get_platform_info(cl_platform_id id, cl_platform_info what, size_t room, void *value,
                                            size_t *need_ret)
{
    (void)id;
    switch (what) {
    case CL_PLATFORM_NAME: PUT_TEXT("Fake GPUs");
    case CL_PLATFORM_VENDOR: PUT_TEXT("profk tests");
    case CL_PLATFORM_VERSION: PUT_TEXT("OpenCL 1.2 fake");
    case CL_PLATFORM_PROFILE: PUT_TEXT("FULL_PROFILE");
    case CL_PLATFORM_EXTENSIONS: PUT_TEXT("cl_khr_icd");
    case CL_PLATFORM_ICD_SUFFIX_KHR: PUT_TEXT("FAKE");
    default: return CL_INVALID_VALUE;
    }
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id id, cl_device_type type, cl_uint room, cl_device_id *ids,
                                         cl_uint *count_ret)
{
    cl_uint count = setting("FAKE_DEVICES", 2);

    (void)id;
    if (count > DEVICES_MAX)
        count = DEVICES_MAX;
    if (!(type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)))
        count = 0;
    if (count_ret)
        *count_ret = count;
    for (cl_uint i = 0; i < count; i++) {
        devices[i].dispatch = &table;
        devices[i].number = (int)i;
        if (ids && i < room)
            ids[i] = &devices[i];
    }
    return count ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

static cl_int CL_API_CALL get_device_info(cl_device_id id, cl_device_info what, size_t room, void *value,
                                          size_t *need_ret)
{
    static const size_t item_sizes[3] = {1024, 1024, 64};
    char name[] = "Fake GPU 0";

    name[sizeof name - 2] = (char)('0' + id->number);
    switch (what) {
    case CL_DEVICE_NAME: PUT_TEXT(name);
    case CL_DEVICE_VENDOR: PUT_TEXT("profk tests");
    case CL_DEVICE_VERSION: PUT_TEXT("OpenCL 1.2 fake");
    case CL_DRIVER_VERSION: PUT_TEXT("1");
    case CL_DEVICE_PROFILE: PUT_TEXT("FULL_PROFILE");
    case CL_DEVICE_EXTENSIONS: PUT_TEXT("");
    case CL_DEVICE_OPENCL_C_VERSION: PUT_TEXT("OpenCL C 1.2 ");
    case CL_DEVICE_TYPE: PUT(cl_device_type, CL_DEVICE_TYPE_GPU);
    case CL_DEVICE_PLATFORM: PUT(cl_platform_id, &platform);
    case CL_DEVICE_AVAILABLE: PUT(cl_bool, CL_TRUE);
    case CL_DEVICE_COMPILER_AVAILABLE: PUT(cl_bool, setting("FAKE_COMPILER", 1) ? CL_TRUE : CL_FALSE);
    case CL_DEVICE_LINKER_AVAILABLE: PUT(cl_bool, setting("FAKE_COMPILER", 1) ? CL_TRUE : CL_FALSE);
    case CL_DEVICE_ENDIAN_LITTLE: PUT(cl_bool, CL_TRUE);
    case CL_DEVICE_HOST_UNIFIED_MEMORY: PUT(cl_bool, CL_FALSE);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: PUT(cl_ulong, 512u << 20);
    case CL_DEVICE_GLOBAL_MEM_SIZE: PUT(cl_ulong, 2048ull << 20);
    case CL_DEVICE_LOCAL_MEM_SIZE: PUT(cl_ulong, 48 << 10);
    case CL_DEVICE_LOCAL_MEM_TYPE: PUT(cl_device_local_mem_type, CL_LOCAL);
    case CL_DEVICE_ADDRESS_BITS: PUT(cl_uint, 64);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN: PUT(cl_uint, 1024);
    case CL_DEVICE_VENDOR_ID: PUT(cl_uint, 0xfa4e);
    case CL_DEVICE_MAX_COMPUTE_UNITS: PUT(cl_uint, 8);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS: PUT(cl_uint, 3);
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES: PUT(cl_uint, 0);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: PUT(size_t, 1024);
    case CL_DEVICE_MAX_PARAMETER_SIZE: PUT(size_t, 1024);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: return put(item_sizes, sizeof item_sizes, room, value, need_ret);
    default: return CL_INVALID_VALUE;
    }
}

static cl_int CL_API_CALL count_device(cl_device_id id)
{
    (void)id;
    return CL_SUCCESS;
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *ids,
                                             void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                             void *user, cl_int *status)
{
    (void)properties, (void)count, (void)ids, (void)notify, (void)user;
    if (status)
        *status = CL_OUT_OF_HOST_MEMORY;
    return NULL;
}

static cl_int CL_API_CALL create_sub_devices(cl_device_id id, const cl_device_partition_property *properties,
                                             cl_uint room, cl_device_id *ids, cl_uint *count_ret)
{
    (void)id, (void)properties, (void)room, (void)ids, (void)count_ret;
    return CL_INVALID_VALUE;
}

#define EXPORT CL_API_ENTRY __attribute__((visibility("default")))

EXPORT cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *ids, cl_uint *count_ret)
{
    if (ids && room)
        ids[0] = &platform;
    if (count_ret)
        *count_ret = 1;
    return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id id, cl_platform_info what, size_t room, void *value,
                                            size_t *need_ret)
{
    return get_platform_info(id, what, room, value, need_ret);
}

EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    /* The loader asks for this one before it has a platform; ISO C has no cast from function to object pointer. */
    union {
        cl_int(CL_API_CALL *function)(cl_uint, cl_platform_id *, cl_uint *);
        void *object;
    } address = {clIcdGetPlatformIDsKHR};

    return strcmp(name, "clIcdGetPlatformIDsKHR") ? NULL : address.object;
}

__attribute__((constructor)) static void fill_table(void)
{
    table.clGetPlatformInfo = get_platform_info;
    table.clGetDeviceIDs = get_device_ids;
    table.clGetDeviceInfo = get_device_info;
    table.clRetainDevice = count_device;
    table.clReleaseDevice = count_device;
    table.clCreateContext = create_context;
    table.clCreateSubDevices = create_sub_devices;
    table.clGetExtensionFunctionAddress = clGetExtensionFunctionAddress;
}
