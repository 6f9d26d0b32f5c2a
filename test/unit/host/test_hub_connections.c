/* The hub: connections that come, go, are lost and are taken over, messages out
 * of order, and several processes on one file. */

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/hub.h"
#include "lib/hub_kit.h"
#include "lib/test.h"
#include "lib/values.h"

/* -- Connections --------------------------------------------------------- */

TEST(a_session_without_a_name_gets_one)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, false);
    raw_open(&fixture.peers[0], NULL);
    raw_open(&fixture.peers[1], NULL);
    EXPECT_CONTAINS(heard(&fixture.peers[0]), "opened s-");
    EXPECT_CONTAINS(heard(&fixture.peers[1]), "opened s-");
    EXPECT(strcmp(fixture.peers[0].id, fixture.peers[1].id) != 0);
    EXPECT_EQ(fixture.hub.sessions.count, 2);
    hub_fixture_end(&fixture);
}

TEST(a_session_moves_to_its_new_peer)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    struct raw *old = &fixture.peers[0];
    struct raw *new = &fixture.peers[2];
    raw_open(new, "s1");
    EXPECT_TEXT(heard(old), "revoked taken-over");
    EXPECT_TEXT(heard(new), "opened s1 resumed seq=0; sync 0-0 A@0=-");
    /* What the old one sends is ignored, whatever it is. */
    raw_commit(old, "s1 1 | set A 7");
    raw_watch(old, "B");
    EXPECT_TEXT(heard(old), "");
    EXPECT_TEXT(kit_read(&fixture.kit, "A"), "(absent)");
    raw_detach(old);
    raw_commit(new, "s1 1 | set A 1");
    EXPECT_TEXT(heard(new), "verdicts 1@1");
    hub_fixture_end(&fixture);
}

TEST(a_session_belongs_to_its_principal)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, false);
    fixture.peers[0].principal = "alice";
    fixture.peers[1].principal = "bob";
    raw_open(&fixture.peers[0], "s1");
    raw_open(&fixture.peers[1], "s1");
    raw_open(&fixture.peers[2], "s1");
    EXPECT_TEXT(heard(&fixture.peers[0]), "opened s1 seq=0");
    EXPECT_TEXT(heard(&fixture.peers[1]), "revoked unauthorized");
    EXPECT_TEXT(heard(&fixture.peers[2]), "revoked unauthorized");
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    EXPECT_TEXT(heard(&fixture.peers[0]), "verdicts 1@1");
    hub_fixture_end(&fixture);
}

TEST(who_comes_back_is_told_what_it_has_not_seen)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A B C");
    struct raw *raw = &fixture.peers[0];
    raw_commit(&fixture.peers[1], "s2 1 | set A 1");
    raw_commit(raw, "s1 1 | set B 1");
    hub_flush(&fixture.hub);
    EXPECT_EQ(raw->seen, 2);
    raw_detach(raw);
    raw_commit(&fixture.peers[1], "s2 2 | set A 3");
    (void)heard(raw);
    raw_open(raw, "s1");
    EXPECT_TEXT(heard(raw),
                "opened s1 resumed seq=3 marker=1; "
                "sync 2-3 marker=1 A@3={'value':3}");
    /* A replay is answered as before. */
    raw_commit(raw, "s1 1 | set B 1");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(raw), "verdicts 1@2; sync 3-3 marker=1");
    hub_fixture_end(&fixture);
}

TEST(what_was_sent_but_not_seen_is_sent_again_whole)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A B");
    struct raw *raw = &fixture.peers[0];
    raw_commit(raw, "s1 1 | set A {'x':1}");
    hub_flush(&fixture.hub);
    const uint64_t seen = raw->seen;
    /* Its own, and somebody else's: the frames are lost with the connection,
     * and so is the verdict. */
    raw_commit(raw, "s1 2 | replace A.x 2");
    raw_commit(&fixture.peers[1], "s2 1 | set B 1");
    hub_flush(&fixture.hub);
    (void)heard(raw);
    raw->seen = seen;
    raw_open(raw, "s1");
    EXPECT_TEXT(heard(raw),
                "opened s1 resumed seq=3 marker=2; "
                "sync 1-3 marker=2 A@2={'value':{'x':2}} B@3={'value':1}");
    /* And from here on it is held. */
    raw_commit(raw, "s1 3 | replace A.x 3");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(raw), "verdicts 3@4; sync 3-4 marker=3");
    hub_fixture_end(&fixture);
}

