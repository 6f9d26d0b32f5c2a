/* The hub: patches instead of documents, for sessions that hold the state that
 * they are for. */

#include "host/hub.h"

#include <stdio.h>

#include "lib/hub_kit.h"
#include "lib/test.h"

#define LONG                                            \
    "'t':'a document that is longer than two patches, " \
    "which have the names of their fields in them'"

/* Session s1 and s3 take deltas, s2 does not. A exists, and all watch it. */
static void begin(struct hub_fixture *fixture)
{
    static const char *const ids[] = {"s1", "s2", "s3"};
    hub_fixture_begin(fixture, NULL, false, false);
    fixture->peers[0].deltas = true;
    fixture->peers[2].deltas = true;
    for (size_t i = 0; i < 3; i++) {
        raw_open(&fixture->peers[i], ids[i]);
    }
    raw_commit(&fixture->peers[1], "s2 1 | set A {'n':1," LONG "}");
    for (size_t i = 0; i < 3; i++) {
        raw_watch(&fixture->peers[i], "A");
    }
    hub_flush(&fixture->hub);
    for (size_t i = 0; i < 3; i++) {
        (void)heard(&fixture->peers[i]);
    }
}

#define REPLACE(n) "{'op':'replace','path':'/value/n','value':" n "}"

TEST(a_session_that_asked_for_it_gets_the_patch_of_what_it_holds)
{
    struct hub_fixture fixture;
    begin(&fixture);
    raw_commit(&fixture.peers[1], "s2 2 | replace A.n 2");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 1-2 A@2+1=[" REPLACE("2") "]");
    /* All patches since. */
    raw_commit(&fixture.peers[1], "s2 3 | replace A.n 3");
    raw_commit(&fixture.peers[1], "s2 4 | replace A.n 4");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 2-4 A@4+2=[" REPLACE("3") "," REPLACE("4") "]");
    EXPECT_EQ(fixture.hub.counters.deltas, 4);
    hub_fixture_end(&fixture);
}

TEST(a_session_that_did_not_ask_gets_the_document)
{
    struct hub_fixture fixture;
    begin(&fixture);
    raw_commit(&fixture.peers[0], "s1 1 | replace A.n 2");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[1]),
                "sync 1-2 A@2={'value':{'n':2," LONG "}}");
    EXPECT_TEXT(heard(&fixture.peers[2]), "sync 1-2 A@2+1=[" REPLACE("2") "]");
    hub_fixture_end(&fixture);
}

TEST(a_patch_is_encoded_once_for_all_that_hold_the_same_state)
{
    struct hub_fixture fixture;
    begin(&fixture);
    raw_commit(&fixture.peers[1], "s2 2 | replace A.n 2");
    fixture.peers[0].encoded = 0;
    fixture.peers[2].encoded = 0;
    hub_flush(&fixture.hub);
    EXPECT_EQ(fixture.peers[0].encoded + fixture.peers[2].encoded, 1);
    hub_fixture_end(&fixture);
}

TEST(a_patch_that_is_longer_than_the_document_is_not_sent)
{
    struct hub_fixture fixture;
    begin(&fixture);
    raw_commit(&fixture.peers[1], "s2 2 | set B 1");
    raw_watch(&fixture.peers[0], "B");
    raw_commit(&fixture.peers[1], "s2 3 | increment B 1");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 1-2 pull B@2={'value':1}; sync 2-3 B@3={'value':2}");
    hub_fixture_end(&fixture);
}

TEST(a_set_and_what_another_process_wrote_are_sent_whole)
{
    struct hub_fixture fixture;
    begin(&fixture);
    raw_commit(&fixture.peers[1], "s2 2 | replace A.n 2");
    raw_commit(&fixture.peers[1], "s2 3 | set A {'n':3}");
    raw_commit(&fixture.peers[1], "s2 4 | replace A.n 4");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 1-4 A@4={'value':{'n':4}}");
    raw_commit(&fixture.peers[1], "s2 5 | replace A.n 5");
    EXPECT_LANDED(&fixture.kit, 6, "x 1 | replace A.n 6");
    raw_commit(&fixture.peers[1], "s2 6 | replace A.n 7");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 4-7 A@7={'value':{'n':7}}");
    hub_fixture_end(&fixture);
}

/* The replica has its own commit once a marker has covered it. */
TEST(an_own_commit_counts_as_held_behind_its_marker)
{
    struct hub_fixture fixture;
    begin(&fixture);
    raw_commit(&fixture.peers[0], "s1 1 | replace A.n 2");
    raw_commit(&fixture.peers[1], "s2 2 | replace A.n 3");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "verdicts 1@2; sync 1-3 marker=1 "
                "A@3+1=[" REPLACE("2") "," REPLACE("3") "]");
    raw_commit(&fixture.peers[0], "s1 2 | replace A.n 4");
    hub_flush(&fixture.hub);
    raw_commit(&fixture.peers[0], "s1 3 | replace A.n 5");
    raw_commit(&fixture.peers[1], "s2 3 | replace A.n 6");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "verdicts 2@4; sync 3-4 marker=2; verdicts 3@5; "
                "sync 4-6 marker=3 A@6+4=[" REPLACE("5") "," REPLACE("6") "]");
    hub_fixture_end(&fixture);
}

TEST(after_a_lost_connection_the_first_is_whole)
{
    struct hub_fixture fixture;
    begin(&fixture);
    raw_open(&fixture.peers[0], "s1");
    EXPECT_TEXT(heard(&fixture.peers[0]), "opened s1 resumed seq=1");
    raw_commit(&fixture.peers[1], "s2 2 | replace A.n 2");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 1-2 A@2={'value':{'n':2," LONG "}}");
    raw_commit(&fixture.peers[1], "s2 3 | replace A.n 3");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 2-3 A@3+2=[" REPLACE("3") "]");
    /* A connection that does not ask for them gets none. */
    fixture.peers[0].deltas = false;
    raw_open(&fixture.peers[0], "s1");
    (void)heard(&fixture.peers[0]);
    raw_commit(&fixture.peers[1], "s2 4 | replace A.n 4");
    hub_flush(&fixture.hub);
    raw_commit(&fixture.peers[1], "s2 5 | replace A.n 5");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 3-4 A@4={'value':{'n':4," LONG "}}; "
                "sync 4-5 A@5={'value':{'n':5," LONG "}}");
    hub_fixture_end(&fixture);
}

TEST(n03_after_a_conflict_the_document_is_whole_if_it_is_held_already)
{
    struct hub_fixture fixture;
    begin(&fixture);
    raw_commit(&fixture.peers[0], "s1 1 | conf A @0 | replace A.n 2");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "verdicts 1!CONFLICT; "
                "sync 1-1 marker=1 A@1={'value':{'n':1," LONG "}}");
    hub_fixture_end(&fixture);
}

TEST(many_commits_between_two_flushes_are_sent_as_the_document)
{
    struct hub_fixture fixture;
    begin(&fixture);
    fixture.hub.options.long_deltas = true;
    for (unsigned i = 2; i <= 70; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "s2 %u | replace A.n %u", i, i);
        raw_commit(&fixture.peers[1], line);
    }
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 1-70 A@70={'value':{'n':70," LONG "}}");
    hub_fixture_end(&fixture);
}
