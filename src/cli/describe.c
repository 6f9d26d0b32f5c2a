/* Schemas in words, and the help of commands that name a piece. */

#include "cli/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/display.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/visit.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

enum {
    VALUES_SHOWN = 8,      /* of an enum */
    PROPERTIES_SHOWN = 40, /* of one object */
    LEVELS_SHOWN = 6,
    VALUE_BYTES_SHOWN = 60, /* of one value as JSON */
    NAME_COLUMN = 10,
};

static const struct {
    const char *key;   /* in JSON */
    const char *title; /* of a list for people */
    const char *none;
} kinds[] = {
    [DESCRIBE_STREAMS] = {"streams", "Streams", "no streams"},
    [DESCRIBE_STATES] = {"states", "States", "no states"},
    [DESCRIBE_ARGUMENTS] = {"arguments", "Arguments", NULL},
};

/* -- Words --------------------------------------------------------------- */

static struct value field(struct value schema, const char *name)
{
    return value_is_object(schema) ? object_field(schema, name) : VALUE_NONE;
}

/* A value as JSON, cut if it is long. */
static void append_json(struct buf *to, struct value value)
{
    struct buf json = {0};
    json_write(&json, value, JSON_AS_GIVEN, 0);
    if (json.length > VALUE_BYTES_SHOWN) {
        const size_t cut = text_whole_length(json.at, VALUE_BYTES_SHOWN);
        json.length = cut;
        buf_append_text(&json, "...");
    }
    display_append(to, buf_text(&json));
    buf_release(&json);
}

/* A string of the schema, on one line. */
static void append_text(struct buf *to, struct value string)
{
    struct buf text = {0};
    visit_append(&text, string);
    display_append(to, buf_text(&text));
    buf_release(&text);
}

static void append_values(struct buf *to, struct value values)
{
    const uint32_t count = array_count(values);
    for (uint32_t i = 0; i < count && i < VALUES_SHOWN; i++) {
        const bool last = i + 1 == count;
        buf_append_text(to, i == 0 ? "" : last ? " or " : ", ");
        append_json(to, array_at(values, i));
    }
    if (count > VALUES_SHOWN) {
        buf_printf(to, ", ... (%" PRIu32 " values)", count);
    }
}

static void append_types(struct buf *to, struct value type)
{
    if (!value_is_array(type)) {
        append_text(to, type);
        return;
    }
    for (uint32_t i = 0; i < array_count(type); i++) {
        buf_append_text(to, i > 0 ? " or " : "");
        append_text(to, array_at(type, i));
    }
}

/* Whether the word is, or is among, the types of a schema. */
static bool has_type(struct value schema, const char *word)
{
    const struct value type = field(schema, "type");
    if (!value_is_array(type)) {
        return value_is_text(type, word);
    }
    for (uint32_t i = 0; i < array_count(type); i++) {
        if (value_is_text(array_at(type, i), word)) {
            return true;
        }
    }
    return false;
}

static void append_kind(struct buf *to, struct value schema, unsigned level)
{
    const struct value items = field(schema, "items");
    if (value_kind(schema) == VALUE_BOOL) {
        buf_append_text(to, value_boolean(schema) ? "anything" : "nothing");
    } else if (!value_is_absent(field(schema, "const"))) {
        append_json(to, field(schema, "const"));
    } else if (value_is_array(field(schema, "enum"))) {
        append_values(to, field(schema, "enum"));
    } else if (!value_is_absent(field(schema, "type"))) {
        append_types(to, field(schema, "type"));
    } else if (value_is_object(field(schema, "properties"))) {
        buf_append_text(to, "object");
    } else {
        buf_append_text(to, value_is_object(items) ? "array" : "anything");
    }
    if (value_is_object(items) && level < LEVELS_SHOWN &&
        (has_type(schema, "array") || value_is_absent(field(schema, "type")))) {
        buf_append_text(to, " of ");
        append_kind(to, items, level + 1);
    }
}

/* "1 to 20 characters", "at most 2": either bound may be absent. */
static void append_range(struct buf *to,
                         struct value least,
                         struct value most,
                         const char *unit)
{
    if (value_is_absent(least) && value_is_absent(most)) {
        return;
    }
    buf_append_text(to,
                    value_is_absent(most)    ? ", at least "
                    : value_is_absent(least) ? ", at most "
                                             : ", ");
    append_json(to, value_is_absent(least) ? most : least);
    if (!value_is_absent(least) && !value_is_absent(most)) {
        buf_append_text(to, " to ");
        append_json(to, most);
    }
    buf_append_text(to, unit);
}

static void append_bound(struct buf *to, struct value bound, const char *word)
{
    if (!value_is_absent(bound)) {
        buf_append_text(to, word);
        append_json(to, bound);
    }
}

