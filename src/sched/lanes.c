/* The heads of the lanes: which of them can be handled, and why not. */

#include "proto/event.h"
#include "replica/session.h"
#include "replica/space.h"
#include "sched/event.h"
#include "sched/outbox.h"
#include "sched/queue.h"
#include "value/schema.h"

/* -- Waiting ------------------------------------------------------------- */

static void park(struct event *event, enum event_park why)
{
    struct events *events = event->events;
    events->counters.parked_time += why == PARK_TIME;
    events->counters.parked_load += why == PARK_LOAD;
    events->counters.parked_origin += why == PARK_ORIGIN;
    event->park = why;
    event->change_epoch = events->sched->change_epoch;
}

static const struct handler *handler_of(const struct event *event)
{
    return event->handler != NULL ? event->handler : event->stream->handler;
}

/* Nothing here can handle it. A sender outside handlers is told by its end; for
 * an event that a handler sent, the host is told. */
static void drop_unhandled(struct event *event)
{
    const struct stream *stream = event->stream;
    const struct text id = value_text(&stream->place->entity->id);
    const bool is_said =
        stream->no_owner != NULL && stream->no_owner->text[0] != '\0';
    struct err_detail why = {0};
    (void)err_set(&why,
                  ERR_NO_HANDLER,
                  is_said ? "an event for the stream %.*s was not handled: %s"
                          : "an event for the stream %.*s was not handled: it "
                            "has no handler%s",
                  (int)id.length,
                  id.at,
                  is_said ? stream->no_owner->text : "");
    if (event->sender != NULL) {
        event_report(event, event->sender, &why);
    }
    event_end(event, EVENT_DROPPED, &why);
}

static void fail_unsettled(struct event *event, const struct gate_look *look)
{
    struct err_detail why = {0};
    const struct value given =
        look->waits != NULL ? node_name(look->waits) : VALUE_NONE;
    const struct text name = value_is_string(given)
                                 ? value_text(&given)
                                 : (struct text){"its input", 9};
    (void)err_set(&why,
                  ERR_NOT_SETTLED,
                  "%.*s did not settle in the %u times that the event waited "
                  "for it",
                  (int)name.length,
                  name.at,
                  (unsigned)event->parks);
    event_fail(event, &why);
}

static void fail_lost(struct event *event, const struct gate_look *look)
{
    struct err_detail why = {0};
    const struct text id = value_text(&look->loads->entity->id);
    (void)err_set(&why,
                  ERR_SESSION_LOST,
                  "%.*s, which the event needs, cannot be loaded: the session "
                  "has ended",
                  (int)id.length,
                  id.at);
    event_fail(event, &why);
}

/* Waits for a time, unless it has done so too often. False: it has ended. */
static bool wait_until(struct event *event, const struct gate_look *look)
{
    const struct events_policy *policy = &event->events->policy;
    /* A time that moves while it waits is one wait. */
    if (event->park != PARK_TIME ||
        event->not_before <= event->events->sched->now) {
        event->parks++;
        event->holds += look->backoff;
    }
    if (event->holds > policy->holds || event->parks > policy->parks) {
        fail_unsettled(event, look);
        return false;
    }
    park(event, PARK_TIME);
    event->not_before = look->until;
    return true;
}

/* Whether anything will ever arrive from the space again. */
static bool can_come(const struct space *space)
{
    return space->session == NULL ||
           session_check(space->session, NULL) == ERR_OK;
}

/* Waits for a document to arrive. */
static void wait_for(struct event *event, const struct entity *entity)
{
    if (event->park != PARK_LOAD || event->loads != entity) {
        park(event, PARK_LOAD);
    }
    event->change_epoch = event->events->sched->change_epoch;
    event->loads = entity;
}

/* -- One head ------------------------------------------------------------ */

enum head {
    HEAD_WAITS, /* and all behind it */
    HEAD_NEEDS, /* work that was queued */
    HEAD_DONE,  /* handled: the lane has had its turn */
    HEAD_ENDED, /* without being handled: look at the next one */
};

static enum err check_filled(const struct stream *stream,
                             struct value payload,
                             struct err_detail *detail)
{
    struct schema_fault fault = {0};
    return schema_check(stream->schema, payload, &fault) == ERR_OK
               ? ERR_OK
               : schema_fault_tell(&fault, "the payload", detail);
}

