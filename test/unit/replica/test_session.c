/* src/replica/session: connecting, sending, sending again (I1 to I3; scenarios
 * O, and those of P and Q that are about connections). */

#include <stdio.h>
#include <string.h>

#include "lib/replica_kit.h"
#include "lib/test.h"

/* A session that watches A and B, both 0 at seq 1. */
static void begin(struct stage *stage)
{
    stage_open(stage, "s1");
    EXPECT_COMMIT(stage, "read A | read B");
    stage_say(stage, "sync 0-1 pull A@1=0 B@1=0");
    stage_step(stage, 0);
    (void)stage_heard(stage);
    (void)stage_said(stage);
}

static void end(struct stage *stage)
{
    EXPECT_STAGE(stage);
    stage_close(stage);
}

/* -- Opening ------------------------------------------------------------- */

TEST(q18_nothing_is_opened_before_there_is_something_to_send)
{
    struct stage stage;
    stage_open(&stage, "s1");
    stage_step(&stage, 1000);
    EXPECT_COMMIT(&stage, "read A");
    EXPECT_TEXT(stage_said(&stage),
                "connect; open s1 seen=0; watch A"); /* it looked at A */
    end(&stage);

    stage_open(&stage, "s1");
    stage_step(&stage, 1000);
    struct transaction *transaction = stage_begin(&stage);
    EXPECT_TEXT(stage_said(&stage), "");
    transaction_release(transaction);
    EXPECT_TEXT(stage_said(&stage), "");
    EXPECT_EQ(replica_next_wake(&stage.replica), MONO_NEVER);
    end(&stage);
}

TEST(q18_it_is_opened_once_and_tried_again_after_a_failure)
{
    struct stage stage;
    stage_open(&stage, "s1");
    stage.script.slow = true;
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_COMMIT(&stage, "put B 1");
    EXPECT_TEXT(stage_said(&stage), "connect");
    stage_lose(&stage);
    EXPECT_COMMIT(&stage, "put A 2");
    EXPECT_TEXT(stage_said(&stage), "");
    stage_wake(&stage);
    EXPECT_TEXT(stage_said(&stage), "connect");
    stage_connected(&stage);
    EXPECT_TEXT(stage_said(&stage), "open s1 seen=0; watch B A; commits 1 2 3");
    end(&stage);
}

TEST(a_store_may_choose_the_name_of_a_session)
{
    struct stage stage;
    stage_open(&stage, "");
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_TEXT(stage_said(&stage), "connect; open seen=0; watch A; commits 1");
    EXPECT_CONTAINS(buf_text(&stage.script.last), "'session':'chosen'");
    stage_lose(&stage);
    stage_wake(&stage);
    EXPECT_CONTAINS(stage_said(&stage), "open chosen seen=0");
    end(&stage);
}

TEST(a_batch_is_one_message)
{
    struct stage stage;
    begin(&stage);
    stage.space->batch = true;
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_COMMIT(&stage, "put B 1");
    EXPECT_TEXT(stage_said(&stage), "");
    EXPECT_TEXT(stage_see(&stage, "B"), "1");
    space_flush(stage.space);
    EXPECT_TEXT(stage_said(&stage), "commits 1 2");
    end(&stage);
}

/* -- Sending again ------------------------------------------------------- */

TEST(o01_a_commit_is_sent_again_after_a_loss)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_TEXT(stage_said(&stage), "commits 1");
    stage_lose(&stage);
    stage_wake(&stage);
    EXPECT_TEXT(stage_said(&stage), "connect; open s1 seen=1; commits 1");
    stage_say(&stage, "verdict 1 @2");
    stage_say(&stage, "sync 1-2 mark=1");
    EXPECT_TEXT(stage_fates(&stage), "verdict #1 @2; settled #1 @2");
    EXPECT_EQ(stage.space->session->counters.sent_commits, 2);
    end(&stage);
}

