/*
 * scarce.h: host memory that runs out when a test says so.
 *
 * The linker (--wrap) sends here what the program's own objects, the library's and the test's, call to get something
 * from the system: malloc, calloc, realloc, fopen, opendir, open and pthread_mutex_init.  Calls inside shared
 * libraries, the OpenCL driver's among them, go past it.  One thread only.
 */
#ifndef PROFK_TESTS_SCARCE_H
#define PROFK_TESTS_SCARCE_H

#include <stdbool.h>

/* From now on the nth request (from 1) fails, and with for_good every one behind it; nth 0: none does. */
void scarce_begin(unsigned long nth, bool for_good);

/* Requests succeed again.  Returns how many there were since scarce_begin(); once ended it says the same again. */
unsigned long scarce_end(void);

/* Which request failed first, by the function's name; NULL if none did since scarce_begin(). */
const char *scarce_failed(void);

/* What was got and not given back: blocks, files, folders and locks. */
long scarce_held(void);

#endif
