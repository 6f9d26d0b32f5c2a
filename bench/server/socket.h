/* Client sockets of the load generator: WebSocket over TCP on loopback, many
 * in one thread, as cheap as a client can be.
 *
 * Frames are masked with the key 0, so that masking costs the client nothing;
 * the server unmasks as always. The handshake's answer is not verified beyond
 * its status. What is received may be compressed, what is sent is not.
 *
 *   socket-1  A socket calls back only from sockets_turn, and never after
 *             socket_close. */

#ifndef BENCH_SERVER_SOCKET_H
#define BENCH_SERVER_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum socket_state {
    SOCKET_CLOSED,
    SOCKET_CONNECTING,
    SOCKET_UPGRADING,
    SOCKET_OPEN,
};

/* All zero is closed. */
struct socket {
    int fd;
    enum socket_state state;
    bool wants_write;            /* epoll reports it as writable */
    struct buf unread;           /* the beginning of a frame */
    struct buf message;          /* the first frames of a message */
    bool is_deflated;            /* the message */
    struct z_stream_s *inflater; /* of a compressed connection, or NULL */
    struct buf unsent;
};

struct sockets {
    int epoll;
    uint16_t port;
    const char *path;
    const char *protocol; /* subprotocol, or NULL */
    bool compress;        /* asks for permessage-deflate */
    uint64_t bytes_received;

    void (*opened)(struct socket *socket);
    void (*received)(struct socket *socket, const char *text, size_t length);
    void (*lost)(struct socket *socket); /* it is closed */
};

void sockets_init(struct sockets *sockets);

/* Begins to connect; `opened` or `lost` is called later. */
void socket_dial(struct sockets *sockets, struct socket *socket);
void socket_close(struct socket *socket);

/* One text frame. */
void socket_send(struct sockets *sockets,
                 struct socket *socket,
                 const char *text,
                 size_t length);

/* Waits for events, at most so long, and handles them. Returns how many there
 * were. */
int sockets_turn(struct sockets *sockets, int timeout_ms);

#endif
