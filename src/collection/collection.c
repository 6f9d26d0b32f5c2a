/* Collections of a runtime, and ranges of them. */

#include "collection/collection.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "collection/collection_internal.h"
#include "collection/sort_key.h"
#include "value/array.h"
#include "value/collection_id.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Those of a runtime -------------------------------------------------- */

static uint64_t root_hash(const struct entity *root)
{
    return (uint64_t)(uintptr_t)root;
}

static bool has_root(const void *item, const void *key)
{
    const struct collection *collection = item;
    return collection->root->entity == key;
}

struct collection *collections_of(struct collections *collections,
                                  struct place *root)
{
    struct collection *collection = map_find(&collections->by_root,
                                             root_hash(root->entity),
                                             has_root,
                                             root->entity);
    if (collection == NULL) {
        collection = mem_alloc_zero(sizeof *collection);
        collection->root = place_ref(root);
        map_insert(&collections->by_root, root_hash(root->entity), collection);
    }
    return collection;
}

void collections_release(struct collections *collections)
{
    MAP_FOREACH (&collections->by_root, slot) {
        struct collection *collection = slot->item;
        collection_clear(collection);
        place_unref(collection->root);
        mem_free(collection, sizeof *collection);
    }
    map_release(&collections->by_root);
}

/* How long the id of the root is; 0: it is not the id of a row. */
static size_t root_length(struct text id)
{
    size_t length;
    return collection_part_of(id, &length) == COLLECTION_ROW ? length : 0;
}

bool collection_is_row(struct value id)
{
    return root_length(value_text(&id)) > 0;
}

struct collection *collections_of_row(struct collections *collections,
                                      struct entity *row)
{
    const struct text id = value_text(&row->id);
    const size_t length = root_length(id);
    struct entity *entity = NULL;
    if (length == 0) {
        return NULL;
    }
    const struct value root = value_string_new(id.at, length);
    const enum err err =
        entity_of(row->space, SCOPE_SPACE, root, &entity, NULL);
    value_unref(root);
    if (err != ERR_OK) {
        return NULL;
    }
    struct place *payload = place_payload(entity);
    struct collection *collection = collections_of(collections, payload);
    place_unref(payload);
    return collection;
}

bool collection_is_root(const struct entity *entity)
{
    const struct value rest = entity->visible.rest;
    return value_is_object(rest) &&
           value_is_object(object_field(rest, "collection"));
}

static struct place *count_place(const struct collection *collection)
{
    const struct value key = value_text_new("count");
    struct place *place = place_child(collection->root, key);
    value_unref(key);
    return place;
}

enum err collection_add_to_count(const struct collection *collection,
                                 struct transaction *transaction,
                                 int by,
                                 struct err_detail *detail)
{
    struct place *place = count_place(collection);
    const enum err err = transaction_merge_adopt(transaction,
                                                 place,
                                                 WRITE_INCREMENT,
                                                 value_int(by),
                                                 detail);
    place_unref(place);
    return err;
}

enum err collection_refresh(struct collection *collection,
                            const struct collection_access *access,
                            struct err_detail *detail)
{
    struct place *place =
        pages_place_in_root(collection->root->entity, "definition");
    struct value definition;
    enum err err = pages_look(access, place, &definition);
    if (err == ERR_OK) {
        pages_track(access, place, READ_DEEP, READ_FOR_BOTH);
    }
    place_unref(place);
    if (err == ERR_OK && (value_is_absent(definition) ||
                          !value_is_same(definition, collection->definition))) {
        err = collection_compile(collection, definition, detail);
    }
    value_unref(definition);
    return err;
}

/* -- Sort keys ----------------------------------------------------------- */

/* What cannot be a field, for a sentence. */
static const char *kind_shown(struct value field)
{
    return value_is_number(field) ? "NaN or an infinite one"
                                  : value_kind_name(value_kind(field));
}

static enum err refuse_field(struct value name,
                             struct value field,
                             struct err_detail *detail)
{
    const struct text text = value_text(&name);
    return value_is_string(field)
               ? err_set(detail,
                         ERR_ARGUMENT,
                         "the field '%.*s' is in an index and has more than "
                         "%d bytes",
                         (int)text.length,
                         text.at,
                         (int)COLLECTION_FIELD_BYTES_MAX)
               : err_set(detail,
                         ERR_ARGUMENT,
                         "the field '%.*s' is in an index: it must be a "
                         "string, a finite number, a boolean or null, not %s",
                         (int)text.length,
                         text.at,
                         kind_shown(field));
}

