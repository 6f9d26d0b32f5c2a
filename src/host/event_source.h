/* What a runtime on a data directory knows of stored events
 * (runtime/stored_events.h): the stores list them, and a held file
 * (host/held_file.h) says which runtimes are at work.
 *
 * A runtime that stores an event holds DIR/senders/INSTANCE from then on. The
 * file goes with the process, also if it is killed; where locks do not work, a
 * runtime seems to be gone, its events are taken up elsewhere, and the
 * condition of their handling (durable-2 of sched/durable.h) keeps each from
 * being handled twice. */

#ifndef HOST_EVENT_SOURCE_H
#define HOST_EVENT_SOURCE_H

#include "host/held_file.h"
#include "host/zones.h"
#include "runtime/stored_events.h"

struct engine;

struct event_source {
    struct engine *(*engine)(void *ctx, struct value space); /* or NULL */
    void *ctx;
    const char *folder;    /* borrowed; "": in memory */
    struct value instance; /* borrowed */
    bool is_held;
    struct held_file held;
    struct zones zones;
};

enum {
    EVENT_SOURCE_TRUSTED_MS = 10000, /* a wall clock that is set is noticed */
};

/* For the options of a runtime; the record stays where it is. */
struct stored_events_source event_source_hooks(struct event_source *source);

/* Whether the runtime of that name is at work in the directory. Changes
 * nothing. */
bool event_source_is_at_work(const char *folder, struct value instance);

/* The runtime is not at work any more. */
void event_source_release(struct event_source *source);

#endif
