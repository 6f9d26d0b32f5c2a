/* src/replica/outcome: verdicts, markers, reverts and what falls with them
 * (space.h space-1 to space-3; scenarios P). */

#include "lib/replica_kit.h"
#include "lib/test.h"

/* A session that watches A to D, all 0 at seq 1. */
static void begin(struct fixture *fixture)
{
    fixture_open(fixture, "s1");
    EXPECT_COMMIT(fixture, "read A | read B | read C | read D");
    fixture_say(fixture, "sync 0-1 pull A@1=0 B@1=0 C@1=0 D@1=0");
    (void)fixture_heard(fixture);
    (void)fixture_said(fixture);
}

static void end(struct fixture *fixture)
{
    EXPECT_STAGE(fixture);
    fixture_close(fixture);
}

/* -- Accepted ------------------------------------------------------------ */

TEST(an_accepted_commit_waits_for_the_marker_and_shows_nothing_new)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_TEXT(fixture_heard(&fixture), "commit #1 A 0->1");
    fixture_say(&fixture, "verdict 1 @2");
    EXPECT_TEXT(fixture_outcomes(&fixture), "verdict #1 @2");
    EXPECT_TEXT(fixture_confirmed(&fixture, "A"), "0");
    EXPECT_EQ(space_outstanding(fixture.space), 1);
    fixture_say(&fixture, "sync 1-2 mark=1");
    EXPECT_TEXT(fixture_outcomes(&fixture), "settled #1 @2");
    EXPECT_TEXT(fixture_confirmed(&fixture, "A"), "1");
    EXPECT_EQ(fixture_entity(&fixture, "A")->seq, 2);
    EXPECT(fixture_entity(&fixture, "A")->overlay == NULL);
    EXPECT_EQ(space_outstanding(fixture.space), 0);
    EXPECT_TEXT(fixture_heard(&fixture), "");
    end(&fixture);
}

/* The frame with the marker has what the store made of it. */
TEST(what_the_store_made_of_it_replaces_the_layer)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "inc A 1");
    fixture_say(&fixture, "verdict 1 @3");
    fixture_say(&fixture, "sync 1-3 mark=1 A@3=11");
    EXPECT_TEXT(fixture_heard(&fixture), "commit #1 A 0->1; integrate A 1->11");
    EXPECT_TEXT(fixture_confirmed(&fixture, "A"), "11");
    end(&fixture);
}

TEST(p22_a_marker_promotes_what_it_covers_and_no_more)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT_COMMIT(&fixture, "inc A 1");
    fixture_say(&fixture, "verdict 1 @2");
    fixture_say(&fixture, "verdict 2 @3");
    fixture_say(&fixture, "sync 1-3 mark=2 A@3=20");
    EXPECT_TEXT(fixture_confirmed(&fixture, "A"), "20");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "21");
    EXPECT_TEXT(fixture_outcomes(&fixture),
                "verdict #1 @2; verdict #2 @3; settled #1 @2; settled #2 @3");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "sync 3-3 mark=2");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    EXPECT_TEXT(fixture_outcomes(&fixture), "");
    EXPECT_EQ(space_outstanding(fixture.space), 1);
    end(&fixture);
}

TEST(p24_without_markers_a_commit_is_confirmed_by_its_verdict)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    fixture.script.plain = true;
    EXPECT_COMMIT(&fixture, "put A 1");
    fixture_say(&fixture, "verdict 1 @2");
    EXPECT_TEXT(fixture_outcomes(&fixture), "verdict #1 @2; settled #1 @2");
    EXPECT_TEXT(fixture_confirmed(&fixture, "A"), "1");
    EXPECT_COMMIT(&fixture, "read A | put A 2");
    fixture_say(&fixture, "verdict 2 CONFLICT A");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    end(&fixture);
}

TEST(p26_disjoint_patches_stay_visible_whichever_is_confirmed_first)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    fixture.script.plain = true;
    EXPECT_COMMIT(&fixture, "read A");
    fixture_say(&fixture, "sync 0-1 pull A@1={'x':0,'y':0}");
    EXPECT_COMMIT(&fixture, "put A.x 1");
    EXPECT_COMMIT(&fixture, "put A.y 2");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "verdict 2 @2");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "{'x':1,'y':2}");
    fixture_say(&fixture, "verdict 1 @3");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "{'x':1,'y':2}");
    EXPECT_TEXT(fixture_confirmed(&fixture, "A"), "{'x':1,'y':2}");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    end(&fixture);
}

