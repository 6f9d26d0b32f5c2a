/* Stored events: taking up events that wait in the stores.
 *
 * The store keeps a handler's events until they are handled (sched/durable.h).
 * Usually the runtime that sent them handles them. If it has ended, or only
 * queued them, another runtime takes them up.
 *
 *   stored-1  A runtime takes up an event if it has the handler of its stream,
 *             or the handler that sent it, or the piece of the effect that did
 *             (then the piece of the stream is started, as for any event:
 *             runtime/owner.h), and if it is of the same user: what the handler
 *             reads may be the user's own.
 *   stored-2  An event of a runtime that is at work is left to it. That is
 *             looked at again after STORED_AGAIN_MS.
 *   stored-3  They are taken up in the order in which they were sent, before
 *             anything that is sent later in this runtime.
 *   stored-4  The stores are asked when a handler is registered, when this
 *             runtime has queued an event, and when a commit of another runtime
 *             has landed; not otherwise.
 *   stored-5  A timer (sched/timers.h) is taken up when it is due, by any
 *             runtime that has its handler, whichever runtime set it. The store
 *             is asked when the earliest known timer is due. A timer that was
 *             set elsewhere and is due earlier than the last one checked is
 *             seen within STORED_AGAIN_MS.
 *   stored-6  Due times are of the wall clock, which can be adjusted. While a
 *             timer waits, the clock is checked every `trusted` ms.
 *   stored-7  An event for a place that is not a stream and never will be
 *             (owner-4 of runtime/owner.h) is taken up as soon as the piece of
 *             the place runs here. The event ends, and the reason is reported.
 *   stored-8  Timers are taken up in the order of their due times, then of
 *             their creation. So while a tick is handled whose next tick is due
 *             as well (MISSED_ALL of runtime/timer.h), no timer behind that
 *             next tick is taken up. */

#ifndef RUNTIME_STORED_EVENTS_H
#define RUNTIME_STORED_EVENTS_H

#include "base/err.h"
#include "base/host.h"
#include "base/vec.h"
#include "value/value.h"

struct runtime;
struct space;

enum {
    STORED_AGAIN_MS = 1000,
    STORED_PAGE = 1000, /* events per query */
};

/* A stored event: the number of its document, in the order of sending, and the
 * document. Borrowed for the call. */
typedef void stored_event_fn(void *ctx,
                             uint64_t number,
                             struct value id,
                             struct value document);

/* Where a list of timers continues: behind this time and number. */
struct timer_position {
    uint64_t due;
    uint64_t number;
};

struct zone;

/* Provided by the host. */
struct stored_events_source {
    /* The waiting events of a space above a number, in order, at most
     * STORED_PAGE. False: they cannot be read now and are asked for again. */
    bool (*list)(void *ctx,
                 struct space *space,
                 uint64_t after,
                 stored_event_fn *found,
                 void *found_ctx);

    /* The timers of a space behind a position that are due at `until`, in
     * order, at most STORED_PAGE; and when the next timer after those is due,
     * or TIMERS_NEVER. False as above. */
    bool (*timers)(void *ctx,
                   struct space *space,
                   struct timer_position after,
                   uint64_t until,
                   stored_event_fn *found,
                   void *found_ctx,
                   uint64_t *next);

    /* The timers of a space whose ids begin with a text, in no order. */
    enum err (*named)(void *ctx,
                      struct space *space,
                      struct value prefix,
                      stored_event_fn *found,
                      void *found_ctx,
                      struct err_detail *detail);

    /* The wall clock, in ms; how long it is trusted to go on as the monotonic
     * clock does; 0: always. */
    uint64_t (*wall)(void *ctx);
    mono_ms trusted;

    /* The time zone of that name, borrowed; NULL: *detail says why not. */
    const struct zone *(*zone)(void *ctx,
                               struct value name,
                               struct err_detail *detail);

    /* Whether the runtime of that name (events_configure) is alive. */
    bool (*is_at_work)(void *ctx, struct value instance);

    /* This runtime is about to store its first event: from now on other
     * runtimes find it alive. */
    void (*begin)(void *ctx);
    void *ctx;
};

/* A tick that is handled here: the document of its timer, and the position of
 * its next tick. */
struct timer_late {
    struct value id;
    struct timer_position next;
};

struct stored_space {
    struct space *space;
    uint64_t seen; /* events up to this number have been checked */
    bool due;
    bool is_noticed; /* a commit of another runtime has landed */
    mono_ms again;   /* stored-2; MONO_NEVER: no event was left to others */

    struct timer_position timers; /* up to here they have been checked */
    uint64_t next_due;            /* of those behind; TIMERS_NEVER: none */
    mono_ms timers_again;         /* all are checked again (stored-5) */
    mono_ms wake;                 /* for the next one, or for the clock */
    VEC(struct timer_late) late;  /* stored-8 */
};

struct stored_events {
    struct stored_events_source source; /* no `list`: there are none */
    VEC(struct stored_space) spaces;
    uint64_t registered; /* handlers, at the last complete check, */
    uint64_t queued;     /* and events */
};

void stored_events_release(struct runtime *runtime);

/* A commit of another runtime has landed in the space. */
void stored_events_notice(struct runtime *runtime, const struct space *space);

/* Takes up waiting events. Whether there were any. Outside passes. */
bool stored_events_step(struct runtime *runtime, mono_ms now);

/* Whether a step would ask the stores; and when the next one would at latest.
 */
bool stored_events_are_due(const struct runtime *runtime);
mono_ms stored_events_next_wake(const struct runtime *runtime);

/* Whether this runtime has set or seen any timer, and when the next known one
 * is due. */
bool stored_events_have_timers(const struct runtime *runtime);
mono_ms stored_events_next_timer(const struct runtime *runtime);

#endif
