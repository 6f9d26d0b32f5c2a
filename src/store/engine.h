/* The engine: one space, one file, one order of commits.
 *
 * A commit is admitted or refused by what it read, not by when it arrived. Its
 * path, inside a write transaction:
 *
 *   replay?         the same commit again gets the same verdict, before all
 * else shape, branch   something to do, on an active branch preconditions
 * before the reads: an existing receipt is final, a stale read is only a reason
 * to retry reads           nothing that was read has changed since (conflict.h)
 *   effects         a self-contained record of row changes (commit_record.h);
 *                   patches are applied here, in memory
 *   [log]           the record gets its place, if there is a log (sequence.h)
 *   apply           the rows; no decision is left
 *   observation     what the run behind it saw, if the commit has one
 *                   (observations.h)
 *
 * Nothing is written before a commit is admitted, so a refused one leaves no
 * trace and does not affect the others of its group.
 *
 *   engine-1  seq numbers are 1, 2, 3, ... in the order of admission, shared by
 *             all branches; a refused commit uses none.
 *   engine-2  The value of a document at a seq is the fold of its revisions up
 *             to that seq, through the parent branch up to the fork. Snapshots
 *             and the cache change the cost, never the answer.
 *   engine-3  A group is in the file as a whole or not at all; each commit in
 *             it has its own verdict.
 *
 * An engine belongs to one thread. It reads no clock: `at_ms` is an
 * argument. */

#ifndef STORE_ENGINE_H
#define STORE_ENGINE_H

#include "base/map.h"
#include "proto/commit.h"
#include "proto/verdict.h"
#include "store/database.h"
#include "value/id.h"

struct commit_record;
struct commit_log;
struct observed_cache;

/* A zero field means the default. */
struct engine_options {
    const char *path; /* NULL: in memory */
    const char *vfs;  /* for SQLite; NULL: the default */
    enum durability durability;
    bool read_only; /* of an existing file: nothing is created or changed, and
                       writes are READ_ONLY (database-4 of database.h) */
    uint32_t snapshot_patches; /* patches after a base before a snapshot */
    uint32_t snapshot_bytes;   /* or their size, if larger than the base */
    uint32_t snapshots_kept;   /* per document */
    uint32_t documents_cached;
    uint32_t document_bytes; /* the longest canonical text of a document */

    struct commit_log *log; /* in front of the file (store/log.h), or NULL */

    /* Called with each record, in order, when its group is in the file; never
     * for one that was rolled back. */
    void (*on_commit_record)(void *ctx,
                             const struct commit_record *commit_record);
    void *ctx;

    /* Asked while a write waits for another process, and by engine_close
     * between two steps. True ends the wait, and work that can be done later is
     * left out. NULL: the wait has its full time. */
    bool (*interrupted)(void *ctx);
    void *interrupted_ctx;
};

struct branch {
    uint64_t number; /* 0 is the main branch */
    struct value name;
    struct branch *parent; /* NULL for the main branch */
    uint64_t fork_seq;     /* what is visible of the parent */
    bool active;
    uint64_t head_seq; /* its last commit; at least fork_seq */
};

/* A document on one branch, as cached. */
struct document {
    struct branch *branch;
    struct value scope_key;
    struct value id;
    uint64_t number; /* of its row; 0: none on this branch */
    enum commit_op_kind op;
    uint64_t head_seq;
    uint64_t head_index;
    uint64_t base_seq;   /* of its last set or delete; 0: none */
    uint64_t tail_count; /* patches after the last base or snapshot */
    uint64_t tail_bytes;
    uint64_t base_bytes;
    bool head_known;
    struct value head;   /* the value visible on this branch, or absent */
    uint64_t head_bytes; /* upper bound of its canonical text (documents.h) */
    struct recent_writes *recent; /* its recent authors (recent.h), or NULL */

    /* The commit being built, if `stamp` is the engine's. */
    uint64_t stamp;
    struct value staged;
    uint64_t staged_bytes; /* as head_bytes */
};

/* Rows of a piece that are in no image (images.h), a hint. */
struct image_note {
    uint64_t piece;
    uint64_t rows;
};

