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

static void insert(struct raw_store *store)
{
    static const unsigned char zeros[32];
    char text[RAW_TEXT_SIZE];
    char id[RAW_TEXT_SIZE];
    const sqlite3_int64 seq = (sqlite3_int64)++store->seq;
    const int length = (int)raw_store_text(text, store->seq);
    const int id_length = (int)raw_store_id(id, store->seq % RAW_DOCUMENTS);
    sqlite3_stmt *const *into = store->insert;
    (void)sqlite3_bind_int64(into[0], 1, seq);
    (void)sqlite3_bind_blob(into[0], 2, zeros, 16, SQLITE_STATIC);
    (void)sqlite3_bind_blob(into[0], 3, zeros, 32, SQLITE_STATIC);
    step(into[0]);
    (void)sqlite3_bind_int64(into[1], 1, 1 + seq % RAW_DOCUMENTS);
    (void)sqlite3_bind_int64(into[1], 2, seq);
    (void)sqlite3_bind_text(into[1], 3, text, length, SQLITE_STATIC);
    step(into[1]);
    (void)sqlite3_bind_int64(into[2], 1, seq);
    (void)sqlite3_bind_text(into[2], 2, id, id_length, SQLITE_STATIC);
    (void)sqlite3_bind_int64(into[2], 3, length);
    step(into[2]);
}

void raw_store_group(struct raw_store *store, unsigned count)
{
    step(store->begin);
    for (unsigned i = 0; i < count; i++) {
        insert(store);
    }
    step(store->commit);
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
                          " local_seq, digest, at, documents, chain)"
                          " VALUES(?1, ?1, 0, 1, ?1, ?2, 0, '[1]', ?3)");
    store->insert[1] = raw_store_prepare(
        db,
        "INSERT INTO revision(document, seq, op_index, op, data)"
        " VALUES(?1, ?2, 0, 'set', ?3)");
    store->insert[2] = raw_store_prepare(
        db,
        "INSERT INTO document(branch, scope, id, head_seq, head_index, op,"
        " base_seq, tail_count, tail_bytes, base_bytes)"
        " VALUES(0, 'space', ?2, ?1, 0, 'set', ?1, 0, 0, ?3)"
        " ON CONFLICT(branch, scope, id) DO UPDATE SET head_seq = ?1,"
        " base_seq = ?1, base_bytes = ?3");
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

void raw_store_close(struct raw_store *store)
{
    (void)sqlite3_finalize(store->begin);
    (void)sqlite3_finalize(store->commit);
    for (size_t i = 0; i < COUNT_OF(store->insert); i++) {
        (void)sqlite3_finalize(store->insert[i]);
    }
    (void)sqlite3_close(store->db);
    if (store->path[0] != '\0') {
        raw_store_remove(store->path);
    }
}
