/* Watches with a selector, through a hub: scenarios M, and resumes.
 *
 * The scenarios speak of graph.query, watch.set and watch.add. Here a watch
 * with a selector does the work of all three: its answer is the result of the
 * query, and a selector of another id is an addition. A set is replaced by an
 * unwatch and a watch. */

#include "host/selectors.h"

#include "base/limits.h"
#include "host/hub.h"
#include "lib/hub_kit.h"
#include "lib/test.h"
#include "lib/values.h"

#define LINK(id)             "{'/':{'link@1':{'id':'" id "'}}}"
#define ROOT(name, id)       "{'id':'" name "','root':{'id':'" id "'}}"
#define WITH(name, id, more) "{'id':'" name "','root':{'id':'" id "'}," more "}"

/* Session s1 of the first peer, and s2, which writes. */
static void commit(struct hub_fixture *fixture, const char *what)
{
    static unsigned number;
    struct buf line = {0};
    buf_printf(&line, "s2 %u | %s", ++number, what);
    raw_commit(&fixture->peers[1], buf_text(&line));
    buf_release(&line);
    (void)heard(&fixture->peers[1]);
}

static const char *flushed(struct hub_fixture *fixture)
{
    hub_flush(&fixture->hub);
    return heard(&fixture->peers[0]);
}

/* -- Scenarios ----------------------------------------------------------- */

TEST(m01_schema_false_brings_the_document_only_and_an_unknown_one_as_seq_0)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A " LINK("B"));
    commit(&fixture, "set B 1");
    raw_select(&fixture.peers[0],
               WITH("a", "A", "'schema':false") "," ROOT("z", "Z"));
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 0-2 pull +A@1={'value':" LINK("B") "} +Z@0=-");
    hub_fixture_end(&fixture);
}

TEST(m03_a_schema_guides_and_one_answer_has_the_graph)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A {'l':[" LINK("B") "],'o':" LINK("X") "}");
    commit(&fixture, "set B {'l':[" LINK("A") "," LINK("C") "]}");
    raw_select(&fixture.peers[0],
               WITH("x",
                    "A",
                    "'schema':{'properties':{'l':{'items':"
                    "{'properties':{'l':{'items':{}}}}}}}"));
    /* C comes by {}, which follows everything; so does A, a cycle, and X. */
    EXPECT_CONTAINS(heard(&fixture.peers[0]), " +X@0=-");
    raw_unselect(&fixture.peers[0], "x");
    (void)heard(&fixture.peers[0]);
    raw_select(
        &fixture.peers[0],
        WITH("x", "A", "'path':'/l/0','schema':{'properties':{'l':true}}"));
    (void)heard(&fixture.peers[0]);
    EXPECT_EQ(fixture.hub.documents.count, 4);
    raw_unselect(&fixture.peers[0], "x");
    (void)heard(&fixture.peers[0]);
    raw_select(&fixture.peers[0],
               WITH("x", "A", "'schema':{'properties':{'o':true}}"));
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 2-2 pull +A@1={'value':{'l':[" LINK("B") "],'o':" LINK(
                    "X") "}} +X@0=-");
    hub_fixture_end(&fixture);
}

TEST(m04_a_retarget_brings_the_new_document_and_reads_no_unchanged_one)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A [" LINK("B") "," LINK("C") "]");
    commit(&fixture, "set B 1");
    commit(&fixture, "set C 2");
    commit(&fixture, "set D 3");
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    (void)heard(&fixture.peers[0]);
    EXPECT_EQ(fixture.hub.counters.reach_reads, 3);
    commit(&fixture, "set A [" LINK("D") "," LINK("C") "]");
    EXPECT_TEXT(flushed(&fixture),
                "sync 4-5 +A@5={'value':[" LINK("D") "," LINK(
                    "C") "]} "
                         "+D@4={'value':3} -B");
    EXPECT_EQ(fixture.hub.counters.reach_reads, 5); /* A and D */
    commit(&fixture, "set B 4");
    EXPECT_TEXT(flushed(&fixture), "");
    commit(&fixture, "set D 5");
    EXPECT_TEXT(flushed(&fixture), "sync 5-7 +D@7={'value':5}");
    EXPECT_EQ(fixture.hub.counters.reach_reads, 6);
    hub_fixture_end(&fixture);
}

