/*
 * progress.h: a bar on standard error for work that takes more than a second, where standard error is a terminal.
 * NO_COLOR takes the colour away.  progress_report() is a profk_progress_fn.
 */
#ifndef PROFK_COMMAND_PROGRESS_H
#define PROFK_COMMAND_PROGRESS_H

#include <stdbool.h>

/* Without this call, or with quiet, nothing is ever drawn. */
void progress_start(bool quiet);

/* Draws what is being done; a fraction outside 0..1 means that the end is not known.  Never asks to cancel. */
int progress_report(void *user, const char *what, double fraction);

/* Takes the bar off the screen; the next report draws it anew. */
void progress_clear(void);

#endif
