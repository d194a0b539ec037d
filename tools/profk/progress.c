/* progress.c: draws at most ten times a second, and not before the first second is over. */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

enum { BAR_CELLS = 30 };

static struct {
    bool on, colour, drawn;
    double next; /* seconds on the clock, before which nothing is drawn */
} bar;

static bool set_in_environment(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] != '\0';
}

void progress_start(bool quiet)
{
    const char *terminal = getenv("TERM");

    bar.on = !quiet && isatty(STDERR_FILENO);
    bar.colour = !set_in_environment("NO_COLOR") && terminal && strcmp(terminal, "dumb") != 0;
    bar.next = clock_seconds() + 1.0;
}

static void draw_cells(double fraction)
{
    int full = (int)(fraction * (double)BAR_CELLS), i;

    fputs(bar.colour ? "[\033[32m" : "[", stderr);
    for (i = 0; i < BAR_CELLS; i++)
        fputc(i < full ? '#' : ' ', stderr);
    fprintf(stderr, bar.colour ? "\033[0m] %3d%% " : "] %3d%% ", (int)(fraction * 100.0));
}

int progress_report(void *user, const char *what, double fraction)
{
    (void)user;
    if (!bar.on || clock_seconds() < bar.next)
        return 0;
    bar.next = clock_seconds() + 0.1;
    progress_clear();
    if (fraction >= 0.0 && fraction <= 1.0)
        draw_cells(fraction);
    fprintf(stderr, "%.30s", what);
    fflush(stderr);
    bar.drawn = true;
    return 0;
}

void progress_clear(void)
{
    if (!bar.drawn)
        return;
    fprintf(stderr, "\r%*s\r", BAR_CELLS + 45, "");
    fflush(stderr);
    bar.drawn = false;
}