TEST(the_answer_to_a_watch_that_may_be_lost_is_sent_again)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    struct raw *raw = &fixture.peers[0];
    raw_commit(&fixture.peers[1], "s2 1 | set A 1 | set B 1");
    hub_flush(&fixture.hub);
    EXPECT_EQ(raw->seen, 1);
    raw_watch(raw, "B"); /* the answer is lost */
    (void)heard(raw);
    raw_open(raw, "s1");
    EXPECT_TEXT(heard(raw),
                "opened s1 resumed seq=1; sync 1-1 B@1={'value':1}");
    /* A later frame proves that it came. */
    raw_commit(&fixture.peers[1], "s2 2 | set A 2");
    hub_flush(&fixture.hub);
    (void)heard(raw);
    raw_open(raw, "s1");
    EXPECT_TEXT(heard(raw), "opened s1 resumed seq=2");
    hub_fixture_end(&fixture);
}

TEST(a_session_whose_making_nobody_heard_of_is_not_resumed)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    struct raw *raw = &fixture.peers[0];
    raw_detach(raw);
    hub_step(&fixture.hub, 1000 + HUB_KEEP_MS);
    /* Made anew, without watches; the answer is lost with the connection. */
    raw_open(raw, "s1");
    EXPECT_TEXT(heard(raw), "opened s1 seq=0");
    /* It must hear that its watches are gone. */
    raw_open(raw, "s1");
    EXPECT_TEXT(heard(raw), "opened s1 seq=0");
    raw_watch(raw, "A");
    raw_open(raw, "s1");
    EXPECT_CONTAINS(heard(raw), "opened s1 resumed seq=0");
    hub_fixture_end(&fixture);
}

TEST(a_session_is_kept_for_a_while_and_then_forgotten)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    struct raw *raw = &fixture.peers[0];
    EXPECT_EQ(hub_next_wake(&fixture.hub), MONO_NEVER);
    raw_detach(raw);
    EXPECT_EQ(hub_next_wake(&fixture.hub), 1000 + HUB_KEEP_MS);
    hub_step(&fixture.hub, 1000 + HUB_KEEP_MS - 1);
    EXPECT_EQ(fixture.hub.sessions.count, 2);
    raw_open(raw, "s1");
    EXPECT_TEXT(heard(raw), "opened s1 resumed seq=0; sync 0-0 A@0=-");
    raw_detach(raw);
    raw_detach(&fixture.peers[1]);
    hub_step(&fixture.hub, 1000 + 2 * HUB_KEEP_MS);
    EXPECT_EQ(fixture.hub.sessions.count, 0);
    EXPECT_EQ(fixture.hub.documents.count, 0);
    raw_open(raw, "s1");
    EXPECT_TEXT(heard(raw), "opened s1 seq=0");
    hub_fixture_end(&fixture);
}

TEST(a_fault_is_no_verdict_and_breaks_the_connection)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    struct raw *raw = &fixture.peers[0];
    kit_run(&fixture.kit,
            "CREATE TRIGGER no BEFORE INSERT ON \"commit\""
            " BEGIN SELECT RAISE(ABORT, 'no'); END");
    raw_commit(raw, "s1 1 | set A 1");
    EXPECT_TEXT(heard(raw), "broken");
    raw_commit(raw, "s1 2 | set A 1");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(raw), "");
    EXPECT_TEXT(heard(&fixture.peers[1]), "");
    kit_run(&fixture.kit, "DROP TRIGGER no");
    raw_open(raw, "s1");
    EXPECT_TEXT(heard(raw), "opened s1 resumed seq=0; sync 0-0 A@0=-");
    raw_commit(raw, "s1 1 | set A 1");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(raw), "verdicts 1@1; sync 0-1 marker=1");
    EXPECT_TEXT(heard(&fixture.peers[1]), "sync 0-1 A@1={'value':1}");
    hub_fixture_end(&fixture);
}

