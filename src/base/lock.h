/* lock.h: a mutex. */
#ifndef PROFK_BASE_LOCK_H
#define PROFK_BASE_LOCK_H

#include "base/error.h"

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
struct profk__lock {
    SRWLOCK handle;
};
#else
#include <pthread.h>
struct profk__lock {
    pthread_mutex_t handle;
};
#endif

profk_status profk__lock_init(struct profk__lock *lock);
void profk__lock_fini(struct profk__lock *lock);
void profk__lock_take(struct profk__lock *lock);
void profk__lock_give(struct profk__lock *lock);

#endif
