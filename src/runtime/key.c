/* key.c: see key.h. */
#include "runtime/key.h"

/* 1, or 0 also where the text is longer than room: a cut name might be another device's, too. */
static int read_device(cl_device_id id, cl_device_info what, char *to, size_t room)
{
    return clGetDeviceInfo(id, what, room - 1, to, NULL) == CL_SUCCESS;
}

static int read_platform(cl_platform_id id, cl_platform_info what, char *to, size_t room)
{
    return clGetPlatformInfo(id, what, room - 1, to, NULL) == CL_SUCCESS;
}

int profk__key_read(cl_device_id id, struct profk__key_facts *ret)
{
    struct profk__key_facts facts = {.vendor_id = 0};
    cl_platform_id platform = NULL;
    int known = clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) == CL_SUCCESS
             && read_platform(platform, CL_PLATFORM_NAME, facts.platform, sizeof facts.platform)
             && read_platform(platform, CL_PLATFORM_VERSION, facts.platform_version, sizeof facts.platform_version)
             && read_device(id, CL_DEVICE_NAME, facts.device, sizeof facts.device)
             && read_device(id, CL_DEVICE_VERSION, facts.device_version, sizeof facts.device_version)
             && read_device(id, CL_DRIVER_VERSION, facts.driver_version, sizeof facts.driver_version)
             && clGetDeviceInfo(id, CL_DEVICE_VENDOR_ID, sizeof facts.vendor_id, &facts.vendor_id, NULL) == CL_SUCCESS
             && clGetDeviceInfo(id, CL_DEVICE_ADDRESS_BITS, sizeof facts.address_bits, &facts.address_bits, NULL)
                    == CL_SUCCESS;

    *ret = facts;
    return known;
}

void profk__key_add(struct profk__text *key, const char *name, const char *value)
{
    profk__text_add(key, "%s: ", name);
    for (; *value != '\0'; value++)
        profk__text_add(key, "%c", (unsigned char)*value < ' ' || *value == 0x7f ? '?' : *value);
    profk__text_add(key, "\n");
}

static void add_number(struct profk__text *key, const char *name, unsigned long number)
{
    profk__text_add(key, "%s: %lu\n", name, number);
}

void profk__key_add_device(struct profk__text *key, const struct profk__key_facts *facts)
{
    profk__key_add(key, "platform", facts->platform);
    profk__key_add(key, "platform version", facts->platform_version);
    profk__key_add(key, "device", facts->device);
    profk__key_add(key, "device version", facts->device_version);
    profk__key_add(key, "driver version", facts->driver_version);
    add_number(key, "vendor id", facts->vendor_id);
    add_number(key, "address bits", facts->address_bits);
    add_number(key, "host pointer bits", 8 * sizeof(void *));
}

void profk__key_add_program(struct profk__text *key, const char *sha256, const char *what)
{
    profk__key_add(key, "kernel sha256", sha256);
    profk__key_add(key, "what", what);
}
