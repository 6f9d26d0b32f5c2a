/* JSON numbers to integers and to the nearest doubles.
 *
 * One pass over the text gives the digits as an integer, the mantissa, and the
 * power of ten that belongs to it. Then the cheapest method that is certain to
 * be right makes the double:
 *
 *   1. Mantissa and power are both exact as doubles: one multiplication or
 *      division, which rounds once (Clinger).
 *   2. The product with a 128-bit power of ten, with a bound of its error.
 *      Certain unless the point half-way between two doubles lies within the
 *      bound (Eisel and Lemire), which is rare except for exact ties.
 *   3. Exact comparison of the decimal and the half-way point as integers of
 *      some thousand bits.
 *
 * The mantissa has 19 digits, what 64 bits hold. Further digits, unless zero,
 * only make the bound of the second method wider; the third looks at the text
 * again. */

#include "value/number.h"

#include <assert.h>
#include <float.h>
#include <string.h>

#include "base/check.h"
#include "value/number_powers.h"

/* The first method rounds twice where doubles are kept wider than they are. */
static_assert(FLT_EVAL_METHOD == 0, "double arithmetic is in double");

enum {
    MANTISSA_DIGITS = 19,  /* any that many fit into 64 bits */
    FRACTION_BITS = 52,    /* of a double, the leading one not counted */
    EXPONENT_MIN = -1022,  /* of the leading bit of a normal double */
    EXPONENT_MAX = 1023,   /* likewise */
    TEN_MIN = POWER_FIRST, /* less, and any mantissa rounds to zero */
    TEN_MAX = 308,         /* more, and any mantissa but zero overflows */
    EXACT_TEN_MAX = 22,    /* 5^22 < 2^53: the last exact power of ten */

    /* A half-way point is an odd integer below 2^54 times a power of two that
     * is at least 2^-1075, so it has at most 768 significant digits. A decimal
     * that is cut after more digits stays on its side of the point, or meets
     * it; then it is known whether more digits followed. */
    SIGNIFICANT_MAX = 800,
};

static const uint64_t infinity_bits = (uint64_t)0x7FF << FRACTION_BITS;

/* A decimal as text, and as mantissa * 10^ten. */
struct decimal {
    const char *digits;     /* the first digit of the text */
    const char *digits_end; /* after the last; a point may be in between */
    int64_t last_ten;       /* the power of ten of the last digit */
    uint64_t mantissa;
    int64_t ten;
    bool inexact; /* the mantissa lacks digits, and not only zeros */
};

/* ---- Integers of unbounded size, for the third method ------------------- */

enum {
    /* Both sides of the comparison are about equal, and one of them is either
     * the digits, below 10^800, or 2^54 * 5^n with n below 800 + 324: less
     * than 2^2665. While a side is made it is never larger than at the end. */
    LIMB_MAX = 42,
};

struct big {
    uint64_t limb[LIMB_MAX]; /* least significant first */
    size_t count;            /* the last one is not zero */
};

static void big_multiply_add(struct big *big, uint64_t factor, uint64_t addend)
{
    uint64_t carry = addend;
    for (size_t i = 0; i < big->count; i++) {
        const struct wide product =
            wide_plus(wide_product(big->limb[i], factor), wide_of(carry));
        big->limb[i] = product.low;
        carry = product.high;
    }
    if (carry != 0) {
        CHECK(big->count < LIMB_MAX);
        big->limb[big->count++] = carry;
    }
}

static void big_set_digits(struct big *big, const char *digits, size_t count)
{
    const uint64_t scale_max = 1000000000000000000U;
    big->count = 0;
    for (size_t i = 0; i < count;) {
        uint64_t scale = 1;
        uint64_t chunk = 0;
        for (; i < count && scale < scale_max; i++) {
            scale *= 10;
            chunk = chunk * 10 + (uint64_t)(digits[i] - '0');
        }
        big_multiply_add(big, scale, chunk);
    }
}

static void big_multiply_power_of_five(struct big *big, int64_t power)
{
    const uint64_t five_to_27 = 7450580596923828125U; /* the last below 2^64 */
    for (; power >= 27; power -= 27) {
        big_multiply_add(big, five_to_27, 0);
    }
    for (; power > 0; power--) {
        big_multiply_add(big, 5, 0);
    }
}

static void big_shift_left(struct big *big, int64_t bits)
{
    const size_t limbs = (size_t)bits / 64;
    big_multiply_add(big, (uint64_t)1 << (bits % 64), 0);
    CHECK(big->count + limbs <= LIMB_MAX);
    memmove(big->limb + limbs, big->limb, big->count * sizeof big->limb[0]);
    memset(big->limb, 0, limbs * sizeof big->limb[0]);
    big->count += limbs;
}

static int big_compare(const struct big *a, const struct big *b)
{
    if (a->count != b->count) {
        return a->count < b->count ? -1 : 1;
    }
    for (size_t i = a->count; i > 0; i--) {
        if (a->limb[i - 1] != b->limb[i - 1]) {
            return a->limb[i - 1] < b->limb[i - 1] ? -1 : 1;
        }
    }
    return 0;
}

