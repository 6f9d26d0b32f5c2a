/* The engine: one space, one file, one order of commits.
 *
 * A commit is admitted or refused by what it read, not by when it came. The
 * path of one, inside a write transaction:
 *
 *   replay?         the same commit again gets the same answer, first of all
 *   shape, branch   something to do, on a branch that is active
 *   preconditions   before the reads: a receipt that exists is final, a stale
 *                   read is only a reason to try again
 *   reads           nothing that was read has changed since (conflict.h)
 *   effects         a self-contained record of row changes (effects.h);
 *                   patches are applied here, in memory
 *   [log]           the record gets its place, if there is a log (sequence.h)
 *   apply           the rows, and nothing is decided any more
 *   observation     what the run behind it saw, if it came with it
 *                   (observations.h)
 *
 * Nothing is written before a commit is admitted, so a refused one leaves no
 * trace and does not harm its neighbours in a group.
 *
 *   E1  seq numbers are 1, 2, 3, ... in the order of admission, shared by all
 *       branches; a refused commit uses none.
 *   E2  The value of a document at a seq is the fold of its revisions up to
 *       it, through the parent branch up to the fork. Snapshots and the cache
 *       change the cost, never the answer.
 *   E3  A group is in the file whole or not at all; each commit in it has a
 *       verdict of its own.
 *
 * The engine belongs to one thread. It reads no clock: `at_ms` is given. */

#ifndef STORE_ENGINE_H
#define STORE_ENGINE_H

#include "base/map.h"
#include "proto/commit.h"
#include "proto/verdict.h"
#include "store/database.h"
#include "value/id.h"

struct effects;
struct commit_log;
struct observed_cache;

/* A zero field means the default. */
struct engine_options {
    const char *path; /* NULL: in memory */
    const char *vfs;  /* SQLite's way to the disk; NULL: the usual one */
    enum durability durability;
    bool read_only; /* of a file that is there: nothing is created or changed,
                       and who wants to gets READ_ONLY (B4 of database.h) */
    uint32_t snapshot_patches; /* patches behind a base before a snapshot */
    uint32_t snapshot_bytes;   /* or their size, if larger than the base */
    uint32_t snapshots_kept;   /* a document */
    uint32_t documents_cached;
    uint32_t document_bytes; /* the longest canonical text of a document */

    struct commit_log *log; /* in front of the file (store/log.h), or NULL */

    /* Called with each record, in order, when the group it came with is in the
     * file: never for one that was rolled back. */
    void (*on_effects)(void *ctx, const struct effects *effects);
    void *ctx;

    /* Asked while a write waits for another process, and by engine_close
     * between two steps; true: it waits no longer, and what can be done later
     * is left. NULL: it waits its time. */
    bool (*interrupted)(void *ctx);
    void *interrupted_ctx;
};

struct branch {
    uint64_t number; /* 0 is the main one */
    struct value name;
    struct branch *parent; /* NULL for the main one */
    uint64_t fork_seq;     /* what is seen of the parent */
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
    uint64_t tail_count; /* patches behind the last base or snapshot */
    uint64_t tail_bytes;
    uint64_t base_bytes;
    bool head_known;
    struct value head;   /* what is visible on this branch, or absent */
    uint64_t head_bytes; /* its canonical text has no more (documents.h) */
    struct recent_writes *recent; /* who wrote it lately (recent.h), or NULL */

    /* The commit being built, if `stamp` is the engine's. */
    uint64_t stamp;
    struct value staged;
    uint64_t staged_bytes; /* as head_bytes */
};

/* Rows of a piece that no image stands for (images.h), a hint. */
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
    int64_t version;       /* database_version when the caches were right */
    uint64_t changes;      /* and database_changes, or 0 */
    uint64_t horizon;      /* what is before it cannot be read (maintain.h) */
    uint64_t seq;          /* the last one */
    uint64_t record;       /* likewise, of commits and branch changes */
    struct digest chain;   /* over all records (effects.h) */
    uint64_t author;       /* the session of the last commit; 0: not known, */
    uint64_t author_since; /* and all that landed above this seq is its */
    uint64_t stamp;        /* counts commits that were built */
    bool any_bytes;        /* texts need not be UTF-8 (mend.h) */
    struct observed_cache *observed; /* of the rows of actions, or NULL */
    struct recent *recent; /* commits that have landed lately, or NULL */
    struct touches_cache *touches; /* of revisions (touches.h), or NULL */
    VEC(struct image_note) imaged; /* since it was opened */
    VEC(struct effects *)
    landed; /* since the transaction began, owned: for
               on_effects */
    struct engine_counters {
        uint64_t rows;      /* revision rows looked at */
        uint64_t decodes;   /* documents and patches parsed */
        uint64_t snapshots; /* written */
        uint64_t measured;  /* documents written only to know their size */
        uint64_t lookups;   /* of commits by session and local seq */
    } counters;
};

MUST_CHECK enum err engine_open(struct engine *engine,
                                const struct engine_options *options,
                                struct err_detail *detail);
/* Pieces that have changed since get their images (images.h) before. */
void engine_close(struct engine *engine);

