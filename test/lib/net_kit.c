/* Nets for tests: recording, waiting, and raw sockets (lib/net_kit.h). */

#include "lib/net_kit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/test.h"

enum {
    DEADLINE_S = 60,
};

static char *copy(const char *at, size_t length)
{
    char *text = mem_alloc(length + 1);
    if (length > 0) {
        memcpy(text, at, length);
    }
    text[length] = '\0';
    return text;
}

/* -- Events -------------------------------------------------------------- */

static void record(struct net_kit *kit, const struct net_kit_event *event)
{
    (void)pthread_mutex_lock(&kit->lock);
    vec_push(&kit->happened, *event);
    (void)pthread_cond_broadcast(&kit->changed);
    (void)pthread_mutex_unlock(&kit->lock);
}

static void record_text(struct net_kit *kit,
                        enum net_kit_event_kind kind,
                        net_id id,
                        const char *text,
                        size_t length)
{
    record(kit,
           &(struct net_kit_event){.kind = kind,
                                   .id = id,
                                   .text = copy(text, length),
                                   .length = length});
}

static bool connected(void *ctx, net_id id, const struct net_peer *peer)
{
    struct net_kit *kit = ctx;
    if (kit->refuses) {
        return false;
    }
    const char *bearer = peer->bearer != NULL ? peer->bearer : "";
    record(kit,
           &(struct net_kit_event){.kind = NET_KIT_CONNECTED,
                                   .id = id,
                                   .is_secure = peer->is_secure,
                                   .text = copy(bearer, strlen(bearer)),
                                   .length = strlen(bearer)});
    return true;
}

static enum net_taken received(void *ctx,
                               net_id id,
                               const char *text,
                               size_t length)
{
    struct net_kit *kit = ctx;
    if (kit->echoes) {
        net_send(kit->net, id, net_bytes_new(text, length), NULL);
        return NET_TAKEN;
    }
    (void)pthread_mutex_lock(&kit->lock);
    const bool is_later = kit->later > 0;
    if (is_later) {
        kit->later--;
        kit->deferred++;
        (void)pthread_cond_broadcast(&kit->changed);
    }
    (void)pthread_mutex_unlock(&kit->lock);
    if (is_later) {
        return NET_LATER;
    }
    record_text(kit, NET_KIT_RECEIVED, id, text, length);
    return NET_TAKEN;
}

static void closed(void *ctx, net_id id, const char *reason)
{
    record_text(ctx, NET_KIT_CLOSED, id, reason, strlen(reason));
}

static void requested(void *ctx, struct net_request *request)
{
    record(ctx,
           &(struct net_kit_event){.kind = NET_KIT_REQUESTED,
                                   .id = request->id,
                                   .request = request});
}

static void turned(void *ctx)
{
    struct net_kit *kit = ctx;
    kit->turns++;
}

static void count_line(void *ctx, enum log_level level, const char *line)
{
    struct net_kit *kit = ctx;
    (void)level;
    (void)line;
    (void)pthread_mutex_lock(&kit->lock);
    kit->log_lines++;
    (void)pthread_mutex_unlock(&kit->lock);
}

/* -- Life ---------------------------------------------------------------- */

void net_kit_init(struct net_kit *kit, const char *address)
{
    *kit = (struct net_kit){
        .events = {connected, received, closed, requested, turned},
        .log = {count_line, kit, LOG_LEVEL_WARNING},
        .options = {.address = address,
                    .events = &kit->events,
                    .ctx = kit,
                    .log = &kit->log},
    };
    (void)pthread_mutex_init(&kit->lock, NULL);
    (void)pthread_cond_init(&kit->changed, NULL);
}

bool net_kit_open(struct net_kit *kit)
{
    struct err_detail detail = {0};
    const enum err err = net_open(&kit->options, &kit->net, &detail);
    return EXPECT_TEXT(detail.text, "") && EXPECT_EQ(err, ERR_OK);
}

void net_kit_close(struct net_kit *kit)
{
    net_close(kit->net);
    VEC_FOREACH (&kit->happened, event) {
        if (event->text != NULL) {
            mem_free(event->text, event->length + 1);
        }
        net_request_free(event->request);
    }
    vec_release(&kit->happened);
    (void)pthread_mutex_destroy(&kit->lock);
    (void)pthread_cond_destroy(&kit->changed);
}

/* -- Waiting ------------------------------------------------------------- */

static struct timespec deadline(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += DEADLINE_S;
    return at;
}

struct net_kit_event *net_kit_next(struct net_kit *kit,
                                   enum net_kit_event_kind kind)
{
    const struct timespec at = deadline();
    struct net_kit_event *event = NULL;
    (void)pthread_mutex_lock(&kit->lock);
    while (kit->taken == kit->happened.count &&
           pthread_cond_timedwait(&kit->changed, &kit->lock, &at) == 0) {
    }
    if (kit->taken < kit->happened.count) {
        /* A push may move the vector: the test gets a copy. */
        kit->last = kit->happened.at[kit->taken];
        kit->taken++;
        event = &kit->last;
    }
    (void)pthread_mutex_unlock(&kit->lock);
    if (event == NULL) {
        (void)EXPECT(event != NULL);
        return NULL;
    }
    return EXPECT_EQ(event->kind, kind) ? event : NULL;
}

