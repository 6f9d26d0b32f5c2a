/* A server: the spaces of a data directory, over the network.
 *
 *   connections (one I/O thread)  ->  inboxes  ->  workers, each with the hubs
 *   and engines of its spaces
 *
 *   struct server *server;
 *   err = server_open(&options, &server, &detail);
 *   ... server_reload(server, &options, &detail) ...
 *   server_drain(server, 5000);
 *   server_close(server);
 *
 *   server-1  A space belongs to one worker, by the hash of its name. So hubs
 *             and engines need no locks, and spaces on different workers do not
 *             wait for each other.
 *   server-2  The I/O thread never waits for a disk.
 *   server-3  A verdict is sent when its commit is as durable as
 *             options.durability says. A server that is killed loses no commit
 *             that it acknowledged.
 *   server-4  A server with is_insecure listens on a loopback address only.
 *   server-5  A directory has at most one server. Two would be safe for the
 *             data, but each would know only its own clients: sessions,
 *             revocations and the order of changes would depend on which of
 *             them a client has found. */

#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "base/log.h"
#include "server/authenticate.h"
#include "server/limits.h"
#include "store/database.h"

struct server;

enum {
    ORIGINS_MAX = 64
};

/* A zero field means the default or none. Borrowed for the call, except the
 * log. */
struct server_options {
    const char *folder;
    const char *address; /* default "127.0.0.1" */
    uint16_t port;       /* 0: the system chooses */
    const char *certificate;
    const char *private_key;
    const char *key_file;  /* of the server; default DIR/server.key, which is
                              created if it does not exist */
    const char *audience;  /* default: of the key */
    const char *jwks_file; /* of issuers */
    const char *owners[OWNERS_MAX];
    size_t owner_count;
    const char *origins[ORIGINS_MAX]; /* whose web pages may use the server,
                                         as net/net.h has them */
    size_t origin_count;
    enum durability durability;
    unsigned workers; /* default: one per processor, at most 8 */
    uint32_t idle_ms;
    bool is_insecure; /* server-4 */
    bool compress;
    struct server_limits limits; /* all zero: the default */
    const struct log *log;
    const char *version; /* of the program, for metrics; static; may be NULL */

    /* An operator asks the server to end: the host drains it soon. Called by a
     * worker, which must not wait. NULL: nobody can ask. */
    void (*asked_to_end)(void *ctx);
    void *ctx;
};

/* Whether a server could be opened with these: files, names, addresses. */
MUST_CHECK enum err server_check(const struct server_options *options,
                                 struct err_detail *detail);

/* BUSY: another server has the directory (server-5). */
MUST_CHECK enum err server_open(const struct server_options *options,
                                struct server **out,
                                struct err_detail *detail);

/* The server of a directory, an object, new; absent: none runs there.
 *
 *   {"pid":4711,"url":"ws://127.0.0.1:8800","insecureLocal":false,
 *    "since":1700000000000} */
struct value server_presence(const char *folder);

uint16_t server_port(const struct server *server);
const char *server_audience(const struct server *server);

/* Reads certificate, key set, owners and origins again. On an error everything
 * is as it was. */
MUST_CHECK enum err server_reload(struct server *server,
                                  const struct server_options *options,
                                  struct err_detail *detail);

/* Accepts nothing new, tells the clients to go elsewhere, and waits until
 * everything that has arrived is answered, at most this long. */
void server_drain(struct server *server, uint32_t most_ms);

/* Ends it. */
void server_close(struct server *server);

#endif
