/* A remote's connection, its channels and their questions. */

#include "host/remote.h"

#include "base/mem.h"
#include "base/text.h"
#include "host/remote_internal.h"
#include "replica/session.h"
#include "value/json.h"
#include "value/object.h"

/* -- Life ---------------------------------------------------------------- */

struct remote *remote_new(const struct remote_options *options)
{
    struct remote *remote = mem_alloc_zero(sizeof *remote);
    remote->wire = options->wire;
    remote->log = options->log;
    remote->prove = options->prove;
    remote->ctx = options->ctx;
    remote->message_bytes = REMOTE_MESSAGE_BYTES;
    buf_append_text(&remote->url, options->url);
    if (options->token != NULL) {
        buf_append_text(&remote->token, options->token);
    }
    if (options->user != NULL) {
        buf_append_text(&remote->user, options->user);
    }
    path_table_init(&remote->paths);
    return remote;
}

static void clear_inbox(struct remote_channel *channel)
{
    VEC_FOREACH (&channel->inbox, delivery) {
        message_release(&delivery->message);
    }
    vec_clear(&channel->inbox);
}

static void channel_free(struct remote_channel *channel)
{
    clear_inbox(channel);
    vec_release(&channel->inbox);
    vec_release(&channel->batches);
    value_unref(channel->space);
    value_unref(channel->branch);
    value_unref(channel->session_name);
    value_unref(channel->instance);
    value_unref(channel->attached.principal);
    mem_free(channel, sizeof *channel);
}

void remote_free(struct remote *remote)
{
    if (remote == NULL) {
        return;
    }
    remote_flush(remote);
    remote->wire->methods->free(remote->wire);
    VEC_FOREACH (&remote->questions, question) {
        value_unref(question->answer);
    }
    vec_release(&remote->questions);
    VEC_FOREACH (&remote->channels, channel) {
        channel_free(*channel);
    }
    vec_release(&remote->channels);
    path_table_release(&remote->paths);
    value_unref(remote->audience);
    value_unref(remote->challenge);
    buf_release(&remote->url);
    buf_release(&remote->token);
    buf_release(&remote->user);
    buf_release(&remote->outgoing);
    mem_free(remote, sizeof *remote);
}

int remote_fd(const struct remote *remote)
{
    return remote->wire->fd;
}

const struct remote_counters *remote_counters(const struct remote *remote)
{
    return &remote->counters;
}

/* -- Sending ------------------------------------------------------------- */

void remote_flush(struct remote *remote)
{
    if (remote->outgoing.length == 0) {
        return;
    }
    remote->counters.sent_messages++;
    remote->counters.sent_bytes += remote->outgoing.length;
    remote->wire->methods->send(remote->wire,
                                remote->outgoing.at,
                                remote->outgoing.length);
    buf_clear(&remote->outgoing);
}

/* A line was appended behind what was `before`. Nothing is sent that the server
 * would refuse: it closes the connection then. */
static bool end_line(struct remote *remote, size_t before)
{
    struct buf *out = &remote->outgoing;
    const size_t length = out->length - before;
    if (length > remote->message_bytes) {
        out->length = before;
        return false;
    }
    if (out->length <= remote->message_bytes &&
        out->length < REMOTE_SEND_BYTES) {
        return true;
    }
    if (before == 0) {
        remote_flush(remote);
        return true;
    }
    struct buf line = {0};
    buf_append(&line, out->at + before + 1, length - 1);
    out->length = before;
    remote_flush(remote);
    buf_append(out, line.at, line.length);
    buf_release(&line);
    return true;
}

static size_t begin_line(struct remote *remote, uint32_t number)
{
    const size_t before = remote->outgoing.length;
    if (before > 0) {
        buf_append_char(&remote->outgoing, '\n');
    }
    buf_printf(&remote->outgoing, "%lu ", (unsigned long)number);
    return before;
}

bool remote_say(struct remote *remote, uint32_t number, struct value object)
{
    const size_t before = begin_line(remote, number);
    json_write(&remote->outgoing, object, JSON_AS_GIVEN, 0);
    return end_line(remote, before);
}

/* -- The state of the connection ----------------------------------------- */

void channel_deliver(struct remote_channel *channel, enum delivery_kind kind)
{
    const struct delivery delivery = {.kind = kind};
    vec_push(&channel->inbox, delivery);
}

