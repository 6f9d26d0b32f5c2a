/* Nodes that wait for documents: those that were RUN_WAITING (sched/runner.h),
 * and those that are held (sched/fetching.h).
 *
 * A node that waits is in sched->waiting until all of its documents are here,
 * and until whoever writes what it reads waits no more. Then it has to run as
 * it had before. Those that wait for nothing but each other are let go
 * together. */

#ifndef SCHED_WAITING_H
#define SCHED_WAITING_H

#include "sched/core.h"

/* Whether there is somebody who can be let go; and letting go of all who can.
 */
bool waiting_can_wake(const struct sched *sched);
void waiting_wake(struct sched *sched);

/* Whether all documents that the node needs are here; and moreover nobody whom
 * it reads from waits. */
bool waiting_has_documents(const struct sched *sched, const struct node *node);
bool waiting_has_come(const struct sched *sched, const struct node *node);

/* It need not run any more, if it waits at all. */
void waiting_stop(struct sched *sched, struct node *node);

/* The node goes. */
void waiting_forget(struct sched *sched, struct node *node);

#endif
