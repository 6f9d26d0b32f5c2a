/* Documents over HTTP: reading, writing, conditions, patches. */

#include <stdio.h>
#include <string.h>

#include "lib/fault_vfs.h"
#include "lib/http_kit.h"
#include "lib/test.h"
#include "value/id.h"

static const char json_patch[] = "application/json-patch+json";
static const char merge_patch[] = "application/merge-patch+json";

/* -- Reading ------------------------------------------------------------- */

TEST(a_document_is_read_with_its_seq)
{
    struct http_kit kit;
    http_begin(&kit, false);
    kit_commit(&kit.store, "s1 1 | set a 1");
    kit_commit(&kit.store, "s1 2 | set b 1");
    EXPECT_TEXT(http_ask(&kit, "GET /docs/a", NULL), "200 {'value':1}");
    EXPECT_TEXT(http_header(&kit, "etag:"), "\"1\"");
    EXPECT_TEXT(http_header(&kit, "heddle-seq:"), "2");
    EXPECT_TEXT(http_ask(&kit, "HEAD /docs/a", NULL), "200");
    EXPECT_TEXT(http_header(&kit, "etag:"), "\"1\"");
    /* Its length is that of the answer to a GET. */
    EXPECT_TEXT(buf_text(&kit.answer.body), "{\"value\":1}\n");
    EXPECT_TEXT(http_ask(&kit, "GET /docs/a?path=/value", NULL), "200 1");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a?path=/value/x", NULL), "404 ");
    http_end(&kit);
}

TEST(a_document_is_read_as_it_was)
{
    struct http_kit kit;
    http_begin(&kit, false);
    kit_commit(&kit.store, "s1 1 | set a 1");
    kit_commit(&kit.store, "s1 2 | set a 2");
    kit_commit(&kit.store, "s1 3 | delete a");
    EXPECT_TEXT(http_ask(&kit, "GET /docs/a?at=1", NULL), "200 {'value':1}");
    /* Not the seq of a state that a write could name. */
    EXPECT_EQ(strlen(http_header(&kit, "etag:")), DIGEST_TEXT_LENGTH + 2);
    EXPECT_TEXT(http_header(&kit, "heddle-seq:"), "1");
    EXPECT_TEXT(http_ask(&kit, "GET /docs/a?at=2&path=/value", NULL), "200 2");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a?at=3", NULL), "404 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a", NULL), "404 ");
    EXPECT_TEXT(http_header(&kit, "etag:"), "\"3\"");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a?at=4", NULL),
                    "410 {'code':'SEQUENCE'");
    http_end(&kit);
}

TEST(a_state_that_the_client_has_is_not_sent_again)
{
    static const char *const tags[] = {
        "\"2\"",
        "W/\"2\"",
        "2",
        "*",
        "\"1\", \"2\"",
        "W/\"0\" ,W/\"2\"",
    };
    static const char *const others[] = {
        "\"1\"",
        "\"22\"",
        "w/\"2\"",
        "\"2",
        "2\"",
        "",
        ",",
        "W/",
        "\"",
    };
    struct http_kit kit;
    http_begin(&kit, false);
    kit_commit(&kit.store, "s1 1 | set a 1");
    kit_commit(&kit.store, "s1 2 | set a 2");
    for (size_t i = 0; i < COUNT_OF(tags); i++) {
        kit.if_none_match = tags[i];
        if (!EXPECT_TEXT(http_ask(&kit, "GET /docs/a", NULL), "304")) {
            (void)test_fail(__FILE__, __LINE__, "%s", tags[i]);
        }
        EXPECT_TEXT(http_header(&kit, "etag:"), "\"2\"");
        EXPECT_TEXT(http_header(&kit, "heddle-seq:"), "2");
        EXPECT_TEXT(http_header(&kit, "cache-control:"), "private, no-cache");
        EXPECT(kit.answer.content_type == NULL);
        kit.if_none_match = tags[i];
        EXPECT_TEXT(http_ask(&kit, "HEAD /docs/a?path=/value", NULL), "304");
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        kit.if_none_match = others[i];
        if (!EXPECT_TEXT(http_ask(&kit, "GET /docs/a", NULL),
                         "200 {'value':2}")) {
            (void)test_fail(__FILE__, __LINE__, "%s", others[i]);
        }
        EXPECT_TEXT(http_header(&kit, "cache-control:"), "private, no-cache");
    }
    kit.if_none_match = "*";
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/none", NULL), "404 ");
    EXPECT_TEXT(http_header(&kit, "cache-control:"), "no-store");
    http_as(&kit, "eve", "");
    kit.if_none_match = "*";
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a", NULL), "403 ");
    http_end(&kit);
}

