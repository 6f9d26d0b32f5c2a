/* The hub: which session is told what, and when (fan-out). */

#include "host/hub.h"

#include "lib/hub_kit.h"
#include "lib/test.h"
#include "lib/values.h"

/* -- Fan-out ------------------------------------------------------------- */

TEST(n02_a_commit_outside_of_all_watches_gets_an_empty_frame_with_its_marker)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    raw_commit(&fixture.peers[0], "s1 1 | set Z 1");
    EXPECT_TEXT(heard(&fixture.peers[0]), "verdicts 1@1");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-1 marker=1");
    EXPECT_TEXT(heard(&fixture.peers[1]), "");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "");
    hub_fixture_end(&fixture);
}

TEST(n03_a_conflict_brings_what_was_read_and_the_marker_of_the_refused)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A B");
    raw_commit(&fixture.peers[1], "s2 1 | set B 1");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-1 B@1={'value':1}");
    raw_commit(&fixture.peers[0], "s1 1 | conf B @0 | set A 1");
    EXPECT_TEXT(heard(&fixture.peers[0]), "verdicts 1!CONFLICT");
    hub_flush(&fixture.hub);
    /* Both again, though it holds them. */
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 1-1 marker=1 B@1={'value':1} A@0=-");
    hub_fixture_end(&fixture);
}

TEST(n04_without_watches_there_is_one_empty_frame_with_the_last_marker)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    raw_commit(&fixture.peers[0], "s1 2 | conf A @0 | set A 2");
    EXPECT_TEXT(heard(&fixture.peers[0]), "verdicts 1@1; verdicts 2!CONFLICT");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-1 marker=2");
    hub_fixture_end(&fixture);
}

TEST(n06_two_authors_of_one_document_both_receive_it)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    raw_commit(&fixture.peers[1], "s2 1 | set A 2");
    (void)heard(&fixture.peers[0]);
    (void)heard(&fixture.peers[1]);
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-2 marker=1 A@2={'value':2}");
    EXPECT_TEXT(heard(&fixture.peers[1]), "sync 0-2 marker=1 A@2={'value':2}");
    hub_fixture_end(&fixture);
}

TEST(n07_a_patch_upon_novelty_that_was_not_delivered_is_delivered)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    raw_commit(&fixture.peers[1], "s2 1 | set A {'x':1}");
    raw_commit(&fixture.peers[0], "s1 1 | replace A.y 2");
    (void)heard(&fixture.peers[0]);
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 0-2 marker=1 A@2={'value':{'x':1,'y':2}}");
    hub_fixture_end(&fixture);
}

TEST(own_writes_upon_what_is_held_are_not_sent_back)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    static const char *const lines[] = {
        "s1 1 | set A {'x':1}",
        "s1 2 | pend A [1] b=0 | replace A.x 2",
        "s1 3 | delete A",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        raw_commit(&fixture.peers[0], lines[i]);
        hub_flush(&fixture.hub);
    }
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "verdicts 1@1; sync 0-1 marker=1; "
                "verdicts 2@2; sync 1-2 marker=2; "
                "verdicts 3@3; sync 2-3 marker=3");
    EXPECT_TEXT(heard(&fixture.peers[1]),
                "sync 0-1 A@1={'value':{'x':1}}; "
                "sync 1-2 A@2={'value':{'x':2}}; sync 2-3 A@3=-");
    EXPECT_EQ(fixture.hub.counters.echoes, 3);
    hub_fixture_end(&fixture);
}

TEST(what_was_delivered_is_held_and_a_patch_upon_it_is_not_sent_back)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    raw_commit(&fixture.peers[1], "s2 1 | set A {'x':1}");
    hub_flush(&fixture.hub);
    raw_commit(&fixture.peers[0], "s1 1 | conf A @1 | replace A.x 2");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 0-1 A@1={'value':{'x':1}}; verdicts 1@2; "
                "sync 1-2 marker=1");
    hub_fixture_end(&fixture);
}

