/* Compaction, in small transactions, and backup, page by page. */

#include "store/maintain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/documents.h"
#include "value/json.h"

/* The size of one transaction or copy step: short enough that no other process
 * waits long for the lock. */
enum {
    FOLD_STEP = 64,              /* documents examined, */
    FOLD_ROWS = 1000,            /* rows removed, roughly, */
    FOLD_BYTES = 1 << 20,        /* and bytes of documents written, roughly */
    SHRINK_STEP_PAGES = 128,     /* returned */
    REWRITE_INSTRUCTIONS = 1000, /* of SQLite, between two checks */
    BACKUP_STEP_PAGES = 256
};

/* -- The horizon --------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static enum err move_horizon(struct engine *engine,
                             uint64_t keep_from,
                             struct err_detail *detail)
{
    uint64_t horizon = least(keep_from, engine->seq);
    VEC_FOREACH (&engine->branches, branch) {
        if ((*branch)->parent != NULL) {
            horizon = least(horizon, (*branch)->fork_seq);
        }
    }
    if (horizon <= engine->horizon) {
        return ERR_OK;
    }
    struct query query = query_begin(&engine->database, STATEMENT_HORIZON_SET);
    query_int(&query, 1, horizon);
    (void)query_step(&query);
    const enum err err = query_end(&query, detail);
    if (err == ERR_OK) {
        engine->horizon = horizon;
    }
    return err;
}

/* -- One document -------------------------------------------------------- */

/* The progress of one transaction. */
struct fold {
    struct engine *engine;
    struct compact_counts *counts;
    struct err_detail *detail;
    uint64_t after; /* the last document that is done */
    bool more;      /* documents are left, or rows of one */
    uint64_t rows;  /* removed */
    uint64_t bytes; /* written */
};

/* The last revision up to the horizon. */
struct last_revision {
    bool found;
    uint64_t seq;
    uint64_t index;
    enum commit_op_kind op;
};

static enum err find_last(struct engine *engine,
                          const struct document *document,
                          struct last_revision *out,
                          struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_REVISION_LAST);
    query_int(&query, 1, document->number);
    query_int(&query, 2, engine->horizon);
    *out = (struct last_revision){.found = query_step(&query)};
    bool known = true;
    if (out->found) {
        out->seq = query_get_int(&query, 0);
        out->index = query_get_int(&query, 1);
        known = document_op_read(query_get_text(&query, 2), &out->op);
    }
    const enum err err = query_end(&query, detail);
    return err != ERR_OK || known
               ? err
               : err_set(detail, ERR_CORRUPT, "unknown operation in a row");
}

