/* Events from outside: stored by a commit, handled by a runtime, answered with
 * the receipt.
 *
 * The event is a document with the id of its receipt (proto/event.h), as
 * `heddle send --queue` stores it. A runtime that runs the piece, anywhere,
 * takes it up; its commit replaces the document by the receipt, and the hub
 * tells us.
 *
 *   route-event-1  An Idempotency-Key, the principal and the stream make the
 *                  id, so a repetition finds the document of the first request
 *                  and stores nothing: it gets the same outcome, also a
 *                  failure. The payload is compared by digest. A request
 *                  without a key has an id that no other one has.
 *   route-event-2  Once stored, the event stays, whatever becomes of the
 *                  request.
 *   route-event-3  An event is of no user: any runtime of the space without a
 *                  user handles it. */

#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "proto/event.h"
#include "runtime/piece.h"
#include "server/routes_internal.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/doc_link.h"
#include "value/id.h"
#include "value/object.h"

enum {
    LINKS_MAX = 16, /* from a field of a result to the stream */
};

struct event_request {
    struct route_wait wait;
    struct route_commit commit;
    struct route_look look;
    struct value principal;
    struct value id;     /* of the document */
    struct value digest; /* of the payload, a text */
    mono_ms deadline;
    bool is_async;
    bool is_sent;    /* nothing is left to be committed */
    bool is_counted; /* in the metrics */
};

static struct event_request *event_of(struct route_wait *wait)
{
    return CONTAINER_OF(wait, struct event_request, wait);
}

static void free_event(struct route_wait *wait)
{
    struct event_request *event = event_of(wait);
    if (event->is_counted && wait->space->metrics != NULL) {
        metrics_add(wait->space->metrics, METRICS_NOW_EVENTS_WAITING, -1);
    }
    route_look_end(&event->look);
    route_commit_release(&event->commit);
    value_unref(event->principal);
    value_unref(event->id);
    value_unref(event->digest);
    mem_free(event, sizeof *event);
}

/* -- The stream ---------------------------------------------------------- */

/* Reads a field of a document at the head, new; or absent. Between
 * engine_read_begin and _end. */
static enum err read_field(struct route_space *space,
                           struct value id,
                           const char *field,
                           struct value *out,
                           struct err_detail *detail)
{
    struct value branch = value_text_new("");
    struct value scope = value_text_new("space");
    const struct engine_address address = {branch, scope, id};
    struct value document = VALUE_NONE;
    uint64_t seq;
    *out = VALUE_NONE;
    const enum err err =
        engine_head(space->engine, &address, &document, &seq, detail);
    if (err == ERR_OK) {
        *out = value_ref(object_field(document, field));
    }
    value_unref(document);
    value_unref(scope);
    value_unref(branch);
    return err;
}

static enum err refuse_stream(struct route_call *call, struct value about)
{
    const struct text name = value_text(&call->names[NAME_SECOND]);
    const struct value cells = object_field(about, "cells");
    struct nearest nearest;
    nearest_begin(&nearest, name.at, name.length);
    struct object_iter iter =
        object_iter(value_is_object(cells) ? cells : value_empty_object());
    struct value key;
    struct value kind;
    while (object_next(&iter, &key, &kind)) {
        if (value_is_text(kind, "handler")) {
            const struct text known = value_text(&key);
            nearest_offer(&nearest, known.at, known.length);
        }
    }
    return err_set(&call->detail,
                   ERR_NOT_FOUND,
                   "the piece has no stream '%.*s'%s",
                   text_shown(name.at, name.length, 60),
                   name.at,
                   nearest_hint(&nearest));
}

/* The document of the stream that a field of the result leads to, new; absent:
 * it leads to none in this space. */
