/* The records of a net, for the files of this folder.
 *
 *   net-io-1  Everything here is used on the I/O thread only, except the
 *             command queue and what is marked atomic.
 *   net-io-2  libwebsockets owns the socket, and calls net_callback. The
 *             connection record hangs at it as opaque user data, from the
 *             accept or the dial until LWS_CALLBACK_WSI_DESTROY.
 *   net-io-3  A record is in the map `by_id` while its id can be named: a
 *             WebSocket or dial for life, an HTTP exchange from its request to
 *             the end of its answer. */

#ifndef NET_NET_INTERNAL_H
#define NET_NET_INTERNAL_H

#include <libwebsockets.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "base/vec.h"
#include "net/net.h"

enum {
    /* Output passes through one buffer of this size: what libwebsockets keeps
     * of a send that the kernel takes only in part is at most this. */
    NET_PART_SIZE = 64 * 1024,

    /* A message from libwebsockets arrives in parts of this size, and each
     * WebSocket owns a buffer for one. */
    NET_RECEIVE_SIZE = 1024,

    NET_ADDRESS_SIZE = 48,
    NET_REASON_SIZE = 128,
    NET_ORIGIN_SIZE = 200, /* of the sentence that refuses one */

    /* How long an end may take until the connection is dropped. */
    NET_END_MS = 2000,
};

/* What is sent as a unit: a message, a chunk of a stream, or a part of an HTTP
 * response. */
struct net_message {
    struct net_bytes *head;
    struct net_bytes *body; /* NULL: none */
};

enum net_state {
    NET_STATE_NEW,       /* accepted: the headers of a request are awaited */
    NET_STATE_BODY,      /* an HTTP request's body is awaited */
    NET_STATE_REQUESTED, /* the answer is awaited */
    NET_STATE_ANSWERING, /* the answer is being sent */
    NET_STATE_STREAM,    /* an answer without an end yet */
    NET_STATE_DIALING,
    NET_STATE_SOCKET,  /* an open WebSocket */
    NET_STATE_CLOSING, /* a WebSocket: the close frame was given to lws */
};

/* How many connections an address has. */
struct net_address {
    uint32_t count;
    char text[NET_ADDRESS_SIZE];
};

/* An HTTP request, until its answer is sent. */
struct net_exchange {
    struct net_request *request; /* until it is handed over */
    struct buf body;
    size_t body_expected;
    bool is_complete; /* the body */
    bool keeps_alive;
    bool is_head; /* the answer has no body */
    bool is_chunked;
    bool header_pending; /* of a stream: it is not a chunk */
    char *origin;        /* whose page may read the answer; NULL: no other */
};

struct net_connection {
    struct net *net;
    struct lws *wsi;
    net_id id; /* 0: not named yet, or no longer */
    struct list_node node;

    /* Output: a ring, freed when it is empty. */
    struct net_message *queue;
    uint32_t queue_first;
    uint32_t queue_count;
    uint32_t queue_capacity;
    uint32_t deadline; /* 0: none; of net_tick */
    size_t queued_bytes;
    size_t front_sent; /* bytes of the first message */

    unsigned char *copy; /* what is being compressed; NULL: nothing */
    size_t copy_length;

    /* Input: the parts of a message; and messages answered with NET_LATER. */
    struct buf input;
    VEC_SMALL(struct net_bytes *) held;

    struct net_exchange *exchange; /* HTTP only */
    struct net_call *call;         /* while it is dialing */
    struct net_address *address;   /* NULL: dialed, or not counted */
    char *reason;                  /* of the end, for people */

    uint32_t seen; /* net_tick of the last sign of life */
    uint16_t end_code;
    enum net_state state : 8;
    bool is_dialed : 1;
    bool is_secure : 1;
    bool is_open : 1;   /* `connected` was called, or it is a stream or dial:
                           `closed` is due */
    bool is_ending : 1; /* by net_end: nothing more is queued */
    bool ping_due : 1;
    bool is_pinged : 1; /* since it was seen last */
    bool is_compressed : 1;
    bool is_flushing : 1;  /* in net->flushing */
    bool is_watched : 1;   /* in net->watch_fd */
    bool is_pipelined : 1; /* the next request may have arrived already */
};

enum net_command_kind {
    NET_COMMAND_SEND,
    NET_COMMAND_RESPOND,
    NET_COMMAND_RESUME,
    NET_COMMAND_END,
    NET_COMMAND_DIAL,
    NET_COMMAND_STOP_LISTENING,
    NET_COMMAND_RELOAD,
    NET_COMMAND_ORIGINS,
};

struct net_reload;

/* What another thread asks the I/O thread for. */
struct net_command {
    enum net_command_kind kind;
    unsigned code;
    net_id id;
    union {
        struct net_message message;
        struct net_answer *answer;
        struct net_call *call;
        struct net_reload *reload;
        struct net_origins *origins;
        char *reason;
    };
};

