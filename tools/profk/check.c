/* check.c: see check.h.  Forced parameters are judged with the library's own arithmetic, which needs no device. */
#include "check.h"

#include <inttypes.h>

#include "report.h"

/* The least failure budget of a row, below which the parameters do not go. */
static const double least_epsilon_row = 1e-12;

int check_command_line(const struct settings *settings, const char *subcommand)
{
    if (!(settings->given & GIVEN_K))
        return fail(EXIT_WRONG, "-k is missing; say how many results a row shall give, see profk %s --help",
                    subcommand);
    if (settings->given & GIVEN_RECALL && settings->mode != PROFK_MODE_APPROXIMATE)
        return fail(EXIT_WRONG, "--recall is for --mode approximate, an exact answer has all; leave one of them out");
    return EXIT_DONE;
}

/* Forced parameters against n and k. */
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
    return EXIT_DONE;
}

/* The hook wants a count above the buffer's M; 0 for an M that only the library knows, which then checks it. */
static int check_count(const profk_tuning *force, uint64_t M)
{
    if (M && force->count_start && force->count_start <= M)
        return fail(EXIT_WRONG, "--force count=%" PRIu64 " must be above M; give 0 or more than %" PRIu64,
                    force->count_start, M);
    return EXIT_DONE;
}

/* A sample of S positions must be able to give the recall that is asked for; all k take a sample of k. */
static int check_recall(const struct settings *settings, uint64_t n, uint64_t S)
{
    double most;
    profk_status status = profk_expected_recall(n, settings->k, S, S, &most);

    if (status != PROFK_OK)
        return fail_status(status);
    if (settings->recall < 1.0 ? most < settings->recall * (1.0 - 1e-12) : S < settings->k)
        return fail(exit_status_of(PROFK_ERR_PARAMS),
                    "a sample of %" PRIu64 " cannot reach the recall of %g; lower --recall or force a larger S", S,
                    settings->recall);
    return EXIT_DONE;
}

/* S, t and M as the sampled route will have them, as far as they follow from n, k and the budget. */
static int check_parameters(const struct settings *settings, uint64_t n, uint64_t rows)
{
    const profk_tuning *force = &settings->force;
    double epsilon = settings->epsilon / (double)rows;
    profk_params params = {.S = force->S};
    profk_status status = PROFK_OK;

    if (epsilon < least_epsilon_row)
        epsilon = least_epsilon_row;
    if (!params.S)
        status = profk_sample_size(n, settings->k, epsilon, NULL, &params.S);
    if (status != PROFK_OK)
        return fail_status(status);
    if (force->t > params.S)
        return fail(EXIT_WRONG, "--force t=%" PRIu64 " is above the sample of %" PRIu64 "; force S as well", force->t,
                    params.S);
    if (!force->t && settings->given & GIVEN_RECALL) /* a sample that is not forced grows until it can */
        return force->S ? check_recall(settings, n, params.S) : EXIT_DONE;
    if (!force->t)
        status = profk_params_exact(n, settings->k, params.S, epsilon / 2, epsilon / 2, &params);
    return status == PROFK_OK ? check_count(force, force->M ? force->M : params.M) : fail_status(status);
}

int check_shape(const struct settings *settings, uint64_t n, uint64_t rows)
{
    bool sampled = settings->route == PROFK_ROUTE_AUTO || settings->route == PROFK_ROUTE_PROFK;
    int status;

    if (n >> 48)
        return fail(EXIT_WRONG, "a row of %" PRIu64 " elements is too long; rows must be shorter than 2^48", n);
    if (settings->k > n)
        return fail(EXIT_WRONG, "k is %" PRIu64 " but a row has only %" PRIu64 " elements; give -k at most %" PRIu64,
                    settings->k, n, n);
    if (settings->k >> 31)
        return fail(EXIT_WRONG, "k is %" PRIu64 ", which is too large; give -k below 2^31", settings->k);
    if (rows > 1 && settings->k && rows > UINT64_MAX / 16 / settings->k)
        return fail(EXIT_WRONG, "%" PRIu64 " rows of %" PRIu64 " results are too many; give fewer --rows", rows,
                    settings->k);
    if (settings->index == PROFK_INDEX_U32 && n > UINT32_MAX)
        return fail(EXIT_WRONG, "u32 cannot number %" PRIu64 " elements; leave --index out", n);
    if (settings->chunks > 1 && rows > 1)
        return fail(EXIT_WRONG, "--chunks cuts a single row, and there are %" PRIu64 "; leave --chunks out", rows);
    status = check_forced(settings, n);
    if (status == EXIT_DONE)
        status = check_count(&settings->force, settings->force.M);
    if (status == EXIT_DONE && sampled && settings->k > 0 && rows > 0)
        status = check_parameters(settings, n, rows);
    return status;
}
