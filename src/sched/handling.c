/* One event: its attempts, and their verdicts. */

#include "sched/handling.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "replica/draft.h"
#include "replica/overlay.h"
#include "replica/session.h"
#include "replica/space.h"
#include "sched/claims.h"
#include "sched/durable.h"
#include "sched/evaluation.h"
#include "sched/event.h"
#include "sched/introspection.h"
#include "sched/labels.h"
#include "value/compare.h"
#include "value/id.h"
#include "value/object.h"

/* -- For handlers -------------------------------------------------------- */

struct place *handling_stream(const struct handling *handling)
{
    return handling->event->stream->place;
}

struct value handling_payload(const struct handling *handling)
{
    return handling->event->payload;
}

uint32_t handling_attempt(const struct handling *handling)
{
    return handling->event->attempts;
}

void handling_return_adopt(struct handling *handling, struct value value)
{
    value_unref(handling->result);
    handling->result = value;
}

enum err handling_send(struct handling *handling,
                       struct stream *stream,
                       const struct event_spec *spec,
                       struct err_detail *detail)
{
    struct event_spec bound = *spec;
    struct err_detail why = {0};
    bound.origin = handling_transaction(handling);
    const enum err err = events_send(handling->sched, stream, &bound, &why);
    if (UNLIKELY(err != ERR_OK) && detail != NULL) {
        *detail = why;
    }
    if (UNLIKELY(err == ERR_BACKLOG)) {
        lineage_refuse(handling->sched, bound.origin, &why);
    }
    return err;
}

bool event_is_of_handling(const struct events *events,
                          const struct event_spec *spec)
{
    const struct handling *handling = &events->handling;
    return spec->origin != NULL && handling->event != NULL &&
           handling_transaction(handling) == spec->origin;
}

/* -- What a refusal means ------------------------------------------------ */

/* The time of the next attempt. Fractions of a millisecond are rounded up to
 * one. */
static mono_ms next_attempt(struct event *event)
{
    struct events *events = event->events;
    uint64_t delay = events_delay_us(&events->policy, event->attempts);
    const uint64_t jitter = delay * events->policy.jitter_percent / 100;
    if (jitter > 0) {
        delay -= random_below(&events->random, jitter + 1);
    }
    return events->sched->now + (delay + 999) / 1000;
}

void event_report(const struct event *event,
                  const struct handler *handler,
                  const struct err_detail *why)
{
    const struct sched *sched = event->events->sched;
    if (sched->hooks.error != NULL && handler != NULL) {
        sched->hooks.error(sched->hooks.ctx, &handler->node, why);
    }
}

void event_fail(struct event *event, const struct err_detail *why)
{
    event_report(event,
                 event->handler != NULL ? event->handler
                                        : event->stream->handler,
                 why);
    event_end(event, EVENT_FAILED, why);
}

/* The place of the conflict, and the winner, as far as known. */
static void name_rival(struct buf *text, const struct verdict *refusal)
{
    const struct value parts[] = {refusal->id, refusal->path};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (value_is_string(parts[i])) {
            const struct text part = value_text(&parts[i]);
            buf_append(text, part.at, part.length);
        }
    }
    if (value_is_string(refusal->by)) {
        const struct text by = value_text(&refusal->by);
        buf_printf(text, " (by session %.*s)", (int)by.length, by.at);
    }
}

static void fail_to_converge(struct event *event, const struct verdict *refusal)
{
    struct err_detail why = {0};
    struct buf rival = {0};
    name_rival(&rival, refusal);
    const char *last = refusal->detail.text[0] != '\0' ? refusal->detail.text
                                                       : err_text(refusal->err);
    (void)err_set(&why,
                  ERR_NOT_CONVERGED,
                  "gave up after conflicts in all of %u attempts, the last at "
                  "%s: %s",
                  (unsigned)event->attempts,
                  rival.length > 0 ? buf_text(&rival) : "its reads",
                  last);
    buf_release(&rival);
    event_fail(event, &why);
}

