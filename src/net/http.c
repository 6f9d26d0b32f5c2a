/* HTTP/1.1: requests with their bodies, responses, and streams.
 *
 *   net-http-1  An exchange lives from the end of a request's headers to the
 *               end of its answer, and has an id of its own from the moment at
 *               which the request is handed over.
 *   net-http-2  Nothing is read from a connection between the two, so that a
 *               pipelined request waits in the kernel. */

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/net_internal.h"

enum {
    CHUNK_FRAME_MAX = 16, /* the length in hex, and two line ends */
    ERROR_SIZE = 400,
};

/* -- Records ------------------------------------------------------------- */

void net_request_free(struct net_request *request)
{
    if (request == NULL) {
        return;
    }
    net_text_free(request->path);
    net_text_free(request->query);
    net_text_free(request->bearer);
    net_text_free(request->if_match);
    net_text_free(request->if_none_match);
    net_text_free(request->idempotency_key);
    net_text_free(request->prefer);
    net_text_free(request->last_event_id);
    net_text_free(request->content_type);
    net_text_free(request->accept);
    net_text_free(request->address);
    mem_free(request->body, request->body_length + 1);
    mem_free(request, sizeof *request);
}

void net_exchange_free(struct net_exchange *exchange)
{
    if (exchange != NULL) {
        net_request_free(exchange->request);
        buf_release(&exchange->body);
        net_text_free(exchange->origin);
        mem_free(exchange, sizeof *exchange);
    }
}

void net_answer_free(struct net_answer *answer)
{
    if (answer != NULL) {
        buf_release(&answer->header);
        net_bytes_unref(answer->body);
        mem_free(answer, sizeof *answer);
    }
}

/* -- Requests ------------------------------------------------------------ */

static const char *method_name(int method)
{
    switch (method) {
    case LWSHUMETH_GET:
        return "GET";
    case LWSHUMETH_POST:
        return "POST";
    case LWSHUMETH_OPTIONS:
        return "OPTIONS";
    case LWSHUMETH_PUT:
        return "PUT";
    case LWSHUMETH_PATCH:
        return "PATCH";
    case LWSHUMETH_DELETE:
        return "DELETE";
    case LWSHUMETH_HEAD:
        return "HEAD";
    default:
        return "OTHER";
    }
}

static struct net_request *read_request(struct lws *wsi,
                                        const char *path,
                                        size_t length)
{
    struct net_request *request = mem_alloc_zero(sizeof *request);
    char *uri = NULL;
    int uri_length = 0;
    const int method = lws_http_get_uri_and_method(wsi, &uri, &uri_length);
    (void)snprintf(request->method,
                   sizeof request->method,
                   "%s",
                   method_name(method));
    char address[NET_ADDRESS_SIZE];
    net_peer_address(wsi, address);
    request->path = net_header_path(path, length);
    request->query = net_header_query(wsi);
    request->bearer = net_header_bearer(wsi);
    request->if_match = net_header_copy(wsi, WSI_TOKEN_HTTP_IF_MATCH);
    request->if_none_match = net_header_copy(wsi, WSI_TOKEN_HTTP_IF_NONE_MATCH);
    request->idempotency_key = net_header_custom_copy(wsi, "idempotency-key:");
    request->prefer = net_header_custom_copy(wsi, "prefer:");
    request->last_event_id = net_header_custom_copy(wsi, "last-event-id:");
    request->content_type = net_header_copy(wsi, WSI_TOKEN_HTTP_CONTENT_TYPE);
    request->accept = net_header_copy(wsi, WSI_TOKEN_HTTP_ACCEPT);
    request->address = net_text_copy(address);
    request->is_loopback = net_address_is_loopback(address);
    return request;
}

/* Whether the peer wants the connection to stay. */
static bool keeps_alive(struct lws *wsi)
{
    char *version = net_header_copy(wsi, WSI_TOKEN_HTTP);
    char *connection = net_header_copy(wsi, WSI_TOKEN_CONNECTION);
    const bool is_1_1 = version != NULL && strstr(version, "1.1") != NULL;
    const bool closes =
        connection != NULL && strcasestr(connection, "close") != NULL;
    net_text_free(version);
    net_text_free(connection);
    return is_1_1 && !closes;
}

