/* The side of a server that runs on the I/O thread. */

#include "server/connection.h"

#include <string.h>

#include "server/routes.h"
#include "value/address.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

enum {
    CONTROL_BYTES = 64 * 1024, /* of a line of channel 0 */
    CHANNEL_DIGITS = 10,
    NO_WORKER = 0xff,
};

struct connection {
    struct port *port;
    VEC(uint8_t) workers; /* by channel number; NO_WORKER: none */
    char *bearer;         /* or NULL */
    struct challenge challenge;
    bool is_greeted;
};

static bool is_connection(const void *item, const void *id)
{
    const struct connection *connection = item;
    return connection->port->id == *(const net_id *)id;
}

static struct connection *find(const struct connections *connections, net_id id)
{
    return map_find(&connections->open, id, is_connection, &id);
}

/* -- Answers ------------------------------------------------------------- */

/* Adopts the object. Sent by send_answers, together with what else is said to
 * this connection now. */
static void answer(struct connections *connections, struct value object)
{
    struct buf *lines = &connections->answers;
    buf_append_text(lines, lines->length > 0 ? "\n0 " : "0 ");
    json_write(lines, object, JSON_AS_GIVEN, 0);
    value_unref(object);
}

static void send_answers(struct connections *connections,
                         const struct connection *connection)
{
    if (connections->answers.length > 0) {
        connections->options.send(connections->options.ctx,
                                  connection->port->id,
                                  connections->answers.at,
                                  connections->answers.length);
        buf_release(&connections->answers);
        connections->answers = (struct buf){0};
    }
}

static struct value new_answer(const char *kind)
{
    struct value object = object_new_adopt(NULL, 0);
    object_put_text(&object, "kind", kind);
    return object;
}

static void put_error(struct value *object, enum err err, const char *text)
{
    object_put_text(object, "code", err_name(err));
    object_put_text(object, "class", err_class_name(err_class_of(err)));
    object_put_text(object, "message", text);
}

static void answer_error(struct connections *connections,
                         enum err err,
                         const char *text)
{
    struct value object = new_answer("error");
    put_error(&object, err, text);
    answer(connections, object);
}

static void renew_challenge(struct connections *connections,
                            struct connection *connection)
{
    const struct connections_options *options = &connections->options;
    unsigned char random[CHALLENGE_BYTES];
    if (key_random(random, sizeof random, NULL) == ERR_OK) {
        challenge_issue(&connection->challenge,
                        random,
                        options->now(options->ctx));
    } else {
        connection->challenge = (struct challenge){0}; /* no proof will do */
    }
}

/* -- Channel 0 ----------------------------------------------------------- */

static struct value limits_value(const struct server_limits *limits)
{
    struct value object = object_new_adopt(NULL, 0);
    object_put_number(&object, "messageBytes", limits->message_bytes);
    object_put_number(&object, "channels", limits->channels);
    object_put_number(&object, "watches", limits->watches);
    return object;
}

/* Capabilities that this version does not know are ignored; one that is not
 * true or false is refused. */
static bool has_valid_flags(struct value hello)
{
    const struct value flags = object_field(hello, "flags");
    if (value_is_absent(flags)) {
        return true;
    }
    if (!value_is_object(flags)) {
        return false;
    }
    struct object_iter iter = object_iter(flags);
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        if (!value_is_same(item, value_bool(true)) &&
            !value_is_same(item, value_bool(false))) {
            return false;
        }
    }
    return true;
}

static void greet(struct connections *connections,
                  struct connection *connection,
                  struct value hello)
{
    if (connection->is_greeted) {
        answer_error(connections,
                     ERR_PROTOCOL,
                     "'hello' was sent before; it opens a connection once");
        return;
    }
    if (object_number(hello, "version") != PROTOCOL_VERSION) {
        answer_error(connections,
                     ERR_PROTOCOL,
                     "this server speaks version 1 of the protocol");
        return;
    }
    if (!has_valid_flags(hello)) {
        answer_error(connections,
                     ERR_PROTOCOL,
                     "each flag of 'hello' must be true or false");
        return;
    }
    connection->is_greeted = true;
    renew_challenge(connections, connection);
    struct value welcome = new_answer("welcome");
    object_put_number(&welcome, "version", PROTOCOL_VERSION);
    object_put_text(&welcome, "audience", connections->options.audience);
    object_put_text(&welcome, "challenge", connection->challenge.text);
    object_put_number(&welcome, "expiresMs", CHALLENGE_MS);
    object_put_adopt(&welcome,
                     "limits",
                     limits_value(&connections->options.limits));
    answer(connections, welcome);
}

