/* The layout of heap values. For the files of this folder only: all other code
 * sees handles.
 *
 * Large arrays are counted B+ trees: leaves of up to 32 values, inner nodes of
 * up to 16 children, all leaves at one depth, so that an update copies one
 * path. A small array is a tree of one leaf; there is no second form.
 *
 * Small objects are flat lists of entries in insertion order, searched
 * linearly. A large one has its entries in such a tree too (key and item side
 * by side, a removed pair left as two absent values until there are too many)
 * and an index from the key's hash to the entry's position (value/index.h).
 *
 *   value-node-1  refs is the first member: value.h counts it without this
 *                 header.
 *   value-node-2  `cached` says what has been computed of the content; a change
 *                 in place clears it. In a tree node `hash` is the part that
 *                 composes, not the finished hash (value/compare.c).
 *   value-node-3  A node is changed only by a holder of the only reference
 *                 (value-5). */

#ifndef VALUE_NODE_H
#define VALUE_NODE_H

#include "base/check.h"
#include "base/mem.h"
#include "value/value.h"

enum {
    LEAF_MAX = 32,  /* values in a leaf; even, so that pairs stay together */
    INNER_MAX = 16, /* children of an inner node */
    TREE_HEIGHT_MAX = 16,
    OBJECT_FLAT_MAX = 32, /* entries; more of them get an index */

    CACHED_DEPTH = 0x7FFF, /* bits of heap.cached */
    CACHED_HASH = 0x8000,
};

struct heap {
    uint32_t refs;
    uint8_t tag;       /* enum value_tag: how to free it */
    uint8_t height;    /* of a tree node: 0 is a leaf */
    uint16_t width;    /* slots in use */
    uint32_t count;    /* bytes, elements below, or live entries */
    uint16_t cached;   /* CACHED_HASH, and value_depth once computed, else 0 */
    uint16_t capacity; /* slots allocated */
    uint64_t hash;     /* if CACHED_HASH; while being freed, the next one */
};

struct string_node {
    struct heap heap; /* count: bytes */
    char at[];        /* count bytes and a zero */
};

/* TAG_ARRAY or TAG_ENTRIES, height 0. width == count. */
struct leaf_node {
    struct heap heap;
    struct value at[];
};

/* TAG_ARRAY or TAG_ENTRIES, height > 0. count is the sum of below[]. */
struct inner_node {
    struct heap heap;
    uint32_t below[INNER_MAX]; /* elements below each child */
    struct heap *child[INNER_MAX];
};

struct entry {
    struct value key;
    struct value item;
};

/* TAG_OBJECT with height 0: at most OBJECT_FLAT_MAX entries. */
struct flat_node {
    struct heap heap; /* width == count: entries */
    struct entry at[];
};

/* TAG_OBJECT with height 1. */
struct large_node {
    struct heap heap;     /* count: live entries */
    struct heap *entries; /* TAG_ENTRIES tree: key, item, key, item, ... */
    struct heap *index;   /* TAG_INDEX tree: hash of a key -> its position */
};

/* A branch of the index. Five bits of the hash select a slot: one bit in
 * `positions` or in `branches` says that it exists, and of which sort. The
 * positions come first, then the branches, each in the order of their bits.
 * Where the bits of the hash run out (height 1), all slots are positions, in
 * any order, and both maps are 0. */
struct index_node {
    struct heap heap; /* width: slots */
    uint32_t positions;
    uint32_t branches;
    union index_slot {
        uint64_t position;
        struct heap *branch;
    } at[];
};

/* TAG_LINK or TAG_TAGGED. */
struct tagged_node {
    struct heap heap;
    struct value type;
    struct value state;
};

/* Casts a heap to a node type; the caller has checked the tag. */
static inline struct string_node *string_node(struct heap *heap)
{
    return CONTAINER_OF(heap, struct string_node, heap);
}
static inline struct leaf_node *leaf_node(struct heap *heap)
{
    return CONTAINER_OF(heap, struct leaf_node, heap);
}
static inline struct inner_node *inner_node(struct heap *heap)
{
    return CONTAINER_OF(heap, struct inner_node, heap);
}
static inline struct flat_node *flat_node(struct heap *heap)
{
    return CONTAINER_OF(heap, struct flat_node, heap);
}
static inline struct large_node *large_node(struct heap *heap)
{
    return CONTAINER_OF(heap, struct large_node, heap);
}
static inline struct index_node *index_node(struct heap *heap)
{
    return CONTAINER_OF(heap, struct index_node, heap);
}
static inline struct tagged_node *tagged_node(struct heap *heap)
{
    return CONTAINER_OF(heap, struct tagged_node, heap);
}

/* The first slot that is a branch. */
static inline unsigned index_branches_from(struct heap *heap)
{
    return heap->width -
           (unsigned)__builtin_popcount(index_node(heap)->branches);
}

static inline bool object_is_large(const struct heap *heap)
{
    return heap->height > 0;
}

/* A new node with one reference; everything but the header is uninitialised.
 * `slots` is the capacity, for a string its bytes. */
struct heap *node_new(enum value_tag tag, unsigned height, size_t slots);
size_t node_size(const struct heap *heap);

static inline struct heap *node_ref(struct heap *heap)
{
    heap->refs++;
    return heap;
}
static inline void node_unref(struct heap *heap)
{
    if (--heap->refs == 0) {
        value_free(heap);
    }
}

/* Makes *slot safe to change: itself if this is the only reference, otherwise a
 * copy that replaces it, with room for at least `slots` slots. Clears the
 * cached properties of the content. */
struct heap *node_own(struct heap **slot, size_t slots);

/* The same for the node of a heap value. */
static inline struct heap *value_own(struct value *value, size_t slots)
{
    struct heap *heap = value_heap(*value);
    struct heap *own = node_own(&heap, slots);
    value->word[0] = (uint64_t)(uintptr_t)heap;
    return own;
}

/* -- Trees (array.c): used by arrays and by the entries of large objects -- */

struct heap *tree_build_adopt(enum value_tag tag,
                              const struct value *items,
                              size_t count);
/* The leaf's values from `index` on, *run of them. */
const struct value *tree_chunk(const struct heap *root,
                               uint32_t index,
                               uint32_t *run);
struct value *tree_own_slot(struct heap **root, uint32_t index);
void tree_push_adopt(struct heap **root,
                     const struct value *items,
                     unsigned count);
/* How many elements from `index` on both have in shared nodes that are side by
 * side, or as the same handles in one leaf; 0 says nothing. */
uint32_t tree_shared_run(const struct heap *a,
                         const struct heap *b,
                         uint32_t index);
bool tree_check(const struct heap *root);

#endif