/* A patch becomes the whole value that it led to. */
static enum err make_whole(struct engine *engine,
                           struct document *document,
                           const struct last_revision *last,
                           struct err_detail *detail)
{
    struct value value = VALUE_NONE;
    enum err err =
        document_at(engine, document, last->seq, FOLD_FAST, &value, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct buf text = {0};
    json_write(&text, value, JSON_CANONICAL, 0);
    struct query query =
        query_begin(&engine->database, STATEMENT_REVISION_WHOLE);
    query_int(&query, 1, document->number);
    query_int(&query, 2, last->seq);
    query_int(&query, 3, last->index);
    query_text(&query, 4, buf_text(&text), text.length);
    (void)query_step(&query);
    err = query_end(&query, detail);
    if (last->seq > document->base_seq) {
        document->base_seq = last->seq;
        document->base_bytes = text.length;
    }
    if (last->seq == document->head_seq &&
        last->index == document->head_index) {
        document->op = COMMIT_SET;
    }
    buf_release(&text);
    value_unref(value);
    return err;
}

static enum err remove_rows(struct fold *fold,
                            enum statement statement,
                            const struct document *document,
                            const struct last_revision *last,
                            uint64_t *removed)
{
    struct database *database = &fold->engine->database;
    struct query query = query_begin(database, statement);
    query_int(&query, 1, document->number);
    query_int(&query, 2, last->seq);
    if (statement == STATEMENT_REVISION_FORGET) {
        query_int(&query, 3, last->index);
    }
    (void)query_step(&query);
    const enum err err = query_end(&query, fold->detail);
    const uint64_t rows = (uint64_t)sqlite3_changes64(database->db);
    fold->rows += rows;
    *removed += rows;
    return err;
}

/* Up to which revision rows are removed in this step: `last`, or an earlier one
 * if there are too many. */
static enum err limit_rows(struct fold *fold,
                           const struct document *document,
                           struct last_revision *last)
{
    struct query query =
        query_begin(&fold->engine->database, STATEMENT_REVISION_NTH);
    query_int(&query, 1, document->number);
    query_int(&query, 2, FOLD_ROWS);
    if (query_step(&query)) {
        const uint64_t seq = query_get_int(&query, 0);
        const uint64_t index = query_get_int(&query, 1);
        if (seq < last->seq || (seq == last->seq && index < last->index)) {
            last->seq = seq;
            last->index = index;
            fold->more = true;
        }
    }
    return query_end(&query, fold->detail);
}

/* Counts the tail again: what follows the last whole value now. */
static enum err update_row(struct engine *engine,
                           struct document *document,
                           struct err_detail *detail)
{
    struct query query =
        query_begin(&engine->database, STATEMENT_DOCUMENT_TAIL);
    query_int(&query, 1, document->number);
    if (query_step(&query)) {
        document->tail_count = query_get_int(&query, 0);
        document->tail_bytes = query_get_int(&query, 1);
    }
    const enum err err = query_end(&query, detail);
    return err == ERR_OK ? document_update(engine, document, detail) : err;
}

/* fold->more: there are more rows than fit into a step. By then the first
 * revision that stays is whole, so the earlier ones are not needed. */
static enum err fold_document(struct fold *fold, struct document *document)
{
    struct compact_counts *counts = fold->counts;
    struct last_revision last;
    enum err err = find_last(fold->engine, document, &last, fold->detail);
    if (err != ERR_OK || !last.found) {
        return err;
    }
    const uint64_t before = fold->rows;
    if (last.op == COMMIT_PATCH) {
        err = make_whole(fold->engine, document, &last, fold->detail);
        fold->bytes += document->base_bytes;
    }
    if (err == ERR_OK) {
        err = remove_rows(fold,
                          STATEMENT_SNAPSHOT_FORGET,
                          document,
                          &last,
                          &counts->snapshots);
    }
    if (err == ERR_OK) {
        err = limit_rows(fold, document, &last);
    }
    if (err == ERR_OK) {
        err = remove_rows(fold,
                          STATEMENT_REVISION_FORGET,
                          document,
                          &last,
                          &counts->revisions);
    }
    const bool changed = last.op == COMMIT_PATCH || fold->rows != before;
    return err == ERR_OK && changed
               ? update_row(fold->engine, document, fold->detail)
               : err;
}

/* -- All documents ------------------------------------------------------- */

static enum err damaged_name(const struct document_name *name,
                             struct err_detail *detail)
{
    return err_set(detail,
                   ERR_CORRUPT,
                   "the row of document %llu is damaged: 'heddle check' shows "
                   "more",
                   (unsigned long long)name->number);
}

static enum err fold_named(struct fold *fold, const struct document_name *name)
{
    struct engine *engine = fold->engine;
    struct document *document = NULL;
    if (name->branch >= engine->branches.count) {
        return damaged_name(name, fold->detail);
    }
    enum err err = document_find(engine,
                                 engine_branch_by_number(engine, name->branch),
                                 name->scope_key,
                                 name->id,
                                 &document,
                                 fold->detail);
    if (err == ERR_OK && document == NULL) {
        err = damaged_name(name, fold->detail);
    }
    return err == ERR_OK ? fold_document(fold, document) : err;
}

/* The next documents, as many as fit into a step. */
static enum err fold_documents(struct fold *fold)
{
    document_names names = {0};
    enum err err = documents_list(fold->engine,
                                  fold->after,
                                  FOLD_STEP,
                                  &names,
                                  fold->detail);
    VEC_FOREACH (&names, name) {
        if (err != ERR_OK || fold->more) {
            break;
        }
        if (fold->rows >= FOLD_ROWS || fold->bytes >= FOLD_BYTES) {
            fold->more = true;
            break;
        }
        err = fold_named(fold, name);
        if (!fold->more) {
            fold->after = name->number;
            fold->counts->documents++;
        }
    }
    fold->more = fold->more || names.count == FOLD_STEP;
    document_names_release(&names);
    return err;
}

/* One write transaction. Its counts are valid only if it lands. */
static enum err fold_step(struct fold *fold, uint64_t keep_from)
{
    struct engine *engine = fold->engine;
    const struct compact_counts before = *fold->counts;
    enum err err = database_begin(&engine->database, fold->detail);
    if (err != ERR_OK) {
        return err;
    }
    fold->more = false;
    fold->rows = fold->bytes = 0;
    err = engine_refresh(engine, fold->detail);
    if (err == ERR_OK) {
        err = move_horizon(engine, keep_from, fold->detail);
    }
    if (err == ERR_OK) {
        err = fold_documents(fold);
    }
    err = database_end(&engine->database, err, fold->detail);
    if (err != ERR_OK) {
        engine_forget(engine);
        *fold->counts = before;
    } else {
        fold->counts->horizon = engine->horizon;
    }
    return err;
}

enum err engine_compact(struct engine *engine,
                        uint64_t keep_from,
                        maintain_progress_fn *progress,
                        void *ctx,
                        struct compact_counts *counts,
                        struct err_detail *detail)
{
    struct err_detail why = {0};
    struct fold fold = {
        .engine = engine,
        .counts = counts,
        .detail = &why,
        .more = true,
    };
    uint64_t total = 0;
    *counts = (struct compact_counts){.horizon = engine->horizon};
    enum err err = documents_count(engine, &total, &why);
    while (err == ERR_OK && fold.more && !counts->stopped) {
        err = fold_step(&fold, keep_from);
        counts->stopped = err == ERR_OK && fold.more && progress != NULL &&
                          !progress(ctx, counts->documents, total);
    }
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}

/* -- Pages --------------------------------------------------------------- */

static enum err ask_pragma(struct engine *engine,
                           enum statement statement,
                           uint64_t *out,
                           struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, statement);
    *out = query_step(&query) ? query_get_int(&query, 0) : 0;
    return query_end(&query, detail);
}

