/* Dialling, the handshake, and frames in both directions. */

#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "base/check.h"

enum {
    READ_SIZE = 256 * 1024,
    EVENTS_MAX = 512,
    HEAD_MAX = 14, /* of a frame */
    FRAME_FINAL = 0x80,
    FRAME_DEFLATED = 0x40,
    OPCODE_TEXT = 1,
    OPCODE_CLOSE = 8,
    OPCODE_PING = 9,
    OPCODE_PONG = 10,
};

static char scratch[READ_SIZE];

void sockets_init(struct sockets *sockets)
{
    sockets->epoll = epoll_create1(EPOLL_CLOEXEC);
    CHECK(sockets->epoll >= 0);
}

static void want(struct sockets *sockets, struct socket *socket, bool write)
{
    struct epoll_event event = {.data.ptr = socket};
    event.events = EPOLLIN | (write ? (uint32_t)EPOLLOUT : 0U);
    socket->wants_write = write;
    CHECK(epoll_ctl(sockets->epoll, EPOLL_CTL_MOD, socket->fd, &event) == 0);
}

void socket_dial(struct sockets *sockets, struct socket *socket_)
{
    const int one = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(sockets->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    CHECK(socket_->state == SOCKET_CLOSED);
    socket_->fd =
        socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    CHECK(socket_->fd >= 0);
    (void)setsockopt(socket_->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    socket_->state = SOCKET_CONNECTING;
    socket_->wants_write = true;
    /* A failure is reported as an event. */
    (void)connect(socket_->fd,
                  (const struct sockaddr *)&address,
                  sizeof address);
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT,
        .data.ptr = socket_,
    };
    CHECK(epoll_ctl(sockets->epoll, EPOLL_CTL_ADD, socket_->fd, &event) == 0);
}

void socket_close(struct socket *socket)
{
    if (socket->state != SOCKET_CLOSED) {
        (void)close(socket->fd);
        socket->state = SOCKET_CLOSED;
        buf_release(&socket->unread);
        buf_release(&socket->message);
        buf_release(&socket->unsent);
        if (socket->inflater != NULL) {
            (void)inflateEnd(socket->inflater);
            free(socket->inflater);
            socket->inflater = NULL;
        }
    }
}

static void lose(struct sockets *sockets, struct socket *socket)
{
    if (socket->state != SOCKET_CLOSED) {
        socket_close(socket);
        sockets->lost(socket);
    }
}

/* -- Sending ------------------------------------------------------------- */

/* Sends what the system takes now; how many bytes that were. An error shows
 * up as an event of the socket. */
static size_t send_some(struct socket *socket, const char *bytes, size_t count)
{
    size_t sent = 0;
    while (sent < count) {
        const ssize_t now =
            send(socket->fd, bytes + sent, count - sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR) {
            continue;
        }
        if (now < 0) {
            break;
        }
        sent += (size_t)now;
    }
    return sent;
}

static void send_bytes(struct sockets *sockets,
                       struct socket *socket,
                       const char *bytes,
                       size_t count)
{
    size_t sent = 0;
    if (socket->unsent.length == 0) {
        sent = send_some(socket, bytes, count);
    }
    if (sent < count) {
        buf_append(&socket->unsent, bytes + sent, count - sent);
        if (!socket->wants_write) {
            want(sockets, socket, true);
        }
    }
}

static void send_rest(struct sockets *sockets, struct socket *socket)
{
    const size_t sent =
        send_some(socket, socket->unsent.at, socket->unsent.length);
    const size_t rest = socket->unsent.length - sent;
    if (rest > 0) {
        memmove(socket->unsent.at, socket->unsent.at + sent, rest);
        socket->unsent.length = rest;
    } else {
        buf_release(&socket->unsent);
        want(sockets, socket, false);
    }
}

static void send_frame(struct sockets *sockets,
                       struct socket *socket,
                       unsigned opcode,
                       const char *text,
                       size_t length)
{
    char small[1024];
    char *frame =
        length + HEAD_MAX <= sizeof small ? small : malloc(length + HEAD_MAX);
    CHECK(frame != NULL);
    size_t head = 2;
    frame[0] = (char)(FRAME_FINAL | opcode);
    if (length < 126) {
        frame[1] = (char)(0x80U | length);
    } else if (length < 65536) {
        frame[1] = (char)(0x80U | 126U);
        frame[head++] = (char)(length >> 8);
        frame[head++] = (char)length;
    } else {
        frame[1] = (char)(0x80U | 127U);
        for (int shift = 56; shift >= 0; shift -= 8) {
            frame[head++] = (char)(length >> shift);
        }
    }
    memset(frame + head, 0, 4); /* the mask */
    memcpy(frame + head + 4, text, length);
    send_bytes(sockets, socket, frame, head + 4 + length);
    if (frame != small) {
        free(frame);
    }
}

void socket_send(struct sockets *sockets,
                 struct socket *socket,
                 const char *text,
                 size_t length)
{
    if (socket->state == SOCKET_OPEN) {
        send_frame(sockets, socket, OPCODE_TEXT, text, length);
    }
}

/* -- Receiving ----------------------------------------------------------- */

static void send_upgrade(struct sockets *sockets, struct socket *socket)
{
    char text[512];
    const int length = snprintf(
        text,
        sizeof text,
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "Sec-WebSocket-Version: 13\r\n%s%s%s%s\r\n",
        sockets->path,
        sockets->port,
        sockets->compress ? "Sec-WebSocket-Extensions: permessage-deflate\r\n"
                          : "",
        sockets->protocol != NULL ? "Sec-WebSocket-Protocol: " : "",
        sockets->protocol != NULL ? sockets->protocol : "",
        sockets->protocol != NULL ? "\r\n" : "");
    socket->state = SOCKET_UPGRADING;
    want(sockets, socket, false);
    send_bytes(sockets, socket, text, (size_t)length);
}

/* How many bytes the answer to the handshake takes; 0: it is incomplete. */
static size_t take_upgrade(struct sockets *sockets,
                           struct socket *socket,
                           const char *bytes,
                           size_t count)
{
    static const char accepted[] = "HTTP/1.1 101";
    const char *end = memmem(bytes, count, "\r\n\r\n", 4);
    if (end == NULL) {
        return 0;
    }
    if (memcmp(bytes, accepted, sizeof accepted - 1) != 0) {
        (void)fprintf(stderr,
                      "server_load: no WebSocket: %.*s\n",
                      (int)strcspn(bytes, "\r"),
                      bytes);
        exit(1);
    }
    if (sockets->compress) {
        socket->inflater = calloc(1, sizeof *socket->inflater);
        CHECK(socket->inflater != NULL &&
              inflateInit2(socket->inflater, -MAX_WBITS) == Z_OK);
    }
    socket->state = SOCKET_OPEN;
    sockets->opened(socket);
    return (size_t)(end - bytes) + 4;
}

/* A message as it was before permessage-deflate took off its last bytes. */
static void take_deflated(struct sockets *sockets,
                          struct socket *socket,
                          struct buf *message)
{
    static const unsigned char tail[] = {0x00, 0x00, 0xff, 0xff};
    struct buf text = {0};
    z_stream *stream = socket->inflater;
    CHECK(stream != NULL);
    buf_append(message, tail, sizeof tail);
    stream->next_in = (unsigned char *)message->at;
    stream->avail_in = (unsigned)message->length;
    do {
        stream->next_out = (unsigned char *)buf_reserve(&text, READ_SIZE);
        stream->avail_out = READ_SIZE;
        const int code = inflate(stream, Z_SYNC_FLUSH);
        CHECK(code == Z_OK || code == Z_BUF_ERROR);
        buf_advance(&text, READ_SIZE - stream->avail_out);
    } while (stream->avail_out == 0);
    sockets->received(socket, text.at, text.length);
    buf_release(&text);
}

/* A frame of a message. */
static void take_text(struct sockets *sockets,
                      struct socket *socket,
                      unsigned head,
                      const char *text,
                      size_t length)
{
    const bool is_last = (head & FRAME_FINAL) != 0;
    if (socket->message.length == 0) {
        socket->is_deflated = (head & FRAME_DEFLATED) != 0;
    }
    if (is_last && !socket->is_deflated && socket->message.length == 0) {
        sockets->received(socket, text, length);
        return;
    }
    buf_append(&socket->message, text, length);
    if (is_last) {
        struct buf message = socket->message;
        socket->message = (struct buf){0};
        if (socket->is_deflated) {
            take_deflated(sockets, socket, &message);
        } else {
            sockets->received(socket, message.at, message.length);
        }
        buf_release(&message);
    }
}

/* The same for a frame. */
static size_t take_frame(struct sockets *sockets,
                         struct socket *socket,
                         const char *bytes,
                         size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;
    if (count < 2) {
        return 0;
    }
    uint64_t length = at[1] & 0x7fU;
    size_t head = 2;
    if (length >= 126) {
        const size_t wide = length == 126 ? 2 : 8;
        if (count < head + wide) {
            return 0;
        }
        length = 0;
        for (size_t i = 0; i < wide; i++) {
            length = length << 8 | at[head++];
        }
    }
    if (count - head < length) {
        return 0;
    }
    const unsigned opcode = at[0] & 0x0fU;
    if (opcode <= OPCODE_TEXT) {
        take_text(sockets, socket, at[0], bytes + head, length);
    } else if (opcode == OPCODE_PING) {
        send_frame(sockets, socket, OPCODE_PONG, bytes + head, length);
    } else if (opcode == OPCODE_CLOSE) {
        lose(sockets, socket);
    }
    return head + length;
}

/* Returns how many bytes were complete. */
static size_t take_all(struct sockets *sockets,
                       struct socket *socket,
                       const char *bytes,
                       size_t count)
{
    size_t taken = 0;
    while (taken < count && socket->state != SOCKET_CLOSED) {
        const size_t now =
            socket->state == SOCKET_OPEN
                ? take_frame(sockets, socket, bytes + taken, count - taken)
                : take_upgrade(sockets, socket, bytes + taken, count - taken);
        if (now == 0) {
            break;
        }
        taken += now;
    }
    return taken;
}

static void read_bytes(struct sockets *sockets, struct socket *socket)
{
    const bool fresh = socket->unread.length == 0;
    char *to = fresh ? scratch : buf_reserve(&socket->unread, READ_SIZE);
    const ssize_t got = recv(socket->fd, to, READ_SIZE, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        lose(sockets, socket);
        return;
    }
    sockets->bytes_received += (uint64_t)got;
    if (fresh) {
        const size_t count = (size_t)got;
        const size_t taken = take_all(sockets, socket, scratch, count);
        if (socket->state != SOCKET_CLOSED && taken < count) {
            buf_append(&socket->unread, scratch + taken, count - taken);
        }
        return;
    }
    buf_advance(&socket->unread, (size_t)got);
    /* Taken out, because a callback may close the socket. */
    struct buf unread = socket->unread;
    socket->unread = (struct buf){0};
    const size_t taken = take_all(sockets, socket, unread.at, unread.length);
    if (socket->state == SOCKET_CLOSED || taken == unread.length) {
        buf_release(&unread);
        return;
    }
    memmove(unread.at, unread.at + taken, unread.length - taken);
    unread.length -= taken;
    socket->unread = unread;
}

int sockets_turn(struct sockets *sockets, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    const int count =
        epoll_wait(sockets->epoll, events, EVENTS_MAX, timeout_ms);
    for (int i = 0; i < count; i++) {
        struct socket *socket = events[i].data.ptr;
        const uint32_t what = events[i].events;
        if (socket->state == SOCKET_CLOSED) {
            continue;
        }
        if (socket->state == SOCKET_CONNECTING) {
            if ((what & (EPOLLERR | EPOLLHUP)) != 0) {
                lose(sockets, socket);
            } else if ((what & EPOLLOUT) != 0) {
                send_upgrade(sockets, socket);
            }
            continue;
        }
        if ((what & EPOLLOUT) != 0 && socket->unsent.length > 0) {
            send_rest(sockets, socket);
        }
        if ((what & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) {
            read_bytes(sockets, socket);
        }
    }
    return count;
}
