/* Preconditions (scenarios H), and numbers, replay and identity (I). */

#include <string.h>

#include "lib/store_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/id.h"

/* -- Preconditions ------------------------------------------------------- */

TEST(h02_work_of_a_rejected_commit_is_refused_for_good)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s2 1 | set A 1");
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "", "s1 1 | conf A @0 | set A 2");
    EXPECT_REFUSED(&kit,
                   ERR_ORIGIN_FAILED,
                   "origin-committed: localSeq 1",
                   "s1 2 | origin 1 | set B 1");
    EXPECT_INT(err_class_of(kit.verdicts[0].err), ERR_CLASS_PERMANENT);
    EXPECT_LANDED(&kit, 2, "s1 3 | set A 3");
    EXPECT_LANDED(&kit, 3, "s1 4 | origin 3 | set B 1");
    /* The number of another session is nothing. */
    EXPECT_REFUSED(&kit,
                   ERR_ORIGIN_FAILED,
                   "localSeq 3",
                   "s2 2 | origin 3 | set B 1");
    kit_close(&kit);
}

TEST(h03_a_receipt_is_written_once)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | absent R | set R 1");
    EXPECT_REFUSED(&kit,
                   ERR_RECEIPT_EXISTS,
                   "receipt-exists: R",
                   "s1 2 | absent R | set R 2");
    EXPECT_TEXT(kit_verdict(&kit, 0),
                "{'error':{'class':'permanent','id':'R','message':"
                "'receipt-exists: R','name':'RECEIPT_EXISTS'}}");
    EXPECT_TEXT(kit_read(&kit, "R"), "{'value':1}");
    kit_close(&kit);
}

TEST(h04_a_deleted_document_has_existed)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set R 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | delete R");
    EXPECT_LANDED(&kit, 3, "s1 3 | delete N");
    EXPECT_REFUSED(&kit,
                   ERR_RECEIPT_EXISTS,
                   "receipt-exists",
                   "s1 4 | absent R | set R 2");
    EXPECT_REFUSED(&kit,
                   ERR_RECEIPT_EXISTS,
                   "receipt-exists",
                   "s1 4 | absent N | set N 2");
    kit_close(&kit);
}

TEST(h05_a_commit_of_preconditions_only_is_a_row_without_revisions)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | absent R");
    EXPECT_TEXT(kit_sql(&kit,
                        "SELECT (SELECT count(*) FROM 'commit'),"
                        " (SELECT count(*) FROM revision)"),
                "1|0;");
    EXPECT_LANDED(&kit, 2, "s1 2 | absent R | set R 1");
    EXPECT_REFUSED(&kit, ERR_RECEIPT_EXISTS, "", "s1 3 | absent R");
    kit_close(&kit);
}

TEST(h07_a_value_hash_is_that_of_the_value_now)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    char hash[DIGEST_TEXT_LENGTH + 1];
    struct value value = from_json("{\"b\":2,\"a\":1}");
    digest_write(value_digest(value), hash);
    value_unref(value);
    struct buf commit = {0};
    buf_printf(&commit, "s1 3 | hash A '%s' | set B 1", hash);
    EXPECT_LANDED(&kit, 1, "s1 1 | hash A null | set A {'a':1,'b':1}");
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "entity-value-hash differs: A",
                   buf_text(&commit));
    EXPECT_EQ(kit.verdicts[0].conflict_seq, 1);
    EXPECT_LANDED(&kit, 2, "s1 2 | replace A.b 2");
    EXPECT_LANDED(&kit, 3, buf_text(&commit));
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "", "s1 4 | hash A null | set B 2");
    EXPECT_LANDED(&kit, 4, "s1 5 | delete A");
    EXPECT_LANDED(&kit, 5, "s1 6 | hash A null | set B 3");
    /* A document without a value has none; a value null is one. */
    EXPECT_LANDED(&kit, 6, "s1 7 | put A {'meta':1}");
    EXPECT_LANDED(&kit, 7, "s1 8 | hash A null | set A null");
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "", "s1 9 | hash A null | set B 4");
    buf_release(&commit);
    kit_close(&kit);
}

TEST(h08_a_replayed_receipt_is_answered_and_not_refused)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | absent R | set R 1");
    EXPECT_LANDED(&kit, 1, "s1 1 | absent R | set R 1");
    EXPECT(kit.verdicts[0].replayed);
    EXPECT_REFUSED(&kit,
                   ERR_REPLAY_MISMATCH,
                   "commit replay mismatch: localSeq 1",
                   "s1 1 | absent R | set R 2");
    kit_close(&kit);
}

TEST(h10_a_set_without_a_precondition_overwrites)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set R 1");
    EXPECT_LANDED(&kit, 2, "s2 1 | set R 2");
    EXPECT_TEXT(kit_read(&kit, "R"), "{'value':2}");
    kit_close(&kit);
}

