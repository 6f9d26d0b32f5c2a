/* The write lock of a database: one writer at a time, first come, first served.
 *
 * The lock is an flock on the lock file, so the system releases it when the
 * process that holds it ends in any way. The first page of that file also has a
 * queue of tickets. A connection that cannot get the lock takes a ticket, and
 * the lock is left to the connection with the lowest one. So a connection that
 * returns at once for its next transaction is served after all that have
 * waited, and no connection starves.
 *
 *   lock-1  No call waits, except write_lock_wait, which ends at its deadline
 *           or when `interrupted` says so, whichever is first.
 *   lock-2  The queue is a hint. It may be missing (the file could not be
 *           mapped) or damaged: then only the order is lost.
 *   lock-3  A ticket does not block. The next connection that asks removes a
 *           ticket whose owner has ended, and one that is not used for
 *           LOCK_PATIENCE_MS although the lock is free. Its owner, if it was
 *           only stopped, takes another one.
 *   lock-4  A connection that keeps its ticket between two transactions has the
 *           lock to itself: what it reads in between cannot change before it
 *           writes. That is for the retry of a commit that was refused because
 *           of a conflict, and for no longer than that takes.
 *   lock-5  After a write, and when a ticket is given back, a few bytes are
 *           written to the lock file. That wakes a process that watches the
 *           file (host/wake.h), and it finds the write complete.
 *   lock-6  The page says which process holds the lock, and since when.
 *   lock-7  The page is not proof: a killed process leaves its pid there, and
 *           the pid may still exist (the parent has not collected the exit
 *           code) or belong to another process. If the page says the same for
 *           LOCK_PATIENCE_MS, the flock decides. */

#ifndef STORE_WRITE_LOCK_H
#define STORE_WRITE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    LOCK_TICKETS = 64,      /* in the queue; further processes have no order */
    LOCK_PATIENCE_MS = 100, /* lock-3 */
    LOCK_WAIT_MS = 10000,   /* of write_lock_wait, by default */
    LOCK_QUEUE_AT = 64,     /* the queue, in the lock file */
};

struct lock_ticket {
    _Atomic uint64_t number; /* 0: free */
    _Atomic uint64_t pid;    /* 0: not known yet */
};

/* In the lock file. Zeroed: an empty queue. */
struct lock_queue {
    _Atomic uint64_t pid;      /* of the holder; 0: none */
    _Atomic uint64_t since_ms; /* wall clock */
    _Atomic uint64_t tickets;  /* ever taken */
    uint64_t notice;           /* lock-5; only written, never read */
    struct lock_ticket at[LOCK_TICKETS];
};

/* One connection's state. */
struct write_lock {
    int fd;                   /* of the lock file; -1: none, always granted */
    struct lock_queue *queue; /* NULL: lock-2 */
    bool held;
    uint64_t ticket; /* 0: none */
    size_t slot;     /* of the ticket */
    uint64_t first;  /* the lowest ticket, for which the lock was free when last
                        seen; 0: it was not */
    uint64_t first_since;     /* and since when that is known */
    uint64_t holder_since_ms; /* what the page said about the holder, */
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

/* Releases the lock. `wrote`: wakes the other processes. `stay`: keeps or takes
 * a ticket (lock-4). */
void write_lock_release(struct write_lock *lock, bool wrote, bool stay);

/* Gives the ticket back, if there is one. */
void write_lock_leave(struct write_lock *lock);

/* Whether write_lock_try would find no other process before this one. */
bool write_lock_is_next(const struct write_lock *lock);

/* If another connection has the lock, or is to have it first, takes a ticket:
 * for a host that is about to read and write, and reads when it is its turn.
 * False: it is its turn. */
bool write_lock_queue(struct write_lock *lock);

/* Milliseconds of a monotonic clock, for deadlines in the store. And of the
 * wall clock. */
uint64_t write_lock_clock(void);
uint64_t write_lock_wall(void);

/* -- The holder ------------------------------------------------------------ */

enum lock_kind {
    LOCK_NONE,
    LOCK_OURS,   /* the lock of this header */
    LOCK_SQLITE, /* only SQLite's: a program other than Heddle */
};

struct lock_holder {
    enum lock_kind kind;
    uint64_t pid;      /* 0: not known */
    uint64_t since_ms; /* wall clock; 0: not known */
    char name[32];     /* of the program; "": not known */
    bool stopped;      /* by a signal */
};

/* Finds the holder of the lock of the database at `path`, or of SQLite's own.
 * Changes nothing, and takes no lock. */
void lock_holder_find(const char *path, struct lock_holder *holder);

/* BUSY, with a sentence: the process, since when it holds the lock, whether it
 * is stopped, and what to do. */
enum err lock_holder_explain(const struct lock_holder *holder,
                             struct err_detail *detail);

#endif