static enum err follow_field(struct route_call *call,
                             struct value id,
                             struct value *out)
{
    struct route_space *space = call_space(call);
    struct value payload = VALUE_NONE;
    enum err err = read_field(space, id, "value", &payload, &call->detail);
    struct value at = VALUE_NONE;
    *out = VALUE_NONE;
    if (err == ERR_OK && value_is_object(payload)) {
        at = value_ref(object_get(payload, call->names[NAME_SECOND]));
    }
    value_unref(payload);
    for (unsigned i = 0;
         err == ERR_OK && i < LINKS_MAX && value_kind(at) == VALUE_LINK;
         i++) {
        const struct doc_link link = doc_link_of(at);
        const bool is_payload = value_is_array(link.path) &&
                                array_count(link.path) == 1 &&
                                value_is_text(array_at(link.path, 0), "value");
        value_unref(*out);
        *out = VALUE_NONE;
        if (!is_payload || value_is_absent(link.id) ||
            !value_is_absent(link.space) || !value_is_absent(link.scope)) {
            break;
        }
        *out = value_ref(link.id);
        struct value next = VALUE_NONE;
        err = read_field(space, *out, "value", &next, &call->detail);
        value_unref(at);
        at = next;
    }
    value_unref(at);
    return err;
}

/* The document of the stream, new. NOT_FOUND: there is no such piece, or no
 * such stream. */
static enum err find_stream(struct route_call *call, struct value *out)
{
    struct route_space *space = call_space(call);
    const struct value piece = call->names[NAME_FIRST];
    const struct value name = call->names[NAME_SECOND];
    const struct value id = piece_document_id(piece, VALUE_NONE);
    struct value about = VALUE_NONE;
    *out = VALUE_NONE;
    enum err err = engine_read_begin(space->engine, &call->detail);
    if (err == ERR_OK) {
        err = read_field(space, id, "piece", &about, &call->detail);
        if (err == ERR_OK && !value_is_object(about)) {
            const struct text text = value_text(&piece);
            err = err_set(&call->detail,
                          ERR_NOT_FOUND,
                          "there is no piece '%.*s'",
                          text_shown(text.at, text.length, 80),
                          text.at);
        } else if (err == ERR_OK) {
            const struct value cells = object_field(about, "cells");
            const struct value kind =
                value_is_object(cells) ? object_get(cells, name) : VALUE_NONE;
            if (value_is_text(kind, "handler")) {
                *out = piece_document_id(piece, name);
            } else {
                err = follow_field(call, id, out);
            }
            if (err == ERR_OK && value_is_absent(*out)) {
                err = refuse_stream(call, about);
            }
        }
        engine_read_end(space->engine);
    }
    value_unref(about);
    value_unref(id);
    return err;
}

/* -- Ids ----------------------------------------------------------------- */

static enum err check_key(struct route_call *call)
{
    const char *key = call->request->idempotency_key;
    const size_t length = key != NULL ? strlen(key) : 1;
    bool is_valid = length >= 1 && length <= ROUTE_KEY_BYTES;
    for (size_t i = 0; key != NULL && i < length && is_valid; i++) {
        is_valid = key[i] >= 0x20 && key[i] < 0x7F;
    }
    return is_valid ? ERR_OK
                    : err_set(&call->detail,
                              ERR_ARGUMENT,
                              "Idempotency-Key: expected 1 to %u printable "
                              "ASCII characters",
                              (unsigned)ROUTE_KEY_BYTES);
}

/* What identifies the event, new (route-event-1). */
static struct value caller_of(const struct route_call *call,
                              struct value stream)
{
    struct route_space *space = call_space(call);
    const char *key = call->request->idempotency_key;
    struct value cause = value_empty_array();
    if (key != NULL) {
        cause = array_push_adopt(cause, value_text_new(key));
        cause = array_push_adopt(cause,
                                 value_is_absent(call->context->principal)
                                     ? value_null()
                                     : value_ref(call->context->principal));
    } else {
        for (unsigned i = 0; i < 2; i++) {
            const uint64_t number = random_u64(&space->random) >> 1;
            cause = array_push_adopt(cause, value_int((int64_t)number));
        }
    }
    cause = array_push_adopt(cause, value_ref(space->name));
    cause = array_push_adopt(cause, value_ref(stream));
    const struct value caller =
        id_of_cause(key != NULL ? "evt:http:" : "evt:once:", cause);
    value_unref(cause);
    return caller;
}

