/*
 * selftest.c: profk selftest, the library's self-test and the facts of the device it ran on.
 *
 * The library reports a line a group; JSON is made of these lines.  The report goes to standard output also when the
 * verdict is fail.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "devices.h"
#include "json.h"
#include "out.h"
#include "progress.h"
#include "report.h"
#include "subcommands.h"

enum { REPORT_NBYTES = 1 << 14, LEVEL = 1 };

static const char failed_mark[] = "failed: ", verdict_mark[] = "verdict: ";

/* A line of a group. */
struct group {
    char name[16];
    uint64_t trials, failed;
    double seconds;
};

static bool read_group(const char *line, struct group *ret)
{
    uint64_t whole, hundredths;

    if (sscanf(line, "%15s %" SCNu64 " trials %" SCNu64 " failed %" SCNu64 ".%2" SCNu64 " s", ret->name, &ret->trials,
               &ret->failed, &whole, &hundredths) != 5)
        return false;
    ret->seconds = (double)whole + (double)hundredths / 100;
    return true;
}

/* The next line of *at, without its end, which is moved behind it; NULL at the end. */
static char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');

    if (!end)
        return NULL;
    *end = '\0';
    *at = end + 1;
    return line;
}

/* What the lines say, apart. */
struct summary {
    struct group groups[16], all;
    const char *failures[16], *verdict;
    size_t group_count, failure_count;
};

static void read_report(char *report, struct summary *ret)
{
    struct group group;
    char *line;

    *ret = (struct summary){.verdict = "fail"};
    while ((line = next_line(&report)) != NULL) {
        if (strncmp(line, failed_mark, sizeof failed_mark - 1) == 0 && ret->failure_count < 16)
            ret->failures[ret->failure_count++] = line + sizeof failed_mark - 1;
        else if (strncmp(line, verdict_mark, sizeof verdict_mark - 1) == 0)
            ret->verdict = line + sizeof verdict_mark - 1;
        else if (read_group(line, &group) && strcmp(group.name, "all") == 0)
            ret->all = group;
        else if (read_group(line, &group) && ret->group_count < 16)
            ret->groups[ret->group_count++] = group;
    }
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

static void print_json(char *report, const profk_device *device)
{
    struct json json = {false};
    struct summary summary;
    size_t i;

    read_report(report, &summary);
    json_open(&json, NULL, '{');
    json_string(&json, "verdict", summary.verdict);
    json_u64(&json, "trials", summary.all.trials);
    json_u64(&json, "failed", summary.all.failed);
    devices_json(&json, "device", device);
    json_open(&json, "groups", '[');
    for (i = 0; i < summary.group_count; i++)
        json_group(&json, &summary.groups[i]);
    json_close(&json, ']');
    json_open(&json, "failures", '[');
    for (i = 0; i < summary.failure_count; i++)
        json_string(&json, NULL, summary.failures[i]);
    json_close(&json, ']');
    json_close(&json, '}');
    out_text("\n");
}

static void print_text(const char *report, const profk_device *device)
{
    out_format("device %" PRIu32 ": %s\n", device->number, device->name);
    out_format("%s, %s, driver %s\n", device->platform, device->version, device->driver);
    out_format("%" PRIu32 " compute units, work-groups up to %" PRIu32 ", local memory %" PRIu64
               " KiB, memory %" PRIu64 " MiB, allocations up to %" PRIu64 " MiB\n",
               device->compute_units, device->max_wg, device->local_nbytes >> 10, device->global_nbytes >> 20,
               device->max_alloc_nbytes >> 20);
    out_text(report);
}

static int run_with(profk_context *ctx, const profk_device *device, const struct settings *settings)
{
    static char report[REPORT_NBYTES];
    profk_status status = profk_selftest(ctx, LEVEL, report, sizeof report, NULL);
    int exit_status;

    progress_clear();
    if (status != PROFK_OK && status != PROFK_ERR_INTERNAL)
        return fail_status(status);
    if (settings->format == FORMAT_JSON)
        print_json(report, device);
    else
        print_text(report, device);
    exit_status = out_finish();
    return exit_status == EXIT_DONE && status != PROFK_OK ? fail_status(status) : exit_status;
}

int run_selftest(const struct settings *settings)
{
    const profk_options options = {.struct_size = sizeof options, .progress = progress_report};
    profk_device device = {.struct_size = sizeof device};
    profk_context *ctx = NULL;
    profk_status status = profk_device_find(settings->device, &device);
    int exit_status;

    progress_start(false);
    if (status == PROFK_OK)
        status = profk_context_create_default(settings->device, &options, &ctx);
    exit_status = status == PROFK_OK ? run_with(ctx, &device, settings) : fail_status(status);
    profk_context_destroy(ctx);
    return exit_status;
}