TEST(p32_the_confirmed_state_never_goes_backwards)
{
    struct fixture fixture;
    begin(&fixture);
    fixture_say(&fixture, "sync 1-5 A@5=5");
    EXPECT_TEXT(fixture_heard(&fixture), "integrate A 0->5");
    fixture_say(&fixture, "sync 5-5 A@4=4");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "5");
    fixture_say(&fixture, "sync 5-5 A@5=6");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "6");
    fixture_say(&fixture, "sync 5-6 -A");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "()");
    EXPECT_EQ(fixture_entity(&fixture, "A")->seq, 0);
    end(&fixture);
}

/* A commit that comes to be below the confirmed state leaves no trace. */
TEST(a_layer_that_the_confirmed_state_has_already_is_only_removed)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "inc A 1");
    fixture_say(&fixture, "verdict 1 @2");
    fixture_say(&fixture, "sync 1-4 mark=1 A@4=7");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "7");
    EXPECT_EQ(fixture_entity(&fixture, "A")->seq, 4);
    end(&fixture);
}

/* The answer to a watch may come between the verdict and the marker. */
TEST(a_parked_layer_does_not_hide_what_came_after_it)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "put B 1");
    fixture_say(&fixture, "verdict 1 @2");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "sync 1-1 pull A@3=9");
    EXPECT_TEXT(fixture_heard(&fixture), "pull A 1->9");
    EXPECT_COMMIT(&fixture, "read A | put C 10");
    EXPECT_CONTAINS(fixture_pending(&fixture, 3),
                    "'reads':{'confirmed':[{'id':'A','path':['value'],"
                    "'seq':3}]}");
    fixture_say(&fixture, "sync 1-3 mark=1");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "9");
    EXPECT_TEXT(fixture_outcomes(&fixture), "verdict #1 @2; settled #1 @2");
    end(&fixture);
}

/* -- Refused ------------------------------------------------------------- */

TEST(p03_what_is_independent_of_a_refused_commit_stays)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT_COMMIT(&fixture, "put B 3");
    fixture_say(&fixture, "verdict 1 @2");
    fixture_say(&fixture, "verdict 2 CONFLICT A");
    fixture_say(&fixture, "verdict 3 @3");
    fixture_say(&fixture, "sync 1-3 mark=3");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    EXPECT_TEXT(fixture_see(&fixture, "B"), "3");
    EXPECT_EQ(space_outstanding(fixture.space), 0);
    end(&fixture);
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
        struct fixture fixture;
        begin(&fixture);
        EXPECT_COMMIT(&fixture, "put A 1");
        EXPECT_COMMIT(&fixture, "put A 2");
        EXPECT_COMMIT(&fixture, thirds[i]);
        fixture_say(&fixture, "verdict 1 @2");
        fixture_say(&fixture, "verdict 2 CONFLICT A");
        (void)fixture_outcomes(&fixture);
        fixture_say(&fixture, "sync 1-2 mark=2");
        EXPECT_TEXT(fixture_outcomes(&fixture),
                    "settled #1 @2; settled #2 CONFLICT: as scripted; "
                    "verdict #3 " DROPPED("2") "; settled #3 " DROPPED("2"));
        EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
        EXPECT_TEXT(fixture_see(&fixture, "B"), "0");
        end(&fixture);
    }
}

TEST(p05_a_commit_is_refused_whole)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read B | put A 2 | put B 2");
    EXPECT_COMMIT(&fixture, "read A | put C 3");
    fixture_say(&fixture, "verdict 1 CONFLICT B");
    fixture_say(&fixture, "sync 1-2 mark=1");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "0");
    EXPECT_TEXT(fixture_see(&fixture, "B"), "0");
    EXPECT_TEXT(fixture_see(&fixture, "C"), "0");
    EXPECT_EQ(space_outstanding(fixture.space), 0);
    end(&fixture);
}

