/*
 * test_cli.c: the command as a user meets it: exit status, standard output, standard error, files.
 *
 * Shell lines run in a folder of their own, with `profk` first in the PATH.  The first group needs no device and sees
 * none; without a device the second is skipped and the program exits with 77.
 */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <profk.h>

extern char **environ;

enum { EXIT_SKIPPED = 77, TEXT_ROOM = 1 << 16, LINE_ROOM = 4096 };

/* What the last run() left. */
static char out[TEXT_ROOM], err[TEXT_ROOM];

/* --- running -------------------------------------------------------------------------------------------------- */

static void read_text(const char *path, char text[TEXT_ROOM])
{
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    text[fread(text, 1, TEXT_ROOM - 1, file)] = '\0';
    fclose(file);
}

/* Starts a shell line; its streams are files unless it redirects them itself. */
static pid_t start(const char *format, ...)
{
    const int write_flags = O_WRONLY | O_CREAT | O_TRUNC;
    char line[LINE_ROOM], shell[] = "sh", option[] = "-c", *const arguments[] = {shell, option, line, NULL};
    posix_spawn_file_actions_t streams;
    va_list args;
    pid_t pid;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    posix_spawn_file_actions_init(&streams);
    posix_spawn_file_actions_addopen(&streams, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&streams, 1, "stdout.txt", write_flags, 0600);
    posix_spawn_file_actions_addopen(&streams, 2, "stderr.txt", write_flags, 0600);
    assert_int_equal(posix_spawn(&pid, "/bin/sh", &streams, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&streams);
    return pid;
}

/* The exit status, or 128 + signal. */
static int finish(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    read_text("stdout.txt", out);
    read_text("stderr.txt", err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define run(...) finish(start(__VA_ARGS__))

static void show(const char *line, int status)
{
    print_message("%s\n  exit %d\n  out: %s\n  err: %s\n", line, status, out, err);
}

/* The line succeeds and says nothing on standard error. */
static void succeed(const char *line)
{
    int status = run("%s", line);

    if (status != 0 || err[0] != '\0')
        show(line, status);
    assert_int_equal(status, 0);
    assert_string_equal(err, "");
}

/* The line fails with this status, nothing on standard output and one message that holds the fragment. */
static void refuse(const char *line, int expected, const char *fragment)
{
    int status = run("%s", line);
    const char *newline = strchr(err, '\n');
    bool one_message = strncmp(err, "profk: ", 7) == 0 && strstr(err, "; ") && newline && newline[1] == '\0';

    if (status != expected || out[0] != '\0' || !one_message || !strstr(err, fragment))
        show(line, status);
    assert_int_equal(status, expected);
    assert_string_equal(out, "");
    assert_true(one_message);
    assert_non_null(strstr(err, fragment));
}

struct refusal {
    const char *line;
    int status;
    const char *fragment;
};

static void refuse_all(const struct refusal *refusals, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        refuse(refusals[i].line, refusals[i].status, refusals[i].fragment);
}

#define REFUSE_ALL(table) refuse_all(table, sizeof(table) / sizeof((table)[0]))

static void assert_nothing_left_behind(void)
{
    glob_t found;

    assert_int_equal(glob(".profk-*", 0, NULL, &found), GLOB_NOMATCH);
    globfree(&found);
}

/* --- files ---------------------------------------------------------------------------------------------------- */

static void write_bytes(const char *path, const void *bytes, size_t nbytes)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, nbytes, file), nbytes);
    assert_int_equal(fclose(file), 0);
}

/* A .npy file of any header text, right or wrong. */
static void write_npy(const char *path, int version, const char *header, const void *data, size_t nbytes)
{
    size_t length = strlen(header), prefix = version == 1 ? 10 : 12;
    unsigned char bytes[LINE_ROOM] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};

    assert_true(prefix + length + nbytes <= sizeof bytes);
    bytes[8] = (unsigned char)(length & 0xFF);
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + prefix, header, length);
    memcpy(bytes + prefix + length, data, nbytes);
    write_bytes(path, bytes, prefix + length + nbytes);
}

#define HEADER(descr, order, shape) "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }     \n"

/* Bits of every kind for every type: as f16 NaN, -inf, 1, -0, denormal, largest, -3, small. */
static const unsigned char patterns[16] = {0x01, 0x7C, 0x00, 0xFC, 0x00, 0x3C, 0x00, 0x80,
                                           0x01, 0x00, 0xFF, 0x7B, 0x00, 0xC2, 0x9A, 0x99};
static const float vector[] = {1.5f, -2.0f, 0.1f, 3.0f, -0.0f};

