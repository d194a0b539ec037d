/* force.h: the operand of --force, KEY=VALUE,... into a profk_tuning. */
#ifndef PROFK_COMMAND_FORCE_H
#define PROFK_COMMAND_FORCE_H

#include <profk.h>
#include <stdbool.h>

#define FORCE_OPERAND "S=..,t=..,M=..,shape=tile|stream,wg=..,count=.."

/* Replaces *ret.  S, t, M and wg are 1 or more, count 0 or more; a repeated key counts as it stands last. */
bool force_parse(const char *text, profk_tuning *ret);

#endif
