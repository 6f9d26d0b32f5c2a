/* From the log of a transaction that waits to the documents it will need
 * next. */

#include "replica/prefetch.h"

#include "replica/overlay.h"
#include "replica/space.h"
#include "replica/transaction.h"
#include "value/array.h"
#include "value/doc_link.h"
#include "value/object.h"

enum {
    WAY_LINKS = 16 /* links considered per path */
};

/* One link on the path: the place that holds it, and the length of the part of
 * its path that the previous link names. */
struct way_link {
    const struct place *place;
    uint32_t named;
};

/* From the container that the code iterates over to the missing document. */
struct way {
    expected_fn *expected; /* or NULL */
    void *ctx;
    struct value container;             /* borrowed; absent: none was found */
    const struct path_segment *present; /* the element that the code has
                                           reached */
    uint32_t first; /* segments of the first link's path up to that element */
    size_t start;   /* in `links`; they end with 0, the last link */
    struct way_link links[WAY_LINKS]; /* the last link first */
    size_t count;
};

/* -- Links --------------------------------------------------------------- */

static struct space *space_named(const struct replica *replica,
                                 struct value name)
{
    LIST_FOREACH (&replica->spaces, at) {
        struct space *space = CONTAINER_OF(at, struct space, node);
        if (key_equal(space->id, name)) {
            return space;
        }
    }
    return NULL;
}

/* The document that a link in `holder` names: its space, scope and id. False if
 * there is no such document. */
static bool target_of(const struct entity *holder,
                      const struct doc_link *link,
                      struct space **space,
                      enum scope *scope,
                      struct value *id)
{
    const bool same = value_is_absent(link->id);
    *space = value_is_absent(link->space)
                 ? holder->space
                 : space_named(holder->space->replica, link->space);
    *scope = same ? holder->scope : SCOPE_SPACE;
    *id = same ? holder->id : link->id;
    return *space != NULL &&
           (value_is_absent(link->scope) || scope_read(link->scope, scope));
}

static bool leads_to(const struct read_entry *read, const struct entity *entity)
{
    if (value_kind(read->seen) != VALUE_LINK) {
        return false;
    }
    const struct doc_link link = doc_link_of(read->seen);
    struct space *space;
    enum scope scope;
    struct value id;
    return target_of(read->place->entity, &link, &space, &scope, &id) &&
           space == entity->space && scope == entity->scope &&
           key_equal(id, entity->id);
}

/* How many segments of a path in its target a link names. */
static uint32_t named_by(struct value link)
{
    const struct value path = doc_link_of(link).path;
    return value_is_absent(path) ? 1 : array_count(path);
}

/* -- Values -------------------------------------------------------------- */

/* The value at the first segment of a path, borrowed; absent if the document
 * has no such part. */
static struct value part_of(const struct entity *entity,
                            const struct path_segment *first)
{
    const struct entity_state *state = &entity->visible;
    return !value_is_absent(state->payload) && entity_is_payload_key(first->key)
               ? state->payload
               : value_child(state->rest, first);
}

static struct value walk(struct value value,
                         const struct path *path,
                         uint32_t from)
{
    for (uint32_t i = from; i < path->length; i++) {
        value = value_child(value, &path->at[i]);
    }
    return value;
}

static uint32_t count_of(struct value container)
{
    if (value_kind(container) == VALUE_ARRAY) {
        return array_count(container);
    }
    return value_kind(container) == VALUE_OBJECT ? object_count(container) : 0;
}

/* -- The path that the code took ----------------------------------------- */

/* The containers on the path of a link: keeps the largest so far. */
static void look_at_containers(struct way *way, const struct place *place)
{
    const struct path *path = place->path;
    if (path->length < 2) {
        return;
    }
    struct value value = part_of(place->entity, &path->at[0]);
    struct value best = way->container;
    uint32_t depth = 0;
    for (uint32_t i = 1; i < path->length; i++) {
        if (count_of(value) >= count_of(best) && count_of(value) > 1) {
            best = value;
            depth = i;
        }
        value = value_child(value, &path->at[i]);
    }
    if (depth > 0 && count_of(best) > count_of(way->container)) {
        way->container = best;
        way->present = &path->at[depth];
        way->first = depth + 1;
        way->start = way->count - 1;
    }
}

/* The last document in the log that is not available, or the last of all; and
 * its index in the log. */