/* Pages at the end of the file change places with free ones. */
static enum err shrink_step(struct engine *engine, struct err_detail *detail)
{
    char sql[64];
    (void)sqlite3_snprintf((int)sizeof sql,
                           sql,
                           "PRAGMA incremental_vacuum(%d)",
                           (int)SHRINK_STEP_PAGES);
    enum err err = database_begin(&engine->database, detail);
    if (err == ERR_OK) {
        err = database_run(&engine->database, sql, detail);
        err = database_end(&engine->database, err, detail);
    }
    return err;
}

static enum err shrink(struct engine *engine,
                       maintain_progress_fn *progress,
                       void *ctx,
                       struct shrink_counts *counts,
                       struct err_detail *detail)
{
    uint64_t first = 0;
    enum err err = ask_pragma(engine, STATEMENT_FREE_PAGES, &first, detail);
    uint64_t left = first;
    uint64_t before = UINT64_MAX;
    while (err == ERR_OK && left > 0 && left < before && !counts->stopped) {
        before = left;
        err = shrink_step(engine, detail);
        if (err == ERR_OK) {
            err = ask_pragma(engine, STATEMENT_FREE_PAGES, &left, detail);
        }
        if (err == ERR_OK && left < before) {
            counts->pages += before - left;
            counts->stopped = left > 0 && progress != NULL &&
                              !progress(ctx, counts->pages, first);
        }
    }
    counts->left = left;
    return err;
}

