/*
 * bench.c: profk bench, from the command line to cells.
 *
 * All cells of one type and distribution use the beginning of one input.  Nothing is printed before the last cell is
 * measured, so that a failure leaves nothing on standard output.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "figures.h"
#include "measure.h"
#include "out.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "subcommands.h"
#include "suites.h"

/* What a run of the bench holds. */
struct bench_run {
    struct settings settings; /* a copy, with what the suite fills in */
    struct rig rig;
    struct dataset dataset;
    uint64_t most; /* elements of all rows of a cell, 0: no limit */
    struct figures *figures;
    size_t figure_count, room;
    size_t cells_done, cells_all;
    double start;
    bool out_of_time;
};

/* --- command line -------------------------------------------------------------------------------------------------- */

static bool has_zero(const struct list *list)
{
    size_t i;

    for (i = 0; i < list->count; i++)
        if (list->values[i] == 0)
            return true;
    return false;
}

static int check_options(const struct settings *settings)
{
    const struct bench_options *bench = &settings->bench;

    if (bench->suite && !suite_exists(bench->suite))
        return fail(EXIT_WRONG, "there is no bench '%s'; give one of " SUITE_NAMES ", or leave it out", bench->suite);
    if (has_zero(&bench->n) || has_zero(&bench->k) || has_zero(&bench->rows))
        return fail(EXIT_WRONG, "-n, -k and --rows are lists of numbers from 1 on; leave 0 out");
    if (bench->input && bench->distribution.count > 0)
        return fail(EXIT_WRONG, "--input brings its own elements; leave --distribution out");
    if (bench->input && bench->dtype.count > 1)
        return fail(EXIT_WRONG, "--input has elements of one type; give --dtype once");
    if (bench->input && bench->dump)
        return fail(EXIT_WRONG, "--dump writes a made input; leave --input out");
    if (bench->runs > UINT32_MAX)
        return fail(EXIT_WRONG, "--runs is too large; give fewer than 2^32");
    return EXIT_DONE;
}

/* --- cells --------------------------------------------------------------------------------------------------------- */

/* Cells that no device could have are left out without a word: a grid is a rectangle, what is possible is not. */
static bool is_possible(const struct bench_run *run, const struct cell *cell)
{
    if (cell->k > cell->n || cell->n >> 48 || cell->rows > (UINT64_MAX >> 16) / cell->n)
        return false;
    if (run->most && cell->rows * cell->n > run->most)
        return false;
    return cell->S <= cell->n / 32; /* a larger sample is no sample, as in the paper's sweep */
}

/* What cells are made of, the innermost first; a dataset's cells are all combinations. */
enum { MODE, EPSILON, SAMPLE, K, N, ROWS, AXES };

static void axis_lengths(const struct bench_options *bench, size_t lengths[AXES])
{
    lengths[MODE] = bench->mode.count;
    lengths[EPSILON] = bench->epsilon.count;
    lengths[SAMPLE] = bench->S.count;
    lengths[K] = bench->k.count;
    lengths[N] = bench->n.count;
    lengths[ROWS] = bench->rows.count;
}

/* The cell of that number; false behind the last one. */
static bool cell_of(const struct bench_options *bench, size_t number, struct cell *ret)
{
    size_t lengths[AXES], at[AXES], axis;

    axis_lengths(bench, lengths);
    for (axis = 0; axis < AXES; axis++) {
        at[axis] = number % lengths[axis];
        number /= lengths[axis];
    }
    *ret = (struct cell){.n = bench->n.values[at[N]],
                         .k = bench->k.values[at[K]],
                         .rows = bench->rows.values[at[ROWS]],
                         .S = bench->S.values[at[SAMPLE]],
                         .mode = (uint32_t)bench->mode.values[at[MODE]],
                         .epsilon = bench->epsilon.values[at[EPSILON]]};
    return number == 0;
}

/* Elements that the largest possible cell reads, and how many cells there are. */
static uint64_t survey(const struct bench_run *run, size_t *count_ret)
{
    uint64_t total = 0;
    struct cell cell;
    size_t number;

    for (*count_ret = number = 0; cell_of(&run->settings.bench, number, &cell); number++) {
        if (!is_possible(run, &cell))
            continue;
        ++*count_ret;
        if (cell.rows * cell.n > total)
            total = cell.rows * cell.n;
    }
    return total;
}

static int add_figures(struct bench_run *run, const struct figures *figures)
{
    if (run->figure_count == run->room) {
        size_t room = run->room ? 2 * run->room : 64;
        struct figures *larger = realloc(run->figures, room * sizeof *larger);

        if (!larger)
            return fail(EXIT_FAILED, "no memory for the figures of more cells; give shorter lists");
        run->figures = larger;
        run->room = room;
    }
    run->figures[run->figure_count++] = *figures;
    return EXIT_DONE;
}

static int run_cell(struct bench_run *run, const struct cell *cell)
{
    struct figures figures;
    char what[64];
    int status;

    snprintf(what, sizeof what, "n %" PRIu64 ", k %" PRIu64, cell->n, cell->k);
    progress_report(NULL, what, (double)run->cells_done++ / (double)run->cells_all);
    status = measure_cell(&run->rig, &run->dataset, cell, &figures);
    return status == EXIT_DONE && !figures.left_out ? add_figures(run, &figures) : status;
}

/* All cells of the dataset that is there. */
static int run_cells(struct bench_run *run)
{
    int status = dataset_upload(&run->dataset, &run->rig.planned);
    struct cell cell;
    size_t number;

    for (number = 0; status == EXIT_DONE && cell_of(&run->settings.bench, number, &cell); number++) {
        if (!is_possible(run, &cell) || cell.rows * cell.n > run->dataset.input.n)
            continue;
        if (run->figure_count > 0 && clock_seconds() > run->rig.deadline) {
            run->out_of_time = true;
            break;
        }
        status = run_cell(run, &cell);
    }
    return status;
}