struct engine {
    struct database database;
    struct engine_options options;
    struct path_table paths;
    VEC(struct branch *) branches;
    struct map documents;  /* struct document by branch, scope key and id */
    struct map sessions;   /* struct session_row by key */
    int64_t version;       /* database_version when the caches were valid */
    uint64_t changes;      /* and database_changes, or 0 */
    uint64_t horizon;      /* the past before it cannot be read (maintain.h) */
    uint64_t seq;          /* the last one */
    uint64_t record;       /* likewise, of commits and branch changes */
    struct digest chain;   /* over all records (commit_record.h) */
    uint64_t author;       /* the session of the last commit; 0: not known, */
    uint64_t author_since; /* and of all that landed above this seq */
    uint64_t stamp;        /* counts commits that were built */
    bool any_bytes;        /* texts need not be UTF-8 (repair_text.h) */
    struct observed_cache *observed; /* of the rows of actions, or NULL */
    struct recent *recent; /* commits that have landed lately, or NULL */
    struct touch_tree_cache *touches; /* of revisions (touch_tree.h), or NULL */
    VEC(struct image_note) imaged;    /* since opening */
    VEC(struct commit_record *)
    landed; /* since the transaction began, owned: for on_commit_record */
    struct engine_counters {
        uint64_t rows;      /* revision rows visited */
        uint64_t decodes;   /* documents and patches parsed */
        uint64_t snapshots; /* written */
        uint64_t measured;  /* documents serialised only to measure them */
        uint64_t lookups;   /* of commits by session and local seq */
    } counters;
};

MUST_CHECK enum err engine_open(struct engine *engine,
                                const struct engine_options *options,
                                struct err_detail *detail);
/* First writes the images of pieces that have changed (images.h). */
void engine_close(struct engine *engine);

/* For a process that exits: closes the file as it is, without images or a
 * checkpoint, and leaves memory to the system. No other call may follow. */
void engine_leave(struct engine *engine);

/* The next local seq of a session with that identity: above all of its commits
 * that have landed. 1 if there is none. No other process may commit for it
 * meanwhile. */
MUST_CHECK enum err engine_session_next(struct engine *engine,
                                        struct identity identity,
                                        uint64_t *next,
                                        struct err_detail *detail);

/* -- Committing ---------------------------------------------------------- */

struct engine_request {
    const struct commit *commit;
    struct value principal; /* string, or absent */
    uint64_t client;        /* the runtime of the session that sends it
                               (proto/message.h, open): only the same runtime
                               can resend a commit; 0: not known */
    uint64_t at_ms;         /* wall clock, informative */
    uint64_t unchanged_seq; /* up to this seq nothing had changed that the
                               author watched and had not received when it made
                               the commit; 0: not known */
    struct verdict verdict; /* filled in; release it */
};

/* All requests in one SQL transaction, in order. OK: the verdicts hold and what
 * landed is in the file. Anything else is a fault: nothing landed, and every
 * verdict is that fault. */
MUST_CHECK enum err engine_commit(struct engine *engine,
                                  struct engine_request *requests,
                                  size_t count,
                                  struct err_detail *detail);

/* For callers that keep their own rows in the file and change them together
 * with documents: a write transaction, commits inside it, and its end.
 *
 *   err = engine_write_begin(engine, &detail);
 *   if (err == ERR_OK) {
 *       ... statements, engine_write_commit ...
 *       err = engine_write_end(engine, err, &detail);
 *   }
 *
 * After begin the caches are up to date. engine_write_commit is OK with a
 * verdict (the caller releases it), or a fault: then the transaction must end
 * with it. engine_write_end is database_end, and keeps the caches valid.
 * `detail` is not NULL. */
MUST_CHECK enum err engine_write_begin(struct engine *engine,
                                       struct err_detail *detail);
MUST_CHECK enum err engine_write_commit(struct engine *engine,
                                        struct engine_request *request,
                                        struct err_detail *detail);
MUST_CHECK enum err engine_write_end(struct engine *engine,
                                     enum err err,
                                     struct err_detail *detail);

/* -- Reading ------------------------------------------------------------- */

#define ENGINE_HEAD UINT64_MAX

struct engine_address {
    struct value branch;    /* name */
    struct value scope_key; /* value/address.h */
    struct value id;
};

/* The document at `seq` or at the head, new; absent if there is none. Errors:
 * BRANCH_UNKNOWN, SEQUENCE, CORRUPT, faults. */
MUST_CHECK enum err engine_read(struct engine *engine,
                                const struct engine_address *address,
                                uint64_t seq,
                                struct value *out,
                                struct err_detail *detail);

/* One state of the space for several queries: engine_head, engine_before and
 * engine_changes are called between these two, and nothing else of this header.
 * `engine->seq` is the seq of that state. */
MUST_CHECK enum err engine_read_begin(struct engine *engine,
                                      struct err_detail *detail);
void engine_read_end(struct engine *engine);

/* The document at the head, new, and the seq of its last revision; 0 if there
 * never was one. */
MUST_CHECK enum err engine_head(struct engine *engine,
                                const struct engine_address *address,
                                struct value *out,
                                uint64_t *seq,
                                struct err_detail *detail);

