/* figures.c: see figures.h. */
#include "figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "numbers.h"
#include "out.h"

enum kind { WHOLE, REAL, TEXT };
enum known { ALWAYS, IF_SAMPLED, IF_APPROXIMATE };

/* SHAPE: in a table of several cells that are all alike in it, it goes into the line above. */
enum place { HIDDEN, SHAPE, COLUMN };

static const struct column {
    const char *key, *heading;
    size_t at; /* in struct figures */
    enum kind kind;
    enum known known;
    enum place place;
    int width, digits; /* of the table; digits behind the point, -1: as few as tell the number */
} columns[] = {
#define C(member) offsetof(struct figures, member)
    {"n", "n", C(n), WHOLE, ALWAYS, COLUMN, 11, 0},
    {"k", "k", C(k), WHOLE, ALWAYS, COLUMN, 8, 0},
    {"rows", "rows", C(rows), WHOLE, ALWAYS, SHAPE, 6, 0},
    {"dtype", "type", C(dtype), TEXT, ALWAYS, SHAPE, 5, 0},
    {"distribution", "distribution", C(distribution), TEXT, ALWAYS, SHAPE, 14, 0},
    {"order", "order", C(order), TEXT, ALWAYS, SHAPE, 10, 0},
    {"mode", "mode", C(mode), TEXT, ALWAYS, SHAPE, 12, 0},
    {"epsilon", "epsilon", C(epsilon), REAL, ALWAYS, SHAPE, 8, -1},
    {"route", "route", C(route), TEXT, ALWAYS, COLUMN, 6, 0},
    {"S", "S", C(S), WHOLE, IF_SAMPLED, COLUMN, 7, 0},
    {"forced_S", "", C(forced_S), WHOLE, ALWAYS, HIDDEN, 0, 0}, /* 0: chosen */
    {"t", "t", C(t), WHOLE, IF_SAMPLED, HIDDEN, 0, 0},
    {"M", "M", C(M), WHOLE, IF_SAMPLED, COLUMN, 8, 0},
    {"fail_recall", "", C(fail_recall), REAL, IF_SAMPLED, HIDDEN, 0, 0},
    {"fail_overflow", "", C(fail_overflow), REAL, IF_SAMPLED, HIDDEN, 0, 0},
    {"runs", "calls", C(runs), WHOLE, ALWAYS, COLUMN, 6, 0},
    {"min_ms", "min ms", C(min_ms), REAL, ALWAYS, COLUMN, 10, 3},
    {"median_ms", "median ms", C(median_ms), REAL, ALWAYS, COLUMN, 10, 3},
    {"p99_ms", "p99 ms", C(p99_ms), REAL, ALWAYS, COLUMN, 10, 3},
    {"mean_ms", "", C(mean_ms), REAL, ALWAYS, HIDDEN, 0, 0},
    {"read_ms", "read ms", C(read_ms), REAL, ALWAYS, COLUMN, 10, 3},
    {"read_gbs", "GB/s", C(read_gbs), REAL, ALWAYS, COLUMN, 8, 1},
    {"read_how", "", C(read_how), TEXT, ALWAYS, HIDDEN, 0, 0},
    {"ratio", "ratio", C(ratio), REAL, ALWAYS, COLUMN, 7, 2},
    {"attempts", "attempts", C(attempts), WHOLE, ALWAYS, COLUMN, 9, 0},
    {"recall_misses", "", C(recall_misses), WHOLE, ALWAYS, HIDDEN, 0, 0},
    {"overflows", "", C(overflows), WHOLE, ALWAYS, HIDDEN, 0, 0},
    {"redraws", "redraws", C(redraws), WHOLE, ALWAYS, COLUMN, 8, 0},
    {"fallbacks", "", C(fallbacks), WHOLE, ALWAYS, HIDDEN, 0, 0},
    {"recall", "", C(recall), REAL, IF_APPROXIMATE, HIDDEN, 0, 0},
    {"workspace_bytes", "workspace", C(workspace_nbytes), WHOLE, ALWAYS, COLUMN, 11, 0},
    {"input_bytes", "", C(input_nbytes), WHOLE, ALWAYS, HIDDEN, 0, 0},
};

enum { COLUMN_COUNT = sizeof columns / sizeof columns[0], CELL_ROOM = 64 };

static const void *place_of(const struct column *column, const struct figures *cell)
{
    return (const char *)cell + column->at;
}

static bool is_known(const struct column *column, const struct figures *cell)
{
    return column->known == ALWAYS || (column->known == IF_SAMPLED ? cell->sampled : cell->approximate);
}

static uint64_t whole(const struct column *column, const struct figures *cell)
{
    uint64_t value;

    memcpy(&value, place_of(column, cell), sizeof value);
    return value;
}

static double real(const struct column *column, const struct figures *cell)
{
    double value;

    memcpy(&value, place_of(column, cell), sizeof value);
    return value;
}

static const char *words(const struct column *column, const struct figures *cell)
{
    const char *value;

    memcpy(&value, place_of(column, cell), sizeof value);
    return value;
}

