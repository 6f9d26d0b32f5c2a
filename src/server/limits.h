/* The limits of a server on what a stranger can make large.
 *
 * Each refusal names the limit and, where waiting helps, when to come back.
 * The limits of bytes and connections are enforced by net/net.h, the others by
 * the connection (I/O thread) and the shard (worker) that count what they
 * limit. A setting of heddle.conf changes each (server/config.h). */

#ifndef SERVER_LIMITS_H
#define SERVER_LIMITS_H

#include <stdint.h>

struct server_limits {
    uint32_t message_bytes;           /* of one WebSocket message */
    uint32_t request_bytes;           /* of one HTTP body */
    uint32_t queue_bytes;             /* to a reader that is slow */
    uint32_t connections;             /* in all */
    uint32_t connections_per_address; /* 0: no limit */
    uint32_t handshake_ms;            /* until a request is complete */
    uint32_t channels;                /* of one connection */
    uint32_t watches;                 /* of one channel */
    uint32_t sessions_per_principal;  /* of one space */
    uint32_t messages_per_second;     /* of one principal; 0: no limit */
    uint32_t open_spaces;             /* files at a time */
    uint32_t inbox_bytes;             /* of one connection, not processed */
};

static inline struct server_limits server_limits_default(void)
{
    return (struct server_limits){
        .message_bytes = 16 * 1024 * 1024,
        .request_bytes = 16 * 1024 * 1024,
        .queue_bytes = 32 * 1024 * 1024,
        .connections = 20000,
        .connections_per_address = 0,
        .handshake_ms = 10000,
        .channels = 1000,
        .watches = 1000000,
        .sessions_per_principal = 10000,
        .messages_per_second = 20000,
        .open_spaces = 2000,
        .inbox_bytes = 4 * 1024 * 1024,
    };
}

#endif
