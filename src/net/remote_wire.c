/* Queues between an I/O thread and the thread of a runtime. */

#include "net/remote_wire.h"

#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "auth/key.h"
#include "auth/proof.h"
#include "base/mem.h"
#include "base/vec.h"
#include "host/system.h"
#include "net/net.h"

enum {
    PROOF_MS = 300 * 1000, /* how long a proof is valid */
};

struct received {
    enum wire_event_kind kind;
    net_id id; /* of the connection */
    char *text;
    size_t length;
};

struct remote_wire {
    struct wire wire;
    struct buf url; /* as net_dial takes it */
    struct buf bearer;
    struct net *net;
    net_id id; /* of the connection; 0: none. Of the runtime's thread */

    bool has_key;
    struct key key;

    pthread_mutex_t mutex; /* of what follows */
    VEC(struct received) queue;
    size_t queue_taken;
    size_t queued_bytes;
    net_id paused; /* remote-wire-1; 0: none */
};

/* -- The I/O thread ------------------------------------------------------ */

static void announce(const struct remote_wire *wire)
{
    const uint64_t one = 1;
    const ssize_t written = write(wire->wire.fd, &one, sizeof one);
    (void)written; /* a full counter is readable, too */
}

static void queue(struct remote_wire *wire,
                  enum wire_event_kind kind,
                  net_id id,
                  const char *text,
                  size_t length)
{
    struct received received = {.kind = kind, .id = id, .length = length};
    received.text = mem_alloc(length + 1);
    memcpy(received.text, text, length);
    received.text[length] = '\0';
    (void)pthread_mutex_lock(&wire->mutex);
    vec_push(&wire->queue, received);
    wire->queued_bytes += length;
    (void)pthread_mutex_unlock(&wire->mutex);
    announce(wire);
}

static bool on_connected(void *ctx, net_id id, const struct net_peer *peer)
{
    (void)peer;
    queue(ctx, WIRE_CONNECTED, id, "", 0);
    return true;
}

static enum net_taken on_received(void *ctx,
                                  net_id id,
                                  const char *text,
                                  size_t length)
{
    struct remote_wire *wire = ctx;
    (void)pthread_mutex_lock(&wire->mutex);
    const bool is_full = wire->queued_bytes > 0 &&
                         wire->queued_bytes + length > REMOTE_WIRE_BYTES;
    if (is_full) {
        wire->paused = id;
    }
    (void)pthread_mutex_unlock(&wire->mutex);
    if (is_full) {
        return NET_LATER;
    }
    queue(wire, WIRE_TEXT, id, text, length);
    return NET_TAKEN;
}

static void on_closed(void *ctx, net_id id, const char *reason)
{
    queue(ctx, WIRE_CLOSED, id, reason, strlen(reason));
}

static const struct net_events events = {
    .connected = on_connected,
    .received = on_received,
    .closed = on_closed,
};

/* -- The thread of the runtime ------------------------------------------- */

static struct remote_wire *wire_of(struct wire *wire)
{
    return CONTAINER_OF(wire, struct remote_wire, wire);
}

static void wire_hang_up(struct wire *wire)
{
    struct remote_wire *own = wire_of(wire);
    if (own->id != 0) {
        net_end(own->net, own->id, 1000, "");
        own->id = 0;
    }
}

static enum err wire_dial(struct wire *wire, struct err_detail *detail)
{
    struct remote_wire *own = wire_of(wire);
    wire_hang_up(wire);
    return net_dial(own->net,
                    buf_text(&own->url),
                    own->bearer.length > 0 ? buf_text(&own->bearer) : NULL,
                    &own->id,
                    detail);
}

static void wire_send(struct wire *wire, const char *text, size_t length)
{
    struct remote_wire *own = wire_of(wire);
    if (own->id != 0) {
        net_send(own->net, own->id, net_bytes_new(text, length), NULL);
    }
}

/* The next of the queue; the rest of the list is dropped when it is empty. */
static bool take_next(struct remote_wire *own, struct received *out)
{
    net_id paused = 0;
    (void)pthread_mutex_lock(&own->mutex);
    const bool any = own->queue_taken < own->queue.count;
    if (any) {
        *out = own->queue.at[own->queue_taken++];
        own->queued_bytes -= out->length;
    }
    if (own->queue_taken == own->queue.count) {
        vec_clear(&own->queue);
        own->queue_taken = 0;
        uint64_t count;
        const ssize_t got = read(own->wire.fd, &count, sizeof count);
        (void)got; /* under the mutex: what is queued later announces itself */
    }
    if (own->queued_bytes < REMOTE_WIRE_BYTES / 2) {
        paused = own->paused;
        own->paused = 0;
    }
    (void)pthread_mutex_unlock(&own->mutex);
    if (paused != 0) {
        net_resume(own->net, paused);
    }
    return any;
}

