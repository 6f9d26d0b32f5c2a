/* The names by which a piece, or a child, takes events and values: those that
 * `heddle send` and `heddle set` resolve. */

#include <string.h>

#include "cli/describe.h"
#include "cli/visit.h"
#include "runtime/cell.h"
#include "value/array.h"
#include "value/object.h"

struct listing {
    struct visit *visit;
    struct entity *document; /* of the piece or child */
    const char *kind;        /* in the document that declares the parts */
    bool all_names;          /* of each part; otherwise one */
    struct value parts;      /* by name */
    struct value known;      /* ids of the parts that have a name, as keys */
};

static const char *const kinds[] = {
    [DESCRIBE_STREAMS] = "handler",
    [DESCRIBE_STATES] = "state",
    [DESCRIBE_ARGUMENTS] = "argument",
};

/* Whether `heddle set` takes the name: an argument may be a link to something
 * that is computed, and a state of a child is reached by its result only. */
static bool can_be_set(const struct listing *listing, struct value name)
{
    const struct text text = value_text(&name);
    struct value path = value_empty_array();
    struct place *place = NULL;
    struct err_detail ignored = {0};
    for (size_t begin = 0; begin <= text.length;) {
        const char *at = text.at + begin;
        const char *slash = memchr(at, '/', text.length - begin);
        const size_t length =
            slash != NULL ? (size_t)(slash - at) : text.length - begin;
        path = array_push_adopt(path, value_string_new(at, length));
        begin += length + 1;
    }
    bool can = true; /* what is a user's is not found without its name */
    if (visit_place(listing->visit,
                    listing->document,
                    path,
                    true,
                    &place,
                    &ignored) == ERR_OK) {
        can = visit_check_set(listing->visit,
                              listing->document,
                              place,
                              "",
                              &ignored) == ERR_OK;
        place_unref(place);
    }
    value_unref(path);
    return can;
}

static struct value id_of(const struct visit_part *part)
{
    struct buf id = {0};
    visit_append(&id, part->owner->id);
    buf_append_char(&id, '/');
    visit_append(&id, part->name);
    const struct value made = value_string_new(id.at, id.length);
    buf_release(&id);
    return made;
}

static bool is_declared(const struct listing *listing,
                        const struct visit_part *part)
{
    if (part->owner == NULL || value_is_absent(part->name) ||
        !value_is_text(part->kind, listing->kind)) {
        return false;
    }
    const struct value former = object_field(part->about, "former");
    return !value_is_object(former) ||
           value_is_absent(object_get(former, part->name));
}

/* One name of a part, unless it has one. */
static void add(struct listing *listing,
                struct value name,
                const struct visit_part *part)
{
    if (!is_declared(listing, part) ||
        !value_is_absent(object_get(listing->parts, name))) {
        return;
    }
    const struct value id = id_of(part);
    const bool is_known = !value_is_absent(object_get(listing->known, id));
    const bool is_stream = listing->kind == kinds[DESCRIBE_STREAMS];
    if ((is_known && !listing->all_names) ||
        (!is_stream && !can_be_set(listing, name))) {
        value_unref(id);
        return;
    }
    const struct value schemas = object_field(part->about, "schemas");
    const struct value schema =
        value_is_object(schemas) ? object_get(schemas, part->name) : VALUE_NONE;
    struct value about = value_empty_object();
    if (!value_is_absent(schema)) {
        object_put_adopt(&about, "schema", value_ref(schema));
    }
    listing->known = object_set_adopt(listing->known, id, value_bool(true));
    listing->parts = object_set_adopt(listing->parts, value_ref(name), about);
}

/* The names that are declared: of the piece's own parts, "move", or of those
 * of its children, "card1/move". */
static void add_declared(struct listing *listing,
                         const struct visit_part *whole,
                         bool of_children)
{
    struct buf front = {0};
    if (!value_is_absent(whole->name)) {
        visit_append(&front, whole->name);
        buf_append_char(&front, '/');
    }
    struct object_iter iter = object_iter(object_field(whole->about, "cells"));
    struct visit_part part = *whole;
    while (object_next(&iter, &part.name, &part.kind)) {
        const struct text text = value_text(&part.name);
        if (text.length <= front.length ||
            memcmp(text.at, buf_text(&front), front.length) != 0) {
            continue;
        }
        const char *rest = text.at + front.length;
        const size_t length = text.length - front.length;
        if ((memchr(rest, '/', length) != NULL) == of_children) {
            const struct value name = value_string_new(rest, length);
            add(listing, name, &part);
            value_unref(name);
        }
    }
    buf_release(&front);
}

static void add_field(struct listing *listing,
                      const struct place *result,
                      struct value name,
                      struct value link)
{
    const struct cell_access access = {
        .runtime = live_runtime(listing->visit->live),
    };
    struct err_detail ignored = {0};
    struct place *target = NULL;
    if (value_kind(link) != VALUE_LINK ||
        cell_link_target(&access, result, link, &target, &ignored) != ERR_OK) {
        return;
    }
    struct visit_part part = {0};
    if (target == target->entity->payload &&
        visit_part_of(listing->visit, target->entity, &part, &ignored) ==
            ERR_OK) {
        add(listing, name, &part);
    }
    visit_part_release(&part);
    place_unref(target);
}

/* The fields of the result that are a part as a whole. The result of an
 * element of a list may be that of its child. */
static void add_fields(struct listing *listing)
{
    struct err_detail ignored = {0};
    struct place *result = NULL;
    struct value fields = VALUE_NONE;
    if (visit_place(listing->visit,
                    listing->document,
                    value_empty_array(),
                    true,
                    &result,
                    &ignored) != ERR_OK) {
        return;
    }
    (void)entity_state_at(&result->entity->visible, result->path, &fields);
    if (value_is_object(fields)) {
        struct object_iter iter = object_iter(fields);
        struct value name;
        struct value link;
        while (object_next(&iter, &name, &link)) {
            add_field(listing, result, name, link);
        }
    }
    value_unref(fields);
    place_unref(result);
}

struct value describe_parts(struct visit *visit,
                            struct entity *document,
                            enum describe_kind kind,
                            bool all_names)
{
    struct err_detail ignored = {0};
    struct visit_part whole = {0};
    struct listing listing = {
        .visit = visit,
        .document = document,
        .kind = kinds[kind],
        .all_names = all_names,
        .parts = value_empty_object(),
        .known = value_empty_object(),
    };
    if (visit_part_of(visit, document, &whole, &ignored) == ERR_OK &&
        whole.owner != NULL) {
        add_declared(&listing, &whole, false);
        add_fields(&listing);
        add_declared(&listing, &whole, true);
    }
    visit_part_release(&whole);
    value_unref(listing.known);
    return listing.parts;
}
