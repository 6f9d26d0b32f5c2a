/* Two engines on one file: what one commits the other sees. Both are in this
 * process, and one thread: the locks do not know the difference. */

#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/store_kit.h"
#include "lib/test.h"

static void open_both(struct store_kit *a, struct store_kit *b)
{
    kit_open_file(a, NULL);
    kit_open_beside(b, a);
}

static void close_both(struct store_kit *a, struct store_kit *b)
{
    kit_close(b);
    kit_close(a);
}

TEST(what_one_engine_commits_the_other_reads)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_TEXT(kit_read(&b, "A"), "(absent)");
    EXPECT_LANDED(&a, 1, "s1 1 | set A {'x':1}");
    EXPECT_TEXT(kit_read(&b, "A"), "{'value':{'x':1}}");
    EXPECT_LANDED(&b, 2, "s2 1 | conf A @1 | replace A.x 2");
    EXPECT_TEXT(kit_read(&a, "A"), "{'value':{'x':2}}");
    EXPECT_TEXT(kit_read_at(&a, "A", 1), "{'value':{'x':1}}");
    EXPECT_TEXT(kit_list(&a, "", "space", NULL, 9, 2), "['A']");
    EXPECT_INT(kit_fork(&a, "f", "", 1), ERR_OK);
    EXPECT_TEXT(kit_read(&b, "f/A"), "{'value':{'x':1}}");
    EXPECT_LANDED(&b, 3, "s2 2 | branch f | replace A.x 7");
    EXPECT_TEXT(kit_read(&a, "f/A"), "{'value':{'x':7}}");
    EXPECT_INT(kit_branch_delete(&b, "f"), ERR_OK);
    EXPECT_REFUSED(&a,
                   ERR_BRANCH_CLOSED,
                   "",
                   "s1 9 | branch f | replace A.x 8");
    close_both(&a, &b);
}

TEST(what_one_engine_commits_the_other_conflicts_with)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_LANDED(&a, 1, "s1 1 | set A {'x':1,'y':1}");
    EXPECT_TEXT(kit_read(&b, "A"), "{'value':{'x':1,'y':1}}");
    EXPECT_LANDED(&a, 2, "s1 2 | replace A.x 2");
    EXPECT_REFUSED(&b,
                   ERR_CONFLICT,
                   "A at seq 1 conflicted with seq 2",
                   "s2 1 | conf A.x @1 | replace A.x 3");
    EXPECT_LANDED(&b, 3, "s2 1 | conf A.y @1 | replace A.y 3");
    EXPECT_REFUSED(&a, ERR_RECEIPT_EXISTS, "", "s1 3 | absent A | set A 1");
    EXPECT_LANDED(&b, 4, "s2 2 | absent R | set R 1");
    EXPECT_REFUSED(&a, ERR_RECEIPT_EXISTS, "", "s1 3 | absent R | set R 2");
    close_both(&a, &b);
}

TEST(one_session_on_two_engines_is_one_session)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_LANDED(&a, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&b, 1, "s1 1 | set A {'x':1}");
    EXPECT(b.verdicts[0].replayed);
    EXPECT_LANDED(&b, 2, "s1 2 | pend A.x [1] b=0 | replace A.x 2");
    EXPECT_LANDED(&a, 3, "s1 3 | pend A.x [1,2] b=0 | replace A.x 3");
    EXPECT_REFUSED(&b, ERR_REPLAY_MISMATCH, "", "s1 3 | set A 0");
    EXPECT_TEXT(kit_sql(&a, "SELECT count(*) FROM session"), "1;");
    close_both(&a, &b);
}

TEST(writers_alternate_on_one_chain)
{
    enum {
        ROUNDS = 40
    };
    struct store_kit kits[2];
    open_both(&kits[0], &kits[1]);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct buf commit = {0};
        buf_printf(&commit,
                   "s%u %u | increment A.n 1 | append A.who [%u]",
                   i % 2,
                   i,
                   i % 2);
        EXPECT_LANDED(&kits[i % 2], i + 1, buf_text(&commit));
        buf_release(&commit);
    }
    EXPECT_CONTAINS(kit_read(&kits[0], "A"), "{'n':40,'who':[0,1,0,1");
    EXPECT_CONTAINS(kit_read(&kits[1], "A"), "{'n':40,'who':[0,1,0,1");
    EXPECT_EQ(kits[0].engine.record, ROUNDS);
    EXPECT_EQ(kits[1].engine.record, ROUNDS);
    EXPECT(memcmp(&kits[0].engine.chain,
                  &kits[1].engine.chain,
                  sizeof kits[0].engine.chain) == 0);
    EXPECT_TEXT(kit_sql(&kits[0], "PRAGMA integrity_check"), "ok;");
    close_both(&kits[0], &kits[1]);
}

