/* The network: connections, WebSocket messages and HTTP requests, as bytes.
 *
 * A net is one libwebsockets context and one thread, the I/O thread. It
 * listens, dials, frames, encrypts, compresses and enforces the limits below.
 * It does not interpret what it carries, and never waits for a disk or a lock
 * that is held for long. No other folder includes libwebsockets.h.
 *
 *   struct net *net;
 *   err = net_open(&options, &net, &detail);     starts the I/O thread
 *   ... net_send(net, id, bytes) from any thread ...
 *   net_close(net);                              ends it; `closed` is called
 *                                                for each open connection
 *
 *   net-1  All functions of struct net_events are called on the I/O thread, and
 *          must return quickly. `connected` comes first, `closed` last and
 *          exactly once.
 *   net-2  A connection is named by a net_id, which is never reused. Every
 *          function takes an id whose connection has ended, and ignores it.
 *   net-3  Messages of one connection arrive and leave in order.
 *   net-4  What is queued to a connection is bounded (queue_bytes). A peer that
 *          reads too slowly is disconnected; what it missed, it asks for again.
 *   net-5  What is received from a connection is bounded, too: a message of
 *          more than message_bytes closes it, and a receiver that answers
 *          NET_LATER stops the reading from it until net_resume. */

#ifndef NET_NET_H
#define NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"

struct net;
typedef uint64_t net_id; /* 0: none */

/* -- Bytes --------------------------------------------------------------- */

/* Immutable, counted, shared between threads: one encoding for many readers.
 * A message to many connections is queued to each as two references; on its way
 * out it passes through one buffer of the net, in parts. */
struct net_bytes;

/* A copy; one reference. */
struct net_bytes *net_bytes_new(const void *at, size_t length);
struct net_bytes *net_bytes_ref(struct net_bytes *bytes);
void net_bytes_unref(struct net_bytes *bytes); /* NULL is harmless */
const char *net_bytes_at(const struct net_bytes *bytes);
size_t net_bytes_length(const struct net_bytes *bytes);

/* -- Events -------------------------------------------------------------- */

/* Borrowed for the call. */
struct net_peer {
    const char *address; /* of the other side, as text */
    const char *bearer;  /* of "Authorization: Bearer", or of the query
                            parameter access_token; NULL: none */
    bool is_loopback;
    bool is_secure; /* TLS */
    bool dialed;    /* by net_dial */
};

/* An HTTP request with its whole body. Texts are NULL if absent. */
struct net_request {
    net_id id; /* answer it with net_respond */
    char method[8];
    char *path;  /* percent-encoded, but "%2F" counts as "/" and "//" as "/" */
    char *query; /* percent-encoded, without '?' */
    char *bearer;
    char *if_match;
    char *if_none_match;
    char *idempotency_key;
    char *prefer;
    char *last_event_id;
    char *content_type;
    char *accept;
    char *address;
    bool is_loopback;
    char *body; /* ends with a zero byte */
    size_t body_length;
};

void net_request_free(struct net_request *request);

enum net_taken {
    NET_TAKEN,
    NET_LATER, /* not taken: it is offered again after net_resume, and nothing
                  is read from this connection until then */
    NET_CLOSE, /* end the connection */
};

/* `ctx` is that of the options. */
struct net_events {
    /* A WebSocket was opened. False refuses it: `closed` is not called. */
    bool (*connected)(void *ctx, net_id id, const struct net_peer *peer);

    /* A whole text message. Borrowed for the call. */
    enum net_taken (*received)(void *ctx,
                               net_id id,
                               const char *text,
                               size_t length);

    /* Of a WebSocket, also of one that net_dial could not open, and of an HTTP
     * stream. `reason` is for people. */
    void (*closed)(void *ctx, net_id id, const char *reason);

    /* The receiver owns the request. May be NULL: 404 for all. */
    void (*requested)(void *ctx, struct net_request *request);

    /* The I/O thread is about to sleep: what was received can be handed on as
     * one batch. May be NULL. */
    void (*turned)(void *ctx);
};

/* -- Life ---------------------------------------------------------------- */

/* A zero field means the default or none. Everything is copied, except the log
 * and the functions. */
