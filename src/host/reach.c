/* The reach of selectors: nodes, edges and levels, and their updates. */

#include "host/reach.h"

#include "base/mem.h"
#include "value/compare.h"
#include "value/object.h"

#define LEVEL_NONE UINT32_MAX /* not reached */

struct reach_edge {
    struct list_node in_from;
    struct list_node in_to;
    struct reach_node *from;
    struct reach_node *to;
    uint64_t search; /* the last one that found it */
};

struct reach_node {
    struct bucket_item in_queue;
    struct list_node in_document;
    struct list_node in_lost;
    struct list_node in_cover;
    struct reach_document *document;
    struct path *path;
    struct value schema;
    uint32_t level;            /* reach-3, or LEVEL_NONE */
    uint32_t selectors;        /* with this place */
    struct reach_edge *parent; /* reach-2 */
    struct list out;
    struct list in;
    struct reach_node *cover; /* reach-4 */
    struct list covered;
    uint64_t epoch; /* of the document when it was searched; 0: never */
    struct reach_edge *found; /* during a search: the edge to here */
};

/* -- Documents ----------------------------------------------------------- */

static uint64_t hash_target(const struct target *target)
{
    return value_hash(target->id) + (uint64_t)target->scope;
}

static bool is_document(const void *item, const void *key)
{
    const struct reach_document *document = item;
    const struct target *target = key;
    return document->target.scope == target->scope &&
           key_equal(document->target.id, target->id);
}

static struct reach_document *find_document(const struct reach *reach,
                                            const struct target *target)
{
    return map_find(&reach->documents,
                    hash_target(target),
                    is_document,
                    target);
}

static struct reach_document *take_document(struct reach *reach,
                                            const struct target *target)
{
    const uint64_t hash = hash_target(target);
    struct map_slot *slot =
        map_seek(&reach->documents, hash, is_document, target);
    if (slot->item == NULL) {
        struct reach_document *document = mem_alloc_zero(sizeof *document);
        document->target =
            (struct target){value_ref(target->id), target->scope};
        document->epoch = 1;
        list_init(&document->nodes);
        list_node_init(&document->in_touched);
        map_fill(&reach->documents, slot, hash, document);
    }
    return slot->item;
}

/* Nothing refers to it. */
static void free_document(struct reach *reach, struct reach_document *document)
{
    (void)map_remove(&reach->documents,
                     hash_target(&document->target),
                     is_document,
                     &document->target);
    list_remove(&document->in_touched);
    value_unref(document->target.id);
    mem_free(document, sizeof *document);
}

static void touch(struct reach *reach, struct reach_document *document)
{
    if (!list_node_is_linked(&document->in_touched)) {
        list_push_back(&reach->touched, &document->in_touched);
    }
}

static enum err read_document(struct reach *reach,
                              struct reach_document *document,
                              struct err_detail *detail)
{
    if (document->is_read) {
        return ERR_OK;
    }
    const enum err err = reach->read(reach->read_ctx,
                                     &document->target,
                                     &document->value,
                                     &document->seq,
                                     detail);
    if (err == ERR_OK) {
        document->is_read = true;
        vec_push(&reach->values, document);
        reach->counters.reads++;
    }
    return err;
}

static void forget_values(struct reach *reach)
{
    VEC_FOREACH (&reach->values, document) {
        value_unref((*document)->value);
        (*document)->value = VALUE_NONE;
        (*document)->is_read = false;
    }
    vec_clear(&reach->values);
}

/* -- Nodes --------------------------------------------------------------- */

struct node_key {
    const struct reach_document *document;
    const struct path *path;
    struct value schema;
};

static uint64_t hash_node(const struct node_key *key)
{
    return (uint64_t)(uintptr_t)key->document ^
           (uint64_t)(uintptr_t)key->path << 7 ^ value_hash(key->schema) << 3;
}

static bool is_node(const void *item, const void *key)
{
    const struct reach_node *node = item;
    const struct node_key *want = key;
    return node->document == want->document && node->path == want->path &&
           value_equal(node->schema, want->schema);
}

static bool is_live(const struct reach_node *node)
{
    return node->level != LEVEL_NONE;
}

