/* Strict UTF-8: which bytes are text, and the bytes of a code point. */

#include "value/utf8.h"

#include <string.h>

#include "base/check.h"

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0U) == 0x80U;
}

/* The second byte carries all the exceptions: for some first bytes a part of
 * its range would be overlong, a surrogate or too large. */
static bool second_is_valid(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xE0:
        return second >= 0xA0 && second <= 0xBF;
    case 0xED:
        return second >= 0x80 && second <= 0x9F;
    case 0xF0:
        return second >= 0x90 && second <= 0xBF;
    case 0xF4:
        return second >= 0x80 && second <= 0x8F;
    default:
        return is_continuation(second);
    }
}

unsigned utf8_sequence(const char *at, const char *end)
{
    const unsigned char *bytes = (const unsigned char *)at;
    const unsigned char first = bytes[0];
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xC2 || first > 0xF4) {
        return 0;
    }
    const unsigned length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if ((size_t)(end - at) < length || !second_is_valid(first, bytes[1])) {
        return 0;
    }
    for (unsigned i = 2; i < length; i++) {
        if (!is_continuation(bytes[i])) {
            return 0;
        }
    }
    return length;
}

bool utf8_is_valid(const char *bytes, size_t length)
{
    const char *at = bytes;
    const char *const end = bytes + length;
    while (at < end) {
        /* Eight ASCII bytes at a time, the common case. */
        uint64_t eight = 0;
        if (end - at >= 8) {
            memcpy(&eight, at, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                at += 8;
                continue;
            }
        }
        const unsigned sequence = utf8_sequence(at, end);
        if (sequence == 0) {
            return false;
        }
        at += sequence;
    }
    return true;
}

void utf8_escape(struct buf *to, const char *bytes, size_t length)
{
    const char *at = bytes;
    const char *const end = bytes + length;
    while (at < end) {
        const unsigned sequence = utf8_sequence(at, end);
        if (sequence == 0) {
            buf_printf(to, "\\x%02x", (unsigned)(unsigned char)*at++);
        } else {
            buf_append(to, at, sequence);
            at += sequence;
        }
    }
}

unsigned utf8_write(char *to, uint32_t code_point)
{
    CHECK(code_point <= 0x10FFFF);
    if (code_point < 0x80) {
        to[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        to[0] = (char)(0xC0 | code_point >> 6);
        to[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        to[0] = (char)(0xE0 | code_point >> 12);
        to[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        to[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | code_point >> 18);
    to[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    to[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    to[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}
