/* Rows: their ids, and what a write to one changes in the orderings. */

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "collection/collection.h"
#include "collection/collection_internal.h"
#include "collection/part_id.h"
#include "collection/sort_key.h"
#include "replica/draft.h"
#include "replica/overlay.h"
#include "value/collection_id.h"
#include "value/compare.h"
#include "value/id.h"
#include "value/number.h"
#include "value/object.h"

/* -- Keys ---------------------------------------------------------------- */

enum {
    SHOWN_MAX = 80, /* bytes of a key in a sentence */
};

static enum err refuse_key(const struct collection *collection,
                           struct value key,
                           struct err_detail *detail)
{
    const struct value field =
        value_is_string(collection->key) ? collection->key : value_text_new("");
    const struct text name = value_text(&field);
    if (value_is_absent(key)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the row has no field '%.*s', which is its key",
                       (int)name.length,
                       name.at);
    }
    if (value_is_string(key)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the key '%.*s' of a row must have 1 to %d bytes, not "
                       "%zu",
                       (int)name.length,
                       name.at,
                       (int)COLLECTION_KEY_BYTES_MAX,
                       value_text(&key).length);
    }
    if (value_is_number(key)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the key '%.*s' of a row must be finite, not NaN or "
                       "infinite",
                       (int)name.length,
                       name.at);
    }
    return err_set(detail,
                   ERR_ARGUMENT,
                   "the key '%.*s' of a row must be a string or a number, not "
                   "%s",
                   (int)name.length,
                   name.at,
                   value_kind_name(value_kind(key)));
}

/* A key for people. */
static void append_shown(struct buf *to, struct value key)
{
    if (!value_is_string(key)) {
        row_key_append_number(to, key);
        return;
    }
    const struct text text = value_text(&key);
    buf_append_char(to, '\'');
    buf_append(to,
               text.at,
               (size_t)text_shown(text.at, text.length, SHOWN_MAX));
    buf_append_char(to, '\'');
}

enum err collection_row(const struct collection *collection,
                        struct value key,
                        struct entity **out,
                        struct err_detail *detail)
{
    *out = NULL;
    if (!row_key_is_usable(key)) {
        return refuse_key(collection, key, detail);
    }
    const struct entity *root = collection->root->entity;
    struct buf text = {0};
    row_id_append(&text, value_text(&root->id), key);
    const struct value id = value_string_new(text.at, text.length);
    const enum err err = entity_of(root->space, SCOPE_SPACE, id, out, detail);
    value_unref(id);
    buf_release(&text);
    return err;
}

/* -- A change of a row --------------------------------------------------- */

/* Each write begins with this: the collection is as its root says, and what
 * runs may change it. The result of a computation is all that it makes. */
static enum err begin_write(struct collection *collection,
                            const struct collection_access *access,
                            struct err_detail *detail)
{
    const struct run *run = access->run;
    if (run != NULL && run->handling == NULL &&
        run->node->kind == NODE_COMPUTATION) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a computation cannot change a collection: use a "
                       "handler or an effect");
    }
    return collection_refresh(collection, access, detail);
}

struct row_change {
    struct collection *collection;
    const struct collection_access *access;
    struct entity *row;
    bool had;            /* there is such a row: collection-4 */
    struct value before; /* references; absent: there is none */
    struct value after;
};

static void change_release(struct row_change *change)
{
    value_unref(change->before);
    value_unref(change->after);
}

