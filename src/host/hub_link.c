/* The transport between a session and a hub in one process. */

#include "host/hub_link.h"

#include "replica/session.h"

/* -- Queues -------------------------------------------------------------- */

static void queue_put(struct hub_link_queue *queue,
                      const struct message *message)
{
    vec_push(&queue->at, message_write(message));
}

static bool queue_is_empty(const struct hub_link_queue *queue)
{
    return queue->taken == queue->at.count;
}

/* The next message; false if it is invalid, because it exceeds a limit. */
static bool queue_take(struct hub_link_queue *queue,
                       struct path_table *paths,
                       struct message *out)
{
    struct value next = queue->at.at[queue->taken];
    queue->taken++;
    if (queue_is_empty(queue)) {
        vec_clear(&queue->at);
        queue->taken = 0;
    }
    const enum err err = message_read(next, paths, out, NULL);
    value_unref(next);
    return err == ERR_OK;
}

static void queue_clear(struct hub_link_queue *queue)
{
    for (size_t i = queue->taken; i < queue->at.count; i++) {
        value_unref(queue->at.at[i]);
    }
    vec_clear(&queue->at);
    queue->taken = 0;
}

/* -- From the hub -------------------------------------------------------- */

static void on_send(void *ctx, struct message *message)
{
    struct hub_link *link = ctx;
    if (link->mode == HUB_LINK_HELD) {
        queue_put(&link->to_session, message);
    } else {
        session_receive(link->session, message);
    }
}

static void on_broken(void *ctx)
{
    hub_link_break(ctx);
}

/* -- From the session ---------------------------------------------------- */

static struct hub_link *link_of(struct transport *transport)
{
    return CONTAINER_OF(transport, struct hub_link, transport);
}

static void drop_connection(struct hub_link *link)
{
    if (link->peer != NULL) {
        hub_detach(link->peer);
        link->peer = NULL;
    }
    link->connecting = false;
    queue_clear(&link->to_hub);
    queue_clear(&link->to_session);
}

static void link_connect(struct transport *transport, struct session *session)
{
    struct hub_link *link = link_of(transport);
    drop_connection(link);
    link->session = session;
    link->peer =
        hub_attach(link->hub, link->principal, on_send, on_broken, link);
    if (link->mode == HUB_LINK_HELD) {
        link->connecting = true;
    } else {
        session_connected(session);
    }
}

static void link_send(struct transport *transport,
                      const struct message *message)
{
    struct hub_link *link = link_of(transport);
    if (link->peer == NULL) {
        return; /* lost, which is no error */
    }
    if (link->mode == HUB_LINK_HELD) {
        queue_put(&link->to_hub, message);
    } else {
        struct message borrowed = *message; /* owns no commits */
        hub_receive(link->peer, &borrowed);
    }
}

static void link_disconnect(struct transport *transport)
{
    drop_connection(link_of(transport));
}

static const struct transport_methods methods = {
    .connect = link_connect,
    .send = link_send,
    .disconnect = link_disconnect,
};

/* -- Pumping ------------------------------------------------------------- */

static bool waits(const struct hub_link *link)
{
    return link->connecting || !queue_is_empty(&link->to_hub) ||
           !queue_is_empty(&link->to_session);
}

void hub_link_pump_to_hub(struct hub_link *link)
{
    for (size_t n = link->to_hub.at.count - link->to_hub.taken;
         n > 0 && !queue_is_empty(&link->to_hub);
         n--) {
        struct message message;
        if (queue_take(&link->to_hub, &link->paths, &message)) {
            hub_receive(link->peer, &message);
        } else {
            hub_link_break(link);
        }
        message_release(&message);
    }
}

void hub_link_pump_to_session(struct hub_link *link)
{
    if (link->connecting) {
        link->connecting = false;
        session_connected(link->session);
    }
    for (size_t n = link->to_session.at.count - link->to_session.taken;
         n > 0 && !queue_is_empty(&link->to_session);
         n--) {
        struct message message;
        if (queue_take(&link->to_session, &link->paths, &message)) {
            session_receive(link->session, &message);
        } else {
            session_receive_garbage(link->session);
        }
        message_release(&message);
    }
}

void hub_link_pump(struct hub_link *link)
{
    while (waits(link)) {
        hub_link_pump_to_session(link);
        hub_link_pump_to_hub(link);
    }
}

/* -- Life ---------------------------------------------------------------- */

void hub_link_init(struct hub_link *link,
                   struct hub *hub,
                   enum hub_link_mode mode,
                   struct value principal)
{
    *link = (struct hub_link){
        .transport = {.methods = &methods},
        .hub = hub,
        .mode = mode,
        .principal = value_ref(principal),
    };
    path_table_init(&link->paths);
}

void hub_link_release(struct hub_link *link)
{
    drop_connection(link);
    vec_release(&link->to_hub.at);
    vec_release(&link->to_session.at);
    value_unref(link->principal);
    path_table_release(&link->paths);
}

void hub_link_break(struct hub_link *link)
{
    if (link->peer != NULL) {
        drop_connection(link);
        session_disconnected(link->session);
    }
}
