/* Text of others, made harmless. */

#include "cli/display.h"

#include <inttypes.h>
#include <stdbool.h>

#include "heddle/heddle.h"

static bool is_utf8(const char *text)
{
    hd_value *string = NULL;
    const hd_status status = hd_value_new_string(text, HD_TERMINATED, &string);
    hd_value_unref(string);
    return status == HD_OK;
}

/* The code point at `at`, valid UTF-8, if it is one that must not reach a
 * terminal as it is (the C1 controls, separators of lines, and marks of
 * direction), and how many bytes it has; 0 if it is harmless. */
static unsigned hidden_code_point(const unsigned char *at, size_t *size)
{
    if (at[0] == 0xC2 && at[1] < 0xA0) {
        *size = 2;
        return at[1];
    }
    if (at[0] != 0xE2) {
        return 0;
    }
    *size = 3;
    const unsigned code = 0x2000U | ((at[1] & 0x3FU) << 6) | (at[2] & 0x3FU);
    const bool hidden = code == 0x200E || code == 0x200F ||
                        (code >= 0x2028 && code <= 0x202E) ||
                        (code >= 0x2066 && code <= 0x2069);
    return hidden ? code : 0;
}

void display_append(struct buf *to, const char *text)
{
    const bool valid = is_utf8(text);
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0') {
        size_t size = 1;
        const unsigned hidden = valid ? hidden_code_point(at, &size) : 0;
        if (hidden != 0) {
            buf_printf(to, "\\u%04x", hidden);
            at += size;
        } else if (*at < 0x20 || *at == 0x7F || (*at >= 0x80 && !valid)) {
            buf_printf(to, "\\x%02x", (unsigned)*at);
            at++;
        } else {
            buf_append_char(to, (char)*at);
            at++;
        }
    }
}

struct value display_text(const char *text)
{
    struct buf shown = {0};
    display_append(&shown, text);
    const struct value string =
        value_string_new(buf_text(&shown), shown.length);
    buf_release(&shown);
    return string;
}

void display_count(struct buf *to, uint64_t count, const char *noun)
{
    buf_printf(to, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
}