/* For a process that ends: the file is closed as it is, without images and a
 * checkpoint, and memory is left to the system. Nothing else may follow. */
void engine_leave(struct engine *engine);

/* The local seq with which a session of that identity goes on: above every one
 * of its commits that have landed. 1 if there is none. Nobody else may commit
 * for it meanwhile. */
MUST_CHECK enum err engine_session_next(struct engine *engine,
                                        struct identity identity,
                                        uint64_t *next,
                                        struct err_detail *detail);

/* -- Committing ---------------------------------------------------------- */

struct engine_request {
    const struct commit *commit;
    struct value principal; /* string, or absent */
    uint64_t client;        /* which runtime of the session sends it
                               (proto/message.h, open): a repetition is only
                               what the same one sends again; 0: not known */
    uint64_t at_ms;         /* wall clock, for people */
    uint64_t unchanged_seq; /* up to this seq nothing has changed that the
                               author watches and was not told of when it made
                               the commit; 0: not known */
    struct verdict verdict; /* filled in; release it */
};

/* All of them in one SQL transaction, in order. OK: the verdicts hold and
 * what landed is in the file. Anything else is a fault: nothing landed, and
 * every verdict is that fault. */
MUST_CHECK enum err engine_commit(struct engine *engine,
                                  struct engine_request *requests,
                                  size_t count,
                                  struct err_detail *detail);

/* For who keeps rows of his own in the file and wants them to change together
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
 * with it. engine_write_end is database_end, and keeps the caches right.
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

/* One state of the space for several questions: engine_head, engine_before and
 * engine_changes are asked between these two, with nothing else of this header
 * in between. `engine->seq` is then the seq of that state. */
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

/* Whether the branch was at `seq`, and can be read as it was then. */
bool engine_has_past(struct engine *engine, struct value branch, uint64_t seq);

/* The document as it was at such a seq, new; absent if there was none. */
MUST_CHECK enum err engine_before(struct engine *engine,
                                  const struct engine_address *address,
                                  uint64_t seq,
                                  struct value *out,
                                  struct err_detail *detail);

/* A document that the commit at `seq` wrote. Borrowed for the call. */
struct engine_change {
    uint64_t seq;
    struct engine_address address;
};

/* `change` must not ask the engine anything. */
typedef void engine_change_fn(void *ctx, const struct engine_change *change);

/* What the commits above `after` and up to `to` wrote, in their order, on all
 * branches; what one commit wrote twice may be told twice. Costs as much as
 * there are such commits. If `after` is below the horizon, each document is
 * told once, with the last of these commits; that costs as much as there are
 * documents. */
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
    uint32_t limit;     /* at most as many, and at most ENGINE_PAGE_MAX */
    uint64_t seq;       /* the seq of the page before, or 0 */
};

/* The ids: an array, new. LISTING_MOVED if something has landed since the page
 * before. */
MUST_CHECK enum err engine_list(struct engine *engine,
                                const struct engine_page *page,
                                struct value *out,
                                struct err_detail *detail);

/* The live documents of the main branch with ids from `from` on and, unless it
 * is "", before `to`, in all scopes, by scope key and id. `visit` must not ask
 * the engine anything. Inside a transaction; looks at all documents. */
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

/* A new branch that sees `parent` up to fork_seq (or ENGINE_HEAD). The same
 * again is OK; a name that is taken otherwise, or was deleted, is refused. So
 * is a parent that was deleted (BRANCH_CLOSED): a fork is where work goes on,
 * and there it has ended. */
MUST_CHECK enum err engine_fork(struct engine *engine,
                                struct value name,
                                struct value parent,
                                uint64_t fork_seq,
                                struct err_detail *detail);

/* Closed for writing; reads stay legal. Not the main one. */
MUST_CHECK enum err engine_branch_delete(struct engine *engine,
                                         struct value name,
                                         struct err_detail *detail);

/* An array of objects {name, parent, forkSeq, headSeq, active}, new. */
MUST_CHECK enum err engine_branch_list(struct engine *engine,
                                       struct value *out,
                                       struct err_detail *detail);

/* -- Records ------------------------------------------------------------- */

/* Applies a record of another engine, which must be the next one: for
 * replicas. SEQUENCE if it is not. Nothing is taken on trust: a record that no
 * engine would have made of this history is refused before anything changes,
 * with PROTOCOL if it is malformed and CORRUPT if it does not fit. */
MUST_CHECK enum err engine_apply(struct engine *engine,
                                 struct value record,
                                 struct err_detail *detail);

/* -- For the files of this folder ---------------------------------------- */

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

/* Brings the caches up to date with what other connections committed. Inside
 * a transaction. */
MUST_CHECK enum err engine_refresh(struct engine *engine,
                                   struct err_detail *detail);

/* Forgets everything cached, after a fault or a foreign commit. */
void engine_forget(struct engine *engine);

/* The number of a session's row; 0 if there is none and `create` is false. */
MUST_CHECK enum err engine_session(struct engine *engine,
                                   struct value key,
                                   bool create,
                                   uint64_t *out,
                                   struct err_detail *detail);

#endif
