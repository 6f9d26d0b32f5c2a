/* When the stores are asked for stored events, and which are taken up. */

#include "runtime/stored_events.h"

#include "proto/event.h"
#include "replica/entity.h"
#include "runtime/owner.h"
#include "runtime/runtime.h"
#include "runtime/timer.h"
#include "sched/durable.h"
#include "sched/timers.h"
#include "value/compare.h"

struct look {
    struct runtime *runtime;
    struct stored_space *at;
    mono_ms now;
    uint64_t wall;  /* of timers */
    uint64_t count; /* events that were told of */
    bool took;      /* any */

    struct timer_position end; /* stored-8: none behind it is taken up; */
    bool is_at_end;            /* there was one */

    /* Of the last stream_for: the piece of which it is no stream (stored-7), or
     * NULL; and why, unless a handler that is here is told. */
    struct piece *denied;
    struct err_detail why;
};

/* The stream, if this runtime is to take up its event (stored-1); or NULL. */
static struct stream *stream_for(struct look *look,
                                 const struct stored_event *stored)
{
    struct runtime *runtime = look->runtime;
    struct space *here = look->at->space;
    struct space *target = value_is_absent(stored->space)
                               ? here
                               : runtime_space(runtime, stored->space);
    struct entity *entity;
    if (target == NULL &&
        durable_has_sender(runtime->sched, here, stored->from) &&
        runtime_need_space(runtime, stored->space, false, &target, NULL) !=
            ERR_OK) {
        return NULL; /* it waits until that space can be opened */
    }
    if (target == NULL ||
        entity_of(target, SCOPE_SPACE, stored->stream, &entity, NULL) !=
            ERR_OK) {
        return NULL;
    }
    struct place *place = place_of(entity, stored->path);
    struct stream *stream = events_find(runtime->sched, place);
    look->denied = NULL;
    if (stream == NULL || !events_is_handled(stream)) {
        struct stream *behind = owner_stream(runtime, place);
        stream = behind != NULL ? behind : stream;
    }
    if (stream == NULL || !events_is_handled(stream)) {
        const bool has_sender =
            durable_has_sender(runtime->sched, here, stored->from);
        look->denied = owner_denies(runtime, place, &look->why);
        look->why.err = has_sender ? ERR_OK : look->why.err;
        stream = has_sender || look->denied != NULL
                     ? events_stream(runtime->sched, place)
                     : NULL;
    }
    place_unref(place);
    return stream;
}

static void tell_denied(const struct look *look,
                        const struct stored_event *stored)
{
    const struct runtime *runtime = look->runtime;
    if (look->denied == NULL || look->why.err == ERR_OK ||
        runtime->notice == NULL) {
        return;
    }
    struct buf text = {0};
    buf_printf(&text,
               "%s was dropped from the queue: %s",
               stored->is_timer ? "a timer" : "an event",
               look->why.text);
    runtime->notice(runtime->notice_ctx, look->denied, buf_text(&text));
    buf_release(&text);
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
        tell_denied(look, &stored);
        look->took = true;
    }
    stored_event_release(&stored);
}

/* -- The order of timers (stored-8) -------------------------------------- */

static bool is_behind(struct timer_position position, struct timer_position end)
{
    return position.due > end.due ||
           (position.due == end.due && position.number > end.number);
}

static void end_at(struct look *look, struct timer_position next)
{
    look->end = is_behind(look->end, next) ? next : look->end;
}

/* Forgets the ticks that were handled. */
static void find_end(struct look *look)
{
    struct stored_space *at = look->at;
    size_t kept = 0;
    look->end = (struct timer_position){TIMERS_NEVER, UINT64_MAX};
    VEC_FOREACH (&at->late, late) {
        if (durable_is_here(look->runtime->sched, at->space, late->id)) {
            end_at(look, late->next);
            at->late.at[kept++] = *late;
        } else {
            value_unref(late->id);
        }
    }
    at->late.count = kept;
}

/* The next tick of the timer that was just taken up is due as well. */
static void note_late(struct look *look, struct value id, uint64_t next)
{
    const struct timer_late late = {
        value_ref(id),
        {next, look->at->timers.number},
    };
    vec_push(&look->at->late, late);
    end_at(look, late.next);
}

/* A timer that is due, for a stream of this runtime. */
static void take_timer(struct look *look,
                       struct value id,
                       struct stream *stream,
                       const struct stored_event *stored,
                       struct value document)
{
    struct runtime *runtime = look->runtime;
    struct timer_tick tick = {0};
    if (look->denied == NULL &&
        timer_tick(runtime, &stored->timer, look->wall, &tick, NULL) !=
            ERR_OK) {
        return; /* 'heddle timers' says why; the zone may be there later */
    }
    look->took = true;
    if (tick.is_skipped) {
        timers_skip(runtime->sched, look->at->space, id, document, tick.next);
        return;
    }
    timers_take_up(runtime->sched,
                   look->at->space,
                   id,
                   stream,
                   stored,
                   document,
                   tick.next);
    if (tick.next > 0 && tick.next <= look->wall) {
        note_late(look, id, tick.next);
    }
    tell_denied(look, stored);
}

static void on_timer(void *ctx,
                     uint64_t number,
                     struct value id,
                     struct value document)
{
    struct look *look = ctx;
    struct runtime *runtime = look->runtime;
    struct stored_event stored;
    struct timer_position position = {look->at->timers.due, number};
    look->count++;
    const bool has_due = event_timer_due(document, &position.due);
    look->is_at_end = look->is_at_end || is_behind(position, look->end);
    if (look->is_at_end) {
        return; /* it is looked at when the ticks before it were handled */
    }
    look->at->timers = position;
    if (!has_due ||
        stored_event_read(document, &runtime->replica.paths, &stored, NULL) !=
            ERR_OK) {
        return;
    }
    struct stream *stream =
        stored.is_timer && is_of_user(runtime, &stored) &&
                !durable_is_here(runtime->sched, look->at->space, id)
            ? stream_for(look, &stored)
            : NULL;
    if (stream != NULL) {
        take_timer(look, id, stream, &stored, document);
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
            .next_due = TIMERS_NEVER,
            .timers_again = MONO_NEVER,
            .wake = MONO_NEVER,
        };
        vec_push(&events->spaces, at);
    }
}

