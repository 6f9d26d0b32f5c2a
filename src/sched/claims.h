/* Claims: what the commit of a handler or an edit asserts about the
 * computations that it has read.
 *
 * A computation was current when it was read. It must still be current when the
 * commit lands: meanwhile another session may have changed an input of it, or
 * of a computation that it reads from, and no process may have run it since.
 *
 *   claims-1  If a node here writes something that the transaction has read,
 *             the commit claims its view (transaction-10 of
 *             replica/transaction.h). If another session has committed
 *             something that is watched here, the store refuses it.
 *   claims-2  The attempt after a refusal names every read of every node that
 *             leads to what was read, so only a change of those refuses it. So
 *             it makes progress even if other sessions commit all the time.
 *   claims-3  Nodes of pieces that do not run here do not count: their stored
 *             outputs are values like any other.
 *
 * Runs of computations claim nothing: if an input changes, they run again. */

#ifndef SCHED_CLAIMS_H
#define SCHED_CLAIMS_H

#include "sched/core.h"

enum {
    CLAIMS_MAX = 50 * 1000, /* inputs in one commit; with more, every attempt
                               claims the view */
};

/* Called before the commit. `self` is the node of a handler, or NULL.
 * `precise`: as after a refusal, because there will be no other attempt. STALE:
 * a document has to be loaded first, and was requested. */
MUST_CHECK enum err claims_add(struct sched *sched,
                               struct node *self,
                               struct transaction *transaction,
                               bool precise,
                               struct err_detail *detail);

#endif
