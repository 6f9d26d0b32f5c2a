/* A tree of segments, in one map. */

#include "value/path_set.h"

#include "value/compare.h"
#include "value/object.h"

struct path_node {
    const struct path_node *above; /* NULL: the first segment */
    struct value key;              /* owned */
    uint64_t hash;
    bool member; /* a path of the set ends here */
};

struct node_key {
    const struct path_node *above;
    struct value key;
};

static bool is_node(const void *item, const void *key)
{
    const struct path_node *node = item;
    const struct node_key *wanted = key;
    return node->above == wanted->above && key_equal(node->key, wanted->key);
}

static uint64_t hash_node(const struct node_key *key)
{
    const uint64_t above = key->above != NULL ? key->above->hash : 0;
    const uint64_t hash =
        (above ^ value_hash(key->key)) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 32);
}

void path_set_add(struct path_set *set, const struct path *path)
{
    struct path_node *node = NULL;
    for (size_t i = 0; i < path->length; i++) {
        const struct node_key key = {node, path->at[i].key};
        const uint64_t hash = hash_node(&key);
        struct map_slot *slot = map_seek(&set->nodes, hash, is_node, &key);
        if (slot->item == NULL) {
            struct path_node *new = arena_alloc(&set->memory, sizeof *new);
            *new = (struct path_node){
                .above = node,
                .key = value_ref(key.key),
                .hash = hash,
            };
            map_fill(&set->nodes, slot, hash, new);
        }
        node = slot->item;
    }
    if (node != NULL) {
        node->member = true;
    } else {
        set->has_root = true;
    }
}

bool path_set_covers(const struct path_set *set, const struct path *path)
{
    const struct path_node *node = NULL;
    bool covered = set->has_root;
    for (size_t i = 0; !covered && i < path->length; i++) {
        const struct node_key key = {node, path->at[i].key};
        node = map_find(&set->nodes, hash_node(&key), is_node, &key);
        if (node == NULL) {
            return false;
        }
        covered = node->member;
    }
    return covered;
}

void path_set_release(struct path_set *set)
{
    MAP_FOREACH (&set->nodes, slot) {
        const struct path_node *node = slot->item;
        value_unref(node->key);
    }
    map_release(&set->nodes);
    arena_release(&set->memory);
    *set = (struct path_set){0};
}
