/* src/replica/session: connecting, sending, sending again (session-1 to
 * session-3; scenarios O, and those of P and Q that are about connections). */

#include <stdio.h>
#include <string.h>

#include "lib/replica_kit.h"
#include "lib/test.h"

/* A session that watches A and B, both 0 at seq 1. */
static void begin(struct fixture *fixture)
{
    fixture_open(fixture, "s1");
    EXPECT_COMMIT(fixture, "read A | read B");
    fixture_say(fixture, "sync 0-1 pull A@1=0 B@1=0");
    fixture_step(fixture, 0);
    (void)fixture_heard(fixture);
    (void)fixture_said(fixture);
}

static void end(struct fixture *fixture)
{
    EXPECT_STAGE(fixture);
    fixture_close(fixture);
}

/* -- Opening ------------------------------------------------------------- */

TEST(q18_nothing_is_opened_before_there_is_something_to_send)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    fixture_step(&fixture, 1000);
    EXPECT_COMMIT(&fixture, "read A");
    EXPECT_TEXT(fixture_said(&fixture),
                "connect; open s1 seen=0; watch A"); /* it looked at A */
    end(&fixture);

    fixture_open(&fixture, "s1");
    fixture_step(&fixture, 1000);
    struct transaction *transaction = fixture_begin(&fixture);
    EXPECT_TEXT(fixture_said(&fixture), "");
    transaction_release(transaction);
    EXPECT_TEXT(fixture_said(&fixture), "");
    EXPECT_EQ(replica_next_wake(&fixture.replica), MONO_NEVER);
    end(&fixture);
}

TEST(q18_it_is_opened_once_and_tried_again_after_a_failure)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    fixture.script.slow = true;
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "put B 1");
    EXPECT_TEXT(fixture_said(&fixture), "connect");
    fixture_lose(&fixture);
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT_TEXT(fixture_said(&fixture), "");
    fixture_wake(&fixture);
    EXPECT_TEXT(fixture_said(&fixture), "connect");
    fixture_connected(&fixture);
    EXPECT_TEXT(fixture_said(&fixture),
                "open s1 seen=0; watch B A; commits 1 2 3");
    end(&fixture);
}

TEST(a_store_may_choose_the_name_of_a_session)
{
    struct fixture fixture;
    fixture_open(&fixture, "");
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_TEXT(fixture_said(&fixture),
                "connect; open seen=0; watch A; commits 1");
    EXPECT_CONTAINS(buf_text(&fixture.script.last), "'session':'chosen'");
    fixture_lose(&fixture);
    fixture_wake(&fixture);
    EXPECT_CONTAINS(fixture_said(&fixture), "open chosen seen=0");
    end(&fixture);
}

TEST(a_batch_is_one_message)
{
    struct fixture fixture;
    begin(&fixture);
    fixture.space->batch = true;
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "put B 1");
    EXPECT_TEXT(fixture_said(&fixture), "");
    EXPECT_TEXT(fixture_see(&fixture, "B"), "1");
    space_flush(fixture.space);
    EXPECT_TEXT(fixture_said(&fixture), "commits 1 2");
    end(&fixture);
}

/* -- Sending again ------------------------------------------------------- */

TEST(o01_a_commit_is_sent_again_after_a_loss)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_TEXT(fixture_said(&fixture), "commits 1");
    fixture_lose(&fixture);
    fixture_wake(&fixture);
    EXPECT_TEXT(fixture_said(&fixture), "connect; open s1 seen=1; commits 1");
    fixture_say(&fixture, "verdict 1 @2");
    fixture_say(&fixture, "sync 1-2 mark=1");
    EXPECT_TEXT(fixture_outcomes(&fixture), "verdict #1 @2; settled #1 @2");
    EXPECT_EQ(fixture.space->session->counters.sent_commits, 2);
    end(&fixture);
}

