/*
 * selftest.c: profk selftest, whether this device, driver and compiler give the right answers.
 *
 * Groups of small selections, each compared with the host (trial.h): every route and filter shape at default and odd
 * work-group sizes, every type, order and NaN policy on hostile values, lengths around the borders, and the ways of
 * calling.  The report goes to standard output also when the verdict is fail.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "devices.h"
#include "json.h"
#include "out.h"
#include "progress.h"
#include "report.h"
#include "subcommands.h"
#include "trial.h"
#include "types.h"

enum { GROUPS = 4, MAX_FAILURES = 10, LABEL_ROOM = 160 };

struct group {
    const char *name;
    uint64_t trials, failed;
    double seconds;
};

/* What the trials left. */
struct findings {
    struct bench bench;
    profk_device device;
    struct group groups[GROUPS];
    struct group *now;
    char failures[MAX_FAILURES][LABEL_ROOM + TRIAL_WHY_ROOM + 2]; /* "label: why" */
    uint32_t failure_count;
};

static const char *shape_text(const struct trial *trial)
{
    if (trial->route != PROFK_ROUTE_PROFK && trial->route != PROFK_ROUTE_AUTO)
        return "";
    if (trial->tuning.filter_shape == PROFK_SHAPE_TILE)
        return " tile";
    return trial->tuning.filter_shape == PROFK_SHAPE_STREAM ? " stream" : "";
}

/* The trial in the words of the command line, as far as they say where to look. */
static void label(const struct trial *trial, char text[LABEL_ROOM])
{
    snprintf(text, LABEL_ROOM,
             "%s%s, %s %s, nan %s, sort %s, n %" PRIu32 ", k %" PRIu32 ", rows %" PRIu32 ", chunks %" PRIu32
             ", work-groups %" PRIu32 "%s",
             route_name(trial->route), shape_text(trial), type_of_id(trial->type)->name, order_name(trial->order),
             nan_name(trial->nan), sort_name(trial->sort), trial->n, trial->k, trial->rows ? trial->rows : 1,
             trial->chunks ? trial->chunks : 1, trial->tuning.filter_wg, trial->async ? ", asynchronous" : "");
}

static void keep_failure(struct findings *findings, const struct trial *trial, const char *why)
{
    char text[LABEL_ROOM];

    if (findings->failure_count == MAX_FAILURES)
        return;
    label(trial, text);
    snprintf(findings->failures[findings->failure_count++], sizeof findings->failures[0], "%s: %s", text, why);
}

static void try(struct findings *findings, const struct trial *trial)
{
    char why[TRIAL_WHY_ROOM] = "";

    findings->now->trials++;
    progress_report(NULL, findings->now->name, -1.0);
    if (trial_run(&findings->bench, trial, why))
        return;
    findings->now->failed++;
    keep_failure(findings, trial, why);
}

/* --- the groups ------------------------------------------------------------------------------------------------ */

static const struct {
    uint32_t route, shape;
    bool async;
} ways[] = {
    {PROFK_ROUTE_ROWS, 0, false},
    {PROFK_ROUTE_FULL, 0, false},
    {PROFK_ROUTE_PROFK, PROFK_SHAPE_TILE, false},
    {PROFK_ROUTE_PROFK, PROFK_SHAPE_STREAM, false},
    {PROFK_ROUTE_PROFK, PROFK_SHAPE_TILE, true},
    {PROFK_ROUTE_PROFK, PROFK_SHAPE_STREAM, true},
};

enum { WAYS = sizeof ways / sizeof ways[0] };

static void take_way(struct trial *trial, uint32_t way)
{
    trial->route = ways[way].route;
    trial->tuning.filter_shape = ways[way].shape;
    trial->async = ways[way].async;
}

/* One size for every stage; 0 is the default. */
static void take_work_groups(struct trial *trial, uint32_t wg)
{
    profk_tuning *tuning = &trial->tuning;

    tuning->filter_wg = tuning->sample_wg = tuning->threshold_wg = tuning->refine_wg = wg;
    tuning->sort_wg = tuning->rows_wg = tuning->full_wg = wg;
}

