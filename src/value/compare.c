/* Equality, hash and depth, without recursion.
 *
 * The hash of a container is built from a part that composes, so that it does
 * not depend on how a tree is cut into nodes and each node can keep its own:
 *
 *   array    sum of hash(e_i) * B^(n-1-i); of two halves: left * B^|right|
 *            + right
 *   object   sum over the entries of mix(hash(key), hash(item)), which does
 *            not see the order
 *
 * and finished with the kind and the count by XXH3. */

#include "value/compare.h"

#include <math.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/stack.h"
#include "value/array.h"
#include "value/node.h"
#include "value/object.h"

/* -- Post-order over the nodes of a value -------------------------------- */

struct node_frame {
    struct heap *heap;
    uint32_t next; /* the child to look at next */
};

/* Children as handles: of a leaf, a flat object or a tagged value. */
static const struct value *values_of(struct heap *heap, uint32_t *count)
{
    if (heap->tag == TAG_LINK || heap->tag == TAG_TAGGED) {
        *count = 2;
        return &tagged_node(heap)->type;
    }
    if (heap->tag == TAG_OBJECT) {
        *count = 2U * heap->width;
        return &flat_node(heap)->at->key;
    }
    *count = heap->width;
    return leaf_node(heap)->at;
}

/* The next child that is a node itself, strings apart; NULL at the end. */
static struct heap *next_node(struct node_frame *frame)
{
    struct heap *heap = frame->heap;
    if (heap->tag == TAG_OBJECT && object_is_large(heap)) {
        return frame->next++ == 0 ? large_node(heap)->entries : NULL;
    }
    if (heap->height > 0) {
        return frame->next < heap->width
                   ? inner_node(heap)->child[frame->next++]
                   : NULL;
    }
    uint32_t count = 0;
    const struct value *values = values_of(heap, &count);
    while (frame->next < count) {
        const struct value child = values[frame->next++];
        if (value_is_heap(child) && value_tag(child) != TAG_LONG) {
            return value_heap(child);
        }
    }
    return NULL;
}

/* Calls `compute` for every node that lacks `bits`, children first. */
static void for_each_unknown(struct heap *root,
                             unsigned bits,
                             void (*compute)(struct heap *heap))
{
    STACK(struct node_frame, 24) stack;
    if ((root->cached & bits) != 0) {
        return;
    }
    stack_init(&stack);
    stack_push(&stack, ((struct node_frame){root, 0}));
    while (stack.count > 0) {
        struct heap *child = next_node(stack_top(&stack));
        if (child == NULL) {
            compute(stack_top(&stack)->heap);
            stack.count--;
        } else if ((child->cached & bits) == 0) {
            stack_push(&stack, ((struct node_frame){child, 0}));
        }
    }
    stack_release(&stack);
}

/* -- Hash ---------------------------------------------------------------- */

/* Any odd number with well spread bits. */
#define HASH_BASE UINT64_C(0xD6E8FEB86659FD93)

static uint64_t power_of_base(uint32_t exponent)
{
    uint64_t power = 1;
    uint64_t square = HASH_BASE;
    for (; exponent != 0; exponent >>= 1) {
        if ((exponent & 1U) != 0) {
            power *= square;
        }
        square *= square;
    }
    return power;
}

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t words[3] = {a, b, c};
    return XXH3_64bits(words, sizeof words);
}

static uint64_t string_hash(struct heap *heap)
{
    if ((heap->cached & CACHED_HASH) == 0) {
        heap->hash = XXH3_64bits(string_node(heap)->at, heap->count);
        heap->cached |= CACHED_HASH;
    }
    return heap->hash;
}

/* Of a value whose nodes have their hash. */
static uint64_t known_hash(struct value value)
{
    if (!value_is_heap(value)) {
        return XXH3_64bits(&value, sizeof value);
    }
    if (value_tag(value) == TAG_LONG) {
        return string_hash(value_heap(value));
    }
    return mix(value_heap(value)->hash,
               value_heap(value)->count,
               value_tag(value));
}

