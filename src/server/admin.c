/* Answers to what `heddle admin` asks. */

#include "server/admin.h"

#include <string.h>
#include <unistd.h>

#include "auth/key.h"
#include "base/heap.h"
#include "host/fanout.h"
#include "server/maintenance.h"
#include "server/shard_internal.h"
#include "store/engine.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    EDIT_ATTEMPTS = 5, /* against commits of other processes */
};

/* -- Rights and parameters ----------------------------------------------- */

static enum err need_owner(const struct channel *channel,
                           struct err_detail *detail)
{
    return channel_capability(channel) == CAPABILITY_OWNER
               ? ERR_OK
               : err_set(detail,
                         ERR_ACCESS,
                         "this needs the capability OWNER in the space, and "
                         "the connection has %s",
                         capability_name(channel_capability(channel)));
}

static bool is_operator(const struct channel *channel)
{
    return authenticator_is_operator(channel->space->shard->authenticator,
                                     &channel->credential);
}

/* A principal, or "*" if `everyone` counts. */
static enum err read_principal(struct value question,
                               bool everyone,
                               struct value *out,
                               struct err_detail *detail)
{
    *out = object_field(question, "principal");
    if (!value_is_string(*out)) {
        return err_set(detail, ERR_PROTOCOL, "'principal' must be a string");
    }
    return everyone && value_is_text(*out, "*")
               ? ERR_OK
               : principal_check(value_text(out), detail);
}

/* -- Changes of access --------------------------------------------------- */

/* A commit of the caller, by a connection to the hub for this alone. */
struct editor {
    struct hub_peer *peer;
    const struct credential *credential;
    struct value session; /* that the hub has opened; or absent */
    bool has_verdict;
    struct err_detail verdict;
};

static void on_editor_send(void *ctx, struct message *message)
{
    struct editor *editor = ctx;
    if (message->kind == MESSAGE_OPENED) {
        value_unref(editor->session);
        editor->session = value_ref(message->session);
    } else if (message->kind == MESSAGE_VERDICTS &&
               message->verdicts.count == 1) {
        const struct verdict *verdict = &message->verdicts.at[0].verdict;
        editor->has_verdict = true;
        editor->verdict = (struct err_detail){0};
        if (verdict->err != ERR_OK) {
            (void)err_set(&editor->verdict,
                          verdict->err,
                          "%s",
                          verdict->detail.text);
        }
    }
    message_release(message);
}

static void on_editor_broken(void *ctx)
{
    struct editor *editor = ctx;
    editor->has_verdict = true;
    (void)err_set(&editor->verdict,
                  ERR_STORE,
                  "the space could not be written; retry");
}

const struct credential *admin_credential(const struct hub_peer *peer)
{
    return peer->send == on_editor_send
               ? ((const struct editor *)peer->ctx)->credential
               : NULL;
}

static void editor_send(struct editor *editor, struct message *message)
{
    message->connection = 1;
    message->number = editor->peer->order.received + 1;
    hub_receive(editor->peer, message);
    message_release(message);
}

static void editor_begin(struct editor *editor, struct channel *channel)
{
    struct message open = {.kind = MESSAGE_OPEN};
    editor->credential = &channel->credential;
    editor->peer = hub_attach(&channel->space->hub,
                              channel->principal,
                              on_editor_send,
                              on_editor_broken,
                              editor);
    editor_send(editor, &open);
}

static void editor_end(struct editor *editor)
{
    hub_detach(editor->peer);
    value_unref(editor->session);
}

/* The commit as a client would write it: it sets the document, if that is still
 * as it was at `seq`. */
static struct value commit_value(const struct editor *editor,
                                 uint64_t local_seq,
                                 uint64_t seq,
                                 struct value entries)
{
    struct value commit = object_new_adopt(NULL, 0);
    struct value reads = object_new_adopt(NULL, 0);
    struct value read = object_new_adopt(NULL, 0);
    struct value operation = object_new_adopt(NULL, 0);
    struct value document = object_new_adopt(NULL, 0);
    object_put_text(&read, "id", ACCESS_DOCUMENT_ID);
    object_put_adopt(&read, "path", value_empty_array());
    object_put_number(&read, "seq", seq);
    object_put_adopt(&reads, "confirmed", array_new_adopt(&read, 1));
    object_put_adopt(&document, "value", value_ref(entries));
    object_put_text(&operation, "op", "set");
    object_put_text(&operation, "id", ACCESS_DOCUMENT_ID);
    object_put_adopt(&operation, "value", document);
    object_put_adopt(&commit, "session", value_ref(editor->session));
    object_put_number(&commit, "localSeq", local_seq);
    object_put_text(&commit, "branch", "");
    object_put_adopt(&commit, "reads", reads);
    object_put_adopt(&commit, "operations", array_new_adopt(&operation, 1));
    return commit;
}

