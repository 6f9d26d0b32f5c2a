/* WebSocket connections, of both sides.
 *
 *   net-websocket-1  A message is offered whole, in one call, and not before
 *                    the one before it was taken.
 *   net-websocket-2  An uncompressed server frames its messages itself: many
 *                    small ones leave in one system call, and a large one in
 *                    parts that pass through the buffer of the net. What the
 *                    kernel does not take of a part stays in libwebsockets, and
 *                    nothing is written until it is gone.
 *   net-websocket-3  Masked and compressed messages are framed by
 *                    libwebsockets. A compressed one is given to it whole, and
 *                    the next one in a later turn, because it may have to drain
 *                    the compressor in between. */

#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/net_internal.h"

enum {
    FRAME_TEXT = 0x01,
    FRAME_CONTINUATION = 0x00,
    FRAME_FINAL = 0x80,
    FRAME_HEADER_MAX = 4, /* of a frame that fits into a part */
    PAYLOAD_MAX = NET_PART_SIZE - FRAME_HEADER_MAX,
    CLOSE_UNSUPPORTED = 1003,
    CLOSE_POLICY = 1008,
    CLOSE_TOO_LARGE = 1009,
};

/* -- Opening ------------------------------------------------------------- */

int net_socket_opened(struct net_connection *connection)
{
    struct net *net = connection->net;
    char address[NET_ADDRESS_SIZE];
    net_peer_address(connection->wsi, address);
    char *bearer =
        connection->is_dialed ? NULL : net_header_bearer(connection->wsi);
    connection->is_secure = lws_is_ssl(connection->wsi) != 0;
    const struct net_peer peer = {
        .address = address,
        .bearer = bearer,
        .is_loopback = net_address_is_loopback(address),
        .is_secure = connection->is_secure,
        .dialed = connection->is_dialed,
    };
    if (connection->id == 0) {
        net_connection_name(connection, 0);
    }
    net_call_free(connection->call);
    connection->call = NULL;
    connection->state = NET_STATE_SOCKET;
    connection->deadline = 0;
    connection->seen = net_tick();
    connection->is_open =
        net->options.events->connected(net->options.ctx, connection->id, &peer);
    net_text_free(bearer);
    if (!connection->is_open) {
        net_connection_forget(connection);
        return -1;
    }
    net_counter_add(&net->counters.connections, 1);
    return 0;
}

/* -- Receiving ----------------------------------------------------------- */

/* For the callback: close with this code. */
static int close_with(struct net_connection *connection,
                      unsigned code,
                      const char *reason)
{
    net_connection_blame(connection, "%s", reason);
    unsigned char text[NET_REASON_SIZE];
    size_t length = strlen(reason);
    /* A control frame has at most 125 bytes, two of them for the code. */
    length = length < 123 ? length : 123;
    memcpy(text, reason, length);
    lws_close_reason(connection->wsi,
                     (enum lws_close_status)code,
                     text,
                     length);
    connection->state = NET_STATE_CLOSING;
    net_connection_drop_queue(connection);
    net_connection_set_deadline(connection, NET_END_MS);
    return -1;
}

static enum net_taken offer(struct net_connection *connection,
                            const char *at,
                            size_t length)
{
    struct net *net = connection->net;
    const enum net_taken taken = net->options.events->received(net->options.ctx,
                                                               connection->id,
                                                               at,
                                                               length);
    if (taken == NET_TAKEN) {
        net_counter_add(&net->counters.received_messages, 1);
        net_counter_add(&net->counters.received_bytes, length);
    }
    return taken;
}

/* A whole message. */
static int deliver(struct net_connection *connection,
                   const char *at,
                   size_t length)
{
    const enum net_taken taken =
        connection->held.count > 0 ? NET_LATER : offer(connection, at, length);
    if (taken == NET_CLOSE) {
        return close_with(connection, CLOSE_POLICY, "refused by the receiver");
    }
    if (taken == NET_LATER) {
        vec_push(&connection->held, net_bytes_new(at, length));
        lws_rx_flow_control(connection->wsi, 0);
    }
    return 0;
}

int net_socket_received(struct net_connection *connection,
                        const char *at,
                        size_t length)
{
    connection->seen = net_tick();
    connection->is_pinged = false;
    if (connection->is_ending || connection->state != NET_STATE_SOCKET) {
        return 0;
    }
    if (lws_frame_is_binary(connection->wsi)) {
        return close_with(connection,
                          CLOSE_UNSUPPORTED,
                          "binary messages are not supported");
    }
    const size_t limit = connection->net->options.message_bytes;
    if (length + connection->input.length > limit) {
        buf_release(&connection->input);
        return close_with(connection,
                          CLOSE_TOO_LARGE,
                          "the message is larger than the server accepts");
    }
    const bool is_whole = lws_is_final_fragment(connection->wsi) != 0;
    if (is_whole && connection->input.length == 0) {
        return deliver(connection, at, length);
    }
    buf_append(&connection->input, at, length);
    if (!is_whole) {
        return 0;
    }
    const int result =
        deliver(connection, connection->input.at, connection->input.length);
    buf_release(&connection->input);
    return result;
}

void net_socket_resume(struct net_connection *connection)
{
    size_t done = 0;
    enum net_taken taken = NET_TAKEN;
    while (done < connection->held.count) {
        struct net_bytes *bytes = connection->held.at[done];
        taken = offer(connection, net_bytes_at(bytes), net_bytes_length(bytes));
        if (taken != NET_TAKEN) {
            break;
        }
        net_bytes_unref(bytes);
        done++;
    }
    const size_t left = connection->held.count - done;
    memmove(connection->held.at,
            connection->held.at + done,
            left * sizeof(struct net_bytes *));
    connection->held.count = (uint32_t)left;
    if (taken == NET_CLOSE) {
        net_connection_blame(connection, "refused by the receiver");
        connection->is_ending = true;
        connection->end_code = CLOSE_POLICY;
        lws_callback_on_writable(connection->wsi);
    } else if (left == 0) {
        vec_release(&connection->held);
        lws_rx_flow_control(connection->wsi, 1);
    }
}

