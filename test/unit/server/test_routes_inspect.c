/* Pieces, the log, the graph, and what waits, over HTTP. */

#include <stdio.h>
#include <string.h>

#include "lib/http_kit.h"
#include "lib/test.h"

static void sell(struct http_kit *kit, const char *payload)
{
    (void)http_ask(kit, "POST /pieces/cart/streams/add", payload);
    http_run_on(kit);
    (void)http_step(kit, 0);
}

/* -- Pieces -------------------------------------------------------------- */

TEST(the_result_of_a_piece_has_its_links_resolved)
{
    struct http_kit kit;
    char what[64];
    http_begin(&kit, true);
    http_run(&kit);
    sell(&kit, "5");
    EXPECT_TEXT(http_ask(&kit, "GET /pieces/cart", NULL), "200 {'count':1}");
    const uint64_t then = kit.store.engine.seq;
    char tag[80];
    (void)snprintf(tag, sizeof tag, "%s", http_header(&kit, "etag:"));
    kit_commit(&kit.store, "s1 1 | set other 1"); /* not part of the result */
    kit.if_none_match = tag;
    EXPECT_TEXT(http_ask(&kit, "GET /pieces/cart", NULL), "304");
    sell(&kit, "6");
    kit.if_none_match = tag;
    EXPECT_TEXT(http_ask(&kit, "GET /pieces/cart", NULL), "200 {'count':2}");
    EXPECT_TEXT(http_ask(&kit, "GET /pieces/cart?path=/count", NULL), "200 2");
    EXPECT(strcmp(http_header(&kit, "heddle-seq:"), "") != 0);
    (void)snprintf(what,
                   sizeof what,
                   "GET /pieces/cart?at=%llu",
                   (unsigned long long)then);
    EXPECT_TEXT(http_ask(&kit, what, NULL), "200 {'count':1}");
    EXPECT_CONTAINS(http_ask(&kit, "GET /pieces/cart?path=/none", NULL),
                    "404 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /pieces/nobody", NULL), "404 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /pieces/cart?at=9999", NULL),
                    "410 {'code':'SEQUENCE'");
    http_end(&kit);
}

TEST(a_result_that_links_to_too_much_is_refused)
{
    struct http_kit kit;
    struct buf line = {0};
    http_begin(&kit, false);
    /* Each document has the next one twice: 2^20 of them. */
    for (unsigned i = 0; i < 20; i++) {
        buf_clear(&line);
        buf_printf(&line,
                   "s1 %u | put %s%u {'value':[{'/':{'link@1':{'id':'d%u',"
                   "'path':['value']}}},{'/':{'link@1':{'id':'d%u',"
                   "'path':['value']}}}]}",
                   i + 1,
                   i == 0 ? "piece:p" : "d",
                   i,
                   i + 1,
                   i + 1);
        kit_commit(&kit.store, buf_text(&line));
        EXPECT_EQ(kit.store.verdicts[0].err, ERR_OK);
    }
    EXPECT_CONTAINS(http_ask(&kit, "GET /pieces/p0", NULL),
                    "413 {'code':'LIMIT_SIZE'");
    EXPECT_CONTAINS(http_ask(&kit, "GET /watch?piece=p0", NULL),
                    "413 {'code':'LIMIT_SIZE'");
    buf_release(&line);
    http_end(&kit);
}

TEST(pieces_are_listed_in_pages)
{
    struct http_kit kit;
    http_begin(&kit, false);
    EXPECT_TEXT(http_ask(&kit, "GET /pieces", NULL),
                "200 {'seq':0,'pieces':[]}");
    kit_commit(&kit.store,
               "s1 1 | set pieces {'b':{},'a':{},'c':{}} | put piece:b "
               "{'value':{},'piece':{'pattern':'t','cells':{'x':'state',"
               "'go':'handler'}}}");
    EXPECT_TEXT(http_ask(&kit, "GET /pieces?limit=2", NULL),
                "200 {'seq':1,'pieces':[{'piece':'a','streams':[]},"
                "{'piece':'b','pattern':'t','streams':['go']}],'next':'b'}");
    EXPECT_TEXT(http_ask(&kit, "GET /pieces?limit=2&after=b", NULL),
                "200 {'seq':1,'pieces':[{'piece':'c','streams':[]}]}");
    EXPECT_TEXT(http_ask(&kit, "GET /pieces?limit=0", NULL),
                "200 {'seq':1,'pieces':[]}");
    http_end(&kit);
}

/* -- Inspection ---------------------------------------------------------- */

TEST(the_log_has_the_newest_commits_in_pages)
{
    struct http_kit kit;
    http_begin(&kit, true);
    for (unsigned i = 0; i < 5; i++) {
        (void)http_ask(&kit, "PUT /docs/a", "{'value':1}");
    }
    const char *answer = http_ask(&kit, "GET /log?limit=2", NULL);
    EXPECT_CONTAINS(answer, "200 {'next':3,'commits':[{'seq':4,");
    EXPECT_CONTAINS(answer, "{'seq':5,");
    EXPECT_CONTAINS(answer,
                    "'by':{'type':'edit'},'writes':[{'document':'a',"
                    "'op':'set'}]}");
    EXPECT_CONTAINS(http_ask(&kit, "GET /log?limit=2&to=3", NULL),
                    "200 {'next':1,'commits':[{'seq':2,");
    answer = http_ask(&kit, "GET /log?limit=2&to=1", NULL);
    EXPECT_CONTAINS(answer, "200 {'commits':[{'seq':1,");
    EXPECT(strstr(answer, "'next'") == NULL);
    EXPECT_TEXT(http_ask(&kit, "GET /log?after=5", NULL), "200 {'commits':[]}");
    http_end(&kit);
}