static bool follows_whole(const struct reach_node *node)
{
    return value_is_same(node->schema, value_bool(true));
}

/* A live node that follows the document whole from a place above, or NULL. */
static struct reach_node *find_cover(const struct reach *reach,
                                     const struct reach_node *node)
{
    if (reach->depth != REACH_ANY_DEPTH || node->document->whole == 0) {
        return NULL;
    }
    for (uint32_t length = 0; length <= node->path->length; length++) {
        struct path *path = path_prefix(node->path, length);
        const struct node_key key = {node->document, path, value_bool(true)};
        struct reach_node *cover =
            map_find(&reach->nodes, hash_node(&key), is_node, &key);
        path_unref(path);
        if (cover != NULL && cover != node && is_live(cover)) {
            return cover;
        }
    }
    return NULL;
}

static struct reach_node *new_node(const struct node_key *key,
                                   struct reach_document *document,
                                   struct path *path)
{
    struct reach_node *node = mem_alloc_zero(sizeof *node);
    list_node_init(&node->in_document);
    list_node_init(&node->in_lost);
    list_node_init(&node->in_cover);
    node->document = document;
    node->path = path_ref(path);
    node->schema = value_ref(key->schema);
    node->level = LEVEL_NONE;
    list_init(&node->out);
    list_init(&node->in);
    list_init(&node->covered);
    list_push_back(&document->nodes, &node->in_document);
    return node;
}

static struct reach_node *take_node(struct reach *reach,
                                    const struct reach_place *place)
{
    struct reach_document *document = take_document(reach, &place->target);
    const struct node_key key = {document, place->path, place->schema};
    const uint64_t hash = hash_node(&key);
    struct map_slot *slot = map_seek(&reach->nodes, hash, is_node, &key);
    struct reach_node *node = slot->item;
    if (node == NULL) {
        node = new_node(&key, document, place->path);
        map_fill(&reach->nodes, slot, hash, node);
        node->cover = find_cover(reach, node);
        if (node->cover != NULL) {
            list_push_back(&node->cover->covered, &node->in_cover);
        }
    }
    return node;
}

static void free_edge(struct reach_edge *edge)
{
    list_remove(&edge->in_from);
    list_remove(&edge->in_to);
    mem_free(edge, sizeof *edge);
}

/* It is not live, nor is any node that leads to it. */
static void free_node(struct reach *reach, struct reach_node *node)
{
    const struct node_key key = {node->document, node->path, node->schema};
    (void)map_remove(&reach->nodes, hash_node(&key), is_node, &key);
    LIST_FOREACH (&node->out, out) {
        free_edge(CONTAINER_OF(out, struct reach_edge, in_from));
    }
    LIST_FOREACH (&node->in, in) {
        free_edge(CONTAINER_OF(in, struct reach_edge, in_to));
    }
    list_remove(&node->in_document);
    list_remove(&node->in_lost);
    list_remove(&node->in_cover);
    path_unref(node->path);
    value_unref(node->schema);
    mem_free(node, sizeof *node);
}

/* -- Levels -------------------------------------------------------------- */

static uint32_t level_by(const struct reach *reach,
                         const struct reach_edge *edge)
{
    const bool further = reach->depth != REACH_ANY_DEPTH &&
                         edge->from->document != edge->to->document;
    return edge->from->level + (further ? 1U : 0U);
}

static void enqueue(struct reach *reach, struct reach_node *node)
{
    if (!bucket_item_is_queued(&node->in_queue)) {
        bucket_queue_push(&reach->queue, &node->in_queue, node->level);
    } else if (bucket_item_key(&node->in_queue) != node->level) {
        bucket_queue_remove(&reach->queue, &node->in_queue);
        bucket_queue_push(&reach->queue, &node->in_queue, node->level);
    }
}

/* Reached at this level, which is lower than before, by this edge; NULL: as a
 * selector. */