/* The length of the body. False: it is not a number, or over the limit. */
static bool read_length(struct lws *wsi, size_t limit, size_t *out)
{
    char *text = net_header_copy(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH);
    size_t length = 0;
    bool is_valid = true;
    for (const char *at = text; at != NULL && *at != '\0' && is_valid; at++) {
        is_valid = *at >= '0' && *at <= '9' && length <= limit;
        length = length * 10 + (size_t)(*at - '0');
    }
    net_text_free(text);
    *out = length;
    return is_valid && length <= limit;
}

/* An answer of the net itself. */
static int answer_at_once(struct net_connection *connection,
                          const struct net_response *with)
{
    struct net_answer *answer = net_answer_new(with);
    connection->state = NET_STATE_REQUESTED;
    net_http_respond(connection, answer);
    net_answer_free(answer);
    return net_http_write(connection);
}

/* The body of an error; the message can stand in JSON. */
static void write_error(char text[ERROR_SIZE],
                        const char *code,
                        const char *message)
{
    (void)snprintf(text,
                   ERROR_SIZE,
                   "{\"code\":\"%s\",\"class\":\"terminal\","
                   "\"message\":\"%s\"}\n",
                   code,
                   message);
}

static int refuse(struct net_connection *connection,
                  unsigned status,
                  const char *code,
                  const char *message)
{
    char text[ERROR_SIZE];
    write_error(text, code, message);
    return answer_at_once(connection,
                          &(struct net_response){
                              .status = status,
                              .content_type = "application/json",
                              .headers = {{"cache-control:", "no-store"}},
                              .body = net_bytes_new(text, strlen(text)),
                          });
}

/* net-http-2 */
static int hand_over(struct net_connection *connection)
{
    struct net *net = connection->net;
    struct net_exchange *exchange = connection->exchange;
    struct net_request *request = exchange->request;
    connection->deadline = 0;
    lws_set_timeout(connection->wsi, NO_PENDING_TIMEOUT, 0);
    if (net->options.events->requested == NULL) {
        return refuse(connection, 404, "NOT_FOUND", "no such route");
    }
    net_connection_name(connection, 0);
    connection->state = NET_STATE_REQUESTED;
    lws_rx_flow_control(connection->wsi, 0);
    request->id = connection->id;
    request->body_length = exchange->body.length;
    request->body = mem_alloc(request->body_length + 1);
    memcpy(request->body, buf_text(&exchange->body), request->body_length + 1);
    buf_release(&exchange->body);
    exchange->request = NULL;
    net_counter_add(&net->counters.received_messages, 1);
    net_counter_add(&net->counters.received_bytes, request->body_length);
    net->options.events->requested(net->options.ctx, request);
    return 0;
}

static int send_continue(struct lws *wsi)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
    unsigned char line[LWS_PRE + sizeof text];
    memcpy(line + LWS_PRE, text, sizeof text);
    return lws_write(wsi, line + LWS_PRE, strlen(text), LWS_WRITE_HTTP) < 0 ? -1
                                                                            : 0;
}