TEST(writes_to_documents_of_other_users_are_not_in_the_log)
{
    struct http_kit kit;
    http_begin(&kit, true);
    (void)http_ask(&kit, "PUT /docs/diary?scope=user", "{'value':1}");
    EXPECT_CONTAINS(http_ask(&kit, "GET /log", NULL),
                    "{'document':'diary','scope':'user:ann','op':'set'}");
    http_as(&kit, "bob", "rwo");
    EXPECT_CONTAINS(http_ask(&kit, "GET /log", NULL), "'writes':[]");
    EXPECT(strstr(buf_text(&kit.shown), "diary") == NULL);
    http_as(&kit, NULL, "r");
    EXPECT(strstr(http_ask(&kit, "GET /log", NULL), "diary") == NULL);
    http_end(&kit);
}

TEST(the_graph_and_why_a_node_ran)
{
    struct http_kit kit;
    http_begin(&kit, true);
    http_run(&kit);
    sell(&kit, "5");
    EXPECT_CONTAINS(http_ask(&kit, "GET /graph", NULL),
                    "{'node':'count','kind':'computed','status':'clean'");
    EXPECT(strstr(buf_text(&kit.shown), "'sessions'") == NULL);
    EXPECT_CONTAINS(http_ask(&kit, "GET /graph?piece=cart", NULL),
                    "'name':'count','kind':'computed'");
    EXPECT_CONTAINS(http_ask(&kit, "GET /graph?piece=card", NULL),
                    "did you mean 'cart'?");
    EXPECT_CONTAINS(http_ask(&kit, "GET /why/cart/count", NULL),
                    "'reason':'change'");
    EXPECT_CONTAINS(buf_text(&kit.shown), "'handler':'add'");
    EXPECT_CONTAINS(http_ask(&kit, "GET /why/cart%2Fcount?not=true", NULL),
                    "'condition':'clean'");
    EXPECT_CONTAINS(http_ask(&kit, "GET /why/cart/count?origin=true", NULL),
                    "'reason':'change'");
    EXPECT_CONTAINS(http_ask(&kit, "GET /why/cart/coutn", NULL),
                    "did you mean 'count'?");
    EXPECT_CONTAINS(http_ask(&kit, "GET /why/card/count", NULL), "404 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /why/cart", NULL), "400 ");
    http_as(&kit, NULL, "r");
    EXPECT_CONTAINS(http_ask(&kit, "GET /why/cart/count", NULL), "200 ");
    http_end(&kit);
}

TEST(waiting_events_are_listed_in_pages)
{
    struct http_kit kit;
    char what[200];
    http_begin(&kit, true);
    http_run(&kit);
    http_run_end(&kit);
    for (unsigned i = 0; i < 3; i++) {
        char payload[8];
        (void)snprintf(payload, sizeof payload, "%u", i);
        (void)http_ask(&kit,
                       "POST /pieces/cart/streams/add?timeout=0",
                       payload);
    }
    const char *answer = http_ask(&kit, "GET /events?limit=2", NULL);
    EXPECT_CONTAINS(answer, "'payload':0");
    EXPECT_CONTAINS(answer, "'payload':1");
    EXPECT(strstr(answer, "'payload':2") == NULL);
    const char *next = strstr(answer, "'next':'");
    if (EXPECT(next != NULL)) {
        next += strlen("'next':'");
        (void)snprintf(what,
                       sizeof what,
                       "GET /events?limit=2&after=%.*s",
                       (int)strcspn(next, "'"),
                       next);
        EXPECT_CONTAINS(http_ask(&kit, what, NULL), "'payload':2");
        EXPECT(strstr(buf_text(&kit.shown), "'payload':1") == NULL);
        EXPECT(strstr(buf_text(&kit.shown), "'next'") == NULL);
    }
    EXPECT_CONTAINS(http_ask(&kit, "GET /events?after=gone", NULL),
                    "409 {'code':'LISTING_MOVED'");
    EXPECT_TEXT(http_ask(&kit, "GET /events?piece=other", NULL),
                "200 {'events':[]}");
    EXPECT_TEXT(http_ask(&kit, "GET /timers", NULL), "200 {'timers':[]}");
    http_end(&kit);
}

TEST(events_and_timers_of_other_users_are_not_listed)
{
    struct http_kit kit;
    http_begin(&kit, true);
    kit_commit(&kit.store,
               "s1 1 | put receipt:x {'event':{'stream':'piece:cart/add',"
               "'path':['value'],'payload':'secret','time':1,'instance':'i',"
               "'origin':1,'counter':0,'hops':0,'queued':true,'user':'bob'}} "
               "| put receipt:timer:y {'event':{'stream':'piece:cart/add',"
               "'path':['value'],'payload':'hidden','time':1,'instance':'i',"
               "'origin':1,'counter':0,'hops':0,'user':'bob','due':7}}");
    EXPECT_EQ(kit.store.verdicts[0].err, ERR_OK);
    EXPECT_TEXT(http_ask(&kit, "GET /events", NULL), "200 {'events':[]}");
    EXPECT_TEXT(http_ask(&kit, "GET /timers", NULL), "200 {'timers':[]}");
    http_as(&kit, "bob", "r");
    EXPECT_CONTAINS(http_ask(&kit, "GET /events", NULL), "'secret'");
    EXPECT_CONTAINS(http_ask(&kit, "GET /timers", NULL), "'hidden'");
    http_end(&kit);
}

TEST(a_space_in_memory_cannot_be_inspected)
{
    struct http_kit kit;
    http_begin(&kit, false);
    EXPECT_CONTAINS(http_ask(&kit, "GET /log", NULL), "422 {'code':'MISUSE'");
    http_end(&kit);
}
