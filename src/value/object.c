/* Objects, flat and indexed (shapes: struct flat_node, struct large_node).
 *
 *   object-1  A flat object has 1 to OBJECT_FLAT_MAX entries, a large one more
 *             than FLAT_AGAIN: between the two it keeps the form it has, so
 *             that adding and removing one key at the border does not convert
 *             each time.
 *   object-2  Keys are unique. In a large object, index and entries agree.
 *   object-3  Holes (removed entries) are at most as many as live entries. */

#include "value/object.h"

#include <string.h>

#include "value/index.h"

enum {
    FLAT_AGAIN = OBJECT_FLAT_MAX / 2
};

static struct value object_of(struct heap *heap)
{
    return value_of_heap(heap, TAG_OBJECT);
}

bool key_equal(struct value a, struct value b)
{
    if (value_is_same(a, b)) {
        return true;
    }
    if (value_tag(a) != TAG_LONG || value_tag(b) != TAG_LONG ||
        value_heap(a)->count != value_heap(b)->count) {
        return false;
    }
    return memcmp(string_node(value_heap(a))->at,
                  string_node(value_heap(b))->at,
                  value_heap(a)->count) == 0;
}

/* -- Flat ---------------------------------------------------------------- */

/* The entry's number, or `count` if there is none. */
static size_t find_entry(const struct entry *entries,
                         size_t count,
                         struct value key)
{
    size_t i = 0;
    if (value_tag(key) != TAG_LONG) {
        while (i < count && !value_is_same(entries[i].key, key)) {
            i++;
        }
    } else {
        while (i < count && !key_equal(entries[i].key, key)) {
            i++;
        }
    }
    return i;
}

/* One of 64 for a key: two different bits prove two different keys, so most
 * entries of a new object need no comparison with the others. */
static uint64_t key_bit(struct value key)
{
    uint64_t mixed = key.word[0] * 0x9E3779B97F4A7C15U + key.word[1];
    if (value_tag(key) == TAG_LONG) {
        const char *at = string_node(value_heap(key))->at;
        memcpy(&mixed,
               at + value_heap(key)->count - sizeof mixed,
               sizeof mixed);
        mixed += value_heap(key)->count;
    }
    return UINT64_C(1) << ((mixed * 0x9E3779B97F4A7C15U) >> 58);
}

static struct value flat_new_adopt(const struct value *pairs, size_t count)
{
    struct heap *heap = node_new(TAG_OBJECT, 0, count);
    struct entry *entries = flat_node(heap)->at;
    uint64_t seen = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct value key = pairs[2 * i];
        const struct value item = pairs[2 * i + 1];
        const uint64_t bit = key_bit(key);
        size_t at = used;
        if ((seen & bit) != 0) {
            at = find_entry(entries, used, key);
        }
        seen |= bit;
        if (at < used) {
            value_unref(key);
            value_unref(entries[at].item);
            entries[at].item = item;
        } else {
            entries[used++] = (struct entry){key, item};
        }
    }
    heap->width = (uint16_t)used;
    heap->count = (uint32_t)used;
    return object_of(heap);
}

static void flat_remove(struct heap *heap, size_t at)
{
    struct entry *entries = flat_node(heap)->at;
    const struct entry gone = entries[at];
    memmove(&entries[at],
            &entries[at + 1],
            (heap->width - at - 1) * sizeof *entries);
    heap->width--;
    heap->count--;
    value_unref(gone.key);
    value_unref(gone.item);
}

/* -- Large --------------------------------------------------------------- */

static struct value *large_item(struct heap *heap, uint32_t position)
{
    return tree_own_slot(&large_node(heap)->entries, 2 * position + 1);
}

static void large_add(struct heap *heap, struct value key, struct value item)
{
    struct large_node *large = large_node(heap);
    const struct value pair[2] = {key, item};
    const uint32_t position = large->entries->count / 2;
    tree_push_adopt(&large->entries, pair, 2);
    index_insert(&large->index, large->entries, key, position);
    heap->count++;
}

static struct value large_new_adopt(const struct value *pairs, size_t count)
{
    struct heap *heap = node_new(TAG_OBJECT, 1, 0);
    struct large_node *large = large_node(heap);
    large->entries = tree_build_adopt(TAG_ENTRIES, pairs, 2);
    large->index = index_new();
    index_insert(&large->index, large->entries, pairs[0], 0);
    heap->count = 1;
    for (size_t i = 1; i < count; i++) {
        const struct value key = pairs[2 * i];
        const struct value item = pairs[2 * i + 1];
        const uint32_t at = index_find(large->index, large->entries, key);
        if (at == INDEX_NOT_FOUND) {
            large_add(heap, key, item);
        } else {
            struct value *slot = large_item(heap, at);
            value_unref(key);
            value_unref(*slot);
            *slot = item;
        }
    }
    return object_of(heap);
}