TEST(o02_all_that_is_outstanding_is_sent_again_in_order)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT_TEXT(fixture_said(&fixture), "commits 1; commits 2");
    fixture_lose(&fixture);
    EXPECT_COMMIT(&fixture, "put A 3");
    fixture_wake(&fixture);
    EXPECT_TEXT(fixture_said(&fixture),
                "connect; open s1 seen=1; commits 1 2 3");
    fixture_say(&fixture, "verdict 1 @2");
    fixture_say(&fixture, "verdict 2 @3");
    fixture_say(&fixture, "verdict 3 @4");
    fixture_say(&fixture, "sync 1-4 mark=3");
    EXPECT_EQ(space_outstanding(fixture.space), 0);
    end(&fixture);
}

/* What is outstanding costs the next commit nothing. */
TEST(a_commit_is_sent_without_a_look_at_those_before_it)
{
    struct fixture fixture;
    begin(&fixture);
    for (unsigned i = 1; i <= 100; i++) {
        char line[32];
        (void)snprintf(line, sizeof line, "put A %u", i);
        EXPECT_COMMIT(&fixture, line);
    }
    const struct session *session = fixture.space->session;
    EXPECT_EQ(session->counters.sent_commits, 100);
    EXPECT_EQ(session->counters.looked_at, 100);
    fixture_lose(&fixture); /* all of them again, in order */
    fixture_wake(&fixture);
    EXPECT_EQ(session->counters.sent_commits, 200);
    EXPECT_EQ(session->counters.looked_at, 200);
    end(&fixture);
}

TEST(o05_a_resumed_session_need_not_watch_again)
{
    struct fixture fixture;
    begin(&fixture);
    fixture_lose(&fixture);
    fixture_wake(&fixture);
    EXPECT_TEXT(fixture_said(&fixture), "connect; open s1 seen=1");
    fixture_say(&fixture, "sync 1-5 A@5=5");
    EXPECT_TEXT(fixture_heard(&fixture), "integrate A 0->5");
    EXPECT_EQ(fixture.space->session->counters.resumed, 1);
    end(&fixture);
}

TEST(o05_a_session_that_was_forgotten_watches_again)
{
    struct fixture fixture;
    begin(&fixture);
    fixture.script.forgets = true;
    fixture_lose(&fixture);
    fixture_wake(&fixture);
    const char *said = fixture_said(&fixture);
    EXPECT_CONTAINS(said, "connect; open s1 seen=1; watch ");
    EXPECT_CONTAINS(said, " A");
    EXPECT_CONTAINS(said, " B");
    end(&fixture);
}

/* The watch may have been lost with its connection. */
TEST(o05_what_has_not_come_is_watched_again_even_if_resumed)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read C");
    EXPECT_TEXT(fixture_said(&fixture), "watch C");
    fixture_lose(&fixture);
    fixture_wake(&fixture);
    EXPECT_TEXT(fixture_said(&fixture), "connect; open s1 seen=1; watch C");
    fixture_say(&fixture, "sync 1-1 pull C@1=3");
    EXPECT_TEXT(fixture_see(&fixture, "C"), "3");
    end(&fixture);
}

/* What was not seen of it comes in the sync that follows. */
TEST(o05_the_marker_of_an_open_is_not_believed)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "inc A 1");
    fixture_say(&fixture, "verdict 1 @3");
    fixture_lose(&fixture);
    fixture.script.mute = true;
    fixture_wake(&fixture);
    fixture_say(&fixture, "opened s1 resumed caught=1");
    EXPECT_EQ(fixture_entity(&fixture, "A")->seq, 1);
    EXPECT_EQ(space_outstanding(fixture.space), 1);
    fixture_say(&fixture, "sync 1-3 mark=1 A@3=11");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "11");
    EXPECT_EQ(space_outstanding(fixture.space), 0);
    end(&fixture);
}

TEST(o07_another_session_gets_nothing_of_what_was_outstanding)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    fixture_lose(&fixture);
    fixture.script.mute = true;
    fixture_wake(&fixture);
    (void)fixture_said(&fixture);
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "opened s2");
    EXPECT_TEXT(fixture_heard(&fixture), "revert #1 SESSION_LOST A 1->0");
    EXPECT_TEXT(fixture_outcomes(&fixture),
                "verdict #1 SESSION_LOST: another session replaced this one; "
                "settled #1 SESSION_LOST: another session replaced this one");
    const char *said = fixture_said(&fixture);
    EXPECT_CONTAINS(said, "watch ");
    EXPECT(strstr(said, "commits") == NULL);
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT_CONTAINS(buf_text(&fixture.script.last), "'session':'s2'");
    end(&fixture);
}