int net_http_requested(struct net_connection *connection,
                       const char *path,
                       size_t length)
{
    struct lws *wsi = connection->wsi;
    if (connection->exchange != NULL) {
        return -1;
    }
    struct net_exchange *exchange = mem_alloc_zero(sizeof *exchange);
    connection->exchange = exchange;
    exchange->request = read_request(wsi, path, length);
    exchange->is_head = strcmp(exchange->request->method, "HEAD") == 0;
    const bool is_1_1 = keeps_alive(wsi);
    exchange->is_chunked = is_1_1;
    char why[NET_ORIGIN_SIZE];
    if (!net_origin_admit(connection->net, wsi, &exchange->origin, why)) {
        return refuse(connection, 403, "ACCESS", why);
    }
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0) {
        return refuse(connection,
                      411,
                      "ARGUMENT",
                      "send the body with a Content-Length");
    }
    if (!read_length(wsi,
                     connection->net->options.request_bytes,
                     &exchange->body_expected)) {
        return refuse(connection,
                      413,
                      "LIMIT_SIZE",
                      "the body of the request is too large");
    }
    exchange->keeps_alive = is_1_1;
    /* When a body comes out of input that libwebsockets has kept, bytes behind
     * it make libwebsockets free the connection twice. It is ended before the
     * body is handled; a client that waits for each answer never gets here. */
    if (exchange->body_expected > 0 && connection->is_pipelined) {
        return -1;
    }
    if (exchange->body_expected == 0 &&
        strcmp(exchange->request->method, "OPTIONS") == 0 &&
        net_origin_is_preflight(wsi)) {
        const struct net_response preflight = net_origin_preflight();
        return answer_at_once(connection, &preflight);
    }
    if (exchange->body_expected == 0) {
        return hand_over(connection);
    }
    connection->state = NET_STATE_BODY;
    char *expect = net_header_copy(wsi, WSI_TOKEN_HTTP_EXPECT);
    const int result = expect != NULL ? send_continue(wsi) : 0;
    net_text_free(expect);
    return result;
}

int net_http_body(struct net_connection *connection,
                  const char *at,
                  size_t length)
{
    struct net_exchange *exchange = connection->exchange;
    if (connection->state != NET_STATE_BODY || exchange == NULL) {
        return 0;
    }
    if (exchange->body.length + length > exchange->body_expected) {
        return -1;
    }
    buf_append(&exchange->body, at, length);
    return 0;
}

int net_http_body_complete(struct net_connection *connection)
{
    struct net_exchange *exchange = connection->exchange;
    if (exchange == NULL) {
        return 0;
    }
    /* libwebsockets says it again, and without end, when bytes follow a body
     * that it has kept: they are not a request that could wait. */
    if (exchange->is_complete) {
        return -1;
    }
    exchange->is_complete = true;
    if (connection->state != NET_STATE_BODY) {
        return 0;
    }
    return hand_over(connection);
}

/* Answers a handshake instead of accepting it; the connection ends. */
static int refuse_upgrade(struct lws *wsi,
                          const char *status,
                          const char *code,
                          const char *message)
{
    char body[ERROR_SIZE];
    unsigned char text[LWS_PRE + 2 * ERROR_SIZE];
    write_error(body, code, message);
    const int length = snprintf((char *)text + LWS_PRE,
                                sizeof text - LWS_PRE,
                                "HTTP/1.1 %s\r\n"
                                "content-type: application/json\r\n"
                                "content-length: %zu\r\n"
                                "connection: close\r\n\r\n%s",
                                status,
                                strlen(body),
                                body);
    (void)lws_write(wsi, text + LWS_PRE, (size_t)length, LWS_WRITE_HTTP_FINAL);
    return -1;
}

int net_http_confirm_upgrade(struct net *net, struct lws *wsi)
{
    char *uri = NULL;
    int length = 0;
    const int method = lws_http_get_uri_and_method(wsi, &uri, &length);
    const char *path = net->options.socket_path;
    char why[NET_ORIGIN_SIZE];
    char *allowed = NULL;
    if (method != LWSHUMETH_GET || (size_t)length != strlen(path) ||
        memcmp(uri, path, strlen(path)) != 0) {
        return refuse_upgrade(wsi,
                              "404 Not Found",
                              "NOT_FOUND",
                              "there is no WebSocket at this path");
    }
    const bool is_admitted = net_origin_admit(net, wsi, &allowed, why);
    net_text_free(allowed);
    return is_admitted ? 0
                       : refuse_upgrade(wsi, "403 Forbidden", "ACCESS", why);
}

/* -- Responses ----------------------------------------------------------- */

static const char *status_phrase(unsigned status)
{
    static const struct {
        unsigned status;
        const char *phrase;
    } phrases[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Content"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {507, "Insufficient Storage"},
    };
    for (size_t i = 0; i < COUNT_OF(phrases); i++) {
        if (phrases[i].status == status) {
            return phrases[i].phrase;
        }
    }
    return "Status";
}