typedef VEC(struct net_command) net_commands;

struct net {
    struct net_options options; /* with defaults; texts are owned */
    struct net_origins *origins;
    struct lws_context *context;
    struct lws_vhost *listening;  /* NULL: none */
    struct lws_vhost *dialing[2]; /* without and with TLS; made when needed */
    struct lws_protocols protocols[4];
    struct lws *listener; /* NULL: it does not listen, or no longer */
    int spare_fd;         /* so that a connection too many can be refused */
    int watch_fd;
    struct net_address *admitted; /* of the socket that is being adopted */
    struct ssl_ctx_st *server_tls;
    struct ssl_ctx_st *unused_tls;
    uint16_t port;
    pthread_t thread;

    struct list connections;
    struct map by_id;
    struct map addresses;
    size_t connection_count; /* with those that are HTTP */
    VEC(struct net_connection *) flushing;
    net_commands done; /* empty: its memory is used again */
    lws_sorted_usec_list_t sweep;
    uint32_t sweep_ms;
    unsigned char *part; /* LWS_PRE + NET_PART_SIZE */
    bool is_stopping;

    /* Of any thread. */
    atomic_uint_fast64_t next_id;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* is_ready, and the end of a reload */
    net_commands commands;  /* with the lock */
    bool is_ready;          /* with the lock */
    enum err open_error;    /* with the lock, like the sentence: */
    struct err_detail open_detail;
    atomic_bool stop;

    struct {
        atomic_uint_fast64_t connections;
        atomic_uint_fast64_t accepted;
        atomic_uint_fast64_t refused;
        atomic_uint_fast64_t slow;
        atomic_uint_fast64_t received_messages;
        atomic_uint_fast64_t received_bytes;
        atomic_uint_fast64_t sent_messages;
        atomic_uint_fast64_t sent_bytes;
        atomic_uint_fast64_t queued_bytes;
    } counters;
};

/* Only the I/O thread writes counters: no locked instruction is needed. */
static inline void net_counter_add(atomic_uint_fast64_t *counter, uint64_t more)
{
    const uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + more, memory_order_relaxed);
}

/* -- net.c --------------------------------------------------------------- */

bool net_is_io_thread(const struct net *net);

/* Milliseconds, never 0. Differences are right for 24 days. */
uint32_t net_tick(void);

extern const lws_retry_bo_t net_idle_policy;

/* What all virtual hosts share. */
void net_vhost_info(struct net *net, struct lws_context_creation_info *info);

int net_callback(struct lws *wsi,
                 enum lws_callback_reasons reason,
                 void *user,
                 void *in,
                 size_t length);

/* A copy with mem_alloc, and its release. NULL stays NULL. */
char *net_text_copy(const char *text);
char *net_text_copy_length(const char *text, size_t length);
void net_text_free(char *text);

/* -- commands.c ---------------------------------------------------------- */

/* Puts commands into the queue and wakes the I/O thread. */
void net_commands_push(struct net *net,
                       const struct net_command *commands,
                       size_t count);

/* Does what was asked for; on the I/O thread. */
void net_commands_run(struct net *net);

/* Writes what is queued to the connection, at the end of the turn. */
void net_connection_flush(struct net_connection *connection);

/* Frees commands that were not done. */
void net_commands_drop(struct net *net);

/* -- connection.c -------------------------------------------------------- */

struct net_connection *net_connection_new(struct net *net, struct lws *wsi);
void net_connection_free(struct net_connection *connection);
struct net_connection *net_connection_find(const struct net *net, net_id id);

/* Gives it an id (0: a new one), and takes it back. */
void net_connection_name(struct net_connection *connection, net_id id);
void net_connection_forget(struct net_connection *connection);

/* Calls `closed`, if that is due. */
void net_connection_closed(struct net_connection *connection);

/* Why it ended: the first reason counts. */
__attribute__((format(printf, 2, 3))) void net_connection_blame(
    struct net_connection *connection,
    const char *format,
    ...);

/* Drops it, soon and without a goodbye. */
void net_connection_kill(struct net_connection *connection);

/* Ends it with net_tick() + ms as the last moment. */
void net_connection_set_deadline(struct net_connection *connection,
                                 uint32_t ms);

/* Queues a message; takes the references over. */
void net_connection_queue(struct net_connection *connection,
                          struct net_bytes *head,
                          struct net_bytes *body);
void net_connection_drop_queue(struct net_connection *connection);

/* How much of the first message is left; and the next `length` bytes of it,
 * which removes it with its last byte. */
size_t net_connection_front_left(const struct net_connection *connection);
void net_connection_take(struct net_connection *connection,
                         unsigned char *to,
                         size_t length);

/* Deadlines, pings and dead peers; runs every sweep_ms. */
void net_sweep_begin(struct net *net);

/* -- listen.c ------------------------------------------------------------ */

