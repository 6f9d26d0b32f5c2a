/* A link: the transport between a session and a hub in one process.
 *
 *   direct  everything happens inside `send`: the answers have arrived when it
 *           returns. Nothing is encoded; documents are shared by reference.
 *   held    messages wait, in both directions and in their wire form
 *           (proto/message.h, as values), until hub_link_pump: for tests, and
 *           for hosts that choose the moment.
 *
 * A link has one session and at most one connection at a time. It must not be
 * released from inside a call of its hub or its session. */

#ifndef HOST_HUB_LINK_H
#define HOST_HUB_LINK_H

#include "host/hub.h"
#include "replica/transport.h"

enum hub_link_mode {
    HUB_LINK_DIRECT,
    HUB_LINK_HELD,
};

struct hub_link_queue {
    VEC(struct value) at;
    size_t taken;
};

struct hub_link {
    struct transport transport;
    struct hub *hub;
    enum hub_link_mode mode;
    struct value principal;
    struct path_table paths;
    struct session *session; /* of the connection, or the attempt */
    struct hub_peer *peer;   /* NULL: no connection */
    bool connecting;         /* held: the session does not know it yet */
    struct hub_link_queue to_hub;
    struct hub_link_queue to_session;
};

/* `principal` is a string or absent. */
void hub_link_init(struct hub_link *link,
                   struct hub *hub,
                   enum hub_link_mode mode,
                   struct value principal);

/* Its session is released, or never uses it again. */
void hub_link_release(struct hub_link *link);

/* Held: delivers all waiting messages in both directions, including those that
 * are sent meanwhile. */
void hub_link_pump(struct hub_link *link);

/* The same for one direction, and only for messages that wait now. */
void hub_link_pump_to_hub(struct hub_link *link);
void hub_link_pump_to_session(struct hub_link *link);

/* Breaks the connection and drops all waiting messages. The session is told;
 * harmless without a connection. */
void hub_link_break(struct hub_link *link);

#endif
