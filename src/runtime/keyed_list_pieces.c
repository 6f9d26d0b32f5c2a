/* A list whose body declares: the record of its elements in its document
 * (keyed-list-6 of runtime/keyed_list.h), and when they are built. */

#include "runtime/element.h"

#include <string.h>

#include "sched/scopes.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* -- The record ---------------------------------------------------------- */

static struct place *record_place(const struct keyed_list *keyed)
{
    struct place *root = place_root(keyed->order_at->entity);
    const struct value key = value_text_new("elements");
    struct place *place = place_child(root, key);
    value_unref(key);
    place_unref(root);
    return place;
}

/* The shape in a record, borrowed; absent: each element is to be looked at. */
static struct value shape_in(struct value record)
{
    const struct value shape = object_field(record, "shape");
    return value_is_string(shape) ? shape : VALUE_NONE;
}

static uint32_t next_in(struct value record)
{
    const struct value next = object_field(record, "next");
    return value_kind(next) == VALUE_INT && value_integer(next) > 0
               ? (uint32_t)value_integer(next)
               : 0;
}

static enum err say_other_version(struct err_detail *detail)
{
    return err_set(detail,
                   ERR_ARGUMENT,
                   "another process runs a different version of this pattern: "
                   "restart this one");
}

static bool is_other(const struct keyed_list *keyed, struct value record)
{
    const struct value stored = shape_in(record);
    return !value_is_absent(stored) && !value_is_absent(keyed->shape) &&
           !value_equal(stored, keyed->shape);
}

enum err keyed_list_read_record(struct keyed_list *keyed,
                                struct run *run,
                                struct value *out,
                                struct err_detail *detail)
{
    if (keyed->order_at->entity->scope != SCOPE_SPACE) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the list holds data of one user, but all users would "
                       "share the pieces of its elements");
    }
    struct place *place = record_place(keyed);
    const enum err err = run_read(run, place, READ_DEEP, READ_FOR_BOTH, out);
    (void)err; /* that there is nothing is an answer */
    place_unref(place);
    keyed->next = next_in(*out);
    return ERR_OK;
}

/* `shape` may be absent. */
static enum err write_record(const struct keyed_list *keyed,
                             struct transaction *transaction,
                             struct value before,
                             struct value shape,
                             struct err_detail *detail)
{
    struct value now = value_empty_object();
    object_put_adopt(&now, "next", value_int((int64_t)keyed->next));
    if (!value_is_absent(shape)) {
        object_put_adopt(&now, "shape", value_ref(shape));
    }
    if (value_equal(now, before)) {
        value_unref(now);
        return ERR_OK;
    }
    struct place *place = record_place(keyed);
    const enum err err = transaction_put_adopt(transaction, place, now, detail);
    place_unref(place);
    return err;
}

enum err keyed_list_write_record(const struct keyed_list *keyed,
                                 struct transaction *transaction,
                                 struct value before,
                                 bool was_empty,
                                 struct err_detail *detail)
{
    if (!was_empty && is_other(keyed, before)) {
        return say_other_version(detail);
    }
    return write_record(keyed,
                        transaction,
                        before,
                        was_empty && !value_is_absent(keyed->shape)
                            ? keyed->shape
                            : shape_in(before),
                        detail);
}

enum err keyed_list_origin_in_run(struct keyed_list *keyed,
                                  struct run *run,
                                  struct value record,
                                  uint32_t key,
                                  struct keyed_adding *adding)
{
    if (is_other(keyed, record)) {
        return say_other_version(adding->detail);
    }
    adding->origin = ELEMENT_ASSUMED;
    if (!value_is_absent(shape_in(record))) {
        return ERR_OK;
    }
    struct value name;
    struct keyed_child *child = keyed_child_new(keyed, key, &name);
    value_unref(name);
    if (child != NULL) {
        struct value seen;
        (void)run_read(run, child->output, READ_DEEP, READ_FOR_BOTH, &seen);
        value_unref(seen);
        adding->origin = ELEMENT_KEPT;
        keyed_child_free(child);
    }
    return ERR_OK;
}

