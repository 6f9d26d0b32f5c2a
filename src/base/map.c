/* The hash map: linear probing, and removal without tombstones. */

#include "base/map.h"

#include <string.h>

#include "base/check.h"
#include "base/mem.h"

enum {
    MAP_CAPACITY_LOG2_MIN = 3
};

bool map_same(const void *item, const void *key)
{
    return item == key;
}

static void release_slots(struct map_slot *slots, size_t capacity)
{
    mem_free(slots, mem_array_size(capacity, sizeof *slots));
}

void map_release(struct map *map)
{
    release_slots(map->slots, map_capacity(map));
    *map = (struct map){0};
}

void map_clear(struct map *map)
{
    if (map->count > 0) {
        memset(map->slots, 0, map_capacity(map) * sizeof *map->slots);
        map->count = 0;
    }
}

/* Into the first free slot from the item's home; map-1 promises one. */
static void place(struct map *map, uint64_t hash, void *item)
{
    const size_t mask = map_capacity(map) - 1;
    size_t at = map_home(map, hash);
    while (map->slots[at].item != NULL) {
        at = (at + 1) & mask;
    }
    map->slots[at] = (struct map_slot){.hash = hash, .item = item};
}

static void rehash(struct map *map, unsigned capacity_log2)
{
    const struct map old = *map;
    const size_t old_capacity = map_capacity(&old);
    const size_t capacity = (size_t)1 << capacity_log2;

    map->slots = mem_alloc_zero(mem_array_size(capacity, sizeof *map->slots));
    map->capacity_log2 = capacity_log2;
    for (size_t i = 0; i < old_capacity; i++) {
        if (old.slots[i].item != NULL) {
            place(map, old.slots[i].hash, old.slots[i].item);
        }
    }
    release_slots(old.slots, old_capacity);
    CHECK_DEEP(map_check(map));
}

void map_grow(struct map *map, size_t count)
{
    CHECK(count < SIZE_MAX / 4);
    unsigned capacity_log2 = MAP_CAPACITY_LOG2_MIN;
    while (count > ((size_t)1 << capacity_log2) / 4 * 3) {
        capacity_log2++;
    }
    rehash(map, capacity_log2);
}

void map_insert(struct map *map, uint64_t hash, void *item)
{
    CHECK(item != NULL);
    map_reserve(map, map->count + 1);
    place(map, hash, item);
    map->count++;
}

/* Frees the slot at `gap`. An item behind it moves into the gap if that is
 * still on the way from its home, and leaves the next gap; the run ends at a
 * free slot. Distances are cyclic, so the end of the table is no case. */
static void close_gap(struct map *map, size_t gap)
{
    const size_t mask = map_capacity(map) - 1;
    size_t at = (gap + 1) & mask;
    while (map->slots[at].item != NULL) {
        const size_t home = map_home(map, map->slots[at].hash);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            map->slots[gap] = map->slots[at];
            gap = at;
        }
        at = (at + 1) & mask;
    }
    map->slots[gap] = (struct map_slot){0};
}

void *map_remove(struct map *map,
                 uint64_t hash,
                 map_equal_fn *equal,
                 const void *key)
{
    struct map_slot *slot = map_find_slot(map, hash, equal, key);
    if (slot == NULL) {
        return NULL;
    }
    void *item = slot->item;
    close_gap(map, (size_t)(slot - map->slots));
    map->count--;
    return item;
}

struct map_slot *map_next(const struct map *map, struct map_slot *slot)
{
    const size_t capacity = map_capacity(map);
    size_t at = slot != NULL ? (size_t)(slot - map->slots) + 1 : 0;
    while (at < capacity && map->slots[at].item == NULL) {
        at++;
    }
    return at < capacity ? &map->slots[at] : NULL;
}

/* map-3 in linear time, however equal the hashes are: an item is no further
 * from its home than the run of slots in use before it is long. */
static bool check_probes(const struct map *map)
{
    const size_t mask = map_capacity(map) - 1;
    size_t start = 0;
    while (start <= mask && map->slots[start].item != NULL) {
        start++;
    }
    if (start > mask) {
        return false; /* map-1: some slot is free */
    }
    size_t run = 0;
    size_t count = 0;
    for (size_t i = 1; i <= mask; i++) {
        const size_t at = (start + i) & mask;
        if (map->slots[at].item == NULL) {
            run = 0;
            continue;
        }
        if (((at - map_home(map, map->slots[at].hash)) & mask) > run) {
            return false;
        }
        run++;
        count++;
    }
    return count == map->count;
}

bool map_check(const struct map *map)
{
    if (map->slots == NULL) {
        return map->count == 0;
    }
    return map->capacity_log2 >= MAP_CAPACITY_LOG2_MIN &&
           map->capacity_log2 < 64 && map_has_room(map, map->count) &&
           check_probes(map);
}
