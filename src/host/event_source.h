/* Stored events for a runtime (runtime/stored_events.h): the stores list them,
 * and claims (host/claims.h) tell which runtimes are alive.
 *
 * A runtime that stores an event has the claim of its instance from then on; it
 * ends with the process, even if it is killed. Where claims do not work, a
 * runtime seems to have ended and its events are taken up elsewhere; the
 * condition of their handling (durable-2 of sched/durable.h) still prevents
 * that an event is handled twice. */

#ifndef HOST_EVENT_SOURCE_H
#define HOST_EVENT_SOURCE_H

#include "host/claims.h"
#include "host/store_access.h"
#include "host/zones.h"
#include "runtime/stored_events.h"

struct event_source {
    /* That of the space of that name; NULL: it has none. */
    struct store_access *(*store)(void *ctx, struct value space);
    void *ctx;
    struct claims *claims; /* borrowed; NULL: the runtime is alone */
    struct value instance; /* borrowed */
    void *claim;           /* of the instance; or NULL */
    struct zones zones;
};

enum {
    EVENT_SOURCE_TRUSTED_MS = 10000, /* to notice an adjusted wall clock */
};

/* For the options of a runtime; the record must not move. */
struct stored_events_source event_source_hooks(struct event_source *source);

/* Whether the runtime of that name is alive in the directory. Changes nothing.
 */
bool event_source_is_at_work(const char *folder, struct value instance);

/* The runtime has ended. */
void event_source_release(struct event_source *source);

#endif
