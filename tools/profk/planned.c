/* planned.c: what this release refuses, what no device can serve, and the way to a plan. */
#include "planned.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"
#include "report.h"

int planned_refuse(const struct settings *settings, const char *subcommand)
{
    const struct {
        int asked;
        const char *what;
    } later[] = {
        {settings->rows > 1, "--rows above 1"},
        {settings->chunks > 1, "--chunks above 1"},
        {settings->async != 0, "--async"},
        {settings->mode == PROFK_MODE_APPROXIMATE, "--mode approximate"},
        {(settings->given & GIVEN_RECALL) != 0, "--recall"},
        {settings->route == PROFK_ROUTE_ROWS, "--route rows"},
        {settings->force.filter_shape == PROFK_SHAPE_STREAM, "--force shape=stream"},
        {settings->tuning == TUNING_STORED, "--tuning stored"},
    };
    size_t i;

    if (!(settings->given & GIVEN_K))
        return fail(EXIT_WRONG, "-k is missing; say how many results a row shall give, see profk %s --help",
                    subcommand);
    for (i = 0; i < sizeof later / sizeof later[0]; i++)
        if (later[i].asked)
            return fail(exit_status_of(PROFK_ERR_UNSUPPORTED), "%s is not in this release; leave it out",
                        later[i].what);
    return EXIT_DONE;
}

/* Forced parameters against n and k; what depends on the plan is the library's to check. */
static int check_forced(const struct settings *settings, uint64_t n)
{
    const profk_tuning *force = &settings->force;
    uint64_t t_limit = force->S && force->S < n ? force->S : n;

    if (force->S > n)
        return fail(EXIT_WRONG, "--force S=%" PRIu64 " is above n; give S at most %" PRIu64, force->S, n);
    if (force->t > t_limit)
        return fail(EXIT_WRONG, "--force t=%" PRIu64 " is above the sample; give t at most %" PRIu64, force->t,
                    t_limit);
    if (force->M && (force->M < settings->k || force->M > n || force->M >> 31))
        return fail(EXIT_WRONG, "--force M=%" PRIu64 " is out of range; give M from k to n and below 2^31", force->M);
    if (force->M && force->count_start && force->count_start <= force->M)
        return fail(EXIT_WRONG, "--force count=%" PRIu64 " must be above M; give 0 or more than %" PRIu64,
                    force->count_start, force->M);
    return EXIT_DONE;
}

int planned_check(const struct settings *settings, uint64_t n)
{
    if (n >> 48)
        return fail(EXIT_WRONG, "a row of %" PRIu64 " elements is too long; rows must be shorter than 2^48", n);
    if (settings->k > n)
        return fail(EXIT_WRONG, "k is %" PRIu64 " but a row has only %" PRIu64 " elements; give -k at most %" PRIu64,
                    settings->k, n, n);
    if (settings->k >> 31)
        return fail(EXIT_WRONG, "k is %" PRIu64 ", which is too large; give -k below 2^31", settings->k);
    if (settings->index == PROFK_INDEX_U32 && n > UINT32_MAX)
        return fail(EXIT_WRONG, "u32 cannot number %" PRIu64 " elements; leave --index out", n);
    return check_forced(settings, n);
}

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

static void log_line(void *user, int level, const char *text)
{
    (void)user;
    (void)level;
    progress_clear();
    fprintf(stderr, "%s\n", text);
}

static int open_context(struct planned *planned, const struct settings *settings)
{
    profk_options options = {.struct_size = sizeof options, .log = log_line, .progress = progress_report};
    profk_status status;

    planned->device.struct_size = sizeof planned->device;
    status = profk_device_find(settings->device, &planned->device);
    if (status == PROFK_OK)
        status = profk_context_create_default(settings->device, &options, &planned->ctx);
    return status == PROFK_OK ? EXIT_DONE : fail_status(status);
}

static int open_plan(struct planned *planned, const struct settings *settings)
{
    const profk_tuning *forced = settings->force.struct_size ? &settings->force : NULL;
    profk_status status = profk_plan_create(planned->ctx, &planned->problem, forced, PROFK_ESTIMATE, &planned->plan);

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