TEST(m05_a_covered_selector_reads_nothing)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A {'x':" LINK("B") "}");
    commit(&fixture, "set B {'y':" LINK("C") "}");
    raw_select(&fixture.peers[0], ROOT("all", "A"));
    (void)heard(&fixture.peers[0]);
    EXPECT_EQ(fixture.hub.counters.reach_reads, 3);
    raw_select(&fixture.peers[0],
               ROOT("b", "B") "," WITH("y", "B", "'path':'/y'") "," WITH(
                   "n",
                   "A",
                   "'schema':{'properties':{'x':{}}}"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 2-2 pull");
    EXPECT_EQ(fixture.hub.counters.reach_reads, 3);
    hub_fixture_end(&fixture);
}

TEST(m06_a_commit_by_another_session_brings_only_what_it_touched)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A {'x':" LINK("B") "}");
    commit(&fixture, "set B 1");
    raw_select(&fixture.peers[0], ROOT("all", "A"));
    EXPECT_TEXT(
        heard(&fixture.peers[0]),
        "sync 0-2 pull +A@1={'value':{'x':" LINK("B") "}} "
                                                      "+B@2={'value':1}");
    commit(&fixture, "replace A.n 1");
    EXPECT_TEXT(flushed(&fixture),
                "sync 2-3 +A@3={'value':{'n':1,'x':" LINK("B") "}}");
    hub_fixture_end(&fixture);
}

TEST(m09_another_root_brings_the_new_and_removes_the_old)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A " LINK("B"));
    commit(&fixture, "set C " LINK("B"));
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    (void)heard(&fixture.peers[0]);
    raw_unselect(&fixture.peers[0], "x");
    raw_select(&fixture.peers[0], ROOT("x", "C"));
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 2-2 pull -A -B; sync 2-2 pull "
                "+C@2={'value':" LINK("B") "} +B@0=-");
    /* The new one first: what both reach stays. */
    raw_select(&fixture.peers[0], ROOT("y", "A"));
    raw_unselect(&fixture.peers[0], "x");
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 2-2 pull +A@1={'value':" LINK("B") "}; "
                                                         "sync 2-2 pull -C");
    hub_fixture_end(&fixture);
}

