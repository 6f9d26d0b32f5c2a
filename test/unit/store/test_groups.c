/* Groups of commits in one transaction (engine-3), and faults in the middle of
 * them. */

#include <string.h>

#include "lib/store_kit.h"
#include "lib/test.h"

static void expect_group(struct store_kit *kit,
                         const char *const *lines,
                         const enum err *errs,
                         size_t count)
{
    kit_group(kit, lines, count);
    EXPECT_INT(kit->fault, ERR_OK);
    for (size_t i = 0; i < count; i++) {
        if (!EXPECT_INT(kit->verdicts[i].err, errs[i])) {
            (void)test_fail(__FILE__, __LINE__, "%s", lines[i]);
        }
    }
}

TEST(e3_each_commit_of_a_group_has_a_verdict_of_its_own)
{
    static const char *const lines[] = {
        "s1 1 | set A {'x':1}",
        "s2 1 | conf A @0 | set A 2",
        "s2 2 | remove A.nothing",
        "s3 1 | branch nope | set A 2",
        "s3 2 | origin 1 | set A 2",
        "s1 2 | conf A @1 | replace A.x 3",
        "s3 3 | conf C @7 | set A 2",
        "s1 1 | set A {'x':1}",
        "s1 1 | set A {'x':2}",
        "s2 3 | absent A | set A 2",
        "s2 3 | set B 1",
    };
    static const enum err errs[] = {
        ERR_OK,
        ERR_CONFLICT,
        ERR_PATCH_MISSING,
        ERR_BRANCH_UNKNOWN,
        ERR_ORIGIN_FAILED,
        ERR_OK,
        ERR_PROTOCOL,
        ERR_OK,
        ERR_REPLAY_MISMATCH,
        ERR_RECEIPT_EXISTS,
        ERR_OK,
    };
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    expect_group(&kit, lines, errs, COUNT_OF(lines));
    EXPECT_EQ(kit.verdicts[0].seq, 1);
    EXPECT_EQ(kit.verdicts[5].seq, 2);
    EXPECT_EQ(kit.verdicts[7].seq, 1);
    EXPECT(kit.verdicts[7].replayed);
    EXPECT_EQ(kit.verdicts[10].seq, 3);
    EXPECT_EQ(kit.verdicts[1].head_seq, 1);
    EXPECT_EQ(kit.verdicts[9].head_seq, 2);
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':3}}");
        EXPECT_TEXT(kit_sql(&kit, "SELECT key FROM session ORDER BY 1"),
                    "s1;s2;");
        EXPECT_TEXT(kit_sql(&kit, "SELECT id FROM document ORDER BY 1"),
                    "A;B;");
        kit_reopen(&kit);
    }
    kit_close(&kit);
}

TEST(the_rows_of_a_group_are_those_of_its_landed_commits_alone)
{
    static const char *const mixed[] = {
        "s1 1 | set A {'x':1}",
        "s9 1 | conf A @0 | set Z 1",
        "s2 1 | append A.list [1]",
        "s9 2 | append A.list [9] | remove A.nothing",
        "s2 2 | append A.list [2]",
        "s9 3 | absent A | delete A",
        "s1 2 | pend A.x [1] b=0 | set B 1",
    };
    static const char *const landed[] = {
        "s1 1 | set A {'x':1}",
        "s2 1 | append A.list [1]",
        "s2 2 | append A.list [2]",
        "s1 2 | pend A.x [1] b=0 | set B 1",
    };
    struct store_kit one;
    struct store_kit other;
    kit_open_memory(&one, NULL);
    kit_open_memory(&other, NULL);
    kit_group(&one, mixed, COUNT_OF(mixed));
    EXPECT_INT(one.fault, ERR_OK);
    for (size_t i = 0; i < COUNT_OF(landed); i++) {
        EXPECT_LANDED(&other, i + 1, landed[i]);
    }
    struct buf a = kit_dump(&one);
    struct buf b = kit_dump(&other);
    EXPECT_TEXT(buf_text(&a), buf_text(&b));
    EXPECT(memcmp(&one.engine.chain,
                  &other.engine.chain,
                  sizeof one.engine.chain) == 0);
    buf_release(&a);
    buf_release(&b);
    kit_close(&one);
    kit_close(&other);
}

TEST(later_commits_of_a_group_see_earlier_ones)
{
    static const char *const lines[] = {
        "s1 1 | set A {'n':1}",
        "s1 2 | pend A.n [1] b=0 | increment A.n 1",
        "s1 3 | pend A.n [1,2] b=0 | increment A.n 1",
        "s1 4 | origin 3 | pend A.n [1,2,3] b=0 | increment A.n 1",
        "s2 1 | conf A.n @4 | increment A.n 1",
        "s2 2 | conf A.n @4 | increment A.n 1",
    };
    static const enum err errs[] = {
        ERR_OK,
        ERR_OK,
        ERR_OK,
        ERR_OK,
        ERR_OK,
        ERR_CONFLICT,
    };
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    expect_group(&kit, lines, errs, COUNT_OF(lines));
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'n':5}}");
    EXPECT_TEXT(kit_verdict(&kit, 3),
                "{'resolvedPendingReads':[{'localSeq':1,'seq':1},"
                "{'localSeq':2,'seq':2},{'localSeq':3,'seq':3}],'seq':4}");
    kit_close(&kit);
}