TEST(p06_only_what_read_from_a_refused_commit_falls)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    fixture_say(&fixture, "verdict 1 @2");
    fixture_say(&fixture, "sync 1-2 mark=1");
    EXPECT_COMMIT(&fixture, "put B 2");
    EXPECT_COMMIT(&fixture, "read A | put C 3");
    EXPECT_COMMIT(&fixture, "read C | put D 4");
    EXPECT_COMMIT(&fixture, "read B | read C | put A 5");
    (void)fixture_outcomes(&fixture);
    fixture_say(&fixture, "verdict 2 RECEIPT_EXISTS");
    EXPECT_TEXT(fixture_see(&fixture, "B"), "0");
    EXPECT_TEXT(fixture_see(&fixture, "C"), "3");
    EXPECT_TEXT(fixture_see(&fixture, "D"), "4");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    EXPECT_EQ(space_outstanding(fixture.space), 2);
    end(&fixture);
}

TEST(p07_a_refused_delete_gives_the_document_back)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "delete A!");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "()");
    EXPECT_COMMIT(&fixture, "read A | put B 3");
    EXPECT_COMMIT(&fixture, "put C 4");
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    fixture_say(&fixture, "sync 1-1 mark=1");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "0");
    EXPECT_TEXT(fixture_see(&fixture, "B"), "0");
    EXPECT_TEXT(fixture_see(&fixture, "C"), "4");
    EXPECT_EQ(space_outstanding(fixture.space), 1);
    end(&fixture);
}

TEST(p09_a_revert_lists_exactly_the_documents_of_its_commit)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1 | put B 1");
    EXPECT_COMMIT(&fixture, "put C 2 | put B 2");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "verdict 1 RECEIPT_EXISTS");
    EXPECT_TEXT(fixture_heard(&fixture), "revert #1 RECEIPT_EXISTS A 1->0");
    fixture_say(&fixture, "verdict 2 RECEIPT_EXISTS");
    EXPECT_TEXT(fixture_heard(&fixture),
                "revert #2 RECEIPT_EXISTS C 2->0 B 2->0");
    end(&fixture);
}

TEST(p10_another_path_of_the_same_document)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    EXPECT_COMMIT(&fixture, "read A");
    fixture_say(&fixture, "sync 0-1 pull A@1={'left':0,'right':0}");
    EXPECT_COMMIT(&fixture, "put A.left 1");
    EXPECT_COMMIT(&fixture, "put A.right 2");
    EXPECT_COMMIT(&fixture, "read A.left | put A.third 3");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "{'left':1,'right':2,'third':3}");
    fixture_say(&fixture, "verdict 1 RECEIPT_EXISTS");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "{'left':0,'right':2}");
    EXPECT_EQ(space_outstanding(fixture.space), 1);
    end(&fixture);
}

TEST(p13_a_late_verdict_on_what_was_dropped_here_changes_nothing)
{
    static const char *const late[] = {"verdict 2 @9", "verdict 2 CONFLICT A"};
    for (size_t i = 0; i < COUNT_OF(late); i++) {
        struct fixture fixture;
        begin(&fixture);
        EXPECT_COMMIT(&fixture, "put A 1");
        EXPECT_COMMIT(&fixture, "read A | put B 1");
        fixture_say(&fixture, "verdict 1 RECEIPT_EXISTS");
        EXPECT_TEXT(fixture_outcomes(&fixture),
                    "verdict #1 RECEIPT_EXISTS: as scripted; "
                    "settled #1 RECEIPT_EXISTS: as scripted; "
                    "verdict #2 " DROPPED("1") "; settled #2 " DROPPED("1"));
        EXPECT_TEXT(fixture_see(&fixture, "A"), "0");
        EXPECT_TEXT(fixture_see(&fixture, "B"), "0");
        (void)fixture_heard(&fixture);
        fixture_say(&fixture, late[i]);
        EXPECT_TEXT(fixture_heard(&fixture), "");
        EXPECT_TEXT(fixture_outcomes(&fixture), "");
        end(&fixture);
    }
}

/* Dead but waiting for the one it read from: space-1 and space-3. */
TEST(p13_a_verdict_on_what_is_doomed_is_not_believed)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "read A | put B 1");
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    fixture_say(&fixture, "verdict 2 @9");
    fixture_say(&fixture, "sync 1-9 mark=2");
    EXPECT_TEXT(fixture_see(&fixture, "B"), "0");
    EXPECT_TEXT(fixture_confirmed(&fixture, "B"), "0");
    EXPECT_EQ(space_outstanding(fixture.space), 0);
    end(&fixture);
}

