/* One SQLite file: opening it, locking it, and its prepared statements.
 *
 * A space is one file in WAL mode with pages of 4 KiB. Several processes may
 * share it. SQLite before 3.51.3 can damage a file when two connections write
 * or checkpoint at the same instant. So every write transaction and every
 * checkpoint here runs under an advisory lock on a file beside the database
 * ("-lock", write_lock.h). Automatic checkpoints are off: the engine
 * checkpoints when the WAL has grown past `wal_bytes_max`.
 *
 * The lock file also holds a counter. Every writer makes it odd before it
 * begins and even when it has ended, under the lock. A reader that finds it
 * even and unchanged knows, from one word of shared memory, that nothing has
 * been written since: a hot document is read without asking SQLite. A writer
 * that dies leaves it odd, and then every reader asks SQLite. (A write by
 * another program goes unnoticed until the next commit of ours.) Behind the
 * counter are the queue for the lock, and the ring of runs (store/run_ring.h).
 * Every process that reads this ring holds a lock on the file's second byte.
 *
 *   database-1  Between database_begin and database_end the lock is held and an
 *               IMMEDIATE transaction is open.
 *   database-2  After a failed database_end nothing of the transaction is in
 *               the file. Exception: if only its sync failed, and the process
 *               ends before it commits or closes again, the next process may
 *               find the transaction; a commit is then answered as a replay.
 *   database-3  A power loss does not damage the file, even after a failed
 *               sync. The system considers what it could not write as written,
 *               so another sync proves nothing. At full durability, what was
 *               acknowledged is durable already and everything else is written
 *               again. At normal, the WAL may hold commits that only the
 *               system's memory has; if they were moved into the file, a power
 *               loss could leave half of them. So the WAL is synced before each
 *               checkpoint. If that fails, the lock file records it: until that
 *               part of the WAL has been written and synced again, no process
 *               begins a transaction or a checkpoint, each attempt is a fault,
 *               and reads continue.
 *
 *   database-4  Opened read-only, nothing is created, and nothing is written to
 *               the file, its WAL or its lock file; permission to read them is
 *               enough. In a read-only directory, a database without a WAL is
 *               assumed to have no writer, because SQLite reads it only then;
 *               when the counter shows a writer, the connection is replaced.
 *
 *   database-5  Reading needs no lock, and neither does opening an existing
 *               file. SQLite makes a reader wait only while another process
 *               creates the file, recovers the WAL, or is the last to close it:
 *               as long as a write would wait (lock.wait_ms), and at least
 *               READ_PATIENCE_MS.
 *
 *   database-6  A file that was deleted or replaced while it was open is
 *               noticed before the next write (file_identity.h). If the -shm is
 *               missing, replaced or shorter, the connection is replaced and
 *               recovers from the WAL: nothing is lost, and what was read
 *               meanwhile is refused (shm_guard.h). A deleted WAL is first
 *               moved into the database. A database that is missing, replaced
 *               or empty, and a replaced WAL, are CORRUPT: nothing more is
 *               written. A lock file that was deleted or truncated is created
 *               again.
 *
 * Of the store, only this file, file_identity.c, listeners.c, shared_map.c and
 * write_lock.c call the operating system, and only this one translates SQLite's
 * result codes. */

#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H

#include <sqlite3.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "store/file_identity.h"
#include "store/leases.h"
#include "store/run_ring.h"
#include "store/shm_guard.h"
#include "store/wal_buffer.h"
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

/* What is durable of the WAL (database-3). Changed under the lock. */
struct wal_state {
    _Atomic uint64_t unsynced; /* 1: a sync failed */
    _Atomic uint64_t salt;     /* of the WAL that `synced` is about */
    _Atomic uint64_t synced;   /* length of its prefix that is known to be
                                  durable */
};

struct lock_page {
    _Atomic uint64_t changes; /* the counter */
    struct wal_state wal;
    _Alignas(LOCK_QUEUE_AT) struct lock_queue queue;
};

/* The lock file. */
struct lock_file {
    _Alignas(4096) struct lock_page page;
    _Alignas(4096) struct run_ring_page run_ring;
};

struct database {
    sqlite3 *db;
    struct buf path;
    struct file_identity files; /* database-6 */
    struct shm_guard shm;       /* likewise */
    struct wal_buffer wal_buffer;
    const char *vfs; /* borrowed */
    enum durability durability;
    struct write_lock lock;   /* without a file in memory */
    struct leases leases;     /* of sessions, on the lock file */
    struct lock_page *page;   /* of the lock file; NULL: could not be mapped */
    size_t mapped;            /* bytes of it */
    struct run_ring run_ring; /* the ring of runs; missing if an older
                                 program created the file */
    uint64_t changes_of_end;
    struct wal_state wal; /* used if the lock file is not mapped */
    bool writing;         /* database-1 */
    bool reserved;        /* between database_reserve and database_unreserve */
    bool unused;          /* and its transaction has not begun to write */
    bool wrote;           /* since the lock was taken */
    uint64_t before;      /* the counter when the transaction began, */
    int64_t rows;         /* and the rows that SQLite had changed */
    uint64_t
        patience_ms; /* that SQLite may wait for its own locks, under ours */
    uint64_t wait_until; /* end of the present wait, by write_lock_clock */
    bool is_ours;        /* the journal mode was set: the file is a store */
    bool read_only;      /* database-4 */
    bool frozen;         /* no process had the file open for writing when the
                            counter was `frozen_at` */
    uint64_t frozen_at;
    uint32_t thaws;         /* connections replaced because of that */
    uint64_t wal_bytes_max; /* a checkpoint is due beyond this */
    uint64_t wal_bytes;     /* the size of the WAL, as far as known */
    uint64_t checkpoints;   /* a counter */
    sqlite3_stmt *statement[STATEMENT_COUNT];
};

