/* The floor below the store (lib/raw_store.h). */

#include "lib/raw_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void stop(const char *why)
{
    (void)fprintf(stderr, "bench: %s\n", why);
    exit(1);
}

size_t raw_store_text(char *to, uint64_t number)
{
    const int length =
        snprintf(to,
                 RAW_TEXT_SIZE,
                 "{\"value\":{\"done\":false,\"note\":\"lorem ipsum dolor sit "
                 "amet\",\"rank\":%d,\"title\":\"item number %llu\"}}",
                 (int)(number % 17),
                 (unsigned long long)number);
    return (size_t)length;
}

size_t raw_store_patch(char *to, uint64_t number)
{
    const int length =
        snprintf(to,
                 RAW_TEXT_SIZE,
                 "[{\"op\":\"replace\",\"path\":\"/value/rank\",\"value\":%d}]",
                 (int)(number % 10));
    return (size_t)length;
}

size_t raw_store_id(char *to, uint64_t document)
{
    const int length =
        snprintf(to, RAW_TEXT_SIZE, "of:document-%d", (int)document);
    return (size_t)length;
}

static void step(sqlite3_stmt *stmt)
{
    const int code = sqlite3_step(stmt);
    if (code != SQLITE_DONE && code != SQLITE_ROW) {
        stop(sqlite3_errmsg(sqlite3_db_handle(stmt)));
    }
    (void)sqlite3_reset(stmt);
}

static void insert_commit(struct raw_store *store,
                          const char *documents,
                          const char *context)
{
    static const unsigned char zeros[32];
    sqlite3_stmt *into = store->insert[0];
    (void)sqlite3_bind_int64(into, 1, (sqlite3_int64)store->seq);
    (void)sqlite3_bind_blob(into, 2, zeros, 16, SQLITE_STATIC);
    (void)sqlite3_bind_blob(into, 3, zeros, 32, SQLITE_STATIC);
    (void)sqlite3_bind_text(into, 4, documents, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(into, 5, context, -1, SQLITE_STATIC);
    step(into);
}

static void insert_revision(struct raw_store *store,
                            sqlite3_int64 document,
                            sqlite3_int64 index,
                            const char *text,
                            int length)
{
    sqlite3_stmt *into = store->insert[1];
    (void)sqlite3_bind_int64(into, 1, document);
    (void)sqlite3_bind_int64(into, 2, (sqlite3_int64)store->seq);
    (void)sqlite3_bind_text(into, 3, text, length, SQLITE_STATIC);
    (void)sqlite3_bind_int64(into, 4, index);
    step(into);
}

/* The next of the documents, whether or not it is there. */
static void set_document(struct raw_store *store)
{
    char text[RAW_TEXT_SIZE];
    char id[RAW_TEXT_SIZE];
    const uint64_t document = store->seq % RAW_DOCUMENTS;
    const int length = (int)raw_store_text(text, store->seq);
    const int id_length = (int)raw_store_id(id, document);
    insert_revision(store, 1 + (sqlite3_int64)document, 0, text, length);
    sqlite3_stmt *into = store->insert[2];
    (void)sqlite3_bind_int64(into, 1, (sqlite3_int64)store->seq);
    (void)sqlite3_bind_text(into, 2, id, id_length, SQLITE_STATIC);
    (void)sqlite3_bind_int64(into, 3, length);
    step(into);
}

/* The next of the documents, which is there. */
static void patch_document(struct raw_store *store)
{
    char text[RAW_TEXT_SIZE];
    char id[RAW_TEXT_SIZE];
    const uint64_t document = store->seq % RAW_DOCUMENTS;
    const int length = (int)raw_store_patch(text, store->seq);
    const int id_length = (int)raw_store_id(id, document);
    sqlite3_stmt *into = store->insert[4];
    (void)sqlite3_bind_int64(into, 1, 1 + (sqlite3_int64)document);
    (void)sqlite3_bind_int64(into, 2, (sqlite3_int64)store->seq);
    (void)sqlite3_bind_text(into, 3, text, length, SQLITE_STATIC);
    step(into);
    into = store->insert[5];
    (void)sqlite3_bind_int64(into, 1, (sqlite3_int64)store->seq);
    (void)sqlite3_bind_text(into, 2, id, id_length, SQLITE_STATIC);
    (void)sqlite3_bind_int64(into, 3, length);
    step(into);
}

/* In the order of their ids, like those of the scheduler. */
static void add_receipt(struct raw_store *store, const char *id)
{
    static const char text[] = "{\"stream\":\"of:1000\",\"value\":{}}";
    const int length = (int)sizeof text - 1;
    sqlite3_stmt *into = store->insert[3];
    (void)sqlite3_bind_int64(into, 1, (sqlite3_int64)store->seq);
    (void)sqlite3_bind_text(into, 2, id, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(into, 3, length);
    step(into);
    insert_revision(store,
                    sqlite3_last_insert_rowid(store->db),
                    1,
                    text,
                    length);
}

/* -- The commits --------------------------------------------------------- */

static void commit_set(struct raw_store *store)
{
    insert_commit(store, "[1]", NULL);
    set_document(store);
}

static void commit_patch(struct raw_store *store)
{
    insert_commit(store, "[1]", NULL);
    patch_document(store);
}

static void commit_event(struct raw_store *store)
{
    char id[64];
    char context[RAW_TEXT_SIZE];
    (void)snprintf(id,
                   sizeof id,
                   "receipt:abcdefghijklmnopqrstuvwx:%08llu",
                   (unsigned long long)store->seq);
    (void)snprintf(
        context,
        sizeof context,
        "{\"preconditions\":[{\"id\":\"%s\",\"kind\":\"entity-absent\"}]}",
        id);
    insert_commit(store, "[801,1801]", context);
    patch_document(store);
    add_receipt(store, id);
}

static void group(struct raw_store *store,
                  unsigned count,
                  void (*commit)(struct raw_store *store))
{
    step(store->begin);
    for (unsigned i = 0; i < count; i++) {
        store->seq++;
        commit(store);
    }
    step(store->commit);
}

void raw_store_group(struct raw_store *store, unsigned count)
{
    group(store, count, commit_set);
}

void raw_store_group_of_patches(struct raw_store *store, unsigned count)
{
    group(store, count, commit_patch);
}

void raw_store_group_of_events(struct raw_store *store, unsigned count)
{
    group(store, count, commit_event);
}

sqlite3_stmt *raw_store_prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
        stop(sqlite3_errmsg(db));
    }
    return stmt;
}