enum err event_check_payload(const struct stream *stream,
                             struct value payload,
                             struct err_detail *detail)
{
    if (LIKELY(stream->schema == NULL)) {
        return ERR_OK;
    }
    struct value filled =
        value_is_absent(payload) ? value_null() : value_ref(payload);
    if (stream->fills) {
        filled = schema_fill_adopt(stream->schema, filled);
    }
    const enum err err = check_filled(stream, filled, detail);
    value_unref(filled);
    return err;
}

/* Whether the payload matches the stream's schema; false: it has ended. */
static bool fits_schema(struct event *event)
{
    const struct stream *stream = event->stream;
    if (LIKELY(stream->schema == NULL)) {
        return true;
    }
    if (stream->fills) {
        event->payload = schema_fill_adopt(stream->schema, event->payload);
    }
    struct err_detail why = {0};
    if (check_filled(stream, event->payload, &why) == ERR_OK) {
        return true;
    }
    event_fail(event, &why);
    return false;
}

/* Collects the declared reads; false: it has ended. */
static bool collect_closure(struct event *event)
{
    const struct handler *handler = handler_of(event);
    struct closure *closure = &event->events->closure;
    closure_clear(closure);
    VEC_FOREACH (&handler->declared.at, read) {
        closure_add(closure, read->place, read->kind);
    }
    if (handler->pure) {
        VEC_FOREACH (&handler->last.at, read) {
            closure_add(closure, read->place, read->kind);
        }
    }
    VEC_FOREACH (&handler->awaited.at, read) {
        closure_add(closure, read->place, read->kind);
    }
    if (handler->declare == NULL) {
        return true;
    }
    struct err_detail why = {0};
    const enum err err =
        handler->declare(handler->ctx, event->payload, closure, &why);
    if (err == ERR_OK) {
        return true;
    }
    why.err = err;
    event_fail(event, &why);
    return false;
}

static enum head judge_gate(struct lane *lane,
                            struct event *event,
                            struct node *self,
                            const struct gate_look *look)
{
    struct events *events = event->events;
    struct sched *sched = events->sched;
    switch (look->state) {
    case GATE_OPEN:
        break;
    case GATE_WORK:
        sched->cursor = 0;
        sched->sweep_floor = 0;
        preflight_return(sched, &lane->lent);
        preflight_lend(sched, self, &events->closure, &lane->lent);
        if (!queue_has_no_sweep(sched)) {
            return HEAD_NEEDS;
        }
        /* What has to run will not run now, for whatever reason. */
        return wait_until(event,
                          &(struct gate_look){
                              .until = sched->now + 1,
                              .waits = look->waits,
                          })
                   ? HEAD_WAITS
                   : HEAD_ENDED;
    case GATE_TIME:
        return wait_until(event, look) ? HEAD_WAITS : HEAD_ENDED;
    case GATE_LOAD:
        wait_for(event, look->loads->entity);
        return HEAD_WAITS;
    case GATE_LOST:
        fail_lost(event, look);
        return HEAD_ENDED;
    }
    preflight_return(sched, &lane->lent);
    handling_begin(sched, event);
    return HEAD_DONE;
}

/* Whether the event waits for something that has not happened. */
static bool is_parked(const struct event *event)
{
    const struct sched *sched = event->events->sched;
    if (event->retry_at > sched->now) {
        return true;
    }
    switch (event->park) {
    case PARK_NONE:
        return false;
    case PARK_TIME:
        return event->not_before > sched->now &&
               event->change_epoch == sched->change_epoch;
    case PARK_LOAD:
        return event->change_epoch == sched->change_epoch &&
               can_come(event->loads->space);
    case PARK_ORIGIN:
        return true;
    case PARK_OWNER:
        return event->stream->handler == NULL && event->stream->starting;
    }
    UNREACHABLE("all ways to wait are above");
    return true;
}

/* Whether there is a handler. */
static enum head look_for_handler(struct event *event)
{
    struct events *events = event->events;
    struct stream *stream = event->stream;
    if (event->handler != NULL || stream->handler != NULL) {
        return HEAD_DONE;
    }
    if (!stream->asked && events->missing != NULL) {
        stream->asked = true;
        stream->starting = true;
        const bool starting = events->missing(events->missing_ctx, stream);
        stream->starting = stream->starting && starting;
    }
    if (stream->handler != NULL) {
        return HEAD_DONE;
    }
    if (stream->starting) {
        park(event, PARK_OWNER);
        return HEAD_WAITS;
    }
    stream->asked = false;
    drop_unhandled(event);
    return HEAD_ENDED;
}

