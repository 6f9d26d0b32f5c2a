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
 *   run-ring-1  An entry is a hint; its reader then reads the rows, which are
 *               the source of truth. A wrong entry (of an old file, or of a
 *               writer that died) costs a lookup. A lost one costs an
 *               unnecessary run, or hides a necessary one (persistence-11 of
 *               sched/persistence.h): so entries are written before the counter
 *               shows that the transaction is in the file.
 *   run-ring-2  A connection does not hear its own entries, nor about an action
 *               that it has run since.
 *   run-ring-3  A connection that was away while the ring wrapped around is
 *               told that it has missed entries, and can query the rows for all
 *               of them.
 *
 * Entries are written under the lock, and read without it. */

#ifndef STORE_RUN_RING_H
#define STORE_RUN_RING_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/vec.h"

enum {
    RUN_RING_SIZE = 3582 /* with what is before them seven pages */
};

/* In the lock file. A zeroed ring is empty. */
struct run_ring_page {
    _Atomic uint64_t begun; /* entries ever written, including unfinished
                               ones */
    _Atomic uint64_t end;   /* entries ever written */
    _Atomic uint64_t words[RUN_RING_SIZE];
};

typedef VEC(uint64_t) run_words;

/* One connection's state. Zeroed: not connected to a ring. */
struct run_ring {
    struct run_ring_page *ring; /* or NULL */
    bool hears;
    bool missed;       /* run-ring-3 */
    uint64_t heard;    /* up to here, of `end` */
    run_words own;     /* of the current transaction */
    run_words waiting; /* of other connections, heard while this one wrote */
};

/* A piece and an action of it, by number; 0: the numbers are too large, and the
 * reader has missed an entry. */
static inline uint64_t run_word(uint64_t piece, uint64_t action)
{
    return piece <= UINT32_MAX && action <= UINT32_MAX ? piece << 32 | action
                                                       : 0;
}

static inline uint64_t run_word_piece(uint64_t word)
{
    return word >> 32;
}

static inline uint64_t run_word_action(uint64_t word)
{
    return word & UINT32_MAX;
}

/* An action was run in the current transaction. */
static inline void run_ring_note(struct run_ring *run_ring,
                                 uint64_t piece,
                                 uint64_t action)
{
    if (run_ring->ring != NULL) {
        vec_push(&run_ring->own, run_word(piece, action));
    }
}

/* The transaction has ended, and the lock is still held: publishes the noted
 * entries if it was committed, and clears them. */
void run_ring_end(struct run_ring *run_ring, bool committed);

/* Starts or stops hearing. */
void run_ring_hear(struct run_ring *run_ring, bool hears);

/* Reads the ring before a state of the file is read: runs announced before that
 * are in this state. */
void run_ring_listen(struct run_ring *run_ring);

/* Whether there is something to take, or to listen to. */
bool run_ring_is_waiting(const struct run_ring *run_ring);

/* What was heard since the last call, each entry once, in numeric order; false
 * if some may be missing (run-ring-3). */
bool run_ring_take(struct run_ring *run_ring, run_words *out);

void run_ring_release(struct run_ring *run_ring);

#endif
