/* Selectors and refusals as data, and from and to values. */

#include "proto/selector.h"

#include "base/limits.h"
#include "proto/fields.h"
#include "value/compare.h"
#include "value/object.h"

struct selector selector_copy(const struct selector *selector)
{
    struct selector copy = *selector;
    (void)value_ref(copy.id);
    (void)value_ref(copy.root.id);
    (void)value_ref(copy.path);
    (void)value_ref(copy.schema);
    return copy;
}

void selector_release(struct selector *selector)
{
    value_unref(selector->id);
    value_unref(selector->root.id);
    value_unref(selector->path);
    value_unref(selector->schema);
    *selector = (struct selector){0};
}

bool selector_same(const struct selector *a, const struct selector *b)
{
    return a->root.scope == b->root.scope &&
           value_equal(a->root.id, b->root.id) &&
           value_equal(a->path, b->path) && value_equal(a->schema, b->schema) &&
           a->has_depth == b->has_depth && a->has_count == b->has_count &&
           a->depth == b->depth && a->count == b->count;
}

/* -- Reading ------------------------------------------------------------- */

/* A number that may be left out. */
static enum err read_bound(const struct fields *fields,
                           struct value object,
                           const char *field,
                           bool *given,
                           uint64_t *out)
{
    *given = !value_is_absent(object_field(object, field));
    return *given ? field_number(fields, object, field, out) : ERR_OK;
}

static enum err read_id(const struct fields *fields,
                        struct value object,
                        struct value *out)
{
    const enum err err = field_name(fields, object, "id", NULL, out);
    return err == ERR_OK && value_text(out).length == 0
               ? fields_bad(fields, "id", "must not be empty")
               : err;
}

static enum err read_path(const struct fields *fields,
                          struct value object,
                          struct value *out)
{
    const struct value path = object_field(object, "path");
    if (value_is_absent(path)) {
        *out = value_text_new("");
        return ERR_OK;
    }
    if (!value_is_string(path) ||
        value_text(&path).length > LIMIT_POINTER_BYTES) {
        return fields_bad(fields, "path", "must be a JSON Pointer");
    }
    *out = value_ref(path);
    return ERR_OK;
}

static enum err read_schema(const struct fields *fields,
                            struct value object,
                            struct value *out)
{
    const struct value schema = object_field(object, "schema");
    if (value_is_absent(schema)) {
        *out = value_bool(true);
        return ERR_OK;
    }
    if (value_kind(schema) != VALUE_BOOL && !value_is_object(schema)) {
        return fields_bad(fields, "schema", "must be an object or a boolean");
    }
    *out = value_ref(schema);
    return ERR_OK;
}

enum err selector_read(const struct fields *fields,
                       struct value object,
                       struct selector *out)
{
    *out = (struct selector){0};
    const struct value root = object_field(object, "root");
    enum err err = read_id(fields, object, &out->id);
    if (err == ERR_OK && !value_is_object(root)) {
        return fields_bad(fields, "root", "must be an object");
    }
    if (err == ERR_OK) {
        err = field_target(fields, root, &out->root);
    }
    if (err == ERR_OK) {
        err = read_path(fields, object, &out->path);
    }
    if (err == ERR_OK) {
        err = read_schema(fields, object, &out->schema);
    }
    if (err == ERR_OK) {
        err = read_bound(fields, object, "depth", &out->has_depth, &out->depth);
    }
    if (err == ERR_OK) {
        err = read_bound(fields, object, "count", &out->has_count, &out->count);
    }
    return err;
}

enum err selector_refusal_read(const struct fields *fields,
                               struct value object,
                               struct selector_refusal *out)
{
    *out = (struct selector_refusal){0};
    const struct value code = object_field(object, "code");
    const struct value message = object_field(object, "message");
    const enum err err = read_id(fields, object, &out->id);
    if (err != ERR_OK) {
        return err;
    }
    if (!value_is_string(code)) {
        return fields_bad(fields, "code", "must be a string");
    }
    if (!value_is_string(message)) {
        return fields_bad(fields, "message", "must be a string");
    }
    const struct text name = value_text(&code);
    const struct text sentence = value_text(&message);
    const enum err named = err_of_name(name.at, name.length);
    (void)err_set(&out->detail,
                  named != ERR_OK ? named : ERR_STORE,
                  "%.*s",
                  (int)sentence.length,
                  sentence.at);
    return ERR_OK;
}

/* -- Writing ------------------------------------------------------------- */

struct value selector_write(const struct selector *selector)
{
    struct value object = value_empty_object();
    struct value root = value_empty_object();
    put_target(&root, &selector->root);
    object_put_adopt(&object, "id", value_ref(selector->id));
    object_put_adopt(&object, "root", root);
    object_put_adopt(&object, "path", value_ref(selector->path));
    object_put_adopt(&object, "schema", value_ref(selector->schema));
    if (selector->has_depth) {
        put_number(&object, "depth", selector->depth);
    }
    if (selector->has_count) {
        put_number(&object, "count", selector->count);
    }
    return object;
}

struct value selector_refusal_write(const struct selector_refusal *refusal)
{
    const enum err err = refusal->detail.err;
    struct value object = value_empty_object();
    object_put_adopt(&object, "id", value_ref(refusal->id));
    object_put_adopt(&object, "code", value_text_new(err_name(err)));
    object_put_adopt(&object,
                     "class",
                     value_text_new(err_class_name(err_class_of(err))));
    object_put_adopt(&object, "message", value_text_new(refusal->detail.text));
    return object;
}
