/* Computations on the view of an open transaction.
 *
 * A handler or an edit that reads a computation after it has written one of its
 * inputs gets the value that the computation has with those writes. A run
 * cannot give it: runs see what was committed. So the function of the
 * computation is called on the transaction itself, for that read.
 *
 *   evaluation-1  Before a read of such a transaction returns, every
 *                 computation that it depends on, over any number of others,
 *                 and whose reads look different on the view of the
 *                 transaction has been evaluated, inputs first. For an edit,
 *                 which brings nothing up to date, so has every computation
 *                 that is stale.
 *   evaluation-2  What an evaluation writes goes to the scratch of the
 *                 transaction (T8 of replica/transaction.h): it is seen by
 *                 the transaction until its next write, and never committed.
 *   evaluation-3  What an evaluation reads is read by the transaction: its
 *                 commit depends on it.
 *   evaluation-4  Nothing else remains: no read link, no statistics, no
 *                 record, no node that the function has registered, nothing
 *                 that it wanted done outside.
 *   evaluation-5  A read that cannot be evaluated fails, with the computation
 *                 and the reason, and so does a read of what depends on it. It
 *                 never returns what was stored before.
 *   evaluation-6  A computation is evaluated only when the documents that it
 *                 read last and those that it writes are available. Otherwise
 *                 they are requested, for everything that depends on it as
 *                 well, and the transaction waits (T9).
 *   evaluation-7  When a run or a handling has to wait that goes over an array
 *                 of links (replica/ahead.h), the computations are evaluated
 *                 that it will probably read next and that have to run, each in
 *                 a transaction of its own that is thrown away. So the
 *                 documents that they need are requested together, and not for
 *                 each element when the code gets there. They run only when it
 *                 does. */

#ifndef SCHED_EVALUATION_H
#define SCHED_EVALUATION_H

#include "sched/runner.h"

/* For a read by a run: whether evaluation-1 is to be seen to. */
static inline bool evaluation_is_due(const struct run *run)
{
    return run->view != NULL ||
           (run->handling != NULL && !run->transaction->unwritten);
}

/* Evaluates what the read depends on. OK; STALE: this cannot be known now;
 * GIVEN_UP (evaluation-5): sched->evaluation.error says why. */
MUST_CHECK enum err evaluation_for_read(struct run *run,
                                        struct place *place,
                                        enum read_kind kind);

/* The same for a read of a transaction without its run: that of an edit, or of
 * the handling or evaluation under way. OK for any other. */
MUST_CHECK enum err evaluation_for_look(struct sched *sched,
                                        struct transaction *transaction,
                                        struct place *place,
                                        enum read_kind kind);

/* evaluation-7, before the transaction of the run ends. */
COLD void evaluation_ahead(struct run *run);

/* The node goes. */
void evaluation_forget(struct sched *sched, const struct node *node);

#endif
