/* store.c: the folder, and the format of an entry; see store.h. */
#include "runtime/store.h"

#include "base/file.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_NBYTES = 8192, MAGIC_NBYTES = 32, TEMPORARY_SECONDS = 3600 };

static const struct {
    const char *word, *extension;
    int version;
    size_t most_nbytes; /* of a file; what is larger is none of ours */
} kinds[PROFK__STORE_KIND_COUNT] = {
    [PROFK__STORE_BINARY] = {"binary", ".bin", PROFK__STORE_BINARY_VERSION, (size_t)256 << 20},
    [PROFK__STORE_TUNING] = {"tuning", ".tuning", PROFK__STORE_TUNING_VERSION, (size_t)1 << 20},
};

/* ---- the folder ---- */

/* head and tail joined, to be freed; NULL without memory. */
static char *join(const char *head, const char *tail)
{
    size_t room = strlen(head) + strlen(tail) + 1;
    char *joined = malloc(room);

    if (joined != NULL)
        snprintf(joined, room, "%s%s", head, tail);
    return joined;
}

/* The folder's name as two parts to be joined; 0 where nothing is to be kept. */
static int folder_of_environment(const char **head_ret, const char **tail_ret)
{
    const char *off = getenv("PROFK_CACHE"), *own = getenv("PROFK_CACHE_DIR");
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    *head_ret = own;
    *tail_ret = "";
    if (off != NULL && strcmp(off, "0") == 0)
        return 0;
    if (own != NULL)
        return own[0] != '\0';
    *head_ret = xdg;
    *tail_ret = "/profk";
    if (xdg != NULL && xdg[0] == '/') /* its specification says to ignore what is relative */
        return 1;
    *head_ret = home;
    *tail_ret = "/.cache/profk";
    return home != NULL && home[0] == '/'; /* never a folder that others can foresee: binaries are code */
}

int profk__store_open(struct profk__store *store, const profk_options *options)
{
    const char *head = options->cache_dir, *tail = "";
    int is_kept = head != NULL ? head[0] != '\0' : folder_of_environment(&head, &tail);

    store->options = options;
    store->folder = is_kept ? join(head, tail) : NULL;
    return is_kept && store->folder == NULL ? ENOMEM : 0;
}

void profk__store_close(struct profk__store *store)
{
    free(store->folder);
    store->folder = NULL;
}

/* ---- an entry's name ---- */

static void write_magic(enum profk__store_kind kind, char to[MAGIC_NBYTES])
{
    snprintf(to, MAGIC_NBYTES, "# profk %s %d\n", kinds[kind].word, kinds[kind].version);
}

/* Versions differ in the name, too, so that two releases do not overwrite each other's. */
static char *path_of_entry(const struct profk__store *store, enum profk__store_kind kind, const char *key)
{
    char magic[MAGIC_NBYTES], name[PROFK__STORE_NAME_NBYTES];

    write_magic(kind, magic);
    uint64_t hash = profk__hash(profk__hash(0, magic, strlen(magic)), key, strlen(key));
    snprintf(name, sizeof name, "/profk-%016" PRIx64 "%s", hash, kinds[kind].extension);
    return join(store->folder, name);
}

/* Whether name is "profk-", 16 hex digits, and extension. */
static int is_name(const char *name, const char *extension)
{
    enum { PREFIX = sizeof "profk-" - 1, DIGITS = 16 };

    return strncmp(name, "profk-", PREFIX) == 0 && strspn(name + PREFIX, "0123456789abcdef") == DIGITS
        && strcmp(name + PREFIX + DIGITS, extension) == 0;
}

/* ---- an entry's text ---- */

