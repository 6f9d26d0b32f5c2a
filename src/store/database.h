/* One SQLite file: opening it, locking it, and its prepared statements.
 *
 * A space is one file in WAL mode with pages of 4 KiB. Several processes may
 * share it. SQLite before 3.51.3 can damage a file when two connections write
 * or checkpoint at the very same instant, so every write transaction and every
 * checkpoint here runs under an advisory lock on a file beside the database
 * ("-lock", write_lock.h), and automatic checkpoints are off: the engine
 * checkpoints by a policy of its own, when the WAL has grown past
 * `wal_bytes_max`.
 *
 * The lock file also holds a counter that every writer makes odd before it
 * begins and even when it has ended, under the lock. Whoever finds it even and
 * as it was knows, by reading one word of shared memory, that nothing has been
 * written since: a hot document is read without asking SQLite. A writer that
 * dies leaves it odd, and then everybody asks. (Who writes to the file with
 * another program goes unnoticed until the next commit of ours.) Behind it are
 * the queue of those who wait for the lock, and words about runs (store/ran.h).
 * Its second byte is locked by everybody who wants to hear those words.
 *
 *   B1  Between database_begin and database_end the lock is held and an
 *       IMMEDIATE transaction is open.
 *   B2  After a failed database_end nothing of the transaction is in the
 *       file. If the process ends before it commits or closes again, a
 *       transaction of which only the sync failed may be found by the next
 *       one: a commit is then answered as a replay.
 *   B3  Losing power does not damage the file, also after a sync that failed.
 *       The system takes what it could not write for written, so syncing once
 *       more proves nothing. At full, what was acknowledged is durable already
 *       and everything else is written again. At normal the WAL may hold
 *       commits that only the system's memory has; were they moved into the
 *       file now, a loss of power could leave half of them. So the WAL is
 *       synced before each checkpoint, by us, and if that fails this is noted
 *       in the lock file: until that part of the WAL has been written and
 *       synced again, no process begins a transaction or a checkpoint, each
 *       attempt is a fault, and reading goes on.
 *
 *   B4  Opened for reading only, nothing is created, and nothing is written to
 *       the file, its WAL or its lock file; the system's permission to read
 *       them is enough. In a folder in which nothing may be created either,
 *       and as long as there is no WAL, SQLite reads such a file only if it is
 *       told that nobody writes: it is, and told otherwise when the counter
 *       says that somebody has begun.
 *
 *   B5  Reading needs no lock, and neither does opening a file that is there.
 *       SQLite lets a reader wait only while another process makes the file,
 *       recovers the WAL or leaves as the last one: as long as a write would
 *       wait (lock.wait_ms), and at least READ_PATIENCE_MS.
 *
 *   B6  A file that was deleted or replaced while it was open is noticed before
 *       the next write (file_identity.h). Without the -shm, or with another or
 *       a shorter one, the connection is made anew, from the WAL: nothing is
 *       lost, and what was read meanwhile is refused (shm_guard.h). A WAL
 *       that was deleted is moved into the database first. A database that is
 *       not there any more, or is another one or empty, and a WAL that is
 *       another one are CORRUPT: nothing more is written. A lock file that was
 *       deleted or cut short is made anew.
 *
 * This file, file_identity.c, listeners.c, shared_map.c and write_lock.c are
 * the only ones of the store that talk to the operating system, and this is the
 * only one that turns SQLite's codes into ours. */

#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H

#include <sqlite3.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "store/file_identity.h"
#include "store/leases.h"
#include "store/ran.h"
#include "store/shm_guard.h"
#include "store/write_lock.h"
#include "value/value.h"

enum durability {
    DURABILITY_FULL,   /* an acknowledged commit survives a power loss */
    DURABILITY_NORMAL, /* it survives a crash of the process */
    DURABILITY_MEMORY, /* nothing survives: no file */
};

/* Every statement of the store: its name and its text (statements.c). */
enum statement {
#define X(name, sql) STATEMENT_##name,
#include "store/statements.h"
#undef X
    STATEMENT_COUNT,
};

/* What is durable of the WAL (B3). Changed under the lock. */
struct wal_state {
    _Atomic uint64_t unsynced; /* 1: a sync failed */
    _Atomic uint64_t salt;     /* of the WAL that `synced` is about */
    _Atomic uint64_t synced;   /* its first bytes that are surely durable */
};