/* -- Taking up ----------------------------------------------------------- */

/* Whether the documents of all elements are here; if not, they are awaited. */
static bool are_here(struct keyed_list *keyed, struct piece *whole)
{
    bool here = true;
    VEC_FOREACH (&keyed->keys, key) {
        struct value name;
        struct keyed_child *child = keyed_child_new(keyed, *key, &name);
        value_unref(name);
        if (child != NULL && !child->output->entity->loaded) {
            vec_push(&whole->needs, child->output->entity);
            here = false;
        }
        if (child != NULL) {
            keyed_child_free(child);
        }
    }
    return here;
}

static void stop_children(struct keyed_list *keyed)
{
    VEC_FOREACH (&keyed->children, child) {
        if (*child != NULL) {
            keyed_child_stop(*child);
            *child = NULL;
        }
    }
}

/* Whether what is declared now is what the elements have: the first one shows
 * it. */
static enum err is_as_before(struct keyed_list *keyed,
                             struct value record,
                             const struct keyed_adding *adding,
                             bool *out)
{
    struct keyed_adding first = *adding;
    first.origin = ELEMENT_ASSUMED;
    *out = false;
    if (value_is_absent(shape_in(record))) {
        return ERR_OK;
    }
    const enum err err = keyed_child_add(keyed, keyed->keys.at[0], &first);
    if (err == ERR_OK) {
        *out = !is_other(keyed, record);
    }
    if (!*out) {
        stop_children(keyed);
    }
    return err;
}

/* Brings each element up to date, and then the record. */
static enum err renew(struct keyed_list *keyed,
                      struct value order,
                      struct value record,
                      struct keyed_adding *adding)
{
    adding->origin = ELEMENT_KEPT;
    struct place *root = place_root(keyed->order_at->entity);
    struct value seen;
    (void)transaction_read(adding->transaction,
                           root,
                           READ_DEEP,
                           READ_FOR_BOTH,
                           &seen);
    value_unref(seen);
    place_unref(root);
    const enum err err = keyed_list_restore_children(keyed, order, adding);
    if (err != ERR_OK) {
        return err;
    }
    bool plain = true;
    VEC_FOREACH (&keyed->children, child) {
        plain =
            plain && (*child == NULL || !element_has_former((*child)->piece));
    }
    return write_record(keyed,
                        adding->transaction,
                        record,
                        plain ? keyed->shape : VALUE_NONE,
                        adding->detail);
}

enum err keyed_list_restore_pieces(struct builder *builder,
                                   struct keyed_list *keyed,
                                   struct err_detail *detail)
{
    struct piece *whole = piece_whole(builder->piece);
    struct entity *document = keyed->order_at->entity;
    const bool starts = whole->state == PIECE_LOADING;
    if (!document->loaded) {
        if (starts) {
            vec_push(&whole->needs, document);
        }
        return ERR_OK; /* otherwise the first run takes them up */
    }
    const struct value order = document->visible.payload;
    const struct value rest = document->visible.rest;
    const struct value record = object_field(rest, "elements");
    struct keyed_adding adding = {
        .origin = ELEMENT_ASSUMED,
        .transaction = builder->transaction,
        .detail = detail,
    };
    keyed->next = next_in(record);
    keyed_list_read_keys(keyed, order);
    if (!starts || keyed->keys.count == 0) {
        return ERR_OK;
    }
    bool same = false;
    const enum err err = is_as_before(keyed, record, &adding, &same);
    if (err != ERR_OK || same) {
        return err == ERR_OK
                   ? keyed_list_restore_children(keyed, order, &adding)
                   : err;
    }
    return are_here(keyed, whole) ? renew(keyed, order, record, &adding)
                                  : ERR_OK;
}

/* -- Looking ------------------------------------------------------------- */

