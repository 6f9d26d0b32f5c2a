/* Observations as rows: what every action of every piece last read, and since
 * when it is known to be so.
 *
 *   piece   a piece on a branch, with its generation
 *   action  one row an action: identity, fingerprints, gates, digests. Written
 *           when one of them changes, so almost never.
 *   run     one small row an action: the *watermark* (the seq at which
 *           admission proved its reads current), how it ended, and what it saw
 *           of other spaces. The only row that an ordinary run writes.
 *   place   an address that somebody reads or writes, once
 *   edge    which action has which places; rewritten as a difference, when the
 *           digest of the set is another one
 *
 * Nothing is marked when something is written. Whether an action is *dirty* is
 * derived when somebody asks: it is, if a revision above its watermark touches
 * something that it read (conflict.h: the matcher of admission, deep and
 * shape, through the parent branches up to the fork). Up to the horizon a
 * revision stands for all that were folded into it and is seen by every reader
 * of its document, so compaction can make a clean action dirty, never the
 * other way round.
 *
 *   R1  An action's rows change in the SQL transaction of the commit that its
 *       observation came with, or in that of its batch.
 *   R2  A run with the same set and the same fingerprints writes one row.
 *   R3  What is missing, damaged or of another generation is unknown.
 *   R4  The rows are no part of the records (effects.h): a store that was made
 *       of records knows no action, which is always right, and another server
 *       of the same log may know less than this one.
 *
 * What is read in other spaces is decided there (engine_changed_above); a
 * *mirror* in the file of the space that is read lets it find those readers,
 * as a hint and nothing else. */

#ifndef STORE_OBSERVATIONS_H
#define STORE_OBSERVATIONS_H

#include "proto/resume.h"
#include "store/engine.h"

/* -- Resuming ------------------------------------------------------------ */

enum {
    RESUME_PAGE_MAX = 100 * 1000
};

/* Of a piece, for somebody: his own rows and those of the whole space. */
struct resume_query {
    struct value branch; /* name */
    struct value piece;
    struct identity identity;
    uint64_t generation; /* another one than the store's: no action at all */
    uint64_t after;      /* the number of the last action of the page before */
    uint32_t limit;      /* at most as many; 0: RESUME_PAGE_MAX */
    uint64_t seq;        /* of the page before, or 0 */
};

/* The next page, in the order of numbers. LISTING_MOVED if anything has landed
 * since the page before; BRANCH_UNKNOWN; faults. A piece that nobody observed
 * has an empty page. Costs as much as the page, and as the revisions above its
 * lowest watermark of documents that it names. */
MUST_CHECK enum err engine_resume(struct engine *engine,
                                  const struct resume_query *query,
                                  struct resume_page *page,
                                  struct err_detail *detail);

/* How many actions the pages after `query->after` will have, all together, for
 * who shows how far it is; if rows are damaged it may be more. LISTING_MOVED as
 * above. Costs a look at each of their rows. */
MUST_CHECK enum err engine_resume_count(struct engine *engine,
                                        const struct resume_query *query,
                                        uint64_t *count,
                                        struct err_detail *detail);

/* -- What has changed ---------------------------------------------------- */

/* A read, as another space's runtime remembers it. */
struct changed_read {
    struct value scope_key; /* value/address.h */
    struct value id;
    struct path *path;
    enum read_kind kind;
    uint64_t changed; /* answer: the newest change above the seq that was asked
                         for, or 0 */
};

/* For reads from elsewhere (proto/resume.h, Q2): which of them have changed
 * above `seq`? SEQUENCE if `seq` is beyond the head: then what was seen is not
 * of this history, and nothing follows. BRANCH_UNKNOWN; faults. */
MUST_CHECK enum err engine_changed_above(struct engine *engine,
                                         struct value branch,
                                         uint64_t seq,
                                         struct changed_read *reads,
                                         size_t count,
                                         struct err_detail *detail);

/* -- Who reads this ------------------------------------------------------ */

/* A piece that reads something. */
struct observed_reader {
    struct value space; /* absent: of this space; else a mirror's */
    struct value branch;
    struct value piece;
    uint64_t action;    /* its number; 0: a mirror */
    struct digest name; /* of the action; zero: a mirror */
    struct value scope; /* scope key of the action's row */
    uint64_t watermark;
};

/* Borrowed for the call; must not ask the engine anything. */
typedef void observed_reader_fn(void *ctx,
                                const struct observed_reader *reader);

/* The actions of current generations, and the mirrors, that would see a change
 * of the value at `path`; whether they are running or not. An action that
 * reads it in several ways is told once. */
MUST_CHECK enum err engine_readers_of(struct engine *engine,
                                      const struct engine_address *address,
                                      const struct path *path,
                                      observed_reader_fn *reader,
                                      void *ctx,
                                      struct err_detail *detail);

/* The actions and mirrors on `branch` that are dirty because of something that
 * landed above `after`: the pieces that must wake. Costs as much as there are
 * commits above `after` and readers of what they wrote. Asked again with the
 * seq of this answer (engine->seq), it tells only what is new. */