static uint64_t sequence_hash(const struct value *values, size_t count)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        hash = hash * HASH_BASE + known_hash(values[i]);
    }
    return hash;
}

static uint64_t entries_hash(const struct value *pairs, size_t slots)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < slots; i += 2) {
        if (!value_is_absent(pairs[i])) {
            hash += mix(known_hash(pairs[i]), known_hash(pairs[i + 1]), 0);
        }
    }
    return hash;
}

static uint64_t children_hash(const struct heap *heap)
{
    const struct inner_node *inner = (const struct inner_node *)heap;
    uint64_t hash = 0;
    for (unsigned i = 0; i < heap->width; i++) {
        if (heap->tag == TAG_ARRAY) {
            hash *= power_of_base(inner->below[i]);
        }
        hash += inner->child[i]->hash;
    }
    return hash;
}

static void compute_hash(struct heap *heap)
{
    if (heap->tag == TAG_OBJECT && object_is_large(heap)) {
        heap->hash = large_node(heap)->entries->hash;
    } else if (heap->height > 0) {
        heap->hash = children_hash(heap);
    } else {
        uint32_t count = 0;
        const struct value *values = values_of(heap, &count);
        heap->hash = heap->tag == TAG_OBJECT || heap->tag == TAG_ENTRIES
                         ? entries_hash(values, count)
                         : sequence_hash(values, count);
    }
    heap->cached |= CACHED_HASH;
}

uint64_t value_hash(struct value value)
{
    if (value_is_heap(value) && value_tag(value) != TAG_LONG) {
        for_each_unknown(value_heap(value), CACHED_HASH, compute_hash);
    }
    return known_hash(value);
}

/* -- Depth --------------------------------------------------------------- */

static unsigned node_depth(const struct heap *heap)
{
    return heap->cached & CACHED_DEPTH;
}