TEST(o02_all_that_is_outstanding_is_sent_again_in_order)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_COMMIT(&stage, "put A 2");
    EXPECT_TEXT(stage_said(&stage), "commits 1; commits 2");
    stage_lose(&stage);
    EXPECT_COMMIT(&stage, "put A 3");
    stage_wake(&stage);
    EXPECT_TEXT(stage_said(&stage), "connect; open s1 seen=1; commits 1 2 3");
    stage_say(&stage, "verdict 1 @2");
    stage_say(&stage, "verdict 2 @3");
    stage_say(&stage, "verdict 3 @4");
    stage_say(&stage, "sync 1-4 mark=3");
    EXPECT_EQ(space_outstanding(stage.space), 0);
    end(&stage);
}

/* What is outstanding costs the next commit nothing. */
TEST(a_commit_is_sent_without_a_look_at_those_before_it)
{
    struct stage stage;
    begin(&stage);
    for (unsigned i = 1; i <= 100; i++) {
        char line[32];
        (void)snprintf(line, sizeof line, "put A %u", i);
        EXPECT_COMMIT(&stage, line);
    }
    const struct session *session = stage.space->session;
    EXPECT_EQ(session->counters.sent_commits, 100);
    EXPECT_EQ(session->counters.looked_at, 100);
    stage_lose(&stage); /* all of them again, in order */
    stage_wake(&stage);
    EXPECT_EQ(session->counters.sent_commits, 200);
    EXPECT_EQ(session->counters.looked_at, 200);
    end(&stage);
}

TEST(o05_a_resumed_session_need_not_watch_again)
{
    struct stage stage;
    begin(&stage);
    stage_lose(&stage);
    stage_wake(&stage);
    EXPECT_TEXT(stage_said(&stage), "connect; open s1 seen=1");
    stage_say(&stage, "sync 1-5 A@5=5");
    EXPECT_TEXT(stage_heard(&stage), "integrate A 0->5");
    EXPECT_EQ(stage.space->session->counters.resumed, 1);
    end(&stage);
}

TEST(o05_a_session_that_was_forgotten_watches_again)
{
    struct stage stage;
    begin(&stage);
    stage.script.forgets = true;
    stage_lose(&stage);
    stage_wake(&stage);
    const char *said = stage_said(&stage);
    EXPECT_CONTAINS(said, "connect; open s1 seen=1; watch ");
    EXPECT_CONTAINS(said, " A");
    EXPECT_CONTAINS(said, " B");
    end(&stage);
}

/* The watch may have been lost with its connection. */
TEST(o05_what_has_not_come_is_watched_again_even_if_resumed)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read C");
    EXPECT_TEXT(stage_said(&stage), "watch C");
    stage_lose(&stage);
    stage_wake(&stage);
    EXPECT_TEXT(stage_said(&stage), "connect; open s1 seen=1; watch C");
    stage_say(&stage, "sync 1-1 pull C@1=3");
    EXPECT_TEXT(stage_see(&stage, "C"), "3");
    end(&stage);
}

/* What was not seen of it comes in the sync that follows. */
TEST(o05_the_marker_of_an_open_is_not_believed)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "inc A 1");
    stage_say(&stage, "verdict 1 @3");
    stage_lose(&stage);
    stage.script.mute = true;
    stage_wake(&stage);
    stage_say(&stage, "opened s1 resumed caught=1");
    EXPECT_EQ(stage_entity(&stage, "A")->seq, 1);
    EXPECT_EQ(space_outstanding(stage.space), 1);
    stage_say(&stage, "sync 1-3 mark=1 A@3=11");
    EXPECT_TEXT(stage_see(&stage, "A"), "11");
    EXPECT_EQ(space_outstanding(stage.space), 0);
    end(&stage);
}

TEST(o07_another_session_gets_nothing_of_what_was_outstanding)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    stage_lose(&stage);
    stage.script.mute = true;
    stage_wake(&stage);
    (void)stage_said(&stage);
    (void)stage_heard(&stage);
    stage_say(&stage, "opened s2");
    EXPECT_TEXT(stage_heard(&stage), "revert #1 SESSION_LOST A 1->0");
    EXPECT_TEXT(stage_fates(&stage),
                "verdict #1 SESSION_LOST: another session replaced this one; "
                "settled #1 SESSION_LOST: another session replaced this one");
    const char *said = stage_said(&stage);
    EXPECT_CONTAINS(said, "watch ");
    EXPECT(strstr(said, "commits") == NULL);
    EXPECT_COMMIT(&stage, "put A 2");
    EXPECT_CONTAINS(buf_text(&stage.script.last), "'session':'s2'");
    end(&stage);
}

