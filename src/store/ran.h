/* Word of runs: which actions were run by the others on the same file, said in
 * shared memory.
 *
 * What a run leaves is in its rows (observations.h), and nobody looks at those
 * of the others without a reason. So every writer puts the numbers of the
 * actions that it has run into a ring in the lock file, beside the counter
 * (database.h), when its transaction is in the file and before the counter
 * says so. It is a few stores to a page that is dirty anyway: nothing is
 * written to the database, nothing has to be trimmed, and who is alone does not
 * notice.
 *
 *   N1  A word is a hint, and who hears it reads the rows, which are the truth.
 *       A wrong one (of an old file, or of a writer that died in the middle)
 *       costs a look; one that is lost costs a run that was not needed, or
 *       hides one that was (P11 of sched/persistence.h): so each is said before
 *       the counter tells that the transaction is in the file.
 *   N2  Nobody hears what it said itself, nor of an action that it has run
 *       since somebody else did.
 *   N3  Who was away while the ring went round is told that it has missed
 *       some, and can ask the rows for all of them.
 *
 * Words are put there under the lock, and read without one. */

#ifndef STORE_RAN_H
#define STORE_RAN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/vec.h"

enum {
    RAN_WORDS = 3582 /* with what is before them seven pages */
};

/* In the lock file. All zero is an empty one. */
struct ran_ring {
    _Atomic uint64_t begun; /* words that were ever put there, or begun to be */
    _Atomic uint64_t end;   /* words that were ever put there */
    _Atomic uint64_t words[RAN_WORDS];
};

typedef VEC(uint64_t) ran_words;

/* A connection's. All zero has nobody to talk to. */
struct ran {
    struct ran_ring *ring; /* or NULL */
    bool hears;
    bool missed;       /* N3 */
    uint64_t heard;    /* up to here, of `end` */
    ran_words own;     /* of the transaction at hand */
    ran_words waiting; /* of others, heard when this one wrote */
};

/* A piece and an action of it, by their numbers; 0: they are too large for a
 * word, and whoever hears it has missed one. */
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

/* An action was run, in the transaction at hand. */
static inline void ran_note(struct ran *ran, uint64_t piece, uint64_t action)
{
    if (ran->ring != NULL) {
        vec_push(&ran->own, ran_word(piece, action));
    }
}

/* The transaction has ended, and the lock is still held: what was noted is said
 * if it is in the file, and forgotten. */
void ran_end(struct ran *ran, bool committed);

/* From now on, or no longer. */
void ran_hear(struct ran *ran, bool hears);

/* Listens, before a state of the file is looked at: what was said before that
 * is in it. */
void ran_listen(struct ran *ran);

/* Whether there is something to take, or to listen to. */
bool ran_is_waiting(const struct ran *ran);

/* What was listened to since the last time, each once and in the order of their
 * numbers; false if some may be missing (N3). */
bool ran_take(struct ran *ran, ran_words *out);

void ran_release(struct ran *ran);

#endif
