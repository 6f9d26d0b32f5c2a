/* Timers: events that the store keeps until they are due.
 *
 * A timer is a stored event (sched/durable.h) with a due time. It is not in
 * memory until then: the runtime asks the store for timers that are due
 * (runtime/stored_events.h), and takes them up like any stored event.
 *
 *   timer-1  A timer is set by the commit of the transaction that sends it, or
 *            by one of its own. Its event ends as queued when that has landed.
 *   timer-2  The name of a timer stands for one timer of its stream: the next
 *            one with that name takes its place, in the same document.
 *   timer-3  A handling of a timer lands only while the store holds the very
 *            event that was taken up: not if it was replaced, cancelled, or is
 *            the next tick.
 *   timer-4  The commit that handles a tick of a repeating timer, or ends it
 *            because its handler failed, contains the next tick. The tick after
 *            that is computed from the due time, not from the time of the
 *            handling.
 *   timer-5  A timer and its stream are in one space. */

#ifndef SCHED_TIMERS_H
#define SCHED_TIMERS_H

#include "sched/events.h"

struct events;
struct stored_event;

#define TIMERS_NEVER UINT64_MAX

/* An event with a due time. */
struct event_timed {
    struct event_timer plan;
    uint64_t next;        /* if it repeats: when its next tick is due */
    struct value event;   /* as it is stored; absent: it is being set */
    struct digest digest; /* of that (timer-3) */

    /* With a name, and being set: among those of that name, on any stream of
     * its piece. */
    struct timer_group *group; /* or NULL */
    struct list_node in_group;
    struct value document; /* the id of it */
};

typedef VEC(struct value) timer_documents; /* ids, owned */

/* events_send of an event with a due time (timer-1). ARGUMENT, MISUSE: it
 * cannot be set. */
MUST_CHECK enum err timers_send(struct sched *sched,
                                struct stream *stream,
                                const struct event_spec *spec,
                                struct err_detail *detail);

/* The commit of the transaction that set it has landed. */
void timers_landed(struct event *event);

/* Cancels the timer or the stored event in the document of that id, in a
 * transaction. *was: there was one. STALE: this cannot be known
 * before the document has come; the transaction waits for it (transaction-9 of
 * replica/transaction.h). */
MUST_CHECK enum err timers_cancel(struct sched *sched,
                                  struct transaction *transaction,
                                  struct space *space,
                                  struct value document,
                                  bool *was,
                                  struct err_detail *detail);

/* Adds the documents of the timers of a group (event_timer_group) that are
 * being set here: the store need not have them yet. */
void timers_list_pending(const struct sched *sched,
                         const struct space *space,
                         struct value group,
                         timer_documents *out);

void timer_documents_release(timer_documents *documents);

/* -- For durable.c ------------------------------------------------------- */

/* The next tick of a repeating timer, as stored; new. */
struct value timers_next(const struct event_timed *timed);

void timers_free(struct event_timed *timed);

/* The scheduler ends. */
void timers_release_groups(struct events *events);

/* The condition of timer-3. */
void timers_handle(const struct event *event, struct transaction *transaction);

/* The event has ended here; the store may hold another one by now. */
void timers_end(const struct event *event,
                enum event_outcome outcome,
                enum err why);

/* -- For the runtime ----------------------------------------------------- */

/* When the first timer set here since the last call is due; or TIMERS_NEVER. */
uint64_t timers_take_earliest(struct sched *sched);
/* Whether the next tick of a timer is in flight to the store. */
bool timers_take_moving(struct sched *sched);
bool timers_are_noted(const struct sched *sched); /* whether there is one */

/* Takes up a timer that is due, as durable_take_up does; `next`: timer-4. */
void timers_take_up(struct sched *sched,
                    struct space *space,
                    struct value id,
                    struct stream *stream,
                    const struct stored_event *stored,
                    struct value document,
                    uint64_t next);

/* Moves a repeating timer to its next tick without handling this one. */
void timers_skip(struct sched *sched,
                 struct space *space,
                 struct value id,
                 struct value document,
                 uint64_t next);

#endif
