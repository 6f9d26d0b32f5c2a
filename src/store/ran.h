/* The ring of runs: which actions the other connections on the file have run,
 * announced in shared memory.
 *
 * The result of a run is in its rows (observations.h), and other processes do
 * not look at those without a reason. So every writer puts the numbers of the
 * actions that it has run into a ring in the lock file, beside the counter
 * (database.h), after its transaction is in the file and before the counter
 * says so. That is a few stores to a page that is dirty anyway: nothing is
 * written to the database, nothing has to be trimmed, and a process that is
 * alone pays nothing.
 *
 *   N1  An entry is a hint; its reader then reads the rows, which are the
 *       source of truth. A wrong entry (of an old file, or of a writer that
 *       died) costs a lookup. A lost one costs an unnecessary run, or hides a
 *       necessary one (P11 of sched/persistence.h): so entries are written
 *       before the counter shows that the transaction is in the file.
 *   N2  A connection does not hear its own entries, nor about an action that it
 *       has run since.
 *   N3  A connection that was away while the ring wrapped around is told that
 *       it has missed entries, and can query the rows for all of them.
 *
 * Entries are written under the lock, and read without it. */

#ifndef STORE_RAN_H
#define STORE_RAN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/vec.h"

enum {
    RAN_WORDS = 3582 /* with what is before them seven pages */
};

/* In the lock file. A zeroed ring is empty. */
struct ran_ring {
    _Atomic uint64_t begun; /* entries ever written, including unfinished
                               ones */
    _Atomic uint64_t end;   /* entries ever written */
    _Atomic uint64_t words[RAN_WORDS];
};

typedef VEC(uint64_t) ran_words;

/* One connection's state. Zeroed: not connected to a ring. */
struct ran {
    struct ran_ring *ring; /* or NULL */
    bool hears;
    bool missed;       /* N3 */
    uint64_t heard;    /* up to here, of `end` */
    ran_words own;     /* of the current transaction */
    ran_words waiting; /* of other connections, heard while this one wrote */
};

/* A piece and an action of it, by number; 0: the numbers are too large, and the
 * reader has missed an entry. */
static inline uint64_t ran_word(uint64_t piece, uint64_t action)
{
    return piece <= UINT32_MAX && action <= UINT32_MAX ? piece << 32 | action
                                                       : 0;
}

static inline uint64_t ran_piece(uint64_t word)
{
    return word >> 32;
}

static inline uint64_t ran_action(uint64_t word)
{
    return word & UINT32_MAX;
}

/* An action was run in the current transaction. */
static inline void ran_note(struct ran *ran, uint64_t piece, uint64_t action)
{
    if (ran->ring != NULL) {
        vec_push(&ran->own, ran_word(piece, action));
    }
}

/* The transaction has ended, and the lock is still held: publishes the noted
 * entries if it was committed, and clears them. */
void ran_end(struct ran *ran, bool committed);

/* Starts or stops hearing. */
void ran_hear(struct ran *ran, bool hears);

/* Reads the ring before a state of the file is read: runs announced before that
 * are in this state. */
void ran_listen(struct ran *ran);

/* Whether there is something to take, or to listen to. */
bool ran_is_waiting(const struct ran *ran);

/* What was heard since the last call, each entry once, in numeric order; false
 * if some may be missing (N3). */
bool ran_take(struct ran *ran, ran_words *out);

void ran_release(struct ran *ran);

#endif
