/* Connections: the side of a server that runs on the I/O thread.
 *
 * It splits what arrives into lines, answers those of channel 0 that concern
 * the connection itself, and passes the others to the worker that owns the
 * space of their channel (docs/protocol.md). It interprets nothing else, and
 * opens no file.
 *
 *   connection-1  The first line is `hello`. A line before it, a second one, or
 *                 a line that is not understood gets an `error`; the connection
 *                 stays usable.
 *   connection-2  A challenge is valid for one `attach`, whatever the outcome.
 *                 Each answer to an attach brings the next one.
 *   connection-3  A channel number belongs to one worker from its `attach` to
 *                 its `detach`.
 *   connection-4  While a connection has more than limits.inbox_bytes waiting
 *                 for its workers, nothing is read from it (inbox-2).
 *   connection-5  What one message of a client makes this side allocate is
 *                 bounded: answers of limits.queue_bytes, after which the
 *                 connection is closed, and limits.channels attaches that wait
 *                 for their worker, after which they are refused. */

#ifndef SERVER_CONNECTION_H
#define SERVER_CONNECTION_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "server/inbox.h"
#include "server/limits.h"

enum {
    PROTOCOL_VERSION = 1,
    DRAIN_RETRY_MS = 1000, /* when a client should come back */
    WORKERS_MAX = 64,
};

struct connections_options {
    struct server_limits limits;
    const char *audience; /* what a proof of identity must name; borrowed */
    unsigned workers;

    /* Passes a batch to a worker, and leaves it empty. */
    void (*post)(void *ctx, unsigned worker, struct batch *batch);

    /* Sends a text message to a connection. */
    void (*send)(void *ctx, net_id id, const char *text, size_t length);

    mono_ms (*now)(void *ctx);
    void *ctx;
};

struct connections {
    struct connections_options options;
    struct map open; /* struct connection by net_id */
    struct batch batches[WORKERS_MAX];
    struct buf answers; /* to the connection whose message is handled */
    bool is_draining;
};

void connections_init(struct connections *connections,
                      const struct connections_options *options);

/* All connections have ended. */
void connections_release(struct connections *connections);

/* The worker that owns a space. */
unsigned connections_worker_of(const struct connections *connections,
                               const char *space,
                               size_t length);

/* -- From the I/O thread (struct net_events) ----------------------------- */

void connections_opened(struct connections *connections,
                        net_id id,
                        const struct net_peer *peer);
enum net_taken connections_received(struct connections *connections,
                                    net_id id,
                                    const char *text,
                                    size_t length);
void connections_closed(struct connections *connections, net_id id);

/* Takes the request over. */
void connections_requested(struct connections *connections,
                           struct net_request *request);

/* The end of a turn: what has arrived is passed to the workers. */
void connections_turned(struct connections *connections);

/* Tells each connection to go elsewhere, and refuses attaches from now on. */
void connections_drain(struct connections *connections);

#endif
