/* Links: what is a well-formed one, reading its fields, making one. */

#include "value/link.h"

#include <string.h>

#include "base/check.h"
#include "value/array.h"
#include "value/object.h"

static struct value field(struct value state, const char *name)
{
    return object_get_text(state, name, strlen(name));
}

static bool is_text(struct value value, const char *want)
{
    if (!value_is_string(value)) {
        return false;
    }
    const struct text text = value_text(&value);
    return text.length == strlen(want) &&
           memcmp(text.at, want, text.length) == 0;
}

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
    if (is_text(name, "id") || is_text(name, "space")) {
        return value_is_string(item);
    }
    if (is_text(name, "path")) {
        return is_string_array(item);
    }
    if (is_text(name, "scope")) {
        return is_text(item, "space") || is_text(item, "user") ||
               is_text(item, "session");
    }
    if (is_text(name, "overwrite")) {
        return is_text(item, "redirect");
    }
    return is_text(name, "schema");
}

bool link_state_is_valid(struct value state)
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

struct link link_of(struct value link)
{
    CHECK(value_kind(link) == VALUE_LINK);
    const struct value state = value_tagged_state(link);
    return (struct link){
        .id = field(state, "id"),
        .path = field(state, "path"),
        .space = field(state, "space"),
        .scope = field(state, "scope"),
        .schema = field(state, "schema"),
        .redirect = !value_is_absent(field(state, "overwrite")),
    };
}

static void set_field(struct value *state, const char *name, struct value item)
{
    if (!value_is_absent(item)) {
        *state =
            object_set_adopt(*state, value_text_new(name), value_ref(item));
    }
}

struct value link_new(const struct link *fields)
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
    CHECK(link_state_is_valid(state));
    return value_tagged_adopt(value_text_new("link@1"), state);
}