TEST(a_watch_that_cannot_be_read_breaks_the_connection_and_watches_nothing)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    struct raw *raw = &fixture.peers[0];
    raw_commit(&fixture.peers[1], "s2 1 | set A 1");
    kit_run(&fixture.kit, "UPDATE revision SET data = '{'");
    raw_watch(raw, "B A");
    EXPECT_TEXT(heard(raw), "broken");
    EXPECT_EQ(fixture.hub.documents.count, 0);
    hub_fixture_end(&fixture);
}

/* -- Order --------------------------------------------------------------- */

TEST(a_message_that_is_missing_breaks_the_connection)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    struct raw *raw = &fixture.peers[0];
    raw->number++; /* lost */
    raw_commit(raw, "s1 1 | set A 1");
    EXPECT_TEXT(heard(raw), "broken");
    EXPECT_TEXT(kit_read(&fixture.kit, "A"), "(absent)");
    hub_fixture_end(&fixture);
}

static struct value ack(void)
{
    return from_quoted("{'seenSeq':0}");
}

TEST(what_was_had_already_or_is_left_over_is_ignored)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    struct raw *raw = &fixture.peers[0];
    raw_open(raw, "s1");
    raw_send(raw, "ack", ack());
    (void)heard(raw);
    raw_send_as(raw, "ack", raw->connection, 1, ack());
    raw_send_as(raw, "ack", raw->connection, 2, ack());
    raw_send_as(raw, "ack", raw->connection - 1, 3, ack());
    raw_send_as(raw, "open", raw->connection - 1, 1, ack());
    EXPECT_TEXT(heard(raw), "");
    raw_commit(raw, "s1 1 | set A 1");
    EXPECT_TEXT(heard(raw), "verdicts 1@1");
    hub_fixture_end(&fixture);
}

TEST(a_connection_begins_with_its_open_and_has_one)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, false);
    struct raw *raw = &fixture.peers[0];
    static const char *const first[] = {"ack", "open"};
    for (size_t i = 0; i < COUNT_OF(first); i++) {
        raw_attach(raw);
        raw_send_as(raw, first[i], raw->connection, i + 1, ack());
        EXPECT_TEXT(heard(raw), "broken");
    }
    raw_open(raw, "s1");
    raw_send(raw, "open", ack());
    EXPECT_TEXT(heard(raw), "opened s1 seq=0; broken");
    /* A message of a connection whose `open` did not come. */
    raw_open(raw, "s1");
    raw_send_as(raw, "ack", raw->connection + 1, 3, ack());
    EXPECT_TEXT(heard(raw), "opened s1 seq=0; broken");
    /* And what only a store says. */
    raw_open(raw, "s1");
    raw_send(raw, "revoked", from_quoted("{'reason':'no'}"));
    EXPECT_TEXT(heard(raw), "opened s1 seq=0; broken");
    hub_fixture_end(&fixture);
}

TEST(an_open_that_was_left_over_does_not_stand_in_the_way_of_the_right_one)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, false);
    struct raw *raw = &fixture.peers[0];
    raw_attach(raw);
    raw->order.connection = raw->connection;
    raw_send_as(raw,
                "open",
                raw->connection,
                1,
                from_quoted("{'session':'s1','seenSeq':0}"));
    raw->connection++;
    raw->order = (struct message_order){.connection = raw->connection};
    raw_send(raw, "open", from_quoted("{'session':'s1','seenSeq':0}"));
    EXPECT_TEXT(heard(raw), "opened s1 seq=0; opened s1 seq=0");
    raw_commit(raw, "s1 1 | set A 1");
    EXPECT_TEXT(heard(raw), "verdicts 1@1");
    hub_fixture_end(&fixture);
}

