/*
 * signals.h: what must happen when the process is stopped or its input shrinks under it.
 *
 * SIGINT, SIGTERM and SIGHUP remove the temporary files and exit with 130.  SIGBUS inside the mapped input (the file
 * was cut short by someone else) says so and exits with 2; elsewhere it is what it always was.
 */
#ifndef PROFK_COMMAND_SIGNALS_H
#define PROFK_COMMAND_SIGNALS_H

#include <stddef.h>

/* Again behind what sets handlers of its own, as LLVM does inside of drivers: its own is gone after the first signal, and
 * of two threads that meet the end of a shrunken file the second one would end the process. */
void signals_install(void);

/* The mapping whose disappearance is the input's fault; NULL for none. */
void signals_guard(const void *start, size_t nbytes);

/* Between the two a stop waits: for what others write and would leave half done. */
void signals_hold(void);
void signals_release(void);

/* path is removed if the process is stopped; it must stay valid until signals_forget(). */
void signals_remember(const char *path);
void signals_forget(const char *path);

#endif
