/* The connection to one SQLite file. */

#include "store/database.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/check.h"
#include "store/shared_map.h"
#include "store/wal_durability.h"

enum {
    READ_PATIENCE_MS = 20, /* database-5 */
    WAL_BYTES_MAX = 8 * 1024 * 1024,
};

static_assert(offsetof(struct lock_file, page.queue) == LOCK_QUEUE_AT,
              "the queue is not where its readers look");

/* -- Errors -------------------------------------------------------------- */

static enum err meaning_of(int code)
{
    switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ERR_BUSY;
    case SQLITE_FULL:
        return ERR_FULL;
    case SQLITE_NOMEM:
        return ERR_NO_MEMORY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ERR_CORRUPT;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return ERR_IO;
    default:
        return ERR_STORE;
    }
}

enum err database_error(struct database *database,
                        int code,
                        struct err_detail *detail)
{
    const enum err err = meaning_of(code);
    const char *why = database->db != NULL ? sqlite3_errmsg(database->db)
                                           : sqlite3_errstr(code);
    return err_set(detail, err, "%s: %s", err_text(err), why);
}

/* -- Opening ------------------------------------------------------------- */

static enum err open_lock(struct database *database,
                          const char *path,
                          struct err_detail *detail)
{
    struct buf name = {0};
    buf_printf(&name, "%s-lock", path);
    database->lock.fd =
        database->read_only
            ? open(buf_text(&name), O_RDONLY | O_CLOEXEC)
            : open(buf_text(&name), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    enum err err = ERR_OK;
    if (database->lock.fd < 0 && !database->read_only) {
        err = err_set(detail,
                      ERR_IO,
                      "cannot open %s: %s",
                      buf_text(&name),
                      strerror(errno));
    }
    buf_release(&name);
    return err;
}

/* How much of it there is. A reader does not extend the file, and finds only
 * the first page in one that an older program created; so does a writer on a
 * full disk. */
static size_t lock_file_bytes(const struct database *database)
{
    struct stat file;
    const size_t all = sizeof(struct lock_file);
    const size_t least = offsetof(struct lock_file, run_ring);
    if (!database->read_only) {
        const int fd = database->lock.fd;
        return posix_fallocate(fd, 0, (off_t)all) == 0     ? all
               : posix_fallocate(fd, 0, (off_t)least) == 0 ? least
                                                           : 0;
    }
    if (fstat(database->lock.fd, &file) != 0 || file.st_size < (off_t)least) {
        return 0;
    }
    return file.st_size >= (off_t)all ? all : least;
}

static void unmap_lock_file(struct database *database);

/* Maps the counter. The file is allocated first: writing to a mapped hole on a
 * full disk would kill the process. Without the map everything works, only
 * slower. */
static void map_lock_file(struct database *database)
{
    const int fd = database->lock.fd;
    const size_t bytes = fd >= 0 ? lock_file_bytes(database) : 0;
    void *at =
        bytes > 0 ? shared_map_open(fd, bytes, !database->read_only) : NULL;
    if (at == NULL) {
        return;
    }
    struct lock_file *file = at;
    database->mapped = bytes;
    database->page = &file->page;
    database->lock.queue = database->read_only ? NULL : &file->page.queue;
    database->run_ring.ring = bytes == sizeof *file ? &file->run_ring : NULL;
}

/* database-6: opens the present lock file, created if necessary. */
static enum err renew_lock_file(struct database *database,
                                struct err_detail *detail)
{
    const bool hears = database->run_ring.hears;
    const int before = database->lock.fd;
    unmap_lock_file(database);
    const enum err err = open_lock(database, buf_text(&database->path), detail);
    if (err != ERR_OK) {
        database->lock.fd = before; /* better than none */
    } else {
        (void)close(before);
        map_lock_file(database);
        database_listen(database, hears);
        leases_renew(&database->leases, database->lock.fd);
        database->files.inodes[FILE_LOCK] = 0;
        (void)file_identity_look(&database->files, FILE_LOCK);
    }
    return err;
}

static void unmap_lock_file(struct database *database)
{
    run_ring_release(&database->run_ring);
    if (database->page != NULL) {
        shared_map_close(database->page, database->mapped);
        database->page = NULL;
        database->lock.queue = NULL;
    }
}

uint64_t database_changes(const struct database *database)
{
    if (database->durability == DURABILITY_MEMORY) {
        return 2;
    }
    const uint64_t changes =
        database->page != NULL ? atomic_load(&database->page->changes) : 1;
    return changes % 2 == 0 ? changes : 0;
}

uint64_t database_changes_of_end(const struct database *database)
{
    return database->durability == DURABILITY_MEMORY ? 2
                                                     : database->changes_of_end;
}

/* Under the lock: odd while writing, and another number afterwards. */
static void count_change(struct database *database, bool writing)
{
    if (database->page != NULL) {
        const uint64_t parity = writing ? 1 : 0;
        uint64_t changes = atomic_load(&database->page->changes);
        if (changes == 0) { /* a new file: a number that no file had before */
            changes = write_lock_wall() * 4096;
        }
        database->changes_of_end = ((changes / 2 + 1) * 2) | parity;
        atomic_store(&database->page->changes, database->changes_of_end);
    }
}

/* -- SQLite's own waiting ------------------------------------------------ */

/* SQLite asks whether to try again. By the clock, because an attempt itself
 * takes time. */
static int wait_for_sqlite(void *ctx, int attempts)
{
    struct database *database = ctx;
    const struct write_lock *lock = &database->lock;
    const uint64_t now = write_lock_clock();
    if (attempts == 0) {
        const uint64_t reading =
            lock->wait_ms > READ_PATIENCE_MS ? lock->wait_ms : READ_PATIENCE_MS;
        database->wait_until =
            now + (lock->held ? database->patience_ms : reading);
    }
    if (now >= database->wait_until ||
        (lock->interrupted != NULL && lock->interrupted(lock->ctx))) {
        return 0;
    }
    (void)sqlite3_sleep(1);
    return 1;
}

/* Settings of this connection alone: the file may not be ours. */
static enum err set_pragmas(struct database *database,
                            struct err_detail *detail)
{
    return database_run(database,
                        "PRAGMA page_size = 4096;"
                        "PRAGMA temp_store = MEMORY;"
                        "PRAGMA cache_size = -32768;"
                        "PRAGMA wal_autocheckpoint = 0;",
                        detail);
}

static void unlock(struct database *database);

/* Whether its writes go to a WAL already: this only reads (database-5). */
static bool is_wal(struct database *database)
{
    sqlite3_stmt *stmt = NULL;
    bool found = false;
    if (sqlite3_prepare_v2(database->db,
                           "PRAGMA journal_mode",
                           -1,
                           &stmt,
                           NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW) {
        const unsigned char *mode = sqlite3_column_text(stmt, 0);
        found = mode != NULL && strcmp((const char *)mode, "wal") == 0;
    }
    (void)sqlite3_finalize(stmt);
    return found;
}

/* Switching to a WAL is a write. In a new file, free pages can be returned from
 * now on; in another one the first pragma has no effect. */
static enum err make_wal(struct database *database, struct err_detail *detail)
{
    enum err err = write_lock_wait(&database->lock, detail);
    if (err == ERR_OK) {
        database->patience_ms = database->lock.wait_ms;
        err = database_run(database,
                           "PRAGMA auto_vacuum = INCREMENTAL;"
                           "PRAGMA journal_mode = WAL",
                           detail);
        database->patience_ms = 0;
        unlock(database);
    }
    return err;
}

/* For a connection with its WAL open: its files are the present ones. */
static enum err set_level(struct database *database, struct err_detail *detail)
{
    static const char *const levels[] = {
        [DURABILITY_FULL] = "PRAGMA synchronous = FULL",
        [DURABILITY_NORMAL] = "PRAGMA synchronous = NORMAL",
        [DURABILITY_MEMORY] =
            "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF",
    };
    const enum err err =
        database_run(database, levels[database->durability], detail);
    if (err == ERR_OK) {
        file_identity_note(&database->files);
        database->wal_buffer.enabled = database->durability == DURABILITY_FULL;
    }
    return err;
}

enum err database_set_journal(struct database *database,
                              struct err_detail *detail)
{
    if (database->read_only) {
        return ERR_OK; /* its writers have set it */
    }
    enum err err = ERR_OK;
    if (database->durability != DURABILITY_MEMORY && !is_wal(database)) {
        err = make_wal(database, detail);
    }
    if (err == ERR_OK) {
        err = set_level(database, detail);
    }
    database->is_ours = err == ERR_OK;
    return err;
}

static enum err connect(struct database *database,
                        const char *name,
                        int flags,
                        struct err_detail *detail)
{
    enum err err = ERR_OK;
    const int code = sqlite3_open_v2(name, &database->db, flags, database->vfs);
    if (code != SQLITE_OK) {
        err = database_error(database, code, detail);
    }
    if (err == ERR_OK) {
        shm_guard_begin(&database->shm, database->db);
        (void)sqlite3_extended_result_codes(database->db, 1);
        (void)sqlite3_busy_handler(database->db, wait_for_sqlite, database);
        err = set_pragmas(database, detail);
    }
    return err;
}

static void disconnect(struct database *database)
{
    for (unsigned i = 0; i < STATEMENT_COUNT; i++) {
        (void)sqlite3_finalize(database->statement[i]);
        database->statement[i] = NULL;
    }
    (void)sqlite3_close(database->db);
    database->db = NULL;
}

/* -- Reading only -------------------------------------------------------- */

/* "file:PATH?immutable=1", in which a path may have any bytes. */
static void put_frozen_name(struct buf *to, const char *path)
{
    buf_append_text(to, "file:");
    for (const char *at = path; *at != '\0'; at++) {
        const unsigned char byte = (unsigned char)*at;
        if (byte == '%' || byte == '?' || byte == '#') {
            buf_printf(to, "%%%02X", byte);
        } else {
            buf_append_char(to, *at);
        }
    }
    buf_append_text(to, "?immutable=1");
}

static bool has_wal(const struct database *database)
{
    struct buf name = {0};
    struct stat file;
    buf_printf(&name, "%s-wal", buf_text(&database->path));
    const bool found = stat(buf_text(&name), &file) == 0 && file.st_size > 0;
    buf_release(&name);
    return found;
}

/* Whether SQLite would have to create something beside the file to read it, and
 * may not. SQLite opens the file only now. */
static bool is_barred(struct database *database)
{
    const int code = sqlite3_exec(database->db,
                                  "SELECT 1 FROM sqlite_schema LIMIT 1",
                                  NULL,
                                  NULL,
                                  NULL) &
                     0xFF;
    return (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) &&
           !has_wal(database);
}

/* database-4. */
static enum err connect_reader(struct database *database,
                               struct err_detail *detail)
{
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
    const uint64_t changes = database_changes(database);
    enum err err = connect(database, buf_text(&database->path), flags, detail);
    database->frozen = false;
    if (database->db != NULL && is_barred(database)) {
        struct buf name = {0};
        put_frozen_name(&name, buf_text(&database->path));
        disconnect(database);
        err =
            connect(database, buf_text(&name), flags | SQLITE_OPEN_URI, detail);
        buf_release(&name);
        database->frozen = true;
        database->frozen_at = changes;
    }
    return err;
}

/* A writer has begun since the file was opened. */
static enum err thaw(struct database *database, struct err_detail *detail)
{
    if (LIKELY(!database->frozen) ||
        database_changes(database) == database->frozen_at) {
        return ERR_OK;
    }
    disconnect(database);
    database->thaws++;
    return connect_reader(database, detail);
}

/* -- Opening and closing ------------------------------------------------- */

/* database-6: an empty file is a new one, unless it was written to before. */
static enum err check_empty(struct database *database,
                            struct err_detail *detail)
{
    const bool written =
        has_wal(database) ||
        (database->page != NULL && atomic_load(&database->page->changes) != 0);
    const bool empty =
        file_identity_look(&database->files, FILE_DATABASE) == FILE_EMPTIED;
    return empty && written
               ? err_set(detail,
                         ERR_CORRUPT,
                         "the file was truncated to 0 bytes: restore a backup, "
                         "or remove it with its -wal and -lock files to start "
                         "over")
               : ERR_OK;
}

/* Whether one of the files is not the one that this connection has. */
static bool has_moved(struct database *database)
{
    bool moved = false;
    for (unsigned i = FILE_DATABASE; i <= FILE_SHM; i++) {
        moved = moved || file_identity_look(&database->files,
                                            (enum database_file)i) != FILE_SAME;
    }
    return moved;
}

static enum err connect_writer(struct database *database,
                               struct err_detail *detail)
{
    const bool memory = database->durability == DURABILITY_MEMORY;
    return connect(database,
                   memory ? ":memory:" : buf_text(&database->path),
                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                       SQLITE_OPEN_NOMUTEX,
                   detail);
}

enum err database_open(struct database *database,
                       const struct database_options *options,
                       struct err_detail *detail)
{
    const bool memory = options->durability == DURABILITY_MEMORY;
    *database = (struct database){
        .vfs = options->vfs,
        .durability = options->durability,
        .read_only = options->read_only && !memory,
        .lock = {.fd = -1,
                 .wait_ms = LOCK_WAIT_MS,
                 .interrupted = options->interrupted,
                 .ctx = options->ctx},
        .wal_bytes_max = WAL_BYTES_MAX,
    };
    if (!memory && *options->path == '\0') {
        /* To SQLite that is a temporary file. */
        return err_set(detail, ERR_ARGUMENT, "the path is empty");
    }
    enum err err = memory ? ERR_OK : open_lock(database, options->path, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (!memory) {
        buf_append_text(&database->path, options->path);
        file_identity_init(&database->files, options->path);
        map_lock_file(database);
        err = check_empty(database, detail);
    }
    if (err != ERR_OK) {
        database_close(database);
        return err;
    }
    err = database->read_only ? connect_reader(database, detail)
                              : connect_writer(database, detail);
    if (err != ERR_OK) {
        database_close(database);
    }
    return err;
}

/* The last connection checkpoints when it closes, which is a write. */
static void close_file(struct database *database, bool checkpoint)
{
    const bool skips =
        !checkpoint || has_moved(database) ||
        (database->is_ours && wal_sync(database, NULL) != ERR_OK);
    if (skips) {
        const int option = SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        (void)sqlite3_db_config(database->db, option, 1, NULL);
    }
    disconnect(database);
}

static void close_with(struct database *database, bool checkpoint)
{
    if (database->read_only) {
        disconnect(database);
    } else if (database->db != NULL) {
        /* Does not wait for the lock: the next process finds the WAL. */
        const bool locked = write_lock_try(&database->lock, NULL) == ERR_OK;
        close_file(database, locked && checkpoint);
        if (locked) {
            unlock(database);
        }
        write_lock_leave(&database->lock);
    }
    unmap_lock_file(database);
    if (database->lock.fd >= 0) {
        (void)close(database->lock.fd);
    }
    database->lock.fd = -1;
    leases_release(&database->leases);
    file_identity_release(&database->files);
    buf_release(&database->path);
}

void database_close(struct database *database)
{
    close_with(database, true);
}

void database_leave(struct database *database)
{
    close_with(database, false);
}

/* -- The lock ------------------------------------------------------------ */

static void unlock(struct database *database)
{
    write_lock_release(&database->lock, database->wrote, false);
    database->wrote = false;
}

static bool has_lost_lock_file(struct database *database)
{
    return database->lock.fd >= 0 &&
           (file_identity_look(&database->files, FILE_LOCK) != FILE_SAME ||
            (database->page != NULL && shared_map_is_lost(database->page)));
}

void database_look_at_lock_file(struct database *database)
{
    if (!database->lock.held && !database->read_only &&
        UNLIKELY(has_lost_lock_file(database))) {
        const enum err err = renew_lock_file(database, NULL);
        (void)err; /* the next write reports it */
    }
}

/* SQLite rolls back what the dead process had written; the counter is this
 * layer's. A live writer holds the lock as long as the counter is odd. */
void database_end_dead_write(struct database *database)
{
    if (database->page == NULL || database->read_only || database->lock.held ||
        database_changes(database) != 0 ||
        flock(database->lock.fd, LOCK_EX | LOCK_NB) != 0) {
        return;
    }
    if (database_changes(database) == 0) {
        count_change(database, false);
    }
    (void)flock(database->lock.fd, LOCK_UN);
}

const char *database_library(void)
{
    return sqlite3_libversion();
}

/* -- Transactions -------------------------------------------------------- */

static enum err run_statement(struct database *database,
                              enum statement statement,
                              struct err_detail *detail)
{
    struct query query = query_begin(database, statement);
    (void)query_step(&query);
    return query_end_unseen(&query, detail);
}

/* Even the end of a transaction may fail for lack of memory; then it ends
 * before the next one begins. */
static enum err begin_with(struct database *database,
                           enum statement begin,
                           struct err_detail *detail)
{
    if (sqlite3_get_autocommit(database->db) == 0) {
        const enum err err =
            run_statement(database, STATEMENT_ROLLBACK, detail);
        if (err != ERR_OK) {
            return err;
        }
    }
    return run_statement(database, begin, detail);
}

/* -- Files that change meanwhile (database-6) ---------------------------- */

static enum err refuse_file(const struct database *database,
                            enum database_file file,
                            enum file_change change,
                            struct err_detail *detail)
{
    return err_set(detail,
                   ERR_CORRUPT,
                   "%s %s while this process had it open, so writing stopped: "
                   "end the processes that use it, and put the file back or "
                   "restore a backup",
                   database->files.names[file],
                   file_change_text(change));
}

/* Replaces the connection, with the present files. The old one must not move
 * its view of the WAL into the database. */
static enum err reconnect(struct database *database, struct err_detail *detail)
{
    (void)sqlite3_db_config(database->db,
                            SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
                            1,
                            NULL);
    disconnect(database);
    database->thaws++;
    enum err err = connect_writer(database, detail);
    if (err == ERR_OK && !is_wal(database)) {
        err = err_set(detail,
                      ERR_CORRUPT,
                      "the database is no longer in WAL "
                      "mode");
    }
    return err == ERR_OK ? set_level(database, detail) : err;
}

static enum err checkpoint_locked(struct database *database,
                                  struct err_detail *detail);

static bool has_lost_shm(struct database *database)
{
    return file_identity_look(&database->files, FILE_SHM) != FILE_SAME ||
           shm_guard_is_lost(&database->shm);
}

enum err database_check_shm(struct database *database,
                            struct err_detail *detail)
{
    return shm_guard_is_lost(&database->shm)
               ? err_set(detail,
                         ERR_IO,
                         "%s was truncated while in use: no data is lost, "
                         "retry",
                         database->files.names[FILE_SHM])
               : ERR_OK;
}

/* Under the lock, before each write. */
static enum err check_files(struct database *database,
                            struct err_detail *detail)
{
    struct file_identity *files = &database->files;
    enum file_change change = file_identity_look(files, FILE_DATABASE);
    if (UNLIKELY(change != FILE_SAME)) {
        return refuse_file(database, FILE_DATABASE, change, detail);
    }
    change = file_identity_look(files, FILE_WAL);
    if (UNLIKELY(change == FILE_REPLACED)) {
        return refuse_file(database, FILE_WAL, change, detail);
    }
    enum err err = ERR_OK;
    if (UNLIKELY(change == FILE_DELETED)) {
        err = checkpoint_locked(database, detail);
    }
    if (UNLIKELY(err == ERR_OK &&
                 (change == FILE_DELETED || has_lost_shm(database)))) {
        err = reconnect(database, detail);
    }
    return err;
}

/* Under the lock: a transaction with a durable WAL (database-3). */
static enum err open_transaction(struct database *database,
                                 struct err_detail *detail)
{
    enum err err = check_files(database, detail);
    if (err == ERR_OK) {
        err = begin_with(database, STATEMENT_BEGIN, detail);
    }
    if (err == ERR_OK) {
        err = wal_repair(database, detail);
        if (err != ERR_OK) {
            struct err_detail ignored;
            (void)run_statement(database, STATEMENT_ROLLBACK, &ignored);
        }
    }
    return err;
}

static enum err refuse_to_write(struct err_detail *detail)
{
    return err_set(detail, ERR_READ_ONLY, "the space was opened read-only");
}

/* Names the process that holds the lock, which SQLite's message does not. */
static enum err explain_busy(const struct database *database,
                             enum err err,
                             struct err_detail *detail)
{
    struct lock_holder holder;
    if (err == ERR_BUSY && database->durability != DURABILITY_MEMORY) {
        lock_holder_find(buf_text(&database->path), &holder);
        if (holder.kind != LOCK_NONE) {
            return lock_holder_explain(&holder, detail);
        }
    }
    return err;
}

/* The lock, on the file that other processes lock, too (database-6). */
static enum err take_lock(struct database *database,
                          enum err (*take)(struct write_lock *lock,
                                           struct err_detail *detail),
                          struct err_detail *detail)
{
    enum err err = take(&database->lock, detail);
    while (err == ERR_OK && UNLIKELY(has_lost_lock_file(database))) {
        write_lock_release(&database->lock, false, false);
        err = renew_lock_file(database, detail);
        if (err == ERR_OK) {
            err = take(&database->lock, detail);
        }
    }
    return err;
}

/* The lock and a transaction; waits as long as allowed. */
static enum err wait_for_transaction(struct database *database,
                                     struct err_detail *detail)
{
    const uint64_t began = write_lock_clock();
    enum err err = take_lock(database, write_lock_wait, detail);
    if (err == ERR_OK) {
        const uint64_t waited = write_lock_clock() - began;
        const uint64_t most = database->lock.wait_ms;
        database->patience_ms = most > waited ? most - waited : 0;
        err = open_transaction(database, detail);
        database->patience_ms = 0;
        if (err != ERR_OK) {
            unlock(database);
        }
    }
    return explain_busy(database, err, detail);
}

enum err database_begin(struct database *database, struct err_detail *detail)
{
    CHECK(!database->writing);
    if (database->read_only) {
        return refuse_to_write(detail);
    }
    enum err err = ERR_OK;
    if (!database->reserved) {
        err = wait_for_transaction(database, detail);
    } else if (!database->unused) {
        err = open_transaction(database, detail); /* one more under the lock */
    }
    database->unused = false;
    if (err == ERR_OK) {
        database->before = database_changes(database);
        database->rows = sqlite3_total_changes64(database->db);
        count_change(database, true);
        database->writing = true;
        wal_buffer_begin(&database->wal_buffer, database->db);
    }
    return err;
}

enum err database_reserve(struct database *database, struct err_detail *detail)
{
    CHECK(!database->writing && !database->reserved);
    if (database->read_only) {
        return refuse_to_write(detail);
    }
    enum err err = take_lock(database, write_lock_try, detail);
    if (err == ERR_OK) {
        err = open_transaction(database, detail);
        database->reserved = err == ERR_OK;
        database->unused = err == ERR_OK;
        if (err != ERR_OK) {
            write_lock_release(&database->lock, false, err == ERR_BUSY);
        }
    }
    return err;
}

void database_unreserve(struct database *database, bool stay)
{
    CHECK(!database->writing && database->reserved);
    if (database->unused) {
        struct err_detail ignored;
        (void)run_statement(database, STATEMENT_ROLLBACK, &ignored);
    }
    database->reserved = false;
    database->unused = false;
    write_lock_release(&database->lock, database->wrote, stay);
    database->wrote = false;
}

enum err database_read_begin(struct database *database,
                             struct err_detail *detail)
{
    CHECK(!database->writing);
    run_ring_listen(&database->run_ring);
    if (database->unused) {
        return ERR_OK;
    }
    enum err err = thaw(database, detail);
    if (err == ERR_OK && database->is_ours &&
        UNLIKELY(file_identity_look(&database->files, FILE_WAL) ==
                 FILE_REPLACED)) {
        err = refuse_file(database, FILE_WAL, FILE_REPLACED, detail);
    }
    if (err == ERR_OK && database->is_ours && has_lost_shm(database)) {
        err = reconnect(database, detail);
    } else if (err == ERR_OK && shm_guard_is_lost(&database->shm)) {
        disconnect(database);
        err = connect_reader(database, detail);
    }
    return err != ERR_OK ? err
                         : begin_with(database, STATEMENT_BEGIN_READ, detail);
}

void database_read_end(struct database *database)
{
    struct err_detail ignored;
    if (!database->unused &&
        run_statement(database, STATEMENT_COMMIT, &ignored) != ERR_OK) {
        (void)run_statement(database, STATEMENT_ROLLBACK, &ignored);
    }
}

static int count_wal_frames(void *ctx, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    struct database *database = ctx;
    database->wal_bytes = (uint64_t)pages * WAL_FRAME_BYTES;
    return SQLITE_OK;
}

static enum err checkpoint_locked(struct database *database,
                                  struct err_detail *detail)
{
    int frames = -1;
    const enum err synced = wal_sync(database, detail);
    if (synced != ERR_OK) {
        return synced;
    }
    const int code = sqlite3_wal_checkpoint_v2(database->db,
                                               NULL,
                                               SQLITE_CHECKPOINT_RESTART,
                                               &frames,
                                               NULL);
    if (code == SQLITE_OK || (code & 0xFF) == SQLITE_BUSY) {
        wal_note_synced(database, frames);
    }
    if (code == SQLITE_OK) {
        database->checkpoints++;
        database->wal_bytes = 0;
        return ERR_OK;
    }
    /* A reader is in the way: the next commit tries again. */
    return (code & 0xFF) == SQLITE_BUSY
               ? ERR_OK
               : database_error(database, code, detail);
}

/* A transaction that changed no row, because each commit in it was refused,
 * does not count: other processes have nothing to read. */
static void end_change(struct database *database, bool committed)
{
    if (committed && database->before != 0 && database->page != NULL &&
        sqlite3_total_changes64(database->db) == database->rows) {
        database->changes_of_end = database->before;
        atomic_store(&database->page->changes, database->before);
    } else {
        count_change(database, false);
        database->wrote = true;
    }
}

enum err database_end(struct database *database,
                      enum err err,
                      struct err_detail *detail)
{
    CHECK(database->writing);
    if (err == ERR_OK) {
        err = database_check_shm(database, detail);
    }
    if (err == ERR_OK) {
        (void)sqlite3_wal_hook(database->db, count_wal_frames, database);
        err = run_statement(database, STATEMENT_COMMIT, detail);
    }
    /* A failed COMMIT may or may not have ended the transaction. */
    if (err != ERR_OK && sqlite3_get_autocommit(database->db) == 0) {
        struct err_detail ignored;
        (void)run_statement(database, STATEMENT_ROLLBACK, &ignored);
    }
    wal_buffer_end(&database->wal_buffer);
    run_ring_end(&database->run_ring, err == ERR_OK);
    end_change(database, err == ERR_OK);
    database->writing = false;
    if (err == ERR_OK && database->wal_bytes > database->wal_bytes_max) {
        /* The commit stands; a failed checkpoint is tried again. */
        struct err_detail ignored;
        (void)checkpoint_locked(database, &ignored);
    }
    if (!database->reserved) {
        unlock(database);
    }
    return err;
}

enum err database_checkpoint(struct database *database,
                             bool always,
                             struct err_detail *detail)
{
    if (database->durability == DURABILITY_MEMORY || database->read_only ||
        (!always && database->wal_bytes <= database->wal_bytes_max)) {
        return ERR_OK;
    }
    enum err err = ERR_OK;
    if (atomic_load(&wal_state_of(database)->unsynced) != 0) {
        err = database_begin(database, detail); /* repairs the WAL */
        if (err == ERR_OK) {
            err = database_end(database, ERR_OK, detail);
        }
    }
    if (err == ERR_OK) {
        err = write_lock_wait(&database->lock, detail);
        err = explain_busy(database, err, detail);
    }
    if (err == ERR_OK) {
        err = checkpoint_locked(database, detail);
        unlock(database);
    }
    return err;
}

enum err database_alone(struct database *database,
                        database_work_fn *work,
                        void *ctx,
                        struct err_detail *detail)
{
    enum err err = database_begin(database, detail); /* repairs the WAL */
    if (err == ERR_OK) {
        err = database_end(database, ERR_OK, detail);
    }
    if (err == ERR_OK) {
        err = take_lock(database, write_lock_wait, detail);
        err = explain_busy(database, err, detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    err = check_files(database, detail);
    if (err == ERR_OK) {
        count_change(database, true);
        err = work(database, ctx, detail);
        count_change(database, false);
        database->wrote = true;
    }
    if (err == ERR_OK) {
        err = checkpoint_locked(database, detail);
    }
    unlock(database);
    return err;
}

enum err database_version(struct database *database,
                          int64_t *out,
                          struct err_detail *detail)
{
    *out = 0;
    if (database->durability == DURABILITY_MEMORY) {
        return ERR_OK; /* no other process sees it */
    }
    struct query query = query_begin(database, STATEMENT_DATA_VERSION);
    if (query_step(&query)) {
        *out = (int64_t)query_get_int(&query, 0) |
               (int64_t)database->thaws << 32; /* another connection counts
                                                  from the start */
    }
    return query_end(&query, detail);
}

enum err database_run(struct database *database,
                      const char *sql,
                      struct err_detail *detail)
{
    const int code = sqlite3_exec(database->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? ERR_OK : database_error(database, code, detail);
}
