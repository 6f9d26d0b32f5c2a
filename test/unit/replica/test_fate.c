/* src/replica/fate: verdicts, markers, reverts and what falls with them
 * (space.h S1 to S3; scenarios P). */

#include "lib/replica_kit.h"
#include "lib/test.h"

/* A session that watches A to D, all 0 at seq 1. */
static void begin(struct stage *stage)
{
    stage_open(stage, "s1");
    EXPECT_COMMIT(stage, "read A | read B | read C | read D");
    stage_say(stage, "sync 0-1 pull A@1=0 B@1=0 C@1=0 D@1=0");
    (void)stage_heard(stage);
    (void)stage_said(stage);
}

static void end(struct stage *stage)
{
    EXPECT_STAGE(stage);
    stage_close(stage);
}

/* -- Accepted ------------------------------------------------------------ */

TEST(an_accepted_commit_waits_for_the_marker_and_shows_nothing_new)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_TEXT(stage_heard(&stage), "commit #1 A 0->1");
    stage_say(&stage, "verdict 1 @2");
    EXPECT_TEXT(stage_fates(&stage), "verdict #1 @2");
    EXPECT_TEXT(stage_confirmed(&stage, "A"), "0");
    EXPECT_EQ(space_outstanding(stage.space), 1);
    stage_say(&stage, "sync 1-2 mark=1");
    EXPECT_TEXT(stage_fates(&stage), "settled #1 @2");
    EXPECT_TEXT(stage_confirmed(&stage, "A"), "1");
    EXPECT_EQ(stage_entity(&stage, "A")->seq, 2);
    EXPECT(stage_entity(&stage, "A")->overlay == NULL);
    EXPECT_EQ(space_outstanding(stage.space), 0);
    EXPECT_TEXT(stage_heard(&stage), "");
    end(&stage);
}

/* The frame with the marker has what the store made of it. */
TEST(what_the_store_made_of_it_replaces_the_layer)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "inc A 1");
    stage_say(&stage, "verdict 1 @3");
    stage_say(&stage, "sync 1-3 mark=1 A@3=11");
    EXPECT_TEXT(stage_heard(&stage), "commit #1 A 0->1; integrate A 1->11");
    EXPECT_TEXT(stage_confirmed(&stage, "A"), "11");
    end(&stage);
}

TEST(p22_a_marker_promotes_what_it_covers_and_no_more)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_COMMIT(&stage, "put A 2");
    EXPECT_COMMIT(&stage, "inc A 1");
    stage_say(&stage, "verdict 1 @2");
    stage_say(&stage, "verdict 2 @3");
    stage_say(&stage, "sync 1-3 mark=2 A@3=20");
    EXPECT_TEXT(stage_confirmed(&stage, "A"), "20");
    EXPECT_TEXT(stage_see(&stage, "A"), "21");
    EXPECT_TEXT(stage_fates(&stage),
                "verdict #1 @2; verdict #2 @3; settled #1 @2; settled #2 @3");
    (void)stage_heard(&stage);
    stage_say(&stage, "sync 3-3 mark=2");
    EXPECT_TEXT(stage_heard(&stage), "");
    EXPECT_TEXT(stage_fates(&stage), "");
    EXPECT_EQ(space_outstanding(stage.space), 1);
    end(&stage);
}

TEST(p24_without_markers_a_commit_is_confirmed_by_its_verdict)
{
    struct stage stage;
    stage_open(&stage, "s1");
    stage.script.plain = true;
    EXPECT_COMMIT(&stage, "put A 1");
    stage_say(&stage, "verdict 1 @2");
    EXPECT_TEXT(stage_fates(&stage), "verdict #1 @2; settled #1 @2");
    EXPECT_TEXT(stage_confirmed(&stage, "A"), "1");
    EXPECT_COMMIT(&stage, "read A | put A 2");
    stage_say(&stage, "verdict 2 CONFLICT A");
    EXPECT_TEXT(stage_see(&stage, "A"), "1");
    end(&stage);
}