static void attach(struct reach *reach,
                   struct reach_node *node,
                   uint32_t level,
                   struct reach_edge *edge)
{
    struct reach_document *document = node->document;
    if (!is_live(node)) {
        if (document->live++ == 0) {
            reach->live++;
            touch(reach, document);
        }
        document->whole += follows_whole(node) ? 1U : 0U;
    }
    node->level = level;
    node->parent = edge;
    enqueue(reach, node);
}

static void lose(struct reach *reach, struct reach_node *node)
{
    struct reach_document *document = node->document;
    if (--document->live == 0) {
        reach->live--;
        touch(reach, document);
    }
    document->whole -= follows_whole(node) ? 1U : 0U;
    node->level = LEVEL_NONE;
    node->parent = NULL;
    if (bucket_item_is_queued(&node->in_queue)) {
        bucket_queue_remove(&reach->queue, &node->in_queue);
    }
    if (!list_node_is_linked(&node->in_lost)) {
        list_push_back(&reach->lost, &node->in_lost);
    }
}

/* The best way to a node from what is still reached, if there is one. */
static void reattach(struct reach *reach, struct reach_node *node)
{
    uint32_t best = LEVEL_NONE;
    struct reach_edge *by = NULL;
    if (node->selectors > 0) {
        best = 0;
    }
    LIST_FOREACH (&node->in, item) {
        struct reach_edge *edge = CONTAINER_OF(item, struct reach_edge, in_to);
        if (best == 0) {
            break;
        }
        if (is_live(edge->from) && level_by(reach, edge) < best) {
            best = level_by(reach, edge);
            by = edge;
        }
    }
    if (best != LEVEL_NONE && best <= reach->depth) {
        attach(reach, node, best, by);
    }
}

/* The node has lost its parent edge: so has everything below it in the tree,
 * until it turns out that there is another way (reach-2). */
static void detach(struct reach *reach, struct reach_node *node)
{
    VEC(struct reach_node *) below = {0};
    vec_push(&below, node);
    lose(reach, node);
    for (size_t i = 0; i < below.count; i++) {
        LIST_FOREACH (&below.at[i]->out, item) {
            const struct reach_edge *edge =
                CONTAINER_OF(item, struct reach_edge, in_from);
            if (edge->to->parent == edge) {
                lose(reach, edge->to);
                vec_push(&below, edge->to);
            }
        }
    }
    VEC_FOREACH (&below, lost) {
        if (!is_live(*lost)) {
            reattach(reach, *lost);
        }
    }
    vec_release(&below);
}

static void remove_edge(struct reach *reach, struct reach_edge *edge)
{
    struct reach_node *to = edge->to;
    const bool was_parent = to->parent == edge;
    free_edge(edge);
    if (was_parent) {
        detach(reach, to);
    }
}

/* -- Searching ----------------------------------------------------------- */

/* A place that the searched node leads to. */
static void on_link(void *ctx, const struct reach_place *place)
{
    struct reach *reach = ctx;
    struct reach_node *from = reach->searched;
    struct reach_node *to = take_node(reach, place);
    if (to == from) {
        return;
    }
    if (to->found == NULL) {
        struct reach_edge *edge = mem_alloc_zero(sizeof *edge);
        list_node_init(&edge->in_from);
        list_node_init(&edge->in_to);
        edge->from = from;
        edge->to = to;
        list_push_back(&from->out, &edge->in_from);
        list_push_back(&to->in, &edge->in_to);
        to->found = edge;
    }
    to->found->search = reach->search;
}

/* Replaces the edges of the node by what its document leads to now. */
static enum err search(struct reach *reach,
                       struct reach_node *node,
                       struct err_detail *detail)
{
    const enum err err = read_document(reach, node->document, detail);
    if (err != ERR_OK) {
        return err;
    }
    LIST_FOREACH (&node->out, item) {
        struct reach_edge *edge =
            CONTAINER_OF(item, struct reach_edge, in_from);
        edge->to->found = edge;
    }
    reach->search++;
    reach->searched = node;
    reach->counters.searches++;
    const struct reach_place from = {
        node->document->target,
        node->path,
        node->schema,
    };
    reach_links_find(&reach->links, &from, node->document->value);
    LIST_FOREACH (&node->out, item) {
        CONTAINER_OF(item, struct reach_edge, in_from)->to->found = NULL;
    }
    LIST_FOREACH (&node->out, item) {
        struct reach_edge *edge =
            CONTAINER_OF(item, struct reach_edge, in_from);
        if (edge->search != reach->search) {
            remove_edge(reach, edge);
        }
    }
    node->epoch = node->document->epoch;
    return ERR_OK;
}

