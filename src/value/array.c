/* Persistent sequences as counted B+ trees (shape: value/node.h).
 *
 * Every change works on nodes that it owns (node_own), from the root down; a
 * node that is shared is copied on the way, one that is not is changed where
 * it is. Splitting and joining are the only operations that change the shape;
 * a splice is two splits and two joins.
 *
 *   array-1  All leaves are at the same depth; a child is one lower than its
 *            parent; no node is empty.
 *   array-2  below[i] == child[i]->count, and count is their sum.
 *   array-3  Joining merges or evens out the two nodes at the seam where one of
 *            them is less than half full, so a run of splices cannot leave a
 *            tree of thin nodes.
 *
 * Loops go by level and are bounded by TREE_HEIGHT_MAX. */

#include "value/array.h"

#include <string.h>

#include "value/node.h"

/* -- Building ------------------------------------------------------------ */

static struct heap *leaf_new(enum value_tag tag,
                             const struct value *items,
                             size_t count,
                             size_t capacity)
{
    struct heap *heap = node_new(tag, 0, capacity);
    memcpy(leaf_node(heap)->at, items, count * sizeof *items);
    heap->width = (uint16_t)count;
    heap->count = (uint32_t)count;
    return heap;
}

static struct heap *inner_new(enum value_tag tag, unsigned height)
{
    CHECK(height < TREE_HEIGHT_MAX);
    return node_new(tag, height, INNER_MAX);
}

static void inner_append(struct heap *heap, struct heap *child)
{
    struct inner_node *inner = inner_node(heap);
    CHECK(heap->width < INNER_MAX);
    inner->child[heap->width] = child;
    inner->below[heap->width] = child->count;
    heap->width++;
    heap->count += child->count;
}

/* Puts the nodes of one level under parents, in place: nodes[0..count) become
 * the returned number of nodes one level up. Spread evenly, so that no parent
 * is thin. */
static size_t build_level(enum value_tag tag, struct heap **nodes, size_t count)
{
    const unsigned height = nodes[0]->height + 1U;
    const size_t parents = (count + INNER_MAX - 1) / INNER_MAX;
    size_t from = 0;
    for (size_t p = 0; p < parents; p++) {
        const size_t to = count * (p + 1) / parents;
        struct heap *parent = inner_new(tag, height);
        while (from < to) {
            inner_append(parent, nodes[from++]);
        }
        nodes[p] = parent;
    }
    return parents;
}

struct heap *tree_build_adopt(enum value_tag tag,
                              const struct value *items,
                              size_t count)
{
    CHECK(count > 0);
    if (count <= LEAF_MAX) {
        return leaf_new(tag, items, count, count);
    }
    const size_t leaves = (count + LEAF_MAX - 1) / LEAF_MAX;
    const size_t size = mem_array_size(leaves, sizeof(struct heap *));
    struct heap **nodes = mem_alloc(size);
    size_t from = 0;
    for (size_t i = 0; i < leaves; i++) {
        size_t to = from + LEAF_MAX < count ? from + LEAF_MAX : count;
        nodes[i] = leaf_new(tag, items + from, to - from, to - from);
        from = to;
    }
    size_t width = leaves;
    while (width > 1) {
        width = build_level(tag, nodes, width);
    }
    struct heap *root = nodes[0];
    mem_free(nodes, size);
    return root;
}

/* -- Reading ------------------------------------------------------------- */

/* The child that holds element *index, which becomes relative to it. */
static unsigned child_of(const struct inner_node *inner, uint32_t *index)
{
    unsigned i = 0;
    while (*index >= inner->below[i]) {
        *index -= inner->below[i++];
    }
    return i;
}

const struct value *tree_chunk(const struct heap *root,
                               uint32_t index,
                               uint32_t *run)
{
    const struct heap *heap = root;
    while (heap->height > 0) {
        const struct inner_node *inner = (const struct inner_node *)heap;
        heap = inner->child[child_of(inner, &index)];
    }
    *run = heap->width - index;
    return &((const struct leaf_node *)heap)->at[index];
}

