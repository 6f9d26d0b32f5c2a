/* The nodes that wait to run, by why they wait.
 *
 *   K1  A node is in at most one place. It is in one if it is registered,
 *       stale and live, or to run again after a rejection; but one that is
 *       running or was just looked at may be in none, and one that became
 *       clean or dormant meanwhile may still be in one: who takes it out asks
 *       again.
 *   K2  Gated nodes are those whose time has not come; the heap knows the
 *       first of them.
 *   K3  Materializers wait for everybody else, unless somebody who is about to
 *       run reads what they may write. */

#ifndef SCHED_QUEUE_H
#define SCHED_QUEUE_H

#include "sched/core.h"

/* Puts a node where it belongs, if it has to run. Called at every change that
 * could make it so. */
void queue_put(struct sched *sched, struct node *node); /* the rest of it */
static inline void queue_consider(struct sched *sched, struct node *node)
{
    if (node->status != NODE_CLEAN && node->registered && !node->running &&
        (node->counted || node->again)) {
        queue_put(sched, node);
    }
}

/* Takes a node out of wherever it is. */
void queue_remove(struct sched *sched, struct node *node);

/* A materializer that waits for everybody else must not wait any longer. */
void queue_promote(struct sched *sched, struct node *node);

/* Its height was changed. */
void queue_height_changed(struct sched *sched, struct node *node);

/* Those whose time has come at `sched->now` go to where they belong. */
void queue_release_due(struct sched *sched);

/* The next of this sweep at the cursor or above, or NULL; moves the cursor. */
struct node *queue_pop(struct sched *sched);

/* The next sweep becomes this one. False if it would be empty. */
bool queue_next_sweep(struct sched *sched);

/* All materializers that wait, into this sweep. False if there is none. */
bool queue_admit_materializers(struct sched *sched);

/* Whether anything could run now. */
bool queue_is_empty(const struct sched *sched);

/* When the first gated node's time comes. */
mono_ms queue_next_wake(const struct sched *sched);

#endif
