/* Stored events: writing, ending and taking up. */

#include "sched/durable.h"

#include "base/mem.h"
#include "proto/event.h"
#include "replica/space.h"
#include "sched/event.h"
#include "sched/labels.h"
#include "sched/persistence.h"
#include "sched/runner.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Events that are here ------------------------------------------------ */

static uint64_t place_hash(const struct place *place)
{
    return (uint64_t)(uintptr_t)place;
}

static bool is_stored_at(const void *item, const void *key)
{
    return ((const struct event *)item)->stored == key;
}

/* Adopts the place. */
static void remember_adopt(struct event *event, struct place *stored)
{
    event->stored = stored;
    map_insert(&event->events->stored, place_hash(stored), event);
}

void durable_forget(struct event *event)
{
    struct events *events = event->events;
    if (LIKELY(event->stored == NULL)) {
        return;
    }
    (void)map_remove(&events->stored,
                     place_hash(event->stored),
                     is_stored_at,
                     event->stored);
    const struct spent_receipt spent = {event->stored, false};
    vec_push(&events->spent, spent);
    event->stored = NULL;
}

/* -- Writing ------------------------------------------------------------- */

/* The stream of the event being handled. */
static const struct stream *sending_stream(const struct events *events)
{
    return events->handling.event->stream;
}

/* The effect whose run is under way, or NULL. */
static const struct node *sending_effect(const struct sched *sched)
{
    const struct run *run = sched->run;
    return run != NULL && run->handling == NULL && !run->dry &&
                   run->view == NULL && run->node->kind == NODE_EFFECT
               ? run->node
               : NULL;
}

bool durable_is_of_effect(const struct sched *sched,
                          const struct transaction *origin)
{
    return origin != NULL && sending_effect(sched) != NULL &&
           sched->run->transaction == origin;
}

/* Where an event of a handling or of an effect is stored. */
static struct space *home_of(const struct event *event)
{
    const struct events *events = event->events;
    if (event->sender != NULL) {
        return sending_stream(events)->place->entity->space;
    }
    struct space *recorded = persistence_space(sending_effect(events->sched));
    return recorded != NULL ? recorded : event->stream->place->entity->space;
}

/* The stream of the handler that sends it, or the name of the effect as an id
 * of its piece; new, or absent. */
static struct value from_of(const struct event *event)
{
    const struct sched *sched = event->events->sched;
    const struct node *effect = sending_effect(sched);
    if (event->sender != NULL) {
        return value_ref(sending_stream(event->events)->place->entity->id);
    }
    if (effect == NULL || persistence_space(effect) == NULL) {
        return VALUE_NONE;
    }
    const struct value name = node_name(effect);
    const struct text text = value_text(&name);
    struct buf id = {0};
    buf_append_text(&id, "piece:");
    buf_append(&id, text.at, text.length);
    const struct value made = value_string_new(buf_text(&id), id.length);
    buf_release(&id);
    return made;
}

struct value durable_document_of(const struct event *event)
{
    const struct events *events = event->events;
    const struct entity *stream = event->stream->place->entity;
    struct stored_event stored = {
        .stream = stream->id,
        .path = event->stream->place->path,
        .payload = event->payload,
        .time = event->time,
        .instance = event_instance(event),
        .origin = event->origin_number,
        .counter = event->counter,
        .caller = event->caller,
        .hops = event->hops,
        .queued = event->is_queued,
        .user = events->user,
    };
    if (event->timed != NULL) {
        stored.is_timer = true;
        stored.timer = event->timed->plan;
    } else if (stream->space != event->stored->entity->space) {
        stored.space = stream->space->id;
    }
    stored.from = from_of(event);
    if (event->label != NULL) {
        stored.label = labels_names(events->sched, event->label);
    }
    const struct value document = stored_event_write(&stored);
    value_unref(stored.label);
    value_unref(stored.from);
    return document;
}

enum err durable_restore(struct event *event,
                         struct transaction *origin,
                         struct err_detail *detail)
{
    return transaction_put_adopt(origin,
                                 event->stored,
                                 durable_document_of(event),
                                 detail);
}