/* A listening socket, before there is a context. */
MUST_CHECK enum err net_listen_open(struct net *net,
                                    int *out,
                                    struct err_detail *detail);

/* Hands it to libwebsockets. False: it failed, and the socket is closed. */
bool net_listen_begin(struct net *net, int socket);
void net_listen_end(struct net *net);
int net_listen_callback(struct lws *wsi,
                        enum lws_callback_reasons reason,
                        void *user,
                        void *in,
                        size_t length);

void net_address_release(struct net *net, struct net_address *address);

/* The other side, as text; and whether it is this machine. */
void net_peer_address(struct lws *wsi, char address[NET_ADDRESS_SIZE]);
bool net_address_is_loopback(const char *address);

/* -- websocket.c --------------------------------------------------------- */

int net_socket_opened(struct net_connection *connection);
int net_socket_received(struct net_connection *connection,
                        const char *at,
                        size_t length);
void net_socket_free_copy(struct net_connection *connection);
void net_socket_resume(struct net_connection *connection);

/* Writes what the kernel takes. Nonzero: the connection is to be closed. */
int net_socket_write(struct net_connection *connection);
void net_socket_peer_ends(struct net_connection *connection,
                          const unsigned char *at,
                          size_t length);

/* -- http.c -------------------------------------------------------------- */

/* The copy of a struct net_response. */
struct net_answer {
    struct buf header;
    struct net_bytes *body;
    unsigned status;
    bool is_stream;
};

struct net_answer *net_answer_new(const struct net_response *response);
void net_answer_free(struct net_answer *answer);

/* Whether the upgrade of a request is to the WebSocket of the options; if not,
 * it was answered, and the result is that of the callback. */
int net_http_confirm_upgrade(struct net *net, struct lws *wsi);
int net_http_requested(struct net_connection *connection,
                       const char *path,
                       size_t length);
int net_http_body(struct net_connection *connection,
                  const char *at,
                  size_t length);
int net_http_body_complete(struct net_connection *connection);
void net_http_respond(struct net_connection *connection,
                      struct net_answer *answer);
int net_http_write(struct net_connection *connection);

/* The same, after what libwebsockets has kept of the last part. */
int net_http_flush(struct net_connection *connection);
void net_exchange_free(struct net_exchange *exchange);

/* -- origin.c ------------------------------------------------------------ */

struct net_origins {
    VEC(char *) list;
    bool has_named; /* beside "*" */
};

struct net_origins *net_origins_new(const char *const *list, size_t count);
void net_origins_free(struct net_origins *origins);

/* Whether the request may be handled. True: *allowed is the origin whose page
 * may read the answer, new, or NULL. False: `why` is a sentence that can stand
 * in JSON. */
bool net_origin_admit(const struct net *net,
                      struct lws *wsi,
                      char **allowed,
                      char why[NET_ORIGIN_SIZE]);

/* Appends the headers of an answer that concern origins. */
void net_origin_headers(const struct net *net,
                        const char *allowed,
                        struct buf *to);

/* A browser asks whether a page may send a request; and the answer. */
bool net_origin_is_preflight(struct lws *wsi);
struct net_response net_origin_preflight(void);

/* -- watch.c ------------------------------------------------------------- */

bool net_watch_begin(struct net *net);

/* Calls net_http_flush once, when the socket takes output (if it is blocked);
 * and ends a stream whose peer has left. */
void net_watch(struct net_connection *connection, bool is_blocked);
void net_unwatch(struct net_connection *connection);
int net_watch_callback(struct lws *wsi,
                       enum lws_callback_reasons reason,
                       void *user,
                       void *in,
                       size_t length);

/* -- headers.c ----------------------------------------------------------- */

/* New texts, NULL if absent. */
char *net_header_copy(struct lws *wsi, enum lws_token_indexes token);
char *net_header_custom_copy(struct lws *wsi, const char *name);
char *net_header_bearer(struct lws *wsi);
char *net_header_query(struct lws *wsi);
char *net_header_path(const char *decoded, size_t length);

/* -- dial.c -------------------------------------------------------------- */

/* A dial that the I/O thread has not begun yet. */
struct net_call {
    char *host;
    char *path;
    char *bearer;
    uint16_t port;
    bool is_secure;
};

void net_call_free(struct net_call *call);
void net_dial_begin(struct net *net, net_id id, struct net_call *call);
int net_dial_headers(struct net_connection *connection,
                     unsigned char **at,
                     size_t length);

/* -- tls.c --------------------------------------------------------------- */

MUST_CHECK enum err net_tls_check(const struct net_options *options,
                                  struct err_detail *detail);
/* A context for dialing, which a host that listens never does. Without it
 * libwebsockets makes one with all authorities of the system, and loses it. */
struct ssl_ctx_st *net_tls_unused(struct net *net);
void net_tls_release(struct net *net);

void net_tls_reload(struct net *net, struct net_reload *reload);

#endif
