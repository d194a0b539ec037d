/*
 * check.h: what can be refused without a device, the part that topk and explain share.
 *
 * Order of calls: check_command_line() first, check_shape() when n and rows are known, and only then a device is
 * asked for.  Both return an exit status and have printed the message.
 */
#ifndef PROFK_COMMAND_CHECK_H
#define PROFK_COMMAND_CHECK_H

#include "options.h"

/* -k is missing, options contradict one another, or one asks for what this release does not have. */
int check_command_line(const struct settings *settings, const char *subcommand);

/* k, n, rows, the index width, the chunks and the forced parameters fit together. */
int check_shape(const struct settings *settings, uint64_t n, uint64_t rows);

#endif
