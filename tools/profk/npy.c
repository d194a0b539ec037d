/* npy.c: a strict reader for the one Python literal that the format allows, and its writer. */
#include "npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

static const char *const broken = "its header is not the dictionary that NumPy writes";
static const char *const cut_short = "it ends inside its header";

/* The text that is still to be read. */
struct text {
    const char *at, *end;
};

bool npy_recognise(const void *bytes, uint64_t nbytes)
{
    return nbytes >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

static void skip_blanks(struct text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t' || *text->at == '\n' || *text->at == '\r'))
        text->at++;
}

/* Takes `word` if it comes next, with the blanks in front of it. */
static bool take(struct text *text, const char *word)
{
    size_t length = strlen(word);

    skip_blanks(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0)
        return false;
    text->at += length;
    return true;
}

static bool peek(struct text *text, const char *word)
{
    struct text copy = *text;

    return take(&copy, word);
}

/* A quoted string without escapes, cut to room. */
static bool take_string(struct text *text, char *ret, size_t room)
{
    size_t length = 0;
    char quote;

    if (!peek(text, "'") && !peek(text, "\""))
        return false;
    skip_blanks(text);
    quote = *text->at++;
    for (; text->at < text->end && *text->at != quote; text->at++) {
        if (*text->at == '\\' || *text->at == '\n')
            return false;
        if (length + 1 < room)
            ret[length++] = *text->at;
    }
    ret[length] = '\0';
    return text->at++ < text->end;
}

/* Decimal digits, with the L that Python 2 wrote behind long ones. */
static bool take_integer(struct text *text, uint64_t *ret)
{
    const char *start;
    uint64_t value = 0;

    skip_blanks(text);
    for (start = text->at; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        uint64_t digit = (uint64_t)(*text->at - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (text->at == start)
        return false;
    if (text->at < text->end && *text->at == 'L')
        text->at++;
    *ret = value;
    return true;
}

/* (), (3,), (3, 4), (3, 4,); a lone (3) is no tuple. */
static bool take_shape(struct text *text, struct npy *npy)
{
    bool comma = true;

    if (!take(text, "("))
        return false;
    npy->dims = 0;
    while (!take(text, ")")) {
        uint64_t length;

        if (!comma || !take_integer(text, &length))
            return false;
        if (npy->dims < NPY_MAX_DIMS)
            npy->shape[npy->dims] = length;
        npy->dims++;
        comma = take(text, ",");
    }
    return npy->dims != 1 || comma;
}

/* A list of fields, as of a structured type: skipped up to its closing bracket. */
static bool skip_list(struct text *text)
{
    int depth = 0;

    do {
        char ignored[2];

        if (take(text, "[") || take(text, "("))
            depth++;
        else if (take(text, "]") || take(text, ")"))
            depth--;
        else if (!take_string(text, ignored, sizeof ignored)) {
            if (text->at >= text->end)
                return false;
            text->at++;
        }
    } while (depth > 0);
    return true;
}

static bool take_value(struct text *text, const char *key, struct npy *npy)
{
    if (strcmp(key, "descr") == 0)
        return peek(text, "[") ? skip_list(text) : take_string(text, npy->descr, sizeof npy->descr);
    if (strcmp(key, "shape") == 0)
        return take_shape(text, npy);
    npy->fortran_order = take(text, "True");
    return npy->fortran_order || take(text, "False");
}

/* The bit of a key, 0 for an unknown one. */
static unsigned key_bit(const char *key)
{
    return strcmp(key, "descr") == 0 ? 1 : strcmp(key, "fortran_order") == 0 ? 2 : strcmp(key, "shape") == 0 ? 4 : 0;
}

/* All three keys once, in any order, nothing but blanks behind. */
static bool take_dictionary(struct text *text, struct npy *npy)
{
    unsigned seen = 0;
    bool comma = true;

    if (!take(text, "{"))
        return false;
    while (!take(text, "}")) {
        char key[16];
        unsigned bit;

        if (!comma || !take_string(text, key, sizeof key) || !take(text, ":"))
            return false;
        bit = key_bit(key);
        if (bit == 0 || (seen & bit) || !take_value(text, key, npy))
            return false;
        seen |= bit;
        comma = take(text, ",");
    }
    skip_blanks(text);
    return seen == 7 && text->at == text->end;
}

const char *npy_parse(const void *bytes, uint64_t nbytes, struct npy *ret)
{
    const unsigned char *head = bytes;
    uint64_t prefix, length = 0;
    struct text text;
    int i;

    memset(ret, 0, sizeof *ret);
    if (nbytes < 8)
        return cut_short;
    if (head[6] < 1 || head[6] > 3 || head[7] != 0)
        return "its format version is none of 1.0, 2.0 and 3.0";
    prefix = head[6] == 1 ? 10 : 12;
    if (nbytes < prefix)
        return cut_short;
    for (i = (int)prefix - 1; i >= 8; i--)
        length = length << 8 | head[i];
    if (nbytes - prefix < length)
        return cut_short;
    ret->data_at = prefix + length;
    text.at = (const char *)bytes + prefix;
    text.end = text.at + length;
    return take_dictionary(&text, ret) ? NULL : broken;
}

size_t npy_header(char room[NPY_HEADER_ROOM], const char *descr, uint32_t dims, const uint64_t shape[NPY_MAX_DIMS])
{
    char tuple[64], text[NPY_HEADER_ROOM];
    size_t length, whole;

    if (dims == 1)
        snprintf(tuple, sizeof tuple, "(%" PRIu64 ",)", shape[0]);
    else
        snprintf(tuple, sizeof tuple, "(%" PRIu64 ", %" PRIu64 ")", shape[0], shape[1]);
    length =
        (size_t)snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, tuple);
    whole = (10 + length + 1 + 63) / 64 * 64;
    memcpy(room, magic, sizeof magic);
    room[6] = 1;
    room[7] = 0;
    room[8] = (char)((whole - 10) & 0xFF);
    room[9] = (char)((whole - 10) >> 8);
    memcpy(room + 10, text, length);
    memset(room + 10 + length, ' ', whole - 10 - length - 1);
    room[whole - 1] = '\n';
    return whole;
}
