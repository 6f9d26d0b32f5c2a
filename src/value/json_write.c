/* The JSON writer: one pass over the value with an explicit stack.
 *
 * In canonical form the entries of each open object wait, sorted, on a second
 * stack, and are written from there. */

#include <math.h>
#include <stdlib.h>

#include "base/stack.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/number.h"
#include "value/object.h"
#include "value/scan.h"

/* A container that has been begun. */
struct write_frame {
    struct value value;
    union {
        struct array_iter array;
        struct object_iter object; /* in the order given */
        size_t next;               /* sorted: the entry to be written next */
        bool done;                 /* tagged: its state has been written */
    };
    size_t sorted; /* where its sorted entries start */
    bool any;      /* something has been written in it */
};

struct sorted_entry {
    struct value key;
    struct value item;
};

struct writer {
    struct buf *to;
    enum json_form form;
    unsigned indent;
    STACK(struct write_frame, 16) frames;
    STACK(struct sorted_entry, 16) sorted;
};

/* -- Leaves -------------------------------------------------------------- */

static void write_escape(struct buf *to, char c)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char byte = (unsigned char)c;
    switch (c) {
    case '"':
        buf_append(to, "\\\"", 2);
        break;
    case '\\':
        buf_append(to, "\\\\", 2);
        break;
    case '\b':
        buf_append(to, "\\b", 2);
        break;
    case '\f':
        buf_append(to, "\\f", 2);
        break;
    case '\n':
        buf_append(to, "\\n", 2);
        break;
    case '\r':
        buf_append(to, "\\r", 2);
        break;
    case '\t':
        buf_append(to, "\\t", 2);
        break;
    default:
        buf_append(to, "\\u00", 4);
        buf_append_char(to, hex[byte >> 4]);
        buf_append_char(to, hex[byte & 15U]);
        break;
    }
}

/* The rest of a string that needs escapes, from `at` on, and its quote. */
static void write_escaped(struct buf *to, const char *at, const char *end)
{
    const char *stop = at;
    while (stop < end) {
        write_escape(to, *stop);
        at = stop + 1;
        stop = scan_plain(at, end, false);
        buf_append(to, at, (size_t)(stop - at));
    }
    buf_append_char(to, '"');
}

void json_write_string(struct buf *to, struct text text)
{
    const char *const end = text.at + text.length;
    const char *stop = scan_plain(text.at, end, false);
    const size_t plain = (size_t)(stop - text.at);
    char *room = buf_reserve(to, plain + 2);
    room[0] = '"';
    memcpy(room + 1, text.at, plain);
    if (stop == end) {
        room[plain + 1] = '"';
        buf_advance(to, plain + 2);
    } else {
        buf_advance(to, plain + 1);
        write_escaped(to, stop, end);
    }
}

static void write_key(struct writer *writer, struct value key)
{
    json_write_string(writer->to, value_text(&key));
    if (writer->indent > 0) {
        buf_append(writer->to, ": ", 2);
    } else {
        buf_append_char(writer->to, ':');
    }
}

static void write_double(struct buf *to, double real)
{
    if (isfinite(real)) {
        char *at = buf_reserve(to, NUMBER_TEXT_MAX);
        buf_advance(to, number_write_double(at, real));
    } else {
        buf_printf(to,
                   "{\"/\":{\"number@1\":\"%s\"}}",
                   isnan(real) ? "NaN"
                   : real > 0  ? "Infinity"
                               : "-Infinity");
    }
}

/* -- Containers ---------------------------------------------------------- */

static void new_line(struct writer *writer, size_t depth)
{
    if (writer->indent > 0) {
        const size_t blanks = depth * writer->indent;
        char *at = buf_reserve(writer->to, blanks + 1);
        at[0] = '\n';
        memset(at + 1, ' ', blanks);
        buf_advance(writer->to, blanks + 1);
    }
}

static int by_key(const void *a, const void *b)
{
    const struct sorted_entry *x = a;
    const struct sorted_entry *y = b;
    return value_compare_strings(x->key, y->key);
}

/* Few entries, as most objects have, are sorted by insertion: no call and no
 * memory. */
static void sort_by_key(struct sorted_entry *entries, size_t count)
{
    if (count > 16) {
        qsort(entries, count, sizeof *entries, by_key);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const struct sorted_entry entry = entries[i];
        size_t at = i;
        while (at > 0 &&
               value_compare_strings(entries[at - 1].key, entry.key) > 0) {
            entries[at] = entries[at - 1];
            at--;
        }
        entries[at] = entry;
    }
}

/* Puts the entries of an object on the stack of sorted entries. */
static void sort_entries(struct writer *writer, struct value object)
{
    const size_t start = writer->sorted.count;
    struct object_iter iter = object_iter(object);
    struct sorted_entry entry;
    while (object_next(&iter, &entry.key, &entry.item)) {
        stack_push(&writer->sorted, entry);
    }
    sort_by_key(writer->sorted.at + start, writer->sorted.count - start);
}

