/* A space as this runtime sees it, and its commits on their way to the store.
 *
 * A commit is applied here first: it gets a local sequence number, becomes a
 * layer on each entity that it writes, and is told of. Then it travels, and
 * one of two things happens.
 *
 *   accepted   The verdict names the seq. The commit is parked until the store
 *              has also told everything that happened before that seq (the
 *              marker); then its layers become part of the confirmed state.
 *              Nothing visible changes.
 *   refused    The layers are dropped, and so is every later commit that read
 *              from them, and so on. Each of them is told of by one REVERT. A
 *              conflict waits for the marker first, so that the revert shows
 *              what won.
 *
 *   S1  A commit has one fate, and it is the store's.
 *   S2  `pending` is in the order of local sequence numbers.
 *   S3  A commit that names a layer which did not land is never sent again,
 *       and not accepted whatever the store says.
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

/* Who wants to know about observations (replica/observe.h). Either may be
 * NULL. Called between notifications; neither may commit.
 *   told      a peer's run, kept by the store with this watermark; the changes
 *             up to it have been told of
 *   dropped   one of ours was not kept; its commit, if it had one, landed */
struct observer {
    void (*told)(void *ctx,
                 struct space *space,
                 uint64_t seq,
                 struct observation *observation);
    void (*dropped)(void *ctx,
                    const struct space *space,
                    const struct observation *observation,
                    enum observation_fate fate);
    void *ctx;
};

struct space {
    struct list_node node; /* in the replica's spaces */
    struct replica *replica;
    struct value id;
    struct value branch;     /* string; "" is the main one */
    struct map entities;     /* struct entity by scope and id */
    struct session *session; /* NULL: its own authority */
    bool batch;              /* commits wait for space_flush */
    bool held; /* commits wait until it is false, whatever else is sent */
    uint64_t applied; /* the epoch of the last transaction that was, here */

    uint64_t local_seq;          /* of the last commit */
    uint64_t seq;                /* the last one told of; without a session, the
                                    number of commits */
    struct list pending;         /* S2 */
    uint64_t ahead;              /* commits of those whose layers are not part
                                    of the confirmed state: they are not in
                                    `seq` */
    struct pending *last_found;  /* of those, by fate.c; or NULL */
    size_t dead;                 /* of those, refused or doomed */
    uint64_t caught_up;          /* the marker: local seq; */
    bool markers;                /* whether the store sends them */
    bool others;                 /* when it was opened, somebody else wanted to
                                    know of observations, too */
    VEC(struct entity *) wanted; /* to be watched */
    VEC(struct target)
    unwanted;      /* not to be watched any more; each id is a
                      reference */
    size_t hollow; /* entities that are; */
    bool filling;  /* all of them were wanted: sched/lanes.c */
    VEC(struct entity *)
    loading; /* that somebody asked for and that had not come
                then; space_is_loading forgets those that have */
    struct observer observer;
};

enum pending_state {
    PENDING_QUEUED,   /* not sent on this connection */
    PENDING_SENT,     /* no verdict yet */
    PENDING_ACCEPTED, /* parked */
    PENDING_REFUSED,  /* its layers are dead, and go with the marker */
};

struct pending {
    struct list_node node; /* in the space's pending */
    struct space *space;
    struct commit commit;          /* its local_seq is the identity */
    VEC(struct entity *) entities; /* of each operation */
    enum pending_state state;
    bool doomed;   /* S3 */
    bool promoted; /* its layers are part of the confirmed state */
    bool unsure;   /* sent on a connection that was lost: the store may have
                      it */
    struct verdict verdict;
    mono_ms deadline; /* refused: dropped then, marker or not */
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
    struct value session;        /* string: who commits; absent: the store
                                    chooses */
    uint64_t first_local_seq;    /* of a session that goes on; default 1 */
    uint64_t seed;               /* for the jitter of reconnects */
    mono_ms backoff_max;         /* between two of them; default
                                    SESSION_BACKOFF_MAX_MS */
    bool batch;
    struct observer observer; /* with `told`, the store tells */
};

/* The space belongs to the replica. Nothing is sent yet. */
MUST_CHECK enum err space_open(struct replica *replica,
                               const struct space_options *options,
                               struct space **out,
                               struct err_detail *detail);

/* At once: what is outstanding settles as CLOSED, whatever the store will do
 * with it. For a close that waits, step the replica until space_outstanding is
 * 0 first. */
void space_close(struct space *space);

/* Commits without a verdict that has been caught up with. */
size_t space_outstanding(const struct space *space);

/* Sends what waits, in one message. */
void space_flush(struct space *space);

/* The same with one message that asks for documents and one of commits, which
 * becomes one transaction of the store. True: something went out, and there is
 * more. */
bool space_flush_group(struct space *space);

/* Whether that would be commits, if they are not held. */
bool space_has_commits(const struct space *space);

/* Asks the store to tell about an entity from now on. */
void space_want(struct space *space, struct entity *entity);

/* Likewise, but of what the document is after `seq`: what it was then is known,
 * and need not be told. It is hollow (N4) until it is wanted or another one.
 * One that has not come, and is known as of another seq, is wanted: what it was
 * at the one may be neither what it was at the other nor what it is now. */
void space_follow(struct space *space, struct entity *entity, uint64_t seq);

/* The store need not tell about an entity any more, which is about to be
 * forgotten. False: its answer is still to come, and the entity has to stay.
 * For documents that are written once: if one is wanted again, what the store
 * said before it knew of this may come first. */
bool space_unwant(struct space *space, struct entity *entity);
void space_forget_unwanted(struct space *space); /* the store knows */

/* Wants all that is hollow; whether there was any. */
bool space_fill(struct space *space);

/* Whether something that somebody asked for has not come yet. */
bool space_is_loading(struct space *space);

/* What is watched is to be watched again: what the store has not answered yet,
 * which it may never have got; and if it has forgotten the session, the
 * `answered`, too. */
void space_watch_again(struct space *space, bool answered);

/* With the next message, as it is: hollow, or to be told. */
void space_watch(struct space *space, struct entity *entity);

/* Forgets everything that the store has said: what is outstanding settles as
 * refused, once each, all documents are absent, and RESET is told. */
void space_reset(struct space *space);

/* -- For the transaction ------------------------------------------------- */

/* Makes a commit of what the transaction has written here, applies it, tells,
 * and queues it. The drafts are finished and have an effect. */
MUST_CHECK enum err space_apply(struct space *space,
                                struct transaction *transaction,
                                struct err_detail *detail);

/* A commit to a space that is its own authority has its answer at once. */
void space_settle_local(const struct space *space,
                        const struct transaction *transaction);

/* -- For the session ----------------------------------------------------- */

/* Integrates a sync: upserts, removes, then the marker, then one
 * notification. */
void space_take_sync(struct space *space, const struct message *message);

/* There will be no marker for what is parked or waits: settle it now. */
void space_settle_parked(struct space *space);

/* What has waited long enough for a marker. And when to look again. */
void space_step(struct space *space, mono_ms now);
mono_ms space_next_wake(const struct space *space);

/* -- For the replica ----------------------------------------------------- */

void pending_free(struct pending *pending);

#endif
