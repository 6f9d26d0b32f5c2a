/* Lineage: what a transaction has launched lives and dies with its commit.
 *
 * A transaction can send events, start things, and ask for things to be done
 * after it has landed. None of that is undone by a rollback of data; so it is
 * written down, and who learns the fate of the commit says so here.
 *
 *   N1  A record is made by the first launch, and belongs to one transaction:
 *       a retry is another one, and launches afresh.
 *   N2  It is open, applied (committed here, without an answer), confirmed or
 *       failed, in this order, and each at most once. A transaction that
 *       changed nothing is confirmed when it is committed.
 *   N3  When it fails, events that were not handled yet are dropped, and each
 *       stop is called once. When it is confirmed, the stops are forgotten.
 *   N4  An event of the space in which its origin was committed need not wait:
 *       its own commit names that of the origin as a condition. One of another
 *       space waits until the origin is confirmed. */

#ifndef SCHED_LINEAGE_H
#define SCHED_LINEAGE_H

#include "sched/events.h"

enum lineage_state {
    LINEAGE_OPEN,
    LINEAGE_APPLIED,
    LINEAGE_CONFIRMED,
    LINEAGE_FAILED,
};

struct launched_call {
    void (*call)(void *ctx);
    void *ctx;
};

struct lineage {
    struct sched *sched; /* NULL: is gone */
    uint64_t number;     /* in the ids of its events */
    uint32_t minted;     /* ids */
    enum lineage_state state;
    uint32_t refs;     /* the transaction, its commit, its events */
    uint32_t expected; /* answers, once it is applied */
    uint32_t answers;
    bool refused;               /* one of the answers is a refusal */
    bool has_hops;              /* is known: */
    uint32_t hops;              /* of what it sends (sched/hops.h) */
    struct err_detail *unsent;  /* of the first event that it could not send,
                                   because of which it must not be committed
                                   (V7, V8 of sched/events.h); or NULL */
    uint64_t time;              /* for what it sends */
    VEC(struct origin) commits; /* where it has no answer yet */
    struct list events;         /* not handled yet */
    VEC(struct launched_call) stops;
    VEC(struct launched_call) outbox;
    struct list_node in_outbox;
};

/* The record of an open transaction, made at the first call; borrowed. */
struct lineage *lineage_of(struct sched *sched,
                           struct transaction *transaction);

/* To be called once if the transaction does not land (N3); at once, if it was
 * given up already. Otherwise it is open. */
void lineage_stop_unless_landed(struct sched *sched,
                                struct transaction *transaction,
                                void (*stop)(void *ctx),
                                void *ctx);

/* To be called once after the transaction has landed, in order
 * (sched/outbox.h); never, if it fails or has failed. */
void lineage_after_landing(struct sched *sched,
                           struct transaction *transaction,
                           void (*call)(void *ctx),
                           void *ctx);

/* Commits a transaction that is not that of a run, with everything it has
 * launched. Its watch, if it has one, is told as ever. Like
 * transaction_commit. */
MUST_CHECK enum err lineage_commit(struct sched *sched,
                                   struct transaction *transaction,
                                   struct err_detail *detail);

/* The same for one that is given up. */
void lineage_abort(struct transaction *transaction);

/* An event of an open transaction was refused, and so is the transaction. */
void lineage_refuse(struct sched *sched,
                    struct transaction *transaction,
                    const struct err_detail *why);

/* -- For who ends transactions ------------------------------------------- */

/* Takes the record from the transaction, which is about to be committed; NULL
 * if it has launched nothing. Then, with the record: each answer, as it comes,
 * also from inside the commit; and what the commit itself said. */
struct lineage *lineage_take(struct transaction *transaction);
void lineage_answer(struct lineage *lineage, enum err err);
void lineage_committed(struct lineage *lineage,
                       const struct transaction *transaction,
                       enum err err);

/* -- For events ---------------------------------------------------------- */

/* What an event may do now (N4). */
enum lineage_leave {
    LEAVE_GO, /* *needs is the commit to name, or has no space */
    LEAVE_WAIT,
    LEAVE_NEVER,
};
enum lineage_leave lineage_leave(const struct lineage *lineage,
                                 const struct space *space,
                                 struct origin *needs);

struct lineage *lineage_ref(struct lineage *lineage);
void lineage_unref(struct lineage *lineage);

#endif
