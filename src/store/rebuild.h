/* What follows from the history, made anew from it.
 *
 * The history is the commits, their revisions and the branches, with a chain
 * over all of it. Everything else about documents follows from it: where each
 * one's revisions end, its last base, how long its tail is, and snapshots; and
 * from the rows alone the indexes. A row that says otherwise is rewritten, a
 * snapshot that does is removed, which costs nothing but time.
 *
 *   W1  Nothing is rebuilt from a history that does not hold: it would be
 *       rebuilt to something that never was, and look sound. (verify.h says
 *       what is wrong with it; there is the backup for that.)
 *   W2  The history itself is never changed, except for texts that are not
 *       UTF-8, which no reader takes (mend.h).
 *
 * What is remembered of runs is no part of this: see
 * engine_repair_observations, which comes after it, because what is dirty is
 * found by the rows of documents. */

#ifndef STORE_REBUILD_H
#define STORE_REBUILD_H

#include "store/engine.h"

struct rebuild_counts {
    uint64_t texts;     /* mended */
    uint64_t documents; /* rows that were rewritten or had no revision */
    uint64_t snapshots; /* removed */
    bool indexes;       /* were made anew */
};

/* Checks everything (verify.h), and rebuilds what is wrong, in one write
 * transaction. OK also if nothing could be: the next check tells. */
MUST_CHECK enum err engine_rebuild(struct engine *engine,
                                   struct rebuild_counts *counts,
                                   struct err_detail *detail);

#endif
