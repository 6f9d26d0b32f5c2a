/* Lineage: what a transaction launches shares the outcome of its commit.
 *
 * A transaction can send events, start activities, and ask for calls after it
 * has landed. A rollback of data undoes none of that. So launches are recorded
 * here, and this record is told the verdict of the commit.
 *
 *   lineage-1  The first launch creates the record, which belongs to one
 *              transaction: a retry is another transaction, and launches again.
 *   lineage-2  A record is open, applied (committed here, without a verdict),
 *              confirmed or failed, in this order, each at most once. A
 *              transaction that changed nothing is confirmed when it is
 *              committed.
 *   lineage-3  When it fails, events that were not handled yet are dropped, and
 *              each stop is called once. When it is confirmed, the stops are
 *              dropped.
 *   lineage-4  An event in the space of its origin's commit need not wait: its
 *              own commit names that of the origin as a condition. An event in
 *              another space waits until the origin is confirmed. */

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
    struct sched *sched; /* NULL: disposed of */
    uint64_t number;     /* part of the ids of its events */
    uint32_t minted;     /* ids created */
    enum lineage_state state;
    uint32_t refs;     /* the transaction, its commit, its events */
    uint32_t expected; /* verdicts, once it is applied */
    uint32_t answers;
    bool refused;               /* one of the verdicts is a refusal */
    bool has_hops;              /* whether `hops` is known: */
    uint32_t hops;              /* of what it sends (sched/hops.h) */
    struct err_detail *unsent;  /* why the first event could not be sent, which
                                   makes the commit fail (events-7, events-8 of
                                   sched/events.h); or NULL */
    uint64_t time;              /* of what it sends */
    VEC(struct origin) commits; /* without a verdict */
    struct list events;         /* not handled yet */
    VEC(struct launched_call) stops;
    VEC(struct launched_call) outbox;
    struct list_node in_outbox;
};

/* The record of an open transaction, created by the first call; borrowed. */
struct lineage *lineage_of(struct sched *sched,
                           struct transaction *transaction);

/* `stop` is called once if the transaction does not land (lineage-3); at once,
 * if it was aborted already. Otherwise the transaction must be open. */
void lineage_stop_unless_landed(struct sched *sched,
                                struct transaction *transaction,
                                void (*stop)(void *ctx),
                                void *ctx);

/* `call` is made once after the transaction has landed, in order
 * (sched/outbox.h); never, if it fails. */
void lineage_after_landing(struct sched *sched,
                           struct transaction *transaction,
                           void (*call)(void *ctx),
                           void *ctx);

/* Commits a transaction that does not belong to a run, with everything that it
 * launched. Its watch, if any, is called as usual. Like transaction_commit. */
MUST_CHECK enum err lineage_commit(struct sched *sched,
                                   struct transaction *transaction,
                                   struct err_detail *detail);

/* The same for one that is aborted. */
void lineage_abort(struct transaction *transaction);

/* An event of an open transaction was refused, so the transaction is refused
 * too. */
void lineage_refuse(struct sched *sched,
                    struct transaction *transaction,
                    const struct err_detail *why);

/* -- For code that ends transactions ------------------------------------- */

/* Takes the record from a transaction that is about to be committed; NULL if it
 * launched nothing. Then the record is told each verdict, even from inside the
 * commit, and the result of the commit itself. */
struct lineage *lineage_take(struct transaction *transaction);
void lineage_answer(struct lineage *lineage, enum err err);
void lineage_committed(struct lineage *lineage,
                       const struct transaction *transaction,
                       enum err err);

/* -- For events ---------------------------------------------------------- */

/* What an event may do now (lineage-4). */
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