TEST(p14_a_chain_topples_and_each_tells_of_its_own)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "read A | put B 2");
    EXPECT_COMMIT(&fixture, "read B | put C 3");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "verdict 1 RECEIPT_EXISTS");
    EXPECT_TEXT(fixture_heard(&fixture),
                "revert #1 RECEIPT_EXISTS A 1->0; "
                "revert #2 CONFLICT B 2->0; revert #3 CONFLICT C 3->0");
    EXPECT_TEXT(
        fixture_outcomes(&fixture),
        "verdict #1 RECEIPT_EXISTS: as scripted; "
        "settled #1 RECEIPT_EXISTS: as scripted; "
        "verdict #2 " DROPPED("1") "; settled #2 " DROPPED(
            "1") "; verdict #3 " DROPPED("2") "; settled #3 " DROPPED("2"));
    end(&fixture);
}

TEST(p15_a_patch_without_reads_is_replayed_on_what_is_confirmed)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 5 | put B 5");
    EXPECT_COMMIT(&fixture, "inc A 1");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "6");
    fixture_say(&fixture, "verdict 1 RECEIPT_EXISTS");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    fixture_say(&fixture, "verdict 2 @2");
    fixture_say(&fixture, "sync 1-2 mark=2");
    EXPECT_TEXT(fixture_confirmed(&fixture, "A"), "1");
    EXPECT_TEXT(fixture_outcomes(&fixture),
                "verdict #1 RECEIPT_EXISTS: as scripted; "
                "settled #1 RECEIPT_EXISTS: as scripted; "
                "verdict #2 @2; settled #2 @2");
    end(&fixture);
}

TEST(p17_a_reset_settles_everything_once)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "read A | put B 2");
    EXPECT_COMMIT(&fixture, "read B | put C 3");
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    (void)fixture_heard(&fixture);
    (void)fixture_outcomes(&fixture);
    space_reset(fixture.space);
    EXPECT_TEXT(fixture_heard(&fixture),
                "revert #3 SESSION_LOST C 3->0; "
                "revert #2 SESSION_LOST B 2->0; "
                "revert #1 CONFLICT A 1->0; reset");
    EXPECT_TEXT(fixture_outcomes(&fixture),
                "verdict #3 SESSION_LOST: the replica was reset; "
                "settled #3 SESSION_LOST: the replica was reset; "
                "verdict #2 SESSION_LOST: the replica was reset; "
                "settled #2 SESSION_LOST: the replica was reset; "
                "settled #1 CONFLICT: as scripted");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "()");
    EXPECT_EQ(space_outstanding(fixture.space), 0);
    end(&fixture);
}

/* Promoted together, in order: one after the other would show a state that
 * never was. */
TEST(a_reset_confirms_in_order_what_has_landed)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A {'x':1}");
    EXPECT_COMMIT(&fixture, "put A.y 2");
    fixture_say(&fixture, "verdict 1 @2");
    fixture_say(&fixture, "verdict 2 @3");
    (void)fixture_heard(&fixture);
    (void)fixture_outcomes(&fixture);
    space_reset(fixture.space);
    EXPECT_TEXT(fixture_heard(&fixture), "reset");
    EXPECT_TEXT(fixture_outcomes(&fixture), "settled #1 @2; settled #2 @3");
    end(&fixture);
}

/* -- The repair ---------------------------------------------------------- */

TEST(p18_a_conflict_is_reverted_when_the_winner_has_come)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "verdict 1 CONFLICT A read=1 by=2");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    EXPECT_TEXT(fixture_outcomes(&fixture), "verdict #1 CONFLICT: as scripted");
    fixture_say(&fixture, "sync 1-2 mark=1 A@2=9");
    EXPECT_TEXT(fixture_heard(&fixture), "revert #1 CONFLICT A 1->9");
    EXPECT_TEXT(fixture_outcomes(&fixture), "settled #1 CONFLICT: as scripted");
    end(&fixture);
}

