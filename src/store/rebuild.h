/* Rebuilding what is derived from the history.
 *
 * The history is the commits, their revisions and the branches, with a chain
 * over all of it. Everything else about documents follows from it: the last
 * revision of each, its last base, the length of its tail, and snapshots;
 * indexes follow from the rows alone. A row that disagrees is rewritten; a
 * snapshot that disagrees is removed, which costs only time.
 *
 *   rebuild-1  Nothing is rebuilt from an invalid history: the result would be
 *              something that never existed, and would look sound. (verify.h
 *              says what is wrong; restore a backup.)
 *   rebuild-2  The history itself is never changed, except for texts that are
 *              not UTF-8, which no reader accepts (repair_text.h).
 *
 * Records of runs are not part of this: see engine_repair_observations, which
 * comes afterwards, because dirtiness is derived from the rows of documents. */

#ifndef STORE_REBUILD_H
#define STORE_REBUILD_H

#include "store/engine.h"

struct rebuild_counts {
    uint64_t texts;     /* repaired */
    uint64_t documents; /* rows that were rewritten or had no revision */
    uint64_t snapshots; /* removed */
    bool indexes;       /* were rebuilt */
};

/* Checks everything (verify.h), and rebuilds what is wrong, in one write
 * transaction. OK also if that was not possible: the next check reports it. */
MUST_CHECK enum err engine_rebuild(struct engine *engine,
                                   struct rebuild_counts *counts,
                                   struct err_detail *detail);

#endif
