/* From a change to the causes of nodes. */

#include "sched/invalidation.h"

#include "base/mem.h"
#include "sched/graph.h"
#include "sched/labels.h"
#include "sched/persistence.h"
#include "sched/reader_mark.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/difference.h"
#include "value/object.h"

#define READ_OF(chain_link)  READER_MARK_READ_OF(chain_link)
#define PLACE_OF(chain_link) CONTAINER_OF((chain_link), struct place, sibling)

struct match {
    struct sched *sched;
    const struct notification *what;
    const struct change *change;
};

enum {
    SEVERAL_CAUSES = 4 /* initial capacity, beyond the inline one */
};

/* -- One node ------------------------------------------------------------ */

void reader_mark_reserve(struct node *node)
{
    if (node->causes.capacity == 0) { /* one, mostly */
        node->causes.at = &node->only_cause;
        node->causes.capacity = 1;
    } else if (node->causes.at == &node->only_cause) {
        node->causes.at =
            mem_alloc(mem_array_size(RUN_FEW_CAUSES, sizeof *node->causes.at));
        node->causes.at[0] = node->only_cause;
        node->causes.capacity = RUN_FEW_CAUSES;
    } else {
        vec_reserve(&node->causes, node->causes.count + 1);
    }
}

void invalidation_release_causes(struct node *node)
{
    invalidation_clear_causes(node);
    if (node->causes.at == &node->only_cause) {
        node->causes.at = NULL;
        node->causes.capacity = 0;
    }
    vec_release(&node->causes);
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
        reader_mark_add_cause(node, place, version);
    }
    node->asked = node->asked || place == NULL;
    reader_mark_invalid(sched, node);
}

void invalidation_keep_cause(struct node *node,
                             struct place *place,
                             uint64_t version)
{
    VEC_FOREACH (&node->causes, cause) {
        if (cause->place == place) {
            return;
        }
    }
    reader_mark_add_cause(node, place, version);
}

void invalidation_mark_again(struct sched *sched, struct node *node)
{
    if (!node->registered) {
        return;
    }
    node->again = true;
    reader_mark_invalid(sched, node);
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
    uint32_t kept = 0;
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
        const uint64_t now =
            read->unread == LINK_RESTORED ? entity->seq : entity->version;
        if (!read->caused && now > read->version) {
            read->caused = true;
            reader_mark_add_cause(node, read->place, entity->version);
        }
    }
}

/* -- One reader ---------------------------------------------------------- */

/* invalidation-3. */
static const char *suppression(const struct match *match,
                               const struct node *node)
{
    const struct notification *what = match->what;
    if (what->source == node && what->kind != NOTIFY_REVERT) {
        return "skip-own-commit-source";
    }
    if (what->group != NULL && what->group == node_group(node) &&
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

void reader_mark_detach(struct sched *sched, struct node *node)
{
    node_set_status(node, NODE_INVALID);
    sched->stale_epoch++;
    sched->counters.invalidations++;
    graph_detach(sched, node);
}

/* Whether a message about something that was read before the restart contains
 * no more than was known then: persistence-5 of persistence.h. */
COLD static bool is_known(const struct match *match,
                          const struct read_link *read)
{
    const struct entity *entity = read->place->entity;
    const enum notification_kind kind = match->what->kind;
    return (kind == NOTIFY_PULL || kind == NOTIFY_INTEGRATE) &&
           entity->loaded && entity->overlay == NULL &&
           entity->seq <= read->version;
}

/* Whether the reader does not see the change; calls the hook for compared
 * reads. */
COLD static bool is_passed_over(const struct match *match,
                                const struct read_link *read)
{
    const struct node *node = read->node;
    if (read->unread == LINK_DECLARED) {
        return true; /* never ran: it will read the new value */
    }
    if (read->unread == LINK_RESTORED && is_known(match, read)) {
        trace(match, read, "skip-restored");
        return true;
    }
    const char *skipped = suppression(match, node);
    if (skipped != NULL) {
        trace(match, read, skipped);
        return true;
    }
    trace(match,
          read,
          node->status == NODE_CLEAN ? "mark-invalid" : "already-invalid");
    return false;
}

static inline void see(const struct match *match, struct read_link *read)
{
    struct sched *sched = match->sched;
    const struct notification *what = match->what;
    const struct node *node = read->node;
    sched->counters.visits++;
    if (UNLIKELY(read->unread || what->source == node || what->group != NULL ||
                 sched->hooks.trigger != NULL) &&
        is_passed_over(match, read)) {
        return;
    }
    reader_mark_stale(sched, read, what->version);
}

void reader_mark_all(struct sched *sched,
                     const struct node *writer,
                     const struct chain *readers,
                     uint64_t version)
{
    const size_t base = sched->readers.count;
    CHAIN_FOREACH(readers, link)
    {
        vec_push(&sched->readers, READ_OF(link));
    }
    while (sched->readers.count > base) {
        reader_mark_one(sched, writer, vec_pop(&sched->readers), version);
    }
}

/* Several readers, in the order of their links. */
static void see_many(const struct match *match, const struct chain *chain)
{
    struct sched *sched = match->sched;
    const size_t base = sched->readers.count;
    CHAIN_FOREACH(chain, link)
    {
        vec_push(&sched->readers, READ_OF(link));
    }
    while (sched->readers.count > base) {
        see(match, vec_pop(&sched->readers));
    }
}

/* The readers of a chain. */
static inline void see_all(const struct match *match, const struct chain *chain)
{
    struct chain_link *first = chain->first;
    if (first == NULL) {
        return;
    }
    if (LIKELY(first->next == NULL)) {
        see(match, READ_OF(first));
    } else {
        see_many(match, chain);
    }
}

/* -- The walk ------------------------------------------------------------ */

/* The next place below `top`, depth first; here the payload does not count as
 * below the root. */
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

/* invalidation-1: reachable on one side only. */
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
                  value_child_or_virtual(before, segment),
                  value_child_or_virtual(after, segment));
    }
}

