/* Replacing links by their targets. The recursion is over containers that have
 * a link somewhere below, and bounded. */

#include "runtime/resolve.h"

#include "base/stack.h"
#include "runtime/own_write.h"
#include "sched/settle.h"
#include "value/array.h"
#include "value/object.h"

static void push_children(struct value container,
                          void (*push)(void *ctx, struct value child),
                          void *ctx)
{
    struct value item;
    if (value_is_array(container)) {
        struct array_iter items = array_iter(container);
        while (array_next(&items, &item)) {
            push(ctx, item);
        }
        return;
    }
    struct object_iter entries = object_iter(container);
    struct value key;
    while (object_next(&entries, &key, &item)) {
        push(ctx, item);
    }
}

struct search {
    STACK(struct value, 32) stack;
    bool found;
};

static void look_at(void *ctx, struct value child)
{
    struct search *search = ctx;
    if (value_kind(child) == VALUE_LINK) {
        search->found = true;
    } else if (value_is_container(child)) {
        stack_push(&search->stack, child);
    }
}

static bool has_link(struct value value)
{
    struct search search = {.found = false};
    stack_init(&search.stack);
    look_at(&search, value);
    while (!search.found && search.stack.count > 0) {
        search.stack.count--;
        push_children(search.stack.at[search.stack.count], look_at, &search);
    }
    stack_release(&search.stack);
    return search.found;
}

static enum err resolve(const struct cell_access *access,
                        struct place *place,
                        unsigned depth,
                        struct value *out,
                        struct err_detail *detail);

/* One child of a container at a place; resolve-3. */
static enum err resolve_child(const struct cell_access *access,
                              struct place *place,
                              struct value key,
                              struct value item,
                              unsigned depth,
                              struct value *out,
                              struct err_detail *detail)
{
    if (depth == RESOLVE_DEPTH || !has_link(item)) {
        *out = value_ref(item);
        return ERR_OK;
    }
    struct place *child = place_child(place, key);
    const enum err err = resolve(access, child, depth + 1, out, detail);
    place_unref(child);
    if (err == ERR_OK || err == ERR_STALE) {
        return err;
    }
    *out = value_ref(item);
    return ERR_OK;
}

/* A run that is given up says what else it needs, so that all of it runs
 * before the next attempt: what an item links to. */
static void want(const struct cell_access *access,
                 struct place *place,
                 struct value item)
{
    struct place *target = NULL;
    struct err_detail ignored;
    if (access->run == NULL || value_kind(item) != VALUE_LINK ||
        cell_link_target(access, place, item, &target, &ignored) != ERR_OK) {
        return;
    }
    struct value none = VALUE_NONE;
    const enum err err =
        run_read(access->run, target, READ_DEEP, READ_FOR_BOTH, &none);
    (void)err; /* STALE, as before */
    value_unref(none);
    place_unref(target);
}

static enum err resolve_array(const struct cell_access *access,
                              struct place *place,
                              struct value array,
                              unsigned depth,
                              struct value *out,
                              struct err_detail *detail)
{
    enum err err = ERR_OK;
    struct value list = value_empty_array();
    struct array_iter items = array_iter(array);
    struct value item;
    for (uint32_t i = 0; err == ERR_OK && array_next(&items, &item); i++) {
        struct path_segment step = path_segment_of_index(i);
        struct value found = VALUE_NONE;
        err =
            resolve_child(access, place, step.key, item, depth, &found, detail);
        path_segment_release(&step);
        list = array_push_adopt(list,
                                value_is_absent(found) ? value_null() : found);
    }
    const bool ahead =
        err == ERR_STALE && !settle_is_interrupted(access->runtime->sched);
    while (ahead && array_next(&items, &item)) {
        want(access, place, item);
    }
    *out = list;
    return err;
}

static enum err resolve_object(const struct cell_access *access,
                               struct place *place,
                               struct value object,
                               unsigned depth,
                               struct value *out,
                               struct err_detail *detail)
{
    enum err err = ERR_OK;
    struct value made = value_empty_object();
    struct object_iter entries = object_iter(object);
    struct value key;
    struct value item;
    while (err == ERR_OK && object_next(&entries, &key, &item)) {
        struct value found = VALUE_NONE;
        err = resolve_child(access, place, key, item, depth, &found, detail);
        if (!value_is_absent(found)) {
            made = object_set_adopt(made, value_ref(key), found);
        }
    }
    while (err == ERR_STALE && object_next(&entries, &key, &item)) {
        want(access, place, item);
    }
    *out = made;
    return err;
}