static void refuse_attach(struct connections *connections,
                          struct connection *connection,
                          uint64_t channel,
                          enum err err,
                          const char *text)
{
    struct value refused = new_answer("refused");
    object_put_number(&refused, "channel", channel);
    put_error(&refused, err, text);
    if (err == ERR_OVERLOADED) {
        object_put_number(&refused, "retryMs", DRAIN_RETRY_MS);
    }
    object_put_text(&refused, "challenge", connection->challenge.text);
    answer(connections, refused);
}

unsigned connections_worker_of(const struct connections *connections,
                               const char *space,
                               size_t length)
{
    struct value name = value_string_new(space, length);
    const uint64_t hash = value_hash(name);
    value_unref(name);
    return (unsigned)(hash % connections->options.workers);
}

/* NULL: the attach can be passed on. */
static const char *attach_error(const struct connections *connections,
                                const struct connection *connection,
                                uint64_t channel,
                                struct value space)
{
    if (channel == 0 || channel > connections->options.limits.channels) {
        return "the channel must be from 1 to the limit that 'welcome' names";
    }
    if (!value_is_string(space) || space_id_check(space, NULL) != ERR_OK) {
        return "'space' must be the name of a space";
    }
    /* The worker knows whether an earlier attach to its space was refused. */
    const struct text name = value_text(&space);
    if (channel < connection->workers.count &&
        connection->workers.at[channel] != NO_WORKER &&
        connection->workers.at[channel] !=
            connections_worker_of(connections, name.at, name.length)) {
        return "the channel is in use; detach it first";
    }
    return NULL;
}

static char *copy_text(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = mem_alloc(size);
    memcpy(copy, text, size);
    return copy;
}

static void pass_attach(struct connections *connections,
                        struct connection *connection,
                        uint32_t channel,
                        unsigned worker,
                        const char *text,
                        size_t length)
{
    struct item *item =
        item_new(ITEM_ATTACH, connection->port, channel, text, length);
    item->attach = mem_alloc_zero(sizeof *item->attach);
    item->attach->challenge = connection->challenge;
    if (connection->bearer != NULL) {
        item->attach->bearer = copy_text(connection->bearer);
    }
    (void)atomic_fetch_add(&connection->port->attaching, 1);
    renew_challenge(connections, connection); /* connection-2 */
    memcpy(item->attach->next,
           connection->challenge.text,
           sizeof item->attach->next);
    while (connection->workers.count <= channel) {
        vec_push(&connection->workers, NO_WORKER);
    }
    connection->workers.at[channel] = (uint8_t)worker;
    batch_add(&connections->batches[worker], item);
}

static void attach(struct connections *connections,
                   struct connection *connection,
                   struct value message,
                   const char *text,
                   size_t length)
{
    const uint64_t channel = object_number(message, "channel");
    const struct value space = object_field(message, "space");
    const char *error = attach_error(connections, connection, channel, space);
    if (error != NULL) {
        refuse_attach(connections, connection, channel, ERR_PROTOCOL, error);
        return;
    }
    if (connections->is_draining) {
        refuse_attach(connections,
                      connection,
                      channel,
                      ERR_OVERLOADED,
                      "the server is shutting down");
        return;
    }
    if (atomic_load(&connection->port->attaching) >=
        connections->options.limits.channels) {
        refuse_attach(connections,
                      connection,
                      channel,
                      ERR_OVERLOADED,
                      "too many attaches wait for their answers: wait, too");
        return;
    }
    const struct text name = value_text(&space);
    pass_attach(connections,
                connection,
                (uint32_t)channel,
                connections_worker_of(connections, name.at, name.length),
                text,
                length);
}

static void detach(struct connections *connections,
                   struct connection *connection,
                   struct value message)
{
    const uint64_t channel = object_number(message, "channel");
    if (channel == 0 || channel >= connection->workers.count ||
        connection->workers.at[channel] == NO_WORKER) {
        answer_error(connections,
                     ERR_PROTOCOL,
                     "'detach' names a channel that is not attached");
        return;
    }
    const uint8_t worker = connection->workers.at[channel];
    connection->workers.at[channel] = NO_WORKER; /* connection-3 */
    batch_add(
        &connections->batches[worker],
        item_new(ITEM_DETACH, connection->port, (uint32_t)channel, NULL, 0));
}