/* Whether a space was opened since the stores were asked for the first time. */
static bool has_new_space(const struct runtime *runtime)
{
    const size_t known = runtime->stored_events.spaces.count;
    return known > 0 && known != runtime->spaces.count;
}

/* A handler that is new may be the one that events of before wait for; what was
 * queued here may be for one that is here. */
static void notice_own(struct runtime *runtime)
{
    struct stored_events *events = &runtime->stored_events;
    const uint64_t registered = events_registered(runtime->sched);
    const uint64_t queued = events_queued(runtime->sched);
    const uint64_t due = timers_take_earliest(runtime->sched);
    if (LIKELY(registered == events->registered && queued == events->queued &&
               due == TIMERS_NEVER && !has_new_space(runtime))) {
        return;
    }
    add_spaces(runtime);
    const bool is_moving = timers_take_moving(runtime->sched);
    VEC_FOREACH (&events->spaces, at) {
        at->is_noticed = at->is_noticed || is_moving;
        if (registered != events->registered) {
            at->seen = 0;
            at->timers = (struct timer_position){0};
        } else if (due < at->timers.due ||
                   (due == at->timers.due && due != TIMERS_NEVER)) {
            at->timers = (struct timer_position){due, 0};
        }
        at->due = true;
    }
    events->registered = registered;
    events->queued = queued;
}

void stored_events_notice(struct runtime *runtime, const struct space *space)
{
    VEC_FOREACH (&runtime->stored_events.spaces, at) {
        if (at->space == space) {
            at->due = true;
            at->is_noticed = true;
        }
    }
}

/* When the store is asked for timers again. The wall clock may be set
 * meanwhile (stored-6). */
static void set_wake(const struct stored_events_source *source,
                     struct stored_space *at,
                     mono_ms now,
                     uint64_t wall)
{
    at->wake = MONO_NEVER;
    if (at->next_due != TIMERS_NEVER) {
        const uint64_t left = at->next_due > wall ? at->next_due - wall : 0;
        const bool is_far = source->trusted > 0 && left > source->trusted;
        at->wake = now + (is_far ? source->trusted : left);
    }
}

/* Whether any timer was taken up. */
static bool ask_timers(struct runtime *runtime,
                       struct stored_space *at,
                       mono_ms now)
{
    const struct stored_events_source *source = &runtime->stored_events.source;
    if (source->timers == NULL) {
        return false;
    }
    struct look look = {
        .runtime = runtime,
        .at = at,
        .now = now,
        .wall = source->wall(source->ctx),
    };
    if (at->timers_again <= now) {
        at->timers_again = MONO_NEVER;
        at->timers = (struct timer_position){0};
    }
    find_end(&look);
    if (!source->timers(source->ctx,
                        at->space,
                        at->timers,
                        look.wall,
                        on_timer,
                        &look,
                        &at->next_due)) {
        at->timers_again = now + STORED_AGAIN_MS;
    } else if (look.count == STORED_PAGE && !look.is_at_end) {
        at->next_due = look.wall; /* there may be more */
    }
    set_wake(source, at, now, look.wall);
    return look.took;
}

static bool ask(struct runtime *runtime, struct stored_space *at, mono_ms now)
{
    const struct stored_events_source *source = &runtime->stored_events.source;
    struct look look = {.runtime = runtime, .at = at, .now = now};
    at->due = false;
    if (at->is_noticed && at->timers.due > 0 &&
        at->timers_again == MONO_NEVER) {
        at->timers_again = now + STORED_AGAIN_MS;
    }
    at->is_noticed = false;
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
    const bool took = ask_timers(runtime, at, now);
    return look.took || took || at->due;
}

/* The next time at which the store is asked. */
static mono_ms wake_of(const struct stored_space *at)
{
    const mono_ms again =
        at->again < at->timers_again ? at->again : at->timers_again;
    return again < at->wake ? again : at->wake;
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
        if (at->due || wake_of(at) <= now) {
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
           events_queued(runtime->sched) != events->queued ||
           timers_are_noted(runtime->sched) || has_new_space(runtime);
}

mono_ms stored_events_next_wake(const struct runtime *runtime)
{
    mono_ms wake = MONO_NEVER;
    if (runtime->leaves_events) {
        return wake;
    }
    VEC_FOREACH (&runtime->stored_events.spaces, at) {
        const mono_ms next = wake_of(at);
        wake = next < wake ? next : wake;
    }
    return wake;
}

bool stored_events_have_timers(const struct runtime *runtime)
{
    return events_counters(runtime->sched)->timers > 0 ||
           stored_events_next_timer(runtime) != MONO_NEVER;
}

mono_ms stored_events_next_timer(const struct runtime *runtime)
{
    mono_ms wake = MONO_NEVER;
    VEC_FOREACH (&runtime->stored_events.spaces, at) {
        wake = at->wake < wake ? at->wake : wake;
    }
    return wake;
}

void stored_events_release(struct runtime *runtime)
{
    VEC_FOREACH (&runtime->stored_events.spaces, at) {
        VEC_FOREACH (&at->late, late) {
            value_unref(late->id);
        }
        vec_release(&at->late);
    }
    vec_release(&runtime->stored_events.spaces);
}