static bool can_be_field(struct value field)
{
    return sort_key_takes(field) &&
           (!value_is_string(field) ||
            value_text(&field).length <= COLLECTION_FIELD_BYTES_MAX);
}

enum err collection_sort_key(const struct collection *collection,
                             const struct ordering *ordering,
                             struct value row,
                             struct value *out,
                             struct err_detail *detail)
{
    struct buf text = {0};
    enum err err = ERR_OK;
    VEC_FOREACH (&ordering->fields, name) {
        const struct value field = object_get(row, *name);
        if (!value_is_absent(field) && !can_be_field(field)) {
            err = refuse_field(*name, field, detail);
            break;
        }
        sort_key_append(&text, field);
    }
    if (ordering != collection->orderings.at) {
        sort_key_append(&text, object_get(row, collection->key));
    }
    *out = err == ERR_OK ? value_string_new(text.at, text.length) : VALUE_NONE;
    buf_release(&text);
    return err;
}

/* -- Ranges -------------------------------------------------------------- */

static enum err find_ordering(struct collection *collection,
                              struct value name,
                              struct ordering **out,
                              struct err_detail *detail)
{
    *out = collection->orderings.at;
    if (value_is_absent(name)) {
        return ERR_OK;
    }
    const struct text wanted = value_text(&name);
    struct nearest nearest;
    nearest_begin(&nearest, wanted.at, wanted.length);
    for (size_t i = 1; i < collection->orderings.count; i++) {
        struct ordering *ordering = &collection->orderings.at[i];
        const struct text text = value_text(&ordering->name);
        if (key_equal(ordering->name, name)) {
            *out = ordering;
            return ERR_OK;
        }
        nearest_offer(&nearest, text.at, text.length);
    }
    return err_set(detail,
                   ERR_ARGUMENT,
                   "the collection has no index '%.*s'%s",
                   (int)wanted.length,
                   wanted.at,
                   nearest_hint(&nearest));
}

/* Appends the values of a bound. The row's key may follow the fields. */
static enum err append_bound(struct buf *to,
                             const struct collection *collection,
                             const struct ordering *ordering,
                             struct value bound,
                             const char *what,
                             struct err_detail *detail)
{
    const bool is_index = ordering != collection->orderings.at;
    const size_t most = ordering->fields.count + is_index;
    if (!value_is_array(bound) || array_count(bound) == 0) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "'%s' of a range must be a list of field values",
                       what);
    }
    if (array_count(bound) > most) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       is_index
                           ? "'%s' of the range has %u values, but the index "
                             "has %u field%s, which only the key of a row can "
                             "follow"
                           : "'%s' of the range has %u values, but the rows "
                             "are ordered by %u field%s, their key",
                       what,
                       (unsigned)array_count(bound),
                       (unsigned)ordering->fields.count,
                       ordering->fields.count == 1 ? "" : "s");
    }
    for (uint32_t i = 0; i < array_count(bound); i++) {
        const struct value field = array_at(bound, i);
        if (!sort_key_takes(field)) {
            return err_set(detail,
                           ERR_ARGUMENT,
                           "'%s' of a range must contain strings, finite "
                           "numbers, booleans or null, not %s",
                           what,
                           kind_shown(field));
        }
        sort_key_append(to, field);
    }
    return ERR_OK;
}

/* Which side of the rows that begin with a bound is meant. */
enum side {
    SIDE_FROM,  /* they and what comes behind them */
    SIDE_TO,    /* they and what comes before them */
    SIDE_ABOVE, /* only what comes behind them */
    SIDE_BELOW, /* only what comes before them */
};

/* The sort key that a bound is; new. No sort key of a row is between the last
 * one below the bound and what this gives for SIDE_BELOW: the last byte of a
 * list is ASCII, and what follows it in a longer one is below SORT_KEY_END. */