struct place *durable_document(struct space *space, struct value id)
{
    struct entity *entity;
    const enum err err = entity_of(space, SCOPE_SPACE, id, &entity, NULL);
    CHECK(err == ERR_OK); /* the id is valid */
    return place_root(entity);
}

struct value durable_last_sent(struct sched *sched, struct transaction *origin)
{
    const struct lineage *lineage = lineage_of(sched, origin);
    if (list_is_empty(&lineage->events)) {
        return VALUE_NONE;
    }
    const struct event *event =
        CONTAINER_OF(list_last(&lineage->events), struct event, in_origin);
    const struct place *document =
        event->timed != NULL ? event->receipt : event->stored;
    return document != NULL ? value_ref(document->entity->id) : VALUE_NONE;
}

void durable_on_first(struct sched *sched, void (*first)(void *ctx), void *ctx)
{
    struct events *events = events_of(sched);
    events->first_stored = first;
    events->first_stored_ctx = ctx;
}

static void tell_first(struct events *events)
{
    if (UNLIKELY(events->first_stored != NULL)) {
        void (*first)(void *ctx) = events->first_stored;
        events->first_stored = NULL;
        first(events->first_stored_ctx);
    }
}

enum err durable_store(struct event *event,
                       struct transaction *origin,
                       struct err_detail *detail)
{
    const struct events *events = event->events;
    if (events->policy.no_receipts ||
        event->stream->place->entity->scope != SCOPE_SPACE) {
        return ERR_OK;
    }
    struct space *home = home_of(event);
    if (home->session == NULL) {
        return ERR_OK;
    }
    tell_first(event->events);
    const struct value id = event_own_receipt_id(event);
    remember_adopt(event, durable_document(home, id));
    value_unref(id);
    /* The id is new, so nothing has to be fetched or watched. */
    transaction_create_only(origin, event->stored->entity);
    return durable_restore(event, origin, detail);
}

/* The verdict can arrive inside the commit, which ends the event. */
static enum err commit_queued(struct event *event, struct err_detail *detail)
{
    const struct transaction_options options = {
        .watch = {.settled = event_answered, .ctx = event},
    };
    struct transaction *transaction =
        transaction_begin(event->events->sched->replica, &options);
    transaction_create_only(transaction, event->stored->entity);
    const enum err err = durable_restore(event, transaction, detail);
    if (err != ERR_OK) {
        transaction_release(transaction);
        return err;
    }
    return transaction_finish(transaction, detail);
}

enum err durable_queue(struct event *event, struct err_detail *detail)
{
    struct entity *stream = event->stream->place->entity;
    enum err err = ERR_OK;
    if (stream->space->session == NULL || stream->scope != SCOPE_SPACE ||
        event->events->policy.no_receipts) {
        err = err_set(detail,
                      ERR_MISUSE,
                      "the runtime has no store to keep the event: send it "
                      "without queueing");
    } else {
        const struct value id = event_receipt_id(event);
        event->is_queued = true;
        remember_adopt(event, durable_document(stream->space, id));
        value_unref(id);
        (void)event_receipt(event);
        event->state = EVENT_IN_FLIGHT;
        event->expected = 1;
        list_push_back(&event->events->flying, &event->node);
        err = commit_queued(event, detail);
    }
    if (err != ERR_OK) {
        event_release(event, false);
    }
    return err;
}

/* -- Handling ------------------------------------------------------------ */

static struct value delivered(const struct event *event)
{
    const struct value parts[] = {
        value_text_new("delivered"),
        event_receipt_id(event),
        value_text_new("stream"),
        value_ref(event->stream->place->entity->id),
    };
    return object_new_adopt(parts, COUNT_OF(parts) / 2);
}

/* timer-4: a repeating timer continues. Adopts what the document would be
 * otherwise. */
static struct value with_next_adopt(const struct event *event,
                                    struct value document)
{
    const struct event_timed *timed = event->timed;
    if (timed != NULL && event_timer_repeats(&timed->plan)) {
        object_put_adopt(&document, "event", timers_next(timed));
    }
    return document;
}

