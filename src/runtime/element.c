/* Building, stopping and finding the elements of a list that are pieces. */

#include "runtime/element.h"

#include <string.h>

#include "base/mem.h"
#include "runtime/change.h"
#include "runtime/migration.h"
#include "runtime/piece_schemas.h"
#include "runtime/relink.h"
#include "value/array.h"
#include "value/doc_link.h"
#include "value/json.h"
#include "value/object.h"

/* -- Records ------------------------------------------------------------- */

/* What the document of an element says of it; an object, new. */
static struct value about_of(const struct entity *document)
{
    const struct value rest = document->visible.rest;
    const struct value about = object_field(rest, "piece");
    return value_is_object(about) ? value_ref(about) : value_empty_object();
}

static struct piece *element_new(const struct keyed_child *child,
                                 enum element_origin origin)
{
    struct piece *owner = child->keyed->piece;
    struct piece *whole = piece_whole(owner);
    struct piece *element = mem_alloc_zero(sizeof *element);
    const struct value slash = value_text_new("/");
    const struct value number = keyed_list_key_name(child->key);
    const struct value name = keyed_joined(child->keyed->prefix, number);
    const struct value below = keyed_joined(owner->name, slash);
    const struct value inside = keyed_joined(name, slash);
    element->refs = 1;
    element->runtime = child->keyed->runtime;
    element->space = owner->space;
    element->name = keyed_joined(below, name);
    element->pattern = pattern_ref(whole->pattern);
    element->state = PIECE_RUNNING;
    element->document = child->output->entity;
    element->generation = whole->generation;
    element->whole = piece_ref(whole);
    element->front = owner->whole != NULL ? keyed_joined(owner->front, inside)
                                          : value_ref(inside);
    element->depth = owner->depth + 1;
    element->coordinator = child->keyed->node;
    element->assumed = origin == ELEMENT_ASSUMED;
    element->resumed = origin == ELEMENT_KEPT;
    element->about =
        element->resumed ? about_of(element->document) : value_empty_object();
    list_node_init(&element->node);
    value_unref(inside);
    value_unref(below);
    value_unref(name);
    value_unref(number);
    value_unref(slash);
    return element;
}

void element_stop(struct piece *element)
{
    builder_undo(element);
    element->runtime = NULL;
    element->state = PIECE_STOPPED;
    piece_unref(element);
}

/* -- Building ------------------------------------------------------------ */

static void put_unless_empty(struct value *about,
                             const char *key,
                             struct value object)
{
    if (object_count(object) > 0) {
        object_put_adopt(about, key, object);
    } else {
        value_unref(object);
    }
}

/* The new content of "piece" in the document; new. */
static struct value about_now(const struct piece *element,
                              const struct builder *builder)
{
    struct value about = value_empty_object();
    object_put_adopt(&about, "cells", value_ref(builder->cells));
    put_unless_empty(&about, "kinds", change_kinds(element, builder));
    put_unless_empty(&about, "former", change_former(element, builder));
    put_unless_empty(&about, "versions", value_ref(builder->versions));
    put_unless_empty(&about, "schemas", piece_schemas_stored(builder));
    put_unless_empty(&about, "children", value_ref(builder->children));
    return about;
}

/* Documents that a migration has to read are those of the whole's start. */
static enum err wait_for_needs(struct piece *element, struct err_detail *detail)
{
    struct piece *whole = element->whole;
    if (whole->state != PIECE_LOADING) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "it is from an earlier version of the pattern: restart "
                       "the piece");
    }
    VEC_FOREACH (&element->needs, entity) {
        vec_push(&whole->needs, *entity);
    }
    return ERR_OK;
}

