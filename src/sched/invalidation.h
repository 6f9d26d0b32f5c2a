/* Invalidation: from a change to the nodes that see it.
 *
 * The only subscriber of the change channel. A read sees a change iff its
 * result differs (docs/spec/values-and-conflicts.md, reading-1):
 *
 *   invalidation-1  Two containers are compared part by part. If only one side
 *                   is a container, everything below it was reachable on that
 *                   side only, and so has changed. If neither is, nothing below
 *                   was ever reachable.
 *   invalidation-2  A deep read sees any difference of the values, a shape read
 *                   a difference of shape.
 *   invalidation-3  A commit or a remote change does not wake the node that
 *                   wrote it, and a commit does not wake nodes of its change
 *                   group. A revert wakes every reader.
 *   invalidation-4  Nothing transitive happens, and nothing runs: a node that
 *                   sees a change becomes invalid, with the place among its
 *                   causes, once.
 *
 * The walk descends only where there are both a reader and a difference. */

#ifndef SCHED_INVALIDATION_H
#define SCHED_INVALIDATION_H

#include "sched/core.h"

/* Subscribes, and unsubscribes. */
void invalidation_begin(struct sched *sched);
void invalidation_end(struct sched *sched);

/* The hooks have changed. A hook for reads that are compared needs every change
 * as a notification. */
void invalidation_follow_hooks(struct sched *sched);

/* Makes a node invalid for a cause of its own: a place, or NULL. */
void invalidation_mark(struct sched *sched,
                       struct node *node,
                       struct place *place,
                       uint64_t version);

/* The same for a waiting node that is marked later: keeps the cause until
 * then. */
void invalidation_keep_cause(struct node *node,
                             struct place *place,
                             uint64_t version);

/* A node has to run, again or for the first time, without a new cause: its
 * commit was refused, or a caller asked for it. */
void invalidation_mark_again(struct sched *sched, struct node *node);

/* Drops the causes. */
void invalidation_clear_causes(struct node *node);
void invalidation_release_causes(struct node *node); /* and frees their
                                                        memory */

/* Drops causes that arrived while the node ran, but before it read the place:
 * the run has seen them. Called with the reads of that run. */
void invalidation_drop_seen(struct node *node);

/* Finds what changed while a node was detached, by comparing versions. */
void invalidation_rebuild_causes(struct sched *sched, struct node *node);

#endif
