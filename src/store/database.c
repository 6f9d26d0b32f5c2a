/* The connection to one SQLite file. */

#include "store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/check.h"

enum {
    BUSY_WAIT_MS = 10000, /* for another process to finish its transaction */
    WAL_BYTES_MAX = 8 * 1024 * 1024,
    WAL_FRAME_BYTES = 4096 + 24,
    LOCK_TURN_BYTE = 0,
    LOCK_LISTENERS_BYTE = 1,
};

static const char *const statement_sql[STATEMENT_COUNT] = {
#define X(name, sql) [STATEMENT_##name] = (sql),
#include "store/statements.h"
#undef X
};

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
    database->lock_fd =
        database->read_only
            ? open(buf_text(&name), O_RDONLY | O_CLOEXEC)
            : open(buf_text(&name), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    enum err err = ERR_OK;
    if (database->lock_fd < 0 && !database->read_only) {
        err = err_set(detail,
                      ERR_IO,
                      "cannot open %s: %s",
                      buf_text(&name),
                      strerror(errno));
    }
    buf_release(&name);
    return err;
}

/* How much of it is there. Who only reads does not make it longer, and finds
 * only the first page in one that was made by an older program; so does, on a
 * disk that is full, who writes. */
static size_t lock_file_bytes(const struct database *database)
{
    struct stat file;
    const size_t all = sizeof(struct lock_file);
    const size_t least = offsetof(struct lock_file, ran);
    if (!database->read_only) {
        const int fd = database->lock_fd;
        return posix_fallocate(fd, 0, (off_t)all) == 0     ? all
               : posix_fallocate(fd, 0, (off_t)least) == 0 ? least
                                                           : 0;
    }
    if (fstat(database->lock_fd, &file) != 0 || file.st_size < (off_t)least) {
        return 0;
    }
    return file.st_size >= (off_t)all ? all : least;
}

/* Maps the counter. The file is allocated first: writing to a mapped hole of a
 * file on a full disk would kill the process. Without it everything works,
 * only slower. */
static void map_lock_file(struct database *database)
{
    const int access = database->read_only ? PROT_READ : PROT_READ | PROT_WRITE;
    const size_t bytes = database->lock_fd >= 0 ? lock_file_bytes(database) : 0;
    void *at = bytes > 0
                   ? mmap(NULL, bytes, access, MAP_SHARED, database->lock_fd, 0)
                   : MAP_FAILED;
    if (at == MAP_FAILED) {
        return;
    }
    struct lock_file *file = at;
    database->mapped = bytes;
    database->page = &file->page;
    database->ran.ring = bytes == sizeof *file ? &file->ran : NULL;
}

static void unmap_lock_file(struct database *database)
{
    ran_release(&database->ran);
    if (database->page != NULL) {
        (void)munmap(database->page, database->mapped);
        database->page = NULL;
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
        const uint64_t changes = atomic_load(&database->page->changes);
        const uint64_t parity = writing ? 1 : 0;
        database->changes_of_end = ((changes / 2 + 1) * 2) | parity;
        atomic_store(&database->page->changes, database->changes_of_end);
    }
}

/* What concerns this connection alone: the file may be somebody else's. */
static enum err set_pragmas(struct database *database,
                            struct err_detail *detail)
{
    return database_run(database,
                        "PRAGMA page_size = 4096;"
                        "PRAGMA temp_store = MEMORY;"
                        "PRAGMA cache_size = -65536;"
                        "PRAGMA wal_autocheckpoint = 0;",
                        detail);
}

static enum err lock(struct database *database, struct err_detail *detail);
static void unlock(struct database *database);
static enum err sync_wal(struct database *database, struct err_detail *detail);