/* `tells`: reports changes, which are the same for all elements. */
static enum err finish(struct piece *element,
                       struct builder *builder,
                       bool tells,
                       struct err_detail *detail)
{
    enum err err = piece_schemas_check(builder, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (builder->migrations.count > 0) {
        piece_schemas_apply(element, builder);
    }
    err = migrations_run(element, builder, detail);
    if (element->needs.count > 0) {
        return wait_for_needs(element, detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    building_keep_former(element, builder);
    struct value about = about_now(element, builder);
    if (tells) {
        change_tell(element, builder);
        piece_schemas_tell(builder);
    }
    if (!element->assumed) {
        err = building_write_document(element, builder, about, detail);
    }
    value_unref(element->about);
    element->about = about;
    return err;
}

static enum err build(struct piece *element,
                      const struct keyed_child *child,
                      struct transaction *transaction,
                      struct err_detail *detail)
{
    const struct element_body *body = &child->keyed->body;
    struct builder builder = {
        .piece = element,
        .transaction = transaction,
        .prefix = value_text_new(""),
        .result = value_empty_object(),
        .cells = value_empty_object(),
        .children = value_empty_object(),
        .dropped = value_empty_object(),
        .versions = value_empty_object(),
    };
    enum err err = body->declare(&builder, body->ctx, child->element, detail);
    builder.declared = value_ref(builder.cells);
    if (err == ERR_OK) {
        const struct keyed_list *keyed = child->keyed;
        err = finish(element,
                     &builder,
                     element->resumed && keyed->keys.count > 0 &&
                         keyed->keys.at[0] == child->key,
                     detail);
    }
    if (err == ERR_OK) {
        element->result = value_ref(builder.result);
    }
    building_release(&builder);
    return err;
}

enum err element_start(const struct keyed_child *child,
                       enum element_origin origin,
                       struct transaction *transaction,
                       struct piece **out,
                       struct err_detail *detail)
{
    struct piece *element = element_new(child, origin);
    const enum err err = build(element, child, transaction, detail);
    *out = element;
    if (err != ERR_OK) {
        const struct err_detail why = *detail;
        const struct text name = value_text(&element->name);
        (void)err_set(detail,
                      err,
                      "%.*s: %s",
                      (int)name.length,
                      name.at,
                      why.text);
        element_stop(element);
        *out = NULL;
    }
    return err;
}

/* -- Shapes -------------------------------------------------------------- */

struct shaping {
    const struct keyed_child *child;
    struct value own;     /* "piece:kanban/cards/3" */
    struct value key;     /* "3" */
    struct value nothing; /* stands for both */
};

/* An id below the element, without the element; absent: it is not below. */
static struct value id_without(const struct shaping *shaping, struct value id)
{
    const struct text own = value_text(&shaping->own);
    const struct text text = value_is_string(id) ? value_text(&id) : own;
    return text.length > own.length &&
                   memcmp(text.at, own.at, own.length) == 0 &&
                   text.at[own.length] == '/'
               ? value_string_new(text.at + own.length,
                                  text.length - own.length)
               : VALUE_NONE;
}

static struct value path_without(const struct shaping *shaping,
                                 struct value path)
{
    struct value made = value_ref(path);
    for (uint32_t i = 0; i < array_count(path); i++) {
        if (key_equal(array_at(path, i), shaping->key)) {
            made = array_set_adopt(made, i, value_ref(shaping->nothing));
        }
    }
    return made;
}

/* A link that names the element says "this one" instead. */
static struct value shape_link(void *ctx, struct value link)
{
    const struct shaping *shaping = ctx;
    struct doc_link fields = doc_link_of(link);
    const struct value elements = shaping->child->element->entity->id;
    struct value made = VALUE_NONE;
    const struct value below = id_without(shaping, fields.id);
    if (!value_is_absent(below)) {
        fields.id = below;
        made = doc_link_new(&fields);
    } else if (value_is_string(fields.id) && key_equal(fields.id, elements) &&
               value_is_array(fields.path)) {
        const struct value path = path_without(shaping, fields.path);
        fields.path = path;
        made = doc_link_new(&fields);
        value_unref(path);
    }
    value_unref(below);
    return made;
}

struct value element_shape(const struct keyed_child *child)
{
    const struct piece *element = child->piece;
    struct shaping shaping = {
        .child = child,
        .own = piece_document_id(element->name, VALUE_NONE),
        .key = keyed_list_key_name(child->key),
        .nothing = value_text_new(""),
    };
    struct value whole = value_empty_object();
    object_put_adopt(&whole, "value", value_ref(element->result));
    object_put_adopt(&whole, "piece", value_ref(element->about));
    whole = relink_each_adopt(whole, shape_link, &shaping);
    struct buf text = {0};
    json_write(&text, whole, JSON_CANONICAL, 0);
    char digest[DIGEST_TEXT_LENGTH + 1];
    digest_write(
        digest_of_bytes("heddle shape 1", buf_text(&text), text.length),
        digest);
    buf_release(&text);
    value_unref(whole);
    value_unref(shaping.own);
    value_unref(shaping.key);
    value_unref(shaping.nothing);
    return value_text_new(digest);
}

bool element_has_former(const struct piece *element)
{
    return !value_is_absent(object_field(element->about, "kinds")) ||
           !value_is_absent(object_field(element->about, "former"));
}

/* -- Documents ----------------------------------------------------------- */

/* Documents of names that are declared as something else now, or no longer. */
static void add_former(const struct piece *element, element_documents_list *out)
{
    const struct value cells = object_field(element->about, "cells");
    struct object_iter iter =
        object_iter(value_is_object(cells) ? cells : value_empty_object());
    struct value name;
    struct value kind;
    while (object_next(&iter, &name, &kind)) {
        const struct value kinds = change_kinds_of(element->about, name);
        for (uint32_t i = 0; i < array_count(kinds); i++) {
            const struct value id = change_document_id(element->name,
                                                       element->about,
                                                       name,
                                                       array_at(kinds, i));
            struct entity *entity;
            if (change_is_data(array_at(kinds, i)) &&
                entity_of(element->space, SCOPE_SPACE, id, &entity, NULL) ==
                    ERR_OK) {
                vec_push(out, entity);
            }
            value_unref(id);
        }
        value_unref(kinds);
    }
}

static void add_document(void *ctx, struct entity *document)
{
    vec_push((element_documents_list *)ctx, document);
}

void element_documents(const struct keyed_child *child,
                       element_documents_list *out)
{
    vec_push(out, child->output->entity);
    const struct piece *element = child->piece;
    if (element == NULL) {
        return;
    }
    if (element_has_former(element)) {
        add_former(element, out);
    }
    VEC_FOREACH (&element->parts, part) {
        if (part->place != NULL && part->kind != PART_HANDLER) {
            vec_push(out, part->place->entity);
        }
        if (part->kind == PART_COLLECTION) {
            (void)collection_visit(part->place, add_document, out);
        }
        if (part->list != NULL) {
            VEC_FOREACH (&part->list->children, inner) {
                if (*inner != NULL) {
                    element_documents(*inner, out);
                }
            }
        }
    }
}

void element_actions(const struct keyed_child *child, element_actions_list *out)
{
    const struct piece *element = child->piece;
    VEC_FOREACH (&element->parts, part) {
        if (part->handler == NULL && part->kind != PART_STATE) {
            vec_push(out, building_action(element, part->name));
        }
        if (part->list != NULL) {
            VEC_FOREACH (&part->list->children, inner) {
                if (*inner != NULL && (*inner)->piece != NULL) {
                    element_actions(*inner, out);
                }
            }
        }
    }
}

/* -- Handlers ------------------------------------------------------------ */

enum run_result element_check(struct run *run, const struct piece *element)
{
    struct place *root = place_root(element->document);
    const struct value key = value_text_new("piece");
    struct place *about = place_child(root, key);
    struct value seen = VALUE_NONE;
    const enum err err = run_read(run, about, READ_SHAPE, READ_FOR_BOTH, &seen);
    const bool is_there = value_is_object(seen);
    value_unref(seen);
    place_unref(about);
    value_unref(key);
    place_unref(root);
    if (err == ERR_STALE) {
        return RUN_AGAIN;
    }
    if (run_is_waiting(run)) {
        return RUN_WAITING;
    }
    if (is_there) {
        return RUN_DONE;
    }
    const struct text name = value_text(&element->name);
    struct err_detail detail = {0};
    (void)err_set(&detail,
                  ERR_NO_HANDLER,
                  "%.*s was removed: its element is no longer in the list",
                  (int)name.length,
                  name.at);
    return run_fail(run, &detail);
}