TEST(other_reads_have_a_tag_of_their_content)
{
    static const char *const reads[] = {
        "GET /docs/a?at=1",
        "GET /pieces",
        "GET /./v1/openapi.json",
        "GET /./v1/spaces/space",
    };
    struct http_kit kit;
    http_begin(&kit, false);
    kit_commit(&kit.store, "s1 1 | set a 1");
    for (size_t i = 0; i < COUNT_OF(reads); i++) {
        char tag[80];
        EXPECT_CONTAINS(http_ask(&kit, reads[i], NULL), "200 ");
        (void)snprintf(tag, sizeof tag, "%s", http_header(&kit, "etag:"));
        EXPECT_EQ(strlen(tag), DIGEST_TEXT_LENGTH + 2);
        kit.if_none_match = tag;
        EXPECT_TEXT(http_ask(&kit, reads[i], NULL), "304");
        EXPECT_TEXT(http_header(&kit, "etag:"), tag);
    }
    char before[80];
    (void)http_ask(&kit, "GET /./v1/spaces/space", NULL);
    (void)snprintf(before, sizeof before, "%s", http_header(&kit, "etag:"));
    kit_commit(&kit.store, "s1 2 | set a 2");
    kit.if_none_match = before;
    EXPECT_CONTAINS(http_ask(&kit, "GET /./v1/spaces/space", NULL), "200 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /./healthz", NULL), "200 ");
    EXPECT_TEXT(http_header(&kit, "etag:"), "");
    EXPECT_TEXT(http_header(&kit, "cache-control:"), "no-store");
    http_end(&kit);
}

TEST(documents_of_a_user_are_for_that_user_only)
{
    struct http_kit kit;
    http_begin(&kit, false);
    EXPECT_CONTAINS(
        http_ask(&kit, "PUT /docs/a?scope=user", "{'value':'of ann'}"),
        "200 ");
    EXPECT_TEXT(http_ask(&kit, "GET /docs/a?scope=user", NULL),
                "200 {'value':'of ann'}");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a", NULL), "404 ");
    EXPECT_TEXT(kit_read(&kit.store, "a~user:ann"), "{'value':'of ann'}");
    http_as(&kit, "bob", "rwo");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a?scope=user", NULL), "404 ");
    EXPECT_CONTAINS(http_ask(&kit, "DELETE /docs/a?scope=user", NULL), "404 ");
    http_as(&kit, NULL, "rw");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a?scope=user", NULL), "400 ");
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a?scope=user", "{}"), "400 ");
    EXPECT_TEXT(kit_read(&kit.store, "a~user:ann"), "{'value':'of ann'}");
    http_end(&kit);
}

/* -- Writing ------------------------------------------------------------- */

TEST(a_document_is_replaced_and_deleted)
{
    struct http_kit kit;
    http_begin(&kit, false);
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':[1],'note':2}"),
                "200 {'seq':1}");
    EXPECT_TEXT(http_header(&kit, "etag:"), "\"1\"");
    EXPECT_TEXT(kit_read(&kit.store, "a"), "{'note':2,'value':[1]}");
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':2}"), "200 {'seq':2}");
    EXPECT_TEXT(kit_read(&kit.store, "a"), "{'value':2}");
    EXPECT_TEXT(http_ask(&kit, "DELETE /docs/a", NULL), "200 {'seq':3}");
    EXPECT_TEXT(kit_read(&kit.store, "a"), "(absent)");
    EXPECT_CONTAINS(http_ask(&kit, "DELETE /docs/a", NULL), "404 ");
    EXPECT_CONTAINS(http_ask(&kit, "DELETE /docs/never", NULL), "404 ");
    EXPECT_EQ(kit.store.engine.seq, 3);
    http_end(&kit);
}

