/* A space as this runtime sees it, with its pending commits.
 *
 * A commit is applied here first: it gets a local sequence number, becomes a
 * layer on each entity that it writes, and subscribers are notified. Then it is
 * sent to the store, which decides.
 *
 *   accepted   The verdict names the seq. The commit is parked until the store
 *              has also sent everything that happened before that seq (the
 *              marker). Then its layers become part of the confirmed state.
 *              Nothing visible changes.
 *   refused    The layers are dropped, and so is every later commit that read
 *              from them, transitively. Each of them has one REVERT. A conflict
 *              waits for the marker first, so that the revert shows what won.
 *
 *   space-1  A commit has one verdict, and the store decides it.
 *   space-2  `pending` is in the order of local sequence numbers.
 *   space-3  A commit that names a layer which did not land is never sent
 *            again, and does not count as accepted, whatever the store says.
 *
 * A space without a session is its own authority: commits are confirmed when
 * they are applied, and there are no layers. */

#ifndef REPLICA_SPACE_H
#define REPLICA_SPACE_H

#include "base/list.h"
#include "proto/commit.h"
#include "replica/channel.h"
#include "replica/overlay.h"
#include "replica/replica.h"
#include "replica/transaction.h"

struct message;
struct session;
struct transport;

/* Callbacks for observations (replica/observe.h). Either may be NULL. Called
 * between notifications; neither may commit.
 *
 *   told      a peer's run, recorded by the store with this watermark; the
 *             changes up to it have been published
 *   dropped   one of ours was not recorded; its commit, if any, landed */
struct observer {
    void (*told)(void *ctx,
                 struct space *space,
                 uint64_t seq,
                 struct observation *observation);
    void (*dropped)(void *ctx,
                    const struct space *space,
                    const struct observation *observation,
                    enum observation_outcome outcome);
    void *ctx;
};

struct space {
    struct list_node node; /* in the replica's spaces */
    struct replica *replica;
    struct value id;
    struct value branch;     /* string; "" is the main branch */
    struct map entities;     /* struct entity by scope and id */
    struct session *session; /* NULL: its own authority */
    bool batch;              /* commits wait for space_flush */
    bool held; /* commits wait until it is false; other messages do not */
    uint64_t applied; /* the epoch of the last transaction applied here */

    uint64_t local_seq;          /* of the last commit */
    uint64_t seq;                /* the last one received; without a session,
                                    the number of commits */
    struct list pending;         /* space-2 */
    uint64_t ahead;              /* of those, commits whose layers are not part
                                    of the confirmed state, so not in `seq` */
    struct pending *last_found;  /* of those, by pending.c; or NULL */
    size_t dead;                 /* of those, refused or doomed */
    uint64_t caught_up;          /* the marker: local seq; */
    bool markers;                /* whether the store sends them */
    bool others;                 /* at opening, other sessions subscribed to
                                    observations, too */
    VEC(struct entity *) wanted; /* to be watched */
    VEC(struct target)
    unwanted; /* not to be watched any more; each id is a reference */
    struct list selectors; /* struct space_request (space_selector.h) */
    bool reach_lost;       /* an entity is */
    size_t unloaded;       /* number of unloaded entities */
    bool filling;          /* all of them were wanted: sched/lanes.c */
    VEC(struct entity *)
    loading; /* requested, and not here at that time; space_is_loading drops
                those that have arrived */
    struct observer observer;
};

enum pending_state {
    PENDING_QUEUED,   /* not sent on this connection */
    PENDING_SENT,     /* no verdict yet */
    PENDING_ACCEPTED, /* parked */
    PENDING_REFUSED,  /* its layers are dead, and are dropped with the marker */
};

struct pending {
    struct list_node node; /* in the space's pending */
    struct space *space;
    struct commit commit;          /* its local_seq is the identity */
    VEC(struct entity *) entities; /* one per operation */
    enum pending_state state;
    bool doomed;   /* space-3 */
    bool promoted; /* its layers are part of the confirmed state */
    bool unsure;   /* sent on a lost connection: the store may have it */
    struct verdict verdict;
    mono_ms deadline; /* refused: dropped then, with or without a marker */
    const void *source;
    const void *group;
    struct commit_watch watch;
};

