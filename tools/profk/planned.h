/*
 * planned.h: from settings to a plan on a device, the part that topk and explain share.
 *
 * Order of calls: planned_refuse() right behind the command line, planned_check() when the shape is known, and only
 * then planned_open(), the first to ask for a device.  All return an exit status and have printed the message.
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

/* -k is missing, or an option asks for what this release does not have. */
int planned_refuse(const struct settings *settings, const char *subcommand);

/* k, n, the index width and the forced parameters fit together. */
int planned_check(const struct settings *settings, uint64_t n);

/* planned can be closed whatever this returns. */
int planned_open(struct planned *planned, const struct settings *settings, uint32_t type, uint64_t n, uint64_t rows);
void planned_close(struct planned *planned);

#endif
