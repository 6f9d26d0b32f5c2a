/* Bounds in a key, and digests of entries. */

#include "value/key_range.h"

#include <string.h>

#include "base/buf.h"
#include "value/compare.h"
#include "value/object.h"

/* "\x1frange", the length of the lower bound in decimal, RANGE_CLOSED or
 * RANGE_OPEN, the lower bound, the upper bound. */
#define RANGE_BEGIN KEY_VIRTUAL "range"

enum {
    RANGE_CLOSED = ',',
    RANGE_OPEN = ';',
};

struct value key_range_to_key(const struct key_range *range)
{
    struct buf text = {0};
    buf_printf(&text,
               RANGE_BEGIN "%zu%c",
               range->from.length,
               range->open ? RANGE_OPEN : RANGE_CLOSED);
    buf_append(&text, range->from.at, range->from.length);
    if (!range->open) {
        buf_append(&text, range->to.at, range->to.length);
    }
    const struct value key = value_string_new(buf_text(&text), text.length);
    buf_release(&text);
    return key;
}

bool key_range_of_key(const struct value *key, struct key_range *out)
{
    const size_t begin = sizeof RANGE_BEGIN - 1;
    if (!value_begins_with(*key, RANGE_BEGIN)) {
        return false;
    }
    const struct text text = value_text(key);
    size_t at = begin;
    size_t length = 0;
    while (at < text.length && text.at[at] >= '0' && text.at[at] <= '9' &&
           length <= text.length) {
        length = length * 10 + (size_t)(text.at[at++] - '0');
    }
    if (at == begin || at == text.length || length > text.length - at - 1 ||
        (text.at[at] != RANGE_CLOSED && text.at[at] != RANGE_OPEN)) {
        return false;
    }
    out->open = text.at[at++] == RANGE_OPEN;
    out->from = (struct text){text.at + at, length};
    out->to = (struct text){text.at + at + length, text.length - at - length};
    return true;
}

static int compare(struct text a, struct text b)
{
    const size_t common = a.length < b.length ? a.length : b.length;
    const int order = common > 0 ? memcmp(a.at, b.at, common) : 0;
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

bool key_range_has(const struct key_range *range, struct value key)
{
    const struct text text = value_text(&key);
    return compare(range->from, text) <= 0 &&
           (range->open || compare(text, range->to) <= 0);
}

/* Entries are added up, because an object keeps no order; so each is mixed
 * first. */
static uint64_t entry_hash(struct value key, struct value item)
{
    uint64_t hash = value_hash(key) * UINT64_C(0x9E3779B97F4A7C15);
    hash =
        (hash ^ (hash >> 29) ^ value_hash(item)) * UINT64_C(0xBF58476D1CE4E5B9);
    hash = (hash ^ (hash >> 32)) * UINT64_C(0x94D049BB133111EB);
    return hash ^ (hash >> 31);
}

struct value key_range_digest(const struct key_range *range,
                              struct value object)
{
    if (!value_is_object(object)) {
        return VALUE_NONE;
    }
    uint64_t sum = 0;
    struct value key;
    struct value item;
    struct object_iter iter = object_iter(object);
    while (object_next(&iter, &key, &item)) {
        if (key_range_has(range, key)) {
            sum += entry_hash(key, item);
        }
    }
    return value_int((int64_t)sum);
}