int profk__store_next(const char **at, struct profk__store_line *ret)
{
    static const char name_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
    const char *line = *at;
    size_t name_length = strspn(line, name_letters), value_length = 0;
    const char *value = line + name_length + sizeof " = " - 1;

    if (line[0] == '\0')
        return 0;
    if (name_length == 0 || strncmp(line + name_length, " = ", sizeof " = " - 1) != 0)
        return -1;
    while (value[value_length] >= ' ' && value[value_length] <= '~')
        value_length++;
    if (value_length == 0 || value[value_length] != '\n')
        return -1;
    *ret = (struct profk__store_line){line, value, name_length, value_length};
    *at = value + value_length + 1;
    return 1;
}

/* Whether body, which ends in a zero, is what its kind says. */
static int is_body(enum profk__store_kind kind, const char *body, size_t nbytes)
{
    struct profk__store_line line;
    const char *at = body;
    int found = 1;

    if (kind != PROFK__STORE_TUNING)
        return 1;
    while (found == 1)
        found = profk__store_next(&at, &line);
    return found == 0 && (size_t)(at - body) == nbytes; /* else a zero in its midst */
}

static void write_checksum(uint64_t hash, char to[MAGIC_NBYTES])
{
    snprintf(to, MAGIC_NBYTES, "checksum: %016" PRIx64 "\n\n", hash);
}

/* An entry taken apart; places in the file's bytes. */
struct parts {
    const char *key, *body;
    size_t key_nbytes, body_nbytes;
};

/* The line that begins with `payload: `; NULL if the header has none. */
static const char *find_payload_line(const char *at, const char *end)
{
    static const char label[] = "payload: ";

    while (at != NULL && at < end) {
        if ((size_t)(end - at) >= sizeof label - 1 && memcmp(at, label, sizeof label - 1) == 0)
            return at;
        at = memchr(at, '\n', (size_t)(end - at));
        at = at == NULL ? NULL : at + 1;
    }
    return NULL;
}

static int begins_with(const char *at, const char *end, const char *text)
{
    size_t length = strlen(text);

    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}

/* Takes the bytes of a whole file apart.  1 if it is an entry, unharmed.  Every byte of it is either compared with
 * what it must be or part of the checksum. */
static int take_apart(enum profk__store_kind kind, const char *file, size_t nbytes, struct parts *ret)
{
    char magic[MAGIC_NBYTES], line[MAGIC_NBYTES];
    const char *end = file + nbytes, *payload, *body;

    write_magic(kind, magic);
    if (!begins_with(file, end, magic))
        return 0;
    payload = find_payload_line(file, end);
    if (payload == NULL)
        return 0;
    body = memchr(payload, '\n', (size_t)(end - payload));
    if (body == NULL)
        return 0;
    const char *header_end = body + 1;
    write_checksum(0, line);
    if ((size_t)(end - header_end) < strlen(line))
        return 0;
    body = header_end + strlen(line);
    write_checksum(profk__hash(profk__hash(0, file, (size_t)(header_end - file)), body, (size_t)(end - body)), line);
    if (!begins_with(header_end, end, line))
        return 0;
    snprintf(line, sizeof line, "payload: %zu\n", (size_t)(end - body));
    if (!begins_with(payload, end, line) || payload + strlen(line) != header_end)
        return 0;
    *ret = (struct parts){file + strlen(magic), body, 0, (size_t)(end - body)};
    ret->key_nbytes = (size_t)(payload - ret->key);
    return is_body(kind, body, ret->body_nbytes);
}

int profk__store_get(const struct profk__store *store, enum profk__store_kind kind, const char *key, char **body_ret,
                     size_t *nbytes_ret)
{
    char *path = store->folder != NULL ? path_of_entry(store, kind, key) : NULL, *file = NULL;
    struct parts parts;
    size_t nbytes = 0;
    int found = path != NULL && profk__file_read(path, kinds[kind].most_nbytes, &file, &nbytes) == 0
             && take_apart(kind, file, nbytes, &parts) && parts.key_nbytes == strlen(key)
             && memcmp(parts.key, key, parts.key_nbytes) == 0;

    free(path);
    if (!found) {
        free(file);
        return 0;
    }
    *nbytes_ret = parts.body_nbytes;
    *body_ret = memmove(file, parts.body, parts.body_nbytes + 1); /* with the final zero */
    return 1;
}

