/* Time gates: when a node may run.
 *
 *   debounce   quiet time after a change. A computation's first run is not
 *              delayed, unless its parent created it just now; an effect's is.
 *              Every change moves the end, but not beyond the longest wait
 *              after the first: as given, or so many windows
 *              (SCHED_DEBOUNCE_STRETCH) and at least a second.
 *   throttle   distance from the end of the last run.
 *   backoff    after a pass in which the node did not settle.
 *   peer       somebody else is about to run it (sched/persistence.h, P9). Who
 *              reads what it writes does not wait for that.
 *
 *   T1  eligible_at is the greatest of the four; nothing else delays a run.
 *   T2  Asking arms nothing. A gate is armed by an invalidation, when the
 *       scheduler next knows the time.
 *   T3  A policy (auto-debounce) belongs to the node, not to its name.
 *   T4  A debounce or a throttle is no reason for a wrong answer. It does not
 *       apply to a node that an immediate effect reads from, directly or
 *       through others, as long as that effect is registered; nor to any node
 *       of an immediate scheduler.
 *   T5  A debounce counts changes while the node is live. A dormant computation
 *       that is demanded runs at once, however recent the change is. */

#ifndef SCHED_GATES_H
#define SCHED_GATES_H

#include "sched/core.h"

mono_ms gates_eligible_at(const struct node *node);

/* The same for somebody who needs it now: without the peer. */
mono_ms gates_needed_at(const struct node *node);

/* It waits for a peer until then, as it is or because of what it reads; the
 * first time stays. Or it does not any more. */
void gates_wait_for_peer(struct sched *sched, struct node *node, mono_ms until);
void gates_end_peer(struct sched *sched, struct node *node);

/* The node was invalidated, or registered. */
void gates_on_invalid(struct sched *sched, struct node *node);

/* The node is dormant now, and in no queue (T5). */
void gates_on_sleep(struct node *node);

/* The end of the debounce and the throttle of a node that has a gate; and of
 * those of every node that T4 is about. */
void gates_open(struct sched *sched, struct node *node);
void gates_open_needed(struct sched *sched);

/* Arms what was invalidated since the last time, at sched->now. */
void gates_rearm(struct sched *sched);

/* The node is clean after all: what was to be armed is not. */
void gates_disarm(struct node *node);

/* A run ended at sched->now after `busy_ms`. */
void gates_end_run(struct node *node); /* the rest of it */
static inline void gates_on_run(const struct sched *sched,
                                struct node *node,
                                mono_ms busy_ms)
{
    node_add_busy(node, busy_ms);
    node->last_ms = (uint32_t)busy_ms;
    node->ended_at = sched->now + busy_ms;
    if (UNLIKELY(node->gate != NULL ||
                 node->busy_ms >= node->runs * SCHED_AUTO_MS)) {
        gates_end_run(node);
    }
}

/* The node did not settle: 250 ms, 500 ms, ... */
void gates_back_off(struct sched *sched, struct node *node);
static inline bool gates_is_backing_off(const struct node *node)
{
    return node->gate != NULL && node->gate->backoff_streak > 0;
}

/* It did. */
void gates_settled(struct sched *sched, struct node *node);

/* What keeps it from running now, as a word, or NULL. */
const char *gates_reason(const struct node *node, mono_ms now);

/* Whether idle waits for this gated node. */
bool gates_holds_idle(const struct node *node, mono_ms now);

void gates_set_debounce(struct sched *sched, struct node *node, mono_ms window);
void gates_set_throttle(struct sched *sched, struct node *node, mono_ms window);
void gates_clear(struct sched *sched, struct node *node); /* all of them */

void gates_free(struct sched *sched, struct node *node);

#endif