/* A control character in a value could begin a header of its own. */
static void append_value(struct buf *to, const char *value)
{
    for (; *value != '\0'; value++) {
        const unsigned char c = (unsigned char)*value;
        buf_append_char(to, c < 0x20 || c == 0x7F ? ' ' : (char)c);
    }
    buf_append_text(to, "\r\n");
}

struct net_answer *net_answer_new(const struct net_response *response)
{
    struct net_answer *answer = mem_alloc(sizeof *answer);
    struct buf *header = &answer->header;
    *answer = (struct net_answer){.body = response->body,
                                  .status = response->status,
                                  .is_stream = response->is_stream};
    buf_printf(header,
               "HTTP/1.1 %u %s\r\n",
               response->status,
               status_phrase(response->status));
    if (response->content_type != NULL) {
        buf_append_text(header, "content-type: ");
        append_value(header, response->content_type);
    }
    for (size_t i = 0; i < NET_HEADERS_MAX && response->headers[i].name != NULL;
         i++) {
        buf_append_text(header, response->headers[i].name);
        buf_append_char(header, ' ');
        append_value(header,
                     response->headers[i].value != NULL
                         ? response->headers[i].value
                         : "");
    }
    return answer;
}

/* What only the connection knows. */
static void finish_header(const struct net *net,
                          const struct net_exchange *exchange,
                          struct net_answer *answer)
{
    struct buf *header = &answer->header;
    const bool has_no_body = answer->status == 204 || answer->status == 304;
    if (!answer->is_stream && !has_no_body) {
        buf_printf(header,
                   "content-length: %zu\r\n",
                   answer->body != NULL ? net_bytes_length(answer->body) : 0);
    } else if (answer->is_stream && exchange->is_chunked) {
        buf_append_text(header, "transfer-encoding: chunked\r\n");
    }
    net_origin_headers(net, exchange->origin, header);
    buf_append_text(header,
                    exchange->keeps_alive ? "connection: keep-alive\r\n\r\n"
                                          : "connection: close\r\n\r\n");
}

void net_http_respond(struct net_connection *connection,
                      struct net_answer *answer)
{
    struct net_exchange *exchange = connection->exchange;
    struct net_bytes *body = answer->body;
    const bool is_stream = answer->is_stream && !exchange->is_head;
    answer->body = NULL;
    answer->is_stream = is_stream;
    exchange->keeps_alive =
        exchange->keeps_alive && (!is_stream || exchange->is_chunked);
    exchange->is_chunked = exchange->is_chunked && is_stream;
    /* The length is that of the body, also where it is not sent. */
    answer->body = body;
    finish_header(connection->net, exchange, answer);
    answer->body = NULL;
    if (exchange->is_head || answer->status == 204 || answer->status == 304) {
        net_bytes_unref(body);
        body = NULL;
    }
    struct net_bytes *head =
        net_bytes_new(answer->header.at, answer->header.length);
    if (!is_stream) {
        connection->state = NET_STATE_ANSWERING;
        net_connection_queue(connection, head, body);
        return;
    }
    connection->state = NET_STATE_STREAM;
    connection->is_open = true;
    net_connection_queue(connection, head, NULL);
    exchange->header_pending = true;
    if (body != NULL) {
        net_connection_queue(connection, body, NULL);
    }
}

/* -- Writing ------------------------------------------------------------- */

/* The next part of the queue, with the frame of a chunk where that is due. */
static size_t put_part(struct net_connection *connection, unsigned char *to)
{
    struct net_exchange *exchange = connection->exchange;
    const size_t left = net_connection_front_left(connection);
    const size_t room = NET_PART_SIZE - CHUNK_FRAME_MAX;
    const size_t length = left < room ? left : room;
    const bool is_framed = exchange->is_chunked && !exchange->header_pending;
    exchange->header_pending = exchange->header_pending && length < left;
    if (!is_framed) {
        net_connection_take(connection, to, length);
        return length;
    }
    if (length == 0) {
        /* An empty chunk would end the stream. */
        net_connection_take(connection, to, 0);
        return 0;
    }
    size_t used =
        (size_t)snprintf((char *)to, CHUNK_FRAME_MAX, "%zx\r\n", length);
    net_connection_take(connection, to + used, length);
    used += length;
    to[used++] = '\r';
    to[used++] = '\n';
    return used;
}