enum {
    SPACE_REPAIR_MS = 30000, /* the longest wait for a marker */
};

/* A zero field means the default. */
struct space_options {
    struct value id;             /* string: the space's name */
    struct value branch;         /* string or absent */
    struct transport *transport; /* NULL: the space is its own authority */
    struct value session;        /* string: the author of commits; absent: the
                                    store chooses */
    uint64_t first_local_seq;    /* of a session that resumes; default 1 */
    uint64_t seed;               /* for the jitter of reconnects */
    mono_ms backoff_max;         /* between two of them; default
                                    SESSION_BACKOFF_MAX_MS */
    bool batch;
    bool deltas; /* takes patches instead of documents: for a transport that
                    copies what it carries */
    struct observer observer; /* `told` subscribes at the store */
};

/* The space belongs to the replica. Nothing is sent yet. */
MUST_CHECK enum err space_open(struct replica *replica,
                               const struct space_options *options,
                               struct space **out,
                               struct err_detail *detail);

/* Closes at once: what is outstanding settles as CLOSED, whatever the store
 * will decide. To wait, step the replica until space_outstanding is 0 first. */
void space_close(struct space *space);

/* Commits without a verdict, or whose verdict has not been caught up with. */
size_t space_outstanding(const struct space *space);

/* Sends what is queued, in one message. */
void space_flush(struct space *space);

/* The same with one message that asks for documents and one of commits, which
 * becomes one transaction of the store. True: something went out, and there is
 * more. */
bool space_flush_group(struct space *space);

/* Whether that would send commits, unless they are held. */
bool space_has_commits(const struct space *space);

/* Asks the store to send an entity, and its changes from now on. */
void space_want(struct space *space, struct entity *entity);

/* Likewise, but only changes after `seq`: the state at that seq is known. The
 * entity is unloaded (entity-4) until it is wanted or changes. One that is not
 * here and is known at another seq is wanted: its states at both seqs and its
 * present one may all differ. */
void space_follow(struct space *space, struct entity *entity, uint64_t seq);

/* The store need not report changes of an entity any more, which is about to be
 * dropped. False: its answer is still to come, and the entity has to stay. For
 * documents that are written once: if one is wanted again, older messages about
 * it may arrive first. */
bool space_unwant(struct space *space, struct entity *entity);
void space_forget_unwanted(struct space *space); /* the store knows */

/* Wants all unloaded entities; returns whether there was one. */
bool space_fill(struct space *space);

/* Whether a requested document has not arrived yet. */
bool space_is_loading(struct space *space);

/* Watches again what the store has not answered yet, because the request may be
 * lost; and with `answered` also the rest, because the store has forgotten the
 * session. */
void space_watch_again(struct space *space, bool answered);

/* With the next message, as it is: unloaded, or to be sent. */
void space_watch(struct space *space, struct entity *entity);

/* Drops everything that the store has said: what is outstanding settles as
 * refused, once each, all documents are absent, and RESET is published. */
void space_reset(struct space *space);

/* -- For the transaction ------------------------------------------------- */

/* Makes a commit of the transaction's writes to this space, applies it,
 * notifies, and queues it. The drafts are finished and have an effect. */
MUST_CHECK enum err space_apply(struct space *space,
                                struct transaction *transaction,
                                struct err_detail *detail);

/* A commit to a space without a store has its verdict at once. */
void space_settle_local(const struct space *space,
                        const struct transaction *transaction);

/* -- For the session ----------------------------------------------------- */

/* Integrates a sync: upserts, removes, then the marker, then one
 * notification. False, with nothing changed: a delta is not for the state that
 * is here, so the store must be asked again. */
MUST_CHECK bool space_take_sync(struct space *space, struct message *message);

/* The state of the document at the store is unknown from now on. Called while
 * changes are collected. */
void space_remove(struct space *space, struct entity *entity);

/* There will be no marker for what is parked or waits: settles it now. */
void space_settle_parked(struct space *space);

/* Drops what has waited long enough for a marker. And when to look again. */
void space_step(struct space *space, mono_ms now);
mono_ms space_next_wake(const struct space *space);

/* -- For the replica ----------------------------------------------------- */

void pending_free(struct pending *pending);

#endif
