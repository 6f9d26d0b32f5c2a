/* UTF-8: validation of strings, and encoding of code points.
 *
 * Strict: no overlong forms, no surrogates, nothing above U+10FFFF. */

#ifndef VALUE_UTF8_H
#define VALUE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

bool utf8_is_valid(const char *bytes, size_t length);

/* Appends the bytes as valid UTF-8: each byte that is not part of a character
 * is written as \xNN, two hexadecimal digits. All else is unchanged. */
void utf8_escape(struct buf *to, const char *bytes, size_t length);

/* The length of the well-formed sequence at `at`, 1 to 4; 0 if there is none.
 * Reads no byte at or after `end`, which is after `at`. */
unsigned utf8_sequence(const char *at, const char *end);

/* Writes a code point that is not a surrogate; returns 1 to 4. */
unsigned utf8_write(char *to, uint32_t code_point);

#endif
