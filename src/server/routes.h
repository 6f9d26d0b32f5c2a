/* HTTP under /v1: requests, answers, and what is told later.
 *
 * The I/O thread receives a request (net/net.h) and hands it to the worker that
 * owns its space. There routes_handle answers it, with the engine and the hub
 * of the space, without any I/O of its own:
 *
 *   I/O thread    routes_space(request, &name)         which worker
 *   worker        routes_handle(&context, request, &answer)
 *                 if (!answer.is_later) respond
 *   worker        route_space_step(space, now, deliver, ctx)
 *                 after each group of commits, and at route_space_next_wake
 *   worker        route_space_closed(space, id)        the client has gone
 *
 *   routes-1  Every request gets exactly one answer: from routes_handle, or
 *             later from `deliver`. A stream then gets chunks and one end.
 *   routes-2  One table (routes_table) has all routes: their methods, patterns,
 *             rights, query parameters and answers. The OpenAPI description
 *             follows from it.
 *   routes-3  A request is checked in this order: path, method, right,
 *             parameters, body. A caller without the right learns nothing about
 *             the space.
 *   routes-4  A write is a commit of the caller's principal, sent to the hub
 *             like that of any session: the hub's judge sees it, it joins the
 *             group of the moment, and watchers are told.
 *   routes-5  Only documents of the space and of the caller's own user are
 *             reachable. No route takes the name of a user from the request.
 *   routes-6  Everything that a client can make large is bounded: names,
 *             parameters, pages, resolved links, waiting requests, streams.
 *
 * Names of documents, pieces and streams in a path are percent-encoded (RFC
 * 3986); an encoded '/' is part of the name. */

#ifndef SERVER_ROUTES_H
#define SERVER_ROUTES_H

#include "auth/capability.h"
#include "base/buf.h"
#include "base/host.h"
#include "host/hub.h"
#include "net/net.h"
#include "server/metrics.h"

/* -- Answers ------------------------------------------------------------- */

enum {
    ROUTE_HEADER_BYTES = 600, /* of a value; a Location has an id */
    ROUTE_HEADERS = 6,
};

struct route_header {
    const char *name; /* "etag:", as net.h has it; static */
    char value[ROUTE_HEADER_BYTES];
};

/* All zero is none. */
struct route_answer {
    unsigned http_status;
    const char *content_type; /* static; NULL: no body */
    struct route_header headers[ROUTE_HEADERS];
    size_t header_count;
    struct buf body;
    bool is_stream; /* the body goes on: chunks follow, then an end */
    bool is_later;  /* there is no answer yet (routes-1) */
};

void route_answer_release(struct route_answer *answer);

/* The answer for an error, with the status for its code and, if `retry_ms` is
 * not 0, Retry-After. Replaces what is in `answer`. For errors that occur
 * before routes_handle: a token that is not valid, a space that cannot be
 * opened, a limit. */
void route_answer_error(struct route_answer *answer,
                        const struct err_detail *why,
                        uint64_t retry_ms);

/* The status for a code. */
unsigned route_status(enum err err);

/* Sends a complete answer, or the begin of a stream, and releases it. */
void route_answer_respond(struct net *net,
                          net_id id,
                          struct route_answer *answer);

/* -- A space ------------------------------------------------------------- */

/* The requests of an open space that wait: for a verdict, for a receipt, or as
 * streams. Belongs to the thread of the space's engine. */
struct route_space;

struct route_space_options {
    struct engine *engine;
    struct hub *hub;
    const char *name;   /* copied */
    const char *folder; /* data directory, borrowed; NULL: in memory */
    uint64_t seed;      /* for names of sessions and events: unguessable, and
                           never used twice */
    struct metrics *metrics;      /* may be NULL */
    uint32_t requests_per_second; /* of one principal; 0: no limit */
};

struct route_space *route_space_new(const struct route_space_options *options);

/* Before hub_release. Requests that wait get no answer: end them first, with
 * route_space_end. */
void route_space_free(struct route_space *space);

enum route_delivery {
    ROUTE_ANSWER, /* the answer; if it is a stream, chunks follow */
    ROUTE_CHUNK,  /* body: more of a stream */
    ROUTE_END,    /* the end of a stream; the body is empty */
};

/* `answer` is released by the caller. Must not call routes. */
typedef void route_deliver_fn(void *ctx,
                              net_id id,
                              enum route_delivery what,
                              struct route_answer *answer);

/* Delivers what has been decided, sent to a stream, or is overdue. After each
 * hub_group_end and hub_flush, and when route_space_next_wake is reached. */
void route_space_step(struct route_space *space,
                      mono_ms now,
                      uint64_t wall_ms,
                      route_deliver_fn *deliver,
                      void *ctx);
mono_ms route_space_next_wake(const struct route_space *space);

/* The connection of a request that waits has ended: nothing more is delivered
 * for it. A write or an event that was sent stays sent. Harmless for others. */
void route_space_closed(struct route_space *space, net_id id);

/* Ends all that waits, with an error: the server stops, or closes the space. */
void route_space_end(struct route_space *space,
                     const struct err_detail *why,
                     uint64_t retry_ms,
                     route_deliver_fn *deliver,
                     void *ctx);

/* Ends streams and waiting events of callers that may no longer read: the
 * access document has changed. Nothing that was to be sent to them is. A write
 * that waits gets its verdict. */
void route_space_recheck(struct route_space *space,
                         bool (*may_read)(void *ctx,
                                          const struct credential *credential),
                         void *may_read_ctx,
                         route_deliver_fn *deliver,
                         void *ctx);

/* The credential behind a commit that a route has sent through this peer; NULL:
 * it is not of a route, or its request has ended. For the judge of the hub. */
const struct credential *route_credential(const struct hub_peer *peer,
                                          const struct commit *commit);

/* How many requests and streams wait: a space with any is not idle. */
size_t route_space_waiting(const struct route_space *space);

/* -- Requests ------------------------------------------------------------ */

/* What the routes of the server itself need. A function may be NULL. */
struct route_server {
    const char *folder; /* data directory; NULL: in memory */
    struct metrics *metrics;
    bool is_ready;   /* /readyz: it accepts requests and does not drain */
    uint64_t secret; /* unguessable: a page of the list of spaces says where the
                        next one begins without naming a space */

    /* What the network has counted, for /metrics. */
    void (*count)(void *ctx, struct net_counters *out);

    /* Whether the principal may read a space, for the list of spaces. NULL:
     * none. */
    bool (*may_read)(void *ctx, struct value principal, const char *space);
    void *ctx;
};

/* Who asks, and when. Borrowed for the call. */
struct route_context {
    const struct route_server *server;
    struct route_space *space; /* that routes_space named; NULL: none */
    struct value principal;    /* proven; absent: nobody has proven anything */
    const struct credential *credential; /* copied for what waits, which ends
                                            with it; NULL: none */
    bool may_read; /* the rights of the principal in the space; */
    bool may_write;
    bool is_owner;
    bool is_operator; /* of the server: may see its metrics */
    mono_ms now;
    uint64_t wall_ms;
};

enum route_target {
    ROUTE_TO_SERVER, /* any worker; also for a path that no route has */
    ROUTE_TO_SPACE,
};

/* Which space a request is for, from its path alone. Makes no values: for the
 * I/O thread. `name` is appended to. */
enum route_target routes_space(const struct net_request *request,
                               struct buf *name);

void routes_handle(const struct route_context *context,
                   const struct net_request *request,
                   struct route_answer *out);

/* The OpenAPI description of all routes (docs/openapi.json). */
void routes_write_openapi(struct buf *to);

#endif