/* `profk` is in the PATH, $ELEVATION is the example file, $FAKE the folder of the fake platform. */
static void set_environment(void)
{
    static char path[LINE_ROOM];
    char command[] = PROFK_COMMAND;

    *strrchr(command, '/') = '\0';
    snprintf(path, sizeof path, "%s:%s", command, getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("FAKE", PROFK_TEST_VENDORS "/fake", 1);
    setenv("ELEVATION", PROFK_EXAMPLE_DATA "/elevation.npy", 1);
    unsetenv("PROFK_DEVICE");
}

static int set_up(void **state)
{
    static char folder[sizeof PROFK_TEST_SCRATCH + 16];

    (void)state;
    strcpy(folder, PROFK_TEST_SCRATCH "/cli-XXXXXX");
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return -1;
    write_npy("v.npy", 1, HEADER("<f4", "False", "(5,)"), vector, sizeof vector);
    write_npy("row.npy", 1, HEADER("<f4", "False", "(1, 5)"), vector, sizeof vector);
    write_npy("rows.npy", 1, HEADER("<f4", "False", "(2, 2)"), vector, sizeof vector);
    write_npy("norows.npy", 1, HEADER("<f4", "False", "(0, 5)"), vector, 0);
    write_bytes("v.raw", vector, sizeof vector);
    write_bytes("t.raw", patterns, sizeof patterns);
    write_npy("bf16.npy", 1, HEADER("<u2", "False", "(8,)"), patterns, sizeof patterns);
    write_bytes("odd.raw", vector, 7);
    write_bytes("empty.raw", vector, 0);
    return 0;
}

static char *vendors; /* OCL_ICD_VENDORS as it was when the program began, a copy; NULL: unset */

static int set_up_without_devices(void **state)
{
    setenv("OCL_ICD_VENDORS", PROFK_TEST_VENDORS "/none", 1);
    return set_up(state);
}

static int set_up_with_devices(void **state)
{
    if (vendors)
        setenv("OCL_ICD_VENDORS", vendors, 1);
    else
        unsetenv("OCL_ICD_VENDORS");
    return set_up(state);
}

static int tear_down(void **state)
{
    char folder[LINE_ROOM];
    glob_t found;
    size_t i;

    (void)state;
    if (glob("*", 0, NULL, &found) == 0) {
        for (i = 0; i < found.gl_pathc; i++)
            remove(found.gl_pathv[i]);
        globfree(&found);
    }
    return getcwd(folder, sizeof folder) && chdir("..") == 0 ? rmdir(folder) : -1;
}

/* --- JSON ----------------------------------------------------------------------------------------------------- */

static const char *skip_value(const char *at);

static const char *skip_string(const char *at)
{
    if (*at++ != '"')
        return NULL;
    while (*at != '"') {
        if ((unsigned char)*at < 0x20 || (*at == '\\' && !strchr("\"\\/bfnrtu", at[1])))
            return NULL;
        at += *at == '\\' ? 2 : 1;
    }
    return at + 1;
}

/* -0.5e+10; no leading zeros, no bare point. */
static const char *skip_number(const char *at)
{
    const char *start = at += *at == '-';

    at += strspn(at, "0123456789");
    if (at == start || (*start == '0' && at > start + 1))
        return NULL;
    if (*at == '.') {
        start = ++at;
        at += strspn(at, "0123456789");
        if (at == start)
            return NULL;
    }
    if (*at == 'e' || *at == 'E') {
        at += at[1] == '+' || at[1] == '-' ? 2 : 1;
        start = at;
        at += strspn(at, "0123456789");
        if (at == start)
            return NULL;
    }
    return at;
}

/* The items of an object or list behind its opening bracket. */
static const char *skip_items(const char *at, char close, bool keys)
{
    if (*at == close)
        return at + 1;
    for (;;) {
        if (keys) {
            at = skip_string(at);
            if (!at || *at++ != ':')
                return NULL;
        }
        at = skip_value(at);
        if (!at || (*at != ',' && *at != close))
            return NULL;
        if (*at++ == close)
            return at;
    }
}

/* Behind the value at `at`, NULL if that is no JSON (written without blanks, as the command does). */
static const char *skip_value(const char *at)
{
    static const char *const words[] = {"true", "false", "null"};
    size_t i;

    for (i = 0; i < 3; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return at + strlen(words[i]);
    if (*at == '{' || *at == '[')
        return skip_items(at + 1, *at == '{' ? '}' : ']', *at == '{');
    return *at == '"' ? skip_string(at) : skip_number(at);
}

/* The text of a member of the object at `at`; its end in *end_ret. */
static const char *find_member(const char *at, const char *key, const char **end_ret)
{
    size_t length = strlen(key);

    assert_int_equal(*at, '{');
    for (at++; *at == '"';) {
        bool found = strncmp(at + 1, key, length) == 0 && at[length + 1] == '"';

        at = skip_string(at) + 1;
        *end_ret = skip_value(at);
        if (found)
            return at;
        at = *end_ret + (**end_ret == ',');
    }
    print_message("no member %s in %s\n", key, out);
    fail();
    return NULL;
}

static void assert_json(void)
{
    const char *end = skip_value(out);

    if (!end || strcmp(end, "\n") != 0)
        print_message("no JSON: %s\n", out);
    assert_non_null(end);
    assert_string_equal(end, "\n");
}

/* Member key of the object that the last run printed, as written. */
static void assert_member(const char *key, const char *expected)
{
    const char *end, *at = find_member(out, key, &end);
    char text[LINE_ROOM];

    snprintf(text, sizeof text, "%.*s", (int)(end - at), at);
    if (strcmp(text, expected) != 0)
        print_message("%s: %s\n", key, out);
    assert_string_equal(text, expected);
}

static double member_number(const char *at, const char *key)
{
    const char *end;

    return strtod(find_member(at, key, &end), NULL);
}

/* The keys of the object, in order, joined with commas. */
static void assert_keys(const char *at, const char *expected)
{
    char keys[LINE_ROOM] = "";

    for (at++; *at == '"';) {
        const char *end = skip_string(at);

        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s%.*s", keys[0] ? "," : "", (int)(end - at - 2),
                 at + 1);
        at = skip_value(end + 1);
        at += *at == ',';
    }
    assert_string_equal(keys, expected);
}

/* --- without a device ----------------------------------------------------------------------------------------- */

static void test_help(void **state)
{
    static const char *const lines[] = {
        "profk --help",         "profk topk --help",    "profk params --help",         "profk explain --help",
        "profk devices --help", "profk topk -k --help", "profk params --bogus --help", "profk tune --help",
    };
    char version[64];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        succeed(lines[i]);
        assert_int_equal(strncmp(out, "Usage: profk", 12), 0);
    }
    assert_int_equal(run("profk"), 2);
    assert_string_equal(out, "");
    assert_int_equal(strncmp(err, "Usage: profk", 12), 0);
    succeed("profk --version");
    snprintf(version, sizeof version, "profk %d.%d.%d\n", PROFK_VERSION_MAJOR, PROFK_VERSION_MINOR,
             PROFK_VERSION_PATCH);
    assert_string_equal(out, version);
}