/* -- A reader in the middle of a write ----------------------------------- */

struct onlooker {
    struct store_kit *reader;
    unsigned records;
};

/* As SQLite tells of each row, in the middle of the transaction. */
static void look(void *ctx,
                 int operation,
                 const char *database,
                 const char *table,
                 sqlite3_int64 row)
{
    (void)operation;
    (void)database;
    (void)row;
    struct onlooker *onlooker = ctx;
    if (strcmp(table, "commit") != 0) {
        return;
    }
    onlooker->records++;
    EXPECT_TEXT(kit_read(onlooker->reader, "A"), "{'value':0}");
    EXPECT_TEXT(kit_read(onlooker->reader, "B"), "{'value':0}");
    EXPECT_TEXT(kit_list(onlooker->reader, "", "space", NULL, 9, 1),
                "['A','B']");
}

TEST(a_reader_sees_one_state_while_a_group_is_written)
{
    static const char *const lines[] = {"s1 2 | set A 1",
                                        "s1 3 | set B 1",
                                        "s1 4 | set C 1"};
    struct store_kit writer;
    struct store_kit reader;
    struct onlooker onlooker = {.reader = &reader};
    open_both(&writer, &reader);
    EXPECT_LANDED(&writer, 1, "s1 1 | set A 0 | set B 0");
    sqlite3 *db = writer.engine.database.db;
    (void)sqlite3_update_hook(db, look, &onlooker);
    kit_group(&writer, lines, COUNT_OF(lines));
    (void)sqlite3_update_hook(db, NULL, NULL);
    EXPECT_INT(writer.fault, ERR_OK);
    EXPECT_EQ(onlooker.records, 3);
    EXPECT_TEXT(kit_read(&reader, "A"), "{'value':1}");
    EXPECT_TEXT(kit_list(&reader, "", "space", NULL, 9, 0), "['A','B','C']");
    close_both(&writer, &reader);
}

/* -- Locks and the WAL --------------------------------------------------- */

static bool is_locked(const struct store_kit *kit)
{
    char name[400];
    (void)snprintf(name, sizeof name, "%s-lock", kit->path);
    FILE *file = fopen(name, "r");
    CHECK(file != NULL);
    const bool locked = flock(fileno(file), LOCK_EX | LOCK_NB) != 0;
    (void)fclose(file);
    return locked;
}

static int expect_locked(void *ctx)
{
    EXPECT(is_locked(ctx));
    return 0;
}

TEST(the_lock_is_held_while_writing_and_at_no_other_time)
{
    struct store_kit a;
    struct store_kit b;
    kit_open_file(&a, NULL);
    EXPECT(!is_locked(&a));
    (void)sqlite3_commit_hook(a.engine.database.db, expect_locked, &a);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    EXPECT(!is_locked(&a));
    (void)sqlite3_commit_hook(a.engine.database.db, NULL, NULL);
    EXPECT_REFUSED(&a, ERR_CONFLICT, "", "s1 2 | conf A @0 | set A 2");
    EXPECT(!is_locked(&a));
    EXPECT_INT(kit_fork(&a, "b", "", 9), ERR_SEQUENCE);
    EXPECT(!is_locked(&a));
    kit_run(&a,
            "CREATE TEMP TRIGGER stop AFTER INSERT ON revision"
            " BEGIN SELECT RAISE(ROLLBACK, 'no'); END");
    kit_commit(&a, "s1 2 | set A 2");
    EXPECT_INT(a.fault, ERR_STORE);
    EXPECT(!is_locked(&a));
    kit_open_beside(&b, &a);
    EXPECT_LANDED(&b, 2, "s2 1 | set A 2");
    EXPECT_TEXT(kit_read(&a, "A"), "{'value':2}");
    kit_close(&b);
    EXPECT(!is_locked(&a));
    kit_close(&a);
}

/* What a process leaves that is killed inside of a write. */
TEST(a_write_that_a_dead_process_has_begun_is_ended)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    struct database *one = &a.engine.database;
    struct database *two = &b.engine.database;
    const uint64_t before = database_changes(one);
    EXPECT(before != 0);
    atomic_store(&one->page->changes, before + 1);
    EXPECT_EQ(database_changes(two), 0);
    /* One that lives has the lock. */
    EXPECT_INT(flock(one->lock.fd, LOCK_EX | LOCK_NB), 0);
    database_end_dead_write(two);
    EXPECT_EQ(database_changes(two), 0);
    EXPECT_INT(flock(one->lock.fd, LOCK_UN), 0);
    database_end_dead_write(two);
    EXPECT(database_changes(two) > before);
    EXPECT_EQ(database_changes(one), database_changes(two));
    EXPECT_LANDED(&b, 2, "s2 1 | set A 2");
    EXPECT_TEXT(kit_read(&a, "A"), "{'value':2}");
    close_both(&a, &b);
}