/* A borrowed message of commits is decided at once, behind all that has arrived
 * before (host/hub.h). */
static enum err editor_commit(struct editor *editor,
                              struct channel *channel,
                              struct value value,
                              struct err_detail *detail)
{
    struct commit commit = {0};
    struct message message = {.kind = MESSAGE_COMMITS};
    enum err err =
        commit_read(value, &channel->space->shard->paths, &commit, detail);
    if (err == ERR_OK) {
        vec_push(&message.commits, &commit);
        editor->has_verdict = false;
        editor_send(editor, &message);
        commit_release(&commit);
        err = editor->has_verdict
                  ? editor->verdict.err
                  : err_set(detail, ERR_STORE, "the change was not decided");
        if (err != ERR_OK && editor->has_verdict && detail != NULL) {
            *detail = editor->verdict;
        }
    }
    return err;
}

/* The entries, new; absent: there is no valid document. And the seq at which
 * they were read. */
static enum err read_entries(struct channel *channel,
                             struct value *entries,
                             uint64_t *seq,
                             struct err_detail *detail)
{
    struct engine *engine = &channel->space->engine;
    struct value document = VALUE_NONE;
    *entries = VALUE_NONE;
    enum err err = engine_read_begin(engine, detail);
    if (err == ERR_OK) {
        *seq = engine->seq;
        err = access_read_document(engine, &document, detail);
        engine_read_end(engine);
    }
    if (err == ERR_OK && !value_is_absent(document) &&
        access_check_document(document, NULL) == ERR_OK) {
        *entries = value_ref(object_field(document, "value"));
    }
    value_unref(document);
    return err;
}

/* The entries with the change. Adopts them. In a space without any, the caller
 * becomes an owner. */
static struct value change_entries(struct channel *channel,
                                   struct value entries,
                                   struct value principal,
                                   struct value capability)
{
    if (value_is_absent(entries)) {
        entries = object_new_adopt(NULL, 0);
        if (!value_is_absent(channel->principal)) {
            entries = object_set_adopt(entries,
                                       value_ref(channel->principal),
                                       value_text_new("OWNER"));
        }
    }
    return value_is_string(capability)
               ? object_set_adopt(entries,
                                  value_ref(principal),
                                  value_ref(capability))
               : object_remove_adopt(entries, principal);
}

/* Reads, changes and writes the document, again if another process was
 * faster. *entries: what it is afterwards, new; absent: there is none. */
static enum err edit_access(struct channel *channel,
                            struct value principal,
                            struct value capability,
                            struct value *entries,
                            struct err_detail *detail)
{
    struct editor editor = {0};
    enum err err = ERR_CONFLICT;
    uint64_t seq = 0;
    *entries = VALUE_NONE;
    editor_begin(&editor, channel);
    for (unsigned i = 1; i <= EDIT_ATTEMPTS && err == ERR_CONFLICT; i++) {
        value_unref(*entries);
        err = read_entries(channel, entries, &seq, detail);
        const bool is_there = value_is_object(*entries) &&
                              !value_is_absent(object_get(*entries, principal));
        if (err != ERR_OK || (!is_there && !value_is_string(capability))) {
            break; /* what is not there need not be removed */
        }
        *entries = change_entries(channel, *entries, principal, capability);
        const struct value commit = commit_value(&editor, i, seq, *entries);
        err = editor_commit(&editor, channel, commit, detail);
        value_unref(commit);
    }
    editor_end(&editor);
    if (err != ERR_OK) {
        value_unref(*entries);
        *entries = VALUE_NONE;
    }
    return err;
}

static struct value answer_access(const struct channel *channel,
                                  struct value entries)
{
    struct value answer = object_new_adopt(NULL, 0);
    object_put_adopt(&answer,
                     "access",
                     value_is_absent(entries) ? value_null() : entries);
    object_put_number(&answer, "seq", channel->space->engine.seq);
    return answer;
}

static enum err answer_show(struct channel *channel,
                            struct value *answer,
                            struct err_detail *detail)
{
    struct value entries = VALUE_NONE;
    uint64_t seq = 0;
    const enum err err = read_entries(channel, &entries, &seq, detail);
    if (err == ERR_OK) {
        *answer = answer_access(channel, entries);
    }
    return err;
}

