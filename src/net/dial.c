/* Dialing: the client side of a WebSocket.
 *
 *   net-dial-1  After a successful net_dial, `connected` or `closed` is called
 *               for its id.
 *   net-dial-2  A name is looked up on the I/O thread, which waits for it. A
 *               net that dials serves no one else, in practice. */

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "net/net_internal.h"

enum {
    HOST_MAX = 255,
    URL_MAX = 2048,
    BEARER_MAX = 4096,
    PORT_PLAIN = 80,
    PORT_SECURE = 443,
};

void net_call_free(struct net_call *call)
{
    if (call != NULL) {
        net_text_free(call->host);
        net_text_free(call->path);
        net_text_free(call->bearer);
        mem_free(call, sizeof *call);
    }
}

/* -- The URL ------------------------------------------------------------- */

static bool read_port(const char *at, const char *end, uint16_t *out)
{
    unsigned port = 0;
    if (at == end || end - at > 5) {
        return false;
    }
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') {
            return false;
        }
        port = port * 10 + (unsigned)(*at - '0');
    }
    *out = (uint16_t)port;
    return port > 0 && port <= UINT16_MAX;
}

/* HOST[:PORT] or [V6][:PORT], up to `end`. */
static bool read_authority(const char *at,
                           const char *end,
                           struct net_call *call)
{
    const bool is_v6 = at < end && *at == '[';
    const char *host = is_v6 ? at + 1 : at;
    const char *host_end = host;
    for (; host_end < end && *host_end != (is_v6 ? ']' : ':'); host_end++) {
        if (strchr("@?#[]", *host_end) != NULL) {
            return false;
        }
    }
    const char *rest = is_v6 ? host_end + 1 : host_end;
    if (host == host_end || host_end - host > HOST_MAX || rest > end) {
        return false;
    }
    call->host = net_text_copy_length(host, (size_t)(host_end - host));
    return rest == end ||
           (*rest == ':' && read_port(rest + 1, end, &call->port));
}

static bool has_space(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text <= ' ' || *text == 0x7F) {
            return true;
        }
    }
    return false;
}

static bool is_token(const char *text)
{
    return strlen(text) <= BEARER_MAX && !has_space(text);
}

static bool read_url(const struct net *net,
                     const char *url,
                     struct net_call *call)
{
    const char *at;
    if (strlen(url) > URL_MAX || has_space(url)) {
        return false;
    }
    if (strncmp(url, "ws://", 5) == 0) {
        at = url + 5;
        call->port = PORT_PLAIN;
    } else if (strncmp(url, "wss://", 6) == 0) {
        at = url + 6;
        call->port = PORT_SECURE;
        call->is_secure = true;
    } else {
        return false;
    }
    const char *slash = strchr(at, '/');
    const char *end = slash != NULL ? slash : at + strlen(at);
    const bool has_path = slash != NULL && slash[1] != '\0';
    call->path = net_text_copy(has_path ? slash : net->options.socket_path);
    return read_authority(at, end, call);
}

enum err net_dial(struct net *net,
                  const char *url,
                  const char *bearer,
                  net_id *out,
                  struct err_detail *detail)
{
    struct net_call *call = mem_alloc_zero(sizeof *call);
    if (!read_url(net, url, call) || (bearer != NULL && !is_token(bearer))) {
        net_call_free(call);
        return err_set(detail,
                       ERR_ARGUMENT,
                       "cannot dial '%.100s': write ws://HOST:PORT or "
                       "wss://HOST:PORT",
                       url);
    }
    call->bearer = net_text_copy(bearer);
    *out = atomic_fetch_add(&net->next_id, 1);
    net_commands_push(net,
                      &(struct net_command){.kind = NET_COMMAND_DIAL,
                                            .id = *out,
                                            .call = call},
                      1);
    return ERR_OK;
}

/* -- On the I/O thread --------------------------------------------------- */

static struct lws_vhost *dialing_vhost(struct net *net, bool is_secure)
{
    struct lws_vhost **vhost = &net->dialing[is_secure ? 1 : 0];
    if (*vhost == NULL) {
        struct lws_context_creation_info info;
        net_vhost_info(net, &info);
        info.vhost_name = is_secure ? "dial secure" : "dial";
        info.port = CONTEXT_PORT_NO_LISTEN;
        if (is_secure) {
            info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
            info.client_ssl_ca_filepath = net->options.authority;
            if (net->options.authority != NULL) {
                info.options |= LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS;
            }
        }
        *vhost = lws_create_vhost(net->context, &info);
    }
    return *vhost;
}

static void start(struct net_connection *connection)
{
    struct net *net = connection->net;
    const struct net_call *call = connection->call;
    const bool is_v6 = strchr(call->host, ':') != NULL;
    char host[HOST_MAX + 16];
    (void)snprintf(host,
                   sizeof host,
                   is_v6 ? "[%s]:%u" : "%s:%u",
                   call->host,
                   call->port);
    struct lws_client_connect_info info = {
        .context = net->context,
        .address = call->host,
        .port = call->port,
        .ssl_connection = call->is_secure ? LCCSCF_USE_SSL : 0,
        .path = call->path,
        .host = host,
        .protocol = net->protocols[0].name,
        .vhost = dialing_vhost(net, call->is_secure),
        .pwsi = &connection->wsi,
        .alpn = "http/1.1",
        .opaque_user_data = connection,
        .retry_and_idle_policy = &net_idle_policy,
    };
    const net_id id = connection->id;
    if (info.vhost != NULL && lws_client_connect_via_info(&info) != NULL) {
        return;
    }
    /* If libwebsockets has seen the socket, it has freed the record. */
    connection = net_connection_find(net, id);
    if (connection != NULL) {
        connection->wsi = NULL;
        net_connection_blame(connection, "the server cannot be reached");
        net_connection_free(connection);
    }
}

void net_dial_begin(struct net *net, net_id id, struct net_call *call)
{
    struct net_connection *connection = net_connection_new(net, NULL);
    connection->state = NET_STATE_DIALING;
    connection->is_dialed = true;
    connection->is_open = true;
    connection->is_compressed = net->options.compress;
    connection->call = call;
    net_connection_name(connection, id);
    net_connection_set_deadline(connection, net->options.handshake_ms);
    start(connection);
}

int net_dial_headers(struct net_connection *connection,
                     unsigned char **at,
                     size_t length)
{
    if (connection->call == NULL || connection->call->bearer == NULL) {
        return 0;
    }
    struct buf value = {0};
    buf_printf(&value, "Bearer %s", connection->call->bearer);
    const int failed =
        lws_add_http_header_by_token(connection->wsi,
                                     WSI_TOKEN_HTTP_AUTHORIZATION,
                                     (const unsigned char *)value.at,
                                     (int)value.length,
                                     at,
                                     *at + length);
    buf_release(&value);
    return failed;
}