void channel_lose(struct remote_channel *channel)
{
    if (channel->is_wanted || channel->is_used) {
        channel->is_wanted = false;
        channel->is_used = false;
        channel_deliver(channel, DELIVER_LOST);
    }
}

void channel_refuse(struct remote_channel *channel,
                    const struct err_detail *why)
{
    channel->state = CHANNEL_REFUSED;
    channel->trouble = *why;
    if (channel->is_wanted || channel->is_used) {
        channel->is_wanted = false;
        channel->is_used = false;
        channel_deliver(channel, DELIVER_REVOKED);
    }
}

static void fail_questions(struct remote *remote,
                           const struct remote_channel *channel,
                           const struct err_detail *why)
{
    VEC_FOREACH (&remote->questions, question) {
        if (!question->is_over &&
            (channel == NULL || question->channel == channel)) {
            question->is_over = true;
            question->detail = *why;
        }
    }
}

void remote_lose(struct remote *remote, enum err err, const char *why)
{
    struct err_detail detail = {0};
    const char *end = err == ERR_UNREACHABLE
                          ? "; check the address, and that the server runs"
                          : "";
    (void)err_set(&detail,
                  err,
                  "the server %.80s: %.110s%s",
                  buf_text(&remote->url),
                  why,
                  end);
    remote->trouble = detail;
    remote->stage = REMOTE_DOWN;
    remote->wire->methods->hang_up(remote->wire);
    buf_clear(&remote->outgoing);
    fail_questions(remote, NULL, &detail);
    VEC_FOREACH (&remote->channels, channel) {
        if ((*channel)->state != CHANNEL_REFUSED) {
            (*channel)->state = CHANNEL_IDLE;
            (*channel)->trouble = detail;
        }
        (*channel)->detaches = 0;
        channel_lose(*channel);
    }
}

/* -- Attaching ----------------------------------------------------------- */

static void put(struct value *object, const char *name, struct value item)
{
    if (!value_is_absent(item)) {
        object_put_adopt(object, name, value_ref(item));
    }
}

/* Who this client is: by a token, a proof, or a name that a server without keys
 * believes. */
static enum err put_identity(struct remote_channel *channel,
                             struct value *attach,
                             struct err_detail *detail)
{
    struct remote *remote = channel->remote;
    if (remote->user.length > 0) {
        object_put_text(attach, "user", buf_text(&remote->user));
    }
    if (remote->token.length > 0) {
        object_put_text(attach, "token", buf_text(&remote->token));
        return ERR_OK;
    }
    if (remote->prove == NULL) {
        return ERR_OK;
    }
    const struct remote_challenge challenge = {
        .audience = remote->audience,
        .challenge = remote->challenge,
        .space = channel->space,
        .branch = channel->branch,
        .session = channel->session_name,
    };
    struct value proof = VALUE_NONE;
    const enum err err = remote->prove(remote->ctx, &challenge, &proof, detail);
    put(attach, "proof", proof);
    value_unref(proof);
    value_unref(remote->challenge);
    remote->challenge = VALUE_NONE;
    return err;
}

static void send_attach(struct remote_channel *channel)
{
    struct remote *remote = channel->remote;
    struct value attach = value_empty_object();
    struct err_detail detail = {0};
    object_put_text(&attach, "kind", "attach");
    object_put_number(&attach, "channel", channel->number);
    put(&attach, "space", channel->space);
    if (value_text(&channel->branch).length > 0) {
        put(&attach, "branch", channel->branch);
    }
    put(&attach, "session", channel->session_name);
    put(&attach, "instance", channel->instance);
    if (!channel->create) {
        object_put_adopt(&attach, "create", value_bool(false));
    }
    if (channel->read_only) {
        object_put_adopt(&attach, "readOnly", value_bool(true));
    }
    channel->is_sent = true;
    if (put_identity(channel, &attach, &detail) != ERR_OK) {
        channel_refuse(channel, &detail);
    } else {
        (void)remote_say(remote, 0, attach);
    }
    value_unref(attach);
}

/* The answer to an attach brings the next challenge. */
static bool is_challenge_due(const struct remote *remote)
{
    VEC_FOREACH (&remote->channels, channel) {
        if ((*channel)->state == CHANNEL_ATTACHING && (*channel)->is_sent) {
            return true;
        }
    }
    return false;
}

static void refuse_unproven(struct remote_channel *channel)
{
    struct err_detail why = {0};
    (void)err_set(&why,
                  ERR_PROTOCOL,
                  "the server sent no challenge for a proof of identity: "
                  "update it, or use a token");
    channel_refuse(channel, &why);
}

