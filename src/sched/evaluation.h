/* Evaluation: computations on the view of an open transaction.
 *
 * A handler or an edit that reads a computation after writing one of its inputs
 * gets the value that follows from those writes. A run cannot provide it,
 * because runs see committed state. So the function of the computation is
 * called on the transaction itself, for that read.
 *
 *   evaluation-1  Before a read of such a transaction returns, every
 *                 computation that it depends on, directly or through others,
 *                 and whose reads differ on the view of the transaction has
 *                 been evaluated, inputs first. Edits do not refresh, so for
 *                 them stale computations are evaluated as well.
 *   evaluation-2  The writes of an evaluation go to the scratch of the
 *                 transaction (transaction-8 of replica/transaction.h): the
 *                 transaction sees them until its next write, and they are
 *                 never committed.
 *   evaluation-3  The reads of an evaluation are reads of the transaction: its
 *                 commit depends on them.
 *   evaluation-4  Nothing else remains: no read link, no statistics, no record,
 *                 no node that the function registered, no external action.
 *   evaluation-5  A read that cannot be evaluated fails with the computation
 *                 and the reason, and so does a read of anything that depends
 *                 on it. It never returns the stored value instead.
 *   evaluation-6  A computation is evaluated only when the documents that it
 *                 read last and those that it writes are here. Otherwise they
 *                 are requested, together with those of its dependents, and the
 *                 transaction waits (transaction-9).
 *   evaluation-7  If a run or a handling that iterates over an array of links
 *                 (replica/prefetch.h) has to wait, the stale computations that
 *                 it will probably read next are evaluated, each in a
 *                 transaction that is thrown away. So the documents that they
 *                 need are requested together, not one element at a time. The
 *                 computations run only when the code reads them. */

#ifndef SCHED_EVALUATION_H
#define SCHED_EVALUATION_H

#include "sched/runner.h"

/* Whether a read by this run needs evaluation-1. */
static inline bool evaluation_is_due(const struct run *run)
{
    return run->view != NULL ||
           (run->handling != NULL && !run->transaction->unwritten);
}

/* Evaluates what the read depends on. STALE: not known yet. GIVEN_UP
 * (evaluation-5): sched->evaluation.error has the reason. */
MUST_CHECK enum err evaluation_for_read(struct run *run,
                                        struct place *place,
                                        enum read_kind kind);

/* The same for a read of a transaction without its run: that of an edit, or of
 * the handling or evaluation in progress. OK for any other. */
MUST_CHECK enum err evaluation_for_look(struct sched *sched,
                                        struct transaction *transaction,
                                        struct place *place,
                                        enum read_kind kind);

/* evaluation-7, before the transaction of the run ends. */
COLD void evaluation_ahead(struct run *run);

/* The node is removed. */
void evaluation_forget(struct sched *sched, const struct node *node);

#endif
