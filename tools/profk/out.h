/*
 * out.h: standard output, buffered, with an error that is remembered.  Whoever prints need not look at errors;
 * out_finish() at the end turns them into an exit status.
 */
#ifndef PROFK_COMMAND_OUT_H
#define PROFK_COMMAND_OUT_H

#include <stddef.h>

#include "report.h"

void out_bytes(const char *bytes, size_t count);
void out_text(const char *text);
void out_format(const char *format, ...) PRINTF_LIKE(1, 2); /* at most 511 bytes, else cut */

/* Writes what is left.  EXIT_DONE also where the reader has closed its pipe. */
int out_finish(void);

#endif