TEST(a_part_of_a_document_is_replaced_and_deleted)
{
    struct http_kit kit;
    http_begin(&kit, false);
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a?path=/value", "{'x':[1,2]}"),
                    "200 ");
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a?path=/value/x/1", "7"), "200 ");
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a?path=/value/y", "null"),
                    "200 ");
    EXPECT_TEXT(kit_read(&kit.store, "a"), "{'value':{'x':[1,7],'y':null}}");
    EXPECT_CONTAINS(http_ask(&kit, "DELETE /docs/a?path=/value/x/0", NULL),
                    "200 ");
    EXPECT_TEXT(kit_read(&kit.store, "a"), "{'value':{'x':[7],'y':null}}");
    EXPECT_CONTAINS(http_ask(&kit, "DELETE /docs/a?path=/value/z", NULL),
                    "404 ");
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a?path=/value/x/5", "1"),
                    "422 {'code':'PATCH_");
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a?path=/value/y/z", "1"),
                    "422 {'code':'PATCH_");
    EXPECT_EQ(kit.store.engine.seq, 4);
    http_end(&kit);
}

TEST(what_is_no_document_is_refused)
{
    struct http_kit kit;
    struct buf longest = {0};
    http_begin(&kit, false);
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "[1]"),
                    "422 {'code':'PATCH_ROOT'");
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "7"), "use ?path=/value");
    buf_append_text(&longest, "{'value':");
    for (unsigned i = 0; i < 1001; i++) {
        buf_append_char(&longest, '[');
    }
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", buf_text(&longest)),
                    "413 {'code':'LIMIT_DEPTH'");
    EXPECT_EQ(kit.store.engine.seq, 0);
    buf_release(&longest);
    http_end(&kit);
}

TEST(a_write_is_a_commit_of_the_caller)
{
    struct http_kit kit;
    http_begin(&kit, false);
    kit.context.wall_ms = 1234;
    (void)http_ask(&kit, "PUT /docs/a", "{}");
    http_as(&kit, "bob", "rw");
    (void)http_ask(&kit, "PUT /docs/a", "{}");
    (void)http_ask(&kit, "PUT /docs/b", "{}");
    http_as(&kit, NULL, "rw");
    (void)http_ask(&kit, "PUT /docs/b", "{}");
    /* One session per principal, and numbers without a gap. */
    EXPECT_TEXT(kit_sql(&kit.store,
                        "SELECT count(DISTINCT session), count(*), "
                        "max(local_seq) FROM \"commit\""),
                "3|4|2;");
    http_end(&kit);
}

/* -- If-Match ------------------------------------------------------------ */

TEST(if_match_names_the_state_that_is_changed)
{
    struct http_kit kit;
    http_begin(&kit, false);
    kit.if_match = "\"0\"";
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':1}"), "200 {'seq':1}");
    kit.if_match = "\"0\"";
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{'value':2}"), "412 ");
    EXPECT_CONTAINS(buf_text(&kit.shown), "'code':'CONFLICT'");
    EXPECT_CONTAINS(buf_text(&kit.shown), "'seq':1}");
    EXPECT_TEXT(http_header(&kit, "etag:"), "\"1\"");
    (void)http_ask(&kit, "PUT /docs/other", "{}");
    kit.if_match = "\"1\""; /* the space has moved, the document has not */
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':2}"), "200 {'seq':3}");
    kit.if_match = "3"; /* without quotes, for people */
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':3}"), "200 {'seq':4}");
    kit.if_match = "\"1\", \"4\"";
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':4}"), "200 {'seq':5}");
    kit.if_match = "W/\"5\"";
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{'value':5}"), "412 ");
    kit.if_match = "nonsense";
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{'value':5}"), "412 ");
    kit.if_match = "\"99\"";
    EXPECT_CONTAINS(http_ask(&kit, "DELETE /docs/a", NULL), "412 ");
    kit.if_match = "\"5\"";
    EXPECT_CONTAINS(http_ask(&kit, "DELETE /docs/a", NULL), "200 ");
    kit.if_match = "*";
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{'value':5}"), "412 ");
    kit.if_match = "\"6\"";
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{'value':6}"), "200 ");
    kit.if_match = "*";
    kit.type = merge_patch;
    EXPECT_CONTAINS(http_ask(&kit, "PATCH /docs/a", "{'value':7}"), "200 ");
    EXPECT_TEXT(kit_read(&kit.store, "a"), "{'value':7}");
    http_end(&kit);
}