static enum err answer_grant(struct channel *channel,
                             struct value question,
                             struct value *answer,
                             struct err_detail *detail)
{
    const struct value capability = object_field(question, "capability");
    struct value principal;
    struct value entries = VALUE_NONE;
    enum capability known;
    enum err err = read_principal(question, true, &principal, detail);
    if (err == ERR_OK && !value_is_same(capability, value_null()) &&
        (!value_is_string(capability) ||
         !capability_read(value_text(&capability), &known))) {
        err = err_set(detail,
                      ERR_PROTOCOL,
                      "'capability' must be READ, WRITE, OWNER or null");
    }
    if (err == ERR_OK) {
        err = edit_access(channel, principal, capability, &entries, detail);
    }
    if (err == ERR_OK) {
        *answer = answer_access(channel, entries);
    }
    return err;
}

/* -- Revoking ------------------------------------------------------------ */

static uint64_t end_channels(struct shard_space *space, struct value principal)
{
    uint64_t ended = 0;
    LIST_FOREACH (&space->channels, node) {
        struct channel *channel = CONTAINER_OF(node, struct channel, in_space);
        if (!channel->is_over && !value_is_absent(channel->principal) &&
            key_equal(channel->principal, principal)) {
            channel_end(channel, ERR_ACCESS, "an owner has ended the session");
            ended++;
        }
    }
    metrics_count(space->shard->options.metrics,
                  METRICS_SESSIONS_REVOKED,
                  ended);
    return ended;
}

static enum err answer_revoke(struct channel *channel,
                              struct value question,
                              struct value *answer,
                              struct err_detail *detail)
{
    struct value principal;
    struct value entries = VALUE_NONE;
    enum err err = read_principal(question, false, &principal, detail);
    if (err == ERR_OK) {
        err = edit_access(channel, principal, VALUE_NONE, &entries, detail);
    }
    if (err == ERR_OK) {
        *answer = answer_access(channel, entries);
        object_put_number(answer,
                          "ended",
                          end_channels(channel->space, principal));
        requests_end_of(channel->space, principal);
    }
    return err;
}

/* -- Sessions ------------------------------------------------------------ */

typedef VEC(const struct hub_session *) session_list;

static bool is_behind(const void *items, size_t a, size_t b)
{
    const struct hub_session *const *sessions = items;
    return value_compare_strings(sessions[a]->id, sessions[b]->id) > 0;
}

static void swap_sessions(void *items, size_t a, size_t b)
{
    const struct hub_session **sessions = items;
    const struct hub_session *one = sessions[a];
    sessions[a] = sessions[b];
    sessions[b] = one;
}

static struct value describe_session(const struct hub_session *session)
{
    const struct channel *channel =
        session->peer != NULL ? channel_of_peer(session->peer) : NULL;
    struct value one = object_new_adopt(NULL, 0);
    object_put_adopt(&one, "session", value_ref(session->id));
    if (!value_is_absent(session->principal)) {
        object_put_adopt(&one, "principal", value_ref(session->principal));
    }
    object_put_adopt(&one, "connected", value_bool(session->peer != NULL));
    object_put_number(&one, "watches", session->watch_by_document.count);
    if (channel != NULL) {
        object_put_text(&one,
                        "capability",
                        capability_name(channel->capability));
        object_put_number(&one, "since", channel->since_ms);
    }
    return one;
}

static enum err answer_sessions(struct channel *channel,
                                struct value question,
                                struct value *answer)
{
    const struct value after = object_field(question, "after");
    struct value list = value_empty_array();
    session_list sessions = {0};
    MAP_FOREACH (&channel->space->hub.sessions, slot) {
        const struct hub_session *session = slot->item;
        const bool is_ours =
            session->peer != NULL && session->peer == channel->space->observer;
        if (!is_ours && (!value_is_string(after) ||
                         value_compare_strings(session->id, after) > 0)) {
            vec_push(&sessions, session);
        }
    }
    if (sessions.count > 1) {
        heap_sort(sessions.at, sessions.count, is_behind, swap_sessions);
    }
    *answer = object_new_adopt(NULL, 0);
    for (size_t i = 0; i < sessions.count && i < ADMIN_SESSIONS_PAGE; i++) {
        list = array_push_adopt(list, describe_session(sessions.at[i]));
    }
    if (sessions.count > ADMIN_SESSIONS_PAGE) {
        object_put_adopt(answer,
                         "next",
                         value_ref(sessions.at[ADMIN_SESSIONS_PAGE - 1]->id));
    }
    object_put_adopt(answer, "sessions", list);
    vec_release(&sessions);
    return ERR_OK;
}

/* -- Long work ----------------------------------------------------------- */

