/* The hub: commits of several peers that are decided together. */

#include "host/hub.h"

#include <string.h>

#include "lib/hub_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/object.h"

/* Sessions s1, s2 and s3 watch A; a group has begun. */
static void begin(struct hub_fixture *fixture, bool immediate)
{
    static const char *const ids[] = {"s1", "s2", "s3"};
    hub_fixture_begin(fixture, NULL, false, immediate);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        raw_open(&fixture->peers[i], ids[i]);
        raw_watch(&fixture->peers[i], "A");
        EXPECT_CONTAINS(heard(&fixture->peers[i]), "pull");
    }
    hub_group_begin(&fixture->hub);
}

TEST(n11_a_group_of_several_peers_is_one_transaction_and_verdicts_come_first)
{
    struct hub_fixture fixture;
    begin(&fixture, true);
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    raw_commit(&fixture.peers[1], "s2 1 | set B 1");
    raw_commit(&fixture.peers[0], "s1 2 | set A 2");
    EXPECT_TEXT(heard(&fixture.peers[0]), "");
    EXPECT_TEXT(kit_read(&fixture.kit, "A"), "(absent)");
    hub_group_end(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "verdicts 1@1 2@3; sync 0-3 marker=2");
    EXPECT_TEXT(heard(&fixture.peers[1]),
                "verdicts 1@2; sync 0-3 marker=1 A@3={'value':2}");
    EXPECT_TEXT(heard(&fixture.peers[2]), "sync 0-3 A@3={'value':2}");
    EXPECT_EQ(fixture.hub.counters.groups, 1);
    EXPECT_EQ(fixture.hub.counters.commits, 3);
    hub_fixture_end(&fixture);
}

TEST(a_group_is_decided_in_the_order_of_arrival)
{
    struct hub_fixture fixture;
    begin(&fixture, false);
    raw_commit(&fixture.peers[1], "s2 1 | conf A @0 | set A 2");
    raw_commit(&fixture.peers[0], "s1 1 | conf A @0 | set A 1");
    hub_group_end(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "verdicts 1!CONFLICT");
    EXPECT_TEXT(heard(&fixture.peers[1]), "verdicts 1@1");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "sync 0-1 marker=1 A@1={'value':2}");
    EXPECT_TEXT(heard(&fixture.peers[1]), "sync 0-1 marker=1");
    hub_fixture_end(&fixture);
}

TEST(an_empty_group_sends_nothing)
{
    struct hub_fixture fixture;
    begin(&fixture, true);
    hub_group_end(&fixture.hub);
    for (size_t i = 0; i < 3; i++) {
        EXPECT_TEXT(heard(&fixture.peers[i]), "");
    }
    EXPECT_EQ(fixture.hub.counters.groups, 0);
    hub_fixture_end(&fixture);
}

TEST(a_peer_reads_its_own_deferred_commit_and_others_do_not_end_the_group)
{
    struct hub_fixture fixture;
    begin(&fixture, false);
    raw_commit(&fixture.peers[0], "s1 1 | set B 1");
    raw_watch(&fixture.peers[1], "B");
    raw_send(&fixture.peers[0], "ack", from_quoted("{'seenSeq':0}"));
    EXPECT_TEXT(heard(&fixture.peers[1]), "sync 0-0 pull B@0=-");
    EXPECT_TEXT(heard(&fixture.peers[0]), "");
    raw_watch(&fixture.peers[0], "B");
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "verdicts 1@1; sync 0-0 pull B@1={'value':1}");
    raw_commit(&fixture.peers[0], "s1 2 | set B 2");
    EXPECT_TEXT(heard(&fixture.peers[0]), "");
    hub_group_end(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "verdicts 2@2");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[1]), "sync 0-2 B@2={'value':2}");
    hub_fixture_end(&fixture);
}

TEST(a_session_is_taken_over_behind_its_deferred_commits)
{
    struct hub_fixture fixture;
    begin(&fixture, false);
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    raw_open(&fixture.peers[3], "s1");
    EXPECT_TEXT(heard(&fixture.peers[0]), "verdicts 1@1; revoked taken-over");
    EXPECT_TEXT(heard(&fixture.peers[3]),
                "opened s1 resumed seq=1 marker=1; "
                "sync 0-1 marker=1 A@1={'value':1}");
    hub_group_end(&fixture.hub);
    hub_fixture_end(&fixture);
}

TEST(a_peer_that_goes_away_has_its_deferred_commits_decided)
{
    struct hub_fixture fixture;
    begin(&fixture, true);
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    raw_commit(&fixture.peers[1], "s2 1 | set B 1");
    raw_detach(&fixture.peers[0]);
    EXPECT_TEXT(kit_read(&fixture.kit, "A"), "{'value':1}");
    EXPECT_TEXT(heard(&fixture.peers[1]), "");
    hub_group_end(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "");
    EXPECT_TEXT(heard(&fixture.peers[1]),
                "verdicts 1@2; sync 0-2 marker=1 A@1={'value':1}");
    hub_fixture_end(&fixture);
}

TEST(a_gap_breaks_a_peer_behind_its_deferred_commits)
{
    struct hub_fixture fixture;
    begin(&fixture, false);
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    fixture.peers[0].number++;
    raw_commit(&fixture.peers[0], "s1 2 | set A 2");
    EXPECT_TEXT(heard(&fixture.peers[0]), "verdicts 1@1; broken");
    hub_group_end(&fixture.hub);
    EXPECT_TEXT(kit_read(&fixture.kit, "A"), "{'value':1}");
    hub_fixture_end(&fixture);
}

