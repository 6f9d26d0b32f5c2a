/* Sort keys of null, booleans, numbers and strings. */

#include "collection/sort_key.h"

#include <math.h>
#include <string.h>

enum {
    NUMBER_DIGITS = 11, /* of 6 bits */
    DIGIT_BITS = 6,
    LOW_DIGITS = 2, /* of what a double cannot hold of an integer, */
    LOW_MASK = (1 << 11) - 1,
    LAST_ESCAPED = '!',
};

/* 2^53: below this, each integer is a double. */
#define EXACT_MAX ((int64_t)1 << 53)

bool sort_key_takes(struct value field)
{
    const enum value_tag tag = value_tag(field);
    return value_is_string(field) || tag == TAG_NULL || tag == TAG_BOOL ||
           (value_is_number(field) && isfinite(value_real(field)));
}

/* The bits of a double, so that they sort as unsigned numbers. */
static uint64_t sortable_bits(double real)
{
    uint64_t bits;
    const double number = fpclassify(real) == FP_ZERO ? 0.0 : real;
    memcpy(&bits, &number, sizeof bits);
    const uint64_t sign = (uint64_t)1 << 63;
    return (bits & sign) != 0 ? ~bits : bits | sign;
}

static void append_digits(struct buf *to, uint64_t bits, unsigned count)
{
    static const char digits[] =
        "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    char text[NUMBER_DIGITS];
    for (unsigned i = count; i > 0; i--) {
        text[i - 1] = digits[bits & ((1U << DIGIT_BITS) - 1)];
        bits >>= DIGIT_BITS;
    }
    buf_append(to, text, count);
}

/* sort-key-4. The high part has at most 53 bits that are not zero. */
static void append_integer(struct buf *to, int64_t integer)
{
    const uint64_t low = (uint64_t)integer & LOW_MASK;
    const int64_t high = integer - (int64_t)low;
    append_digits(to, sortable_bits((double)high), NUMBER_DIGITS);
    append_digits(to, low, LOW_DIGITS);
}

static void append_number(struct buf *to, struct value number)
{
    buf_append_char(to, 'n');
    if (value_tag(number) == TAG_INT && (value_integer(number) >= EXACT_MAX ||
                                         value_integer(number) <= -EXACT_MAX)) {
        append_integer(to, value_integer(number));
    } else {
        append_digits(to, sortable_bits(value_real(number)), NUMBER_DIGITS);
    }
}

static void append_string(struct buf *to, struct text text)
{
    buf_append_char(to, 's');
    size_t done = 0;
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char byte = (unsigned char)text.at[i];
        if (byte <= LAST_ESCAPED) {
            buf_append(to, text.at + done, i - done);
            buf_append_char(to, LAST_ESCAPED);
            buf_append_char(to, (char)('@' + byte));
            done = i + 1;
        }
    }
    buf_append(to, text.at + done, text.length - done);
    buf_append_char(to, ' ');
}

void sort_key_append(struct buf *to, struct value field)
{
    if (value_is_string(field)) {
        append_string(to, value_text(&field));
    } else if (value_is_number(field)) {
        append_number(to, field);
    } else if (value_tag(field) == TAG_BOOL) {
        buf_append_char(to, (char)(value_boolean(field) ? '2' : '1'));
    } else {
        buf_append_char(to, '0');
    }
}
