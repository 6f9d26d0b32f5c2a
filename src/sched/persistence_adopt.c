/* Adoption (sched/persistence.h, persistence-8): runs of other runtimes replace
 * own runs. */

#include "replica/space.h"
#include "sched/fetching.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/invalidation.h"
#include "sched/persisted.h"
#include "sched/queue.h"
#include "sched/runner.h"
#include "sched/waiting.h"
#include "value/object.h"

static bool is_same_code(const struct persisted *persisted,
                         const struct observation *observation)
{
    const struct fingerprints *other = &observation->fingerprints;
    return observation->kind == persisted->kind &&
           persisted_is_code(persisted,
                             &other->implementation,
                             &other->runtime,
                             &other->schema) &&
           digest_equal(&persisted->surface, &other->surface);
}

/* Whether the run of another runtime can replace one of this node: it has to
 * run, for no reason of its own, all of its commits have verdicts, and its runs
 * have created no nodes, which might have to be removed. */
static bool is_waiting(const struct node *node)
{
    return node->kind == NODE_COMPUTATION && !node->unshared &&
           node->registered && !node->running && node_is_stale(node) &&
           !node->asked && node->inflight.first == NULL &&
           node->children.first == NULL;
}

/* A run of another runtime. */
struct told {
    struct space *space; /* the owner */
    uint64_t seq;        /* of it, when the reads were proved */
    const struct observation *observation;
};

/* What it had seen of a space of this replica; false: nothing. */
static bool seen_of(const struct told *told,
                    const struct space *space,
                    uint64_t *seq)
{
    if (LIKELY(space == told->space)) {
        *seq = told->seq;
        return true;
    }
    VEC_FOREACH (&told->observation->elsewhere, observed) {
        if (persisted_space(space->replica, observed) == space) {
            *seq = observed->seq;
            return true;
        }
    }
    return false;
}

/* Whether the value here is the one that was read, or can be derived from it:
 * nothing newer has arrived, and changes up to `seq` were seen by that run
 * (persistence-5). */
static bool is_current(const struct told *told,
                       const struct entity *entity,
                       uint64_t *seq)
{
    return seen_of(told, entity->space, seq) && entity->overlay == NULL &&
           entity->seq <= *seq;
}

static bool writes_are_settled(const struct node *node)
{
    for (uint32_t i = 0; i < node->write_count; i++) {
        if (node->writes[i].place->entity->overlay != NULL) {
            return false;
        }
    }
    return true;
}

static void restore_link(struct read_link *read, uint64_t seq)
{
    read->unread = LINK_RESTORED;
    read->version = seq;
    read->caused = false;
    space_follow(read->place->entity->space, read->place->entity, seq);
}

/* The node's own reads, if the other run made exactly those. */
static bool take_own_reads(struct node *node,
                           const struct persisted *persisted,
                           const struct told *told)
{
    uint64_t seq = 0;
    if (!persisted->known || node->reads_changed ||
        !digest_equal(&persisted->read_set, &told->observation->read_set)) {
        return false;
    }
    VEC_FOREACH (&node->reads, read) {
        if (!is_current(told, read->place->entity, &seq)) {
            return false;
        }
    }
    VEC_FOREACH (&node->reads, read) {
        (void)seen_of(told, read->place->entity->space, &seq);
        restore_link(read, seq);
    }
    return true;
}

/* The place here, a new reference; NULL if there is none. */
static struct place *place_here(const struct told *told,
                                const struct observed_place *place)
{
    struct space *space = told->space;
    if (UNLIKELY(!value_is_absent(place->space))) {
        space = NULL;
        VEC_FOREACH (&told->observation->elsewhere, observed) {
            if (key_equal(observed->space, place->space)) {
                space = persisted_space(told->space->replica, observed);
            }
        }
    }
    return space != NULL ? persisted_place(space, &place->target, place->path)
                         : NULL;
}

