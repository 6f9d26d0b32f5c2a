/* A transport with the faults of a network (lib/faulty_link.h). */

#include "lib/faulty_link.h"

#include "lib/test.h"
#include "replica/session.h"
#include "value/json.h"

enum {
    DELAY_MS = 5,
    LONG_DELAY_MS = 60,
};

static struct faulty_link *link_of(struct transport *transport)
{
    return CONTAINER_OF(transport, struct faulty_link, transport);
}

static bool happens(struct faulty_link *link, uint64_t one_in)
{
    return one_in > 0 && random_one_in(&link->random, one_in);
}

/* -- Events -------------------------------------------------------------- */

static struct faulty_event *add_event(struct faulty_link *link,
                                      enum faulty_event_kind kind,
                                      struct faulty_connection *connection,
                                      mono_ms delay)
{
    struct faulty_event *event = vec_add(&link->events);
    *event = (struct faulty_event){
        .at = link->now + delay,
        .order = link->order++,
        .kind = kind,
        .connection = connection,
    };
    return event;
}

/* Without faults, messages of one direction keep their order: each is at
 * least as late as the one before. */
static mono_ms delay_of(struct faulty_link *link,
                        enum faulty_event_kind kind,
                        const struct faulty_connection *connection)
{
    mono_ms delay = random_below(&link->random, DELAY_MS);
    if (happens(link, link->rates.delay)) {
        link->counters.delayed++;
        return delay + random_below(&link->random, LONG_DELAY_MS);
    }
    VEC_FOREACH (&link->events, event) {
        if (event->kind == kind && event->connection == connection &&
            event->at > link->now + delay) {
            delay = event->at - link->now;
        }
    }
    return delay;
}

static void damage(struct faulty_link *link, struct buf *text)
{
    link->counters.damaged++;
    const size_t at = random_below(&link->random, text->length);
    text->at[at] = '\x01'; /* in no text of JSON */
}

static void post(struct faulty_link *link,
                 enum faulty_event_kind kind,
                 struct faulty_connection *connection,
                 const struct message *message)
{
    if (happens(link, link->rates.end)) {
        faulty_link_end(link);
    }
    if (happens(link, link->rates.lose)) {
        link->counters.lost++;
        return;
    }
    unsigned copies = 1;
    if (happens(link, link->rates.repeat)) {
        link->counters.repeated++;
        copies = 2;
    }
    while (copies-- > 0) {
        const mono_ms delay = delay_of(link, kind, connection);
        struct buf *text = &add_event(link, kind, connection, delay)->text;
        message_append(text, message);
        if (happens(link, link->rates.damage)) {
            damage(link, text);
        }
    }
}

/* -- From the session ---------------------------------------------------- */

static struct faulty_connection *in_use(const struct faulty_link *link)
{
    VEC_FOREACH (&link->connections, connection) {
        if ((*connection)->up) {
            return *connection;
        }
    }
    return NULL;
}

static void on_connect(struct transport *transport, struct session *session)
{
    struct faulty_link *link = link_of(transport);
    CHECK(in_use(link) == NULL);
    link->session = session;
    struct faulty_connection *connection = mem_alloc(sizeof *connection);
    *connection = (struct faulty_connection){
        .link = link,
        .number = ++link->numbers,
        .up = true,
    };
    vec_push(&link->connections, connection);
    const bool refused =
        *link->hub == NULL || happens(link, link->rates.refuse);
    (void)add_event(link,
                    refused ? FAULTY_END_AT_SESSION : FAULTY_CONNECTED,
                    connection,
                    random_below(&link->random, DELAY_MS));
}

static void on_send(struct transport *transport, const struct message *message)
{
    struct faulty_link *link = link_of(transport);
    struct faulty_connection *connection = in_use(link);
    if (connection != NULL) {
        post(link, FAULTY_TO_HUB, connection, message);
    }
}

static void on_disconnect(struct transport *transport)
{
    struct faulty_link *link = link_of(transport);
    struct faulty_connection *connection = in_use(link);
    CHECK(connection != NULL);
    connection->up = false;
    (void)add_event(link,
                    FAULTY_END_AT_HUB,
                    connection,
                    random_below(&link->random, LONG_DELAY_MS));
}

static const struct transport_methods methods = {
    .connect = on_connect,
    .send = on_send,
    .disconnect = on_disconnect,
};

/* -- From the hub -------------------------------------------------------- */

static void hub_sends(void *ctx, struct message *message)
{
    struct faulty_connection *connection = ctx;
    post(connection->link, FAULTY_TO_SESSION, connection, message);
    message_release(message);
}

static void end_at_hub(struct faulty_connection *connection)
{
    if (connection->peer != NULL) {
        struct hub_peer *peer = connection->peer;
        connection->peer = NULL;
        hub_detach(peer);
    }
}

static void hub_breaks(void *ctx)
{
    struct faulty_connection *connection = ctx;
    end_at_hub(connection);
    (void)add_event(connection->link,
                    FAULTY_END_AT_SESSION,
                    connection,
                    random_below(&connection->link->random, DELAY_MS));
}

/* -- Delivering ---------------------------------------------------------- */

