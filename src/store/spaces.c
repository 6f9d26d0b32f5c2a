/* Examines the files of a directory. */

#include "store/spaces.h"

#include <dirent.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/schema.h"

/* The first bytes of every SQLite file. */
enum {
    HEADER_BYTES = 100,
    APPLICATION_ID_AT = 68,
};

static const char header_text[16] = "SQLite format 3";

/* What SQLite and Heddle put beside a file. */
static const char *const companions[] = {"-wal", "-shm", "-lock", "-journal"};

static void put_path(struct buf *to,
                     const char *folder,
                     const char *name,
                     const char *tail)
{
    buf_clear(to);
    buf_printf(to, "%s/%s%s", folder, name, tail);
}

/* -- One file ------------------------------------------------------------ */

/* Through SQLite's VFS: closing our own descriptor would release the locks that
 * this process may have on the file. */
static enum err read_header(const char *path, unsigned char *header)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    const char *name = sqlite3_create_filename(path, "", "", 0, NULL);
    sqlite3_file *file = vfs != NULL ? sqlite3_malloc(vfs->szOsFile) : NULL;
    enum err err = ERR_IO;
    if (name != NULL && file != NULL) {
        memset(file, 0, (size_t)vfs->szOsFile);
        const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
        int code = vfs->xOpen(vfs, name, file, flags, NULL);
        if (code == SQLITE_OK) {
            /* Missing bytes of a short file are zero. */
            code = file->pMethods->xRead(file, header, HEADER_BYTES, 0);
            err = code == SQLITE_OK || code == SQLITE_IOERR_SHORT_READ ? ERR_OK
                                                                       : ERR_IO;
        }
        if (file->pMethods != NULL) {
            (void)file->pMethods->xClose(file);
        }
    }
    sqlite3_free(file);
    sqlite3_free_filename(name);
    return err;
}

static uint32_t read_id(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
           (uint32_t)at[2] << 8 | (uint32_t)at[3];
}

/* A new store has its first pages only in the WAL. */
static bool has_id_in_wal(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    bool ours = false;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "PRAGMA application_id", -1, &stmt, NULL) ==
            SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW) {
        ours = sqlite3_column_int64(stmt, 0) == SCHEMA_APPLICATION_ID;
    }
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    return ours;
}

/* NULL if the file is a store; otherwise what it is. */
static const char *find_why_not(const char *path,
                                const char *name,
                                bool has_wal)
{
    unsigned char header[HEADER_BYTES] = {0};
    if (strstr(name, ".part-") != NULL) {
        return "an unfinished copy";
    }
    if (read_header(path, header) != ERR_OK) {
        return "it cannot be read";
    }
    if (memcmp(header, header_text, sizeof header_text) != 0) {
        return header[0] == 0 ? "it is empty" : "it is not a database";
    }
    if (read_id(&header[APPLICATION_ID_AT]) == SCHEMA_APPLICATION_ID ||
        (has_wal && has_id_in_wal(path))) {
        return NULL;
    }
    return "a database of another program";
}

/* -- The directory ------------------------------------------------------- */

static int64_t changed_ms(const struct stat *file)
{
    return (int64_t)file->st_mtim.tv_sec * 1000 +
           file->st_mtim.tv_nsec / 1000000;
}

/* "a.db-wal", if there is an "a.db". */
static bool is_companion(const char *folder, const char *name)
{
    const size_t length = strlen(name);
    bool found = false;
    for (size_t i = 0; !found && i < COUNT_OF(companions); i++) {
        const size_t tail = strlen(companions[i]);
        if (length > tail && strcmp(name + length - tail, companions[i]) == 0) {
            struct buf path = {0};
            struct stat owner;
            buf_printf(&path, "%s/%.*s", folder, (int)(length - tail), name);
            found = stat(buf_text(&path), &owner) == 0;
            buf_release(&path);
        }
    }
    return found;
}

/* Adds the file of that name, unless it is a directory or belongs to another
 * file. */
static void add_file(const char *folder, const char *name, space_files *out)
{
    struct buf path = {0};
    struct stat file;
    struct stat wal;
    put_path(&path, folder, name, "-wal");
    const bool has_wal = stat(buf_text(&path), &wal) == 0 && wal.st_size > 0;
    put_path(&path, folder, name, "");
    const bool there = stat(buf_text(&path), &file) == 0;
    if ((!there || !S_ISDIR(file.st_mode)) && !is_companion(folder, name)) {
        struct space_file entry = {.why_not = "it is not a file"};
        buf_append_text(&entry.name, name);
        if (there && S_ISREG(file.st_mode)) {
            entry.why_not = find_why_not(buf_text(&path), name, has_wal);
            entry.bytes = (uint64_t)file.st_size;
            entry.changed_ms = changed_ms(&file);
        }
        if (entry.why_not == NULL && has_wal) {
            entry.bytes += (uint64_t)wal.st_size;
            if (changed_ms(&wal) > entry.changed_ms) {
                entry.changed_ms = changed_ms(&wal);
            }
        }
        vec_push(out, entry);
    }
    buf_release(&path);
}

static int compare_files(const void *a, const void *b)
{
    const struct space_file *one = a;
    const struct space_file *other = b;
    if (one->changed_ms != other->changed_ms) {
        return one->changed_ms > other->changed_ms ? -1 : 1;
    }
    return strcmp(buf_text(&one->name), buf_text(&other->name));
}

enum err spaces_list(const char *folder,
                     space_files *out,
                     struct err_detail *detail)
{
    *out = (space_files){0};
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return err_set(detail,
                       ERR_IO,
                       "cannot read the directory: %s",
                       strerror(errno));
    }
    errno = 0;
    const struct dirent *entry = readdir(dir);
    while (entry != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            add_file(folder, name, out);
        }
        errno = 0;
        entry = readdir(dir);
    }
    const int code = errno;
    (void)closedir(dir);
    if (code != 0) {
        space_files_release(out);
        return err_set(detail,
                       ERR_IO,
                       "cannot read the directory: %s",
                       strerror(code));
    }
    if (out->count > 0) {
        qsort(out->at, out->count, sizeof *out->at, compare_files);
    }
    return ERR_OK;
}

void space_files_release(space_files *files)
{
    VEC_FOREACH (files, file) {
        buf_release(&file->name);
    }
    vec_release(files);
}
