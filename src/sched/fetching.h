/* Fetching: the documents of a restored node, before it runs.
 *
 * A node that was restored (sched/persistence.h), or whose last run was
 * somebody else's, is clean without any of its documents: they are hollow
 * (replica/entity.h), and most of them will never be needed. But a run needs
 * what it reads, to read it, and what it writes, so that its readers see what
 * is different there and nothing else.
 *
 *   U1  A node that is `hollow` does not run before every document is here that
 *       it reads, as far as that is known, or writes.
 *   U2  Until then it is held: it stays as stale as it was, and is among those
 *       that wait (sched/runner.h). Whoever reads from it, over any number of
 *       others, is `behind` it and is held as well, should it be stale: so
 *       nodes run in the order in which they would have run with everything
 *       here, and as often. The same goes for who has read a document that is
 *       still to come.
 *   U3  With its documents those are asked for that its readers need, and
 *       theirs, as far as they are hollow and somebody looks: FETCHING_AHEAD
 *       nodes, and twice as many each time if that was not far enough. So a
 *       chain of any length costs few questions, and a change that ends soon
 *       few documents.
 *
 * A node that has run is not hollow any more, and costs nothing here. */

#ifndef SCHED_FETCHING_H
#define SCHED_FETCHING_H

#include "sched/core.h"

enum {
    FETCHING_AHEAD = 64
};

/* The node has reads, or writes, that may be hollow. */
void fetching_note(struct node *node);

/* A document that it needs and that is not here, by a place in it; or NULL. */
struct place *fetching_missing(const struct node *node);

/* U1 and U2, for a node that is hollow or behind, and about to run: whether it
 * cannot. If it can, it is hollow no more. `ahead`: U3, too. */
COLD bool fetching_holds(struct sched *sched, struct node *node, bool ahead);

/* U2: who is behind a node that waits for documents; nobody is behind anybody;
 * and what is to be forgotten when a node goes. */
void fetching_mark(struct sched *sched, const struct node *node);
void fetching_unmark_all(struct sched *sched);
void fetching_forget(struct sched *sched, struct node *node);

#endif