static void test_wrong_command_lines(void **state)
{
    static const struct refusal refusals[] = {
        {"profk bogus", 2, "bogus"},
        {"profk tune", 2, "not in this release"},
        {"profk bench --json", 2, "not in this release"},
        {"profk selftest", 2, "not in this release"},
        {"profk cache list", 2, "not in this release"},
        {"profk --version now", 2, "--version"},
        {"profk topk", 2, "file is missing"},
        {"profk topk v.npy", 2, "-k is missing"},
        {"profk topk v.npy row.npy -k 1", 2, "two files"},
        {"profk topk -- -k 1", 2, "two files"},
        {"profk topk v.npy -k", 2, "needs a value"},
        {"profk topk v.npy -k3", 2, "no option '-k3'"},
        {"profk topk v.npy -k=3", 2, "no option '-k=3'"},
        {"profk topk v.npy -qv -k 1", 2, "no option '-qv'"},
        {"profk topk v.npy -k 1 --jso", 2, "no option '--jso'"},
        {"profk topk v.npy -k 1 --json=1", 2, "--json takes no value"},
        {"profk topk v.npy -k 1 -q=1", 2, "no option"},
        {"profk topk v.npy -k ''", 2, "not a number"},
        {"profk topk v.npy -k three", 2, "not a number"},
        {"profk topk v.npy -k -1", 2, "not a number"},
        {"profk topk v.npy -k +1", 2, "not a number"},
        {"profk topk v.npy -k 1.0", 2, "not a number"},
        {"profk topk v.npy -k 0x1", 2, "not a number"},
        {"profk topk v.npy -k ' 1'", 2, "not a number"},
        {"profk topk v.npy -k 1e0", 2, "not a number"},
        {"profk topk v.npy -k 18446744073709551616", 2, "not a number"},
        {"profk topk v.npy -k 1 --seed 99999999999999999999", 2, "not a number"},
        {"profk topk v.npy -k 1 -e 0", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 -e 0.51", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 -e 9e-13", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 -e 0x1p-3", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 -e nan", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 -e inf", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 --epsilon=0,1", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 --epsilon=.", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 --epsilon=1e", 2, "1e-12 to 0.5"},
        {"profk topk v.npy -k 1 --dtype f8", 2, "f16, bf16"},
        {"profk topk v.npy -k 1 --dtype F32", 2, "f16, bf16"},
        {"profk topk v.npy -k 1 --order biggest", 2, "largest, smallest, magnitude"},
        {"profk topk v.npy -k 1 --nan first", 2, "largest, last"},
        {"profk topk v.npy -k 1 --sort value", 2, "rank, index, none"},
        {"profk topk v.npy -k 1 --index i64", 2, "u64, u32"},
        {"profk topk v.npy -k 1 --mode fast", 2, "exact, approximate"},
        {"profk topk v.npy -k 1 --route slow", 2, "auto, rows, profk, full"},
        {"profk topk v.npy -k 1 --recall 0", 2, "above 0"},
        {"profk topk v.npy -k 1 --recall 1.1", 2, "above 0"},
        {"profk topk v.npy -k 1 --chunks 0", 2, "from 1"},
        {"profk topk v.npy -k 1 --force ''", 2, "shape="},
        {"profk topk v.npy -k 1 --force S", 2, "shape="},
        {"profk topk v.npy -k 1 --force S=0", 2, "shape="},
        {"profk topk v.npy -k 1 --force S=1,", 2, "shape="},
        {"profk topk v.npy -k 1 --force S=1,X=2", 2, "shape="},
        {"profk topk v.npy -k 1 --force shape=round", 2, "shape="},
        {"profk topk v.npy -k 1 --force wg=-1", 2, "shape="},
        {"profk topk v.npy -k 1 --force S=111111111111111111111111111111", 2, "shape="},
        {"profk topk v.npy -k 1 --tuning default", 2, "no option"},
        {"profk topk v.npy -k 1 -n 5", 2, "no option"},
        {"profk topk v.npy -k 1 --rows 2", 2, "not in this release"},
        {"profk topk v.npy -k 1 --chunks 2", 2, "not in this release"},
        {"profk topk v.npy -k 1 --async", 2, "not in this release"},
        {"profk topk v.npy -k 1 --mode approximate", 2, "not in this release"},
        {"profk topk v.npy -k 1 --recall 0.9", 2, "not in this release"},
        {"profk topk v.npy -k 1 --route rows", 2, "not in this release"},
        {"profk topk v.npy -k 1 --force shape=stream", 2, "not in this release"},
        {"profk topk v.npy -k 1 --values a.npy --indices a.npy", 2, "both name"},
        {"profk params -n 5", 2, "-k is missing"},
        {"profk params -k 5", 2, "-n is missing"},
        {"profk params -n 5 -k 5 6", 2, "takes no '6'"},
        {"profk params -n 5 -k 6", 2, ""},
        {"profk params -n 5 -k 0", 2, ""},
        {"profk params -n 281474976710656 -k 1", 2, ""},
        {"profk params -n 5 -k 1 -S 6", 2, ""},
        {"profk params -n 5 -k 1 -S 0", 2, ""},
        {"profk params -n 1000 -k 900 -S 7", 2, ""},
        {"profk params -n 5 -k 1 --csv", 2, "no option"},
        {"profk explain -k 1", 2, "-n is missing"},
        {"profk explain -n 5 -k 6", 2, "only 5 elements"},
        {"profk explain -n 281474976710656 -k 1", 2, "2^48"},
        {"profk explain -n 5 -k 1 --rows 0", 2, "--rows 0"},
        {"profk explain -n 4294967296 -k 1 --index u32", 2, "u32"},
        {"profk explain -n 4294967296 -k 2147483648", 2, "2^31"},
        {"profk explain -n 9 -k 1 --tuning stored", 2, "not in this release"},
        {"profk explain -n 9 -k 1 --stats", 2, "no option"},
        {"profk devices gpu", 2, "takes no 'gpu'"},
        {"profk devices -k 1", 2, "no option"},
    };

    (void)state;
    REFUSE_ALL(refusals);
}