/* A node at the depth leads no further. */
static void close_node(struct reach *reach, struct reach_node *node)
{
    LIST_FOREACH (&node->out, item) {
        remove_edge(reach, CONTAINER_OF(item, struct reach_edge, in_from));
    }
    node->epoch = 0;
}

static bool must_search(const struct reach *reach,
                        const struct reach_node *node)
{
    return node->cover == NULL && node->level < reach->depth &&
           !value_is_same(node->schema, value_bool(false)) &&
           node->epoch != node->document->epoch;
}

static void relax(struct reach *reach, const struct reach_node *node)
{
    LIST_FOREACH (&node->out, item) {
        struct reach_edge *edge =
            CONTAINER_OF(item, struct reach_edge, in_from);
        const uint32_t level = level_by(reach, edge);
        if (level < edge->to->level && level <= reach->depth) {
            attach(reach, edge->to, level, edge);
        }
    }
}

static enum err check_size(const struct reach *reach,
                           size_t most,
                           struct err_detail *detail)
{
    if (reach->live > most) {
        return err_set(detail,
                       ERR_LIMIT_REACH,
                       "the selector reaches more than %zu documents; use a "
                       "narrower schema, a smaller depth, or a larger count",
                       reach->most);
    }
    if (reach->nodes.count > reach->most_places) {
        return err_set(detail,
                       ERR_LIMIT_REACH,
                       "links lead the selector to more than %zu places; use "
                       "a narrower schema or a smaller depth",
                       reach->most_places);
    }
    return ERR_OK;
}

/* Looks at all nodes in the queue, those of the lowest level first. */
static enum err walk(struct reach *reach,
                     size_t most,
                     struct err_detail *detail)
{
    struct bucket_item *item;
    while ((item = bucket_queue_pop(&reach->queue)) != NULL) {
        struct reach_node *node =
            CONTAINER_OF(item, struct reach_node, in_queue);
        enum err err = check_size(reach, most, detail);
        if (err == ERR_OK && must_search(reach, node)) {
            err = search(reach, node, detail);
        }
        if (err != ERR_OK) {
            enqueue(reach, node);
            return err;
        }
        if (node->level == reach->depth) {
            close_node(reach, node);
        }
        relax(reach, node);
    }
    return ERR_OK;
}

/* -- Updates ------------------------------------------------------------- */

/* The nodes that a lost one covered need edges of their own (reach-4). */
static void uncover(struct reach *reach)
{
    LIST_FOREACH (&reach->lost, item) {
        struct reach_node *lost =
            CONTAINER_OF(item, struct reach_node, in_lost);
        if (is_live(lost)) {
            continue;
        }
        LIST_FOREACH (&lost->covered, entry) {
            struct reach_node *node =
                CONTAINER_OF(entry, struct reach_node, in_cover);
            list_remove(&node->in_cover);
            node->cover = NULL;
            if (is_live(node)) {
                enqueue(reach, node);
            }
        }
    }
}

static void free_if_unused(struct reach *reach, struct reach_document *document)
{
    if (list_is_empty(&document->nodes) && !document->held &&
        !document->is_read) {
        free_document(reach, document);
    }
}

static void free_lost(struct reach *reach)
{
    LIST_FOREACH (&reach->lost, item) {
        struct reach_node *node =
            CONTAINER_OF(item, struct reach_node, in_lost);
        list_remove(&node->in_lost);
        if (!is_live(node)) {
            struct reach_document *document = node->document;
            free_node(reach, node);
            free_if_unused(reach, document);
        }
    }
}

/* reach-6: the owner does not follow these documents yet. */
static void read_again(struct reach *reach)
{
    forget_values(reach);
    LIST_FOREACH (&reach->touched, item) {
        struct reach_document *document =
            CONTAINER_OF(item, struct reach_document, in_touched);
        if (!document->held) {
            reach_changed(reach, &document->target);
            free_if_unused(reach, document);
        }
    }
}