void raw_store_open(struct raw_store *store,
                    struct engine *engine,
                    const char *path)
{
    sqlite3 *db = NULL;
    *store = (struct raw_store){.path = ""};
    if (path != NULL) {
        (void)snprintf(store->path, sizeof store->path, "%s", path);
    }
    if (sqlite3_open(path != NULL ? path : ":memory:", &db) != SQLITE_OK) {
        stop("cannot open the floor");
    }
    sqlite3_backup *copy =
        sqlite3_backup_init(db, "main", engine->database.db, "main");
    (void)sqlite3_backup_step(copy, -1);
    (void)sqlite3_backup_finish(copy);
    (void)sqlite3_exec(db,
                       path != NULL
                           ? "PRAGMA cache_size = -65536;"
                             "PRAGMA journal_mode = WAL; PRAGMA synchronous = "
                             "FULL; PRAGMA wal_autocheckpoint = 2000"
                           : "PRAGMA journal_mode = MEMORY; PRAGMA synchronous "
                             "= OFF",
                       NULL,
                       NULL,
                       NULL);
    store->db = db;
    store->begin = raw_store_prepare(db, "BEGIN IMMEDIATE");
    store->commit = raw_store_prepare(db, "COMMIT");
    store->insert[0] =
        raw_store_prepare(db,
                          "INSERT INTO \"commit\"(seq, record, branch, session,"
                          " local_seq, digest, at, documents, chain, context)"
                          " VALUES(?1, ?1, 0, 1, ?1, ?2, 0, ?4, ?3, ?5)");
    store->insert[1] = raw_store_prepare(
        db,
        "INSERT INTO revision(document, seq, op_index, op, data)"
        " VALUES(?1, ?2, ?4, 'set', ?3)");
    store->insert[2] = raw_store_prepare(
        db,
        "INSERT INTO document(branch, scope, id, head_seq, head_index, op,"
        " base_seq, tail_count, tail_bytes, base_bytes)"
        " VALUES(0, 'space', ?2, ?1, 0, 'set', ?1, 0, 0, ?3)"
        " ON CONFLICT(branch, scope, id) DO UPDATE SET head_seq = ?1,"
        " base_seq = ?1, base_bytes = ?3");
    store->insert[3] = raw_store_prepare(
        db,
        "INSERT INTO document(branch, scope, id, head_seq, head_index, op,"
        " base_seq, tail_count, tail_bytes, base_bytes)"
        " VALUES(0, 'space', ?2, ?1, 1, 'set', ?1, 0, 0, ?3)");
    store->insert[4] = raw_store_prepare(
        db,
        "INSERT INTO revision(document, seq, op_index, op, data)"
        " VALUES(?1, ?2, 0, 'patch', ?3)");
    store->insert[5] = raw_store_prepare(
        db,
        "UPDATE document SET head_seq = ?1, op = 'patch',"
        " tail_count = tail_count + 1, tail_bytes = tail_bytes + ?3"
        " WHERE branch = 0 AND scope = 'space' AND id = ?2");
}

void raw_store_remove(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-lock"};
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        char name[300];
        (void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        (void)unlink(name);
    }
}

void raw_store_end(struct raw_store *store)
{
    (void)sqlite3_finalize(store->begin);
    (void)sqlite3_finalize(store->commit);
    for (size_t i = 0; i < COUNT_OF(store->insert); i++) {
        (void)sqlite3_finalize(store->insert[i]);
    }
    (void)sqlite3_close(store->db);
}

void raw_store_close(struct raw_store *store)
{
    raw_store_end(store);
    if (store->path[0] != '\0') {
        raw_store_remove(store->path);
    }
}