/* A zero field means the default. */
struct database_options {
    const char *path; /* NULL for DURABILITY_MEMORY */
    const char *vfs;  /* a name known to SQLite; NULL: the default */
    enum durability durability;
    bool read_only;                 /* database-4; the file must exist */
    bool (*interrupted)(void *ctx); /* ends waits; or NULL */
    void *ctx;
};

/* The file is not changed. */
MUST_CHECK enum err database_open(struct database *database,
                                  const struct database_options *options,
                                  struct err_detail *detail);
void database_close(struct database *database);

/* The same without a checkpoint: the next process finds the WAL. */
void database_leave(struct database *database);

/* Sets the journal mode for `durability`. This changes the file, so first make
 * sure that it is a store. */
MUST_CHECK enum err database_set_journal(struct database *database,
                                         struct err_detail *detail);

/* database-1, database-2; READ_ONLY (database-4). database_end commits if `err`
 * is OK and rolls back otherwise, and returns the outcome: OK, `err`, or why
 * the commit failed. */
MUST_CHECK enum err database_begin(struct database *database,
                                   struct err_detail *detail);
MUST_CHECK enum err database_end(struct database *database,
                                 enum err err,
                                 struct err_detail *detail);

/* The same without waiting, for a host that has something to write soon: takes
 * the lock and opens the transaction, which the next database_begin finds.
 * BUSY: not now, and this connection is in the queue; ask again when the lock
 * file was written to (write_lock.h, lock-5), or after a few milliseconds.
 * Every OK is followed by database_unreserve, which optionally keeps the place
 * at the head of the queue (lock-4). */
MUST_CHECK enum err database_reserve(struct database *database,
                                     struct err_detail *detail);
void database_unreserve(struct database *database, bool stay);

/* One state of the file for several statements, without the lock. Inside a
 * reserved transaction it is that one. database_read_end always succeeds. */
MUST_CHECK enum err database_read_begin(struct database *database,
                                        struct err_detail *detail);
void database_read_end(struct database *database);

/* Moves the WAL into the file if it is longer than allowed, or always. */
MUST_CHECK enum err database_checkpoint(struct database *database,
                                        bool always,
                                        struct err_detail *detail);

/* Does work that SQLite does outside a transaction, under the lock, and moves
 * the WAL into the file. */
typedef enum err database_work_fn(struct database *database,
                                  void *ctx,
                                  struct err_detail *detail);
MUST_CHECK enum err database_alone(struct database *database,
                                   database_work_fn *work,
                                   void *ctx,
                                   struct err_detail *detail);

/* The counter when the last transaction of this connection ended: no other
 * connection can have written in between. */
uint64_t database_changes_of_end(const struct database *database);

/* The counter, if it is even; otherwise 0, which never means "unchanged". In
 * memory there is no other writer, and it is always 2. */
uint64_t database_changes(const struct database *database);

/* A process that was killed while writing leaves the counter odd, and it says
 * nothing until the next write. Makes it even again if no process is
 * writing. */
void database_end_dead_write(struct database *database);

/* Without the lock: replaces a lock file that was deleted or truncated
 * (database-6), because the counter of the old one says nothing any more. */
void database_look_at_lock_file(struct database *database);

/* A number that changes when another connection has committed. */
MUST_CHECK enum err database_version(struct database *database,
                                     int64_t *out,
                                     struct err_detail *detail);

/* The version of SQLite in use: "3.40.1". */
const char *database_library(void);

/* Whether this connection wants to hear of the runs of other connections
 * (store/run_ring.h); and whether another connection of any process does. These
 * are system locks, so a process that ends in any way does not count. */
void database_listen(struct database *database, bool listens);
bool database_has_listeners(const struct database *database);

/* Runs SQL that returns no rows. */
MUST_CHECK enum err database_run(struct database *database,
                                 const char *sql,
                                 struct err_detail *detail);

/* database-6: whether everything read so far can be relied on. */
MUST_CHECK enum err database_check_shm(struct database *database,
                                       struct err_detail *detail);

/* Translates SQLite's last result. */
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
 * The first failure is kept and stops the stepping; query_end reports it. A
 * statement is used by one query at a time. */

struct query {
    struct database *database;
    sqlite3_stmt *stmt;
    int code; /* SQLITE_OK until a failure */
};

struct query query_begin(struct database *database, enum statement statement);
void query_int(struct query *query, int parameter, uint64_t number);
void query_null(struct query *query, int parameter);
void query_string(struct query *query, int parameter, struct value string);

/* The same without a copy: the string must stay in place until the query has
 * ended. */
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
/* The rowid of the inserted row. */
uint64_t query_inserted(struct query *query);

/* Whether the statement, which has been stepped to its end, changed a row. */
bool query_changed(struct query *query);
/* The text or bytes of a column, borrowed until the next step. */
struct text query_get_text(struct query *query, int column);
/* Fails the query as CORRUPT unless a condition on the row holds; above all,
 * that its key is greater than that of the row before. In a damaged tree it may
 * not be; then a scan in steps would never end, or read a row twice. */
bool query_expects(struct query *query, bool holds);
MUST_CHECK enum err query_end(struct query *query, struct err_detail *detail);

/* The same for a query that has read nothing: a transaction begins or ends. */
MUST_CHECK enum err query_end_unseen(struct query *query,
                                     struct err_detail *detail);

#endif