static int write_part(struct net_connection *connection, size_t length)
{
    struct net *net = connection->net;
    if (length == 0) {
        return 0;
    }
    net_counter_add(&net->counters.sent_bytes, length);
    return lws_write(connection->wsi,
                     net->part + LWS_PRE,
                     length,
                     LWS_WRITE_HTTP) < 0
               ? -1
               : 0;
}

/* The answer is sent: the next request, or the end. */
static int finish(struct net_connection *connection)
{
    const bool keeps = connection->exchange->keeps_alive;
    net_unwatch(connection);
    net_counter_add(&connection->net->counters.sent_messages, 1);
    net_connection_blame(connection, "ended by this side");
    net_connection_closed(connection);
    net_connection_forget(connection);
    net_exchange_free(connection->exchange);
    net_text_free(connection->reason);
    connection->exchange = NULL;
    connection->reason = NULL;
    connection->state = NET_STATE_NEW;
    connection->is_ending = false;
    net_connection_set_deadline(connection, connection->net->options.ping_ms);
    lws_rx_flow_control(connection->wsi, 1);
    if (!keeps) {
        return -1;
    }
    /* 0: libwebsockets has input that it has kept, of this connection or, which
     * cannot be told apart, of another one. */
    connection->is_pipelined =
        lws_service_adjust_timeout(connection->net->context, 1000, 0) == 0;
    return lws_http_transaction_completed(connection->wsi) != 0 ? -1 : 0;
}

/* The last chunk; after it, the stream is an answer that was sent. */
static int end_stream(struct net_connection *connection)
{
    if (connection->exchange->is_chunked) {
        memcpy(connection->net->part + LWS_PRE, "0\r\n\r\n", 5);
        if (write_part(connection, 5) != 0) {
            return -1;
        }
    }
    connection->state = NET_STATE_ANSWERING;
    return 0;
}

int net_http_write(struct net_connection *connection)
{
    struct lws *wsi = connection->wsi;
    if (connection->state != NET_STATE_ANSWERING &&
        connection->state != NET_STATE_STREAM) {
        return 0;
    }
    while (connection->queue_count > 0 && !lws_partial_buffered(wsi)) {
        const size_t length =
            put_part(connection, connection->net->part + LWS_PRE);
        if (write_part(connection, length) != 0) {
            return -1;
        }
    }
    if (connection->queue_count == 0 && connection->is_ending &&
        connection->state == NET_STATE_STREAM && end_stream(connection) != 0) {
        return -1;
    }
    if (connection->queue_count > 0 || lws_partial_buffered(wsi)) {
        lws_rx_flow_control(wsi, 0);
        net_watch(connection, true);
        return 0;
    }
    if (connection->state == NET_STATE_ANSWERING) {
        return finish(connection);
    }
    net_watch(connection, false);
    return 0;
}

/* What libwebsockets has kept of the last part goes first; it writes only to
 * connections from which it reads. */
static bool flush_kept(struct net *net, net_id id, struct lws *wsi)
{
    struct lws_pollfd ready = {
        .fd = lws_get_socket_fd(wsi),
        .events = LWS_POLLOUT,
        .revents = LWS_POLLOUT,
    };
    lws_rx_flow_control(wsi, 1);
    if (lws_service_fd(net->context, &ready) < 0 ||
        net_connection_find(net, id) == NULL) {
        return false;
    }
    lws_rx_flow_control(wsi, 0);
    return true;
}

int net_http_flush(struct net_connection *connection)
{
    if (lws_partial_buffered(connection->wsi) &&
        !flush_kept(connection->net, connection->id, connection->wsi)) {
        return 0; /* it is gone, or answered */
    }
    return net_http_write(connection);
}
