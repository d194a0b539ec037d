/*
 * numbers.c: strict readers, and the shortest decimal of a double.
 *
 * A double is printed with 1 to 17 digits; if p digits read back, so do p + 1, so the shortest p is found by
 * bisection. At a power of two the gap below is half the gap above: there the nearest p-digit decimal may lie below
 * the gap's middle and fail while its neighbour above reads back, so that neighbour is tried too.
 */
#include "numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 17 };

/* Digits d1 d2 ... of d1.d2... * 10^exponent. */
struct decimal {
    char digits[MAX_DIGITS + 1];
    int count, exponent;
};

bool parse_u64(const char *text, uint64_t *ret)
{
    uint64_t value = 0;

    if (*text == '\0')
        return false;
    for (; *text; text++) {
        uint64_t digit = (uint64_t)(*text - '0');

        if (*text < '0' || *text > '9' || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

static size_t digit_run(const char *text)
{
    return strspn(text, "0123456789");
}

bool parse_decimal(const char *text, double *ret)
{
    const char *at = text;
    size_t whole = digit_run(at), part = 0, exponent;

    at += whole;
    if (*at == '.') {
        at++;
        part = digit_run(at);
        at += part;
    }
    if (whole + part == 0)
        return false;
    if (*at == 'e' || *at == 'E') {
        at++;
        if (*at == '+' || *at == '-')
            at++;
        exponent = digit_run(at);
        if (exponent == 0)
            return false;
        at += exponent;
    }
    if (*at != '\0')
        return false;
    *ret = strtod(text, NULL);
    return true;
}

static double decimal_value(const struct decimal *d)
{
    char text[NUMBER_ROOM];

    snprintf(text, sizeof text, "%c.%se%d", d->digits[0], d->digits + 1, d->exponent);
    return strtod(text, NULL);
}

/* The nearest decimal of `count` digits to x > 0. */
static struct decimal nearest_decimal(double x, int count)
{
    struct decimal d = {.count = count};
    char text[NUMBER_ROOM];
    const char *tail = text + (count > 1 ? count + 1 : 1); /* behind "d" or "d.ddd" */

    snprintf(text, sizeof text, "%.*e", count - 1, x);
    d.digits[0] = text[0];
    if (count > 1)
        memcpy(d.digits + 1, text + 2, (size_t)count - 1);
    d.exponent = atoi(tail + 1);
    return d;
}

/* The next greater decimal of as many digits. */
static struct decimal next_decimal(struct decimal d)
{
    int i = d.count - 1;

    while (i >= 0 && d.digits[i] == '9')
        d.digits[i--] = '0';
    if (i >= 0) {
        d.digits[i]++;
    } else {
        d.digits[0] = '1';
        d.exponent++;
    }
    return d;
}

/* Whether `count` digits are enough for x; *ret is then the decimal that reads back. */
static bool reads_back(double x, int count, struct decimal *ret)
{
    struct decimal d = nearest_decimal(x, count);

    if (decimal_value(&d) != x)
        d = next_decimal(d);
    if (decimal_value(&d) != x)
        return false;
    *ret = d;
    return true;
}

static struct decimal shortest_decimal(double x)
{
    struct decimal best = nearest_decimal(x, MAX_DIGITS);
    int low = 1, high = MAX_DIGITS;

    while (low < high) {
        int middle = (low + high) / 2;

        if (reads_back(x, middle, &best))
            high = middle;
        else
            low = middle + 1;
    }
    return best;
}

/* Plain notation for 1e-4 <= x < 1e16, else an exponent. */
static void write_decimal(char *text, size_t room, const struct decimal *d)
{
    int point = d->exponent + 1; /* digits in front of the point */
    const char *digits = d->digits;

    if (point > 16 || point < -3)
        snprintf(text, room, "%c%s%se%+03d", digits[0], d->count > 1 ? "." : "", digits + 1, d->exponent);
    else if (point <= 0)
        snprintf(text, room, "0.%.*s%s", -point, "000", digits);
    else if (point >= d->count)
        snprintf(text, room, "%s%.*s.0", digits, point - d->count, "0000000000000000");
    else
        snprintf(text, room, "%.*s.%s", point, digits, digits + point);
}

bool format_double(char text[NUMBER_ROOM], double x)
{
    struct decimal d;
    size_t sign = signbit(x) ? 1 : 0;

    if (isnan(x) || isinf(x)) {
        strcpy(text, isnan(x) ? "NaN" : sign ? "-Infinity" : "Infinity");
        return false;
    }
    if (sign)
        text[0] = '-';
    if (x == 0.0) {
        strcpy(text + sign, "0.0");
        return true;
    }
    d = shortest_decimal(fabs(x));
    write_decimal(text + sign, NUMBER_ROOM - sign, &d);
    return true;
}