static struct value digest_of(struct value payload)
{
    char text[DIGEST_TEXT_LENGTH + 1];
    digest_write(value_digest(payload), text);
    return value_string_new(text, DIGEST_TEXT_LENGTH);
}

/* -- What has become of it ----------------------------------------------- */

static void answer_waiting(const struct event_request *event,
                           struct route_answer *answer)
{
    const struct value name = event->wait.space->name;
    struct value body = value_empty_object();
    object_put_adopt(&body, "id", value_ref(event->id));
    object_put_text(&body, "state", "waiting");
    answer_json_adopt(answer, body);
    answer->http_status = 202;
    struct buf space = {0};
    buf_append(&space, value_text(&name).at, value_text(&name).length);
    answer_location(answer, buf_text(&space), event->id);
    buf_release(&space);
}

static void answer_done(const struct event_request *event,
                        struct value document,
                        struct route_answer *answer)
{
    const struct value name = event->wait.space->name;
    const struct value receipt = object_field(document, "value");
    answer_json_adopt(answer,
                      value_is_absent(receipt) ? value_null()
                                               : value_ref(receipt));
    struct buf space = {0};
    buf_append(&space, value_text(&name).at, value_text(&name).length);
    answer_location(answer, buf_text(&space), event->id);
    buf_release(&space);
}

static void answer_failed(const struct event_request *event,
                          struct value document,
                          struct route_answer *answer)
{
    const struct value failed = object_field(document, "failed");
    const struct value code = object_field(failed, "code");
    const struct value message = object_field(failed, "message");
    struct err_detail why = {0};
    struct value extra = value_empty_object();
    unsigned status = 0;
    object_put_adopt(&extra, "id", value_ref(event->id));
    if (value_is_absent(failed)) {
        (void)err_set(&why, ERR_GIVEN_UP, "the event was cancelled");
        status = 410;
    } else {
        const struct text name =
            value_is_string(code) ? value_text(&code) : (struct text){"", 0};
        const struct text said = value_is_string(message)
                                     ? value_text(&message)
                                     : (struct text){"", 0};
        (void)err_set(&why,
                      err_of_name(name.at, name.length),
                      "%.*s",
                      text_shown(said.at, said.length, ERR_TEXT_SIZE - 1),
                      said.at);
        /* The request was fine; what the handler said is the answer. */
        status = route_status(why.err) >= 500 ? 422 : route_status(why.err);
    }
    answer_error(answer, &why, status, extra, 0);
    value_unref(extra);
}

/* The digest of the first payload, new; absent: not known. */
static struct value first_digest(struct value document)
{
    const struct value event = object_field(document, "event");
    const struct value payload = object_field(event, "payload");
    return value_is_object(event)
               ? digest_of(value_is_absent(payload) ? value_null() : payload)
               : value_ref(object_field(document, "payloadDigest"));
}

static bool is_mismatch(const struct event_request *event,
                        struct value document)
{
    const struct value first = first_digest(document);
    const bool is_other =
        value_is_string(first) && !value_equal(first, event->digest);
    value_unref(first);
    return is_other;
}

/* True: `answer` has the outcome; false: the event waits. */
static bool answer_outcome(const struct event_request *event,
                           struct value document,
                           struct route_answer *answer)
{
    struct err_detail why = {0};
    if (event_is_given_up(document)) {
        answer_failed(event, document, answer);
        return true;
    }
    if (value_is_object(document) && is_mismatch(event, document)) {
        (void)err_set(&why,
                      ERR_IDEMPOTENCY_MISMATCH,
                      "an event with this Idempotency-Key was sent before with "
                      "another payload: use another key");
        answer_error(answer, &why, 0, VALUE_NONE, 0);
        return true;
    }
    if (event_is_waiting(document)) {
        return false;
    }
    answer_done(event,
                value_is_object(document) ? document : value_empty_object(),
                answer);
    return true;
}