/* What is new is for its owner. */
static enum err read_new(struct reach *reach, struct err_detail *detail)
{
    enum err err = ERR_OK;
    LIST_FOREACH (&reach->touched, item) {
        struct reach_document *document =
            CONTAINER_OF(item, struct reach_document, in_touched);
        if (err == ERR_OK && document->live > 0 && !document->held) {
            err = read_document(reach, document, detail);
        }
    }
    return err;
}

static enum err settle(struct reach *reach,
                       size_t most,
                       struct err_detail *detail)
{
    enum err err;
    do {
        err = walk(reach, most, detail);
        if (err == ERR_OK) {
            uncover(reach);
        }
    } while (err == ERR_OK && !bucket_queue_is_empty(&reach->queue));
    if (err == ERR_OK) {
        err = read_new(reach, detail);
    }
    if (err == ERR_OK) {
        free_lost(reach);
    } else {
        read_again(reach);
    }
    return err;
}

enum err reach_update(struct reach *reach, struct err_detail *detail)
{
    /* While documents come and go there can be more of them than afterwards. */
    const enum err err = settle(reach, 2 * reach->most, detail);
    return err == ERR_OK ? check_size(reach, reach->most, detail) : err;
}

/* Nodes that wait to be searched keep waiting. */
void reach_cancel(struct reach *reach, struct reach_node *root)
{
    VEC(struct reach_node *) waiting = {0};
    read_again(reach);
    reach_remove(reach, root);
    struct bucket_item *item;
    while ((item = bucket_queue_pop(&reach->queue)) != NULL) {
        struct reach_node *node =
            CONTAINER_OF(item, struct reach_node, in_queue);
        vec_push(&waiting, node);
        relax(reach, node);
    }
    uncover(reach);
    VEC_FOREACH (&waiting, node) {
        if (is_live(*node)) {
            enqueue(reach, *node);
        }
    }
    free_lost(reach);
    vec_release(&waiting);
}

enum err reach_add(struct reach *reach,
                   const struct reach_place *root,
                   struct reach_node **out,
                   struct err_detail *detail)
{
    const struct reach_place place = {
        root->target,
        root->path,
        reach_schema(root->schema),
    };
    struct reach_node *node = take_node(reach, &place);
    node->selectors++;
    if (node->selectors == 1 && (!is_live(node) || node->level > 0)) {
        attach(reach, node, 0, NULL);
    }
    const enum err err = settle(reach, reach->most, detail);
    if (err == ERR_OK) {
        *out = node;
        return ERR_OK;
    }
    *out = NULL;
    reach_cancel(reach, node);
    return err;
}

void reach_remove(struct reach *reach, struct reach_node *root)
{
    CHECK(root->selectors > 0);
    root->selectors--;
    if (root->selectors == 0 && root->parent == NULL && is_live(root)) {
        detach(reach, root);
    }
}

void reach_changed(struct reach *reach, const struct target *target)
{
    struct reach_document *document = find_document(reach, target);
    if (document == NULL) {
        return;
    }
    document->epoch++;
    LIST_FOREACH (&document->nodes, item) {
        struct reach_node *node =
            CONTAINER_OF(item, struct reach_node, in_document);
        if (is_live(node)) {
            enqueue(reach, node);
        }
    }
}

bool reach_is_pending(const struct reach *reach)
{
    return !bucket_queue_is_empty(&reach->queue) ||
           !list_is_empty(&reach->lost) || !list_is_empty(&reach->touched);
}

bool reach_is_settled(const struct reach *reach)
{
    return bucket_queue_is_empty(&reach->queue) && list_is_empty(&reach->lost);
}

bool reach_holds(const struct reach *reach, const struct target *target)
{
    const struct reach_document *document = find_document(reach, target);
    return document != NULL && document->held;
}