/* handling-3: tries again, if there is time. */
static void retry(struct event *event, const struct verdict *refusal)
{
    struct events *events = event->events;
    const mono_ms now = events->sched->now;
    if (event->origin != NULL && event->origin->state == LINEAGE_FAILED) {
        event_end_orphan(event);
        return;
    }
    if (event->no_retry || event->is_queued) { /* not to be handled here */
        event_fail(event, &refusal->detail);
        return;
    }
    if (event->deadline == 0) {
        event->deadline = now + events->policy.window;
    }
    if (now >= event->deadline) {
        fail_to_converge(event, refusal);
        return;
    }
    events->counters.retries++;
    event->retry_at = next_attempt(event);
    event_put_back(event);
}

/* Whether the receipt has arrived, or never will. */
static bool is_found(const struct event *event)
{
    const struct entity *receipt = event->receipt->entity;
    return receipt->loaded ||
           session_check(receipt->space->session, NULL) != ERR_OK;
}

/* The digest of the payload that was handled first: in its receipt, or of the
 * event itself, if that is still stored. New, or absent. */
static struct value first_digest(struct value rest)
{
    if (value_is_absent(rest)) {
        return VALUE_NONE;
    }
    const struct value event = object_field(rest, "event");
    return value_is_object(event)
               ? event_payload_digest(object_field(event, "payload"))
               : value_ref(object_field(rest, "payloadDigest"));
}

/* events-6. */
void event_end_duplicate(struct event *event, const struct err_detail *why)
{
    const struct value first =
        first_digest(overlay_confirmed(event->receipt->entity)->rest);
    if (value_is_absent(event->digest) || !value_is_string(first) ||
        value_equal(first, event->digest)) {
        value_unref(first);
        event_end(event, EVENT_DROPPED, why);
        return;
    }
    struct err_detail mismatch = {0};
    const struct text was = value_text(&first);
    const struct text is = value_text(&event->digest);
    (void)err_set(&mismatch,
                  ERR_IDEMPOTENCY_MISMATCH,
                  "an event with this session and id was sent before with "
                  "another payload (digest %.*s, now %.*s): send it with an id "
                  "of its own",
                  text_shown(was.at, was.length, DIGEST_TEXT_LENGTH),
                  was.at,
                  (int)is.length,
                  is.at);
    value_unref(first);
    event_fail(event, &mismatch);
}

/* It was handled before: the first receipt may have to be fetched. */
static void look_for_first(struct event *event, const struct err_detail *why)
{
    struct entity *receipt = event_receipt(event)->entity;
    if (is_found(event)) {
        event_end_duplicate(event, why);
        return;
    }
    space_want(receipt->space, receipt);
    event->state = EVENT_FETCHING_RECEIPT;
    list_move_back(&event->events->looking, &event->node);
}

/* handling-3. */
static void refuse(struct event *event, const struct verdict *refusal)
{
    const struct err_detail *why = &refusal->detail;
    const enum err_class class = err_class_of(why->err);
    event->events->counters.refusals[class]++;
    switch (class) {
    case ERR_CLASS_NONE:
        UNREACHABLE("a refusal has a reason");
        return;
    case ERR_CLASS_RETRY:
        retry(event, refusal);
        return;
    case ERR_CLASS_PERMANENT:
        if (why->err == ERR_RECEIPT_EXISTS && event->receipt != NULL) {
            look_for_first(event, why);
            return;
        }
        if (event->sender != NULL) { /* the only report */
            event_report(event, event->handler, why);
        }
        event_end(event, EVENT_DROPPED, why);
        return;
    case ERR_CLASS_TERMINAL:
    case ERR_CLASS_FAULT:
        event_fail(event, why);
        return;
    }
}

bool handling_has_found(const struct sched *sched)
{
    LIST_FOREACH (&sched->events->looking, at) {
        if (is_found(EVENT_OF(at))) {
            return true;
        }
    }
    return false;
}

void handling_look_for_receipts(struct sched *sched)
{
    LIST_FOREACH (&sched->events->looking, at) {
        struct event *event = EVENT_OF(at);
        if (is_found(event)) {
            struct err_detail why = {0};
            (void)err_set(&why, ERR_RECEIPT_EXISTS, "it was already handled");
            event_end_duplicate(event, &why);
        }
    }
}

/* -- Verdicts ------------------------------------------------------------ */

static void forget_attempt(struct event *event)
{
    lineage_unref(event->launched);
    event->launched = NULL;
    event->expected = 0;
    event->answers = 0;
}

