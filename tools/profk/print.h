/* print.h: an answer on standard output, in the three formats of topk. */
#ifndef PROFK_COMMAND_PRINT_H
#define PROFK_COMMAND_PRINT_H

#include "select.h"

void print_answer(uint32_t format, const struct planned *planned, const struct type *type,
                  const struct answer *answer);

#endif