void describe_line(struct buf *to, struct value schema)
{
    append_kind(to, schema, 0);
    append_range(to, field(schema, "minimum"), field(schema, "maximum"), "");
    append_bound(to, field(schema, "exclusiveMinimum"), ", more than ");
    append_bound(to, field(schema, "exclusiveMaximum"), ", less than ");
    append_range(to,
                 field(schema, "minLength"),
                 field(schema, "maxLength"),
                 " characters");
    append_range(to,
                 field(schema, "minItems"),
                 field(schema, "maxItems"),
                 " elements");
}

/* What is said of a part beside its type. */
static void append_remarks(struct buf *to, struct value schema, bool required)
{
    const struct value fallback = field(schema, "default");
    const struct value title = field(schema, "title");
    const struct value description = field(schema, "description");
    buf_append_text(to, required ? ", required" : "");
    append_bound(to, fallback, ", default ");
    if (value_is_string(description) || value_is_string(title)) {
        buf_append_text(to, ": ");
        append_text(to, value_is_string(description) ? description : title);
    }
}

/* -- Lists for people ---------------------------------------------------- */

static void start_line(struct buf *to, unsigned level)
{
    buf_printf(to, "%*s", (int)(2 + 2 * level), "");
}

static bool is_required(struct value schema, struct value key)
{
    const struct value keys = field(schema, "required");
    for (uint32_t i = 0; value_is_array(keys) && i < array_count(keys); i++) {
        if (value_is_string(array_at(keys, i)) &&
            key_equal(array_at(keys, i), key)) {
            return true;
        }
    }
    return false;
}

/* The schema whose keys are to be listed: that of an object, or of the objects
 * in an array. */
static struct value with_keys(struct value schema)
{
    for (unsigned i = 0; i < LEVELS_SHOWN; i++) {
        if (value_is_object(field(schema, "properties"))) {
            return schema;
        }
        schema = field(schema, "items");
    }
    return VALUE_NONE;
}

static void append_keys(struct buf *to, struct value schema, unsigned level);

static void append_part(struct buf *to,
                        struct value name,
                        struct value schema,
                        bool required,
                        unsigned level)
{
    struct buf shown = {0};
    append_text(&shown, name);
    start_line(to, level);
    buf_printf(to, "%-*s ", (int)NAME_COLUMN, buf_text(&shown));
    buf_release(&shown);
    describe_line(to, schema);
    append_remarks(to, schema, required);
    buf_append_char(to, '\n');
    append_keys(to, schema, level + 1);
}

/* The keys that are required and not described. */
static void append_others(struct buf *to, struct value schema, unsigned level)
{
    const struct value keys = field(schema, "required");
    const struct value properties = field(schema, "properties");
    for (uint32_t i = 0;
         value_is_array(keys) && i < array_count(keys) && i < PROPERTIES_SHOWN;
         i++) {
        const struct value key = array_at(keys, i);
        if (value_is_string(key) &&
            value_is_absent(object_get(properties, key))) {
            append_part(to, key, value_bool(true), true, level);
        }
    }
}

static void append_keys(struct buf *to, struct value schema, unsigned level)
{
    const struct value object = with_keys(schema);
    const struct value properties = field(object, "properties");
    if (!value_is_object(properties) || level > LEVELS_SHOWN) {
        return;
    }
    struct object_iter iter = object_iter(properties);
    struct value key;
    struct value part;
    unsigned count = 0;
    while (count < PROPERTIES_SHOWN && object_next(&iter, &key, &part)) {
        append_part(to, key, part, is_required(object, key), level);
        count++;
    }
    append_others(to, object, level);
    if (object_count(properties) > PROPERTIES_SHOWN) {
        start_line(to, level);
        buf_printf(to,
                   "... and %u more: --json shows all\n",
                   (unsigned)object_count(properties) - PROPERTIES_SHOWN);
    }
}

static void append_list(struct buf *to, struct value parts)
{
    struct object_iter iter = object_iter(parts);
    struct value name;
    struct value part;
    while (object_next(&iter, &name, &part)) {
        const struct value schema = object_field(part, "schema");
        append_part(to,
                    name,
                    value_is_absent(schema) ? value_bool(true) : schema,
                    false,
                    0);
    }
}

/* -- Commands ------------------------------------------------------------ */

struct description {
    const char *piece;
    struct visit *visit;
    struct entity *document;      /* of the piece */
    const enum describe_kind *of; /* what is listed */
    size_t count;
    const char *wanted; /* one name; or NULL: all */
};

/* How much of a path is the name of one of the parts: all of it, or what is
 * before a '/' or a '.'. */
static size_t name_length(struct value parts, const char *path)
{
    size_t length = strlen(path);
    while (length > 0 &&
           value_is_absent(object_get_text(parts, path, length))) {
        do {
            length--;
        } while (length > 0 && path[length] != '/' && path[length] != '.');
    }
    return length;
}