static void mix(struct faulty_link *link, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i++) {
        link->digest = (link->digest ^ at[i]) * UINT64_C(0x100000001b3);
    }
}

/* False if the text is no message. */
static bool decode(struct faulty_link *link,
                   const struct buf *text,
                   struct message *out)
{
    struct value value;
    if (json_read(text->at, text->length, NULL, &value, NULL) != ERR_OK) {
        return false;
    }
    struct err_detail detail = {0};
    const enum err err = message_read(value, &link->paths, out, &detail);
    value_unref(value);
    if (err != ERR_OK) { /* though message_write wrote it */
        (void)test_fail(__FILE__,
                        __LINE__,
                        "%s: %s",
                        detail.text,
                        buf_text(text));
    }
    return err == ERR_OK;
}

static void deliver_to_hub(struct faulty_connection *connection,
                           const struct buf *text)
{
    struct message message;
    if (connection->peer == NULL) {
        return;
    }
    if (decode(connection->link, text, &message)) {
        hub_receive(connection->peer, &message);
        message_release(&message);
    } else {
        hub_breaks(connection);
    }
}

static void deliver_to_session(struct faulty_connection *connection,
                               const struct buf *text)
{
    struct faulty_link *link = connection->link;
    struct message message;
    if (!connection->up) {
        return;
    }
    if (decode(link, text, &message)) {
        session_receive(link->session, &message);
        message_release(&message);
    } else {
        session_receive_garbage(link->session);
    }
}

static void deliver(struct faulty_link *link, struct faulty_event *event)
{
    struct faulty_connection *connection = event->connection;
    link->counters.delivered++;
    mix(link, &event->at, sizeof event->at);
    mix(link, &event->kind, sizeof event->kind);
    mix(link, &connection->number, sizeof connection->number);
    mix(link, event->text.at, event->text.length);
    switch (event->kind) {
    case FAULTY_CONNECTED:
        if (connection->up && *link->hub != NULL) {
            connection->peer = hub_attach(*link->hub,
                                          link->principal,
                                          hub_sends,
                                          hub_breaks,
                                          connection);
            session_connected(link->session);
        }
        return;
    case FAULTY_TO_HUB:
        deliver_to_hub(connection, &event->text);
        return;
    case FAULTY_TO_SESSION:
        deliver_to_session(connection, &event->text);
        return;
    case FAULTY_END_AT_HUB:
        end_at_hub(connection);
        return;
    case FAULTY_END_AT_SESSION:
        if (connection->up) {
            connection->up = false;
            session_disconnected(link->session);
        }
        return;
    }
    UNREACHABLE("all kinds are above");
}

static const struct faulty_event *next_event(const struct faulty_link *link)
{
    const struct faulty_event *next = NULL;
    VEC_FOREACH (&link->events, event) {
        if (next == NULL || event->at < next->at ||
            (event->at == next->at && event->order < next->order)) {
            next = event;
        }
    }
    return next;
}

bool faulty_link_step(struct faulty_link *link, mono_ms now)
{
    link->now = now;
    const struct faulty_event *next = next_event(link);
    if (next == NULL || next->at > now) {
        return false;
    }
    struct faulty_event event = *next;
    const size_t at = (size_t)(next - link->events.at);
    link->events.at[at] = *vec_last(&link->events);
    link->events.count--;
    deliver(link, &event);
    buf_release(&event.text);
    return true;
}

mono_ms faulty_link_next_wake(const struct faulty_link *link)
{
    const struct faulty_event *next = next_event(link);
    return next != NULL ? next->at : MONO_NEVER;
}

/* -- Ends ---------------------------------------------------------------- */

void faulty_link_end(struct faulty_link *link)
{
    struct faulty_connection *connection = in_use(link);
    if (connection != NULL) {
        link->counters.ended++;
        (void)add_event(link,
                        FAULTY_END_AT_SESSION,
                        connection,
                        random_below(&link->random, LONG_DELAY_MS));
        (void)add_event(link,
                        FAULTY_END_AT_HUB,
                        connection,
                        random_below(&link->random, LONG_DELAY_MS));
    }
}

void faulty_link_hub_down(struct faulty_link *link)
{
    VEC_FOREACH (&link->connections, connection) {
        end_at_hub(*connection);
    }
    faulty_link_end(link);
}

/* -- Life ---------------------------------------------------------------- */

void faulty_link_init(struct faulty_link *link,
                      struct hub **hub,
                      struct value principal,
                      uint64_t seed,
                      const struct faulty_rates *rates)
{
    *link = (struct faulty_link){
        .transport = {&methods},
        .hub = hub,
        .principal = value_ref(principal),
        .rates = *rates,
        .digest = UINT64_C(0xcbf29ce484222325),
    };
    random_init(&link->random, seed);
    path_table_init(&link->paths);
}

void faulty_link_release(struct faulty_link *link)
{
    VEC_FOREACH (&link->connections, connection) {
        end_at_hub(*connection);
        mem_free(*connection, sizeof **connection);
    }
    vec_release(&link->connections);
    VEC_FOREACH (&link->events, event) {
        buf_release(&event->text);
    }
    vec_release(&link->events);
    value_unref(link->principal);
    path_table_release(&link->paths);
}