/* Two leaves: handles that are the same. */
static uint32_t same_in_leaves(const struct heap *a,
                               const struct heap *b,
                               uint32_t in_a,
                               uint32_t in_b)
{
    const struct value *x = &((const struct leaf_node *)a)->at[in_a];
    const struct value *y = &((const struct leaf_node *)b)->at[in_b];
    const uint32_t left_a = a->width - in_a;
    const uint32_t left_b = b->width - in_b;
    const uint32_t left = left_a < left_b ? left_a : left_b;
    uint32_t run = 0;
    while (run < left && value_is_same(x[run], y[run])) {
        run++;
    }
    return run;
}

/* The rest of a child that both have, and the children next to it of which the
 * same is true. */
static uint32_t same_in_inner(const struct inner_node *a,
                              const struct inner_node *b,
                              unsigned child_a,
                              unsigned child_b,
                              uint32_t index)
{
    uint32_t run = a->below[child_a] - index;
    for (child_a++, child_b++;
         child_a < a->heap.width && child_b < b->heap.width &&
         a->child[child_a] == b->child[child_b];
         child_a++, child_b++) {
        run += a->below[child_a];
    }
    return run;
}

/* Goes down both trees at once, towards `index`. Where the two nodes are one
 * and begin at the same element, the rest of that node is shared, and perhaps
 * those behind it. */
uint32_t tree_shared_run(const struct heap *a,
                         const struct heap *b,
                         uint32_t index)
{
    uint32_t in_a = index;
    uint32_t in_b = index;
    if (index >= a->count || index >= b->count) {
        return 0;
    }
    for (;;) {
        if (a == b && in_a == in_b) {
            return a->count - in_a;
        }
        const unsigned height_a = a->height;
        const unsigned height_b = b->height;
        if (height_a == 0 && height_b == 0) {
            return same_in_leaves(a, b, in_a, in_b);
        }
        const struct inner_node *inner_a = (const struct inner_node *)a;
        const struct inner_node *inner_b = (const struct inner_node *)b;
        unsigned child_a = 0;
        unsigned child_b = 0;
        if (height_a >= height_b) {
            child_a = child_of(inner_a, &in_a);
            a = inner_a->child[child_a];
        }
        if (height_b >= height_a) {
            child_b = child_of(inner_b, &in_b);
            b = inner_b->child[child_b];
        }
        if (height_a == height_b && a == b && in_a == in_b) {
            return same_in_inner(inner_a, inner_b, child_a, child_b, in_a);
        }
    }
}

/* -- Changing in place --------------------------------------------------- */

struct value *tree_own_slot(struct heap **root, uint32_t index)
{
    struct heap **slot = root;
    for (;;) {
        struct heap *heap = node_own(slot, 0);
        if (heap->height == 0) {
            return &leaf_node(heap)->at[index];
        }
        struct inner_node *inner = inner_node(heap);
        slot = &inner->child[child_of(inner, &index)];
    }
}

/* The nodes on the way down one side of a tree, each owned by the one above.
 * slot[0] is the root's place. */
struct spine {
    struct heap **slot[TREE_HEIGHT_MAX];
    unsigned depth;
};

/* Owns the path down the right (or left) edge until nodes of `height`. */
static void spine_walk(struct spine *spine,
                       struct heap **root,
                       unsigned height,
                       bool right)
{
    struct heap **slot = root;
    spine->depth = 0;
    for (;;) {
        struct heap *heap = node_own(slot, 0);
        CHECK(spine->depth < TREE_HEIGHT_MAX);
        spine->slot[spine->depth++] = slot;
        if (heap->height <= height) {
            return;
        }
        slot = &inner_node(heap)->child[right ? heap->width - 1 : 0];
    }
}

