/*
 * topk.c: profk topk FILE -k K.
 *
 * Checked in this order: command line, input, device, output files.  The output files are complete and in place
 * before the first byte goes to standard output, so that a failure leaves neither.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "npy.h"
#include "out.h"
#include "output.h"
#include "print.h"
#include "progress.h"
#include "report.h"
#include "subcommands.h"

/* The files of --values and --indices. */
struct outputs {
    struct output values, indices;
};

static int check_settings(const struct settings *settings)
{
    if (!settings->file)
        return fail(EXIT_WRONG, "the file is missing; give one, or - for standard input, see profk topk --help");
    if (settings->values && settings->indices && strcmp(settings->values, settings->indices) == 0)
        return fail(EXIT_WRONG, "--values and --indices both name %s; give two paths", settings->values);
    return check_command_line(settings, "topk");
}

static int open_input(struct input *input, const struct settings *settings)
{
    const uint64_t *rows = settings->given & GIVEN_ROWS ? &settings->rows : NULL;
    int status = input_open(input, settings->file, settings->dtype, rows);

    return status == EXIT_DONE ? check_shape(settings, input->n, input->rows) : status;
}

static int open_outputs(struct outputs *outputs, const struct settings *settings)
{
    int status = output_open(&outputs->values, settings->values);

    return status == EXIT_DONE ? output_open(&outputs->indices, settings->indices) : status;
}

static int write_array(struct output *output, const struct input *input, uint64_t k, const char *descr,
                       const void *elements, size_t nbytes)
{
    const uint64_t matrix[NPY_MAX_DIMS] = {input->rows, k}, vector[NPY_MAX_DIMS] = {k, 0};
    char header[NPY_HEADER_ROOM];
    size_t length = npy_header(header, descr, input->has_rows ? 2 : 1, input->has_rows ? matrix : vector);
    int status = output_write(output, header, length);

    if (status == EXIT_DONE)
        status = output_write(output, elements, (size_t)(input->rows * k) * nbytes);
    return status == EXIT_DONE ? output_close(output) : status;
}

/* Both files are complete before the first takes its place. */
static int write_outputs(struct outputs *outputs, const struct planned *planned, const struct input *input,
                         const struct answer *answer)
{
    bool narrow = planned->problem.index == PROFK_INDEX_U32;
    uint64_t k = planned->problem.k;
    int status = write_array(&outputs->values, input, k, input->type->descr, answer->values, input->type->nbytes);

    if (status == EXIT_DONE)
        status = write_array(&outputs->indices, input, k, narrow ? "<u4" : "<u8", answer->indices,
                             narrow ? sizeof(uint32_t) : sizeof(uint64_t));
    if (status == EXIT_DONE)
        status = output_commit(&outputs->values);
    return status == EXIT_DONE ? output_commit(&outputs->indices) : status;
}

static int describe_plan(const struct planned *planned)
{
    size_t need = 0;
    char *text;

    profk_plan_describe(planned->plan, NULL, 0, &need);
    text = malloc(need + 1);
    if (!text)
        return fail(EXIT_FAILED, "no memory for the plan's description; leave -v out");
    text[0] = '\0';
    profk_plan_describe(planned->plan, text, need, NULL);
    fprintf(stderr, "%s%s", text, need > 1 && text[need - 2] == '\n' ? "" : "\n");
    free(text);
    return EXIT_DONE;
}

static void print_stats(const profk_stats *stats)
{
    fprintf(stderr,
            "calls %" PRIu64 ", rows %" PRIu64 ", attempts %" PRIu64 ", recall misses %" PRIu64 ", overflows %" PRIu64
            ", redraws %" PRIu64 ", fallbacks %" PRIu64 ", adaptations %" PRIu64 "\n",
            stats->calls, stats->rows, stats->attempts, stats->recall_misses, stats->overflows, stats->redraws,
            stats->fallbacks, stats->adaptations);
}

/* Everything behind the input: device, outputs, selection, files, standard output. */
static int answer_input(const struct settings *settings, const struct input *input)
{
    struct planned planned;
    struct answer answer = {0};
    struct outputs outputs = {{.fd = -1}, {.fd = -1}};
    int status = planned_open(&planned, settings, input->type->id, input->n, input->rows);

    if (status == EXIT_DONE && settings->verbose)
        status = describe_plan(&planned);
    if (status == EXIT_DONE)
        status = open_outputs(&outputs, settings);
    if (status == EXIT_DONE)
        status = select_run(&planned, input, settings->chunks, &answer);
    progress_clear();
    if (status == EXIT_DONE)
        status = write_outputs(&outputs, &planned, input, &answer);
    if (status == EXIT_DONE && settings->stats)
        print_stats(&answer.stats);
    if (status == EXIT_DONE) {
        print_answer(settings->format, &planned, input->type, &answer);
        status = out_finish();
    }
    output_discard(&outputs.values);
    output_discard(&outputs.indices);
    select_free(&answer);
    planned_close(&planned);
    return status;
}

int run_topk(const struct settings *settings)
{
    struct input input = {0};
    int status = check_settings(settings);

    if (status != EXIT_DONE)
        return status;
    progress_start(settings->quiet != 0);
    status = open_input(&input, settings);
    if (status == EXIT_DONE)
        status = answer_input(settings, &input);
    input_close(&input);
    return status;
}
