/* The shortest decimal that reads back as the same double.
 *
 * The method is Schubfach, by Raffaello Giulietti ("The Schubfach way to
 * render doubles"). A double v = c * 2^q is the nearest one to every real
 * number between the midpoints to its two neighbours. Let 10^k be the largest
 * power of ten that is not wider than this interval. Then
 *
 *   - at least one multiple of 10^k lies in the interval, and the two that
 *     enclose v are the only ones to consider;
 *   - at most one multiple of 10^(k+1) does, and if one does, it is shortest:
 *     a still shorter decimal would be a multiple of 10^(k+1) too.
 *
 * (The multiples are pigeons and the interval is a hole: hence the name.) So
 * there are four candidates, and no search.
 *
 * To compare candidates and midpoints, both are scaled to units of 10^k / 4.
 * A candidate is an even integer then. A midpoint is rarely an integer, but
 * all that matters is whether it is below, at or above an even one, and that
 * survives in round_to_odd(). */

#include "value/number.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "value/number_powers.h"

enum {
    FRACTION_BITS = 52,       /* of a double, the leading one not counted */
    EXPONENT_SPECIAL = 0x7FF, /* the exponent field of infinity and NaN */
    ULP_EXPONENT_MIN = -1074, /* of the subnormals and the smallest normals */
    DIGITS_MAX = 17,          /* of a shortest decimal */
    UNSIGNED_MAX = 20,        /* digits of any uint64_t */

    /* ECMAScript, Number::toString: a number whose decimal point stands after
     * digit n is plain for n in this range. */
    POINT_MIN = -5,
    POINT_MAX = 21,
};
static_assert(1 + 2 - POINT_MIN + DIGITS_MAX <= NUMBER_TEXT_MAX,
              "a sign, a zero, the point, five zeros, the digits");
static_assert(1 + DIGITS_MAX + 1 + 5 <= NUMBER_TEXT_MAX,
              "a sign, the digits, the point, an exponent such as e-324");
static_assert(1 + POINT_MAX <= NUMBER_TEXT_MAX, "a sign, a large integer");

/* floor(log2(number)) is bits - 1, and 1233 / 4096 is a little more than
 * log10(2): the product is the number of digits, or one less. */
static size_t digit_count(uint64_t number)
{
    /* clang-format off */
    static const uint64_t ten_to[] = {
        1U, 10U, 100U, 1000U, 10000U, 100000U, 1000000U, 10000000U,
        100000000U, 1000000000U, 10000000000U, 100000000000U,
        1000000000000U, 10000000000000U, 100000000000000U,
        1000000000000000U, 10000000000000000U, 100000000000000000U,
        1000000000000000000U, 10000000000000000000U,
    };
    /* clang-format on */
    number |= 1; /* 0 has a digit too; no other count changes */
    const size_t bits = 64U - (size_t)__builtin_clzll(number);
    const size_t count = (bits * 1233U) >> 12;
    return count + (number >= ten_to[count]);
}

/* From the last digit to the first, two at a time: half the divisions. */
static size_t write_unsigned(char *to, uint64_t number)
{
    static const char pairs[] = "00010203040506070809"
                                "10111213141516171819"
                                "20212223242526272829"
                                "30313233343536373839"
                                "40414243444546474849"
                                "50515253545556575859"
                                "60616263646566676869"
                                "70717273747576777879"
                                "80818283848586878889"
                                "90919293949596979899";

    const size_t count = digit_count(number);
    char *at = to + count;
    while (number >= 100) {
        at -= 2;
        memcpy(at, &pairs[number % 100 * 2], 2);
        number /= 100;
    }
    if (number >= 10) {
        memcpy(to, &pairs[number * 2], 2);
    } else {
        *to = (char)('0' + number);
    }
    return count;
}

size_t number_write_int(char *to, int64_t number)
{
    if (number >= 0) {
        return write_unsigned(to, (uint64_t)number);
    }
    *to = '-';
    return 1 + write_unsigned(to + 1, 0 - (uint64_t)number);
}

/* digits * 10^ten */
struct decimal {
    uint64_t digits;
    int ten;
};

/* x = factor * row / 2^132 if that is an integer, else the odd one of the two
 * integers around it. The row is not exact, but its error cannot be seen: no x
 * that occurs here is so near to an integer without being one
 * (tools/make-powers). */
static uint64_t round_to_odd(struct power row, uint64_t factor)
{
    const struct wide product = power_multiply(row, factor);
    const struct wide fraction = wide_rest(product, 68);
    return wide_shifted(product, 68) | ((fraction.high | fraction.low) != 0);
}

/* digits * 10^ten without the zeros at its end, of which there may be 16: as
 * in 10^22. The divisors are constants, which makes them multiplications. */
static struct decimal without_zeros(uint64_t digits, int ten)
{
    CHECK(digits > 0);
    while (digits % 100000000 == 0) {
        digits /= 100000000;
        ten += 8;
    }
    if (digits % 10000 == 0) {
        digits /= 10000;
        ten += 4;
    }
    if (digits % 100 == 0) {
        digits /= 100;
        ten += 2;
    }
    if (digits % 10 == 0) {
        digits /= 10;
        ten += 1;
    }
    return (struct decimal){digits, ten};
}

