/* EID: the ids of events (receipt-1 of docs/spec/events-and-lineage.md). What a
 * transaction sends is numbered in it; what a caller names is scoped by the
 * caller's session and the stream, and by nothing else. */

#include <string.h>

#include "lib/event_kit.h"
#include "lib/test.h"

static void begin(struct scene *on, enum scene_where where)
{
    scene_begin(on, where);
    static const char *const streams[] = {"s",
                                          "t",
                                          "s.x",
                                          "s~user",
                                          "s~session"};
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        scene_on(on, "H", streams[i], "", handle_nothing, 0);
    }
}

/* The id of what somebody sends under a name of his own. */
static const char *named(struct scene *on,
                         const char *stream,
                         const char *session,
                         const char *id)
{
    const struct scene_sending sending = {
        .payload = "1",
        .id = id,
        .session = session,
    };
    const struct scene_sent *sent = scene_send_with(on, stream, &sending);
    EXPECT_IDLE(&on->kit);
    EXPECT_EQ(sent->ended, 1);
    return buf_text(&on->sent.at[on->sent.count - 1]->id);
}

static bool differ(const char *a, const char *b)
{
    return strcmp(a, b) != 0 || test_fail(__FILE__, __LINE__, "both are %s", a);
}

/* The last part, from a separator on. */
static const char *last_part(const char *id)
{
    const char *separator = strrchr(id, ':');
    CHECK(separator != NULL);
    return separator;
}

/* Two events of one transaction have an id up to their counter in common, and
 * end in the same stream. */
TEST(eid_01_numbered_in_their_transaction)
{
    struct scene on;
    begin(&on, AT_HOME);
    struct transaction *origin = transaction_begin(&on.kit.replica, NULL);
    struct scene_sent *a = scene_send_from(&on, "s", origin, "1");
    struct scene_sent *b = scene_send_from(&on, "s", origin, "2");
    struct scene_sent *c = scene_send_from(&on, "t", origin, "3");
    EXPECT_EQ(lineage_commit(on.kit.sched, origin, NULL), ERR_OK);
    transaction_release(origin);
    EXPECT_IDLE(&on.kit);
    const char *first = buf_text(&a->id);
    const char *second = buf_text(&b->id);
    const char *third = buf_text(&c->id);
    EXPECT_EQ(strlen(first), strlen(second));
    size_t differences = 0;
    size_t at = 0;
    for (size_t i = 0; i < strlen(first); i++) {
        if (first[i] != second[i]) {
            differences++;
            at = i;
        }
    }
    EXPECT_EQ(differences, 1);
    EXPECT_EQ(first[at], '0');
    EXPECT_EQ(second[at], '1');
    EXPECT_EQ(third[at], '2');
    EXPECT(strncmp(first, third, at) == 0);
    EXPECT_TEXT(last_part(first), last_part(second));
    differ(last_part(first), last_part(third));
    scene_end(&on);
}

TEST(eid_02_transactions_have_numbers_of_their_own)
{
    struct scene on;
    begin(&on, AT_HOME);
    const char *ids[3];
    for (size_t i = 0; i < 2; i++) {
        struct transaction *origin = transaction_begin(&on.kit.replica, NULL);
        struct scene_sent *sent = scene_send_from(&on, "s", origin, "1");
        EXPECT_EQ(lineage_commit(on.kit.sched, origin, NULL), ERR_OK);
        transaction_release(origin);
        EXPECT_IDLE(&on.kit);
        ids[i] = buf_text(&sent->id);
    }
    struct scene_sent *sent = scene_send(&on, "s", "1"); /* of nobody */
    EXPECT_IDLE(&on.kit);
    ids[2] = buf_text(&sent->id);
    differ(ids[0], ids[1]);
    differ(ids[1], ids[2]);
    differ(ids[0], ids[2]);
    scene_end(&on);
}

/* Trying it again does not change the id; what is sent by another attempt has
 * another one. */