/* The bytes of an entry's file, to be freed; NULL if there is no memory or the key does not fit. */
static char *put_together(enum profk__store_kind kind, const char *key, const void *body, size_t body_nbytes,
                          size_t *nbytes_ret)
{
    char magic[MAGIC_NBYTES], line[MAGIC_NBYTES];
    char *file = malloc(HEADER_NBYTES + body_nbytes + 1);

    if (file == NULL)
        return NULL;
    struct profk__text text = profk__text_in(file, HEADER_NBYTES);
    write_magic(kind, magic);
    profk__text_add(&text, "%s%spayload: %zu\n", magic, key, body_nbytes);
    uint64_t hash = profk__hash(0, file, text.length < text.nbytes ? text.length : 0);
    write_checksum(profk__hash(hash, body, body_nbytes), line);
    profk__text_add(&text, "%s", line);
    if (text.length >= text.nbytes) {
        free(file);
        return NULL;
    }
    memcpy(file + text.length, body, body_nbytes);
    *nbytes_ret = text.length + body_nbytes;
    file[*nbytes_ret] = '\0';
    return file;
}

/* Writes and, where the folder is missing, makes it and writes again. */
static int write_entry(const struct profk__store *store, const char *path, const char *file, size_t nbytes)
{
    int error = profk__file_write(path, file, nbytes);

    if (error == ENOENT && profk__folder_make(store->folder) == 0)
        error = profk__file_write(path, file, nbytes);
    return error == 0;
}

void profk__store_tell(const struct profk__store *store, const char *what, const char *name)
{
    const profk_options *options = store->options;
    char line[512];
    struct profk__text text = profk__text_in(line, sizeof line);

    if (options->log == NULL || (options->flags & PROFK_TRACE) == 0)
        return;
    profk__text_add(&text, "%s %s", what, name);
    options->log(options->user, 0, line);
}

int profk__store_put(const struct profk__store *store, enum profk__store_kind kind, const char *key, const void *body,
                     size_t nbytes)
{
    char *path = NULL, *file = NULL;
    struct parts parts;
    size_t file_nbytes = 0;
    int written = 0;

    if (store->folder == NULL || nbytes > kinds[kind].most_nbytes - HEADER_NBYTES)
        return 0;
    path = path_of_entry(store, kind, key);
    file = put_together(kind, key, body, nbytes, &file_nbytes);
    if (path != NULL && file != NULL) {
        /* What would not be found is not written: a key with a line of ours in it, a malformed tuning. */
        written = take_apart(kind, file, file_nbytes, &parts) && parts.key_nbytes == strlen(key)
               && write_entry(store, path, file, file_nbytes);
        profk__store_tell(store, written ? "stored" : "could not store", path);
    }
    free(file);
    free(path);
    return written;
}

/* ---- all entries ---- */

/* The kind of the entry with this file name; PROFK__STORE_KIND_COUNT if it is none. */
static enum profk__store_kind kind_of_name(const char *name)
{
    int kind = 0;

    while (kind < PROFK__STORE_KIND_COUNT && !is_name(name, kinds[kind].extension))
        kind++;
    return (enum profk__store_kind)kind;
}

/* Names of entries and temporaries; others are nobody's business. */
struct names {
    char (*at)[PROFK__STORE_NAME_NBYTES];
    size_t count, room;
    int failed;
};

