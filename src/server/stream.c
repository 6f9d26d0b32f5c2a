/* Streams of server-sent events: documents and results of pieces as they
 * change.
 *
 * A stream is a session of the hub that watches documents. What the hub sends
 * becomes events. A piece is watched through the documents that its result is
 * made of: when one of them changes, the results are read again, and their
 * links may lead to other documents.
 *
 *   stream-1  The events of one turn are sent together, and only the last of
 *             them has an id: a client that has seen the id has seen all of
 *             them.
 *   stream-2  A stream that continues at an id sends every watched document
 *             and piece that has changed since, in its current state. If that
 *             history is gone, it sends all of them.
 *   stream-3  A result is sent if it differs from the one that was sent last.
 *   stream-4  Besides the documents that the client named, those are watched
 *             that the last reading of the results has visited, from the seq of
 *             that reading on. */

#include <string.h>

#include "inspect/read_at.h"
#include "server/routes_internal.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

struct stream_piece {
    struct value name;
    struct value value; /* as the client knows it; absent: there is none */
    bool is_known;      /* the client knows it */
};

/* A document that is watched. */
struct stream_document {
    struct target target;
    bool is_named;  /* by the client: it is told of changes */
    uint64_t round; /* the last reading that visited it; 0: none */
};

struct event_stream {
    struct route_wait wait;
    struct route_peer peer;
    struct map documents; /* struct stream_document */
    VEC(struct stream_piece) pieces;
    struct buf events; /* to be sent */
    uint64_t seq;      /* up to which they tell */
    uint64_t round;    /* of readings */
    bool has_named;
    bool is_dirty; /* the results are to be read again */
    bool is_counted;
};

static struct event_stream *stream_of(struct route_wait *wait)
{
    return CONTAINER_OF(wait, struct event_stream, wait);
}

/* -- Events -------------------------------------------------------------- */

static void add_event_adopt(struct event_stream *stream,
                            const char *name,
                            struct value data)
{
    buf_printf(&stream->events, "event: %s\ndata: ", name);
    json_write(&stream->events, data, JSON_AS_GIVEN, 0);
    buf_append_text(&stream->events, "\n\n");
    value_unref(data);
}

/* stream-1: the id goes before the blank line that ends the last event. */
static void end_events(struct event_stream *stream)
{
    if (stream->events.length > 0) {
        stream->events.length--;
        buf_printf(&stream->events,
                   "id: %llu\n\n",
                   (unsigned long long)stream->seq);
    }
}

static void add_document(struct event_stream *stream,
                         const struct upsert *upsert)
{
    struct value data = value_empty_object();
    object_put_adopt(&data, "id", value_ref(upsert->target.id));
    object_put_number(&data, "seq", upsert->seq);
    object_put_adopt(&data,
                     "document",
                     value_is_absent(upsert->document)
                         ? value_null()
                         : value_ref(upsert->document));
    add_event_adopt(stream, "document", data);
}

static void add_piece(struct event_stream *stream,
                      const struct stream_piece *piece,
                      uint64_t seq)
{
    struct value data = value_empty_object();
    object_put_adopt(&data, "piece", value_ref(piece->name));
    object_put_number(&data, "seq", seq);
    object_put_adopt(&data,
                     "value",
                     value_is_absent(piece->value) ? value_null()
                                                   : value_ref(piece->value));
    add_event_adopt(stream, "piece", data);
}

static void add_error(struct event_stream *stream, const struct err_detail *why)
{
    add_event_adopt(stream, "error", answer_describe(why));
}

/* -- Documents ----------------------------------------------------------- */

static uint64_t target_hash(const struct target *target)
{
    return value_hash(target->id) + (uint64_t)target->scope;
}

static bool is_target(const void *item, const void *key)
{
    const struct stream_document *document = item;
    const struct target *target = key;
    return document->target.scope == target->scope &&
           key_equal(document->target.id, target->id);
}

static struct stream_document *find_document(const struct event_stream *stream,
                                             const struct target *target)
{
    return map_find(&stream->documents, target_hash(target), is_target, target);
}

/* A new one, which the message asks the hub to watch. */
static struct stream_document *add_watch(struct event_stream *stream,
                                         struct value id,
                                         enum scope scope,
                                         uint64_t since,
                                         struct message *watch)
{
    struct stream_document *document = mem_alloc_zero(sizeof *document);
    document->target = (struct target){value_ref(id), scope};
    map_insert(&stream->documents, target_hash(&document->target), document);
    vec_push(&watch->targets, ((struct target){value_ref(id), scope}));
    vec_push(&watch->since, since);
    return document;
}

static void free_document(struct event_stream *stream,
                          struct stream_document *document)
{
    (void)map_remove(&stream->documents,
                     target_hash(&document->target),
                     is_target,
                     &document->target);
    value_unref(document->target.id);
    mem_free(document, sizeof *document);
}

