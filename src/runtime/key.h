/*
 * key.h: what a stored entry depends on, as text: one `name: value` a line.  All of it is compared, so whatever is
 * missing here is what could bring back a binary or a tuning of another device, driver, kernel or release.
 */
#ifndef PROFK_RUNTIME_KEY_H
#define PROFK_RUNTIME_KEY_H

#include "base/text.h"
#include "runtime/cl.h"

enum { PROFK__KEY_NBYTES = 4096 };

/* What distinguishes devices and their drivers, in full where profk_device cuts names. */
struct profk__key_facts {
    char platform[256], platform_version[256], device[256], device_version[256], driver_version[256];
    cl_uint vendor_id, address_bits;
};

/* 1, or 0 where the driver does not answer: then nothing can be stored for the device.  Records no message. */
int profk__key_read(cl_device_id id, struct profk__key_facts *ret);

/* Appends a line.  Control characters in value become '?'. */
void profk__key_add(struct profk__text *key, const char *name, const char *value);

/* Appends the lines of a device. */
void profk__key_add_device(struct profk__text *key, const struct profk__key_facts *facts);

/* Appends the lines of a program: the digest of its text, and `what`, its file and options. */
void profk__key_add_program(struct profk__text *key, const char *sha256, const char *what);

#endif