TEST(m10_the_same_selector_is_no_news_and_another_of_its_id_is_refused)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A " LINK("B"));
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    (void)heard(&fixture.peers[0]);
    raw_select(
        &fixture.peers[0],
        WITH("y", "C", "'schema':{'type':'object','properties':{'a':true}}"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 1-1 pull +C@0=-");
    raw_select(
        &fixture.peers[0],
        WITH("y", "C", "'schema':{'properties':{'a':true},'type':'object'}"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 1-1 pull");
    raw_select(&fixture.peers[0], ROOT("y", "D"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 1-1 pull !y=ARGUMENT");
    commit(&fixture, "set C 1");
    commit(&fixture, "set D 1");
    EXPECT_TEXT(flushed(&fixture), "sync 1-3 +C@2={'value':1}");
    hub_fixture_end(&fixture);
}

TEST(m11_one_broken_selector_installs_none_and_the_session_is_usable)
{
    static const struct {
        const char *selector;
        const char *err;
    } broken[] = {
        {WITH("b", "B", "'schema':{'propertys':{}}"), "SCHEMA_MALFORMED"},
        {WITH("b", "B", "'path':'x'"), "SYNTAX"},
        {WITH("b", "B", "'path':'/~2'"), "SYNTAX"},
        {WITH("b", "B", "'depth':1001"), "LIMIT_REACH"},
        {WITH("b", "B", "'count':100001"), "LIMIT_REACH"},
        {WITH("b", "A", "'count':2"), "LIMIT_REACH"},
        {WITH("b", "A", "'count':0"), "LIMIT_REACH"},
    };
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A [" LINK("B") "," LINK("C") "]");
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        struct buf text = {0};
        struct buf want = {0};
        buf_printf(&text,
                   "%s,%s,%s",
                   ROOT("g", "A"),
                   WITH("h", "A", "'depth':5"),
                   broken[i].selector);
        buf_printf(&want,
                   "sync %d-1 pull !b=%s",
                   i == 0 ? 0 : 1,
                   broken[i].err);
        raw_select(&fixture.peers[0], buf_text(&text));
        EXPECT_TEXT(heard(&fixture.peers[0]), buf_text(&want));
        EXPECT_EQ(fixture.hub.documents.count, 0);
        buf_release(&text);
        buf_release(&want);
    }
    raw_select(&fixture.peers[0], ROOT("b", "B"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 1-1 pull +B@0=-");
    hub_fixture_end(&fixture);
}

TEST(m12_a_selector_can_be_the_first_watch_and_needs_a_session)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, false);
    raw_open(&fixture.peers[0], "s1");
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "opened s1 seq=0; sync 0-0 pull +A@0=-");
    raw_attach(&fixture.peers[1]);
    raw_select(&fixture.peers[1], ROOT("x", "A"));
    EXPECT_TEXT(heard(&fixture.peers[1]), "broken");
    hub_fixture_end(&fixture);
}

TEST(m14_after_a_replacement_changes_follow_the_new_selector)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    raw_unselect(&fixture.peers[0], "x");
    raw_select(&fixture.peers[0], ROOT("x", "B"));
    (void)heard(&fixture.peers[0]);
    commit(&fixture, "set A 1");
    EXPECT_TEXT(flushed(&fixture), "");
    commit(&fixture, "set B 1");
    EXPECT_TEXT(flushed(&fixture), "sync 0-2 +B@2={'value':1}");
    struct value ack = from_quoted("{'seenSeq':2}");
    raw_send(&fixture.peers[0], "ack", ack);
    EXPECT_TEXT(heard(&fixture.peers[0]), "");
    hub_fixture_end(&fixture);
}

TEST(m16_a_user_reaches_its_own_documents_and_no_other)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, false);
    static const char *const users[] = {"ann", "ann", "bob", NULL};
    for (size_t i = 0; i < 4; i++) {
        static const char *const names[] = {"a1", "a2", "b1", "n1"};
        fixture.peers[i].principal = users[i];
        raw_open(&fixture.peers[i], names[i]);
    }
    raw_commit(&fixture.peers[1],
               "a2 1 | set A {'/':{'link@1':{'id':'U','scope':'user'}}}");
    raw_commit(&fixture.peers[1], "a2 2 | set U~user 1");
    for (size_t i = 0; i < 4; i++) {
        (void)heard(&fixture.peers[i]);
        raw_select(&fixture.peers[i], ROOT("x", "A"));
    }
    EXPECT_CONTAINS(heard(&fixture.peers[0]), "+U~user@2={'value':1}");
    EXPECT_CONTAINS(heard(&fixture.peers[2]), "+U~user@0=-");
    EXPECT_CONTAINS(heard(&fixture.peers[3]), "+U~user@0=-");
    raw_commit(&fixture.peers[1], "a2 3 | set U~user 2");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 2-3 +U~user@3={'value':2}");
    EXPECT_TEXT(heard(&fixture.peers[2]), "");
    EXPECT_TEXT(heard(&fixture.peers[3]), "");
    hub_fixture_end(&fixture);
}