/* Brings below[] and count of an inner node in line with its children. */
static void recount(struct heap *heap)
{
    struct inner_node *inner = inner_node(heap);
    uint32_t count = 0;
    for (unsigned i = 0; i < heap->width; i++) {
        inner->below[i] = inner->child[i]->count;
        count += inner->below[i];
    }
    heap->count = count;
}

static size_t doubled(size_t capacity, size_t need)
{
    size_t grown = capacity < 4 ? 4 : 2 * capacity;
    if (grown < need) {
        grown = need;
    }
    return grown > LEAF_MAX ? LEAF_MAX : grown;
}

static void insert_child(struct heap *heap, unsigned at, struct heap *child)
{
    struct inner_node *inner = inner_node(heap);
    CHECK(heap->width < INNER_MAX);
    memmove(&inner->child[at + 1],
            &inner->child[at],
            (heap->width - at) * sizeof(struct heap *));
    inner->child[at] = child;
    heap->width++;
}

/* An owned, full inner node becomes two halves; returns the right one. */
static struct heap *split_inner(struct heap *heap)
{
    struct heap *right = inner_new((enum value_tag)heap->tag, heap->height);
    const unsigned keep = heap->width / 2U;
    for (unsigned i = keep; i < heap->width; i++) {
        inner_append(right, inner_node(heap)->child[i]);
    }
    heap->width = (uint16_t)keep;
    recount(heap);
    return right;
}

/* `extra`, if any, becomes the neighbour of the spine's lowest node: after it
 * or before it. Parents that are full split on the way up. Recounts the whole
 * spine, so it is called after every change of the lowest node. */
static void spine_attach(const struct spine *spine,
                         struct heap **root,
                         struct heap *extra,
                         bool right)
{
    bool after = right;
    for (unsigned level = spine->depth - 1; level > 0; level--) {
        struct heap *parent = *spine->slot[level - 1];
        if (extra == NULL) {
            recount(parent);
            continue;
        }
        unsigned at = (right ? parent->width - 1U : 0U) + (after ? 1U : 0U);
        struct heap *sibling = NULL;
        if (parent->width == INNER_MAX) {
            sibling = split_inner(parent);
        }
        struct heap *into = parent;
        if (at > parent->width) {
            CHECK(sibling != NULL);
            at -= parent->width;
            into = sibling;
        }
        insert_child(into, at, extra);
        recount(into);
        recount(parent);
        extra = sibling; /* the right half, whichever edge this is */
        after = true;
    }
    if (extra != NULL) {
        struct heap *old = *root;
        *root = inner_new((enum value_tag)old->tag, old->height + 1U);
        inner_append(*root, after ? old : extra);
        inner_append(*root, after ? extra : old);
    }
}

static void leaf_append(struct heap **slot,
                        const struct value *items,
                        unsigned count)
{
    size_t need = (size_t)(*slot)->width + count;
    if (need > (*slot)->capacity) {
        need = doubled((*slot)->capacity, need);
    }
    struct heap *heap = node_own(slot, need);
    memcpy(&leaf_node(heap)->at[heap->width], items, count * sizeof *items);
    heap->width = (uint16_t)(heap->width + count);
    heap->count = heap->width;
}

void tree_push_adopt(struct heap **root,
                     const struct value *items,
                     unsigned count)
{
    CHECK(count <= LEAF_MAX);
    struct spine spine;
    spine_walk(&spine, root, 0, true);
    struct heap **leaf = spine.slot[spine.depth - 1];
    struct heap *extra = NULL;
    if ((*leaf)->width + count <= LEAF_MAX) {
        leaf_append(leaf, items, count);
    } else {
        extra = leaf_new((enum value_tag)(*root)->tag, items, count, LEAF_MAX);
    }
    spine_attach(&spine, root, extra, true);
}

/* -- Joining ------------------------------------------------------------- */