TEST(o07_the_same_session_forgotten_sends_again_and_ends_the_waiting)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    EXPECT_COMMIT(&stage, "read B | put B 1");
    EXPECT_COMMIT(&stage, "put C 1");
    stage_say(&stage, "verdict 1 CONFLICT A");
    stage_say(&stage, "verdict 2 @3");
    stage.script.forgets = true;
    stage_lose(&stage);
    (void)stage_fates(&stage);
    (void)stage_heard(&stage);
    (void)stage_said(&stage);
    stage_wake(&stage);
    EXPECT_CONTAINS(stage_said(&stage), "; commits 3");
    EXPECT_TEXT(stage_fates(&stage),
                "settled #2 @3; settled #1 CONFLICT: as scripted");
    EXPECT_TEXT(stage_heard(&stage), "revert #1 CONFLICT A 1->0");
    EXPECT_TEXT(stage_see(&stage, "B"), "1");
    end(&stage);
}

/* The store has not told what came before it: who reads it now must not claim
 * to have seen that. */
TEST(o07_what_landed_without_a_marker_is_no_newer_basis_for_reads)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "inc A 1");
    stage_say(&stage, "verdict 1 @7");
    stage.script.forgets = true;
    stage_lose(&stage);
    stage_wake(&stage);
    EXPECT_TEXT(stage_see(&stage, "A"), "1");
    EXPECT_COMMIT(&stage, "read A | put B 1");
    EXPECT_CONTAINS(buf_text(&stage.script.last),
                    "{'id':'A','path':['value'],'seq':1}");
    stage_say(&stage, "sync 0-7 pull A@7=11 B@1=0");
    EXPECT_TEXT(stage_see(&stage, "A"), "11");
    end(&stage);
}

TEST(p11_the_answer_to_a_repetition_decides)
{
    static const char *const answers[] = {"verdict 1 @2",
                                          "verdict 1 CONFLICT A"};
    static const char *const visible[] = {"1", "0"};
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct stage stage;
        begin(&stage);
        EXPECT_COMMIT(&stage, "read A | put A 1");
        stage_lose(&stage);
        EXPECT_COMMIT(&stage, "put B 2");
        stage_wake(&stage);
        EXPECT_TEXT(stage_said(&stage),
                    "commits 1; connect; open s1 seen=1; commits 1 2");
        stage_say(&stage, answers[i]);
        stage_say(&stage, "verdict 2 @3");
        stage_say(&stage, "sync 1-3 mark=2");
        EXPECT_TEXT(stage_see(&stage, "A"), visible[i]);
        EXPECT_TEXT(stage_see(&stage, "B"), "2");
        EXPECT_EQ(space_outstanding(stage.space), 0);
        end(&stage);
    }
}

/* It landed, and the answer was lost. What the store tells first holds it
 * already; with its layer on top it would be there twice. */
TEST(p35_an_own_commit_is_never_seen_twice)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "inc A 1");
    stage_lose(&stage);
    (void)stage_heard(&stage);
    stage_wake(&stage);
    stage_say(&stage, "sync 1-3 mark=1 A@2=1 B@3=9");
    EXPECT_TEXT(stage_see(&stage, "A"), "1");
    stage_say(&stage, "verdict 1 @2");
    EXPECT_TEXT(stage_see(&stage, "A"), "1");
    EXPECT_TEXT(stage_confirmed(&stage, "A"), "1");
    EXPECT_TEXT(stage_heard(&stage), "integrate B 0->9");
    EXPECT_TEXT(stage_fates(&stage), "verdict #1 @2; settled #1 @2");
    EXPECT_EQ(stage.space->session->seen_seq, 3);
    end(&stage);
}