bool net_kit_await_deferred(struct net_kit *kit, unsigned count)
{
    const struct timespec at = deadline();
    (void)pthread_mutex_lock(&kit->lock);
    while (kit->deferred < count &&
           pthread_cond_timedwait(&kit->changed, &kit->lock, &at) == 0) {
    }
    const unsigned deferred = kit->deferred;
    (void)pthread_mutex_unlock(&kit->lock);
    return EXPECT(deferred >= count);
}

bool net_kit_connect(struct net_kit *client,
                     struct net_kit *server,
                     net_id *client_id,
                     net_id *server_id)
{
    char url[64];
    struct err_detail detail = {0};
    (void)snprintf(url,
                   sizeof url,
                   "%s://localhost:%u",
                   server->options.certificate != NULL ? "wss" : "ws",
                   net_port(server->net));
    if (!EXPECT_EQ(net_dial(client->net, url, NULL, client_id, &detail),
                   ERR_OK)) {
        return false;
    }
    const struct net_kit_event *event = net_kit_next(server, NET_KIT_CONNECTED);
    if (event == NULL) {
        return false;
    }
    *server_id = event->id;
    event = net_kit_next(client, NET_KIT_CONNECTED);
    return event != NULL && EXPECT_EQ(event->id, *client_id);
}

void net_kit_send(struct net_kit *kit, net_id id, const char *text)
{
    net_send(kit->net, id, net_bytes_new(text, strlen(text)), NULL);
}

/* -- Raw sockets --------------------------------------------------------- */

static bool try_connect(const struct net_kit *server, int *out)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(net_port(server->net))};
    (void)inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    *out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(*out, (const void *)&address, sizeof address) == 0;
}

int net_raw_connect(const struct net_kit *server)
{
    int fd;
    EXPECT(try_connect(server, &fd));
    return fd;
}

bool net_raw_can_connect(const struct net_kit *server)
{
    int fd;
    const bool can = try_connect(server, &fd);
    (void)close(fd);
    return can;
}

bool net_raw_write(int socket, const void *at, size_t length)
{
    const char *from = at;
    while (length > 0) {
        const ssize_t sent = send(socket, from, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        from += sent;
        length -= (size_t)sent;
    }
    return true;
}

bool net_raw_print(int socket, const char *text)
{
    return net_raw_write(socket, text, strlen(text));
}

bool net_raw_read(int socket, struct buf *into, const char *part)
{
    for (;;) {
        if (part != NULL && into->length > 0 &&
            memmem(into->at, into->length, part, strlen(part)) != NULL) {
            return true;
        }
        struct pollfd wait = {.fd = socket, .events = POLLIN};
        if (!EXPECT(poll(&wait, 1, DEADLINE_S * 1000) > 0)) {
            return false;
        }
        char *to = buf_reserve(into, 65536);
        const ssize_t got = recv(socket, to, 65536, 0);
        if (got <= 0) {
            return part == NULL;
        }
        buf_advance(into, (size_t)got);
    }
}

bool net_raw_upgrade(int socket)
{
    struct buf answer = {0};
    const bool done =
        net_raw_print(socket,
                      "GET /v1/socket HTTP/1.1\r\n"
                      "Host: localhost\r\n"
                      "Upgrade: websocket\r\n"
                      "Connection: Upgrade\r\n"
                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                      "Sec-WebSocket-Version: 13\r\n\r\n") &&
        net_raw_read(socket, &answer, "\r\n\r\n") &&
        EXPECT_CONTAINS(answer.at, "HTTP/1.1 101");
    buf_release(&answer);
    return done;
}

void net_raw_put_frame(struct buf *to,
                       unsigned char first_byte,
                       const char *payload,
                       size_t length)
{
    static const char mask[4] = {0x11, 0x22, 0x33, 0x44};
    buf_append_char(to, (char)first_byte);
    if (length < 126) {
        buf_append_char(to, (char)(0x80 | length));
    } else if (length < 65536) {
        buf_append_char(to, (char)(0x80 | 126));
        buf_append_char(to, (char)(length >> 8));
        buf_append_char(to, (char)length);
    } else {
        buf_append_char(to, (char)(0x80 | 127));
        for (int shift = 56; shift >= 0; shift -= 8) {
            buf_append_char(to, (char)((uint64_t)length >> shift));
        }
    }
    buf_append(to, mask, sizeof mask);
    for (size_t i = 0; i < length; i++) {
        const char c = payload != NULL ? payload[i] : 'x';
        buf_append_char(to, (char)(c ^ mask[i % 4]));
    }
}

bool net_raw_frame(int socket,
                   unsigned char first_byte,
                   const char *payload,
                   size_t length)
{
    struct buf frame = {0};
    net_raw_put_frame(&frame, first_byte, payload, length);
    const bool done = net_raw_write(socket, frame.at, frame.length);
    buf_release(&frame);
    return done;
}