static void json_cell(struct json *json, const struct figures *cell)
{
    size_t i;

    json_open(json, NULL, '{');
    for (i = 0; i < COLUMN_COUNT; i++) {
        const struct column *column = &columns[i];

        if (!is_known(column, cell))
            json_null(json, column->key);
        else if (column->kind == WHOLE)
            json_u64(json, column->key, whole(column, cell));
        else if (column->kind == REAL)
            json_double(json, column->key, real(column, cell));
        else
            json_string(json, column->key, words(column, cell));
    }
    json_close(json, '}');
}

static void print_json(const struct figures_sheet *sheet)
{
    struct json json = {false};
    uint32_t version = profk_version();
    char text[32];
    size_t i;

    snprintf(text, sizeof text, "%u.%u.%u", (unsigned)(version / 10000), (unsigned)(version / 100 % 100),
             (unsigned)(version % 100));
    json_open(&json, NULL, '{');
    json_string(&json, "bench", sheet->bench);
    json_string(&json, "device", sheet->device->name);
    json_string(&json, "platform", sheet->device->platform);
    json_string(&json, "driver", sheet->device->driver);
    json_string(&json, "version", text);
    json_u64(&json, "warmup", sheet->warmup);
    json_double(&json, "seconds", sheet->seconds);
    json_bool(&json, "complete", sheet->complete);
    json_open(&json, "cells", '[');
    for (i = 0; i < sheet->count; i++)
        json_cell(&json, &sheet->cells[i]);
    json_close(&json, ']');
    json_close(&json, '}');
    out_text("\n");
}

/* As in JSON, with nothing where a figure is not known. */
static void csv_text(char text[CELL_ROOM], const struct column *column, const struct figures *cell)
{
    text[0] = '\0';
    if (!is_known(column, cell))
        return;
    if (column->kind == WHOLE)
        snprintf(text, CELL_ROOM, "%" PRIu64, whole(column, cell));
    else if (column->kind == REAL)
        format_double(text, real(column, cell));
    else
        snprintf(text, CELL_ROOM, "%s", words(column, cell));
}

static void print_csv(const struct figures_sheet *sheet)
{
    char text[CELL_ROOM];
    size_t i, c;

    for (c = 0; c < COLUMN_COUNT; c++)
        out_format("%s%s", c ? "," : "", columns[c].key);
    out_text("\n");
    for (i = 0; i < sheet->count; i++) {
        for (c = 0; c < COLUMN_COUNT; c++) {
            csv_text(text, &columns[c], &sheet->cells[i]);
            out_format("%s%s", c ? "," : "", text);
        }
        out_text("\n");
    }
}

static void table_text(char text[CELL_ROOM], const struct column *column, const struct figures *cell)
{
    if (!is_known(column, cell))
        strcpy(text, "-");
    else if (column->kind == REAL && column->digits >= 0)
        snprintf(text, CELL_ROOM, "%.*f", column->digits, real(column, cell));
    else
        csv_text(text, column, cell);
}

/* Whether all cells have the same in it. */
static bool is_common(const struct figures_sheet *sheet, const struct column *column)
{
    char first[CELL_ROOM], text[CELL_ROOM];
    size_t i;

    if (column->place != SHAPE)
        return false;
    table_text(first, column, &sheet->cells[0]);
    for (i = 1; i < sheet->count; i++) {
        table_text(text, column, &sheet->cells[i]);
        if (strcmp(first, text) != 0)
            return false;
    }
    return true;
}

static void print_common(const struct figures_sheet *sheet)
{
    char text[CELL_ROOM];
    size_t c;

    out_format("%s (%s, driver %s)\n%s bench", sheet->device->name, sheet->device->platform, sheet->device->driver,
               sheet->bench);
    for (c = 0; c < COLUMN_COUNT; c++) {
        if (!is_common(sheet, &columns[c]))
            continue;
        table_text(text, &columns[c], &sheet->cells[0]);
        out_format(", %s %s", columns[c].heading, text);
    }
    out_text("\n");
}

static void print_table(const struct figures_sheet *sheet)
{
    bool shown[COLUMN_COUNT];
    char text[CELL_ROOM];
    size_t i, c;

    print_common(sheet);
    for (c = 0; c < COLUMN_COUNT; c++) {
        shown[c] = columns[c].place != HIDDEN && !is_common(sheet, &columns[c]);
        if (shown[c])
            out_format(" %*s", columns[c].width, columns[c].heading);
    }
    out_text("\n");
    for (i = 0; i < sheet->count; i++) {
        for (c = 0; c < COLUMN_COUNT; c++) {
            if (!shown[c])
                continue;
            table_text(text, &columns[c], &sheet->cells[i]);
            out_format(" %*s", columns[c].width, text);
        }
        out_text("\n");
    }
    out_format("fastest read of the last input: %s; every cell's answer was checked on the host%s\n",
               sheet->cells[sheet->count - 1].read_how, sheet->complete ? "" : "; the time ran out");
}

void figures_print(uint32_t format, const struct figures_sheet *sheet)
{
    if (format == FORMAT_JSON)
        print_json(sheet);
    else if (format == FORMAT_CSV)
        print_csv(sheet);
    else
        print_table(sheet);
}
