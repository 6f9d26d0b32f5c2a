/* Streams, lanes, and an event from its sending to its end. */

#include "sched/events.h"

#include "base/mem.h"
#include "base/text.h"
#include "replica/overlay.h"
#include "replica/space.h"
#include "sched/durable.h"
#include "sched/event.h"
#include "sched/hops.h"
#include "sched/invalidation.h"
#include "sched/labels.h"
#include "sched/outbox.h"
#include "sched/queue.h"
#include "value/compare.h"
#include "value/schema.h"

/* -- Policy -------------------------------------------------------------- */

struct events_policy events_policy(void)
{
    return (struct events_policy){
        .backlog = EVENTS_BACKLOG,
        .hops = EVENTS_HOPS,
        .receipts = EVENTS_RECEIPTS,
        .window = EVENTS_WINDOW_MS,
        .delay_us = EVENTS_DELAY_US,
        .delay_max = EVENTS_DELAY_MAX_MS,
        .jitter_percent = EVENTS_JITTER_PERCENT,
        .holds = EVENTS_HOLDS,
        .parks = EVENTS_PARKS,
    };
}

uint64_t events_delay_us(const struct events_policy *policy, uint32_t attempt)
{
    const uint64_t most = policy->delay_max * 1000;
    uint64_t delay = policy->delay_us;
    for (uint32_t i = 1; i < attempt && delay < most; i++) {
        delay *= 2;
    }
    return delay < most ? delay : most;
}

struct events *events_of(struct sched *sched)
{
    if (LIKELY(sched->events != NULL)) {
        return sched->events;
    }
    struct events *events = mem_alloc_zero(sizeof *events);
    events->sched = sched;
    events->policy = events_policy();
    events->instance = value_text_new("local");
    random_init(&events->random, 0);
    list_init(&events->flying);
    list_init(&events->looking);
    list_init(&events->idle);
    list_init(&events->timers);
    events->earliest = TIMERS_NEVER;
    sched->events = events;
    return events;
}

void events_configure(struct sched *sched,
                      const struct events_policy *policy,
                      struct value instance)
{
    struct events *events = events_of(sched);
    CHECK(events->streams.count == 0);
    events->policy = *policy;
    random_init(&events->random, policy->seed);
    if (!value_is_absent(instance)) {
        value_unref(events->instance);
        events->instance = value_ref(instance);
    }
}

void events_set_user(struct sched *sched, struct value user)
{
    struct events *events = events_of(sched);
    value_unref(events->user);
    events->user = value_ref(user);
}

/* -- Closures ------------------------------------------------------------ */

void closure_add(struct closure *closure,
                 struct place *place,
                 enum read_kind kind)
{
    const struct declared_read read = {place_ref(place), kind};
    vec_push(&closure->at, read);
}

void closure_clear(struct closure *closure)
{
    VEC_FOREACH (&closure->at, read) {
        place_unref(read->place);
    }
    vec_clear(&closure->at);
}

static void closure_release(struct closure *closure)
{
    closure_clear(closure);
    vec_release(&closure->at);
}

/* -- Streams ------------------------------------------------------------- */

static bool is_stream(const void *item, const void *key)
{
    return ((const struct stream *)item)->place == key;
}

static uint64_t place_hash(const struct place *place)
{
    return (uint64_t)(uintptr_t)place;
}

static struct lane *lane_for(struct events *events, struct space *space)
{
    if (events->policy.lanes == LANES_ONE) {
        space = NULL;
    }
    VEC_FOREACH (&events->lanes, lane) {
        if ((*lane)->space == space) {
            return *lane;
        }
    }
    struct lane *lane = mem_alloc_zero(sizeof *lane);
    lane->space = space;
    list_init(&lane->events);
    vec_push(&events->lanes, lane);
    return lane;
}

struct stream *events_stream(struct sched *sched, struct place *place)
{
    struct events *events = events_of(sched);
    struct stream *stream =
        map_find(&events->streams, place_hash(place), is_stream, place);
    if (stream == NULL) {
        stream = mem_alloc_zero(sizeof *stream);
        stream->place = place_ref(place);
        stream->lane = lane_for(events, place->entity->space);
        map_insert(&events->streams, place_hash(place), stream);
    }
    return stream;
}

