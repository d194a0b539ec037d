/* parallel.h: a loop over the host's cores, for making and checking large inputs. */
#ifndef PROFK_COMMAND_PARALLEL_H
#define PROFK_COMMAND_PARALLEL_H

#include <stdint.h>

enum { PARALLEL_MOST = 64 }; /* parts at most */

/* Does elements [first, end); `part` counts from 0 and is different in each call. */
typedef void (*parallel_fn)(void *user, unsigned part, uint64_t first, uint64_t end);

/* Cuts [0, count) into contiguous parts that run at the same time, one a core; short loops run here as one part. */
void parallel_run(uint64_t count, parallel_fn work, void *user);

#endif
