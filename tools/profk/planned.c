/* planned.c: device, context, plan. */
#include "planned.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"
#include "report.h"

/* A seed of our own, so that it can be printed and given again; never 0. */
static uint64_t draw_seed(void)
{
    uint64_t seed = 0;
    FILE *random = fopen("/dev/urandom", "rb");

    if (random) {
        if (fread(&seed, sizeof seed, 1, random) != 1)
            seed = 0;
        fclose(random);
    }
    if (seed == 0) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 44 ^ 1;
    }
    return seed ? seed : 1;
}

/* Notes, which -q turns off. */
static void log_line(void *user, int level, const char *text)
{
    const struct settings *settings = user;

    (void)level;
    if (settings->quiet)
        return;
    progress_clear();
    fprintf(stderr, "%s\n", text);
}

static int open_context(struct planned *planned, const struct settings *settings)
{
    profk_options options = {.struct_size = sizeof options, .log = log_line, .progress = progress_report,
                             .user = (void *)(uintptr_t)settings};
    profk_status status;

    if (settings->tuning == TUNING_DEFAULT)
        options.cache_dir = ""; /* without a store there are the built-in values */

    planned->device.struct_size = sizeof planned->device;
    status = profk_device_find(settings->device, &planned->device);
    if (status == PROFK_OK)
        status = profk_context_create_default(settings->device, &options, &planned->ctx);
    return status == PROFK_OK ? EXIT_DONE : fail_status(status);
}

static int open_plan(struct planned *planned, const struct settings *settings)
{
    const profk_tuning *forced = settings->force.struct_size ? &settings->force : NULL;
    uint32_t flags = (settings->async ? PROFK_ASYNC : 0) | (settings->tuning == TUNING_STORED ? PROFK_STORED_ONLY : 0);
    profk_status status = profk_plan_create(planned->ctx, &planned->problem, forced, flags, &planned->plan);

    if (status == PROFK_OK) {
        planned->info.struct_size = sizeof planned->info;
        status = profk_plan_info(planned->plan, &planned->info);
    }
    return status == PROFK_OK ? EXIT_DONE : fail_status(status);
}

int planned_open(struct planned *planned, const struct settings *settings, uint32_t type, uint64_t n, uint64_t rows)
{
    profk_problem *problem = &planned->problem;
    int status;

    memset(planned, 0, sizeof *planned);
    profk_problem_init(problem, sizeof *problem, type, n, settings->k);
    problem->rows = rows;
    problem->epsilon = settings->epsilon;
    problem->seed = settings->seed ? settings->seed : draw_seed();
    problem->order = settings->order;
    problem->nan = settings->nan;
    problem->sort = settings->sort;
    problem->index = settings->index;
    problem->mode = settings->mode;
    problem->route = settings->route;
    problem->recall = settings->recall;
    status = open_context(planned, settings);
    return status == EXIT_DONE ? open_plan(planned, settings) : status;
}

void planned_close(struct planned *planned)
{
    profk_plan_destroy(planned->plan);
    profk_context_destroy(planned->ctx);
    planned->plan = NULL;
    planned->ctx = NULL;
}
