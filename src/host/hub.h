/* The hub: a store's side of its connections.
 *
 * One hub serves one engine to many *sessions*. A session commits, and watches
 * documents. It has at most one connection, a *peer*, and outlives it for a
 * while, so that a client that reconnects continues where it was. Commits that
 * land, here or in another process on the same file, are sent to the sessions
 * that watch their documents: one sync per session and flush, with every
 * watched document that has changed, whole.
 *
 *   hub-1  A verdict is sent before any sync that covers its commit.
 *   hub-2  The syncs of a session are contiguous: each begins where the
 *          previous one ended. All documents of one sync are of one state of
 *          the space, and after it the replica's watched documents have that
 *          state.
 *   hub-3  A document is left out of a sync only if the session holds it: it
 *          was sent, or it results from the session's own commit on what it
 *          held, or the session has said that it knows it.
 *   hub-4  A session that is owed something is in `owing`; the cost of an event
 *          is independent of sessions and documents that it does not concern.
 *   hub-5  A fault of the engine is not a verdict. Every peer with a commit in
 *          the group is broken, and reconnects.
 *   hub-6  A kept observation is sent to the other sessions on its branch that
 *          asked for observations, with the first sync that covers its seq;
 *          also if another hub on the same file, in any process, received it.
 *   hub-7  A session with selectors (host/selectors.h) also watches what they
 *          reach, and is told with each sync what came and what left.
 *
 *   hub-7  With tokens, each `opened` brings a new token. A session that has a
 *          peer is taken over only by an `open` with its current token;
 *          another one is revoked ("in-use"). A session without a peer is
 *          resumed only with that token; otherwise it ends, and a new one of
 *          that name begins. Until the peer has sent a message, the token that
 *          it has shown is as good as the new one, which may be lost.
 *
 * A send may call back into the hub, and so may the host meanwhile. So messages
 * wait in the outbox until the hub's own state is consistent, and are sent in
 * order.
 *
 * A hub does no I/O but the engine's and reads no clock: time is an argument. A
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
struct hub_document;
struct hub_session;

enum {
    HUB_KEEP_MS = 30000, /* a session without a peer */
    HUB_POLL_MS = 20,    /* between polls for commits of other processes */
};

/* A commit that is to be judged before the engine sees it. */
struct hub_judgement {
    const struct commit *commit; /* of the session and the branch of its peer */
    const struct hub_peer *peer;
    struct value principal; /* of the session: string, or absent */

    /* Set by the judge: the verdict of this commit can change what the judge
     * says about later ones, so it is decided before they are judged. */
    bool barrier;
};

/* A zero field means the default. */
struct hub_options {
    bool immediate; /* flush after everything that is received or noticed;
                       otherwise when hub_flush is called */
    uint64_t seed;  /* for the names of sessions that have none: unguessable,
                       and never used twice */
    struct value space; /* string: the name of the space, so that selectors
                           follow links that name it; or absent */
    mono_ms poll;       /* hub_set_poll; default HUB_POLL_MS */
    bool long_deltas;   /* sends also patches that are longer than their
                           document: for tests, whose documents are small */
    const struct log *log;
    uint64_t (*wall_ms)(void *ctx); /* for people; NULL: always 0 */

    /* Numbers that cannot be guessed, for the tokens of sessions (hub-7). NULL:
     * sessions have none, and who has the principal of a session may take it
     * over. */
    uint64_t (*tokens)(void *ctx);

    /* Judges a commit before the engine sees it. Anything but OK is its
     * verdict. Commits that arrived earlier may be undecided, unless one of
     * them was a barrier. Must not call the hub. NULL: the engine sees all. */
    enum err (*judge)(void *ctx,
                      struct hub_judgement *judgement,
                      struct err_detail *detail);
    void *ctx;

    /* An observation with its places was kept: for host/mirrors.h. Must not
     * call the hub. May be NULL. */
    void (*observed)(void *ctx,
                     struct value branch,
                     const struct observation *observation);
    void *observed_ctx;
};

/* A connection. The host owns it, from hub_attach to hub_detach. */
struct hub_peer {
    struct hub *hub;
    struct value principal;      /* string, or absent: anonymous */
    struct hub_session *session; /* NULL: not open yet, or closed */
    struct message_order order;
    uint64_t sent;           /* messages on this connection */
    bool over;               /* broken or revoked: its messages are ignored */
    uint64_t deferred_group; /* it has commits in this one; 0: none */
    uint64_t answered_group; /* its verdicts of this group are */
    size_t answer;           /* at this place in the outbox */

    /* Takes the content of `message` over and leaves it empty. */
    void (*send)(void *ctx, struct message *message);