/* The receipt belongs to an event of the other stream, even if the event is
 * taken up again. */
void events_move(struct stream *from, struct stream *to)
{
    LIST_FOREACH (&from->lane->events, at) {
        struct event *event = EVENT_OF(at);
        if (event->stream == from) {
            event_leave_lane(event);
            if (event->receipt != NULL) {
                place_unref(event->receipt);
                event->receipt = NULL;
            }
            event->stream = to;
            event_put_back(event);
        }
    }
    from->asked = false;
    from->starting = false;
}

/* Whether it is known to have been handled, if its sender wants to know that
 * first. */
static enum head look_for_receipt(struct event *event)
{
    struct place *receipt = event->known ? event_receipt(event) : NULL;
    if (receipt == NULL) {
        return HEAD_DONE;
    }
    struct entity *entity = receipt->entity;
    if (!entity->loaded && can_come(entity->space)) {
        space_want(entity->space, entity);
        wait_for(event, entity);
        return HEAD_WAITS;
    }
    if (entity->seq == 0 || /* what is only visible may not land */
        event_is_given_up(entity->visible.rest)) {
        return HEAD_DONE;
    }
    struct err_detail why = {0};
    (void)err_set(&why, ERR_RECEIPT_EXISTS, "it was already handled");
    event_end_duplicate(event, &why);
    return HEAD_ENDED;
}

/* lineage-4. */
static enum head look_at_origin(struct event *event)
{
    struct origin needs;
    if (LIKELY(event->origin == NULL)) {
        return HEAD_DONE;
    }
    switch (lineage_leave(event->origin,
                          event->stream->place->entity->space,
                          &needs)) {
    case LEAVE_GO:
        break;
    case LEAVE_WAIT:
        park(event, PARK_ORIGIN);
        return HEAD_WAITS;
    case LEAVE_NEVER:
        event_end_orphan(event);
        return HEAD_ENDED;
    }
    return HEAD_DONE;
}

/* A handler that is not pure is called once, and may write anywhere: then every
 * document that nodes rely on has to be here. Returns one that is still
 * missing, or NULL. */
static struct entity *fill(const struct sched *sched)
{
    LIST_FOREACH (&sched->replica->spaces, at) {
        struct space *space = CONTAINER_OF(at, struct space, node);
        space->filling = space_fill(space) || space->filling;
        if (UNLIKELY(space->filling)) {
            space->filling = space_is_loading(space) && can_come(space);
        }
        if (UNLIKELY(space->filling)) {
            return space->loading.at[0];
        }
    }
    return NULL;
}

static enum head look_at_head(struct lane *lane, struct event *event)
{
    struct events *events = event->events;
    if (is_parked(event)) {
        return HEAD_WAITS;
    }
    const enum head owner = look_for_handler(event);
    if (owner != HEAD_DONE) {
        return owner;
    }
    const enum head origin = look_at_origin(event);
    if (origin != HEAD_DONE) {
        return origin;
    }
    const enum head known = look_for_receipt(event);
    if (known != HEAD_DONE) {
        return known;
    }
    if (!fits_schema(event) || !collect_closure(event)) {
        return HEAD_ENDED;
    }
    struct handler *handler =
        event->handler != NULL ? event->handler : event->stream->handler;
    struct entity *cold =
        LIKELY(handler->pure || events->sched->replica->sessions == 0)
            ? NULL
            : fill(events->sched);
    if (cold != NULL) {
        wait_for(event, cold);
        return HEAD_WAITS;
    }
    struct node *self = &handler->node;
    const struct gate_look look =
        preflight_look(events->sched, self, &events->closure);
    events->counters.preflights++;
    events->counters.preflight_visits += look.visits;
    event_tell(events,
               &(struct event_notice){
                   .moment = EVENT_LOOKED_AT,
                   .event = event,
                   .visits = look.visits,
               });
    return judge_gate(lane, event, self, &look);
}

/* -- All heads ----------------------------------------------------------- */

