/* Events over HTTP: stored, handled once, answered with the receipt. */

#include <stdio.h>
#include <string.h>

#include "lib/http_kit.h"
#include "lib/test.h"

static const char add[] = "POST /pieces/cart/streams/add";

/* How many items the piece has. */
static const char *items_of(struct http_kit *kit)
{
    return http_ask(kit, "GET /docs/piece:cart%2Fitems?path=/value", NULL);
}

/* -- Outcomes ------------------------------------------------------------ */

TEST(an_event_is_answered_with_its_receipt_when_it_is_handled)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    EXPECT_TEXT(http_ask(&kit, add, "5"), "later");
    EXPECT_TEXT(http_step(&kit, 10), "");
    http_run_on(&kit);
    EXPECT_TEXT(http_step(&kit, 10), "#1 200 {'count':1}");
    EXPECT_TEXT(items_of(&kit), "200 [5]");
    EXPECT_EQ(route_space_waiting(kit.space), 0);
    http_end(&kit);
}

TEST(an_event_without_a_body_has_a_null_payload)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    EXPECT_TEXT(http_ask(&kit, add, NULL), "later");
    http_run_on(&kit);
    EXPECT_TEXT(http_step(&kit, 0), "#1 200 {'count':1}");
    EXPECT_TEXT(items_of(&kit), "200 [null]");
    http_end(&kit);
}

TEST(a_field_of_the_result_that_links_to_a_stream_is_a_stream)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    EXPECT_TEXT(http_ask(&kit, "POST /pieces/cart/streams/also", "6"), "later");
    http_run_on(&kit);
    EXPECT_TEXT(http_step(&kit, 0), "#1 200 {'count':1}");
    http_end(&kit);
}

TEST(an_event_that_no_runtime_handles_is_stored_and_202_says_where_to_look)
{
    struct http_kit kit;
    char where[700];
    char what[800];
    http_begin(&kit, true);
    http_run(&kit);
    http_run_end(&kit);
    (void)snprintf(what, sizeof what, "%s?timeout=500", add);
    EXPECT_TEXT(http_ask(&kit, what, "5"), "later");
    EXPECT_EQ(route_space_next_wake(kit.space), kit.context.now + 500);
    EXPECT_TEXT(http_step(&kit, 499), "");
    EXPECT_CONTAINS(http_step(&kit, 1), "#1 202 {'id':'receipt:");
    EXPECT_CONTAINS(buf_text(&kit.delivered), "'state':'waiting'}");
    /* At once, with a timeout of 0; and the answer names the place. */
    (void)snprintf(what, sizeof what, "%s?timeout=0", add);
    EXPECT_CONTAINS(http_ask(&kit, what, "6"), "202 ");
    (void)
        snprintf(where, sizeof where, "GET %s", http_header(&kit, "location:"));
    EXPECT_CONTAINS(where, "GET /v1/spaces/space/events/receipt:");
    EXPECT_CONTAINS(http_ask(&kit, where, NULL),
                    "'state':'waiting','piece':'cart','handler':'add',"
                    "'payload':6}");
    /* The next runtime finds both, in order. */
    http_run(&kit);
    EXPECT_TEXT(items_of(&kit), "200 [5,6]");
    EXPECT_CONTAINS(http_ask(&kit, where, NULL),
                    "'state':'done','piece':'cart','handler':'add',"
                    "'receipt':{'count':2}}");
    EXPECT_CONTAINS(http_ask(&kit, "GET /events/receipt:none", NULL), "404 ");
    http_end(&kit);
}

TEST(respond_async_answers_when_the_event_is_stored)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    kit.prefer = "wait=10, Respond-Async";
    EXPECT_CONTAINS(http_ask(&kit, add, "5"), "202 {'id':'receipt:");
    http_run_on(&kit);
    EXPECT_TEXT(items_of(&kit), "200 [5]");
    http_end(&kit);
}

TEST(a_handler_that_fails_is_an_error_with_its_message)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    EXPECT_TEXT(http_ask(&kit, add, "'text'"), "later");
    http_run_on(&kit);
    EXPECT_CONTAINS(http_step(&kit, 0), "#1 422 {'code':'GIVEN_UP'");
    EXPECT_CONTAINS(buf_text(&kit.delivered), "texts are not sold here");
    EXPECT_CONTAINS(buf_text(&kit.delivered), "'id':'receipt:");
    EXPECT_TEXT(items_of(&kit), "200 []");
    EXPECT_CONTAINS(http_ask(&kit, "GET /events?failed=true", NULL),
                    "'payload':'text'");
    http_end(&kit);
}