void events_set_schema(struct stream *stream, struct schema *schema, bool fills)
{
    if (schema != NULL) {
        (void)schema_ref(schema);
    }
    schema_unref(stream->schema);
    stream->schema = schema;
    stream->fills = fills;
}

/* -- Handlers ------------------------------------------------------------ */

static struct handler *handler_new(struct sched *sched,
                                   struct stream *stream,
                                   const struct handler_spec *spec)
{
    struct handler *handler = mem_alloc_zero(sizeof *handler);
    handler->node.kind = NODE_HANDLER;
    handler->node.label = &handler->label;
    handler->label.name = value_ref(spec->name);
    handler->label.group = spec->group;
    handler->node.ordinal = sched->ordinals++;
    node_set_status(&handler->node, NODE_CLEAN);
    handler->stream = stream;
    handler->run = spec->run;
    handler->ctx = spec->ctx;
    handler->release = spec->release;
    handler->declare = spec->declare;
    handler->pure = spec->pure;
    handler->several_spaces = spec->several_spaces;
    handler->refs = 1;
    for (size_t i = 0; i < spec->read_count; i++) {
        closure_add(&handler->declared,
                    spec->reads[i].place,
                    spec->reads[i].kind);
    }
    return handler;
}

void handler_unref(struct handler *handler)
{
    if (handler == NULL || --handler->refs > 0) {
        return;
    }
    if (handler->release != NULL) {
        handler->release(handler->ctx);
    }
    closure_release(&handler->declared);
    closure_release(&handler->last);
    closure_release(&handler->awaited);
    invalidation_release_causes(&handler->node);
    value_unref(handler->label.name);
    mem_free(handler, sizeof *handler);
}

enum err events_handle(struct sched *sched,
                       struct stream *stream,
                       const struct handler_spec *spec,
                       struct handler **out,
                       struct err_detail *detail)
{
    struct events *events = events_of(sched);
    *out = NULL;
    if (stream->handler != NULL && !spec->replace) {
        const struct text id = value_text(&stream->place->entity->id);
        return err_set(detail,
                       ERR_HANDLER_EXISTS,
                       "the stream %.*s already has a handler",
                       (int)id.length,
                       id.at);
    }
    if (stream->handler != NULL) {
        events->counters.replaced++;
        events_cancel(sched, stream->handler);
    }
    *out = handler_new(sched, stream, spec);
    stream->handler = *out;
    events->registered++;
    stream->collapses = spec->collapses;
    stream->asked = false;
    stream->starting = false;
    return ERR_OK;
}

void events_cancel(struct sched *sched, struct handler *handler)
{
    (void)sched;
    CHECK(handler->stream != NULL && handler->stream->handler == handler);
    handler->stream->handler = NULL;
    handler->stream = NULL;
    handler_unref(handler);
}

void events_on_missing(struct sched *sched,
                       bool (*missing)(void *ctx, struct stream *stream),
                       void *ctx)
{
    struct events *events = events_of(sched);
    events->missing = missing;
    events->missing_ctx = ctx;
}

void events_no_owner(struct sched *sched,
                     struct stream *stream,
                     const struct err_detail *why,
                     bool is_none)
{
    (void)sched;
    stream->starting = false;
    stream->is_none = is_none;
    if (why != NULL && stream->handler == NULL) {
        if (stream->no_owner == NULL) {
            stream->no_owner = mem_alloc_zero(sizeof *stream->no_owner);
        }
        *stream->no_owner = *why;
    }
}

struct stream *events_find(const struct sched *sched, const struct place *place)
{
    return sched->events != NULL ? map_find(&sched->events->streams,
                                            place_hash(place),
                                            is_stream,
                                            place)
                                 : NULL;
}

uint64_t events_registered(const struct sched *sched)
{
    return sched->events != NULL ? sched->events->registered : 0;
}

uint64_t events_queued(const struct sched *sched)
{
    return sched->events != NULL ? sched->events->counters.queued : 0;
}

struct value events_instance(const struct sched *sched)
{
    return sched->events->instance;
}

struct value events_user(const struct sched *sched)
{
    return sched->events->user;
}

struct place *events_place(const struct stream *stream)
{
    return stream->place;
}