MUST_CHECK enum err engine_pieces_to_wake(struct engine *engine,
                                          struct value branch,
                                          uint64_t after,
                                          observed_reader_fn *reader,
                                          void *ctx,
                                          struct err_detail *detail);

/* -- What others have run ------------------------------------------------- */

/* Whether somebody wants to hear of the runs of others on the file, in any
 * process; and whether another engine on it does. An engine that hears nothing
 * pays nothing. */
void engine_listen(struct engine *engine, bool listens);
bool engine_has_company(const struct engine *engine);

/* Whether others have run something since engine_ran was asked. */
bool engine_ran_is_waiting(const struct engine *engine);

/* Borrowed for the call; must not ask the engine anything. `seq` is the
 * watermark. */
typedef void engine_ran_fn(void *ctx,
                           struct value branch,
                           uint64_t seq,
                           struct observation *observation);

/* What others have run since the last time, as its rows say: the last run of
 * each action of the whole space (not of a user or a session), whole, and in
 * the order of numbers. What does not fit together is left out. It is news: who
 * was away for long is told of everything that was proved at `since` or later,
 * which may be some of its own. Between engine_read_begin and _end. */
MUST_CHECK enum err engine_ran(struct engine *engine,
                               uint64_t since,
                               engine_ran_fn *ran,
                               void *ctx,
                               struct err_detail *detail);

/* -- Mirrors ------------------------------------------------------------- */

/* A piece of another space that reads here. */
struct mirror {
    struct value space; /* string, not empty: where the piece is */
    struct value branch;
    struct value piece;
    struct value here; /* the branch that it reads here */
    uint64_t seq;      /* what it had seen of this space */
};

/* What the piece reads here, from now on: replaces what was there. None at
 * all removes it. A hint: nothing is checked against the owner. A `seq` below
 * the stored one is ignored, so that a late message does no harm. */
MUST_CHECK enum err engine_mirror_put(struct engine *engine,
                                      const struct mirror *mirror,
                                      const struct changed_read *reads,
                                      size_t count,
                                      struct err_detail *detail);

typedef void mirror_fn(void *ctx, const struct mirror *mirror);

/* All of them, by space, branch and piece. */
MUST_CHECK enum err engine_mirror_list(struct engine *engine,
                                       mirror_fn *mirror,
                                       void *ctx,
                                       struct err_detail *detail);

/* -- Retention ----------------------------------------------------------- */

/* Forgets a piece at once: its actions are unknown from now on, and their rows
 * go with the next collection. A piece that is not there is OK. */
MUST_CHECK enum err engine_piece_forget(struct engine *engine,
                                        struct value branch,
                                        struct value piece,
                                        struct err_detail *detail);

/* Forgets actions of a piece by their names, in all scopes, with their rows.
 * Those that are not there are OK. */
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

/* Removes what nobody can ask for any more: generations that are over, pieces
 * of deleted branches or forgotten, sessions beyond SESSION_ROWS_KEPT, places
 * and fingerprints without anybody. In small transactions; false from
 * `progress` (which may be NULL) stops it after the one at hand, and the next
 * call goes on. */
MUST_CHECK enum err engine_collect(struct engine *engine,
                                   bool (*progress)(void *ctx, uint64_t done),
                                   void *ctx,
                                   struct collect_counts *counts,
                                   struct err_detail *detail);

/* -- Checking ------------------------------------------------------------ */

/* For store/verify.h: one sentence for each thing that is not as it must be,
 * inside a read transaction. */
typedef void observed_difference_fn(void *ctx, const char *sentence);
MUST_CHECK enum err observations_check(struct engine *engine,
                                       observed_difference_fn *difference,
                                       void *ctx,
                                       uint64_t *actions,
                                       struct err_detail *detail);

/* Removes what does not fit together, so that the actions in question are
 * unknown and run once. *removed is the number of rows. */
MUST_CHECK enum err engine_repair_observations(struct engine *engine,
                                               uint64_t *removed,
                                               struct err_detail *detail);

/* -- For the files of this folder ---------------------------------------- */

struct effects;

/* The observation of a commit that landed at `seq`, for its author. Inside
 * the write transaction. */
MUST_CHECK enum err observations_take(struct engine *engine,
                                      const struct commit *commit,
                                      struct value principal,
                                      uint64_t seq,
                                      enum observation_fate *fate,
                                      struct err_detail *detail);

/* The same if admission has dropped the observation: the action has run, and
 * what is in its rows is of a run before that, so it is unknown. */
MUST_CHECK enum err observations_lose(struct engine *engine,
                                      const struct commit *commit,
                                      struct value principal,
                                      struct err_detail *detail);

/* One observation of a batch, by a session with this row (0: none), whose
 * layers have landed: checked against its basis, and taken. */
MUST_CHECK enum err observations_take_alone(
    struct engine *engine,
    const struct commit *commit,
    const struct observation *observation,
    struct value principal,
    uint64_t session,
    enum observation_fate *fate,
    struct err_detail *detail);

/* Forgets what is cached of the rows; or only if it is too much. */
void observations_forget(struct engine *engine);
void observations_trim(struct engine *engine);

#endif
