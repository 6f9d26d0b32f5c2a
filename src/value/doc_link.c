/* Links: what is a well-formed one, reading its fields, making one. */

#include "value/doc_link.h"

#include "base/check.h"
#include "value/array.h"
#include "value/object.h"

static bool is_string_array(struct value value)
{
    if (!value_is_array(value)) {
        return false;
    }
    for (uint32_t i = 0; i < array_count(value); i++) {
        if (!value_is_string(array_at(value, i))) {
            return false;
        }
    }
    return true;
}

/* One field of the state: known, and of its type? */
static bool field_is_valid(struct value name, struct value item)
{
    if (value_is_text(name, "id") || value_is_text(name, "space")) {
        return value_is_string(item);
    }
    if (value_is_text(name, "path")) {
        return is_string_array(item);
    }
    if (value_is_text(name, "scope")) {
        return value_is_text(item, "space") || value_is_text(item, "user") ||
               value_is_text(item, "session");
    }
    if (value_is_text(name, "overwrite")) {
        return value_is_text(item, "redirect");
    }
    return value_is_text(name, "schema");
}

bool doc_link_state_is_valid(struct value state)
{
    if (!value_is_object(state)) {
        return false;
    }
    struct object_iter iter = object_iter(state);
    struct value name;
    struct value item;
    while (object_next(&iter, &name, &item)) {
        if (!field_is_valid(name, item)) {
            return false;
        }
    }
    return true;
}

struct doc_link doc_link_of(struct value link)
{
    CHECK(value_kind(link) == VALUE_LINK);
    const struct value state = value_tagged_state(link);
    return (struct doc_link){
        .id = object_field(state, "id"),
        .path = object_field(state, "path"),
        .space = object_field(state, "space"),
        .scope = object_field(state, "scope"),
        .schema = object_field(state, "schema"),
        .redirect = !value_is_absent(object_field(state, "overwrite")),
    };
}

static void set_field(struct value *state, const char *name, struct value item)
{
    if (!value_is_absent(item)) {
        object_put_adopt(state, name, value_ref(item));
    }
}

struct value doc_link_new(const struct doc_link *fields)
{
    struct value state = value_empty_object();
    set_field(&state, "id", fields->id);
    set_field(&state, "path", fields->path);
    set_field(&state, "space", fields->space);
    set_field(&state, "scope", fields->scope);
    set_field(&state, "schema", fields->schema);
    if (fields->redirect) {
        set_field(&state, "overwrite", value_text_new("redirect"));
    }
    CHECK(doc_link_state_is_valid(state));
    return value_tagged_adopt(value_text_new("link@1"), state);
}