TEST(a_replay_is_no_change)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    raw_watch(&fixture.peers[1], "A");
    (void)heard(&fixture.peers[1]);
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[1]), "");
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "verdicts 1@1; verdicts 1@1; sync 0-1 marker=1");
    hub_fixture_end(&fixture);
}

TEST(an_operation_that_was_left_out_is_no_change)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "cid:x A");
    raw_commit(&fixture.peers[0], "s1 1 | put cid:x {'value':1}");
    hub_flush(&fixture.hub);
    (void)heard(&fixture.peers[1]);
    raw_commit(&fixture.peers[0], "s1 2 | set A 1 | put cid:x {'value':1}");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[1]), "sync 1-2 A@2={'value':1}");
    hub_fixture_end(&fixture);
}

TEST(other_refusals_raise_the_marker_too)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    raw_commit(&fixture.peers[0], "s1 4 | set A 1");
    raw_commit(&fixture.peers[0], "s1 5 | absent A | set B 1");
    raw_commit(&fixture.peers[0], "s1 6 | remove A.none");
    raw_commit(&fixture.peers[0], "s9 7 | set A 1");
    raw_commit(&fixture.peers[0], "s1 8 | branch b | set A 1");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "verdicts 4@1; verdicts 5!RECEIPT_EXISTS; "
                "verdicts 6!PATCH_TRAVERSAL; verdicts 7!PROTOCOL; "
                "verdicts 8!PROTOCOL; sync 0-1 marker=8");
    EXPECT_TEXT(kit_read(&fixture.kit, "A"), "{'value':1}");
    hub_fixture_end(&fixture);
}

TEST(n10_a_document_that_cannot_be_read_holds_up_only_who_watches_it)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    raw_open(&fixture.peers[2], "s3");
    raw_watch(&fixture.peers[0], "A");
    raw_watch(&fixture.peers[1], "B");
    raw_commit(&fixture.peers[2], "s3 1 | set A 1 | set B 1");
    for (size_t i = 0; i < 3; i++) {
        (void)heard(&fixture.peers[i]);
    }
    kit_run(&fixture.kit,
            "UPDATE revision SET data = '{' WHERE document ="
            " (SELECT document FROM document WHERE id = 'A')");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "");
    EXPECT_TEXT(heard(&fixture.peers[1]), "sync 0-1 B@1={'value':1}");
    EXPECT_TEXT(heard(&fixture.peers[2]), "sync 0-1 marker=1");
    EXPECT_EQ(fixture.hub.counters.faults, 1);
    kit_run(&fixture.kit,
            "UPDATE revision SET data = '{\"value\":1}' WHERE document ="
            " (SELECT document FROM document WHERE id = 'A')");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-1 A@1={'value':1}");
    EXPECT_TEXT(heard(&fixture.peers[1]), "");
    hub_fixture_end(&fixture);
}

TEST(n11_verdicts_come_before_the_syncs_that_cover_them)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, true);
    raw_open(&fixture.peers[0], "s1");
    raw_open(&fixture.peers[1], "s2");
    raw_watch(&fixture.peers[0], "A");
    raw_watch(&fixture.peers[1], "A");
    (void)heard(&fixture.peers[0]);
    (void)heard(&fixture.peers[1]);
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    EXPECT_TEXT(heard(&fixture.peers[0]), "verdicts 1@1; sync 0-1 marker=1");
    EXPECT_TEXT(heard(&fixture.peers[1]), "sync 0-1 A@1={'value':1}");
    hub_fixture_end(&fixture);
}

TEST(n12_a_burst_is_one_frame_behind_all_its_verdicts)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A B");
    static const char *const burst[] = {
        "s1 1 | set A 1",
        "s1 2 | set A 2",
        "s1 3 | conf B @0 | set B 3",
        "s1 4 | conf A @0 | set A 4",
    };
    raw_commits(&fixture.peers[0], burst, COUNT_OF(burst));
    raw_commit(&fixture.peers[1], "s2 1 | set B 9");
    EXPECT_TEXT(heard(&fixture.peers[0]), "verdicts 1@1 2@2 3@3 4!CONFLICT");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 0-4 marker=4 A@2={'value':2} B@4={'value':9}");
    EXPECT_TEXT(heard(&fixture.peers[1]),
                "verdicts 1@4; sync 0-4 marker=1 A@2={'value':2} "
                "B@4={'value':9}");
    EXPECT_EQ(fixture.hub.counters.frames, 2);
    hub_fixture_end(&fixture);
}