bool events_is_handled(const struct stream *stream)
{
    return stream->handler != NULL;
}

/* -- Observers ----------------------------------------------------------- */

void events_listen(struct sched *sched,
                   void (*notice)(void *ctx, const struct event_notice *notice),
                   void *ctx)
{
    struct events *events = events_of(sched);
    events->notice = notice;
    events->notice_ctx = ctx;
}

void event_tell(struct events *events, const struct event_notice *notice)
{
    if (UNLIKELY(events->notice != NULL)) {
        events->notice(events->notice_ctx, notice);
    }
}

const struct events_counters *events_counters(const struct sched *sched)
{
    static const struct events_counters none;
    return sched->events != NULL ? &sched->events->counters : &none;
}

struct value event_payload(const struct event *event)
{
    return event->payload;
}

uint64_t event_time(const struct event *event)
{
    return event->time;
}

struct value event_handler_name(const struct event *event)
{
    const struct handler *handler =
        event->handler != NULL ? event->handler : event->stream->handler;
    return handler != NULL ? handler->label.name : VALUE_NONE;
}

/* -- Sending ------------------------------------------------------------- */

static struct event *take_idle(struct events *events)
{
    struct list_node *idle = list_pop_front(&events->idle);
    if (LIKELY(idle != NULL)) {
        return EVENT_OF(idle);
    }
    struct event *event = mem_alloc_zero(sizeof *event);
    list_node_init(&event->node);
    list_node_init(&event->in_origin);
    return event;
}

struct event *event_new(struct events *events, struct stream *stream)
{
    struct event *event = take_idle(events);
    event->events = events;
    event->stream = stream;
    event->number = ++events->numbers;
    return event;
}

static void event_free(struct event *event)
{
    vec_release(&event->listeners);
    mem_free(event, sizeof *event);
}

/* Clears everything but the memory of its list. */
static void event_clear(struct event *event)
{
    struct event_listener *const room = event->listeners.at;
    const size_t capacity = event->listeners.capacity;
    *event = (struct event){0};
    event->listeners.at = room;
    event->listeners.capacity = capacity;
    list_node_init(&event->node);
    list_node_init(&event->in_origin);
}

static void release_parts(struct event *event)
{
    handler_unref(event->handler);
    handler_unref(event->sender);
    lineage_unref(event->origin);
    lineage_unref(event->launched);
    if (event->refusal != NULL) {
        verdict_release(event->refusal);
        mem_free(event->refusal, sizeof *event->refusal);
    }
    value_unref(event->payload);
    value_unref(event->taken_from);
    value_unref(event->caller);
    value_unref(event->digest);
    value_unref(event->result);
    timers_free(event->timed);
}

/* Returns an event that has ended to the pool. */
void event_release(struct event *event, bool is_new)
{
    struct events *events = event->events;
    list_remove(&event->node);
    durable_forget(event);
    if (event->receipt != NULL) {
        const struct spent_receipt spent = {event->receipt, is_new};
        vec_push(&events->spent, spent);
    }
    release_parts(event);
    event_clear(event);
    list_push_back(&events->idle, &event->node);
}

/* By number: nearly always at the end; a retry goes near the front. */
static void lane_insert(struct lane *lane, struct event *event)
{
    struct list *events = &lane->events;
    if (list_is_empty(events) ||
        EVENT_OF(list_last(events))->number < event->number) {
        list_push_back(events, &event->node);
        return;
    }
    LIST_FOREACH (events, at) {
        if (EVENT_OF(at)->number > event->number) {
            list_insert_before(&event->node, at);
            return;
        }
    }
}

static void enter_lane(struct event *event)
{
    event->state = EVENT_WAITS;
    event->park = PARK_NONE;
    lane_insert(event->stream->lane, event);
    event->stream->waiting++;
    event->events->waiting++;
    if (event->origin != NULL) {
        list_push_back(&event->origin->events, &event->in_origin);
    }
}

void event_leave_lane(struct event *event)
{
    CHECK(event->stream != NULL);
    list_remove(&event->node);
    list_remove(&event->in_origin);
    event->stream->waiting--;
    event->events->waiting--;
}