/* The same entries in a new node without holes, flat or large. */
static struct value rebuild_adopt(struct value object, bool flat)
{
    const uint32_t count = object_count(object);
    const size_t size = mem_array_size(count, 2 * sizeof(struct value));
    struct value *pairs = mem_alloc(size);
    struct object_iter iter = object_iter(object);
    for (uint32_t i = 0; i < count; i++) {
        struct value key;
        struct value item;
        CHECK(object_next(&iter, &key, &item));
        pairs[2 * i] = value_ref(key);
        pairs[2 * i + 1] = value_ref(item);
    }
    struct value rebuilt =
        flat ? flat_new_adopt(pairs, count) : large_new_adopt(pairs, count);
    mem_free(pairs, size);
    value_unref(object);
    return rebuilt;
}

static struct value large_remove_adopt(struct value object, struct value key)
{
    const uint32_t position =
        index_find(large_node(value_heap(object))->index,
                   large_node(value_heap(object))->entries,
                   key);
    if (position == INDEX_NOT_FOUND) {
        return object;
    }
    struct heap *heap = value_own(&object, 0);
    struct large_node *large = large_node(heap);
    index_remove(&large->index, key, position);
    struct value *slot = tree_own_slot(&large->entries, 2 * position);
    const struct value gone[2] = {slot[0], slot[1]};
    slot[0] = slot[1] = VALUE_NONE;
    heap->count--;
    value_unref(gone[0]);
    value_unref(gone[1]);

    const uint32_t positions = large->entries->count / 2;
    if (heap->count <= FLAT_AGAIN || positions > 2 * heap->count) {
        return rebuild_adopt(object, heap->count <= FLAT_AGAIN);
    }
    return object;
}

/* -- The public face ----------------------------------------------------- */

struct value object_new_adopt(const struct value *pairs, size_t count)
{
    CHECK(count < UINT32_MAX / 2);
    if (count == 0) {
        return value_empty_object();
    }
    if (count > OBJECT_FLAT_MAX) {
        struct value large = large_new_adopt(pairs, count);
        /* Most keys may have been the same. */
        if (value_heap(large)->count > FLAT_AGAIN) {
            return large;
        }
        return value_normalise_adopt(rebuild_adopt(large, true));
    }
    return value_normalise_adopt(flat_new_adopt(pairs, count));
}

uint32_t object_count(struct value object)
{
    CHECK(value_is_object(object));
    return value_tag(object) == TAG_OBJECT ? value_heap(object)->count : 0;
}

struct value object_get(struct value object, struct value key)
{
    CHECK(value_is_object(object));
    if (value_tag(object) == TAG_EMPTY_OBJECT) {
        return VALUE_NONE;
    }
    if (!object_is_large(value_heap(object))) {
        const struct flat_node *flat = flat_node(value_heap(object));
        const size_t i = find_entry(flat->at, flat->heap.width, key);
        return i < flat->heap.width ? flat->at[i].item : VALUE_NONE;
    }
    const struct large_node *large = large_node(value_heap(object));
    const uint32_t at = index_find(large->index, large->entries, key);
    if (at == INDEX_NOT_FOUND) {
        return VALUE_NONE;
    }
    uint32_t run = 0;
    return *tree_chunk(large->entries, 2 * at + 1, &run);
}

struct value object_get_text(struct value object,
                             const char *key,
                             size_t length)
{
    CHECK(value_is_object(object));
    if (length > VALUE_INLINE_MAX && value_tag(object) == TAG_OBJECT &&
        !object_is_large(value_heap(object))) {
        /* Without a string on the heap, only to compare it. */
        const struct flat_node *flat = flat_node(value_heap(object));
        for (size_t i = 0; i < flat->heap.width; i++) {
            const struct text text = value_text(&flat->at[i].key);
            if (text.length == length && memcmp(text.at, key, length) == 0) {
                return flat->at[i].item;
            }
        }
        return VALUE_NONE;
    }
    struct value string = value_string_new(key, length);
    struct value item = object_get(object, string);
    value_unref(string);
    return item;
}

struct value object_field(struct value object, const char *name)
{
    return value_is_object(object) ? object_get_text(object, name, strlen(name))
                                   : VALUE_NONE;
}

void object_put_adopt(struct value *object, const char *name, struct value item)
{
    *object = object_set_adopt(*object, value_text_new(name), item);
}

void object_put_number(struct value *object, const char *name, uint64_t number)
{
    object_put_adopt(object, name, value_int((int64_t)number));
}

void object_put_text(struct value *object, const char *name, const char *text)
{
    object_put_adopt(object, name, value_text_new(text));
}