/* -- Steps --------------------------------------------------------------- */

/* The document as it is now, and the changes from now on. */
static void begin_look(struct event_request *event)
{
    struct route_space *space = event->wait.space;
    event->is_sent = true;
    route_look_begin(&event->look,
                     route_session_of(space, event->principal),
                     &event->wait,
                     event->id);
}

/* True: answered. */
static bool take_verdict(struct event_request *event,
                         struct route_answer *answer)
{
    const struct verdict *verdict = &event->commit.verdict;
    struct metrics *metrics = event->wait.space->metrics;
    if (verdict->err != ERR_OK && verdict->err != ERR_RECEIPT_EXISTS) {
        answer_error(answer, &verdict->detail, 0, VALUE_NONE, 0);
        return true;
    }
    if (verdict->err == ERR_OK && metrics != NULL) {
        metrics_count(metrics, METRICS_EVENTS_STORED, 1);
    }
    if (verdict->err == ERR_OK && event->is_async) {
        answer_waiting(event, answer);
        return true;
    }
    begin_look(event);
    return false;
}

static bool take_look(struct event_request *event,
                      mono_ms now,
                      struct route_answer *answer)
{
    const struct route_look *look = &event->look;
    if (look->changed && answer_outcome(event, look->document, answer)) {
        return true;
    }
    if (event->is_async || now >= event->deadline) {
        answer_waiting(event, answer);
        return true;
    }
    return false;
}

/* True: answered. */
static bool advance(struct event_request *event,
                    mono_ms now,
                    struct route_answer *answer)
{
    if (!event->is_sent) {
        if (!event->commit.is_decided) {
            return false; /* it will be, also after the deadline */
        }
        if (take_verdict(event, answer)) {
            return true;
        }
    }
    const struct err_detail *lost = route_look_lost(&event->look);
    if (lost != NULL && lost->err != ERR_ACCESS) {
        route_look_end(&event->look); /* the event is stored: look again */
        begin_look(event);
        lost = route_look_lost(&event->look);
    }
    if (lost != NULL && lost->err == ERR_ACCESS) {
        answer_error(answer, lost, 0, VALUE_NONE, 0);
        return true;
    }
    if (lost != NULL) {
        answer_waiting(event, answer);
        return true;
    }
    return take_look(event, now, answer);
}

static void step_event(struct route_wait *wait, const struct route_turn *turn)
{
    struct event_request *event = event_of(wait);
    struct route_answer answer = {0};
    if (advance(event, turn->now, &answer)) {
        route_wait_answer_adopt(wait, turn, &answer);
    } else if (turn->now < event->deadline) {
        route_wait_set_due(wait, event->deadline);
    }
}

static void fail_event(struct route_wait *wait,
                       const struct err_detail *why,
                       uint64_t retry_ms,
                       const struct route_turn *turn)
{
    struct event_request *event = event_of(wait);
    struct route_answer answer = {0};
    if (event->is_sent && why->err != ERR_ACCESS) {
        answer_waiting(event, &answer); /* another server can tell */
    } else {
        answer_error(&answer, why, 0, VALUE_NONE, retry_ms);
    }
    route_wait_answer_adopt(wait, turn, &answer);
}

static const struct route_wait_methods event_methods = {
    .step = step_event,
    .fail = fail_event,
    .free = free_event,
    .reads = true,
};

/* -- The request --------------------------------------------------------- */

