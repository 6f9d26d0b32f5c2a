/* The outbox: what is to be done outside once a commit has landed.
 *
 *   X1  A call is made once, after the commit that asked for it has landed;
 *       never, if it did not.
 *   X2  Calls of one transaction are made in the order in which they were
 *       asked for, and those of transactions whose first commit went to the
 *       same space in the order of those commits: one that has no answer yet
 *       holds up the later ones of its space, and only them.
 *   X3  They are made from a step, never inside a run or a transaction, so
 *       they may do what they want; but not step.
 *
 * A process that ends between the landing and the call does not make it: who
 * needs more than that looks for his receipt when he comes back. */

#ifndef SCHED_OUTBOX_H
#define SCHED_OUTBOX_H

#include "sched/lineage.h"

/* Queues the calls of a record that was just applied. */
void outbox_add(struct sched *sched, struct lineage *lineage);

/* Makes the calls that can be made. True if there was one. */
bool outbox_flush(struct sched *sched);

/* Whether a call could be made now; whether one waits at all. */
bool outbox_is_ready(const struct sched *sched);
bool outbox_is_empty(const struct sched *sched);

void outbox_free(struct sched *sched);

#endif