TEST(if_none_match_names_states_that_are_not_changed)
{
    struct http_kit kit;
    http_begin(&kit, false);
    kit.if_none_match = "*";
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':1}"), "200 {'seq':1}");
    kit.if_none_match = "*";
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{'value':2}"),
                    "412 {'code':'CONFLICT','class':'retry','message':'the "
                    "document is in a state that If-None-Match names: its seq "
                    "is 1");
    kit.if_none_match = "W/\"1\"";
    EXPECT_CONTAINS(http_ask(&kit, "DELETE /docs/a", NULL), "412 ");
    kit.if_none_match = "\"7\"";
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':3}"), "200 {'seq':2}");
    /* Two that create it at the same time: one lands, the other is told. */
    hub_group_begin(&kit.hub);
    kit.if_none_match = "*";
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/b", "{'value':1}"), "later");
    kit.if_none_match = "*";
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/b", "{'value':2}"), "later");
    hub_group_end(&kit.hub);
    EXPECT_CONTAINS(http_step(&kit, 0), "#5 200 {'seq':3}");
    EXPECT_CONTAINS(buf_text(&kit.delivered), "#6 412 ");
    EXPECT_TEXT(http_ask(&kit, "GET /docs/b", NULL), "200 {'value':1}");
    http_end(&kit);
}

TEST(of_two_writers_in_one_group_with_one_state_one_wins)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "PUT /docs/a", "{'value':0}");
    hub_group_begin(&kit.hub);
    kit.if_match = "\"1\"";
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':1}"), "later");
    http_as(&kit, "bob", "rw");
    kit.if_match = "\"1\"";
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':2}"), "later");
    EXPECT_EQ(route_space_waiting(kit.space), 2);
    hub_group_end(&kit.hub);
    const char *delivered = http_step(&kit, 0);
    EXPECT_CONTAINS(delivered, "#2 200 {'seq':2}; #3 412 ");
    EXPECT_CONTAINS(delivered, "'seq':2}");
    EXPECT_TEXT(kit_read(&kit.store, "a"), "{'value':1}");
    EXPECT_EQ(route_space_waiting(kit.space), 0);
    http_end(&kit);
}

TEST(a_patch_that_depends_on_the_state_is_tried_again)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "PUT /docs/a", "{'value':{}}");
    hub_group_begin(&kit.hub);
    kit.type = merge_patch;
    EXPECT_TEXT(http_ask(&kit, "PATCH /docs/a?path=/value", "{'x':1}"),
                "later");
    kit.type = merge_patch;
    EXPECT_TEXT(http_ask(&kit, "PATCH /docs/a?path=/value", "{'y':2}"),
                "later");
    http_as(&kit, "bob", "rw");
    kit.type = json_patch;
    EXPECT_TEXT(http_ask(&kit,
                         "PATCH /docs/a?path=/value",
                         "[{'op':'add','path':'/z','value':3}]"),
                "later");
    hub_group_end(&kit.hub);
    EXPECT_TEXT(http_step(&kit, 0),
                "#2 200 {'seq':2}; #3 200 {'seq':3}; #4 200 {'seq':4}");
    EXPECT_TEXT(kit_read(&kit.store, "a"), "{'value':{'x':1,'y':2,'z':3}}");
    http_end(&kit);
}

TEST(a_connection_that_ends_leaves_its_write)
{
    struct http_kit kit;
    http_begin(&kit, false);
    hub_group_begin(&kit.hub);
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':1}"), "later");
    route_space_closed(kit.space, 1);
    route_space_closed(kit.space, 1); /* harmless */
    hub_group_end(&kit.hub);
    EXPECT_TEXT(http_step(&kit, 0), "");
    EXPECT_TEXT(kit_read(&kit.store, "a"), "{'value':1}");
    http_end(&kit);
}