TEST(eid_02_an_attempt_has_numbers_of_its_own)
{
    struct scene on;
    scene_begin(&on, AT_STORE);
    struct scene_handler *h =
        scene_on(&on, "H", "s", "-> r", handle_forward, 1);
    h->target = "t";
    scene_on(&on, "G", "t", "", handle_nothing, 0);
    struct scene_sent *sent = scene_send(&on, "s", "1");
    scene_refuse(&on, ERR_CONFLICT, 1);
    EXPECT_SETTLED(&on);
    EXPECT_EQ(sent->attempts, 2);
    EXPECT_EQ(on.sent.count, 3);
    EXPECT_END(on.sent.at[1], "dropped ORIGIN_FAILED");
    EXPECT_END(on.sent.at[2], "done");
    differ(buf_text(&on.sent.at[1]->id), buf_text(&on.sent.at[2]->id));
    scene_end(&on);
}

/* Two runtimes never mint the same id. */
TEST(eid_02_runtimes_have_ids_of_their_own)
{
    struct scene on;
    struct scene beside;
    scene_begin(&on, AT_STORE);
    scene_begin_beside(&beside, &on, "second", AT_STORE);
    scene_on(&on, "H", "s", "", handle_nothing, 0);
    scene_on(&beside, "H", "s", "", handle_nothing, 0);
    struct scene_sent *here = scene_send(&on, "s", "1");
    struct scene_sent *there = scene_send(&beside, "s", "1");
    EXPECT_SETTLED(&on);
    EXPECT_SETTLED(&beside);
    EXPECT_END(here, "done");
    EXPECT_END(there, "done");
    differ(buf_text(&here->id), buf_text(&there->id));
    scene_end(&beside);
    scene_end(&on);
}

TEST(eid_04_a_name_is_a_pure_function)
{
    struct scene on;
    struct scene other;
    begin(&on, AT_HOME);
    begin(&other, AT_HOME); /* another runtime altogether */
    const char *here = named(&on, "s", "ses", "call");
    EXPECT_TEXT(named(&other, "s", "ses", "call"), here);
    EXPECT_TEXT(named(&on, "s", "ses", "call"), here);
    differ(named(&on, "s", "ses", "call2"), here);
    scene_end(&other);
    scene_end(&on);
}

TEST(eid_04_a_name_needs_a_session)
{
    struct scene on;
    begin(&on, AT_HOME);
    struct err_detail detail = {0};
    const struct scene_sending alone = {.payload = "1", .id = "call"};
    EXPECT(scene_try_send(&on, "s", &alone, &detail) == NULL);
    EXPECT_EQ(detail.err, ERR_ARGUMENT);
    const struct scene_sending nameless = {.payload = "1", .session = "ses"};
    EXPECT(scene_try_send(&on, "s", &nameless, &detail) == NULL);
    EXPECT_EQ(detail.err, ERR_ARGUMENT);
    EXPECT_EQ(scene_counters(&on)->sent, 0);
    scene_end(&on);
}

TEST(eid_05_of_another_session)
{
    struct scene on;
    begin(&on, AT_HOME);
    differ(named(&on, "s", "ses", "call"), named(&on, "s", "other", "call"));
    scene_end(&on);
}

TEST(eid_06_of_another_scope)
{
    struct scene on;
    begin(&on, AT_HOME);
    const char *space = named(&on, "s", "ses", "call");
    const char *user = named(&on, "s~user", "ses", "call");
    const char *session = named(&on, "s~session", "ses", "call");
    differ(space, user);
    differ(space, session);
    differ(user, session);
    scene_end(&on);
}

TEST(eid_07_of_another_document_path_or_space)
{
    struct scene on;
    begin(&on, AT_HOME);
    scene_open_second(&on, AT_HOME);
    scene_on(&on, "H", ">s", "", handle_nothing, 0);
    const char *here = named(&on, "s", "ses", "call");
    differ(named(&on, "t", "ses", "call"), here);
    differ(named(&on, "s.x", "ses", "call"), here);
    differ(named(&on, ">s", "ses", "call"), here);
    scene_end(&on);
}

/* The parts are not joined with anything that could be in them. */
TEST(eid_08_no_name_looks_like_another)
{
    struct scene on;
    begin(&on, AT_HOME);
    scene_on(&on, "H", "of:y:z", "", handle_nothing, 0);
    scene_on(&on, "H", "y:z", "", handle_nothing, 0);
    differ(named(&on, "of:y:z", "s", "x"), named(&on, "y:z", "s", "x:of"));
    differ(named(&on, "s", "1:ses", "inv"), named(&on, "s", "ses", "inv:1"));
    scene_end(&on);
}
