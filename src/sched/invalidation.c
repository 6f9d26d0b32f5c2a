/* From a change to the causes of nodes. */

#include "sched/invalidation.h"

#include "base/mem.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/introspection.h"
#include "sched/queue.h"
#include "value/compare.h"
#include "value/difference.h"
#include "value/object.h"

#define READ_OF(chain_link) \
    CONTAINER_OF((chain_link), struct read_link, in_place)
#define PLACE_OF(chain_link) CONTAINER_OF((chain_link), struct place, sibling)

struct match {
    struct sched *sched;
    const struct notification *what;
    const struct change *change;
};

/* -- One node ------------------------------------------------------------ */

static void add_cause(struct node *node, struct place *place, uint64_t version)
{
    if (UNLIKELY(node->causes.capacity == 0)) { /* one or two, mostly */
        node->causes.at = mem_alloc(mem_array_size(2, sizeof *node->causes.at));
        node->causes.capacity = 2;
    }
    struct cause *cause = vec_add(&node->causes);
    cause->place = place_ref(place);
    cause->version = version;
}

static void become_invalid(struct sched *sched, struct node *node)
{
    sched->counters.invalidations++;
    if (node->status == NODE_CLEAN) {
        node_set_status(node, NODE_INVALID);
        sched->staled++;
    }
    if (UNLIKELY(node->gate != NULL)) {
        gates_on_invalid(sched, node);
    }
    queue_consider(sched, node);
}

void invalidation_mark(struct sched *sched,
                       struct node *node,
                       struct place *place,
                       uint64_t version)
{
    if (place != NULL) {
        VEC_FOREACH (&node->causes, cause) {
            if (cause->place == place) {
                return;
            }
        }
        VEC_FOREACH (&node->reads, read) {
            read->caused = read->caused || read->place == place;
        }
        add_cause(node, place, version);
    }
    node->asked = node->asked || place == NULL;
    become_invalid(sched, node);
}

void invalidation_mark_again(struct sched *sched, struct node *node)
{
    if (!node->registered) {
        return;
    }
    node->again = true;
    become_invalid(sched, node);
}

void invalidation_clear_causes(struct node *node)
{
    VEC_FOREACH (&node->causes, cause) {
        place_unref(cause->place);
    }
    vec_clear(&node->causes);
}

static bool is_seen(const struct node *node, const struct cause *cause)
{
    VEC_FOREACH (&node->reads, read) {
        if (read->place == cause->place && read->version < cause->version) {
            read->caused = true;
            return false;
        }
    }
    return true;
}

void invalidation_drop_seen(struct node *node)
{
    size_t kept = 0;
    VEC_FOREACH (&node->causes, cause) {
        if (is_seen(node, cause)) {
            place_unref(cause->place);
        } else {
            node->causes.at[kept++] = *cause;
        }
    }
    node->causes.count = kept;
    if (kept == 0 && !node->again && !node->asked) {
        node_set_status(node, NODE_CLEAN);
        gates_disarm(node);
    }
}

void invalidation_rebuild_causes(struct sched *sched, struct node *node)
{
    (void)sched;
    if (node->status == NODE_NEVER_RAN) {
        return;
    }
    VEC_FOREACH (&node->reads, read) {
        const struct entity *entity = read->place->entity;
        if (!read->caused && entity->version > read->version) {
            read->caused = true;
            add_cause(node, read->place, entity->version);
        }
    }
}

/* -- One reader ---------------------------------------------------------- */

/* X3. */
static const char *suppression(const struct match *match,
                               const struct node *node)
{
    const struct notification *what = match->what;
    if (what->source == node && what->kind != NOTIFY_REVERT) {
        return "skip-own-commit-source";
    }
    if (what->group != NULL && what->group == node->group &&
        what->kind == NOTIFY_COMMIT) {
        return "skip-same-change-group";
    }
    return NULL;
}

static void trace(const struct match *match,
                  const struct read_link *read,
                  const char *decision)
{
    const struct sched_hooks *hooks = &match->sched->hooks;
    if (UNLIKELY(hooks->trigger != NULL)) {
        hooks->trigger(hooks->ctx,
                       read->node,
                       match->what,
                       read->place,
                       decision);
    }
}

/* Each place once. While the node runs, its links still say what made it run;
 * and it is the last change that the run may not have seen. */
static void note_cause(struct read_link *read, uint64_t version)
{
    struct node *node = read->node;
    if (UNLIKELY(node->running)) {
        VEC_FOREACH (&node->causes, cause) {
            if (cause->place == read->place) {
                cause->version = version;
                return;
            }
        }
    } else if (read->caused) {
        return;
    }
    read->caused = true;
    add_cause(node, read->place, version);
}