static void *slots_of(struct heap *heap)
{
    return heap->height == 0 ? (void *)leaf_node(heap)->at
                             : (void *)inner_node(heap)->child;
}

static void set_width(struct heap *heap, size_t width)
{
    heap->width = (uint16_t)width;
    if (heap->height == 0) {
        heap->count = (uint32_t)width;
    } else {
        recount(heap);
    }
}

/* array-3: two neighbours of one height. If they fit into one node, *right
 * becomes NULL; if one is less than half full, they share evenly. */
static void even_out(struct heap **left, struct heap **right)
{
    const unsigned height = (*left)->height;
    const size_t max = height == 0 ? LEAF_MAX : INNER_MAX;
    const size_t slot =
        height == 0 ? sizeof(struct value) : sizeof(struct heap *);
    const size_t from_left = (*left)->width;
    const size_t from_right = (*right)->width;
    const size_t total = from_left + from_right;
    if (total > max && from_left >= max / 2 && from_right >= max / 2) {
        return;
    }
    const size_t keep = total <= max ? total : total / 2;
    struct heap *a = node_own(left, keep);
    struct heap *b = node_own(right, total - keep);

    struct value all[2 * LEAF_MAX]; /* or child pointers, which are smaller */
    memcpy(all, slots_of(a), from_left * slot);
    memcpy((char *)all + from_left * slot, slots_of(b), from_right * slot);
    memcpy(slots_of(a), all, keep * slot);
    memcpy(slots_of(b), (char *)all + keep * slot, (total - keep) * slot);
    set_width(a, keep);
    set_width(b, total - keep);
    if (b->width == 0) {
        node_unref(b);
        *right = NULL;
    }
}

/* Both roots, either of which may be NULL, become one. */
static struct heap *join_adopt(struct heap *left, struct heap *right)
{
    if (left == NULL || right == NULL) {
        return left != NULL ? left : right;
    }
    struct spine spine;
    if (left->height >= right->height) {
        spine_walk(&spine, &left, right->height, true);
        even_out(spine.slot[spine.depth - 1], &right);
        spine_attach(&spine, &left, right, true);
        return left;
    }
    spine_walk(&spine, &right, left->height, false);
    struct heap **first = spine.slot[spine.depth - 1];
    even_out(&left, first);
    if (*first == NULL) {
        *first = left;
        left = NULL;
    }
    spine_attach(&spine, &right, left, false);
    return right;
}

/* -- Splitting ----------------------------------------------------------- */

/* children [from, to) of an owned node as a tree of their own. */
static struct heap *subtree_take(struct heap *heap, unsigned from, unsigned to)
{
    if (from == to) {
        return NULL;
    }
    struct inner_node *inner = inner_node(heap);
    if (to - from == 1) {
        return inner->child[from];
    }
    struct heap *taken = inner_new((enum value_tag)heap->tag, heap->height);
    for (unsigned i = from; i < to; i++) {
        inner_append(taken, inner->child[i]);
    }
    return taken;
}

/* The node's slots now have another owner. */
static void shell_free(struct heap *heap)
{
    heap->width = 0;
    node_unref(heap);
}

static void split_leaf(struct heap *leaf,
                       uint32_t index,
                       struct heap **left,
                       struct heap **right)
{
    const enum value_tag tag = (enum value_tag)leaf->tag;
    const struct value *at = leaf_node(leaf)->at;
    const size_t after = leaf->width - index;
    *left = index > 0 ? leaf_new(tag, at, index, index) : NULL;
    *right = after > 0 ? leaf_new(tag, at + index, after, after) : NULL;
    shell_free(leaf);
}

