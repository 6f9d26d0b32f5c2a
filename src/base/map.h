/* A hash map of pointers, by open addressing.
 *
 * The items carry their own keys. The caller passes the 64-bit hash, and for a
 * lookup a function that compares an item with a key, so one map type serves
 * every key. The hash is stored beside the item: a probe touches an item only
 * when all 64 bits agree, and growing touches none.
 *
 *   map-1  The capacity is 0 or a power of two, and count <= capacity * 3 / 4.
 *   map-2  A slot is free exactly if its item is NULL.
 *   map-3  From an item's home slot to its own no slot is free, so a probe may
 *          stop at the first free one. Removal moves later items back to keep
 *          this true; there are no tombstones.
 *
 * Many equal hashes are correct, merely slow. All zero is an empty map that
 * owns nothing. Lookup, removal and clearing never allocate; the memory is
 * kept until map_release.
 *
 * Not here: ownership of the items, and an order. The order of MAP_FOREACH
 * depends on the history of the map: nothing deterministic may depend on it. */

#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"

struct map_slot {
    uint64_t hash;
    void *item; /* map-2 */
};

struct map {
    struct map_slot *slots; /* NULL: the capacity is 0 */
    size_t count;
    unsigned capacity_log2; /* meaningless while slots is NULL */
};

typedef bool map_equal_fn(const void *item, const void *key);

/* For maps in which the item itself is the key. */
bool map_same(const void *item, const void *key);

void map_release(struct map *map);

/* Drops the items and keeps the memory; costs its size, unless the map is
 * already empty. */
void map_clear(struct map *map);

/* Adds `item`, which is not NULL, and whose key is not in the map. */
void map_insert(struct map *map, uint64_t hash, void *item);

/* Removes the item with `key` and returns it, or NULL. */
void *map_remove(struct map *map,
                 uint64_t hash,
                 map_equal_fn *equal,
                 const void *key);

static inline size_t map_capacity(const struct map *map)
{
    return map->slots != NULL ? (size_t)1 << map->capacity_log2 : 0;
}

/* map-1, without the product that could overflow. */
static inline bool map_has_room(const struct map *map, size_t count)
{
    return count <= map_capacity(map) / 4 * 3;
}

/* The rest of map_reserve. */
COLD void map_grow(struct map *map, size_t count);

/* After this, inserts allocate nothing until there are `count` items. To be
 * called before a map is filled from another one: the items come in the order
 * of their hashes, and each would find the growing table full at its home. */
static inline void map_reserve(struct map *map, size_t count)
{
    if (UNLIKELY(!map_has_room(map, count))) {
        map_grow(map, count);
    }
}

/* Where the probe for `hash` starts. The multiplication (by 2^64 divided by
 * the golden ratio) brings every bit of the hash to the top, so that numbers
 * and addresses are good enough as hashes. */
static inline size_t map_home(const struct map *map, uint64_t hash)
{
    return (size_t)((hash * 0x9E3779B97F4A7C15U) >> (64 - map->capacity_log2));
}

/* The slot of the item with `key`, or NULL. Borrowed until the next change.
 * The caller may put another item with the same key into it. */
static inline struct map_slot *map_find_slot(const struct map *map,
                                             uint64_t hash,
                                             map_equal_fn *equal,
                                             const void *key)
{
    if (map->count == 0) {
        return NULL;
    }
    const size_t mask = map_capacity(map) - 1;
    for (size_t at = map_home(map, hash);; at = (at + 1) & mask) {
        struct map_slot *slot = &map->slots[at];
        if (slot->item == NULL) {
            return NULL;
        }
        if (slot->hash == hash && equal(slot->item, key)) {
            return slot;
        }
    }
}

/* The item with `key`, or NULL. Inline, so that `equal` can be, too. */
static inline void *map_find(const struct map *map,
                             uint64_t hash,
                             map_equal_fn *equal,
                             const void *key)
{
    const struct map_slot *slot = map_find_slot(map, hash, equal, key);
    return slot != NULL ? slot->item : NULL;
}

/* For inserting if missing: the slot of the item with `key`, or the free slot
 * for it, and room for one more; borrowed until the next change. */
static inline struct map_slot *map_seek(struct map *map,
                                        uint64_t hash,
                                        map_equal_fn *equal,
                                        const void *key)
{
    map_reserve(map, map->count + 1);
    const size_t mask = map_capacity(map) - 1;
    size_t at = map_home(map, hash);
    while (map->slots[at].item != NULL &&
           (map->slots[at].hash != hash || !equal(map->slots[at].item, key))) {
        at = (at + 1) & mask;
    }
    return &map->slots[at];
}

/* Stores an item in the free slot that was found for it. */
static inline void map_fill(struct map *map,
                            struct map_slot *slot,
                            uint64_t hash,
                            void *item)
{
    slot->hash = hash;
    slot->item = item;
    map->count++;
}

/* The first slot in use behind `slot`, or the very first if it is NULL. */
struct map_slot *map_next(const struct map *map, struct map_slot *slot);

/* Visits each struct map_slot *slot. The body must not insert or remove: both
 * move items, past the loop or back into its way. */
#define MAP_FOREACH(map, slot)                                             \
    for (struct map_slot * (slot) = map_next((map), NULL); (slot) != NULL; \
         (slot) = map_next((map), (slot)))

/* True if map-1 to map-3 hold. Walks the table. */
bool map_check(const struct map *map);

#endif
