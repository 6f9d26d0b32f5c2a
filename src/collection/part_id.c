/* Writing ids of rows and pages. */

#include "collection/part_id.h"

#include <math.h>

#include "value/collection_id.h"
#include "value/compare.h"
#include "value/id.h"
#include "value/number.h"

enum {
    ID_KEY_MAX = 64,      /* bytes of a key in an id, as it is, */
    ID_SORT_KEY_MAX = 96, /* and of a sort key */
};

static const char first_page[] = ".";

/* -- Rows ---------------------------------------------------------------- */

bool row_key_is_usable(struct value key)
{
    if (value_is_string(key)) {
        const size_t length = value_text(&key).length;
        return length > 0 && length <= COLLECTION_KEY_BYTES_MAX;
    }
    return value_is_number(key) && isfinite(value_real(key));
}

/* Whether a text is in ids as it is: what begins with '=' or '#' is not a text,
 * and a '/' would end the part. */
static bool is_plain(struct text text)
{
    if (text.length > ID_KEY_MAX || text.at[0] == '=' || text.at[0] == '#') {
        return false;
    }
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] <= ' ' || text.at[i] == '/' || text.at[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

void row_key_append_number(struct buf *to, struct value number)
{
    char digits[NUMBER_TEXT_MAX];
    const double real = value_real(number);
    const size_t length =
        value_tag(number) == TAG_INT
            ? number_write_int(digits, value_integer(number))
            : number_write_double(digits,
                                  fpclassify(real) == FP_ZERO ? 0.0 : real);
    buf_append(to, digits, length);
}

static void append_digest(struct buf *to, const char *purpose, struct text text)
{
    char digest[DIGEST_TEXT_LENGTH + 1];
    digest_write(digest_of_bytes(purpose, text.at, text.length), digest);
    buf_append_char(to, '#');
    buf_append_text(to, digest);
}

void row_id_append(struct buf *to, struct text root, struct value key)
{
    buf_append(to, root.at, root.length);
    buf_append_text(to, COLLECTION_ROW_MARK);
    if (!value_is_string(key)) {
        buf_append_char(to, '=');
        row_key_append_number(to, key);
        return;
    }
    const struct text text = value_text(&key);
    if (is_plain(text)) {
        buf_append(to, text.at, text.length);
    } else {
        append_digest(to, "row", text);
    }
}

/* -- Pages --------------------------------------------------------------- */

/* Whether a sort key can be part of an id as it is. A '/' would make the part
 * in front of it look like another document. */
static bool fits_id(struct text text)
{
    if (text.length > ID_SORT_KEY_MAX) {
        return false;
    }
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] == '/' || text.at[i] == '#' || text.at[i] <= 0) {
            return false;
        }
    }
    return true;
}

void page_id_append_front(struct buf *to,
                          struct text root,
                          struct text ordering)
{
    buf_append(to, root.at, root.length);
    buf_append_text(to, COLLECTION_ORDER_MARK);
    buf_append(to, ordering.at, ordering.length);
    buf_append_char(to, '/');
}

void page_id_append(struct buf *to,
                    struct text front,
                    unsigned level,
                    struct text low)
{
    buf_append(to, front.at, front.length);
    buf_printf(to, "L%u/", level);
    if (low.length == 0) {
        buf_append_text(to, first_page);
    } else if (fits_id(low)) {
        buf_append(to, low.at, low.length);
    } else {
        append_digest(to, "page", low);
    }
}
