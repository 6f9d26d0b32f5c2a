/* Time gates: when a node may run.
 *
 *   debounce   quiet time after a change. The first run of a computation is not
 *              delayed, unless its parent has just created it; that of an
 *              effect is. Every change moves the end, up to a maximum wait
 *              after the first: as configured, or SCHED_DEBOUNCE_STRETCH
 *              windows and at least a second.
 *   throttle   time since the end of the last run.
 *   backoff    after a pass in which the node did not converge.
 *   peer another runtime is about to run it (sched/persistence.h,
 *   persistence-9).
 *              Does not delay a reader that needs the node now.
 *
 *   gates-1  eligible_at is the latest of the four; nothing else delays a run.
 *   gates-2  A query arms no gate. An invalidation does, as soon as the
 *            scheduler knows the time.
 *   gates-3  A policy (auto-debounce) belongs to the node, not to its name.
 *   gates-4  Debounce and throttle never cause a wrong answer. They do not
 *            apply to a node that an immediate effect reads from, directly or
 *            through others, as long as that effect is registered; nor to any
 *            node of an immediate scheduler.
 *   gates-5  A debounce counts changes while the node is live. A dormant
 *            computation that is demanded runs at once, however recent the
 *            change is. */

#ifndef SCHED_GATES_H
#define SCHED_GATES_H

#include "sched/core.h"

mono_ms gates_eligible_at(const struct node *node);

/* The same for a caller that needs the node now: ignores the peer gate. */
mono_ms gates_needed_at(const struct node *node);

/* The node waits for a peer until then, directly or because of what it reads;
 * the first deadline stays. Or it does not wait any more. */
void gates_wait_for_peer(struct sched *sched, struct node *node, mono_ms until);
void gates_end_peer(struct sched *sched, struct node *node);

/* The node was invalidated, or registered. */
void gates_on_invalid(struct sched *sched, struct node *node);

/* The node is dormant, and in no queue (gates-5). */
void gates_on_sleep(struct node *node);

/* Ends the debounce and the throttle of a node that has a gate; and those of
 * every node that gates-4 applies to. */
void gates_open(struct sched *sched, struct node *node);
void gates_open_needed(struct sched *sched);

/* Arms the gates of nodes invalidated since the last call, at sched->now. */
void gates_rearm(struct sched *sched);

/* The node is clean after all: its gate is not armed. */
void gates_disarm(struct node *node);

/* A run ended at sched->now after `busy_ms`. */
void gates_end_run(struct node *node); /* the slow path */
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

/* The node did not converge: 250 ms, 500 ms, ... */
void gates_back_off(struct sched *sched, struct node *node);
static inline bool gates_is_backing_off(const struct node *node)
{
    return node->gate != NULL && node->gate->backoff_streak > 0;
}

/* The node converged. */
void gates_settled(struct sched *sched, struct node *node);

/* Which gate is closed now, as a word, or NULL. */
const char *gates_reason(const struct node *node, mono_ms now);

/* Whether idle waits for this gated node. */
bool gates_holds_idle(const struct node *node, mono_ms now);

void gates_set_debounce(struct sched *sched, struct node *node, mono_ms window);
void gates_set_throttle(struct sched *sched, struct node *node, mono_ms window);
void gates_clear(struct sched *sched, struct node *node); /* all of them */

void gates_free(struct sched *sched, struct node *node);

#endif
