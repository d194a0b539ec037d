/* json.c: see json.h. */
#include "json.h"

#include <inttypes.h>

#include "numbers.h"
#include "out.h"

/* Bytes of the UTF-8 sequence that text begins with, 0 if it is none (RFC 3629: no surrogates, no long forms). */
static size_t utf8_length(const unsigned char *text)
{
    unsigned char lead = text[0];
    size_t length = 0, i;

    if (lead < 0x80)
        length = 1;
    else if (lead >= 0xC2 && lead <= 0xF4)
        length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;

    for (i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    if ((lead == 0xE0 && text[1] < 0xA0) || (lead == 0xED && text[1] > 0x9F) || (lead == 0xF0 && text[1] < 0x90) ||
        (lead == 0xF4 && text[1] > 0x8F))
        return 0;
    return length;
}

static void quoted(const char *text)
{
    out_text("\"");
    while (*text) {
        size_t length = utf8_length((const unsigned char *)text);

        if (length == 0)
            out_text("\\ufffd");
        else if (*text == '"' || *text == '\\')
            out_format("\\%c", *text);
        else if (length == 1 && ((unsigned char)*text < 0x20 || *text == 0x7F))
            out_format("\\u%04x", (unsigned)(unsigned char)*text);
        else
            out_bytes(text, length);
        text += length ? length : 1;
    }
    out_text("\"");
}

/* The comma behind the value before, and the key. */
static void start_value(struct json *json, const char *key)
{
    if (json->comma_due)
        out_text(",");
    json->comma_due = true;
    if (key) {
        quoted(key);
        out_text(":");
    }
}

void json_open(struct json *json, const char *key, char bracket)
{
    start_value(json, key);
    out_bytes(&bracket, 1);
    json->comma_due = false;
}

void json_close(struct json *json, char bracket)
{
    out_bytes(&bracket, 1);
    json->comma_due = true;
}

void json_literal(struct json *json, const char *key, const char *text)
{
    start_value(json, key);
    out_text(text);
}

void json_string(struct json *json, const char *key, const char *text)
{
    start_value(json, key);
    quoted(text);
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
    start_value(json, key);
    out_format("%" PRIu64, value);
}

void json_double(struct json *json, const char *key, double value)
{
    char text[NUMBER_ROOM];

    if (format_double(text, value))
        json_literal(json, key, text);
    else
        json_string(json, key, text);
}

void json_null(struct json *json, const char *key)
{
    json_literal(json, key, "null");
}

void json_bool(struct json *json, const char *key, bool value)
{
    json_literal(json, key, value ? "true" : "false");
}

void json_u64_or_null(struct json *json, const char *key, bool known, uint64_t value)
{
    if (known)
        json_u64(json, key, value);
    else
        json_null(json, key);
}