TEST(m18_a_document_that_was_never_written_is_seq_0_until_it_is)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-0 pull +A@0=-");
    commit(&fixture, "set A " LINK("B"));
    EXPECT_TEXT(flushed(&fixture),
                "sync 0-1 +A@1={'value':" LINK("B") "} +B@0=-");
    commit(&fixture, "delete A");
    EXPECT_TEXT(flushed(&fixture), "sync 1-2 +A@2=- -B");
    hub_fixture_end(&fixture);
}

/* -- Beside other watches ------------------------------------------------ */

TEST(a_document_that_is_watched_by_name_stays_when_it_leaves_the_reach)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A " LINK("B"));
    raw_watch(&fixture.peers[0], "B");
    (void)heard(&fixture.peers[0]);
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 1-1 pull +A@1={'value':" LINK("B") "}");
    commit(&fixture, "set A 1");
    EXPECT_TEXT(flushed(&fixture), "sync 1-2 +A@2={'value':1}");
    commit(&fixture, "set B 1");
    EXPECT_TEXT(flushed(&fixture), "sync 2-3 B@3={'value':1}");
    hub_fixture_end(&fixture);
}

TEST(a_document_that_is_unwatched_by_name_stays_in_the_reach_and_is_sent_again)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    raw_watch(&fixture.peers[0], "A");
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-0 pull A@0=-; sync 0-0 pull");
    raw_send(&fixture.peers[0],
             "unwatch",
             from_quoted("{'targets':[{'id':'A'}]}"));
    EXPECT_TEXT(flushed(&fixture), "sync 0-0 +A@0=-");
    commit(&fixture, "set A 1");
    EXPECT_TEXT(flushed(&fixture), "sync 0-1 +A@1={'value':1}");
    hub_fixture_end(&fixture);
}

TEST(targets_and_selectors_in_one_message_have_one_answer)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A [" LINK("B") "," LINK("C") "]");
    raw_send(&fixture.peers[0],
             "watch",
             from_quoted("{'targets':[{'id':'B'},{'id':'D','since':1}],"
                         "'selectors':[" ROOT("x", "A") "]}"));
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 0-1 pull B@0=- +A@1={'value':[" LINK("B") "," LINK(
                    "C") "]} +C@0=-");
    hub_fixture_end(&fixture);
}

TEST(an_own_commit_changes_the_own_reach)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set B 7");
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    (void)heard(&fixture.peers[0]);
    raw_commit(&fixture.peers[0], "s1 1 | set A " LINK("B"));
    EXPECT_TEXT(flushed(&fixture),
                "verdicts 1@2; sync 1-2 marker=1 +B@1={'value':7}");
    raw_commit(&fixture.peers[0], "s1 2 | set A 1");
    EXPECT_TEXT(flushed(&fixture), "verdicts 2@3; sync 2-3 marker=2 -B");
    hub_fixture_end(&fixture);
}

