/*
 * selftest.c: profk selftest, a report to attach to an issue: what the device is, what the library's self-test says of
 * its answers, and how fast a call is beside a bare read of its input.
 *
 * The report goes to standard output also when the verdict is fail.  JSON is made of the library's lines and holds the
 * same as the text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "clock.h"
#include "devices.h"
#include "json.h"
#include "measure.h"
#include "out.h"
#include "progress.h"
#include "report.h"
#include "selftest_report.h"
#include "subcommands.h"

enum { REPORT_NBYTES = 1 << 14, PATH_ROOM = 4096 };

/* The speed: f32, k as in the examples, the input beyond the caches; at level 1 nothing is begun this late. */
enum { SPEED_K = 2048, SPEED_RUNS = 5, SPEED_WARMUP = 1, SPEED_DEADLINE_S = 50 };
static const uint64_t speed_n_cpu = 1 << 24, speed_n_gpu = 1 << 26;

/* Everything that is printed. */
struct selftest_run {
    struct settings settings; /* a copy, with what the measurement needs */
    struct rig rig;
    char text[REPORT_NBYTES], host[256], version[32], folder[PATH_ROOM];
    struct selftest_report report; /* of the text, once it is cut into lines */
    struct figures speed;
    const char *no_speed;    /* why there is none, NULL if there is one */
    bool out_of_time;        /* that is why */
    char not_run[PATH_ROOM]; /* the report's, and the speed */
    double start, seconds;
    double fraction; /* of the self-test that is done */
};

/* --- what is to be known --------------------------------------------------------------------------------------- */

static void read_surroundings(struct selftest_run *run)
{
    uint32_t version = profk_version();
    struct utsname host;

    snprintf(run->version, sizeof run->version, "%u.%u.%u", (unsigned)(version / 10000),
             (unsigned)(version / 100 % 100), (unsigned)(version % 100));
    if (uname(&host) >= 0)
        snprintf(run->host, sizeof run->host, "%.60s %.100s %.60s", host.sysname, host.release, host.machine);
    if (profk_cache_path(NULL, run->folder, sizeof run->folder, NULL) != PROFK_OK)
        run->folder[0] = '\0';
}

/* Elements of the measured input: a fraction of the device's memory at most. */
static uint64_t speed_n(const profk_device *device)
{
    uint64_t n = device->type & CL_DEVICE_TYPE_GPU ? speed_n_gpu : speed_n_cpu;

    while (n > SPEED_K && n * sizeof(float) > device->max_alloc_nbytes / 4)
        n /= 2;
    return n;
}

static int measure_on(struct selftest_run *run, struct dataset *dataset)
{
    const struct cell cell = {.n = dataset->input.n, .k = SPEED_K, .rows = 1, .epsilon = 1e-3};
    int status = dataset_upload(dataset, &run->rig.planned);

    if (status == EXIT_DONE)
        status = rig_open(&run->rig, &run->settings);
    if (status == EXIT_DONE)
        status = measure_cell(&run->rig, dataset, &cell, &run->speed);
    rig_close(&run->rig);
    return status;
}

/* The time of a call beside the fastest read, and the answer of that call.  Returns an exit status and has printed the
 * message. */
static int measure_speed(struct selftest_run *run)
{
    struct dataset dataset = {.distribution = 0};
    uint64_t uniform;
    int status;

    run->no_speed = "there was no time left";
    run->out_of_time = run->settings.level == 1 && clock_seconds() - run->start > (double)SPEED_DEADLINE_S;
    if (run->out_of_time)
        return EXIT_DONE;
    progress_report(NULL, "speed", 1.0);
    distribution_find("uniform", &uniform);
    status = dataset_make(&dataset, PROFK_F32, (uint32_t)uniform, speed_n(&run->rig.planned.device));
    if (status == EXIT_DONE)
        status = measure_on(run, &dataset);
    dataset_close(&dataset);
    run->no_speed = status != EXIT_DONE ? "the measurement failed" : NULL;
    if (status == EXIT_DONE && run->speed.left_out)
        run->no_speed = "the device takes no such input";
    return status;
}

/* Cuts the library's text; a speed for which there was no time is one more thing that was not run. */
static void read_report(struct selftest_run *run)
{
    struct selftest_report *report = &run->report;

    selftest_report_read(run->text, report);
    if (!run->out_of_time)
        return;
    snprintf(run->not_run, sizeof run->not_run, "%s%sspeed", report->not_run, report->not_run[0] ? ", " : "");
    report->not_run = run->not_run;
    if (strcmp(report->verdict, "pass") == 0)
        report->verdict = "pass in part";
}