static void try_kernels(struct findings *findings)
{
    const uint32_t sizes[] = {0, 1, 3, 100, findings->device.max_wg};
    uint32_t way, s, k;

    for (way = 0; way < WAYS; way++) {
        for (s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            for (k = 1; k <= 301; k += 300) {
                struct trial trial = {.n = 5003, .k = k, .type = PROFK_F32, .pattern = k == 1 ? FEW_BITS : ANY_BITS};

                take_way(&trial, way);
                take_work_groups(&trial, sizes[s]);
                try(findings, &trial);
            }
        }
    }
}

/* One type, order and NaN policy on all patterns and routes, at the default work-group size and at a wide one. */
static void try_rule(struct findings *findings, struct trial trial)
{
    static const uint32_t routes[] = {PROFK_ROUTE_ROWS, PROFK_ROUTE_PROFK, PROFK_ROUTE_FULL};
    uint32_t count;

    for (count = 0; count < 24; count++) {
        trial.pattern = (enum pattern)(count % 4);
        trial.route = routes[count % 3];
        trial.sort = (count + trial.type) % 3;
        trial.index = (count / 3 + trial.type) % 2;
        take_work_groups(&trial, count < 12 ? 0 : 64);
        try(findings, &trial);
    }
}

static void try_types(struct findings *findings)
{
    uint32_t type, order, nan;

    for (type = PROFK_F32; type <= PROFK_U64; type++)
        for (order = PROFK_LARGEST; order <= PROFK_MAGNITUDE; order++)
            for (nan = PROFK_NAN_LARGEST; nan <= PROFK_NAN_LAST; nan++)
                try_rule(findings, (struct trial){.n = 4999, .k = 97, .type = type, .order = order, .nan = nan});
}

static void try_lengths(struct findings *findings)
{
    static const uint32_t lengths[] = {1, 2, 3, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 20011};
    uint32_t i, route, way;

    for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const uint32_t n = lengths[i], ks[] = {1, n / 2, n < 3000 ? n : 257};

        for (way = 0; way < 3; way++) {
            for (route = PROFK_ROUTE_AUTO; route <= PROFK_ROUTE_FULL; route++) {
                struct trial trial = {.n = n, .k = ks[way], .type = PROFK_F32, .pattern = FEW_BITS, .route = route};

                if (trial.k > 3000)
                    trial.k = 3000; /* what the host's list manages */
                if (trial.k > 0)
                    try(findings, &trial);
            }
        }
    }
}

/* Several rows, several chunks, and a sample of everything whose threshold is one too high, so that attempts miss. */
static void try_calls(struct findings *findings)
{
    uint32_t way;

    for (way = 0; way < WAYS; way++) {
        struct trial rows = {.n = 1031, .k = 17, .rows = 37, .type = PROFK_F32, .sort = PROFK_SORT_INDEX};
        struct trial chunks = {.n = 9001, .k = 100, .chunks = 7, .type = PROFK_I16, .pattern = FEW_BITS};
        struct trial misses = {.n = 999, .k = 10, .type = PROFK_F32, .tuning = {.S = 999, .t = 9}};

        take_way(&rows, way);
        take_way(&chunks, way);
        take_way(&misses, way);
        misses.attempts = misses.async ? 3 : 7;
        try(findings, &rows);
        if (chunks.route != PROFK_ROUTE_ROWS)
            try(findings, &chunks);
        if (misses.route == PROFK_ROUTE_PROFK)
            try(findings, &misses);
    }
}

static const struct {
    const char *name;
    void (*run)(struct findings *findings);
} programme[GROUPS] = {
    {"kernels", try_kernels},
    {"types", try_types},
    {"lengths", try_lengths},
    {"calls", try_calls},
};

static void try_everything(struct findings *findings)
{
    uint32_t i;

    for (i = 0; i < GROUPS; i++) {
        double start = clock_seconds();

        findings->now = &findings->groups[i];
        findings->now->name = programme[i].name;
        programme[i].run(findings);
        findings->now->seconds = clock_seconds() - start;
    }
    progress_clear();
}

/* --- the report ------------------------------------------------------------------------------------------------ */