TEST(p26_disjoint_patches_stay_visible_whichever_is_confirmed_first)
{
    struct stage stage;
    stage_open(&stage, "s1");
    stage.script.plain = true;
    EXPECT_COMMIT(&stage, "read A");
    stage_say(&stage, "sync 0-1 pull A@1={'x':0,'y':0}");
    EXPECT_COMMIT(&stage, "put A.x 1");
    EXPECT_COMMIT(&stage, "put A.y 2");
    (void)stage_heard(&stage);
    stage_say(&stage, "verdict 2 @2");
    EXPECT_TEXT(stage_see(&stage, "A"), "{'x':1,'y':2}");
    stage_say(&stage, "verdict 1 @3");
    EXPECT_TEXT(stage_see(&stage, "A"), "{'x':1,'y':2}");
    EXPECT_TEXT(stage_confirmed(&stage, "A"), "{'x':1,'y':2}");
    EXPECT_TEXT(stage_heard(&stage), "");
    end(&stage);
}

TEST(p32_the_confirmed_state_never_goes_backwards)
{
    struct stage stage;
    begin(&stage);
    stage_say(&stage, "sync 1-5 A@5=5");
    EXPECT_TEXT(stage_heard(&stage), "integrate A 0->5");
    stage_say(&stage, "sync 5-5 A@4=4");
    EXPECT_TEXT(stage_heard(&stage), "");
    EXPECT_TEXT(stage_see(&stage, "A"), "5");
    stage_say(&stage, "sync 5-5 A@5=6");
    EXPECT_TEXT(stage_see(&stage, "A"), "6");
    stage_say(&stage, "sync 5-6 -A");
    EXPECT_TEXT(stage_see(&stage, "A"), "()");
    EXPECT_EQ(stage_entity(&stage, "A")->seq, 0);
    end(&stage);
}

/* A commit that comes to be below the confirmed state leaves no trace. */
TEST(a_layer_that_the_confirmed_state_has_already_is_only_removed)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "inc A 1");
    stage_say(&stage, "verdict 1 @2");
    stage_say(&stage, "sync 1-4 mark=1 A@4=7");
    EXPECT_TEXT(stage_see(&stage, "A"), "7");
    EXPECT_EQ(stage_entity(&stage, "A")->seq, 4);
    end(&stage);
}

/* The answer to a watch may come between the verdict and the marker. */
TEST(a_parked_layer_does_not_hide_what_came_after_it)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_COMMIT(&stage, "put B 1");
    stage_say(&stage, "verdict 1 @2");
    (void)stage_heard(&stage);
    stage_say(&stage, "sync 1-1 pull A@3=9");
    EXPECT_TEXT(stage_heard(&stage), "pull A 1->9");
    EXPECT_COMMIT(&stage, "read A | put C 10");
    EXPECT_CONTAINS(stage_pending(&stage, 3),
                    "'reads':{'confirmed':[{'id':'A','path':['value'],"
                    "'seq':3}]}");
    stage_say(&stage, "sync 1-3 mark=1");
    EXPECT_TEXT(stage_see(&stage, "A"), "9");
    EXPECT_TEXT(stage_fates(&stage), "verdict #1 @2; settled #1 @2");
    end(&stage);
}

/* -- Refused ------------------------------------------------------------- */

TEST(p03_what_is_independent_of_a_refused_commit_stays)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_COMMIT(&stage, "put A 2");
    EXPECT_COMMIT(&stage, "put B 3");
    stage_say(&stage, "verdict 1 @2");
    stage_say(&stage, "verdict 2 CONFLICT A");
    stage_say(&stage, "verdict 3 @3");
    stage_say(&stage, "sync 1-3 mark=3");
    EXPECT_TEXT(stage_see(&stage, "A"), "1");
    EXPECT_TEXT(stage_see(&stage, "B"), "3");
    EXPECT_EQ(space_outstanding(stage.space), 0);
    end(&stage);
}

#define DROPPED(number) \
    "CONFLICT: pending dependency dropped locally: localSeq=" number

