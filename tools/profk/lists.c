/* lists.c: see lists.h. */
#include "lists.h"

#include <string.h>

#include "numbers.h"

enum { WORD_ROOM = 64 };

/* Cuts the part in front of the separator off *text; false where it has no room or the text has ended. */
static bool take_word(const char **text, const char *separators, char word[WORD_ROOM])
{
    size_t length;

    if (!*text)
        return false;
    length = strcspn(*text, separators);
    if (length >= WORD_ROOM)
        return false;
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length;
    return true;
}

/* The same for an item of a list; *text is NULL behind the last one. */
static bool take_item(const char **text, char word[WORD_ROOM])
{
    if (!take_word(text, ",", word))
        return false;
    *text = **text ? *text + 1 : NULL;
    return true;
}

static bool multiply(uint64_t a, uint64_t b, uint64_t *ret)
{
    if (b && a > UINT64_MAX / b)
        return false;
    *ret = a * b;
    return true;
}

static bool power(uint64_t base, uint64_t exponent, uint64_t *ret)
{
    if (exponent > 64) /* of 0 and 1 too: nobody means it */
        return false;
    for (*ret = 1; exponent > 0; exponent--)
        if (!multiply(*ret, base, ret))
            return false;
    return true;
}

static bool number(const char *text, uint64_t *ret)
{
    char base[WORD_ROOM];
    uint64_t b, e;

    if (!strchr(text, '^'))
        return parse_u64(text, ret);
    return take_word(&text, "^", base) && parse_u64(base, &b) && parse_u64(text + 1, &e) && power(b, e, ret);
}

static bool append(struct list *list, uint64_t value)
{
    if (list->count == LIST_ROOM)
        return false;
    list->values[list->count++] = value;
    return true;
}

/* The next number of a range; false where it does not grow. */
static bool next_number(uint64_t value, char operation, uint64_t by, uint64_t *ret)
{
    if (operation == '*')
        return by > 1 && value > 0 && multiply(value, by, ret);
    *ret = value + by;
    return *ret > value;
}

/* LOW..HIGH with *FACTOR or +STEP; `dots` points at the "..". */
static bool append_range(struct list *list, const char *item, const char *dots)
{
    const char *rest = dots + 2;
    char low[WORD_ROOM] = "", high[WORD_ROOM], operation = '*';
    uint64_t value, end, by = 2;

    memcpy(low, item, (size_t)(dots - item)); /* an item has room for it */
    if (!number(low, &value) || !take_word(&rest, "*+", high) || !number(high, &end) || end < value)
        return false;
    if (*rest) {
        operation = *rest;
        if (!number(rest + 1, &by))
            return false;
    }
    for (;;) {
        uint64_t next;

        if (!append(list, value))
            return false;
        if (value == end)
            return true;
        if (!next_number(value, operation, by, &next))
            return operation == '*' && by > 1 && value > 0; /* past 2^64 is past the end */
        if (next > end)
            return true;
        value = next;
    }
}

bool list_of_numbers(const char *text, struct list *ret)
{
    struct list list = {0};
    char item[WORD_ROOM];
    uint64_t value;

    while (text) {
        const char *dots;

        if (!take_item(&text, item))
            return false;
        dots = strstr(item, "..");
        if (dots ? !append_range(&list, item, dots) : !number(item, &value) || !append(&list, value))
            return false;
    }
    *ret = list;
    return true;
}

bool list_of_words(const char *text, bool (*find)(const char *word, uint64_t *ret), struct list *ret)
{
    struct list list = {0};
    char item[WORD_ROOM];
    uint64_t value;

    while (text)
        if (!take_item(&text, item) || !find(item, &value) || !append(&list, value))
            return false;
    *ret = list;
    return true;
}

bool list_of_decimals(const char *text, double low, double high, struct decimals *ret)
{
    struct decimals list = {0};
    char item[WORD_ROOM];
    double value;

    while (text) {
        if (!take_item(&text, item) || !parse_decimal(item, &value) || !(value >= low && value <= high) ||
            list.count == DECIMALS_ROOM)
            return false;
        list.values[list.count++] = value;
    }
    *ret = list;
    return true;
}
