/* base58 (alphabet of Bitcoin) of numbers with a fixed length, as did:key uses
 * it. Costs the product of both lengths: for short inputs only. */

#ifndef AUTH_BASE58_H
#define AUTH_BASE58_H

#include <stdbool.h>
#include <stddef.h>

/* Exactly `length` digits of the bytes as one number, the highest first. CHECKs
 * that they suffice. Not terminated. */
void base58_write(const unsigned char *bytes,
                  size_t count,
                  char *out,
                  size_t length);

/* The reverse: exactly `count` bytes. False if a character is not a digit, or
 * if the number is too large for them. */
bool base58_read(const char *digits,
                 size_t length,
                 unsigned char *out,
                 size_t count);

#endif
