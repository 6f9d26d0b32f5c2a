/* base58: long multiplication and division, digit by digit. */

#include "auth/base58.h"

#include <string.h>

#include "base/check.h"

static const char alphabet[] =
    "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

enum {
    BASE = 58
};

/* digits * 256 + carry, in place. */
static unsigned shift_in(unsigned char *digits, size_t length, unsigned carry)
{
    for (size_t i = length; i-- > 0;) {
        carry += (unsigned)digits[i] * 256;
        digits[i] = (unsigned char)(carry % BASE);
        carry /= BASE;
    }
    return carry;
}

void base58_write(const unsigned char *bytes,
                  size_t count,
                  char *out,
                  size_t length)
{
    unsigned char digits[128] = {0};
    CHECK(length <= sizeof digits);
    for (size_t i = 0; i < count; i++) {
        const unsigned over = shift_in(digits, length, bytes[i]);
        CHECK(over == 0);
    }
    for (size_t i = 0; i < length; i++) {
        out[i] = alphabet[digits[i]];
    }
}

bool base58_read(const char *digits,
                 size_t length,
                 unsigned char *out,
                 size_t count)
{
    memset(out, 0, count);
    for (size_t i = 0; i < length; i++) {
        const char *at = digits[i] != '\0' ? strchr(alphabet, digits[i]) : NULL;
        if (at == NULL) {
            return false;
        }
        unsigned carry = (unsigned)(at - alphabet);
        for (size_t j = count; j-- > 0;) {
            carry += (unsigned)out[j] * BASE;
            out[j] = (unsigned char)(carry & 0xFFU);
            carry >>= 8;
        }
        if (carry != 0) {
            return false;
        }
    }
    return true;
}