void reach_take(struct reach *reach, reach_take_fn *take, void *ctx)
{
    CHECK(reach_is_settled(reach));
    LIST_FOREACH (&reach->touched, item) {
        struct reach_document *document =
            CONTAINER_OF(item, struct reach_document, in_touched);
        const bool reached = document->live > 0;
        if (reached != document->held) {
            document->held = reached;
            take(ctx, document, reached);
        }
    }
    forget_values(reach);
    LIST_FOREACH (&reach->touched, item) {
        struct reach_document *document =
            CONTAINER_OF(item, struct reach_document, in_touched);
        list_remove(&document->in_touched);
        free_if_unused(reach, document);
    }
}

/* -- Life ---------------------------------------------------------------- */

void reach_init(struct reach *reach,
                struct path_table *paths,
                struct value space,
                uint32_t depth,
                size_t most)
{
    const struct path_segment segment = path_segment(value_text_new("value"));
    *reach = (struct reach){
        .links =
            {
                .paths = paths,
                .payload = path_new(paths, &segment, 1),
                .space = value_ref(space),
                .found = on_link,
                .ctx = reach,
            },
        .depth = depth,
        .most = most,
        .most_places = LIMIT_REACH_PLACES,
    };
    list_init(&reach->lost);
    list_init(&reach->touched);
}

void reach_release(struct reach *reach)
{
    forget_values(reach);
    while (bucket_queue_pop(&reach->queue) != NULL) {
    }
    MAP_FOREACH (&reach->nodes, slot) {
        struct reach_node *node = slot->item;
        list_remove(&node->in_lost);
        list_remove(&node->in_cover);
        list_remove(&node->in_document);
        LIST_FOREACH (&node->out, item) {
            free_edge(CONTAINER_OF(item, struct reach_edge, in_from));
        }
    }
    MAP_FOREACH (&reach->nodes, slot) {
        struct reach_node *node = slot->item;
        path_unref(node->path);
        value_unref(node->schema);
        mem_free(node, sizeof *node);
    }
    MAP_FOREACH (&reach->documents, slot) {
        struct reach_document *document = slot->item;
        value_unref(document->target.id);
        mem_free(document, sizeof *document);
    }
    map_release(&reach->nodes);
    map_release(&reach->documents);
    bucket_queue_release(&reach->queue);
    vec_release(&reach->values);
    path_unref(reach->links.payload);
    value_unref(reach->links.space);
    *reach = (struct reach){0};
}

/* -- Checks -------------------------------------------------------------- */

/* reach-2 and reach-3: a live node is a selector, or its parent leads to it,
 * at the lowest level that any edge gives it. */
static bool check_level(const struct reach *reach,
                        const struct reach_node *node)
{
    if (!is_live(node) || node->level > reach->depth) {
        return false;
    }
    if (node->parent == NULL) {
        return node->selectors > 0 && node->level == 0;
    }
    if (node->parent->to != node || !is_live(node->parent->from) ||
        level_by(reach, node->parent) != node->level) {
        return false;
    }
    LIST_FOREACH (&node->in, item) {
        const struct reach_edge *edge =
            CONTAINER_OF(item, struct reach_edge, in_to);
        if (!is_live(edge->from) || level_by(reach, edge) < node->level) {
            return false;
        }
    }
    return true;
}

/* The parents lead to a selector. */
static bool check_tree(const struct reach *reach, const struct reach_node *node)
{
    size_t steps = 0;
    for (; node->parent != NULL; node = node->parent->from) {
        if (steps++ > reach->nodes.count) {
            return false;
        }
    }
    return node->selectors > 0;
}

bool reach_check(const struct reach *reach)
{
    size_t live = 0;
    MAP_FOREACH (&reach->documents, slot) {
        const struct reach_document *document = slot->item;
        live += document->live > 0 ? 1 : 0;
    }
    bool good = live == reach->live && map_check(&reach->documents) &&
                map_check(&reach->nodes);
    MAP_FOREACH (&reach->nodes, slot) {
        const struct reach_node *node = slot->item;
        const bool covered = node->cover != NULL;
        good =
            good && check_level(reach, node) && check_tree(reach, node) &&
            (!covered || (is_live(node->cover) && list_is_empty(&node->out)));
    }
    return good;
}