/* The first `index` elements, and the rest; an empty side is NULL. */
static void split_adopt(struct heap *root,
                        uint32_t index,
                        struct heap **left,
                        struct heap **right)
{
    struct heap *path[TREE_HEIGHT_MAX];
    unsigned place[TREE_HEIGHT_MAX];
    unsigned depth = 0;
    if (root == NULL || index == 0 || index >= root->count) {
        *left = index == 0 ? NULL : root;
        *right = index == 0 ? root : NULL;
        return;
    }
    struct heap **slot = &root;
    while ((*slot)->height > 0) {
        path[depth] = node_own(slot, 0);
        place[depth] = child_of(inner_node(path[depth]), &index);
        slot = &inner_node(path[depth])->child[place[depth]];
        depth++;
    }
    split_leaf(node_own(slot, 0), index, left, right);
    while (depth-- > 0) {
        struct heap *heap = path[depth];
        const unsigned k = place[depth];
        *left = join_adopt(subtree_take(heap, 0, k), *left);
        *right = join_adopt(*right, subtree_take(heap, k + 1, heap->width));
        shell_free(heap);
    }
}

/* Where a splice inside one leaf would happen. */
struct leaf_splice {
    uint32_t anchor; /* an element of the leaf */
    uint32_t local;  /* the splice's index in the leaf */
    size_t width;    /* of the leaf afterwards */
};

/* Whether a splice stays inside one leaf and leaves enough in it: one that it
 * would make thin is cut out and joined with its neighbours instead
 * (array-3). */
static bool fits_in_leaf(const struct heap *root,
                         uint32_t index,
                         uint32_t removed,
                         size_t count,
                         struct leaf_splice *out)
{
    const struct heap *heap = root;
    out->anchor = index < root->count ? index : root->count - 1;
    out->local = out->anchor;
    while (heap->height > 0) {
        const struct inner_node *inner = (const struct inner_node *)heap;
        heap = inner->child[child_of(inner, &out->local)];
    }
    out->local += index - out->anchor;
    if (out->local + removed > heap->width) {
        return false;
    }
    out->width = heap->width - removed + count;
    const size_t least = root->height == 0  ? 1
                         : count >= removed ? heap->width
                                            : LEAF_MAX / 4;
    return out->width >= least && out->width <= LEAF_MAX;
}

static void splice_leaf(struct heap **root,
                        struct leaf_splice splice,
                        uint32_t removed,
                        const struct value *items,
                        size_t count)
{
    struct heap **slot[TREE_HEIGHT_MAX];
    unsigned depth = 0;
    slot[0] = root;
    while ((*slot[depth])->height > 0) {
        struct inner_node *inner = inner_node(node_own(slot[depth], 0));
        const unsigned k = child_of(inner, &splice.anchor);
        slot[++depth] = &inner->child[k];
    }
    struct heap *leaf = node_own(slot[depth], splice.width);
    struct value *at = &leaf_node(leaf)->at[splice.local];
    for (uint32_t i = 0; i < removed; i++) {
        value_unref(at[i]);
    }
    memmove(at + count,
            at + removed,
            (leaf->width - splice.local - removed) * sizeof *at);
    if (count > 0) {
        memcpy(at, items, count * sizeof *items);
    }
    set_width(leaf, splice.width);
    while (depth-- > 0) {
        recount(*slot[depth]);
    }
}

/* -- The public face ----------------------------------------------------- */

static struct value array_of(struct heap *root)
{
    if (root == NULL) {
        return value_empty_array();
    }
    return value_of_heap(root, TAG_ARRAY);
}

static struct heap *root_of(struct value array)
{
    CHECK(value_is_array(array));
    return value_tag(array) == TAG_ARRAY ? value_heap(array) : NULL;
}

struct value array_new_adopt(const struct value *items, size_t count)
{
    CHECK(count < UINT32_MAX);
    return array_of(count > 0 ? tree_build_adopt(TAG_ARRAY, items, count)
                              : NULL);
}

uint32_t array_count(struct value array)
{
    CHECK(value_is_array(array));
    return value_tag(array) == TAG_ARRAY ? value_heap(array)->count : 0;
}