static void collect(void *user, const char *name)
{
    struct names *names = user;

    if (kind_of_name(name) == PROFK__STORE_KIND_COUNT && !is_name(name, PROFK__TEMPORARY_SUFFIX))
        return;
    if (names->count == names->room) {
        size_t room = names->room > 0 ? 2 * names->room : 64;
        void *grown = realloc(names->at, room * sizeof *names->at);
        if (grown == NULL) {
            names->failed = 1;
            return;
        }
        names->at = grown;
        names->room = room;
    }
    profk__text_copy(names->at[names->count++], PROFK__STORE_NAME_NBYTES, name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* 0, ENOMEM or the errno of the folder; one that does not exist has no names.  names->at is to be freed. */
static int read_names(const struct profk__store *store, struct names *names)
{
    *names = (struct names){NULL, 0, 0, 0};
    int error = store->folder != NULL ? profk__folder_visit(store->folder, collect, names) : 0;
    if (names->count > 0)
        qsort(names->at, names->count, sizeof *names->at, by_name);
    return names->failed ? ENOMEM : error == ENOENT ? 0 : error;
}

static char *path_of_name(const struct profk__store *store, const char *name)
{
    char tail[PROFK__STORE_NAME_NBYTES + 1];

    snprintf(tail, sizeof tail, "/%s", name);
    return join(store->folder, tail);
}

/* Appends the value of a line of the key, "-" if it has none. */
static void add_fact(struct profk__text *text, const struct parts *parts, const char *label)
{
    const char *at = parts->key, *end = parts->key + parts->key_nbytes;

    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL)
            break;
        if (begins_with(at, line_end, label)) {
            at += strlen(label);
            profk__text_add(text, "  %.*s", (int)(line_end - at), at);
            return;
        }
        at = line_end + 1;
    }
    profk__text_add(text, "  -");
}

/* 0 or ENOMEM; an entry that has gone meanwhile, or is no file, is no failure. */
static int list_entry(const struct profk__store *store, const char *name, struct profk__text *text)
{
    enum profk__store_kind kind = kind_of_name(name);
    char *path = path_of_name(store, name), *file = NULL;
    struct parts parts;
    size_t nbytes = 0;
    int error = path == NULL ? ENOMEM : profk__file_read(path, kinds[kind].most_nbytes, &file, &nbytes);

    if (error != 0)
        goto done;
    profk__text_add(text, "%-29s  %s  %9zu", name, kinds[kind].word, nbytes);
    if (take_apart(kind, file, nbytes, &parts)) {
        add_fact(text, &parts, "device: ");
        add_fact(text, &parts, "what: ");
    } else {
        profk__text_add(text, "  -  damaged, or of another release");
    }
    profk__text_add(text, "\n");
done:
    free(file);
    free(path);
    return error == ENOMEM ? error : 0;
}

int profk__store_list(const struct profk__store *store, struct profk__text *text)
{
    struct names names;
    int error = read_names(store, &names);

    for (size_t i = 0; i < names.count && error == 0; i++)
        if (kind_of_name(names.at[i]) != PROFK__STORE_KIND_COUNT)
            error = list_entry(store, names.at[i], text);
    free(names.at);
    return error;
}

/* Removes an entry, or a temporary that nobody writes any more.  What has gone meanwhile, and a folder that has such a
 * name, is no failure. */
static int clear_one(const struct profk__store *store, const char *name, uint64_t *files)
{
    char *path = path_of_name(store, name);
    int64_t seconds = 0;
    int error = path == NULL ? ENOMEM : profk__file_age(path, &seconds);

    if (error == 0 && is_name(name, PROFK__TEMPORARY_SUFFIX) && seconds < TEMPORARY_SECONDS)
        error = ENOENT;
    if (error == 0) {
        error = profk__file_remove(path);
        *files += error == 0;
    }
    free(path);
    return error == ENOENT ? 0 : error;
}

int profk__store_clear(const struct profk__store *store, uint64_t *files_ret)
{
    struct names names;
    int error = read_names(store, &names);

    *files_ret = 0;
    for (size_t i = 0; i < names.count; i++) {
        int one = clear_one(store, names.at[i], files_ret);
        error = error == 0 ? one : error;
    }
    free(names.at);
    return error;
}