static void test_wrong_input(void **state)
{
    static const struct refusal refusals[] = {
        {"profk topk v.npy -k 6", 2, "k is 6 but a row has only 5"},
        {"profk topk missing.npy -k 1", 2, "missing.npy"},
        {"profk topk '' -k 1", 2, "cannot read"},
        {"profk topk . -k 1", 2, "folder"},
        {"profk topk v.npy/x -k 1", 2, "cannot read"},
        {"profk topk v.raw -k 1", 2, "--dtype"},
        {"profk topk empty.raw -k 1", 2, "--dtype"},
        {"profk topk empty.raw -k 1 --dtype f32", 2, "only 0 elements"},
        {"profk topk odd.raw -k 1 --dtype f32", 2, "no multiple"},
        {"profk topk v.npy -k 1 --dtype i32", 2, "holds f32, not i32"},
        {"profk topk v.npy -k 1 --rows 0", 2, "0 rows"},
        {"profk topk row.npy -k 1 --rows 0", 2, "has 1 rows"},
        {"profk topk norows.npy -k 1 --rows 1", 2, "has 0 rows"},
        {"profk topk norows.npy -k 6", 2, "only 5 elements"},
        {"profk topk rows.npy -k 1", 2, "not in this release"},
        {"profk topk - -k 1 <&-", 2, "standard input"},
        {"profk topk - -k 1 < odd.raw", 2, "--dtype"},
        {"head -c 40 v.npy | profk topk - -k 1", 2, "ends inside its header"},
        {"profk topk v.npy -k 1 --force S=6", 2, "S=6 is above n"},
        {"profk topk v.npy -k 1 --force S=3,t=4", 2, "t=4"},
        {"profk topk v.npy -k 2 --force M=1", 2, "M=1"},
        {"profk topk v.npy -k 2 --force M=6", 2, "M=6"},
        {"profk topk v.npy -k 2 --force M=3,count=3", 2, "count=3"},
    };

    (void)state;
    REFUSE_ALL(refusals);
}

static void test_terminal_as_input(void **state)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    char line[LINE_ROOM];

    (void)state;
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        skip();
    snprintf(line, sizeof line, "profk topk - -k 1 --dtype u8 <%s", ptsname(terminal));
    refuse(line, 2, "terminal");
    close(terminal);
}

static void test_npy_headers(void **state)
{
    static const struct {
        int version;
        const char *header;
        const char *fragment; /* NULL: good, so that only the device is missing */
    } cases[] = {
        {1, HEADER("<f4", "False", "(5,)"), NULL},
        {2, HEADER("<f4", "False", "(5,)"), NULL},
        {3, HEADER("<f4", "False", "(5L,)"), NULL},
        {1, "{\"shape\":(5,),\"fortran_order\":False,\"descr\":\"<f4\"}", NULL},
        {1, HEADER("|u1", "False", "(20,)"), NULL},
        {1, HEADER("<i1", "False", "(20,)"), NULL},
        {1, HEADER(">u1", "False", "(20,)"), NULL},
        {1, HEADER("=u1", "False", "(20,)"), NULL},
        {1, HEADER("<f4", "False", "(4,)"), NULL}, /* bytes behind the array are ignored */
        {1, HEADER("<f4", "False", "(1, 5)"), NULL},
        {1, HEADER("<f4", "False", "(6,)"), "truncated"},
        {1, HEADER("<f4", "False", "(18446744073709551615, 18446744073709551615)"), "truncated"},
        {1, HEADER("<f4", "False", "(18446744073709551616,)"), "dictionary"},
        {1, HEADER(">f4", "False", "(5,)"), "big-endian"},
        {1, HEADER("<f4", "True", "(5,)"), "Fortran"},
        {1, HEADER("|b1", "False", "(5,)"), "'|b1'"},
        {1, HEADER("<c8", "False", "(2,)"), "'<c8'"},
        {1, HEADER("<U1", "False", "(5,)"), "'<U1'"},
        {1, HEADER("|O", "False", "(5,)"), "'|O'"},
        {1, HEADER("<M8[ns]", "False", "(2,)"), "'<M8[ns]'"},
        {1, HEADER("<f16", "False", "(1,)"), "'<f16'"},
        {1, HEADER("|f4", "False", "(5,)"), "'|f4'"},
        {1, "{'descr': [('a', '<f4'), ('b', '<i4', (2,))], 'fortran_order': False, 'shape': (1,), }\n", "structured"},
        {1, HEADER("<f4", "False", "()"), "0 dimensions"},
        {1, HEADER("<f4", "False", "(1, 1, 5)"), "3 dimensions"},
        {1, HEADER("<f4", "False", "(5)"), "dictionary"},
        {1, HEADER("<f4", "False", "(-5,)"), "dictionary"},
        {1, HEADER("<f4", "False", "(5,,)"), "dictionary"},
        {1, HEADER("<f4", "No", "(5,)"), "dictionary"},
        {1, "{'descr': '<f4', 'shape': (5,)}", "dictionary"},
        {1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (5,)}", "dictionary"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), 'more': 1}", "dictionary"},
        {1, "{'descr': '<f4' 'fortran_order': False, 'shape': (5,)}", "dictionary"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)} x", "dictionary"},
        {1, "{'descr': '<f4", "dictionary"},
        {1, "{'descr': [('a'", "dictionary"},
        {1, "", "dictionary"},
        {4, HEADER("<f4", "False", "(5,)"), "version"},
        {0, HEADER("<f4", "False", "(5,)"), "version"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_npy("h.npy", cases[i].version, cases[i].header, vector, sizeof vector);
        if (cases[i].fragment)
            refuse("profk topk h.npy -k 1", 2, cases[i].fragment);
        else
            refuse("profk topk h.npy -k 1", 3, "");
    }
    for (i = 6; i < 10 + strlen(cases[0].header) + sizeof vector; i++) { /* cut anywhere: never a crash */
        char line[LINE_ROOM];

        snprintf(line, sizeof line, "head -c %zu v.npy >h.npy; profk topk h.npy -k 1", i);
        refuse(line, 2, "");
    }
}

