/* cache.c: profk cache, the folder in which compiled kernels and tuned parameters are kept.  It never calls OpenCL. */
#include <inttypes.h>
#include <profk.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"
#include "report.h"
#include "subcommands.h"

typedef profk_status (*text_fn)(const profk_options *options, char *text, size_t room, size_t *need_ret);

/* What a function writes, to be freed; NULL on failure.  The text may grow between two calls. */
static char *read_all(text_fn from, int *exit_status_ret)
{
    char *text = NULL;
    size_t room = 0, need = 0;
    profk_status status = from(NULL, NULL, 0, &need);

    while (status == PROFK_OK && need > room) {
        char *grown = realloc(text, need);

        if (!grown) {
            free(text);
            *exit_status_ret = fail(EXIT_FAILED, "no memory for %zu bytes; free some", need);
            return NULL;
        }
        text = grown;
        room = need;
        status = from(NULL, text, room, &need);
    }
    *exit_status_ret = status == PROFK_OK ? EXIT_DONE : fail_status(status);
    if (status == PROFK_OK)
        return text;
    free(text);
    return NULL;
}

static int print_path(void)
{
    int status;
    char *path = read_all(profk_cache_path, &status);

    if (!path)
        return status;
    if (path[0] == '\0') {
        free(path);
        return fail(EXIT_FAILED, "nothing is kept on disk; set PROFK_CACHE_DIR to a folder, or HOME, and unset "
                                 "PROFK_CACHE");
    }
    out_text(path);
    out_text("\n");
    free(path);
    return out_finish();
}

static int print_list(void)
{
    int status;
    char *lines = read_all(profk_cache_list, &status);

    if (!lines)
        return status;
    out_text(lines);
    free(lines);
    return out_finish();
}

static int clear(void)
{
    uint64_t files = 0;
    profk_status status = profk_cache_clear(NULL, &files);

    if (status != PROFK_OK)
        return fail_status(status);
    out_format("%" PRIu64 " %s removed\n", files, files == 1 ? "file" : "files");
    return out_finish();
}

int run_cache(const struct settings *settings)
{
    const char *word = settings->file;

    if (!word)
        return fail(EXIT_WRONG, "path, list or clear is missing; see profk cache --help");
    if (strcmp(word, "path") == 0)
        return print_path();
    if (strcmp(word, "list") == 0)
        return print_list();
    if (strcmp(word, "clear") == 0)
        return clear();
    return fail(EXIT_WRONG, "profk cache knows no '%s'; give path, list or clear", word);
}
