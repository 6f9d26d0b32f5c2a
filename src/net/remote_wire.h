/* A wire (host/wire.h) on a WebSocket: what a runtime needs to reach a server.
 *
 * The I/O thread of the net queues what it receives, as text; the thread of the
 * runtime takes it. Nothing else crosses.
 *
 *   remote-wire-1  What is received and not taken is bounded: over
 *                  REMOTE_WIRE_BYTES, reading from the server stops until the
 *                  runtime has caught up.
 *   remote-wire-2  The hooks of base/mem.h must be safe for threads: those of
 *                  the C library are. */

#ifndef NET_REMOTE_WIRE_H
#define NET_REMOTE_WIRE_H

#include "base/log.h"
#include "host/remote.h"

enum {
    REMOTE_WIRE_BYTES = 64 << 20, /* remote-wire-1 */
};

struct remote_server {
    const char *url;       /* ws://, wss://, http:// or https:// */
    const char *token;     /* NULL: none */
    const char *key_file;  /* of the identity to prove; NULL: none */
    const char *user;      /* for a server without keys; NULL: none */
    const char *authority; /* PEM file, instead of the system's; NULL: none */
    const struct log *log;
};

/* Whether a text is the URL of a server rather than a directory. */
bool remote_is_url(const char *text);

/* A remote that has not dialed yet; the caller gives it to a live host or frees
 * it. ARGUMENT: the URL is invalid; errors of the key file (auth/key.h). */
MUST_CHECK enum err remote_server_new(const struct remote_server *server,
                                      struct remote **out,
                                      struct err_detail *detail);

#endif
