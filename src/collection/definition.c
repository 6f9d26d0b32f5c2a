/* Definitions: checked, compiled, created, changed. */

#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "collection/collection.h"
#include "collection/collection_internal.h"
#include "replica/overlay.h"
#include "replica/space.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Checking ------------------------------------------------------------ */

static enum err refuse(struct err_detail *detail,
                       struct value name,
                       const char *why)
{
    const struct text text = value_text(&name);
    return err_set(detail,
                   ERR_ARGUMENT,
                   "the collection '%.*s': %s",
                   (int)text.length,
                   text.at,
                   why);
}

/* Index names are part of ids. */
static bool is_index_name(struct value name)
{
    const struct text text = value_text(&name);
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '_' || c == '-')) {
            return false;
        }
    }
    return text.length > 0 && text.length <= COLLECTION_INDEX_NAME_BYTES_MAX;
}

static bool is_field_name(struct value name)
{
    return value_is_string(name) && value_text(&name).length > 0;
}

static bool are_field_names(struct value fields)
{
    if (!value_is_array(fields) || array_count(fields) == 0 ||
        array_count(fields) > COLLECTION_INDEX_FIELDS_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < array_count(fields); i++) {
        if (!is_field_name(array_at(fields, i))) {
            return false;
        }
    }
    return true;
}

static enum err check_index(struct value index,
                            struct value name,
                            struct err_detail *detail)
{
    if (!value_is_object(index)) {
        return refuse(detail,
                      name,
                      "'index' must be a table of lists of field names, by "
                      "name");
    }
    if (object_count(index) > COLLECTION_INDEXES_MAX) {
        return refuse(detail, name, "it has more than 16 indexes");
    }
    struct object_iter iter = object_iter(index);
    struct value one;
    struct value fields;
    while (object_next(&iter, &one, &fields)) {
        if (!is_index_name(one)) {
            return refuse(detail,
                          name,
                          "the name of an index must have 1 to 64 letters, "
                          "digits, '_' or '-'");
        }
        if (!are_field_names(fields)) {
            return refuse(detail,
                          name,
                          "an index must be a list of 1 to 8 field names");
        }
    }
    return ERR_OK;
}

enum err collection_check(struct value definition,
                          struct value name,
                          struct err_detail *detail)
{
    if (!is_field_name(object_field(definition, "key"))) {
        return refuse(detail, name, "'key' must be the name of a field");
    }
    const struct value index = object_field(definition, "index");
    enum err err =
        value_is_absent(index) ? ERR_OK : check_index(index, name, detail);
    const struct value source = object_field(definition, "schema");
    if (err == ERR_OK && !value_is_absent(source)) {
        struct schema *schema = NULL;
        struct schema_fault fault = {0};
        if (schema_new(source, &schema, &fault) != ERR_OK) {
            const struct text text = value_text(&name);
            struct buf what = {0};
            buf_printf(&what,
                       "the schema of the collection '%.*s'",
                       (int)text.length,
                       text.at);
            err = schema_fault_tell(&fault, buf_text(&what), detail);
            buf_release(&what);
        }
        schema_unref(schema);
    }
    return err;
}

/* -- Compiling ----------------------------------------------------------- */

static void add_ordering(struct collection *collection,
                         struct value name,
                         const struct value *fields,
                         uint32_t count)
{
    struct ordering *ordering = vec_add(&collection->orderings);
    *ordering = (struct ordering){.name = value_ref(name)};
    for (uint32_t i = 0; i < count; i++) {
        vec_push(&ordering->fields, value_ref(fields[i]));
    }
    pages_init(&ordering->pages, collection->root->entity, name);
    if (collection->entries_max > 0) {
        ordering->pages.entries_max = collection->entries_max;
    }
}

static void add_index(struct collection *collection,
                      struct value name,
                      struct value fields)
{
    struct value names[COLLECTION_INDEX_FIELDS_MAX];
    const uint32_t count = array_count(fields);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = array_at(fields, i);
    }
    add_ordering(collection, name, names, count);
}

void collection_clear(struct collection *collection)
{
    VEC_FOREACH (&collection->orderings, ordering) {
        value_unref(ordering->name);
        VEC_FOREACH (&ordering->fields, field) {
            value_unref(*field);
        }
        vec_release(&ordering->fields);
        pages_release(&ordering->pages);
    }
    vec_release(&collection->orderings);
    value_unref(collection->definition);
    value_unref(collection->key);
    schema_unref(collection->schema);
    collection->definition = VALUE_NONE;
    collection->key = VALUE_NONE;
    collection->schema = NULL;
}

