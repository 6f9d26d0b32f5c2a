/* The text of a value, and the names that follow from it. */

#include <assert.h>
#include <string.h>

#include "api/handle.h"
#include "api/memory.h"
#include "api/status.h"
#include "base/limits.h"
#include "value/id.h"
#include "value/json.h"

enum {
    INDENT_MAX = 16,
    PREFIX_LENGTH_MAX = 16,
};

static_assert((int)HD_AS_GIVEN == (int)JSON_AS_GIVEN, "forms differ");
static_assert((int)HD_CANONICAL == (int)JSON_CANONICAL, "forms differ");
static_assert(HD_DIGEST_LENGTH == DIGEST_TEXT_LENGTH, "digests differ");

hd_status hd_value_write(const hd_value *value,
                         hd_form form,
                         unsigned indent,
                         char **text,
                         size_t *length)
{
    if (length != NULL) {
        *length = 0;
    }
    if (text == NULL) {
        return HD_ARGUMENT;
    }
    *text = NULL;
    if (value == NULL || (form != HD_AS_GIVEN && form != HD_CANONICAL) ||
        indent > INDENT_MAX) {
        return HD_ARGUMENT;
    }
    /* The limit is what a reader accepts. Indented, a small value can be a
     * thousand times as long; and a value can hold one part in many places. */
    struct buf json = {0};
    text_begin(&json);
    if (!json_write_within(&json,
                           value->value,
                           (enum json_form)form,
                           indent,
                           LIMIT_TEXT_BYTES)) {
        buf_release(&json);
        return HD_LIMIT_SIZE;
    }
    *text = text_take(&json, length);
    return HD_OK;
}

/* Whether the text has a length that we deal with; it has the same in either
 * form. A digest needs the whole text, and a value that was put together from
 * one part many times over can have more of it than there is memory. */
static bool has_bounded_text(struct value value)
{
    struct buf json = {0};
    const bool bounded =
        json_write_within(&json, value, JSON_AS_GIVEN, 0, LIMIT_TEXT_BYTES);
    buf_release(&json);
    return bounded;
}

hd_status hd_value_digest(const hd_value *value,
                          char digest[HD_DIGEST_LENGTH + 1])
{
    if (digest == NULL) {
        return HD_ARGUMENT;
    }
    digest[0] = '\0';
    if (value == NULL) {
        return HD_ARGUMENT;
    }
    if (!has_bounded_text(value->value)) {
        return HD_LIMIT_SIZE;
    }
    digest_write(value_digest(value->value), digest);
    return HD_OK;
}

static bool is_prefix_character(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z') || c == ':';
}

static enum err check_prefix(const char *prefix)
{
    size_t length = 0;
    while (length <= PREFIX_LENGTH_MAX && prefix[length] != '\0') {
        if (!is_prefix_character(prefix[length])) {
            return ERR_ARGUMENT;
        }
        length++;
    }
    if (length > PREFIX_LENGTH_MAX) {
        return ERR_LIMIT_ID;
    }
    return length > 0 ? ERR_OK : ERR_ARGUMENT;
}

hd_status hd_value_id(const char *prefix, const hd_value *cause, hd_value **id)
{
    if (id == NULL) {
        return HD_ARGUMENT;
    }
    *id = NULL;
    if (prefix == NULL || cause == NULL) {
        return HD_ARGUMENT;
    }
    enum err err = check_prefix(prefix);
    if (err == ERR_OK && !has_bounded_text(cause->value)) {
        err = ERR_LIMIT_SIZE;
    }
    if (err == ERR_OK) {
        *id = handle_new_adopt(id_of_cause(prefix, cause->value));
    }
    return status_of(err);
}