void event_put_back(struct event *event)
{
    list_remove(&event->node);
    enter_lane(event);
}

static enum err check_spec(const struct event_spec *spec,
                           struct err_detail *detail)
{
    const bool has_id = !value_is_absent(spec->id);
    if (has_id != !value_is_absent(spec->session)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "an event id and its session must be given together");
    }
    if (has_id &&
        (!value_is_string(spec->id) || !value_is_string(spec->session))) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the id of an event and its session must be strings");
    }
    if (spec->origin != NULL && spec->origin->state != TRANSACTION_OPEN) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the transaction that sends the event has ended");
    }
    return ERR_OK;
}

static void listen(struct event *event, const struct event_spec *spec)
{
    if (spec->done != NULL) {
        const struct event_listener listener = {spec->done, spec->ctx};
        vec_push(&event->listeners, listener);
    }
}

/* The last waiting event of the stream that can absorb another one, from the
 * back: same origin, and no caller's id. */
static struct event *find_survivor(const struct stream *stream,
                                   const struct event_spec *spec)
{
    const struct lineage *origin =
        spec->origin != NULL ? spec->origin->launched : NULL;
    if (spec->origin != NULL && origin == NULL) {
        return NULL; /* it has sent nothing so far */
    }
    struct list_node *head = &stream->lane->events.head;
    for (struct list_node *at = head->prev; at != head; at = at->prev) {
        struct event *event = EVENT_OF(at);
        if (event->stream == stream && event->origin == origin &&
            event->attempts == 0 && value_is_absent(event->caller)) {
            return event;
        }
    }
    return NULL;
}

/* events-7: the event becomes part of a waiting one. */
static enum err collapse_into(struct event *event,
                              const struct event_spec *spec,
                              struct err_detail *detail)
{
    struct events *events = event->events;
    const enum err err =
        event_check_payload(event->stream, spec->payload, detail);
    if (err != ERR_OK) {
        return err;
    }
    events->counters.collapsed++;
    value_unref(event->payload);
    event->payload = value_is_absent(spec->payload) ? value_null()
                                                    : value_ref(spec->payload);
    event->label =
        labels_join_sender(events->sched, event->label, spec->origin);
    event->time = spec->time != 0 ? spec->time : event->time;
    listen(event, spec);
    return event->stored != NULL ? durable_restore(event, spec->origin, detail)
                                 : ERR_OK;
}

/* The name of its handler, or else its document. */
static struct value stream_name(const struct stream *stream)
{
    return stream->handler != NULL &&
                   value_is_string(stream->handler->label.name)
               ? stream->handler->label.name
               : stream->place->entity->id;
}

static enum err refuse_full(struct events *events,
                            const struct stream *stream,
                            struct err_detail *detail)
{
    const struct value name = stream_name(stream);
    const struct text text = value_text(&name);
    events->counters.refused++;
    return err_set(detail,
                   ERR_BACKLOG,
                   "the backlog of the stream %.*s is full: %u events wait, "
                   "which is the limit; send fewer at once, or retry later",
                   text_shown(text.at, text.length, 80),
                   text.at,
                   (unsigned)events->policy.backlog);
}

/* events-7. *collapsed: it needs no event of its own. */
static enum err send_when_full(struct events *events,
                               const struct stream *stream,
                               const struct event_spec *spec,
                               bool *collapsed,
                               struct err_detail *detail)
{
    struct event *survivor = stream->collapses && value_is_absent(spec->id)
                                 ? find_survivor(stream, spec)
                                 : NULL;
    *collapsed = survivor != NULL;
    if (survivor == NULL) {
        return refuse_full(events, stream, detail);
    }
    return collapse_into(survivor, spec, detail);
}

static void give_id(struct event *event,
                    const struct event_spec *spec,
                    struct value caller)
{
    struct events *events = event->events;
    event->caller = caller;
    if (!value_is_absent(caller)) {
        event->digest = event_payload_digest(event->payload);
    }
    if (spec->origin != NULL) {
        struct lineage *lineage = lineage_of(events->sched, spec->origin);
        event->origin = lineage_ref(lineage);
        event->origin_number = lineage->number;
        event->counter = lineage->minted++;
    } else if (value_is_absent(caller)) {
        event->origin_number = ++events->origins;
    }
}