TEST(h12_preconditions_win_over_stale_reads)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s2 1 | set A 1 | set R 1");
    EXPECT_REFUSED(&kit,
                   ERR_RECEIPT_EXISTS,
                   "receipt-exists",
                   "s1 1 | conf A @0 | absent R | set R 2");
    EXPECT_REFUSED(&kit,
                   ERR_ORIGIN_FAILED,
                   "",
                   "s1 1 | conf A @0 | origin 7 | set R 2");
    kit_close(&kit);
}

TEST(h13_a_document_that_a_patch_created_exists)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | add R.x 1");
    EXPECT_REFUSED(&kit,
                   ERR_RECEIPT_EXISTS,
                   "receipt-exists",
                   "s1 2 | absent R | set R 2");
    kit_close(&kit);
}

TEST(defect_2_a_document_of_the_parent_branch_exists)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set R 1");
    EXPECT_LANDED(&kit, 2, "s1 2 | add P.x 1");
    EXPECT_INT(kit_fork(&kit, "b", "", 2), ERR_OK);
    EXPECT_LANDED(&kit, 3, "s1 3 | set LATER 1");
    EXPECT_REFUSED(&kit,
                   ERR_RECEIPT_EXISTS,
                   "R",
                   "s1 4 | branch b | absent R | set R 2");
    EXPECT_REFUSED(&kit,
                   ERR_RECEIPT_EXISTS,
                   "P",
                   "s1 4 | branch b | absent P | set P 2");
    EXPECT_LANDED(&kit, 4, "s1 4 | branch b | absent LATER | set LATER 2");
    kit_close(&kit);
}

TEST(an_unknown_or_damaged_precondition_applies_nothing)
{
    static const char *const rows[] = {
        "null",
        "'entity-absent'",
        "{}",
        "{'kind':'entity-present','id':'A'}",
        "{'kind':'entity-absent'}",
        "{'kind':'origin-committed','originLocalSeq':'1'}",
        "{'kind':'entity-value-hash','id':'A'}",
    };
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf commit = {0};
        buf_printf(&commit,
                   "s1 1 | set A 1 | json 'preconditions':[%s]",
                   rows[i]);
        EXPECT_REFUSED(&kit,
                       ERR_PROTOCOL,
                       "preconditions[0]",
                       buf_text(&commit));
        buf_release(&commit);
    }
    kit_close(&kit);
}

/* -- Numbers and replay -------------------------------------------------- */

TEST(i01_the_same_commit_again_gets_the_same_answer_and_no_rows)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | pend A.x [1] b=0 | replace A.x 2");
    EXPECT_LANDED(&kit, 3, "s2 1 | replace A.x 3");
    struct buf before = kit_dump(&kit);
    EXPECT_LANDED(&kit, 2, "s1 2 | pend A.x [1] b=0 | replace A.x 2");
    EXPECT_TEXT(kit_verdict(&kit, 0),
                "{'replayed':true,'resolvedPendingReads':"
                "[{'localSeq':1,'seq':1}],'seq':2}");
    struct buf after = kit_dump(&kit);
    EXPECT_TEXT(buf_text(&after), buf_text(&before));
    buf_release(&before);
    buf_release(&after);
    EXPECT_TEXT(kit_read(&kit, "A"), "{'value':{'x':3}}");
    EXPECT_REFUSED(&kit,
                   ERR_REPLAY_MISMATCH,
                   "commit replay mismatch",
                   "s1 2 | pend A.x [1] b=0 | replace A.x 4");
    EXPECT_REFUSED(&kit,
                   ERR_REPLAY_MISMATCH,
                   "commit replay mismatch",
                   "s1 2 | replace A.x 2");
    kit_close(&kit);
}

TEST(defect_6_replay_does_not_depend_on_the_order_of_keys)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1,'y':{'a':1,'b':2}}");
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'y':{'b':2,'a':1},'x':1.0}");
    EXPECT(kit.verdicts[0].replayed);
    EXPECT_LANDED(&kit,
                  1,
                  "s1 1 | json 'branch':'','reads':{'confirmed':[],"
                  "'pending':[]},'preconditions':[] | "
                  "set A {'x':1,'y':{'a':1,'b':2}}");
    EXPECT(kit.verdicts[0].replayed);
    kit_close(&kit);
}

TEST(i02_sessions_and_principals_have_numbers_of_their_own)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    EXPECT_LANDED(&kit, 2, "s2 1 | set A 2");
    kit.principal = "Alice";
    EXPECT_LANDED(&kit, 3, "s1 1 | set A 3");
    kit.principal = "Bob";
    EXPECT_LANDED(&kit, 4, "s1 1 | set A 4");
    EXPECT_LANDED(&kit, 4, "s1 1 | set A 4");
    EXPECT_TEXT(kit_sql(&kit, "SELECT key FROM session ORDER BY session"),
                "s1;s2;session:Alice:s1;session:Bob:s1;");
    kit_close(&kit);
}

