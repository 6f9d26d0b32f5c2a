/* Streams of server-sent events: what is told, and how one continues. */

#include <stdio.h>
#include <string.h>

#include "lib/http_kit.h"
#include "lib/test.h"

/* -- Documents ----------------------------------------------------------- */

TEST(a_stream_begins_with_the_state_and_tells_of_changes)
{
    struct http_kit kit;
    http_begin(&kit, false);
    kit_commit(&kit.store, "s1 1 | set a 1");
    EXPECT_TEXT(http_ask(&kit, "GET /watch?id=a", NULL),
                "200 retry: 1000||event: document|data: "
                "{'id':'a','seq':1,'document':{'value':1}}|id: 1");
    EXPECT(kit.answer.is_stream);
    EXPECT_TEXT(kit.answer.content_type, "text/event-stream");
    EXPECT_TEXT(http_step(&kit, 1), "");
    (void)http_ask(&kit, "PUT /docs/a", "{'value':2}");
    (void)http_ask(&kit, "PUT /docs/b", "{'value':2}");
    EXPECT_TEXT(http_step(&kit, 1),
                "#1+ event: document|data: "
                "{'id':'a','seq':2,'document':{'value':2}}|id: 3");
    (void)http_ask(&kit, "DELETE /docs/a", NULL);
    EXPECT_TEXT(http_step(&kit, 1),
                "#1+ event: document|data: "
                "{'id':'a','seq':4,'document':null}|id: 4");
    route_space_closed(kit.space, 1);
    (void)http_ask(&kit, "PUT /docs/a", "{'value':3}");
    EXPECT_TEXT(http_step(&kit, 1), "");
    http_end(&kit);
}

TEST(only_the_last_event_of_a_turn_has_an_id)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "GET /watch?id=a&id=b&id=a", NULL);
    hub_group_begin(&kit.hub);
    (void)http_ask(&kit, "PUT /docs/a", "{'value':1}");
    (void)http_ask(&kit, "PUT /docs/b", "{'value':2}");
    hub_group_end(&kit.hub);
    const char *told = http_step(&kit, 1);
    EXPECT_CONTAINS(told,
                    "event: document|data: "
                    "{'id':'a','seq':1,'document':{'value':1}}||");
    EXPECT_CONTAINS(told,
                    "event: document|data: "
                    "{'id':'b','seq':2,'document':{'value':2}}|id: 2");
    http_end(&kit);
}

TEST(a_stream_continues_behind_the_last_event_id)
{
    struct http_kit kit;
    http_begin(&kit, false);
    kit_commit(&kit.store, "s1 1 | set a 1");
    kit_commit(&kit.store, "s1 2 | set b 1");
    kit_commit(&kit.store, "s1 3 | set a 2");
    kit.last_event_id = "3";
    EXPECT_TEXT(http_ask(&kit, "GET /watch?id=a&id=b", NULL),
                "200 retry: 1000");
    kit.last_event_id = "2";
    EXPECT_TEXT(http_ask(&kit, "GET /watch?id=a&id=b", NULL),
                "200 retry: 1000||event: document|data: "
                "{'id':'a','seq':3,'document':{'value':2}}|id: 3");
    /* An id that the store does not have counts as none. */
    kit.last_event_id = "99";
    EXPECT_CONTAINS(http_ask(&kit, "GET /watch?id=a&id=b", NULL), "'id':'b'");
    kit.last_event_id = "x";
    EXPECT_CONTAINS(http_ask(&kit, "GET /watch?id=a", NULL), "400 ");
    kit.last_event_id = "";
    EXPECT_CONTAINS(http_ask(&kit, "GET /watch?id=a", NULL), "'id':'a'");
    /* What continues also goes on. */
    kit_commit(&kit.store, "s1 4 | set b 2");
    const char *told = http_step(&kit, 30);
    EXPECT_CONTAINS(told, "#1+ event: document|data: {'id':'b','seq':4,");
    EXPECT_CONTAINS(told, "#2+ event: document|data: {'id':'b','seq':4,");
    http_end(&kit);
}

/* A client that is cut off at random moments and continues where it was ends
 * with the same documents as the store. */