/* Whether there is a row with that key. */
static enum err find_row(struct row_change *change,
                         struct value key,
                         struct err_detail *detail)
{
    struct collection *collection = change->collection;
    enum err err = collection_row(collection, key, &change->row, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct buf text = {0};
    sort_key_append(&text, key);
    const struct value sort_key = value_string_new(text.at, text.length);
    buf_release(&text);
    err = pages_has(&collection->orderings.at[0].pages,
                    change->access,
                    sort_key,
                    &change->had,
                    detail);
    value_unref(sort_key);
    return err;
}

/* What the row is, if there is one, and what of it matters (collection-5). */
static enum err read_before(struct row_change *change)
{
    const struct collection *collection = change->collection;
    if (!change->had) {
        return ERR_OK;
    }
    struct place *payload = place_payload(change->row);
    const enum err err = pages_look(change->access, payload, &change->before);
    const struct value kind = value_text_new(PATH_KIND);
    struct place *probe = place_child(payload, kind);
    if (err == ERR_OK) {
        pages_track(change->access, probe, READ_DEEP, READ_NOT_FOR_SCHEDULING);
    }
    place_unref(probe);
    value_unref(kind);
    for (size_t i = 1; i < collection->orderings.count && err == ERR_OK; i++) {
        VEC_FOREACH (&collection->orderings.at[i].fields, name) {
            struct place *field = place_child(payload, *name);
            pages_track(change->access,
                        field,
                        READ_DEEP,
                        READ_NOT_FOR_SCHEDULING);
            place_unref(field);
        }
    }
    place_unref(payload);
    return err;
}

static enum err judge_schema(const struct row_change *change,
                             struct err_detail *detail)
{
    const struct collection *collection = change->collection;
    struct schema_fault fault = {0};
    if (collection->schema == NULL || schema_check_change(collection->schema,
                                                          change->before,
                                                          change->after,
                                                          &fault) == ERR_OK) {
        return ERR_OK;
    }
    const struct value key = object_get(change->after, collection->key);
    struct buf what = {0};
    struct buf shown = {0};
    append_shown(&shown, key);
    buf_printf(&what, "the row %s", buf_text(&shown));
    buf_release(&shown);
    buf_append_text(&what, " does not match the schema of its collection");
    const enum err err = schema_fault_tell(&fault, buf_text(&what), detail);
    buf_release(&what);
    return err;
}

/* Whether what the row is to become can be one, and is the same row. */
static enum err judge(const struct row_change *change,
                      struct err_detail *detail)
{
    const struct collection *collection = change->collection;
    if (value_is_absent(change->after)) {
        return ERR_OK;
    }
    if (!value_is_object(change->after)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a row must be an object, not %s",
                       value_kind_name(value_kind(change->after)));
    }
    struct entity *row = NULL;
    enum err err = collection_row(collection,
                                  object_get(change->after, collection->key),
                                  &row,
                                  detail);
    if (err == ERR_OK && row != change->row) {
        const struct text name = value_text(&collection->key);
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "the key '%.*s' of a row cannot change: remove the row, "
                      "and insert it with the other key",
                      (int)name.length,
                      name.at);
    }
    for (size_t i = 1; i < collection->orderings.count && err == ERR_OK; i++) {
        struct value sort_key;
        err = collection_sort_key(collection,
                                  &collection->orderings.at[i],
                                  change->after,
                                  &sort_key,
                                  detail);
        value_unref(sort_key);
    }
    return err == ERR_OK ? judge_schema(change, detail) : err;
}

static enum err reorder_one(const struct row_change *change,
                            struct ordering *ordering,
                            struct err_detail *detail)
{
    struct collection *collection = change->collection;
    struct value old = VALUE_NONE;
    struct value new = VALUE_NONE;
    enum err err = ERR_OK;
    if (change->had && value_is_object(change->before)) {
        err = collection_sort_key(collection,
                                  ordering,
                                  change->before,
                                  &old,
                                  detail);
    }
    if (err == ERR_OK && value_is_object(change->after)) {
        err = collection_sort_key(collection,
                                  ordering,
                                  change->after,
                                  &new,
                                  detail);
    }
    if (err == ERR_OK && !value_equal(old, new)) {
        if (!value_is_absent(old)) {
            err = pages_remove(&ordering->pages, change->access, old, detail);
        }
        if (!value_is_absent(new) && (err == ERR_OK || err == ERR_STALE)) {
            const enum err put =
                pages_put(&ordering->pages,
                          change->access,
                          new,
                          object_get(change->after, collection->key),
                          detail);
            err = put != ERR_OK ? put : err;
        }
    }
    value_unref(old);
    value_unref(new);
    return err;
}

/* The row was written: so are the orderings and the count. What is not here is
 * requested for all orderings at once. */
static enum err reorder(const struct row_change *change,
                        struct err_detail *detail)
{
    struct collection *collection = change->collection;
    enum err err = ERR_OK;
    VEC_FOREACH (&collection->orderings, ordering) {
        if (err == ERR_OK || err == ERR_STALE) {
            const enum err one = reorder_one(change, ordering, detail);
            err = one != ERR_OK ? one : err;
        }
    }
    const bool has = value_is_object(change->after);
    if (err == ERR_OK && has != change->had) {
        err = collection_add_to_count(collection,
                                      change->access->transaction,
                                      has ? 1 : -1,
                                      detail);
    }
    return err;
}

/* collection-6. */
static enum err ended(const struct collection_access *access, enum err err)
{
    return err == ERR_STALE && transaction_is_awaiting(access->transaction)
               ? ERR_OK
               : err;
}

/* -- Whole rows ---------------------------------------------------------- */

/* Writes the row as a whole; a new one with its document, so that it need not
 * be loaded. */