/* The inputs one after the other. */
static int run_made_inputs(struct bench_run *run, uint64_t total)
{
    const struct bench_options *bench = &run->settings.bench;
    int status = EXIT_DONE;
    size_t t, d;

    for (t = 0; t < bench->dtype.count && status == EXIT_DONE; t++) {
        for (d = 0; d < bench->distribution.count && status == EXIT_DONE && !run->out_of_time; d++) {
            progress_report(NULL, "making an input", (double)run->cells_done / (double)run->cells_all);
            status = dataset_make(&run->dataset, (uint32_t)bench->dtype.values[t],
                                  (uint32_t)bench->distribution.values[d], total);
            if (status == EXIT_DONE)
                status = run_cells(run);
            dataset_close(&run->dataset);
        }
    }
    return status;
}

/* --- the whole ----------------------------------------------------------------------------------------------------- */

static int open_rig(struct rig *rig, const struct settings *settings)
{
    struct planned *planned = &rig->planned;
    profk_status status;

    planned->device.struct_size = sizeof planned->device;
    status = profk_device_find(settings->device, &planned->device);
    if (status == PROFK_OK)
        status = profk_context_create_default(settings->device, NULL, &planned->ctx);
    if (status != PROFK_OK)
        return fail_status(status);
    return rig_open(rig, settings);
}

static void close_rig(struct rig *rig)
{
    rig_close(rig);
    planned_close(&rig->planned);
}

/* The scale that fits the device; it decides what the suite fills in. */
static void apply_suite(struct bench_run *run)
{
    struct bench_options *bench = &run->settings.bench;
    uint32_t scale = bench->scale;

    if (scale == SCALE_BY_DEVICE)
        scale = run->rig.planned.device.type & CL_DEVICE_TYPE_GPU ? SCALE_LARGE : SCALE_MEDIUM;
    if (bench->input && bench->n.count == 0) {
        bench->n.count = 1;
        bench->n.values[0] = run->dataset.input.n;
    }
    suite_apply(bench->suite, scale, bench, &run->most);
}

static int dump(const struct bench_run *run)
{
    const struct bench_options *bench = &run->settings.bench;
    struct output output = {.fd = -1};
    struct dataset dataset;
    size_t count;
    int status = dataset_make(&dataset, (uint32_t)bench->dtype.values[0], (uint32_t)bench->distribution.values[0],
                              survey(run, &count));

    if (status == EXIT_DONE)
        status = output_open(&output, bench->dump);
    if (status == EXIT_DONE)
        status = output_write(&output, dataset.input.source.bytes, (size_t)dataset.input.source.nbytes);
    if (status == EXIT_DONE)
        status = output_close(&output);
    if (status == EXIT_DONE)
        status = output_commit(&output);
    output_discard(&output);
    dataset_close(&dataset);
    return status;
}

static int print_figures(const struct bench_run *run)
{
    const struct bench_options *bench = &run->settings.bench;
    const struct figures_sheet sheet = {.cells = run->figures,
                                        .count = run->figure_count,
                                        .bench = bench->suite ? bench->suite : "single",
                                        .device = &run->rig.planned.device,
                                        .warmup = bench->warmup,
                                        .seconds = clock_seconds() - run->start,
                                        .complete = !run->out_of_time};

    if (run->figure_count == 0)
        return fail(EXIT_WRONG, "no cell of these lists can be measured here; give other -n, -k, --rows or --route");
    figures_print(run->settings.format, &sheet);
    return out_finish();
}

/* Everything behind the command line and the file. */
static int run_bench_on_device(struct bench_run *run)
{
    int status = open_rig(&run->rig, &run->settings);
    uint64_t total;

    if (status != EXIT_DONE)
        return status;
    apply_suite(run);
    total = survey(run, &run->cells_all);
    if (run->settings.bench.input) {
        status = run_cells(run);
    } else {
        run->cells_all *= run->settings.bench.dtype.count * run->settings.bench.distribution.count;
        if (total > 0)
            status = run_made_inputs(run, total);
    }
    progress_clear();
    return status == EXIT_DONE ? print_figures(run) : status;
}

/* --dump needs no device: the scale does not matter where -n is given. */
static int run_dump(struct bench_run *run)
{
    struct bench_options *bench = &run->settings.bench;

    if (bench->n.count == 0)
        return fail(EXIT_WRONG, "--dump needs -n; say how many elements the file shall have");
    bench->k.count = 1;
    bench->k.values[0] = 1;
    suite_apply(bench->suite, SCALE_MEDIUM, bench, &run->most);
    if (bench->dtype.count > 1 || bench->distribution.count > 1)
        return fail(EXIT_WRONG, "--dump writes one input; give one --dtype and one --distribution");
    return dump(run);
}

int run_bench(const struct settings *settings)
{
    struct bench_run run = {.settings = *settings, .start = clock_seconds()};
    const struct bench_options *bench = &run.settings.bench;
    int status = check_options(settings);

    if (status != EXIT_DONE)
        return status;
    progress_start(settings->quiet != 0);
    if (bench->dump)
        return run_dump(&run);
    if (bench->input)
        status = dataset_open(&run.dataset, bench->input, bench->dtype.count ? (uint32_t)bench->dtype.values[0] : 0);
    if (status == EXIT_DONE)
        status = run_bench_on_device(&run);
    dataset_close(&run.dataset);
    close_rig(&run.rig);
    free(run.figures);
    return status;
}