TEST(o07_the_same_session_forgotten_sends_again_and_ends_the_waiting)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    EXPECT_COMMIT(&fixture, "read B | put B 1");
    EXPECT_COMMIT(&fixture, "put C 1");
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    fixture_say(&fixture, "verdict 2 @3");
    fixture.script.forgets = true;
    fixture_lose(&fixture);
    (void)fixture_outcomes(&fixture);
    (void)fixture_heard(&fixture);
    (void)fixture_said(&fixture);
    fixture_wake(&fixture);
    EXPECT_CONTAINS(fixture_said(&fixture), "; commits 3");
    EXPECT_TEXT(fixture_outcomes(&fixture),
                "settled #2 @3; settled #1 CONFLICT: as scripted");
    EXPECT_TEXT(fixture_heard(&fixture), "revert #1 CONFLICT A 1->0");
    EXPECT_TEXT(fixture_see(&fixture, "B"), "1");
    end(&fixture);
}

/* The store has not told what came before it: who reads it now must not claim
 * to have seen that. */
TEST(o07_what_landed_without_a_marker_is_no_newer_basis_for_reads)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "inc A 1");
    fixture_say(&fixture, "verdict 1 @7");
    fixture.script.forgets = true;
    fixture_lose(&fixture);
    fixture_wake(&fixture);
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    EXPECT_COMMIT(&fixture, "read A | put B 1");
    EXPECT_CONTAINS(buf_text(&fixture.script.last),
                    "{'id':'A','path':['value'],'seq':1}");
    fixture_say(&fixture, "sync 0-7 pull A@7=11 B@1=0");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "11");
    end(&fixture);
}

TEST(p11_the_answer_to_a_repetition_decides)
{
    static const char *const answers[] = {"verdict 1 @2",
                                          "verdict 1 CONFLICT A"};
    static const char *const visible[] = {"1", "0"};
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct fixture fixture;
        begin(&fixture);
        EXPECT_COMMIT(&fixture, "read A | put A 1");
        fixture_lose(&fixture);
        EXPECT_COMMIT(&fixture, "put B 2");
        fixture_wake(&fixture);
        EXPECT_TEXT(fixture_said(&fixture),
                    "commits 1; connect; open s1 seen=1; commits 1 2");
        fixture_say(&fixture, answers[i]);
        fixture_say(&fixture, "verdict 2 @3");
        fixture_say(&fixture, "sync 1-3 mark=2");
        EXPECT_TEXT(fixture_see(&fixture, "A"), visible[i]);
        EXPECT_TEXT(fixture_see(&fixture, "B"), "2");
        EXPECT_EQ(space_outstanding(fixture.space), 0);
        end(&fixture);
    }
}

/* It landed, and the answer was lost. What the store tells first holds it
 * already; with its layer on top it would be there twice. */
TEST(p35_an_own_commit_is_never_seen_twice)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "inc A 1");
    fixture_lose(&fixture);
    (void)fixture_heard(&fixture);
    fixture_wake(&fixture);
    fixture_say(&fixture, "sync 1-3 mark=1 A@2=1 B@3=9");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    fixture_say(&fixture, "verdict 1 @2");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    EXPECT_TEXT(fixture_confirmed(&fixture, "A"), "1");
    EXPECT_TEXT(fixture_heard(&fixture), "integrate B 0->9");
    EXPECT_TEXT(fixture_outcomes(&fixture), "verdict #1 @2; settled #1 @2");
    EXPECT_EQ(fixture.space->session->seen_seq, 3);
    end(&fixture);
}

/* What was received is integrated in its order, whatever happens: what comes
 * later may rest on it. */
