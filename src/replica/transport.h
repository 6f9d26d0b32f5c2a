/* How a replica reaches a store: an interface with one implementation a kind
 * of host (a call in one process, a socket, a queue in tests that loses and
 * reorders).
 *
 * A transport moves messages (proto/message.h) and knows nothing of what they
 * mean. It may do so at once, inside `send`, or later; it may lose the
 * connection at any time. What it must not do is block.
 *
 * It reports by calling session_connected, session_receive and
 * session_disconnected (replica/session.h), also from inside `connect` and
 * `send`. Order and repetition are the session's business, not its own. */

#ifndef REPLICA_TRANSPORT_H
#define REPLICA_TRANSPORT_H

#include "proto/message.h"

struct session;
struct transport;

struct transport_methods {
    /* Begins to connect for `session`, which has no connection. */
    void (*connect)(struct transport *transport, struct session *session);

    /* `message` is borrowed for the call. On a connection that is gone it is
     * lost, which is no error. */
    void (*send)(struct transport *transport, const struct message *message);

    /* Gives the connection up, without a report. */
    void (*disconnect)(struct transport *transport);
};

struct transport {
    const struct transport_methods *methods;
};

#endif
