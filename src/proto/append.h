/* Parts of JSON text, for encoders that write it directly.
 *
 * Internal to this directory. The text of an encoder here is the text that
 * json_write makes of the value of its _write function, byte for byte, in the
 * order of insertion: append-1. */

#ifndef PROTO_APPEND_H
#define PROTO_APPEND_H

#include "base/buf.h"
#include "proto/target.h"
#include "value/json.h"
#include "value/number.h"
#include "value/path.h"

/* A string literal, as it is. */
#define APPEND(out, literal) buf_append((out), (literal), sizeof(literal) - 1)

static inline void append_number(struct buf *out, uint64_t number)
{
    CHECK(number <= INT64_MAX);
    char *at = buf_reserve(out, NUMBER_TEXT_MAX);
    buf_advance(out, number_write_int(at, (int64_t)number));
}

/* A string with its quotes. */
static inline void append_string(struct buf *out, struct value string)
{
    json_write_string(out, value_text(&string));
}

/* Any value. */
static inline void append_value(struct buf *out, struct value value)
{
    json_write(out, value, JSON_AS_GIVEN, 0);
}

/* A name of ours, which needs no escapes, with its quotes. */
static inline void append_name(struct buf *out, const char *name)
{
    buf_append_char(out, '"');
    buf_append(out, name, strlen(name));
    buf_append_char(out, '"');
}

/* A comma behind all but the first. */
static inline void append_comma(struct buf *out, size_t index)
{
    if (index > 0) {
        buf_append_char(out, ',');
    }
}

/* "id":"of:a","scope":"user" */
static inline void append_target(struct buf *out, const struct target *target)
{
    APPEND(out, "\"id\":");
    append_string(out, target->id);
    if (target->scope != SCOPE_SPACE) {
        APPEND(out, ",\"scope\":");
        append_name(out, scope_name(target->scope));
    }
}

/* ["value","n"] */
static inline void append_path(struct buf *out, const struct path *path)
{
    buf_append_char(out, '[');
    for (size_t i = 0; i < path->length; i++) {
        append_comma(out, i);
        append_string(out, path->at[i].key);
    }
    buf_append_char(out, ']');
}

/* [5,6] */
static inline void append_layers(struct buf *out,
                                 const struct layer_list *layers)
{
    buf_append_char(out, '[');
    for (size_t i = 0; i < layers->at.count; i++) {
        append_comma(out, i);
        append_number(out, layers->at.at[i]);
    }
    buf_append_char(out, ']');
}

#endif
