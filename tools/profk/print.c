/* print.c: JSON, CSV and a table. */
#include "print.h"

#include <inttypes.h>

#include "json.h"
#include "out.h"

/* What every format prints from. */
struct page {
    const profk_problem *problem;
    const struct planned *planned;
    const struct type *type;
    const struct answer *answer;
};

static uint64_t index_at(const struct page *page, uint64_t i)
{
    if (page->problem->index == PROFK_INDEX_U32)
        return ((const uint32_t *)page->answer->indices)[i];
    return ((const uint64_t *)page->answer->indices)[i];
}

/* Attempts of the slowest row. */
static uint64_t most_attempts(const struct page *page)
{
    uint64_t r, most = 0;

    for (r = 0; r < page->problem->rows; r++)
        if (page->answer->rows[r].attempts > most)
            most = page->answer->rows[r].attempts;
    return most;
}

static bool certified(const struct page *page, uint64_t row)
{
    return page->answer->rows[row].status == PROFK_ROW_CERTIFIED;
}

/* Results that a row has: an approximate one that missed has R < k. */
static uint64_t results_of(const struct page *page, uint64_t row)
{
    const profk_row *result = &page->answer->rows[row];
    bool missed = result->status == PROFK_ROW_RECALL_MISS && result->R < page->problem->k;

    return missed ? result->R : page->problem->k;
}

static void json_value(struct json *json, const struct page *page, uint64_t i)
{
    char text[NUMBER_ROOM];

    if (format_element(text, page->type, page->answer->values, i))
        json_literal(json, NULL, text);
    else
        json_string(json, NULL, text);
}

static void json_index(struct json *json, const struct page *page, uint64_t i)
{
    json_u64(json, NULL, index_at(page, i));
}

static void json_certified(struct json *json, const struct page *page, uint64_t row)
{
    json_bool(json, NULL, certified(page, row));
}

/* R is 0 where no threshold decided: routes rows and full, a row that ended in full, k = 0. */
static void json_rank(struct json *json, const struct page *page, uint64_t row)
{
    uint64_t R = page->answer->rows[row].R;

    json_u64_or_null(json, NULL, R > 0, R);
}

typedef void (*json_item)(struct json *json, const struct page *page, uint64_t i);

static void json_list(struct json *json, const char *key, const struct page *page, uint64_t first, uint64_t count,
                      json_item item)
{
    uint64_t i;

    json_open(json, key, '[');
    for (i = first; i < first + count; i++)
        item(json, page, i);
    json_close(json, ']');
}

/* One inner list per row. */
static void json_table(struct json *json, const char *key, const struct page *page, json_item item)
{
    uint64_t row, k = page->problem->k;

    json_open(json, key, '[');
    for (row = 0; row < page->problem->rows; row++)
        json_list(json, NULL, page, row * k, results_of(page, row), item);
    json_close(json, ']');
}

static void json_problem(struct json *json, const struct page *page)
{
    const profk_problem *p = page->problem;

    json_u64(json, "n", p->n);
    json_u64(json, "k", p->k);
    json_u64(json, "rows", p->rows);
    json_string(json, "dtype", page->type->name);
    json_string(json, "order", order_name(p->order));
    json_string(json, "nan", nan_name(p->nan));
    json_string(json, "sort", sort_name(p->sort));
    json_string(json, "index", index_name(p->index));
    json_string(json, "mode", mode_name(p->mode));
    json_double(json, "epsilon", p->epsilon);
    json_u64(json, "seed", p->seed);
}

static void print_json(const struct page *page)
{
    const profk_info *info = &page->planned->info;
    bool sampled = info->route == PROFK_ROUTE_PROFK && page->problem->k > 0;
    struct json json = {false};

    json_open(&json, NULL, '{');
    json_problem(&json, page);
    json_string(&json, "route", route_name(info->route));
    json_string(&json, "device", page->planned->device.name);
    json_u64_or_null(&json, "S", sampled, info->S);
    json_u64_or_null(&json, "t", sampled, info->t);
    json_u64_or_null(&json, "M", sampled, info->M);
    json_u64(&json, "attempts", most_attempts(page));
    json_u64(&json, "fallbacks", page->answer->stats.fallbacks);
    json_list(&json, "certified", page, 0, page->problem->rows, json_certified);
    json_list(&json, "R", page, 0, page->problem->rows, json_rank);
    json_double(&json, "seconds", page->answer->seconds);
    json_table(&json, "values", page, json_value);
    json_table(&json, "indices", page, json_index);
    json_close(&json, '}');
    out_text("\n");
}

static void print_csv(const struct page *page)
{
    bool ranked = page->problem->sort == PROFK_SORT_RANK;
    uint64_t row, j, k = page->problem->k;

    out_text(ranked ? "row,rank,index,value\n" : "row,index,value\n");
    for (row = 0; row < page->problem->rows; row++) {
        for (j = 0; j < results_of(page, row); j++) {
            char value[NUMBER_ROOM];

            format_element(value, page->type, page->answer->values, row * k + j);
            out_format("%" PRIu64 ",", row);
            if (ranked)
                out_format("%" PRIu64 ",", j + 1);
            out_format("%" PRIu64 ",%s\n", index_at(page, row * k + j), value);
        }
    }
}

static void print_line(const struct page *page)
{
    uint64_t attempts = most_attempts(page), rows = page->problem->rows, row, good = 0;

    for (row = 0; row < rows; row++)
        good += certified(page, row);
    out_format("route %s, %" PRIu64 " attempt%s, ", route_name(page->planned->info.route), attempts,
               attempts == 1 ? "" : "s");
    if (good == rows)
        out_text("certified");
    else if (rows == 1)
        out_text("not certified");
    else
        out_format("%" PRIu64 " of %" PRIu64 " rows certified", good, rows);
    out_format(", %.6f s, %s\n", page->answer->seconds, page->planned->device.name);
}

/* A row column where there are several, a rank column where the rank is the place. */
static void print_table(const struct page *page)
{
    bool ranked = page->problem->sort == PROFK_SORT_RANK, several = page->problem->rows > 1;
    uint64_t row, j, k = page->problem->k;

    out_format("%s%s          index  value\n", several ? "       row " : "", ranked ? "      rank " : "");
    for (row = 0; row < page->problem->rows; row++) {
        for (j = 0; j < results_of(page, row); j++) {
            char value[NUMBER_ROOM];

            format_element(value, page->type, page->answer->values, row * k + j);
            if (several)
                out_format("%10" PRIu64 " ", row);
            if (ranked)
                out_format("%10" PRIu64 " ", j + 1);
            out_format("%15" PRIu64 "  %s\n", index_at(page, row * k + j), value);
        }
    }
    print_line(page);
}

void print_answer(uint32_t format, const struct planned *planned, const struct type *type,
                  const struct answer *answer)
{
    const struct page page = {&planned->problem, planned, type, answer};

    if (format == FORMAT_JSON)
        print_json(&page);
    else if (format == FORMAT_CSV)
        print_csv(&page);
    else
        print_table(&page);
}
