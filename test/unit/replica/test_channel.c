/* src/replica/channel: one way to learn of a change (channel-1 to channel-4;
 * scenarios Q02, Q07, and P28 and P35 as far as they are about
 * notifications). */

#include "lib/replica_kit.h"
#include "lib/test.h"

static void end(struct fixture *fixture)
{
    EXPECT_STAGE(fixture);
    fixture_close(fixture);
}

/* -- channel-1 ----------------------------------------------------------- */

TEST(c1_a_notification_has_each_document_once_with_before_and_after)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    fixture.source = "node";
    EXPECT_COMMIT(&fixture, "put A 1 | put B 2 | put A 3");
    EXPECT_TEXT(fixture_heard(&fixture), "commit by node A ()->3 B ()->2");
    EXPECT_COMMIT(&fixture, "put A 4 | put B 2");
    EXPECT_TEXT(fixture_heard(&fixture), "commit by node A 3->4");
    EXPECT_COMMIT(&fixture, "delete A!");
    EXPECT_TEXT(fixture_heard(&fixture), "commit by node A 4->()");
    end(&fixture);
}

TEST(c1_without_a_change_nobody_is_told)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    EXPECT_COMMIT(&fixture, "read A");
    fixture_say(&fixture, "sync 0-1 pull A@1=1");
    EXPECT_TEXT(fixture_heard(&fixture), "pull A ()->1");
    fixture_say(&fixture, "sync 1-2 A@2=1");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    EXPECT_EQ(fixture_entity(&fixture, "A")->seq, 2);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    end(&fixture);
}

/* The first answer is told of even if it is that there is nothing. */
TEST(c1_a_pull_is_told_of_even_if_empty)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    EXPECT_COMMIT(&fixture, "read A");
    fixture_say(&fixture, "sync 0-0 pull A@0=()");
    EXPECT_TEXT(fixture_heard(&fixture), "pull");
    EXPECT(fixture_entity(&fixture, "A")->loaded);
    end(&fixture);
}

TEST(c1_what_somebody_else_wrote_below_a_layer_is_never_shown)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    EXPECT_COMMIT(&fixture, "read A");
    fixture_say(&fixture, "sync 0-1 pull A@1={'x':0,'y':0}");
    EXPECT_COMMIT(&fixture, "put A.x 1");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "sync 1-2 A@2={'x':9,'y':9}");
    EXPECT_TEXT(fixture_heard(&fixture),
                "integrate A {'x':1,'y':0}->{'x':1,'y':9}");
    fixture_say(&fixture, "sync 2-3 A@3={'x':8,'y':9}");
    EXPECT_TEXT(fixture_heard(&fixture), "");
    end(&fixture);
}

/* entity-1 */
TEST(n1_a_version_is_that_of_the_notification_and_grows)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "put A 1");
    const uint64_t first = fixture_entity(&fixture, "A")->version;
    EXPECT_EQ(first, fixture.last_version);
    EXPECT_COMMIT(&fixture, "put B 1");
    EXPECT_EQ(fixture_entity(&fixture, "A")->version, first);
    EXPECT(fixture_entity(&fixture, "B")->version > first);
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT_EQ(fixture_entity(&fixture, "A")->version, fixture.last_version);
    end(&fixture);
}

TEST(q02_an_array_cut_short_is_a_change_of_its_document)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    EXPECT_COMMIT(&fixture, "put A [1,2,3]");
    (void)fixture_heard(&fixture);
    EXPECT_COMMIT(&fixture, "delete A.2 | delete A.1");
    EXPECT_TEXT(fixture_heard(&fixture), "commit A [1,2,3]->[1]");
    end(&fixture);
}

/* -- channel-2 ----------------------------------------------------------- */

enum way {
    WAY_LOCAL,
    WAY_SILENT,
    WAY_SLOW,
    WAY_AT_ONCE,
    WAY_BATCH,
    WAY_COUNT
};

TEST(c2_a_commit_is_told_of_before_it_returns_on_every_transport)
{
    for (int way = 0; way < WAY_COUNT; way++) {
        struct fixture fixture;
        if (way == WAY_LOCAL) {
            fixture_open_local(&fixture);
        } else {
            fixture_open(&fixture, "s1");
            fixture.script.slow = way == WAY_SLOW;
            fixture.script.accepts = way == WAY_AT_ONCE;
            fixture.space->batch = way == WAY_BATCH;
        }
        EXPECT(fixture_commit(&fixture, "put A 1") == ERR_OK);
        EXPECT_CONTAINS(fixture_heard(&fixture), "A ()->1");
        /* And before anybody is told of its outcome: */
        const bool decided = way == WAY_LOCAL || way == WAY_AT_ONCE;
        EXPECT_TEXT(fixture_outcomes(&fixture),
                    !decided           ? ""
                    : way == WAY_LOCAL ? "verdict #0 @1; settled #0 @1"
                                       : "verdict #1 @1; settled #1 @1");
        end(&fixture);
    }
}

static void expect_told(void *ctx, const struct verdict *verdict)
{
    struct fixture *fixture = ctx;
    EXPECT(verdict->err == ERR_OK);
    EXPECT_CONTAINS(buf_text(&fixture->heard), "A ()->1");
}

TEST(c2_the_fate_of_a_commit_is_told_after_its_notification)
{
    for (int way = 0; way < 2; way++) {
        struct fixture fixture;
        if (way == 0) {
            fixture_open_local(&fixture);
        } else {
            fixture_open(&fixture, "s1");
            fixture.script.accepts = true;
        }
        const struct transaction_options options = {
            .watch = {expect_told, expect_told, &fixture},
        };
        struct transaction *transaction =
            transaction_begin(&fixture.replica, &options);
        EXPECT(fixture_do(&fixture, transaction, "put A 1") == ERR_OK);
        EXPECT(fixture_end(&fixture, transaction) == ERR_OK);
        end(&fixture);
    }
}