/* Whether the branch existed at `seq`, and can be read as of then. */
bool engine_has_history(struct engine *engine,
                        struct value branch,
                        uint64_t seq);

/* The document at such a seq, new; absent if there was none. */
MUST_CHECK enum err engine_before(struct engine *engine,
                                  const struct engine_address *address,
                                  uint64_t seq,
                                  struct value *out,
                                  struct err_detail *detail);

/* A document written by the commit at `seq`. Borrowed for the call. */
struct engine_change {
    uint64_t seq;
    struct engine_address address;
};

/* Must not call the engine. */
typedef void engine_change_fn(void *ctx, const struct engine_change *change);

/* What the commits in (after, to] wrote, in order, on all branches; a document
 * that one commit wrote twice may be visited twice. Costs as much as there are
 * such commits. If `after` is below the horizon, each document is visited once,
 * with its last commit; that costs as much as there are documents. */
MUST_CHECK enum err engine_changes(struct engine *engine,
                                   uint64_t after,
                                   uint64_t to,
                                   engine_change_fn *change,
                                   void *ctx,
                                   struct err_detail *detail);

/* A page of a listing: ids of live documents in one scope of one branch's own
 * rows, ascending. */
enum {
    ENGINE_PAGE_MAX = 1000
};

struct engine_page {
    struct value branch; /* name */
    struct value scope_key;
    struct value after; /* the last id of the page before; absent: none */
    uint32_t limit;     /* at most this, and at most ENGINE_PAGE_MAX */
    uint64_t seq;       /* the seq of the page before, or 0 */
};

/* The ids: an array, new. LISTING_MOVED if a commit has landed since the page
 * before. */
MUST_CHECK enum err engine_list(struct engine *engine,
                                const struct engine_page *page,
                                struct value *out,
                                struct err_detail *detail);

/* The live documents of the main branch with ids from `from` on and, unless it
 * is "", before `to`, in all scopes, by scope key and id. `visit` must not call
 * the engine. Inside a transaction; visits all documents. */
typedef void engine_document_fn(void *ctx,
                                struct value scope_key,
                                struct value id);
MUST_CHECK enum err engine_documents(struct engine *engine,
                                     const char *from,
                                     const char *to,
                                     engine_document_fn *visit,
                                     void *ctx,
                                     struct err_detail *detail);

/* -- Branches ------------------------------------------------------------ */

/* A new branch that sees `parent` up to fork_seq (or ENGINE_HEAD). Repeating a
 * fork is OK; a name in use for another fork, or deleted, is refused. So is a
 * deleted parent (BRANCH_CLOSED), because work on it has ended. */
MUST_CHECK enum err engine_fork(struct engine *engine,
                                struct value name,
                                struct value parent,
                                uint64_t fork_seq,
                                struct err_detail *detail);

/* Closes a branch for writing; reads stay possible. Not the main branch. */
MUST_CHECK enum err engine_branch_delete(struct engine *engine,
                                         struct value name,
                                         struct err_detail *detail);

/* An array of objects {name, parent, forkSeq, headSeq, active}, new. */
MUST_CHECK enum err engine_branch_list(struct engine *engine,
                                       struct value *out,
                                       struct err_detail *detail);

/* -- Records ------------------------------------------------------------- */

/* Applies a record of another engine, which must be the next one: for replicas.
 * SEQUENCE if it is not. Nothing is trusted: a record that no engine would have
 * made of this history is refused before anything changes, with PROTOCOL if it
 * is malformed and CORRUPT if it does not fit. */
MUST_CHECK enum err engine_apply(struct engine *engine,
                                 struct value record,
                                 struct err_detail *detail);

/* -- Internal to this directory ------------------------------------------ */

struct branch *engine_branch(struct engine *engine, struct value name);
/* BRANCH_UNKNOWN, with the name. */
enum err engine_unknown_branch(struct value name, struct err_detail *detail);
struct branch *engine_branch_by_number(struct engine *engine, uint64_t number);

/* Whether a branch of that name can be forked off. */
MUST_CHECK enum err engine_check_fork(struct engine *engine,
                                      struct value name,
                                      const struct branch *parent,
                                      uint64_t fork_seq,
                                      struct err_detail *detail);

/* Updates the caches with what other connections committed. Inside a
 * transaction. */
MUST_CHECK enum err engine_refresh(struct engine *engine,
                                   struct err_detail *detail);

/* Drops all caches, after a fault or a foreign commit. */
void engine_forget(struct engine *engine);

/* The number of a session's row; 0 if there is none and `create` is false. */
MUST_CHECK enum err engine_session(struct engine *engine,
                                   struct value key,
                                   bool create,
                                   uint64_t *out,
                                   struct err_detail *detail);

#endif