TEST(a_document_for_several_sessions_is_encoded_once)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A B");
    raw_open(&fixture.peers[2], "s3");
    raw_watch(&fixture.peers[2], "A");
    raw_open(&fixture.peers[3], "s4");
    raw_watch(&fixture.peers[3], "C");
    raw_watch(&fixture.peers[2], "D<1");
    for (size_t i = 0; i < RAW_MAX; i++) {
        (void)heard(&fixture.peers[i]);
        fixture.peers[i].encoded = 0;
    }
    for (uint64_t round = 1; round <= 2; round++) {
        raw_commit(&fixture.peers[3],
                   round == 1 ? "s4 1 | set A 1 | set B 1"
                              : "s4 2 | set A 2 | set B 2");
        hub_flush(&fixture.hub);
        EXPECT_EQ(fixture.peers[0].encoded + fixture.peers[1].encoded +
                      fixture.peers[2].encoded,
                  2 * round);
    }
    EXPECT_TEXT(heard(&fixture.peers[1]),
                "sync 0-1 A@1={'value':1} B@1={'value':1}; "
                "sync 1-2 A@2={'value':2} B@2={'value':2}");
    EXPECT_TEXT(heard(&fixture.peers[2]),
                "sync 0-1 A@1={'value':1}; sync 1-2 A@2={'value':2}");
    EXPECT_EQ(fixture.hub.read.count, 0);
    hub_fixture_end(&fixture);
}

/* What it knew goes with it to the one that did not hold it. */
TEST(a_document_with_its_former_state_is_not_shared)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    raw_commit(&fixture.peers[1], "s2 1 | set A 1");
    raw_watch(&fixture.peers[0], "A<1");
    raw_watch(&fixture.peers[1], "A");
    raw_open(&fixture.peers[2], "s3");
    raw_watch(&fixture.peers[2], "A");
    for (size_t i = 0; i < 3; i++) {
        (void)heard(&fixture.peers[i]);
    }
    raw_commit(&fixture.peers[2], "s3 1 | set A 2");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 1-2 A@2={'value':2}<{'value':1}");
    EXPECT_TEXT(heard(&fixture.peers[1]), "sync 0-2 marker=1 A@2={'value':2}");
    hub_fixture_end(&fixture);
}

TEST(n14_nothing_is_delivered_by_time_unless_asked_for)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    (void)heard(&fixture.peers[0]);
    hub_step(&fixture.hub, 2000);
    hub_poll(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[1]), "");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[1]), "sync 0-1 A@1={'value':1}");
    hub_fixture_end(&fixture);
}

TEST(n16_a_write_past_the_hub_is_noticed_by_the_next_poll)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, true);
    raw_open(&fixture.peers[0], "s1");
    raw_watch(&fixture.peers[0], "A");
    (void)heard(&fixture.peers[0]);
    EXPECT_LANDED(&fixture.kit, 1, "x 1 | set A 1");
    hub_poll(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-1 A@1={'value':1}");
    hub_fixture_end(&fixture);
}

/* -- Watching ------------------------------------------------------------ */

TEST(a_watch_is_answered_with_what_is_there)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    raw_commit(&fixture.peers[1], "s2 1 | set A 1");
    raw_commit(&fixture.peers[1], "s2 2 | set D 1");
    raw_commit(&fixture.peers[1], "s2 3 | delete D");
    raw_watch(&fixture.peers[0], "A N D");
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 0-3 pull A@1={'value':1} N@0=- D@3=-");
    /* Again: the answer is the same, and it is still one watch. */
    raw_watch(&fixture.peers[0], "A");
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 3-3 pull A@1={'value':1}");
    raw_commit(&fixture.peers[1], "s2 4 | set A 2 | set N 3");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 3-4 A@4={'value':2} N@4={'value':3}");
    hub_fixture_end(&fixture);
}

