/* Patches as data: the registry, reading, writing, and what is touched.
 * Applying them is patch_apply.c, finding them patch_diff.c. */

#include "value/patch.h"

#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"
#include "value/scan.h"

enum field {
    FIELD_VALUE = 1,
    FIELD_VALUES = 2,
    FIELD_FROM = 4,
    FIELD_SPLICE = 8, /* index, remove, add */
    FIELD_BY = 16,
    FIELD_CREATES_KEY = 32,
};

/* clang-format off */
static const struct patch_kind_row {
    const char *name;
    uint8_t fields; /* besides `path` */
    bool structural;
} patch_kinds[PATCH_KIND_COUNT] = {
    [PATCH_REPLACE]         = {"replace",         FIELD_VALUE,  false},
    [PATCH_ADD]             = {"add",             FIELD_VALUE,  true},
    [PATCH_REMOVE]          = {"remove",          0,            true},
    [PATCH_MOVE]            = {"move",            FIELD_FROM,   true},
    [PATCH_SPLICE]          = {"splice",          FIELD_SPLICE, false},
    [PATCH_APPEND]          = {"append",
                               FIELD_VALUES | FIELD_CREATES_KEY, false},
    [PATCH_ADD_UNIQUE]      = {"add-unique",
                               FIELD_VALUES | FIELD_CREATES_KEY, false},
    [PATCH_REMOVE_BY_VALUE] = {"remove-by-value", FIELD_VALUE,  false},
    [PATCH_INCREMENT]       = {"increment",
                               FIELD_BY | FIELD_CREATES_KEY,     false},
};
/* clang-format on */

const char *patch_kind_name(enum patch_kind kind)
{
    return patch_kinds[kind].name;
}

bool patch_kind_is_structural(enum patch_kind kind)
{
    return patch_kinds[kind].structural;
}

static void op_release(struct patch_op *op)
{
    path_unref(op->path);
    path_unref(op->from);
    value_unref(op->value);
    *op = (struct patch_op){0};
}

void patch_clear(struct patch *patch)
{
    VEC_FOREACH (&patch->ops, op) {
        op_release(op);
    }
    vec_clear(&patch->ops);
}

void patch_release(struct patch *patch)
{
    patch_clear(patch);
    vec_release(&patch->ops);
}

void patch_push_adopt(struct patch *patch, struct patch_op op)
{
    vec_push(&patch->ops, op);
}

/* -- Reading ------------------------------------------------------------- */

struct op_reader {
    struct value object;
    size_t number; /* of the operation, for the sentence */
    struct path_table *paths;
    struct err_detail *detail;
};

static enum err malformed(const struct op_reader *reader, const char *what)
{
    return err_set(reader->detail,
                   ERR_PATCH_MALFORMED,
                   "operation %zu: %s",
                   reader->number,
                   what);
}

static struct value field_of(const struct op_reader *reader, const char *name)
{
    return object_field(reader->object, name);
}

static enum err read_kind(const struct op_reader *reader, enum patch_kind *kind)
{
    const struct value name = field_of(reader, "op");
    if (!value_is_string(name)) {
        return malformed(reader, "'op' must be a string");
    }
    for (unsigned i = 0; i < PATCH_KIND_COUNT; i++) {
        if (value_is_text(name, patch_kinds[i].name)) {
            *kind = (enum patch_kind)i;
            return ERR_OK;
        }
    }
    const struct text text = value_text(&name);
    return err_set(reader->detail,
                   ERR_PATCH_MALFORMED,
                   "operation %zu: unknown operation '%.*s'",
                   reader->number,
                   text.length < 40 ? (int)text.length : 40,
                   text.at);
}

static enum err read_pointer(const struct op_reader *reader,
                             const char *name,
                             struct path **out)
{
    const struct value pointer = field_of(reader, name);
    if (!value_is_string(pointer)) {
        return err_set(reader->detail,
                       ERR_PATCH_MALFORMED,
                       "operation %zu: '%s' must be a JSON Pointer",
                       reader->number,
                       name);
    }
    const struct text text = value_text(&pointer);
    struct err_detail why = {0};
    const enum err err =
        path_read_stored(reader->paths, text.at, text.length, out, &why);
    if (err != ERR_OK) {
        return err_set(reader->detail,
                       err,
                       "operation %zu: '%s': %s",
                       reader->number,
                       name,
                       why.text);
    }
    return ERR_OK;
}