TEST(p04_a_commit_that_read_from_a_refused_one_falls_with_it)
{
    static const char *const thirds[] = {
        "read A | put A 3",
        "read A | put B 3",
    };
    for (size_t i = 0; i < COUNT_OF(thirds); i++) {
        struct stage stage;
        begin(&stage);
        EXPECT_COMMIT(&stage, "put A 1");
        EXPECT_COMMIT(&stage, "put A 2");
        EXPECT_COMMIT(&stage, thirds[i]);
        stage_say(&stage, "verdict 1 @2");
        stage_say(&stage, "verdict 2 CONFLICT A");
        (void)stage_fates(&stage);
        stage_say(&stage, "sync 1-2 mark=2");
        EXPECT_TEXT(stage_fates(&stage),
                    "settled #1 @2; settled #2 CONFLICT: as scripted; "
                    "verdict #3 " DROPPED("2") "; settled #3 " DROPPED("2"));
        EXPECT_TEXT(stage_see(&stage, "A"), "1");
        EXPECT_TEXT(stage_see(&stage, "B"), "0");
        end(&stage);
    }
}

TEST(p05_a_commit_is_refused_whole)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read B | put A 2 | put B 2");
    EXPECT_COMMIT(&stage, "read A | put C 3");
    stage_say(&stage, "verdict 1 CONFLICT B");
    stage_say(&stage, "sync 1-2 mark=1");
    EXPECT_TEXT(stage_see(&stage, "A"), "0");
    EXPECT_TEXT(stage_see(&stage, "B"), "0");
    EXPECT_TEXT(stage_see(&stage, "C"), "0");
    EXPECT_EQ(space_outstanding(stage.space), 0);
    end(&stage);
}

TEST(p06_only_what_read_from_a_refused_commit_falls)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    stage_say(&stage, "verdict 1 @2");
    stage_say(&stage, "sync 1-2 mark=1");
    EXPECT_COMMIT(&stage, "put B 2");
    EXPECT_COMMIT(&stage, "read A | put C 3");
    EXPECT_COMMIT(&stage, "read C | put D 4");
    EXPECT_COMMIT(&stage, "read B | read C | put A 5");
    (void)stage_fates(&stage);
    stage_say(&stage, "verdict 2 RECEIPT_EXISTS");
    EXPECT_TEXT(stage_see(&stage, "B"), "0");
    EXPECT_TEXT(stage_see(&stage, "C"), "3");
    EXPECT_TEXT(stage_see(&stage, "D"), "4");
    EXPECT_TEXT(stage_see(&stage, "A"), "1");
    EXPECT_EQ(space_outstanding(stage.space), 2);
    end(&stage);
}

TEST(p07_a_refused_delete_gives_the_document_back)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "delete A!");
    EXPECT_TEXT(stage_see(&stage, "A"), "()");
    EXPECT_COMMIT(&stage, "read A | put B 3");
    EXPECT_COMMIT(&stage, "put C 4");
    stage_say(&stage, "verdict 1 CONFLICT A");
    stage_say(&stage, "sync 1-1 mark=1");
    EXPECT_TEXT(stage_see(&stage, "A"), "0");
    EXPECT_TEXT(stage_see(&stage, "B"), "0");
    EXPECT_TEXT(stage_see(&stage, "C"), "4");
    EXPECT_EQ(space_outstanding(stage.space), 1);
    end(&stage);
}

TEST(p09_a_revert_lists_exactly_the_documents_of_its_commit)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1 | put B 1");
    EXPECT_COMMIT(&stage, "put C 2 | put B 2");
    (void)stage_heard(&stage);
    stage_say(&stage, "verdict 1 RECEIPT_EXISTS");
    EXPECT_TEXT(stage_heard(&stage), "revert #1 RECEIPT_EXISTS A 1->0");
    stage_say(&stage, "verdict 2 RECEIPT_EXISTS");
    EXPECT_TEXT(stage_heard(&stage), "revert #2 RECEIPT_EXISTS C 2->0 B 2->0");
    end(&stage);
}

