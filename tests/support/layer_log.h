/* layer_log.h: reads what layer.c wrote. */
#ifndef PROFK_TESTS_LAYER_LOG_H
#define PROFK_TESTS_LAYER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LAYER_LOG_ENTRIES = 80 };

struct layer_log {
    struct {
        char name[64]; /* an entry point, or clCreateBuffer.bytes, .live, .peak */
        uint64_t number;
    } entry[LAYER_LOG_ENTRIES];
    size_t count;
};

/* False if there is no log. */
bool layer_log_read(struct layer_log *ret, const char *path);

/* 0 for what is not in the log. */
uint64_t layer_log_number(const struct layer_log *log, const char *name);

#endif