static enum err read_count(const struct op_reader *reader,
                           const char *name,
                           uint32_t *out)
{
    const struct value count = field_of(reader, name);
    if (value_kind(count) != VALUE_INT || value_integer(count) < 0 ||
        value_integer(count) > UINT32_MAX) {
        return err_set(reader->detail,
                       ERR_PATCH_MALFORMED,
                       "operation %zu: '%s' must be an integer from 0 on",
                       reader->number,
                       name);
    }
    *out = (uint32_t)value_integer(count);
    return ERR_OK;
}

static enum err read_values(const struct op_reader *reader,
                            const char *name,
                            struct patch_op *op)
{
    const struct value values = field_of(reader, name);
    if (!value_is_array(values)) {
        return err_set(reader->detail,
                       ERR_PATCH_MALFORMED,
                       "operation %zu: '%s' must be an array",
                       reader->number,
                       name);
    }
    op->value = value_ref(values);
    return ERR_OK;
}

static enum err read_splice(const struct op_reader *reader, struct patch_op *op)
{
    enum err err = read_count(reader, "index", &op->index);
    if (err == ERR_OK) {
        err = read_count(reader, "remove", &op->remove);
    }
    return err == ERR_OK ? read_values(reader, "add", op) : err;
}

static enum err read_by(const struct op_reader *reader, struct patch_op *op)
{
    const struct value by = field_of(reader, "by");
    if (!value_is_number(by) || !isfinite(value_real(by)) ||
        value_is_same(by, value_int(0)) ||
        value_is_same(by, value_double(-0.0))) {
        return malformed(reader, "'by' must be a finite number other than 0");
    }
    op->value = by;
    return ERR_OK;
}

static enum err read_value(const struct op_reader *reader, struct patch_op *op)
{
    const struct value value = field_of(reader, "value");
    if (value_is_absent(value)) {
        return malformed(reader, "'value' is missing");
    }
    op->value = value_ref(value);
    return ERR_OK;
}

static enum err read_creates_key(const struct op_reader *reader,
                                 struct patch_op *op)
{
    const struct value flag = field_of(reader, "createsKey");
    if (!value_is_absent(flag) && value_kind(flag) != VALUE_BOOL) {
        return malformed(reader, "'createsKey' must be true or false");
    }
    op->creates_key = !value_is_absent(flag) && value_boolean(flag);
    return ERR_OK;
}

static enum err read_fields(const struct op_reader *reader, struct patch_op *op)
{
    const unsigned fields = patch_kinds[op->kind].fields;
    enum err err = read_pointer(reader, "path", &op->path);
    if (err == ERR_OK && (fields & FIELD_FROM) != 0) {
        err = read_pointer(reader, "from", &op->from);
    }
    if (err == ERR_OK && (fields & FIELD_VALUE) != 0) {
        err = read_value(reader, op);
    }
    if (err == ERR_OK && (fields & FIELD_VALUES) != 0) {
        err = read_values(reader, "values", op);
    }
    if (err == ERR_OK && (fields & FIELD_SPLICE) != 0) {
        err = read_splice(reader, op);
    }
    if (err == ERR_OK && (fields & FIELD_BY) != 0) {
        err = read_by(reader, op);
    }
    if (err == ERR_OK && (fields & FIELD_CREATES_KEY) != 0) {
        err = read_creates_key(reader, op);
    }
    return err;
}

static enum err read_op(const struct op_reader *reader, struct patch *out)
{
    if (!value_is_object(reader->object)) {
        return malformed(reader, "an operation must be an object");
    }
    struct patch_op op = {0};
    enum err err = read_kind(reader, &op.kind);
    if (err == ERR_OK) {
        err = read_fields(reader, &op);
    }
    if (err == ERR_OK) {
        patch_push_adopt(out, op);
    } else {
        op_release(&op);
    }
    return err;
}