    /* The connection is unusable: the host drops it. */
    void (*broken)(void *ctx);
    void *ctx;
};

/* Kinds of engine calls. */
enum hub_work {
    HUB_READING,
    HUB_WATCHING, /* reading the documents that a session asks for: one of them
                     can be damaged where all else works */
    HUB_WRITING,
    HUB_WORK_COUNT,
};

struct hub_outgoing {
    struct hub_peer *peer; /* NULL: it was detached */
    bool broken;           /* not a message */
    struct message message;
};

/* A message of commits that is to be decided with its group. */
struct hub_deferred {
    struct hub_peer *peer;
    struct message message;
};

/* A commit that the engine does not see. */
struct hub_refusal {
    size_t index; /* in the group */
    enum err err;
    struct err_detail detail;
    uint64_t head_seq;
};

struct hub {
    struct engine *engine; /* borrowed */
    struct hub_options options;
    struct random random;
    struct map sessions;   /* struct hub_session by id */
    struct map documents;  /* struct hub_document by branch, scope key and id */
    struct list owing;     /* hub-4 */
    struct list idle;      /* sessions without a peer, by when they end */
    struct list listening; /* sessions that want observations */
    VEC(struct hub_document *) read; /* by this flush (fanout-5) */
    size_t peers;
    mono_ms now;
    mono_ms polled;

    uint64_t seq;       /* commits up to here have been seen */
    uint64_t changes;   /* database_changes then, or 0 */
    uint64_t heard_seq; /* runs of other hubs have been seen up to here */

    VEC(struct hub_outgoing) outbox;
    size_t outbox_sent;
    unsigned depth; /* nested calls: the outermost sends */

    /* Commits (hub_commits.c). */
    bool grouping;  /* between hub_group_begin and hub_group_end */
    uint64_t group; /* groups that were decided */
    VEC(struct hub_deferred) deferred;
    VEC(struct engine_request) requests; /* while deciding */
    VEC(struct hub_refusal) refusals;    /* likewise, by index */

    /* The last failure of each kind of work (hub-5); OK: it succeeded. For the
     * host to report; pending work is retried. */
    struct err_detail troubles[HUB_WORK_COUNT];

    struct hub_counters {
        uint64_t frames;       /* syncs */
        uint64_t upserts;      /* in them */
        uint64_t deltas;       /* of those, patches */
        uint64_t echoes;       /* own commits that needed none */
        uint64_t answers;      /* documents, to sessions that asked */
        uint64_t reach_reads;  /* documents, read to follow their links or
                                  because a selector reaches them */
        uint64_t follows;      /* documents that were not to be sent */
        uint64_t observations; /* sent, counted per session */
        uint64_t feeds;        /* queries for landed commits */
        uint64_t groups;       /* transactions of the engine */
        uint64_t commits;      /* in them */
        uint64_t conflicts;    /* of those, refused because of one */
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
 * or absent, and authenticated. */
struct hub_peer *hub_attach(struct hub *hub,
                            struct value principal,
                            void (*send)(void *ctx, struct message *message),
                            void (*broken)(void *ctx),
                            void *ctx);

/* The end of a connection, also of a broken or revoked one. Nothing is sent to
 * it afterwards. */
void hub_detach(struct hub_peer *peer);

/* A message has arrived. The hub answers it or breaks the peer; it ignores a
 * stale message. The caller releases the message. */
void hub_receive(struct hub_peer *peer, struct message *message);

/* Between these two, commits that arrive are deferred, if their message owns
 * them: the hub takes the content over. All deferred commits of all peers are
 * decided by one transaction of the engine, in the order of their arrival, at
 * the end, or earlier if another message of such a peer, an `open` of any peer
 * or a borrowed message of commits arrives, or such a peer is broken or
 * detached. Each peer gets its verdicts in one message, before any sync
 * (hub-1). Groups do not nest. */
void hub_group_begin(struct hub *hub);
void hub_group_end(struct hub *hub);

/* Sends every session what it is owed. */
void hub_flush(struct hub *hub);

/* Processes commits of other processes since the last call. Compares two words
 * if there are none. */
void hub_poll(struct hub *hub);

/* How often to poll for commits of other processes while a session watches. A
 * host that learns of them otherwise (and polls then) can poll less often. */
void hub_set_poll(struct hub *hub, mono_ms every);

/* Does everything that is due at `now`: a poll, expired sessions, failed syncs.
 * And when to call again. */
void hub_step(struct hub *hub, mono_ms now);
mono_ms hub_next_wake(const struct hub *hub);

#endif
