/* The outbox: external calls to make once a commit has landed.
 *
 *   outbox-1  A call is made once, after the commit that asked for it has
 *             landed; never, if it did not land.
 *   outbox-2  The calls of one transaction are made in the order of asking.
 *             Those of transactions whose first commits went to the same space
 *             are made in the order of these commits: one without a verdict
 *             delays the later ones of its space, and only those.
 *   outbox-3  Calls are made from a step, never inside a run or a transaction,
 *             so they may do anything except step.
 *
 * A process that ends between the landing and the call does not make it. A
 * program that needs more looks for its receipt after a restart. */

#ifndef SCHED_OUTBOX_H
#define SCHED_OUTBOX_H

#include "sched/lineage.h"

/* Queues the calls of a record that was just applied. */
void outbox_add(struct sched *sched, struct lineage *lineage);

/* Makes the calls that are ready. True if there was one. */
bool outbox_flush(struct sched *sched);

/* Whether a call is ready; whether one waits at all. */
bool outbox_is_ready(const struct sched *sched);
bool outbox_is_empty(const struct sched *sched);

void outbox_free(struct sched *sched);

#endif