/* All verdicts have arrived. */
static void conclude(struct event *event)
{
    if (event->refusal == NULL) {
        event_end(event, event->is_queued ? EVENT_QUEUED : EVENT_DONE, NULL);
        return;
    }
    struct verdict *refusal = event->refusal;
    event->refusal = NULL;
    forget_attempt(event);
    refuse(event, refusal);
    verdict_release(refusal);
    mem_free(refusal, sizeof *refusal);
}

static void keep_refusal(struct event *event, const struct verdict *verdict)
{
    if (event->refusal == NULL) {
        event->refusal = mem_alloc_zero(sizeof *event->refusal);
        event->refusal->err = verdict->err;
        event->refusal->detail = verdict->detail;
        event->refusal->detail.err = verdict->err;
        event->refusal->id = value_ref(verdict->id);
        event->refusal->path = value_ref(verdict->path);
        event->refusal->by = value_ref(verdict->by);
        event->refused = true;
    }
}

void event_answered(void *ctx, const struct verdict *verdict)
{
    struct event *event = ctx;
    event->answers++;
    const bool last = event->answers == event->expected;
    if (event->launched != NULL) {
        lineage_answer(event->launched, verdict->err);
    }
    if (event->events == NULL) { /* the scheduler was disposed of */
        if (last) {
            event_free_in_flight(event);
        }
        return;
    }
    if (verdict->err != ERR_OK) {
        keep_refusal(event, verdict);
    }
    if (last) {
        conclude(event);
    }
}

/* -- One attempt --------------------------------------------------------- */

static void open_transaction(struct run *run, struct event *event)
{
    struct transaction *transaction = run->transaction;
    struct handler *handler = event->handler;
    transaction_again(transaction);
    transaction->source = &handler->node;
    transaction->group = handler->label.group;
    transaction->attempt = event->attempts - 1;
    transaction->refused = event->refused;
    transaction->several_spaces = handler->several_spaces;
    transaction->causes = NULL;
    transaction->cause_count = 0;
    transaction->watch = (struct commit_watch){
        .settled = event_answered,
        .ctx = event,
    };
    struct origin needs = {0};
    if (event->origin != NULL) {
        (void)lineage_leave(event->origin,
                            event->stream->place->entity->space,
                            &needs);
    }
    if (needs.space != NULL) {
        transaction_needs(transaction, needs.space, needs.local_seq);
    }
}

void handling_begin(struct sched *sched, struct event *event)
{
    struct events *events = event->events;
    struct handling *handling = &events->handling;
    event_leave_lane(event);
    event->state = EVENT_RUNS;
    event->retry_at = 0;
    event->attempts++;
    events->counters.attempts++;
    if (event->handler == NULL) {
        event->handler = event->stream->handler;
        event->handler->refs++;
    }
    struct run *run = run_take(sched, &event->handler->node, 0);
    run->handling = handling;
    run->detail.err = ERR_OK;
    run->was = NODE_CLEAN;
    run->began = sched->host != NULL ? sched_time(sched) : 0;
    run->change_epoch = sched->change_epoch;
    run->stale_epoch = sched->stale_epoch;
    sched->run = run;
    handling->sched = sched;
    handling->event = event;
    handling->run = run;
    handling->result = VALUE_NONE;
    handling->documents = 0;
    open_transaction(run, event);
    if (UNLIKELY(sched->labels != NULL)) {
        (void)labels_begin(run); /* a handler is never refused */
    }
    const enum run_result result =
        event->handler->run(handling, event->handler->ctx);
    sched->clock_is_right = false;
    handling_finish(run, result);
}

/* What it has read becomes the expectation for the next event. */
static void remember_reads(struct handler *handler,
                           const struct transaction *transaction)
{
    struct closure *last = &handler->last;
    bool same = last->at.count == transaction->reads.count;
    for (size_t i = 0; i < transaction->reads.count && same; i++) {
        same = last->at.at[i].place == transaction->reads.at[i].place &&
               last->at.at[i].kind == transaction->reads.at[i].kind;
    }
    if (same) {
        return;
    }
    closure_clear(last);
    VEC_FOREACH (&transaction->reads, read) {
        closure_add(last, read->place, read->kind);
    }
}

