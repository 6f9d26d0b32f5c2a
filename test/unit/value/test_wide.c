/* wide: 128 bits, against arithmetic on 32 bits at a time. */

#include "value/wide.h"

#include <stdio.h>

#include "base/random.h"
#include "lib/test.h"

/* The digits of a * b in base 2^32, the least first, as at school. */
static void multiply_slowly(uint64_t a, uint64_t b, uint32_t digits[4])
{
    const uint32_t x[] = {(uint32_t)a, (uint32_t)(a >> 32)};
    const uint32_t y[] = {(uint32_t)b, (uint32_t)(b >> 32)};
    for (size_t i = 0; i < 4; i++) {
        digits[i] = 0;
    }
    for (size_t i = 0; i < 2; i++) {
        uint64_t carry = 0;
        for (size_t k = 0; k < 2; k++) {
            const uint64_t sum = digits[i + k] + (uint64_t)x[i] * y[k] + carry;
            digits[i + k] = (uint32_t)sum;
            carry = sum >> 32;
        }
        digits[i + 2] = (uint32_t)carry;
    }
}

/* Many bits, few bits, or nearly all. */
static uint64_t draw(struct random *random)
{
    const uint64_t word = random_u64(random);
    switch (random_below(random, 4)) {
    case 0:
        return word;
    case 1:
        return word >> random_below(random, 64);
    case 2:
        return ~(word >> random_below(random, 64));
    default:
        return random_one_in(random, 2) ? 0 : UINT64_MAX;
    }
}

static unsigned bit_of(struct wide wide, int at)
{
    return (unsigned)((at < 64 ? wide.low >> at : wide.high >> (at - 64)) & 1);
}

PROPERTY(a_product_is_what_it_is_by_hand, 20000)
{
    const uint64_t a = draw(random);
    const uint64_t b = draw(random);
    uint32_t digits[4];
    multiply_slowly(a, b, digits);
    const struct wide product = wide_product(a, b);
    EXPECT_EQ(product.low, digits[0] | (uint64_t)digits[1] << 32);
    EXPECT_EQ(product.high, digits[2] | (uint64_t)digits[3] << 32);
}

PROPERTY(a_sum_a_shift_and_a_rest_are_those_of_the_bits, 20000)
{
    const struct wide a = {draw(random), draw(random)};
    const struct wide b = {draw(random), draw(random)};
    const struct wide sum = wide_plus(a, b);
    const int power = (int)random_below(random, 128);
    unsigned carry = 0;
    uint64_t shifted = 0;
    struct wide rest = {0, 0};
    for (int i = 0; i < 128; i++) {
        const unsigned x = bit_of(a, i);
        const unsigned y = bit_of(b, i);
        const unsigned z = bit_of(sum, i);
        EXPECT_EQ(z, (x + y + carry) & 1);
        carry = (x + y + carry) >> 1;
        if (i >= power && i < power + 64) {
            shifted |= (uint64_t)x << (i - power);
        }
        if (i < power) {
            *(i < 64 ? &rest.low : &rest.high) |= (uint64_t)x << (i % 64);
        }
    }
    EXPECT_EQ(wide_shifted(a, power), shifted);
    if (power > 0) {
        EXPECT_EQ(wide_rest(a, power).high, rest.high);
        EXPECT_EQ(wide_rest(a, power).low, rest.low);
    }
    const struct wide bit = wide_bit(power);
    EXPECT_EQ(bit.low, power < 64 ? (uint64_t)1 << power : 0);
    EXPECT_EQ(bit.high, power < 64 ? 0 : (uint64_t)1 << (power - 64));
    EXPECT_EQ(wide_is_less(a, b),
              a.high < b.high || (a.high == b.high && a.low < b.low));
    EXPECT(!wide_is_less(a, a));
    EXPECT_EQ(wide_rest(a, 128).high, a.high);
}