TEST(p35_what_was_held_back_survives_its_connection)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "inc A 1");
    fixture_lose(&fixture);
    fixture_wake(&fixture);
    fixture_say(&fixture, "sync 1-3 mark=1 A@2=1 B@3=9");
    fixture_lose(&fixture);
    (void)fixture_said(&fixture);
    fixture_wake(&fixture);
    EXPECT_TEXT(fixture_said(&fixture), "connect; open s1 seen=1; commits 1");
    fixture_say(&fixture, "verdict 1 @2");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "1");
    EXPECT_TEXT(fixture_see(&fixture, "B"), "9");
    EXPECT_EQ(fixture.space->session->seen_seq, 3);
    EXPECT_EQ(space_outstanding(fixture.space), 0);
    end(&fixture);
}

/* The store refused it, and the answer was lost; sent again, it lands. What was
 * told before does not catch up with that. */
TEST(p35_a_marker_is_of_no_use_for_a_later_answer)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "inc A 1");
    fixture_lose(&fixture);
    fixture_wake(&fixture);
    fixture_say(&fixture, "sync 1-5 mark=1 A@5=50");
    fixture_say(&fixture, "verdict 1 @9");
    EXPECT_EQ(fixture_entity(&fixture, "A")->seq, 5);
    EXPECT_EQ(space_outstanding(fixture.space), 1);
    fixture_say(&fixture, "sync 5-8 A@8=80");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "81");
    EXPECT_EQ(space_outstanding(fixture.space), 1);
    fixture_say(&fixture, "sync 8-9 mark=1");
    EXPECT_TEXT(fixture_confirmed(&fixture, "A"), "81");
    EXPECT_EQ(fixture_entity(&fixture, "A")->seq, 9);
    EXPECT_EQ(space_outstanding(fixture.space), 0);
    end(&fixture);
}

/* space-3 */
TEST(what_is_doomed_is_not_sent_again)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    EXPECT_COMMIT(&fixture, "read A | put B 1");
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    fixture_lose(&fixture);
    (void)fixture_said(&fixture);
    fixture_wake(&fixture);
    EXPECT_TEXT(fixture_said(&fixture), "connect; open s1 seen=1");
    fixture_say(&fixture, "sync 1-2 mark=2 A@2=5 B@1=0");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "5");
    EXPECT_EQ(space_outstanding(fixture.space), 0);
    end(&fixture);
}

/* -- Order (session-1) --------------------------------------------------- */

TEST(i1_a_repetition_is_ignored_and_a_gap_breaks_the_connection)
{
    struct fixture fixture;
    begin(&fixture);
    fixture.script.number--;
    fixture_say(&fixture, "sync 1-5 A@5=5");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "0");
    EXPECT_EQ(fixture.space->session->counters.dropped_messages, 1);
    fixture.script.number++;
    fixture_say(&fixture, "sync 1-6 A@6=6");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "0");
    EXPECT_TEXT(fixture_said(&fixture), "disconnect");
    fixture_wake(&fixture);
    EXPECT_TEXT(fixture_said(&fixture), "connect; open s1 seen=1");
    end(&fixture);
}

TEST(i1_what_is_left_of_an_old_connection_is_ignored)
{
    struct fixture fixture;
    begin(&fixture);
    fixture_lose(&fixture);
    fixture_wake(&fixture);
    fixture.script.connection--;
    fixture_say(&fixture, "sync 1-5 A@5=5");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "0");
    EXPECT_EQ(fixture.space->session->counters.dropped_messages, 1);
    end(&fixture);
}

/* It was received, but not looked at while the connection was alive. */
TEST(i1_an_answer_to_an_old_open_does_not_open_the_new_connection)
{
    struct fixture fixture;
    begin(&fixture);
    fixture_lose(&fixture);
    struct transaction *transaction = fixture_begin(&fixture);
    fixture_wake(&fixture); /* opened, in the inbox */
    fixture_lose(&fixture);
    fixture.script.mute = true;
    fixture.script.forgets = true;
    fixture_wake(&fixture);
    (void)fixture_said(&fixture);
    transaction_release(transaction);
    EXPECT(fixture.space->session->state == SESSION_OPENING);
    fixture_say(&fixture, "opened s1");
    EXPECT_CONTAINS(fixture_said(&fixture), "watch ");
    end(&fixture);
}

