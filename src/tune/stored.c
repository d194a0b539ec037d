/*
 * stored.c: tuned values in the store and in files.
 *
 * What is stored depends on the device, its driver and its cores, on the kernels and on the format: all of that is the
 * key.  An exported file is the key, a line of dashes and the values.
 */
#include "tune/tune.h"

#include "base/file.h"
#include "base/hash.h"
#include "runtime/kernels.h"
#include "runtime/key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "# profk tuning, exported\n"
#define DIVIDER "---\n"

enum { FILE_NBYTES_MAX = 1 << 16, BODY_NBYTES = 4096 };

/* One digest of all kernels. */
static uint64_t kernels_digest(void)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < profk__kernel_source_count; i++)
        hash = profk__hash(hash, profk__kernel_sources[i].sha256, 64);
    return hash;
}

/* The key of the context's device, in room of PROFK__KEY_NBYTES; 0 where nothing can be stored. */
static int make_key(const profk_context *ctx, const char *device_key, char *room)
{
    struct profk__text key = profk__text_in(room, PROFK__KEY_NBYTES);
    char digest[17], units[16];
    struct profk__text digits = profk__text_in(digest, sizeof digest), count = profk__text_in(units, sizeof units);

    if (device_key == NULL)
        return 0;
    profk__text_add(&digits, "%016llx", (unsigned long long)kernels_digest());
    profk__text_add(&count, "%u", (unsigned)ctx->device.facts.compute_units);
    profk__text_add(&key, "%s", device_key);
    profk__key_add(&key, "compute_units", units);
    profk__key_add(&key, "kernels", digest);
    profk__key_add(&key, "what", "tuned parameters");
    return key.length < PROFK__KEY_NBYTES;
}

void profk__tuned_load(profk_context *ctx)
{
    char key[PROFK__KEY_NBYTES], *body = NULL;
    size_t nbytes = 0;
    struct profk__tuned tuned = ctx->tuned;

    if (make_key(ctx, ctx->device_key, key)
        && profk__store_get(&ctx->store, PROFK__STORE_TUNING, key, &body, &nbytes) && profk__tuned_read(body, &tuned))
        profk__context_tune(ctx, &tuned);
    free(body);
}

int profk__tuned_save(const profk_context *ctx, const struct profk__tuned *tuned)
{
    char key[PROFK__KEY_NBYTES], room[BODY_NBYTES];
    struct profk__text body = profk__text_in(room, sizeof room);

    profk__tuned_write(tuned, &body);
    return make_key(ctx, ctx->device_key, key)
        && profk__store_put(&ctx->store, PROFK__STORE_TUNING, key, room, body.length);
}

/* A context without a store has no device key: here it is needed all the same. */
static profk_status make_file_key(const profk_context *ctx, char *key)
{
    struct profk__key_facts facts;
    char room[PROFK__KEY_NBYTES];
    struct profk__text device = profk__text_in(room, sizeof room);

    if (!profk__key_read(ctx->device.facts.id, &facts))
        return profk__fail(PROFK_ERR_OPENCL, "the driver does not say what device this is (clGetDeviceInfo)");
    profk__key_add_device(&device, &facts);
    make_key(ctx, room, key);
    return PROFK_OK;
}

static profk_status fail_file(const char *what, const char *path, int error)
{
    return profk__fail(error == ENOMEM ? PROFK_ERR_HOST_MEMORY : PROFK_ERR_IO, "cannot %s %s (%s)", what, path,
                       error == ENOMEM ? "no memory" : strerror(error));
}

profk_status profk__tuned_export(profk_context *ctx, const char *path)
{
    profk_status st = PROFK_OK;
    struct profk__tuned tuned = profk__context_tuned(ctx);
    char key[PROFK__KEY_NBYTES], room[PROFK__KEY_NBYTES + BODY_NBYTES];
    struct profk__text file = profk__text_in(room, sizeof room);
    int error;

    if (!tuned.is_measured) {
        st = profk__fail(PROFK_ERR_UNSUPPORTED, "nothing was tuned on this device; run 'profk tune' or profk_tune() first");
        goto done;
    }
    TRY(make_file_key(ctx, key));
    profk__text_add(&file, FIRST_LINE "%s" DIVIDER, key);
    profk__tuned_write(&tuned, &file);
    error = profk__file_write(path, room, file.length);
    if (error != 0)
        st = fail_file("write", path, error);
done:
    return st;
}

/* The first line in which two keys differ, as the file has it. */
static const char *first_difference(char *file_key, const char *key)
{
    char *line = file_key;

    while (*line != '\0' && *key != '\0') {
        size_t length = strcspn(line, "\n");
        if (strncmp(line, key, length + 1) != 0)
            break;
        line += length + 1;
        key += length + 1;
    }
    line[strcspn(line, "\n")] = '\0';
    return line;
}

profk_status profk__tuned_import(profk_context *ctx, const char *path)
{
    profk_status st = PROFK_OK;
    struct profk__tuned tuned = profk__tuned_builtin(&ctx->device);
    char key[PROFK__KEY_NBYTES], *bytes = NULL, *divider;
    size_t nbytes = 0;
    int error = profk__file_read(path, FILE_NBYTES_MAX, &bytes, &nbytes);

    if (error != 0) {
        st = fail_file("read", path, error);
        goto done;
    }
    divider = strstr(bytes, "\n" DIVIDER);
    if (strlen(bytes) != nbytes || strncmp(bytes, FIRST_LINE, strlen(FIRST_LINE)) != 0 || divider == NULL
        || !profk__tuned_read(divider + strlen("\n" DIVIDER), &tuned)) {
        st = profk__fail(PROFK_ERR_ARGUMENT, "%s is no tuning that profk exported, or was changed; export it again", path);
        goto done;
    }
    divider[1] = '\0'; /* the key ends here */
    TRY(make_file_key(ctx, key));
    if (strcmp(bytes + strlen(FIRST_LINE), key) != 0) {
        st = profk__fail(PROFK_ERR_UNSUPPORTED, "%s is of another device, driver or release of profk ('%s'); tune here "
                         "instead", path, first_difference(bytes + strlen(FIRST_LINE), key));
        goto done;
    }
    profk__context_tune(ctx, &tuned);
    profk__tuned_save(ctx, &tuned); /* where nothing can be stored it serves this context */
done:
    free(bytes);
    return st;
}
