/* parallel.c: a thread per part; where none can be had the caller does the part itself. */
#include "parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

static const uint64_t least_part = 1 << 17; /* elements, below which a thread costs more than it gains */

struct part {
    pthread_t thread;
    bool started;
    parallel_fn work;
    void *user;
    unsigned number;
    uint64_t first, end;
};

static void *run_part(void *argument)
{
    const struct part *part = argument;

    part->work(part->user, part->number, part->first, part->end);
    return NULL;
}

static unsigned count_parts(uint64_t count)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t parts = cores > 0 ? (uint64_t)cores : 1;

    if (parts > count / least_part)
        parts = count / least_part;
    if (parts > PARALLEL_MOST)
        parts = PARALLEL_MOST;
    return parts ? (unsigned)parts : 1;
}

void parallel_run(uint64_t count, parallel_fn work, void *user)
{
    struct part parts[PARALLEL_MOST];
    unsigned part_count = count_parts(count), i;
    uint64_t length = count / part_count;

    for (i = 0; i < part_count; i++) {
        struct part *part = &parts[i];

        *part = (struct part){.work = work, .user = user, .number = i, .first = i * length, .end = (i + 1) * length};
        if (i + 1 == part_count)
            part->end = count;
        else
            part->started = pthread_create(&part->thread, NULL, run_part, part) == 0;
    }
    for (i = part_count; i-- > 0;) {
        if (parts[i].started)
            pthread_join(parts[i].thread, NULL);
        else
            run_part(&parts[i]);
    }
}