TEST(o12_a_message_that_cannot_be_read_breaks_the_connection)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    session_receive_garbage(fixture.space->session);
    EXPECT_TEXT(fixture_said(&fixture), "commits 1; disconnect");
    fixture_wake(&fixture);
    EXPECT_TEXT(fixture_said(&fixture), "connect; open s1 seen=1; commits 1");
    /* And so does one that is none of a store. */
    fixture_say(&fixture, "open");
    EXPECT_TEXT(fixture_said(&fixture), "disconnect");
    end(&fixture);
}

/* -- session-3 ----------------------------------------------------------- */

TEST(i3_nothing_arrives_while_a_transaction_is_open)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put B 1");
    struct transaction *outer = fixture_begin(&fixture);
    struct transaction *inner = fixture_begin(&fixture);
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "verdict 1 @2");
    fixture_say(&fixture, "sync 1-3 mark=1 A@3=3");
    EXPECT_TEXT(fixture_read(&fixture, outer, "A"), "0");
    transaction_release(inner);
    EXPECT_TEXT(fixture_read(&fixture, outer, "A"), "0");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    EXPECT_TEXT(fixture_outcomes(&fixture), "");
    transaction_release(outer);
    EXPECT_TEXT(fixture_heard(&fixture), "integrate A 0->3");
    EXPECT_TEXT(fixture_outcomes(&fixture), "verdict #1 @2; settled #1 @2");
    end(&fixture);
}

static enum channel_answer say_more(void *ctx, const struct notification *what)
{
    struct fixture *fixture = ctx;
    if (what->kind == NOTIFY_COMMIT) {
        fixture_say(fixture, "sync 1-3 A@3=3");
        EXPECT_TEXT(fixture_see(fixture, "A"), "0");
    }
    return CHANNEL_MORE;
}

TEST(i3_nothing_arrives_while_somebody_is_told)
{
    struct fixture fixture;
    begin(&fixture);
    struct subscriber subscriber = {.fn = say_more, .ctx = &fixture};
    channel_subscribe(&fixture.replica, &subscriber);
    EXPECT_COMMIT(&fixture, "put B 1");
    EXPECT_TEXT(fixture_heard(&fixture), "commit #1 B 0->1; integrate A 0->3");
    channel_unsubscribe(&subscriber);
    end(&fixture);
}

static enum channel_answer say_at_revert(void *ctx,
                                         const struct notification *what)
{
    struct fixture *fixture = ctx;
    if (what->kind == NOTIFY_REVERT) {
        fixture_say(fixture, "sync 1-3 A@3=3");
        EXPECT_TEXT(fixture_see(fixture, "A"), "0");
    }
    return CHANNEL_MORE;
}

/* Also where no transaction is open, and no message is being handled. */
TEST(i3_nothing_arrives_while_somebody_is_told_of_a_revert)
{
    struct fixture fixture;
    begin(&fixture);
    struct subscriber subscriber = {.fn = say_at_revert, .ctx = &fixture};
    channel_subscribe(&fixture.replica, &subscriber);
    EXPECT_COMMIT(&fixture, "read A | put A 1");
    fixture_say(&fixture, "verdict 1 CONFLICT A");
    (void)fixture_heard(&fixture);
    fixture_step(&fixture, SPACE_REPAIR_MS);
    EXPECT_TEXT(fixture_heard(&fixture),
                "revert #1 CONFLICT A 1->0; integrate A 0->3");
    channel_unsubscribe(&subscriber);
    end(&fixture);
}

/* A store that answers from inside `send`. */
TEST(answers_from_inside_wait_until_all_is_sent)
{
    struct fixture fixture;
    begin(&fixture);
    fixture.script.accepts = true;
    fixture.script.seq = 1;
    fixture.space->batch = true;
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "put B 1");
    fixture.on_settled = "put A 3";
    space_flush(fixture.space);
    EXPECT_TEXT(fixture_outcomes(&fixture),
                "verdict #1 @2; verdict #2 @3; settled #1 @2; settled #2 @3");
    fixture_step(&fixture, 0);
    EXPECT_TEXT(fixture_outcomes(&fixture), "verdict #3 @4; settled #3 @4");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "3");
    EXPECT_EQ(space_outstanding(fixture.space), 0);
    end(&fixture);
}

