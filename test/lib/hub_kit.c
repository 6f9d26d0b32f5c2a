/* Hubs in tests (lib/hub_kit.h is the manual). */

#include "lib/hub_kit.h"

#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

/* -- What is heard ------------------------------------------------------- */

static void put_text(struct buf *to, struct value value)
{
    const struct text text = value_text(&value);
    buf_append(to, text.at, text.length);
}

static void put_document(struct buf *to, struct value document)
{
    if (value_is_absent(document)) {
        buf_append_char(to, '-');
        return;
    }
    struct buf json = {0};
    json_write(&json, document, JSON_CANONICAL, 0);
    for (size_t i = 0; i < json.length; i++) {
        buf_append_char(to, (char)(json.at[i] == '"' ? '\'' : json.at[i]));
    }
    buf_release(&json);
}

static void put_target(struct buf *to, const struct target *target)
{
    put_text(to, target->id);
    if (target->scope != SCOPE_SPACE) {
        buf_printf(to, "~%s", scope_name(target->scope));
    }
}

/* What concerns selectors only. */
static void put_left(struct buf *to, const struct message *message)
{
    for (size_t i = 0; i < message->targets.count; i++) {
        buf_append_text(to, " -");
        put_target(to, &message->targets.at[i]);
    }
    for (size_t i = 0; i < message->refused.count; i++) {
        buf_append_text(to, " !");
        put_text(to, message->refused.at[i].id);
        buf_printf(to, "=%s", err_name(message->refused.at[i].detail.err));
        EXPECT(message->refused.at[i].detail.text[0] != '\0');
    }
}

static void put_sync(struct buf *to, const struct message *message)
{
    buf_printf(to,
               "sync %llu-%llu",
               (unsigned long long)message->from_seq,
               (unsigned long long)message->to_seq);
    if (message->caught_up > 0) {
        buf_printf(to, " marker=%llu", (unsigned long long)message->caught_up);
    }
    if (message->pull) {
        buf_append_text(to, " pull");
    }
    for (size_t i = 0; i < message->upserts.count; i++) {
        const struct upsert *upsert = &message->upserts.at[i];
        const bool reached = i + message->reached >= message->upserts.count;
        buf_append_text(to, reached ? " +" : " ");
        put_target(to, &upsert->target);
        buf_printf(to, "@%llu", (unsigned long long)upsert->seq);
        if (upsert->from > 0) {
            buf_printf(to, "+%llu", (unsigned long long)upsert->from);
        }
        buf_append_char(to, '=');
        put_document(to, upsert->from > 0 ? upsert->patch : upsert->document);
        if (upsert->has_before) {
            buf_append_text(to, "<");
            put_document(to, upsert->before);
        }
    }
    put_left(to, message);
}

static void put_verdicts(struct buf *to, const struct message *message)
{
    buf_append_text(to, "verdicts");
    for (size_t i = 0; i < message->verdicts.count; i++) {
        const struct message_verdict *one = &message->verdicts.at[i];
        buf_printf(to, " %llu", (unsigned long long)one->local_seq);
        if (one->verdict.err == ERR_OK) {
            buf_printf(to, "@%llu", (unsigned long long)one->verdict.seq);
        } else {
            buf_printf(to, "!%s", err_name(one->verdict.err));
        }
    }
}

static void put_opened(struct buf *to, const struct message *message)
{
    buf_append_text(to, "opened ");
    put_text(to, message->session);
    buf_printf(to,
               "%s seq=%llu",
               message->resumed ? " resumed" : "",
               (unsigned long long)message->server_seq);
    if (message->caught_up > 0) {
        buf_printf(to, " marker=%llu", (unsigned long long)message->caught_up);
    }
    EXPECT(message->markers);
}

/* What goes out as text is the text of the message, shared or not
 * (message-3). */
static void expect_text(struct raw *raw, const struct message *message)
{
    for (size_t i = 0; i < message->upserts.count; i++) {
        const struct upsert_text *shared = message->upserts.at[i].shared;
        raw->encoded += shared == NULL || shared->text.length == 0;
    }
    struct buf text = {0};
    struct value value = message_write(message);
    message_append(&text, message);
    EXPECT_TEXT_OF(&text, value);
    value_unref(value);
}