void remote_attach_all(struct remote *remote)
{
    VEC_FOREACH (&remote->channels, channel) {
        if (remote->stage != REMOTE_READY ||
            (*channel)->state != CHANNEL_ATTACHING || (*channel)->is_sent) {
            continue;
        }
        const bool can_prove = !value_is_absent(remote->audience) &&
                               !value_is_absent(remote->challenge);
        if (remote->prove == NULL || remote->token.length > 0 || can_prove) {
            send_attach(*channel);
        } else if (value_is_absent(remote->audience) ||
                   !is_challenge_due(remote)) {
            refuse_unproven(*channel);
        }
    }
    remote_flush(remote);
}

static void dial(struct remote *remote)
{
    struct err_detail detail = {0};
    if (remote->now < remote->not_before) {
        remote_lose(remote, ERR_UNREACHABLE, "it is shutting down");
        return;
    }
    remote->counters.dials++;
    remote->stage = REMOTE_DIALING;
    remote->deadline = remote->now + REMOTE_CONNECT_MS;
    if (remote->wire->methods->dial(remote->wire, &detail) != ERR_OK) {
        remote_lose(remote, detail.err, detail.text);
    }
}

void remote_attach(struct remote_channel *channel, mono_ms now)
{
    struct remote *remote = channel->remote;
    remote->now = now > remote->now ? now : remote->now;
    if (channel->state != CHANNEL_IDLE) {
        return;
    }
    channel->state = CHANNEL_ATTACHING;
    channel->is_sent = false;
    channel->was_retried = false;
    channel->deadline = remote->now + REMOTE_CONNECT_MS;
    if (remote->stage == REMOTE_DOWN) {
        dial(remote);
    } else {
        remote_attach_all(remote);
    }
}

static void send_detach(struct remote_channel *channel)
{
    struct value detach = value_empty_object();
    object_put_text(&detach, "kind", "detach");
    object_put_number(&detach, "channel", channel->number);
    (void)remote_say(channel->remote, 0, detach);
    value_unref(detach);
    channel->detaches++;
    channel->state = CHANNEL_IDLE;
    struct err_detail why = {0};
    (void)err_set(&why,
                  ERR_UNREACHABLE,
                  "the connection to the space was given up");
    fail_questions(channel->remote, channel, &why);
}

/* -- For the session ----------------------------------------------------- */

static struct remote_channel *channel_of(struct transport *transport)
{
    return CONTAINER_OF(transport, struct remote_channel, transport);
}

static void transport_connect(struct transport *transport,
                              struct session *session)
{
    struct remote_channel *channel = channel_of(transport);
    clear_inbox(channel);
    vec_clear(&channel->batches);
    channel->session = session;
    channel->is_used = false;
    channel->is_wanted = true;
    if (channel->state == CHANNEL_ATTACHED) {
        channel->is_wanted = false;
        channel->is_used = true;
        channel_deliver(channel, DELIVER_CONNECTED);
    } else if (channel->state == CHANNEL_REFUSED) {
        channel_refuse(channel, &channel->trouble);
    } else {
        remote_attach(channel, channel->remote->now);
    }
}

/* A message that exceeds the limit of the server: smaller ones are tried, as
 * far as it has parts. */
static void give_up_message(struct remote_channel *channel,
                            const struct message *message)
{
    struct err_detail why = {0};
    send_detach(channel);
    if (message->kind == MESSAGE_COMMITS && message->commits.count > 1) {
        channel->session->batch_max = message->commits.count / 2;
        channel_lose(channel);
        return;
    }
    (void)err_set(&why,
                  ERR_LIMIT_SIZE,
                  "a commit exceeds the %llu bytes that the server takes",
                  (unsigned long long)channel->remote->message_bytes);
    channel_refuse(channel, &why);
}

static void transport_send(struct transport *transport,
                           const struct message *message)
{
    struct remote_channel *channel = channel_of(transport);
    if (!channel->is_used) {
        return; /* lost, which is no error */
    }
    struct remote *remote = channel->remote;
    const size_t before = begin_line(remote, channel->number);
    message_append(&remote->outgoing, message);
    if (!end_line(remote, before)) {
        give_up_message(channel, message);
        return;
    }
    VEC_FOREACH (&message->commits, commit) {
        if (commit_is_batch(*commit)) {
            vec_push(&channel->batches, (*commit)->local_seq);
        }
    }
}

