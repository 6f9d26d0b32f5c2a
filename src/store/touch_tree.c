/* Trees of touched paths, and the cache of them. */

#include "store/touch_tree.h"

#include "base/arena.h"
#include "base/mem.h"
#include "store/commit_record.h"
#include "store/documents.h"
#include "value/compare.h"
#include "value/object.h"

struct touch_node {
    const struct touch_node *parent; /* NULL: the root */
    struct value key;                /* owned; absent at the root */
    uint64_t hash;
    bool value; /* the value here was touched */
    bool keys;  /* the keys of the container here were */
    bool below; /* a value here or below was touched */
};

struct touches {
    uint64_t document; /* the number of its row */
    uint64_t seq;
    uint64_t op_index;
    struct arena memory; /* of the nodes */
    struct touch_node root;
    struct map nodes; /* all others, by parent and key */
    VEC(struct touch_tree_carrier) carriers;
};

struct touch_tree_cache {
    struct map at; /* struct touches */
    size_t nodes;  /* in all of them */
};

/* -- The tree ------------------------------------------------------------ */

struct node_key {
    const struct touch_node *parent;
    struct value key;
};

static bool is_node(const void *item, const void *key)
{
    const struct touch_node *node = item;
    const struct node_key *wanted = key;
    return node->parent == wanted->parent && key_equal(node->key, wanted->key);
}

static uint64_t hash_node(const struct node_key *key)
{
    const uint64_t hash = (key->parent->hash ^ value_hash(key->key)) *
                          UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 32);
}

static struct touch_node *add_node(struct touches *touches,
                                   const struct touch_node *parent,
                                   struct value segment)
{
    const struct node_key key = {parent, segment};
    const uint64_t hash = hash_node(&key);
    struct map_slot *slot = map_seek(&touches->nodes, hash, is_node, &key);
    if (slot->item == NULL) {
        struct touch_node *node = arena_alloc(&touches->memory, sizeof *node);
        *node = (struct touch_node){
            .parent = parent,
            .key = value_ref(segment),
            .hash = hash,
        };
        map_fill(&touches->nodes, slot, hash, node);
    }
    return slot->item;
}

static void add_touch(struct touches *touches, const struct patch_touch *touch)
{
    const bool value = touch->kind == PATCH_TOUCH_VALUE;
    struct touch_node *node = &touches->root;
    node->below = node->below || value;
    for (size_t i = 0; i < touch->path->length; i++) {
        node = add_node(touches, node, touch->path->at[i].key);
        node->below = node->below || value;
    }
    node->value = node->value || value;
    node->keys = node->keys || !value;
}

/* The node of the first `length` segments of a path, or NULL. *covered: a value
 * at or above it was touched, which ends the search. */
static const struct touch_node *find_node(const struct touches *touches,
                                          const struct path *path,
                                          size_t length,
                                          bool *covered)
{
    const struct touch_node *node = &touches->root;
    *covered = node->value;
    for (size_t i = 0; node != NULL && !*covered && i < length; i++) {
        const struct node_key key = {node, path->at[i].key};
        node = map_find(&touches->nodes, hash_node(&key), is_node, &key);
        *covered = node != NULL && node->value;
    }
    return node;
}

/* Whether a value was touched at or below an entry of the range. */
static bool range_is_touched(const struct touches *touches,
                             const struct touch_node *object,
                             const struct key_range *range)
{
    MAP_FOREACH (&touches->nodes, slot) {
        const struct touch_node *node = slot->item;
        if (node->parent == object && node->below &&
            key_range_has(range, node->key)) {
            return true;
        }
    }
    return false;
}

bool touch_tree_overlap(const struct touches *touches, const struct path *path)
{
    struct key_range range;
    const bool ranged =
        path->length > 0 &&
        key_range_of_key(&path->at[path->length - 1].key, &range);
    bool covered;
    const struct touch_node *node =
        find_node(touches, path, path->length - ranged, &covered);
    if (covered || node == NULL) {
        return covered;
    }
    return ranged ? range_is_touched(touches, node, &range) : node->below;
}

bool touch_tree_cover(const struct touches *touches, const struct path *path)
{
    bool covered;
    (void)find_node(touches, path, path->length, &covered);
    return covered;
}

bool touch_tree_keys(const struct touches *touches, const struct path *path)
{
    const struct touch_node *node = &touches->root;
    for (size_t i = 0; node != NULL && i < path->length; i++) {
        const struct node_key key = {node, path->at[i].key};
        node = map_find(&touches->nodes, hash_node(&key), is_node, &key);
    }
    return node != NULL && node->keys;
}

/* -- From a patch -------------------------------------------------------- */

static bool op_carries(const struct patch_op *op,
                       const struct patch_trace *trace)
{
    const bool shifts = op->kind == PATCH_ADD || op->kind == PATCH_REMOVE;
    return op->kind == PATCH_MOVE || op->kind == PATCH_SPLICE ||
           op->kind == PATCH_REMOVE_BY_VALUE || op->kind == PATCH_ADD_UNIQUE ||
           (shifts && trace->path_in_array);
}

