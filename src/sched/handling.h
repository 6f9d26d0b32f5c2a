/* Handling one event: a transaction, its commit, and what the store says.
 *
 *   Z1  A handling is one transaction: what the handler wrote, its receipt
 *       (V4) and the condition that its origin has landed (N4), or nothing.
 *   Z2  Reads are up to date, as those of a run (R2). What a pure handler has
 *       read that could not be brought up to date now ends the attempt before
 *       its commit, also if it has failed, and the event waits until it can.
 *   Z3  A commit that is refused is judged by the class of the refusal and
 *       nothing else:
 *
 *         retry      tried again, at its place in the lane, after a delay that
 *                    doubles, inside a window; then NOT_CONVERGED
 *         permanent  dropped
 *         terminal   failed
 *         fault      failed
 *
 *   Z4  A handler that fails is not called again for the event. */

#ifndef SCHED_HANDLING_H
#define SCHED_HANDLING_H

#include "sched/events.h"
#include "sched/runner.h"

struct handling {
    struct sched *sched;
    struct event *event;
    struct run *run;     /* for run_read, run_fail; its transaction is for
                            writes and for what is launched */
    struct value result; /* absent: {} */
    uint32_t documents;  /* ids made so far */
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

/* What the receipt will hold. Adopts the value. */
void handling_return_adopt(struct handling *handling, struct value value);

/* Ids for documents that this handling creates, new: the n-th is the same at
 * every attempt, here and elsewhere. "of:..." */
struct value handling_new_id(struct handling *handling);

/* Sends from inside the handling: spec->origin is its transaction. */
MUST_CHECK enum err handling_send(struct handling *handling,
                                  struct stream *stream,
                                  const struct event_spec *spec,
                                  struct err_detail *detail);

/* -- For events ---------------------------------------------------------- */

/* Handles the event, which can be handled now. */
void handling_begin(struct sched *sched, struct event *event);

/* The end of a run that belongs to a handling. */
void handling_finish(struct run *run, enum run_result result);

/* Those that were refused because they had been handled before: their
 * receipts may have come. */
void handling_look_for_receipts(struct sched *sched);
bool handling_has_found(const struct sched *sched);

#endif
