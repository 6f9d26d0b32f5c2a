/* Stored events: taking up what waits in the stores.
 *
 * A handler's events are kept by the store until they are handled
 * (sched/durable.h). As a rule the runtime that sent them handles them. If it
 * has ended, or only queued them, another runtime takes them up.
 *
 *   stored-1  A runtime takes up an event if it has the handler of its stream,
 *             or the handler that sent it (then the piece of the stream is
 *             started, as for any event: runtime/owner.h), and if it is of the
 *             same user: what the handler reads may be the user's own.
 *   stored-2  An event of a runtime that is at work is left to it. That is
 *             looked at again after STORED_AGAIN_MS.
 *   stored-3  They are taken up in the order in which they were sent, before
 *             anything that is sent later in this runtime.
 *   stored-4  The stores are asked when a handler is registered, when this
 *             runtime has queued an event, and when something has landed that
 *             is not of this runtime; nothing is asked otherwise. */

#ifndef RUNTIME_STORED_EVENTS_H
#define RUNTIME_STORED_EVENTS_H

#include "base/host.h"
#include "base/vec.h"
#include "value/value.h"

struct runtime;
struct space;

enum {
    STORED_AGAIN_MS = 1000,
    STORED_PAGE = 1000, /* events per question */
};

/* A stored event: the number of its document, in the order of sending, and the
 * document. Borrowed for the call. */
typedef void stored_event_fn(void *ctx,
                             uint64_t number,
                             struct value id,
                             struct value document);

/* What the host knows. */
struct stored_events_source {
    /* The events of a space that wait above a number, in order, at most
     * STORED_PAGE. False: they cannot be read now; they are asked for again. */
    bool (*list)(void *ctx,
                 struct space *space,
                 uint64_t after,
                 stored_event_fn *found,
                 void *found_ctx);

    /* Whether the runtime of that name (events_configure) is at work. */
    bool (*is_at_work)(void *ctx, struct value instance);

    /* This runtime is about to store its first event: from now on
     * `is_at_work` is true of it elsewhere. */
    void (*begin)(void *ctx);
    void *ctx;
};

struct stored_space {
    struct space *space;
    uint64_t seen; /* events up to this number were looked at */
    bool due;
    mono_ms again; /* stored-2; MONO_NEVER: nothing was left to others */
};

struct stored_events {
    struct stored_events_source source; /* no `list`: there are none */
    VEC(struct stored_space) spaces;
    uint64_t registered; /* handlers, when all were looked at last, */
    uint64_t queued;     /* and events */
};

/* Something has landed in the space that is not of this runtime. */
void stored_events_notice(struct runtime *runtime, const struct space *space);

/* Takes up what is there. Whether there was any. Outside of passes. */
bool stored_events_step(struct runtime *runtime, mono_ms now);

/* Whether a step would ask; and when it would at the latest. */
bool stored_events_are_due(const struct runtime *runtime);
mono_ms stored_events_next_wake(const struct runtime *runtime);

#endif
