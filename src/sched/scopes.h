/* Scopes flow from what a computation reads to what it writes.
 *
 * A document has one instance for the space, or one per user, or one per
 * session (value/address.h). What was computed from one user's data must not
 * reach a document that other users read:
 *
 *   scopes-1  A run of a computation that read a narrower document than those
 *             of the space writes to no wider one. What it writes as a whole to
 *             one of its outputs goes to the instance of that output in the
 *             narrowest scope that it read. Any other write to a wider document
 *             fails the run.
 *   scopes-2  The wider instances then hold a *scope link*: a link to the next
 *             narrower instance of the same document, the space's to the
 *             user's, the user's to the session's. It has no data. Each reader
 *             of the output follows it to its own instance, like any link, and
 *             so has read a narrow document itself: scopes flow on.
 *   scopes-3  Whether the space's instance is a value or a scope link depends
 *             on shared data only: up to its first narrow read, a run does the
 *             same for all users. So all users' runs agree on it, and a run
 *             that reads nothing narrow any more puts the value back.
 *   scopes-4  A narrow run has a narrow read among its reads for scheduling. If
 *             it has made none (it only sampled), it is one of its own output.
 *             So what the store is told of it is told of the user
 *             (proto/observation.h, O2), never of all.
 *
 * Effects and handlers write where they are told to. */

#ifndef SCHED_SCOPES_H
#define SCHED_SCOPES_H

#include "sched/runner.h"

/* Before the end of a run of a computation: if it has read narrow documents,
 * its writes go where scopes-1 says. RUN_DONE, or how the run ends instead. */
COLD enum run_result scopes_flow(struct run *run);

/* Writes scope links to the wider instances of a document, the one given
 * included, so that they lead to the instance in `scope`; *out is the payload
 * of that, new. */
MUST_CHECK enum err scopes_lead(struct transaction *transaction,
                                struct entity *entity,
                                enum scope scope,
                                struct place **out,
                                struct err_detail *detail);

/* The payload, new, of the instance of a document that belongs to what a
 * transaction has read so far: that of its narrowest scope. */
MUST_CHECK enum err scopes_own(const struct transaction *transaction,
                               const struct entity *entity,
                               struct place **out,
                               struct err_detail *detail);

/* A read in a run (run_read) that follows scope links and no others; *at is
 * where the value is, new. */
MUST_CHECK enum err scopes_read(struct run *run,
                                struct place *place,
                                struct value *out,
                                struct place **at);

/* Whether a value is a scope link. */
bool scopes_is_link(struct value value);

/* The instance that a document's payload leads to by scope links, as far as
 * they are here. */
struct entity *scopes_instance(struct entity *entity);

#endif