enum events_look events_look(struct sched *sched)
{
    struct events *events = sched->events;
    bool did = false;
    bool needs = false;
    for (size_t i = 0; events != NULL && i < events->lanes.count; i++) {
        struct lane *lane = events->lanes.at[i];
        while (!list_is_empty(&lane->events) && lane->pass != sched->pass) {
            const enum head head =
                look_at_head(lane, EVENT_OF(list_first(&lane->events)));
            if (head == HEAD_DONE) {
                lane->pass = sched->pass;
            }
            did = did || head == HEAD_DONE || head == HEAD_ENDED;
            needs = needs || head == HEAD_NEEDS;
            if (head != HEAD_ENDED) {
                break;
            }
        }
    }
    return needs ? EVENTS_NEED : did ? EVENTS_DID : EVENTS_NOTHING;
}

void events_pass_ends(struct sched *sched)
{
    struct events *events = sched->events;
    if (events == NULL) {
        return;
    }
    VEC_FOREACH (&events->lanes, lane) {
        preflight_return(sched, &(*lane)->lent);
    }
}

void events_forget_node(struct sched *sched, struct node *node)
{
    struct events *events = sched->events;
    if (events == NULL) {
        return;
    }
    VEC_FOREACH (&events->lanes, lane) {
        struct lent_nodes *lent = &(*lane)->lent;
        for (size_t i = lent->at.count; i > 0; i--) {
            if (lent->at.at[i - 1] == node) {
                lent->at.at[i - 1] = *vec_last(&lent->at);
                lent->at.count--;
                node->demands--;
            }
        }
    }
}

/* -- For the facade ------------------------------------------------------ */

bool events_wait(const struct sched *sched)
{
    return sched->events != NULL && sched->events->waiting > 0;
}

size_t events_waiting(const struct sched *sched)
{
    return sched->events != NULL ? sched->events->waiting : 0;
}

size_t events_waiting_stored(const struct sched *sched)
{
    size_t count = 0;
    if (sched->events == NULL) {
        return 0;
    }
    VEC_FOREACH (&sched->events->lanes, lane) {
        LIST_FOREACH (&(*lane)->events, at) {
            const struct event *event = EVENT_OF(at);
            count += event->stored != NULL &&
                     (event->origin == NULL ||
                      event->origin->state == LINEAGE_CONFIRMED);
        }
    }
    return count;
}

size_t events_unconfirmed_stored(const struct sched *sched)
{
    size_t count = 0;
    for (const struct event *event = events_next_unconfirmed(sched, NULL);
         event != NULL;
         event = events_next_unconfirmed(sched, event)) {
        count += event->stored != NULL && !event->is_queued &&
                 (event->origin == NULL ||
                  event->origin->state == LINEAGE_CONFIRMED);
    }
    return count;
}

bool events_in_flight(const struct sched *sched)
{
    return sched->events != NULL &&
           (!list_is_empty(&sched->events->flying) ||
            !list_is_empty(&sched->events->looking) || !outbox_is_empty(sched));
}

const struct event *events_next_unconfirmed(const struct sched *sched,
                                            const struct event *after)
{
    const struct events *events = sched->events;
    if (events == NULL) {
        return NULL;
    }
    const struct list_node *end = &events->flying.head;
    struct list_node *next = after != NULL ? after->node.next : end->next;
    return next != end ? EVENT_OF(next) : NULL;
}

static mono_ms head_wake(const struct lane *lane)
{
    if (list_is_empty(&lane->events)) {
        return MONO_NEVER;
    }
    const struct event *event = EVENT_OF(list_first(&lane->events));
    const mono_ms now = event->events->sched->now;
    if (!is_parked(event)) {
        return now;
    }
    if (event->retry_at > now) {
        return event->retry_at;
    }
    return event->park == PARK_TIME ? event->not_before : MONO_NEVER;
}

mono_ms events_next_wake(const struct sched *sched)
{
    mono_ms wake = MONO_NEVER;
    if (sched->events == NULL) {
        return wake;
    }
    VEC_FOREACH (&sched->events->lanes, lane) {
        const mono_ms head = head_wake(*lane);
        wake = head < wake ? head : wake;
    }
    return outbox_is_ready(sched) || handling_has_found(sched) ||
                   sched->events->ended.count > 0
               ? sched->now
               : wake;
}
