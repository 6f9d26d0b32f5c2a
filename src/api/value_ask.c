/* Questions to a value. Each gives HD_TYPE to a value of the wrong kind; what
 * it returns as new shares the content and copies nothing. */

#include <assert.h>
#include <inttypes.h>

#include "api/edge.h"
#include "api/error.h"
#include "api/handle.h"
#include "base/limits.h"
#include "base/text.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/path.h"

static_assert((int)HD_NULL == (int)VALUE_NULL, "kinds differ");
static_assert((int)HD_BOOL == (int)VALUE_BOOL, "kinds differ");
static_assert((int)HD_INT == (int)VALUE_INT, "kinds differ");
static_assert((int)HD_DOUBLE == (int)VALUE_DOUBLE, "kinds differ");
static_assert((int)HD_STRING == (int)VALUE_STRING, "kinds differ");
static_assert((int)HD_ARRAY == (int)VALUE_ARRAY, "kinds differ");
static_assert((int)HD_OBJECT == (int)VALUE_OBJECT, "kinds differ");
static_assert((int)HD_LINK == (int)VALUE_LINK, "kinds differ");
static_assert((int)HD_TAGGED == (int)VALUE_TAGGED, "kinds differ");

/* -- Leaves -------------------------------------------------------------- */

hd_status hd_value_kind(const hd_value *value, hd_kind *kind)
{
    if (kind == NULL) {
        return HD_ARGUMENT;
    }
    *kind = (hd_kind)(value != NULL ? value_kind(value->value) : VALUE_ABSENT);
    return value != NULL ? HD_OK : HD_ARGUMENT;
}

hd_status hd_value_get_bool(const hd_value *value, bool *boolean)
{
    if (boolean == NULL) {
        return HD_ARGUMENT;
    }
    *boolean = false;
    if (value == NULL) {
        return HD_ARGUMENT;
    }
    if (value_kind(value->value) != VALUE_BOOL) {
        return HD_TYPE;
    }
    *boolean = value_boolean(value->value);
    return HD_OK;
}

hd_status hd_value_get_int(const hd_value *value, int64_t *integer)
{
    if (integer == NULL) {
        return HD_ARGUMENT;
    }
    *integer = 0;
    if (value == NULL) {
        return HD_ARGUMENT;
    }
    if (value_kind(value->value) != VALUE_INT) {
        return HD_TYPE;
    }
    *integer = value_integer(value->value);
    return HD_OK;
}

hd_status hd_value_get_double(const hd_value *value, double *number)
{
    if (number == NULL) {
        return HD_ARGUMENT;
    }
    *number = 0;
    if (value == NULL) {
        return HD_ARGUMENT;
    }
    if (!value_is_number(value->value)) {
        return HD_TYPE;
    }
    *number = value_real(value->value);
    return HD_OK;
}

hd_status hd_value_get_string(const hd_value *value,
                              const char **bytes,
                              size_t *length)
{
    if (length != NULL) {
        *length = 0;
    }
    if (bytes == NULL) {
        return HD_ARGUMENT;
    }
    *bytes = NULL;
    if (value == NULL) {
        return HD_ARGUMENT;
    }
    if (!value_is_string(value->value)) {
        return HD_TYPE;
    }
    const struct text text = value_text(&value->value);
    const bool is_short = value_tag(value->value) == TAG_SHORT;
    *bytes = is_short ? value->terminated : text.at;
    if (length != NULL) {
        *length = text.length;
    }
    return HD_OK;
}

/* -- Containers ---------------------------------------------------------- */

hd_status hd_value_count(const hd_value *value, size_t *count)
{
    if (count == NULL) {
        return HD_ARGUMENT;
    }
    *count = 0;
    if (value == NULL) {
        return HD_ARGUMENT;
    }
    if (!value_is_container(value->value)) {
        return HD_TYPE;
    }
    *count = value_is_array(value->value) ? array_count(value->value)
                                          : object_count(value->value);
    return HD_OK;
}

hd_status hd_value_at(const hd_value *array, size_t index, hd_value **element)
{
    if (element == NULL) {
        return HD_ARGUMENT;
    }
    *element = NULL;
    if (array == NULL) {
        return HD_ARGUMENT;
    }
    if (!value_is_array(array->value)) {
        return HD_TYPE;
    }
    if (index >= array_count(array->value)) {
        return HD_NOT_FOUND;
    }
    const struct value found = array_at(array->value, (uint32_t)index);
    *element = handle_new_adopt(value_ref(found));
    return HD_OK;
}

/* The entry at the first slot from *slot on that is not a hole; NULL at the
 * end. *slot is then the one after it. */
static const struct value *next_entry(struct value object, size_t *slot)
{
    while (*slot < object_slots(object)) {
        uint32_t run = 0;
        const struct value *entry = object_chunk(object, (uint32_t)*slot, &run);
        *slot += 2;
        if (!value_is_absent(entry[0])) {
            return entry;
        }
    }
    return NULL;
}

