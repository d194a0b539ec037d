/* json_reader.c: see json_reader.h. */
#include "json_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell.h"

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
const char *find_member(const char *at, const char *key, const char **end_ret)
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

void assert_json(void)
{
    const char *end = skip_value(out);

    if (!end || strcmp(end, "\n") != 0)
        print_message("no JSON: %s\n", out);
    assert_non_null(end);
    assert_string_equal(end, "\n");
}

/* Member key of the object that the last run printed, as written. */
void assert_member(const char *key, const char *expected)
{
    const char *end, *at = find_member(out, key, &end);
    char text[LINE_ROOM];

    snprintf(text, sizeof text, "%.*s", (int)(end - at), at);
    if (strcmp(text, expected) != 0)
        print_message("%s: %s\n", key, out);
    assert_string_equal(text, expected);
}

double member_number(const char *at, const char *key)
{
    const char *end;

    return strtod(find_member(at, key, &end), NULL);
}

/* The keys of the object, in order, joined with commas. */
void assert_keys(const char *at, const char *expected)
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