struct net_options {
    const char *address;     /* to listen on; NULL: this net only dials */
    uint16_t port;           /* 0: the system chooses (net_port) */
    const char *socket_path; /* of the WebSocket; default "/v1/socket" */
    const char *certificate; /* PEM files; NULL: no TLS */
    const char *private_key;
    const char *authority;    /* PEM file with the authorities that a dialed
                                 server's certificate must be signed by; NULL:
                                 those of the system */
    uint32_t message_bytes;   /* default 16 MiB */
    uint32_t request_bytes;   /* body of an HTTP request; default 16 MiB */
    uint32_t queue_bytes;     /* net-4; default 32 MiB */
    uint32_t connections_max; /* default 20,000 */
    uint32_t connections_per_address; /* default: no limit */
    uint32_t handshake_ms; /* until a request is complete; default 10 s */
    uint32_t ping_ms;      /* silence before a ping, and again before the
                              connection counts as dead; default 30 s */
    bool compress;         /* offer permessage-deflate */

    /* Origins whose web pages may use this net beside its own, each
     * "scheme://host[:port]" or "*" (net_origin_is_valid). */
    const char *const *origins;
    size_t origin_count;
    bool loopback_names; /* refuse a Host that may be a stranger's name */
    const struct net_events *events;
    void *ctx;
    const struct log *log;
};

/* *out is set before the first event, which may come before this returns. */
MUST_CHECK enum err net_open(const struct net_options *options,
                             struct net **out,
                             struct err_detail *detail);
void net_close(struct net *net);

uint16_t net_port(const struct net *net);

/* Accepts no new connections or requests from now on. */
void net_stop_listening(struct net *net);

/* Reads certificate and key again, for new connections. */
MUST_CHECK enum err net_reload(struct net *net, struct err_detail *detail);

/* Other origins, for requests from now on. */
void net_set_origins(struct net *net, const char *const *list, size_t count);

/* Whether a text can be an origin of the options. */
bool net_origin_is_valid(const char *text);

struct net_counters {
    uint64_t connections; /* open WebSockets now */
    uint64_t accepted;
    uint64_t refused; /* by a limit */
    uint64_t slow;    /* closed by net-4 */
    uint64_t received_messages;
    uint64_t received_bytes;
    uint64_t sent_messages;
    uint64_t sent_bytes;
    uint64_t queued_bytes; /* now */
};

/* From any thread. */
void net_count(struct net *net, struct net_counters *out);

/* -- Sending: from any thread -------------------------------------------- */

/* Dials ws://HOST[:PORT] or wss://HOST[:PORT], with an optional path; then
 * `connected` or `closed` is called. ARGUMENT: the URL is invalid. */
MUST_CHECK enum err net_dial(struct net *net,
                             const char *url,
                             const char *bearer,
                             net_id *out,
                             struct err_detail *detail);

/* One text message: `head` and then `body`, which may be NULL. Takes a
 * reference of each over. Of an HTTP stream: one chunk. */
void net_send(struct net *net,
              net_id id,
              struct net_bytes *head,
              struct net_bytes *body);

/* Many at once: one wake-up. */
struct net_outgoing {
    net_id id;
    struct net_bytes *head;
    struct net_bytes *body;
};
void net_send_all(struct net *net,
                  const struct net_outgoing *messages,
                  size_t count);

enum {
    NET_HEADERS_MAX = 8
};

struct net_header {
    const char *name; /* "etag:", in lower case, with the colon */
    const char *value;
};

/* The answer to a request. Texts are copied. */
struct net_response {
    unsigned status;
    const char *content_type;
    struct net_header headers[NET_HEADERS_MAX]; /* up to the first NULL */
    struct net_bytes *body; /* a reference is taken over; may be NULL */
    bool is_stream;         /* the body goes on: net_send, until net_end */
};
void net_respond(struct net *net, net_id id, const struct net_response *with);

/* Reading goes on after NET_LATER. */
void net_resume(struct net *net, net_id id);

/* Ends a connection or a stream when everything queued before is sent. `code`
 * is that of a WebSocket: 1000 normal, 1001 going away, 1008 policy, 1013 try
 * again later. */
void net_end(struct net *net, net_id id, unsigned code, const char *reason);

#endif