enum err durable_handle_adopt(struct event *event,
                              struct transaction *transaction,
                              struct value receipt,
                              struct err_detail *detail)
{
    struct place *to = event_receipt(event);
    if (UNLIKELY(event->timed != NULL)) {
        timers_handle(event, transaction);
        if (transaction_sets(transaction, to->entity)) {
            value_unref(receipt); /* the handler has set the timer again, or
                                     cancelled it */
            return ERR_OK;
        }
        return transaction_put_adopt(transaction,
                                     to,
                                     with_next_adopt(event, receipt),
                                     detail);
    }
    if (event->stored == to) {
        transaction_handles_event(transaction, to->entity);
        return transaction_put_adopt(transaction, to, receipt, detail);
    }
    const struct space *home =
        event->stored != NULL ? event->stored->entity->space : NULL;
    if (home != NULL && home != to->entity->space) {
        object_put_adopt(&receipt, "fromSpace", value_ref(home->id));
    }
    transaction_create_only(transaction, to->entity);
    const enum err err =
        transaction_put_adopt(transaction, to, receipt, detail);
    if (err != ERR_OK || home != to->entity->space) {
        return err;
    }
    transaction_handles_event(transaction, event->stored->entity);
    return transaction_put_adopt(transaction,
                                 event->stored,
                                 delivered(event),
                                 detail);
}

/* -- Ending -------------------------------------------------------------- */

/* Why the handler failed, as text. */
static struct value failed(const struct event *event,
                           const struct err_detail *why)
{
    const struct value reason[] = {
        value_text_new("code"),
        value_text_new(err_name(why->err)),
        value_text_new("message"),
        value_text_new(why->text[0] != '\0' ? why->text : err_text(why->err)),
    };
    const struct value parts[] = {
        value_text_new("failed"),
        object_new_adopt(reason, COUNT_OF(reason) / 2),
        value_text_new("stream"),
        value_ref(event->stream->place->entity->id),
    };
    return object_new_adopt(parts, COUNT_OF(parts) / 2);
}

/* Whether a failure is the event's own: another attempt would fail, too. */
static bool is_final(enum err err)
{
    return err_class_of(err) == ERR_CLASS_TERMINAL &&
           err != ERR_NOT_CONVERGED && err != ERR_NOT_SETTLED;
}

/* What the document becomes; absent: it stays as it is. */
static struct value ending(struct event *event,
                           enum event_outcome outcome,
                           const struct err_detail *why)
{
    const bool elsewhere = event->stored != event_receipt(event);
    switch (outcome) {
    case EVENT_DONE:
        return elsewhere && event->stored->entity->space !=
                                event->stream->place->entity->space
                   ? delivered(event)
                   : VALUE_NONE;
    case EVENT_DROPPED:
        if (why->err == ERR_NO_HANDLER && event->stream->is_none) {
            return failed(event, why);
        }
        return elsewhere && why->err == ERR_RECEIPT_EXISTS ? delivered(event)
                                                           : VALUE_NONE;
    case EVENT_QUEUED:
        return VALUE_NONE;
    case EVENT_FAILED:
        if (!event->is_queued && why->err == ERR_NO_HANDLER) {
            return failed(event, why); /* its handler is gone permanently */
        }
        return !event->is_queued && is_final(why->err)
                   ? with_next_adopt(event, failed(event, why))
                   : VALUE_NONE;
    }
    UNREACHABLE("all outcomes are above");
    return VALUE_NONE;
}

void durable_end(struct event *event,
                 enum event_outcome outcome,
                 const struct err_detail *why)
{
    if (UNLIKELY(event->timed != NULL)) {
        timers_end(event, outcome, why->err);
    }
    if (LIKELY(event->stored == NULL)) {
        return;
    }
    struct ended_event ended = {
        .stored = event->stored,
        .document = ending(event, outcome, why),
        .is_timer = event->timed != NULL,
    };
    if (UNLIKELY(ended.is_timer)) {
        ended.digest = event->timed->digest;
    }
    if (!value_is_absent(ended.document)) {
        (void)place_ref(ended.stored);
        vec_push(&event->events->ended, ended);
    }
}

/* Refused only if another runtime has handled the event, or it was cancelled:
 * both are fine. */
