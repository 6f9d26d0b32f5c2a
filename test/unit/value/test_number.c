/* number: what is written reads back, and nothing is rounded twice.
 *
 * The C library is the oracle: its strtod and snprintf are exact, only slow.
 * No test sets a locale, so they speak the one of C. Doubles are compared by
 * their bits, which tells -0 from 0. */

#include "value/number.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/random.h"
#include "lib/test.h"

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* A number as text, with a terminating zero. */
struct text {
    char chars[NUMBER_TEXT_MAX + 1];
};

static struct text text_of_double(double number)
{
    struct text text;
    text.chars[number_write_double(text.chars, number)] = '\0';
    return text;
}

static struct text text_of_int(int64_t number)
{
    struct text text;
    text.chars[number_write_int(text.chars, number)] = '\0';
    return text;
}

static struct number read_text(const char *text)
{
    return number_read(text, text + strlen(text));
}

/* What a whole text reads as, as strtod would have it. */
static double read_double(const char *text)
{
    const struct number number = read_text(text);
    EXPECT_EQ(number.end - text, strlen(text));
    EXPECT(number.kind != NUMBER_BAD);
    switch (number.kind) {
    case NUMBER_INT:
        return (double)number.integer;
    case NUMBER_DOUBLE:
        return number.real;
    case NUMBER_OVERFLOW:
        return text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
    case NUMBER_BAD:
        break;
    }
    return double_of(UINT64_MAX);
}

static bool expect_reads_as(const char *text, double want)
{
    const uint64_t got = bits_of(read_double(text));
    return got == bits_of(want) || test_fail(__FILE__,
                                             __LINE__,
                                             "\"%.60s\" reads as %a, not %a",
                                             text,
                                             double_of(got),
                                             want);
}

/* ---- Writing ------------------------------------------------------------ */

