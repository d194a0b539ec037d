/*
 * planned.h: from settings to a plan on a device, the part that topk and explain share.  Everything that needs no
 * device has been checked before (check.h).
 */
#ifndef PROFK_COMMAND_PLANNED_H
#define PROFK_COMMAND_PLANNED_H

#include <profk.h>

#include "options.h"

struct planned {
    profk_device device;
    profk_context *ctx;
    profk_problem problem;
    profk_plan *plan;
    profk_info info;
};

/* Returns an exit status and has printed the message; planned can be closed whatever this returns. */
int planned_open(struct planned *planned, const struct settings *settings, uint32_t type, uint64_t n, uint64_t rows);
void planned_close(struct planned *planned);

#endif