TEST(an_empty_group_is_nothing)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_INT(engine_commit(&kit.engine, NULL, 0, NULL), ERR_OK);
    EXPECT_EQ(kit.engine.seq, 0);
    kit_close(&kit);
}

/* -- Faults -------------------------------------------------------------- */

/* A fault by `sql` in the middle of a group: nothing lands, every verdict is
 * the fault, and after `mend` all of it lands. */
static void expect_fault(const char *sql, const char *mend)
{
    static const char *const lines[] = {
        "s1 2 | replace A.x 2",
        "s2 1 | conf A @0 | set A 9",
        "s2 2 | set B 1",
        "s2 3 | replace B! {'value':2}",
    };
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    struct buf before = kit_dump(&kit);
    kit_run_unseen(&kit, sql);
    kit_group(&kit, lines, COUNT_OF(lines));
    EXPECT_INT(kit.fault, ERR_STORE);
    EXPECT_INT(kit.detail.err, ERR_STORE);
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        EXPECT_INT(kit.verdicts[i].err, ERR_STORE);
        EXPECT_TEXT(kit.verdicts[i].detail.text, kit.detail.text);
        EXPECT_EQ(kit.verdicts[i].seq, 0);
    }
    EXPECT(sqlite3_get_autocommit(kit.engine.database.db) != 0);
    kit_run_unseen(&kit, mend);
    struct buf after = kit_dump(&kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    buf_release(&before);
    buf_release(&after);
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':1}}");
    EXPECT_TEXT(kit_read(&kit, "B"), "(absent)");
    kit_group(&kit, lines, COUNT_OF(lines));
    EXPECT_INT(kit.fault, ERR_OK);
    EXPECT_INT(kit.verdicts[1].err, ERR_CONFLICT);
    EXPECT_EQ(kit.verdicts[3].seq, 4);
    kit_reopen(&kit);
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':2}}");
    EXPECT_TEXT(kit_read(&kit, "B"), "{'value':2}");
    kit_close(&kit);
}

TEST(a_fault_fails_the_whole_group_and_nothing_is_half_applied)
{
    expect_fault("CREATE TEMP TRIGGER stop BEFORE INSERT ON revision"
                 " WHEN new.seq = 4 BEGIN SELECT RAISE(ABORT, 'no'); END",
                 "DROP TRIGGER stop");
    expect_fault("CREATE TEMP TRIGGER stop AFTER INSERT ON document"
                 " BEGIN SELECT RAISE(FAIL, 'no'); END",
                 "DROP TRIGGER stop");
    expect_fault("CREATE TEMP TRIGGER stop AFTER UPDATE ON document"
                 " WHEN new.head_seq = 4 BEGIN SELECT RAISE(ROLLBACK, 'no');"
                 " END",
                 "DROP TRIGGER stop");
    expect_fault("CREATE TEMP TRIGGER stop AFTER INSERT ON \"commit\""
                 " WHEN new.seq = 3 BEGIN SELECT RAISE(ABORT, 'no'); END",
                 "DROP TRIGGER stop");
    expect_fault("CREATE TEMP TRIGGER stop AFTER INSERT ON session"
                 " BEGIN SELECT RAISE(ABORT, 'no'); END",
                 "DROP TRIGGER stop");
}

TEST(a_table_that_is_gone_is_a_fault_and_comes_back)
{
    expect_fault("ALTER TABLE revision RENAME TO hidden",
                 "ALTER TABLE hidden RENAME TO revision");
    expect_fault("ALTER TABLE session RENAME TO hidden",
                 "ALTER TABLE hidden RENAME TO session");
}

TEST(a_fault_in_a_branch_change_leaves_nothing)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_INT(kit_fork(&kit, "a", "", 1), ERR_OK);
    kit_run_unseen(&kit,
                   "CREATE TEMP TRIGGER stop AFTER INSERT ON branch"
                   " BEGIN SELECT RAISE(ABORT, 'no'); END;"
                   "CREATE TEMP TRIGGER halt AFTER UPDATE ON branch"
                   " BEGIN SELECT RAISE(ABORT, 'no'); END");
    EXPECT_INT(kit_fork(&kit, "b", "", 1), ERR_STORE);
    EXPECT_INT(kit_branch_delete(&kit, "a"), ERR_STORE);
    kit_run_unseen(&kit, "DROP TRIGGER stop; DROP TRIGGER halt");
    EXPECT_TEXT(kit_branches(&kit),
                "[{'active':true,'headSeq':1,'name':''},"
                "{'active':true,'forkSeq':1,'headSeq':1,'name':'a',"
                "'parent':''}]");
    EXPECT_INT(kit_fork(&kit, "b", "", 1), ERR_OK);
    EXPECT_LANDED(&kit, 2, "s1 2 | branch b | set A 2");
    EXPECT_EQ(kit.engine.record, 4);
    kit_close(&kit);
}