static void begin(struct writer *writer, struct value value)
{
    struct write_frame frame = {
        .value = value,
        .sorted = writer->sorted.count,
    };
    if (value_is_object(value)) {
        buf_append_char(writer->to, '{');
        if (writer->form == JSON_CANONICAL) {
            frame.next = frame.sorted;
            sort_entries(writer, value);
        } else {
            frame.object = object_iter(value);
        }
    } else if (value_is_array(value)) {
        buf_append_char(writer->to, '[');
        frame.array = array_iter(value);
    } else {
        buf_append_text(writer->to, "{\"/\":{");
        const struct value type = value_tagged_type(value);
        json_write_string(writer->to, value_text(&type));
        buf_append_char(writer->to, ':');
    }
    stack_push(&writer->frames, frame);
}

static void end(struct writer *writer)
{
    const struct write_frame *frame = stack_top(&writer->frames);
    const bool is_object = value_is_object(frame->value);
    const bool is_array = value_is_array(frame->value);
    writer->sorted.count = frame->sorted;
    writer->frames.count--;
    if (is_object || is_array) {
        if (frame->any) {
            new_line(writer, writer->frames.count);
        }
        buf_append_char(writer->to, is_object ? '}' : ']');
    } else {
        buf_append(writer->to, "}}", 2);
    }
}

/* The next entry of the innermost object. */
static bool next_entry(struct writer *writer,
                       struct write_frame *frame,
                       struct value *key,
                       struct value *item)
{
    if (writer->form != JSON_CANONICAL) {
        return object_next(&frame->object, key, item);
    }
    if (frame->next == writer->sorted.count) {
        return false;
    }
    const struct sorted_entry *entry = &writer->sorted.at[frame->next++];
    *key = entry->key;
    *item = entry->item;
    return true;
}

static void write_separator(struct writer *writer, struct write_frame *frame)
{
    if (frame->any) {
        buf_append_char(writer->to, ',');
    }
    frame->any = true;
    new_line(writer, writer->frames.count);
}

/* Goes to the next value in the innermost container and writes what comes
 * before it: its comma and its key. False at the end. */
static bool next_value(struct writer *writer, struct value *item)
{
    struct write_frame *frame = stack_top(&writer->frames);
    if (value_is_array(frame->value)) {
        if (!array_next(&frame->array, item)) {
            return false;
        }
        write_separator(writer, frame);
        return true;
    }
    if (value_is_object(frame->value)) {
        struct value key;
        if (!next_entry(writer, frame, &key, item)) {
            return false;
        }
        write_separator(writer, frame);
        write_key(writer, key);
        return true;
    }
    if (frame->done) {
        return false;
    }
    frame->done = true;
    *item = value_tagged_state(frame->value);
    return true;
}

static void write_value(struct writer *writer, struct value value)
{
    struct buf *to = writer->to;
    switch (value_kind(value)) {
    case VALUE_NULL:
        buf_append(to, "null", 4);
        break;
    case VALUE_BOOL:
        buf_append_text(to, value_boolean(value) ? "true" : "false");
        break;
    case VALUE_INT: {
        char *at = buf_reserve(to, NUMBER_TEXT_MAX);
        buf_advance(to, number_write_int(at, value_integer(value)));
        break;
    }
    case VALUE_DOUBLE:
        write_double(to, value_real(value));
        break;
    case VALUE_STRING:
        json_write_string(to, value_text(&value));
        break;
    case VALUE_ARRAY:
    case VALUE_OBJECT:
    case VALUE_LINK:
    case VALUE_TAGGED:
        begin(writer, value);
        break;
    case VALUE_ABSENT:
        UNREACHABLE("an absent value has no text");
    }
}

bool json_write_within(struct buf *to,
                       struct value value,
                       enum json_form form,
                       unsigned indent,
                       size_t length_max)
{
    const size_t start = to->length;
    struct writer writer;
    writer.to = to;
    writer.form = form;
    writer.indent = indent;
    stack_init(&writer.frames);
    stack_init(&writer.sorted);
    write_value(&writer, value);
    while (writer.frames.count > 0 && to->length - start <= length_max) {
        struct value item;
        if (next_value(&writer, &item)) {
            write_value(&writer, item);
        } else {
            end(&writer);
        }
    }
    stack_release(&writer.frames);
    stack_release(&writer.sorted);
    return to->length - start <= length_max;
}

void json_write(struct buf *to,
                struct value value,
                enum json_form form,
                unsigned indent)
{
    CHECK(json_write_within(to, value, form, indent, SIZE_MAX));
}
