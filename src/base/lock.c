/* lock.c: a mutex from the platform. */
#include "base/lock.h"

#ifdef _WIN32

profk_status profk__lock_init(struct profk__lock *lock)
{
    InitializeSRWLock(&lock->handle);
    return PROFK_OK;
}

void profk__lock_fini(struct profk__lock *lock)
{
    (void)lock;
}

void profk__lock_take(struct profk__lock *lock)
{
    AcquireSRWLockExclusive(&lock->handle);
}

void profk__lock_give(struct profk__lock *lock)
{
    ReleaseSRWLockExclusive(&lock->handle);
}

#else

profk_status profk__lock_init(struct profk__lock *lock)
{
    if (pthread_mutex_init(&lock->handle, NULL) != 0)
        return profk__fail(PROFK_ERR_HOST_MEMORY, "no memory for another mutex (pthread_mutex_init)");
    return PROFK_OK;
}

void profk__lock_fini(struct profk__lock *lock)
{
    pthread_mutex_destroy(&lock->handle);
}

void profk__lock_take(struct profk__lock *lock)
{
    pthread_mutex_lock(&lock->handle);
}

void profk__lock_give(struct profk__lock *lock)
{
    pthread_mutex_unlock(&lock->handle);
}

#endif