hd_status hd_value_next(const hd_value *object,
                        size_t *cursor,
                        hd_value **key,
                        hd_value **item)
{
    if (key != NULL) {
        *key = NULL;
    }
    if (item != NULL) {
        *item = NULL;
    }
    /* One place cannot hold both; a cursor of ours is never odd. */
    if (object == NULL || cursor == NULL || (key != NULL && key == item) ||
        *cursor % 2 != 0) {
        return HD_ARGUMENT;
    }
    if (!value_is_object(object->value)) {
        return HD_TYPE;
    }
    const struct value *entry = next_entry(object->value, cursor);
    if (entry == NULL) {
        return HD_NOT_FOUND;
    }
    if (key != NULL) {
        *key = handle_new_adopt(value_ref(entry[0]));
    }
    if (item != NULL) {
        *item = handle_new_adopt(value_ref(entry[1]));
    }
    return HD_OK;
}

/* -- Paths --------------------------------------------------------------- */

enum {
    EXCERPT_BYTES = 80 /* of a pointer or a key in a sentence */
};

/* Cuts a text for a sentence, between two characters. */
static void shorten(struct buf *text)
{
    if (text->length > EXCERPT_BYTES) {
        text->length = text_whole_length(text->at, EXCERPT_BYTES);
        buf_append_text(text, "...");
    }
}

/* Why `value` has nothing below it at `segment`. */
static void explain(struct buf *to,
                    struct value value,
                    const struct path_segment *segment)
{
    struct buf key = {0};
    const struct text text = value_text(&segment->key);
    buf_append(&key, text.at, text.length);
    shorten(&key);
    if (value_is_object(value)) {
        buf_printf(to, "has no key '%s'", buf_text(&key));
    } else if (!value_is_array(value)) {
        buf_append_text(to, "is neither an array nor an object");
    } else if (segment->index == PATH_NOT_INDEX) {
        buf_printf(to, "is an array, and '%s' is not an index", buf_text(&key));
    } else {
        const uint32_t count = array_count(value);
        buf_printf(to,
                   "has only %" PRIu32 " element%s",
                   count,
                   count == 1 ? "" : "s");
    }
    buf_release(&key);
}

/* Says how far one gets: a person looks for the segment that is wrong. */
static enum err not_found(struct value value,
                          const struct path *path,
                          struct err_detail *detail)
{
    size_t reached = 0;
    struct value child = value_child(value, &path->at[0]);
    while (!value_is_absent(child)) {
        value = child;
        child = value_child(value, &path->at[++reached]);
    }
    struct buf wanted = {0};
    struct buf there = {0};
    struct buf why = {0};
    path_write(&wanted, path);
    path_write_segments(&there, path->at, reached);
    shorten(&wanted);
    shorten(&there);
    explain(&why, value, &path->at[reached]);
    (void)err_set(detail,
                  ERR_NOT_FOUND,
                  "no value at %s: %s %s",
                  buf_text(&wanted),
                  reached > 0 ? buf_text(&there) : "the value",
                  buf_text(&why));
    buf_release(&wanted);
    buf_release(&there);
    buf_release(&why);
    return ERR_NOT_FOUND;
}

static enum err find(struct value value,
                     const char *pointer,
                     size_t length,
                     hd_value **found,
                     struct err_detail *detail)
{
    struct path_table paths;
    struct path *path = NULL;
    path_table_init(&paths);
    enum err err = path_read(&paths, pointer, length, &path, detail);
    if (err == ERR_OK) {
        const struct value at = value_at(value, path);
        if (value_is_absent(at)) {
            err = not_found(value, path, detail);
        } else {
            *found = handle_new_adopt(value_ref(at));
        }
    }
    path_unref(path);
    path_table_release(&paths);
    return err;
}

hd_status hd_value_get(const hd_value *value,
                       const char *pointer,
                       size_t length,
                       hd_value **found,
                       hd_error *error)
{
    if (found == NULL) {
        return error_null(error, "found");
    }
    *found = NULL;
    if (value == NULL) {
        return error_null(error, "value");
    }
    if (pointer == NULL) {
        return error_null(error, "pointer");
    }
    length = edge_length(pointer, length, LIMIT_POINTER_BYTES);
    struct err_detail detail = {0};
    const enum err err = find(value->value, pointer, length, found, &detail);
    return error_report(error, err, &detail);
}

hd_status hd_value_equal(const hd_value *a, const hd_value *b, bool *equal)
{
    if (equal == NULL) {
        return HD_ARGUMENT;
    }
    *equal = false;
    if (a == NULL || b == NULL) {
        return HD_ARGUMENT;
    }
    *equal = value_equal(a->value, b->value);
    return HD_OK;
}