/* ---- Decimals to doubles ------------------------------------------------ */

/* The first significant digits of a decimal. */
struct significant {
    size_t count;
    int64_t last_ten; /* the power of ten of the last one */
    bool more;        /* a digit that is not zero follows */
};

/* Copies the first digits, at most `max`, from the first that is not zero. */
static struct significant copy_significant(const struct decimal *decimal,
                                           char *to,
                                           size_t max)
{
    struct significant result = {.last_ten = decimal->last_ten};
    const char *at = decimal->digits;
    const char *const end = decimal->digits_end;
    while (at < end && (*at == '0' || *at == '.')) {
        at++;
    }
    for (; at < end && result.count < max; at++) {
        if (*at != '.') {
            to[result.count++] = *at;
        }
    }
    for (; at < end; at++) {
        result.last_ten += *at != '.';
        result.more |= *at > '0'; /* the point is less than '0', too */
    }
    return result;
}

/* The sign of decimal - odd * 2^two, by integers: the powers of five and two
 * go to whichever side they have a positive exponent on. */
static int compare_exactly(const struct decimal *decimal,
                           uint64_t odd,
                           int64_t two)
{
    char digits[SIGNIFICANT_MAX];
    const struct significant significant =
        copy_significant(decimal, digits, sizeof digits);
    struct big left;
    big_set_digits(&left, digits, significant.count);
    struct big right = {.limb = {odd}, .count = 1};

    const int64_t ten = significant.last_ten;
    if (ten >= 0) {
        big_multiply_power_of_five(&left, ten);
    } else {
        big_multiply_power_of_five(&right, -ten);
    }
    if (ten >= two) {
        big_shift_left(&left, ten - two);
    } else {
        big_shift_left(&right, two - ten);
    }
    const int order = big_compare(&left, &right);
    return order == 0 && significant.more ? 1 : order;
}

/* Method 2. `decimal` is not zero, and `ten` within TEN_MIN and TEN_MAX.
 *
 * With the mantissa shifted up to 64 bits, the decimal is x * 2^n for an x of
 * 127 or 128 bits, of which `product` is nearly the integer part:
 *
 *     product - 1 < x < product + 1        for an exact mantissa
 *
 * since number-powers-1 makes the row too large by less than 1, the factor is
 * less than 2^64, and the low 64 bits of the product are cut off. The digits
 * that an inexact mantissa lacks are less than one unit of it, which after the
 * shift is less than 2^(64 + shift) in the product.
 *
 * The double is the upper 53 bits of x, or less for a subnormal; `rest` is what
 * is below them. Only a half-way point makes the result change, so the error
 * does no harm where rest is near 0 or its maximum. */
static uint64_t nearest_by_product(const struct decimal *decimal)
{
    const int ten = (int)decimal->ten;
    const int shift = __builtin_clzll(decimal->mantissa);
    const struct wide product =
        power_multiply(power_of_ten(ten), decimal->mantissa << shift);
    const int top = (int)(product.high >> 63);
    const struct wide slack =
        decimal->inexact ? wide_bit(64 + shift) : wide_of(0);

    int exponent = power_log2(ten) + 63 - shift + top; /* of the leading bit */
    int drop = 127 + top - (FRACTION_BITS + 1);        /* bits below an ulp */
    if (exponent > EXPONENT_MAX) {
        return infinity_bits;
    }
    if (exponent < EXPONENT_MIN) {
        drop += EXPONENT_MIN - exponent;
        exponent = EXPONENT_MIN;
        if (drop > 128) {
            return 0; /* less than half of the smallest subnormal */
        }
    }

    const struct wide half = wide_bit(drop - 1);
    const struct wide rest = wide_rest(product, drop);
    const uint64_t whole = wide_shifted(product, drop - 1) >> 1;
    const struct wide most = wide_plus(wide_plus(rest, wide_of(1)), slack);
    bool up = wide_is_less(half, rest);
    if (!up && wide_is_less(half, most)) {
        const int order = compare_exactly(decimal,
                                          2 * whole + 1,
                                          exponent - FRACTION_BITS - 1);
        up = order > 0 || (order == 0 && (whole & 1) == 1);
    }

    /* The leading one of a normal is added to the exponent field, which is one
     * too small for this; so is the carry of rounding up to a power of two, or
     * from the subnormals to the normals, or to infinity. */
    const uint64_t field = (uint64_t)(exponent - EXPONENT_MIN);
    return (field << FRACTION_BITS) + whole + up;
}

/* Replaces a mantissa that has wrapped around. Not all its digits need be
 * significant: 0.000... may have any number of them. */
static void decimal_cut(struct decimal *decimal)
{
    char digits[MANTISSA_DIGITS];
    const struct significant significant =
        copy_significant(decimal, digits, sizeof digits);
    decimal->mantissa = 0;
    for (size_t i = 0; i < significant.count; i++) {
        decimal->mantissa =
            decimal->mantissa * 10 + (uint64_t)(digits[i] - '0');
    }
    decimal->ten = significant.last_ten;
    decimal->inexact = significant.more;
}

