/* Writes to the WAL that are collected: how many reach the file, and that none
 * does after its transaction. */

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/store_kit.h"
#include "lib/test.h"
#include "store/wal_buffer.h"

struct fixture {
    char folder[256];
    char path[300];
    sqlite3 *db;
    sqlite3 *beside;
    struct wal_buffer buffer;
    const sqlite3_io_methods *file_methods; /* below the counting ones */
    sqlite3_io_methods counting;
};

static struct fixture *current;
static unsigned writes;
static bool fails;

static int count_write(sqlite3_file *file,
                       const void *bytes,
                       int count,
                       sqlite3_int64 at)
{
    writes++;
    return fails ? SQLITE_FULL
                 : current->file_methods->xWrite(file, bytes, count, at);
}

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static sqlite3 *connect(const char *path)
{
    sqlite3 *db = NULL;
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(run(db,
              "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
              "PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=10;") ==
          SQLITE_OK);
    return db;
}

static void begin(struct fixture *fixture)
{
    *fixture = (struct fixture){.buffer.enabled = true};
    current = fixture;
    fails = false;
    kit_folder_new(fixture->folder, sizeof fixture->folder);
    (void)snprintf(fixture->path,
                   sizeof fixture->path,
                   "%s/space.db",
                   fixture->folder);
    fixture->db = connect(fixture->path);
    CHECK(run(fixture->db, "CREATE TABLE t(k INTEGER PRIMARY KEY, v)") ==
          SQLITE_OK);
    fixture->beside = connect(fixture->path);
}

static void end(struct fixture *fixture)
{
    CHECK(sqlite3_close(fixture->db) == SQLITE_OK);
    CHECK(sqlite3_close(fixture->beside) == SQLITE_OK);
    kit_folder_remove(fixture->folder);
}

static void begin_transaction(struct fixture *fixture)
{
    CHECK(run(fixture->db, "BEGIN IMMEDIATE") == SQLITE_OK);
    wal_buffer_begin(&fixture->buffer, fixture->db);
    if (fixture->buffer.usual != &fixture->counting) {
        fixture->file_methods = fixture->buffer.usual;
        fixture->counting = *fixture->buffer.usual;
        fixture->counting.xWrite = count_write;
        fixture->buffer.usual = &fixture->counting;
    }
    writes = 0;
}

static int end_transaction(struct fixture *fixture, const char *how)
{
    const int code = run(fixture->db, how);
    if (sqlite3_get_autocommit(fixture->db) == 0) {
        CHECK(run(fixture->db, "ROLLBACK") == SQLITE_OK);
    }
    wal_buffer_end(&fixture->buffer);
    return code;
}

static long ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    CHECK(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
    CHECK(sqlite3_step(statement) == SQLITE_ROW);
    const long answer = (long)sqlite3_column_int64(statement, 0);
    CHECK(sqlite3_finalize(statement) == SQLITE_OK);
    return answer;
}

static bool is_sound(sqlite3 *db)
{
    return ask(db,
               "SELECT integrity_check = 'ok' FROM "
               "pragma_integrity_check") == 1;
}

/* So many rows of about a page each. */
static void insert(sqlite3 *db, unsigned rows)
{
    char sql[160];
    (void)snprintf(sql,
                   sizeof sql,
                   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                   "FROM n WHERE i < %u) "
                   "INSERT INTO t(v) SELECT randomblob(3000) FROM n",
                   rows);
    CHECK(run(db, sql) == SQLITE_OK);
}

TEST(a_transaction_of_several_pages_is_one_write)
{
    struct fixture fixture;
    begin(&fixture);
    begin_transaction(&fixture);
    insert(fixture.db, 5);
    EXPECT_INT(end_transaction(&fixture, "COMMIT"), SQLITE_OK);
    EXPECT_INT(writes, 1);
    EXPECT_INT(ask(fixture.beside, "SELECT count(*) FROM t"), 5);
    end(&fixture);
}

TEST(a_transaction_that_exceeds_the_cache_is_read_and_committed)
{
    struct fixture fixture;
    begin(&fixture);
    begin_transaction(&fixture);
    insert(fixture.db, 500);
    EXPECT_INT(ask(fixture.db, "SELECT count(*) FROM t"), 500);
    insert(fixture.db, 500);
    EXPECT_INT(end_transaction(&fixture, "COMMIT"), SQLITE_OK);
    EXPECT(writes > 1);
    EXPECT_INT(ask(fixture.beside, "SELECT count(*) FROM t"), 1000);
    EXPECT(is_sound(fixture.beside));
    end(&fixture);
}

/* wal-buffer-2: frames that were rolled back are not written over those of the
 * next writer. */
TEST(what_was_rolled_back_never_reaches_the_file)
{
    struct fixture fixture;
    begin(&fixture);
    for (unsigned round = 0; round < 20; round++) {
        begin_transaction(&fixture);
        insert(fixture.db, 20 + round); /* more than the cache */
        EXPECT_INT(end_transaction(&fixture, "ROLLBACK"), SQLITE_OK);
        writes = 0;
        insert(fixture.beside, 30);
        EXPECT_INT(ask(fixture.db, "SELECT count(*) FROM t"),
                   30 * (long)(round + 1));
        EXPECT_INT(writes, 0);
        EXPECT(is_sound(fixture.db));
    }
    end(&fixture);
}

/* wal-buffer-3. */
TEST(a_write_that_failed_fails_the_transaction)
{
    struct fixture fixture;
    begin(&fixture);
    begin_transaction(&fixture);
    insert(fixture.db, 5);
    fails = true;
    EXPECT_INT(end_transaction(&fixture, "COMMIT"), SQLITE_FULL);
    fails = false;
    EXPECT_INT(ask(fixture.db, "SELECT count(*) FROM t"), 0);
    begin_transaction(&fixture);
    insert(fixture.db, 3);
    EXPECT_INT(end_transaction(&fixture, "COMMIT"), SQLITE_OK);
    EXPECT_INT(ask(fixture.beside, "SELECT count(*) FROM t"), 3);
    end(&fixture);
}

/* A statement outside, as a checkpoint or VACUUM. */
TEST(outside_of_a_transaction_writes_pass)
{
    struct fixture fixture;
    begin(&fixture);
    begin_transaction(&fixture);
    insert(fixture.db, 1);
    EXPECT_INT(end_transaction(&fixture, "COMMIT"), SQLITE_OK);
    writes = 0;
    insert(fixture.db, 2);
    EXPECT(writes > 1);
    EXPECT_INT(ask(fixture.beside, "SELECT count(*) FROM t"), 3);
    end(&fixture);
}