/* The documents that it could not write to because they are not here: the next
 * attempt waits for them (transaction-9 of replica/transaction.h). */
COLD static void remember_awaited(struct handler *handler,
                                  const struct transaction *transaction)
{
    VEC_FOREACH (&transaction->awaited, entity) {
        struct place *place = place_payload(*entity);
        closure_add(&handler->awaited, place, READ_SHAPE);
        place_unref(place);
    }
}

/* handling-2: whether the attempt has read something that is not up to date:
 * not OPEN. */
static enum gate_state find_block(struct run *run, struct handler *handler)
{
    if (run->sched->unwinding) {
        return GATE_WORK;
    }
    if (transaction_is_awaiting(run->transaction)) {
        return GATE_LOAD;
    }
    return handler->pure
               ? preflight_look(run->sched, &handler->node, &handler->last)
                     .state
               : GATE_OPEN;
}

static void tell_handled(struct events *events, const struct run *run)
{
    if (LIKELY(events->notice == NULL)) {
        return;
    }
    struct event_notice notice = {
        .moment = EVENT_HANDLED,
        .event = run->handling->event,
        .transaction = run->transaction,
    };
    size_t draft = 0;
    size_t write = 0;
    for (const struct write_entry *entry =
             transaction_next_write(run->transaction, &draft, &write);
         entry != NULL;
         entry = transaction_next_write(run->transaction, &draft, &write)) {
        if (entry->changed && entry->place != notice.event->receipt) {
            notice.writes++;
            if (notice.named_count < EVENTS_WRITES_NAMED) {
                notice.named[notice.named_count++] = entry->place;
            }
        }
    }
    event_tell(events, &notice);
}

/* The run has ended, and nothing of it is used any more. */
static void end_run(struct run *run, enum run_outcome outcome)
{
    struct sched *sched = run->sched;
    if (run->transaction->state == TRANSACTION_OPEN) {
        transaction_abort(run->transaction);
    }
    struct handling *handling = run->handling;
    struct node *node = run->node;
    const mono_ms ended = sched->host != NULL ? sched_time(sched) : run->began;
    node->runs += outcome == OUTCOME_COMMITTED;
    node_add_busy(node, ended - run->began);
    node->last_ms = (uint32_t)(ended - run->began);
    tell_handled(sched->events, run);
    introspection_note_run(sched, run, outcome);
    struct run_record *record = &sched->records[run->number % SCHED_RECORDS];
    record->event = handling->event->number;
    record->hops = handling->event->hops;
    if (run->version > 0) {
        sched->events->last_version = run->version;
        sched->events->last_hops = handling->event->hops;
    }
    sched->unwinding = false;
    run->transaction->several_spaces = true; /* as runs have it */
    run->transaction->refused = false;
    value_unref(handling->result);
    handling->result = VALUE_NONE;
    handling->event = NULL;
    handling->run = NULL;
    run_put(run);
}

/* The receipt: a document that must not exist. Beside the result it has the
 * stream, to explain changes later, and for a caller's event the digest of its
 * payload (events-6). */
static enum err write_receipt(struct run *run,
                              struct event *event,
                              struct err_detail *detail)
{
    struct handling *handling = run->handling;
    if (value_is_absent(handling->result)) {
        handling->result = value_empty_object();
    }
    value_unref(event->result);
    event->result = value_ref(handling->result);
    struct place *receipt = event_receipt(event);
    if (receipt == NULL) {
        return ERR_OK;
    }
    const struct value parts[] = {
        value_text_new("value"),
        value_ref(handling->result),
        value_text_new("stream"),
        value_ref(event->stream->place->entity->id),
    };
    struct value document = object_new_adopt(parts, COUNT_OF(parts) / 2);
    if (UNLIKELY(!value_is_absent(event->digest))) {
        object_put_adopt(&document, "payloadDigest", value_ref(event->digest));
    }
    return durable_handle_adopt(event, run->transaction, document, detail);
}