static void add_op(struct touches *touches,
                   const struct patch_op *op,
                   const struct patch_trace *trace)
{
    struct patch_touch at[PATCH_TOUCH_MAX];
    const size_t count = patch_touches(op, trace, at);
    struct touch_tree_carrier carrier = {.append = op->kind == PATCH_APPEND};
    const bool carries = op_carries(op, trace);
    for (size_t i = 0; i < count; i++) {
        add_touch(touches, &at[i]);
        if (carries && at[i].kind == PATCH_TOUCH_VALUE) {
            carrier.paths[carrier.count++] = path_ref(at[i].path);
        }
        path_unref(at[i].path);
    }
    if (carrier.append) {
        carrier.paths[carrier.count++] = path_ref(op->path);
    }
    if (carrier.count > 0) {
        vec_push(&touches->carriers, carrier);
    }
}

const struct touch_tree_carrier *touch_tree_carriers(
    const struct touches *touches,
    size_t *count)
{
    *count = touches->carriers.count;
    return touches->carriers.at;
}

static enum err add_patch(struct touches *touches,
                          struct engine *engine,
                          struct value list,
                          struct text trace,
                          struct err_detail *detail)
{
    struct patch patch = {0};
    trace_list traces = {0};
    struct err_detail why = {0};
    enum err err = patch_read(list, &engine->paths, &patch, &why);
    err = err != ERR_OK
              ? err_set(detail, ERR_CORRUPT, "a patch: %s", why.text)
              : traces_decode(trace, patch.ops.count, &traces, detail);
    for (size_t i = 0; err == ERR_OK && i < patch.ops.count; i++) {
        add_op(touches, &patch.ops.at[i], &traces.at[i]);
    }
    patch_release(&patch);
    vec_release(&traces);
    return err;
}

static void touch_tree_free(struct touches *touches)
{
    MAP_FOREACH (&touches->nodes, slot) {
        const struct touch_node *node = slot->item;
        value_unref(node->key);
    }
    map_release(&touches->nodes);
    arena_release(&touches->memory);
    VEC_FOREACH (&touches->carriers, carrier) {
        for (size_t i = 0; i < carrier->count; i++) {
            path_unref(carrier->paths[i]);
        }
    }
    vec_release(&touches->carriers);
    mem_free(touches, sizeof *touches);
}

static enum err touch_tree_read(struct engine *engine,
                                const struct document *document,
                                uint64_t seq,
                                uint64_t op_index,
                                struct touches **out,
                                struct err_detail *detail)
{
    struct value list = VALUE_NONE;
    struct touches *touches = mem_alloc_zero(sizeof *touches);
    touches->document = document->number;
    touches->seq = seq;
    touches->op_index = op_index;
    struct query query = query_begin(&engine->database, STATEMENT_REVISION_GET);
    query_int(&query, 1, document->number);
    query_int(&query, 2, seq);
    query_int(&query, 3, op_index);
    enum err err = err_set(detail, ERR_CORRUPT, "a revision is missing");
    if (query_step(&query)) {
        err = document_decode(engine,
                              document,
                              query_get_text(&query, 3),
                              &list,
                              detail);
        if (err == ERR_OK) {
            err = add_patch(touches,
                            engine,
                            list,
                            query_get_text(&query, 4),
                            detail);
        }
        value_unref(list);
    }
    const enum err ended = query_end(&query, detail);
    err = err != ERR_OK ? err : ended;
    if (err != ERR_OK) {
        touch_tree_free(touches);
        touches = NULL;
    }
    *out = touches;
    return err;
}

/* -- The cache ----------------------------------------------------------- */

struct touch_tree_key {
    uint64_t document;
    uint64_t seq;
    uint64_t op_index;
};

static bool is_touches(const void *item, const void *key)
{
    const struct touches *touches = item;
    const struct touch_tree_key *wanted = key;
    return touches->document == wanted->document &&
           touches->seq == wanted->seq && touches->op_index == wanted->op_index;
}

static uint64_t hash_touches(const struct touch_tree_key *key)
{
    return (key->document * 31 + key->seq) * 7 + key->op_index;
}

static void clear(struct touch_tree_cache *cache)
{
    MAP_FOREACH (&cache->at, slot) {
        touch_tree_free(slot->item);
    }
    map_clear(&cache->at);
    cache->nodes = 0;
}

enum err touch_tree_find(struct engine *engine,
                         const struct document *document,
                         uint64_t seq,
                         uint64_t op_index,
                         const struct touches **out,
                         struct err_detail *detail)
{
    if (engine->touches == NULL) {
        engine->touches = mem_alloc_zero(sizeof *engine->touches);
    }
    struct touch_tree_cache *cache = engine->touches;
    const struct touch_tree_key key = {document->number, seq, op_index};
    const uint64_t hash = hash_touches(&key);
    struct touches *touches = map_find(&cache->at, hash, is_touches, &key);
    enum err err = ERR_OK;
    if (touches == NULL) {
        err =
            touch_tree_read(engine, document, seq, op_index, &touches, detail);
        if (err == ERR_OK) {
            const size_t nodes = 1 + touches->nodes.count;
            if (cache->nodes + nodes > TOUCH_TREE_KEPT) { /* touches-2 */
                clear(cache);
            }
            cache->nodes += nodes;
            map_insert(&cache->at, hash, touches);
        }
    }
    *out = touches;
    return err;
}

void touch_tree_forget(struct engine *engine)
{
    if (engine->touches != NULL) {
        clear(engine->touches);
        map_release(&engine->touches->at);
        mem_free(engine->touches, sizeof *engine->touches);
        engine->touches = NULL;
    }
}