enum err database_set_journal(struct database *database,
                              struct err_detail *detail)
{
    static const char *const levels[] = {
        [DURABILITY_FULL] =
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
        [DURABILITY_NORMAL] =
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
        [DURABILITY_MEMORY] =
            "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF",
    };
    if (database->read_only) {
        return ERR_OK; /* it is as its writers want it */
    }
    enum err err = lock(database, detail); /* switching to WAL is a write */
    if (err == ERR_OK) {
        err = database_run(database, levels[database->durability], detail);
        unlock(database);
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
        (void)sqlite3_extended_result_codes(database->db, 1);
        (void)sqlite3_busy_timeout(database->db, BUSY_WAIT_MS);
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

/* Whether SQLite would have to create something beside the file in order to
 * read it, and may not. It looks at the file only now. */
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

/* B4. */
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

/* Somebody has begun to write since it was opened. */
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
        .lock_fd = -1,
        .wal_bytes_max = WAL_BYTES_MAX,
    };
    if (!memory && *options->path == '\0') {
        /* To SQLite that is a file without a name, which goes away. */
        return err_set(detail, ERR_ARGUMENT, "the path is empty");
    }
    enum err err = memory ? ERR_OK : open_lock(database, options->path, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (!memory) {
        buf_append_text(&database->path, options->path);
        map_lock_file(database);
    }
    err = database->read_only ? connect_reader(database, detail)
                              : connect_writer(database, detail);
    if (err != ERR_OK) {
        database_close(database);
    }
    return err;
}

void database_close(struct database *database)
{
    /* The last connection checkpoints when it closes: a write, too. */
    if (database->read_only) {
        disconnect(database);
    } else if (database->db != NULL) {
        const bool locked = lock(database, NULL) == ERR_OK;
        if (database->is_ours && sync_wal(database, NULL) != ERR_OK) {
            (void)sqlite3_db_config(database->db,
                                    SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
                                    1,
                                    NULL);
        }
        disconnect(database);
        if (locked) {
            unlock(database);
        }
    }
    unmap_lock_file(database);
    if (database->lock_fd >= 0) {
        (void)close(database->lock_fd);
    }
    database->lock_fd = -1;
    buf_release(&database->path);
}

/* -- The lock ------------------------------------------------------------ */

static bool take_turn(int fd)
{
    struct flock turn = {
        .l_type = F_WRLCK,
        .l_whence = SEEK_SET,
        .l_start = LOCK_TURN_BYTE,
        .l_len = 1,
    };
    return fcntl(fd, F_OFD_SETLK, &turn) == 0;
}

static void leave_turn(int fd)
{
    struct flock turn = {
        .l_type = F_UNLCK,
        .l_whence = SEEK_SET,
        .l_start = LOCK_TURN_BYTE,
        .l_len = 1,
    };
    (void)fcntl(fd, F_OFD_SETLK, &turn);
}

static bool take_lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Tries once a millisecond, BUSY_WAIT_MS times in all. */
static enum err wait_until(bool (*take)(int fd),
                           int fd,
                           int *waited_ms,
                           struct err_detail *detail)
{
    while (!take(fd)) {
        if (errno == EINTR) {
            continue;
        }
        if (errno != EWOULDBLOCK && errno != EACCES) {
            return err_set(detail, ERR_IO, "cannot lock: %s", strerror(errno));
        }
        if (*waited_ms >= BUSY_WAIT_MS) {
            return err_set(detail,
                           ERR_BUSY,
                           "another process held the file for %d ms",
                           *waited_ms);
        }
        (void)sqlite3_sleep(1);
        (*waited_ms)++;
    }
    return ERR_OK;
}

/* Who waits has the turn, and who comes back for more has to wait for it:
 * otherwise a busy writer takes the lock again before anybody has noticed that
 * it was free, and the others starve. */
static enum err lock(struct database *database, struct err_detail *detail)
{
    const int fd = database->lock_fd;
    if (fd < 0) {
        return ERR_OK;
    }
    int waited_ms = 0;
    enum err err = wait_until(take_turn, fd, &waited_ms, detail);
    if (err == ERR_OK) {
        err = wait_until(take_lock, fd, &waited_ms, detail);
        leave_turn(fd);
    }
    return err;
}

static void unlock(struct database *database)
{
    if (database->lock_fd >= 0) {
        (void)flock(database->lock_fd, LOCK_UN);
    }
}

/* SQLite takes back what the dead process had written; the counter is this
 * layer's. A writer that lives holds the lock as long as the counter is odd. */
void database_end_dead_write(struct database *database)
{
    if (database->page == NULL || database->read_only || database->writing ||
        database_changes(database) != 0 ||
        flock(database->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        return;
    }
    if (database_changes(database) == 0) {
        count_change(database, false);
    }
    unlock(database);
}

/* -- Listeners ----------------------------------------------------------- */

/* A lock that they share. */
void database_listen(struct database *database, bool listens)
{
    struct flock listener = {
        .l_type = listens ? F_RDLCK : F_UNLCK,
        .l_whence = SEEK_SET,
        .l_start = LOCK_LISTENERS_BYTE,
        .l_len = 1,
    };
    if (database->lock_fd >= 0) {
        (void)fcntl(database->lock_fd, F_OFD_SETLK, &listener);
    }
    ran_hear(&database->ran, listens);
}

/* Who could not have it alone is not alone. */
bool database_has_listeners(const struct database *database)
{
    struct flock alone = {
        .l_type = F_WRLCK,
        .l_whence = SEEK_SET,
        .l_start = LOCK_LISTENERS_BYTE,
        .l_len = 1,
    };
    return database->lock_fd >= 0 &&
           fcntl(database->lock_fd, F_OFD_GETLK, &alone) == 0 &&
           alone.l_type != F_UNLCK;
}

const char *database_library(void)
{
    return sqlite3_libversion();
}

bool database_is_locked(const char *path)
{
    struct buf name = {0};
    buf_printf(&name, "%s-lock", path);
    const int fd = open(buf_text(&name), O_RDONLY | O_CLOEXEC);
    bool held = false;
    buf_release(&name);
    if (fd >= 0) {
        held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        (void)close(fd); /* and the lock with it */
    }
    return held;
}

/* -- The WAL on the disk ------------------------------------------------- */

enum {
    WAL_HEADER_BYTES = 32,
    WAL_SALT_AT = 16,
};

static struct wal_state *wal_state(struct database *database)
{
    return database->page != NULL ? &database->page->wal : &database->wal;
}

/* The file of the WAL as SQLite has it open, or NULL. */
static sqlite3_file *wal_file(struct database *database)
{
    sqlite3_file *file = NULL;
    const int code = sqlite3_file_control(database->db,
                                          "main",
                                          SQLITE_FCNTL_JOURNAL_POINTER,
                                          &file);
    return code == SQLITE_OK && file != NULL && file->pMethods != NULL ? file
                                                                       : NULL;
}

/* Which WAL it is: each has another salt. 0 if there is none yet. */
static uint64_t wal_salt(sqlite3_file *file)
{
    uint64_t salt = 0;
    return file->pMethods->xRead(file, &salt, sizeof salt, WAL_SALT_AT) ==
                   SQLITE_OK
               ? salt
               : 0;
}

/* At full every commit has synced it. */
static enum err sync_wal(struct database *database, struct err_detail *detail)
{
    struct wal_state *state = wal_state(database);
    sqlite3_file *file = wal_file(database);
    int code = SQLITE_OK;
    if (atomic_load(&state->unsynced) != 0) {
        code = SQLITE_IOERR_FSYNC;
    } else if (file != NULL && database->durability == DURABILITY_NORMAL) {
        code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
        atomic_store(&state->unsynced, code == SQLITE_OK ? 0 : 1);
    }
    return code == SQLITE_OK
               ? ERR_OK
               : err_set(detail, ERR_IO, "the WAL could not be synced");
}

/* After a checkpoint that found so many frames: they were synced before. */
static void note_synced(struct database *database, int frames)
{
    struct wal_state *state = wal_state(database);
    sqlite3_file *file = wal_file(database);
    if (file != NULL && frames >= 0) {
        atomic_store(&state->salt, wal_salt(file));
        atomic_store(&state->synced,
                     WAL_HEADER_BYTES + (uint64_t)frames * WAL_FRAME_BYTES);
    }
}

/* Writes a part of a file once more as it is. */
static int write_again(sqlite3_file *file, sqlite3_int64 from, sqlite3_int64 to)
{
    char bytes[WAL_FRAME_BYTES];
    int code = SQLITE_OK;
    while (code == SQLITE_OK && from < to) {
        const int size = to - from < (sqlite3_int64)sizeof bytes
                             ? (int)(to - from)
                             : (int)sizeof bytes;
        code = file->pMethods->xRead(file, bytes, size, from);
        if (code == SQLITE_OK) {
            code = file->pMethods->xWrite(file, bytes, size, from);
        }
        from += size;
    }
    return code;
}

/* B3. Inside a write transaction, so that the WAL is open and nobody else
 * writes. What was synced before is left alone: a part of it may be in the
 * file already, and must not be lost while it is being written. */
static enum err mend_wal(struct database *database, struct err_detail *detail)
{
    struct wal_state *state = wal_state(database);
    sqlite3_file *file = wal_file(database);
    if (atomic_load(&state->unsynced) == 0 || file == NULL) {
        return ERR_OK;
    }
    sqlite3_int64 size = 0;
    const uint64_t from = atomic_load(&state->salt) == wal_salt(file)
                              ? atomic_load(&state->synced)
                              : 0;
    int code = file->pMethods->xFileSize(file, &size);
    if (code == SQLITE_OK) {
        code = write_again(file, (sqlite3_int64)from, size);
    }
    if (code == SQLITE_OK) {
        code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    }
    if (code != SQLITE_OK) {
        return err_set(detail,
                       (code & 0xFF) == SQLITE_FULL ? ERR_FULL : ERR_IO,
                       "a sync of the WAL has failed, and it cannot be "
                       "repeated yet: %s",
                       sqlite3_errstr(code));
    }
    atomic_store(&state->unsynced, 0);
    return ERR_OK;
}

/* -- Transactions -------------------------------------------------------- */

static enum err run_statement(struct database *database,
                              enum statement statement,
                              struct err_detail *detail)
{
    struct query query = query_begin(database, statement);
    (void)query_step(&query);
    return query_end(&query, detail);
}

/* Even the end of a transaction may fail for want of memory; then it ends
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

enum err database_begin(struct database *database, struct err_detail *detail)
{
    CHECK(!database->writing);
    if (database->read_only) {
        return err_set(detail,
                       ERR_READ_ONLY,
                       "the space was opened for reading only");
    }
    enum err err = lock(database, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = begin_with(database, STATEMENT_BEGIN, detail);
    if (err == ERR_OK) {
        err = mend_wal(database, detail);
        if (err != ERR_OK) {
            struct err_detail ignored;
            (void)run_statement(database, STATEMENT_ROLLBACK, &ignored);
        }
    }
    if (err != ERR_OK) {
        unlock(database);
        return err;
    }
    count_change(database, true);
    database->writing = true;
    return ERR_OK;
}

enum err database_read_begin(struct database *database,
                             struct err_detail *detail)
{
    CHECK(!database->writing);
    ran_listen(&database->ran);
    const enum err err = thaw(database, detail);
    return err != ERR_OK ? err
                         : begin_with(database, STATEMENT_BEGIN_READ, detail);
}

void database_read_end(struct database *database)
{
    struct err_detail ignored;
    if (run_statement(database, STATEMENT_COMMIT, &ignored) != ERR_OK) {
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
    const enum err synced = sync_wal(database, detail);
    if (synced != ERR_OK) {
        return synced;
    }
    const int code = sqlite3_wal_checkpoint_v2(database->db,
                                               NULL,
                                               SQLITE_CHECKPOINT_RESTART,
                                               &frames,
                                               NULL);
    if (code == SQLITE_OK || (code & 0xFF) == SQLITE_BUSY) {
        note_synced(database, frames);
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

enum err database_end(struct database *database,
                      enum err err,
                      struct err_detail *detail)
{
    CHECK(database->writing);
    if (err == ERR_OK) {
        (void)sqlite3_wal_hook(database->db, count_wal_frames, database);
        err = run_statement(database, STATEMENT_COMMIT, detail);
    }
    /* A failed COMMIT may or may not have ended the transaction. */
    if (err != ERR_OK && sqlite3_get_autocommit(database->db) == 0) {
        struct err_detail ignored;
        (void)run_statement(database, STATEMENT_ROLLBACK, &ignored);
    }
    ran_end(&database->ran, err == ERR_OK);
    count_change(database, false);
    database->writing = false;
    if (err == ERR_OK && database->wal_bytes > database->wal_bytes_max) {
        /* The commit stands; a checkpoint that fails is tried again. */
        struct err_detail ignored;
        (void)checkpoint_locked(database, &ignored);
    }
    unlock(database);
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
    if (atomic_load(&wal_state(database)->unsynced) != 0) {
        err = database_begin(database, detail); /* mends the WAL */
        if (err == ERR_OK) {
            err = database_end(database, ERR_OK, detail);
        }
    }
    if (err == ERR_OK) {
        err = lock(database, detail);
    }
    if (err == ERR_OK) {
        err = checkpoint_locked(database, detail);
        unlock(database);
    }
    return err;
}

enum err database_version(struct database *database,
                          int64_t *out,
                          struct err_detail *detail)
{
    *out = 0;
    if (database->durability == DURABILITY_MEMORY) {
        return ERR_OK; /* nobody else sees it */
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

/* -- Queries ------------------------------------------------------------- */

struct query query_begin(struct database *database, enum statement statement)
{
    struct query query = {.database = database, .code = SQLITE_OK};
    if (database->statement[statement] == NULL) {
        query.code = sqlite3_prepare_v3(database->db,
                                        statement_sql[statement],
                                        -1,
                                        SQLITE_PREPARE_PERSISTENT,
                                        &database->statement[statement],
                                        NULL);
    }
    query.stmt = database->statement[statement];
    return query;
}

static void note(struct query *query, int code)
{
    if (query->code == SQLITE_OK) {
        query->code = code;
    }
}

void query_int(struct query *query, int parameter, uint64_t number)
{
    if (query->code == SQLITE_OK) {
        note(query,
             sqlite3_bind_int64(query->stmt, parameter, (int64_t)number));
    }
}

void query_null(struct query *query, int parameter)
{
    if (query->code == SQLITE_OK) {
        note(query, sqlite3_bind_null(query->stmt, parameter));
    }
}

void query_text(struct query *query,
                int parameter,
                const char *text,
                size_t length)
{
    if (query->code == SQLITE_OK) {
        note(query,
             sqlite3_bind_text64(query->stmt,
                                 parameter,
                                 text,
                                 length,
                                 SQLITE_STATIC,
                                 SQLITE_UTF8));
    }
}

void query_string(struct query *query, int parameter, struct value string)
{
    /* A short string is inside this handle, which is gone before the query
     * is: SQLite takes a copy. */
    const struct text text = value_text(&string);
    if (query->code == SQLITE_OK) {
        note(query,
             sqlite3_bind_text64(query->stmt,
                                 parameter,
                                 text.at,
                                 text.length,
                                 SQLITE_TRANSIENT,
                                 SQLITE_UTF8));
    }
}

void query_kept(struct query *query, int parameter, const struct value *string)
{
    const struct text text = value_text(string);
    query_text(query, parameter, text.at, text.length);
}

void query_bytes(struct query *query,
                 int parameter,
                 const void *bytes,
                 size_t size)
{
    if (query->code == SQLITE_OK) {
        note(query,
             sqlite3_bind_blob64(query->stmt,
                                 parameter,
                                 bytes,
                                 size,
                                 SQLITE_STATIC));
    }
}

bool query_step(struct query *query)
{
    if (query->code != SQLITE_OK) {
        return false;
    }
    const int code = sqlite3_step(query->stmt);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        note(query, code);
    }
    return code == SQLITE_ROW;
}

bool query_is_ordered(struct query *query, bool is_behind)
{
    if (UNLIKELY(!is_behind)) {
        note(query, SQLITE_CORRUPT);
    }
    return is_behind;
}

uint64_t query_get_int(struct query *query, int column)
{
    return (uint64_t)sqlite3_column_int64(query->stmt, column);
}

uint64_t query_inserted(struct query *query)
{
    return query->code == SQLITE_OK
               ? (uint64_t)sqlite3_last_insert_rowid(query->database->db)
               : 0;
}

bool query_is_null(struct query *query, int column)
{
    return sqlite3_column_type(query->stmt, column) == SQLITE_NULL;
}

struct text query_get_text(struct query *query, int column)
{
    /* One way into the row instead of two. A connection belongs to one thread,
     * so its values need no protection. */
    sqlite3_value *value = sqlite3_column_value(query->stmt, column);
    const void *at = sqlite3_value_blob(value);
    const int size = sqlite3_value_bytes(value);
    return (struct text){at != NULL ? at : "", (size_t)size};
}

enum err query_end(struct query *query, struct err_detail *detail)
{
    enum err err = ERR_OK;
    if (query->code != SQLITE_OK) {
        err = database_error(query->database, query->code, detail);
    }
    if (query->stmt != NULL) {
        /* The bindings stay: each use of a statement binds all of them. */
        (void)sqlite3_reset(query->stmt);
    }
    return err;
}