PROPERTY(a_client_that_continues_misses_nothing, 100)
{
    enum {
        DOCUMENTS = 3,
    };
    char known[DOCUMENTS][16] = {"null", "null", "null"};
    char last[24] = "";
    struct http_kit kit;
    net_id stream = 0;
    http_begin(&kit, false);
    for (unsigned step = 0; step < 60; step++) {
        struct buf told = {0};
        if (stream == 0) {
            kit.last_event_id = last;
            (void)http_ask(&kit, "GET /watch?id=d0&id=d1&id=d2", NULL);
            stream = kit.last;
            buf_append_text(&told, buf_text(&kit.shown));
        } else if (random_one_in(random, 5)) {
            route_space_closed(kit.space, stream);
            stream = 0;
        } else {
            for (uint64_t i = random_below(random, 3); i > 0; i--) {
                char what[32];
                char body[32];
                (void)snprintf(what,
                               sizeof what,
                               "PUT /docs/d%u",
                               (unsigned)random_below(random, DOCUMENTS));
                (void)snprintf(body, sizeof body, "{'value':%u}", step);
                (void)http_ask(&kit, what, body);
            }
            buf_append_text(&told, http_step(&kit, 1));
        }
        for (unsigned i = 0; i < DOCUMENTS; i++) {
            char sign[32];
            (void)snprintf(sign, sizeof sign, "{'id':'d%u'", i);
            const char *at = strstr(buf_text(&told), sign);
            const char *document =
                at != NULL ? strstr(at, "'document':") : NULL;
            if (document != NULL) {
                document += strlen("'document':");
                const size_t length =
                    document[0] == 'n' ? 4 : strcspn(document, "}") + 1;
                (void)snprintf(known[i],
                               sizeof known[i],
                               "%.*s",
                               (int)length,
                               document);
            }
        }
        const char *id = strstr(buf_text(&told), "|id: ");
        if (id != NULL) {
            (void)snprintf(last, sizeof last, "%u", 0U);
            (void)snprintf(last,
                           sizeof last,
                           "%.*s",
                           (int)strspn(id + 5, "0123456789"),
                           id + 5);
        }
        buf_release(&told);
        for (unsigned i = 0; stream != 0 && i < DOCUMENTS; i++) {
            char id_text[8];
            (void)snprintf(id_text, sizeof id_text, "d%u", i);
            const char *is = kit_read(&kit.store, id_text);
            EXPECT_TEXT(known[i], strcmp(is, "(absent)") == 0 ? "null" : is);
        }
    }
    http_end(&kit);
}

TEST(documents_of_a_user_are_told_to_that_user)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "GET /watch?id=a&scope=user", NULL);
    http_as(&kit, "bob", "rw");
    EXPECT_CONTAINS(http_ask(&kit, "GET /watch?id=a&scope=user", NULL),
                    "'document':null");
    (void)http_ask(&kit, "PUT /docs/a?scope=user", "{'value':'of bob'}");
    EXPECT_CONTAINS(http_step(&kit, 1), "#2+ ");
    EXPECT(strstr(buf_text(&kit.delivered), "#1+") == NULL);
    http_as(&kit, NULL, "rw");
    EXPECT_CONTAINS(http_ask(&kit, "GET /watch?id=a&scope=user", NULL), "400 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /watch?id=a&scope=session", NULL),
                    "400 ");
    http_end(&kit);
}

TEST(a_stream_needs_something_to_watch)
{
    struct http_kit kit;
    http_begin(&kit, false);
    EXPECT_CONTAINS(http_ask(&kit, "GET /watch", NULL), "400 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /watch?id=", NULL), "400 ");
    http_end(&kit);
}

/* -- Pieces -------------------------------------------------------------- */

