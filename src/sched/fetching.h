/* Fetching: the documents of a restored node, before it runs.
 *
 * A node that was restored (sched/persistence.h), or whose last run was a
 * peer's, is clean without any of its documents: they are unloaded
 * (replica/entity.h), and most of them will never be needed. But a run needs
 * the documents that it reads. It also needs those that it writes, so that
 * readers see only the difference.
 *
 *   fetching-1  A `unloaded` node does not run until every document that it
 *               writes, or is known to read, is here.
 *   fetching-2  Until then it is held: it stays as stale as it was, and waits
 *               (sched/runner.h). Its dependents, direct or not, are `behind`
 *               it and are held as well if they are stale. So nodes run in the
 *               order, and as often, as if all documents were here. The same
 *               holds for nodes that have read a document which has not
 *               arrived.
 *   fetching-3  The documents of its readers, and of their readers, are
 *               requested together with its own, as far as they are unloaded
 *               and live: for FETCHING_AHEAD nodes, and twice as many each time
 *               that was too few. So a chain of any length needs few requests,
 *               and a change that ends soon needs few documents.
 *
 * A node that has run is not unloaded, and costs nothing here. */

#ifndef SCHED_FETCHING_H
#define SCHED_FETCHING_H

#include "sched/core.h"

enum {
    FETCHING_AHEAD = 64
};

/* The node has reads or writes that may be unloaded. */
void fetching_note(struct node *node);

/* A document that it needs and that is not here, as a place in it; or NULL. */
struct place *fetching_missing(const struct node *node);

/* fetching-1 and fetching-2, for an unloaded or behind node that is about to
 * run: whether it must wait. If not, it is not unloaded any more. `ahead`:
 * fetching-3 as well. */
COLD bool fetching_holds(struct sched *sched, struct node *node, bool ahead);

/* fetching-2: marks the nodes behind a node that waits for documents; clears
 * all marks; and forgets a node that is removed. */
void fetching_mark(struct sched *sched, const struct node *node);
void fetching_unmark_all(struct sched *sched);
void fetching_forget(struct sched *sched, struct node *node);

#endif
