/* Does the file agree with its history?
 *
 * Folds the log and compares: SQLite's own integrity, the numbers of commits
 * and records, the chain over all records, the row of every document with its
 * revisions, every snapshot with the fold of the revisions before it, and the
 * rows of every action with each other (observations.h). Changes nothing. Each
 * difference is one sentence that names the place. */

#ifndef STORE_VERIFY_H
#define STORE_VERIFY_H

#include "store/engine.h"

struct verify_options {
    /* Called for each difference. */
    void (*difference)(void *ctx, const char *sentence);

    /* Called now and then; false stops the check. May be NULL. */
    bool (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *ctx;

    /* Called for what can be rebuilt (rebuild.h): the row of a document, or, if
     * `snapshot` is not 0, its snapshot at that seq. May be NULL. */
    void (*wrong)(void *ctx, uint64_t document, uint64_t snapshot);
};

struct verify_counts {
    uint64_t commits;
    uint64_t documents;
    uint64_t revisions;
    uint64_t snapshots;
    uint64_t actions; /* with observations */
    uint64_t differences;
    bool damaged; /* SQLite's own structures are */
    bool holds;   /* the history is valid; all the rest follows from it */
    bool stopped; /* by progress */
};

/* OK if the check was possible, whatever it found. */
MUST_CHECK enum err engine_verify(struct engine *engine,
                                  const struct verify_options *options,
                                  struct verify_counts *counts,
                                  struct err_detail *detail);

#endif