enum err collection_compile(struct collection *collection,
                            struct value definition,
                            struct err_detail *detail)
{
    collection_clear(collection);
    const struct value none = value_text_new("");
    enum err err =
        value_is_object(definition)
            ? collection_check(definition, none, detail)
            : err_set(detail, ERR_NOT_FOUND, "the collection no longer exists");
    if (err != ERR_OK) {
        return err;
    }
    const struct value source = object_field(definition, "schema");
    if (!value_is_absent(source)) {
        err = schema_new(source, &collection->schema, NULL);
    }
    if (err != ERR_OK) {
        return err;
    }
    collection->definition = value_ref(definition);
    collection->key = value_ref(object_field(definition, "key"));
    add_ordering(collection, none, &collection->key, 1);
    const struct value index = object_field(definition, "index");
    struct object_iter iter =
        object_iter(value_is_object(index) ? index : value_empty_object());
    struct value name;
    struct value fields;
    while (object_next(&iter, &name, &fields)) {
        add_index(collection, name, fields);
    }
    return ERR_OK;
}

/* -- Creating ------------------------------------------------------------ */

enum err collection_create(struct collection *collection,
                           struct transaction *transaction,
                           struct value definition,
                           struct err_detail *detail)
{
    enum err err = collection_compile(collection, definition, detail);
    struct value heights = value_empty_object();
    VEC_FOREACH (&collection->orderings, ordering) {
        heights =
            object_set_adopt(heights, value_ref(ordering->name), value_int(0));
        if (err == ERR_OK) {
            err = pages_create(&ordering->pages, transaction, detail);
        }
    }
    struct value payload = value_empty_object();
    struct value about = value_empty_object();
    struct value document = value_empty_object();
    object_put_adopt(&payload, "count", value_int(0));
    object_put_adopt(&about, "definition", value_ref(definition));
    object_put_adopt(&about, "heights", heights);
    object_put_adopt(&document, "value", payload);
    object_put_adopt(&document, "collection", about);
    if (err != ERR_OK) {
        value_unref(document);
        return err;
    }
    struct place *root = place_root(collection->root->entity);
    err = transaction_put_adopt(transaction, root, document, detail);
    place_unref(root);
    return err;
}

/* -- Changing ------------------------------------------------------------ */

/* The orderings that are to be filled: those that are new, or of other
 * fields. */
struct filling {
    struct collection *collection;
    const struct collection_access *access;
    bool is_new[1 + COLLECTION_INDEXES_MAX];
    struct pages_found rows;
};

static enum err begin_new(struct filling *filling,
                          struct value before,
                          struct err_detail *detail)
{
    struct collection *collection = filling->collection;
    enum err err = ERR_OK;
    for (size_t i = 1; i < collection->orderings.count && err == ERR_OK; i++) {
        struct ordering *ordering = &collection->orderings.at[i];
        const struct value fields = value_is_object(before)
                                        ? object_get(before, ordering->name)
                                        : VALUE_NONE;
        const struct value now =
            object_get(object_field(collection->definition, "index"),
                       ordering->name);
        filling->is_new[i] =
            value_is_absent(fields) || !value_equal(fields, now);
        if (filling->is_new[i]) {
            err = transaction_put_adopt(filling->access->transaction,
                                        ordering->pages.height,
                                        value_int(0),
                                        detail);
        }
        if (filling->is_new[i] && err == ERR_OK) {
            err = pages_create(&ordering->pages,
                               filling->access->transaction,
                               detail);
        }
    }
    return err;
}

