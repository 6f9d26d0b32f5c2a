/* Which nodes wait for documents, and for how long. */

#include "sched/waiting.h"

#include "replica/space.h"
#include "sched/fetching.h"
#include "sched/gates.h"
#include "sched/invalidation.h"
#include "sched/queue.h"
#include "sched/runner.h"

/* Whether another node that writes there, or to something above, waits. */
static bool writer_waits(const struct place *place, const struct node *reader)
{
    for (; place != NULL; place = place_parent(place)) {
        for (const struct chain_link *link = place->writers.first; link != NULL;
             link = link->next) {
            const struct node *writer =
                ((const struct write_link *)(const void *)link)->node;
            if ((writer->waiting || writer->behind) && writer != reader) {
                return true;
            }
        }
    }
    return false;
}

bool run_reads_from_waiting(const struct run *run)
{
    transaction_unfollow(run->transaction);
    VEC_FOREACH (&run->transaction->reads, read) {
        if (!read->own && writer_waits(read->place, run->node)) {
            return true;
        }
    }
    return false;
}

/* Whether all documents that it has read are here; and all their writers are up
 * to date, in this respect. */
bool waiting_has_documents(const struct sched *sched, const struct node *node)
{
    if (node->unloaded) {
        return fetching_missing(node) == NULL;
    }
    LIST_FOREACH (&sched->replica->spaces, at) {
        if (node->awaits_all &&
            space_is_loading(CONTAINER_OF(at, struct space, node))) {
            return false;
        }
    }
    VEC_FOREACH (&node->reads, read) {
        if (!read->place->entity->loaded) {
            return false;
        }
    }
    return true;
}

bool waiting_has_come(const struct sched *sched, const struct node *node)
{
    VEC_FOREACH (&node->reads, read) {
        if (writer_waits(read->place, node)) {
            return false;
        }
    }
    return !node->behind && waiting_has_documents(sched, node);
}

/* Whether the remaining nodes wait only for each other. */
static bool is_cycle(const struct sched *sched)
{
    VEC_FOREACH (&sched->waiting, node) {
        if (!waiting_has_documents(sched, *node)) {
            return false;
        }
    }
    return sched->waiting.count > 0;
}

bool waiting_can_wake(const struct sched *sched)
{
    VEC_FOREACH (&sched->waiting, node) {
        if (waiting_has_come(sched, *node)) {
            return true;
        }
    }
    return is_cycle(sched);
}

/* The node has to run as before: for the first time, or because of its
 * causes. */
static void wake(struct sched *sched, struct node *node)
{
    if (node_is_stale(node)) {
        queue_consider(sched, node); /* it was held, with its status */
        return;
    }
    const bool asked = node->asked;
    invalidation_mark(sched, node, NULL, 0);
    node->asked = asked || (node->causes.count == 0 && node->runs > 0);
    if (node->runs == 0) {
        invalidation_clear_causes(node); /* a first run needs no other cause */
        node_set_status(node, NODE_NEVER_RAN);
    }
    if (node->gate != NULL) { /* an arriving document is not a change */
        gates_open(sched, node);
    }
}

/* fetching-2 of fetching.h, again. */
static void mark_behind(struct sched *sched)
{
    fetching_unmark_all(sched);
    VEC_FOREACH (&sched->waiting, node) {
        if (!waiting_has_documents(sched, *node)) {
            fetching_mark(sched, *node);
        }
    }
}

/* Waking a node releases those that wait for it, so the list is examined until
 * nothing changes. */
void waiting_wake(struct sched *sched)
{
    bool moved = waiting_can_wake(sched);
    if (moved) {
        mark_behind(sched);
    }
    while (moved) {
        const bool cycle = is_cycle(sched);
        size_t kept = 0;
        moved = false;
        for (size_t i = 0; i < sched->waiting.count; i++) {
            struct node *node = sched->waiting.at[i];
            if (cycle || waiting_has_come(sched, node)) {
                node->waiting = false;
                node->awaits_all = false;
                wake(sched, node);
                moved = true;
            } else {
                sched->waiting.at[kept++] = node;
            }
        }
        sched->waiting.count = kept;
    }
}

void waiting_forget(struct sched *sched, struct node *node)
{
    node->waiting = false;
    node->awaits_all = false;
    size_t kept = 0;
    for (size_t i = 0; i < sched->waiting.count; i++) {
        if (sched->waiting.at[i] != node) {
            sched->waiting.at[kept++] = sched->waiting.at[i];
        }
    }
    sched->waiting.count = kept;
    if (sched->behind.count > 0) {
        mark_behind(sched);
    }
}

void waiting_stop(struct sched *sched, struct node *node)
{
    if (node->waiting) {
        waiting_forget(sched, node);
    }
}
