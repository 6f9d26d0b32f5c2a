/* Invalidation: from a change to the nodes that see it.
 *
 * The one subscriber of the change channel. A read sees a change iff what it
 * would give is different (docs/spec/values-and-conflicts.md, reading-1):
 *
 *   X1  Of two containers, what is below is compared part by part. If only one
 *       side is a container, everything below it was reachable on one side
 *       only, and so is seen. If neither is, nothing below was ever reachable.
 *   X2  A deep read sees any difference of the values, a shape read a
 *       difference of shape.
 *   X3  A commit or a remote change does not wake the node that wrote it, nor
 *       a commit those of its change group. A revert wakes everybody.
 *   X4  Nothing transitive happens, and nothing runs: a node that sees a
 *       change becomes invalid with the place among its causes, once.
 *
 * The walk goes only where both a reader and a difference are. */

#ifndef SCHED_INVALIDATION_H
#define SCHED_INVALIDATION_H

#include "sched/core.h"

/* Subscribes, and unsubscribes. */
void invalidation_begin(struct sched *sched);
void invalidation_end(struct sched *sched);

/* The hooks are others now: who wants to know of every read that is looked at
 * is told of every change by a notification. */
void invalidation_follow_hooks(struct sched *sched);

/* Makes a node invalid for a reason of its own: a place, or NULL. */
void invalidation_mark(struct sched *sched,
                       struct node *node,
                       struct place *place,
                       uint64_t version);

/* The same for a node that waits and is to be marked later: the cause is kept
 * for then. */
void invalidation_keep_cause(struct node *node,
                             struct place *place,
                             uint64_t version);

/* A node that never ran, or ran, has to run again without a new cause: its
 * commit was refused, or somebody asked. */
void invalidation_mark_again(struct sched *sched, struct node *node);

/* Forgets the causes. */
void invalidation_clear_causes(struct node *node);
void invalidation_release_causes(struct node *node); /* and their room */

/* Forgets causes that came while the node ran, but before it read the place:
 * it has seen them. Called with the reads of that run. */
void invalidation_drop_seen(struct node *node);

/* What changed while a node was detached, told from the versions. */
void invalidation_rebuild_causes(struct sched *sched, struct node *node);

#endif
