/* Connection records: their ids, their output queues, and their deadlines.
 *
 *   net-connection-1  `closed` is called once, and only if it is due (is_open).
 *   net-connection-2  queued_bytes is the length of the queued messages, and at
 *                     most options.queue_bytes (net-4).
 *   net-connection-3  An idle connection owns no buffer but that of
 *                     libwebsockets. One sweep over all connections replaces a
 *                     timer per connection. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/net_internal.h"

/* -- Life ---------------------------------------------------------------- */

struct net_connection *net_connection_new(struct net *net, struct lws *wsi)
{
    struct net_connection *connection = mem_alloc_zero(sizeof *connection);
    connection->net = net;
    connection->wsi = wsi;
    connection->seen = net_tick();
    list_node_init(&connection->node);
    list_push_back(&net->connections, &connection->node);
    net->connection_count++;
    return connection;
}

void net_connection_free(struct net_connection *connection)
{
    struct net *net = connection->net;
    net_connection_closed(connection);
    net_connection_forget(connection);
    net_connection_drop_queue(connection);
    net_socket_free_copy(connection);
    VEC_FOREACH (&connection->held, held) {
        net_bytes_unref(*held);
    }
    vec_release(&connection->held);
    buf_release(&connection->input);
    net_exchange_free(connection->exchange);
    net_call_free(connection->call);
    net_address_release(net, connection->address);
    net_text_free(connection->reason);
    list_remove(&connection->node);
    net->connection_count--;
    if (connection->is_flushing) {
        VEC_FOREACH (&net->flushing, flushing) {
            *flushing = *flushing == connection ? NULL : *flushing;
        }
    }
    mem_free(connection, sizeof *connection);
}

static bool has_id(const void *item, const void *key)
{
    return ((const struct net_connection *)item)->id == *(const net_id *)key;
}

struct net_connection *net_connection_find(const struct net *net, net_id id)
{
    return map_find(&net->by_id, id, has_id, &id);
}

void net_connection_name(struct net_connection *connection, net_id id)
{
    CHECK(connection->id == 0);
    connection->id =
        id != 0 ? id : atomic_fetch_add(&connection->net->next_id, 1);
    map_insert(&connection->net->by_id, connection->id, connection);
}

void net_connection_forget(struct net_connection *connection)
{
    if (connection->id != 0) {
        (void)map_remove(&connection->net->by_id,
                         connection->id,
                         has_id,
                         &connection->id);
        connection->id = 0;
    }
}

void net_connection_closed(struct net_connection *connection)
{
    if (!connection->is_open) {
        return;
    }
    struct net *net = connection->net;
    connection->is_open = false;
    if (connection->state == NET_STATE_SOCKET ||
        connection->state == NET_STATE_CLOSING) {
        net_counter_add(&net->counters.connections, UINT64_MAX);
    }
    const net_id id = connection->id;
    net_connection_forget(connection);
    net->options.events->closed(net->options.ctx,
                                id,
                                connection->reason != NULL
                                    ? connection->reason
                                    : "the connection was lost");
}