static void begin_heard(struct raw *raw)
{
    if (raw->heard.length > 0) {
        buf_append_text(&raw->heard, "; ");
    }
}

static void on_send(void *ctx, struct message *message)
{
    struct raw *raw = ctx;
    begin_heard(raw);
    EXPECT(!raw->inside);
    raw->inside = true;
    expect_text(raw, message);
    if (message->kind != MESSAGE_REVOKED || raw->order.received > 0) {
        EXPECT_INT(message_take(&raw->order, message), MESSAGE_NEXT);
    }
    if (message->kind == MESSAGE_SYNC) {
        put_sync(&raw->heard, message);
        raw->seen = message->to_seq;
    } else if (message->kind == MESSAGE_VERDICTS) {
        put_verdicts(&raw->heard, message);
    } else if (message->kind == MESSAGE_OPENED) {
        const struct text id = value_text(&message->session);
        CHECK(id.length < sizeof raw->id);
        memcpy(raw->id, id.at, id.length);
        raw->id[id.length] = '\0';
        const struct text token = value_is_absent(message->token)
                                      ? (struct text){"", 0}
                                      : value_text(&message->token);
        CHECK(token.length < sizeof raw->token);
        memcpy(raw->token, token.at, token.length);
        raw->token[token.length] = '\0';
        put_opened(&raw->heard, message);
    } else {
        buf_append_text(&raw->heard, "revoked ");
        put_text(&raw->heard, message->reason);
    }
    message_release(message);
    if (raw->reply != NULL) {
        const char *line = raw->reply;
        raw->reply = NULL;
        raw_commit(raw, line);
    }
    raw->inside = false;
}

static void on_broken(void *ctx)
{
    struct raw *raw = ctx;
    begin_heard(raw);
    buf_append_text(&raw->heard, "broken");
}

/* Everything that was heard since the last time. */
const char *heard(struct raw *raw)
{
    buf_release(&raw->shown);
    raw->shown = raw->heard;
    raw->heard = (struct buf){0};
    return buf_text(&raw->shown);
}

void raw_detach(struct raw *raw)
{
    if (raw->peer != NULL) {
        hub_detach(raw->peer);
        raw->peer = NULL;
    }
}

/* A new connection; the one before is dropped. */
void raw_attach(struct raw *raw)
{
    raw_detach(raw);
    struct value principal =
        raw->principal != NULL ? value_text_new(raw->principal) : VALUE_NONE;
    raw->peer = hub_attach(raw->hub, principal, on_send, on_broken, raw);
    value_unref(principal);
    raw->connection++;
    raw->number = 0;
    raw->order = (struct message_order){.connection = raw->connection};
}

/* Sends an object with the fields of a message; adopts it. */
void raw_send_as(struct raw *raw,
                 const char *kind,
                 uint64_t connection,
                 uint64_t number,
                 struct value object)
{
    object_put_adopt(&object, "kind", value_text_new(kind));
    object_put_adopt(&object, "connection", value_int((int64_t)connection));
    object_put_adopt(&object, "number", value_int((int64_t)number));
    struct message message;
    struct err_detail detail = {0};
    if (!EXPECT_INT(message_read(object, &raw->paths, &message, &detail),
                    ERR_OK)) {
        (void)test_fail(__FILE__, __LINE__, "%s", detail.text);
    }
    value_unref(object);
    hub_receive(raw->peer, &message);
    message_release(&message);
}

void raw_send(struct raw *raw, const char *kind, struct value object)
{
    raw->number++;
    raw_send_as(raw, kind, raw->connection, raw->number, object);
}

void raw_open(struct raw *raw, const char *session)
{
    raw_attach(raw);
    struct value object = value_empty_object();
    if (session != NULL) {
        object_put_adopt(&object, "session", value_text_new(session));
    }
    object_put_adopt(&object, "seenSeq", value_int((int64_t)raw->seen));
    if (raw->deltas) {
        object_put_adopt(&object, "deltas", value_bool(true));
    }
    if (raw->token[0] != '\0') {
        object_put_adopt(&object, "token", value_text_new(raw->token));
    }
    raw_send(raw, "open", object);
}