TEST(no_piece_and_no_stream_are_404_and_store_nothing)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    (void)http_step(&kit, 30);
    const uint64_t before = kit.store.engine.seq;
    EXPECT_CONTAINS(http_ask(&kit, "POST /pieces/card/streams/add", "5"),
                    "404 {'code':'NOT_FOUND'");
    EXPECT_CONTAINS(http_ask(&kit, "POST /pieces/cart/streams/ad", "5"),
                    "did you mean 'add'?");
    EXPECT_CONTAINS(http_ask(&kit, "POST /pieces/cart/streams/items", "5"),
                    "404 ");
    EXPECT_CONTAINS(http_ask(&kit, add, "{"), "400 ");
    EXPECT_CONTAINS(
        http_ask(&kit, "POST /pieces/cart/streams/add?timeout=120001", "5"),
        "400 ");
    EXPECT_EQ(kit.store.engine.seq, before);
    http_end(&kit);
}

/* -- Idempotency --------------------------------------------------------- */

TEST(requests_with_one_key_are_one_event)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    kit.key = "k1";
    EXPECT_TEXT(http_ask(&kit, add, "{'n':1}"), "later");
    kit.key = "k1"; /* while the first one waits */
    EXPECT_TEXT(http_ask(&kit, add, "{ 'n': 1 }"), "later");
    http_run_on(&kit);
    EXPECT_TEXT(http_step(&kit, 0), "#1 200 {'count':1}; #2 200 {'count':1}");
    kit.key = "k1"; /* and after it */
    EXPECT_TEXT(http_ask(&kit, add, "{'n':1}"), "200 {'count':1}");
    kit.key = "k1";
    kit.prefer = "respond-async";
    EXPECT_TEXT(http_ask(&kit, add, "{'n':1}"), "200 {'count':1}");
    EXPECT_TEXT(items_of(&kit), "200 [{'n':1}]");
    http_end(&kit);
}

TEST(another_payload_with_a_used_key_is_409)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    kit.key = "k1";
    EXPECT_TEXT(http_ask(&kit, add, "1"), "later");
    kit.key = "k1"; /* the event is stored */
    EXPECT_CONTAINS(http_ask(&kit, add, "2"),
                    "409 {'code':'IDEMPOTENCY_MISMATCH'");
    http_run_on(&kit);
    (void)http_step(&kit, 0);
    kit.key = "k1"; /* its receipt is */
    EXPECT_CONTAINS(http_ask(&kit, add, "2"),
                    "409 {'code':'IDEMPOTENCY_MISMATCH'");
    EXPECT_TEXT(items_of(&kit), "200 [1]");
    http_end(&kit);
}

TEST(a_key_is_of_its_caller_and_its_stream)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    kit.key = "k1";
    (void)http_ask(&kit, add, "1");
    http_as(&kit, "bob", "rw");
    kit.key = "k1";
    EXPECT_TEXT(http_ask(&kit, add, "2"), "later");
    http_as(&kit, NULL, "rw");
    kit.key = "k1";
    EXPECT_TEXT(http_ask(&kit, add, "3"), "later");
    kit.key = "k2";
    EXPECT_TEXT(http_ask(&kit, add, "4"), "later");
    http_run_on(&kit);
    EXPECT_TEXT(http_step(&kit, 0),
                "#1 200 {'count':1}; #2 200 {'count':2}; "
                "#3 200 {'count':3}; #4 200 {'count':4}");
    http_end(&kit);
}

TEST(events_without_a_key_are_different_events)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    (void)http_ask(&kit, add, "1");
    (void)http_ask(&kit, add, "1");
    http_run_on(&kit);
    EXPECT_TEXT(http_step(&kit, 0), "#1 200 {'count':1}; #2 200 {'count':2}");
    http_end(&kit);
}

TEST(a_repetition_of_an_event_that_failed_gets_the_failure)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    kit.key = "k1";
    (void)http_ask(&kit, add, "'text'");
    http_run_on(&kit);
    EXPECT_CONTAINS(http_step(&kit, 0), "#1 422 ");
    kit.key = "k1";
    EXPECT_CONTAINS(http_ask(&kit, add, "'text'"), "422 {'code':'GIVEN_UP'");
    kit.key = "k2";
    EXPECT_TEXT(http_ask(&kit, add, "7"), "later");
    http_run_on(&kit);
    EXPECT_TEXT(http_step(&kit, 0), "#3 200 {'count':1}");
    http_end(&kit);
}