static void commit_end(struct sched *sched, const struct ended_event *ended)
{
    struct transaction *transaction = transaction_begin(sched->replica, NULL);
    if (ended->is_timer) {
        transaction_handles_timer(transaction,
                                  ended->stored->entity,
                                  ended->digest);
    } else {
        transaction_handles_event(transaction, ended->stored->entity);
    }
    enum err err = transaction_put_adopt(transaction,
                                         ended->stored,
                                         value_ref(ended->document),
                                         NULL);
    err = err == ERR_OK ? transaction_finish(transaction, NULL) : err;
    (void)err;
}

void durable_flush(struct sched *sched)
{
    struct events *events = sched->events;
    for (size_t i = 0; i < events->ended.count; i++) {
        const struct ended_event ended = events->ended.at[i];
        commit_end(sched, &ended);
        const struct spent_receipt spent = {ended.stored, false};
        vec_push(&events->spent, spent);
        value_unref(ended.document);
    }
    vec_clear(&events->ended);
}

void durable_release(struct events *events)
{
    VEC_FOREACH (&events->ended, ended) {
        place_unref(ended->stored);
        value_unref(ended->document);
    }
    vec_release(&events->ended);
    map_release(&events->stored);
}

/* -- Taking up ----------------------------------------------------------- */

/* Whether its end is not committed yet. */
static bool is_ending(const struct events *events, const struct place *stored)
{
    VEC_FOREACH (&events->ended, ended) {
        if (ended->stored == stored) {
            return true;
        }
    }
    return false;
}

bool durable_is_here(const struct sched *sched,
                     struct space *space,
                     struct value id)
{
    const struct events *events = sched->events;
    const struct entity *entity = entity_find(space, SCOPE_SPACE, id);
    if (events == NULL || entity == NULL) {
        return false;
    }
    /* A pending local write is that of its end. */
    return entity->overlay != NULL ||
           (entity->root != NULL && (is_ending(events, entity->root) ||
                                     map_find(&events->stored,
                                              place_hash(entity->root),
                                              is_stored_at,
                                              entity->root) != NULL));
}

/* The handler here that sent it, or NULL: reported if the event cannot be
 * handled. */
static struct handler *find_sender(const struct events *events,
                                   struct space *space,
                                   struct value stream)
{
    MAP_FOREACH (&events->streams, slot) {
        const struct stream *from = slot->item;
        const struct entity *entity = from->place->entity;
        if (entity->space == space && value_equal(entity->id, stream)) {
            return from->handler;
        }
    }
    return NULL;
}

bool durable_has_sender(const struct sched *sched,
                        struct space *space,
                        struct value stream)
{
    return sched->events != NULL && !value_is_absent(stream) &&
           find_sender(sched->events, space, stream) != NULL;
}

void durable_take_up(struct sched *sched,
                     struct space *space,
                     struct value id,
                     struct stream *stream,
                     const struct stored_event *stored)
{
    durable_take_up_timed(sched, space, id, stream, stored, NULL);
}

void durable_take_up_timed(struct sched *sched,
                           struct space *space,
                           struct value id,
                           struct stream *stream,
                           const struct stored_event *stored,
                           struct event_timed *timed)
{
    struct events *events = events_of(sched);
    CHECK(!durable_is_here(sched, space, id));
    struct event *event = event_new(events, stream);
    event->payload = value_ref(stored->payload);
    event->time = stored->time;
    event->hops = (uint32_t)stored->hops;
    event->taken_from = value_ref(stored->instance);
    event->origin_number = stored->origin;
    event->counter = (uint32_t)stored->counter;
    event->caller = value_ref(stored->caller);
    if (!value_is_absent(event->caller)) {
        event->digest = event_payload_digest(event->payload);
    }
    if (!value_is_absent(stored->label)) {
        event->label = labels_of_names(sched, stored->label);
    }
    event->sender = value_is_absent(stored->from)
                        ? NULL
                        : find_sender(events, space, stored->from);
    if (event->sender != NULL) {
        event->sender->refs++;
    }
    if (timed != NULL) {
        event->timed = timed;
        event->time = timed->plan.due;
    }
    remember_adopt(event, durable_document(space, id));
    event_enter(event);
}