TEST(a_watch_does_not_pass_over_what_is_still_to_be_told)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    raw_commit(&fixture.peers[1], "s2 1 | set A 1 | set B 1");
    raw_watch(&fixture.peers[0], "B");
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-0 pull B@1={'value':1}");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-1 A@1={'value':1}");
    /* And a watch of what was to be told settles it. */
    raw_commit(&fixture.peers[1], "s2 2 | set A 2");
    raw_watch(&fixture.peers[0], "A");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 1-2 pull A@2={'value':2}");
    hub_fixture_end(&fixture);
}

/* Documents that the session knows, and has not. */
TEST(what_is_followed_is_told_of_when_it_is_another_one)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    struct raw *raw = &fixture.peers[0];
    raw_commit(&fixture.peers[1], "s2 1 | set A {'x':1}");
    raw_commit(&fixture.peers[1], "s2 2 | set B 1");
    raw_watch(raw, "A<2 B<2 N<2 C");
    EXPECT_TEXT(heard(raw), "sync 0-2 pull C@0=-");
    EXPECT_EQ(fixture.hub.counters.answers, 1);
    EXPECT_EQ(fixture.hub.counters.follows, 3);
    raw_commit(&fixture.peers[1], "s2 3 | replace A.x 2 | set N 1");
    raw_commit(&fixture.peers[1], "s2 4 | replace A.x 3");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(raw),
                "sync 2-4 A@4={'value':{'x':3}}<{'value':{'x':1}} "
                "N@3={'value':1}<-");
    /* From here on it is like any other. */
    raw_commit(&fixture.peers[1], "s2 5 | replace A.x 4");
    raw_commit(&fixture.peers[1], "s2 6 | delete B");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(raw), "sync 4-6 A@5={'value':{'x':4}} B@6=-<{'value':1}");
    hub_fixture_end(&fixture);
}

TEST(what_has_changed_since_is_in_the_answer)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    struct raw *raw = &fixture.peers[0];
    raw_commit(&fixture.peers[1], "s2 1 | set A 1 | set B 1 | set C 1");
    raw_commit(&fixture.peers[1], "s2 2 | set A 2");
    raw_watch(raw, "A<1 B<1");
    EXPECT_TEXT(heard(raw), "sync 0-2 pull A@2={'value':2}<{'value':1}");
    /* A seq that never was says nothing. */
    raw_watch(raw, "C<7 B<2");
    EXPECT_TEXT(heard(raw), "sync 2-2 pull C@1={'value':1}");
    hub_fixture_end(&fixture);
}

TEST(who_wants_what_it_follows_gets_it_with_what_it_was)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    struct raw *raw = &fixture.peers[0];
    raw_commit(&fixture.peers[1], "s2 1 | set A 1 | set B 1");
    raw_watch(raw, "A<1 B<1");
    (void)heard(raw);
    raw_commit(&fixture.peers[1], "s2 2 | set A 2");
    raw_watch(raw, "A B");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(raw),
                "sync 1-2 pull A@2={'value':2}<{'value':1} B@1={'value':1}");
    hub_fixture_end(&fixture);
}

/* It has not what its own commit was made upon. */
TEST(an_own_commit_upon_what_is_only_followed_is_sent_back)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    struct raw *raw = &fixture.peers[0];
    raw_commit(&fixture.peers[1], "s2 1 | set A {'x':1,'y':1}");
    raw_watch(raw, "A<1");
    (void)heard(raw);
    raw_commit(raw, "s1 1 | replace A.x 2");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(raw),
                "verdicts 1@2; sync 1-2 marker=1 "
                "A@2={'value':{'x':2,'y':1}}<{'value':{'x':1,'y':1}}");
    hub_fixture_end(&fixture);
}