static enum err write_row(const struct row_change *change,
                          struct err_detail *detail)
{
    struct transaction *transaction = change->access->transaction;
    struct place *place =
        change->had ? place_payload(change->row) : place_root(change->row);
    struct value value = value_ref(change->after);
    if (!change->had) {
        struct value document = value_empty_object();
        object_put_adopt(&document, "value", value);
        value = document;
    }
    const enum err err =
        transaction_put_adopt(transaction, place, value, detail);
    place_unref(place);
    return err;
}

static enum err exists_already(const struct collection *collection,
                               struct value key,
                               struct err_detail *detail)
{
    const struct text name = value_text(&collection->key);
    struct buf text = {0};
    append_shown(&text, key);
    const enum err err =
        err_set(detail,
                ERR_RECEIPT_EXISTS,
                "a row with the %.*s %s already exists: put() replaces it, and "
                "update() changes it",
                (int)name.length,
                name.at,
                buf_text(&text));
    buf_release(&text);
    return err;
}

static enum err store_row(struct collection *collection,
                          const struct collection_access *access,
                          struct value row,
                          bool must_be_new,
                          struct err_detail *detail)
{
    struct row_change change = {.collection = collection, .access = access};
    enum err err = begin_write(collection, access, detail);
    if (err == ERR_OK && !value_is_object(row)) {
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "a row must be an object, not %s",
                      value_kind_name(value_kind(row)));
    }
    if (err != ERR_OK) {
        return ended(access, err);
    }
    change.after = collection->schema != NULL
                       ? schema_fill_adopt(collection->schema, value_ref(row))
                       : value_ref(row);
    const struct value key = object_get(change.after, collection->key);
    err = find_row(&change, key, detail);
    if (err == ERR_OK && must_be_new && change.had) {
        err = exists_already(collection, key, detail);
    }
    if (err == ERR_OK) {
        err = read_before(&change);
    }
    if (err == ERR_OK) {
        err = judge(&change, detail);
    }
    if (err == ERR_OK) {
        err = write_row(&change, detail);
    }
    if (err == ERR_OK) {
        err = reorder(&change, detail);
    }
    change_release(&change);
    return ended(access, err);
}

enum err collection_insert(struct collection *collection,
                           const struct collection_access *access,
                           struct value row,
                           struct err_detail *detail)
{
    return store_row(collection, access, row, true, detail);
}

enum err collection_put(struct collection *collection,
                        const struct collection_access *access,
                        struct value row,
                        struct err_detail *detail)
{
    return store_row(collection, access, row, false, detail);
}

enum err collection_remove(struct collection *collection,
                           const struct collection_access *access,
                           struct value key,
                           bool *existed,
                           struct err_detail *detail)
{
    struct row_change change = {.collection = collection, .access = access};
    *existed = false;
    enum err err = begin_write(collection, access, detail);
    if (err == ERR_OK) {
        err = find_row(&change, key, detail);
    }
    if (err == ERR_OK) {
        err = read_before(&change);
    }
    if (err == ERR_OK && change.had) {
        struct place *root = place_root(change.row);
        err = transaction_delete(access->transaction, root, detail);
        place_unref(root);
        if (err == ERR_OK) {
            err = reorder(&change, detail);
        }
        *existed = true;
    }
    change_release(&change);
    return ended(access, err);
}

/* -- Parts of rows ------------------------------------------------------- */

static enum err no_such_row(const struct collection *collection,
                            struct value key,
                            struct err_detail *detail)
{
    const struct text name = value_text(&collection->key);
    struct buf text = {0};
    append_shown(&text, key);
    const enum err err = err_set(detail,
                                 ERR_NOT_FOUND,
                                 "there is no row with the %.*s %s: insert() "
                                 "or put() creates one",
                                 (int)name.length,
                                 name.at,
                                 buf_text(&text));
    buf_release(&text);
    return err;
}

/* Writes the fields one by one: others of the row can be changed at the same
 * time. */
static enum err write_fields(const struct row_change *change,
                             struct value fields,
                             struct err_detail *detail)
{
    struct place *payload = place_payload(change->row);
    struct object_iter iter = object_iter(fields);
    enum err err = ERR_OK;
    struct value name;
    struct value field;
    while (err == ERR_OK && object_next(&iter, &name, &field)) {
        if (value_equal(object_get(change->before, name), field)) {
            continue;
        }
        struct place *place = place_child(payload, name);
        err = transaction_put_adopt(change->access->transaction,
                                    place,
                                    value_ref(field),
                                    detail);
        place_unref(place);
    }
    place_unref(payload);
    return err;
}