enum err engine_shrink(struct engine *engine,
                       maintain_progress_fn *progress,
                       void *ctx,
                       struct shrink_counts *counts,
                       struct err_detail *detail)
{
    struct err_detail why = {0};
    uint64_t kind = 0;
    *counts = (struct shrink_counts){0};
    enum err err = ask_pragma(engine, STATEMENT_AUTO_VACUUM, &kind, &why);
    counts->cannot = kind == 0;
    if (err == ERR_OK && !counts->cannot) {
        err = shrink(engine, progress, ctx, counts, &why);
    } else if (err == ERR_OK) {
        err = ask_pragma(engine, STATEMENT_FREE_PAGES, &counts->left, &why);
    }
    if (err == ERR_OK) {
        err = database_checkpoint(&engine->database, true, &why);
    }
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}

struct rewriting {
    maintain_progress_fn *progress;
    void *ctx;
};

static int is_to_stop(void *ctx)
{
    const struct rewriting *rewriting = ctx;
    return rewriting->progress != NULL &&
           !rewriting->progress(rewriting->ctx, 0, 0);
}

/* SQLite's intermediate copy can be as large as the file: it is not kept in
 * memory. */
static enum err rewrite(struct database *database,
                        void *ctx,
                        struct err_detail *detail)
{
    enum err err = ERR_OK;
    sqlite3_progress_handler(database->db,
                             REWRITE_INSTRUCTIONS,
                             is_to_stop,
                             ctx);
    const int code = sqlite3_exec(database->db,
                                  "PRAGMA temp_store = FILE;"
                                  "PRAGMA auto_vacuum = INCREMENTAL;"
                                  "VACUUM",
                                  NULL,
                                  NULL,
                                  NULL);
    if (code != SQLITE_OK) {
        err = (code & 0xFF) == SQLITE_INTERRUPT
                  ? err_set(detail, ERR_BUSY, "interrupted")
                  : database_error(database, code, detail);
    }
    sqlite3_progress_handler(database->db, 0, NULL, NULL);
    const enum err reset =
        database_run(database, "PRAGMA temp_store = MEMORY", NULL);
    (void)reset; /* only the location of that copy */
    return err;
}

enum err engine_rewrite(struct engine *engine,
                        maintain_progress_fn *progress,
                        void *ctx,
                        struct err_detail *detail)
{
    struct err_detail why = {0};
    struct rewriting rewriting = {progress, ctx};
    const enum err err =
        database_alone(&engine->database, rewrite, &rewriting, &why);
    engine_forget(engine);
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}

/* -- Backup -------------------------------------------------------------- */

struct backup {
    struct engine *engine;
    sqlite3 *to;
    maintain_progress_fn *progress;
    void *ctx;
    struct err_detail *detail;
};

static enum err backup_error(const struct backup *backup, int code)
{
    struct database target = {.db = backup->to};
    return database_error(&target, code, backup->detail);
}

static enum err copy_pages(const struct backup *backup)
{
    sqlite3_backup *pages = sqlite3_backup_init(backup->to,
                                                "main",
                                                backup->engine->database.db,
                                                "main");
    if (pages == NULL) {
        return backup_error(backup, sqlite3_errcode(backup->to));
    }
    int code = SQLITE_OK;
    bool going = true;
    while (going) {
        code = sqlite3_backup_step(pages, BACKUP_STEP_PAGES);
        const int total = sqlite3_backup_pagecount(pages);
        const int left = sqlite3_backup_remaining(pages);
        going =
            code == SQLITE_OK || code == SQLITE_BUSY || code == SQLITE_LOCKED;
        if (going && backup->progress != NULL &&
            !backup->progress(backup->ctx,
                              (uint64_t)(total - left),
                              (uint64_t)total)) {
            going = false;
        }
    }
    (void)sqlite3_backup_finish(pages);
    if (code == SQLITE_DONE) {
        return ERR_OK;
    }
    return code == SQLITE_OK
               ? err_set(backup->detail, ERR_BUSY, "the copy was interrupted")
               : backup_error(backup, code);
}