/* -- Patches ------------------------------------------------------------- */

static const char *patched(struct http_kit *kit,
                           const char *type,
                           const char *before,
                           const char *patch)
{
    char put[512];
    (void)snprintf(put, sizeof put, "{'value':%s}", before);
    (void)http_ask(kit, "PUT /docs/p", put);
    kit->type = type;
    const char *answer = http_ask(kit, "PATCH /docs/p?path=/value", patch);
    return strncmp(answer, "200 ", 4) == 0
               ? http_ask(kit, "GET /docs/p?path=/value", NULL)
               : answer;
}

TEST(json_patch_is_strict)
{
    static const struct {
        const char *before;
        const char *patch;
        const char *after; /* or how the answer begins */
    } cases[] = {
        {"{'a':1}", "[]", "200 {'a':1}"},
        {"{'a':1}",
         "[{'op':'add','path':'/b','value':2}]",
         "200 {'a':1,'b':2}"},
        {"[1,3]", "[{'op':'add','path':'/1','value':2}]", "200 [1,2,3]"},
        {"[1]", "[{'op':'add','path':'/-','value':2}]", "200 [1,2]"},
        {"{}", "[{'op':'add','path':'/a/b','value':2}]", "422 "},
        {"{'a':1}", "[{'op':'replace','path':'/a','value':2}]", "200 {'a':2}"},
        {"{}", "[{'op':'replace','path':'/a','value':2}]", "422 "},
        {"{'a':1}", "[{'op':'remove','path':'/a'}]", "200 {}"},
        {"{}", "[{'op':'remove','path':'/a'}]", "422 "},
        {"{'a':1}", "[{'op':'move','from':'/a','path':'/b'}]", "200 {'b':1}"},
        {"{'a':{}}", "[{'op':'move','from':'/a','path':'/a/b'}]", "422 "},
        {"{'a':1}", "[{'op':'move','from':'/a','path':'/a'}]", "200 {'a':1}"},
        {"{'a':[1]}",
         "[{'op':'copy','from':'/a','path':'/b'}]",
         "200 {'a':[1],'b':[1]}"},
        {"{}", "[{'op':'copy','from':'/a','path':'/b'}]", "422 "},
        {"{'a':1}",
         "[{'op':'test','path':'/a','value':1},"
         "{'op':'replace','path':'/a','value':2}]",
         "200 {'a':2}"},
        {"{'a':1}",
         "[{'op':'replace','path':'/a','value':2},"
         "{'op':'test','path':'/a','value':1}]",
         "409 {'code':'CONFLICT'"},
        {"{}", "[{'op':'test','path':'/a','value':1}]", "409 "},
        {"{'a':1}", "[{'op':'replace','path':'','value':7}]", "200 7"},
        {"1", "[{'op':'increment','path':'','by':1}]", "400 "},
        {"1", "[{'op':'add','path':'/a'}]", "400 "},
        {"1", "[{'op':'add','value':1}]", "400 "},
        {"1", "[{'op':'copy','path':'/a'}]", "400 "},
        {"1", "[{'op':'add','path':'a','value':1}]", "400 "},
        {"1", "{'op':'add'}", "400 "},
        {"1", "[7]", "400 "},
    };
    struct http_kit kit;
    http_begin(&kit, false);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *after =
            patched(&kit, json_patch, cases[i].before, cases[i].patch);
        const bool is_whole = cases[i].after[0] == '2';
        if (is_whole ? !EXPECT_TEXT(after, cases[i].after)
                     : !EXPECT_CONTAINS(after, cases[i].after)) {
            (void)test_fail(__FILE__, __LINE__, "%s", cases[i].patch);
        }
    }
    http_end(&kit);
}