/* -- Rows (resolve-4) ---------------------------------------------------- */

/* The keys of the first rows. Outside of transactions, what is needed is
 * fetched. */
static enum err find_rows(const struct cell_access *access,
                          struct place *root,
                          struct pages_found *found,
                          struct err_detail *detail)
{
    struct runtime *runtime = access->runtime;
    struct collection *collection = collections_of(&runtime->collections, root);
    const struct collection_range range = {.limit = RESOLVE_ROWS};
    if (access->transaction != NULL) {
        const struct collection_access own = {access->transaction, access->run};
        return collection_find(collection, &own, &range, found, detail);
    }
    enum err err = ERR_STALE;
    bool more = true;
    while (err == ERR_STALE && more) {
        struct transaction *transaction =
            transaction_begin(&runtime->replica, NULL);
        const struct collection_access own = {.transaction = transaction};
        pages_found_release(found);
        *found = (struct pages_found){0};
        err = collection_find(collection, &own, &range, found, detail);
        transaction_release(transaction);
        more = runtime_is_loading(runtime) && runtime_fetch_requested(runtime);
    }
    return err;
}

/* All rows are read, and so requested, also if one of them has not come. */
static enum err resolve_rows(const struct cell_access *access,
                             struct place *root,
                             struct value *out,
                             struct err_detail *detail)
{
    struct pages_found found = {0};
    struct value rows = value_empty_array();
    enum err err = find_rows(access, root, &found, detail);
    if (err == ERR_STALE && access->transaction != NULL &&
        transaction_is_awaiting(access->transaction)) {
        err = ERR_OK; /* as for any other document that has not come */
    }
    VEC_FOREACH (&found.row_keys, key) {
        struct entity *entity;
        struct value row = VALUE_NONE;
        enum err one =
            collection_row(collections_of(&access->runtime->collections, root),
                           *key,
                           &entity,
                           detail);
        if (one == ERR_OK) {
            struct place *place = place_payload(entity);
            one = cell_read(access,
                            place,
                            READ_DEEP,
                            READ_FOR_BOTH,
                            &row,
                            NULL,
                            detail);
            place_unref(place);
        }
        if (!value_is_absent(row)) {
            rows = array_push_adopt(rows, row);
        }
        err = err == ERR_OK ? one : err;
    }
    pages_found_release(&found);
    object_put_adopt(out, "rows", rows);
    return err;
}

static bool is_collection(const struct place *place)
{
    return place == place->entity->payload && collection_is_root(place->entity);
}

static enum err resolve(const struct cell_access *access,
                        struct place *place,
                        unsigned depth,
                        struct value *out,
                        struct err_detail *detail)
{
    struct value value = VALUE_NONE;
    struct place *at = NULL;
    *out = VALUE_NONE;
    if (access->run != NULL && settle_gives_way(access->run)) {
        return ERR_STALE;
    }
    enum err err =
        cell_read(access, place, READ_DEEP, READ_FOR_BOTH, &value, &at, detail);
    if (err == ERR_OK) {
        if (!value_is_container(value) || !has_link(value)) {
            *out = value_ref(value);
            if (UNLIKELY(value_is_object(value) && is_collection(at))) {
                err = resolve_rows(access, at, out, detail);
            }
        } else if (value_is_array(value)) {
            err = resolve_array(access, at, value, depth, out, detail);
        } else {
            err = resolve_object(access, at, value, depth, out, detail);
        }
    }
    value_unref(value);
    if (at != NULL) {
        place_unref(at);
    }
    if (err != ERR_OK) {
        value_unref(*out);
        *out = VALUE_NONE;
    }
    return err;
}

enum err resolve_read(const struct cell_access *access,
                      struct place *place,
                      struct value *out,
                      struct err_detail *detail)
{
    return resolve(access, place, 0, out, detail);
}