/* -- From the hub -------------------------------------------------------- */

static void received(struct route_peer *peer, struct message *message)
{
    struct event_stream *stream = CONTAINER_OF(peer, struct event_stream, peer);
    if (message->kind == MESSAGE_SYNC) {
        VEC_FOREACH (&message->upserts, upsert) {
            const struct stream_document *document =
                find_document(stream, &upsert->target);
            if (document != NULL && document->is_named) {
                add_document(stream, upsert);
            }
            stream->is_dirty =
                stream->is_dirty || (document != NULL && document->round > 0);
        }
        stream->seq = message->to_seq;
    }
    if (message->kind == MESSAGE_SYNC || message->kind == MESSAGE_REVOKED) {
        route_wait_ready(&stream->wait);
    }
}

/* -- Results of pieces --------------------------------------------------- */

struct reading {
    struct event_stream *stream;
    uint64_t seq;
    struct message watch;
};

static void note_visit(void *ctx, struct value id)
{
    struct reading *reading = ctx;
    struct event_stream *stream = reading->stream;
    const struct target target = {id, SCOPE_SPACE};
    struct stream_document *document = find_document(stream, &target);
    if (document == NULL) {
        document =
            add_watch(stream, id, SCOPE_SPACE, reading->seq, &reading->watch);
    }
    document->round = stream->round;
}

/* The value of a piece now, sent if it is another one (stream-3). */
static enum err read_piece(struct reading *reading,
                           struct stream_piece *piece,
                           struct err_detail *detail)
{
    struct event_stream *stream = reading->stream;
    const struct read_at_bounds bounds = {
        .documents_max = ROUTE_RESOLVED_MAX,
        .visit = note_visit,
        .ctx = reading,
    };
    struct value path = value_empty_array();
    struct value found = VALUE_NONE;
    const enum err err = read_at_within(stream->wait.space->engine,
                                        piece->name,
                                        path,
                                        reading->seq,
                                        &bounds,
                                        &found,
                                        detail);
    const bool is_same =
        value_is_absent(found) || value_is_absent(piece->value)
            ? value_is_absent(found) && value_is_absent(piece->value)
            : value_equal(found, piece->value);
    value_unref(piece->value);
    piece->value = found;
    if (err == ERR_OK && (!piece->is_known || !is_same)) {
        piece->is_known = true;
        add_piece(stream, piece, reading->seq);
    }
    return err;
}

/* stream-4: those that the last reading has not visited. */
static void drop_unvisited(struct event_stream *stream)
{
    struct message unwatch = {.kind = MESSAGE_UNWATCH};
    VEC(struct stream_document *) gone = {0};
    MAP_FOREACH (&stream->documents, slot) {
        struct stream_document *document = slot->item;
        if (document->round > 0 && document->round < stream->round) {
            document->round = 0;
            if (!document->is_named) {
                vec_push(&gone, document);
            }
        }
    }
    VEC_FOREACH (&gone, document) {
        vec_push(&unwatch.targets,
                 ((struct target){value_ref((*document)->target.id),
                                  (*document)->target.scope}));
        free_document(stream, *document);
    }
    vec_release(&gone);
    if (unwatch.targets.count > 0) {
        route_peer_send(&stream->peer, &unwatch);
    } else {
        message_release(&unwatch);
    }
}

static enum err read_pieces(struct event_stream *stream,
                            struct err_detail *detail)
{
    struct engine *engine = stream->wait.space->engine;
    struct reading reading = {
        .stream = stream,
        .watch = {.kind = MESSAGE_WATCH},
    };
    stream->is_dirty = false;
    stream->round++;
    enum err err = engine_read_begin(engine, detail);
    if (err == ERR_OK) {
        reading.seq = engine->seq;
        for (size_t i = 0; i < stream->pieces.count && err == ERR_OK; i++) {
            err = read_piece(&reading, &stream->pieces.at[i], detail);
        }
        engine_read_end(engine);
    }
    if (!stream->has_named) {
        stream->seq = reading.seq;
    }
    drop_unvisited(stream);
    if (reading.watch.targets.count > 0) {
        route_peer_send(&stream->peer, &reading.watch);
    } else {
        message_release(&reading.watch);
    }
    return err;
}

/* What the client knows of a piece: its value at the id that it names
 * (stream-2). */
static void recall_piece(struct event_stream *stream,
                         struct stream_piece *piece,
                         uint64_t seq)
{
    struct engine *engine = stream->wait.space->engine;
    const struct read_at_bounds bounds = {.documents_max = ROUTE_RESOLVED_MAX};
    struct value path = value_empty_array();
    struct err_detail ignored = {0};
    if (engine_read_begin(engine, &ignored) != ERR_OK) {
        return; /* the reading that follows tells */
    }
    piece->is_known = seq <= engine->seq && read_at_within(engine,
                                                           piece->name,
                                                           path,
                                                           seq,
                                                           &bounds,
                                                           &piece->value,
                                                           &ignored) == ERR_OK;
    engine_read_end(engine);
}