/* -- Acks ---------------------------------------------------------------- */

TEST(o09_an_ack_says_once_what_was_seen)
{
    struct fixture fixture;
    begin(&fixture);
    fixture_say(&fixture, "sync 1-2 A@2=2");
    fixture_say(&fixture, "sync 2-3 A@3=3");
    fixture_say(&fixture, "sync 3-4 A@4=4");
    EXPECT_TEXT(fixture_said(&fixture), "");
    fixture_wake(&fixture);
    EXPECT_TEXT(fixture_said(&fixture), "ack 4");
    fixture_step(&fixture, 100);
    EXPECT_TEXT(fixture_said(&fixture), "");
    fixture_say(&fixture, "sync 4-5 A@5=5");
    fixture_lose(&fixture);
    fixture_step(&fixture, 0);
    EXPECT_TEXT(fixture_said(&fixture), "");
    end(&fixture);
}

/* -- Time ---------------------------------------------------------------- */

TEST(o10_the_wait_for_the_next_attempt_doubles_up_to_thirty_seconds)
{
    struct fixture fixture;
    begin(&fixture);
    fixture.script.slow = true;
    mono_ms base = SESSION_BACKOFF_MS;
    fixture_lose(&fixture);
    for (int i = 0; i < 16; i++) {
        const mono_ms wait =
            replica_next_wake(&fixture.replica) - fixture.space->session->now;
        EXPECT(wait >= base && wait <= base + base / 5);
        fixture_wake(&fixture);
        EXPECT_TEXT(fixture_said(&fixture), "connect");
        fixture_lose(&fixture);
        base = base * 2 < SESSION_BACKOFF_MAX_MS ? base * 2
                                                 : SESSION_BACKOFF_MAX_MS;
    }
    /* It begins anew after a success. */
    fixture.script.slow = false;
    fixture_wake(&fixture);
    fixture_lose(&fixture);
    EXPECT(replica_next_wake(&fixture.replica) - fixture.space->session->now <=
           SESSION_BACKOFF_MS + SESSION_BACKOFF_MS / 5);
    end(&fixture);
}

TEST(o10_a_close_ends_every_wait)
{
    struct fixture fixture;
    begin(&fixture);
    fixture_lose(&fixture);
    EXPECT_STAGE(&fixture);
    fixture_close_space(&fixture);
    EXPECT_EQ(replica_next_wake(&fixture.replica), MONO_NEVER);
    EXPECT_TEXT(fixture_said(&fixture), "");
    fixture_close(&fixture);

    begin(&fixture);
    fixture_lose(&fixture);
    fixture.script.mute = true;
    fixture_wake(&fixture);
    (void)fixture_said(&fixture);
    fixture_close_space(&fixture);
    EXPECT_TEXT(fixture_said(&fixture), "disconnect");
    fixture_close(&fixture);
}

TEST(a_connection_that_owes_an_answer_and_is_silent_is_taken_for_dead)
{
    static const char *const owed[] = {"put A 1", "read C"};
    for (size_t i = 0; i < COUNT_OF(owed); i++) {
        struct fixture fixture;
        begin(&fixture);
        EXPECT_EQ(replica_next_wake(&fixture.replica), MONO_NEVER);
        EXPECT_COMMIT(&fixture, owed[i]);
        (void)fixture_said(&fixture);
        fixture_step(&fixture, SESSION_ANSWER_MS - 1);
        EXPECT_TEXT(fixture_said(&fixture), "");
        fixture_step(&fixture, 1);
        EXPECT_TEXT(fixture_said(&fixture), "disconnect");
        end(&fixture);
    }
}

/* Of several watches each is answered. */
TEST(silence_is_no_fault_when_nothing_is_owed)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "read C");
    EXPECT_COMMIT(&fixture, "read D");
    fixture_say(&fixture, "sync 1-1 pull C@1=0");
    EXPECT(replica_next_wake(&fixture.replica) != MONO_NEVER);
    fixture_say(&fixture, "sync 1-1 pull D@1=0");
    EXPECT_EQ(replica_next_wake(&fixture.replica), MONO_NEVER);
    end(&fixture);
}

