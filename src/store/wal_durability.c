/* Syncing the WAL, and writing it again after a failed sync. */

#include "store/wal_durability.h"

enum {
    WAL_HEADER_BYTES = 32,
    WAL_SALT_AT = 16,
};

struct wal_state *wal_state_of(struct database *database)
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

/* Identifies the WAL: each has another salt. 0 if there is none yet. */
static uint64_t wal_salt(sqlite3_file *file)
{
    uint64_t salt = 0;
    return file->pMethods->xRead(file, &salt, sizeof salt, WAL_SALT_AT) ==
                   SQLITE_OK
               ? salt
               : 0;
}

/* At full durability every commit has synced it. */
enum err wal_sync(struct database *database, struct err_detail *detail)
{
    struct wal_state *state = wal_state_of(database);
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

/* After a checkpoint that found this many frames: they were synced before. */
void wal_note_synced(struct database *database, int frames)
{
    struct wal_state *state = wal_state_of(database);
    sqlite3_file *file = wal_file(database);
    if (file != NULL && frames >= 0) {
        atomic_store(&state->salt, wal_salt(file));
        atomic_store(&state->synced,
                     WAL_HEADER_BYTES + (uint64_t)frames * WAL_FRAME_BYTES);
    }
}

/* Rewrites a part of a file with its present content. */
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

/* database-3. Inside a write transaction, so that the WAL is open and there is
 * no other writer. What was synced before is left alone: a part of it may be in
 * the file already, and must not be lost while it is being written. */
enum err wal_repair(struct database *database, struct err_detail *detail)
{
    struct wal_state *state = wal_state_of(database);
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
                       "a sync of the WAL failed, and the retry failed too: %s",
                       sqlite3_errstr(code));
    }
    atomic_store(&state->unsynced, 0);
    return ERR_OK;
}