/* What was received is integrated in its order, whatever happens: what comes
 * later may rest on it. */
TEST(p35_what_was_held_back_survives_its_connection)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "inc A 1");
    stage_lose(&stage);
    stage_wake(&stage);
    stage_say(&stage, "sync 1-3 mark=1 A@2=1 B@3=9");
    stage_lose(&stage);
    (void)stage_said(&stage);
    stage_wake(&stage);
    EXPECT_TEXT(stage_said(&stage), "connect; open s1 seen=1; commits 1");
    stage_say(&stage, "verdict 1 @2");
    EXPECT_TEXT(stage_see(&stage, "A"), "1");
    EXPECT_TEXT(stage_see(&stage, "B"), "9");
    EXPECT_EQ(stage.space->session->seen_seq, 3);
    EXPECT_EQ(space_outstanding(stage.space), 0);
    end(&stage);
}

/* The store refused it, and the answer was lost; sent again, it lands. What was
 * told before does not catch up with that. */
TEST(p35_a_marker_is_of_no_use_for_a_later_answer)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "inc A 1");
    stage_lose(&stage);
    stage_wake(&stage);
    stage_say(&stage, "sync 1-5 mark=1 A@5=50");
    stage_say(&stage, "verdict 1 @9");
    EXPECT_EQ(stage_entity(&stage, "A")->seq, 5);
    EXPECT_EQ(space_outstanding(stage.space), 1);
    stage_say(&stage, "sync 5-8 A@8=80");
    EXPECT_TEXT(stage_see(&stage, "A"), "81");
    EXPECT_EQ(space_outstanding(stage.space), 1);
    stage_say(&stage, "sync 8-9 mark=1");
    EXPECT_TEXT(stage_confirmed(&stage, "A"), "81");
    EXPECT_EQ(stage_entity(&stage, "A")->seq, 9);
    EXPECT_EQ(space_outstanding(stage.space), 0);
    end(&stage);
}

/* S3 */
TEST(what_is_doomed_is_not_sent_again)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    EXPECT_COMMIT(&stage, "read A | put B 1");
    stage_say(&stage, "verdict 1 CONFLICT A");
    stage_lose(&stage);
    (void)stage_said(&stage);
    stage_wake(&stage);
    EXPECT_TEXT(stage_said(&stage), "connect; open s1 seen=1");
    stage_say(&stage, "sync 1-2 mark=2 A@2=5 B@1=0");
    EXPECT_TEXT(stage_see(&stage, "A"), "5");
    EXPECT_EQ(space_outstanding(stage.space), 0);
    end(&stage);
}

/* -- Order (I1) ---------------------------------------------------------- */

TEST(i1_a_repetition_is_ignored_and_a_gap_breaks_the_connection)
{
    struct stage stage;
    begin(&stage);
    stage.script.number--;
    stage_say(&stage, "sync 1-5 A@5=5");
    EXPECT_TEXT(stage_see(&stage, "A"), "0");
    EXPECT_EQ(stage.space->session->counters.dropped_messages, 1);
    stage.script.number++;
    stage_say(&stage, "sync 1-6 A@6=6");
    EXPECT_TEXT(stage_see(&stage, "A"), "0");
    EXPECT_TEXT(stage_said(&stage), "disconnect");
    stage_wake(&stage);
    EXPECT_TEXT(stage_said(&stage), "connect; open s1 seen=1");
    end(&stage);
}

TEST(i1_what_is_left_of_an_old_connection_is_ignored)
{
    struct stage stage;
    begin(&stage);
    stage_lose(&stage);
    stage_wake(&stage);
    stage.script.connection--;
    stage_say(&stage, "sync 1-5 A@5=5");
    EXPECT_TEXT(stage_see(&stage, "A"), "0");
    EXPECT_EQ(stage.space->session->counters.dropped_messages, 1);
    end(&stage);
}