static enum err bound_key(const struct collection *collection,
                          const struct ordering *ordering,
                          struct value bound,
                          enum side side,
                          struct value *out,
                          struct err_detail *detail)
{
    static const char *const names[] = {"from", "to", "after", "after"};
    struct buf text = {0};
    *out = VALUE_NONE;
    const enum err err =
        append_bound(&text, collection, ordering, bound, names[side], detail);
    if (err == ERR_OK) {
        CHECK(text.at != NULL); /* a bound has a field */
        if (side == SIDE_BELOW) {
            text.at[text.length - 1]--;
        }
        if (side != SIDE_FROM) {
            buf_append_char(&text, SORT_KEY_END);
        }
        *out = value_string_new(text.at, text.length);
    }
    buf_release(&text);
    return err;
}

/* Takes the narrower one of two bounds; adopts `other`. */
static void narrow_adopt(struct value *bound, struct value other, bool is_from)
{
    const int order =
        value_is_absent(*bound) ? 0 : value_compare_strings(other, *bound);
    if (value_is_absent(*bound) || (is_from ? order > 0 : order < 0)) {
        value_unref(*bound);
        *bound = other;
    } else {
        value_unref(other);
    }
}

static enum err add_bound(const struct collection *collection,
                          const struct ordering *ordering,
                          struct value bound,
                          enum side side,
                          struct pages_range *to,
                          struct err_detail *detail)
{
    struct value key;
    if (value_is_absent(bound)) {
        return ERR_OK;
    }
    const enum err err =
        bound_key(collection, ordering, bound, side, &key, detail);
    if (err == ERR_OK) {
        const bool is_from = side == SIDE_FROM || side == SIDE_ABOVE;
        narrow_adopt(is_from ? &to->from : &to->to, key, is_from);
    }
    return err;
}

enum err collection_find(struct collection *collection,
                         const struct collection_access *access,
                         const struct collection_range *range,
                         struct pages_found *found,
                         struct err_detail *detail)
{
    struct ordering *ordering = NULL;
    enum err err = collection_refresh(collection, access, detail);
    if (err == ERR_OK) {
        err = find_ordering(collection, range->index, &ordering, detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    struct pages_range pages = {
        .limit = range->limit,
        .reverse = range->reverse,
        .count_only = range->count_only,
    };
    err =
        add_bound(collection, ordering, range->from, SIDE_FROM, &pages, detail);
    if (err == ERR_OK) {
        err =
            add_bound(collection, ordering, range->to, SIDE_TO, &pages, detail);
    }
    if (err == ERR_OK) {
        err = add_bound(collection,
                        ordering,
                        range->after,
                        range->reverse ? SIDE_BELOW : SIDE_ABOVE,
                        &pages,
                        detail);
    }
    const bool is_empty = err == ERR_OK && !value_is_absent(pages.from) &&
                          !value_is_absent(pages.to) &&
                          value_compare_strings(pages.from, pages.to) > 0;
    if (err == ERR_OK && !is_empty) {
        err = pages_find(&ordering->pages, access, &pages, found, detail);
    }
    value_unref(pages.from);
    value_unref(pages.to);
    return err;
}

enum err collection_count(struct collection *collection,
                          const struct collection_access *access,
                          uint64_t *out,
                          struct err_detail *detail)
{
    struct place *place = count_place(collection);
    struct value count;
    *out = 0;
    enum err err = collection_refresh(collection, access, detail);
    if (err == ERR_OK) {
        err = pages_look(access, place, &count);
        pages_track(access, place, READ_DEEP, READ_FOR_BOTH);
        if (value_tag(count) == TAG_INT && value_integer(count) > 0) {
            *out = (uint64_t)value_integer(count);
        }
        value_unref(count);
    }
    place_unref(place);
    return err;
}

enum err collection_position(struct collection *collection,
                             const struct collection_access *access,
                             struct value index,
                             struct value row,
                             struct value *out,
                             struct err_detail *detail)
{
    struct ordering *ordering = NULL;
    *out = VALUE_NONE;
    enum err err = collection_refresh(collection, access, detail);
    if (err == ERR_OK) {
        err = find_ordering(collection, index, &ordering, detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    struct value position = value_empty_array();
    VEC_FOREACH (&ordering->fields, name) {
        const struct value field = object_get(row, *name);
        position = array_push_adopt(position,
                                    value_is_absent(field) ? value_null()
                                                           : value_ref(field));
    }
    if (ordering != collection->orderings.at) {
        const struct value key = object_get(row, collection->key);
        position = array_push_adopt(position,
                                    value_is_absent(key) ? value_null()
                                                         : value_ref(key));
    }
    *out = position;
    return ERR_OK;
}