static void see(const struct match *match, struct read_link *read)
{
    struct sched *sched = match->sched;
    struct node *node = read->node;
    sched->counters.visits++;
    if (read->declared) {
        return; /* never ran: it will read what is there then */
    }
    const char *skipped = suppression(match, node);
    if (skipped != NULL) {
        trace(match, read, skipped);
        return;
    }
    trace(match,
          read,
          node->status == NODE_CLEAN ? "mark-invalid" : "already-invalid");
    note_cause(read, match->what->version);
    if (node->counted) {
        become_invalid(sched, node);
    } else {
        /* Nobody looks: it leaves the places, and costs nothing from now on
         * (G1). */
        node_set_status(node, NODE_INVALID);
        sched->staled++;
        sched->counters.invalidations++;
        graph_detach(sched, node);
    }
}

/* The readers of a chain, in the order in which they came to it. */
static void see_all(const struct match *match, const struct chain *chain)
{
    struct sched *sched = match->sched;
    const struct chain_link *first = chain->first;
    if (first == NULL) {
        return;
    }
    if (first->next == NULL) {
        see(match, READ_OF(chain->first));
        return;
    }
    const size_t base = sched->readers.count;
    CHAIN_FOREACH(chain, link)
    {
        vec_push(&sched->readers, READ_OF(link));
    }
    while (sched->readers.count > base) {
        see(match, vec_pop(&sched->readers));
    }
}

/* -- The walk ------------------------------------------------------------ */

/* The next place below `top`, depth first; the payload does not count as below
 * the root here. */
static struct place *next_below(const struct place *top, struct place *place)
{
    if (place->children.first != NULL) {
        return PLACE_OF(place->children.first);
    }
    while (place != top) {
        if (place->sibling.next != NULL) {
            return PLACE_OF(place->sibling.next);
        }
        place = place->parent;
    }
    return NULL;
}

/* X1: reachable on one side only. */
static void see_everything_below(const struct match *match, struct place *top)
{
    for (struct place *place = next_below(top, top); place != NULL;
         place = next_below(top, place)) {
        see_all(match, &place->readers[READ_DEEP]);
        see_all(match, &place->readers[READ_SHAPE]);
    }
}

static void push_pair(const struct match *match,
                      struct place *place,
                      struct value before,
                      struct value after)
{
    if (!value_is_same(before, after)) {
        const struct change_pair pair = {place, before, after};
        vec_push(&match->sched->pairs, pair);
    }
}

/* Few places below: each is looked up in both values. */
static void push_children(const struct match *match,
                          const struct place *place,
                          struct value before,
                          struct value after)
{
    CHAIN_FOREACH(&place->children, link)
    {
        struct place *child = PLACE_OF(link);
        const struct path_segment *segment =
            &child->path->at[child->path->length - 1];
        match->sched->counters.visits++;
        push_pair(match,
                  child,
                  value_child(before, segment),
                  value_child(after, segment));
    }
}

/* Many places below: the differences are looked for, and the places that they
 * are in. Differences below one key come one after the other. */
struct by_difference {
    const struct match *match;
    const struct place *place;
    const struct place *last;
    struct value before;
    struct value after;
};

static void find_place(void *ctx, const struct difference *difference)
{
    struct by_difference *by = ctx;
    if (difference->length == 0) {
        return; /* of the container itself: its own readers know */
    }
    by->match->sched->counters.visits++;
    const struct path_segment *segment = &difference->path[0];
    struct place *child = place_find_child(by->place, segment->key);
    if (child != NULL && child != by->last) {
        by->last = child;
        push_pair(by->match,
                  child,
                  value_child(by->before, segment),
                  value_child(by->after, segment));
    }
}

/* An array that became shorter or longer: indexes that only one side has. */
static void push_changed_ends(const struct match *match,
                              const struct place *place,
                              struct value before,
                              struct value after)
{
    CHAIN_FOREACH(&place->children, link)
    {
        struct place *child = PLACE_OF(link);
        const struct path_segment *segment =
            &child->path->at[child->path->length - 1];
        const struct value was = value_child(before, segment);
        const struct value is = value_child(after, segment);
        if (value_is_absent(was) != value_is_absent(is)) {
            push_pair(match, child, was, is);
        }
    }
}

enum {
    FEW_CHILDREN = 8
};

static void push_below(const struct match *match,
                       struct place *place,
                       struct value before,
                       struct value after)
{
    if (place->child_count == 0) {
        return;
    }
    const bool from = value_is_container(before);
    const bool to = value_is_container(after);
    if (from != to) {
        see_everything_below(match, place);
        return;
    }
    if (!from) {
        return;
    }
    if (place->child_count <= FEW_CHILDREN ||
        value_is_object(before) != value_is_object(after)) {
        push_children(match, place, before, after);
        return;
    }
    struct by_difference by = {match, place, NULL, before, after};
    difference_walk(before, after, DIFFERENCE_BY_PATH, find_place, &by);
    if (value_is_array(before)) {
        push_changed_ends(match, place, before, after);
    }
}