/* It was received, but not looked at while the connection was alive. */
TEST(i1_an_answer_to_an_old_open_does_not_open_the_new_connection)
{
    struct stage stage;
    begin(&stage);
    stage_lose(&stage);
    struct transaction *transaction = stage_begin(&stage);
    stage_wake(&stage); /* opened, in the inbox */
    stage_lose(&stage);
    stage.script.mute = true;
    stage.script.forgets = true;
    stage_wake(&stage);
    (void)stage_said(&stage);
    transaction_release(transaction);
    EXPECT(stage.space->session->state == SESSION_OPENING);
    stage_say(&stage, "opened s1");
    EXPECT_CONTAINS(stage_said(&stage), "watch ");
    end(&stage);
}

TEST(o12_a_message_that_cannot_be_read_breaks_the_connection)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    session_receive_garbage(stage.space->session);
    EXPECT_TEXT(stage_said(&stage), "commits 1; disconnect");
    stage_wake(&stage);
    EXPECT_TEXT(stage_said(&stage), "connect; open s1 seen=1; commits 1");
    /* And so does one that is none of a store. */
    stage_say(&stage, "open");
    EXPECT_TEXT(stage_said(&stage), "disconnect");
    end(&stage);
}

/* -- I3 ------------------------------------------------------------------ */

TEST(i3_nothing_arrives_while_a_transaction_is_open)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put B 1");
    struct transaction *outer = stage_begin(&stage);
    struct transaction *inner = stage_begin(&stage);
    (void)stage_heard(&stage);
    stage_say(&stage, "verdict 1 @2");
    stage_say(&stage, "sync 1-3 mark=1 A@3=3");
    EXPECT_TEXT(stage_read(&stage, outer, "A"), "0");
    transaction_release(inner);
    EXPECT_TEXT(stage_read(&stage, outer, "A"), "0");
    EXPECT_TEXT(stage_heard(&stage), "");
    EXPECT_TEXT(stage_fates(&stage), "");
    transaction_release(outer);
    EXPECT_TEXT(stage_heard(&stage), "integrate A 0->3");
    EXPECT_TEXT(stage_fates(&stage), "verdict #1 @2; settled #1 @2");
    end(&stage);
}

static enum channel_answer say_more(void *ctx, const struct notification *what)
{
    struct stage *stage = ctx;
    if (what->kind == NOTIFY_COMMIT) {
        stage_say(stage, "sync 1-3 A@3=3");
        EXPECT_TEXT(stage_see(stage, "A"), "0");
    }
    return CHANNEL_MORE;
}

TEST(i3_nothing_arrives_while_somebody_is_told)
{
    struct stage stage;
    begin(&stage);
    struct subscriber subscriber = {.fn = say_more, .ctx = &stage};
    channel_subscribe(&stage.replica, &subscriber);
    EXPECT_COMMIT(&stage, "put B 1");
    EXPECT_TEXT(stage_heard(&stage), "commit #1 B 0->1; integrate A 0->3");
    channel_unsubscribe(&subscriber);
    end(&stage);
}

static enum channel_answer say_at_revert(void *ctx,
                                         const struct notification *what)
{
    struct stage *stage = ctx;
    if (what->kind == NOTIFY_REVERT) {
        stage_say(stage, "sync 1-3 A@3=3");
        EXPECT_TEXT(stage_see(stage, "A"), "0");
    }
    return CHANNEL_MORE;
}

/* Also where no transaction is open, and no message is being handled. */
TEST(i3_nothing_arrives_while_somebody_is_told_of_a_revert)
{
    struct stage stage;
    begin(&stage);
    struct subscriber subscriber = {.fn = say_at_revert, .ctx = &stage};
    channel_subscribe(&stage.replica, &subscriber);
    EXPECT_COMMIT(&stage, "read A | put A 1");
    stage_say(&stage, "verdict 1 CONFLICT A");
    (void)stage_heard(&stage);
    stage_step(&stage, SPACE_REPAIR_MS);
    EXPECT_TEXT(stage_heard(&stage),
                "revert #1 CONFLICT A 1->0; integrate A 0->3");
    channel_unsubscribe(&subscriber);
    end(&stage);
}

