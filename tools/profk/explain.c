/* explain.c: profk explain, what a plan would do, without running it. */
#include <inttypes.h>
#include <stdio.h>

#include "check.h"
#include "json.h"
#include "numbers.h"
#include "out.h"
#include "planned.h"
#include "report.h"
#include "subcommands.h"
#include "types.h"

/* Facts one after the other, as members of a JSON object or as lines "name  value". */
struct sheet {
    struct json json;
    bool is_json;
};

/* The line of a fact; the JSON member has been written by the caller. */
static void print_line(const char *name, bool known, const char *text)
{
    out_format("%-17s%s\n", name, known ? text : "-");
}

static void fact_text(struct sheet *sheet, const char *name, bool known, const char *text)
{
    if (!sheet->is_json)
        print_line(name, known, text);
    else if (known)
        json_string(&sheet->json, name, text);
    else
        json_null(&sheet->json, name);
}

static void fact_u64(struct sheet *sheet, const char *name, bool known, uint64_t value)
{
    char text[NUMBER_ROOM];

    snprintf(text, sizeof text, "%" PRIu64, value);
    if (sheet->is_json)
        json_u64_or_null(&sheet->json, name, known, value);
    else
        print_line(name, known, text);
}

static void fact_double(struct sheet *sheet, const char *name, bool known, double value)
{
    char text[NUMBER_ROOM];

    format_double(text, value);
    if (!sheet->is_json)
        print_line(name, known, text);
    else if (known)
        json_double(&sheet->json, name, value);
    else
        json_null(&sheet->json, name);
}

static const char *shape_name(uint32_t shape)
{
    return shape == PROFK_SHAPE_STREAM ? "stream" : "tile";
}

static void print_sheet(struct sheet *sheet, const struct planned *planned)
{
    const profk_problem *p = &planned->problem;
    const profk_info *info = &planned->info;
    bool sampled = info->route == PROFK_ROUTE_PROFK && p->k > 0; /* else there is no S, t, M */

    fact_u64(sheet, "n", true, p->n);
    fact_u64(sheet, "k", true, p->k);
    fact_u64(sheet, "rows", true, p->rows);
    fact_text(sheet, "dtype", true, type_of_id(p->type)->name);
    fact_text(sheet, "order", true, order_name(p->order));
    fact_double(sheet, "epsilon", true, p->epsilon);
    fact_double(sheet, "epsilon_row", true, info->epsilon_row);
    fact_text(sheet, "route", true, route_name(info->route));
    fact_text(sheet, "shape", sampled, shape_name(info->filter_shape));
    fact_u64(sheet, "S", sampled, info->S);
    fact_u64(sheet, "t", sampled, info->t);
    fact_u64(sheet, "M", sampled, info->M);
    fact_double(sheet, "fail_recall", sampled, info->fail_recall);
    fact_double(sheet, "fail_overflow", sampled, info->fail_overflow);
    fact_u64(sheet, "workspace_bytes", true, info->workspace_nbytes);
    fact_u64(sheet, "slabs", true, info->slabs);
    fact_u64(sheet, "kernel_launches", true, info->kernel_launches);
    fact_u64(sheet, "blocking_calls", true, info->blocking_calls);
    fact_double(sheet, "passes", true, info->passes);
    fact_text(sheet, "device", true, planned->device.name);
    fact_text(sheet, "tuning", true, info->tuned ? "stored" : "default");
}

static int print_plan(const struct settings *settings, const struct planned *planned)
{
    struct sheet sheet = {{false}, settings->format == FORMAT_JSON};

    if (sheet.is_json)
        json_open(&sheet.json, NULL, '{');
    print_sheet(&sheet, planned);
    if (sheet.is_json) {
        json_close(&sheet.json, '}');
        out_text("\n");
    }
    return out_finish();
}

int run_explain(const struct settings *settings)
{
    struct planned planned;
    int status;

    if (!(settings->given & GIVEN_N))
        return fail(EXIT_WRONG, "-n is missing; give -n and -k, see profk explain --help");
    status = check_command_line(settings, "explain");
    if (status == EXIT_DONE && settings->rows == 0)
        status = fail(EXIT_WRONG, "--rows 0 has nothing to explain; give 1 or leave it out");
    if (status == EXIT_DONE)
        status = check_shape(settings, settings->n, settings->rows);
    if (status != EXIT_DONE)
        return status;
    status =
        planned_open(&planned, settings, settings->dtype ? settings->dtype : PROFK_F32, settings->n, settings->rows);
    if (status == EXIT_DONE)
        status = print_plan(settings, &planned);
    planned_close(&planned);
    return status;
}