TEST(a_bounded_selector_follows_so_many_links_and_no_more)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A " LINK("B"));
    commit(&fixture, "set B " LINK("C"));
    raw_select(&fixture.peers[0], WITH("x", "A", "'depth':1"));
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "sync 0-2 pull +A@1={'value':" LINK("B") "} "
                                                         "+B@2={'value':" LINK(
                                                             "C") "}");
    raw_select(&fixture.peers[0], WITH("y", "B", "'depth':1,'count':2"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 2-2 pull +C@0=-");
    raw_unselect(&fixture.peers[0], "y z");
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 2-2 pull -C");
    hub_fixture_end(&fixture);
}

TEST(a_selector_that_grows_beyond_its_count_ends_and_says_so)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A " LINK("B"));
    raw_select(&fixture.peers[0],
               WITH("x", "A", "'count':2") "," ROOT("y", "B"));
    (void)heard(&fixture.peers[0]);
    commit(&fixture, "set A [" LINK("B") "," LINK("C") "]");
    EXPECT_TEXT(flushed(&fixture), "sync 1-2 -A !x=LIMIT_REACH");
    commit(&fixture, "set A 1");
    commit(&fixture, "set B 1");
    EXPECT_TEXT(flushed(&fixture), "sync 2-4 +B@4={'value':1}");
    raw_select(&fixture.peers[0], WITH("x", "A", "'count':2"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 4-4 pull +A@3={'value':1}");
    hub_fixture_end(&fixture);
}

TEST(a_session_has_so_many_selectors)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    for (unsigned i = 0; i < LIMIT_REACH_SELECTORS; i++) {
        struct buf text = {0};
        buf_printf(&text, "{'id':'x%u','root':{'id':'A'}}", i);
        raw_select(&fixture.peers[0], buf_text(&text));
        buf_release(&text);
    }
    (void)heard(&fixture.peers[0]);
    EXPECT_EQ(fixture.hub.counters.reach_reads, 1);
    raw_select(&fixture.peers[0], ROOT("y", "A"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-0 pull !y=LIMIT_REACH");
    hub_fixture_end(&fixture);
}

TEST(links_that_name_the_space_are_followed_and_links_to_others_are_not)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    fixture.hub.options.space = value_text_new("here");
    commit(&fixture,
           "set A [{'/':{'link@1':{'id':'B','space':'here'}}},"
           "{'/':{'link@1':{'id':'C','space':'there'}}}]");
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    const char *answer = heard(&fixture.peers[0]);
    EXPECT_CONTAINS(answer, " +B@0=-");
    EXPECT_EQ(fixture.hub.documents.count, 2);
    hub_fixture_end(&fixture);
}

/* -- Piece results ------------------------------------------------------- */

TEST(a_thin_client_gets_the_result_of_a_piece_in_one_answer)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture,
           "put piece:p {'value':{'total':" LINK("of:t") ",'items':" LINK(
               "of:i") "},'piece':{'pattern':'shop'}}");
    commit(&fixture, "set of:i [" LINK("of:1") "]");
    commit(&fixture, "set of:1 {'name':'milk'}");
    commit(&fixture, "set of:t 1");
    raw_select(&fixture.peers[0], ROOT("result", "piece:p"));
    const char *answer = heard(&fixture.peers[0]);
    EXPECT_CONTAINS(answer, "sync 0-4 pull +piece:p@1=");
    EXPECT_CONTAINS(answer, " +of:t@4={'value':1}");
    EXPECT_CONTAINS(answer, " +of:1@3={'value':{'name':'milk'}}");
    commit(&fixture, "set of:t 2");
    EXPECT_TEXT(flushed(&fixture), "sync 4-5 +of:t@5={'value':2}");
    hub_fixture_end(&fixture);
}

/* -- Resumes ------------------------------------------------------------- */

TEST(a_resumed_session_is_told_what_came_and_left_meanwhile)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A [" LINK("B") "," LINK("C") "]");
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    raw_send(&fixture.peers[0], "ack", from_quoted("{'seenSeq':1}"));
    (void)heard(&fixture.peers[0]);
    raw_detach(&fixture.peers[0]);
    commit(&fixture, "set A [" LINK("C") "," LINK("D") "]");
    commit(&fixture, "set D 3");
    raw_open(&fixture.peers[0], "s1");
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "opened s1 resumed seq=3; sync 1-3 +A@2={'value':[" LINK(
                    "C") "," LINK("D") "]} +D@3={'value':3} -B");
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 3-3 pull");
    hub_fixture_end(&fixture);
}

