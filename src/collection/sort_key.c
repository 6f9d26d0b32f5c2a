/* Sort keys of null, booleans, numbers and strings. */

#include "collection/sort_key.h"

#include <math.h>
#include <string.h>

enum {
    NUMBER_DIGITS = 11, /* of 6 bits */
    DIGIT_BITS = 6,
    LAST_ESCAPED = '!',
};

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

static void append_number(struct buf *to, double real)
{
    static const char digits[] =
        "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    uint64_t bits = sortable_bits(real);
    char text[1 + NUMBER_DIGITS];
    text[0] = 'n';
    for (unsigned i = NUMBER_DIGITS; i > 0; i--) {
        text[i] = digits[bits & ((1U << DIGIT_BITS) - 1)];
        bits >>= DIGIT_BITS;
    }
    buf_append(to, text, sizeof text);
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
        append_number(to, value_real(field));
    } else if (value_tag(field) == TAG_BOOL) {
        buf_append_char(to, (char)(value_boolean(field) ? '2' : '1'));
    } else {
        buf_append_char(to, '0');
    }
}
