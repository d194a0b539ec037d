/* user.c: calls a little of each part of the library, in the common language of C and C++. */
#include <profk.h>

#include <stdio.h>

int main(void)
{
    const uint32_t version = PROFK_VERSION_MAJOR * 10000 + PROFK_VERSION_MINOR * 100 + PROFK_VERSION_PATCH;
    profk_params params;
    profk_device device;
    profk_status status;

    if (profk_version() != version) {
        fprintf(stderr, "header %u, library %u\n", (unsigned)version, (unsigned)profk_version());
        return 1;
    }
    status = profk_params_exact(1 << 20, 100, 1 << 14, 0.0005, 0.0005, &params);
    if (status != PROFK_OK || params.t < 1 || params.M < 100) {
        fprintf(stderr, "profk_params_exact: %s\n", profk_status_string(status));
        return 1;
    }
    /* Whether there is a device is not this program's business; that the call reaches OpenCL is. */
    device.struct_size = sizeof device;
    status = profk_device_get(0, &device);
    if (status != PROFK_OK && status != PROFK_ERR_NO_DEVICE) {
        fprintf(stderr, "profk_device_get: %s: %s\n", profk_status_string(status), profk_context_message(NULL));
        return 1;
    }
    return 0;
}