/* -- The end ------------------------------------------------------------- */

TEST(o14_an_answer_before_the_close_counts)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    fixture_say(&fixture, "verdict 1 @2");
    EXPECT_STAGE(&fixture);
    fixture_close_space(&fixture);
    EXPECT_TEXT(fixture_outcomes(&fixture), "verdict #1 @2; settled #1 @2");
    EXPECT_EQ(fixture.subscriber.node.next != NULL, 1);
    fixture_close(&fixture);
}

TEST(q19_who_wants_to_wait_steps_until_nothing_is_outstanding)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_EQ(space_outstanding(fixture.space), 1);
    fixture_say(&fixture, "verdict 1 @2");
    EXPECT_EQ(space_outstanding(fixture.space), 1);
    fixture_say(&fixture, "sync 1-2 mark=1");
    EXPECT_EQ(space_outstanding(fixture.space), 0);
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT_STAGE(&fixture);
    fixture_close_space(&fixture);
    EXPECT_CONTAINS(fixture_outcomes(&fixture), "settled #2 CLOSED");
    fixture_close(&fixture);
}

TEST(a_revoked_session_stays_so_and_takes_no_commit)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    (void)fixture_said(&fixture);
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "revoked taken-over");
    EXPECT_TEXT(fixture_said(&fixture), "disconnect");
    EXPECT_TEXT(fixture_heard(&fixture), "revert #1 SESSION_LOST A 1->0");
    EXPECT_CONTAINS(fixture_outcomes(&fixture), "taken-over");
    EXPECT_NO_COMMIT(&fixture, ERR_SESSION_LOST, "put A 2");
    EXPECT_TEXT(fixture_see(&fixture, "A"), "0");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    fixture_step(&fixture, 100000);
    EXPECT_TEXT(fixture_said(&fixture), "");
    EXPECT_COMMIT(&fixture, "read A | put A 0"); /* changes nothing */
    end(&fixture);
}

static enum err commit_in_callback;

static void commit_again(void *ctx, const struct verdict *verdict)
{
    (void)verdict;
    commit_in_callback = fixture_commit(ctx, "put B 7");
}

TEST(who_is_told_of_a_close_cannot_commit_any_more)
{
    struct fixture fixture;
    begin(&fixture);
    const struct transaction_options options = {
        .watch = {.settled = commit_again, .ctx = &fixture},
    };
    struct transaction *transaction =
        transaction_begin(&fixture.replica, &options);
    EXPECT(fixture_do(&fixture, transaction, "put A 1") == ERR_OK);
    EXPECT(fixture_end(&fixture, transaction) == ERR_OK);
    EXPECT_STAGE(&fixture);
    fixture_close_space(&fixture);
    EXPECT_INT(commit_in_callback, ERR_CLOSED);
    fixture_close(&fixture);
}

TEST(p17_after_a_reset_everything_is_asked_for_again)
{
    struct fixture fixture;
    begin(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    (void)fixture_said(&fixture);
    space_reset(fixture.space);
    EXPECT_TEXT(fixture_said(&fixture), "disconnect");
    fixture.script.forgets = true;
    fixture_step(&fixture, 0);
    EXPECT_CONTAINS(fixture_said(&fixture), "connect; open s1 seen=0; watch ");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "sync 0-1 pull A@1=0 B@1=0");
    EXPECT_CONTAINS(fixture_heard(&fixture), "A ()->0");
    end(&fixture);
}

/* -- Deltas -------------------------------------------------------------- */

#define INCREMENT "[{'op':'increment','path':'/value','by':5}]"