TEST(p10_another_path_of_the_same_document)
{
    struct stage stage;
    stage_open(&stage, "s1");
    EXPECT_COMMIT(&stage, "read A");
    stage_say(&stage, "sync 0-1 pull A@1={'left':0,'right':0}");
    EXPECT_COMMIT(&stage, "put A.left 1");
    EXPECT_COMMIT(&stage, "put A.right 2");
    EXPECT_COMMIT(&stage, "read A.left | put A.third 3");
    EXPECT_TEXT(stage_see(&stage, "A"), "{'left':1,'right':2,'third':3}");
    stage_say(&stage, "verdict 1 RECEIPT_EXISTS");
    EXPECT_TEXT(stage_see(&stage, "A"), "{'left':0,'right':2}");
    EXPECT_EQ(space_outstanding(stage.space), 1);
    end(&stage);
}

TEST(p13_a_late_verdict_on_what_was_dropped_here_changes_nothing)
{
    static const char *const late[] = {"verdict 2 @9", "verdict 2 CONFLICT A"};
    for (size_t i = 0; i < COUNT_OF(late); i++) {
        struct stage stage;
        begin(&stage);
        EXPECT_COMMIT(&stage, "put A 1");
        EXPECT_COMMIT(&stage, "read A | put B 1");
        stage_say(&stage, "verdict 1 RECEIPT_EXISTS");
        EXPECT_TEXT(stage_fates(&stage),
                    "verdict #1 RECEIPT_EXISTS: as scripted; "
                    "settled #1 RECEIPT_EXISTS: as scripted; "
                    "verdict #2 " DROPPED("1") "; settled #2 " DROPPED("1"));
        EXPECT_TEXT(stage_see(&stage, "A"), "0");
        EXPECT_TEXT(stage_see(&stage, "B"), "0");
        (void)stage_heard(&stage);
        stage_say(&stage, late[i]);
        EXPECT_TEXT(stage_heard(&stage), "");
        EXPECT_TEXT(stage_fates(&stage), "");
        end(&stage);
    }
}

/* Dead but waiting for the one it read from: S1 and S3. */
TEST(p13_a_verdict_on_what_is_doomed_is_not_believed)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_COMMIT(&stage, "read A | put B 1");
    stage_say(&stage, "verdict 1 CONFLICT A");
    stage_say(&stage, "verdict 2 @9");
    stage_say(&stage, "sync 1-9 mark=2");
    EXPECT_TEXT(stage_see(&stage, "B"), "0");
    EXPECT_TEXT(stage_confirmed(&stage, "B"), "0");
    EXPECT_EQ(space_outstanding(stage.space), 0);
    end(&stage);
}

TEST(p14_a_chain_topples_and_each_tells_of_its_own)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_COMMIT(&stage, "read A | put B 2");
    EXPECT_COMMIT(&stage, "read B | put C 3");
    (void)stage_heard(&stage);
    stage_say(&stage, "verdict 1 RECEIPT_EXISTS");
    EXPECT_TEXT(stage_heard(&stage),
                "revert #1 RECEIPT_EXISTS A 1->0; "
                "revert #2 CONFLICT B 2->0; revert #3 CONFLICT C 3->0");
    EXPECT_TEXT(
        stage_fates(&stage),
        "verdict #1 RECEIPT_EXISTS: as scripted; "
        "settled #1 RECEIPT_EXISTS: as scripted; "
        "verdict #2 " DROPPED("1") "; settled #2 " DROPPED(
            "1") "; verdict #3 " DROPPED("2") "; settled #3 " DROPPED("2"));
    end(&stage);
}

