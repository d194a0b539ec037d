/*
 * key_rule.h: element types, and the rule by which the kernels turn an element's bits into a key.
 *
 * cl/element.clh applies the rule; design: keys are unsigned integers of the element's width, greater key = earlier.
 */
#ifndef PROFK_STAGES_KEY_RULE_H
#define PROFK_STAGES_KEY_RULE_H

#include <stddef.h>
#include <stdint.h>

enum profk__kind { PROFK__UNSIGNED, PROFK__SIGNED, PROFK__FLOAT };

struct profk__type {
    const char *name; /* "bf16" */
    uint32_t nbytes;
    enum profk__kind kind;
    uint64_t infinity; /* bits of +infinity, floats only */
};

/* NULL for a number that is no type. */
const struct profk__type *profk__type_get(uint32_t type);

/* How keys and bits compare, for the raw test; PK_PLAIN_INTEGER .. of cl/prefilter.clh. */
enum profk__key_kind {
    PROFK__PLAIN_INTEGER,
    PROFK__MAGNITUDE_INTEGER,
    PROFK__LARGEST_FLOAT,
    PROFK__SMALLEST_FLOAT,
    PROFK__MAGNITUDE_FLOAT
};

/* A pk_rule: a vector of eight unsigned integers of the element's width. */
struct profk__key_rule {
    unsigned char bytes[64];
    size_t nbytes;
    uint32_t kind; /* enum profk__key_kind */
};

/* order and nan are PROFK_LARGEST.. and PROFK_NAN_LARGEST... */
struct profk__key_rule profk__key_rule_make(const struct profk__type *type, uint32_t order, uint32_t nan);

#endif