TEST(p18_without_a_winner_it_is_reverted_after_thirty_seconds)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    (void)fixture_heard(&fixture);
    fixture.script.mute = true;
    fixture_step(&fixture, SPACE_REPAIR_MS - 1);
    EXPECT_TEXT(fixture_heard(&fixture), "");
    fixture_step(&fixture, 1);
    EXPECT_TEXT(fixture_heard(&fixture), "revert #1 CONFLICT A 1->0");
    end(&fixture);
}

/* transaction-4: not under the feet of somebody who is reading. */
TEST(p18_the_thirty_seconds_do_not_end_in_an_open_transaction)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    (void)fixture_heard(&fixture);
    struct transaction *transaction = fixture_begin(&fixture);
    fixture_step(&fixture, SPACE_REPAIR_MS);
    EXPECT_TEXT(fixture_read(&fixture, transaction, "A"), "1");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    transaction_release(transaction);
    fixture_step(&fixture, 0);
    EXPECT_TEXT(fixture_heard(&fixture), "revert #1 CONFLICT A 1->0");
    end(&fixture);
}

TEST(p19_a_commit_over_a_dead_layer_is_never_sent)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    (void)fixture_said(&fixture);
    (void)fixture_outcomes(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put B 2");
    EXPECT_COMMIT(&fixture, "read B | put C 3");
    EXPECT_TEXT(fixture_said(&fixture), "");
    EXPECT_TEXT(fixture_outcomes(&fixture), "");
    EXPECT_TEXT(fixture_see(&fixture, "C"), "3");
    fixture_say(&fixture, "sync 1-2 mark=1 A@2=9");
    EXPECT_TEXT(
        fixture_outcomes(&fixture),
        "settled #1 CONFLICT: as scripted; "
        "verdict #2 " DROPPED("1") "; settled #2 " DROPPED(
            "1") "; verdict #3 " DROPPED("2") "; settled #3 " DROPPED("2"));
    EXPECT_TEXT(fixture_see(&fixture, "C"), "0");
    EXPECT_EQ(fixture.space->dead, 0);
    end(&fixture);
}

TEST(p19_over_two_dead_layers_it_waits_for_both)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    EXPECT_COMMIT(&fixture, "read B | put B 2");
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    fixture_say(&fixture, "verdict 2 CONFLICT B");
    EXPECT_COMMIT(&fixture, "read A | read B | put C 3");
    (void)fixture_outcomes(&fixture);
    fixture_say(&fixture, "sync 1-2 mark=1 A@2=9");
    EXPECT_TEXT(fixture_outcomes(&fixture), "settled #1 CONFLICT: as scripted");
    EXPECT_TEXT(fixture_see(&fixture, "C"), "3");
    fixture_say(&fixture, "sync 2-3 mark=2 B@3=9");
    EXPECT_TEXT(fixture_outcomes(&fixture),
                "settled #2 CONFLICT: as scripted; "
                "verdict #3 " DROPPED("2") "; settled #3 " DROPPED("2"));
    end(&fixture);
}

/* space-3 for those that were there already when the layer died. */
TEST(p19_what_waits_to_be_sent_over_a_dying_layer_is_never_sent)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    fixture.space->batch = true;
    EXPECT_COMMIT(&fixture, "read A | put B 2");
    EXPECT_COMMIT(&fixture, "read B | put C 3");
    EXPECT_COMMIT(&fixture, "put D 4");
    (void)fixture_said(&fixture);
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    space_flush(fixture.space);
    EXPECT_TEXT(fixture_said(&fixture), "commits 4");
    end(&fixture);
}

/* From inside a callback, too. */
TEST(p19_nor_while_those_who_wait_are_told)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    fixture.space->batch = true;
    EXPECT_COMMIT(&fixture, "read A | put B 2");
    fixture.space->batch = false;
    (void)fixture_said(&fixture);
    fixture.on_settled = "put D 4";
    fixture_say(&fixture, "verdict 1 RECEIPT_EXISTS");
    EXPECT_TEXT(fixture_said(&fixture), "commits 3");
    EXPECT_TEXT(fixture_see(&fixture, "B"), "0");
    end(&fixture);
}

