/* The hash trie of a large object (shape: struct index_node in node.h). */

#include "value/index.h"

#include <string.h>

#include "value/compare.h"
#include "value/object.h"

enum {
    BITS = 5,
    HASH_BITS = 64
};

static uint32_t bit_at(uint64_t hash, unsigned shift)
{
    return UINT32_C(1) << ((hash >> shift) & 31U);
}

static unsigned bits_below(uint32_t map, uint32_t bit)
{
    return (unsigned)__builtin_popcount(map & (bit - 1));
}

static unsigned branch_slot(const struct index_node *node, uint32_t bit)
{
    return (unsigned)__builtin_popcount(node->positions) +
           bits_below(node->branches, bit);
}

/* The bits of the hash are used up: a plain list. */
static bool is_list(const struct heap *heap)
{
    return heap->height == 1;
}

static struct value key_at(const struct heap *entries, uint64_t position)
{
    uint32_t run = 0;
    return *tree_chunk(entries, (uint32_t)(2 * position), &run);
}

static struct heap *branch_new(unsigned height, size_t slots)
{
    struct heap *heap = node_new(TAG_INDEX, height, slots);
    index_node(heap)->positions = 0;
    index_node(heap)->branches = 0;
    return heap;
}

struct heap *index_new(void)
{
    return branch_new(0, 4);
}

static uint32_t find_in_list(const struct index_node *node,
                             const struct heap *entries,
                             struct value key)
{
    for (unsigned i = 0; i < node->heap.width; i++) {
        if (key_equal(key_at(entries, node->at[i].position), key)) {
            return (uint32_t)node->at[i].position;
        }
    }
    return INDEX_NOT_FOUND;
}

uint32_t index_find(const struct heap *index,
                    const struct heap *entries,
                    struct value key)
{
    const uint64_t hash = value_hash(key);
    const struct heap *heap = index;
    for (unsigned shift = 0; !is_list(heap); shift += BITS) {
        const struct index_node *node = (const struct index_node *)heap;
        const uint32_t bit = bit_at(hash, shift);
        if ((node->positions & bit) != 0) {
            const uint64_t position =
                node->at[bits_below(node->positions, bit)].position;
            return key_equal(key_at(entries, position), key)
                       ? (uint32_t)position
                       : INDEX_NOT_FOUND;
        }
        if ((node->branches & bit) == 0) {
            return INDEX_NOT_FOUND;
        }
        heap = node->at[branch_slot(node, bit)].branch;
    }
    return find_in_list((const struct index_node *)heap, entries, key);
}

/* Opens (or closes) a gap of one slot in an owned node. */
static void slots_shift(struct heap *heap, unsigned from, unsigned to)
{
    struct index_node *node = index_node(heap);
    memmove(&node->at[to],
            &node->at[from],
            (heap->width - from) * sizeof node->at[0]);
    heap->width = (uint16_t)(heap->width + to - from);
}

static void add_position(struct heap **slot, unsigned at, uint64_t position)
{
    const size_t need = (size_t)(*slot)->width + 1;
    const size_t room = (*slot)->capacity;
    struct heap *heap = node_own(slot, need <= room ? room : need + 3);
    slots_shift(heap, at, at + 1);
    index_node(heap)->at[at].position = position;
}

/* Two keys share this slot: what was there moves one level down. */
static void push_down(struct heap **slot,
                      const struct heap *entries,
                      uint32_t bit,
                      unsigned shift)
{
    struct heap *heap = node_own(slot, 0);
    struct index_node *node = index_node(heap);
    const unsigned from = bits_below(node->positions, bit);
    const uint64_t position = node->at[from].position;

    struct heap *child = branch_new(shift + BITS < HASH_BITS ? 0 : 1, 4);
    add_position(&child, 0, position);
    if (!is_list(child)) {
        const uint64_t hash = value_hash(key_at(entries, position));
        index_node(child)->positions = bit_at(hash, shift + BITS);
    }
    slots_shift(heap, from + 1, from);
    node->positions &= ~bit;
    const unsigned to = branch_slot(node, bit);
    slots_shift(heap, to, to + 1);
    node->branches |= bit;
    node->at[to].branch = child;
}

void index_insert(struct heap **index,
                  const struct heap *entries,
                  struct value key,
                  uint32_t position)
{
    const uint64_t hash = value_hash(key);
    struct heap **slot = index;
    for (unsigned shift = 0; !is_list(*slot); shift += BITS) {
        const uint32_t bit = bit_at(hash, shift);
        struct index_node *node = index_node(*slot);
        if ((node->positions & bit) != 0) {
            push_down(slot, entries, bit, shift);
        } else if ((node->branches & bit) == 0) {
            add_position(slot, bits_below(node->positions, bit), position);
            index_node(*slot)->positions |= bit;
            return;
        }
        node = index_node(node_own(slot, 0));
        slot = &node->at[branch_slot(node, bit)].branch;
    }
    add_position(slot, (*slot)->width, position);
}

void index_remove(struct heap **index, struct value key, uint32_t position)
{
    const uint64_t hash = value_hash(key);
    struct heap **slot = index;
    for (unsigned shift = 0; !is_list(*slot); shift += BITS) {
        const uint32_t bit = bit_at(hash, shift);
        struct index_node *node = index_node(node_own(slot, 0));
        if ((node->positions & bit) != 0) {
            const unsigned at = bits_below(node->positions, bit);
            CHECK(node->at[at].position == position);
            slots_shift(*slot, at + 1, at);
            node->positions &= ~bit;
            return;
        }
        CHECK((node->branches & bit) != 0);
        slot = &node->at[branch_slot(node, bit)].branch;
    }
    struct index_node *list = index_node(node_own(slot, 0));
    for (unsigned i = 0; i < list->heap.width; i++) {
        if (list->at[i].position == position) {
            slots_shift(*slot, i + 1, i);
            return;
        }
    }
    UNREACHABLE("the position is in the index");
}