static void sum_up(const struct findings *findings, struct group *ret)
{
    uint32_t i;

    *ret = (struct group){.name = "all"};
    for (i = 0; i < GROUPS; i++) {
        ret->trials += findings->groups[i].trials;
        ret->failed += findings->groups[i].failed;
        ret->seconds += findings->groups[i].seconds;
    }
}

static const char *verdict(const struct group *all)
{
    return all->failed ? "fail" : "pass";
}

static void json_group(struct json *json, const struct group *group)
{
    json_open(json, NULL, '{');
    json_string(json, "name", group->name);
    json_u64(json, "trials", group->trials);
    json_u64(json, "failed", group->failed);
    json_double(json, "seconds", group->seconds);
    json_close(json, '}');
}

static void print_json(const struct findings *findings, const struct group *all)
{
    struct json json = {false};
    uint32_t i;

    json_open(&json, NULL, '{');
    json_string(&json, "verdict", verdict(all));
    json_u64(&json, "trials", all->trials);
    json_u64(&json, "failed", all->failed);
    devices_json(&json, "device", &findings->device);
    json_open(&json, "groups", '[');
    for (i = 0; i < GROUPS; i++)
        json_group(&json, &findings->groups[i]);
    json_close(&json, ']');
    json_open(&json, "failures", '[');
    for (i = 0; i < findings->failure_count; i++)
        json_string(&json, NULL, findings->failures[i]);
    json_close(&json, ']');
    json_close(&json, '}');
    out_text("\n");
}

static void print_group(const struct group *group)
{
    out_format("%-10s %7" PRIu64 " trials %7" PRIu64 " failed %9.2f s\n", group->name, group->trials, group->failed,
               group->seconds);
}

static void print_text(const struct findings *findings, const struct group *all)
{
    const profk_device *device = &findings->device;
    uint32_t i;

    out_format("device %" PRIu32 ": %s\n", device->number, device->name);
    out_format("%s, %s, driver %s\n", device->platform, device->version, device->driver);
    out_format("%" PRIu32 " compute units, work-groups up to %" PRIu32 ", local memory %" PRIu64
               " KiB, memory %" PRIu64 " MiB, allocations up to %" PRIu64 " MiB\n",
               device->compute_units, device->max_wg, device->local_nbytes >> 10, device->global_nbytes >> 20,
               device->max_alloc_nbytes >> 20);
    for (i = 0; i < GROUPS; i++)
        print_group(&findings->groups[i]);
    print_group(all);
    for (i = 0; i < findings->failure_count; i++)
        out_format("failed: %s\n", findings->failures[i]);
    out_format("verdict: %s\n", verdict(all));
}

/* --- the subcommand --------------------------------------------------------------------------------------------- */

static int open_bench(struct findings *findings, const char *spec)
{
    profk_device *device = &findings->device;
    struct bench *bench = &findings->bench;
    profk_status status;
    cl_device_id id;
    cl_int error;

    device->struct_size = sizeof *device;
    status = profk_device_find(spec, device);
    if (status == PROFK_OK)
        status = profk_context_create_default(spec, NULL, &bench->ctx);
    if (status != PROFK_OK)
        return fail_status(status);
    profk_context_handles(bench->ctx, &bench->cl, &id);
    bench->queue = clCreateCommandQueue(bench->cl, id, 0, &error);
    return bench->queue ? EXIT_DONE : fail_opencl(error, "clCreateCommandQueue");
}

static void close_bench(struct bench *bench)
{
    if (bench->queue)
        clReleaseCommandQueue(bench->queue);
    profk_context_destroy(bench->ctx);
}

int run_selftest(const struct settings *settings)
{
    static struct findings findings; /* too large for a stack */
    struct group all;
    int status;

    progress_start(false);
    status = open_bench(&findings, settings->device);
    if (status != EXIT_DONE) {
        close_bench(&findings.bench);
        return status;
    }
    try_everything(&findings);
    sum_up(&findings, &all);
    if (settings->format == FORMAT_JSON)
        print_json(&findings, &all);
    else
        print_text(&findings, &all);
    close_bench(&findings.bench);
    status = out_finish();
    if (status == EXIT_DONE && all.failed)
        status = fail(EXIT_FAILED, "%" PRIu64 " of %" PRIu64 " trials failed; take another --device or driver",
                      all.failed, all.trials);
    return status;
}