static enum run_result look(struct run *run, void *ctx)
{
    const struct keyed_list *keyed = ctx;
    struct value seen = VALUE_NONE;
    const enum err err =
        run_read(run, keyed->order, READ_SHAPE, READ_FOR_BOTH, &seen);
    value_unref(seen);
    if (err == ERR_STALE) {
        return RUN_AGAIN;
    }
    return run_is_waiting(run) ? RUN_WAITING : RUN_DONE;
}

void keyed_list_keep(const struct builder *builder, struct keyed_list *keyed)
{
    if (building_is_without_effects(builder)) {
        return;
    }
    const struct node_spec spec = {
        .kind = NODE_EFFECT,
        .run = look,
        .ctx = keyed,
        .parent = keyed->node,
        .reads = &keyed->order,
        .read_count = 1,
        .clearance = value_bool(true), /* it shows nothing */
    };
    keyed->keeper = sched_register(keyed->sched, &spec);
}

/* -- Finding ------------------------------------------------------------- */

/* The key in a name from the piece of the list on, and the name from the
 * element on, new: "" is the element's own. False: it is not below the list. */
static bool split_name(const struct keyed_list *keyed,
                       struct value name,
                       uint32_t *key,
                       struct value *rest)
{
    const struct text text = value_text(&name);
    const struct text prefix = value_text(&keyed->prefix);
    if (text.length <= prefix.length ||
        memcmp(text.at, prefix.at, prefix.length) != 0) {
        return false;
    }
    size_t at = prefix.length;
    *key = 0;
    while (at < text.length && text.at[at] >= '0' && text.at[at] <= '9' &&
           *key < UINT32_MAX / 10 - 1) {
        *key = *key * 10 + (uint32_t)(text.at[at++] - '0');
    }
    if (at == prefix.length || (at < text.length && text.at[at] != '/')) {
        return false;
    }
    at += at < text.length;
    *rest = value_string_new(text.at + at, text.length - at);
    return true;
}

static const struct piece *piece_of_key(const struct keyed_list *keyed,
                                        uint32_t key)
{
    return key < keyed->children.count && keyed->children.at[key] != NULL
               ? keyed->children.at[key]->piece
               : NULL;
}

const struct part *keyed_list_part(const struct keyed_list *keyed,
                                   struct value name)
{
    uint32_t key;
    struct value rest;
    if (!split_name(keyed, name, &key, &rest)) {
        return NULL;
    }
    const struct piece *piece = piece_of_key(keyed, key);
    const struct part *part = piece != NULL ? piece_part(piece, rest) : NULL;
    value_unref(rest);
    return part;
}

/* Whether a key was given out, and its element is no longer there. */
static bool has_gone(const struct keyed_list *keyed, uint32_t key)
{
    const struct entity *document = keyed->order_at->entity;
    const struct value order = document->visible.payload;
    const struct value rest = document->visible.rest;
    if (!document->loaded || document->overlay != NULL ||
        !value_is_array(order) || !value_is_object(rest) ||
        key >= next_in(object_field(rest, "elements"))) {
        return false;
    }
    struct array_iter iter = array_iter(order);
    struct value link;
    while (array_next(&iter, &link)) {
        uint32_t other;
        if (keyed_list_key_of_link(keyed, link, &other) && other == key) {
            return false;
        }
    }
    return true;
}

const char *keyed_list_no_stream(const struct keyed_list *keyed,
                                 struct value name)
{
    uint32_t key;
    struct value rest;
    if (!split_name(keyed, name, &key, &rest)) {
        return NULL;
    }
    const struct piece *piece = piece_of_key(keyed, key);
    const char *why = NULL;
    if (has_gone(keyed, key)) {
        why = "its element was removed from the list";
    } else if (value_text(&rest).length == 0) {
        why = "this is the address of an element of a list";
    } else if (piece != NULL) {
        why = piece_no_stream(piece, rest);
    }
    value_unref(rest);
    return why;
}