/* The bits of the nearest double, or of infinity for what is beyond the
 * largest. Never inlined: the callers' frames stay small, and the hot ones
 * need no stack guard. */
__attribute__((noinline)) static uint64_t nearest(struct decimal decimal,
                                                  ptrdiff_t digit_count)
{
    if (digit_count > MANTISSA_DIGITS) {
        decimal_cut(&decimal);
    }
    if (decimal.mantissa == 0 || decimal.ten < TEN_MIN) {
        return 0;
    }
    return decimal.ten > TEN_MAX ? infinity_bits : nearest_by_product(&decimal);
}

/* Method 1. False if the decimal does not qualify for it. */
static bool nearest_by_double(uint64_t mantissa, int64_t ten, double *real)
{
    static const double exact_power[EXACT_TEN_MAX + 1] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    };
    const uint64_t exact_mantissa_max = (uint64_t)1 << (FRACTION_BITS + 1);
    if (mantissa > exact_mantissa_max || ten < -EXACT_TEN_MAX ||
        ten > EXACT_TEN_MAX) {
        return false;
    }
    *real = ten < 0 ? (double)mantissa / exact_power[-ten]
                    : (double)mantissa * exact_power[ten];
    return true;
}

/* ---- The text ----------------------------------------------------------- */

static struct number bad_number(const char *at)
{
    return (struct number){.kind = NUMBER_BAD, .end = at};
}

/* Appends digits to the mantissa, which wraps around after the 19th: counting
 * them one by one would cost more than to repeat the rare long number. (Eight
 * digits at a time were slower for the numbers of up to six that fill real
 * documents.) */
static inline const char *read_digits(const char *at,
                                      const char *end,
                                      uint64_t *mantissa)
{
    uint64_t value = *mantissa;
    for (; at < end; at++) {
        const unsigned digit = (unsigned char)*at - (unsigned)'0';
        if (digit > 9) {
            break;
        }
        value = value * 10 + digit;
    }
    *mantissa = value;
    return at;
}

/* The digits of an exponent. It stops to grow at a size that no number of
 * digits before or after the point could bring back into the range of a
 * double, since no text is that long. */
static const char *read_exponent(const char *at,
                                 const char *end,
                                 int64_t *exponent)
{
    const int64_t absurd = (int64_t)1 << 58;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (*exponent < absurd) {
            *exponent = *exponent * 10 + (*at - '0');
        }
    }
    return at;
}

/* The rest of a number that is no INT, from `at`, the end of its integer part.
 * Apart from number_read, where integers would pay for its frame. */
__attribute__((noinline)) static struct number read_real(const char *digits,
                                                         const char *at,
                                                         const char *end,
                                                         uint64_t mantissa,
                                                         bool negative)
{
    ptrdiff_t digit_count = at - digits;
    int64_t ten = 0;
    if (at < end && *at == '.') {
        const char *const fraction = at + 1;
        at = read_digits(fraction, end, &mantissa);
        if (at == fraction) {
            return bad_number(at);
        }
        digit_count += at - fraction;
        ten = fraction - at;
    }
    const char *const digits_end = at;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        const bool minus = at < end && *at == '-';
        const bool plus = at < end && *at == '+';
        const char *const exponent_digits = at + (minus || plus);
        int64_t exponent = 0;
        at = read_exponent(exponent_digits, end, &exponent);
        if (at == exponent_digits) {
            return bad_number(at);
        }
        ten += minus ? -exponent : exponent;
    }

    double real;
    if (digit_count > MANTISSA_DIGITS ||
        !nearest_by_double(mantissa, ten, &real)) {
        const struct decimal decimal = {
            .digits = digits,
            .digits_end = digits_end,
            .last_ten = ten,
            .mantissa = mantissa,
            .ten = ten,
        };
        const uint64_t bits = nearest(decimal, digit_count);
        if (bits == infinity_bits) {
            return (struct number){.kind = NUMBER_OVERFLOW, .end = at};
        }
        memcpy(&real, &bits, sizeof real);
    }
    return (struct number){.kind = NUMBER_DOUBLE,
                           .real = negative ? -real : real,
                           .end = at};
}

struct number number_read(const char *at, const char *end)
{
    const bool negative = at < end && *at == '-';
    const char *const digits = at + negative;
    uint64_t mantissa = 0;
    at = read_digits(digits, end, &mantissa);
    const ptrdiff_t digit_count = at - digits;
    if (UNLIKELY(digit_count == 0)) {
        return bad_number(at);
    }
    if (UNLIKELY(*digits == '0' && digit_count > 1)) {
        return bad_number(digits + 1);
    }

    const bool whole = at == end || (*at != '.' && *at != 'e' && *at != 'E');
    const bool minus_zero = negative && mantissa == 0;
    const bool fits = digit_count <= MANTISSA_DIGITS &&
                      mantissa <= (uint64_t)INT64_MAX + negative;
    if (whole && fits && !minus_zero) {
        const uint64_t integer = negative ? 0 - mantissa : mantissa;
        return (struct number){.kind = NUMBER_INT,
                               .integer = (int64_t)integer,
                               .end = at};
    }
    return read_real(digits, at, end, mantissa, negative);
}
