/* When the stores are asked for stored events, and which are taken up. */

#include "runtime/stored_events.h"

#include "proto/event.h"
#include "replica/entity.h"
#include "runtime/runtime.h"
#include "sched/durable.h"
#include "value/compare.h"

struct look {
    struct runtime *runtime;
    struct stored_space *at;
    mono_ms now;
    uint64_t count; /* events that were told of */
    bool took;      /* any */
};

/* The stream, if this runtime is to take up its event (stored-1); or NULL. */
static struct stream *stream_for(const struct look *look,
                                 const struct stored_event *stored)
{
    struct runtime *runtime = look->runtime;
    struct space *here = look->at->space;
    struct space *target = value_is_absent(stored->space)
                               ? here
                               : runtime_space(runtime, stored->space);
    struct entity *entity;
    if (target == NULL ||
        entity_of(target, SCOPE_SPACE, stored->stream, &entity, NULL) !=
            ERR_OK) {
        return NULL;
    }
    struct place *place = place_of(entity, stored->path);
    struct stream *stream = events_find(runtime->sched, place);
    if ((stream == NULL || !events_is_handled(stream)) &&
        durable_has_sender(runtime->sched, here, stored->from)) {
        stream = events_stream(runtime->sched, place);
    } else if (stream != NULL && !events_is_handled(stream)) {
        stream = NULL;
    }
    place_unref(place);
    return stream;
}

static bool is_of_user(const struct runtime *runtime,
                       const struct stored_event *stored)
{
    const struct value user = events_user(runtime->sched);
    return value_is_absent(user) || value_is_absent(stored->user)
               ? value_is_absent(user) && value_is_absent(stored->user)
               : value_equal(user, stored->user);
}

/* stored-2. */
static bool is_left_to_sender(struct look *look,
                              const struct stored_event *stored)
{
    const struct runtime *runtime = look->runtime;
    const struct stored_events_source *source = &runtime->stored_events.source;
    if (stored->queued ||
        value_equal(stored->instance, events_instance(runtime->sched)) ||
        !source->is_at_work(source->ctx, stored->instance)) {
        return false;
    }
    look->at->again = look->now + STORED_AGAIN_MS;
    return true;
}

static void on_found(void *ctx,
                     uint64_t number,
                     struct value id,
                     struct value document)
{
    struct look *look = ctx;
    struct runtime *runtime = look->runtime;
    struct stored_event stored;
    look->count++;
    look->at->seen = number;
    if (durable_is_here(runtime->sched, look->at->space, id) ||
        stored_event_read(document, &runtime->replica.paths, &stored, NULL) !=
            ERR_OK) {
        return;
    }
    struct stream *stream =
        is_of_user(runtime, &stored) ? stream_for(look, &stored) : NULL;
    if (stream != NULL && !is_left_to_sender(look, &stored)) {
        durable_take_up(runtime->sched, look->at->space, id, stream, &stored);
        look->took = true;
    }
    stored_event_release(&stored);
}

/* -- When ---------------------------------------------------------------- */

static void add_spaces(struct runtime *runtime)
{
    struct stored_events *events = &runtime->stored_events;
    for (size_t i = events->spaces.count; i < runtime->spaces.count; i++) {
        const struct stored_space at = {
            .space = runtime->spaces.at[i],
            .again = MONO_NEVER,
        };
        vec_push(&events->spaces, at);
    }
}

/* A handler that is new may be the one that events of before wait for; what was
 * queued here may be for one that is here. */
static void notice_own(struct runtime *runtime)
{
    struct stored_events *events = &runtime->stored_events;
    const uint64_t registered = events_registered(runtime->sched);
    const uint64_t queued = events_queued(runtime->sched);
    if (LIKELY(registered == events->registered && queued == events->queued)) {
        return;
    }
    add_spaces(runtime);
    VEC_FOREACH (&events->spaces, at) {
        at->seen = registered == events->registered ? at->seen : 0;
        at->due = true;
    }
    events->registered = registered;
    events->queued = queued;
}

void stored_events_notice(struct runtime *runtime, const struct space *space)
{
    VEC_FOREACH (&runtime->stored_events.spaces, at) {
        at->due = at->due || at->space == space;
    }
}

static bool ask(struct runtime *runtime, struct stored_space *at, mono_ms now)
{
    const struct stored_events_source *source = &runtime->stored_events.source;
    struct look look = {.runtime = runtime, .at = at, .now = now};
    at->due = false;
    if (at->space->session == NULL) {
        return false;
    }
    if (at->again <= now) {
        at->again = MONO_NEVER;
        at->seen = 0;
    }
    if (!source->list(source->ctx, at->space, at->seen, on_found, &look)) {
        at->again = now + STORED_AGAIN_MS;
    }
    at->due = look.count == STORED_PAGE;
    return look.took || at->due;
}

bool stored_events_step(struct runtime *runtime, mono_ms now)
{
    struct stored_events *events = &runtime->stored_events;
    bool took = false;
    if (events->source.list == NULL || runtime->leaves_events) {
        return false;
    }
    notice_own(runtime);
    VEC_FOREACH (&events->spaces, at) {
        if (at->due || at->again <= now) {
            took = ask(runtime, at, now) || took;
        }
    }
    return took;
}

bool stored_events_are_due(const struct runtime *runtime)
{
    const struct stored_events *events = &runtime->stored_events;
    if (events->source.list == NULL || runtime->leaves_events) {
        return false;
    }
    VEC_FOREACH (&events->spaces, at) {
        if (at->due) {
            return true;
        }
    }
    return events_registered(runtime->sched) != events->registered ||
           events_queued(runtime->sched) != events->queued;
}

mono_ms stored_events_next_wake(const struct runtime *runtime)
{
    mono_ms wake = MONO_NEVER;
    if (runtime->leaves_events) {
        return wake;
    }
    VEC_FOREACH (&runtime->stored_events.spaces, at) {
        wake = at->again < wake ? at->again : wake;
    }
    return wake;
}