TEST(an_engine_that_is_closed_does_not_disturb_the_other)
{
    struct store_kit a;
    struct store_kit b;
    open_both(&a, &b);
    EXPECT_LANDED(&b, 1, "s2 1 | set A 1");
    kit_close(&b);
    EXPECT_LANDED(&a, 2, "s1 1 | conf A @1 | set A 2");
    kit_reopen(&a);
    EXPECT_TEXT(kit_read(&a, "A"), "{'value':2}");
    kit_close(&a);
}

TEST(the_wal_is_checkpointed_when_it_has_grown)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    kit.engine.database.wal_bytes_max = 100000;
    for (unsigned i = 1; i <= 60; i++) {
        struct buf commit = {0};
        buf_printf(&commit, "s1 %u | set A {'fill':'%05000u'}", i, i);
        EXPECT_LANDED(&kit, i, buf_text(&commit));
        buf_release(&commit);
    }
    EXPECT(kit.engine.database.checkpoints >= 3);
    EXPECT(kit.engine.database.wal_bytes <= 150000);
    kit_reopen(&kit);
    EXPECT_TEXT(kit_sql(&kit, "PRAGMA integrity_check"), "ok;");
    EXPECT_EQ(kit.engine.seq, 60);
    kit_close(&kit);
}

/* -- Reading only -------------------------------------------------------- */

TEST(b4_an_engine_that_reads_only_follows_the_other_and_refuses_commits)
{
    struct store_kit a;
    kit_open_file(&a, NULL);
    EXPECT_LANDED(&a, 1, "s1 1 | set A {'x':1}");
    struct store_kit b = {.options = a.options};
    struct store_kit reading = a;
    reading.options.read_only = true;
    kit_open_beside(&b, &reading);
    EXPECT_TEXT(kit_read(&b, "A"), "{'value':{'x':1}}");
    EXPECT_LANDED(&a, 2, "s1 2 | set A {'x':2}");
    EXPECT_TEXT(kit_read(&b, "A"), "{'value':{'x':2}}");
    kit_commit(&b, "s2 1 | set A 3");
    EXPECT_INT(b.fault, ERR_READ_ONLY);
    EXPECT_INT(kit_fork(&b, "f", "", 1), ERR_READ_ONLY);
    EXPECT_TEXT(kit_read(&a, "A"), "{'value':{'x':2}}");
    /* The reader stays when the writer has gone, and looks at what is there. */
    kit_close(&b);
    kit_reopen(&a);
    kit_open_beside(&b, &reading);
    EXPECT_TEXT(kit_read(&b, "A"), "{'value':{'x':2}}");
    close_both(&a, &b);
}

TEST(b4_reading_only_creates_no_file)
{
    char folder[256];
    char path[300];
    kit_folder_new(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/none.db", folder);
    const struct engine_options options = {.path = path, .read_only = true};
    struct engine engine;
    EXPECT_INT(engine_open(&engine, &options, NULL), ERR_IO);
    EXPECT(access(path, F_OK) != 0);
    (void)snprintf(path, sizeof path, "%s/none.db-lock", folder);
    EXPECT(access(path, F_OK) != 0);
    kit_folder_remove(folder);
}

TEST(a_session_goes_on_above_what_has_landed_of_it_for_the_same_user)
{
    struct store_kit a;
    kit_open_file(&a, NULL);
    struct identity who = {VALUE_NONE, value_text_new("s1")};
    uint64_t next = 0;
    EXPECT_INT(engine_session_next(&a.engine, who, &next, NULL), ERR_OK);
    EXPECT_EQ(next, 1);
    EXPECT_LANDED(&a, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&a, 2, "s1 7 | set A 2");
    EXPECT_INT(engine_session_next(&a.engine, who, &next, NULL), ERR_OK);
    EXPECT_EQ(next, 8);
    who.principal = value_text_new("ada");
    EXPECT_INT(engine_session_next(&a.engine, who, &next, NULL), ERR_OK);
    EXPECT_EQ(next, 1);
    a.principal = "ada";
    EXPECT_LANDED(&a, 3, "s1 3 | set A 3");
    EXPECT_INT(engine_session_next(&a.engine, who, &next, NULL), ERR_OK);
    EXPECT_EQ(next, 4);
    value_unref(who.principal);
    value_unref(who.session);
    kit_close(&a);
}
