/* Nodes that wait for documents: those that returned RUN_WAITING
 * (sched/runner.h), and those that are held (sched/fetching.h).
 *
 * A node stays in sched->waiting until all of its documents are here, and no
 * writer of what it reads waits. Then it has to run, as before. Nodes that wait
 * only for each other are released together. */

#ifndef SCHED_WAITING_H
#define SCHED_WAITING_H

#include "sched/core.h"

/* Whether a node can be released; and releases all that can. */
bool waiting_can_wake(const struct sched *sched);
void waiting_wake(struct sched *sched);

/* Whether all documents that the node needs are here; and whether, in addition,
 * no node that it reads from waits. */
bool waiting_has_documents(const struct sched *sched, const struct node *node);
bool waiting_has_come(const struct sched *sched, const struct node *node);

/* The node need not run any more, if it waits at all. */
void waiting_stop(struct sched *sched, struct node *node);

/* The node is removed. */
void waiting_forget(struct sched *sched, struct node *node);

#endif