/* It is late: its sender has opened another connection since, and lives
 * there. Without the number it could be anybody, and takes over. */
TEST(an_open_of_an_earlier_connection_does_not_take_a_session_over)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, false);
    struct raw *live = &fixture.peers[0];
    struct raw *late = &fixture.peers[1];
    raw_attach(live);
    raw_attach(late);
    live->connection = 5;
    live->order = (struct message_order){.connection = 5};
    late->order = (struct message_order){.connection = 4};
    raw_send(live,
             "open",
             from_quoted("{'session':'s1','seenSeq':0,"
                         "'client':77}"));
    EXPECT_TEXT(heard(live), "opened s1 seq=0");
    raw_watch(live, "A");
    (void)heard(live);
    raw_send_as(late,
                "open",
                4,
                1,
                from_quoted("{'session':'s1','seenSeq':0,'client':77}"));
    EXPECT_TEXT(heard(late), "broken");
    EXPECT_TEXT(heard(live), "");
    raw_commit(live, "s1 1 | set A 1");
    EXPECT_TEXT(heard(live), "verdicts 1@1");
    hub_fixture_end(&fixture);
}

TEST(a_peer_may_send_while_it_is_sent_to)
{
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, NULL, false, true);
    raw_open(&fixture.peers[0], "s1");
    raw_open(&fixture.peers[1], "s2");
    raw_watch(&fixture.peers[0], "A");
    raw_watch(&fixture.peers[1], "A");
    (void)heard(&fixture.peers[0]);
    (void)heard(&fixture.peers[1]);
    fixture.peers[0].reply = "s1 2 | set A 2";
    fixture.peers[1].reply = "s2 1 | set A 3";
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    EXPECT_TEXT(heard(&fixture.peers[0]),
                "verdicts 1@1; sync 0-1 marker=1; verdicts 2@2; "
                "sync 1-2 marker=2; sync 2-3 A@3={'value':3}");
    EXPECT_TEXT(heard(&fixture.peers[1]),
                "sync 0-1 A@1={'value':1}; sync 1-2 A@2={'value':2}; "
                "verdicts 1@3; sync 2-3 marker=1");
    hub_fixture_end(&fixture);
}

/* -- Several processes --------------------------------------------------- */

TEST(what_another_hub_on_the_file_takes_in_is_told_here)
{
    struct hub_fixture a;
    struct hub_fixture b;
    hub_fixture_begin(&a, NULL, true, true);
    hub_fixture_begin(&b, &a.kit, true, true);
    raw_open(&a.peers[0], "s1");
    raw_open(&b.peers[0], "s2");
    raw_watch(&a.peers[0], "A B");
    raw_watch(&b.peers[0], "A B");
    (void)heard(&a.peers[0]);
    (void)heard(&b.peers[0]);
    raw_commit(&b.peers[0], "s2 1 | set A 1 | set Z 1");
    EXPECT_TEXT(heard(&b.peers[0]), "verdicts 1@1; sync 0-1 marker=1");
    EXPECT_TEXT(heard(&a.peers[0]), "");
    hub_poll(&a.hub);
    EXPECT_TEXT(heard(&a.peers[0]), "sync 0-1 A@1={'value':1}");
    /* By the clock: nobody has to ask. */
    raw_commit(&b.peers[0], "s2 2 | set B 1");
    EXPECT_EQ(hub_next_wake(&a.hub), a.hub.polled + HUB_POLL_MS);
    hub_step(&a.hub, hub_next_wake(&a.hub));
    EXPECT_TEXT(heard(&a.peers[0]), "sync 1-2 B@2={'value':1}");
    hub_fixture_end(&b);
    hub_fixture_end(&a);
}

