/* Escapes in the names of files. */

#include "cli/file_name.h"

#include <string.h>

#include "value/utf8.h"

struct value file_name_write(const char *name)
{
    struct buf text = {0};
    const char *at = name;
    while (*at != '\0') {
        const char *escape = strstr(at, "\\x");
        const size_t length =
            escape != NULL ? (size_t)(escape - at) : strlen(at);
        utf8_escape(&text, at, length);
        at += length;
        if (escape != NULL) {
            buf_append_text(&text, "\\x5c");
            at++;
        }
    }
    const struct value string = value_string_new(buf_text(&text), text.length);
    buf_release(&text);
    return string;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void file_name_read(struct buf *to, struct value text)
{
    if (!value_is_string(text)) {
        return;
    }
    const struct text given = value_text(&text);
    for (size_t i = 0; i < given.length; i++) {
        const bool escape = given.length - i >= 4 && given.at[i] == '\\' &&
                            given.at[i + 1] == 'x' &&
                            digit(given.at[i + 2]) >= 0 &&
                            digit(given.at[i + 3]) >= 0;
        if (escape) {
            buf_append_char(
                to,
                (char)(digit(given.at[i + 2]) * 16 + digit(given.at[i + 3])));
            i += 3;
        } else {
            buf_append_char(to, given.at[i]);
        }
    }
}