TEST(an_integer_is_written_with_all_its_digits)
{
    static const struct {
        int64_t number;
        const char *text;
    } rows[] = {
        {0, "0"},
        {7, "7"},
        {-7, "-7"},
        {10, "10"},
        {99, "99"},
        {100, "100"},
        {-12345, "-12345"},
        {123456, "123456"},
        {INT64_MAX, "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        EXPECT_TEXT(text_of_int(rows[i].number).chars, rows[i].text);
    }
}

TEST(an_integer_next_to_a_power_of_ten_has_the_right_number_of_digits)
{
    int64_t power = 1;
    for (int digits = 1; digits <= 18; digits++) {
        power *= 10;
        for (int64_t number = power - 1; number <= power + 1; number++) {
            char want[NUMBER_TEXT_MAX];
            (void)snprintf(want, sizeof want, "%" PRId64, number);
            EXPECT_TEXT(text_of_int(number).chars, want);
        }
    }
}

TEST(a_double_is_laid_out_as_ecmascript_does)
{
    static const struct {
        double number;
        const char *text;
    } rows[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {1.0, "1"},
        {-1.5, "-1.5"},
        {100.0, "100"},
        {12.34, "12.34"},
        {0.1, "0.1"},
        {-0.001, "-0.001"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e-6, "0.000001"},
        {1.5e-6, "0.0000015"},
        {-1.2345678901234567e-6, "-0.0000012345678901234567"},
        {1e-7, "1e-7"},
        {1.5e-7, "1.5e-7"},
        {9.5367431640625e-7, "9.5367431640625e-7"},
        {9007199254740991.0, "9007199254740991"},
        {9007199254740992.0, "9007199254740992"},
        {9007199254740994.0, "9007199254740994"},
        {0x1p60, "1152921504606847000"},
        {123456789012345680000.0, "123456789012345680000"},
        {999999999999999868928.0, "999999999999999900000"},
        {1e20, "100000000000000000000"},
        {1e21, "1e+21"},
        {-1.5e21, "-1.5e+21"},
        {8.41e21, "8.41e+21"},
        {1e22, "1e+22"},
        {1e23, "1e+23"},
        {9.5e22, "9.5e+22"},
        {1e100, "1e+100"},
        {5e-324, "5e-324"},
        {1e-323, "1e-323"},
        {1.5e-323, "1.5e-323"},
        {2.225073858507201e-308, "2.225073858507201e-308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {-1.7976931348623157e308, "-1.7976931348623157e+308"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        EXPECT_TEXT(text_of_double(rows[i].number).chars, rows[i].text);
    }
}

/* ---- Reading ------------------------------------------------------------ */

TEST(an_integer_is_exact_to_both_ends_of_its_range)
{
    static const struct {
        const char *text;
        int64_t number;
    } rows[] = {
        {"0", 0},
        {"7", 7},
        {"-12", -12},
        {"9007199254740993", 9007199254740993},
        {"999999999999999999", 999999999999999999},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807", -INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct number number = read_text(rows[i].text);
        EXPECT_EQ(number.kind, NUMBER_INT);
        EXPECT_INT(number.integer, rows[i].number);
        EXPECT(*number.end == '\0');
    }
}

TEST(what_is_no_integer_of_64_bits_is_a_double)
{
    static const char *const texts[] = {
        "9223372036854775808",
        "-9223372036854775809",
        "9999999999999999999",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551617", /* 1 in 64 bits */
        "1.0",
        "1e0",
        "-1E2",
        "0.0",
        "-0", /* an integer has no such zero */
        "-0.0",
        "-0e5",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        EXPECT_EQ(read_text(texts[i]).kind, NUMBER_DOUBLE);
        expect_reads_as(texts[i], strtod(texts[i], NULL));
    }
}

TEST(a_decimal_is_read_as_the_nearest_double)
{
    static const struct {
        const char *text;
        double number;
    } rows[] = {
        {"12.34", 0x1.8ae147ae147aep+3},
        {"-0.1", -0x1.999999999999ap-4},
        {"1E-5", 0x1.4f8b588e368f1p-17},
        {"1e+22", 0x1.0f0cf064dd592p+73},
        {"1e-22", 0x1.e392010175ee6p-74},
        {"1e23", 0x1.52d02c7e14af6p+76},
        {"8.41e21", 0x1.c7e83209e90b2p+72},
        {"9.5367431640625e-7", 0x1p-20},
        {"0.000000000000000000000000000000000000000001e42", 1.0},

        /* Ties, and what is a little off them. */
        {"9007199254740993.0", 0x1p53},
        {"9007199254740995.0", 0x1.0000000000002p+53},
        {"9007199254740992.99999999999999999999", 0x1p53},
        {"9007199254740993.00000000000000000001", 0x1.0000000000001p+53},
        {"1.00000000000000011102230246251565", 1.0},
        {"1.00000000000000011102230246251566", 0x1.0000000000001p+0},
        {"1090544144181609348835077142190", 0x1.b8779f2474dfbp+99},
        {"104110013277974872254e-225", 0x1.0b661a31987aep-681},

        /* Around the smallest normal and the smallest subnormal. */
        {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
        {"2.2250738585072012e-308", 0x1p-1022},
        {"2.3507e-320", 0x0.0000000001296p-1022},
        {"5e-324", 0x1p-1074},
        {"2.48e-324", 0x1p-1074},
        {"2.4703282292062327209e-324", 0x1p-1074},
        {"2.4703282292062327208e-324", 0.0},
        {"2.47e-324", 0.0},

        /* The last that do not overflow. */
        {"1.7976931348623157e308", DBL_MAX},
        {"-1.7976931348623158e308", -DBL_MAX},
        {"1.797693134862315807937289714053034150799341e308", DBL_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        expect_reads_as(rows[i].text, rows[i].number);
        expect_reads_as(rows[i].text, strtod(rows[i].text, NULL));
    }
}

TEST(what_is_beyond_the_largest_double_overflows)
{
    static const char *const texts[] = {
        "1.7976931348623159e308",
        "1.797693134862315807937289714053034150799342e308",
        "-2e308",
        "1e309",
        "123456789012345678901e300",
        "1e99999999999999999999999999",
        "0.001e9223372036854775807",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const struct number number = read_text(texts[i]);
        EXPECT_EQ(number.kind, NUMBER_OVERFLOW);
        EXPECT(*number.end == '\0');
    }
}

TEST(what_is_too_small_is_a_zero_that_keeps_its_sign)
{
    static const char *const texts[] = {
        "1e-324",
        "9999999999999999999e-343",
        "99999999999999999999e-345",
        "1e-400",
        "1e-99999999999999999999999999",
        "1000e-9223372036854775808",
        "0e999999999999",
        "0.000e-999999999999999999999",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char negative[64];
        (void)snprintf(negative, sizeof negative, "-%s", texts[i]);
        expect_reads_as(texts[i], 0.0);
        expect_reads_as(negative, -0.0);
    }
}

TEST(powers_of_ten_read_as_the_c_library_reads_them)
{
    for (int ten = -400; ten <= 400; ten++) {
        char text[32];
        for (int digit = 1; digit <= 9; digit++) {
            (void)snprintf(text, sizeof text, "%de%d", digit, ten);
            expect_reads_as(text, strtod(text, NULL));
        }
        (void)snprintf(text, sizeof text, "9999999999999999999e%d", ten);
        expect_reads_as(text, strtod(text, NULL));
    }
}

/* ---- Long texts --------------------------------------------------------- */

/* The sum of two adjacent subnormals is a double whose digits the C library
 * knows all; half of them, made here, are those of the point between. */
static void write_half(char *text, size_t size, double number)
{
    const int length = snprintf(text, size, "%.1074f", number);
    CHECK(length > 0);
    int rest = 0;
    for (char *at = text; *at != '\0'; at++) {
        if (*at != '.') {
            const int digit = rest * 10 + (*at - '0');
            *at = (char)('0' + digit / 2);
            rest = digit % 2;
        }
    }
    CHECK(rest == 1);
    (void)snprintf(text + length, size - (size_t)length, "5");
}

TEST(every_digit_of_a_half_way_point_counts)
{
    /* 768 significant digits, the most there can be. */
    char text[1200];
    const double even = double_of(0x000FFFFFFFFFFFFE);
    const double odd = double_of(0x000FFFFFFFFFFFFF);
    write_half(text, sizeof text, 0x1.ffffffffffffdp-1022);
    EXPECT_EQ(strlen(text + strspn(text, "0.")), 768);
    expect_reads_as(text, even);

    static const struct {
        const char *tail; /* in place of the last digit, which is 5 */
        bool is_above;
    } rows[] = {
        {"6", true},
        {"4", false},
        {"50", false},
        {"49999999999999999999999999999999999999999999999", false},
        {"50000000000000000000000000000000000000000000001", true},
    };
    char *const last = text + strlen(text) - 1;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const size_t room = sizeof text - (size_t)(last - text);
        (void)snprintf(last, room, "%s", rows[i].tail);
        expect_reads_as(text, rows[i].is_above ? odd : even);
    }
}

/* `head`, `count` times the digit `fill`, `tail`. Release with mem_free. */
static char *long_text(const char *head,
                       char fill,
                       size_t count,
                       const char *tail)
{
    const size_t head_length = strlen(head);
    const size_t tail_size = strlen(tail) + 1;
    char *text = mem_alloc(head_length + count + tail_size);
    (void)snprintf(text, head_length + 1, "%s", head);
    memset(text + head_length, fill, count);
    (void)snprintf(text + head_length + count, tail_size, "%s", tail);
    return text;
}

TEST(the_length_of_a_text_changes_nothing)
{
    static const struct {
        const char *head;
        char fill;
        size_t count;
        const char *tail;
        double number;
    } rows[] = {
        {"12.5", '0', 5000, "", 12.5},
        {"1", '0', 5000, "e-5000", 1.0},
        {"0.", '0', 5000, "1e5001", 1.0},
        {"0.", '0', 5000, "1234567890123456789012e5000", 0.12345678901234568},
        {"-0.", '0', 100000, "", -0.0},
        {"9007199254740993.", '0', 5000, "", 0x1p53},
        {"9007199254740993.", '0', 5000, "1", 0x1.0000000000001p+53},
        {"9007199254740992.", '9', 5000, "", 0x1p53},
        {"9007199254740993", '0', 5000, "e-5000", 0x1p53},
        {"9007199254740993", '0', 5000, ".00e-5000", 0x1p53},
        {"9007199254740993", '0', 5000, "1e-5001", 0x1.0000000000001p+53},
        {"0.", '9', 1000000, "", 1.0},
        {"", '7', 1000000, "e-999999", 7.777777777777778},
        {"1e", '0', 100000, "3", 1000.0},
        {"1e-", '0', 100000, "3", 0.001},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *text =
            long_text(rows[i].head, rows[i].fill, rows[i].count, rows[i].tail);
        expect_reads_as(text, rows[i].number);
        mem_free(text, strlen(text) + 1);
    }
}

TEST(an_integer_of_a_million_digits_overflows)
{
    char *text = long_text("1", '0', 1000000, "");
    EXPECT_EQ(read_text(text).kind, NUMBER_OVERFLOW);
    mem_free(text, strlen(text) + 1);
}

/* ---- The grammar -------------------------------------------------------- */

TEST(what_is_no_json_number_is_refused_at_the_byte_at_fault)
{
    static const struct {
        const char *text;
        size_t fault;
    } rows[] = {
        {"", 0},         {"-", 1},    {"+1", 0},    {".5", 0},    {"-.5", 1},
        {"--1", 1},      {"01", 1},   {"-01", 2},   {"00", 1},    {"007.5", 1},
        {"1.", 2},       {"1.e5", 2}, {"1..5", 2},  {"-0.", 3},   {"1e", 2},
        {"1E", 2},       {"1e+", 3},  {"1.5e-", 5}, {"1e+-5", 3}, {"1e.5", 2},
        {"e5", 0},       {"x", 0},    {" 1", 0},    {"NaN", 0},   {"-NaN", 1},
        {"Infinity", 0}, {"-inf", 1}, {"\xB2", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct number number = read_text(rows[i].text);
        if (number.kind != NUMBER_BAD) {
            test_fail(__FILE__, __LINE__, "accepted: %s", rows[i].text);
        }
        EXPECT_EQ(number.end - rows[i].text, rows[i].fault);
    }
}

TEST(the_byte_after_a_number_is_left_to_the_caller)
{
    static const struct {
        const char *text;
        enum number_kind kind;
        size_t length;
    } rows[] = {
        {"0x1", NUMBER_INT, 1},
        {"12,13", NUMBER_INT, 2},
        {"-5]", NUMBER_INT, 2},
        {"1 ", NUMBER_INT, 1},
        {"1-2", NUMBER_INT, 1},
        {"0.50}", NUMBER_DOUBLE, 4},
        {"1.5.2", NUMBER_DOUBLE, 3},
        {"1e5e5", NUMBER_DOUBLE, 3},
        {"1e5.0", NUMBER_DOUBLE, 3},
        {"1e-07x", NUMBER_DOUBLE, 5},
        {"1e400\n", NUMBER_OVERFLOW, 5},
        {"0\xFF", NUMBER_INT, 1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct number number = read_text(rows[i].text);
        EXPECT_EQ(number.kind, rows[i].kind);
        EXPECT_EQ(number.end - rows[i].text, rows[i].length);
    }
}

/* Of exactly the size, so that a sanitizer sees the first byte too many; and
 * without one, digits after the end would change the result. */
static void expect_prefix_stands_alone(const char *text, size_t length)
{
    char *alone = mem_alloc(length);
    memcpy(alone, text, length);
    const struct number got = number_read(alone, alone + length);
    const struct number same = number_read(text, text + length);
    EXPECT_EQ(got.kind, same.kind);
    EXPECT_INT(got.integer, same.integer);
    EXPECT_EQ(bits_of(got.real), bits_of(same.real));
    EXPECT_EQ(got.end - alone, same.end - text);
    EXPECT(got.end <= alone + length);
    mem_free(alone, length);
}

TEST(nothing_is_read_beyond_the_end)
{
    static const char *const texts[] = {
        "-12345678901234567890.12345678901234567890e+123456",
        "0.000012345E-45",
        "9007199254740993.000000000000000000000000000000000",
        "-0",
        "00",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        for (size_t length = 0; length <= strlen(texts[i]); length++) {
            expect_prefix_stands_alone(texts[i], length);
        }
    }
    const struct number number = number_read(texts[0], texts[0] + 3);
    EXPECT_INT(number.integer, -12);
}

TEST(n3_nothing_is_allocated)
{
    const uint64_t before = test_allocations();
    expect_reads_as("9007199254740993.0", 0x1p53);
    EXPECT_TEXT(text_of_double(0x1p-20).chars, "9.5367431640625e-7");
    EXPECT_EQ(test_allocations(), before);
}

/* ---- Properties --------------------------------------------------------- */

/* The bits of a double: any pattern, or one with structure. */
static uint64_t random_bits(struct random *random)
{
    const uint64_t bits = random_u64(random);
    const uint64_t fraction = ((uint64_t)1 << 52) - 1;
    switch (random_below(random, 5)) {
    case 0: /* zeros at the end */
        return bits & ~(fraction >> random_below(random, 53));
    case 1: /* subnormal */
        return bits &
               ((uint64_t)1 << 63 | fraction >> random_below(random, 53));
    case 2: /* of a size that people write */
        return bits_of((double)random_between(random, -9999999, 9999999) /
                       (double)random_between(random, 1, 1000));
    default:
        return bits;
    }
}

static double random_double(struct random *random)
{
    double number = double_of(random_bits(random));
    while (!isfinite(number)) {
        number = double_of(random_bits(random));
    }
    return number;
}

static void expect_round_trip(double number)
{
    expect_reads_as(text_of_double(number).chars, number);
}

PROPERTY(n1_a_double_reads_back_bit_for_bit, 50000)
{
    expect_round_trip(random_double(random));
}

PROPERTY(n1_an_integer_reads_back, 20000)
{
    const int64_t want =
        (int64_t)random_u64(random) >> random_below(random, 64);
    const struct text text = text_of_int(want);
    const struct number number = read_text(text.chars);
    EXPECT_EQ(number.kind, NUMBER_INT);
    EXPECT_INT(number.integer, want);
}

/* digits * 10^ten */
struct scaled {
    int64_t digits;
    int ten;
    int count; /* of the digits */
};

/* Takes a positive number apart, without the zeros around its digits. */
static struct scaled scaled_of(const char *text)
{
    struct scaled scaled = {0};
    bool is_fraction = false;
    const char *at = text;
    for (; *at != '\0' && *at != 'e'; at++) {
        if (*at == '.') {
            is_fraction = true;
            continue;
        }
        /* The digits of 1e20 would not fit; its zeros need not. */
        if (scaled.count >= 17 && *at == '0' && !is_fraction) {
            scaled.ten++;
            continue;
        }
        scaled.digits = scaled.digits * 10 + (*at - '0');
        scaled.count += scaled.digits != 0;
        scaled.ten -= is_fraction;
    }
    if (*at == 'e') {
        const char *const exponent = at + (at[1] == '+' ? 2 : 1);
        scaled.ten += (int)read_text(exponent).integer;
    }
    while (scaled.digits != 0 && scaled.digits % 10 == 0) {
        scaled.digits /= 10;
        scaled.ten++;
        scaled.count--;
    }
    return scaled;
}

static double double_of_scaled(int64_t digits, int ten)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%" PRId64 "e%d", digits, ten);
    return strtod(text, NULL);
}

/* `number` rounded by the C library to `count` digits. */
static struct scaled rounded(double number, int count)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%.*e", count - 1, number);
    return scaled_of(text);
}

/* `number` is positive. */
static void expect_shortest_and_nearest(double number)
{
    const struct text text = text_of_double(number);
    const struct scaled got = scaled_of(text.chars);

    /* Of the decimals with one digit less, none of the three nearest (next to
     * a power of two, it need not be the very nearest) may read as number. */
    if (got.count > 1) {
        struct scaled less = rounded(number, got.count - 1);
        for (; less.count < got.count - 1; less.count++) {
            less.digits *= 10;
            less.ten--;
        }
        for (int64_t step = -1; step <= 1; step++) {
            const double other = double_of_scaled(less.digits + step, less.ten);
            if (bits_of(other) == bits_of(number)) {
                test_fail(__FILE__, __LINE__, "%s: not shortest", text.chars);
            }
        }
    }
    const struct scaled nearest = rounded(number, got.count);
    const double same = double_of_scaled(nearest.digits, nearest.ten);
    if (bits_of(same) == bits_of(number)) {
        EXPECT_INT(got.digits, nearest.digits);
        EXPECT_INT(got.ten, nearest.ten);
    }
}

PROPERTY(n2_the_text_is_the_shortest_and_nearest, 10000)
{
    const double number = fabs(random_double(random));
    if (bits_of(number) != 0) {
        expect_shortest_and_nearest(number);
    }
}

TEST(n1_n2_hold_at_powers_of_two_and_next_to_them)
{
    for (int two = -1074; two <= 1023; two++) {
        const uint64_t bits = bits_of(ldexp(1.0, two));
        for (uint64_t step = 0; step <= 4; step++) {
            const double number = double_of(bits + step - 2);
            if (number > 0) {
                expect_round_trip(number);
                expect_round_trip(-number);
                expect_shortest_and_nearest(number);
            }
        }
    }
}

TEST(n1_n2_hold_at_powers_of_ten_and_next_to_them)
{
    for (int ten = -323; ten <= 308; ten++) {
        const uint64_t bits = bits_of(double_of_scaled(1, ten));
        for (uint64_t step = 0; step <= 2; step++) {
            expect_round_trip(double_of(bits + step - 1));
            expect_shortest_and_nearest(double_of(bits + step - 1));
        }
    }
}

/* Appends random digits and returns their end. */
static char *write_digits(char *at, struct random *random, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        *at++ = (char)('0' + random_below(random, 10));
    }
    return at;
}

PROPERTY(a_random_decimal_reads_as_the_c_library_reads_it, 50000)
{
    char text[128];
    char *at = text;
    if (random_one_in(random, 2)) {
        *at++ = '-';
    }
    *at++ = (char)('1' + random_below(random, 9));
    at = write_digits(at, random, random_below(random, 20));
    if (random_one_in(random, 2)) {
        *at++ = '.';
        at = write_digits(at, random, 1 + random_below(random, 20));
    }
    *at = '\0';
    if (!random_one_in(random, 4)) {
        const int64_t range = random_one_in(random, 2) ? 30 : 345;
        (void)snprintf(at,
                       sizeof text - (size_t)(at - text),
                       "%c%" PRId64,
                       random_one_in(random, 2) ? 'e' : 'E',
                       random_between(random, -range, range));
    }
    /* An INT of more than 53 bits is exact, and rounds when it is converted:
     * the same as reading it as a double. */
    expect_reads_as(text, strtod(text, NULL));
}

/* A long double holds the point between two doubles, and the C library knows
 * all its digits. Cut at any place, and changed there, it is the hardest that
 * a reader can be asked. */
static_assert(LDBL_MANT_DIG > DBL_MANT_DIG, "half-way points are exact");

PROPERTY(a_half_way_point_reads_as_the_c_library_reads_it, 5000)
{
    const double low = fabs(random_double(random));
    const double high = double_of(bits_of(low) + 1);
    if (!isfinite(high)) {
        return;
    }
    const long double middle = ((long double)low + (long double)high) / 2;
    const int digits = (int)random_between(random, 15, 780);

    char text[1600];
    const int length = snprintf(text, sizeof text, "%.*Le", digits, middle);
    EXPECT(length > 0);
    char *const exponent = strchr(text, 'e');
    CHECK(exponent != NULL);
    char *const last = exponent - 1;
    *last = (char)('0' + (*last - '0' + (int)random_below(random, 3)) % 10);
    expect_reads_as(text, strtod(text, NULL));

    /* The same with zeros, then perhaps a one, behind the digits. */
    char tail[16];
    (void)snprintf(tail, sizeof tail, "%s", exponent);
    const size_t zeros = random_below(random, 700);
    memset(exponent, '0', zeros);
    (void)snprintf(exponent + zeros,
                   sizeof text - (size_t)(exponent + zeros - text),
                   "%s%s",
                   random_one_in(random, 2) ? "1" : "",
                   tail);
    expect_reads_as(text, strtod(text, NULL));
}