static unsigned deeper(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

/* Of a value that has no node, or one that is a string. NaN and the infinities
 * are written in an envelope. */
static unsigned leaf_depth(struct value value)
{
    if (value_tag(value) == TAG_DOUBLE && !isfinite(value_fraction_of(value))) {
        return 2;
    }
    return value_is_container(value) ? 1 : 0;
}

static unsigned deepest_value(const struct value *values, size_t count)
{
    unsigned depth = 0;
    for (size_t i = 0; i < count; i++) {
        if (value_is_heap(values[i]) && value_tag(values[i]) != TAG_LONG) {
            depth = deeper(depth, node_depth(value_heap(values[i])));
        } else {
            depth = deeper(depth, leaf_depth(values[i]));
        }
    }
    return depth;
}

static void compute_depth(struct heap *heap)
{
    unsigned depth = 0;
    if (heap->tag == TAG_OBJECT && object_is_large(heap)) {
        depth = node_depth(large_node(heap)->entries);
    } else if (heap->height > 0) {
        for (unsigned i = 0; i < heap->width; i++) {
            depth = deeper(depth, node_depth(inner_node(heap)->child[i]));
        }
    } else {
        uint32_t count = 0;
        const struct value *values = values_of(heap, &count);
        const bool envelope = heap->tag == TAG_LINK || heap->tag == TAG_TAGGED;
        depth = deepest_value(values, count) + (envelope ? 2 : 1);
    }
    if (depth > CACHED_DEPTH) {
        depth = CACHED_DEPTH;
    }
    heap->cached = (uint16_t)((heap->cached & CACHED_HASH) | depth);
}

unsigned value_depth(struct value value)
{
    if (!value_is_heap(value) || value_tag(value) == TAG_LONG) {
        return leaf_depth(value);
    }
    for_each_unknown(value_heap(value), CACHED_DEPTH, compute_depth);
    return node_depth(value_heap(value));
}

/* -- Equality ------------------------------------------------------------ */

enum verdict {
    EQUAL,
    DIFFERENT,
    LOOK_INSIDE
};

/* What two values tell without a look at their elements. */
static enum verdict glance(struct value a, struct value b)
{
    if (value_is_same(a, b)) {
        return EQUAL;
    }
    if (!value_is_heap(a) || value_tag(a) != value_tag(b) ||
        value_heap(a)->count != value_heap(b)->count) {
        return DIFFERENT;
    }
    if ((value_heap(a)->cached & value_heap(b)->cached & CACHED_HASH) != 0 &&
        value_heap(a)->hash != value_heap(b)->hash) {
        return DIFFERENT;
    }
    if (value_tag(a) == TAG_LONG) {
        return key_equal(a, b) ? EQUAL : DIFFERENT;
    }
    return LOOK_INSIDE;
}

/* Two containers of one kind and count, and how far they were compared. */
struct pair_frame {
    struct value a;
    struct value b;
    uint32_t next;
};

/* Compares on from `next`. EQUAL: to the end. LOOK_INSIDE: up to a pair that
 * must be compared first, put into *inner. */
static enum verdict compare_arrays(struct pair_frame *frame,
                                   struct pair_frame *inner)
{
    const uint32_t count = array_count(frame->a);
    while (frame->next < count) {
        const uint32_t shared =
            array_shared_run(frame->a, frame->b, frame->next);
        if (shared > 0) {
            frame->next += shared;
            continue;
        }
        uint32_t run_a = 0;
        uint32_t run_b = 0;
        const struct value *a = array_chunk(frame->a, frame->next, &run_a);
        const struct value *b = array_chunk(frame->b, frame->next, &run_b);
        const uint32_t run = run_a < run_b ? run_a : run_b;
        for (uint32_t i = 0; i < run; i++) {
            const enum verdict verdict = glance(a[i], b[i]);
            frame->next++;
            if (verdict != EQUAL) {
                *inner = (struct pair_frame){a[i], b[i], 0};
                return verdict;
            }
        }
    }
    return EQUAL;
}

static enum verdict compare_objects(struct pair_frame *frame,
                                    struct pair_frame *inner)
{
    const uint32_t slots = object_slots(frame->a);
    while (frame->next < slots) {
        const uint32_t shared =
            object_shared_run(frame->a, frame->b, frame->next);
        if (shared > 0) {
            frame->next += shared;
            continue;
        }
        uint32_t run = 0;
        uint32_t run_b = 0;
        const struct value *a = object_chunk(frame->a, frame->next, &run);
        const struct value *b = object_chunk(frame->b, frame->next, &run_b);
        for (uint32_t i = 0; i < run; i += 2) {
            frame->next += 2;
            if (value_is_absent(a[i])) {
                continue;
            }
            /* Most often the same key is at the same place. */
            const struct value item = i < run_b && key_equal(a[i], b[i])
                                          ? b[i + 1]
                                          : object_get(frame->b, a[i]);
            const enum verdict verdict = glance(a[i + 1], item);
            if (verdict != EQUAL) {
                *inner = (struct pair_frame){a[i + 1], item, 0};
                return verdict;
            }
        }
    }
    return EQUAL;
}

static enum verdict compare_tagged(struct pair_frame *frame,
                                   struct pair_frame *inner)
{
    if (frame->next++ > 0) {
        return EQUAL;
    }
    if (!key_equal(value_tagged_type(frame->a), value_tagged_type(frame->b))) {
        return DIFFERENT;
    }
    *inner = (struct pair_frame){value_tagged_state(frame->a),
                                 value_tagged_state(frame->b),
                                 0};
    return glance(inner->a, inner->b);
}

static enum verdict compare_on(struct pair_frame *frame,
                               struct pair_frame *inner)
{
    if (value_tag(frame->a) == TAG_ARRAY) {
        return compare_arrays(frame, inner);
    }
    return value_tag(frame->a) == TAG_OBJECT ? compare_objects(frame, inner)
                                             : compare_tagged(frame, inner);
}

/* The frames that were open when a difference was found, as a trail. */
static void write_trail(value_trail *trail,
                        const struct pair_frame *frames,
                        size_t count,
                        const struct pair_frame *inner)
{
    vec_reserve(trail, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct value_pair pair = {frames[i].a, frames[i].b};
        vec_push(trail, pair);
    }
    const struct value_pair last = {inner->a, inner->b};
    vec_push(trail, last);
}

/* `trail` may be NULL. */
static bool equal_inside(struct value a, struct value b, value_trail *trail)
{
    STACK(struct pair_frame, 16) stack;
    bool equal = true;
    stack_init(&stack);
    stack_push(&stack, ((struct pair_frame){a, b, 0}));
    while (equal && stack.count > 0) {
        struct pair_frame inner = *stack_top(&stack);
        switch (compare_on(stack_top(&stack), &inner)) {
        case EQUAL:
            stack.count--;
            break;
        case DIFFERENT:
            equal = false;
            if (trail != NULL) {
                write_trail(trail, stack.at, stack.count, &inner);
            }
            break;
        case LOOK_INSIDE:
            stack_push(&stack, inner);
            break;
        }
    }
    stack_release(&stack);
    return equal;
}

bool value_equal_heap(struct value a, struct value b)
{
    const enum verdict verdict = glance(a, b);
    return verdict == LOOK_INSIDE ? equal_inside(a, b, NULL) : verdict == EQUAL;
}

bool value_equal_or_trail(struct value a, struct value b, value_trail *trail)
{
    vec_clear(trail);
    const enum verdict verdict = glance(a, b);
    if (verdict == LOOK_INSIDE) {
        return equal_inside(a, b, trail);
    }
    if (verdict == DIFFERENT) {
        const struct value_pair pair = {a, b};
        vec_push(trail, pair);
    }
    return verdict == EQUAL;
}

/* Two strings in their handles: the bytes as two big-endian numbers, then the
 * length, because zero bytes are bytes, too. */
static int compare_short(struct value a, struct value b)
{
    for (size_t i = 0; i < 2; i++) {
        const uint64_t mask = i == 0 ? UINT64_MAX : UINT64_MAX >> 8;
        const uint64_t x = __builtin_bswap64(a.word[i] & mask);
        const uint64_t y = __builtin_bswap64(b.word[i] & mask);
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    const uint64_t x = a.word[1] >> VALUE_LENGTH_SHIFT;
    const uint64_t y = b.word[1] >> VALUE_LENGTH_SHIFT;
    return (x > y) - (x < y);
}

int value_compare_strings(struct value a, struct value b)
{
    if (value_tag(a) == TAG_SHORT && value_tag(b) == TAG_SHORT) {
        return compare_short(a, b);
    }
    const struct text x = value_text(&a);
    const struct text y = value_text(&b);
    const size_t common = x.length < y.length ? x.length : y.length;
    const int order = common > 0 ? memcmp(x.at, y.at, common) : 0;
    return order != 0 ? order : (x.length > y.length) - (x.length < y.length);
}

struct array_ends array_common_ends(struct value a, struct value b)
{
    const uint32_t count_a = array_count(a);
    const uint32_t count_b = array_count(b);
    const uint32_t least = count_a < count_b ? count_a : count_b;
    struct array_ends ends = {0, 0};
    while (ends.start < least) {
        const uint32_t shared = array_shared_run(a, b, ends.start);
        if (shared == 0 &&
            !value_equal(array_at(a, ends.start), array_at(b, ends.start))) {
            break;
        }
        ends.start += shared > 0 ? shared : 1;
    }
    while (ends.end < least - ends.start &&
           value_equal(array_at(a, count_a - 1 - ends.end),
                       array_at(b, count_b - 1 - ends.end))) {
        ends.end++;
    }
    return ends;
}
