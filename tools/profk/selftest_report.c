/* selftest_report.c: see selftest_report.h. */
#include "selftest_report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What stands behind the mark that the line begins with, NULL if it begins otherwise. */
static const char *behind(const char *line, const char *mark)
{
    size_t length = strlen(mark);

    return strncmp(line, mark, length) == 0 ? line + length : NULL;
}

static bool read_group(const char *line, struct report_group *ret)
{
    return sscanf(line, "%15s %" SCNu64 " of %" SCNu64 " trials %" SCNu64 " failed %lf s", ret->name, &ret->trials,
                  &ret->all, &ret->failed, &ret->seconds) == 5;
}

static bool read_misses(const char *line, struct report_misses *ret)
{
    return sscanf(line,
                  "misses %7[a-z]: %" SCNu64 " samples, %" SCNu64 " missed, theory %lf, %" SCNu64
                  " overflowed, theory %lf",
                  ret->shape, &ret->samples, &ret->missed, &ret->missed_theory, &ret->overflowed,
                  &ret->overflowed_theory) == 6;
}

/* The verdict's line is cut where it goes on with what was not run. */
static void read_verdict(char *verdict, struct selftest_report *ret)
{
    static const char mark[] = "; not run, for lack of time: ";
    char *end = strstr(verdict, mark);

    ret->verdict = verdict;
    if (end) {
        *end = '\0';
        ret->not_run = end + sizeof mark - 1;
    }
}

static void read_line(char *line, struct selftest_report *ret)
{
    const struct {
        const char *mark, **place;
    } texts[] = {{"seed: ", &ret->seed}, {"tuning: ", &ret->tuning}, {"shape: ", &ret->shape}};
    const char *text = behind(line, "failed: ");
    struct report_group group;
    struct report_misses misses;
    size_t i;

    for (i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (behind(line, texts[i].mark))
            *texts[i].place = behind(line, texts[i].mark);
    if (text && ret->failure_count < REPORT_LINES_MAX)
        ret->failures[ret->failure_count++] = text;
    else if (behind(line, "verdict: "))
        read_verdict(line + strlen("verdict: "), ret);
    else if (read_misses(line, &misses) && ret->misses_count < REPORT_LINES_MAX)
        ret->misses[ret->misses_count++] = misses;
    else if (read_group(line, &group) && strcmp(group.name, "all") == 0)
        ret->all = group;
    else if (read_group(line, &group) && ret->group_count < REPORT_LINES_MAX)
        ret->groups[ret->group_count++] = group;
    sscanf(line, "programs: %" SCNu64 " compiled, %" SCNu64, &ret->compiled, &ret->loaded);
    sscanf(line, "damage: %" SCNu64 " answers damaged on purpose, %" SCNu64, &ret->damaged, &ret->found);
}

void selftest_report_read(char *text, struct selftest_report *ret)
{
    char *end;

    *ret = (struct selftest_report){.verdict = "fail", .not_run = "", .seed = "", .tuning = "", .shape = ""};
    for (; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        *end = '\0';
        read_line(text, ret);
    }
}