TEST(a_commit_upon_unnoticed_changes_of_others_is_not_taken_for_derived)
{
    struct hub_fixture a;
    struct hub_fixture b;
    hub_fixture_begin(&a, NULL, true, true);
    hub_fixture_begin(&b, &a.kit, true, true);
    raw_open(&a.peers[0], "s1");
    raw_open(&b.peers[0], "s2");
    raw_watch(&a.peers[0], "A B");
    raw_commit(&b.peers[0], "s2 1 | set A {'x':1}");
    raw_commit(&b.peers[0], "s2 2 | set B 1");
    (void)heard(&a.peers[0]);
    raw_commit(&a.peers[0], "s1 1 | replace A.y 2");
    EXPECT_TEXT(heard(&a.peers[0]),
                "verdicts 1@3; sync 0-3 marker=1 "
                "A@3={'value':{'x':1,'y':2}} B@2={'value':1}");
    /* Nor is a conflict with them answered without them. */
    raw_commit(&b.peers[0], "s2 3 | set B 2");
    raw_commit(&a.peers[0], "s1 2 | conf B @2 | set A 1");
    EXPECT_TEXT(heard(&a.peers[0]),
                "verdicts 2!CONFLICT; sync 3-4 marker=2 B@4={'value':2} "
                "A@3={'value':{'x':1,'y':2}}");
    /* Nor another refusal that they are the cause of. */
    raw_commit(&b.peers[0], "s2 4 | delete B");
    raw_commit(&a.peers[0], "s1 3 | absent B | set A 1");
    EXPECT_TEXT(heard(&a.peers[0]),
                "verdicts 3!RECEIPT_EXISTS; sync 4-5 marker=3 B@5=-");
    hub_fixture_end(&b);
    hub_fixture_end(&a);
}

/* How often SQLite was asked whether something has changed. */
static int questions(const struct store_kit *kit)
{
    sqlite3_stmt *statement =
        kit->engine.database.statement[STATEMENT_DATA_VERSION];
    return sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0);
}

TEST(a_poll_asks_the_database_nothing_if_nothing_has_changed)
{
    struct hub_fixture a;
    struct hub_fixture b;
    hub_fixture_begin(&a, NULL, true, true);
    hub_fixture_begin(&b, &a.kit, true, true);
    raw_open(&a.peers[0], "s1");
    raw_watch(&a.peers[0], "A");
    raw_commit(&a.peers[0], "s1 1 | set A 1");
    const int before = questions(&a.kit);
    const uint64_t feeds = a.hub.counters.feeds;
    for (size_t i = 0; i < 100; i++) {
        hub_poll(&a.hub);
    }
    EXPECT_INT(questions(&a.kit), before);
    EXPECT_EQ(a.hub.counters.feeds, feeds);
    raw_open(&b.peers[0], "s2");
    raw_commit(&b.peers[0], "s2 1 | set A 2");
    hub_poll(&a.hub);
    EXPECT(questions(&a.kit) > before);
    EXPECT_EQ(a.hub.counters.feeds, feeds + 1);
    hub_fixture_end(&b);
    hub_fixture_end(&a);
}

/* Waits for a byte, commits, and ends: 0 if the commit landed. */
static int commit_when_told(int told, const struct store_kit *place)
{
    char byte = 0;
    if (read(told, &byte, 1) != 1) {
        return 2;
    }
    struct store_kit kit;
    kit_open_beside(&kit, place);
    kit_commit(&kit, "x 1 | set A 'from afar'");
    const bool landed = kit.fault == ERR_OK && kit.verdicts[0].err == ERR_OK;
    kit_close(&kit);
    return landed ? 0 : 1;
}

