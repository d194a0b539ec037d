/* selftest_report.h: what profk_selftest() wrote, line by line (profk.h), taken apart for JSON. */
#ifndef PROFK_COMMAND_SELFTEST_REPORT_H
#define PROFK_COMMAND_SELFTEST_REPORT_H

#include <stddef.h>
#include <stdint.h>

enum { REPORT_LINES_MAX = 16 }; /* of a kind */

/* The line of a group. */
struct report_group {
    char name[16];
    uint64_t trials, all, failed; /* all: trials that were made and those for which there was no time */
    double seconds;
};

/* The line of how often samples missed. */
struct report_misses {
    char shape[8];
    uint64_t samples, missed, overflowed;
    double missed_theory, overflowed_theory;
};

struct selftest_report {
    struct report_group groups[REPORT_LINES_MAX], all;
    struct report_misses misses[REPORT_LINES_MAX];
    const char *failures[REPORT_LINES_MAX];
    size_t group_count, misses_count, failure_count;
    const char *seed, *tuning, *shape; /* "" where the report has no such line */
    const char *verdict, *not_run;     /* "fail" without a line; not_run: "" or the groups, behind the verdict */
    uint64_t compiled, loaded;         /* programs */
    uint64_t damaged, found;           /* answers that the self-test damaged on purpose, and damage that it found */
};

/* Cuts the text into lines, which *ret points into. */
void selftest_report_read(char *text, struct selftest_report *ret);

#endif