TEST(what_a_lost_sync_said_of_the_reach_is_said_again)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A " LINK("B"));
    raw_select(&fixture.peers[0],
               ROOT("x", "A") "," WITH("y", "E", "'count':1"));
    raw_send(&fixture.peers[0], "ack", from_quoted("{'seenSeq':1}"));
    (void)heard(&fixture.peers[0]);
    commit(&fixture, "set A " LINK("D"));
    commit(&fixture, "set E " LINK("F"));
    EXPECT_TEXT(flushed(&fixture),
                "sync 1-3 +A@2={'value':" LINK("D") "} +D@0=- -E -B "
                                                    "!y=LIMIT_REACH");
    fixture.peers[0].seen = 1; /* it did not arrive */
    raw_open(&fixture.peers[0], "s1");
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "opened s1 resumed seq=3; sync 1-3 +A@2={'value':" LINK(
                    "D") "}"
                         " +D@0=- -E -B !y=LIMIT_REACH");
    raw_open(&fixture.peers[0], "s1"); /* now it did */
    EXPECT_TEXT(heard(&fixture.peers[0]), "opened s1 resumed seq=3");
    hub_fixture_end(&fixture);
}

TEST(a_lost_answer_comes_with_the_resume_and_the_selector_is_no_news)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A " LINK("B"));
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    (void)heard(&fixture.peers[0]);
    fixture.peers[0].seen = 0;
    raw_open(&fixture.peers[0], "s1");
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "opened s1 resumed seq=1; sync 0-1 "
                "+A@1={'value':" LINK("B") "} +B@0=-; sync 1-1 pull");
    hub_fixture_end(&fixture);
}

/* -- Documents that cannot be read --------------------------------------- */

/* Makes the stored document unreadable, behind the engine's back. */
static void damage(struct hub_fixture *fixture, const char *id, bool broken)
{
    struct buf sql = {0};
    buf_printf(&sql,
               "UPDATE revision SET data = %s WHERE document = "
               "(SELECT document FROM document WHERE id = '%s')",
               broken ? "substr(data, 2)" : "'{' || data",
               id);
    kit_run(&fixture->kit, buf_text(&sql));
    buf_release(&sql);
}

TEST(m17_a_document_that_cannot_be_read_refuses_the_selector)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A " LINK("B"));
    commit(&fixture, "set B 1");
    damage(&fixture, "B", true);
    raw_select(&fixture.peers[0], ROOT("y", "Z") "," ROOT("x", "A"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-2 pull !x=CORRUPT");
    EXPECT_EQ(fixture.hub.documents.count, 0);
    raw_select(&fixture.peers[0], ROOT("y", "Z"));
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 2-2 pull +Z@0=-");
    hub_fixture_end(&fixture);
}

TEST(m17_an_update_that_fails_skips_the_frame_of_that_session_only)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    commit(&fixture, "set A 1");
    commit(&fixture, "set B 2");
    raw_open(&fixture.peers[2], "s3");
    raw_select(&fixture.peers[0], ROOT("x", "A"));
    raw_watch(&fixture.peers[2], "A");
    (void)heard(&fixture.peers[0]);
    (void)heard(&fixture.peers[2]);
    damage(&fixture, "B", true);
    commit(&fixture, "set A " LINK("B"));
    EXPECT_TEXT(flushed(&fixture), "");
    EXPECT_TEXT(heard(&fixture.peers[2]),
                "sync 2-3 A@3={'value':" LINK("B") "}");
    EXPECT_INT(fixture.hub.troubles[HUB_READING].err, ERR_CORRUPT);
    damage(&fixture, "B", false);
    EXPECT_TEXT(flushed(&fixture),
                "sync 2-3 +A@3={'value':" LINK("B") "} +B@2={'value':2}");
    hub_fixture_end(&fixture);
}

/* -- Limits: the last that is accepted, and the next --------------------- */

/* "set R [...]": so many links, each with its number between the two texts. */
static void commit_links(struct hub_fixture *fixture,
                         const char *before,
                         const char *behind,
                         unsigned count)
{
    struct buf line = {0};
    buf_append_text(&line, "set R [");
    for (unsigned i = 0; i < count; i++) {
        buf_printf(&line, "%s%s%u%s", i > 0 ? "," : "", before, i, behind);
    }
    buf_append_char(&line, ']');
    commit(fixture, buf_text(&line));
    buf_release(&line);
}