static void transport_disconnect(struct transport *transport)
{
    struct remote_channel *channel = channel_of(transport);
    clear_inbox(channel);
    if (channel->is_used && channel->state == CHANNEL_ATTACHED) {
        send_detach(channel);
    }
    channel->is_used = false;
    channel->is_wanted = false;
}

static const struct transport_methods methods = {
    .connect = transport_connect,
    .send = transport_send,
    .disconnect = transport_disconnect,
};

struct transport *remote_transport(struct remote_channel *channel)
{
    return &channel->transport;
}

/* The session is gone for ever: it cannot tell this reason apart from others
 * otherwise. */
static void revoke(struct remote_channel *channel)
{
    struct session *session = channel->session;
    struct message revoked = {
        .kind = MESSAGE_REVOKED,
        .connection = session->connection,
        .number = session->order.received + 1,
        .reason = value_text_new(channel->trouble.text),
    };
    session_receive(session, &revoked);
}

static void hand_over(struct remote_channel *channel, struct delivery *delivery)
{
    struct session *session = channel->session;
    switch (delivery->kind) {
    case DELIVER_CONNECTED:
        session_connected(session);
        return;
    case DELIVER_MESSAGE:
        session_receive(session, &delivery->message);
        return;
    case DELIVER_GARBAGE:
        session_receive_garbage(session);
        return;
    case DELIVER_LOST:
        session_disconnected(session);
        return;
    case DELIVER_REVOKED:
        revoke(channel);
        return;
    }
    UNREACHABLE("all kinds are above");
}

/* A session may call back, and end or begin a connection: then what is left is
 * another list. */
static bool deliver(struct remote_channel *channel)
{
    bool any = false;
    while (channel->inbox.count > 0) {
        __typeof__(channel->inbox) taken = channel->inbox;
        channel->inbox.at = NULL;
        channel->inbox.count = channel->inbox.capacity = 0;
        const uint64_t connection = channel->session->connection;
        VEC_FOREACH (&taken, delivery) {
            if (channel->session->connection == connection) {
                hand_over(channel, delivery);
            }
            message_release(&delivery->message);
        }
        vec_release(&taken);
        any = true;
    }
    return any;
}

bool remote_deliver(struct remote *remote)
{
    bool any = false;
    for (size_t i = 0; i < remote->channels.count; i++) {
        any = deliver(remote->channels.at[i]) || any;
    }
    remote_flush(remote);
    return any;
}

bool remote_has_deliveries(const struct remote *remote)
{
    VEC_FOREACH (&remote->channels, channel) {
        if ((*channel)->inbox.count > 0) {
            return true;
        }
    }
    return false;
}

/* -- Spaces -------------------------------------------------------------- */

struct remote_channel *remote_open(struct remote *remote,
                                   const struct remote_opening *opening,
                                   mono_ms now)
{
    struct remote_channel *channel = mem_alloc_zero(sizeof *channel);
    channel->remote = remote;
    channel->transport.methods = &methods;
    channel->number = (uint32_t)remote->channels.count + 1;
    channel->space = value_ref(opening->space);
    channel->branch = value_is_absent(opening->branch)
                          ? value_text_new("")
                          : value_ref(opening->branch);
    channel->session_name = value_ref(opening->session);
    channel->instance = value_ref(opening->instance);
    channel->create = opening->create;
    channel->read_only = opening->read_only;
    vec_push(&remote->channels, channel);
    remote_attach(channel, now);
    return channel;
}

void remote_close(struct remote_channel *channel)
{
    struct err_detail why = {0};
    clear_inbox(channel);
    channel->is_wanted = false;
    channel->is_used = false;
    if (channel->state == CHANNEL_ATTACHED) {
        send_detach(channel);
    }
    (void)err_set(&why, ERR_CLOSED, "the space was closed");
    channel->state = CHANNEL_REFUSED;
    channel->trouble = why;
    fail_questions(channel->remote, channel, &why);
}

enum channel_state remote_state(const struct remote_channel *channel)
{
    return channel->state;
}

const struct remote_attached *remote_attached(
    const struct remote_channel *channel)
{
    return &channel->attached;
}

uint64_t remote_attachments(const struct remote_channel *channel)
{
    return channel->attachments;
}

uint64_t remote_landed(const struct remote_channel *channel)
{
    return channel->landed;
}

const struct err_detail *remote_trouble(const struct remote_channel *channel)
{
    return channel->state != CHANNEL_ATTACHED && channel->trouble.err != ERR_OK
               ? &channel->trouble
               : NULL;
}