struct lock_page {
    _Atomic uint64_t changes; /* the counter */
    struct wal_state wal;
    _Alignas(LOCK_QUEUE_AT) struct lock_queue queue;
};

/* The lock file. */
struct lock_file {
    _Alignas(4096) struct lock_page page;
    _Alignas(4096) struct ran_ring ran;
};

struct database {
    sqlite3 *db;
    struct buf path;
    struct file_identity files; /* B6 */
    struct shm_guard shm;       /* likewise */
    const char *vfs;            /* borrowed */
    enum durability durability;
    struct write_lock lock; /* without a file in memory */
    struct leases leases;   /* of sessions, on the lock file */
    struct lock_page *page; /* of the lock file; NULL: it could not be mapped */
    size_t mapped;          /* bytes of it */
    struct ran ran;         /* what is said of runs; the file may lack the ring,
                               if an older program made it */
    uint64_t changes_of_end;
    struct wal_state wal; /* used where the lock file is not mapped */
    bool writing;         /* B1 */
    bool reserved;        /* between database_reserve and database_unreserve */
    bool unused;          /* and its transaction has not begun to write */
    bool wrote;           /* since the lock was taken */
    uint64_t before;      /* the counter when the transaction began, */
    int64_t rows;         /* and the rows that SQLite had changed */
    uint64_t
        patience_ms; /* that SQLite may wait for its own locks, under ours */
    uint64_t wait_until; /* it waits now, by write_lock_clock */
    bool is_ours;        /* the journal was set: the file is a store */
    bool read_only;      /* B4 */
    bool frozen;         /* nobody has the file open for writing, nor had
                            when the counter was `frozen_at` */
    uint64_t frozen_at;
    uint32_t thaws;         /* connections that were replaced because of that */
    uint64_t wal_bytes_max; /* a checkpoint is due beyond this */
    uint64_t wal_bytes;     /* the WAL now, as far as known */
    uint64_t checkpoints;   /* counted, for people */
    sqlite3_stmt *statement[STATEMENT_COUNT];
};

/* A zero field means the default. */
struct database_options {
    const char *path; /* NULL for DURABILITY_MEMORY */
    const char *vfs;  /* a name that SQLite knows; NULL: its own */
    enum durability durability;
    bool read_only;                 /* B4; of a file that is there */
    bool (*interrupted)(void *ctx); /* ends what waits; or NULL */
    void *ctx;
};

/* The file is not changed. */
MUST_CHECK enum err database_open(struct database *database,
                                  const struct database_options *options,
                                  struct err_detail *detail);
void database_close(struct database *database);

/* The same without a checkpoint: the next one finds the WAL. */
void database_leave(struct database *database);

/* Sets how the file is written, by `durability`. This changes the file, so its
 * owner is looked at first. */
MUST_CHECK enum err database_set_journal(struct database *database,
                                         struct err_detail *detail);

/* B1, B2; READ_ONLY (B4). database_end commits if `err` is OK and rolls back
 * otherwise, and returns what is true then: OK, `err`, or why the commit
 * failed. */
MUST_CHECK enum err database_begin(struct database *database,
                                   struct err_detail *detail);
MUST_CHECK enum err database_end(struct database *database,
                                 enum err err,
                                 struct err_detail *detail);

/* The same without waiting, for a host that has something to write soon: takes
 * the lock and opens the transaction, which the next database_begin finds.
 * BUSY: not now, and this connection is in the queue; ask again when the lock
 * file was written to (write_lock.h, lock-5), or after a few milliseconds.
 * Every OK is followed by database_unreserve, which keeps the place at the head
 * of the queue if it is told to (lock-4). */
MUST_CHECK enum err database_reserve(struct database *database,
                                     struct err_detail *detail);
void database_unreserve(struct database *database, bool stay);

/* One state of the file for several statements, without the lock. Inside a
 * transaction that was reserved it is that one. database_read_end always
 * succeeds. */
MUST_CHECK enum err database_read_begin(struct database *database,
                                        struct err_detail *detail);
void database_read_end(struct database *database);