/* For the report if nothing can handle it: the caller of a handler is not told,
 * because the handler succeeded. */
static void note_sender(struct event *event, const struct event_spec *spec)
{
    if (event_is_of_handling(event->events, spec)) {
        event->sender = event->events->handling.event->handler;
        event->sender->refs++;
    }
}

/* The events before it in its chain (events-8). */
static uint32_t hops_of(const struct events *events,
                        const struct event_spec *spec)
{
    if (spec->origin == NULL) {
        return 0;
    }
    return event_is_of_handling(events, spec)
               ? events->handling.event->hops + 1
               : hops_after_run(events->sched, spec->origin);
}

/* events-8: a chain that continues is endless work that nothing outside asked
 * for. */
COLD static enum err refuse_hops(struct events *events,
                                 const struct stream *stream,
                                 const struct event_spec *spec,
                                 struct err_detail *detail)
{
    struct err_detail why = {0};
    struct buf sender = {0};
    hops_write_sender(events->sched, spec->origin, &sender);
    const struct value name = stream_name(stream);
    const struct text text = value_text(&name);
    events->counters.refused++;
    (void)err_set(&why,
                  ERR_LIMIT_HOPS,
                  "handlers caused a chain of %u events, and the next one, "
                  "from %s to the stream %.*s, is refused: let a handler stop "
                  "sending, or raise the limit (--hops N, or 'hops' in the "
                  "runtime's options)",
                  (unsigned)events->policy.hops,
                  buf_text(&sender),
                  text_shown(text.at, text.length, 80),
                  text.at);
    buf_release(&sender);
    lineage_refuse(events->sched, spec->origin, &why);
    return err_set(detail, ERR_LIMIT_HOPS, "%s", why.text);
}

static uint64_t time_of(const struct events *events,
                        const struct event_spec *spec)
{
    if (spec->time != 0) {
        return spec->time;
    }
    return event_is_of_handling(events, spec) ? events->handling.event->time
                                              : events->sched->now;
}

static void note_sent(struct event *event)
{
    event->events->counters.sent++;
    event_tell(event->events,
               &(struct event_notice){.moment = EVENT_SENT, .event = event});
}

/* The part of events_send for stored events: by the transaction that sends it,
 * or in a commit of its own. */
static enum err send_stored(struct event *event,
                            const struct event_spec *spec,
                            struct err_detail *detail)
{
    enum err err = event_check_payload(event->stream, event->payload, detail);
    if (err == ERR_OK && spec->origin != NULL) {
        err = durable_store(event, spec->origin, detail);
    }
    if (err != ERR_OK) {
        event_release(event, false);
    }
    return err;
}