TEST(what_is_followed_survives_a_lost_connection)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    struct raw *raw = &fixture.peers[0];
    raw_commit(&fixture.peers[1], "s2 1 | set A 1 | set B 1 | set C 1");
    raw_watch(raw, "A<1 B<1 C<1");
    EXPECT_TEXT(heard(raw), "sync 0-1 pull");
    raw_detach(raw);
    raw_commit(&fixture.peers[1], "s2 2 | set A 2");
    (void)heard(raw);
    raw_open(raw, "s1");
    EXPECT_TEXT(heard(raw),
                "opened s1 resumed seq=2; "
                "sync 1-2 A@2={'value':2}<{'value':1}");
    /* What was told and is lost is told again, with what it was. */
    raw_commit(&fixture.peers[1], "s2 3 | set B 2");
    hub_flush(&fixture.hub);
    (void)heard(raw);
    raw->seen = 2;
    raw_open(raw, "s1");
    EXPECT_TEXT(heard(raw),
                "opened s1 resumed seq=3; "
                "sync 2-3 B@3={'value':2}<{'value':1}");
    hub_fixture_end(&fixture);
}

TEST(scopes_are_those_of_the_session)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, false);
    struct raw *alice = &fixture.peers[0];
    struct raw *bob = &fixture.peers[1];
    struct raw *nobody = &fixture.peers[2];
    alice->principal = "alice";
    bob->principal = "bob";
    raw_open(alice, "s1");
    raw_open(bob, "s2");
    raw_open(nobody, "s3");
    raw_watch(alice, "A A~user A~session");
    raw_watch(bob, "A~user A~session");
    raw_watch(nobody, "A~user A");
    EXPECT_TEXT(heard(nobody),
                "opened s3 seq=0; sync 0-0 pull A~user@0=- A@0=-");
    (void)heard(alice);
    (void)heard(bob);
    raw_open(&fixture.peers[3], "s4");
    hub_detach(fixture.peers[3].peer);
    fixture.peers[3].peer = NULL;
    raw_commit(bob, "s2 1 | set A~user 1");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(alice), "");
    EXPECT_TEXT(heard(nobody), "");
    EXPECT_TEXT(heard(bob), "verdicts 1@1; sync 0-1 marker=1");
    raw_open(alice, "s5");
    raw_watch(alice, "A~user");
    raw_open(nobody, NULL);
    nobody->principal = "bob";
    raw_open(nobody, "s6");
    raw_watch(nobody, "A~user A~session");
    (void)heard(alice);
    EXPECT_CONTAINS(heard(nobody), "pull A~user@1={'value':1} A~session@0=-");
    raw_commit(bob, "s2 2 | set A~user 2 | set A~session 2");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(alice), "");
    EXPECT_CONTAINS(heard(nobody), "A~user@2={'value':2}");
    hub_fixture_end(&fixture);
}

TEST(a_branch_is_watched_as_it_is_seen_from_there)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, false);
    EXPECT_LANDED(&fixture.kit, 1, "x 1 | set A 1");
    EXPECT_LANDED(&fixture.kit, 2, "x 2 | set B 1");
    EXPECT_INT(kit_fork(&fixture.kit, "f", "", 1), ERR_OK);
    struct raw *raw = &fixture.peers[0];
    raw_attach(raw);
    raw_send(raw,
             "open",
             from_quoted("{'session':'s1','branch':'f',"
                         "'seenSeq':0}"));
    raw_watch(raw, "A B");
    EXPECT_TEXT(heard(raw),
                "opened s1 seq=2; sync 0-2 pull A@1={'value':1} B@0=-");
    EXPECT_LANDED(&fixture.kit, 3, "x 3 | set A 2");
    hub_poll(&fixture.hub);
    EXPECT_LANDED(&fixture.kit, 4, "x 4 | branch f | set A 3");
    hub_poll(&fixture.hub);
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(raw), "sync 2-4 A@4={'value':3}");
    /* The same session elsewhere is another one. */
    raw_open(&fixture.peers[1], "s1");
    EXPECT_TEXT(heard(raw), "revoked taken-over");
    EXPECT_TEXT(heard(&fixture.peers[1]), "opened s1 seq=4");
    raw_attach(raw);
    raw_send(raw, "open", from_quoted("{'branch':'none','seenSeq':0}"));
    EXPECT_TEXT(heard(raw), "revoked unknown-branch");
    hub_fixture_end(&fixture);
}
