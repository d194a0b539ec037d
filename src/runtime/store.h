/*
 * store.h: what outlives the process: program binaries and tuned parameters, one file an entry, in one folder.
 *
 * An entry has a kind, a key and a body.  The key is text, one fact a line (key.h); it says all that the body depends
 * on and stands in the file, where it is compared: the hash in the file's name only finds it.  A file reads
 *
 *     # profk tuning 1              kind and version of the format
 *     platform: Portable Computing Language
 *     what: tuned parameters        the key
 *     payload: 23                   bytes of the body
 *     checksum: 0123456789abcdef    of all of the above and the body
 *                                   an empty line
 *     filter_wg = 256               the body
 *
 * The body of a tuning is lines `name = value`; that of a binary is bytes.
 *
 * Any trouble is a miss: no folder, no memory, a full disk, a file that is short, changed, foreign or of another
 * release.  Nothing here fails a call, records a message or prints; put() alone tells the log, if it is to be told.
 * Entries are written under another name and renamed, so a reader never sees half of one, and of two writers the last
 * wins.  Any number of threads and processes may use one folder at once.
 */
#ifndef PROFK_RUNTIME_STORE_H
#define PROFK_RUNTIME_STORE_H

#include "base/text.h"
#include "profk.h"

/* Kinds, and the version of each one's format: what an older or newer release wrote is not found. */
enum profk__store_kind { PROFK__STORE_BINARY, PROFK__STORE_TUNING, PROFK__STORE_KIND_COUNT };
enum { PROFK__STORE_BINARY_VERSION = 1, PROFK__STORE_TUNING_VERSION = 1 };

enum { PROFK__STORE_NAME_NBYTES = 40 }; /* of a file's name, with the final zero */

struct profk__store {
    char *folder;                 /* NULL: nothing is kept */
    const profk_options *options; /* borrowed: log and flags */
};

/* Finds the folder that options->cache_dir or the environment name; see profk_cache_path().  Touches no file.  options
 * must live as long as the store.  0, or ENOMEM: there is a folder, but no memory for its name, and nothing is kept. */
int profk__store_open(struct profk__store *store, const profk_options *options);
void profk__store_close(struct profk__store *store);

/* 1: *body_ret holds nbytes and a final zero, to be freed by the caller.  0: there is no such entry. */
int profk__store_get(const struct profk__store *store, enum profk__store_kind kind, const char *key, char **body_ret,
                     size_t *nbytes_ret);

/* 1: the entry is there, in place of any older one.  0: it is not, and an older one is as before.  Makes the folder. */
int profk__store_put(const struct profk__store *store, enum profk__store_kind kind, const char *key, const void *body,
                     size_t nbytes);

/* A trace line "WHAT NAME", where the log is to have them. */
void profk__store_tell(const struct profk__store *store, const char *what, const char *name);

/* A line of a tuning, as places in the text; neither ends in a zero. */
struct profk__store_line {
    const char *name, *value;
    size_t name_length, value_length;
};

/*
 * Reads the line `name = value` at *at and moves on.  1: there was one.  0: the text has ended.  -1: the line is
 * malformed.  Names are of lower-case letters, digits, '_' and '.'; values are printable ASCII.  get() and put() refuse
 * a tuning in which a line is malformed.
 */
int profk__store_next(const char **at, struct profk__store_line *ret);

/* Appends a line an entry, sorted by name: file, kind, bytes, device, what.  0, the errno of the folder, or ENOMEM. */
int profk__store_list(const struct profk__store *store, struct profk__text *text);

/* Removes all entries, of any version and state, and temporaries that nobody has written to for an hour; counts them.
 * 0 or the errno of the first that stayed. */
int profk__store_clear(const struct profk__store *store, uint64_t *files_ret);

#endif