TEST(a_delta_is_applied_below_what_is_pending)
{
    struct fixture fixture;
    begin(&fixture);
    fixture_say(&fixture, "sync 1-2 A@2+1=" INCREMENT);
    EXPECT_TEXT(fixture_heard(&fixture), "integrate A 0->5");
    EXPECT_COMMIT(&fixture, "inc A 1");
    EXPECT_COMMIT(&fixture, "put B 1");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "verdict 1 @4");
    fixture_say(&fixture, "sync 2-4 mark=1 A@3+2=" INCREMENT);
    EXPECT_TEXT(fixture_confirmed(&fixture, "A"), "11");
    EXPECT_TEXT(fixture_see(&fixture, "B"), "1");
    /* From the own commit on, which is part of it. */
    fixture_say(&fixture, "sync 4-5 A@5+4=" INCREMENT);
    EXPECT_TEXT(fixture_see(&fixture, "A"), "16");
    EXPECT_EQ(fixture_entity(&fixture, "A")->seq, 5);
    EXPECT_EQ(fixture.space->session->counters.useless_deltas, 0);
    end(&fixture);
}

TEST(a_delta_of_another_state_changes_nothing_and_the_store_is_asked_again)
{
    static const char *const syncs[] = {
        ("sync 1-3 B@3=1 A@3+2=" INCREMENT),
        "sync 1-3 B@3=1 A@3+1=[{'op':'remove','path':'/value/none'}]",
        "sync 1-3 B@3=1 A@3+1=[{'op':'jump'}]",
    };
    for (size_t i = 0; i < COUNT_OF(syncs); i++) {
        struct fixture fixture;
        begin(&fixture);
        fixture_say(&fixture, syncs[i]);
        EXPECT_TEXT(fixture_heard(&fixture), "");
        EXPECT_TEXT(fixture_see(&fixture, "B"), "0");
        EXPECT_TEXT(fixture_said(&fixture), "disconnect");
        EXPECT_EQ(fixture.space->session->counters.useless_deltas, 1);
        fixture_wake(&fixture);
        EXPECT_TEXT(fixture_said(&fixture), "connect; open s1 seen=1");
        fixture_say(&fixture, "sync 1-3 A@3=7 B@3=1");
        EXPECT_TEXT(fixture_heard(&fixture), "integrate A 0->7 B 0->1");
        end(&fixture);
    }
}

/* What arrived behind it would leave a gap. */
TEST(what_came_behind_a_useless_delta_is_asked_for_again_too)
{
    struct fixture fixture;
    begin(&fixture);
    struct transaction *transaction = fixture_begin(&fixture);
    fixture_say(&fixture, "sync 1-3 A@3+2=" INCREMENT);
    fixture_say(&fixture, "sync 3-4 B@4=1");
    (void)fixture_end(&fixture, transaction);
    fixture_step(&fixture, 0);
    EXPECT_TEXT(fixture_see(&fixture, "B"), "0");
    fixture_wake(&fixture);
    EXPECT_CONTAINS(fixture_said(&fixture), "open s1 seen=1");
    end(&fixture);
}

TEST(a_delta_of_what_is_here_already_is_nothing_new)
{
    struct fixture fixture;
    begin(&fixture);
    fixture_say(&fixture, "sync 1-3 A@3=7");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "sync 3-3 A@3+1=" INCREMENT);
    fixture_say(&fixture, "sync 3-3 nobody@3+1=" INCREMENT);
    EXPECT_TEXT(fixture_see(&fixture, "A"), "7");
    EXPECT_EQ(fixture.space->session->counters.useless_deltas, 0);
    end(&fixture);
}

/* -- Tokens -------------------------------------------------------------- */

TEST(k09_a_session_shows_the_token_of_its_last_opening)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    fixture.script.token = "t1";
    EXPECT_COMMIT(&fixture, "read A");
    EXPECT_TEXT(fixture_said(&fixture), "connect; open s1 seen=0; watch A");
    fixture.script.token = "t2";
    fixture_lose(&fixture);
    fixture_wake(&fixture);
    EXPECT_CONTAINS(fixture_said(&fixture), "open s1 seen=0 token=t1");
    /* An answer that does not arrive changes nothing. */
    fixture.script.mute = true;
    fixture_lose(&fixture);
    fixture_wake(&fixture);
    fixture_lose(&fixture);
    fixture_wake(&fixture);
    EXPECT_TEXT(fixture_said(&fixture),
                "connect; open s1 seen=0 token=t2; "
                "connect; open s1 seen=0 token=t2");
    end(&fixture);
}
