/* A net: its options, its thread, and the callback of libwebsockets.
 *
 *   net-loop-1  A turn is: libwebsockets serves what is ready; `turned`; the
 *               commands of other threads; the output. Then it sleeps.
 *   net-loop-2  The I/O thread takes no signals. */

#include "net/net.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/net_internal.h"

enum {
    MIB = 1024 * 1024,
    HEADER_BYTES_MAX = 8 * 1024,
    READ_SIZE = 16 * 1024, /* of a body of HTTP */
    SWEEP_MS_MIN = 10,
    SWEEP_MS_MAX = 1000,
    CLOSE_MS = 500,     /* for goodbyes in net_close */
    LOG_LINES_MAX = 20, /* per second */
    CLOSE_GOING_AWAY = 1001,
};

#define SUBPROTOCOL "heddle.1"

/* The sweep pings: libwebsockets would keep a timer per connection, in a list
 * that it searches from its front. */
const lws_retry_bo_t net_idle_policy = {
    .secs_since_valid_ping = UINT16_MAX,
    .secs_since_valid_hangup = UINT16_MAX,
};

/* -- Texts and time ------------------------------------------------------ */

char *net_text_copy_length(const char *text, size_t length)
{
    char *copy = mem_alloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *net_text_copy(const char *text)
{
    return text != NULL ? net_text_copy_length(text, strlen(text)) : NULL;
}

void net_text_free(char *text)
{
    if (text != NULL) {
        mem_free(text, strlen(text) + 1);
    }
}

uint32_t net_tick(void)
{
    const uint32_t now = (uint32_t)(lws_now_usecs() / LWS_US_PER_MS);
    return now != 0 ? now : 1;
}

/* -- The log of libwebsockets -------------------------------------------- */

/* It has one for the process, and calls it on the thread that it runs on. */
static _Thread_local const struct log *thread_log;
static _Thread_local uint32_t log_second;
static _Thread_local unsigned log_lines;

/* Some lines are about what a peer sent, so their number is bounded. */
static void write_log(int level, const char *line)
{
    const uint32_t second = net_tick() / 1000;
    if (second != log_second) {
        log_second = second;
        log_lines = 0;
    }
    if (log_lines++ < LOG_LINES_MAX) {
        const size_t length = strcspn(line, "\n");
        log_write(thread_log,
                  level == LLL_ERR ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING,
                  "libwebsockets: %.*s",
                  (int)length,
                  line);
    }
}

/* -- The callback -------------------------------------------------------- */

static void accepted(struct lws *wsi)
{
    struct net *net = lws_context_user(lws_get_context(wsi));
    if (lws_get_opaque_user_data(wsi) != NULL) {
        return; /* a socket that was dialed */
    }
    struct net_connection *connection = net_connection_new(net, wsi);
    connection->address = net->admitted;
    net->admitted = NULL;
    lws_set_opaque_user_data(wsi, connection);
    net_connection_set_deadline(connection, net->options.handshake_ms);
}

static int confirm_extension(struct net_connection *connection)
{
    connection->is_compressed = connection->net->options.compress;
    return connection->is_compressed ? 0 : 1;
}

static int ended(struct net_connection *connection, const char *why)
{
    if (why != NULL) {
        net_connection_blame(connection, "%s", why);
    }
    net_connection_closed(connection);
    return 0;
}

static int connection_callback(struct net_connection *connection,
                               enum lws_callback_reasons reason,
                               void *in,
                               size_t length)
{
    switch ((int)reason) {
    case LWS_CALLBACK_ESTABLISHED:
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        return net_socket_opened(connection);
    case LWS_CALLBACK_RECEIVE:
    case LWS_CALLBACK_CLIENT_RECEIVE:
        return net_socket_received(connection, in, length);
    case LWS_CALLBACK_RECEIVE_PONG:
    case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
        connection->seen = net_tick();
        connection->is_pinged = false;
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        return net_socket_write(connection);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        net_socket_peer_ends(connection, in, length);
        return 0;
    case LWS_CALLBACK_CONFIRM_EXTENSION_OKAY:
        return confirm_extension(connection);
    case LWS_CALLBACK_HTTP:
        return net_http_requested(connection, in, length);
    case LWS_CALLBACK_HTTP_BODY:
        return net_http_body(connection, in, length);
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return net_http_body_complete(connection);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return net_http_write(connection);
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        return net_dial_headers(connection, in, length);
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        return ended(connection, in);
    case LWS_CALLBACK_CLOSED:
    case LWS_CALLBACK_CLIENT_CLOSED:
    case LWS_CALLBACK_CLOSED_HTTP:
        return ended(connection, NULL);
    case LWS_CALLBACK_WSI_DESTROY:
        lws_set_opaque_user_data(connection->wsi, NULL);
        net_connection_free(connection);
        return 0;
    default:
        return 0;
    }
}

int net_callback(struct lws *wsi,
                 enum lws_callback_reasons reason,
                 void *user,
                 void *in,
                 size_t length)
{
    struct net *net;
    switch ((int)reason) {
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
        accepted(wsi);
        return 0;
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        net = lws_context_user(lws_get_context(wsi));
        return net_http_confirm_upgrade(net, wsi);
    case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
        net = lws_context_user(lws_get_context(wsi));
        net->server_tls = user;
        return 0;
    default:
        break;
    }
    struct net_connection *connection =
        wsi != NULL ? lws_get_opaque_user_data(wsi) : NULL;
    if (connection == NULL) {
        return 0;
    }
    connection->wsi = wsi;
    return connection_callback(connection, reason, in, length);
}

/* -- The I/O thread ------------------------------------------------------ */

static _Thread_local const struct net *thread_net;

bool net_is_io_thread(const struct net *net)
{
    return thread_net == net;
}

void net_vhost_info(struct net *net, struct lws_context_creation_info *info)
{
    static const struct lws_extension extensions[] = {
        {"permessage-deflate",
         lws_extension_callback_pm_deflate,
         "permessage-deflate; server_no_context_takeover; "
         "client_no_context_takeover"},
        {NULL, NULL, NULL},
    };
    memset(info, 0, sizeof *info);
    info->port = CONTEXT_PORT_NO_LISTEN_SERVER;
    info->protocols = net->protocols;
    info->extensions = net->options.compress ? extensions : NULL;
    info->user = net;
    info->alpn = "http/1.1";
    info->retry_and_idle_policy = &net_idle_policy;
    info->max_http_header_data2 = HEADER_BYTES_MAX;
    info->pt_serv_buf_size = READ_SIZE;
    info->timeout_secs = net->options.handshake_ms / 1000 + 1;
    info->keepalive_timeout = (int)(net->options.ping_ms / 1000 + 1);
    info->gid = -1;
    info->uid = -1;
}

/* Makes the context and listens, on the I/O thread. */
static enum err begin(struct net *net, struct err_detail *detail)
{
    const struct net_options *options = &net->options;
    int listener = -1;
    if (options->certificate != NULL) {
        const enum err err = net_tls_check(options, detail);
        if (err != ERR_OK) {
            return err;
        }
    }
    if (options->address != NULL) {
        const enum err err = net_listen_open(net, &listener, detail);
        if (err != ERR_OK) {
            return err;
        }
    }
    struct lws_context_creation_info info;
    net_vhost_info(net, &info);
    info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                   LWS_SERVER_OPTION_SKIP_SERVER_CANONICAL_NAME |
                   LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    net->context = lws_create_context(&info);
    if (net->context == NULL) {
        if (listener >= 0) {
            (void)close(listener);
        }
        return err_set(detail, ERR_IO, "cannot start libwebsockets");
    }
    if (options->address == NULL) {
        return ERR_OK;
    }
    net_vhost_info(net, &info);
    info.vhost_name = "listen";
    if (options->certificate != NULL) {
        info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.ssl_cert_filepath = options->certificate;
        info.ssl_private_key_filepath = options->private_key;
        info.provided_client_ssl_ctx = net_tls_unused(net);
    }
    net->listening = lws_create_vhost(net->context, &info);
    if (net->listening == NULL || !net_watch_begin(net) ||
        !net_listen_begin(net, listener)) {
        return err_set(detail, ERR_IO, "cannot start libwebsockets");
    }
    return ERR_OK;
}

static void turn(struct net *net)
{
    (void)lws_service(net->context, 0);
    if (net->options.events->turned != NULL) {
        net->options.events->turned(net->options.ctx);
    }
    net_commands_run(net);
}

/* Says goodbye, and gives peers a moment to hear it. */
static void finish(struct net *net)
{
    net_commands_run(net);
    net_listen_end(net);
    const uint32_t start = net_tick();
    LIST_FOREACH (&net->connections, node) {
        struct net_connection *connection =
            CONTAINER_OF(node, struct net_connection, node);
        if (connection->state != NET_STATE_SOCKET) {
            net_connection_kill(connection);
        } else if (!connection->is_ending) {
            net_connection_blame(connection, "this side is shutting down");
            connection->is_ending = true;
            connection->end_code = CLOSE_GOING_AWAY;
            lws_callback_on_writable(connection->wsi);
        }
    }
    net->sweep_ms = SWEEP_MS_MIN;
    net_sweep_begin(net);
    while (!list_is_empty(&net->connections) && net_tick() - start < CLOSE_MS) {
        turn(net);
    }
}

static void *io_thread(void *of)
{
    struct net *net = of;
    thread_log = net->options.log;
    thread_net = net;
    struct err_detail detail = {0};
    const enum err err = begin(net, &detail);
    (void)pthread_mutex_lock(&net->lock);
    net->open_error = err;
    net->open_detail = detail;
    net->is_ready = true;
    (void)pthread_cond_broadcast(&net->changed);
    (void)pthread_mutex_unlock(&net->lock);
    if (err == ERR_OK) {
        net_sweep_begin(net);
        while (!atomic_load(&net->stop)) {
            turn(net);
        }
        finish(net);
        /* net_close has woken this thread, and needs the context no more. */
        (void)pthread_mutex_lock(&net->lock);
        (void)pthread_mutex_unlock(&net->lock);
    }
    if (net->context != NULL) {
        lws_sul_cancel(&net->sweep);
        lws_context_destroy(net->context);
        net_tls_release(net);
    }
    thread_log = NULL;
    return NULL;
}

/* -- Life ---------------------------------------------------------------- */

static uint32_t or_default(uint32_t value, uint32_t otherwise)
{
    return value != 0 ? value : otherwise;
}

static void copy_options(struct net *net, const struct net_options *from)
{
    struct net_options *to = &net->options;
    *to = *from;
    to->address = net_text_copy(from->address);
    to->socket_path = net_text_copy(
        from->socket_path != NULL ? from->socket_path : "/v1/socket");
    to->certificate = net_text_copy(from->certificate);
    to->private_key = net_text_copy(from->private_key);
    to->authority = net_text_copy(from->authority);
    to->origins = NULL; /* net->origins has them */
    net->origins = net_origins_new(from->origins, from->origin_count);
    to->message_bytes = or_default(from->message_bytes, 16 * MIB);
    to->request_bytes = or_default(from->request_bytes, 16 * MIB);
    to->queue_bytes = or_default(from->queue_bytes, 32 * MIB);
    to->connections_max = or_default(from->connections_max, 20000);
    to->handshake_ms = or_default(from->handshake_ms, 10000);
    to->ping_ms = or_default(from->ping_ms, 30000);
    const uint32_t shortest =
        to->handshake_ms < to->ping_ms ? to->handshake_ms : to->ping_ms;
    net->sweep_ms = shortest / 4 < SWEEP_MS_MIN   ? SWEEP_MS_MIN
                    : shortest / 4 > SWEEP_MS_MAX ? SWEEP_MS_MAX
                                                  : shortest / 4;
}

static void free_text(const char *text)
{
    if (text != NULL) {
        mem_free((void *)(uintptr_t)text, strlen(text) + 1);
    }
}

static void release(struct net *net)
{
    net_commands_drop(net);
    free_text(net->options.address);
    free_text(net->options.socket_path);
    free_text(net->options.certificate);
    free_text(net->options.private_key);
    free_text(net->options.authority);
    net_origins_free(net->origins);
    vec_release(&net->flushing);
    map_release(&net->by_id);
    map_release(&net->addresses);
    mem_free(net->part, LWS_PRE + NET_PART_SIZE);
    (void)pthread_mutex_destroy(&net->lock);
    (void)pthread_cond_destroy(&net->changed);
    mem_free(net, sizeof *net);
}

/* net-loop-2 */
static bool start_thread(struct net *net)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&net->thread, NULL, io_thread, net);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0;
}

