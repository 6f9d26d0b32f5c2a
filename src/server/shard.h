/* A shard: the spaces of one worker, and the channels to them.
 *
 *   struct shard shard;
 *   shard_init(&shard, &options, now);
 *   shard_turn(&shard, items, now);        takes the items over
 *   shard_tick(&shard, now);               about every SHARD_TICK_MS
 *   shard_release(&shard);
 *
 * A turn handles everything that has arrived since the last one. The commits of
 * a space, of all its sessions, are one group: one transaction and one sync to
 * disk. Then the verdicts are sent, and then the changes (hub-1).
 *
 *   shard-1  A shard belongs to one thread. It starts none and never sleeps,
 *            except in the engine, for the disk or for the write lock of
 *            another process.
 *   shard-2  A space is opened by the first attach or request, and closed after
 *            options.idle_ms without either, without sessions. At most
 *            limits.open_spaces are open at a time, over all shards.
 *   shard-3  Every message of a channel is answered, or the channel ends with a
 *            reason. A line that cannot be read ends its channel: the messages
 *            behind it would be out of order.
 *   shard-4  A change of the access document takes effect before the next
 *            commit is judged and before anything else is sent: the channels of
 *            principals that may no longer read end.
 *   shard-5  What a turn sends to a connection for one space is one WebSocket
 *            message, sent before the next space is settled.
 *
 * It does no I/O but the engine's: what is to be sent goes through a function,
 * so a test can be the network. */

#ifndef SERVER_SHARD_H
#define SERVER_SHARD_H

#include "base/host.h"
#include "base/list.h"
#include "host/client_leases.h"
#include "host/hub.h"
#include "server/access.h"
#include "server/authenticate.h"
#include "server/inbox.h"
#include "server/limits.h"
#include "server/metrics.h"
#include "server/space_board.h"

/* A space without a file, for clients that ask about the server and know no
 * space (server/admin.h). */
#define SHARD_SERVER_SPACE "server:"

struct backup_file;
struct maintenance;
struct route_answer;
struct route_space;
struct wake;

enum {
    SHARD_TICK_MS = 250,
    SHARD_IDLE_MS = 60000, /* default of idle_ms */
    SHARD_CLOSES = 16,     /* of idle spaces per tick: each takes a moment */
    SHARD_QUIET_MS = 1000, /* between polls of a file whose writes wake us */
    SHARD_BUSY_RETRY_MS = 1000,
};

struct shard_options {
    const char *folder; /* NULL: in memory, for tests; what is closed is lost */
    enum durability durability;
    mono_ms idle_ms;
    struct server_limits limits;
    unsigned number;                                    /* of the worker */
    const struct authenticator *_Atomic *authenticator; /* may change */
    struct metrics *metrics;
    _Atomic uint32_t *open_spaces; /* of all shards */
    _Atomic bool *is_draining;
    const struct log *log;
    uint64_t (*random)(void *ctx);
    uint64_t (*wall_ms)(void *ctx);
    uint64_t (*now_us)(void *ctx); /* for metrics; NULL: nothing is timed */
    uint64_t secret;               /* of the server (server/routes.h) */

    /* Sends text messages; takes the references over. */
    void (*send)(void *ctx, const struct net_outgoing *messages, size_t count);
    void (*respond)(void *ctx, net_id id, struct route_answer *answer);
    void (*end)(void *ctx, net_id id);    /* of a stream */
    void (*resume)(void *ctx, net_id id); /* reading, after a pause */
    void (*count)(void *ctx, struct net_counters *out);
    void (*drain)(void *ctx); /* begins to, as after SIGTERM; NULL: cannot */
    void *ctx;

    struct space_board *board;       /* or NULL */
    struct maintenance *maintenance; /* NULL: there are no files */
    struct wake *wake; /* watches the files; NULL: they are polled */
};

/* A principal in a space. */
struct account {
    struct value principal; /* or absent */
    uint32_t channels;
    uint32_t budget; /* messages that it may send until the second is over */
    mono_ms since;   /* when the second began */
};

/* A space that is open. */
struct shard_space {
    struct shard *shard;
    struct value name;
    struct engine engine;
    struct hub hub;
    struct list channels;
    struct map accounts; /* struct account by principal */
    uint32_t followers;  /* channels that follow */
    bool has_new_events; /* since they were told */
    struct list_node in_touched;
    int watch;                   /* of its lock file (host/wake.h) */
    struct list_node in_written; /* its lock file was, since the last look */
    struct list_node in_waiting; /* a request waits for a time */
    mono_ms used;                /* the last time */
    struct access access;
    bool access_is_stale;       /* a commit to the access document was judged */
    struct hub_peer *observer;  /* of the access document (shard-4) */
    struct route_space *routes; /* requests that wait */
    size_t sessions;            /* of the hub, as the metrics have them */
    struct board_entry *entry;  /* or NULL */
    bool is_server;             /* SHARD_SERVER_SPACE */
    struct client_leases leases;
};

/* A connection, as a shard knows it. */
struct shard_port {
    struct port *port;
    struct buf out;                       /* what the turn sends to it */
    VEC_SMALL(struct channel *) channels; /* by number; NULL: none */
    struct list_node in_touched;
};

struct channel {
    struct shard_space *space;
    struct shard_port *port;
    uint32_t number;
    struct list_node in_space;
    struct list_node in_over;
    struct hub_peer *peer;
    struct credential credential;
    struct value principal; /* of the credential; absent: anonymous */
    enum capability capability;
    struct value session;  /* that it was attached for; absent: any */
    struct value instance; /* of the runtime behind it; or absent */
    bool is_over;          /* ends when the hub is at rest: in `over` */
    enum err reason;       /* then; OK: it broke */
    char why[128];
    struct account *account;
    struct lease_holder holder;
    uint64_t since_ms;          /* when it was attached */
    uint64_t job;               /* of the maintenance, or 0: none */
    struct backup_file *backup; /* that it can read, or NULL */
    bool follows; /* has asked for waiting events (host/questions.h), and is
                     told when there may be new ones */
};

struct shard {
    struct shard_options options;
    const struct authenticator *authenticator; /* of this turn */
    mono_ms now;
    struct map spaces;   /* struct shard_space by name */
    struct map ports;    /* struct shard_port by net_id */
    struct map watched;  /* struct shard_space by `watch` */
    struct list written; /* spaces */
    struct list waiting; /* spaces */
    struct list touched_spaces;
    struct list touched_ports;
    struct list over; /* channels that end */
    struct path_table paths;
    VEC(struct net_outgoing) outgoing;
    uint64_t jobs;                   /* that were submitted */
    const struct credential *asking; /* of the request that is handled */
};

void shard_init(struct shard *shard,
                const struct shard_options *options,
                mono_ms now);
void shard_release(struct shard *shard);

/* The items are a list (inbox_take). */
void shard_turn(struct shard *shard, struct item *items, mono_ms now);

/* What time brings: sessions and credentials that end, spaces that are idle,
 * requests that waited for too long. */
void shard_tick(struct shard *shard, mono_ms now);

/* When something is due before the next tick; MONO_NEVER: nothing is. */
mono_ms shard_next_wake(const struct shard *shard);

/* What is due: requests that waited for long enough. */
void shard_wake(struct shard *shard, mono_ms now);

/* The server drains: HTTP requests that wait, and streams, are ended. */
void shard_drain(struct shard *shard, mono_ms now);

/* Microseconds, for durations; always 0 if nothing is timed. */
uint64_t shard_us(const struct shard *shard);

/* Commits of other processes, of which options.wake has learnt. */
void shard_notice_writes(struct shard *shard);

#endif