enum err patch_read(struct value list,
                    struct path_table *paths,
                    struct patch *out,
                    struct err_detail *detail)
{
    *out = (struct patch){0};
    if (!value_is_array(list)) {
        return err_set(detail,
                       ERR_PATCH_MALFORMED,
                       "a patch must be an array of operations");
    }
    const uint32_t count = array_count(list);
    if (count > LIMIT_PATCH_OPERATIONS) {
        return err_set(detail,
                       ERR_LIMIT_PATCH,
                       "a patch can have at most %d operations",
                       LIMIT_PATCH_OPERATIONS);
    }
    enum err err = ERR_OK;
    for (uint32_t i = 0; i < count && err == ERR_OK; i++) {
        const struct op_reader reader = {array_at(list, i), i, paths, detail};
        err = read_op(&reader, out);
    }
    if (err != ERR_OK) {
        patch_release(out);
    }
    return err;
}

/* -- Writing ------------------------------------------------------------- */

struct pairs {
    struct value at[16];
    size_t count;
};

static void put_adopt(struct pairs *pairs, const char *name, struct value item)
{
    CHECK(pairs->count + 2 <= COUNT_OF(pairs->at));
    pairs->at[pairs->count++] = value_text_new(name);
    pairs->at[pairs->count++] = item;
}

static void put_pointer(struct pairs *pairs,
                        const char *name,
                        const struct path *path)
{
    struct buf text = {0};
    path_write(&text, path);
    put_adopt(pairs, name, value_string_new(buf_text(&text), text.length));
    buf_release(&text);
}

static struct value write_op(const struct patch_op *op)
{
    const unsigned fields = patch_kinds[op->kind].fields;
    struct pairs pairs = {.count = 0};
    put_adopt(&pairs, "op", value_text_new(patch_kinds[op->kind].name));
    if ((fields & FIELD_FROM) != 0) {
        put_pointer(&pairs, "from", op->from);
    }
    put_pointer(&pairs, "path", op->path);
    if ((fields & FIELD_SPLICE) != 0) {
        put_adopt(&pairs, "index", value_int(op->index));
        put_adopt(&pairs, "remove", value_int(op->remove));
        put_adopt(&pairs, "add", value_ref(op->value));
    }
    if ((fields & FIELD_VALUE) != 0) {
        put_adopt(&pairs, "value", value_ref(op->value));
    }
    if ((fields & FIELD_VALUES) != 0) {
        put_adopt(&pairs, "values", value_ref(op->value));
    }
    if ((fields & FIELD_BY) != 0) {
        put_adopt(&pairs, "by", value_ref(op->value));
    }
    if (op->creates_key) {
        put_adopt(&pairs, "createsKey", value_bool(true));
    }
    return object_new_adopt(pairs.at, pairs.count / 2);
}

struct value patch_write(const struct patch *patch)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < patch->ops.count; i++) {
        list = array_push_adopt(list, write_op(&patch->ops.at[i]));
    }
    return list;
}

/* A pointer as a string. Few of them need escapes. */
static void append_pointer(struct buf *to,
                           const char *name,
                           const struct path *path)
{
    buf_append_text(to, name);
    const size_t start = to->length;
    buf_append_char(to, '"');
    path_write(to, path);
    const char *text = to->at + start + 1;
    const char *end = to->at + to->length;
    if (LIKELY(scan_plain(text, end, false) == end)) {
        buf_append_char(to, '"');
        return;
    }
    struct buf plain = {0};
    buf_append(&plain, text, (size_t)(end - text));
    to->length = start;
    json_write_string(to, (struct text){buf_text(&plain), plain.length});
    buf_release(&plain);
}

static void append_item(struct buf *to, const char *name, struct value item)
{
    buf_append_text(to, name);
    json_write(to, item, JSON_AS_GIVEN, 0);
}

