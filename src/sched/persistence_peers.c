/* Waiting for a peer (sched/persistence.h, persistence-9).
 *
 * At the beginning of a sweep, the nodes that wait directly are found among
 * those that would run in it: a computation that other runtimes also run, that
 * another runtime ran last, and that only remote changes have made invalid. Its
 * readers, direct or not, are held until the same moment. All are released
 * together when no node waits directly any more. */

#include "replica/session.h"
#include "replica/space.h"
#include "sched/gates.h"
#include "sched/graph.h"
#include "sched/persisted.h"
#include "sched/queue.h"
#include "value/compare.h"

enum {
    TURNS = 8,     /* sessions that give up at different times, */
    TURN_PARTS = 4 /* this many parts of the grace period apart */
};

void persistence_set_grace(struct sched *sched, mono_ms grace)
{
    persistence_of(sched)->grace = grace;
}

/* -- Which nodes wait ---------------------------------------------------- */

/* Whether all causes are remote changes. A cause that has left the ring counts
 * as local. */
static bool is_from_elsewhere(const struct sched *sched,
                              const struct node *node)
{
    VEC_FOREACH (&node->causes, cause) {
        const struct change_record *record =
            &sched->changes[cause->version % SCHED_RECORDS];
        if (record->version != cause->version ||
            record->kind != NOTIFY_INTEGRATE) {
            return false;
        }
    }
    return node->causes.count > 0;
}

static bool is_for_a_peer(const struct sched *sched, const struct node *node)
{
    const struct persisted *persisted = node_persisted(node);
    return persisted != NULL && persisted->peers == sched->persistence->peers &&
           (!persisted->restored || persisted->space->others) &&
           node->kind == NODE_COMPUTATION && !node->unshared &&
           node->status == NODE_INVALID && !node->running && !node->asked &&
           !node->again && node->demands == 0 && node->children.first == NULL &&
           node->inflight.first == NULL && persisted->space->session != NULL &&
           is_from_elsewhere(sched, node);
}

/* -- Waiting ------------------------------------------------------------- */

static mono_ms give_up_at(const struct sched *sched, const struct node *node)
{
    const mono_ms grace = sched->persistence->grace;
    const struct persisted *persisted = node_persisted(node);
    CHECK(persisted != NULL); /* is_for_a_peer */
    const uint64_t turn = value_hash(persisted->space->session->id) % TURNS;
    return sched->now + grace + turn * grace / TURN_PARTS;
}

static void hold(struct sched *sched, struct node *node, mono_ms until)
{
    gates_wait_for_peer(sched, node, until);
    vec_push(&sched->persistence->held.at, node);
}

/* Holds all its readers, direct or not. */
static void hold_readers(struct sched *sched,
                         struct node *first,
                         uint64_t stamp,
                         mono_ms until)
{
    const size_t base = sched->stack.count;
    vec_push(&sched->stack, first);
    while (sched->stack.count > base) {
        const struct node *node = vec_pop(&sched->stack);
        struct reader_walk walk = graph_readers(node);
        for (struct read_link *read = graph_next_reader(&walk); read != NULL;
             read = graph_next_reader(&walk)) {
            if (read->node->visit != stamp) {
                read->node->visit = stamp;
                hold(sched, read->node, until);
                vec_push(&sched->stack, read->node);
            }
        }
    }
}

static void begin_wait(struct sched *sched, struct node *node, uint64_t stamp)
{
    const mono_ms until = give_up_at(sched, node);
    hold(sched, node, until);
    node->gate->peer = true;
    sched->persistence->waiting++;
    sched->counters.waits++;
    hold_readers(sched, node, stamp, until);
}

/* No node that waits directly has to run any more: the change was undone. */
static void end_if_needless(struct sched *sched)
{
    VEC_FOREACH (&sched->persistence->held.at, node) {
        if (*node != NULL && (*node)->gate->peer && node_is_stale(*node)) {
            return;
        }
    }
    peers_lift(sched);
}

void persistence_wait(struct sched *sched)
{
    struct persistence *persistence = sched->persistence;
    sched->integrated = false;
    if (persistence == NULL || persistence->grace == 0) {
        return;
    }
    end_if_needless(sched);
    struct node_list ready = {0};
    const uint64_t stamp = ++sched->visits;
    queue_empty_sweep(sched, &ready);
    VEC_FOREACH (&ready.at, node) {
        /* Who has waited has waited long enough. */
        const bool has_waited =
            (*node)->gate != NULL && (*node)->gate->peer_until != 0;
        if (!has_waited && is_for_a_peer(sched, *node)) {
            begin_wait(sched, *node, stamp);
        }
    }
    VEC_FOREACH (&ready.at, node) {
        queue_consider(sched, *node);
    }
    vec_release(&ready.at);
}

/* -- Ending waits -------------------------------------------------------- */

void peers_lift(struct sched *sched)
{
    struct persistence *persistence = sched->persistence;
    VEC_FOREACH (&persistence->held.at, node) {
        if (*node != NULL) {
            (*node)->gate->peer = false;
            gates_end_peer(sched, *node);
        }
    }
    vec_clear(&persistence->held.at);
    persistence->waiting = 0;
}

void peers_over(struct sched *sched, struct node *node)
{
    struct persistence *persistence = sched->persistence;
    if (node->gate == NULL || !node->gate->peer) {
        return;
    }
    node->gate->peer = false;
    if (node->running && node->gate->peer_until <= sched->now) {
        sched->counters.vain++;
        persistence->peers++;
    }
    if (--persistence->waiting == 0) {
        peers_lift(sched);
    }
}

void persistence_let_go(struct sched *sched, const struct node *node)
{
    if (sched->persistence != NULL && node->gate != NULL) {
        VEC_FOREACH (&sched->persistence->held.at, held) {
            *held = *held == node ? NULL : *held;
        }
    }
}