/* The shortest decimal for c * 2^q, not zero; of several, the one nearest to
 * it. `narrow`: c * 2^q is a power of two, so the double below is only half as
 * far away as the one above. */
static struct decimal shortest(uint64_t c, int q, bool narrow)
{
    /* floor(log10(2^q)), and of 3/4 * 2^q: the width of the interval. */
    const int k = (q * 1262611 - (narrow ? 524031 : 0)) >> 22;
    const struct power row = power_of_ten(-k);
    const int shift = q + power_log2(-k) + 5; /* 5 to 8 */

    /* In units of 10^k / 4. An end of the interval belongs to it if c is even:
     * reading rounds ties to even. */
    const uint64_t v = round_to_odd(row, (4 * c) << shift);
    const uint64_t low = round_to_odd(row, (4 * c - 2 + narrow) << shift);
    const uint64_t high = round_to_odd(row, (4 * c + 2) << shift);
    const uint64_t least = low + (c & 1);
    const uint64_t most = high - (c & 1);

    /* From here on in units of 10^k. (Only the two smallest doubles are below
     * ten of them, where a multiple of ten is not shorter than its neighbours:
     * 5e-324 has none inside, and for 1e-323 it is the nearest as well.) */
    const uint64_t below = v / 4;
    const uint64_t tens = below / 10 * 10;
    const bool tens_inside = 4 * tens >= least;
    const bool next_inside = 4 * (tens + 10) <= most;
    if (tens_inside || next_inside) {
        return without_zeros(tens_inside ? tens : tens + 10, k);
    }

    /* If both are inside, the nearer one; if equally near, the even one. */
    const bool below_inside = 4 * below >= least;
    const bool above_inside = 4 * (below + 1) <= most;
    const uint64_t middle = 4 * below + 2;
    bool up = v > middle || (v == middle && (below & 1) == 1);
    if (below_inside != above_inside) {
        up = above_inside;
    }
    return (struct decimal){below + up, k};
}

static size_t write_exponent(char *to, int exponent)
{
    to[0] = 'e';
    to[1] = exponent < 0 ? '-' : '+';
    const int size = exponent < 0 ? -exponent : exponent;
    return 2 + write_unsigned(to + 2, (uint64_t)size);
}

/* Lays out `count` digits with the decimal point after digit `point`, which
 * may lie before the first or after the last. */
static size_t write_layout(char *to,
                           const char *digits,
                           size_t count,
                           int point)
{
    if (point < POINT_MIN || point > POINT_MAX) {
        size_t length = 1;
        to[0] = digits[0];
        if (count > 1) {
            to[1] = '.';
            memcpy(to + 2, digits + 1, count - 1);
            length += count;
        }
        return length + write_exponent(to + length, point - 1);
    }
    if (point <= 0) {
        const size_t zeros = (size_t)-point;
        memcpy(to, "0.00000", 2 + zeros);
        memcpy(to + 2 + zeros, digits, count);
        return 2 + zeros + count;
    }
    const size_t whole = (size_t)point;
    if (whole < count) {
        memcpy(to, digits, whole);
        to[whole] = '.';
        memcpy(to + whole + 1, digits + whole, count - whole);
        return count + 1;
    }
    memcpy(to, digits, count);
    memset(to + count, '0', whole - count);
    return whole;
}

static size_t write_decimal(char *to, struct decimal decimal)
{
    char digits[UNSIGNED_MAX];
    const size_t count = write_unsigned(digits, decimal.digits);
    CHECK(count <= DIGITS_MAX);
    return write_layout(to, digits, count, decimal.ten + (int)count);
}

size_t number_write_double(char *to, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    const int exponent = (int)(bits >> FRACTION_BITS) & EXPONENT_SPECIAL;
    const uint64_t hidden = (uint64_t)1 << FRACTION_BITS;
    const uint64_t fraction = bits & (hidden - 1);
    CHECK(exponent != EXPONENT_SPECIAL);

    size_t sign = 0;
    if (bits >> 63 != 0) {
        to[0] = '-';
        sign = 1;
    }

    /* A subnormal has the ulp of the smallest normals, without their leading
     * one. */
    const uint64_t c = exponent > 0 ? hidden | fraction : fraction;
    const int q = ULP_EXPONENT_MIN + (exponent > 0 ? exponent - 1 : 0);

    /* An integer below 2^53 needs all its digits: the next decimals with fewer
     * are other integers, and those are doubles themselves. */
    if (c == 0) {
        return sign + write_unsigned(to + sign, 0);
    }
    if (q <= 0 && q >= -FRACTION_BITS && (c & (((uint64_t)1 << -q) - 1)) == 0) {
        return sign + write_unsigned(to + sign, c >> -q);
    }

    const bool narrow = fraction == 0 && exponent > 1;
    return sign + write_decimal(to + sign, shortest(c, q, narrow));
}