TEST(what_another_process_commits_is_told_here)
{
    struct store_kit place = {0};
    kit_folder_new(place.folder, sizeof place.folder);
    (void)snprintf(place.path, sizeof place.path, "%s/space", place.folder);
    int pipe_ends[2];
    CHECK(pipe(pipe_ends) == 0);
    /* Before a file is open here: SQLite does not survive a fork. */
    const pid_t child = fork();
    if (child == 0) {
        (void)close(pipe_ends[1]);
        _exit(commit_when_told(pipe_ends[0], &place));
    }
    struct hub_fixture fixture;
    hub_fixture_begin(&fixture, &place, true, true);
    struct raw *raw = &fixture.peers[0];
    raw_open(raw, "s1");
    raw_watch(raw, "A");
    (void)heard(raw);
    CHECK(write(pipe_ends[1], "!", 1) == 1);
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    EXPECT_INT(status, 0);
    hub_step(&fixture.hub, hub_next_wake(&fixture.hub));
    EXPECT_TEXT(heard(raw), "sync 0-1 A@1={'value':'from afar'}");
    hub_fixture_end(&fixture);
    (void)close(pipe_ends[0]);
    (void)close(pipe_ends[1]);
    kit_folder_remove(place.folder);
}

/* -- No walks ------------------------------------------------------------ */

TEST(a_commit_touches_only_those_who_watch_its_documents)
{
    struct hub_fixture fixture;
    hub_fixture_watching(&fixture, "A");
    raw_open(&fixture.peers[2], "s3");
    raw_watch(&fixture.peers[2], "B C D");
    (void)heard(&fixture.peers[2]);
    raw_commit(&fixture.peers[0], "s1 1 | set A 1");
    size_t owing = 0;
    LIST_FOREACH (&fixture.hub.owing, node) {
        owing++;
    }
    EXPECT_EQ(owing, 2);
    EXPECT_EQ(fixture.hub.documents.count, 4);
    hub_flush(&fixture.hub);
    EXPECT(list_is_empty(&fixture.hub.owing));
    EXPECT_TEXT(heard(&fixture.peers[2]), "");
    hub_fixture_end(&fixture);
}

/* -- Tokens (hub-7) ------------------------------------------------------ */

static uint64_t next_secret(void *ctx)
{
    static uint64_t last;
    (void)ctx;
    return ++last * UINT64_C(0x9E3779B97F4A7C15);
}

/* Session s1 of ann is open, watches A, and has a token. */
static void begin_with_tokens(struct hub_fixture *fixture)
{
    hub_fixture_begin(fixture, NULL, false, false);
    fixture->hub.options.tokens = next_secret;
    for (size_t i = 0; i < RAW_MAX; i++) {
        fixture->peers[i].principal = "ann";
    }
    raw_open(&fixture->peers[0], "s1");
    raw_watch(&fixture->peers[0], "A");
    (void)heard(&fixture->peers[0]);
    EXPECT_EQ(strlen(fixture->peers[0].token), 32);
}

static void show_token(struct raw *raw, const char *token)
{
    (void)snprintf(raw->token, sizeof raw->token, "%s", token);
}

TEST(k08_a_session_in_use_is_for_its_principal_with_its_present_token)
{
    struct hub_fixture fixture;
    begin_with_tokens(&fixture);
    struct raw *owner = &fixture.peers[0];
    struct raw *other = &fixture.peers[1];
    char stale[64];
    (void)snprintf(stale, sizeof stale, "%s", owner->token);
    other->principal = "bob";
    show_token(other, owner->token);
    raw_open(other, "s1");
    EXPECT_TEXT(heard(other), "revoked unauthorized");
    other->principal = "ann";
    show_token(other, "");
    raw_open(other, "s1");
    EXPECT_TEXT(heard(other), "revoked in-use");
    /* A new token with each opening; the one before is stale once the peer has
     * said something. */
    raw_open(owner, "s1");
    EXPECT(strcmp(owner->token, stale) != 0);
    raw_commit(owner, "s1 1 | set A 1");
    show_token(other, stale);
    raw_open(other, "s1");
    EXPECT_TEXT(heard(other), "revoked in-use");
    raw_commit(owner, "s1 2 | set A 2");
    EXPECT_CONTAINS(heard(owner), "verdicts 2@2");
    hub_fixture_end(&fixture);
}

