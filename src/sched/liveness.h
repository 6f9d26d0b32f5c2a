/* Demand: which nodes are live.
 *
 *   liveness-1  live_refs of a node is the number of overlaps between its
 *               outputs and the read links of live nodes.
 *   liveness-2  A node is live iff it is a root (an effect, a materializer,
 *               provisionally demanded, demanded from outside), or a live node
 *               outside its own cycle reads from it, or another member of its
 *               cycle is live. Members of a cycle do not keep each other alive.
 *
 * Without cycles, the count is exact. A cycle is examined as one component:
 * strongly connected nodes are live together or not at all. */

#ifndef SCHED_LIVENESS_H
#define SCHED_LIVENESS_H

#include "sched/core.h"

/* A link of a live reader starts or stops overlapping an output. */
void liveness_grant(struct sched *sched, struct node *writer);
void liveness_withdraw(struct sched *sched, struct node *writer);

/* The node has just become a root, or ceased to be one. */
void liveness_root_gained(struct sched *sched, struct node *node);
void liveness_root_lost(struct sched *sched, struct node *node);

/* After a change of its component: whether it still has a reason to be live. */
void liveness_reconsider(struct sched *sched, struct node *node);

/* Checks the definition for all registered nodes: for tests. */
bool liveness_check(struct sched *sched);

#endif
