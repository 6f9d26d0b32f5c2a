/* A wire: text messages to a server and back, as a remote (host/remote.h) uses
 * it. net/remote_wire.h implements it with a WebSocket; tests, with a queue.
 *
 *   wire-1  There is at most one connection. `take` returns events of the
 *           current one only: WIRE_CONNECTED first, WIRE_CLOSED last.
 *   wire-2  No method blocks, and nothing is called back. `fd` is readable when
 *           `take` may have something.
 *   wire-3  Messages arrive in order, or the connection closes. */

#ifndef HOST_WIRE_H
#define HOST_WIRE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

struct wire;

enum wire_event_kind {
    WIRE_CONNECTED,
    WIRE_TEXT,
    WIRE_CLOSED,
};

struct wire_event {
    enum wire_event_kind kind;
    struct buf text; /* the message; or of CLOSED why, for people. The receiver
                        releases it */
};

struct wire_methods {
    /* Begins a connection; an earlier one ends. ARGUMENT: the address is
     * invalid. */
    enum err (*dial)(struct wire *wire, struct err_detail *detail);

    /* One message. Lost if there is no connection. */
    void (*send)(struct wire *wire, const char *text, size_t length);

    void (*hang_up)(struct wire *wire);

    /* The next event; false: there is none. */
    bool (*take)(struct wire *wire, struct wire_event *event);

    void (*free)(struct wire *wire);
};

struct wire {
    const struct wire_methods *methods;
    int fd; /* wire-2; or -1 */
};

#endif
