/* The hub: a store's side of its connections.
 *
 * One hub serves one engine to many *sessions*. A session is somebody who
 * commits and watches documents; it has at most one connection, a *peer*, and
 * outlives it for a while, so that who comes back goes on where it was. What
 * lands, here or in another process on the same file, is told to those who
 * watch it, with as little as they need: one sync a session and flush, holding
 * every watched document that has changed, whole.
 *
 *   H1  A verdict is sent before any sync that covers its commit.
 *   H2  The syncs of a session are contiguous: each begins where the one before
 *       ended. All documents of one sync are of one state of the space, and
 *       after it the replica's watched documents are that state.
 *   H3  A document is left out of a sync only if the session holds it: it was
 *       sent, or it is the session's own commit upon what it held; or it is
 *       what the session has said that it knows.
 *   H4  A session that is owed something is in `owing`; nothing is walked that
 *       has nothing to do with what happened.
 *   H5  A fault of the engine is no verdict. Its peer is broken, and comes
 *       back.
 *   H6  An observation that was kept is told to the others on its branch who
 *       asked for observations, with the first sync that covers its seq; also
 *       if it came to another hub on the same file, of this process or any.
 *
 * A send may call back into the hub, and so may everything else that the host
 * does then: what is to be sent waits in the outbox until the hub's own state
 * is whole, and goes out in order.
 *
 * It does no I/O but the engine's and reads no clock: time is an argument. A
 * hub and its engine belong to one thread. */

#ifndef HOST_HUB_H
#define HOST_HUB_H

#include "base/host.h"
#include "base/list.h"
#include "base/log.h"
#include "base/random.h"
#include "proto/message.h"
#include "store/engine.h"

struct hub;
struct hub_session;

enum {
    HUB_KEEP_MS = 30000, /* a session without a peer */
    HUB_POLL_MS = 20,    /* how often others' commits are looked for */
};

/* A zero field means the default. */
struct hub_options {
    bool immediate; /* flush after everything that is received or noticed;
                       otherwise when hub_flush is called */
    uint64_t seed;  /* for the names of sessions that have none: nobody can
                       guess it, and it is never used twice */
    mono_ms poll;   /* hub_set_poll; default HUB_POLL_MS */
    const struct log *log;
    uint64_t (*wall_ms)(void *ctx); /* for people; NULL: always 0 */

    /* What is said to a commit before the engine sees it. OK lets it go on,
     * anything else is its verdict. NULL: all go on. */
    enum err (*judge)(void *ctx,
                      const struct commit *commit,
                      struct err_detail *detail);
    void *ctx;

    /* An observation with its places was kept: for host/mirrors.h. Must not
     * call the hub. NULL: nobody wants to know. */
    void (*observed)(void *ctx,
                     struct value branch,
                     const struct observation *observation);
    void *observed_ctx;
};

/* A connection. Belongs to its host, from hub_attach to hub_detach. */
struct hub_peer {
    struct hub *hub;
    struct value principal;      /* string, or absent: nobody in particular */
    struct hub_session *session; /* NULL: not open yet, or over */
    struct message_order order;
    uint64_t sent; /* messages on this connection */
    bool over;     /* broken or revoked: nothing is taken from it any more */

    /* Takes the content of `message` over and leaves it empty. */
    void (*send)(void *ctx, struct message *message);

    /* The connection is of no use any more: the host drops it. */
    void (*broken)(void *ctx);
    void *ctx;
};

/* What the engine is asked to do. */
enum hub_work {
    HUB_READING,
    HUB_WATCHING, /* to read the documents that a session asks for: one of them
                     can be damaged where all else works */
    HUB_WRITING,
    HUB_WORK_COUNT,
};

struct hub_outgoing {
    struct hub_peer *peer; /* NULL: it has gone */
    bool broken;           /* not a message */
    struct message message;
};

struct hub {
    struct engine *engine; /* borrowed */
    struct hub_options options;
    struct random random;
    struct map sessions;   /* struct hub_session by id */
    struct map documents;  /* struct hub_document by branch, scope key and id */
    struct list owing;     /* H4 */
    struct list idle;      /* sessions without a peer, by when they end */
    struct list listening; /* sessions that want observations */
    size_t peers;
    mono_ms now;
    mono_ms polled;

    uint64_t seq;       /* what landed up to here has been noticed */
    uint64_t changes;   /* database_changes then, or 0 */
    uint64_t heard_seq; /* what others have run was heard then */

    VEC(struct hub_outgoing) outbox;
    size_t outbox_sent;
    unsigned depth; /* calls that are under way: the outermost sends */
    VEC(struct engine_request) requests;

    /* Why it did not work the last time (H5); OK: it did. For the host, to
     * report it: what is waited for is tried again. */
    struct err_detail troubles[HUB_WORK_COUNT];

    struct hub_counters {
        uint64_t frames;       /* syncs */
        uint64_t upserts;      /* in them */
        uint64_t echoes;       /* own commits that needed none */
        uint64_t answers;      /* documents, to those who asked for them */
        uint64_t follows;      /* documents that were not to be sent */
        uint64_t observations; /* told, once a session */
        uint64_t feeds;        /* looks at what others have committed */
        uint64_t conflicts;    /* commits that were refused because of one */
        uint64_t faults;
    } counters;
};

void hub_init(struct hub *hub,
              struct engine *engine,
              const struct hub_options *options,
              mono_ms now);

/* All peers have been detached. */
void hub_release(struct hub *hub);

/* A new connection; nothing is sent before it opens. `principal` is a string
 * or absent, and known to be true. */
struct hub_peer *hub_attach(struct hub *hub,
                            struct value principal,
                            void (*send)(void *ctx, struct message *message),
                            void (*broken)(void *ctx),
                            void *ctx);

/* The end of a connection, also of one that is broken or revoked. Nothing is
 * sent to it any more. */
void hub_detach(struct hub_peer *peer);

/* Something came. Whatever it is, the answer is sent or the peer is broken,
 * unless it is stale: then it is ignored. */
void hub_receive(struct hub_peer *peer, const struct message *message);

/* Tells every session what it is owed. */
void hub_flush(struct hub *hub);

/* Notices what others have committed since the last time. Compares two words
 * if nothing was. */
void hub_poll(struct hub *hub);

/* How often others' commits are looked for while somebody watches: a host that
 * is told of them otherwise (and polls then) can do with less. */
void hub_set_poll(struct hub *hub, mono_ms every);

/* Everything that is due at `now`: a poll, sessions that end, syncs that
 * failed. And when to call again. */
void hub_step(struct hub *hub, mono_ms now);
mono_ms hub_next_wake(const struct hub *hub);

#endif
