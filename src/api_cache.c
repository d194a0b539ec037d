/* api_cache.c: entry points that look into the folder of the stores.  No device is needed. */
#include "base/text.h"
#include "runtime/context.h"

#include <errno.h>
#include <string.h>

static profk_status fail_io(const struct profk__store *store, const char *what, int error)
{
    const char *folder = store->folder != NULL ? store->folder : "";

    if (error == ENOMEM)
        return profk__fail(PROFK_ERR_HOST_MEMORY, "no memory to %s the cache folder %s", what, folder);
    return profk__fail(PROFK_ERR_IO, "cannot %s the cache folder %s (%s); look at its permissions", what, folder,
                       strerror(error));
}

/* known must live as long as the store. */
static profk_status open_store(const profk_options *options, profk_options *known, struct profk__store *store)
{
    profk_status st = PROFK_OK;

    TRY(profk__options_check(options, known));
    int error = profk__store_open(store, known);
    if (error != 0)
        st = fail_io(store, "name", error);
done:
    return st;
}

static profk_status check_room(const char *text, size_t room, const char *name)
{
    if (text == NULL && room > 0)
        return profk__fail(PROFK_ERR_ARGUMENT, "%s: the text is NULL but has room", name);
    return PROFK_OK;
}

profk_status profk_cache_path(const profk_options *options, char *path, size_t room, size_t *need_ret)
{
    profk_status st = PROFK_OK;
    profk_options known;
    struct profk__store store = {NULL, NULL};

    TRY(check_room(path, room, "profk_cache_path"));
    TRY(open_store(options, &known, &store));
    const char *folder = store.folder != NULL ? store.folder : "";
    profk__text_copy(path, room, folder);
    if (need_ret != NULL)
        *need_ret = strlen(folder) + 1;
done:
    profk__store_close(&store);
    return st;
}

profk_status profk_cache_list(const profk_options *options, char *text, size_t room, size_t *need_ret)
{
    profk_status st = PROFK_OK;
    profk_options known;
    struct profk__store store = {NULL, NULL};

    TRY(check_room(text, room, "profk_cache_list"));
    TRY(open_store(options, &known, &store));
    struct profk__text lines = profk__text_in(text, room);
    int error = profk__store_list(&store, &lines);
    if (error != 0) {
        st = fail_io(&store, "read", error);
        goto done;
    }
    if (need_ret != NULL)
        *need_ret = lines.length + 1;
done:
    profk__store_close(&store);
    return st;
}

profk_status profk_cache_clear(const profk_options *options, uint64_t *files_ret)
{
    profk_status st = PROFK_OK;
    profk_options known;
    struct profk__store store = {NULL, NULL};
    uint64_t files = 0;

    TRY(open_store(options, &known, &store));
    int error = profk__store_clear(&store, &files);
    if (files_ret != NULL)
        *files_ret = files;
    if (error != 0)
        st = fail_io(&store, "clear", error);
done:
    profk__store_close(&store);
    return st;
}