const struct value *array_chunk(struct value array,
                                uint32_t index,
                                uint32_t *run)
{
    if (index >= array_count(array)) {
        *run = 0;
        return NULL;
    }
    return tree_chunk(value_heap(array), index, run);
}

struct value array_at(struct value array, uint32_t index)
{
    uint32_t run = 0;
    const struct value *at = array_chunk(array, index, &run);
    return at != NULL ? *at : VALUE_NONE;
}

uint32_t array_shared_run(struct value a, struct value b, uint32_t index)
{
    if (value_tag(a) != TAG_ARRAY || value_tag(b) != TAG_ARRAY) {
        return 0;
    }
    return tree_shared_run(value_heap(a), value_heap(b), index);
}

struct value *array_own_slot(struct value *array, uint32_t index)
{
    CHECK(index < array_count(*array));
    struct heap *root = value_heap(*array);
    struct value *slot = tree_own_slot(&root, index);
    *array = array_of(root);
    return slot;
}

struct value array_set_adopt(struct value array,
                             uint32_t index,
                             struct value item)
{
    CHECK(!value_is_absent(item));
    struct value *slot = array_own_slot(&array, index);
    struct value old = *slot;
    *slot = item;
    value_unref(old);
    return array;
}

struct value array_push_adopt(struct value array, struct value item)
{
    CHECK(!value_is_absent(item));
    struct heap *root = root_of(array);
    if (root == NULL) {
        return array_new_adopt(&item, 1);
    }
    tree_push_adopt(&root, &item, 1);
    return array_of(root);
}

struct value array_splice_adopt(struct value array,
                                uint32_t index,
                                uint32_t removed,
                                const struct value *items,
                                size_t count)
{
    struct heap *root = root_of(array);
    const uint32_t total = array_count(array);
    CHECK(index <= total);
    CHECK(removed <= total - index);
    CHECK(count < UINT32_MAX - total);

    struct leaf_splice inside;
    if (root != NULL && fits_in_leaf(root, index, removed, count, &inside)) {
        splice_leaf(&root, inside, removed, items, count);
        return array_of(root);
    }
    struct heap *left = NULL;
    struct heap *middle = NULL;
    struct heap *right = NULL;
    split_adopt(root, index, &left, &middle);
    split_adopt(middle, removed, &middle, &right);
    if (middle != NULL) {
        node_unref(middle);
    }
    struct heap *added =
        count > 0 ? tree_build_adopt(TAG_ARRAY, items, count) : NULL;
    struct value spliced = array_of(join_adopt(join_adopt(left, added), right));
    CHECK_DEEP(value_check(spliced));
    return spliced;
}

/* -- Checking ------------------------------------------------------------ */

/* array-1 and array-2, depth first by an explicit path. */
bool tree_check(const struct heap *root)
{
    const struct heap *path[TREE_HEIGHT_MAX + 1];
    unsigned place[TREE_HEIGHT_MAX + 1] = {0};
    unsigned depth = 0;
    path[0] = root;
    for (;;) {
        const struct heap *heap = path[depth];
        if (heap->tag != root->tag || heap->width == 0 || heap->refs == 0 ||
            heap->height + depth != root->height) {
            return false;
        }
        if (heap->height == 0 && heap->width != heap->count) {
            return false;
        }
        if (heap->height > 0 && place[depth] < heap->width) {
            const struct inner_node *inner = (const struct inner_node *)heap;
            const unsigned k = place[depth]++;
            if (inner->below[k] != inner->child[k]->count) {
                return false;
            }
            path[++depth] = inner->child[k];
            place[depth] = 0;
            continue;
        }
        uint64_t sum = 0;
        for (unsigned i = 0; heap->height > 0 && i < heap->width; i++) {
            sum += ((const struct inner_node *)heap)->below[i];
        }
        if (heap->height > 0 && sum != heap->count) {
            return false;
        }
        if (depth == 0) {
            return true;
        }
        depth--;
    }
}
