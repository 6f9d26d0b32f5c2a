/* Durable events: events that the store keeps until they are handled.
 *
 * An event that a handler or an effect sends is part of the commit of that
 * handling or run: a document that holds the event (proto/event.h), in the
 * space of the handler or, of an effect, in that of its record. The commit
 * of the event's own handling replaces the document by the receipt. So a crash
 * at any point loses no event, and none is handled twice. Between the two
 * commits the event is in memory as ever, and need not wait for the disk.
 *
 *   durable-1  An event is stored iff a handler or an effect sends it, or it
 *              is queued (durable_queue), and the space has a store. The record
 *              of an effect's run (sched/persistence.h) is in the same commit:
 *              what was sent is stored, and the effect clean, or neither.
 *   durable-2  A handling of a stored event lands only while the store holds
 *              the event: the condition "event-waiting" (proto/commit.h).
 *   durable-3  When the event ends, its document becomes one of: the receipt; a
 *              note that the receipt is elsewhere; the reason why the handler
 *              failed, or that the place is not a stream and never will be
 *              (events_no_owner). An event that ends for any other reason (the
 *              runtime is closed, nothing here can handle it, repeated
 *              conflicts) stays stored, for the next runtime.
 *   durable-4  A runtime takes up the events that another one has left
 *              (durable_take_up). Each stored event is in a runtime at most
 *              once until its end has landed, so a handler that failed is not
 *              called again. */

#ifndef SCHED_DURABLE_H
#define SCHED_DURABLE_H

#include "sched/events.h"

struct event_timed;
struct events;
struct stored_event;

/* Whether the run of an effect is under way in that transaction. */
bool durable_is_of_effect(const struct sched *sched,
                          const struct transaction *origin);

/* Writes the event into the transaction that sends it (durable-1). The event
 * has its id. */
MUST_CHECK enum err durable_store(struct event *event,
                                  struct transaction *origin,
                                  struct err_detail *detail);

/* Writes the event again: its payload has changed. */
MUST_CHECK enum err durable_restore(struct event *event,
                                    struct transaction *origin,
                                    struct err_detail *detail);

/* Stores an event that comes from outside, in a commit of its own. The event
 * ends with the verdict. On an error, it is gone. */
MUST_CHECK enum err durable_queue(struct event *event,
                                  struct err_detail *detail);

/* Adds to the handling's commit what becomes of the stored event; `receipt` is
 * the document that replaces it. Adopts `receipt`. If the event is stored in
 * another space, the receipt names it: until that space has been told, the
 * event may be taken up there again, and the store must know
 * (store/retention.h). */
MUST_CHECK enum err durable_handle_adopt(struct event *event,
                                         struct transaction *transaction,
                                         struct value receipt,
                                         struct err_detail *detail);

/* The event ends (durable-3). */
void durable_end(struct event *event,
                 enum event_outcome outcome,
                 const struct err_detail *why);

/* Commits the ends since the last call. Not while the replica delivers a
 * notification. */
void durable_flush(struct sched *sched);

/* The document of a space that holds, or will hold, an event; new. */
struct place *durable_document(struct space *space, struct value id);

/* The id of the document that holds the event; new. */
struct value durable_document_of(const struct event *event);

/* The event leaves this runtime. */
void durable_forget(struct event *event);

/* Called when all events have left. */
void durable_release(struct events *events);

/* The id of the document that holds the last event sent by an open transaction,
 * new; absent if that event is not stored. */
struct value durable_last_sent(struct sched *sched, struct transaction *origin);

/* -- For the runtime ----------------------------------------------------- */

/* Whether the event stored in that document is in this runtime: it waits, is
 * being handled, or its end has not landed yet. */
bool durable_is_here(const struct sched *sched,
                     struct space *space,
                     struct value id);

/* Whether a handler is here whose stream has that id; an absent id has none. */
bool durable_has_sender(const struct sched *sched,
                        struct space *space,
                        struct value stream);

/* Called before the first event is stored. */
void durable_on_first(struct sched *sched, void (*first)(void *ctx), void *ctx);

/* Takes up the event stored in that document, for a stream of this runtime
 * (durable-4). The event must not be here yet. */
void durable_take_up(struct sched *sched,
                     struct space *space,
                     struct value id,
                     struct stream *stream,
                     const struct stored_event *stored);

/* The same for a timer (sched/timers.h). Adopts `timed`. */
void durable_take_up_timed(struct sched *sched,
                           struct space *space,
                           struct value id,
                           struct stream *stream,
                           const struct stored_event *stored,
                           struct event_timed *timed);

#endif