enum err events_send(struct sched *sched,
                     struct stream *stream,
                     const struct event_spec *spec,
                     struct err_detail *detail)
{
    struct events *events = events_of(sched);
    enum err err = check_spec(spec, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (UNLIKELY(spec->timer != NULL)) {
        return timers_send(sched, stream, spec, detail);
    }
    const uint32_t hops = hops_of(events, spec);
    if (UNLIKELY(hops > events->policy.hops)) {
        return refuse_hops(events, stream, spec, detail);
    }
    if (UNLIKELY(stream->waiting >= events->policy.backlog)) {
        bool collapsed;
        err = send_when_full(events, stream, spec, &collapsed, detail);
        events->counters.sent += collapsed && err == ERR_OK;
        return err;
    }
    const struct value caller =
        value_is_absent(spec->id)
            ? VALUE_NONE
            : event_caller_id(stream, spec->id, spec->session, events->user);
    struct event *event = event_new(events, stream);
    event->payload = value_is_absent(spec->payload) ? value_null()
                                                    : value_ref(spec->payload);
    event->label = labels_join_sender(sched, NULL, spec->origin);
    event->time = time_of(events, spec);
    event->hops = hops;
    event->no_retry = spec->no_retry;
    event->known = spec->known;
    give_id(event, spec, caller);
    note_sender(event, spec);
    const bool queues = spec->queue && spec->origin == NULL;
    if (event->sender != NULL || UNLIKELY(queues) ||
        durable_is_of_effect(sched, spec->origin)) {
        err = send_stored(event, spec, detail);
        if (err != ERR_OK) {
            return err;
        }
    }
    listen(event, spec);
    if (UNLIKELY(queues)) {
        note_sent(event);
        return durable_queue(event, detail);
    }
    event_enter(event);
    return ERR_OK;
}

void event_enter(struct event *event)
{
    enter_lane(event);
    note_sent(event);
}

/* -- Ending -------------------------------------------------------------- */

static void count_end(struct events *events,
                      enum event_outcome outcome,
                      enum err err)
{
    struct events_counters *counters = &events->counters;
    counters->done += outcome == EVENT_DONE;
    counters->dropped += outcome == EVENT_DROPPED;
    counters->failed += outcome == EVENT_FAILED;
    counters->queued += outcome == EVENT_QUEUED;
    counters->duplicates += err == ERR_RECEIPT_EXISTS;
    counters->orphans += err == ERR_ORIGIN_FAILED;
}

/* What the receipt holds, new; absent if unknown. */
static struct value receipt_value(const struct event *event,
                                  enum event_outcome outcome,
                                  enum err why)
{
    if (outcome == EVENT_DONE) {
        return value_ref(event->result);
    }
    return event->receipt != NULL && why == ERR_RECEIPT_EXISTS
               ? value_ref(overlay_confirmed(event->receipt->entity)->payload)
               : VALUE_NONE;
}

/* Without a store, a receipt only serves to recognise an event that is sent
 * again, and only one with an id can be. */
static bool has_receipt(const struct event *event)
{
    return !event->events->policy.no_receipts &&
           (event->stream->place->entity->space->session != NULL ||
            !value_is_absent(event->caller));
}

struct place *event_receipt(struct event *event)
{
    if (event->receipt != NULL || !has_receipt(event)) {
        return event->receipt;
    }
    const struct value id = event_receipt_id(event);
    struct entity *entity;
    const enum err err = entity_of(event->stream->place->entity->space,
                                   SCOPE_SPACE,
                                   id,
                                   &entity,
                                   NULL);
    CHECK(err == ERR_OK); /* the id is valid */
    value_unref(id);
    event->receipt = place_root(entity);
    return event->receipt;
}

static void tell_listeners(struct event *event, struct event_result *result)
{
    struct events *events = event->events;
    if (event->listeners.count == 0 && events->notice == NULL) {
        return;
    }
    result->event = event;
    if (event->receipt != NULL) { /* not created twice */
        result->receipt_id = value_ref(event->receipt->entity->id);
    } else if (!events->policy.no_receipts) {
        result->receipt_id = event_receipt_id(event);
    }
    VEC_FOREACH (&event->listeners, listener) {
        listener->done(listener->ctx, result);
    }
    event_tell(events,
               &(struct event_notice){
                   .moment = EVENT_ENDED,
                   .event = event,
                   .result = result,
               });
    value_unref(result->receipt_id);
}

void event_end(struct event *event,
               enum event_outcome outcome,
               const struct err_detail *why)
{
    struct events *events = event->events;
    CHECK(event->state != EVENT_OVER && events != NULL);
    if (event->state == EVENT_WAITS) {
        event_leave_lane(event);
    }
    list_remove(&event->in_origin);
    event->state = EVENT_OVER;
    struct event_result result = {
        .outcome = outcome,
        .attempts = event->attempts,
    };
    if (why != NULL) {
        result.error = *why;
    }
    result.receipt = receipt_value(event, outcome, result.error.err);
    count_end(events, outcome, result.error.err);
    durable_end(event, outcome, &result.error);
    tell_listeners(event, &result);
    value_unref(result.receipt);
    event_release(event, outcome == EVENT_DONE);
}

void event_end_orphan(struct event *event)
{
    struct err_detail why = {0};
    (void)err_set(&why,
                  ERR_ORIGIN_FAILED,
                  "the transaction that sent the event was rejected");
    event_end(event, EVENT_DROPPED, &why);
}

/* -- Disposal ------------------------------------------------------------ */

static void say_closed(struct err_detail *why)
{
    (void)err_set(why, ERR_CLOSED, "the runtime was closed");
}

/* An event in flight: its sender is told now, and the record is freed with the
 * last verdict (handling.c). */
static void end_in_flight(struct event *event)
{
    CHECK(event->events != NULL);
    struct event_result result = {
        .outcome = EVENT_DROPPED,
        .attempts = event->attempts,
    };
    (void)err_set(&result.error,
                  ERR_CLOSED,
                  "the runtime was closed before the store answered: the event "
                  "may have been handled");
    count_end(event->events, result.outcome, result.error.err);
    event->state = EVENT_OVER;
    tell_listeners(event, &result);
    list_remove(&event->node);
    durable_forget(event);
    if (event->receipt != NULL) {
        place_unref(event->receipt);
        event->receipt = NULL;
    }
    /* Handlers have places. The spaces are closed one by one, and the last
     * verdict may be that of another space. */
    handler_unref(event->handler);
    handler_unref(event->sender);
    event->handler = NULL;
    event->sender = NULL;
    event->events = NULL;
}

void events_dispose(struct sched *sched)
{
    struct events *events = sched->events;
    if (events == NULL) {
        return;
    }
    struct err_detail why = {0};
    say_closed(&why);
    VEC_FOREACH (&events->lanes, lane) {
        while (!list_is_empty(&(*lane)->events)) {
            event_end(EVENT_OF(list_first(&(*lane)->events)),
                      EVENT_DROPPED,
                      &why);
        }
        preflight_return(sched, &(*lane)->lent);
    }
    while (!list_is_empty(&events->looking)) {
        event_end(EVENT_OF(list_first(&events->looking)), EVENT_DROPPED, &why);
    }
    while (!list_is_empty(&events->timers)) {
        event_end(EVENT_OF(list_first(&events->timers)), EVENT_DROPPED, &why);
    }
    while (!list_is_empty(&events->flying)) {
        end_in_flight(EVENT_OF(list_first(&events->flying)));
    }
}

/* events-9: keeps the receipt of an event that was just handled, in place of
 * the oldest. Each is kept once: nothing is handled again meanwhile. */
static void keep_receipt(struct events *events, struct entity *receipt)
{
    if (events->kept.count < events->policy.receipts) {
        vec_push(&events->kept, receipt);
        return;
    }
    entity_forget(events->kept.at[events->oldest]);
    events->kept.at[events->oldest] = receipt;
    events->oldest = (events->oldest + 1) % events->kept.count;
}

void events_cleanup(struct sched *sched)
{
    struct events *events = sched->events;
    while (events != NULL && events->spent.count > 0) {
        struct spent_receipt spent = vec_pop(&events->spent);
        struct entity *entity = spent.place->entity;
        const bool is_only_here = entity->space->session == NULL &&
                                  entity_state_exists(&entity->visible);
        place_unref(spent.place);
        if (!is_only_here) {
            entity_forget(entity);
        } else if (spent.is_new) {
            keep_receipt(events, entity);
        }
    }
}

void event_free_in_flight(struct event *event)
{
    release_parts(event);
    event_free(event);
}

void events_free(struct sched *sched)
{
    struct events *events = sched->events;
    if (events == NULL) {
        return;
    }
    outbox_free(sched);
    MAP_FOREACH (&events->streams, slot) {
        struct stream *stream = slot->item;
        handler_unref(stream->handler);
        schema_unref(stream->schema);
        place_unref(stream->place);
        value_unref(stream->receipts);
        mem_free(stream->no_owner, sizeof *stream->no_owner);
        mem_free(stream, sizeof *stream);
    }
    map_release(&events->streams);
    timers_release_groups(events);
    VEC_FOREACH (&events->lanes, lane) {
        vec_release(&(*lane)->lent.at);
        mem_free(*lane, sizeof **lane);
    }
    vec_release(&events->lanes);
    for (struct list_node *idle = list_pop_front(&events->idle); idle != NULL;
         idle = list_pop_front(&events->idle)) {
        event_free(EVENT_OF(idle));
    }
    closure_release(&events->closure);
    durable_release(events);
    events_cleanup(sched);
    vec_release(&events->spent);
    vec_release(&events->kept);
    buf_release(&events->text);
    value_unref(events->instance);
    value_unref(events->user);
    mem_free(events, sizeof *events);
    sched->events = NULL;
}