/* Who opens a session under the id of another's gets nothing of it. */
TEST(defect_8_a_session_id_of_another_principal_gives_no_history)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.principal = "Alice";
    EXPECT_LANDED(&kit, 1, "s1 1 | set A~user 1 | set B 1");
    kit.principal = "Bob";
    EXPECT_REFUSED(&kit,
                   ERR_CONFLICT,
                   "not resolved: 1",
                   "s1 2 | pend B [1] b=0 | set B 2");
    EXPECT_REFUSED(&kit,
                   ERR_ORIGIN_FAILED,
                   "localSeq 1",
                   "s1 2 | origin 1 | set B 2");
    EXPECT_LANDED(&kit, 2, "s1 1 | set A~user 1 | set B 1");
    EXPECT(!kit.verdicts[0].replayed);
    /* Her own numbers are as they were. */
    kit.principal = "Alice";
    EXPECT_LANDED(&kit, 1, "s1 1 | set A~user 1 | set B 1");
    EXPECT(kit.verdicts[0].replayed);
    kit_close(&kit);
}

TEST(a_session_without_a_principal_cannot_take_the_name_of_one_with)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    kit.principal = "Alice";
    EXPECT_LANDED(&kit, 1, "s1 1 | set A 1");
    kit.principal = NULL;
    EXPECT_REFUSED(&kit,
                   ERR_PROTOCOL,
                   "session",
                   "session:Alice:s1 2 | pend A [1] b=0 | set A 2");
    EXPECT_LANDED(&kit, 2, "a:session:Alice:s1 1 | set A 2");
    kit_close(&kit);
}

TEST(i05_a_commit_without_operations_and_preconditions_is_refused)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_REFUSED(&kit,
                   ERR_PROTOCOL,
                   "requires at least one operation",
                   "s1 1 | conf A @0");
    kit_close(&kit);
}

TEST(i07_a_replay_on_a_branch_that_was_deleted_since_is_answered)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_INT(kit_fork(&kit, "b", "", ENGINE_HEAD), ERR_OK);
    EXPECT_LANDED(&kit, 1, "s1 1 | branch b | set A 1");
    EXPECT_INT(kit_branch_delete(&kit, "b"), ERR_OK);
    EXPECT_LANDED(&kit, 1, "s1 1 | branch b | set A 1");
    EXPECT(kit.verdicts[0].replayed);
    EXPECT_REFUSED(&kit,
                   ERR_BRANCH_CLOSED,
                   "branch is not active: b",
                   "s1 2 | branch b | set A 2");
    kit_close(&kit);
}

TEST(i08_a_replay_after_a_restart_finds_the_one_durable_commit)
{
    struct store_kit kit;
    kit_open_file(&kit, NULL);
    kit.principal = "Alice";
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {'x':1}");
    EXPECT_LANDED(&kit, 2, "s1 2 | pend A.x [1] b=0 | replace A.x 2");
    kit_reopen(&kit);
    EXPECT_LANDED(&kit, 2, "s1 2 | pend A.x [1] b=0 | replace A.x 2");
    EXPECT_TEXT(kit_verdict(&kit, 0),
                "{'replayed':true,'resolvedPendingReads':"
                "[{'localSeq':1,'seq':1}],'seq':2}");
    EXPECT_TEXT(kit_sql(&kit, "SELECT count(*) FROM 'commit'"), "2;");
    EXPECT_LANDED(&kit, 3, "s1 3 | pend A.x [1,2] b=0 | replace A.x 3");
    kit_close(&kit);
}

TEST(a_refused_commit_uses_no_number_and_may_be_tried_again)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 1 | set A {}");
    EXPECT_REFUSED(&kit, ERR_CONFLICT, "", "s2 1 | conf A @0 | set A 2");
    EXPECT_REFUSED(&kit, ERR_PATCH_MISSING, "", "s2 1 | remove A.x");
    EXPECT_LANDED(&kit, 2, "s2 1 | conf A @1 | set A 2");
    EXPECT_TEXT(kit_sql(&kit, "SELECT seq, record FROM 'commit'"), "1|1;2|2;");
    kit_close(&kit);
}

TEST(a_local_seq_may_be_0_and_as_large_as_a_number_gets)
{
    struct store_kit kit;
    kit_open_memory(&kit, NULL);
    EXPECT_LANDED(&kit, 1, "s1 9223372036854775807 | set A 1");
    EXPECT_LANDED(&kit, 1, "s1 9223372036854775807 | set A 1");
    EXPECT_LANDED(&kit, 2, "s1 0 | pend A [9223372036854775807] b=0 | set A 2");
    EXPECT_LANDED(&kit, 2, "s1 0 | pend A [9223372036854775807] b=0 | set A 2");
    EXPECT_TEXT(kit_verdict(&kit, 0),
                "{'replayed':true,'resolvedPendingReads':"
                "[{'localSeq':9223372036854775807,'seq':1}],'seq':2}");
    kit_close(&kit);
}