TEST(p15_a_patch_without_reads_is_replayed_on_what_is_confirmed)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 5 | put B 5");
    EXPECT_COMMIT(&stage, "inc A 1");
    EXPECT_TEXT(stage_see(&stage, "A"), "6");
    stage_say(&stage, "verdict 1 RECEIPT_EXISTS");
    EXPECT_TEXT(stage_see(&stage, "A"), "1");
    stage_say(&stage, "verdict 2 @2");
    stage_say(&stage, "sync 1-2 mark=2");
    EXPECT_TEXT(stage_confirmed(&stage, "A"), "1");
    EXPECT_TEXT(stage_fates(&stage),
                "verdict #1 RECEIPT_EXISTS: as scripted; "
                "settled #1 RECEIPT_EXISTS: as scripted; "
                "verdict #2 @2; settled #2 @2");
    end(&stage);
}

TEST(p17_a_reset_settles_everything_once)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_COMMIT(&stage, "read A | put B 2");
    EXPECT_COMMIT(&stage, "read B | put C 3");
    stage_say(&stage, "verdict 1 CONFLICT A");
    (void)stage_heard(&stage);
    (void)stage_fates(&stage);
    space_reset(stage.space);
    EXPECT_TEXT(stage_heard(&stage),
                "revert #3 SESSION_LOST C 3->0; "
                "revert #2 SESSION_LOST B 2->0; "
                "revert #1 CONFLICT A 1->0; reset");
    EXPECT_TEXT(stage_fates(&stage),
                "verdict #3 SESSION_LOST: the replica was reset; "
                "settled #3 SESSION_LOST: the replica was reset; "
                "verdict #2 SESSION_LOST: the replica was reset; "
                "settled #2 SESSION_LOST: the replica was reset; "
                "settled #1 CONFLICT: as scripted");
    EXPECT_TEXT(stage_see(&stage, "A"), "()");
    EXPECT_EQ(space_outstanding(stage.space), 0);
    end(&stage);
}

/* Promoted together, in order: one after the other would show a state that
 * never was. */
TEST(a_reset_confirms_in_order_what_has_landed)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A {'x':1}");
    EXPECT_COMMIT(&stage, "put A.y 2");
    stage_say(&stage, "verdict 1 @2");
    stage_say(&stage, "verdict 2 @3");
    (void)stage_heard(&stage);
    (void)stage_fates(&stage);
    space_reset(stage.space);
    EXPECT_TEXT(stage_heard(&stage), "reset");
    EXPECT_TEXT(stage_fates(&stage), "settled #1 @2; settled #2 @3");
    end(&stage);
}

/* -- The repair ---------------------------------------------------------- */

TEST(p18_a_conflict_is_reverted_when_the_winner_has_come)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    (void)stage_heard(&stage);
    stage_say(&stage, "verdict 1 CONFLICT A read=1 by=2");
    EXPECT_TEXT(stage_heard(&stage), "");
    EXPECT_TEXT(stage_see(&stage, "A"), "1");
    EXPECT_TEXT(stage_fates(&stage), "verdict #1 CONFLICT: as scripted");
    stage_say(&stage, "sync 1-2 mark=1 A@2=9");
    EXPECT_TEXT(stage_heard(&stage), "revert #1 CONFLICT A 1->9");
    EXPECT_TEXT(stage_fates(&stage), "settled #1 CONFLICT: as scripted");
    end(&stage);
}

TEST(p18_without_a_winner_it_is_reverted_after_thirty_seconds)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    stage_say(&stage, "verdict 1 CONFLICT A");
    (void)stage_heard(&stage);
    stage.script.mute = true;
    stage_step(&stage, SPACE_REPAIR_MS - 1);
    EXPECT_TEXT(stage_heard(&stage), "");
    stage_step(&stage, 1);
    EXPECT_TEXT(stage_heard(&stage), "revert #1 CONFLICT A 1->0");
    end(&stage);
}

/* T4: not under the feet of somebody who is reading. */
TEST(p18_the_thirty_seconds_do_not_end_in_an_open_transaction)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    stage_say(&stage, "verdict 1 CONFLICT A");
    (void)stage_heard(&stage);
    struct transaction *transaction = stage_begin(&stage);
    stage_step(&stage, SPACE_REPAIR_MS);
    EXPECT_TEXT(stage_read(&stage, transaction, "A"), "1");
    EXPECT_TEXT(stage_heard(&stage), "");
    transaction_release(transaction);
    stage_step(&stage, 0);
    EXPECT_TEXT(stage_heard(&stage), "revert #1 CONFLICT A 1->0");
    end(&stage);
}