static void test_no_device(void **state)
{
    static const struct refusal refusals[] = {
        {"profk devices", 3, ""},
        {"profk topk v.npy -k 1", 3, ""},
        {"profk topk v.npy -k 1 --device cpu", 3, ""},
        {"profk topk v.npy -k 1 --values out.npy", 3, ""},
        {"profk explain -n 100 -k 1", 3, ""},
        {"OCL_ICD_VENDORS=$FAKE FAKE_DEVICES=0 profk devices", 3, ""},
        {"OCL_ICD_VENDORS=$FAKE FAKE_DEVICES=0 profk topk v.npy -k 1", 3, ""},
        {"OCL_ICD_VENDORS=$FAKE FAKE_COMPILER=0 profk topk v.npy -k 1", 3, ""},
        {"OCL_ICD_VENDORS=$FAKE FAKE_COMPILER=0 profk topk v.npy -k 1 --device 0", 3, "compiler"},
        {"OCL_ICD_VENDORS=$FAKE profk topk v.npy -k 1 --device 9", 3, ""},
        {"OCL_ICD_VENDORS=$FAKE profk topk v.npy -k 1 --device nosuchname", 3, ""},
    };

    (void)state;
    REFUSE_ALL(refusals);
    assert_int_not_equal(access("out.npy", F_OK), 0);
    succeed("OCL_ICD_VENDORS=$FAKE FAKE_COMPILER=0 profk devices --json");
    assert_json();
    assert_non_null(strstr(out, "\"usable\":false,\"why_not\":\""));
    assert_null(strstr(out, "\"why_not\":\"\""));
    succeed("OCL_ICD_VENDORS=$FAKE FAKE_COMPILER=0 profk devices");
    assert_non_null(strstr(out, "not usable"));
}

/* Table 3 of the paper through the command, with the S given and with the S chosen. */
static void test_params(void **state)
{
    FILE *table = fopen(PROFK_TEST_DATA "/table3.csv", "r");
    char row[256];
    int rows = 0;

    (void)state;
    assert_non_null(table);
    while (fgets(row, sizeof row, table)) {
        unsigned long long n, k, S, t_exact, t_fast, M_exact, M_fast;
        double fail_exact, fail_fast;
        char exact[160], line[LINE_ROOM];
        const char *end, *at;
        int given;

        if (sscanf(row, "%llu,%llu,%llu,%llu,%llu,%llu,%llu,%lf,%lf", &n, &k, &S, &t_exact, &t_fast, &M_exact,
                   &M_fast, &fail_exact, &fail_fast) != 9)
            continue;
        rows++;
        for (given = 0; given < 2; given++) {
            snprintf(line, sizeof line, "profk params -n %llu -k %llu -e 0.001 --json", n, k);
            if (given)
                snprintf(line + strlen(line), sizeof line - strlen(line), " -S %llu", S);
            succeed(line);
            assert_json();
            assert_keys(out, "n,k,epsilon,S,exact,fast");
            assert_true(member_number(out, "S") == (double)S);
            at = find_member(out, "exact", &end);
            assert_keys(at, "t,M,fail_recall,fail_overflow");
            snprintf(exact, sizeof exact, "{\"t\":%llu,\"M\":%llu,", t_exact, M_exact);
            assert_int_equal(strncmp(at, exact, strlen(exact)), 0);
            assert_true(fabs(member_number(at, "fail_recall") + member_number(at, "fail_overflow") - fail_exact) <=
                        0.00501 * fail_exact);
            at = find_member(out, "fast", &end);
            snprintf(exact, sizeof exact, "{\"t\":%llu,\"M\":%llu,", t_fast, M_fast);
            assert_int_equal(strncmp(at, exact, strlen(exact)), 0);
            assert_true(fabs(member_number(at, "fail_recall") + member_number(at, "fail_overflow") - fail_fast) <=
                        0.00501 * fail_fast);
        }
    }
    fclose(table);
    assert_int_equal(rows, 21);
    succeed("profk params -n 1048576 -k 256");
    assert_non_null(strstr(out, "2835"));
    succeed("profk params -k 1 -n 5 -n 9 -k 9 --epsilon=0.1 -e .5e-0 --json"); /* the last one wins */
    assert_member("n", "9");
    assert_member("k", "9");
    assert_member("epsilon", "0.5");
}