TEST(the_result_of_a_piece_is_told_when_it_changes)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    EXPECT_CONTAINS(http_ask(&kit, "GET /watch?piece=cart", NULL),
                    "event: piece|data: {'piece':'cart','seq':");
    EXPECT_CONTAINS(buf_text(&kit.shown), "'value':{'count':0}}|id: ");
    (void)http_ask(&kit, "POST /pieces/cart/streams/add?timeout=0", "5");
    http_run_on(&kit);
    EXPECT_CONTAINS(http_step(&kit, 30),
                    "#1+ event: piece|data: {'piece':'cart','seq':");
    EXPECT_CONTAINS(buf_text(&kit.delivered), "'value':{'count':1}}|id: ");
    /* What leaves the result as it is, is not told. */
    (void)http_ask(&kit, "PUT /docs/other", "{}");
    EXPECT_TEXT(http_step(&kit, 30), "");
    http_end(&kit);
}

TEST(a_piece_that_does_not_exist_yet_is_told_when_it_does)
{
    struct http_kit kit;
    http_begin(&kit, false);
    EXPECT_CONTAINS(http_ask(&kit, "GET /watch?piece=p", NULL),
                    "data: {'piece':'p','seq':0,'value':null}");
    (void)http_ask(&kit,
                   "PUT /docs/piece:p",
                   "{'value':{'x':{'/':{'link@1':{'id':'d1','path':['value']}}"
                   "}}}");
    EXPECT_CONTAINS(http_step(&kit, 1), "'value':{}}");
    /* The document behind the link is watched from now on. */
    (void)http_ask(&kit, "PUT /docs/d1", "{'value':7}");
    EXPECT_CONTAINS(http_step(&kit, 1), "'value':{'x':7}}");
    /* A link to another document. */
    (void)http_ask(&kit,
                   "PUT /docs/piece:p",
                   "{'value':{'x':{'/':{'link@1':{'id':'d2','path':['value']}}"
                   "}}}");
    EXPECT_CONTAINS(http_step(&kit, 1), "'value':{}}");
    (void)http_ask(&kit, "PUT /docs/d1", "{'value':8}");
    EXPECT_TEXT(http_step(&kit, 1), "");
    (void)http_ask(&kit, "PUT /docs/d2", "{'value':9}");
    EXPECT_CONTAINS(http_step(&kit, 1), "'value':{'x':9}}");
    http_end(&kit);
}

TEST(a_stream_of_a_piece_continues)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "PUT /docs/piece:p", "{'value':{'x':1}}");
    (void)http_ask(&kit, "PUT /docs/piece:q", "{'value':{'y':1}}");
    (void)http_ask(&kit, "PUT /docs/piece:p", "{'value':{'x':2}}");
    (void)http_ask(&kit, "PUT /docs/a", "{'value':0}");
    kit.last_event_id = "4";
    EXPECT_TEXT(http_ask(&kit, "GET /watch?piece=p&piece=q", NULL),
                "200 retry: 1000");
    kit.last_event_id = "2";
    EXPECT_TEXT(http_ask(&kit, "GET /watch?piece=p&piece=q&id=a", NULL),
                "200 retry: 1000||event: document|data: "
                "{'id':'a','seq':4,'document':{'value':0}}||event: piece|data: "
                "{'piece':'p','seq':4,'value':{'x':2}}|id: 4");
    http_end(&kit);
}

TEST(a_document_that_is_named_and_part_of_a_piece_is_told_as_both)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "GET /watch?piece=p&id=piece:p", NULL);
    (void)http_ask(&kit, "PUT /docs/piece:p", "{'value':{'x':1}}");
    const char *told = http_step(&kit, 1);
    EXPECT_CONTAINS(told, "event: document|data: {'id':'piece:p','seq':1,");
    EXPECT_CONTAINS(told, "event: piece|data: {'piece':'p','seq':1,");
    (void)http_ask(&kit, "PUT /docs/piece:p", "{'value':{'x':2}}");
    EXPECT_CONTAINS(http_step(&kit, 1), "'value':{'x':2}");
    http_end(&kit);
}

/* -- Time and ends ------------------------------------------------------- */

