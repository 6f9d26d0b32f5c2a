/* Setting and cancelling timers, and what is special about their events. */

#include "sched/timers.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/event.h"
#include "replica/draft.h"
#include "replica/space.h"
#include "sched/durable.h"
#include "sched/event.h"
#include "sched/labels.h"
#include "sched/runner.h"
#include "value/compare.h"
#include "value/object.h"

/* -- Names --------------------------------------------------------------- */

struct timer_group {
    struct events *events; /* NULL: gone */
    const struct space *space;
    struct value id; /* event_timer_group */
    struct list timed;
};

struct group_key {
    const struct space *space;
    struct value id;
};

static bool group_is(const void *item, const void *key)
{
    const struct timer_group *group = item;
    const struct group_key *sought = key;
    return group->space == sought->space && key_equal(group->id, sought->id);
}

static void group_enter(struct events *events,
                        struct event_timed *timed,
                        const struct entity *stream,
                        struct value document)
{
    const struct value owner = event_timer_owner(stream->id);
    const struct value id = event_timer_group(owner, timed->plan.id);
    const struct group_key key = {stream->space, id};
    const uint64_t hash = value_hash(id);
    struct map_slot *slot = map_seek(&events->groups, hash, group_is, &key);
    if (slot->item == NULL) {
        struct timer_group *group = mem_alloc_zero(sizeof *group);
        group->events = events;
        group->space = stream->space;
        group->id = value_ref(id);
        list_init(&group->timed);
        map_fill(&events->groups, slot, hash, group);
    }
    timed->group = slot->item;
    timed->document = value_ref(document);
    list_node_init(&timed->in_group);
    list_push_back(&timed->group->timed, &timed->in_group);
    value_unref(owner);
    value_unref(id);
}

static void group_free(struct timer_group *group)
{
    value_unref(group->id);
    mem_free(group, sizeof *group);
}

static void group_leave(struct event_timed *timed)
{
    struct timer_group *group = timed->group;
    list_remove(&timed->in_group);
    value_unref(timed->document);
    if (!list_is_empty(&group->timed)) {
        return;
    }
    if (group->events != NULL) {
        (void)map_remove(&group->events->groups,
                         value_hash(group->id),
                         map_same,
                         group);
    }
    group_free(group);
}

void timers_release_groups(struct events *events)
{
    MAP_FOREACH (&events->groups, slot) {
        ((struct timer_group *)slot->item)->events = NULL;
    }
    map_release(&events->groups);
}

void timers_list_pending(const struct sched *sched,
                         const struct space *space,
                         struct value group,
                         timer_documents *out)
{
    const struct group_key key = {space, group};
    const struct timer_group *found = sched->events != NULL
                                          ? map_find(&sched->events->groups,
                                                     value_hash(group),
                                                     group_is,
                                                     &key)
                                          : NULL;
    if (found == NULL) {
        return;
    }
    LIST_FOREACH (&found->timed, at) {
        const struct event_timed *timed =
            CONTAINER_OF(at, struct event_timed, in_group);
        vec_push(out, value_ref(timed->document));
    }
}

void timer_documents_release(timer_documents *documents)
{
    VEC_FOREACH (documents, document) {
        value_unref(*document);
    }
    vec_release(documents);
}

static struct event_timed *timed_new(const struct event_timer *plan)
{
    struct event_timed *timed = mem_alloc_zero(sizeof *timed);
    timed->plan = event_timer_copy(plan);
    return timed;
}

void timers_free(struct event_timed *timed)
{
    if (timed == NULL) {
        return;
    }
    if (timed->group != NULL) {
        group_leave(timed);
    }
    event_timer_release(&timed->plan);
    value_unref(timed->event);
    mem_free(timed, sizeof *timed);
}

/* -- Due times ----------------------------------------------------------- */

static void note_due(struct events *events, uint64_t due)
{
    events->earliest = due < events->earliest ? due : events->earliest;
}

uint64_t timers_take_earliest(struct sched *sched)
{
    struct events *events = sched->events;
    if (events == NULL) {
        return TIMERS_NEVER;
    }
    const uint64_t earliest = events->earliest;
    events->earliest = TIMERS_NEVER;
    return earliest;
}

bool timers_take_moving(struct sched *sched)
{
    const bool is_moving = sched->events != NULL && sched->events->is_moving;
    if (is_moving) {
        sched->events->is_moving = false;
    }
    return is_moving;
}

bool timers_are_noted(const struct sched *sched)
{
    return sched->events != NULL && sched->events->earliest != TIMERS_NEVER;
}

/* -- Setting ------------------------------------------------------------- */

/* Whether a run of a node sends it: effects and computations may run again. */
static bool is_of_node(const struct sched *sched, const struct event_spec *spec)
{
    return spec->origin != NULL && sched->run != NULL &&
           sched->run->transaction == spec->origin &&
           sched->run->handling == NULL;
}

