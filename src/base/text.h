/* Where a text may be cut. Two modules write sentences of bounded length
 * (err, log), and half a character at the end would be invalid UTF-8. */

#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

/* How many bytes the UTF-8 character takes that starts with `lead`. */
static inline size_t text_character_size(unsigned char lead)
{
    if (lead < 0xC0 || lead >= 0xF8) {
        return 1;
    }
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* The length of text[0 .. length) without an incomplete character at its end.
 * Bytes that are not UTF-8 are left alone. */
static inline size_t text_whole_length(const char *text, size_t length)
{
    for (size_t back = 1; back <= 4 && back <= length; back++) {
        const unsigned char byte = (unsigned char)text[length - back];
        if ((byte & 0xC0U) != 0x80U) {
            return text_character_size(byte) > back ? length - back : length;
        }
    }
    return length;
}

/* The precision of a "%.*s" that shows at most `most` bytes of a text. */
static inline int text_shown(const char *text, size_t length, int most)
{
    const size_t cut = length < (size_t)most ? length : (size_t)most;
    return (int)text_whole_length(text, cut);
}

#endif