TEST(a_silent_stream_has_a_heartbeat)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "GET /watch?id=a", NULL);
    EXPECT_EQ(route_space_next_wake(kit.space), kit.context.now + 15000);
    EXPECT_TEXT(http_step(&kit, 14999), "");
    EXPECT_TEXT(http_step(&kit, 1), "#1+ :");
    EXPECT_TEXT(http_step(&kit, 10000), "");
    (void)http_ask(&kit, "PUT /docs/a", "{}");
    EXPECT_CONTAINS(http_step(&kit, 4999), "#1+ event:");
    EXPECT_TEXT(http_step(&kit, 14999), ""); /* from the last event on */
    EXPECT_TEXT(http_step(&kit, 1), "#1+ :");
    http_end(&kit);
}

TEST(a_closing_space_ends_its_streams_with_the_reason)
{
    struct http_kit kit;
    struct err_detail why = {0};
    http_begin(&kit, false);
    (void)http_ask(&kit, "GET /watch?id=a", NULL);
    (void)err_set(&why, ERR_CLOSED, "the server is closing");
    http_end_waiting(&kit, &why);
    EXPECT_TEXT(buf_text(&kit.delivered),
                "#1+ retry: 2000||event: error|data: {'code':'CLOSED','class':"
                "'permanent','message':'the server is closing'}; #1.");
    EXPECT_EQ(route_space_waiting(kit.space), 0);
    http_end(&kit);
}

TEST(streams_are_counted)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "GET /watch?id=a", NULL);
    kit.last_event_id = "1";
    (void)http_ask(&kit, "GET /watch?id=a", NULL);
    (void)http_ask(&kit, "GET /./metrics", NULL);
    EXPECT_CONTAINS(buf_text(&kit.shown), "|heddle_watch_streams 2|");
    EXPECT_CONTAINS(buf_text(&kit.shown),
                    "|heddle_watch_streams_resumed_total 1|");
    route_space_closed(kit.space, 1);
    (void)http_ask(&kit, "GET /./metrics", NULL);
    EXPECT_CONTAINS(buf_text(&kit.shown), "|heddle_watch_streams 1|");
    http_end(&kit);
}

/* -- Access -------------------------------------------------------------- */

static bool is_not_bob(void *ctx, const struct credential *credential)
{
    (void)ctx;
    return strcmp(credential->principal, "bob") != 0;
}

TEST(a_stream_of_a_caller_that_may_no_longer_read_ends_before_anything_is_told)
{
    const struct credential ann = {.principal = "ann"};
    const struct credential bob = {.principal = "bob"};
    struct http_kit kit;
    http_begin(&kit, false);
    kit.context.credential = &ann;
    (void)http_ask(&kit, "GET /watch?id=a", NULL);
    http_as(&kit, "bob", "r");
    kit.context.credential = &bob;
    (void)http_ask(&kit, "GET /watch?id=a", NULL);
    http_as(&kit, "ann", "rw");
    kit.context.credential = &ann;
    (void)http_ask(&kit, "PUT /docs/a", "{'value':'secret'}");
    hub_flush(&kit.hub); /* both have it, and bob shall not see it */
    http_recheck(&kit, is_not_bob);
    EXPECT_TEXT(buf_text(&kit.delivered),
                "#2+ event: error|data: {'code':'ACCESS','class':'terminal',"
                "'message':'the access document of the space no longer permits "
                "reading'}; #2.");
    EXPECT_CONTAINS(http_step(&kit, 0), "#1+ event: document");
    EXPECT(strstr(buf_text(&kit.delivered), "#2") == NULL);
    http_end(&kit);
}

TEST(a_stream_ends_with_the_token_of_its_caller)
{
    struct http_kit kit;
    http_begin(&kit, false);
    const struct credential ann = {
        .principal = "ann",
        .expires_ms = kit.context.wall_ms + 20000,
    };
    kit.context.credential = &ann;
    (void)http_ask(&kit, "GET /watch?id=a", NULL);
    EXPECT_TEXT(http_step(&kit, 15000), "#1+ :");
    EXPECT_EQ(route_space_next_wake(kit.space), kit.context.now + 5000);
    EXPECT_TEXT(http_step(&kit, 4999), "");
    EXPECT_CONTAINS(http_step(&kit, 1),
                    "#1+ event: error|data: {'code':'UNAUTHENTICATED'");
    EXPECT_CONTAINS(buf_text(&kit.delivered), "; #1.");
    http_end(&kit);
}