/* -- Turns --------------------------------------------------------------- */

/* Completes the events of a turn. False: the stream ends, and the last event
 * says why. */
static bool compose(struct event_stream *stream)
{
    struct err_detail why = {0};
    if (stream->peer.is_lost) {
        why = stream->peer.why;
    } else if (stream->is_dirty) {
        (void)read_pieces(stream, &why);
        if (why.err == ERR_OK && stream->peer.is_lost) {
            why = stream->peer.why;
        }
    }
    end_events(stream);
    if (why.err != ERR_OK) {
        add_error(stream, &why);
    }
    return why.err == ERR_OK;
}

/* The next heartbeat, or the end of the credential. */
static void set_due(struct event_stream *stream, mono_ms now)
{
    const mono_ms beat = now + ROUTE_HEARTBEAT_MS;
    const mono_ms end = stream->wait.expires;
    route_wait_set_due(&stream->wait, beat < end ? beat : end);
}

static void fail_stream(struct route_wait *wait,
                        const struct err_detail *why,
                        uint64_t retry_ms,
                        const struct route_turn *turn);

static void step_stream(struct route_wait *wait, const struct route_turn *turn)
{
    struct event_stream *stream = stream_of(wait);
    if (turn->now >= wait->expires) {
        struct err_detail why = {0};
        (void)err_set(&why,
                      ERR_UNAUTHENTICATED,
                      "the token has expired; continue with a new one");
        fail_stream(wait, &why, 0, turn);
        return;
    }
    const bool goes_on = compose(stream);
    if (stream->events.length == 0 && turn->now >= wait->due) {
        buf_append_text(&stream->events, ":\n\n");
    }
    if (stream->events.length > 0) {
        set_due(stream, turn->now);
        route_wait_chunk_adopt(wait, turn, &stream->events);
    }
    if (!goes_on) {
        route_wait_end_stream(wait, turn);
    }
}

static void fail_stream(struct route_wait *wait,
                        const struct err_detail *why,
                        uint64_t retry_ms,
                        const struct route_turn *turn)
{
    struct event_stream *stream = stream_of(wait);
    buf_clear(&stream->events); /* a client that may come back asks again */
    if (retry_ms > 0) {
        buf_printf(&stream->events,
                   "retry: %llu\n\n",
                   (unsigned long long)retry_ms);
    }
    add_error(stream, why);
    route_wait_chunk_adopt(wait, turn, &stream->events);
    route_wait_end_stream(wait, turn);
}

static void free_stream(struct route_wait *wait)
{
    struct event_stream *stream = stream_of(wait);
    struct message unwatch = {.kind = MESSAGE_UNWATCH};
    VEC(struct stream_document *) all = {0};
    if (stream->is_counted && wait->space->metrics != NULL) {
        metrics_add(wait->space->metrics, METRICS_NOW_STREAMS, -1);
    }
    MAP_FOREACH (&stream->documents, slot) {
        vec_push(&all, slot->item);
    }
    VEC_FOREACH (&all, document) {
        vec_push(&unwatch.targets,
                 ((struct target){value_ref((*document)->target.id),
                                  (*document)->target.scope}));
        free_document(stream, *document);
    }
    vec_release(&all);
    map_release(&stream->documents);
    if (stream->peer.peer != NULL && unwatch.targets.count > 0) {
        /* The hub keeps the session for a while: it shall cost nothing. */
        route_peer_send(&stream->peer, &unwatch);
    } else {
        message_release(&unwatch);
    }
    route_peer_close(&stream->peer);
    VEC_FOREACH (&stream->pieces, piece) {
        value_unref(piece->name);
        value_unref(piece->value);
    }
    vec_release(&stream->pieces);
    buf_release(&stream->events);
    mem_free(stream, sizeof *stream);
}

static const struct route_wait_methods stream_methods = {
    .step = step_stream,
    .fail = fail_stream,
    .free = free_stream,
    .reads = true,
};

/* -- The request --------------------------------------------------------- */

static enum err read_last_id(struct route_call *call, uint64_t *out)
{
    const char *text = call->request->last_event_id;
    *out = 0;
    if (text == NULL || text[0] == '\0' ||
        request_read_number(text, strlen(text), out)) {
        return ERR_OK;
    }
    return err_set(&call->detail,
                   ERR_ARGUMENT,
                   "Last-Event-ID: expected the id of an event of this stream, "
                   "a whole number");
}