/* --- JSON ------------------------------------------------------------------------------------------------------ */

static void json_group(struct json *json, const struct report_group *group)
{
    json_open(json, NULL, '{');
    json_string(json, "name", group->name);
    json_u64(json, "trials", group->trials);
    json_u64(json, "failed", group->failed);
    json_u64(json, "left_out", group->all - group->trials);
    json_double(json, "seconds", group->seconds);
    json_close(json, '}');
}

static void json_misses(struct json *json, const struct report_misses *misses)
{
    json_open(json, NULL, '{');
    json_string(json, "shape", misses->shape);
    json_u64(json, "samples", misses->samples);
    json_u64(json, "missed", misses->missed);
    json_double(json, "missed_theory", misses->missed_theory);
    json_u64(json, "overflowed", misses->overflowed);
    json_double(json, "overflowed_theory", misses->overflowed_theory);
    json_close(json, '}');
}

static void json_lists(struct json *json, const struct selftest_report *report)
{
    size_t i;

    json_open(json, "groups", '[');
    for (i = 0; i < report->group_count; i++)
        json_group(json, &report->groups[i]);
    json_close(json, ']');
    json_open(json, "misses", '[');
    for (i = 0; i < report->misses_count; i++)
        json_misses(json, &report->misses[i]);
    json_close(json, ']');
    json_open(json, "failures", '[');
    for (i = 0; i < report->failure_count; i++)
        json_string(json, NULL, report->failures[i]);
    json_close(json, ']');
}

/* The speed, null where there is none. */
static void json_speed(struct json *json, const struct selftest_run *run)
{
    const struct figures *speed = &run->speed;

    if (run->no_speed) {
        json_null(json, "speed");
        return;
    }
    json_open(json, "speed", '{');
    json_u64(json, "n", speed->n);
    json_u64(json, "k", speed->k);
    json_string(json, "route", speed->route);
    json_double(json, "call_ms", speed->min_ms);
    json_double(json, "read_ms", speed->read_ms);
    json_double(json, "read_gbs", speed->read_gbs);
    json_double(json, "ratio", speed->ratio);
    json_string(json, "read_how", speed->read_how);
    json_close(json, '}');
}

static void print_json(const struct selftest_run *run)
{
    const struct selftest_report *report = &run->report;
    struct json json = {false};

    json_open(&json, NULL, '{');
    json_string(&json, "verdict", report->verdict);
    json_string(&json, "not_run", report->not_run);
    json_u64(&json, "trials", report->all.trials);
    json_u64(&json, "failed", report->all.failed);
    json_u64(&json, "left_out", report->all.all - report->all.trials);
    json_u64(&json, "level", run->settings.level);
    json_literal(&json, "seed", report->seed[0] ? report->seed : "null");
    json_double(&json, "seconds", run->seconds);
    json_string(&json, "profk", run->version);
    json_string(&json, "host", run->host);
    devices_json(&json, "device", &run->rig.planned.device);
    json_string(&json, "tuning", report->tuning);
    json_string(&json, "shape", report->shape);
    json_string(&json, "cache", run->folder);
    json_u64(&json, "programs_compiled", report->compiled);
    json_u64(&json, "programs_loaded", report->loaded);
    json_u64(&json, "damaged", report->damaged);
    json_u64(&json, "found", report->found);
    json_lists(&json, report);
    json_speed(&json, run);
    json_close(&json, '}');
    out_text("\n");
}

/* --- text ------------------------------------------------------------------------------------------------------ */

static void print_device(const struct selftest_run *run)
{
    const profk_device *device = &run->rig.planned.device;

    out_format("profk %s, self-test at level %" PRIu32 ", on %s\n", run->version, run->settings.level, run->host);
    out_format("device %" PRIu32 ": %s\n", device->number, device->name);
    out_format("%s, %s, driver %s\n", device->platform, device->version, device->driver);
    out_format("%" PRIu32 " compute units, work-groups up to %" PRIu32 ", local memory %" PRIu64
               " KiB, memory %" PRIu64 " MiB, allocations up to %" PRIu64 " MiB\n",
               device->compute_units, device->max_wg, device->local_nbytes >> 10, device->global_nbytes >> 20,
               device->max_alloc_nbytes >> 20);
    out_format("cache: %s\n", run->folder[0] ? run->folder : "none");
}