/* --- with a device -------------------------------------------------------------------------------------------- */

static void test_json(void **state)
{
    (void)state;
    succeed("profk topk $ELEVATION -k 3 --json");
    assert_json();
    assert_keys(out, "n,k,rows,dtype,order,nan,sort,index,mode,epsilon,seed,route,device,S,t,M,attempts,fallbacks,"
                     "certified,R,seconds,values,indices");
    assert_member("n", "138632");
    assert_member("k", "3");
    assert_member("rows", "1");
    assert_member("dtype", "\"i16\"");
    assert_member("order", "\"largest\"");
    assert_member("nan", "\"largest\"");
    assert_member("sort", "\"rank\"");
    assert_member("index", "\"u64\"");
    assert_member("mode", "\"exact\"");
    assert_member("epsilon", "0.001");
    assert_member("route", "\"profk\"");
    assert_member("fallbacks", "0");
    assert_member("certified", "[true]");
    assert_member("values", "[[1076,1073,1071]]");
    assert_member("indices", "[[119910,119909,119911]]");
    succeed("profk topk --json $ELEVATION --order=smallest -k 4 --csv --seed 18446744073709551615 --json");
    assert_member("seed", "18446744073709551615");
    assert_member("values", "[[236,244,244,245]]");
    assert_member("indices", "[[116411,115623,138582,115624]]");
    succeed("profk topk $ELEVATION -k 3 --sort index --index u32 --json");
    assert_member("values", "[[1073,1076,1071]]");
    assert_member("indices", "[[119909,119910,119911]]");
}

static void test_routes(void **state)
{
    (void)state;
    succeed("profk topk $ELEVATION -k 3 --route full --json");
    assert_member("route", "\"full\"");
    assert_member("S", "null");
    assert_member("t", "null");
    assert_member("M", "null");
    assert_member("R", "[null]");
    assert_member("attempts", "1");
    assert_member("fallbacks", "0");
    assert_member("values", "[[1076,1073,1071]]");
    succeed("profk topk $ELEVATION -k 3 --route profk --force wg=3,shape=tile,S=4096 --json");
    assert_member("S", "4096");
    assert_member("indices", "[[119910,119909,119911]]");
    refuse("profk topk $ELEVATION -k 100000 --route profk --force S=7", 2, "");
    refuse("profk topk v.npy -k 1 --device nosuchname", 3, "nosuchname");
}

/* S = n and t = k - 1: the threshold is the (k - 1)-th element, so all six attempts miss and `full` answers. */
static void test_forced_misses(void **state)
{
    (void)state;
    succeed("profk topk v.npy -k 3 --route profk --force S=5,t=2 --json --seed 7");
    assert_member("seed", "7");
    assert_member("route", "\"profk\"");
    assert_member("S", "5");
    assert_member("t", "2");
    assert_member("attempts", "7");
    assert_member("fallbacks", "1");
    assert_member("R", "[null]");
    assert_member("certified", "[true]");
    assert_member("values", "[[3.0,1.5,0.10000000149011612]]");
    assert_member("indices", "[[3,0,2]]");
}