static struct value with_fields_adopt(struct value row, struct value fields)
{
    struct object_iter iter = object_iter(fields);
    struct value name;
    struct value field;
    while (object_next(&iter, &name, &field)) {
        row = object_set_adopt(row, value_ref(name), value_ref(field));
    }
    return row;
}

enum err collection_update(struct collection *collection,
                           const struct collection_access *access,
                           struct value key,
                           struct value fields,
                           struct err_detail *detail)
{
    struct row_change change = {.collection = collection, .access = access};
    enum err err = begin_write(collection, access, detail);
    if (err == ERR_OK && !value_is_object(fields)) {
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "the fields of a row must be an object, not %s",
                      value_kind_name(value_kind(fields)));
    }
    if (err == ERR_OK) {
        err = find_row(&change, key, detail);
    }
    if (err == ERR_OK && !change.had) {
        err = no_such_row(collection, key, detail);
    }
    if (err == ERR_OK) {
        err = read_before(&change);
    }
    if (err == ERR_OK && !value_is_object(change.before)) {
        err = no_such_row(collection, key, detail);
    }
    if (err == ERR_OK) {
        change.after = with_fields_adopt(value_ref(change.before), fields);
        err = judge(&change, detail);
    }
    if (err == ERR_OK) {
        err = write_fields(&change, fields, detail);
    }
    if (err == ERR_OK) {
        err = reorder(&change, detail);
    }
    change_release(&change);
    return ended(access, err);
}

/* -- Other writes -------------------------------------------------------- */

static enum err write_plainly(struct transaction *transaction,
                              struct place *place,
                              enum write_kind kind,
                              struct value value,
                              struct err_detail *detail)
{
    if (kind == WRITE_DELETE) {
        return transaction_delete(transaction, place, detail);
    }
    return kind == WRITE_PUT ? transaction_put_adopt(transaction,
                                                     place,
                                                     value_ref(value),
                                                     detail)
                             : transaction_merge_adopt(transaction,
                                                       place,
                                                       kind,
                                                       value_ref(value),
                                                       detail);
}

/* What the row would be, and what it is; false: the write cannot be one, and
 * says so itself. */
static bool preview(struct row_change *change,
                    struct place *place,
                    enum write_kind kind,
                    struct value value)
{
    struct entity_state state;
    if (kind != WRITE_DELETE && value_is_absent(value)) {
        return false;
    }
    if (draft_preview(change->access->transaction,
                      kind,
                      place,
                      value,
                      &state,
                      NULL) != ERR_OK) {
        return false;
    }
    change->after = value_ref(state.payload);
    entity_state_release(&state);
    return true;
}

enum err collection_write(struct collection *collection,
                          const struct collection_access *access,
                          struct place *place,
                          enum write_kind kind,
                          struct value value,
                          struct err_detail *detail)
{
    struct transaction *transaction = access->transaction;
    struct row_change change = {.collection = collection, .access = access};
    enum err err = begin_write(collection, access, detail);
    if (err == ERR_NOT_FOUND) { /* what is left of a collection */
        return write_plainly(transaction, place, kind, value, detail);
    }
    struct place *payload = place_payload(place->entity);
    struct value now = VALUE_NONE;
    if (err == ERR_OK) {
        err = pages_look(access, payload, &now);
    }
    place_unref(payload);
    if (err != ERR_OK) {
        return ended(access, err);
    }
    struct value filled = value_ref(value);
    if (collection->schema != NULL && kind == WRITE_PUT &&
        place == place->entity->payload) {
        filled = schema_fill_adopt(collection->schema, filled);
    }
    if (!preview(&change, place, kind, filled) ||
        (value_is_absent(now) && value_is_absent(change.after))) {
        err = write_plainly(transaction, place, kind, filled, detail);
        value_unref(filled);
        value_unref(now);
        change_release(&change);
        return err;
    }
    const struct value from = value_is_object(now) ? now : change.after;
    err = value_is_object(from)
              ? find_row(&change, object_get(from, collection->key), detail)
              : err_set(detail, ERR_ARGUMENT, "a row must be an object");
    if (err == ERR_OK) {
        err = read_before(&change);
    }
    change.row = place->entity;
    if (err == ERR_OK) {
        err = judge(&change, detail);
    }
    if (err == ERR_OK) {
        err = write_plainly(transaction, place, kind, filled, detail);
    }
    if (err == ERR_OK) {
        err = reorder(&change, detail);
    }
    value_unref(filled);
    value_unref(now);
    change_release(&change);
    return ended(access, err);
}