TEST(p25_a_retry_declares_what_won_and_no_dead_layer)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    fixture_say(&fixture, "verdict 1 CONFLICT A read=1 by=7");
    fixture.on_settled = "read A | put A 10";
    fixture_say(&fixture, "sync 1-7 mark=1 A@7=9");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "10");
    EXPECT_TEXT(fixture_pending(&fixture, 2),
                "{'localSeq':2,'operations':[{'id':'A','op':'patch','patches':"
                "[{'op':'replace','path':'/value','value':10}]}],'reads':"
                "{'confirmed':[{'id':'A','path':['value'],'seq':7}]},"
                "'session':'s1'}");
    end(&fixture);
}

TEST(o08_settled_comes_with_the_marker_and_also_after_a_close)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    EXPECT_COMMIT(&fixture, "read B | put B 1");
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    EXPECT_TEXT(fixture_outcomes(&fixture), "verdict #1 CONFLICT: as scripted");
    EXPECT_STAGE(&fixture);
    fixture_close_space(&fixture);
    EXPECT_TEXT(fixture_outcomes(&fixture),
                "verdict #2 CLOSED: the space was closed; "
                "settled #2 CLOSED: the space was closed; "
                "settled #1 CONFLICT: as scripted");
    fixture_close(&fixture);
}

/* -- The store's own view ------------------------------------------------ */

TEST(p33_transactions_on_different_documents_do_not_meet)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    EXPECT_COMMIT(&fixture, "read B | put B 1");
    EXPECT_COMMIT(&fixture, "read A | put A 2");
    EXPECT_COMMIT(&fixture, "put D 1");
    fixture_say(&fixture, "verdict 1 @2");
    fixture_say(&fixture, "verdict 2 @3");
    fixture_say(&fixture, "verdict 3 CONFLICT A");
    fixture_say(&fixture, "verdict 4 @5");
    fixture_say(&fixture, "sync 1-5 mark=4 A@4=40");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "40");
    EXPECT_TEXT(fixture_see(&fixture, "B"), "1");
    EXPECT_TEXT(fixture_see(&fixture, "D"), "1");
    end(&fixture);
}

TEST(q03_a_conflict_is_one_revert_with_what_the_store_has_now)
{
    struct fixture fixture;
    begin(&fixture);
    fixture.source = "node";
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    EXPECT_TEXT(fixture_heard(&fixture), "commit #1 by node A 0->1");
    fixture_say(&fixture, "verdict 1 CONFLICT A read=1 by=2");
    fixture_say(&fixture, "sync 1-2 mark=1 A@2=9");
    fixture_say(&fixture, "sync 2-2 mark=1");
    EXPECT_TEXT(fixture_heard(&fixture), "revert #1 by node CONFLICT A 1->9");
    end(&fixture);
}

TEST(q04_one_revert_has_all_documents_with_what_is_confirmed_of_each)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read B | put A 1 | put B 1");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "verdict 1 CONFLICT B read=1 by=2");
    fixture_say(&fixture, "sync 1-2 mark=1 B@2=9");
    EXPECT_TEXT(fixture_heard(&fixture), "revert #1 CONFLICT A 1->0 B 1->9");
    end(&fixture);
}

TEST(q05_the_repair_is_visible_when_the_commit_settles)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    /* It is committed from inside, and sees what won. */
    fixture.on_settled = "read A | inc A 1";
    fixture_say(&fixture, "sync 1-2 mark=1 A@2=9");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "10");
    end(&fixture);
}

/* What is revealed under a dead layer is told of as it becomes visible. */
TEST(the_frame_that_repairs_brings_other_changes_as_well)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    fixture_say(&fixture, "sync 1-3 mark=1 A@2=9 B@3=8");
    EXPECT_TEXT(fixture_heard(&fixture),
                "integrate B 0->8; revert #1 CONFLICT A 1->9");
    end(&fixture);
}

TEST(a_callback_that_always_commits_again_does_not_hold_up_a_reset)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    fixture.on_settled = "put A 2";
    (void)fixture_heard(&fixture);
    space_reset(fixture.space);
    EXPECT_TEXT(fixture_heard(&fixture),
                "revert #1 SESSION_LOST A 1->0; commit #2 A 0->2; "
                "revert #2 SESSION_LOST A 2->0; reset");
    end(&fixture);
}
