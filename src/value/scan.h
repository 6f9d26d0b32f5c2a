/* Finding the end of a run of plain characters, eight bytes at a time. Shared
 * by the JSON reader and the writer, which stop at the same bytes. */

#ifndef VALUE_SCAN_H
#define VALUE_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SCAN_ONES  UINT64_C(0x0101010101010101)
#define SCAN_HIGHS UINT64_C(0x8080808080808080)

/* A high bit in each byte (of a little-endian word, as value.c asserts) that
 * is a quote, a backslash or below a space. Bits above the lowest true one may
 * be false alarms, the lowest never is. */
static inline uint64_t scan_specials(uint64_t eight)
{
    const uint64_t quote = eight ^ (SCAN_ONES * '"');
    const uint64_t slash = eight ^ (SCAN_ONES * '\\');
    return (((quote - SCAN_ONES) & ~quote) | ((slash - SCAN_ONES) & ~slash) |
            ((eight - SCAN_ONES * 0x20) & ~eight)) &
           SCAN_HIGHS;
}

static inline bool scan_is_special(char c)
{
    return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

/* The first byte from `at` on that is special, or, if `ascii` is asked for,
 * not ASCII; `end` if there is none. */
static inline const char *scan_plain(const char *at,
                                     const char *end,
                                     bool ascii)
{
    const uint64_t highs = ascii ? SCAN_HIGHS : 0;
    while (end - at >= 8) {
        uint64_t eight;
        memcpy(&eight, at, sizeof eight);
        const uint64_t stop = scan_specials(eight) | (eight & highs);
        if (stop != 0) {
            return at + (__builtin_ctzll(stop) >> 3);
        }
        at += 8;
    }
    while (at < end && !scan_is_special(*at) &&
           !(ascii && (unsigned char)*at >= 0x80)) {
        at++;
    }
    return at;
}

#endif
