/* The links of one document that a selector follows. */

#include "host/reach_links.h"

#include "value/array.h"
#include "value/doc_link.h"
#include "value/object.h"

/* What is still to be looked at: borrowed from the document and the schema. */
struct part {
    struct value value;
    struct value schema;
};

struct finder {
    const struct reach_links *links;
    const struct reach_place *from;
    VEC(struct part) parts;
};

struct value reach_schema(struct value schema)
{
    return value_tag(schema) == TAG_EMPTY_OBJECT ? value_bool(true) : schema;
}

static bool follows_all(struct value schema)
{
    return value_is_same(schema, value_bool(true));
}

static bool follows_none(struct value schema)
{
    return !follows_all(schema) && !value_is_object(schema);
}

/* -- Links --------------------------------------------------------------- */

/* The document of a link (value/doc_link.h); false: reach-links-1. */
static bool target_of(const struct finder *finder,
                      const struct doc_link *link,
                      struct target *out)
{
    const bool here = value_is_absent(link->id);
    if (!value_is_absent(link->space) &&
        (value_is_absent(finder->links->space) ||
         !key_equal(link->space, finder->links->space))) {
        return false;
    }
    out->id = here ? finder->from->target.id : link->id;
    out->scope = here ? finder->from->target.scope : SCOPE_SPACE;
    if (!value_is_absent(link->scope) &&
        !scope_read(link->scope, &out->scope)) {
        return false;
    }
    return here || document_id_check(out->id, NULL) == ERR_OK;
}

/* The path of a link with the rest of a path behind it, new; NULL: it is too
 * long. */
static struct path *path_of(const struct finder *finder,
                            const struct doc_link *link,
                            const struct path *whole,
                            uint32_t used)
{
    struct path *path = NULL;
    if (value_is_absent(link->path)) {
        path = path_ref(finder->links->payload);
    } else if (path_of_array(finder->links->paths, link->path, &path, NULL) !=
               ERR_OK) {
        return NULL;
    }
    for (uint32_t i = used; path != NULL && i < whole->length; i++) {
        struct path *child = path->length < REACH_PATH_SEGMENTS
                                 ? path_child(path, whole->at[i].key)
                                 : NULL;
        path_unref(path);
        path = child;
    }
    return path;
}

/* A link, behind which `whole` goes on from `used`. */
static void follow(const struct finder *finder,
                   struct value link,
                   const struct path *whole,
                   uint32_t used,
                   struct value schema)
{
    const struct doc_link fields = doc_link_of(link);
    struct reach_place to = {.schema = schema};
    if (!target_of(finder, &fields, &to.target)) {
        return;
    }
    to.path = follows_none(schema) ? path_ref(finder->links->payload)
                                   : path_of(finder, &fields, whole, used);
    if (to.path != NULL) {
        finder->links->found(finder->links->ctx, &to);
        path_unref(to.path);
    }
}

static void follow_here(const struct finder *finder, const struct part *part)
{
    const struct path *whole = finder->from->path;
    follow(finder, part->value, whole, whole->length, part->schema);
}

/* -- Values -------------------------------------------------------------- */

/* Only containers and links matter. */
static void push(struct finder *finder, struct value value, struct value schema)
{
    const struct part part = {value, reach_schema(schema)};
    if (value_tag(value) == TAG_ARRAY || value_tag(value) == TAG_OBJECT) {
        vec_push(&finder->parts, part);
    } else if (value_tag(value) == TAG_LINK) {
        follow_here(finder, &part);
    }
}

static void push_elements(struct finder *finder,
                          struct value array,
                          struct value schema)
{
    struct array_iter iter = array_iter(array);
    struct value item;
    while (array_next(&iter, &item)) {
        push(finder, item, schema);
    }
}

/* Those that `properties` does not name, if it is given. */
static void push_entries(struct finder *finder,
                         struct value object,
                         struct value schema,
                         struct value properties)
{
    struct object_iter iter = object_iter(object);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        if (!value_is_object(properties) ||
            value_is_absent(object_get(properties, key))) {
            push(finder, item, schema);
        }
    }
}

static void push_properties(struct finder *finder,
                            struct value object,
                            struct value properties)
{
    struct object_iter iter = object_iter(properties);
    struct value key;
    struct value schema;
    while (object_next(&iter, &key, &schema)) {
        const struct value item = object_get(object, key);
        if (!value_is_absent(item) && !follows_none(schema)) {
            push(finder, item, schema);
        }
    }
}

static void open_object(struct finder *finder, const struct part *part)
{
    if (follows_all(part->schema)) {
        push_entries(finder, part->value, part->schema, VALUE_NONE);
        return;
    }
    const struct value properties = object_field(part->schema, "properties");
    const struct value other =
        object_field(part->schema, "additionalProperties");
    if (value_is_object(properties)) {
        push_properties(finder, part->value, properties);
    }
    if (!value_is_absent(other) && !follows_none(other)) {
        push_entries(finder, part->value, other, properties);
    }
}

static void open_array(struct finder *finder, const struct part *part)
{
    const struct value items = follows_all(part->schema)
                                   ? part->schema
                                   : object_field(part->schema, "items");
    if (!value_is_absent(items) && !follows_none(items)) {
        push_elements(finder, part->value, items);
    }
}

static void find_below(struct finder *finder)
{
    while (finder->parts.count > 0) {
        const struct part part = vec_pop(&finder->parts);
        if (value_is_array(part.value)) {
            open_array(finder, &part);
        } else {
            open_object(finder, &part);
        }
    }
}

/* reach-links-2: each of them with the schema false. */
static void find_metadata(struct finder *finder, struct value document)
{
    const struct value none = value_bool(false);
    struct object_iter iter = object_iter(document);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        if (!value_is_text(key, "value")) {
            push(finder, item, none);
        }
    }
    while (finder->parts.count > 0) {
        const struct part part = vec_pop(&finder->parts);
        if (value_is_array(part.value)) {
            push_elements(finder, part.value, none);
        } else {
            push_entries(finder, part.value, none, VALUE_NONE);
        }
    }
}

void reach_links_find(const struct reach_links *links,
                      const struct reach_place *from,
                      struct value document)
{
    struct finder finder = {.links = links, .from = from};
    const struct value schema = reach_schema(from->schema);
    if (follows_none(schema) || !value_is_object(document)) {
        return;
    }
    struct value value = document;
    uint32_t used = 0;
    for (; used < from->path->length && value_is_container(value); used++) {
        value = value_child(value, &from->path->at[used]);
    }
    if (value_tag(value) == TAG_LINK) {
        follow(&finder, value, from->path, used, schema);
    } else if (used == from->path->length) {
        push(&finder, value, schema);
        find_below(&finder);
    }
    if (object_count(document) > 1 ||
        value_is_absent(object_field(document, "value"))) {
        find_metadata(&finder, document);
    }
    vec_release(&finder.parts);
}