/* Enters a row into the new orderings; STALE if it is not here. */
static enum err fill_row(struct filling *filling,
                         struct value key,
                         struct err_detail *detail)
{
    struct collection *collection = filling->collection;
    struct entity *row;
    enum err err = collection_row(collection, key, &row, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (!entity_is_available(row)) {
        transaction_await(filling->access->transaction, row);
        return ERR_OK;
    }
    const struct value data = row->visible.payload;
    for (size_t i = 1; i < collection->orderings.count && err == ERR_OK; i++) {
        struct ordering *ordering = &collection->orderings.at[i];
        if (!filling->is_new[i]) {
            continue;
        }
        struct value sort_key;
        err =
            collection_sort_key(collection, ordering, data, &sort_key, detail);
        if (err == ERR_OK) {
            err = pages_put(&ordering->pages,
                            filling->access,
                            sort_key,
                            key,
                            detail);
            value_unref(sort_key);
        }
    }
    return err;
}

static enum err refuse_key(const struct collection *collection,
                           struct value definition,
                           struct err_detail *detail)
{
    const struct value is = object_field(definition, "key");
    const struct text was = value_text(&collection->key);
    const struct text now = value_text(&is);
    return err_set(detail,
                   ERR_ARGUMENT,
                   "the key of the rows was '%.*s' and cannot become '%.*s': "
                   "declare a collection with another name, and copy the rows",
                   (int)was.length,
                   was.at,
                   (int)now.length,
                   now.at);
}

enum err collection_redefine(struct collection *collection,
                             struct transaction *transaction,
                             struct value definition,
                             struct err_detail *detail)
{
    const struct collection_access access = {.transaction = transaction};
    enum err err = collection_refresh(collection, &access, detail);
    if (err != ERR_OK || value_equal(collection->definition, definition)) {
        return err;
    }
    if (!value_equal(collection->key, object_field(definition, "key"))) {
        return refuse_key(collection, definition, detail);
    }
    const struct value before =
        value_ref(object_field(collection->definition, "index"));
    struct filling filling = {.collection = collection, .access = &access};
    err = collection_compile(collection, definition, detail);
    if (err == ERR_OK) {
        err = begin_new(&filling, before, detail);
    }
    bool any = false;
    for (size_t i = 0; i < COUNT_OF(filling.is_new); i++) {
        any = any || filling.is_new[i];
    }
    if (err == ERR_OK && any) {
        struct ordering *keys = &collection->orderings.at[0];
        err = pages_find(&keys->pages,
                         &access,
                         &(struct pages_range){0},
                         &filling.rows,
                         detail);
    }
    VEC_FOREACH (&filling.rows.row_keys, key) {
        if (err == ERR_OK || err == ERR_STALE) {
            const enum err filled = fill_row(&filling, *key, detail);
            err = filled != ERR_OK ? filled : err;
        }
    }
    pages_found_release(&filling.rows);
    value_unref(before);
    if (err == ERR_OK) {
        struct place *place =
            pages_place_in_root(collection->root->entity, "definition");
        err = transaction_put_adopt(transaction,
                                    place,
                                    value_ref(definition),
                                    detail);
        place_unref(place);
    }
    if (err == ERR_OK && transaction_is_awaiting(transaction)) {
        err = ERR_STALE;
    }
    return err;
}

/* -- All documents ------------------------------------------------------- */

struct visiting {
    struct collection *collection;
    void (*visit)(void *ctx, struct entity *document);
    void *ctx;
    bool with_rows; /* the pages are those of the keys */
};

static void visit_rows(struct visiting *visiting, const struct entity *page)
{
    const struct value data = page->visible.payload;
    const struct value entries = object_field(data, "entries");
    struct object_iter iter =
        object_iter(value_is_object(entries) ? entries : value_empty_object());
    struct value sort_key;
    struct value key;
    while (object_next(&iter, &sort_key, &key)) {
        struct entity *row;
        if (collection_row(visiting->collection, key, &row, NULL) == ERR_OK) {
            visiting->visit(visiting->ctx, row);
        }
    }
}

static void visit_page(void *ctx, struct entity *page, bool is_leaf)
{
    struct visiting *visiting = ctx;
    visiting->visit(visiting->ctx, page);
    if (is_leaf && visiting->with_rows) {
        visit_rows(visiting, page);
    }
}

bool collection_visit(struct place *root,
                      void (*visit)(void *ctx, struct entity *document),
                      void *ctx)
{
    struct entity *document = root->entity;
    struct collection collection = {.root = root};
    if (!entity_is_available(document)) {
        space_want(document->space, document);
        return false;
    }
    struct visiting visiting = {
        .collection = &collection,
        .visit = visit,
        .ctx = ctx,
        .with_rows = true,
    };
    bool all = true;
    if (collection_is_root(document) &&
        collection_compile(
            &collection,
            object_field(object_field(document->visible.rest, "collection"),
                         "definition"),
            NULL) == ERR_OK) {
        VEC_FOREACH (&collection.orderings, ordering) {
            all = pages_visit(&ordering->pages, visit_page, &visiting) && all;
            visiting.with_rows = false;
        }
    }
    collection_clear(&collection);
    return all;
}