/* A store that answers from inside `send`. */
TEST(answers_from_inside_wait_until_all_is_sent)
{
    struct stage stage;
    begin(&stage);
    stage.script.accepts = true;
    stage.script.seq = 1;
    stage.space->batch = true;
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_COMMIT(&stage, "put B 1");
    stage.on_settled = "put A 3";
    space_flush(stage.space);
    EXPECT_TEXT(stage_fates(&stage),
                "verdict #1 @2; verdict #2 @3; settled #1 @2; settled #2 @3");
    stage_step(&stage, 0);
    EXPECT_TEXT(stage_fates(&stage), "verdict #3 @4; settled #3 @4");
    EXPECT_TEXT(stage_see(&stage, "A"), "3");
    EXPECT_EQ(space_outstanding(stage.space), 0);
    end(&stage);
}

/* -- Acks ---------------------------------------------------------------- */

TEST(o09_an_ack_says_once_what_was_seen)
{
    struct stage stage;
    begin(&stage);
    stage_say(&stage, "sync 1-2 A@2=2");
    stage_say(&stage, "sync 2-3 A@3=3");
    stage_say(&stage, "sync 3-4 A@4=4");
    EXPECT_TEXT(stage_said(&stage), "");
    stage_wake(&stage);
    EXPECT_TEXT(stage_said(&stage), "ack 4");
    stage_step(&stage, 100);
    EXPECT_TEXT(stage_said(&stage), "");
    stage_say(&stage, "sync 4-5 A@5=5");
    stage_lose(&stage);
    stage_step(&stage, 0);
    EXPECT_TEXT(stage_said(&stage), "");
    end(&stage);
}

/* -- Time ---------------------------------------------------------------- */

TEST(o10_the_wait_for_the_next_attempt_doubles_up_to_thirty_seconds)
{
    struct stage stage;
    begin(&stage);
    stage.script.slow = true;
    mono_ms base = SESSION_BACKOFF_MS;
    stage_lose(&stage);
    for (int i = 0; i < 16; i++) {
        const mono_ms wait =
            replica_next_wake(&stage.replica) - stage.space->session->now;
        EXPECT(wait >= base && wait <= base + base / 5);
        stage_wake(&stage);
        EXPECT_TEXT(stage_said(&stage), "connect");
        stage_lose(&stage);
        base = base * 2 < SESSION_BACKOFF_MAX_MS ? base * 2
                                                 : SESSION_BACKOFF_MAX_MS;
    }
    /* It begins anew after a success. */
    stage.script.slow = false;
    stage_wake(&stage);
    stage_lose(&stage);
    EXPECT(replica_next_wake(&stage.replica) - stage.space->session->now <=
           SESSION_BACKOFF_MS + SESSION_BACKOFF_MS / 5);
    end(&stage);
}

TEST(o10_a_close_ends_every_wait)
{
    struct stage stage;
    begin(&stage);
    stage_lose(&stage);
    EXPECT_STAGE(&stage);
    stage_close_space(&stage);
    EXPECT_EQ(replica_next_wake(&stage.replica), MONO_NEVER);
    EXPECT_TEXT(stage_said(&stage), "");
    stage_close(&stage);

    begin(&stage);
    stage_lose(&stage);
    stage.script.mute = true;
    stage_wake(&stage);
    (void)stage_said(&stage);
    stage_close_space(&stage);
    EXPECT_TEXT(stage_said(&stage), "disconnect");
    stage_close(&stage);
}

TEST(a_connection_that_owes_an_answer_and_is_silent_is_taken_for_dead)
{
    static const char *const owed[] = {"put A 1", "read C"};
    for (size_t i = 0; i < COUNT_OF(owed); i++) {
        struct stage stage;
        begin(&stage);
        EXPECT_EQ(replica_next_wake(&stage.replica), MONO_NEVER);
        EXPECT_COMMIT(&stage, owed[i]);
        (void)stage_said(&stage);
        stage_step(&stage, SESSION_ANSWER_MS - 1);
        EXPECT_TEXT(stage_said(&stage), "");
        stage_step(&stage, 1);
        EXPECT_TEXT(stage_said(&stage), "disconnect");
        end(&stage);
    }
}