static void test_types(void **state)
{
    static const struct {
        const char *options, *values, *indices;
    } cases[] = {
        {"--dtype f16 -k 8",
         "[[\"NaN\",65504.0,1.0,5.960464477539063e-08,-0.0,-0.002735137939453125,-3.0,\"-Infinity\"]]",
         "[[0,5,2,4,3,7,6,1]]"},
        {"--dtype f16 -k 1 --nan last", "[[65504.0]]", "[[5]]"},
        {"--dtype bf16 -k 2", "[[2.679225179003971e+36,2.648071397852762e+36]]", "[[0,5]]"},
        {"--dtype f32 -k 4",
         "[[2.648071556309087e+36,-2.152394441202919e-41,-1.6001582767639575e-23,-2.668516383645893e+36]]",
         "[[2,1,3,0]]"},
        {"--dtype f64 -k 2 --order smallest", "[[-2.459877079069021e-185,-3.25959442045174e-310]]", "[[1,0]]"},
        {"--dtype i8 -k 3 --order smallest", "[[-128,-103,-102]]", "[[7,15,14]]"},
        {"--dtype u8 -k 3", "[[255,252,194]]", "[[10,3,13]]"},
        {"--dtype i16 -k 3", "[[31745,31743,15360]]", "[[0,5,2]]"},
        {"--dtype u16 -k 2", "[[64512,49664]]", "[[1,6]]"},
        {"--dtype i32 -k 4", "[[2080309249,-67077119,-1717911040,-2147468288]]", "[[2,0,3,1]]"},
        {"--dtype u32 -k 1", "[[4227890177]]", "[[0]]"},
        {"--dtype i64 -k 2 --order magnitude", "[[-9223306061929219071,-7378371732157038591]]", "[[0,1]]"},
        {"--dtype u64 -k 2", "[[11068372341552513025,9223438011780332545]]", "[[1,0]]"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[LINE_ROOM];

        snprintf(line, sizeof line, "profk topk t.raw %s --json", cases[i].options);
        succeed(line);
        assert_json();
        assert_member("values", cases[i].values);
        assert_member("indices", cases[i].indices);
    }
    succeed("profk topk bf16.npy --dtype bf16 -k 2 --json");
    assert_member("dtype", "\"bf16\"");
    assert_member("values", "[[2.679225179003971e+36,2.648071397852762e+36]]");
}

static void test_csv_and_table(void **state)
{
    (void)state;
    succeed("profk topk v.npy -k 3 --csv");
    assert_string_equal(out, "row,rank,index,value\n0,1,3,3.0\n0,2,0,1.5\n0,3,2,0.10000000149011612\n");
    succeed("profk topk v.npy -k 3 --json --csv --sort index");
    assert_string_equal(out, "row,index,value\n0,0,1.5\n0,2,0.10000000149011612\n0,3,3.0\n");
    succeed("profk topk t.raw --dtype f16 -k 1 --csv");
    assert_string_equal(out, "row,rank,index,value\n0,1,0,NaN\n");
    succeed("profk topk v.npy -k 1");
    assert_non_null(strstr(out, "rank"));
    assert_non_null(strstr(out, "3.0\n"));
    assert_non_null(strstr(out, ", certified, "));
}

static void test_empty_answers(void **state)
{
    static const char *const lines[] = {
        "profk topk v.npy -k 0 --json",
        "profk topk v.npy -k 0 --json --route full",
        "profk topk empty.raw -k 0 --json --dtype f64",
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        succeed(lines[i]);
        assert_json();
        assert_member("S", "null");
        assert_member("M", "null");
        assert_member("attempts", "0");
        assert_member("certified", "[true]");
        assert_member("R", "[null]");
        assert_member("values", "[[]]");
        assert_member("indices", "[[]]");
    }
    succeed("profk topk norows.npy -k 2 --rows 0 --json");
    assert_json();
    assert_member("rows", "0");
    assert_member("n", "5");
    assert_member("certified", "[]");
    assert_member("R", "[]");
    assert_member("values", "[]");
    assert_member("indices", "[]");
}

static void test_standard_input(void **state)
{
    static const char *const lines[] = {
        "profk topk - -k 1 --json <v.npy",
        "cat v.npy | profk topk - -k 1 --json",
        "cat v.npy | profk topk /dev/stdin -k 1 --json",
        "cat v.raw | profk topk --json --dtype f32 -k 1 -- -",
        "cat v.npy v.raw | profk topk - -k 1 --json",
        "(head -c 8 >/dev/null; profk topk - -k 1 --json --dtype f32) <v.raw",
        "profk topk row.npy -k 1 --json --rows 1",
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        succeed(lines[i]);
        assert_member("values", "[[3.0]]");
    }
    succeed("head -c 3000000 /dev/zero | profk topk - -k 1 --dtype i64 --json");
    assert_member("n", "375000");
}

/* An odd header length leaves the elements unaligned, so that they are copied instead of used in place. */
static void test_unaligned_array(void **state)
{
    (void)state;
    write_npy("odd.npy", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}", vector, sizeof vector);
    succeed("profk topk odd.npy -k 5 --json");
    assert_member("values", "[[3.0,1.5,0.10000000149011612,-0.0,-2.0]]");
}

static void assert_file(const char *path, size_t nbytes, const char *header, const void *data, size_t data_nbytes)
{
    static char bytes[TEXT_ROOM];
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), nbytes);
    fclose(file);
    assert_memory_equal(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    assert_memory_equal(bytes + 10, header, strlen(header));
    assert_int_equal(bytes[127], '\n');
    assert_memory_equal(bytes + 128, data, data_nbytes);
}