void net_connection_blame(struct net_connection *connection,
                          const char *format,
                          ...)
{
    if (connection->reason != NULL) {
        return;
    }
    char text[NET_REASON_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    connection->reason = net_text_copy(text);
}

void net_connection_kill(struct net_connection *connection)
{
    if (connection->wsi != NULL) {
        lws_set_timeout(connection->wsi,
                        PENDING_TIMEOUT_USER_OK,
                        LWS_TO_KILL_ASYNC);
    }
}

void net_connection_set_deadline(struct net_connection *connection, uint32_t ms)
{
    const uint32_t at = net_tick() + ms;
    connection->deadline = at != 0 ? at : 1;
}

/* -- Output -------------------------------------------------------------- */

static size_t message_length(const struct net_message *message)
{
    return net_bytes_length(message->head) +
           (message->body != NULL ? net_bytes_length(message->body) : 0);
}

static void grow_queue(struct net_connection *connection)
{
    const uint32_t old = connection->queue_capacity;
    const uint32_t capacity = old > 0 ? 2 * old : 4;
    struct net_message *queue =
        mem_alloc(mem_array_size(capacity, sizeof *queue));
    for (uint32_t i = 0; i < connection->queue_count; i++) {
        queue[i] = connection->queue[(connection->queue_first + i) & (old - 1)];
    }
    mem_free(connection->queue, old * sizeof *queue);
    connection->queue = queue;
    connection->queue_first = 0;
    connection->queue_capacity = capacity;
}

static void count_queued(struct net_connection *connection, size_t more)
{
    connection->queued_bytes += more;
    net_counter_add(&connection->net->counters.queued_bytes, more);
}

/* A reader that is too slow is told to come back, if it takes that much. */
static void end_slow(struct net_connection *connection)
{
    net_counter_add(&connection->net->counters.slow, 1);
    net_connection_blame(connection,
                         "the peer reads too slowly: over %u bytes queued",
                         connection->net->options.queue_bytes);
    net_connection_drop_queue(connection);
    connection->is_ending = true;
    connection->end_code = 1013;
    net_connection_set_deadline(connection, NET_END_MS);
    if (connection->state == NET_STATE_SOCKET) {
        lws_callback_on_writable(connection->wsi);
    } else {
        net_connection_kill(connection);
    }
}

void net_connection_queue(struct net_connection *connection,
                          struct net_bytes *head,
                          struct net_bytes *body)
{
    const struct net_message message = {.head = head, .body = body};
    const size_t length = message_length(&message);
    if (connection->is_ending) {
        net_bytes_unref(head);
        net_bytes_unref(body);
        return;
    }
    if (connection->queue_count > 0 &&
        connection->queued_bytes + length >
            connection->net->options.queue_bytes) {
        net_bytes_unref(head);
        net_bytes_unref(body);
        end_slow(connection);
        return;
    }
    if (connection->queue_count == connection->queue_capacity) {
        grow_queue(connection);
    }
    const uint32_t at = (connection->queue_first + connection->queue_count) &
                        (connection->queue_capacity - 1);
    connection->queue[at] = message;
    connection->queue_count++;
    count_queued(connection, length);
}

static void pop(struct net_connection *connection)
{
    struct net_message *message = &connection->queue[connection->queue_first];
    count_queued(connection, 0 - message_length(message));
    net_bytes_unref(message->head);
    net_bytes_unref(message->body);
    connection->front_sent = 0;
    connection->queue_first =
        (connection->queue_first + 1) & (connection->queue_capacity - 1);
    connection->queue_count--;
    if (connection->queue_count == 0) {
        mem_free(connection->queue,
                 connection->queue_capacity * sizeof *connection->queue);
        connection->queue = NULL;
        connection->queue_first = 0;
        connection->queue_capacity = 0;
    }
}

size_t net_connection_front_left(const struct net_connection *connection)
{
    return message_length(&connection->queue[connection->queue_first]) -
           connection->front_sent;
}

void net_connection_take(struct net_connection *connection,
                         unsigned char *to,
                         size_t length)
{
    const struct net_message *message =
        &connection->queue[connection->queue_first];
    const size_t head = net_bytes_length(message->head);
    size_t from = connection->front_sent;
    size_t left = length;
    if (from < head) {
        const size_t step = head - from < left ? head - from : left;
        memcpy(to, net_bytes_at(message->head) + from, step);
        to += step;
        from += step;
        left -= step;
    }
    if (left > 0) {
        memcpy(to, net_bytes_at(message->body) + (from - head), left);
    }
    connection->front_sent += length;
    if (net_connection_front_left(connection) == 0) {
        pop(connection);
    }
}

void net_connection_drop_queue(struct net_connection *connection)
{
    while (connection->queue_count > 0) {
        pop(connection);
    }
}

/* -- The sweep ----------------------------------------------------------- */

static void sweep_socket(struct net_connection *connection, uint32_t now)
{
    const uint32_t ping_ms = connection->net->options.ping_ms;
    const uint32_t silent = now - connection->seen;
    if (silent >= 2 * ping_ms && connection->is_pinged) {
        net_connection_blame(connection,
                             "the peer is silent for %u ms, also after a ping",
                             silent);
        net_connection_kill(connection);
    } else if (silent >= ping_ms && !connection->is_pinged) {
        connection->is_pinged = true;
        connection->ping_due = true;
        lws_callback_on_writable(connection->wsi);
    }
}

static const char *deadline_reason(const struct net_connection *connection)
{
    switch (connection->state) {
    case NET_STATE_NEW:
    case NET_STATE_BODY:
        return "the request was not complete in time";
    case NET_STATE_DIALING:
        return "the server did not answer in time";
    case NET_STATE_REQUESTED:
    case NET_STATE_ANSWERING:
    case NET_STATE_STREAM:
    case NET_STATE_SOCKET:
    case NET_STATE_CLOSING:
        break;
    }
    return "the peer did not close in time";
}

static void sweep_connection(struct net_connection *connection, uint32_t now)
{
    if (connection->wsi == NULL) {
        return;
    }
    if (connection->deadline != 0 &&
        (int32_t)(now - connection->deadline) >= 0) {
        connection->deadline = 0;
        net_connection_blame(connection, "%s", deadline_reason(connection));
        net_connection_kill(connection);
    } else if (connection->state == NET_STATE_SOCKET) {
        sweep_socket(connection, now);
    }
}

static void sweep(lws_sorted_usec_list_t *timer)
{
    struct net *net = CONTAINER_OF(timer, struct net, sweep);
    const uint32_t now = net_tick();
    LIST_FOREACH (&net->connections, node) {
        sweep_connection(CONTAINER_OF(node, struct net_connection, node), now);
    }
    net_sweep_begin(net);
}

void net_sweep_begin(struct net *net)
{
    lws_sul_schedule(net->context,
                     0,
                     &net->sweep,
                     sweep,
                     (lws_usec_t)net->sweep_ms * LWS_US_PER_MS);
}
