/* Handling one event: a transaction, its commit, and the verdict of the store.
 *
 *   handling-1  A handling is one transaction, all or nothing: what the handler
 *               wrote, its receipt (events-4), and the condition that its
 *               origin has landed (lineage-4).
 *   handling-2  Reads are up to date, as those of a run (runner-2). If a pure
 *               handler has read something that cannot be refreshed now, the
 *               attempt ends before its commit, even if it has failed, and the
 *               event waits until that is possible.
 *   handling-3  A refused commit is judged by the class of the refusal only:
 *
 *         retry      tried again, at its place in the lane, after a delay that
 *                    doubles, within a window; then NOT_CONVERGED
 *         permanent  dropped
 *         terminal   failed
 *         fault      failed
 *
 *   handling-4  A handler that fails is not called again for the event. */

#ifndef SCHED_HANDLING_H
#define SCHED_HANDLING_H

#include "sched/events.h"
#include "sched/runner.h"

struct handling {
    struct sched *sched;
    struct event *event;
    struct run *run;     /* for run_read and run_fail; its transaction takes
                            writes and launches */
    struct value result; /* absent: {} */
    uint32_t documents;  /* ids created so far */
};

/* -- For handlers -------------------------------------------------------- */

static inline struct transaction *handling_transaction(
    const struct handling *handling)
{
    return handling->run->transaction;
}

/* The stream of the event, borrowed. */
struct place *handling_stream(const struct handling *handling);

struct value handling_payload(const struct handling *handling); /* borrowed */
uint32_t handling_attempt(const struct handling *handling);     /* from 1 */

/* Sets what the receipt will hold. Adopts the value. */
void handling_return_adopt(struct handling *handling, struct value value);

/* An id for a document that this handling creates, new: "of:...". The n-th id
 * is the same at every attempt, here and in other processes. */
struct value handling_new_id(struct handling *handling);

/* Sends from inside the handling: spec->origin is its transaction. */
MUST_CHECK enum err handling_send(struct handling *handling,
                                  struct stream *stream,
                                  const struct event_spec *spec,
                                  struct err_detail *detail);

/* -- For events ---------------------------------------------------------- */

/* Handles an event that is ready. */
void handling_begin(struct sched *sched, struct event *event);

/* Ends a run that belongs to a handling. */
void handling_finish(struct run *run, enum run_result result);

/* Looks for the receipts of events that were refused because they had been
 * handled before. */
void handling_look_for_receipts(struct sched *sched);
bool handling_has_found(const struct sched *sched);

#endif
