/* layer_log.c: one "NAME NUMBER" a line. */
#include "support/layer_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool layer_log_read(struct layer_log *ret, const char *path)
{
    FILE *file = fopen(path, "r");

    ret->count = 0;
    if (!file)
        return false;
    while (ret->count < LAYER_LOG_ENTRIES &&
           fscanf(file, "%63s %" SCNu64, ret->entry[ret->count].name, &ret->entry[ret->count].number) == 2)
        ret->count++;
    fclose(file);
    return true;
}

uint64_t layer_log_number(const struct layer_log *log, const char *name)
{
    for (size_t i = 0; i < log->count; i++)
        if (strcmp(log->entry[i].name, name) == 0)
            return log->entry[i].number;
    return 0;
}
