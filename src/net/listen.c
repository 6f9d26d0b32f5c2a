/* Listening: the socket, and whom it lets in.
 *
 *   net-listen-1  A connection over a limit is closed before libwebsockets
 *                 learns of it: it costs one accept.
 *   net-listen-2  When the process has no descriptor left, a spare one is given
 *                 up for a moment to refuse the connection. It would stay in
 *                 the queue otherwise, and the I/O thread would spin.
 *
 * The listening socket is ours and not that of libwebsockets, for its errors,
 * and because it can be closed while connections go on. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/net_internal.h"

enum {
    /* Per turn, so that open connections are served, too. */
    ACCEPTS_MAX = 64
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* -- Addresses ----------------------------------------------------------- */

/* An IPv4 address in IPv6 is written as the former. */
static void write_address(const union address *from, char to[NET_ADDRESS_SIZE])
{
    static const unsigned char mapped[12] =
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    const char *done = NULL;
    if (from->any.sa_family == AF_INET) {
        done = inet_ntop(AF_INET, &from->v4.sin_addr, to, NET_ADDRESS_SIZE);
    } else if (from->any.sa_family == AF_INET6) {
        const unsigned char *bytes = from->v6.sin6_addr.s6_addr;
        const bool is_v4 = memcmp(bytes, mapped, sizeof mapped) == 0;
        done = is_v4 ? inet_ntop(AF_INET, bytes + 12, to, NET_ADDRESS_SIZE)
                     : inet_ntop(AF_INET6, bytes, to, NET_ADDRESS_SIZE);
    }
    if (done == NULL) {
        (void)snprintf(to, NET_ADDRESS_SIZE, "unknown");
    }
}

void net_peer_address(struct lws *wsi, char address[NET_ADDRESS_SIZE])
{
    union address peer = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t size = sizeof peer;
    if (getpeername(lws_get_socket_fd(wsi), &peer.any, &size) != 0) {
        peer.any.sa_family = AF_UNSPEC;
    }
    write_address(&peer, address);
}

bool net_address_is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static uint64_t hash_address(const char *text)
{
    uint64_t hash = 14695981039346656037U;
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * 1099511628211U;
    }
    return hash;
}

static bool address_equal(const void *item, const void *key)
{
    return strcmp(((const struct net_address *)item)->text, key) == 0;
}

/* Counted, or NULL: over the limit. */
static struct net_address *count_address(struct net *net, const char *text)
{
    const uint64_t hash = hash_address(text);
    struct net_address *address =
        map_find(&net->addresses, hash, address_equal, text);
    if (address == NULL) {
        address = mem_alloc_zero(sizeof *address);
        (void)snprintf(address->text, sizeof address->text, "%s", text);
        map_insert(&net->addresses, hash, address);
    }
    if (address->count >= net->options.connections_per_address) {
        return NULL;
    }
    address->count++;
    return address;
}

void net_address_release(struct net *net, struct net_address *address)
{
    if (address == NULL || --address->count > 0) {
        return;
    }
    (void)map_remove(&net->addresses,
                     hash_address(address->text),
                     address_equal,
                     address->text);
    mem_free(address, sizeof *address);
}

/* -- Accepting ----------------------------------------------------------- */

static void refuse(struct net *net, int socket)
{
    net_counter_add(&net->counters.refused, 1);
    (void)close(socket);
}

/* net-listen-2 */
static void refuse_without_descriptor(struct net *net, int listener)
{
    if (net->spare_fd >= 0) {
        (void)close(net->spare_fd);
    }
    const int socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (socket >= 0) {
        refuse(net, socket);
    }
    net->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void admit(struct net *net, int socket, const union address *peer)
{
    struct net_address *address = NULL;
    if (net->connection_count >= net->options.connections_max) {
        refuse(net, socket);
        return;
    }
    if (net->options.connections_per_address > 0) {
        char text[NET_ADDRESS_SIZE];
        write_address(peer, text);
        address = count_address(net, text);
        if (address == NULL) {
            refuse(net, socket);
            return;
        }
    }
    const int type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP | LWS_ADOPT_ALLOW_SSL;
    const int on = 1;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    net->admitted = address;
    const lws_adopt_desc_t adoption = {
        .vh = net->listening,
        .type = (lws_adoption_type)type,
        .fd = {.sockfd = socket},
    };
    /* On failure it closes the socket. */
    if (lws_adopt_descriptor_vhost_via_info(&adoption) == NULL) {
        net_counter_add(&net->counters.refused, 1);
    }
    if (net->admitted != NULL) {
        net_address_release(net, net->admitted);
        net->admitted = NULL;
    }
}

static void accept_all(struct net *net, int listener)
{
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        union address peer = {.any = {.sa_family = AF_UNSPEC}};
        socklen_t size = sizeof peer;
        const int socket =
            accept4(listener, &peer.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket >= 0) {
            net_counter_add(&net->counters.accepted, 1);
            admit(net, socket, &peer);
        } else if (errno == EMFILE || errno == ENFILE) {
            refuse_without_descriptor(net, listener);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

int net_listen_callback(struct lws *wsi,
                        enum lws_callback_reasons reason,
                        void *user,
                        void *in,
                        size_t length)
{
    (void)user;
    (void)in;
    (void)length;
    if (reason == LWS_CALLBACK_RAW_RX_FILE) {
        struct net *net = lws_context_user(lws_get_context(wsi));
        accept_all(net, lws_get_socket_fd(wsi));
    }
    return 0;
}

/* -- The socket ---------------------------------------------------------- */

static bool read_address(const struct net_options *options,
                         union address *out,
                         socklen_t *size)
{
    const char *text = options->address;
    if (strcmp(text, "localhost") == 0) {
        text = "127.0.0.1";
    }
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons(options->port);
        *size = sizeof out->v4;
        return true;
    }
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = htons(options->port);
    *size = sizeof out->v6;
    return inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1;
}

enum err net_listen_open(struct net *net, int *out, struct err_detail *detail)
{
    const struct net_options *options = &net->options;
    union address address;
    socklen_t size;
    if (!read_address(options, &address, &size)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "cannot listen on '%s': it is not an IP address; write "
                       "for example 127.0.0.1, 0.0.0.0 or ::",
                       options->address);
    }
    const int on = 1;
    const int fd = socket(address.any.sa_family,
                          SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                          0);
    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, &address.any, size) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, &address.any, &size) != 0) {
        const int error = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return err_set(detail,
                       error == EADDRINUSE ? ERR_BUSY : ERR_IO,
                       "cannot listen on %s port %u: %s",
                       options->address,
                       options->port,
                       strerror(error));
    }
    net->port = ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port
                                                       : address.v6.sin6_port);
    *out = fd;
    return ERR_OK;
}

bool net_listen_begin(struct net *net, int socket)
{
    const lws_adopt_desc_t adoption = {
        .vh = net->listening,
        .type = LWS_ADOPT_RAW_FILE_DESC,
        .fd = {.filefd = socket},
        .vh_prot_name = "listen",
    };
    net->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    net->listener = lws_adopt_descriptor_vhost_via_info(&adoption);
    return net->listener != NULL;
}

void net_listen_end(struct net *net)
{
    if (net->listener != NULL) {
        lws_set_timeout(net->listener,
                        PENDING_TIMEOUT_USER_OK,
                        LWS_TO_KILL_SYNC);
        net->listener = NULL;
    }
    if (net->spare_fd >= 0) {
        (void)close(net->spare_fd);
        net->spare_fd = -1;
    }
}