static void control(struct connections *connections,
                    struct connection *connection,
                    const char *text,
                    size_t length)
{
    static const struct json_limits limits = {
        .text_bytes = CONTROL_BYTES,
        .depth = 16,
        .keys = 64,
        .elements = 64,
    };
    struct value message;
    struct json_fault fault;
    if (json_read(text, length, &limits, &message, &fault) != ERR_OK) {
        answer_error(connections, ERR_PROTOCOL, fault.text);
        return;
    }
    const struct value kind = object_field(message, "kind");
    if (value_is_text(kind, "hello")) {
        greet(connections, connection, message);
    } else if (!connection->is_greeted) {
        answer_error(connections,
                     ERR_PROTOCOL,
                     "the first line must be 'hello'");
    } else if (value_is_text(kind, "attach")) {
        attach(connections, connection, message, text, length);
    } else if (value_is_text(kind, "detach")) {
        detach(connections, connection, message);
    } else {
        answer_error(connections,
                     ERR_PROTOCOL,
                     "'kind' on channel 0 must be hello, attach or detach");
    }
    value_unref(message);
}

/* -- Lines --------------------------------------------------------------- */

struct line {
    const char *at; /* the whole line */
    size_t length;
    uint64_t channel;
    size_t json; /* where its JSON begins; 0: it has no channel */
};

/* The line at the start of the text. */
static struct line read_line(const char *text, size_t length)
{
    const char *end = memchr(text, '\n', length);
    struct line line = {
        .at = text,
        .length = end != NULL ? (size_t)(end - text) : length,
    };
    size_t i = 0;
    while (i < line.length && i <= CHANNEL_DIGITS && text[i] >= '0' &&
           text[i] <= '9') {
        line.channel = line.channel * 10 + (uint64_t)(text[i] - '0');
        i++;
    }
    if (i > 0 && i <= CHANNEL_DIGITS && i < line.length && text[i] == ' ') {
        line.json = i + 1;
    }
    return line;
}

/* The worker of a channel; NO_WORKER: it is not attached. */
static unsigned worker_of(const struct connection *connection, uint64_t channel)
{
    return channel < connection->workers.count ? connection->workers.at[channel]
                                               : NO_WORKER;
}

static void pass_lines(struct connections *connections,
                       struct connection *connection,
                       unsigned worker,
                       const char *from,
                       const char *to)
{
    if (to > from) {
        const size_t length = (size_t)(to - from);
        struct item *item =
            item_new(ITEM_LINES, connection->port, 0, from, length);
        (void)atomic_fetch_add(&connection->port->queued, (uint32_t)length);
        batch_add(&connections->batches[worker], item);
    }
}

static void handle_line(struct connections *connections,
                        struct connection *connection,
                        const struct line *line)
{
    if (line->json == 0) {
        answer_error(connections,
                     ERR_PROTOCOL,
                     "a line is a channel number, a space and a JSON object");
    } else if (line->channel == 0) {
        control(connections,
                connection,
                line->at + line->json,
                line->length - line->json);
    } else {
        answer_error(connections,
                     ERR_PROTOCOL,
                     "a line of a channel that is not attached");
    }
}

/* Lines of one worker that follow each other are passed as one item. CLOSE:
 * the answers to one message are more than may wait for a reader
 * (connection-5). */
static enum net_taken handle_lines(struct connections *connections,
                                   struct connection *connection,
                                   const char *text,
                                   size_t length)
{
    const uint32_t most = connections->options.limits.queue_bytes;
    const char *end = text + length;
    const char *run = text;
    unsigned runs_to = NO_WORKER;
    for (const char *at = text;
         at < end && connections->answers.length <= most;) {
        const struct line line = read_line(at, (size_t)(end - at));
        const unsigned worker =
            line.json != 0 ? worker_of(connection, line.channel) : NO_WORKER;
        if (worker != runs_to) {
            if (runs_to != NO_WORKER) {
                pass_lines(connections, connection, runs_to, run, at);
            }
            run = at;
            runs_to = worker;
        }
        if (worker == NO_WORKER && line.length > 0) {
            handle_line(connections, connection, &line);
        }
        at += line.length + 1;
    }
    if (runs_to != NO_WORKER) {
        pass_lines(connections, connection, runs_to, run, end);
    }
    const bool is_flood = connections->answers.length > most;
    send_answers(connections, connection);
    return is_flood ? NET_CLOSE : NET_TAKEN;
}