static void append_op(struct buf *to, const struct patch_op *op)
{
    const unsigned fields = patch_kinds[op->kind].fields;
    buf_append_text(to, "{\"op\":\"");
    buf_append_text(to, patch_kinds[op->kind].name);
    if ((fields & FIELD_FROM) != 0) {
        append_pointer(to, "\",\"from\":", op->from);
        append_pointer(to, ",\"path\":", op->path);
    } else {
        append_pointer(to, "\",\"path\":", op->path);
    }
    if ((fields & FIELD_SPLICE) != 0) {
        append_item(to, ",\"index\":", value_int(op->index));
        append_item(to, ",\"remove\":", value_int(op->remove));
        append_item(to, ",\"add\":", op->value);
    }
    if ((fields & FIELD_VALUE) != 0) {
        append_item(to, ",\"value\":", op->value);
    }
    if ((fields & FIELD_VALUES) != 0) {
        append_item(to, ",\"values\":", op->value);
    }
    if ((fields & FIELD_BY) != 0) {
        append_item(to, ",\"by\":", op->value);
    }
    if (op->creates_key) {
        buf_append_text(to, ",\"createsKey\":true");
    }
    buf_append_char(to, '}');
}

void patch_append(struct buf *to, const struct patch *patch)
{
    buf_append_char(to, '[');
    for (size_t i = 0; i < patch->ops.count; i++) {
        if (i > 0) {
            buf_append_char(to, ',');
        }
        append_op(to, &patch->ops.at[i]);
    }
    buf_append_char(to, ']');
}

/* -- What is touched ----------------------------------------------------- */

static void touch(struct patch_touch *out,
                  size_t *count,
                  enum patch_touch_kind kind,
                  struct path *path,
                  size_t length)
{
    CHECK(*count < PATCH_TOUCH_MAX);
    out[(*count)++] = (struct patch_touch){kind, path_prefix(path, length)};
}

/* Taking something away at `path`. Out of an array it shifts what is behind
 * it, so the whole array is touched. */
static void touch_removal(struct patch_touch *out,
                          size_t *count,
                          struct path *path,
                          bool in_array)
{
    const size_t length = path->length;
    touch(out, count, PATCH_TOUCH_VALUE, path, in_array ? length - 1 : length);
    if (!in_array) {
        touch(out, count, PATCH_TOUCH_KEYS, path, length - 1);
    }
}

/* What comes to `path`. Inserting into an array shifts what is behind. */
static void touch_arrival(struct patch_touch *out,
                          size_t *count,
                          const struct patch_op *op,
                          const struct patch_trace *trace)
{
    const bool shifts = trace->path_in_array &&
                        (op->kind == PATCH_ADD || op->kind == PATCH_MOVE);
    size_t length = shifts ? op->path->length - 1 : op->path->length;
    if (trace->created_length > 0 && trace->created_length < length) {
        length = trace->created_length; /* all of it is new */
    }
    touch(out, count, PATCH_TOUCH_VALUE, op->path, length);
    if (trace->created_length > 0) {
        touch(out,
              count,
              PATCH_TOUCH_KEYS,
              op->path,
              trace->created_length - 1);
    }
}

static void touch_collapse(struct patch_touch *out,
                           size_t *count,
                           struct path *path,
                           size_t length)
{
    touch(out,
          count,
          PATCH_TOUCH_VALUE,
          path,
          length < path->length ? length : path->length);
}

size_t patch_touches(const struct patch_op *op,
                     const struct patch_trace *trace,
                     struct patch_touch out[PATCH_TOUCH_MAX])
{
    size_t count = 0;
    if (op->kind == PATCH_REMOVE) {
        touch_removal(out, &count, op->path, trace->path_in_array);
    } else {
        if (op->kind == PATCH_MOVE) {
            touch_removal(out, &count, op->from, trace->from_in_array);
        }
        touch_arrival(out, &count, op, trace);
    }
    if (trace->collapsed > 0) {
        touch_collapse(out, &count, op->path, trace->collapsed - 1);
    }
    if (trace->collapsed > 0 && op->kind == PATCH_MOVE) {
        /* Either path may be the one. */
        touch_collapse(out, &count, op->from, trace->collapsed - 1);
    }
    return count;
}