void net_socket_peer_ends(struct net_connection *connection,
                          const unsigned char *at,
                          size_t length)
{
    if (length < 2) {
        net_connection_blame(connection, "closed by the peer");
        return;
    }
    net_connection_blame(connection,
                         "closed by the peer: %u %.*s",
                         (unsigned)at[0] << 8 | at[1],
                         (int)(length - 2),
                         (const char *)at + 2);
}

/* -- Sending ------------------------------------------------------------- */

static void count_sent(struct net_connection *connection,
                       size_t bytes,
                       bool is_final)
{
    struct net *net = connection->net;
    net_counter_add(&net->counters.sent_bytes, bytes);
    net_counter_add(&net->counters.sent_messages, is_final ? 1 : 0);
}

/* The next frame of the first message, into `room` bytes; 0: there is too
 * little room, and a part of its own would hold more. */
static size_t put_frame(struct net_connection *connection,
                        unsigned char *to,
                        size_t room)
{
    const size_t left = net_connection_front_left(connection);
    size_t payload = left < PAYLOAD_MAX ? left : PAYLOAD_MAX;
    if (room < payload + FRAME_HEADER_MAX) {
        return 0;
    }
    const bool is_first = connection->front_sent == 0;
    const bool is_final = payload == left;
    unsigned char *at = to;
    *at++ = (unsigned char)((is_first ? FRAME_TEXT : FRAME_CONTINUATION) |
                            (is_final ? FRAME_FINAL : 0));
    if (payload < 126) {
        *at++ = (unsigned char)payload;
    } else {
        *at++ = 126;
        *at++ = (unsigned char)(payload >> 8);
        *at++ = (unsigned char)payload;
    }
    net_connection_take(connection, at, payload);
    count_sent(connection, payload, is_final);
    return (size_t)(at - to) + payload;
}

/* net-websocket-2 */
static int write_framed(struct net_connection *connection)
{
    unsigned char *part = connection->net->part + LWS_PRE;
    while (connection->queue_count > 0 &&
           !lws_partial_buffered(connection->wsi)) {
        size_t used = 0;
        while (connection->queue_count > 0) {
            const size_t more =
                put_frame(connection, part + used, NET_PART_SIZE - used);
            if (more == 0) {
                break;
            }
            used += more;
        }
        if (lws_write(connection->wsi, part, used, LWS_WRITE_RAW) < 0) {
            return -1;
        }
    }
    return 0;
}

static int write_masked(struct net_connection *connection)
{
    unsigned char *part = connection->net->part + LWS_PRE;
    while (connection->queue_count > 0 &&
           !lws_partial_buffered(connection->wsi)) {
        const size_t left = net_connection_front_left(connection);
        const size_t payload = left < PAYLOAD_MAX ? left : PAYLOAD_MAX;
        const bool is_final = payload == left;
        int kind = connection->front_sent == 0 ? LWS_WRITE_TEXT
                                               : LWS_WRITE_CONTINUATION;
        kind |= is_final ? 0 : LWS_WRITE_NO_FIN;
        net_connection_take(connection, part, payload);
        count_sent(connection, payload, is_final);
        if (lws_write(connection->wsi,
                      part,
                      payload,
                      (enum lws_write_protocol)kind) < 0) {
            return -1;
        }
    }
    return 0;
}

void net_socket_free_copy(struct net_connection *connection)
{
    mem_free(connection->copy, LWS_PRE + connection->copy_length);
    connection->copy = NULL;
    connection->copy_length = 0;
}

/* net-websocket-3. Only in the callback, which comes when the compressor has
 * read the last copy. */
static int write_compressed(struct net_connection *connection)
{
    net_socket_free_copy(connection);
    if (connection->queue_count == 0 || lws_partial_buffered(connection->wsi)) {
        return 0;
    }
    const size_t length = net_connection_front_left(connection);
    connection->copy_length = length;
    connection->copy = mem_alloc(LWS_PRE + length);
    net_connection_take(connection, connection->copy + LWS_PRE, length);
    count_sent(connection, length, true);
    lws_callback_on_writable(connection->wsi);
    return lws_write(connection->wsi,
                     connection->copy + LWS_PRE,
                     length,
                     LWS_WRITE_TEXT) < 0
               ? -1
               : 0;
}

static int write_queue(struct net_connection *connection)
{
    if (connection->is_compressed) {
        return write_compressed(connection);
    }
    return connection->is_dialed ? write_masked(connection)
                                 : write_framed(connection);
}

static int write_ping(struct net_connection *connection)
{
    /* libwebsockets does not report a pong without a payload. */
    unsigned char payload[LWS_PRE + 1] = {0};
    connection->ping_due = false;
    const int written =
        lws_write(connection->wsi, payload + LWS_PRE, 1, LWS_WRITE_PING);
    return written < 0 ? -1 : 0;
}

int net_socket_write(struct net_connection *connection)
{
    if (connection->state != NET_STATE_SOCKET) {
        return 0;
    }
    if (connection->ping_due && write_ping(connection) != 0) {
        return -1;
    }
    if (write_queue(connection) != 0) {
        return -1;
    }
    if (connection->queue_count > 0) {
        lws_callback_on_writable(connection->wsi);
    } else if (connection->is_ending && connection->copy == NULL) {
        return close_with(connection,
                          connection->end_code,
                          connection->reason != NULL ? connection->reason : "");
    }
    return 0;
}
