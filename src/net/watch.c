/* Readiness of HTTP connections between a request and the end of its answer.
 *
 * libwebsockets neither reads nor writes a connection whose reading is stopped
 * (net-http-2), and would spin in poll if it was not. So these wait in an epoll
 * instance of ours, which libwebsockets polls as one descriptor.
 *
 *   net-watch-1  A connection is in it only while its answer does not fit into
 *                the socket, or while it is a stream.
 *   net-watch-2  It is named by its id, so an event of a connection that has
 *                ended in the meantime is dropped. */

#include <sys/epoll.h>
#include <unistd.h>

#include "net/net_internal.h"

enum {
    EVENTS_MAX = 64
};

bool net_watch_begin(struct net *net)
{
    net->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    if (net->watch_fd < 0) {
        return false;
    }
    const lws_adopt_desc_t adoption = {
        .vh = net->listening,
        .type = LWS_ADOPT_RAW_FILE_DESC,
        .fd = {.filefd = net->watch_fd},
        .vh_prot_name = "watch",
    };
    return lws_adopt_descriptor_vhost_via_info(&adoption) != NULL;
}

void net_watch(struct net_connection *connection, bool is_blocked)
{
    struct epoll_event event = {
        .events = EPOLLRDHUP | EPOLLONESHOT,
        .data = {.u64 = connection->id},
    };
    if (is_blocked) {
        event.events |= EPOLLOUT;
    }
    const int how = connection->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    connection->is_watched = true;
    if (epoll_ctl(connection->net->watch_fd,
                  how,
                  lws_get_socket_fd(connection->wsi),
                  &event) != 0) {
        net_connection_kill(connection);
    }
}

void net_unwatch(struct net_connection *connection)
{
    if (connection->is_watched) {
        connection->is_watched = false;
        (void)epoll_ctl(connection->net->watch_fd,
                        EPOLL_CTL_DEL,
                        lws_get_socket_fd(connection->wsi),
                        NULL);
    }
}

static void handle(struct net_connection *connection, uint32_t events)
{
    const bool has_left =
        (events & (EPOLLHUP | EPOLLERR)) != 0 ||
        ((events & EPOLLRDHUP) != 0 && connection->state == NET_STATE_STREAM);
    if (has_left) {
        net_connection_blame(connection, "closed by the peer");
        net_connection_kill(connection);
    } else {
        net_connection_flush(connection);
    }
}

int net_watch_callback(struct lws *wsi,
                       enum lws_callback_reasons reason,
                       void *user,
                       void *in,
                       size_t length)
{
    (void)user;
    (void)in;
    (void)length;
    if (reason != LWS_CALLBACK_RAW_RX_FILE) {
        return 0;
    }
    struct net *net = lws_context_user(lws_get_context(wsi));
    struct epoll_event events[EVENTS_MAX];
    const int count = epoll_wait(net->watch_fd, events, EVENTS_MAX, 0);
    for (int i = 0; i < count; i++) {
        struct net_connection *connection =
            net_connection_find(net, events[i].data.u64);
        if (connection != NULL) {
            handle(connection, events[i].events);
        }
    }
    return 0;
}