static void print_speed(const struct selftest_run *run)
{
    const struct figures *speed = &run->speed;

    if (run->no_speed)
        out_format("speed: not measured, %s\n", run->no_speed);
    else
        out_format("speed: top %" PRIu64 " of %" PRIu64
                   " f32 by route %s in %.3f ms; the fastest read of as much, %s, "
                   "in %.3f ms (%.1f GB/s): %.2f times that\n",
                   speed->k, speed->n, speed->route, speed->min_ms, speed->read_how, speed->read_ms, speed->read_gbs,
                   speed->ratio);
}

/* The library's text goes out as it is, but its last line, the verdict, comes last here too. */
static void print_text(struct selftest_run *run)
{
    char *verdict = strstr(run->text, "verdict: ");

    print_device(run);
    if (verdict)
        out_bytes(run->text, (size_t)(verdict - run->text));
    print_speed(run);
    out_format("seconds: %.1f\n", run->seconds);
    read_report(run);
    out_format("verdict: %s", run->report.verdict);
    if (run->report.not_run[0])
        out_text("; not run, for lack of time: ");
    out_text(run->report.not_run);
    out_text("\n");
    if (run->report.not_run[0] && run->folder[0])
        out_text("Run it again to go on: what was compiled is kept.  --level 2 runs all.\n");
    else if (run->report.not_run[0])
        out_text("--level 2 runs all.\n");
}

/* --- the whole ------------------------------------------------------------------------------------------------- */

/* A call of the measurement that fails is a failure of the device like any other. */
static void add_speed_failure(struct selftest_run *run)
{
    static const char line[] = "failed: the call whose speed was measured: see standard error\nverdict: fail\n";
    char *verdict = strstr(run->text, "verdict: ");

    if (verdict && (size_t)(run->text + sizeof run->text - verdict) >= sizeof line)
        memcpy(verdict, line, sizeof line);
}

static void print(struct selftest_run *run)
{
    run->seconds = clock_seconds() - run->start;
    if (run->settings.format == FORMAT_JSON) {
        read_report(run);
        print_json(run);
    } else {
        print_text(run);
    }
}

static int run_with(struct selftest_run *run)
{
    profk_status status =
        profk_selftest(run->rig.planned.ctx, run->settings.level, run->text, sizeof run->text, NULL);
    int speed_status = EXIT_DONE, exit_status;

    progress_clear();
    if (status != PROFK_OK && status != PROFK_ERR_INTERNAL)
        return fail_status(status);
    run->no_speed = "an answer was wrong";
    if (status == PROFK_OK)
        speed_status = measure_speed(run);
    if (speed_status != EXIT_DONE)
        add_speed_failure(run);
    progress_clear();
    print(run);
    exit_status = out_finish();
    if (exit_status == EXIT_DONE && status != PROFK_OK)
        return fail_status(status);
    return exit_status == EXIT_DONE && speed_status != EXIT_DONE ? EXIT_FAILED : exit_status;
}

/* What the trial's own call says of itself leaves the bar where it is. */
static int report_progress(void *user, const char *what, double fraction)
{
    struct selftest_run *run = user;

    if (strcmp(what, "building kernels") != 0 && strcmp(what, "selecting") != 0)
        run->fraction = fraction;
    return progress_report(NULL, what, run->fraction);
}

int run_selftest(const struct settings *settings)
{
    static struct selftest_run run; /* too large for a stack */
    const profk_options options = {.struct_size = sizeof options, .progress = report_progress, .user = &run};
    profk_device *device = &run.rig.planned.device;
    profk_status status;
    int exit_status;

    run.start = clock_seconds();
    run.settings = *settings;
    run.settings.quiet = 1; /* of what the measurement would say besides */
    run.settings.bench.runs = SPEED_RUNS;
    run.settings.bench.warmup = SPEED_WARMUP;
    device->struct_size = sizeof *device;
    status = profk_device_find(settings->device, device);
    progress_start(false);
    if (status == PROFK_OK)
        status = profk_context_create_default(settings->device, &options, &run.rig.planned.ctx);
    read_surroundings(&run);
    exit_status = status == PROFK_OK ? run_with(&run) : fail_status(status);
    planned_close(&run.rig.planned);
    return exit_status;
}
