/*
 * fuzz_store.c: entries of the store and the tuned values in them.
 *
 * The first byte says what the others are: 0 a whole file, 1 a tuning's body, 2 a tuned text, else a key, an empty
 * line and a binary.  What put() writes get() finds; what is not written that way is refused.
 */
#include "fuzz.h"

#include "runtime/store.c" /* its parts, without a folder */

#include "tune/tune.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

/* Takes a file apart and prints what list would print of it. */
static int look_at(enum profk__store_kind kind, const char *file, size_t nbytes, struct parts *parts)
{
    char room[64];
    struct profk__text text = profk__text_in(room, sizeof room);

    if (!take_apart(kind, file, nbytes, parts))
        return 0;
    FUZZ_CHECK(parts->key >= file && parts->key + parts->key_nbytes <= parts->body);
    FUZZ_CHECK(parts->body + parts->body_nbytes == file + nbytes);
    add_fact(&text, parts, "device: ");
    add_fact(&text, parts, "what: ");
    return 1;
}

/* An entry of key and body is either refused or found as it was. */
static void put_and_get(enum profk__store_kind kind, const char *key, const char *body, size_t nbytes)
{
    struct parts parts;
    size_t file_nbytes = 0;
    char *file = put_together(kind, key, body, nbytes, &file_nbytes);

    if (file == NULL) {
        FUZZ_CHECK(strlen(key) > HEADER_NBYTES - 128); /* no room */
        return;
    }
    if (look_at(kind, file, file_nbytes, &parts) && parts.key_nbytes == strlen(key)) {
        FUZZ_CHECK(parts.body_nbytes == nbytes && memcmp(parts.body, body, nbytes) == 0);
        FUZZ_CHECK(memcmp(parts.key, key, parts.key_nbytes) == 0);
        for (size_t bit = nbytes % 8; bit < 8 * file_nbytes; bit += 1 + file_nbytes / 4) { /* any change is seen */
            struct parts changed;
            file[bit / 8] = (char)(file[bit / 8] ^ 1 << bit % 8);
            FUZZ_CHECK(!take_apart(kind, file, file_nbytes, &changed));
            file[bit / 8] = (char)(file[bit / 8] ^ 1 << bit % 8);
        }
        FUZZ_CHECK(!take_apart(kind, file, file_nbytes - 1, &parts));
    } else {
        FUZZ_CHECK(kind == PROFK__STORE_TUNING || strstr(key, "payload: ") != NULL || key[strlen(key) - 1] != '\n');
    }
    free(file);
}

/* Tuned values that are read are written as they were, but for the sequence and leading zeros. */
static void read_tuned(const char *text)
{
    struct profk__tuned tuned, again;
    char room[2][4096];

    memset(&tuned, 0, sizeof tuned);
    again = tuned;
    if (!profk__tuned_read(text, &tuned))
        return;
    for (int i = 0; i < 2; i++) {
        struct profk__text to = profk__text_in(room[i], sizeof room[i]);
        profk__tuned_write(i == 0 ? &tuned : &again, &to);
        FUZZ_CHECK(to.length < to.nbytes && profk__tuned_read(room[i], &again));
    }
    FUZZ_CHECK(strcmp(room[0], room[1]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct parts parts;
    char *text, *split;

    if (nbytes == 0)
        return 0;
    nbytes--;
    text = malloc(nbytes + 1);
    FUZZ_CHECK(text != NULL);
    memcpy(text, data + 1, nbytes);
    text[nbytes] = '\0';
    split = strstr(text, "\n\n");
    if (data[0] == 0) {
        look_at(PROFK__STORE_BINARY, text, nbytes, &parts);
        look_at(PROFK__STORE_TUNING, text, nbytes, &parts);
    } else if (data[0] == 1) {
        put_and_get(PROFK__STORE_TUNING, "device: a\nwhat: b\n", text, nbytes);
    } else if (data[0] == 2) {
        read_tuned(text);
    } else if (split != NULL) {
        split[1] = '\0';
        put_and_get(PROFK__STORE_BINARY, text, split + 2, nbytes - (size_t)(split + 2 - text));
    }
    free(text);
    return 0;
}
