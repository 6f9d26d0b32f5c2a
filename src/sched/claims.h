/* Claims: what the commit of a handler or an edit says of computations that it
 * has read.
 *
 * The value of a computation was up to date when it was read. It must be so
 * when the commit lands, too: another session may have changed an input of the
 * computation, or of one that it reads from, and no process may have run it
 * since.
 *
 *   claims-1  If something that the transaction has read is written by a node
 *             here, its commit claims what it has in view (T10 of
 *             replica/transaction.h). If others have committed something that
 *             is watched here, the store refuses it.
 *   claims-2  The attempt after a refusal names every read of every node that
 *             leads to what was read, so it is refused only for those. It comes
 *             to an end though others commit all the time.
 *   claims-3  A node of a piece that does not run here is no node: what is
 *             stored of it is a value as any other.
 *
 * Runs of computations claim nothing: what they read is different then, and
 * they run again. */

#ifndef SCHED_CLAIMS_H
#define SCHED_CLAIMS_H

#include "sched/core.h"

enum {
    CLAIMS_MAX = 50 * 1000, /* inputs in one commit; with more, the view is
                               claimed in every attempt */
};

/* Before the commit. `self` is the node of a handler, or NULL; `precise`: as
 * after a refusal, because there will be no other attempt. STALE: something has
 * to come from the store first; it was asked for. */
MUST_CHECK enum err claims_add(struct sched *sched,
                               struct node *self,
                               struct transaction *transaction,
                               bool precise,
                               struct err_detail *detail);

#endif