enum err net_open(const struct net_options *options,
                  struct net **out,
                  struct err_detail *detail)
{
    lws_set_log_level(LLL_ERR | LLL_WARN, write_log);
    struct net *net = mem_alloc_zero(sizeof *net);
    copy_options(net, options);
    net->protocols[0] = (struct lws_protocols){
        .name = SUBPROTOCOL,
        .callback = net_callback,
        .rx_buffer_size = NET_RECEIVE_SIZE,
        /* Otherwise it sends at most as many bytes at a time as it reads. */
        .tx_packet_size = LWS_PRE + NET_PART_SIZE,
    };
    net->protocols[1] = (struct lws_protocols){
        .name = "listen",
        .callback = net_listen_callback,
    };
    net->protocols[2] = (struct lws_protocols){
        .name = "watch",
        .callback = net_watch_callback,
    };
    net->part = mem_alloc(LWS_PRE + NET_PART_SIZE);
    net->spare_fd = -1;
    net->watch_fd = -1;
    list_init(&net->connections);
    atomic_init(&net->next_id, 1);
    (void)pthread_mutex_init(&net->lock, NULL);
    (void)pthread_cond_init(&net->changed, NULL);
    *out = net; /* the first event may come before this function returns */
    if (!start_thread(net)) {
        *out = NULL;
        release(net);
        return err_set(detail, ERR_NO_MEMORY, "cannot start the I/O thread");
    }
    (void)pthread_mutex_lock(&net->lock);
    while (!net->is_ready) {
        (void)pthread_cond_wait(&net->changed, &net->lock);
    }
    (void)pthread_mutex_unlock(&net->lock);
    const enum err err = net->open_error;
    if (err != ERR_OK) {
        (void)pthread_join(net->thread, NULL);
        if (detail != NULL) {
            *detail = net->open_detail;
        }
        *out = NULL;
        release(net);
        return err;
    }
    return ERR_OK;
}

void net_close(struct net *net)
{
    if (net == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&net->lock);
    atomic_store(&net->stop, true);
    lws_cancel_service(net->context);
    (void)pthread_mutex_unlock(&net->lock);
    (void)pthread_join(net->thread, NULL);
    release(net);
}

uint16_t net_port(const struct net *net)
{
    return net->port;
}

void net_count(struct net *net, struct net_counters *out)
{
#define READ(name) \
    out->name = atomic_load_explicit(&net->counters.name, memory_order_relaxed)
    READ(connections);
    READ(accepted);
    READ(refused);
    READ(slow);
    READ(received_messages);
    READ(received_bytes);
    READ(sent_messages);
    READ(sent_bytes);
    READ(queued_bytes);
#undef READ
}