TEST(p19_a_commit_over_a_dead_layer_is_never_sent)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    stage_say(&stage, "verdict 1 CONFLICT A");
    (void)stage_said(&stage);
    (void)stage_fates(&stage);
    EXPECT_COMMIT(&stage, "read A | put B 2");
    EXPECT_COMMIT(&stage, "read B | put C 3");
    EXPECT_TEXT(stage_said(&stage), "");
    EXPECT_TEXT(stage_fates(&stage), "");
    EXPECT_TEXT(stage_see(&stage, "C"), "3");
    stage_say(&stage, "sync 1-2 mark=1 A@2=9");
    EXPECT_TEXT(
        stage_fates(&stage),
        "settled #1 CONFLICT: as scripted; "
        "verdict #2 " DROPPED("1") "; settled #2 " DROPPED(
            "1") "; verdict #3 " DROPPED("2") "; settled #3 " DROPPED("2"));
    EXPECT_TEXT(stage_see(&stage, "C"), "0");
    EXPECT_EQ(stage.space->dead, 0);
    end(&stage);
}

TEST(p19_over_two_dead_layers_it_waits_for_both)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    EXPECT_COMMIT(&stage, "read B | put B 2");
    stage_say(&stage, "verdict 1 CONFLICT A");
    stage_say(&stage, "verdict 2 CONFLICT B");
    EXPECT_COMMIT(&stage, "read A | read B | put C 3");
    (void)stage_fates(&stage);
    stage_say(&stage, "sync 1-2 mark=1 A@2=9");
    EXPECT_TEXT(stage_fates(&stage), "settled #1 CONFLICT: as scripted");
    EXPECT_TEXT(stage_see(&stage, "C"), "3");
    stage_say(&stage, "sync 2-3 mark=2 B@3=9");
    EXPECT_TEXT(stage_fates(&stage),
                "settled #2 CONFLICT: as scripted; "
                "verdict #3 " DROPPED("2") "; settled #3 " DROPPED("2"));
    end(&stage);
}

/* S3 for those that were there already when the layer died. */
TEST(p19_what_waits_to_be_sent_over_a_dying_layer_is_never_sent)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    stage.space->batch = true;
    EXPECT_COMMIT(&stage, "read A | put B 2");
    EXPECT_COMMIT(&stage, "read B | put C 3");
    EXPECT_COMMIT(&stage, "put D 4");
    (void)stage_said(&stage);
    stage_say(&stage, "verdict 1 CONFLICT A");
    space_flush(stage.space);
    EXPECT_TEXT(stage_said(&stage), "commits 4");
    end(&stage);
}

/* From inside a callback, too. */
TEST(p19_nor_while_those_who_wait_are_told)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    stage.space->batch = true;
    EXPECT_COMMIT(&stage, "read A | put B 2");
    stage.space->batch = false;
    (void)stage_said(&stage);
    stage.on_settled = "put D 4";
    stage_say(&stage, "verdict 1 RECEIPT_EXISTS");
    EXPECT_TEXT(stage_said(&stage), "commits 3");
    EXPECT_TEXT(stage_see(&stage, "B"), "0");
    end(&stage);
}

TEST(p25_a_retry_declares_what_won_and_no_dead_layer)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    stage_say(&stage, "verdict 1 CONFLICT A read=1 by=7");
    stage.on_settled = "read A | put A 10";
    stage_say(&stage, "sync 1-7 mark=1 A@7=9");
    EXPECT_TEXT(stage_see(&stage, "A"), "10");
    EXPECT_TEXT(stage_pending(&stage, 2),
                "{'localSeq':2,'operations':[{'id':'A','op':'patch','patches':"
                "[{'op':'replace','path':'/value','value':10}]}],'reads':"
                "{'confirmed':[{'id':'A','path':['value'],'seq':7}]},"
                "'session':'s1'}");
    end(&stage);
}