static bool wire_take(struct wire *wire, struct wire_event *event)
{
    struct remote_wire *own = wire_of(wire);
    struct received received;
    while (take_next(own, &received)) {
        const bool is_current = own->id != 0 && received.id == own->id;
        if (is_current) {
            *event = (struct wire_event){.kind = received.kind};
            buf_append(&event->text, received.text, received.length);
            if (received.kind == WIRE_CLOSED) {
                own->id = 0;
            }
        }
        mem_free(received.text, received.length + 1);
        if (is_current) {
            return true;
        }
    }
    return false;
}

static void wire_free(struct wire *wire)
{
    struct remote_wire *own = wire_of(wire);
    struct received received;
    wire_hang_up(wire);
    if (own->net != NULL) {
        net_close(own->net);
    }
    while (take_next(own, &received)) {
        mem_free(received.text, received.length + 1);
    }
    vec_release(&own->queue);
    (void)pthread_mutex_destroy(&own->mutex);
    if (own->wire.fd >= 0) {
        (void)close(own->wire.fd);
    }
    key_release(&own->key);
    buf_release(&own->url);
    buf_release(&own->bearer);
    mem_free(own, sizeof *own);
}

static const struct wire_methods methods = {
    .dial = wire_dial,
    .send = wire_send,
    .hang_up = wire_hang_up,
    .take = wire_take,
    .free = wire_free,
};

/* -- Proofs -------------------------------------------------------------- */

static enum err prove(void *ctx,
                      const struct remote_challenge *challenge,
                      struct value *proof,
                      struct err_detail *detail)
{
    const struct remote_wire *wire = ctx;
    if (!value_is_string(challenge->audience) ||
        !value_is_string(challenge->challenge)) {
        return err_set(detail,
                       ERR_PROTOCOL,
                       "the server asks for no proof of identity: use a token");
    }
    const uint64_t now = system_wall_ms();
    const struct proof_claim claim = {
        .audience = value_text(&challenge->audience),
        .challenge = value_text(&challenge->challenge),
        .space = value_text(&challenge->space),
        .branch = value_text(&challenge->branch),
        .session = value_text(&challenge->session),
        .issued_at = now,
        .expires = now + PROOF_MS,
    };
    *proof = proof_make(&wire->key, &claim);
    return ERR_OK;
}

/* -- Creation ------------------------------------------------------------ */

static const char *const prefixes[][2] = {
    {"ws://", "ws://"},
    {"wss://", "wss://"},
    {"http://", "ws://"},
    {"https://", "wss://"},
};

bool remote_is_url(const char *text)
{
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        if (strncmp(text, prefixes[i][0], strlen(prefixes[i][0])) == 0) {
            return true;
        }
    }
    return false;
}

static enum err set_url(struct remote_wire *wire,
                        const char *url,
                        struct err_detail *detail)
{
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        const size_t front = strlen(prefixes[i][0]);
        if (strncmp(url, prefixes[i][0], front) == 0 && url[front] != '\0') {
            buf_append_text(&wire->url, prefixes[i][1]);
            buf_append_text(&wire->url, url + front);
            return ERR_OK;
        }
    }
    return err_set(detail,
                   ERR_ARGUMENT,
                   "'%.100s' is not the address of a server: write "
                   "ws://HOST:PORT or wss://HOST:PORT",
                   url);
}

static enum err read_key(struct remote_wire *wire,
                         const char *file,
                         struct err_detail *detail)
{
    if (file == NULL) {
        return ERR_OK;
    }
    const enum err err = key_file_read(file, &wire->key, detail);
    wire->has_key = err == ERR_OK;
    return err;
}

enum err remote_server_new(const struct remote_server *server,
                           struct remote **out,
                           struct err_detail *detail)
{
    *out = NULL;
    struct remote_wire *wire = mem_alloc_zero(sizeof *wire);
    wire->wire.methods = &methods;
    wire->wire.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&wire->mutex, NULL);
    enum err err = set_url(wire, server->url, detail);
    if (err == ERR_OK && wire->wire.fd < 0) {
        err = err_set(detail,
                      ERR_IO,
                      "the process cannot open another descriptor");
    }
    if (err == ERR_OK) {
        err = read_key(wire, server->key_file, detail);
    }
    if (err == ERR_OK) {
        const struct net_options net = {
            .authority = server->authority,
            .message_bytes = REMOTE_WIRE_BYTES,
            .queue_bytes = REMOTE_WIRE_BYTES,
            .compress = true,
            .events = &events,
            .ctx = wire,
            .log = server->log,
        };
        err = net_open(&net, &wire->net, detail);
    }
    if (err != ERR_OK) {
        wire_free(&wire->wire);
        return err;
    }
    const struct remote_options options = {
        .wire = &wire->wire,
        .url = server->url,
        .token = server->token,
        .user = server->user,
        .log = server->log,
        .prove = wire->has_key ? prove : NULL,
        .ctx = wire,
    };
    *out = remote_new(&options);
    return ERR_OK;
}