/* -- channel-3 ----------------------------------------------------------- */

TEST(c3_a_commit_without_visible_effect_of_its_end_has_one_revert_too)
{
    struct fixture fixture;
    fixture_open(&fixture, "s1");
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "put A 2");
    (void)fixture_heard(&fixture);
    fixture_say(&fixture, "verdict 1 RECEIPT_EXISTS");
    EXPECT_TEXT(fixture_heard(&fixture), "revert #1 RECEIPT_EXISTS");
    end(&fixture);
}

/* -- channel-4 ----------------------------------------------------------- */

struct listener {
    struct subscriber subscriber;
    struct replica *replica;
    struct listener *other; /* what `answer` is about */
    unsigned heard;
    enum channel_answer answer;
    bool removes;
    bool adds;
    bool commits;
    enum err committed;
    struct fixture *fixture;
};

static enum channel_answer hear(void *ctx, const struct notification *what)
{
    struct listener *listener = ctx;
    EXPECT(what->count > 0);
    listener->heard++;
    if (listener->removes) {
        channel_unsubscribe(&listener->other->subscriber);
        listener->removes = false;
    }
    if (listener->adds) {
        channel_subscribe(listener->replica, &listener->other->subscriber);
        listener->adds = false;
    }
    if (listener->commits) {
        listener->committed = fixture_commit(listener->fixture, "put B 1");
    }
    return listener->answer;
}

static void listen(struct listener *listener, struct fixture *fixture)
{
    *listener = (struct listener){
        .subscriber = {.fn = hear, .ctx = listener},
        .replica = &fixture->replica,
        .fixture = fixture,
    };
    list_node_init(&listener->subscriber.node);
}

TEST(q07_who_is_done_is_not_called_again_and_the_others_are)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct listener first;
    struct listener second;
    listen(&first, &fixture);
    listen(&second, &fixture);
    first.answer = CHANNEL_DONE;
    channel_subscribe(&fixture.replica, &first.subscriber);
    channel_subscribe(&fixture.replica, &second.subscriber);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT_EQ(first.heard, 1);
    EXPECT_EQ(second.heard, 2);
    channel_unsubscribe(&second.subscriber);
    EXPECT_COMMIT(&fixture, "put A 3");
    EXPECT_EQ(second.heard, 2);
    end(&fixture);
}

static void count_line(void *ctx, enum log_level level, const char *line)
{
    unsigned *lines = ctx;
    EXPECT(level == LOG_LEVEL_ERROR);
    EXPECT_TEXT(line, "a subscriber failed on a commit");
    ++*lines;
}

TEST(q07_who_fails_is_logged_and_stays)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    unsigned lines = 0;
    const struct log log = {count_line, &lines, LOG_LEVEL_WARNING};
    fixture.replica.log = &log;
    struct listener first;
    struct listener second;
    listen(&first, &fixture);
    listen(&second, &fixture);
    first.answer = CHANNEL_FAILED;
    channel_subscribe(&fixture.replica, &first.subscriber);
    channel_subscribe(&fixture.replica, &second.subscriber);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT_EQ(first.heard, 2);
    EXPECT_EQ(second.heard, 2);
    EXPECT_EQ(lines, 2);
    end(&fixture);
}

TEST(c4_one_who_hears_may_take_another_out)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct listener all[4];
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        listen(&all[i], &fixture);
        channel_subscribe(&fixture.replica, &all[i].subscriber);
    }
    all[1].removes = true; /* the next, before it hears */
    all[1].other = &all[2];
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_EQ(all[0].heard, 1);
    EXPECT_EQ(all[1].heard, 1);
    EXPECT_EQ(all[2].heard, 0);
    EXPECT_EQ(all[3].heard, 1);
    all[3].removes = true; /* itself, at the end */
    all[3].other = &all[3];
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT_COMMIT(&fixture, "put A 3");
    EXPECT_EQ(all[3].heard, 2);
    EXPECT_EQ(all[0].heard, 3);
    end(&fixture);
}

/* It sees the change already: to hear of it as well would be once too often. */
TEST(c4_who_comes_while_others_hear_hears_the_next_one)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct listener first;
    struct listener second;
    listen(&first, &fixture);
    listen(&second, &fixture);
    first.adds = true;
    first.other = &second;
    channel_subscribe(&fixture.replica, &first.subscriber);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_EQ(second.heard, 0);
    EXPECT_COMMIT(&fixture, "put A 2");
    EXPECT_EQ(second.heard, 1);
    end(&fixture);
}

TEST(c4_who_hears_cannot_commit)
{
    struct fixture fixture;
    fixture_open_local(&fixture);
    struct listener first;
    listen(&first, &fixture);
    first.commits = true;
    channel_subscribe(&fixture.replica, &first.subscriber);
    EXPECT_COMMIT(&fixture, "put A 1");
    EXPECT_INT(first.committed, ERR_ARGUMENT);
    EXPECT_TEXT(fixture_see(&fixture, "B"), "()");
    EXPECT_EQ(first.heard, 1);
    end(&fixture);
}

TEST(notifications_have_names)
{
    EXPECT_TEXT(notification_name(NOTIFY_COMMIT), "commit");
    EXPECT_TEXT(notification_name(NOTIFY_REVERT), "revert");
    EXPECT_TEXT(notification_name(NOTIFY_PULL), "pull");
    EXPECT_TEXT(notification_name(NOTIFY_INTEGRATE), "integrate");
    EXPECT_TEXT(notification_name(NOTIFY_RESET), "reset");
}
