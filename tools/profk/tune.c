/* tune.c: profk tune, which measures a device once and keeps what it finds; or takes it from another machine. */
#include <errno.h>
#include <profk.h>
#include <stdio.h>
#include <string.h>

#include "out.h"
#include "progress.h"
#include "report.h"
#include "signals.h"
#include "subcommands.h"

enum { REPORT_NBYTES = 1 << 16 };

static int measure(profk_context *ctx, double budget)
{
    static char report[REPORT_NBYTES];
    profk_status status = profk_tune(ctx, budget, report, sizeof report, NULL);

    progress_clear();
    if (status != PROFK_OK)
        return fail_status(status);
    out_text(report);
    return out_finish();
}

static int run_with(profk_context *ctx, const struct settings *settings)
{
    profk_status status = PROFK_OK;
    bool only_files = settings->import_path || settings->export_path;
    int exit_status = EXIT_DONE;

    if (settings->import_path)
        status = profk_tuning_import(ctx, settings->import_path);
    if (status == PROFK_OK && !only_files)
        exit_status = measure(ctx, settings->bench.budget);
    if (status == PROFK_OK && exit_status == EXIT_DONE && settings->export_path) {
        signals_install();
        signals_hold(); /* the library's temporary file has a name that only the library knows */
        status = profk_tuning_export(ctx, settings->export_path);
        signals_release();
    }
    return status == PROFK_OK ? exit_status : fail_status(status);
}

/* Input is looked at before a device is asked for. */
static int check_import(const char *path)
{
    FILE *file = path ? fopen(path, "rb") : NULL;

    if (path && !file)
        return fail(EXIT_WRONG, "cannot read %s (%s); give a file that profk tune --export wrote", path, strerror(errno));
    if (file)
        fclose(file);
    return EXIT_DONE;
}

int run_tune(const struct settings *settings)
{
    const profk_options options = {.struct_size = sizeof options, .progress = progress_report};
    profk_context *ctx = NULL;
    profk_status status;
    int exit_status = check_import(settings->import_path);

    if (exit_status != EXIT_DONE)
        return exit_status;
    progress_start(settings->quiet);
    status = profk_context_create_default(settings->device, &options, &ctx);
    exit_status = status == PROFK_OK ? run_with(ctx, settings) : fail_status(status);
    progress_clear();
    profk_context_destroy(ctx);
    return exit_status;
}
