/* The trie of places: lookup, creation and removal. */

#include "replica/place.h"

#include "base/mem.h"
#include "replica/entity.h"
#include "replica/replica.h"
#include "replica/space.h"
#include "value/compare.h"
#include "value/object.h"

struct place_key {
    const struct place *parent;
    struct value key;
};

static struct value key_of(const struct place *place)
{
    return place->path->at[place->path->length - 1].key;
}

static bool is_range(const struct place *place)
{
    const struct value key = key_of(place);
    struct key_range range;
    return key_range_of_key(&key, &range);
}

static bool is_place(const void *item, const void *key)
{
    const struct place *place = item;
    const struct place_key *want = key;
    return place->parent == want->parent && key_equal(key_of(place), want->key);
}

/* The map is never iterated, so hashing an address is harmless. */
static uint64_t place_hash(const struct place *parent, struct value key)
{
    return value_hash(key) + (uint64_t)(uintptr_t)parent * 31;
}

static struct replica *replica_of(const struct entity *entity)
{
    return entity->space->replica;
}

/* Where an entity keeps the place of that path, or NULL: in the map. */
static struct place **own_slot(struct entity *entity, const struct path *path)
{
    const struct replica *replica = replica_of(entity);
    if (path == replica->payload_path) {
        return &entity->payload;
    }
    return path == replica->root_path ? &entity->root : NULL;
}

struct place *place_find_child(const struct place *place, struct value key)
{
    const struct replica *replica = replica_of(place->entity);
    if (place == place->entity->root &&
        key_equal(key, replica->payload_path->at[0].key)) {
        return place->entity->payload;
    }
    return place->child_count == 0 ? NULL
                                   : map_find(&replica->places,
                                              place_hash(place, key),
                                              is_place,
                                              &(struct place_key){place, key});
}

/* Which of the two places without a parent is above `path`, and how many
 * segments it has. */
static struct place *top_of(const struct entity *entity,
                            const struct path *path,
                            uint32_t *length)
{
    const struct path *payload = replica_of(entity)->payload_path;
    const bool below = path_is_prefix(payload, path);
    *length = below ? 1 : 0;
    return below ? entity->payload : entity->root;
}

struct place *place_find(const struct entity *entity, const struct path *path)
{
    uint32_t length;
    struct place *place = top_of(entity, path, &length);
    while (place != NULL && length < path->length) {
        place = place_find_child(place, path->at[length++].key);
    }
    return place;
}

/* Creates one of the two that need no parent. */
static inline struct place *top_new(struct entity *entity, struct path *path)
{
    struct place *place =
        pool_new(&replica_of(entity)->place_pool, sizeof *place);
    place->entity = entity;
    place->path = path_ref(path);
    place->refs = 1;
    return place;
}

/* Creates any other. Takes over the caller's reference to the parent. */
static struct place *place_new(struct place *parent, struct path *path)
{
    struct place *place = top_new(parent->entity, path);
    place->parent = parent;
    chain_push(&parent->children, &place->sibling);
    parent->child_count++;
    parent->ranges = parent->ranges || is_range(place);
    map_insert(&replica_of(parent->entity)->places,
               place_hash(parent, key_of(place)),
               place);
    return place;
}

struct place *place_of(struct entity *entity, struct path *path)
{
    uint32_t length;
    (void)top_of(entity, path, &length);
    struct place *place =
        length > 0 ? place_payload(entity) : place_root(entity);
    while (length < path->length) {
        struct place *child = place_find_child(place, path->at[length++].key);
        if (child != NULL) {
            place_ref(child);
            place_unref(place);
            place = child;
        } else {
            struct path *prefix = path_prefix(path, length);
            place = place_new(place, prefix);
            path_unref(prefix);
        }
    }
    return place;
}

struct place *place_payload(struct entity *entity)
{
    if (entity->payload != NULL) {
        return place_ref(entity->payload);
    }
    entity->payload = top_new(entity, replica_of(entity)->payload_path);
    return entity->payload;
}

struct place *place_root(struct entity *entity)
{
    if (entity->root != NULL) {
        return place_ref(entity->root);
    }
    entity->root = top_new(entity, replica_of(entity)->root_path);
    return entity->root;
}

struct place *place_child(struct place *place, struct value key)
{
    struct place *child = place_find_child(place, key);
    if (child != NULL) {
        return place_ref(child);
    }
    struct path *path = path_child(place->path, key);
    child = own_slot(place->entity, path) != NULL
                ? place_payload(place->entity)
                : place_new(place_ref(place), path);
    path_unref(path);
    return child;
}

void place_free(struct place *place)
{
    /* A long chain of places, each holding the next, is freed in a loop. */
    while (place != NULL) {
        CHECK(place->refs == 0);
        CHECK(place->children.first == NULL);
        struct place *parent = place->parent;
        if (parent == NULL) {
            struct place **slot = own_slot(place->entity, place->path);
            CHECK(slot != NULL);
            *slot = NULL;
        } else {
            chain_remove(&place->sibling);
            parent->child_count--;
            map_remove(&replica_of(place->entity)->places,
                       place_hash(parent, key_of(place)),
                       is_place,
                       &(struct place_key){parent, key_of(place)});
        }
        path_unref(place->path);
        pool_free(&replica_of(place->entity)->place_pool, place, sizeof *place);
        place = parent != NULL && --parent->refs == 0 ? parent : NULL;
    }
}

struct place *place_parent(const struct place *place)
{
    if (place->parent != NULL) {
        return place->parent;
    }
    return place == place->entity->payload ? place->entity->root : NULL;
}

/* place-2 for one place and its children, without recursion: depth first, up
 * again by the parents. */
static bool check_below(const struct place *top)
{
    const struct place *place = top;
    for (;;) {
        if (place->refs == 0 || place->entity != top->entity ||
            place_find(place->entity, place->path) != place) {
            return false;
        }
        if (place->children.first != NULL) {
            place = CONTAINER_OF(place->children.first, struct place, sibling);
            if (place->parent == NULL ||
                place->parent->path->length + 1 != place->path->length ||
                !path_is_prefix(place->parent->path, place->path)) {
                return false;
            }
            continue;
        }
        while (place != top && place->sibling.next == NULL) {
            place = place->parent;
        }
        if (place == top) {
            return true;
        }
        place = CONTAINER_OF(place->sibling.next, struct place, sibling);
    }
}

bool place_check(const struct entity *entity)
{
    return (entity->root == NULL || check_below(entity->root)) &&
           (entity->payload == NULL || check_below(entity->payload));
}