/* Many places below, or ranges: finds the children that differ, and then their
 * places. */
struct by_difference {
    const struct match *match;
    const struct place *place;
    struct value before;
    struct value after;
};

/* The ranges that contain a changed entry. */
static void see_ranges(const struct by_difference *by, struct value key)
{
    CHAIN_FOREACH(&by->place->children, link)
    {
        const struct place *child = PLACE_OF(link);
        struct key_range range;
        by->match->sched->counters.visits++;
        if (key_range_of_key(&child->path->at[child->path->length - 1].key,
                             &range) &&
            key_range_has(&range, key)) {
            see_all(by->match, &child->readers[READ_DEEP]);
            see_all(by->match, &child->readers[READ_SHAPE]);
        }
    }
}

static void find_place(void *ctx, const struct difference *difference)
{
    const struct by_difference *by = ctx;
    if (difference->length == 0) {
        return; /* of the container itself: its own readers are marked */
    }
    by->match->sched->counters.visits++;
    const struct path_segment *segment = &difference->path[0];
    struct place *child = place_find_child(by->place, segment->key);
    if (child != NULL) {
        push_pair(by->match,
                  child,
                  value_child_or_virtual(by->before, segment),
                  value_child_or_virtual(by->after, segment));
    }
    if (UNLIKELY(by->place->ranges)) {
        see_ranges(by, segment->key);
    }
}

/* An array whose length changed: the indexes that only one side has. */
static void push_changed_ends(const struct match *match,
                              const struct place *place,
                              struct value before,
                              struct value after)
{
    const uint32_t from = array_count(before);
    const uint32_t to = array_count(after);
    const uint32_t least = from < to ? from : to;
    const uint32_t most = from < to ? to : from;
    if (most - least < place->child_count) {
        for (uint32_t i = least; i < most; i++) {
            struct path_segment index = path_segment_of_index(i);
            struct place *child = place_find_child(place, index.key);
            if (child != NULL) {
                push_pair(match,
                          child,
                          array_at(before, i),
                          array_at(after, i));
            }
            path_segment_release(&index);
        }
        return;
    }
    CHAIN_FOREACH(&place->children, link)
    {
        struct place *child = PLACE_OF(link);
        const struct path_segment *segment =
            &child->path->at[child->path->length - 1];
        const struct value was = value_child_or_virtual(before, segment);
        const struct value is = value_child_or_virtual(after, segment);
        if (value_is_absent(was) != value_is_absent(is)) {
            push_pair(match, child, was, is);
        }
    }
}

enum {
    FEW_CHILDREN = 8,
    SHIFTED_CHILDREN = 256, /* of an array whose length changed, where most
                               elements may have moved */
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
    push_children(match, place, before, after);
}

/* Whether to find differences first, and places by them. */
static bool has_many_below(const struct change_pair *pair)
{
    const uint32_t children = pair->place->child_count;
    if (children <= FEW_CHILDREN && !pair->place->ranges) {
        return false;
    }
    if (value_is_array(pair->before) && value_is_array(pair->after)) {
        return children > SHIFTED_CHILDREN ||
               array_count(pair->before) == array_count(pair->after);
    }
    return value_is_object(pair->before) && value_is_object(pair->after);
}

static void push_differing(const struct match *match,
                           const struct change_pair *pair)
{
    struct by_difference by = {match, pair->place, pair->before, pair->after};
    difference_walk(pair->before,
                    pair->after,
                    DIFFERENCE_OF_CHILDREN,
                    find_place,
                    &by);
    if (value_is_array(pair->before)) {
        push_changed_ends(match, pair->place, pair->before, pair->after);
    }
}

/* Whether the comparison of a place above has already passed here, on its way
 * to the difference. */
static bool is_on_trail(const struct sched *sched,
                        const struct change_pair *pair)
{
    const size_t at =
        (size_t)pair->place->path->length - (size_t)sched->trail_from;
    if (at >= sched->trail.count) { /* the path may also be shorter */
        return false;
    }
    const struct value_pair *known = &sched->trail.at[at];
    return value_is_same(known->a, pair->before) &&
           value_is_same(known->b, pair->after);
}