/* Of several watches each is answered. */
TEST(silence_is_no_fault_when_nothing_is_owed)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "read C");
    EXPECT_COMMIT(&stage, "read D");
    stage_say(&stage, "sync 1-1 pull C@1=0");
    EXPECT(replica_next_wake(&stage.replica) != MONO_NEVER);
    stage_say(&stage, "sync 1-1 pull D@1=0");
    EXPECT_EQ(replica_next_wake(&stage.replica), MONO_NEVER);
    end(&stage);
}

/* -- The end ------------------------------------------------------------- */

TEST(o14_an_answer_before_the_close_counts)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    stage_say(&stage, "verdict 1 @2");
    EXPECT_STAGE(&stage);
    stage_close_space(&stage);
    EXPECT_TEXT(stage_fates(&stage), "verdict #1 @2; settled #1 @2");
    EXPECT_EQ(stage.subscriber.node.next != NULL, 1);
    stage_close(&stage);
}

TEST(q19_who_wants_to_wait_steps_until_nothing_is_outstanding)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    EXPECT_EQ(space_outstanding(stage.space), 1);
    stage_say(&stage, "verdict 1 @2");
    EXPECT_EQ(space_outstanding(stage.space), 1);
    stage_say(&stage, "sync 1-2 mark=1");
    EXPECT_EQ(space_outstanding(stage.space), 0);
    EXPECT_COMMIT(&stage, "put A 2");
    EXPECT_STAGE(&stage);
    stage_close_space(&stage);
    EXPECT_CONTAINS(stage_fates(&stage), "settled #2 CLOSED");
    stage_close(&stage);
}

TEST(a_revoked_session_stays_so_and_takes_no_commit)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    (void)stage_said(&stage);
    (void)stage_heard(&stage);
    stage_say(&stage, "revoked taken-over");
    EXPECT_TEXT(stage_said(&stage), "disconnect");
    EXPECT_TEXT(stage_heard(&stage), "revert #1 SESSION_LOST A 1->0");
    EXPECT_CONTAINS(stage_fates(&stage), "taken-over");
    EXPECT_NO_COMMIT(&stage, ERR_SESSION_LOST, "put A 2");
    EXPECT_TEXT(stage_see(&stage, "A"), "0");
    EXPECT_TEXT(stage_heard(&stage), "");
    stage_step(&stage, 100000);
    EXPECT_TEXT(stage_said(&stage), "");
    EXPECT_COMMIT(&stage, "read A | put A 0"); /* changes nothing */
    end(&stage);
}

static enum err commit_in_callback;

static void commit_again(void *ctx, const struct verdict *verdict)
{
    (void)verdict;
    commit_in_callback = stage_commit(ctx, "put B 7");
}

TEST(who_is_told_of_a_close_cannot_commit_any_more)
{
    struct stage stage;
    begin(&stage);
    const struct transaction_options options = {
        .watch = {.settled = commit_again, .ctx = &stage},
    };
    struct transaction *transaction =
        transaction_begin(&stage.replica, &options);
    EXPECT(stage_do(&stage, transaction, "put A 1") == ERR_OK);
    EXPECT(stage_end(&stage, transaction) == ERR_OK);
    EXPECT_STAGE(&stage);
    stage_close_space(&stage);
    EXPECT_INT(commit_in_callback, ERR_CLOSED);
    stage_close(&stage);
}

TEST(p17_after_a_reset_everything_is_asked_for_again)
{
    struct stage stage;
    begin(&stage);
    EXPECT_COMMIT(&stage, "put A 1");
    (void)stage_said(&stage);
    space_reset(stage.space);
    EXPECT_TEXT(stage_said(&stage), "disconnect");
    stage.script.forgets = true;
    stage_step(&stage, 0);
    EXPECT_CONTAINS(stage_said(&stage), "connect; open s1 seen=0; watch ");
    (void)stage_heard(&stage);
    stage_say(&stage, "sync 0-1 pull A@1=0 B@1=0");
    EXPECT_CONTAINS(stage_heard(&stage), "A ()->0");
    end(&stage);
}