static const struct entity *missing_of(const struct transaction *transaction,
                                       size_t *from)
{
    for (size_t i = transaction->reads.count; i-- > 0;) {
        const struct entity *entity = transaction->reads.at[i].place->entity;
        if (!entity_is_available(entity)) {
            *from = i;
            return entity;
        }
    }
    *from = transaction->reads.count;
    if (transaction->awaited.count > 0) {
        return transaction->awaited.at[0];
    }
    return *from > 0 ? transaction->reads.at[--*from].place->entity : NULL;
}

/* ahead-1: from the missing document backwards, as far as links led to it. */
static void find_way(const struct transaction *transaction, struct way *way)
{
    size_t at;
    const struct entity *entity = missing_of(transaction, &at);
    const struct place *next = NULL;
    while (entity != NULL && at-- > 0 && way->count < WAY_LINKS) {
        const struct read_entry *read = &transaction->reads.at[at];
        if (!leads_to(read, entity)) {
            continue;
        }
        const uint32_t named = named_by(read->seen);
        if (next != NULL && named > next->path->length) {
            return;
        }
        if (way->count > 0) {
            way->links[way->count - 1].named = named;
        }
        way->links[way->count++].place = read->place;
        look_at_containers(way, read->place);
        next = read->place;
        entity = read->place->entity;
    }
}

/* -- The same path from another element ---------------------------------- */

/* The document that a link names; or NULL. */
static struct entity *follow(const struct entity *holder, struct value value)
{
    const struct doc_link link = doc_link_of(value);
    struct space *space;
    enum scope scope;
    struct value id;
    struct entity *entity;
    return target_of(holder, &link, &space, &scope, &id) &&
                   entity_of(space, scope, id, &entity, NULL) == ERR_OK
               ? entity
               : NULL;
}

/* What a link names in its target. */
static struct value named_value(const struct entity *entity, struct value link)
{
    const struct value path = doc_link_of(link).path;
    if (value_is_absent(path)) {
        return entity->visible.payload;
    }
    struct value value = VALUE_NONE;
    for (uint32_t i = 0; i < array_count(path); i++) {
        struct path_segment segment = path_segment(array_at(path, i));
        value =
            i == 0 ? part_of(entity, &segment) : value_child(value, &segment);
        path_segment_release(&segment);
    }
    return value;
}

/* Requests the first unavailable document on the path from an element. Returns
 * whether something was done. */
static bool request_behind(const struct way *way, struct value element)
{
    const struct entity *holder = way->links[way->start].place->entity;
    struct value value = element;
    bool wanted = false;
    for (size_t i = way->start + 1; i-- > 0;) {
        const struct way_link *link = &way->links[i];
        value = walk(value,
                     link->place->path,
                     i == way->start ? way->first : link->named);
        if (value_kind(value) != VALUE_LINK) {
            return wanted; /* not known yet, or a different kind of element */
        }
        struct entity *entity = follow(holder, value);
        if (entity == NULL) {
            return false;
        }
        if (!entity_is_available(entity)) {
            space_want(entity->space, entity);
            wanted = true;
        }
        if (i == 0 && way->expected != NULL) {
            return way->expected(way->ctx, entity) || wanted;
        }
        value = wanted ? VALUE_NONE : named_value(entity, value);
        holder = entity;
    }
    return wanted;
}

static void request_of_array(const struct way *way, size_t most)
{
    const uint32_t count = array_count(way->container);
    for (uint32_t i = way->present->index; ++i < count && most > 0;) {
        most -= request_behind(way, array_at(way->container, i));
    }
}

static void request_of_object(const struct way *way, size_t most)
{
    struct object_iter iter = object_iter(way->container);
    struct value key;
    struct value item;
    bool found = false;
    while (most > 0 && object_next(&iter, &key, &item)) {
        most -= found && request_behind(way, item);
        found = found || key_equal(key, way->present->key);
    }
}

static void go_ahead(struct transaction *transaction, struct way *way)
{
    transaction_unfollow(transaction);
    find_way(transaction, way);
    const size_t most = transaction->reads.count; /* ahead-2 */
    if (value_kind(way->container) == VALUE_ARRAY) {
        request_of_array(way, most);
    } else if (value_kind(way->container) == VALUE_OBJECT &&
               way->expected == NULL) {
        request_of_object(way, most);
    }
}

void prefetch_request(struct transaction *transaction)
{
    struct way way = {.container = VALUE_NONE};
    go_ahead(transaction, &way);
}

void prefetch_walk(struct transaction *transaction,
                   expected_fn *expected,
                   void *ctx)
{
    struct way way = {expected, ctx, .container = VALUE_NONE};
    go_ahead(transaction, &way);
}
