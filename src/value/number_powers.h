/* Powers of ten for both directions of number.h, as a table.
 *
 * A row holds 10^t as the integer `high * 2^64 + low` of exactly 128 bits,
 * times 2^(power_log2(t) - 127). It is rounded up:
 *
 *   number-powers-1  A row is at least the true value, and less than 1 above
 *                    it.
 *   number-powers-2  A row is exact for 0 <= t <= 55.
 *
 * tools/make-powers writes the table; it says where the range comes from, and
 * proves what reading and writing rely on. */

#ifndef VALUE_NUMBER_POWERS_H
#define VALUE_NUMBER_POWERS_H

#include <stdint.h>

#include "base/check.h"
#include "value/wide.h"

enum {
    POWER_FIRST = -342,
    POWER_LAST = 324,
};

struct power {
    uint64_t high, low;
};

extern const struct power number_powers[POWER_LAST - POWER_FIRST + 1];

static inline struct power power_of_ten(int ten)
{
    CHECK(ten >= POWER_FIRST);
    CHECK(ten <= POWER_LAST);
    return number_powers[ten - POWER_FIRST];
}

/* floor(log2(10^ten)) for the whole table. The shift is arithmetic: it rounds
 * down, not towards zero. */
static inline int power_log2(int ten)
{
    return (ten * 217706) >> 16;
}

/* The upper 128 of the 192 bits of factor * row. */
static inline struct wide power_multiply(struct power row, uint64_t factor)
{
    return wide_plus(wide_product(factor, row.high),
                     wide_of(wide_product(factor, row.low).high));
}

#endif