/* The examples of RFC 7396, appendix A, that can be a payload. */
TEST(merge_patch_is_that_of_the_rfc)
{
    static const struct {
        const char *before;
        const char *patch;
        const char *after;
    } cases[] = {
        {"{'a':'b'}", "{'a':'c'}", "200 {'a':'c'}"},
        {"{'a':'b'}", "{'b':'c'}", "200 {'a':'b','b':'c'}"},
        {"{'a':'b'}", "{'a':null}", "200 {}"},
        {"{'a':'b','b':'c'}", "{'a':null}", "200 {'b':'c'}"},
        {"{'a':['b']}", "{'a':'c'}", "200 {'a':'c'}"},
        {"{'a':'c'}", "{'a':['b']}", "200 {'a':['b']}"},
        {"{'a':{'b':'c'}}", "{'a':{'b':'d','c':null}}", "200 {'a':{'b':'d'}}"},
        {"{'a':[{'b':'c'}]}", "{'a':[1]}", "200 {'a':[1]}"},
        {"['a','b']", "['c','d']", "200 ['c','d']"},
        {"{'a':'b'}", "['c']", "200 ['c']"},
        {"{'a':'foo'}", "null", "200 null"},
        {"{'a':'foo'}", "'bar'", "200 'bar'"},
        {"{'e':null}", "{'a':1}", "200 {'e':null,'a':1}"},
        {"[1,2]", "{'a':'b','c':null}", "200 {'a':'b'}"},
        {"{}", "{'a':{'bb':{'ccc':null}}}", "200 {'a':{'bb':{}}}"},
    };
    struct http_kit kit;
    http_begin(&kit, false);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        EXPECT_TEXT(patched(&kit, merge_patch, cases[i].before, cases[i].patch),
                    cases[i].after);
    }
    http_end(&kit);
}

TEST(own_operations_need_no_state_and_do_not_conflict)
{
    struct http_kit kit;
    http_begin(&kit, false);
    hub_group_begin(&kit.hub);
    (void)http_ask(&kit,
                   "PATCH /docs/n?path=/value",
                   "[{'op':'increment','path':'/hits','by':1}]");
    (void)http_ask(&kit,
                   "PATCH /docs/n?path=/value",
                   "[{'op':'increment','path':'/hits','by':2},"
                   "{'op':'append','path':'/list','values':[1]}]");
    hub_group_end(&kit.hub);
    EXPECT_TEXT(http_step(&kit, 0), "#1 200 {'seq':1}; #2 200 {'seq':2}");
    EXPECT_TEXT(kit_read(&kit.store, "n"), "{'value':{'hits':3,'list':[1]}}");
    EXPECT_CONTAINS(http_ask(&kit, "PATCH /docs/n", "[{'op':'fly'}]"), "400 ");
    EXPECT_CONTAINS(http_ask(&kit,
                             "PATCH /docs/n",
                             "[{'op':'increment','path':'/value','by':1}]"),
                    "422 ");
    EXPECT_TEXT(http_ask(&kit, "PATCH /docs/n", "[]"), "200 {'seq':2}");
    EXPECT_EQ(kit.store.engine.seq, 2);
    http_end(&kit);
}

TEST(a_patch_says_what_it_is)
{
    struct http_kit kit;
    http_begin(&kit, false);
    kit.type = "application/xml";
    EXPECT_CONTAINS(http_ask(&kit, "PATCH /docs/n", "[]"), "415 ");
    EXPECT_CONTAINS(http_ask(&kit, "PATCH /docs/n", NULL), "415 ");
    http_end(&kit);
}

/* -- Around the store ---------------------------------------------------- */

static enum err refuse_all(void *ctx,
                           struct hub_judgement *judgement,
                           struct err_detail *detail)
{
    (void)ctx;
    EXPECT(value_is_text(judgement->principal, "ann"));
    return err_set(detail, ERR_ACCESS, "the access document is the owner's");
}

TEST(the_judge_of_the_hub_sees_writes)
{
    struct http_kit kit;
    http_begin(&kit, false);
    kit.hub.options.judge = refuse_all;
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/of:space", "{}"),
                    "403 {'code':'ACCESS'");
    EXPECT_EQ(kit.store.engine.seq, 0);
    http_end(&kit);
}

TEST(requests_that_wait_end_with_the_space)
{
    struct http_kit kit;
    struct err_detail why = {0};
    http_begin(&kit, false);
    hub_group_begin(&kit.hub);
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':1}"), "later");
    (void)err_set(&why, ERR_CLOSED, "the server is closing");
    buf_clear(&kit.delivered);
    http_end_waiting(&kit, &why);
    EXPECT_CONTAINS(buf_text(&kit.delivered), "#1 503 {'code':'CLOSED'");
    EXPECT_EQ(route_space_waiting(kit.space), 0);
    hub_group_end(&kit.hub);
    EXPECT_TEXT(http_step(&kit, 0), "");
    http_end(&kit);
}