static enum err read_stream_scope(struct route_call *call, enum scope *out)
{
    *out = SCOPE_SPACE;
    if (call_has(call, PARAMETER_SCOPE) &&
        (!scope_read(call->texts[PARAMETER_SCOPE], out) ||
         *out == SCOPE_SESSION)) {
        return err_set(&call->detail,
                       ERR_ARGUMENT,
                       "query parameter 'scope': expected space or user");
    }
    if (*out == SCOPE_USER && value_is_absent(call->context->principal)) {
        return err_set(&call->detail,
                       ERR_ARGUMENT,
                       "the caller has no documents of a user: it has not "
                       "proven who it is");
    }
    return ERR_OK;
}

static enum err check_stream(struct route_call *call)
{
    if (!call_has(call, PARAMETER_ID) && !call_has(call, PARAMETER_PIECES)) {
        return err_set(&call->detail,
                       ERR_ARGUMENT,
                       "name what to watch: ?id=DOCUMENT or ?piece=PIECE");
    }
    enum err err = ERR_OK;
    const struct value ids = call->texts[PARAMETER_ID];
    for (uint32_t i = 0;
         err == ERR_OK && call_has(call, PARAMETER_ID) && i < array_count(ids);
         i++) {
        err = document_id_check(array_at(ids, i), &call->detail);
    }
    return err;
}

/* The documents that the client names. */
static void watch_named(struct event_stream *stream,
                        struct value ids,
                        enum scope scope,
                        uint64_t since)
{
    struct message watch = {.kind = MESSAGE_WATCH};
    for (uint32_t i = 0; i < array_count(ids); i++) {
        const struct target target = {array_at(ids, i), scope};
        if (find_document(stream, &target) == NULL) {
            add_watch(stream, target.id, scope, since, &watch)->is_named = true;
        }
    }
    stream->has_named = true;
    route_peer_send(&stream->peer, &watch);
}

static void add_pieces(struct event_stream *stream,
                       struct value names,
                       uint64_t since)
{
    for (uint32_t i = 0; i < array_count(names); i++) {
        struct stream_piece piece = {.name = value_ref(array_at(names, i))};
        if (since > 0) {
            recall_piece(stream, &piece, since);
        }
        vec_push(&stream->pieces, piece);
    }
    stream->is_dirty = true;
}

static void begin_answer(struct event_stream *stream,
                         const struct route_context *context,
                         uint64_t since,
                         struct route_answer *answer)
{
    struct metrics *metrics = stream->wait.space->metrics;
    answer->http_status = 200;
    answer->content_type = "text/event-stream";
    answer->is_stream = true;
    answer_header(answer, "cache-control:", "no-store");
    answer_header(answer, "x-accel-buffering:", "no"); /* proxies pass it on */
    buf_printf(&answer->body, "retry: %u\n\n", (unsigned)ROUTE_RETRY_MS);
    buf_append(&answer->body, stream->events.at, stream->events.length);
    buf_release(&stream->events);
    set_due(stream, context->now);
    if (metrics != NULL) {
        metrics_add(metrics, METRICS_NOW_STREAMS, 1);
        metrics_count(metrics, METRICS_STREAMS_RESUMED, since > 0);
        stream->is_counted = true;
    }
}

static enum err begin_stream(struct route_call *call,
                             enum scope scope,
                             uint64_t since)
{
    struct route_space *space = call_space(call);
    struct event_stream *stream = mem_alloc_zero(sizeof *stream);
    struct err_detail why = {0};
    stream->wait.methods = &stream_methods;
    stream->wait.space = space;
    stream->peer.received = received;
    enum err err = route_wait_begin(&stream->wait, call);
    if (err != ERR_OK) {
        free_stream(&stream->wait);
        return err;
    }
    route_peer_open(&stream->peer, space, call->context->principal, VALUE_NONE);
    if (call_has(call, PARAMETER_ID)) {
        watch_named(stream, call->texts[PARAMETER_ID], scope, since);
    }
    if (call_has(call, PARAMETER_PIECES)) {
        add_pieces(stream, call->texts[PARAMETER_PIECES], since);
        err = read_pieces(stream, &why);
    }
    if (err == ERR_OK && stream->peer.is_lost) {
        why = stream->peer.why;
        err = why.err;
    }
    if (err != ERR_OK) {
        call->detail = why;
        route_wait_end(&stream->wait);
        return err;
    }
    end_events(stream);
    begin_answer(stream, call->context, since, call->answer);
    if (!stream->is_dirty) {
        route_wait_settled(&stream->wait);
    }
    return ERR_OK;
}

enum err route_watch(struct route_call *call)
{
    uint64_t since = 0;
    enum scope scope = SCOPE_SPACE;
    enum err err = read_last_id(call, &since);
    if (err == ERR_OK) {
        err = read_stream_scope(call, &scope);
    }
    if (err == ERR_OK) {
        err = check_stream(call);
    }
    return err == ERR_OK ? begin_stream(call, scope, since) : err;
}