/* "A B~user": ids, each with a scope or none. */
void raw_watch(struct raw *raw, const char *names)
{
    struct value list = value_empty_array();
    while (*names != '\0') {
        const size_t length = strcspn(names, " ");
        const size_t id = strcspn(names, " ~<");
        struct value target = value_empty_object();
        object_put_adopt(&target, "id", value_string_new(names, id));
        if (id < length && names[id] == '<') {
            const long since = strtol(names + id + 1, NULL, 10);
            object_put_adopt(&target, "since", value_int(since));
        } else if (id < length) {
            object_put_adopt(&target,
                             "scope",
                             value_string_new(names + id + 1, length - id - 1));
        }
        list = array_push_adopt(list, target);
        names += length + (names[length] == ' ' ? 1 : 0);
    }
    struct value object = value_empty_object();
    object_put_adopt(&object, "targets", list);
    raw_send(raw, "watch", object);
}

void raw_select(struct raw *raw, const char *selectors)
{
    struct buf text = {0};
    buf_printf(&text, "{'selectors':[%s]}", selectors);
    raw_send(raw, "watch", from_quoted(buf_text(&text)));
    buf_release(&text);
}

void raw_unselect(struct raw *raw, const char *ids)
{
    struct value list = value_empty_array();
    while (*ids != '\0') {
        const size_t length = strcspn(ids, " ");
        list = array_push_adopt(list, value_string_new(ids, length));
        ids += length + (ids[length] == ' ' ? 1 : 0);
    }
    struct value object = value_empty_object();
    object_put_adopt(&object, "selectors", list);
    raw_send(raw, "unwatch", object);
}

static struct value commit_of(const char *line)
{
    struct buf json = kit_commit_json(line);
    struct value commit = from_json(buf_text(&json));
    buf_release(&json);
    return commit;
}

void raw_commits(struct raw *raw, const char *const *lines, size_t count)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < count; i++) {
        list = array_push_adopt(list, commit_of(lines[i]));
    }
    struct value object = value_empty_object();
    object_put_adopt(&object, "commits", list);
    raw_send(raw, "commits", object);
}

void raw_commit(struct raw *raw, const char *line)
{
    raw_commits(raw, &line, 1);
}

/* -- Lua runtimes -------------------------------------------------------- */

void hub_fixture_begin(struct hub_fixture *fixture,
                       const struct store_kit *beside,
                       bool in_file,
                       bool immediate)
{
    *fixture = (struct hub_fixture){0};
    if (beside != NULL) {
        kit_open_beside(&fixture->kit, beside);
    } else if (in_file) {
        kit_open_file(&fixture->kit, NULL);
    } else {
        kit_open_memory(&fixture->kit, NULL);
    }
    const struct hub_options options = {.immediate = immediate, .seed = 7};
    hub_init(&fixture->hub, &fixture->kit.engine, &options, 1000);
    for (size_t i = 0; i < RAW_MAX; i++) {
        fixture->peers[i].hub = &fixture->hub;
        path_table_init(&fixture->peers[i].paths);
    }
}

void hub_fixture_end(struct hub_fixture *fixture)
{
    for (size_t i = 0; i < RAW_MAX; i++) {
        struct raw *raw = &fixture->peers[i];
        raw_detach(raw);
        buf_release(&raw->heard);
        buf_release(&raw->shown);
        path_table_release(&raw->paths);
    }
    hub_release(&fixture->hub);
    kit_close(&fixture->kit);
}

/* In memory, flushed by hand, with sessions s1 and s2 open. */
void hub_fixture_two(struct hub_fixture *fixture)
{
    hub_fixture_begin(fixture, NULL, false, false);
    raw_open(&fixture->peers[0], "s1");
    raw_open(&fixture->peers[1], "s2");
    EXPECT_TEXT(heard(&fixture->peers[0]), "opened s1 seq=0");
    EXPECT_TEXT(heard(&fixture->peers[1]), "opened s2 seq=0");
}

/* The same, and both watch these. */
void hub_fixture_watching(struct hub_fixture *fixture, const char *names)
{
    hub_fixture_two(fixture);
    for (size_t i = 0; i < 2; i++) {
        raw_watch(&fixture->peers[i], names);
        EXPECT_CONTAINS(heard(&fixture->peers[i]), "pull");
    }
}
