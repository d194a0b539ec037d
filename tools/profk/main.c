/* main.c: `profk SUBCOMMAND ...`. */
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "out.h"
#include "report.h"
#include "signals.h"
#include "subcommands.h"
#include "suites.h"

static const struct subcommand subcommands[] = {
    {"topk", FOR_TOPK, "FILE -k K [options]",
     "The exact k first elements of a vector, or of each row, in a .npy or raw binary file, or - for standard input.",
     run_topk},
    {"params", FOR_PARAMS, "-n N -k K [-e E] [-S S] [--json]",
     "Sample size, threshold rank and buffer size for n and k, with their failure probabilities.  Needs no device.",
     run_params},
    {"explain", FOR_EXPLAIN, "-n N -k K [options]",
     "What topk would do: route, parameters, memory, launches.  Needs a device.", run_explain},
    {"devices", FOR_DEVICES, "[--json]", "The OpenCL devices of this machine, and which of them profk can use.",
     run_devices},
    {"selftest", FOR_SELFTEST, "[--level 0|1|2] [--device SPEC] [--json]",
     "Is the answer right on this device?  A report to attach to an issue: its facts, every kernel and type on small\n"
     "inputs against the host, planted faults, misses against theory, speed.  Exit status 1: do not trust the device.",
     run_selftest},
    {"tune", FOR_TUNE, "[--budget SECONDS] [--export FILE] [--import FILE] [--device SPEC]",
     "Measures the device once and keeps what it finds: launch sizes, costs, where routes change.  Later runs use it.\n"
     "It changes the time of a call and never its answer.",
     run_tune},
    {"bench", FOR_BENCH, "[BENCH] [options]",
     "Times calls beside bare reads of the same input, and checks their answers.  BENCH: " SUITE_NAMES ".\n"
     "Each is a grid of cells; a list given here takes the place of the bench's own.  Without BENCH: one cell.",
     run_bench},
    {"cache", FOR_CACHE, "path|list|clear",
     "What is kept on disk between runs, compiled kernels and tuned parameters: path prints the folder, list a line a\n"
     "file, clear removes them.  PROFK_CACHE_DIR names the folder; empty, or PROFK_CACHE=0, keeps nothing.",
     run_cache},
};

static const char usage[] = "Usage: profk topk FILE -k K [options]\n"
                            "       profk params -n N -k K [-e E] [-S S] [--json]\n"
                            "       profk explain -n N -k K [options]\n"
                            "       profk devices [--json]\n"
                            "       profk selftest [--level 0|1|2] [--device SPEC] [--json]\n"
                            "       profk tune [--budget SECONDS] [--export FILE] [--import FILE]\n"
                            "       profk bench [BENCH] [options]\n"
                            "       profk cache path|list|clear\n"
                            "       profk --version\n"
                            "       profk SUBCOMMAND --help\n";

/* An opened file must not become a standard stream that was closed when we started: it fails as it would have. */
static void hold_standard_streams(void)
{
    const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    int fd;

    for (fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
            _exit(EXIT_FAILED);
}

/* Numbers are read and written in the C locale, whatever a driver calls setlocale() with. */
static void hold_c_locale(void)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

    if (c)
        uselocale(c);
}

static int run_subcommand(const struct subcommand *subcommand, int count, char *const *arguments)
{
    struct settings settings;
    int status = options_parse(subcommand, count, arguments, &settings);

    if (status != EXIT_DONE)
        return status;
    if (settings.help) {
        options_help(subcommand);
        return out_finish();
    }
    return subcommand->run(&settings);
}

static int print_version(int count)
{
    uint32_t version = profk_version();

    if (count > 2)
        return fail(EXIT_WRONG, "--version stands alone; leave the rest out");
    out_format("profk %u.%u.%u\n", (unsigned)(version / 10000), (unsigned)(version / 100 % 100),
               (unsigned)(version % 100));
    return out_finish();
}

static int refuse_subcommand(const char *name)
{
    return fail(EXIT_WRONG, "profk knows no subcommand '%s'; see profk --help", name);
}

int main(int count, char **arguments)
{
    size_t i;

    hold_standard_streams();
    hold_c_locale();
    signals_install();
    if (count < 2) {
        fputs(usage, stderr);
        return EXIT_WRONG;
    }
    for (i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++)
        if (strcmp(subcommands[i].name, arguments[1]) == 0)
            return run_subcommand(&subcommands[i], count - 2, arguments + 2);
    if (options_ask_for_help(count - 1, arguments + 1)) {
        out_text(usage);
        return out_finish();
    }
    if (strcmp(arguments[1], "--version") == 0)
        return print_version(count);
    return refuse_subcommand(arguments[1]);
}
