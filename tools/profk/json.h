/*
 * json.h: JSON written to standard output as it comes; nothing is held but whether a comma is due.
 * key is NULL for an element of a list and for the outermost value.  Integers are written in full, doubles as in
 * numbers.h.
 */
#ifndef PROFK_COMMAND_JSON_H
#define PROFK_COMMAND_JSON_H

#include <stdbool.h>
#include <stdint.h>

struct json {
    bool comma_due;
};

void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                 /* '}' or ']' */
void json_null(struct json *json, const char *key);
void json_bool(struct json *json, const char *key, bool value);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_double(struct json *json, const char *key, double value); /* "NaN", "Infinity", "-Infinity" are strings */
void json_string(struct json *json, const char *key, const char *text); /* bytes that are no UTF-8 become U+FFFD */
void json_literal(struct json *json, const char *key, const char *text);

/* null where the value is not known. */
void json_u64_or_null(struct json *json, const char *key, bool known, uint64_t value);

#endif