TEST(a_cancelled_event_is_gone)
{
    struct http_kit kit;
    struct buf line = {0};
    http_begin(&kit, true);
    http_run(&kit);
    http_run_end(&kit);
    kit.key = "k1";
    (void)http_ask(&kit, "POST /pieces/cart/streams/add?timeout=0", "1");
    const char *id = strstr(buf_text(&kit.shown), "receipt:");
    buf_printf(&line,
               "s1 1 | put %.*s {'cancelled':true}",
               (int)strcspn(id, "'"),
               id);
    kit.key = "k1";
    EXPECT_TEXT(http_ask(&kit, add, "1"), "later");
    kit_commit(&kit.store, buf_text(&line));
    EXPECT_CONTAINS(http_step(&kit, 30), "#2 410 {'code':'GIVEN_UP'");
    buf_release(&line);
    http_end(&kit);
}

TEST(a_key_is_short_and_printable)
{
    char key[300];
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    memset(key, 'k', sizeof key);
    key[256] = '\0';
    kit.key = key;
    EXPECT_CONTAINS(http_ask(&kit, add, "1"), "400 ");
    kit.key = "";
    EXPECT_CONTAINS(http_ask(&kit, add, "1"), "400 ");
    kit.key = "a\tb";
    EXPECT_CONTAINS(http_ask(&kit, add, "1"), "400 ");
    key[255] = '\0';
    kit.key = key;
    EXPECT_TEXT(http_ask(&kit, add, "1"), "later");
    http_end(&kit);
}

/* Requests with a few keys and payloads, repeated, cut off and handled at
 * random moments: each key is handled once, with the payload that came
 * first. */
PROPERTY(each_key_is_handled_once_whatever_is_repeated, 30)
{
    enum {
        KEYS = 4,
    };
    int first[KEYS] = {-1, -1, -1, -1};
    struct http_kit kit;
    unsigned handled = 0;
    http_begin(&kit, true);
    http_run(&kit);
    for (unsigned step = 0; step < 40; step++) {
        const unsigned at = (unsigned)random_below(random, KEYS);
        const int payload = (int)random_below(random, 2);
        char key[8];
        char body[8];
        (void)snprintf(key, sizeof key, "k%u", at);
        (void)snprintf(body, sizeof body, "%d", payload);
        kit.key = key;
        const char *answer = http_ask(&kit, add, body);
        const bool is_mismatch = strncmp(answer, "409 ", 4) == 0;
        EXPECT_EQ(is_mismatch, first[at] >= 0 && first[at] != payload);
        handled += first[at] < 0;
        first[at] = first[at] < 0 ? payload : first[at];
        if (random_one_in(random, 4)) {
            route_space_closed(kit.space, kit.last);
        }
        if (random_one_in(random, 4)) {
            http_run_on(&kit);
        }
        if (random_one_in(random, 3)) {
            (void)http_step(&kit, 1);
        }
    }
    http_run_on(&kit);
    (void)http_step(&kit, 1);
    EXPECT_EQ(route_space_waiting(kit.space), 0);
    const char *items = items_of(&kit);
    unsigned count = 0;
    for (const char *c = items + 4; *c != '\0'; c++) {
        count += *c == '0' || *c == '1';
    }
    EXPECT_EQ(count, handled);
    http_end(&kit);
}

/* -- Ends ---------------------------------------------------------------- */

TEST(a_client_that_goes_leaves_its_event)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    EXPECT_TEXT(http_ask(&kit, add, "5"), "later");
    route_space_closed(kit.space, 1);
    EXPECT_EQ(route_space_waiting(kit.space), 0);
    http_run_on(&kit);
    EXPECT_TEXT(http_step(&kit, 0), "");
    EXPECT_TEXT(items_of(&kit), "200 [5]");
    http_end(&kit);
}

TEST(a_stored_event_of_a_closing_space_is_answered_with_its_place)
{
    struct http_kit kit;
    struct err_detail why = {0};
    http_begin(&kit, true);
    http_run(&kit);
    (void)http_ask(&kit, add, "5");
    (void)err_set(&why, ERR_CLOSED, "the server is closing");
    http_end_waiting(&kit, &why);
    EXPECT_CONTAINS(buf_text(&kit.delivered), "#1 202 {'id':'receipt:");
    http_end(&kit);
}

TEST(waiting_requests_are_counted)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    (void)http_ask(&kit, add, "5");
    (void)http_ask(&kit, "GET /./metrics", NULL);
    EXPECT_CONTAINS(buf_text(&kit.shown), "|heddle_event_requests_waiting 1|");
    EXPECT_CONTAINS(buf_text(&kit.shown), "|heddle_events_stored_total 1|");
    http_run_on(&kit);
    (void)http_step(&kit, 0);
    (void)http_ask(&kit, "GET /./metrics", NULL);
    EXPECT_CONTAINS(buf_text(&kit.shown), "|heddle_event_requests_waiting 0|");
    http_end(&kit);
}