static enum err check(struct sched *sched,
                      const struct stream *stream,
                      const struct event_spec *spec,
                      struct err_detail *detail)
{
    const struct events *events = sched->events;
    const struct entity *entity = stream->place->entity;
    if (is_of_node(sched, spec)) {
        return err_set(detail,
                       ERR_MISUSE,
                       "only a handler or an edit can set a timer: send an "
                       "event, and set the timer in its handler");
    }
    if (entity->space->session == NULL || entity->scope != SCOPE_SPACE ||
        events->policy.no_receipts) {
        return err_set(detail,
                       ERR_MISUSE,
                       "the runtime has no store to keep the timer: open it "
                       "with a directory");
    }
    if (event_is_of_handling(events, spec) &&
        events->handling.event->stream->place->entity->space != entity->space) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "the stream of a timer must be in the space of the "
                       "handler that sets it");
    }
    return ERR_OK;
}

static void give_origin(struct event *event, const struct event_spec *spec)
{
    struct events *events = event->events;
    if (spec->origin == NULL) {
        event->origin_number = ++events->origins;
        return;
    }
    struct lineage *lineage = lineage_of(events->sched, spec->origin);
    event->origin = lineage_ref(lineage);
    event->origin_number = lineage->number;
    event->counter = lineage->minted++;
    if (event_is_of_handling(events, spec)) {
        event->sender = events->handling.event->handler;
        event->sender->refs++;
    }
}

/* Of one that is being set. */
static struct place *document_for(const struct event *event)
{
    const struct entity *stream = event->stream->place->entity;
    const struct event_timer *plan = &event->timed->plan;
    struct value id = VALUE_NONE;
    if (value_is_absent(plan->id)) {
        const struct value receipt = event_own_receipt_id(event);
        id = event_timer_id_unnamed(receipt);
        value_unref(receipt);
    } else {
        id = event_timer_id(stream->id, plan->id);
        group_enter(event->events, event->timed, stream, id);
    }
    struct place *place = durable_document(stream->space, id);
    value_unref(id);
    return place;
}

static struct event *make(struct events *events,
                          struct stream *stream,
                          const struct event_spec *spec)
{
    struct event *event = event_new(events, stream);
    event->payload = value_is_absent(spec->payload) ? value_null()
                                                    : value_ref(spec->payload);
    event->label = labels_join_sender(events->sched, NULL, spec->origin);
    event->time = spec->time;
    event->timed = timed_new(spec->timer);
    event->is_queued = true; /* for any runtime */
    give_origin(event, spec);
    event->receipt = document_for(event);
    if (spec->done != NULL) {
        const struct event_listener listener = {spec->done, spec->ctx};
        vec_push(&event->listeners, listener);
    }
    return event;
}

/* The verdict can arrive inside the commit, which ends the event. */
static enum err commit_alone(struct event *event, struct err_detail *detail)
{
    struct events *events = event->events;
    const struct transaction_options options = {
        .watch = {.settled = event_answered, .ctx = event},
    };
    event->state = EVENT_IN_FLIGHT;
    event->expected = 1;
    list_push_back(&events->flying, &event->node);
    struct transaction *transaction =
        transaction_begin(events->sched->replica, &options);
    const enum err err = transaction_put_adopt(transaction,
                                               event->receipt,
                                               durable_document_of(event),
                                               detail);
    if (err != ERR_OK) {
        transaction_release(transaction);
        return err;
    }
    return transaction_finish(transaction, detail);
}

static enum err put_into(struct event *event,
                         struct transaction *origin,
                         struct err_detail *detail)
{
    const enum err err = transaction_put_adopt(origin,
                                               event->receipt,
                                               durable_document_of(event),
                                               detail);
    if (err == ERR_OK) {
        event->state = EVENT_STORED;
        list_push_back(&event->events->timers, &event->node);
        list_push_back(&event->origin->events, &event->in_origin);
    }
    return err;
}