/* Installs `count` selectors with ids of their own, all of R. */
static void select_many(struct hub_fixture *fixture,
                        unsigned count,
                        const char *more)
{
    for (unsigned i = 0; i < count; i++) {
        struct buf text = {0};
        buf_printf(&text, "{'id':'n%u','root':{'id':'R'},%s}", i, more);
        raw_select(&fixture->peers[0], buf_text(&text));
        buf_release(&text);
        EXPECT(strstr(heard(&fixture->peers[0]), "!n") == NULL);
    }
}

/* What the answer to one more says. */
static const char *select_next(struct hub_fixture *fixture,
                               const char *selector)
{
    raw_select(&fixture->peers[0], selector);
    return heard(&fixture->peers[0]);
}

TEST(a_session_has_at_most_limit_reach_selectors)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    EXPECT_EQ(LIMIT_REACH_SELECTORS, 1000);
    select_many(&fixture, LIMIT_REACH_SELECTORS, "'schema':false");
    EXPECT_TEXT(select_next(&fixture, ROOT("x", "A")),
                "sync 0-0 pull !x=LIMIT_REACH");
    raw_unselect(&fixture.peers[0], "n7");
    (void)heard(&fixture.peers[0]);
    EXPECT_TEXT(select_next(&fixture, ROOT("x", "A")), "sync 0-0 pull +A@0=-");
    hub_fixture_end(&fixture);
}

TEST(selectors_of_a_session_reach_at_most_limit_reach_documents)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    EXPECT_EQ(LIMIT_REACH_DOCUMENTS, 100000);
    commit_links(&fixture, "{'/':{'link@1':{'id':'d", "'}}}", 999);
    select_many(&fixture, LIMIT_REACH_DOCUMENTS / 1000, "'depth':1");
    EXPECT_TEXT(select_next(&fixture, WITH("x", "A", "'depth':0")),
                "sync 1-1 pull !x=LIMIT_REACH");
    EXPECT_TEXT(select_next(&fixture, WITH("y", "A", "'count':100001")),
                "sync 1-1 pull !y=LIMIT_REACH");
    raw_unselect(&fixture.peers[0], "n7");
    (void)heard(&fixture.peers[0]);
    EXPECT_TEXT(select_next(&fixture, WITH("x", "A", "'count':100000")),
                "sync 1-1 pull +A@0=-");
    hub_fixture_end(&fixture);
}

TEST(the_depth_of_a_selector_is_at_most_limit_reach_depth)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    EXPECT_EQ(LIMIT_REACH_DEPTH, 1000);
    EXPECT_TEXT(select_next(&fixture, WITH("x", "A", "'depth':1001")),
                "sync 0-0 pull !x=LIMIT_REACH");
    EXPECT_TEXT(select_next(&fixture, WITH("x", "A", "'depth':1000")),
                "sync 0-0 pull +A@0=-");
    hub_fixture_end(&fixture);
}

TEST(links_of_the_selectors_of_a_session_lead_to_at_most_limit_reach_places)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    EXPECT_EQ(LIMIT_REACH_PLACES, 1000000);
    commit_links(&fixture,
                 "{'/':{'link@1':{'id':'b','path':['value','",
                 "']}}}",
                 1999);
    select_many(&fixture, LIMIT_REACH_PLACES / 2000, "'depth':1");
    EXPECT_TEXT(select_next(&fixture, WITH("x", "A", "'depth':0")),
                "sync 1-1 pull !x=LIMIT_REACH");
    raw_unselect(&fixture.peers[0], "n7");
    (void)heard(&fixture.peers[0]);
    EXPECT_TEXT(select_next(&fixture, WITH("x", "A", "'depth':0")),
                "sync 1-1 pull +A@0=-");
    hub_fixture_end(&fixture);
}
