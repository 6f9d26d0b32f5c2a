/* What has become of stored events, from their documents. */

#include "inspect/author.h"
#include "inspect/graph_json.h"
#include "proto/event.h"
#include "store/retention.h"
#include "value/address.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

static struct engine_address address_of(const struct offline_graph *graph,
                                        struct value scope_key,
                                        struct value id)
{
    return (struct engine_address){
        .branch = graph->branch,
        .scope_key = scope_key,
        .id = id,
    };
}

/* The end of a document: "failed" of it, or absent. */
static struct value failure_of(struct value document)
{
    const struct value failed = object_field(document, "failed");
    return value_is_object(failed) ? failed : VALUE_NONE;
}

static void put_field(struct value *to,
                      const char *name,
                      struct value from,
                      const char *field)
{
    const struct value value = object_field(from, field);
    if (!value_is_absent(value)) {
        object_put_adopt(to, name, value_ref(value));
    }
}

/* {"id":ID,"state":S,"piece":P,"handler":H} of a document. */
static struct value describe(const struct offline_graph *graph,
                             struct value id,
                             struct value document,
                             const char *state)
{
    struct value object = value_empty_object();
    const struct value stream = object_field(document, "stream");
    object_put_adopt(&object, "id", value_ref(id));
    object_put_adopt(&object, "state", value_text_new(state));
    author_put_stream(graph, stream, &object);
    return object;
}

/* -- Those that failed --------------------------------------------------- */

struct failed_event {
    uint64_t seq;
    uint64_t at_ms;
    struct value scope_key;
    struct value id;
    struct value document;
};

struct failed_list {
    struct offline_graph *graph;
    const char *piece; /* or NULL */
    uint64_t left;
    uint64_t oldest; /* commits from here on are looked at */
    VEC(struct failed_event) events;
};

static bool note_failed(void *ctx, const struct commit_info *commit)
{
    struct failed_list *list = ctx;
    VEC_FOREACH (&commit->writes, write) {
        if (!event_is_document_id(write->id) || write->op != COMMIT_SET ||
            value_is_absent(failure_of(write->data)) ||
            !value_equal(commit->branch, list->graph->branch)) {
            continue;
        }
        struct value event =
            describe(list->graph, write->id, write->data, "failed");
        if (list->left > 0 &&
            (list->piece == NULL || graph_json_is_of(event, list->piece))) {
            list->left--;
            vec_push(
                &list->events,
                ((struct failed_event){.seq = commit->seq,
                                       .at_ms = commit->at_ms,
                                       .scope_key = value_ref(write->scope_key),
                                       .id = value_ref(write->id),
                                       .document = value_ref(write->data)}));
        }
        value_unref(event);
    }
    return list->left > 0 && commit->seq > list->oldest;
}

/* With the payload, if what was there before the failure can still be read. */
static enum err describe_failed(struct offline_graph *graph,
                                const struct failed_event *failed,
                                struct value *out,
                                struct err_detail *detail)
{
    const struct value failure = failure_of(failed->document);
    const struct engine_address address =
        address_of(graph, failed->scope_key, failed->id);
    struct value before = VALUE_NONE;
    enum err err = ERR_OK;
    if (engine_has_history(&graph->engine, graph->branch, failed->seq - 1)) {
        err = engine_before(&graph->engine,
                            &address,
                            failed->seq - 1,
                            &before,
                            detail);
    }
    *out = describe(graph, failed->id, failed->document, "failed");
    if (value_is_object(before)) {
        put_field(out, "payload", object_field(before, "event"), "payload");
    }
    object_put_adopt(out, "at", value_int((int64_t)failed->at_ms));
    object_put_adopt(out, "seq", value_int((int64_t)failed->seq));
    put_field(out, "code", failure, "code");
    put_field(out, "message", failure, "message");
    value_unref(before);
    return err;
}

enum err graph_json_failed(struct offline_graph *graph,
                           const char *piece,
                           uint64_t limit,
                           struct value *out,
                           struct err_detail *detail)
{
    const uint64_t head = graph->engine.seq;
    struct failed_list list = {
        .graph = graph,
        .piece = piece,
        .left = limit,
        .oldest = head > RETENTION_COMMITS ? head - RETENTION_COMMITS : 0,
    };
    struct value events = value_empty_array();
    enum err err = commits_visit(&graph->engine,
                                 list.oldest,
                                 head,
                                 note_failed,
                                 &list,
                                 detail);
    for (size_t i = list.events.count; i-- > 0;) {
        struct failed_event *failed = &list.events.at[i];
        struct value event = VALUE_NONE;
        if (err == ERR_OK) {
            err = describe_failed(graph, failed, &event, detail);
            events = array_push_adopt(events, event);
        }
        value_unref(failed->scope_key);
        value_unref(failed->id);
        value_unref(failed->document);
    }
    vec_release(&list.events);
    *out = value_empty_object();
    object_put_adopt(out, "failed", events);
    if (err != ERR_OK) {
        value_unref(*out);
        *out = VALUE_NONE;
    }
    return err;
}

/* -- One by its id ------------------------------------------------------- */

/* What is in the document of an event that has ended; new. */
static struct value describe_end(const struct offline_graph *graph,
                                 struct value id,
                                 struct value document)
{
    const struct value failure = failure_of(document);
    struct value object = VALUE_NONE;
    if (!value_is_absent(failure)) {
        object = describe(graph, id, document, "failed");
        put_field(&object, "code", failure, "code");
        put_field(&object, "message", failure, "message");
        return object;
    }
    if (event_is_given_up(document)) {
        return describe(graph, id, document, "cancelled");
    }
    object = describe(graph, id, document, "done");
    put_field(&object, "receipt", document, "value");
    return object;
}

enum err graph_json_event(struct offline_graph *graph,
                          const char *id,
                          struct value *out,
                          struct err_detail *detail)
{
    const struct value scope = value_text_new(scope_name(SCOPE_SPACE));
    const struct value name = value_text_new(id);
    const struct engine_address address = address_of(graph, scope, name);
    struct value document = VALUE_NONE;
    uint64_t seq = 0;
    *out = VALUE_NONE;
    enum err err = ERR_OK;
    if (event_is_document_id(name)) {
        err = engine_head(&graph->engine, &address, &document, &seq, detail);
    }
    if (err == ERR_OK && value_is_object(document)) {
        const struct value moved = object_field(document, "delivered");
        const struct value event = object_field(document, "event");
        if (value_is_string(moved)) { /* the receipt has another id */
            *out = describe(graph, name, document, "done");
            object_put_adopt(out, "delivered", value_ref(moved));
        } else if (value_is_object(event)) {
            *out = describe(graph, name, event, "waiting");
            put_field(out, "payload", event, "payload");
        } else {
            *out = describe_end(graph, name, document);
        }
    }
    value_unref(document);
    value_unref(name);
    value_unref(scope);
    return err;
}
