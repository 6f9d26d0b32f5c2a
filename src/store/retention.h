/* Retention: which rows below the horizon are kept, and for how long.
 *
 * Folding (maintain.h) leaves three kinds of rows that grow with the number of
 * commits: the rows of commits, the receipts of events, and the rows of
 * sessions. Each is needed for a while:
 *
 *   commit    tells a commit that is sent again from a new one, and is named by
 *             later commits of its session (origin-committed, layers). Only the
 *             runtime that made it does either.
 *   receipt   tells an event that is sent again from a new one. An event that
 *             was given no id is only sent again by its own runtime; one with
 *             an id by any sender, at any time, and one of another space by any
 *             runtime, until that space knows that it was delivered.
 *   session   gives the rows of its commits a name.
 *
 * So a row goes when no runtime can need it any more:
 *
 *   retention-1  Nothing above the horizon goes, and nothing of the last
 *                `commits` commits of the space.
 *   retention-2  Of a session whose process is alive (leases.h), also if it is
 *                stopped, the last `session_commits` commits stay, with their
 *                receipts. A runtime has fewer than that in flight.
 *   retention-3  The receipt of an event with an id, or of another space, stays
 *                for `receipts_ms` at least. After that the same event is
 *                handled again. An event that waits is no receipt, and stays.
 *   retention-4  The chain can be checked: the commit at the horizon stays, and
 *                so does the last one of each branch.
 *   retention-5  A session goes when it has no commit any more.
 *
 * The engine reads no clock. The age of a receipt is that of the next commit
 * above it that has a row: one in AGE_MARK_EVERY keeps it for that, as long as
 * it is younger than `receipts_ms`. */

#ifndef STORE_RETENTION_H
#define STORE_RETENTION_H

#include "store/maintain.h"

enum {
    RETENTION_COMMITS = 10000,
    RETENTION_SESSION_COMMITS = 10000,
    RETENTION_RECEIPTS_MS = 7 * 24 * 3600 * 1000,
};

struct retention {
    uint64_t now_ms; /* wall clock, as that of commits */
    uint64_t receipts_ms;
    uint64_t commits;
    uint64_t session_commits;
};

struct retention retention_default(uint64_t now_ms);

struct retire_counts {
    uint64_t commits; /* rows removed */
    uint64_t receipts;
    uint64_t sessions;
    bool stopped;
};

/* Removes what is not kept, in small transactions. What was folded stays
 * folded, and a process that ends in between leaves rows for the next time. */
MUST_CHECK enum err engine_retire(struct engine *engine,
                                  const struct retention *retention,
                                  maintain_progress_fn *progress,
                                  void *ctx,
                                  struct retire_counts *counts,
                                  struct err_detail *detail);

/* What engine_compact and engine_retire would remove now, up to the head. The
 * rows are counted in the indexes, and what they occupy is estimated from some
 * of them. Inside a read transaction. */
struct reclaimable {
    uint64_t revisions;
    uint64_t commits;
    uint64_t receipts;
    uint64_t sessions;
    uint64_t row_bytes;  /* of all these, roughly */
    uint64_t free_bytes; /* pages that the file has and nothing uses */
};

MUST_CHECK enum err engine_reclaimable(struct engine *engine,
                                       const struct retention *retention,
                                       struct reclaimable *out,
                                       struct err_detail *detail);

#endif
