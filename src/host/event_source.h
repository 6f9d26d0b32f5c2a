/* Stored events for a runtime on a data directory (runtime/stored_events.h):
 * the stores list them, and a locked file (host/locked_file.h) tells which
 * runtimes are alive.
 *
 * A runtime that stores an event holds DIR/senders/INSTANCE from then on. The
 * lock ends with the process, even if it is killed. Where locks do not work, a
 * runtime seems to have ended and its events are taken up elsewhere; the
 * condition of their handling (durable-2 of sched/durable.h) still prevents
 * that an event is handled twice. */

#ifndef HOST_EVENT_SOURCE_H
#define HOST_EVENT_SOURCE_H

#include "host/locked_file.h"
#include "host/zones.h"
#include "runtime/stored_events.h"

struct engine;

struct event_source {
    struct engine *(*engine)(void *ctx, struct value space); /* or NULL */
    void *ctx;
    const char *folder;    /* borrowed; "": in memory */
    struct value instance; /* borrowed */
    bool is_held;
    struct locked_file held;
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