uint64_t object_number(struct value object, const char *name)
{
    const struct value number = object_field(object, name);
    return value_kind(number) == VALUE_INT ? (uint64_t)value_integer(number)
                                           : 0;
}

struct value *object_own_slot(struct value *object, struct value key)
{
    CHECK(value_is_object(*object));
    if (value_tag(*object) == TAG_EMPTY_OBJECT) {
        return NULL;
    }
    if (!object_is_large(value_heap(*object))) {
        const struct flat_node *flat = flat_node(value_heap(*object));
        const size_t i = find_entry(flat->at, flat->heap.width, key);
        if (i == flat->heap.width) {
            return NULL;
        }
        return &flat_node(value_own(object, 0))->at[i].item;
    }
    const struct large_node *large = large_node(value_heap(*object));
    const uint32_t at = index_find(large->index, large->entries, key);
    if (at == INDEX_NOT_FOUND) {
        return NULL;
    }
    return large_item(value_own(object, 0), at);
}

static struct value add_adopt(struct value object,
                              struct value key,
                              struct value item)
{
    const struct value pair[2] = {key, item};
    if (value_tag(object) == TAG_EMPTY_OBJECT) {
        return object_new_adopt(pair, 1);
    }
    if (object_is_large(value_heap(object))) {
        large_add(value_own(&object, 0), key, item);
        return object;
    }
    const uint16_t width = value_heap(object)->width;
    if (width == OBJECT_FLAT_MAX) {
        object = rebuild_adopt(object, false);
        large_add(value_heap(object), key, item);
        return object;
    }
    const size_t room = value_heap(object)->capacity;
    struct heap *heap =
        value_own(&object, width < room ? room : width + 1U + width / 2U);
    flat_node(heap)->at[width] = (struct entry){key, item};
    heap->width++;
    heap->count++;
    return object;
}

struct value object_set_adopt(struct value object,
                              struct value key,
                              struct value item)
{
    CHECK(value_is_string(key));
    CHECK(!value_is_absent(item));
    struct value *slot = object_own_slot(&object, key);
    if (slot == NULL) {
        return value_normalise_adopt(add_adopt(object, key, item));
    }
    const struct value old = *slot;
    *slot = item;
    value_unref(old);
    value_unref(key);
    return value_normalise_adopt(object);
}

struct value object_remove_adopt(struct value object, struct value key)
{
    CHECK(value_is_object(object));
    if (value_tag(object) == TAG_EMPTY_OBJECT) {
        return object;
    }
    if (object_is_large(value_heap(object))) {
        return large_remove_adopt(object, key);
    }
    const struct flat_node *flat = flat_node(value_heap(object));
    const size_t i = find_entry(flat->at, flat->heap.width, key);
    if (i == flat->heap.width) {
        return object;
    }
    if (flat->heap.width == 1) {
        value_unref(object);
        return value_empty_object();
    }
    flat_remove(value_own(&object, 0), i);
    return value_normalise_adopt(object);
}

/* -- Walking ------------------------------------------------------------- */

uint32_t object_slots(struct value object)
{
    CHECK(value_is_object(object));
    if (value_tag(object) == TAG_EMPTY_OBJECT) {
        return 0;
    }
    return object_is_large(value_heap(object))
               ? large_node(value_heap(object))->entries->count
               : 2U * value_heap(object)->width;
}

const struct value *object_chunk(struct value object,
                                 uint32_t slot,
                                 uint32_t *run)
{
    const uint32_t slots = object_slots(object);
    if (slot >= slots) {
        *run = 0;
        return NULL;
    }
    if (object_is_large(value_heap(object))) {
        return tree_chunk(large_node(value_heap(object))->entries, slot, run);
    }
    *run = slots - slot;
    return &flat_node(value_heap(object))->at->key + slot;
}

uint32_t object_shared_run(struct value a, struct value b, uint32_t slot)
{
    if (value_tag(a) != TAG_OBJECT || value_tag(b) != TAG_OBJECT ||
        !object_is_large(value_heap(a)) || !object_is_large(value_heap(b))) {
        return 0;
    }
    const uint32_t run = tree_shared_run(large_node(value_heap(a))->entries,
                                         large_node(value_heap(b))->entries,
                                         slot);
    return run & ~(uint32_t)1; /* a key and its item, or neither */
}

bool object_next(struct object_iter *iter,
                 struct value *key,
                 struct value *item)
{
    do {
        if (iter->run == 0) {
            iter->at = object_chunk(iter->object, iter->next, &iter->run);
            if (iter->at == NULL) {
                return false;
            }
            iter->next += iter->run;
        }
        *key = iter->at[0];
        *item = iter->at[1];
        iter->at += 2;
        iter->run -= 2;
    } while (value_is_absent(*key));
    return true;
}
