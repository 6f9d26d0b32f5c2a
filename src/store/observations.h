/* Observations as rows: what every action of every piece last read, and up to
 * which seq that is proved current.
 *
 *   piece   a piece on a branch, with its generation
 *   action  one row per action: identity, fingerprints, gates, digests. Written
 *           when one of them changes, so rarely.
 *   run     one small row per action: the *watermark* (the seq at which
 *           admission proved its reads current), how it ended, and what it saw
 *           of other spaces. The only row that an ordinary run writes.
 *   place   an address that actions read or write, stored once
 *   edge    which action has which places; when the digest of the set changes,
 *           the difference is written
 *
 * Nothing is marked when data is written. Whether an action is *dirty* is
 * derived on request: it is, if a revision above its watermark touches
 * something that it read (conflict.h: the same matcher as admission, deep and
 * shape, through the parent branches up to the fork). Up to the horizon, a
 * revision stands for all that were folded into it, and every reader of its
 * document sees it. So compaction can make a clean action dirty, never the
 * other way round.
 *
 *   observations-1  An action's rows change in the SQL transaction of the
 *                   commit that its observation came with, or in that of its
 *                   batch.
 *   observations-2  A run with the same set and the same fingerprints writes
 *                   one row.
 *   observations-3  What is missing, damaged or of another generation is
 *                   unknown.
 *   observations-4  The rows are not part of the records (commit_record.h): a
 *                   store that was built from records knows no action, which is
 *                   always correct, and another server of the same log may know
 *                   less than this one.
 *
 * Reads in other spaces are judged there (engine_changed_above). A *mirror* in
 * the file of the space that is read helps to find those readers; it is a hint,
 * and no correctness depends on it. */

#ifndef STORE_OBSERVATIONS_H
#define STORE_OBSERVATIONS_H

#include "proto/resume.h"
#include "store/engine.h"

/* -- Resuming ------------------------------------------------------------ */

enum {
    RESUME_PAGE_MAX = 100 * 1000
};

/* A piece, for one author: rows of that user and session, and of the space. */
struct resume_query {
    struct value branch; /* name */
    struct value piece;
    struct identity identity;
    uint64_t generation; /* if it differs from the store's: no actions */
    uint64_t after;      /* number of the last action of the page before */
    uint32_t limit;      /* at most this many; 0: RESUME_PAGE_MAX */
    uint64_t seq;        /* of the page before, or 0 */
};

/* The next page, in the order of numbers. LISTING_MOVED if a commit has landed
 * since the page before; BRANCH_UNKNOWN; faults. A piece without observations
 * has an empty page. Costs as much as the page, plus the revisions above its
 * lowest watermark of documents that it names. */
MUST_CHECK enum err engine_resume(struct engine *engine,
                                  const struct resume_query *query,
                                  struct resume_page *page,
                                  struct err_detail *detail);

/* The number of actions on all pages after `query->after`, to show progress;
 * damaged rows may be included. LISTING_MOVED as above. Reads each of their
 * rows. */
MUST_CHECK enum err engine_resume_count(struct engine *engine,
                                        const struct resume_query *query,
                                        uint64_t *count,
                                        struct err_detail *detail);

/* -- What has changed ---------------------------------------------------- */

/* A read, as recorded by the runtime of another space. */
struct changed_read {
    struct value scope_key; /* value/address.h */
    struct value id;
    struct path *path;
    enum read_kind kind;
    uint64_t changed; /* result: the newest change above the given seq, or 0 */
};

/* For reads from other spaces (proto/resume.h, resume-2): which of them have
 * changed above `seq`? SEQUENCE if `seq` is beyond the head: then it is of
 * another history, and says nothing. BRANCH_UNKNOWN; faults. */
MUST_CHECK enum err engine_changed_above(struct engine *engine,
                                         struct value branch,
                                         uint64_t seq,
                                         struct changed_read *reads,
                                         size_t count,
                                         struct err_detail *detail);

/* -- Readers ------------------------------------------------------------- */

/* A piece that reads something. */
struct observed_reader {
    struct value space; /* absent: this space; else that of a mirror */
    struct value branch;
    struct value piece;
    uint64_t action;    /* its number; 0: a mirror */
    struct digest name; /* of the action; zero: a mirror */
    struct value scope; /* scope key of the action's row */
    uint64_t watermark;
};

/* Borrowed for the call; must not call the engine. */
typedef void observed_reader_fn(void *ctx,
                                const struct observed_reader *reader);

/* The actions of current generations, and the mirrors, that would see a change
 * of the value at `path`, running or not. An action that reads it in several
 * ways is visited once. */
MUST_CHECK enum err engine_readers_of(struct engine *engine,
                                      const struct engine_address *address,
                                      const struct path *path,
                                      observed_reader_fn *reader,
                                      void *ctx,
                                      struct err_detail *detail);

/* The actions and mirrors on `branch` that are dirty because of commits above
 * `after`: the pieces to wake. Costs as much as there are commits above `after`
 * and readers of what they wrote. Called again with the seq of this answer
 * (engine->seq), it returns only what is new. */
MUST_CHECK enum err engine_pieces_to_wake(struct engine *engine,
                                          struct value branch,
                                          uint64_t after,
                                          observed_reader_fn *reader,
                                          void *ctx,
                                          struct err_detail *detail);

/* -- Runs of other engines ------------------------------------------------ */

