/* params.c: profk params, the arithmetic of profk_params.h.  It never calls OpenCL. */
#include <inttypes.h>

#include <profk_params.h>

#include "json.h"
#include "numbers.h"
#include "out.h"
#include "report.h"
#include "subcommands.h"

struct both {
    uint64_t S;
    profk_params exact, fast; /* Theorem 4 and Algorithm 1 */
};

static int compute(const struct settings *settings, struct both *ret)
{
    const uint64_t n = settings->n, k = settings->k;
    const double half = settings->epsilon / 2; /* for each of the two ways to miss */
    profk_status status = PROFK_OK;

    ret->S = settings->S;
    if (!(settings->given & GIVEN_S))
        status = profk_sample_size(n, k, settings->epsilon, NULL, &ret->S);
    if (status == PROFK_OK)
        status = profk_params_exact(n, k, ret->S, half, half, &ret->exact);
    if (status == PROFK_OK)
        status = profk_params_fast(n, k, ret->S, half, half, &ret->fast);
    return status == PROFK_OK ? EXIT_DONE : fail_status(status);
}

static void json_params(struct json *json, const char *key, const profk_params *params)
{
    json_open(json, key, '{');
    json_u64(json, "t", params->t);
    json_u64(json, "M", params->M);
    json_double(json, "fail_recall", params->fail_recall);
    json_double(json, "fail_overflow", params->fail_overflow);
    json_close(json, '}');
}

static void print_json(const struct settings *settings, const struct both *both)
{
    struct json json = {false};

    json_open(&json, NULL, '{');
    json_u64(&json, "n", settings->n);
    json_u64(&json, "k", settings->k);
    json_double(&json, "epsilon", settings->epsilon);
    json_u64(&json, "S", both->S);
    json_params(&json, "exact", &both->exact);
    json_params(&json, "fast", &both->fast);
    json_close(&json, '}');
    out_text("\n");
}

static void print_row(const char *label, const profk_params *params)
{
    out_format("%-6s %12" PRIu64 " %12" PRIu64 " %12.3e %12.3e\n", label, params->t, params->M, params->fail_recall,
               params->fail_overflow);
}

static void print_table(const struct settings *settings, const struct both *both)
{
    char epsilon[NUMBER_ROOM];

    format_double(epsilon, settings->epsilon);
    out_format("n %" PRIu64 ", k %" PRIu64 ", epsilon %s, S %" PRIu64 "\n", settings->n, settings->k, epsilon,
               both->S);
    out_format("%-6s %12s %12s %12s %12s\n", "", "t", "M", "Pr(R < k)", "Pr(R > M)");
    print_row("exact", &both->exact);
    print_row("fast", &both->fast);
}

int run_params(const struct settings *settings)
{
    struct both both;
    int status;

    if (!(settings->given & GIVEN_N) || !(settings->given & GIVEN_K))
        return fail(EXIT_WRONG, "%s is missing; give -n and -k, see profk params --help",
                    settings->given & GIVEN_N ? "-k" : "-n");
    status = compute(settings, &both);
    if (status != EXIT_DONE)
        return status;
    if (settings->format == FORMAT_JSON)
        print_json(settings, &both);
    else
        print_table(settings, &both);
    return out_finish();
}
