/* Demand: who is looked at.
 *
 *   L1  live_refs of a node is the number of overlaps between its outputs and
 *       the read links of live nodes.
 *   L2  A node is live iff it is a root (an effect, a materializer,
 *       provisionally demanded, demanded from outside), or a live node outside
 *       of its own cycle reads from it, or one of its cycle is live. Members
 *       of a cycle do not keep each other alive.
 *
 * A count is exact without cycles. Where there is one, its component is looked
 * at as a whole: strongly connected nodes are live together or not at all. */

#ifndef SCHED_LIVENESS_H
#define SCHED_LIVENESS_H

#include "sched/core.h"

/* A link of a live reader begins or ends to overlap an output. */
void liveness_grant(struct sched *sched, struct node *writer);
void liveness_withdraw(struct sched *sched, struct node *writer);

/* The node became a root just now, or has just ceased to be one. */
void liveness_root_gained(struct sched *sched, struct node *node);
void liveness_root_lost(struct sched *sched, struct node *node);

/* After a change of its component: whether it still has a reason to live. */
void liveness_reconsider(struct sched *sched, struct node *node);

/* The definition, from scratch, for all registered nodes: for tests. */
bool liveness_check(struct sched *sched);

#endif