static void test_output_files(void **state)
{
    static const float values[] = {3.0f, 1.5f};
    static const uint64_t wide[] = {3, 0};
    static const uint32_t narrow[] = {3, 0};
    struct stat facts;

    (void)state;
    succeed("umask 027; profk topk v.npy -k 2 --values a.npy --indices b.npy --csv");
    assert_file("a.npy", 136, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", values, sizeof values);
    assert_file("b.npy", 144, "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }", wide, sizeof wide);
    assert_int_equal(stat("a.npy", &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0640);
    succeed("chmod 600 a.npy; ln -s a.npy link.npy; ln -s new.npy dangling.npy; "
            "profk topk v.npy -k 2 --rows 1 --index u32 --values link.npy --indices dangling.npy --csv");
    assert_file("a.npy", 136, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", values, sizeof values);
    assert_file("new.npy", 136, "{'descr': '<u4', 'fortran_order': False, 'shape': (1, 2), }", narrow, sizeof narrow);
    assert_int_equal(stat("a.npy", &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_int_equal(lstat("link.npy", &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    succeed("profk topk bf16.npy --dtype bf16 -k 1 --values a.npy --csv");
    assert_file("a.npy", 130, "{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }", "\x01\x7C", 2);
    succeed("profk topk norows.npy -k 2 --values a.npy --csv");
    assert_file("a.npy", 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2), }", "", 0);
    succeed("profk topk v.npy -k 2 --values /dev/null --csv");
    succeed("cp v.npy self.npy; profk topk self.npy -k 2 --values self.npy --csv"); /* the input may be replaced */
    assert_file("self.npy", 136, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", values, sizeof values);
    assert_nothing_left_behind();
}

static void test_unwritable_outputs(void **state)
{
    static const struct refusal refusals[] = {
        {"profk topk v.npy -k 1 --values nowhere/a.npy", 1, "nowhere/a.npy"},
        {"profk topk v.npy -k 1 --values .", 1, "."},
        {"profk topk v.npy -k 1 --values ''", 1, "cannot write"},
        {"profk topk v.npy -k 1 --values new/", 1, "new/"},
        {"profk topk v.npy -k 1 --values v.npy/a.npy", 1, "v.npy/a.npy"},
        {"profk topk v.npy -k 1 --values /dev/full", 1, "/dev/full"},
        {"profk topk v.npy -k 1 --values kept.npy --indices nowhere/b.npy", 1, "nowhere/b.npy"},
        {"profk topk v.npy -k 1 --values kept.npy --indices /dev/full", 1, "/dev/full"},
        {"ln -s loop.npy loop.npy; profk topk v.npy -k 1 --values loop.npy", 1, "loop.npy"},
        {"profk topk v.npy -k 1 --json >/dev/full", 1, "standard output"},
        {"profk topk v.npy -k 1 --json >&-", 1, "standard output"},
        {"profk params -n 9 -k 1 >/dev/full", 1, "standard output"},
    };

    (void)state;
    write_bytes("kept.npy", "kept", 4);
    REFUSE_ALL(refusals);
    read_text("kept.npy", out);
    assert_string_equal(out, "kept");
    assert_nothing_left_behind();
    assert_int_equal(run("profk topk v.npy -k 1 --json | true; test $? = 0"), 0);
    assert_string_equal(err, "");
}

/* What they print goes to standard error and changes nothing on standard output. */
static void test_talkative_options(void **state)
{
    (void)state;
    assert_int_equal(run("profk topk v.npy -k 1 --csv --stats -v"), 0);
    assert_string_equal(out, "row,rank,index,value\n0,1,3,3.0\n");
    assert_non_null(strstr(err, "recall misses"));
    succeed("profk topk v.npy -k 1 --csv -q");
    assert_string_equal(out, "row,rank,index,value\n0,1,3,3.0\n");
}

static void test_explain(void **state)
{
    (void)state;
    succeed("profk explain -n 1073741824 -k 8192 --json --tuning default");
    assert_json();
    assert_keys(out, "n,k,rows,dtype,order,epsilon,epsilon_row,route,shape,S,t,M,fail_recall,fail_overflow,"
                     "workspace_bytes,slabs,kernel_launches,blocking_calls,passes,device,tuning");
    assert_member("dtype", "\"f32\"");
    assert_member("route", "\"profk\"");
    assert_member("shape", "\"tile\"");
    assert_member("tuning", "\"default\"");
    assert_true(member_number(out, "workspace_bytes") <= 4.0 * 1024 * 1024);
    succeed("profk explain -n 100 -k 50 --dtype f64 --order smallest --json");
    assert_member("dtype", "\"f64\"");
    assert_member("order", "\"smallest\"");
    assert_member("route", "\"full\"");
    assert_member("shape", "null");
    assert_member("S", "null");
    assert_member("fail_recall", "null");
    succeed("profk explain -n 100 -k 50");
    assert_non_null(strstr(out, "workspace_bytes"));
}

static void test_devices(void **state)
{
    (void)state;
    succeed("profk devices");
    succeed("profk devices --json");
    assert_json();
    assert_keys(strchr(out, '[') + 1, "number,name,platform,version,driver,type,compute_units,global_bytes,"
                                      "max_alloc_bytes,local_bytes,max_work_group,usable,why_not");
}

/* Waits up to 20 seconds for standard error to say something. */
static void wait_for_message(void)
{
    const struct timespec pause = {0, 20000000};
    int tries;

    for (tries = 0; tries < 1000; tries++) {
        struct stat facts;

        if (stat("stderr.txt", &facts) == 0 && facts.st_size > 0)
            return;
        nanosleep(&pause, NULL);
    }
    fail();
}

/*
 * Both tests stop the command where it opens a pipe that nobody reads: behind input and plan (which -v prints),
 * in front of the selection.
 */
static void test_interrupted(void **state)
{
    pid_t pid;
    int number;

    (void)state;
    remove("stderr.txt");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    for (number = 0; number < 2; number++) {
        const struct timespec pause = {0, 200000000};

        remove("stderr.txt");
        pid = start("exec profk topk v.npy -k 1 -v --values part.npy --indices fifo");
        wait_for_message();
        nanosleep(&pause, NULL);
        kill(pid, number ? SIGTERM : SIGINT);
        assert_int_equal(finish(pid), 130);
        assert_string_equal(out, "");
        assert_int_not_equal(access("part.npy", F_OK), 0);
        assert_nothing_left_behind();
    }
}

static void test_shrinking_input(void **state)
{
    pid_t pid;
    int fd;

    (void)state;
    assert_int_equal(run("cp $ELEVATION shrink.npy"), 0);
    remove("stderr.txt");
    pid = start("exec profk topk shrink.npy -k 1 -v --values fifo");
    wait_for_message();
    assert_int_equal(truncate("shrink.npy", 4096), 0);
    fd = open("fifo", O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(finish(pid), 2);
    close(fd);
    assert_string_equal(out, "");
    assert_non_null(strstr(err, "shorter"));
}

static int failed_without_device(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help),        cmocka_unit_test(test_wrong_command_lines),
        cmocka_unit_test(test_wrong_input), cmocka_unit_test(test_terminal_as_input),
        cmocka_unit_test(test_npy_headers), cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_params),
    };

    return cmocka_run_group_tests_name("cli, no device", tests, set_up_without_devices, tear_down);
}

static int failed_with_device(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_forced_misses),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_csv_and_table),
        cmocka_unit_test(test_empty_answers),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_unaligned_array),
        cmocka_unit_test(test_output_files),
        cmocka_unit_test(test_unwritable_outputs),
        cmocka_unit_test(test_talkative_options),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_shrinking_input),
    };

    return cmocka_run_group_tests_name("cli, device", tests, set_up_with_devices, tear_down);
}

int main(void)
{
    profk_device device = {.struct_size = sizeof device};
    int failed;

    set_environment();
    if (getenv("OCL_ICD_VENDORS"))
        vendors = strdup(getenv("OCL_ICD_VENDORS"));
    if (profk_device_find(NULL, &device) != PROFK_OK)
        return failed_without_device() ? EXIT_FAILURE : EXIT_SKIPPED;
    failed = failed_without_device();
    failed += failed_with_device();
    free(vendors);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