/* The reads of the other run, as a transaction would have logged them. */
static bool take_given_reads(struct sched *sched,
                             struct node *node,
                             const struct told *told)
{
    struct transaction reads = {0};
    bool usable = true;
    uint64_t seq = 0;
    VEC_FOREACH (&told->observation->places, place) {
        if (!place_is_read(place->kind)) {
            continue;
        }
        struct read_entry entry = {
            .place = place_here(told, place),
            .kind = place->kind == PLACE_SHAPE ? READ_SHAPE : READ_DEEP,
        };
        usable = usable && entry.place != NULL &&
                 is_current(told, entry.place->entity, &seq);
        if (entry.place != NULL) {
            vec_push(&reads.reads, entry);
        }
    }
    if (usable) {
        graph_change_reads(sched, node, &reads, READS_KEPT_NONE);
        VEC_FOREACH (&node->reads, read) {
            (void)seen_of(told, read->place->entity->space, &seq);
            restore_link(read, seq);
        }
    }
    VEC_FOREACH (&reads.reads, entry) {
        place_unref(entry->place);
    }
    vec_release(&reads.reads);
    return usable;
}

static bool take_reads(struct sched *sched,
                       struct node *node,
                       const struct persisted *persisted,
                       const struct told *told)
{
    return take_own_reads(node, persisted, told) ||
           (told->observation->has_places &&
            take_given_reads(sched, node, told));
}

/* As after a run. */
static void become_clean(struct sched *sched, struct node *node)
{
    queue_remove(sched, node);
    invalidation_clear_causes(node);
    gates_disarm(node);
    if (node->gate != NULL) {
        node->gate->debounce_ready = 0;
    }
    node->again = false;
    node->attempts = 0;
    node->conflicts = 0;
    node_set_status(node, NODE_CLEAN);
    waiting_stop(sched, node);
    fetching_note(node);
    graph_attach(sched, node);
    sched->counters.adopted++;
    peers_over(sched, node);
}

/* Whether an output is as the other run has left it, or as one before it did.
 */
static bool has_left_output(const struct told *told, const struct node *node)
{
    uint64_t seq = 0;
    for (uint32_t i = 0; i < node->write_count; i++) {
        if (is_current(told, node->writes[i].place->entity, &seq)) {
            return true;
        }
    }
    return false;
}

/* persistence-11. The function reads the same places as long as they hold the
 * same, so the node's own reads tell whether something is newer than the other
 * run. */
static void mark_overtaken(struct sched *sched,
                           struct node *node,
                           const struct told *told)
{
    uint64_t seq = 0;
    if (node->kind != NODE_COMPUTATION || !node->registered || node->running ||
        node_is_stale(node) || !has_left_output(told, node)) {
        return;
    }
    VEC_FOREACH (&node->reads, read) {
        const struct entity *entity = read->place->entity;
        if (seen_of(told, entity->space, &seq) && entity->seq > seq) {
            invalidation_mark(sched,
                              node,
                              read->place,
                              entity->space->replica->version);
            return;
        }
    }
}

void adoption_told(void *ctx,
                   struct space *space,
                   uint64_t seq,
                   struct observation *observation)
{
    struct sched *sched = ctx;
    struct persisted *persisted = persisted_find(sched,
                                                 space,
                                                 observation->piece,
                                                 observation->generation,
                                                 &observation->action);
    if (persisted == NULL) {
        return;
    }
    struct node *node = persisted->node;
    const bool same =
        persisted->known && !node->reads_changed &&
        digest_equal(&persisted->read_set, &observation->read_set);
    const struct told told = {space, seq, observation};
    const bool adopted =
        !observation->failed && is_waiting(node) && !persisted->registers &&
        is_same_code(persisted, observation) && writes_are_settled(node) &&
        take_reads(sched, node, persisted, &told);
    if (adopted) {
        become_clean(sched, node);
        node->reads_changed = false;
    } else {
        mark_overtaken(sched, node, &told);
    }
    persisted->peers = sched->persistence->peers;
    persisted->restored = false;
    /* The store has the read set of the last run, in any runtime. */
    persisted->known = adopted || same;
    if (adopted) {
        persisted->read_set = observation->read_set;
        persisted->scope = observation->scope;
    }
}