static enum err commit(struct run *run,
                       struct event *event,
                       struct err_detail *detail)
{
    struct sched *sched = run->sched;
    enum err written = write_receipt(run, event, detail);
    if (UNLIKELY(sched->labels != NULL) && written == ERR_OK) {
        written = labels_finish(run, detail);
    }
    if (written == ERR_OK) {
        written = claims_add(sched,
                             run->node,
                             run->transaction,
                             event->no_retry,
                             detail);
    }
    if (written != ERR_OK) {
        return written;
    }
    struct lineage *lineage = lineage_take(run->transaction);
    if (lineage != NULL) {
        event->launched = lineage_ref(lineage);
    }
    sched->committing = run->node;
    sched->own_version = 0;
    const enum err err = transaction_commit(run->transaction, detail);
    sched->committing = NULL;
    run->version = sched->own_version;
    if (lineage != NULL) {
        lineage_committed(lineage, run->transaction, err);
    }
    return err;
}

static void end_committed(struct run *run, struct event *event)
{
    struct err_detail detail = {0};
    const enum err err = commit(run, event, &detail);
    const uint32_t expected = run->transaction->applied;
    end_run(run, err == ERR_OK ? OUTCOME_COMMITTED : OUTCOME_REFUSED);
    if (err != ERR_OK && expected == event->answers) {
        detail.err = err;
        forget_attempt(event);
        refuse(event, &(struct verdict){.err = err, .detail = detail});
        return;
    }
    if (err != ERR_OK) { /* one of several spaces has it */
        const struct verdict verdict = {.err = err, .detail = detail};
        keep_refusal(event, &verdict);
    }
    if (event->answers == expected) {
        conclude(event);
        return;
    }
    event->expected = expected;
    event->state = EVENT_IN_FLIGHT;
    list_push_back(&event->events->flying, &event->node);
}

/* Discards the attempt, because it has read something that is not up to date.
 * Waits for documents are not counted: each arrives, or its session ends, and a
 * handler may discover them one by one. */
static void discard(struct event *event, enum gate_state why_not)
{
    struct events *events = event->events;
    events->counters.discarded++;
    event->parks += why_not != GATE_LOAD;
    if (event->parks > events->policy.parks) {
        struct err_detail why = {0};
        (void)err_set(&why,
                      ERR_NOT_SETTLED,
                      "its inputs were stale in all of %u attempts",
                      (unsigned)event->attempts);
        event_fail(event, &why);
        return;
    }
    event_put_back(event);
}

void handling_finish(struct run *run, enum run_result result)
{
    struct sched *sched = run->sched;
    struct event *event = run->handling->event;
    sched->run = NULL;
    if (UNLIKELY(sched->disposed)) { /* during the attempt */
        struct err_detail why = {0};
        (void)err_set(&why, ERR_CLOSED, "the runtime was closed");
        end_run(run, OUTCOME_DROPPED);
        event_end(event, EVENT_DROPPED, &why);
        return;
    }
    if (event->handler->pure || sched->unwinding) {
        remember_reads(event->handler, run->transaction);
    }
    if (transaction_is_awaiting(run->transaction)) {
        remember_awaited(event->handler, run->transaction);
    } else {
        closure_clear(&event->handler->awaited);
    }
    const enum gate_state block = find_block(run, event->handler);
    if (UNLIKELY(block != GATE_OPEN)) {
        evaluation_ahead(run);
        end_run(run, OUTCOME_GIVEN_UP);
        discard(event, block);
        return;
    }
    if (UNLIKELY(run->transaction->launched != NULL)) {
        result = run_judge_unsent(run, result);
    }
    struct err_detail why = run->detail;
    switch (result) {
    case RUN_DONE:
        end_committed(run, event);
        return;
    case RUN_AGAIN:
    case RUN_WAITING:
        end_run(run, OUTCOME_GIVEN_UP);
        (void)err_set(&why, ERR_STALE, "the handler asked for a retry");
        retry(event, &(struct verdict){.err = ERR_STALE, .detail = why});
        return;
    case RUN_FAILED:
        if (why.err == ERR_OK) { /* no reason given: the sender is told
                                    anyway */
            (void)err_set(&why, ERR_GIVEN_UP, "the handler aborted the event");
        }
        end_run(run, OUTCOME_FAILED);
        event_fail(event, &why);
        return;
    }
    UNREACHABLE("a run has one of these results");
}
