/* Numbers as text: exact in both directions, without the C library's locale.
 *
 * Reading gives the double nearest to the decimal (ties to even), or an
 * integer where the text is one and fits into 64 bits. Writing gives the
 * fewest digits that read back as the same double, laid out as ECMAScript
 * does it: plain from 0.000001 to below 1e21, otherwise with an exponent.
 *
 *   number-1  What is written for a finite x reads back as x, bit for bit;
 *             where it reads as an INT, that INT converted to double is x.
 *   number-2  No shorter digit string reads back as x; of the shortest, the one
 *             nearest to x is written.
 *   number-3  Nothing here allocates, and reading takes time linear in the
 *             text.
 *
 * The layout pads a large integer with zeros: the double 2^60 is written as
 * 1152921504606847000, and so reads as an INT that is not 2^60 (but
 * number-1). */

#ifndef VALUE_NUMBER_H
#define VALUE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for any number that is written here; there is no terminating zero. */
enum {
    NUMBER_TEXT_MAX = 32
};

/* Both return how many bytes were written at `to`, at most NUMBER_TEXT_MAX. */
size_t number_write_int(char *to, int64_t number);

/* `number` is finite. -0 is written as "-0", 1 as "1". */
size_t number_write_double(char *to, double number);

enum number_kind {
    NUMBER_INT,      /* `integer` holds it exactly */
    NUMBER_DOUBLE,   /* `real` is the nearest double, finite */
    NUMBER_OVERFLOW, /* well formed, but beyond the largest double */
    NUMBER_BAD,      /* not a number of the JSON grammar */
};

struct number {
    enum number_kind kind;
    int64_t integer;
    double real;
    const char *end; /* after the number; of NUMBER_BAD, the byte at fault,
                        or the end of a text that stops too early */
};

/* Reads the JSON number that begins at `at`. Reads no byte at or after `end`.
 * Text without a fraction and an exponent that fits into int64_t is an INT
 * ("-0" excepted, which is the double -0); larger integers and everything
 * else are a DOUBLE: the caller decides whether 1.0 is 1. What is too small
 * for a double is a zero that keeps its sign.
 *
 * The number ends at the first byte that cannot continue it, and the caller
 * decides whether that byte is allowed there: of "0x1" the 0 is read. Only a
 * digit after a leading zero is refused here. */
struct number number_read(const char *at, const char *end);

#endif
