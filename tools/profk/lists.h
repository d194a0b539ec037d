/*
 * lists.h: the operands of profk bench that are lists.
 *
 *   LIST    ITEM,ITEM,...
 *   ITEM    NUMBER, or LOW..HIGH (doubling), LOW..HIGH*FACTOR, LOW..HIGH+STEP; HIGH is in it where it is met
 *   NUMBER  decimal digits, or BASE^EXPONENT: 2^20
 */
#ifndef PROFK_COMMAND_LISTS_H
#define PROFK_COMMAND_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LIST_ROOM = 128, DECIMALS_ROOM = 32 };

/* count 0: not given. */
struct list {
    size_t count;
    uint64_t values[LIST_ROOM];
};

struct decimals {
    size_t count;
    double values[DECIMALS_ROOM];
};

/* Each replaces *ret, or returns false where the text is no list, or one too long. */
bool list_of_numbers(const char *text, struct list *ret);
bool list_of_words(const char *text, bool (*find)(const char *word, uint64_t *ret), struct list *ret);
bool list_of_decimals(const char *text, double low, double high, struct decimals *ret);

#endif