TEST(o08_settled_comes_with_the_marker_and_also_after_a_close)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    EXPECT_COMMIT(&stage, "read B | put B 1");
    stage_say(&stage, "verdict 1 CONFLICT A");
    EXPECT_TEXT(stage_fates(&stage), "verdict #1 CONFLICT: as scripted");
    EXPECT_STAGE(&stage);
    stage_close_space(&stage);
    EXPECT_TEXT(stage_fates(&stage),
                "verdict #2 CLOSED: the space was closed; "
                "settled #2 CLOSED: the space was closed; "
                "settled #1 CONFLICT: as scripted");
    stage_close(&stage);
}

/* -- The store's own view ------------------------------------------------ */

TEST(p33_transactions_on_different_documents_do_not_meet)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    EXPECT_COMMIT(&stage, "read B | put B 1");
    EXPECT_COMMIT(&stage, "read A | put A 2");
    EXPECT_COMMIT(&stage, "put D 1");
    stage_say(&stage, "verdict 1 @2");
    stage_say(&stage, "verdict 2 @3");
    stage_say(&stage, "verdict 3 CONFLICT A");
    stage_say(&stage, "verdict 4 @5");
    stage_say(&stage, "sync 1-5 mark=4 A@4=40");
    EXPECT_TEXT(stage_see(&stage, "A"), "40");
    EXPECT_TEXT(stage_see(&stage, "B"), "1");
    EXPECT_TEXT(stage_see(&stage, "D"), "1");
    end(&stage);
}

TEST(q03_a_conflict_is_one_revert_with_what_the_store_has_now)
{
    struct stage stage;
    begin(&stage);
    stage.source = "node";
    EXPECT_COMMIT(&stage, "read A | put A 1");
    EXPECT_TEXT(stage_heard(&stage), "commit #1 by node A 0->1");
    stage_say(&stage, "verdict 1 CONFLICT A read=1 by=2");
    stage_say(&stage, "sync 1-2 mark=1 A@2=9");
    stage_say(&stage, "sync 2-2 mark=1");
    EXPECT_TEXT(stage_heard(&stage), "revert #1 by node CONFLICT A 1->9");
    end(&stage);
}

TEST(q04_one_revert_has_all_documents_with_what_is_confirmed_of_each)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read B | put A 1 | put B 1");
    (void)stage_heard(&stage);
    stage_say(&stage, "verdict 1 CONFLICT B read=1 by=2");
    stage_say(&stage, "sync 1-2 mark=1 B@2=9");
    EXPECT_TEXT(stage_heard(&stage), "revert #1 CONFLICT A 1->0 B 1->9");
    end(&stage);
}

TEST(q05_the_repair_is_visible_when_the_commit_settles)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    stage_say(&stage, "verdict 1 CONFLICT A");
    /* It is committed from inside, and sees what won. */
    stage.on_settled = "read A | inc A 1";
    stage_say(&stage, "sync 1-2 mark=1 A@2=9");
    EXPECT_TEXT(stage_see(&stage, "A"), "10");
    end(&stage);
}

/* What is revealed under a dead layer is told of as it becomes visible. */
TEST(the_frame_that_repairs_brings_other_changes_as_well)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    (void)stage_heard(&stage);
    stage_say(&stage, "verdict 1 CONFLICT A");
    stage_say(&stage, "sync 1-3 mark=1 A@2=9 B@3=8");
    EXPECT_TEXT(stage_heard(&stage),
                "integrate B 0->8; revert #1 CONFLICT A 1->9");
    end(&stage);
}

TEST(a_callback_that_always_commits_again_does_not_hold_up_a_reset)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    stage.on_settled = "put A 2";
    (void)stage_heard(&stage);
    space_reset(stage.space);
    EXPECT_TEXT(stage_heard(&stage),
                "revert #1 SESSION_LOST A 1->0; commit #2 A 0->2; "
                "revert #2 SESSION_LOST A 2->0; reset");
    end(&stage);
}