enum err timers_send(struct sched *sched,
                     struct stream *stream,
                     const struct event_spec *spec,
                     struct err_detail *detail)
{
    struct events *events = events_of(sched);
    enum err err = check(sched, stream, spec, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = event_check_payload(stream, spec->payload, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct event *event = make(events, stream, spec);
    events->counters.sent++;
    events->counters.timers++;
    err = spec->origin != NULL ? put_into(event, spec->origin, detail)
                               : commit_alone(event, detail);
    if (err != ERR_OK) {
        event_release(event, false);
    }
    return err;
}

void timers_landed(struct event *event)
{
    event_end(event, EVENT_QUEUED, NULL);
}

/* -- Cancelling ---------------------------------------------------------- */

static struct value cancelled(struct value stream)
{
    const struct value parts[] = {
        value_text_new("cancelled"),
        value_bool(true),
        value_text_new("stream"),
        value_ref(stream),
    };
    return object_new_adopt(parts, COUNT_OF(parts) / 2);
}

/* The document of a timer that the transaction knows, new. One that the
 * transaction creates is not at the store, and is not requested. */
static struct value look_at(struct transaction *transaction,
                            struct place *place)
{
    struct value document = VALUE_NONE;
    if (entity_is_available(place->entity)) {
        (void)transaction_read(transaction,
                               place,
                               READ_DEEP,
                               READ_FOR_BOTH,
                               &document);
        return document;
    }
    const struct draft *draft = draft_find(transaction, place->entity);
    return draft != NULL ? entity_state_document(&draft->work) : VALUE_NONE;
}

static enum err cancel_at(struct transaction *transaction,
                          struct place *place,
                          bool *was,
                          struct err_detail *detail)
{
    const struct value document = look_at(transaction, place);
    enum err err = ERR_OK;
    *was = value_is_object(document) && event_is_waiting(document);
    if (*was) {
        const struct value event = object_field(document, "event");
        const struct value stream = object_field(event, "stream");
        err = transaction_put_adopt(
            transaction,
            place,
            cancelled(value_is_absent(stream) ? value_null() : stream),
            detail);
    }
    value_unref(document);
    return err;
}

/* The event with that document, not a timer, that the transaction itself has
 * sent; or NULL. */
static struct event *sent_by(const struct transaction *transaction,
                             const struct entity *document)
{
    const struct lineage *lineage = transaction->launched;
    if (lineage == NULL) {
        return NULL;
    }
    LIST_FOREACH (&lineage->events, at) {
        struct event *event = CONTAINER_OF(at, struct event, in_origin);
        if (event->timed == NULL && event->stored != NULL &&
            event->stored->entity == document) {
            return event;
        }
    }
    return NULL;
}

/* An event whose document this transaction creates: it is not sent after
 * all. */
static enum err take_back(struct event *event,
                          struct transaction *transaction,
                          struct place *place,
                          struct err_detail *detail)
{
    event_end_orphan(event);
    return transaction_delete(transaction, place, detail);
}

enum err timers_cancel(struct sched *sched,
                       struct transaction *transaction,
                       struct space *space,
                       struct value document,
                       bool *was,
                       struct err_detail *detail)
{
    struct events *events = events_of(sched);
    struct place *place = durable_document(space, document);
    struct event *own = event_is_timer_id(document)
                            ? NULL
                            : sent_by(transaction, place->entity);
    enum err err = ERR_OK;
    *was = false;
    if (own != NULL) {
        *was = true;
        err = take_back(own, transaction, place, detail);
    } else if (transaction_knows(transaction, place->entity)) {
        err = cancel_at(transaction, place, was, detail);
        const struct spent_receipt spent = {place_ref(place), false};
        vec_push(&events->spent, spent);
    } else {
        transaction_await(transaction, place->entity);
        err = err_set(detail, ERR_STALE, "the timer is not loaded yet");
    }
    place_unref(place);
    return err;
}

/* -- Handling ------------------------------------------------------------ */

void timers_handle(const struct event *event, struct transaction *transaction)
{
    transaction_handles_timer(transaction,
                              event->stored->entity,
                              event->timed->digest);
}

void timers_end(const struct event *event,
                enum event_outcome outcome,
                enum err why)
{
    const struct event_timed *timed = event->timed;
    if (outcome == EVENT_QUEUED) {
        note_due(event->events, timed->plan.due);
    } else if (why == ERR_RECEIPT_EXISTS) {
        note_due(event->events, 0); /* whatever is there now */
    } else if (event_timer_repeats(&timed->plan)) {
        note_due(event->events, timed->next);
        event->events->is_moving = outcome != EVENT_DONE;
    }
}

static struct value moved(struct value event, uint64_t due)
{
    struct value made = value_ref(event);
    object_put_number(&made, "due", due);
    return made;
}

struct value timers_next(const struct event_timed *timed)
{
    return moved(timed->event, timed->next);
}

void timers_take_up(struct sched *sched,
                    struct space *space,
                    struct value id,
                    struct stream *stream,
                    const struct stored_event *stored,
                    struct value document,
                    uint64_t next)
{
    struct event_timed *timed = timed_new(&stored->timer);
    timed->next = next;
    timed->event = value_ref(object_field(document, "event"));
    timed->digest = value_digest(timed->event);
    durable_take_up_timed(sched, space, id, stream, stored, timed);
}

void timers_skip(struct sched *sched,
                 struct space *space,
                 struct value id,
                 struct value document,
                 uint64_t next)
{
    const struct value event = object_field(document, "event");
    struct place *place = durable_document(space, id);
    struct transaction *transaction = transaction_begin(sched->replica, NULL);
    transaction_handles_timer(transaction, place->entity, value_digest(event));
    struct value after = value_ref(document);
    object_put_adopt(&after, "event", moved(event, next));
    enum err err = transaction_put_adopt(transaction, place, after, NULL);
    err = err == ERR_OK ? transaction_finish(transaction, NULL) : err;
    (void)err; /* refused: another runtime has done it, or it is gone */
    const struct spent_receipt spent = {place, false};
    vec_push(&events_of(sched)->spent, spent);
    note_due(sched->events, next);
}