/* The copy is synced when its one transaction ends: it is complete in the file
 * before the file gets its name. */
static enum err copy_to(struct backup *backup, const char *path)
{
    int code = sqlite3_open_v2(path,
                               &backup->to,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                               backup->engine->options.vfs);
    if (code == SQLITE_OK) {
        code = sqlite3_exec(backup->to,
                            "PRAGMA synchronous = FULL",
                            NULL,
                            NULL,
                            NULL);
    }
    enum err err =
        code == SQLITE_OK ? copy_pages(backup) : backup_error(backup, code);
    code = sqlite3_close(backup->to);
    if (err == ERR_OK && code != SQLITE_OK) {
        err = err_set(backup->detail, ERR_IO, "the copy could not be closed");
    }
    return err;
}

static enum err system_error(const char *what,
                             const char *path,
                             struct err_detail *detail)
{
    const int code = errno;
    return err_set(detail,
                   code == EEXIST   ? ERR_ARGUMENT
                   : code == ENOSPC ? ERR_FULL
                                    : ERR_IO,
                   "cannot %s %s: %s",
                   what,
                   path,
                   strerror(code));
}

/* Makes the names in the directory of `path` durable. */
static enum err sync_folder(const char *path, struct err_detail *detail)
{
    struct buf folder = {0};
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        buf_append_char(&folder, '.');
    } else {
        buf_append(&folder, path, (size_t)(slash - path) + 1);
    }
    const int fd = open(buf_text(&folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum err err = ERR_OK;
    if (fd < 0 || fsync(fd) != 0) {
        err = system_error("sync", buf_text(&folder), detail);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    buf_release(&folder);
    return err;
}

/* Gives the copy its name. Unlike a rename, this never replaces another file,
 * however late it appeared. */
static enum err publish(const char *part,
                        const char *path,
                        struct err_detail *detail)
{
    if (link(part, path) != 0) {
        return system_error("create", path, detail);
    }
    const enum err err = sync_folder(path, detail);
    if (err != ERR_OK) {
        (void)unlink(path);
    }
    return err;
}

/* Including what SQLite may have left beside it. */
static void remove_part(const char *part)
{
    static const char *const tails[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < COUNT_OF(tails); i++) {
        struct buf name = {0};
        buf_printf(&name, "%s%s", part, tails[i]);
        (void)unlink(buf_text(&name));
        buf_release(&name);
    }
}

enum err engine_backup(struct engine *engine,
                       const char *path,
                       maintain_progress_fn *progress,
                       void *ctx,
                       struct err_detail *detail)
{
    struct err_detail why = {0};
    struct backup backup = {engine, NULL, progress, ctx, &why};
    struct stat there;
    enum err err = ERR_OK;
    if (lstat(path, &there) == 0) {
        errno = EEXIST;
        err = system_error("create", path, &why);
    } else {
        uint64_t number = 0;
        struct buf part = {0};
        sqlite3_randomness((int)sizeof number, &number);
        buf_printf(&part, "%s.part-%016" PRIx64, path, number);
        err = copy_to(&backup, buf_text(&part));
        if (err == ERR_OK) {
            err = publish(buf_text(&part), path, &why);
        }
        remove_part(buf_text(&part));
        buf_release(&part);
    }
    if (err != ERR_OK && detail != NULL) {
        *detail = why;
    }
    return err;
}