/* Moves the WAL into the file if it is longer than allowed, or always. */
MUST_CHECK enum err database_checkpoint(struct database *database,
                                        bool always,
                                        struct err_detail *detail);

/* Does work that SQLite does outside of a transaction, with the lock, and moves
 * the WAL into the file. */
typedef enum err database_work_fn(struct database *database,
                                  void *ctx,
                                  struct err_detail *detail);
MUST_CHECK enum err database_alone(struct database *database,
                                   database_work_fn *work,
                                   void *ctx,
                                   struct err_detail *detail);

/* What the counter was when the last transaction of this connection ended:
 * nobody else can have written in between. */
uint64_t database_changes_of_end(const struct database *database);

/* The counter, if it is even; otherwise 0, which never stands for "as it was".
 * In memory nobody else writes, and it is always 2. */
uint64_t database_changes(const struct database *database);

/* A process that was killed while it wrote leaves the counter odd, and nothing
 * could be told by it until the next write. Makes it even again if no process
 * is writing. */
void database_end_dead_write(struct database *database);

/* Without the lock: makes a lock file anew that was deleted or cut short (B6),
 * because the counter of the old one says nothing any more. */
void database_look_at_lock_file(struct database *database);

/* A number that changes when another connection has committed. */
MUST_CHECK enum err database_version(struct database *database,
                                     int64_t *out,
                                     struct err_detail *detail);

/* The version of SQLite that is used: "3.40.1". */
const char *database_library(void);

/* Whether this connection wants to hear of the runs of others (store/ran.h),
 * and whether another one does, of this process or any. The system knows: who
 * ends, in whatever way, is not there any more. */
void database_listen(struct database *database, bool listens);
bool database_has_listeners(const struct database *database);

/* Runs SQL that gives no rows. */
MUST_CHECK enum err database_run(struct database *database,
                                 const char *sql,
                                 struct err_detail *detail);

/* B6: whether what was read by now can be relied on. */
MUST_CHECK enum err database_check_shm(struct database *database,
                                       struct err_detail *detail);

/* What SQLite's last answer means. */
enum err database_error(struct database *database,
                        int code,
                        struct err_detail *detail);

/* -- Statements ----------------------------------------------------------
 *
 * A query is a statement with its parameters bound, being stepped:
 *
 *   struct query query = query_begin(database, STATEMENT_X);
 *   query_int(&query, 1, n);
 *   while (query_step(&query)) { ... query_get_int(&query, 0) ... }
 *   err = query_end(&query, detail);
 *
 * The first failure is remembered and stops the stepping; query_end reports
 * it. A statement is used by one query at a time. */

struct query {
    struct database *database;
    sqlite3_stmt *stmt;
    int code; /* SQLITE_OK while all is well */
};

struct query query_begin(struct database *database, enum statement statement);
void query_int(struct query *query, int parameter, uint64_t number);
void query_null(struct query *query, int parameter);
void query_string(struct query *query, int parameter, struct value string);

/* The same without a copy: of a string that stays where it is until the query
 * has ended. */
void query_kept(struct query *query, int parameter, const struct value *string);
/* Borrowed until query_end. */
void query_bytes(struct query *query,
                 int parameter,
                 const void *bytes,
                 size_t size);
void query_text(struct query *query,
                int parameter,
                const char *text,
                size_t length);

/* True if there is a row. */
bool query_step(struct query *query);
uint64_t query_get_int(struct query *query, int column);
bool query_is_null(struct query *query, int column);
/* The number that the row got which was inserted. */
uint64_t query_inserted(struct query *query);

/* Whether the statement, which has been stepped to its end, changed a row. */
bool query_changed(struct query *query);
/* The text or bytes of a column, borrowed until the next step. */
struct text query_get_text(struct query *query, int column);
/* Whether a row is as it must be, or the query fails: the file is damaged.
 * Above all its key is behind that of the row before it. In a damaged tree it
 * may not be; then a scan in steps would never end, and one row could be read
 * twice. */
bool query_expects(struct query *query, bool holds);
MUST_CHECK enum err query_end(struct query *query, struct err_detail *detail);

/* The same for one that has read nothing: a transaction begins or ends. */
MUST_CHECK enum err query_end_unseen(struct query *query,
                                     struct err_detail *detail);

#endif