static void compare_pairs(const struct match *match)
{
    struct sched *sched = match->sched;
    while (sched->pairs.count > 0) {
        const struct change_pair pair = vec_pop(&sched->pairs);
        struct place *place = pair.place;
        if (value_equal(pair.before, pair.after)) {
            continue;
        }
        see_all(match, &place->readers[READ_DEEP]);
        if (place->readers[READ_SHAPE].first != NULL &&
            !value_shape_equal(pair.before, pair.after)) {
            see_all(match, &place->readers[READ_SHAPE]);
        }
        push_below(match, place, pair.before, pair.after);
    }
}

/* -- One document -------------------------------------------------------- */

/* A document that came or went: everything in it was or is out of reach. */
static void see_whole_entity(const struct match *match, struct entity *entity)
{
    struct place *tops[2] = {entity->root, entity->payload};
    for (size_t i = 0; i < COUNT_OF(tops); i++) {
        if (tops[i] != NULL) {
            see_all(match, &tops[i]->readers[READ_DEEP]);
            see_all(match, &tops[i]->readers[READ_SHAPE]);
            see_everything_below(match, tops[i]);
        }
    }
}

/* The root is read by few. Its value is put together for them. */
static void compare_root(const struct match *match, struct entity *entity)
{
    const struct change *change = match->change;
    struct place *root = entity->root;
    const struct value before = entity_state_document(&change->before);
    const struct value after = entity_state_document(&change->after);
    see_all(match, &root->readers[READ_DEEP]);
    if (!value_shape_equal(before, after)) {
        see_all(match, &root->readers[READ_SHAPE]);
    }
    push_children(match, root, before, after);
    compare_pairs(match);
    value_unref(before);
    value_unref(after);
}

/* A payload that nobody reads a part of: who reads it all is told, if it is
 * another one. */
static void compare_leaf(const struct match *match, const struct place *payload)
{
    const struct change *change = match->change;
    const struct value before = change->before.payload;
    const struct value after = change->after.payload;
    if (value_equal(before, after)) {
        return;
    }
    see_all(match, &payload->readers[READ_DEEP]);
    if (payload->readers[READ_SHAPE].first != NULL &&
        !value_shape_equal(before, after)) {
        see_all(match, &payload->readers[READ_SHAPE]);
    }
}

static void compare_payload(const struct match *match, struct entity *entity)
{
    const struct change *change = match->change;
    if (LIKELY(!value_is_absent(change->before.payload) &&
               !value_is_absent(change->after.payload))) {
        if (LIKELY(entity->payload->child_count == 0)) {
            compare_leaf(match, entity->payload);
            return;
        }
        push_pair(match,
                  entity->payload,
                  change->before.payload,
                  change->after.payload);
        compare_pairs(match);
        return;
    }
    struct value before;
    struct value after;
    const struct path *path = entity->payload->path;
    (void)entity_state_at(&change->before, path, &before);
    (void)entity_state_at(&change->after, path, &after);
    push_pair(match, entity->payload, before, after);
    compare_pairs(match);
    value_unref(before);
    value_unref(after);
}

static void match_change(const struct match *match)
{
    const struct change *change = match->change;
    struct entity *entity = change->entity;
    if (entity_state_exists(&change->before) !=
        entity_state_exists(&change->after)) {
        see_whole_entity(match, entity);
        return;
    }
    if (entity->root != NULL) {
        compare_root(match, entity);
    }
    if (entity->payload != NULL) {
        compare_payload(match, entity);
    }
}

static enum channel_answer on_notification(void *ctx,
                                           const struct notification *what)
{
    struct sched *sched = ctx;
    sched->world++;
    if (what->kind == NOTIFY_COMMIT && sched->committing != NULL &&
        what->source == sched->committing) {
        sched->own_version = what->version;
        sched->own_commits++;
    }
    introspection_note_change(sched, what);
    for (size_t i = 0; i < what->count; i++) {
        const struct match match = {sched, what, &what->changes[i]};
        match_change(&match);
    }
    return CHANNEL_MORE;
}

void invalidation_begin(struct sched *sched)
{
    sched->subscriber = (struct subscriber){
        .fn = on_notification,
        .ctx = sched,
    };
    channel_subscribe(sched->replica, &sched->subscriber);
}

void invalidation_end(struct sched *sched)
{
    channel_unsubscribe(&sched->subscriber);
}