/* Each comparison goes down to the first difference and no further, and what it
 * passes is not compared again: a deep difference costs its depth, not the
 * square of it. */
static bool differs(struct sched *sched, const struct change_pair *pair)
{
    if (is_on_trail(sched, pair)) {
        return true;
    }
    sched->counters.compared++;
    if (pair->place->child_count == 0) {
        return !value_equal(pair->before, pair->after);
    }
    sched->trail_from = pair->place->path->length;
    return !value_equal_or_trail(pair->before, pair->after, &sched->trail);
}

static void compare_pairs(const struct match *match)
{
    struct sched *sched = match->sched;
    vec_clear(&sched->trail);
    while (sched->pairs.count > 0) {
        const struct change_pair pair = vec_pop(&sched->pairs);
        struct place *place = pair.place;
        if (!differs(sched, &pair)) {
            continue;
        }
        see_all(match, &place->readers[READ_DEEP]);
        if (place->readers[READ_SHAPE].first != NULL &&
            !value_shape_equal(pair.before, pair.after)) {
            see_all(match, &place->readers[READ_SHAPE]);
        }
        if (has_many_below(&pair)) {
            push_differing(match, &pair);
        } else {
            push_below(match, place, pair.before, pair.after);
        }
    }
}

/* -- One document -------------------------------------------------------- */

/* A document was created or deleted: everything in it was or is unreachable. */
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

/* The root has few readers. Its value is built for them. */
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

COLD static void compare_shape(const struct match *match,
                               const struct place *payload)
{
    const struct change *change = match->change;
    if (!value_shape_equal(change->before.payload, change->after.payload)) {
        see_all(match, &payload->readers[READ_SHAPE]);
    }
}

/* A payload of which no part was read: its readers are marked if it differs. */
static inline void compare_leaf(const struct match *match,
                                const struct place *payload)
{
    const struct change *change = match->change;
    if (value_equal(value_load(&change->before.payload),
                    value_load(&change->after.payload))) {
        return;
    }
    see_all(match, &payload->readers[READ_DEEP]);
    if (UNLIKELY(payload->readers[READ_SHAPE].first != NULL)) {
        compare_shape(match, payload);
    }
}

static void compare_payload(const struct match *match, struct entity *entity)
{
    const struct change *change = match->change;
    if (LIKELY(!value_is_absent(change->before.payload) &&
               !value_is_absent(change->after.payload))) {
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

COLD static void match_change(const struct match *match)
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

/* Whether only the payload of the document can have been read, and it exists
 * before and after. */
static inline bool is_leaf(const struct change *change)
{
    const struct entity *entity = change->entity;
    return entity->root == NULL && entity->payload != NULL &&
           entity->payload->child_count == 0 &&
           !value_is_absent(change->before.payload) &&
           !value_is_absent(change->after.payload);
}

/* Whether nothing of the document was read. */
static inline bool is_unread(const struct entity *entity)
{
    const struct place *payload = entity->payload;
    return entity->root == NULL &&
           (payload == NULL || (payload->child_count == 0 &&
                                payload->readers[READ_DEEP].first == NULL &&
                                payload->readers[READ_SHAPE].first == NULL));
}

/* Outside payloads, or all of a space. */
COLD static void notice_more(struct sched *sched,
                             const struct notification *what)
{
    if (what->kind == NOTIFY_RESET) {
        persistence_reset(sched, what->space);
    }
    labels_notice(sched, what);
}

static enum channel_answer on_notification(void *ctx,
                                           const struct notification *what)
{
    struct sched *sched = ctx;
    sched->change_epoch++;
    if (what->kind == NOTIFY_COMMIT && sched->committing != NULL &&
        what->source == sched->committing) {
        sched->own_version = what->version;
        sched->own_commits++;
    }
    if (LIKELY(what->count > 0)) {
        introspection_note_change(sched, what);
    }
    if (what->kind == NOTIFY_INTEGRATE) {
        sched->integrated = true;
    }
    for (size_t i = 0; i < what->count; i++) {
        const struct match match = {sched, what, &what->changes[i]};
        if (LIKELY(is_leaf(match.change))) {
            compare_leaf(&match, match.change->entity->payload);
        } else if (!is_unread(match.change->entity)) {
            match_change(&match);
        }
    }
    if (UNLIKELY(what->more)) {
        notice_more(sched, what);
    }
    return CHANNEL_MORE;
}

/* No shape was read either, and there is no store: a read is either declared,
 * or was made here. */
static void on_leaf(void *ctx, const struct place *payload, uint64_t version)
{
    reader_mark_write(ctx, NULL, payload, version);
}

void invalidation_follow_hooks(struct sched *sched)
{
    sched->subscriber.leaf = sched->hooks.trigger == NULL ? on_leaf : NULL;
}

void invalidation_begin(struct sched *sched)
{
    sched->subscriber = (struct subscriber){
        .fn = on_notification,
        .ctx = sched,
    };
    invalidation_follow_hooks(sched);
    channel_subscribe(sched->replica, &sched->subscriber);
}

void invalidation_end(struct sched *sched)
{
    channel_unsubscribe(&sched->subscriber);
}
