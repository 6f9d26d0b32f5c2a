/* Unsigned integers of 128 bits, for decimal numbers (number_read.c,
 * number_write.c): the few operations that they need, on every target. Only the
 * product of two words uses a compiler extension, if available. */

#ifndef VALUE_WIDE_H
#define VALUE_WIDE_H

#include <stdbool.h>
#include <stdint.h>

struct wide {
    uint64_t high;
    uint64_t low;
};

static inline struct wide wide_product(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ const unsigned __int128 product = (unsigned __int128)a * b;
    return (struct wide){(uint64_t)(product >> 64), (uint64_t)product};
#else
    const uint64_t half = 0xFFFFFFFF;
    const uint64_t low = (a & half) * (b & half);
    const uint64_t cross = (a >> 32) * (b & half) + (low >> 32);
    const uint64_t other = (a & half) * (b >> 32) + (cross & half);
    return (struct wide){
        (a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32),
        (other << 32) | (low & half),
    };
#endif
}

/* Wraps on overflow, as a word does. */
static inline struct wide wide_plus(struct wide a, struct wide b)
{
    const uint64_t low = a.low + b.low;
    return (struct wide){a.high + b.high + (low < b.low), low};
}

static inline struct wide wide_of(uint64_t word)
{
    return (struct wide){0, word};
}

/* 2^power; power is below 128. */
static inline struct wide wide_bit(int power)
{
    return power < 64 ? (struct wide){0, (uint64_t)1 << power}
                      : (struct wide){(uint64_t)1 << (power - 64), 0};
}

/* The lower word of wide / 2^power; power is below 128. */
static inline uint64_t wide_shifted(struct wide wide, int power)
{
    if (power >= 64) {
        return wide.high >> (power - 64);
    }
    return power == 0 ? wide.low
                      : (wide.high << (64 - power)) | (wide.low >> power);
}

/* The remainder of wide / 2^power; power is from 1 to 128. */
static inline struct wide wide_rest(struct wide wide, int power)
{
    if (power > 64) {
        return (struct wide){wide.high & (UINT64_MAX >> (128 - power)),
                             wide.low};
    }
    return (struct wide){0, wide.low & (UINT64_MAX >> (64 - power))};
}

static inline bool wide_is_less(struct wide a, struct wide b)
{
    return a.high != b.high ? a.high < b.high : a.low < b.low;
}

#endif