/* The commit that stores the event, unless its document exists. */
static void send_event(const struct route_call *call,
                       struct event_request *event,
                       struct value stream,
                       struct value caller,
                       struct value payload)
{
    struct route_space *space = call_space(call);
    struct route_session *session = route_session_of(space, event->principal);
    struct commit *commit = route_commit_new(session);
    const struct value payload_key = value_text_new("value");
    struct path_segment segment = path_segment(payload_key);
    struct stored_event stored = {
        .stream = stream,
        .path = path_new(&space->paths, &segment, 1),
        .payload = payload,
        .time = call->context->wall_ms,
        .instance = commit->session,
        .caller = caller,
        .queued = true,
    };
    struct commit_op *op = commit_add_op(commit);
    op->kind = COMMIT_SET;
    op->target = (struct target){value_ref(event->id), SCOPE_SPACE};
    op->document = stored_event_write(&stored);
    struct commit_precondition *absent = commit_add_precondition(commit);
    absent->kind = PRECONDITION_ENTITY_ABSENT;
    absent->target = (struct target){value_ref(event->id), SCOPE_SPACE};
    route_commit_send_adopt(&event->commit, session, &event->wait, commit);
    path_unref(stored.path);
    path_segment_release(&segment);
    value_unref(payload_key);
}

/* Whether the document of the event exists: a repetition (route-event-1). Two
 * requests at the same moment are told apart by the condition of the commit. */
static enum err find_first(struct route_call *call, struct value id, bool *out)
{
    struct route_space *space = call_space(call);
    struct value branch = value_text_new("");
    struct value scope = value_text_new("space");
    const struct engine_address address = {branch, scope, id};
    struct value document = VALUE_NONE;
    uint64_t seq;
    *out = false;
    enum err err = call->request->idempotency_key != NULL
                       ? engine_read_begin(space->engine, &call->detail)
                       : ERR_OK;
    if (err == ERR_OK && call->request->idempotency_key != NULL) {
        err = engine_head(space->engine,
                          &address,
                          &document,
                          &seq,
                          &call->detail);
        *out = value_is_object(document);
        engine_read_end(space->engine);
    }
    value_unref(document);
    value_unref(scope);
    value_unref(branch);
    return err;
}

static enum err begin_event(struct route_call *call,
                            struct value stream,
                            struct value payload)
{
    struct route_space *space = call_space(call);
    struct event_request *event = mem_alloc_zero(sizeof *event);
    const struct value caller = caller_of(call, stream);
    event->wait.methods = &event_methods;
    event->principal = value_ref(call->context->principal);
    event->id = id_of_cause(EVENT_ID_PREFIX, caller);
    event->digest = digest_of(payload);
    event->deadline = call->context->now + call->numbers[PARAMETER_TIMEOUT];
    event->is_async = request_list_has(call->request->prefer, "respond-async");
    event->wait.space = space;
    bool is_repeated = false;
    enum err err = find_first(call, event->id, &is_repeated);
    if (err == ERR_OK) {
        err = route_wait_begin(&event->wait, call);
    }
    if (err != ERR_OK) {
        free_event(&event->wait);
        value_unref(caller);
        return err;
    }
    if (space->metrics != NULL) {
        metrics_add(space->metrics, METRICS_NOW_EVENTS_WAITING, 1);
        event->is_counted = true;
    }
    if (is_repeated) {
        begin_look(event);
    } else {
        send_event(call, event, stream, caller, payload);
    }
    value_unref(caller);
    if (advance(event, call->context->now, call->answer)) {
        route_wait_end(&event->wait);
    } else {
        route_wait_settled(&event->wait);
        route_wait_set_due(&event->wait, event->deadline);
        call->answer->is_later = true;
    }
    return ERR_OK;
}

enum err route_event_send(struct route_call *call)
{
    struct value payload = VALUE_NONE;
    struct value stream = VALUE_NONE;
    enum err err = check_key(call);
    if (err == ERR_OK) {
        err = call_read_body(call, &payload);
    }
    if (err == ERR_OK) {
        err = find_stream(call, &stream);
    }
    if (err == ERR_OK) {
        payload = value_is_absent(payload) ? value_null() : payload;
        err = begin_event(call, stream, payload);
    }
    value_unref(stream);
    value_unref(payload);
    return err;
}
