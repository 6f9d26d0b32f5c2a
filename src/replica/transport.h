/* How a replica reaches a store: an interface with one implementation per kind
 * of host (a call in one process, a socket, a test queue that loses and
 * reorders).
 *
 * A transport moves messages (proto/message.h) and does not interpret them. It
 * may do so at once, inside `send`, or later; it may lose the connection at any
 * time. It must not block.
 *
 * It reports by calling session_connected, session_receive and
 * session_disconnected (replica/session.h), also from inside `connect` and
 * `send`. The session handles order and repetition. */

#ifndef REPLICA_TRANSPORT_H
#define REPLICA_TRANSPORT_H

#include "proto/message.h"

struct session;
struct transport;

struct transport_methods {
    /* Begins to connect for `session`, which has no connection. */
    void (*connect)(struct transport *transport, struct session *session);

    /* `message` is borrowed for the call. On a lost connection the message is
     * lost, which is no error. */
    void (*send)(struct transport *transport, const struct message *message);

    /* Closes the connection, without a report. */
    void (*disconnect)(struct transport *transport);
};

struct transport {
    const struct transport_methods *methods;
};

#endif
