/* Retention: which rows below the horizon are kept, and for how long.
 *
 * Compaction (maintain.h) leaves three kinds of rows that grow with the number
 * of commits. Each is needed for a while:
 *
 *   commit    distinguishes a commit that is resent from a new one, and is
 *             named by later commits of its session (origin-committed, layers).
 *             Only the runtime that made it does either.
 *   receipt   distinguishes an event that is resent from a new one. Only its
 *             own runtime resends an event without an id; any sender can resend
 *             one with an id, at any time, and any runtime one of another
 *             space, until that space knows that it was delivered.
 *   session   gives the rows of its commits a name.
 *
 * So a row is removed when no runtime can need it any more:
 *
 *   retention-1  Nothing above the horizon is removed, and nothing of the last
 *                `commits` commits of the space.
 *   retention-2  For a session whose process is alive (leases.h), even if
 *                stopped, the last `session_commits` commits stay, with their
 *                receipts. A runtime has fewer than that in flight.
 *   retention-3  The receipt of an event with an id, or of another space, stays
 *                for at least `receipts_ms`. After that the same event is
 *                handled again. A waiting event is not a receipt, and stays.
 *   retention-4  The chain stays verifiable: the commit at the horizon stays,
 *                and so does the last one of each branch.
 *   retention-5  A session is removed when it has no commits left.
 *
 * The engine reads no clock. The age of a receipt is that of the next commit
 * above it that has a row: one commit in AGE_MARK_EVERY keeps its row for that,
 * as long as it is younger than `receipts_ms`. */

#ifndef STORE_RETENTION_H
#define STORE_RETENTION_H

#include "store/maintain.h"

enum {
    RETENTION_COMMITS = 10000,
    RETENTION_SESSION_COMMITS = 10000,
    RETENTION_RECEIPTS_MS = 7 * 24 * 3600 * 1000,
};

struct retention {
    uint64_t now_ms; /* wall clock, as in commits */
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

/* Removes what is not kept, in small transactions. Compacted history stays
 * compacted, and a process that ends in between leaves rows for the next
 * time. */
MUST_CHECK enum err engine_retire(struct engine *engine,
                                  const struct retention *retention,
                                  maintain_progress_fn *progress,
                                  void *ctx,
                                  struct retire_counts *counts,
                                  struct err_detail *detail);

/* What engine_compact and engine_retire would remove now, up to the head. The
 * rows are counted in the indexes; their size is estimated from a sample.
 * Inside a read transaction. */
struct reclaimable {
    uint64_t revisions;
    uint64_t commits;
    uint64_t receipts;
    uint64_t sessions;
    uint64_t row_bytes;  /* of all these, estimated */
    uint64_t free_bytes; /* unused pages of the file */
};

MUST_CHECK enum err engine_reclaimable(struct engine *engine,
                                       const struct retention *retention,
                                       struct reclaimable *out,
                                       struct err_detail *detail);

#endif