/* connection-4. The worker may have caught up before it could see the mark. */
static bool must_wait(const struct connections *connections,
                      struct connection *connection)
{
    const uint32_t most = connections->options.limits.inbox_bytes;
    struct port *port = connection->port;
    if (atomic_load(&port->queued) <= most) {
        return false;
    }
    atomic_store(&port->is_paused, true);
    return atomic_load(&port->queued) > most / 2 ||
           !atomic_exchange(&port->is_paused, false);
}

enum net_taken connections_received(struct connections *connections,
                                    net_id id,
                                    const char *text,
                                    size_t length)
{
    struct connection *connection = find(connections, id);
    if (connection == NULL) {
        return NET_CLOSE;
    }
    if (must_wait(connections, connection)) {
        return NET_LATER;
    }
    return handle_lines(connections, connection, text, length);
}

/* -- Life ---------------------------------------------------------------- */

void connections_init(struct connections *connections,
                      const struct connections_options *options)
{
    CHECK(options->workers > 0 && options->workers <= WORKERS_MAX);
    *connections = (struct connections){.options = *options};
}

void connections_release(struct connections *connections)
{
    CHECK(connections->open.count == 0);
    map_release(&connections->open);
}

void connections_opened(struct connections *connections,
                        net_id id,
                        const struct net_peer *peer)
{
    struct connection *connection = mem_alloc_zero(sizeof *connection);
    connection->port = port_new(id);
    if (peer->bearer != NULL) {
        connection->bearer = copy_text(peer->bearer);
    }
    map_insert(&connections->open, id, connection);
}

static void tell_all(struct connections *connections,
                     enum item_kind kind,
                     struct port *port,
                     net_id id)
{
    for (unsigned i = 0; i < connections->options.workers; i++) {
        struct item *item = item_new(kind, port, 0, NULL, 0);
        item->id = id;
        batch_add(&connections->batches[i], item);
    }
}

/* Whether one of its channels was ever attached to this worker. */
static bool has_used(const struct connection *connection)
{
    return connection->workers.count > 0;
}

void connections_closed(struct connections *connections, net_id id)
{
    struct connection *connection =
        map_remove(&connections->open, id, is_connection, &id);
    if (connection == NULL) {
        tell_all(connections, ITEM_ENDED, NULL, id);
        return;
    }
    if (has_used(connection)) {
        tell_all(connections, ITEM_CLOSED, connection->port, id);
    }
    if (connection->bearer != NULL) {
        mem_free(connection->bearer, strlen(connection->bearer) + 1);
    }
    port_unref(connection->port);
    vec_release(&connection->workers);
    mem_free(connection, sizeof *connection);
}

/* A path that names no space is answered by the first worker. */
static unsigned worker_of_request(const struct connections *connections,
                                  const struct net_request *request)
{
    struct buf name = {0};
    unsigned worker = 0;
    if (routes_space(request, &name) == ROUTE_TO_SPACE) {
        worker =
            connections_worker_of(connections, buf_text(&name), name.length);
    }
    buf_release(&name);
    return worker;
}

void connections_requested(struct connections *connections,
                           struct net_request *request)
{
    const unsigned worker = worker_of_request(connections, request);
    struct item *item = item_new(ITEM_REQUEST, NULL, 0, NULL, 0);
    item->request = request;
    item->id = request->id;
    batch_add(&connections->batches[worker], item);
}

void connections_turned(struct connections *connections)
{
    const struct connections_options *options = &connections->options;
    for (unsigned i = 0; i < options->workers; i++) {
        if (connections->batches[i].first != NULL) {
            options->post(options->ctx, i, &connections->batches[i]);
        }
    }
}

void connections_drain(struct connections *connections)
{
    connections->is_draining = true;
    MAP_FOREACH (&connections->open, slot) {
        struct value closing = new_answer("closing");
        object_put_text(&closing, "reason", "drain");
        object_put_number(&closing, "retryMs", DRAIN_RETRY_MS);
        answer(connections, closing);
        send_answers(connections, slot->item);
    }
}
