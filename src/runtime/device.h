/* device.h: what profk knows of a device, and how one is found. */
#ifndef PROFK_RUNTIME_DEVICE_H
#define PROFK_RUNTIME_DEVICE_H

#include "runtime/cl.h"

struct profk__device {
    profk_device facts;
    size_t base_align_nbytes; /* start of a sub-buffer, and of host memory used in place */
    int unified_memory;       /* device and host share memory */
    uint32_t loop_max;        /* iterations of all loops of a work-item before the driver ends them, 0 = no limit */
    uint32_t only_wg;         /* where loops have a limit: the one size of work-groups that is used */
};

/* Reads everything about a device that OpenCL lists; facts.usable and facts.why_not say whether profk can use it. */
profk_status profk__device_read(cl_device_id id, struct profk__device *ret);

/* The device with this number, counted over all platforms.  ERR_NO_DEVICE past the last. */
profk_status profk__device_get(uint32_t number, struct profk__device *ret);

/* By SPEC, see profk_device_find(). */
profk_status profk__device_find(const char *spec, struct profk__device *ret);

/* OK if usable, else ERR_NO_DEVICE or ERR_NO_COMPILER with why. */
profk_status profk__device_check(const struct profk__device *device);

#endif
