/* Encoding a message. Unset fields are left out, so that a message has one
 * canonical text. */

#include "proto/fields.h"
#include "proto/message.h"
#include "value/array.h"
#include "value/object.h"

static void put_flag(struct value *object, const char *name, bool flag)
{
    if (flag) {
        object_put_adopt(object, name, value_bool(true));
    }
}

static void put_caught_up(struct value *object, const struct message *message)
{
    if (message->caught_up != 0) {
        put_number(object, "caughtUpLocalSeq", message->caught_up);
    }
}

static void put_token(struct value *object, const struct message *message)
{
    if (!value_is_absent(message->token)) {
        object_put_adopt(object, "token", value_ref(message->token));
    }
}

static void put_open(struct value *object, const struct message *message)
{
    if (!value_is_absent(message->session)) {
        object_put_adopt(object, "session", value_ref(message->session));
    }
    if (value_is_string(message->branch) &&
        value_text(&message->branch).length > 0) {
        object_put_adopt(object, "branch", value_ref(message->branch));
    }
    put_number(object, "seenSeq", message->seen_seq);
    if (message->client != 0) {
        put_number(object, "client", message->client);
    }
    put_flag(object, "observations", message->observations);
    put_flag(object, "deltas", message->deltas);
    put_token(object, message);
}

static void put_opened(struct value *object, const struct message *message)
{
    object_put_adopt(object, "session", value_ref(message->session));
    put_flag(object, "resumed", message->resumed);
    put_number(object, "serverSeq", message->server_seq);
    put_caught_up(object, message);
    put_flag(object, "markers", message->markers);
    put_flag(object, "observations", message->observations);
    put_token(object, message);
}

static struct value write_targets(const struct message *message)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < message->targets.count; i++) {
        struct value target = value_empty_object();
        put_target(&target, &message->targets.at[i]);
        if (i < message->since.count && message->since.at[i] > 0) {
            put_number(&target, "since", message->since.at[i]);
        }
        list = array_push_adopt(list, target);
    }
    return list;
}

static struct value write_selectors(const struct message *message)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < message->selectors.count; i++) {
        const struct selector *one = &message->selectors.at[i];
        list = array_push_adopt(list,
                                message->kind == MESSAGE_WATCH
                                    ? selector_write(one)
                                    : value_ref(one->id));
    }
    return list;
}

/* Of a watch or an unwatch: targets, selectors, or both. */
static void put_asked(struct value *object, const struct message *message)
{
    if (message->targets.count > 0 || message->selectors.count == 0) {
        object_put_adopt(object, "targets", write_targets(message));
    }
    if (message->selectors.count > 0) {
        object_put_adopt(object, "selectors", write_selectors(message));
    }
}

static struct value write_refused(const struct message *message)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < message->refused.count; i++) {
        list =
            array_push_adopt(list,
                             selector_refusal_write(&message->refused.at[i]));
    }
    return list;
}

static struct value write_commits(const struct message *message)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < message->commits.count; i++) {
        list = array_push_adopt(list, commit_write(message->commits.at[i]));
    }
    return list;
}

static struct value write_verdicts(const struct message *message)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < message->verdicts.count; i++) {
        const struct message_verdict *one = &message->verdicts.at[i];
        struct value verdict = verdict_write(&one->verdict);
        put_number(&verdict, "localSeq", one->local_seq);
        list = array_push_adopt(list, verdict);
    }
    return list;
}

static struct value write_upserts(const struct message *message)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < message->upserts.count; i++) {
        const struct upsert *one = &message->upserts.at[i];
        struct value upsert = value_empty_object();
        put_target(&upsert, &one->target);
        put_number(&upsert, "seq", one->seq);
        if (one->from > 0) {
            put_number(&upsert, "from", one->from);
            object_put_adopt(&upsert, "patch", value_ref(one->patch));
        }
        if (!value_is_absent(one->document)) {
            object_put_adopt(&upsert, "document", value_ref(one->document));
        }
        if (one->has_before) {
            object_put_adopt(&upsert,
                             "before",
                             value_is_absent(one->before)
                                 ? value_null()
                                 : value_ref(one->before));
        }
        list = array_push_adopt(list, upsert);
    }
    return list;
}

static struct value write_told(const struct message *message)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < message->told.count; i++) {
        struct value told = value_empty_object();
        put_number(&told, "seq", message->told.at[i].seq);
        object_put_adopt(&told,
                         "observation",
                         observation_write(message->told.at[i].observation));
        list = array_push_adopt(list, told);
    }
    return list;
}

static void put_sync(struct value *object, const struct message *message)
{
    put_number(object, "fromSeq", message->from_seq);
    put_number(object, "toSeq", message->to_seq);
    put_caught_up(object, message);
    put_flag(object, "pull", message->pull);
    if (message->upserts.count > 0) {
        object_put_adopt(object, "upserts", write_upserts(message));
    }
    if (message->reached > 0) {
        put_number(object, "reached", message->reached);
    }
    if (message->targets.count > 0) {
        object_put_adopt(object, "removes", write_targets(message));
    }
    if (message->refused.count > 0) {
        object_put_adopt(object, "refused", write_refused(message));
    }
    if (message->told.count > 0) {
        object_put_adopt(object, "observations", write_told(message));
    }
}

struct value message_write(const struct message *message)
{
    struct value object = value_empty_object();
    const char *kind = message_kind_name(message->kind);
    object_put_adopt(&object, "kind", value_text_new(kind));
    put_number(&object, "connection", message->connection);
    put_number(&object, "number", message->number);
    switch (message->kind) {
    case MESSAGE_OPEN:
        put_open(&object, message);
        break;
    case MESSAGE_COMMITS:
        object_put_adopt(&object, "commits", write_commits(message));
        break;
    case MESSAGE_WATCH:
    case MESSAGE_UNWATCH:
        put_asked(&object, message);
        break;
    case MESSAGE_ACK:
        put_number(&object, "seenSeq", message->seen_seq);
        break;
    case MESSAGE_OPENED:
        put_opened(&object, message);
        break;
    case MESSAGE_VERDICTS:
        object_put_adopt(&object, "verdicts", write_verdicts(message));
        break;
    case MESSAGE_SYNC:
        put_sync(&object, message);
        break;
    case MESSAGE_REVOKED:
        object_put_adopt(&object, "reason", value_ref(message->reason));
        break;
    }
    return object;
}
