/* Scopes flow from what a computation reads to what it writes.
 *
 * A document has one instance for the space, or one per user, or one per
 * session (value/address.h). What was computed from one user's data must not
 * reach a document that other users read:
 *
 *   scopes-1  A run of a computation that read a document narrower than the
 *             space's writes to no wider one. A write to a whole output goes to
 *             the instance of that output in the narrowest scope that was read.
 *             Any other write to a wider document fails the run.
 *   scopes-2  The wider instances then hold a *scope link*: a link to the next
 *             narrower instance of the same document, the space's to the
 *             user's, the user's to the session's. It has no data. Each reader
 *             of the output follows it to its own instance, like any link, and
 *             so reads a narrow document itself: scopes propagate.
 *   scopes-3  Whether the space's instance is a value or a scope link depends
 *             on shared data only: up to its first narrow read, a run does the
 *             same for all users. So all users' runs agree on it, and a run
 *             without narrow reads restores the value.
 *   scopes-4  A narrow run has a narrow read among its reads for scheduling. If
 *             it made none (it only sampled), a read of its own output is
 *             added. So the store records it for the user (proto/observation.h,
 *             observation-2), never for all.
 *
 * Effects and handlers write where they are told to. */

#ifndef SCHED_SCOPES_H
#define SCHED_SCOPES_H

#include "sched/runner.h"

/* Before the end of a run of a computation: if it has read narrow documents,
 * redirects its writes (scopes-1). RUN_DONE, or how the run ends instead. */
COLD enum run_result scopes_flow(struct run *run);

/* Writes scope links to the wider instances of a document, including the given
 * one, so that they lead to the instance in `scope`; *out is its payload,
 * new. */
MUST_CHECK enum err scopes_lead(struct transaction *transaction,
                                struct entity *entity,
                                enum scope scope,
                                struct place **out,
                                struct err_detail *detail);

/* The payload, new, of the instance of a document in the narrowest scope that a
 * transaction has read so far. */
MUST_CHECK enum err scopes_own(const struct transaction *transaction,
                               const struct entity *entity,
                               struct place **out,
                               struct err_detail *detail);

/* A read in a run (run_read) that follows scope links only; *at is the place of
 * the value, new. */
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
