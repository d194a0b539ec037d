/*
 * test_store.c: the folder that is chosen, what makes a key, and entries under every kind of trouble.
 *
 * Trouble is a miss: get() and put() return 0, the process lives, and nothing half-written stays behind.
 */
#define _DEFAULT_SOURCE /* mkdtemp, setenv, utimensat, waits and limits */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/key.h"
#include "runtime/store.h"

enum { PATH_ROOM = 512, LARGE = 1 << 20 };

static const char key[] = "platform: a platform\ndevice: a device\nwhat: filter.cl -DPK_WG=256\n";
static const char body[] = "filter_wg = 256\nshape = tile, of course\n";
static const profk_options no_log = {.struct_size = sizeof no_log};

static char folder[PATH_ROOM];

/* ---- helpers ---- */

static void write_path(char to[PATH_ROOM], const char *name)
{
    assert_true(snprintf(to, PATH_ROOM, "%s/%s", folder, name) < PATH_ROOM);
}

static struct profk__store open_at(const char *path)
{
    const profk_options options = {.struct_size = sizeof options, .cache_dir = path};
    struct profk__store store;

    profk__store_open(&store, &options);
    store.options = &no_log;
    return store;
}

static int put(const struct profk__store *store, enum profk__store_kind kind)
{
    return profk__store_put(store, kind, key, body, sizeof body - 1);
}

/* 1: the entry is there and right.  0: it is not there.  Anything else fails the test. */
static int get(const struct profk__store *store, enum profk__store_kind kind)
{
    char *found = NULL;
    size_t nbytes = 0;

    if (!profk__store_get(store, kind, key, &found, &nbytes)) {
        assert_null(found);
        return 0;
    }
    assert_int_equal(nbytes, sizeof body - 1);
    assert_memory_equal(found, body, sizeof body);
    free(found);
    return 1;
}

/* Files in the folder, and the name of the last. */
static int count_files(char name_ret[PATH_ROOM])
{
    DIR *open_folder = opendir(folder);
    struct dirent *entry;
    int count = 0;

    assert_non_null(open_folder);
    while ((entry = readdir(open_folder)) != NULL)
        if (entry->d_name[0] != '.') {
            count++;
            if (name_ret != NULL)
                snprintf(name_ret, PATH_ROOM, "%s", entry->d_name);
        }
    closedir(open_folder);
    return count;
}

/* The path of the only entry. */
static void find_entry(char path[PATH_ROOM])
{
    char name[PATH_ROOM];

    assert_int_equal(count_files(name), 1);
    assert_true(snprintf(path, PATH_ROOM, "%.200s/%.200s", folder, name) < PATH_ROOM);
}