/* Whether this engine wants to hear of runs by others on the file, in any
 * process; and whether another engine on it does. An engine that does not
 * listen pays nothing. */
void engine_listen(struct engine *engine, bool listens);
bool engine_has_peers(const struct engine *engine);

/* Whether other engines have run something since the last engine_take_runs. */
bool engine_runs_are_waiting(const struct engine *engine);

/* Borrowed for the call; must not call the engine. `seq` is the watermark. */
typedef void engine_run_fn(void *ctx,
                           struct value branch,
                           uint64_t seq,
                           struct observation *observation);

/* The runs of other engines since the last call, from the rows: the last run of
 * each action of space scope (not of a user or a session), complete, in the
 * order of numbers. Inconsistent rows are left out. This is news: an engine
 * that missed some gets everything that was proved at `since` or later, which
 * may include its own runs. Between engine_read_begin and _end. */
MUST_CHECK enum err engine_take_runs(struct engine *engine,
                                     uint64_t since,
                                     engine_run_fn *run_ring,
                                     void *ctx,
                                     struct err_detail *detail);

/* -- Mirrors ------------------------------------------------------------- */

/* A piece of another space that reads here. */
struct mirror {
    struct value space; /* string, not empty: the space of the piece */
    struct value branch;
    struct value piece;
    struct value here; /* the branch that it reads here */
    uint64_t seq;      /* what it had seen of this space */
};

/* Replaces the mirror of a piece by what it reads here; an empty list removes
 * it. A hint: nothing is checked against the owner. A `seq` below the stored
 * one is ignored, so a late message is harmless. */
MUST_CHECK enum err engine_mirror_put(struct engine *engine,
                                      const struct mirror *mirror,
                                      const struct changed_read *reads,
                                      size_t count,
                                      struct err_detail *detail);

typedef void mirror_fn(void *ctx, const struct mirror *mirror);

/* All mirrors, by space, branch and piece. */
MUST_CHECK enum err engine_mirror_list(struct engine *engine,
                                       mirror_fn *mirror,
                                       void *ctx,
                                       struct err_detail *detail);

/* -- Retention ----------------------------------------------------------- */

/* Forgets a piece: its actions are unknown from now on, and the next collection
 * removes their rows. A piece that does not exist is OK. */
MUST_CHECK enum err engine_piece_forget(struct engine *engine,
                                        struct value branch,
                                        struct value piece,
                                        struct err_detail *detail);

/* Forgets actions of a piece by name, in all scopes, with their rows. Actions
 * that do not exist are OK. */
MUST_CHECK enum err engine_actions_forget(struct engine *engine,
                                          struct value branch,
                                          struct value piece,
                                          const struct digest *names,
                                          size_t count,
                                          struct err_detail *detail);

enum {
    SESSION_ROWS_KEPT = 32, /* of one action for one user: the sessions that
                               ran it last */
};

struct collect_counts {
    uint64_t actions; /* removed */
    uint64_t pieces;
    uint64_t places;
    uint64_t fingerprints;
    bool stopped; /* by progress */
};

/* Removes unreachable rows: old generations, forgotten pieces, pieces of
 * deleted branches, sessions beyond SESSION_ROWS_KEPT, unused places and
 * fingerprints. In small transactions; false from `progress` (which may be
 * NULL) stops after the current one, and the next call continues. */
MUST_CHECK enum err engine_collect(struct engine *engine,
                                   bool (*progress)(void *ctx, uint64_t done),
                                   void *ctx,
                                   struct collect_counts *counts,
                                   struct err_detail *detail);

/* -- Checking ------------------------------------------------------------ */

/* For store/verify.h: one sentence per inconsistency, inside a read
 * transaction. */
typedef void observed_difference_fn(void *ctx, const char *sentence);
MUST_CHECK enum err observations_check(struct engine *engine,
                                       observed_difference_fn *difference,
                                       void *ctx,
                                       uint64_t *actions,
                                       struct err_detail *detail);

/* Removes inconsistent rows, so that the actions concerned are unknown and run
 * once. *removed is the number of rows. */
MUST_CHECK enum err engine_repair_observations(struct engine *engine,
                                               uint64_t *removed,
                                               struct err_detail *detail);

/* -- Internal to this directory ------------------------------------------ */

struct commit_record;

/* Stores the observation of a commit that landed at `seq`, for its author.
 * Inside the write transaction. */
MUST_CHECK enum err observations_take(struct engine *engine,
                                      const struct commit *commit,
                                      struct value principal,
                                      uint64_t seq,
                                      enum observation_outcome *outcome,
                                      struct err_detail *detail);

/* The same if admission has dropped the observation: the rows describe an
 * earlier run, so the action becomes unknown. */
MUST_CHECK enum err observations_lose(struct engine *engine,
                                      const struct commit *commit,
                                      struct value principal,
                                      struct err_detail *detail);

/* Stores one observation of a batch, by a session with this row (0: none),
 * whose layers have landed, after checking its basis. */
MUST_CHECK enum err observations_take_alone(
    struct engine *engine,
    const struct commit *commit,
    const struct observation *observation,
    struct value principal,
    uint64_t session,
    enum observation_outcome *outcome,
    struct err_detail *detail);

/* Drops the caches of the rows; or only if they are too large. */
void observations_forget(struct engine *engine);
void observations_trim(struct engine *engine);

#endif