TEST(an_idle_session_is_closed_and_the_next_write_opens_another)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "PUT /docs/a", "{'value':1}");
    EXPECT_EQ(kit.hub.peers, 1);
    (void)http_step(&kit, 29000);
    EXPECT_EQ(kit.hub.peers, 1);
    (void)http_step(&kit, 1000);
    EXPECT_EQ(kit.hub.peers, 0);
    EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{'value':2}"), "200 {'seq':2}");
    http_end(&kit);
}

TEST(too_many_waiting_requests_are_refused)
{
    struct http_kit kit;
    http_begin(&kit, false);
    hub_group_begin(&kit.hub);
    for (unsigned i = 0; i < 10000; i++) {
        if (!EXPECT_TEXT(http_ask(&kit, "PUT /docs/a", "{}"), "later")) {
            break;
        }
    }
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{}"),
                    "503 {'code':'OVERLOADED'");
    EXPECT_TEXT(http_header(&kit, "retry-after:"), "1");
    hub_group_end(&kit.hub);
    (void)http_step(&kit, 0);
    EXPECT_EQ(route_space_waiting(kit.space), 0);
    http_end(&kit);
}

static enum err judge_by_credential(void *ctx,
                                    struct hub_judgement *judgement,
                                    struct err_detail *detail)
{
    const struct credential *credential =
        route_credential(judgement->peer, judgement->commit);
    (void)ctx;
    return credential != NULL && strcmp(credential->space, "narrow") != 0
               ? ERR_OK
               : err_set(detail, ERR_ACCESS, "not with this token");
}

TEST(the_judge_sees_the_credential_of_each_request)
{
    const struct credential wide = {.principal = "ann"};
    const struct credential narrow = {.principal = "ann", .space = "narrow"};
    struct http_kit kit;
    http_begin(&kit, false);
    kit.hub.options.judge = judge_by_credential;
    hub_group_begin(&kit.hub);
    kit.context.credential = &wide;
    (void)http_ask(&kit, "PUT /docs/a", "{}");
    kit.context.credential = &narrow;
    (void)http_ask(&kit, "PUT /docs/a", "{}");
    kit.context.credential = NULL;
    (void)http_ask(&kit, "PUT /docs/a", "{}");
    kit.context.credential = &wide;
    (void)http_ask(&kit, "PUT /docs/a", "{}");
    route_space_closed(kit.space, kit.last); /* without it, nothing is known */
    hub_group_end(&kit.hub);
    EXPECT_CONTAINS(http_step(&kit, 0), "#1 200 {'seq':1}; #2 403 ");
    EXPECT_CONTAINS(buf_text(&kit.delivered), "#3 403 ");
    EXPECT_EQ(kit.store.engine.seq, 1);
    http_end(&kit);
}

/* -- Faults -------------------------------------------------------------- */

TEST(a_disk_that_fails_is_the_servers_fault_and_the_next_write_lands)
{
    static const struct {
        enum fault_kind kind;
        const char *answer;
    } cases[] = {
        {FAULT_FULL, "507 {'code':'FULL','class':'fault'"},
        {FAULT_SYNC, "500 {'code':'IO','class':'fault'"},
    };
    fault_vfs_use_real();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct http_kit kit;
        http_begin_on(&kit, FAULT_REAL_VFS);
        EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{'value':1}"), "200 ");
        fault_vfs_plan((struct fault_plan){cases[i].kind, 1, true});
        EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{'value':2}"),
                        cases[i].answer);
        fault_vfs_plan((struct fault_plan){FAULT_NONE, 0, false});
        EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{'value':3}"), "200 ");
        EXPECT_TEXT(http_ask(&kit, "GET /docs/a", NULL), "200 {'value':3}");
        EXPECT_TEXT(http_step(&kit, 0), "");
        http_end(&kit);
    }
}