static void write_file(const char *path, const void *bytes, size_t nbytes)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, nbytes, file), nbytes);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *path, size_t *nbytes_ret)
{
    char *bytes = NULL;

    assert_int_equal(profk__file_read(path, LARGE, &bytes, nbytes_ret), 0);
    return bytes;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s/store-XXXXXX", PROFK_TEST_SCRATCH);
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char command[PATH_ROOM + 16];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* ---- which folder ---- */

struct environment {
    const char *off, *own, *xdg, *home; /* NULL: not set */
    const char *folder;                 /* NULL: nothing is kept */
};

static void set_or_unset(const char *name, const char *value)
{
    assert_int_equal(value != NULL ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void the_environment_names_the_folder(void **state)
{
    static const struct environment cases[] = {
        {NULL, "/own", "/xdg", "/home", "/own"},
        {NULL, "own/relative", "/xdg", "/home", "own/relative"},
        {NULL, "", "/xdg", "/home", NULL},
        {"0", "/own", "/xdg", "/home", NULL},
        {"0", NULL, "/xdg", "/home", NULL},
        {"1", NULL, "/xdg", "/home", "/xdg/profk"},
        {"", NULL, "/xdg", "/home", "/xdg/profk"},
        {NULL, NULL, "/xdg", "/home", "/xdg/profk"},
        {NULL, NULL, "xdg", "/home", "/home/.cache/profk"},
        {NULL, NULL, "", "/home", "/home/.cache/profk"},
        {NULL, NULL, NULL, "/home", "/home/.cache/profk"},
        {NULL, NULL, NULL, "home", NULL},
        {NULL, NULL, NULL, "", NULL},
        {NULL, NULL, "xdg", NULL, NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    struct environment old = {getenv("PROFK_CACHE"), getenv("PROFK_CACHE_DIR"), getenv("XDG_CACHE_HOME"),
                              getenv("HOME"), NULL};
    const char **const values[] = {&old.off, &old.own, &old.xdg, &old.home};

    (void)state;
    for (size_t i = 0; i < 4; i++) /* setenv() may free what getenv() gave */
        *values[i] = *values[i] != NULL ? strdup(*values[i]) : NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct environment *c = &cases[i];
        struct profk__store store;

        set_or_unset("PROFK_CACHE", c->off);
        set_or_unset("PROFK_CACHE_DIR", c->own);
        set_or_unset("XDG_CACHE_HOME", c->xdg);
        set_or_unset("HOME", c->home);
        store = open_at(NULL);
        if (c->folder == NULL)
            assert_null(store.folder);
        else
            assert_string_equal(store.folder, c->folder);
        profk__store_close(&store);
        store = open_at("/asked/for");
        assert_string_equal(store.folder, "/asked/for");
        profk__store_close(&store);
        store = open_at("");
        assert_null(store.folder);
        profk__store_close(&store);
    }
    set_or_unset("PROFK_CACHE", old.off);
    set_or_unset("PROFK_CACHE_DIR", old.own);
    set_or_unset("XDG_CACHE_HOME", old.xdg);
    set_or_unset("HOME", old.home);
    for (size_t i = 0; i < 4; i++)
        free((char *)(uintptr_t)*values[i]);
}

static void without_a_folder_nothing_is_kept(void **state)
{
    const struct profk__store store = open_at("");
    struct profk__text text = profk__text_in(NULL, 0);
    uint64_t files = 1;

    (void)state;
    assert_false(put(&store, PROFK__STORE_BINARY));
    assert_false(get(&store, PROFK__STORE_BINARY));
    assert_int_equal(profk__store_list(&store, &text), 0);
    assert_int_equal(text.length, 0);
    assert_int_equal(profk__store_clear(&store, &files), 0);
    assert_int_equal(files, 0);
}

/* The folder and its parent are made, for their owner alone; nothing above them is. */
static void the_folder_is_made_when_it_is_needed(void **state)
{
    char path[PATH_ROOM];
    struct profk__store store;
    struct stat facts;

    (void)state;
    write_path(path, "a/b");
    store = open_at(path);
    assert_false(get(&store, PROFK__STORE_TUNING));
    assert_int_not_equal(stat(path, &facts), 0);
    assert_true(put(&store, PROFK__STORE_TUNING));
    assert_true(get(&store, PROFK__STORE_TUNING));
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    profk__store_close(&store);

    write_path(path, "c/d/e/");
    store = open_at(path);
    assert_false(put(&store, PROFK__STORE_TUNING));
    profk__store_close(&store);
    write_path(path, "c");
    assert_int_not_equal(stat(path, &facts), 0);
}

/* ---- entries ---- */

static void what_was_put_is_found(void **state)
{
    struct profk__store store = open_at(folder);
    char path[PATH_ROOM], *file;
    size_t nbytes;
    struct stat facts;

    (void)state;
    assert_false(get(&store, PROFK__STORE_TUNING));
    assert_true(put(&store, PROFK__STORE_TUNING));
    assert_true(get(&store, PROFK__STORE_TUNING));
    assert_false(get(&store, PROFK__STORE_BINARY)); /* another kind */
    find_entry(path);
    file = read_file(path, &nbytes);
    assert_int_equal(strncmp(file, "# profk tuning 1\nplatform: a platform\n", 38), 0);
    assert_non_null(strstr(file, "\npayload: 40\nchecksum: "));
    assert_non_null(strstr(file, "\n\nfilter_wg = 256\nshape = tile, of course\n"));
    free(file);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 077, 0);
    assert_true(put(&store, PROFK__STORE_TUNING)); /* in place of the old one */
    assert_int_equal(count_files(NULL), 1);
    assert_true(get(&store, PROFK__STORE_TUNING));
    profk__store_close(&store);
}

static void bodies_of_any_bytes_and_size(void **state)
{
    struct profk__store store = open_at(folder);
    char *bytes = malloc(LARGE), *found;
    size_t nbytes;

    (void)state;
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (char)(i * 7 >> 3);
    for (size_t size = 0; size <= LARGE; size = size < 20 ? size + 1 : size * 16 + 3) {
        found = NULL;
        assert_true(profk__store_put(&store, PROFK__STORE_BINARY, key, bytes, size));
        assert_true(profk__store_get(&store, PROFK__STORE_BINARY, key, &found, &nbytes));
        assert_int_equal(nbytes, size);
        assert_memory_equal(found, bytes, size);
        assert_int_equal(found[nbytes], 0);
        free(found);
    }
    free(bytes);
    profk__store_close(&store);
}

static void tunings_are_lines(void **state)
{
    static const char *const malformed[] = {
        "a",  "a\n",       "a=1\n",    "a = 1",     "a = \n",      "= 1\n",         "A = 1\n",
        "\n", "a = 1\n\n", "a = \t\n", "a b = 1\n", "a = 1\nb = ", "a = \xc3\xa4\n"};
    struct profk__store store = open_at(folder);
    struct profk__store_line line;
    const char *at = "a = 1\nb.c_9 =  two words \n";

    (void)state;
    assert_int_equal(profk__store_next(&at, &line), 1);
    assert_true(line.name_length == 1 && line.value_length == 1 && *line.name == 'a' && *line.value == '1');
    assert_int_equal(profk__store_next(&at, &line), 1);
    assert_int_equal(strncmp(line.name, "b.c_9 ", line.name_length + 1), 0);
    assert_int_equal(strncmp(line.value, " two words \n", line.value_length + 1), 0);
    assert_int_equal(profk__store_next(&at, &line), 0);
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
        assert_false(profk__store_put(&store, PROFK__STORE_TUNING, key, malformed[i], strlen(malformed[i])));
    assert_false(profk__store_put(&store, PROFK__STORE_TUNING, key, "a = 1\n\0b = 2\n", 13));
    assert_int_equal(count_files(NULL), 0);
    profk__store_close(&store);
}

/* A key that would be read back as another one is not stored. */
static void keys_that_do_not_fit(void **state)
{
    struct profk__store store = open_at(folder);
    char *large = malloc(10000);

    (void)state;
    assert_false(profk__store_put(&store, PROFK__STORE_BINARY, "a: 1\npayload: 3\nb: 2\n", "xyz", 3));
    memset(large, 'x', 9999);
    large[9999] = '\0';
    assert_false(profk__store_put(&store, PROFK__STORE_BINARY, large, "xyz", 3));
    assert_int_equal(count_files(NULL), 0);
    free(large);
    profk__store_close(&store);
}

/* ---- damage ---- */

static const enum profk__store_kind both_kinds[] = {PROFK__STORE_BINARY, PROFK__STORE_TUNING};

static void a_file_cut_at_any_length_is_a_miss(void **state)
{
    struct profk__store store = open_at(folder);
    char path[PATH_ROOM], *file;
    size_t nbytes;

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        assert_true(put(&store, both_kinds[k]));
        find_entry(path);
        file = read_file(path, &nbytes);
        for (size_t cut = 0; cut < nbytes; cut++) {
            write_file(path, file, cut);
            assert_false(get(&store, both_kinds[k]));
        }
        file[nbytes] = 'x'; /* the zero that read_file() adds */
        write_file(path, file, nbytes + 1);
        assert_false(get(&store, both_kinds[k]));
        write_file(path, file, nbytes);
        assert_true(get(&store, both_kinds[k]));
        free(file);
        unlink(path);
    }
    profk__store_close(&store);
}

static void every_changed_byte_is_a_miss(void **state)
{
    static const unsigned char changes[] = {1, 0x20, 0x80, 0xff};
    struct profk__store store = open_at(folder);
    char path[PATH_ROOM], *file;
    size_t nbytes;

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        assert_true(put(&store, both_kinds[k]));
        find_entry(path);
        file = read_file(path, &nbytes);
        for (size_t i = 0; i < nbytes; i++)
            for (size_t c = 0; c < sizeof changes; c++) {
                file[i] = (char)(file[i] ^ changes[c]);
                write_file(path, file, nbytes);
                assert_false(get(&store, both_kinds[k]));
                file[i] = (char)(file[i] ^ changes[c]);
            }
        assert_true(put(&store, both_kinds[k])); /* a miss is overwritten */
        assert_true(get(&store, both_kinds[k]));
        free(file);
        unlink(path);
    }
    profk__store_close(&store);
}

/* The same name, but what another key, another release or another program wrote. */
static void foreign_files_are_a_miss(void **state)
{
    static const char other_key[] = "platform: a platform\ndevice: a device\nwhat: filter.cl -DPK_WG=255\n";
    struct profk__store store = open_at(folder);
    char path[PATH_ROOM], other[PATH_ROOM], *file;
    size_t nbytes;

    (void)state;
    assert_true(profk__store_put(&store, PROFK__STORE_BINARY, other_key, body, sizeof body - 1));
    find_entry(other);
    assert_true(rename(other, strcat(strcpy(path, folder), "/kept")) == 0);
    assert_true(put(&store, PROFK__STORE_BINARY));
    assert_int_equal(unlink(path), 0);
    find_entry(path);
    file = read_file(path, &nbytes);
    assert_true(profk__store_put(&store, PROFK__STORE_BINARY, other_key, body, sizeof body - 1));
    assert_int_equal(rename(other, path), 0); /* as if both keys had one hash */
    assert_false(get(&store, PROFK__STORE_BINARY));

    file[sizeof "# profk binary " - 1]++; /* another version of the format */
    write_file(path, file, nbytes);
    assert_false(get(&store, PROFK__STORE_BINARY));
    write_file(path,
               "\x7f"
               "ELF and so on",
               14);
    assert_false(get(&store, PROFK__STORE_BINARY));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(get(&store, PROFK__STORE_BINARY));
    assert_false(put(&store, PROFK__STORE_BINARY));
    assert_int_equal(count_files(NULL), 1); /* the temporary is gone */
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(get(&store, PROFK__STORE_BINARY)); /* and does not wait for a writer */
    free(file);
    profk__store_close(&store);
}

/* ---- folders that cannot be written ---- */

static void a_folder_that_is_none(void **state)
{
    char path[PATH_ROOM];
    struct profk__store store;
    uint64_t files = 0;
    struct profk__text text = profk__text_in(NULL, 0);

    (void)state;
    write_path(path, "file");
    write_file(path, "x", 1);
    for (int below = 0; below < 2; below++) {
        store = open_at(below ? strcat(path, "/below") : path);
        assert_false(put(&store, PROFK__STORE_BINARY));
        assert_false(get(&store, PROFK__STORE_BINARY));
        assert_int_not_equal(profk__store_list(&store, &text), 0);
        assert_int_not_equal(profk__store_clear(&store, &files), 0);
        profk__store_close(&store);
    }
    store = open_at("/proc/self/profk"); /* nobody can make a folder there */
    assert_false(put(&store, PROFK__STORE_BINARY));
    profk__store_close(&store);
    assert_int_equal(count_files(NULL), 1);
}

static void a_folder_that_is_read_only(void **state)
{
    struct profk__store store = open_at(folder);
    int written;

    (void)state;
    assert_true(put(&store, PROFK__STORE_TUNING));
    assert_int_equal(chmod(folder, 0500), 0);
    assert_true(get(&store, PROFK__STORE_TUNING));
    written = put(&store, PROFK__STORE_BINARY);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(written, geteuid() == 0); /* root may write anywhere */
    assert_true(get(&store, PROFK__STORE_TUNING));
    profk__store_close(&store);
}

/* A disk that is full after a few bytes, by way of the limit of a file's size. */
static void a_full_disk(void **state)
{
    struct profk__store store = open_at(folder);
    char *large = calloc(1, LARGE);
    int status = 0;
    pid_t child;

    (void)state;
    assert_true(put(&store, PROFK__STORE_BINARY));
    child = fork();
    if (child == 0) {
        const struct rlimit limit = {4096, 4096};

        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(profk__store_put(&store, PROFK__STORE_BINARY, key, large, LARGE) ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(count_files(NULL), 1);
    assert_true(get(&store, PROFK__STORE_BINARY)); /* the older one */
    free(large);
    profk__store_close(&store);
}

/* Two processes write one entry over and over; what a third reads is always whole. */
static void two_writers_and_a_reader(void **state)
{
    enum { WRITERS = 2, ROUNDS = 300 };
    struct profk__store store = open_at(folder);
    pid_t writers[WRITERS];
    int running = WRITERS, status = 0;
    unsigned long hits = 0;

    (void)state;
    assert_true(put(&store, PROFK__STORE_BINARY));
    for (int w = 0; w < WRITERS; w++) {
        writers[w] = fork();
        if (writers[w] == 0) {
            int good = 1;

            for (int i = 0; i < ROUNDS; i++)
                good &= put(&store, PROFK__STORE_BINARY);
            _exit(good ? 0 : 1);
        }
    }
    while (running > 0) {
        assert_true(get(&store, PROFK__STORE_BINARY));
        hits++;
        while (running > 0 && waitpid(writers[running - 1], &status, WNOHANG) > 0) {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            running--;
        }
    }
    assert_true(hits > 0);
    assert_int_equal(count_files(NULL), 1);
    profk__store_close(&store);
}

/* ---- list and clear ---- */

static void list_and_clear(void **state)
{
    static const char *const foreign[] = {"notes.txt",
                                          "profk-123.bin",
                                          "profk-0123456789abcdeg.bin",
                                          "profk-0123456789abcdef.bin.old",
                                          "0123456789abcdef.bin",
                                          "profk-00000000000000aa.tmp"};
    static const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
    struct profk__store store = open_at(folder);
    char path[PATH_ROOM], text[2000];
    struct profk__text lines = profk__text_in(text, sizeof text);
    uint64_t files = 0;

    (void)state;
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        write_path(path, foreign[i]);
        write_file(path, "mine", 4);
    }
    write_path(path, "profk-1111111111111111.bin");
    write_file(path, "# profk binary 0\n", 17);
    write_path(path, "profk-2222222222222222.tmp");
    write_file(path, "half", 4);
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    write_path(path, "profk-3333333333333333.bin");
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(put(&store, PROFK__STORE_BINARY));
    assert_true(put(&store, PROFK__STORE_TUNING));

    assert_int_equal(profk__store_list(&store, &lines), 0);
    assert_non_null(
        strstr(text, "profk-1111111111111111.bin     binary         17  -  damaged, or of another release\n"));
    assert_non_null(strstr(text, "  tuning  "));
    assert_non_null(strstr(text, "  a device  filter.cl -DPK_WG=256\n"));
    assert_null(strstr(text, ".tmp"));
    assert_int_equal(profk__store_clear(&store, &files), 0);
    assert_int_equal(files, 4);
    assert_int_equal(count_files(NULL), (int)(sizeof foreign / sizeof foreign[0]) + 1);
    assert_false(get(&store, PROFK__STORE_BINARY));
    lines = profk__text_in(text, sizeof text);
    assert_int_equal(profk__store_list(&store, &lines), 0);
    assert_int_equal(lines.length, 0);
    profk__store_close(&store);
}

/* The public functions: room and need, and options that are refused. */
static void the_public_functions(void **state)
{
    const profk_options here = {.struct_size = sizeof here, .cache_dir = folder};
    const profk_options off = {.struct_size = sizeof off, .cache_dir = ""};
    const profk_options wrong = {.struct_size = sizeof wrong, .flags = 1u << 31};
    struct profk__store store = open_at(folder);
    char text[PATH_ROOM], small[4];
    size_t need = 0, need_again = 0;
    uint64_t files = 7;

    (void)state;
    assert_int_equal(profk_cache_path(&here, text, sizeof text, &need), PROFK_OK);
    assert_string_equal(text, folder);
    assert_int_equal(need, strlen(folder) + 1);
    assert_int_equal(profk_cache_path(&here, small, sizeof small, NULL), PROFK_OK);
    assert_memory_equal(small, folder, 3);
    assert_int_equal(small[3], 0);
    assert_int_equal(profk_cache_path(&off, text, sizeof text, &need), PROFK_OK);
    assert_int_equal(need, 1);
    assert_string_equal(text, "");
    assert_int_equal(profk_cache_path(NULL, NULL, 0, NULL), PROFK_OK);
    assert_int_equal(profk_cache_path(&here, NULL, 1, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_cache_path(&wrong, text, sizeof text, NULL), PROFK_ERR_ARGUMENT);

    assert_true(put(&store, PROFK__STORE_TUNING));
    assert_int_equal(profk_cache_list(&here, NULL, 0, &need), PROFK_OK);
    assert_true(need > 40 && need < sizeof text);
    assert_int_equal(profk_cache_list(&here, text, need, &need_again), PROFK_OK);
    assert_int_equal(need_again, need);
    assert_int_equal(strlen(text), need - 1);
    assert_int_equal(profk_cache_list(&here, NULL, 1, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_cache_list(&wrong, text, sizeof text, NULL), PROFK_ERR_ARGUMENT);
    assert_int_equal(profk_cache_list(&off, text, sizeof text, &need), PROFK_OK);
    assert_int_equal(need, 1);

    assert_int_equal(profk_cache_clear(&wrong, &files), PROFK_ERR_ARGUMENT);
    assert_int_equal(files, 7);
    assert_int_equal(profk_cache_clear(&here, &files), PROFK_OK);
    assert_int_equal(files, 1);
    assert_int_equal(profk_cache_clear(&here, NULL), PROFK_OK);
    profk__store_close(&store);
}

static void a_folder_that_cannot_be_read_is_said(void **state)
{
    char path[PATH_ROOM];
    profk_options options = {.struct_size = sizeof options, .cache_dir = path};

    (void)state;
    write_path(path, "file");
    write_file(path, "x", 1);
    assert_int_equal(profk_cache_list(&options, NULL, 0, NULL), PROFK_ERR_IO);
    assert_non_null(strstr(profk_context_message(NULL), path));
    assert_int_equal(profk_cache_clear(&options, NULL), PROFK_ERR_IO);
    write_path(path, "not/there");
    assert_int_equal(profk_cache_list(&options, NULL, 0, NULL), PROFK_OK);
    assert_int_equal(profk_cache_clear(&options, NULL), PROFK_OK);
}

/* ---- keys ---- */

static void make_key(const struct profk__key_facts *facts, const char *sha256, const char *what,
                     char to[PROFK__KEY_NBYTES])
{
    struct profk__text text = profk__text_in(to, PROFK__KEY_NBYTES);

    profk__key_add_device(&text, facts);
    profk__key_add_program(&text, sha256, what);
    assert_true(text.length < text.nbytes);
}

/* Whatever the binary depends on changes the key, so that an entry of before is not found. */
static void every_fact_counts(void **state)
{
    static const struct profk__key_facts facts = {"platform", "OpenCL 3.0", "device", "OpenCL 1.2", "1.0", 7, 64};
    struct profk__key_facts changed[7];
    char keys[10][PROFK__KEY_NBYTES], *found = NULL;
    struct profk__store store = open_at(folder);
    size_t nbytes;

    (void)state;
    for (size_t i = 0; i < 7; i++)
        changed[i] = facts;
    changed[0].platform[0]++;
    changed[1].platform_version[0]++;
    changed[2].device[0]++;
    changed[3].device_version[0]++;
    changed[4].driver_version[0]++;
    changed[5].vendor_id++;
    changed[6].address_bits = 32;
    for (size_t i = 0; i < 7; i++)
        make_key(&changed[i], "00ff", "filter.cl -DPK_WG=1", keys[i]);
    make_key(&facts, "00fe", "filter.cl -DPK_WG=1", keys[7]);
    make_key(&facts, "00ff", "filter.cl -DPK_WG=2", keys[8]);
    make_key(&facts, "00ff", "filter.cl -DPK_WG=1", keys[9]);
    assert_true(profk__store_put(&store, PROFK__STORE_BINARY, keys[9], "x", 1));
    for (size_t i = 0; i < 9; i++)
        assert_false(profk__store_get(&store, PROFK__STORE_BINARY, keys[i], &found, &nbytes));
    assert_true(profk__store_get(&store, PROFK__STORE_BINARY, keys[9], &found, &nbytes));
    free(found);
    profk__store_close(&store);
}

static void names_of_many_lines_stay_one_line(void **state)
{
    char text[64];
    struct profk__text line = profk__text_in(text, sizeof text);

    (void)state;
    profk__key_add(&line, "device", "a\nb\r\x7f\xc3\xa4");
    assert_string_equal(text, "device: a?b??\xc3\xa4\n");
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_names_the_folder),
        cmocka_unit_test(without_a_folder_nothing_is_kept),
        IN_A_FOLDER(the_folder_is_made_when_it_is_needed),
        IN_A_FOLDER(what_was_put_is_found),
        IN_A_FOLDER(bodies_of_any_bytes_and_size),
        IN_A_FOLDER(tunings_are_lines),
        IN_A_FOLDER(keys_that_do_not_fit),
        IN_A_FOLDER(a_file_cut_at_any_length_is_a_miss),
        IN_A_FOLDER(every_changed_byte_is_a_miss),
        IN_A_FOLDER(foreign_files_are_a_miss),
        IN_A_FOLDER(a_folder_that_is_none),
        IN_A_FOLDER(a_folder_that_is_read_only),
        IN_A_FOLDER(a_full_disk),
        IN_A_FOLDER(two_writers_and_a_reader),
        IN_A_FOLDER(list_and_clear),
        IN_A_FOLDER(the_public_functions),
        IN_A_FOLDER(a_folder_that_cannot_be_read_is_said),
        IN_A_FOLDER(every_fact_counts),
        cmocka_unit_test(names_of_many_lines_stay_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