/* -- Questions ----------------------------------------------------------- */

uint64_t remote_ask(struct remote_channel *channel, struct value question)
{
    struct remote *remote = channel->remote;
    if (channel->state != CHANNEL_ATTACHED) {
        return 0;
    }
    struct remote_question asked = {
        .number = ++remote->asked,
        .channel = channel,
    };
    struct value ask = value_ref(question);
    object_put_text(&ask, "kind", "ask");
    object_put_number(&ask, "id", asked.number);
    if (!remote_say(remote, channel->number, ask)) {
        asked.is_over = true;
        (void)err_set(&asked.detail,
                      ERR_LIMIT_SIZE,
                      "a question exceeds the %llu bytes that the server "
                      "takes",
                      (unsigned long long)remote->message_bytes);
    }
    value_unref(ask);
    vec_push(&remote->questions, asked);
    return asked.number;
}

static struct remote_question *find_question(const struct remote *remote,
                                             uint64_t number)
{
    VEC_FOREACH (&remote->questions, question) {
        if (question->number == number) {
            return question;
        }
    }
    return NULL;
}

static void drop_question(struct remote *remote,
                          struct remote_question *question)
{
    *question = *vec_last(&remote->questions);
    remote->questions.count--;
}

bool remote_take_answer(struct remote_channel *channel,
                        uint64_t number,
                        enum err *err,
                        struct value *answer,
                        struct err_detail *detail)
{
    struct remote *remote = channel->remote;
    struct remote_question *question = find_question(remote, number);
    *answer = VALUE_NONE;
    if (question == NULL || !question->is_over) {
        return false;
    }
    *answer = question->answer;
    *err = question->detail.err;
    if (detail != NULL && *err != ERR_OK) {
        *detail = question->detail;
    }
    drop_question(remote, question);
    return true;
}

void remote_drop_question(struct remote_channel *channel, uint64_t number)
{
    struct remote_question *question = find_question(channel->remote, number);
    if (question != NULL) {
        value_unref(question->answer);
        drop_question(channel->remote, question);
    }
}

/* -- Moving -------------------------------------------------------------- */

static void greet(struct remote *remote)
{
    struct value hello = value_empty_object();
    object_put_text(&hello, "kind", "hello");
    object_put_number(&hello, "version", REMOTE_VERSION);
    remote->stage = REMOTE_GREETING;
    buf_clear(&remote->outgoing);
    (void)remote_say(remote, 0, hello);
    remote_flush(remote);
    value_unref(hello);
}

static void take_event(struct remote *remote, struct wire_event *event)
{
    switch (event->kind) {
    case WIRE_CONNECTED:
        greet(remote);
        return;
    case WIRE_TEXT:
        remote->counters.received_messages++;
        remote->counters.received_bytes += event->text.length;
        remote_take_text(remote, event->text.at, event->text.length);
        return;
    case WIRE_CLOSED:
        remote_lose(remote, ERR_UNREACHABLE, buf_text(&event->text));
        return;
    }
    UNREACHABLE("all kinds are above");
}

static bool is_late(const struct remote *remote)
{
    if (remote->stage == REMOTE_DIALING || remote->stage == REMOTE_GREETING) {
        return remote->now >= remote->deadline;
    }
    VEC_FOREACH (&remote->channels, channel) {
        if ((*channel)->state == CHANNEL_ATTACHING && (*channel)->is_sent &&
            remote->now >= (*channel)->deadline) {
            return true;
        }
    }
    return false;
}

void remote_receive(struct remote *remote, mono_ms now)
{
    struct wire_event event = {0};
    remote->now = now > remote->now ? now : remote->now;
    while (remote->wire->methods->take(remote->wire, &event)) {
        take_event(remote, &event);
        buf_release(&event.text);
    }
    if (is_late(remote)) {
        remote_lose(remote, ERR_UNREACHABLE, "it does not answer");
    }
}

mono_ms remote_next_wake(const struct remote *remote)
{
    mono_ms wake = MONO_NEVER;
    if (remote->stage == REMOTE_DIALING || remote->stage == REMOTE_GREETING) {
        return remote->deadline;
    }
    VEC_FOREACH (&remote->channels, channel) {
        if ((*channel)->state == CHANNEL_ATTACHING && (*channel)->is_sent &&
            (*channel)->deadline < wake) {
            wake = (*channel)->deadline;
        }
    }
    return wake;
}
