/* figures.h: the figures of all cells as a table, JSON or CSV, from one list of columns. */
#ifndef PROFK_COMMAND_FIGURES_H
#define PROFK_COMMAND_FIGURES_H

#include "measure.h"

struct figures_sheet {
    const struct figures *cells;
    size_t count;
    const char *bench; /* the suite's name */
    const profk_device *device;
    uint64_t warmup;
    double seconds; /* of everything */
    bool complete;  /* false: the time ran out */
};

void figures_print(uint32_t format, const struct figures_sheet *sheet);

#endif
