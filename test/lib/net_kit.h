/* Nets for tests: events are recorded with a lock, and a test waits for what it
 * expects with a generous deadline; it never sleeps. Raw sockets stand in for
 * peers that break the rules. */

#ifndef TEST_LIB_NET_KIT_H
#define TEST_LIB_NET_KIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/vec.h"
#include "net/net.h"

enum net_kit_event_kind {
    NET_KIT_CONNECTED,
    NET_KIT_RECEIVED,
    NET_KIT_CLOSED,
    NET_KIT_REQUESTED,
};

struct net_kit_event {
    enum net_kit_event_kind kind;
    net_id id;
    char *text; /* a message, a reason, or the bearer of a connection */
    size_t length;
    bool is_secure;
    struct net_request *request;
};

/* A net and what happened on it. */
struct net_kit {
    struct net_events events;
    struct log log;
    struct net_options options;
    struct net *net;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    VEC(struct net_kit_event) happened;
    struct net_kit_event last;
    size_t taken;      /* how many of them the test has seen */
    bool echoes;       /* every message goes back, and is not recorded */
    bool refuses;      /* connections */
    unsigned later;    /* so many messages are answered with NET_LATER */
    unsigned deferred; /* so many were */
    unsigned log_lines;
    unsigned turns;
};

/* Fills options and events; the test changes what it likes, and opens. */
void net_kit_init(struct net_kit *kit, const char *address);
bool net_kit_open(struct net_kit *kit);
void net_kit_close(struct net_kit *kit); /* and releases */

/* The next event, which must be of this kind; NULL, and a failure of the test,
 * if it is not or does not come. Borrowed until the next call. */
struct net_kit_event *net_kit_next(struct net_kit *kit,
                                   enum net_kit_event_kind kind);

/* Waits until `later` messages were deferred. */
bool net_kit_await_deferred(struct net_kit *kit, unsigned count);

/* A client that is connected to the server. Both have seen it; the ids are of
 * the two sides. */
bool net_kit_connect(struct net_kit *client,
                     struct net_kit *server,
                     net_id *client_id,
                     net_id *server_id);

void net_kit_send(struct net_kit *kit, net_id id, const char *text);

/* -- Raw sockets --------------------------------------------------------- */

int net_raw_connect(const struct net_kit *server);

/* False: no one listens. */
bool net_raw_can_connect(const struct net_kit *server);
bool net_raw_write(int socket, const void *at, size_t length);
bool net_raw_print(int socket, const char *text);

/* Reads until the content holds `part` (NULL: until the end of the stream).
 * False: the deadline passed, or the stream ended before. */
bool net_raw_read(int socket, struct buf *into, const char *part);

/* Upgrades to a WebSocket. */
bool net_raw_upgrade(int socket);

/* Appends a masked frame of a client; a payload of NULL is 'x's. */
void net_raw_put_frame(struct buf *to,
                       unsigned char first_byte,
                       const char *payload,
                       size_t length);

/* And sends it. */
bool net_raw_frame(int socket,
                   unsigned char first_byte,
                   const char *payload,
                   size_t length);

#endif