TEST(a_fault_breaks_every_peer_of_the_group_once_and_no_other)
{
    struct hub_fixture fixture;
    begin(&fixture, false);
    kit_run(&fixture.kit,
            "CREATE TRIGGER no BEFORE INSERT ON \"commit\""
            " BEGIN SELECT RAISE(ABORT, 'no'); END");
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    raw_commit(&fixture.peers[1], "s2 1 | set A 2");
    raw_commit(&fixture.peers[0], "s1 2 | set A 3");
    hub_group_end(&fixture.hub);
    EXPECT_TEXT(heard(&fixture.peers[0]), "broken");
    EXPECT_TEXT(heard(&fixture.peers[1]), "broken");
    EXPECT_TEXT(heard(&fixture.peers[2]), "");
    EXPECT_INT(fixture.hub.troubles[HUB_WRITING].err != ERR_OK, 1);
    kit_run(&fixture.kit, "DROP TRIGGER no");
    /* In the middle of a group: the message that ended it is not handled. */
    hub_group_begin(&fixture.hub);
    raw_open(&fixture.peers[0], "s1");
    (void)heard(&fixture.peers[0]);
    kit_run(&fixture.kit,
            "CREATE TRIGGER no BEFORE INSERT ON \"commit\""
            " BEGIN SELECT RAISE(ABORT, 'no'); END");
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    raw_watch(&fixture.peers[0], "B");
    EXPECT_TEXT(heard(&fixture.peers[0]), "broken");
    kit_run(&fixture.kit, "DROP TRIGGER no");
    hub_group_end(&fixture.hub);
    raw_open(&fixture.peers[0], "s1");
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    EXPECT_CONTAINS(heard(&fixture.peers[0]), "verdicts 1@1");
    hub_fixture_end(&fixture);
}

TEST(borrowed_commits_are_not_deferred_and_come_behind_those_that_are)
{
    struct hub_fixture fixture;
    begin(&fixture, false);
    struct raw *raw = &fixture.peers[1];
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    struct buf json = kit_commit_json("s2 1 | conf A @0 | set A 2");
    struct value value = from_json(buf_text(&json));
    struct commit commit;
    EXPECT_INT(commit_read(value, &raw->paths, &commit, NULL), ERR_OK);
    struct message message = {
        .kind = MESSAGE_COMMITS,
        .connection = raw->connection,
        .number = ++raw->number,
    };
    vec_push(&message.commits, &commit);
    hub_receive(raw->peer, &message);
    EXPECT_TEXT(heard(raw), "verdicts 1!CONFLICT");
    EXPECT_TEXT(heard(&fixture.peers[0]), "verdicts 1@1");
    EXPECT_EQ(message.commits.count, 1);
    hub_group_end(&fixture.hub);
    EXPECT_TEXT(heard(raw), "");
    message_release(&message);
    commit_release(&commit);
    value_unref(value);
    buf_release(&json);
    hub_fixture_end(&fixture);
}

/* -- The judge ----------------------------------------------------------- */

/* Lets bob write until a commit of alice that writes to "rules" has landed. */
struct rules {
    struct store_kit *kit;
    size_t asked;
};

static enum err judge(void *ctx,
                      struct hub_judgement *judgement,
                      struct err_detail *detail)
{
    struct rules *rules = ctx;
    const struct value id = judgement->commit->ops.at[0].target.id;
    rules->asked++;
    EXPECT(key_equal(judgement->peer->session != NULL
                         ? judgement->peer->principal
                         : VALUE_NONE,
                     judgement->principal));
    judgement->barrier = value_is_text(id, "rules");
    if (value_is_text(judgement->principal, "bob") &&
        strcmp(kit_read(rules->kit, "rules"), "(absent)") != 0) {
        return err_set(detail, ERR_ACCESS, "bob may not write");
    }
    return ERR_OK;
}

TEST(a_judge_knows_the_principal_and_a_barrier_is_decided_before_it_goes_on)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, false);
    struct rules rules = {.kit = &fixture.kit};
    fixture.hub.options.judge = judge;
    fixture.hub.options.ctx = &rules;
    struct raw *alice = &fixture.peers[0];
    struct raw *bob = &fixture.peers[1];
    alice->principal = "alice";
    bob->principal = "bob";
    raw_open(alice, "s1");
    raw_open(bob, "s2");
    (void)heard(alice);
    (void)heard(bob);
    hub_group_begin(&fixture.hub);
    raw_commit(bob, "s2 1 | set B 1");
    raw_commit(alice, "s1 1 | set rules 1");
    raw_commit(bob, "s2 2 | set B 2");
    raw_commit(alice, "s1 2 | set A 2");
    raw_commit(bob, "s9 3 | set B 3");
    raw_commit(alice, "s1 3 | set A 3");
    hub_group_end(&fixture.hub);
    EXPECT_TEXT(heard(alice), "verdicts 1@2 2@3 3@4");
    EXPECT_TEXT(heard(bob), "verdicts 1@1 2!ACCESS 3!PROTOCOL");
    EXPECT_TEXT(kit_read(&fixture.kit, "B"), "{'value':1}");
    /* Refused commits do not divide a group; the barrier does. */
    EXPECT_EQ(fixture.hub.counters.groups, 2);
    EXPECT_EQ(fixture.hub.counters.commits, 4);
    EXPECT_EQ(rules.asked, 5);
    hub_fixture_end(&fixture);
}
