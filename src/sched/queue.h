/* The nodes that wait to run, by the reason why they wait.
 *
 *   queue-1  A node is in at most one queue. It is in one if it is registered,
 *            stale and live, or has to run again after a refusal. Exceptions: a
 *            node that is running or was just examined may be in none; a node
 *            that has become clean or dormant may still be in one, so it is
 *            checked again when it is taken out.
 *   queue-2  Gated nodes are not eligible yet; the heap knows the first of
 *            them.
 *   queue-3  Materializers wait for all other nodes, unless a node that is
 *            about to run reads what they may write. */

#ifndef SCHED_QUEUE_H
#define SCHED_QUEUE_H

#include "sched/core.h"

/* Puts a node into its queue, if it has to run. Called at every change that
 * could cause that. */
COLD void queue_put_deferred(struct sched *sched, struct node *node); /* slow
                                                                     path */

void queue_push(struct sched *sched, struct node *node); /* slow path */

/* Puts a node that nothing delays into this sweep. Very often a run invalidates
 * one other node, which runs next: a queue would only be filled and emptied for
 * it. */
static inline void queue_put(struct sched *sched, struct node *node)
{
    if (sched->single == NULL &&
        bucket_queue_is_empty(&sched->queues[sched->current])) {
        sched->single = node;
        node_set_place(node, QUEUE_SINGLE);
    } else {
        queue_push(sched, node);
    }
}

static inline void queue_consider(struct sched *sched, struct node *node)
{
    if (node->status == NODE_CLEAN || !node->registered || node->running ||
        (!node->counted && !node->again)) {
        return;
    }
    if (UNLIKELY(node->delayed ||
                 (sched->in_pass && node->height < sched->sweep_floor))) {
        queue_put_deferred(sched, node);
    } else if (node->place_in_queue == QUEUE_NONE) {
        queue_put(sched, node);
    }
}

/* Takes a node out of its queue. */
void queue_take_out(struct sched *sched, struct node *node); /* slow path */
static inline void queue_remove(struct sched *sched, struct node *node)
{
    if (node->place_in_queue != QUEUE_NONE) {
        queue_take_out(sched, node);
    }
}

/* A materializer must not wait for other nodes any longer. */
void queue_promote(struct sched *sched, struct node *node);

/* The height of a node has changed. */
void queue_height_changed(struct sched *sched, struct node *node);

/* Moves nodes that are eligible at `sched->now` to their queues. */
void queue_release_due(struct sched *sched);

/* The next node of this sweep at the cursor or above, or NULL; moves the
 * cursor. */
static inline struct node *queue_pop(struct sched *sched)
{
    struct node *node = sched->single;
    if (node == NULL || UNLIKELY(node->height < sched->cursor)) {
        struct bucket_queue *queue = &sched->queues[sched->current];
        struct bucket_item *item = bucket_queue_pop_low(queue, sched->cursor);
        if (item == NULL && !bucket_queue_is_empty(queue)) {
            item = bucket_queue_pop_from(queue, sched->cursor);
        }
        if (item == NULL) {
            return NULL;
        }
        node = CONTAINER_OF(item, struct node, item);
    } else {
        sched->single = NULL;
    }
    node_set_place(node, QUEUE_NONE);
    sched->cursor = node->height;
    sched->sweep_floor = node->height + 1;
    sched->clean_below = UNLIKELY(sched->has_deferred) ? 0 : sched->sweep_floor;
    sched->counters.pops++;
    return node;
}

/* Takes all nodes of this sweep out, in order. */
void queue_empty_sweep(struct sched *sched, struct node_list *out);

/* The next sweep becomes this one. False if it would be empty. */
bool queue_next_sweep(struct sched *sched);

/* Moves all waiting materializers into this sweep. False if there is none. */
bool queue_admit_materializers(struct sched *sched);

/* Finds out whether nodes are deferred. Later additions update that. */
void queue_look_later(struct sched *sched);

/* Whether this sweep and the next one are empty. */
static inline bool queue_has_no_sweep(const struct sched *sched)
{
    return sched->single == NULL && bucket_queue_is_empty(&sched->queues[0]) &&
           bucket_queue_is_empty(&sched->queues[1]);
}

/* Whether nothing could run now. */
static inline bool queue_is_empty(const struct sched *sched)
{
    return queue_has_no_sweep(sched) &&
           list_is_empty(&sched->idle_materializers);
}

/* When the first gated node is eligible. */
mono_ms queue_next_wake(const struct sched *sched);

#endif