/* Of the parts, the one that is wanted. Adopts the parts. */
static struct value only_wanted(const struct description *description,
                                struct value parts)
{
    if (description->wanted == NULL) {
        return parts;
    }
    const char *path = description->wanted + (description->wanted[0] == '/');
    const size_t length = name_length(parts, path);
    struct value one = value_empty_object();
    if (length > 0) {
        one = object_set_adopt(one,
                               value_string_new(path, length),
                               value_ref(object_get_text(parts, path, length)));
    }
    value_unref(parts);
    return one;
}

static void offer(struct nearest *nearest, struct value parts)
{
    struct object_iter iter = object_iter(parts);
    struct value name;
    struct value part;
    while (object_next(&iter, &name, &part)) {
        const struct text text = value_text(&name);
        nearest_offer(nearest, text.at, text.length);
    }
}

static int report_missing(const struct options *options,
                          const struct description *description)
{
    struct err_detail detail = {0};
    struct nearest nearest;
    const bool streams = description->of[0] == DESCRIBE_STREAMS;
    nearest_begin(&nearest, description->wanted, strlen(description->wanted));
    for (size_t i = 0; i < description->count; i++) {
        const struct value parts = describe_parts(description->visit,
                                                  description->document,
                                                  description->of[i],
                                                  false);
        offer(&nearest, parts);
        value_unref(parts);
    }
    (void)err_set(&detail,
                  ERR_NOT_FOUND,
                  "the piece %s has no %s '%s'%s",
                  description->piece,
                  streams ? "stream" : "state or argument",
                  description->wanted,
                  nearest_hint(&nearest));
    return visit_report(options, NULL, &detail);
}

static void print_json(const struct options *options,
                       const struct description *description,
                       const struct value *parts)
{
    struct value all = value_empty_object();
    object_put_text(&all, "piece", description->piece);
    for (size_t i = 0; i < description->count; i++) {
        object_put_adopt(&all,
                         kinds[description->of[i]].key,
                         value_ref(parts[i]));
    }
    visit_print(options, all);
    value_unref(all);
}

static void print_words(const struct options *options,
                        const struct description *description,
                        const struct value *parts)
{
    struct buf text = {0};
    const bool streams = description->of[0] == DESCRIBE_STREAMS;
    buf_append_text(&text, "usage: heddle ");
    buf_append_text(&text, options->name);
    buf_append_text(&text, " [OPTION...] ");
    display_append(&text, description->piece);
    buf_append_text(&text, streams ? " STREAM [JSON]\n" : " PATH [JSON]\n");
    for (size_t i = 0; i < description->count; i++) {
        const char *none = kinds[description->of[i]].none;
        const bool is_empty = object_count(parts[i]) == 0;
        if (!is_empty) {
            buf_printf(&text, "\n%s of ", kinds[description->of[i]].title);
            display_append(&text, description->piece);
            buf_append_text(&text, ":\n");
            append_list(&text, parts[i]);
        } else if (none != NULL && description->wanted == NULL) {
            buf_append_char(&text, '\n');
            display_append(&text, description->piece);
            buf_printf(&text, " has %s.\n", none);
        }
    }
    buf_printf(&text,
               "\n'heddle %s --help' explains the command and its options.",
               options->name);
    output_bytes(buf_text(&text), text.length);
    buf_release(&text);
}

static int print_parts(const struct options *options,
                       const struct description *description)
{
    struct value parts[COUNT_OF(kinds)];
    size_t found = 0;
    for (size_t i = 0; i < description->count; i++) {
        parts[i] = only_wanted(description,
                               describe_parts(description->visit,
                                              description->document,
                                              description->of[i],
                                              description->wanted != NULL));
        found += object_count(parts[i]);
    }
    int code = CODE_OK;
    if (description->wanted != NULL && found == 0) {
        code = report_missing(options, description);
    } else if (option_is_given(options, OPTION_JSON)) {
        print_json(options, description, parts);
    } else {
        print_words(options, description, parts);
    }
    for (size_t i = 0; i < description->count; i++) {
        value_unref(parts[i]);
    }
    return code;
}

static int describe(const struct options *options,
                    struct description *description)
{
    struct visit visit = {0};
    description->visit = &visit;
    description->piece = options->operands[0].word;
    description->wanted =
        options->operand_count > 1 ? options->operands[1].word : NULL;
    int code = visit_open(&visit, options, DATA_DIR_READ_ONLY);
    if (code == CODE_OK) {
        code = visit_find(&visit, description->piece, &description->document);
    }
    if (code == CODE_OK) {
        code = print_parts(options, description);
    }
    return visit_close(&visit, code);
}

int send_describe(const struct options *options)
{
    static const enum describe_kind of[] = {DESCRIBE_STREAMS};
    struct description description = {.of = of, .count = COUNT_OF(of)};
    return describe(options, &description);
}

int set_describe(const struct options *options)
{
    static const enum describe_kind of[] = {DESCRIBE_STATES,
                                            DESCRIBE_ARGUMENTS};
    struct description description = {.of = of, .count = COUNT_OF(of)};
    return describe(options, &description);
}