TEST(k09_a_connection_with_the_present_token_takes_the_session_over)
{
    struct hub_fixture fixture;
    begin_with_tokens(&fixture);
    struct raw *first = &fixture.peers[0];
    struct raw *second = &fixture.peers[1];
    show_token(second, first->token);
    raw_open(second, "s1");
    EXPECT_TEXT(heard(first), "revoked taken-over");
    EXPECT_TEXT(heard(second), "opened s1 resumed seq=0; sync 0-0 A@0=-");
    EXPECT(strcmp(second->token, first->token) != 0);
    raw_commit(first, "s1 1 | set A 7");
    EXPECT_TEXT(heard(first), "");
    EXPECT_TEXT(kit_read(&fixture.kit, "A"), "(absent)");
    raw_commit(second, "s1 1 | set A 1");
    EXPECT_TEXT(heard(second), "verdicts 1@1");
    /* The first one has the token before; it is of no use any more. */
    raw_open(first, "s1");
    EXPECT_TEXT(heard(first), "revoked in-use");
    hub_fixture_end(&fixture);
}

TEST(k09_an_answer_that_was_lost_does_not_lock_its_client_out)
{
    struct hub_fixture fixture;
    begin_with_tokens(&fixture);
    struct raw *raw = &fixture.peers[0];
    char shown[64];
    (void)snprintf(shown, sizeof shown, "%s", raw->token);
    for (size_t i = 1; i < 4; i++) {
        show_token(&fixture.peers[i], shown);
        raw_open(&fixture.peers[i], "s1");
        EXPECT_CONTAINS(heard(&fixture.peers[i]), "opened s1 resumed");
    }
    hub_fixture_end(&fixture);

    /* Before the first token has arrived, the number of the client counts. */
    hub_fixture_begin(&fixture, NULL, false, false);
    fixture.hub.options.tokens = next_secret;
    for (size_t i = 0; i < 2; i++) {
        raw_attach(&fixture.peers[i]);
        raw_send(&fixture.peers[i],
                 "open",
                 from_quoted("{'session':'s1','seenSeq':0,'client':77}"));
        EXPECT_TEXT(heard(&fixture.peers[i]), "opened s1 seq=0");
    }
    EXPECT_TEXT(heard(&fixture.peers[0]), "revoked taken-over");
    raw_attach(&fixture.peers[2]);
    raw_send(&fixture.peers[2],
             "open",
             from_quoted("{'session':'s1','seenSeq':0,'client':78}"));
    EXPECT_TEXT(heard(&fixture.peers[2]), "revoked in-use");
    hub_fixture_end(&fixture);
}

TEST(k08_a_session_without_a_peer_is_resumed_only_with_its_token)
{
    struct hub_fixture fixture;
    begin_with_tokens(&fixture);
    struct raw *owner = &fixture.peers[0];
    struct raw *other = &fixture.peers[1];
    raw_detach(owner);
    raw_open(owner, "s1");
    EXPECT_CONTAINS(heard(owner), "opened s1 resumed");
    raw_detach(owner);
    other->principal = "bob";
    raw_open(other, "s1");
    EXPECT_TEXT(heard(other), "revoked unauthorized");
    /* Without it, it is a new one, which watches nothing. */
    other->principal = "ann";
    raw_open(other, "s1");
    EXPECT_TEXT(heard(other), "opened s1 seq=0");
    raw_commit(other, "s1 1 | set B 1");
    (void)heard(other);
    EXPECT_LANDED(&fixture.kit, 2, "x 1 | set A 1");
    hub_flush(&fixture.hub);
    EXPECT_TEXT(heard(other), "sync 0-2 marker=1");
    raw_open(owner, "s1");
    EXPECT_TEXT(heard(owner), "revoked in-use");
    hub_fixture_end(&fixture);
}

TEST(without_tokens_the_principal_is_enough)
{
    struct hub_fixture fixture;
    hub_fixture_two(&fixture);
    EXPECT_TEXT(fixture.peers[0].token, "");
    hub_fixture_end(&fixture);
}