static enum err order(struct channel *channel,
                      enum maintenance_kind kind,
                      struct value question,
                      struct err_detail *detail)
{
    struct shard *shard = channel->space->shard;
    if (shard->options.maintenance == NULL) {
        return err_set(detail, ERR_NOT_FOUND, "this server has no files");
    }
    if (channel->job != 0) {
        return err_set(detail,
                       ERR_OVERLOADED,
                       "the channel waits for another answer of this kind");
    }
    const struct maintenance_order wanted = {
        .kind = kind,
        .worker = shard->options.number,
        .port = channel->port->port,
        .channel = channel->number,
        .serial = shard->jobs + 1,
        .question_id = object_number(question, "id"),
        .space = channel->space->name,
        .question = question,
        .credential = channel->credential,
        .is_service = authenticator_is_service(shard->authenticator,
                                               &channel->credential),
        .is_operator = is_operator(channel),
    };
    const enum err err =
        maintenance_submit(shard->options.maintenance, &wanted, detail);
    if (err == ERR_OK) {
        channel->job = ++shard->jobs;
    }
    return err;
}

static enum err answer_read(const struct channel *channel,
                            struct value question,
                            struct value *answer,
                            struct err_detail *detail)
{
    const uint64_t offset = object_number(question, "offset");
    struct buf bytes = {0};
    struct buf text = {0};
    if (channel->backup == NULL || offset > channel->backup->bytes) {
        return err_set(detail,
                       ERR_NOT_FOUND,
                       "the channel has no backup, or it is shorter");
    }
    const uint64_t left = channel->backup->bytes - offset;
    const size_t length =
        left < ADMIN_READ_BYTES ? (size_t)left : ADMIN_READ_BYTES;
    const ssize_t count = pread(channel->backup->fd,
                                buf_reserve(&bytes, length + 1),
                                length,
                                (off_t)offset);
    enum err err = ERR_OK;
    if (count != (ssize_t)length) {
        err = err_set(detail, ERR_IO, "the backup cannot be read");
    } else {
        base64url_write(&text, bytes.at, length);
        *answer = object_new_adopt(NULL, 0);
        object_put_adopt(answer, "bytes", value_string_adopt(&text));
    }
    buf_release(&bytes);
    buf_release(&text);
    return err;
}

static enum err answer_drain(const struct channel *channel,
                             struct value *answer,
                             struct err_detail *detail)
{
    const struct shard_options *options = &channel->space->shard->options;
    if (!is_operator(channel)) {
        return err_set(detail,
                       ERR_ACCESS,
                       "only an owner of the server can drain it");
    }
    if (options->drain == NULL) {
        return err_set(detail, ERR_NOT_FOUND, "this server cannot be drained");
    }
    options->drain(options->ctx);
    *answer = object_new_adopt(NULL, 0);
    return ERR_OK;
}

/* -- Questions ----------------------------------------------------------- */

bool admin_is_question(struct value question)
{
    static const char prefix[] = "admin";
    const struct value name = object_field(question, "question");
    if (!value_is_string(name)) {
        return false;
    }
    const struct text text = value_text(&name);
    return text.length >= sizeof prefix - 1 &&
           memcmp(text.at, prefix, sizeof prefix - 1) == 0;
}

/* Those of an owner of the space. */
static enum err answer_owner(struct channel *channel,
                             struct value question,
                             struct value *answer,
                             bool *later,
                             struct err_detail *detail)
{
    const struct value name = object_field(question, "question");
    enum err err = need_owner(channel, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (value_is_text(name, "adminGrant")) {
        return answer_grant(channel, question, answer, detail);
    }
    if (value_is_text(name, "adminRevoke")) {
        return answer_revoke(channel, question, answer, detail);
    }
    if (value_is_text(name, "adminSessions")) {
        return answer_sessions(channel, question, answer);
    }
    if (value_is_text(name, "adminRead")) {
        return answer_read(channel, question, answer, detail);
    }
    if (value_is_text(name, "adminBackup")) {
        *later = true;
        return order(channel, MAINTENANCE_BACKUP, question, detail);
    }
    if (value_is_text(name, "adminCompact")) {
        *later = true;
        return order(channel, MAINTENANCE_COMPACT, question, detail);
    }
    return err_set(detail, ERR_NOT_FOUND, "there is no such question");
}

enum err admin_answer(struct channel *channel,
                      struct value question,
                      struct value *answer,
                      bool *later,
                      struct err_detail *detail)
{
    const struct value name = object_field(question, "question");
    enum err err;
    *later = false;
    if (value_is_text(name, "adminSpaces")) {
        *later = true;
        err = order(channel, MAINTENANCE_SPACES, question, detail);
    } else if (value_is_text(name, "adminDrain")) {
        err = answer_drain(channel, answer, detail);
    } else if (value_is_text(name, "adminAccess")) {
        err = answer_show(channel, answer, detail);
    } else {
        err = answer_owner(channel, question, answer, later, detail);
    }
    *later = *later && err == ERR_OK;
    return err;
}
