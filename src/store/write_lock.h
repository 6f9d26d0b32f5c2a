/* The write lock of a database: one writer at a time, in the order in which
 * they asked.
 *
 * The lock is an flock on the lock file, so the system releases it when the
 * process that holds it ends, in whatever way. Beside it, in the first page of
 * that file, is a queue of tickets. A connection that cannot have the lock
 * takes a ticket, and the lock is left to the connection with the lowest one.
 * So a connection that comes back at once for its next transaction is served
 * after all that have waited, and no connection starves.
 *
 *   lock-1  No call waits, except write_lock_wait, which ends at its deadline
 *           or when `interrupted` says so, whichever is first.
 *   lock-2  The queue is a hint. It may be missing (the file could not be
 *           mapped) or damaged: then the order is lost, and nothing else.
 *   lock-3  A ticket does not block: one whose owner has ended is removed by
 *           the next that asks, and one that is not used although the lock is
 *           free, after LOCK_PATIENCE_MS. Its owner, if it was only stopped,
 *           takes another one.
 *   lock-4  A connection that keeps its ticket between two transactions has the
 *           lock to itself: what it reads in between cannot change before it
 *           writes. That is for the retry of a commit that was refused because
 *           of a conflict, and for no longer than that takes.
 *   lock-5  After a write, and when a ticket is given back, a few bytes are
 *           written to the lock file. A process that watches the file is woken
 *           by that (host/wake.h), and finds the write complete.
 *   lock-6  The page says which process holds the lock, and since when.
 *   lock-7  The page is not proof: a process that was killed leaves its number
 *           there, and the system may know that number still (the parent has
 *           not asked for the exit code) or again (another process has it). If
 *           the page says the same for LOCK_PATIENCE_MS, the flock decides. */

#ifndef STORE_WRITE_LOCK_H
#define STORE_WRITE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    LOCK_TICKETS = 64,      /* in the queue; more processes have no order */
    LOCK_PATIENCE_MS = 100, /* lock-3 */
    LOCK_WAIT_MS = 10000,   /* of write_lock_wait, unless told otherwise */
    LOCK_QUEUE_AT = 64,     /* the queue, in the lock file */
};

struct lock_ticket {
    _Atomic uint64_t number; /* 0: free */
    _Atomic uint64_t pid;    /* 0: not known yet */
};

/* In the lock file. All zero is an empty queue. */
struct lock_queue {
    _Atomic uint64_t pid;      /* that holds the lock; 0: none does */
    _Atomic uint64_t since_ms; /* wall clock */
    _Atomic uint64_t tickets;  /* that were ever taken */
    uint64_t notice;           /* lock-5; only written, never read */
    struct lock_ticket at[LOCK_TICKETS];
};

/* One connection's. */
struct write_lock {
    int fd;                   /* of the lock file; -1: none, always granted */
    struct lock_queue *queue; /* NULL: lock-2 */
    bool held;
    uint64_t ticket; /* 0: none */
    size_t slot;     /* of the ticket */
    uint64_t first;  /* the ticket before all others, for which the lock was
                        free when last looked at; 0: it was not */
    uint64_t first_since;     /* and since when that is known */
    uint64_t holder_since_ms; /* what the page said of the holder, */
    uint64_t holder_seen;     /* and since when it says that (lock-7) */

    uint32_t wait_ms;               /* of write_lock_wait */
    bool (*interrupted)(void *ctx); /* or NULL */
    void *ctx;
};

/* Asks for the lock: OK, it is held; BUSY, it is not, and there is a ticket.
 * IO: the file cannot be locked. */
MUST_CHECK enum err write_lock_try(struct write_lock *lock,
                                   struct err_detail *detail);

/* The same, and waits. BUSY after `wait_ms`, or when interrupted; the ticket is
 * given back then. */
MUST_CHECK enum err write_lock_wait(struct write_lock *lock,
                                    struct err_detail *detail);

/* Gives the lock back. `wrote`: the others are to look. `stay`: there is a
 * ticket afterwards (lock-4), the one that there was, or a new one. */
void write_lock_release(struct write_lock *lock, bool wrote, bool stay);

/* Gives the ticket back, if there is one. */
void write_lock_leave(struct write_lock *lock);

/* Whether write_lock_try would find no other process before this one. */
bool write_lock_is_next(const struct write_lock *lock);

/* If another one has the lock, or is to have it before, takes a ticket: for a
 * host that is about to read and write, and reads when it is its turn. False:
 * it is. */
bool write_lock_queue(struct write_lock *lock);

/* Milliseconds of a clock that never goes back; for deadlines in the store. And
 * of the wall clock. */
uint64_t write_lock_clock(void);
uint64_t write_lock_wall(void);

/* -- Who holds it ---------------------------------------------------------- */

enum lock_kind {
    LOCK_NONE,
    LOCK_OURS,   /* the lock of this header */
    LOCK_SQLITE, /* only SQLite's: a program that is not Heddle */
};

struct lock_holder {
    enum lock_kind kind;
    uint64_t pid;      /* 0: not known */
    uint64_t since_ms; /* wall clock; 0: not known */
    char name[32];     /* of the program; "": not known */
    bool stopped;      /* by a signal */
};

/* Who holds the lock of the database at `path`, or SQLite's own. Changes
 * nothing, and takes no lock. */
void lock_holder_find(const char *path, struct lock_holder *holder);

/* BUSY, with a sentence: the process, since when it holds the lock, whether it
 * is stopped, and what to do. */
enum err lock_holder_explain(const struct lock_holder *holder,
                             struct err_detail *detail);

#endif
