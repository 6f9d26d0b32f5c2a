/* Routes: paths, methods, queries, errors, and who may do what. */

#include "server/routes.h"

#include <stdio.h>
#include <string.h>

#include "lib/http_kit.h"
#include "lib/test.h"
#include "server/routes_internal.h"
#include "value/array.h"
#include "value/object.h"

/* -- Paths --------------------------------------------------------------- */

TEST(a_path_that_no_route_has_is_404)
{
    static const char *const paths[] = {
        "/./",
        "/./v1",
        "/./v1/spaces/",
        "/docs",
        "/docs/",
        "/nothing",
        "/docsx/a",
        "/./healthz/",
        "/./healthzz",
        "/pieces/",
        "/watch/x",
        "/./v1/spaces/space/",
        "/./v2/spaces",
        "/why",
        "/./V1/spaces",
    };
    struct http_kit kit;
    http_begin(&kit, false);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        char what[128];
        (void)snprintf(what, sizeof what, "GET %s", paths[i]);
        if (!EXPECT(strncmp(http_ask(&kit, what, NULL), "404 ", 4) == 0)) {
            (void)test_fail(__FILE__, __LINE__, "%s", paths[i]);
        }
        EXPECT_CONTAINS(buf_text(&kit.shown), "'code':'NOT_FOUND'");
    }
    http_end(&kit);
}

TEST(another_method_is_405_with_those_that_there_are)
{
    struct http_kit kit;
    http_begin(&kit, false);
    EXPECT_CONTAINS(http_ask(&kit, "POST /docs/a", "1"), "405 ");
    EXPECT_TEXT(http_header(&kit, "allow:"), "GET, HEAD, PUT, PATCH, DELETE");
    EXPECT_CONTAINS(http_ask(&kit, "GET /pieces/p/streams/s", NULL), "405 ");
    EXPECT_TEXT(http_header(&kit, "allow:"), "POST");
    EXPECT_TEXT(http_ask(&kit, "HEAD /watch?id=a", NULL), "405");
    EXPECT_TEXT(http_header(&kit, "allow:"), "GET");
    EXPECT_CONTAINS(http_ask(&kit, "DELETE /./healthz", NULL), "405 ");
    http_end(&kit);
}

TEST(names_are_decoded_once_and_strictly)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "PUT /docs/a%2Fb%3A%25c%C3%A9", "{'value':1}");
    EXPECT_CONTAINS(kit_list(&kit.store, "", "space", NULL, 9, 0),
                    "a/b:%c\xC3\xA9");
    EXPECT_TEXT(http_ask(&kit, "GET /docs/a/b:%25c%c3%a9", NULL),
                "200 {'value':1}");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/%2", NULL), "400 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/%zz", NULL), "400 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a%00b", NULL), "400 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/%ff", NULL), "400 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/%C3%A", NULL), "400 ");
    struct buf longest = {0};
    buf_append_text(&longest, "GET /docs/");
    for (unsigned i = 0; i < ROUTE_NAME_BYTES; i++) {
        buf_append_char(&longest, 'x');
    }
    EXPECT_CONTAINS(http_ask(&kit, buf_text(&longest), NULL), "404 ");
    buf_append_char(&longest, 'x');
    EXPECT_CONTAINS(http_ask(&kit, buf_text(&longest), NULL), "400 ");
    buf_release(&longest);
    http_end(&kit);
}

TEST(the_space_of_a_request_follows_from_its_path)
{
    static const struct {
        const char *path;
        const char *space; /* NULL: none */
    } cases[] = {
        {"/v1/spaces/main/docs/a", "main"},
        {"/v1/spaces/a%2Fb/log", "a/b"},
        {"/v1/spaces/main", "main"},
        {"/v1/spaces/", NULL},
        {"/v1/spaces", NULL},
        {"/v1/spaces//docs", NULL},
        {"/v1/spaces/%zz/docs", NULL},
        {"/v1/spaces/%00/docs", NULL},
        {"/healthz", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char path[64];
        struct buf name = {0};
        (void)snprintf(path, sizeof path, "%s", cases[i].path);
        const struct net_request request = {.path = path};
        const enum route_target target = routes_space(&request, &name);
        EXPECT_EQ(target,
                  cases[i].space != NULL ? ROUTE_TO_SPACE : ROUTE_TO_SERVER);
        EXPECT_TEXT(buf_text(&name),
                    cases[i].space != NULL ? cases[i].space : "");
        buf_release(&name);
    }
}

/* -- Queries ------------------------------------------------------------- */

TEST(unknown_repeated_and_malformed_parameters_are_errors)
{
    static const char *const queries[] = {
        "pth=/a",
        "path",
        "at=1&at=2",
        "at=x",
        "at=-1",
        "at=1.5",
        "at=",
        "at=99999999999999999999",
        "scope=",
        "path=a",
        "path=%",
        "=1",
        "scope=session",
        "scope=all",
        "path=/~2",
    };
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "PUT /docs/a", "{'value':1}");
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        char what[128];
        (void)snprintf(what, sizeof what, "GET /docs/a?%s", queries[i]);
        const char *answer = http_ask(&kit, what, NULL);
        /* An empty path is the whole document. */
        const char *want = strcmp(queries[i], "path") == 0 ? "200 " : "400 ";
        if (!EXPECT(strncmp(answer, want, 4) == 0)) {
            (void)test_fail(__FILE__, __LINE__, "%s: %s", queries[i], answer);
        }
    }
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a?pth=/a", NULL),
                    "did you mean 'path'?");
    EXPECT_CONTAINS(http_ask(&kit, "GET /log?limit=1001", NULL),
                    "above the limit 1000");
    EXPECT_CONTAINS(http_ask(&kit, "GET /events?failed=yes", NULL),
                    "expected true or false");
    http_end(&kit);
}

TEST(parameters_are_decoded)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "PUT /docs/a", "{'value':{'a b':{'c+d':7}}}");
    EXPECT_TEXT(http_ask(&kit, "GET /docs/a?path=/value/a+b/c%2Bd", NULL),
                "200 7");
    EXPECT_TEXT(http_ask(&kit, "GET /docs/a?path=%2Fvalue%2Fa%20b&at=1", NULL),
                "200 {'c+d':7}");
    EXPECT_TEXT(http_ask(&kit, "GET /docs/a?", NULL),
                "200 {'value':{'a b':{'c+d':7}}}");
    EXPECT_TEXT(http_ask(&kit, "GET /docs/a?&&at=1&", NULL),
                "200 {'value':{'a b':{'c+d':7}}}");
    http_end(&kit);
}

TEST(a_body_where_none_is_read_and_another_type_are_errors)
{
    struct http_kit kit;
    http_begin(&kit, false);
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a", "1"), "takes no body");
    kit.type = "text/plain";
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{}"), "415 ");
    kit.type = "Application/JSON ; charset=utf-8";
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{}"), "200 ");
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{'a':"), "400 ");
    EXPECT_CONTAINS(buf_text(&kit.shown), "line 1, column 6");
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", NULL), "the body is empty");
    http_end(&kit);
}

/* -- Errors -------------------------------------------------------------- */

TEST(an_error_has_a_code_a_class_and_a_message)
{
    struct http_kit kit;
    http_begin(&kit, false);
    EXPECT_TEXT(http_ask(&kit, "GET /docs/nothing", NULL),
                "404 {'code':'NOT_FOUND','class':'terminal','message':'there "
                "is no such document'}");
    EXPECT_TEXT(kit.answer.content_type, "application/json");
    http_end(&kit);
}

TEST(each_code_has_a_status_that_fits)
{
    EXPECT_EQ(route_status(ERR_SYNTAX), 400);
    EXPECT_EQ(route_status(ERR_UNAUTHENTICATED), 401);
    EXPECT_EQ(route_status(ERR_ACCESS), 403);
    EXPECT_EQ(route_status(ERR_CONFLICT), 409);
    EXPECT_EQ(route_status(ERR_LIMIT_SIZE), 413);
    EXPECT_EQ(route_status(ERR_SCHEMA), 422);
    EXPECT_EQ(route_status(ERR_OVERLOADED), 503);
    EXPECT_EQ(route_status(ERR_STORE), 500);
    EXPECT_EQ(route_status(ERR_FULL), 507);
    EXPECT_EQ(route_status((enum err)4711), 500);
#define X(name, number, class, text)                                     \
    {                                                                    \
        const unsigned status = route_status(ERR_##name);                \
        const enum err_class of = err_class_of(ERR_##name);              \
        /* What a caller may repeat unchanged is not the caller's fault, \
         * and what is terminal is not the server's. */                  \
        if (of == ERR_CLASS_TERMINAL) {                                  \
            EXPECT(status < 500 || ERR_##name == ERR_REPLAY_MISMATCH ||  \
                   ERR_##name == ERR_HANDLER_EXISTS ||                   \
                   ERR_##name == ERR_SESSION_IN_USE);                    \
        } else if (of == ERR_CLASS_FAULT) {                              \
            EXPECT(status >= 500);                                       \
        }                                                                \
    }
    ERR_TABLE(X)
#undef X
}

TEST(what_waiting_helps_against_says_when_to_come_back)
{
    struct route_answer answer = {0};
    struct err_detail why = {0};
    (void)err_set(&why, ERR_OVERLOADED, "too much");
    route_answer_error(&answer, &why, 2500);
    EXPECT_EQ(answer.http_status, 503);
    EXPECT_TEXT(answer.headers[0].name, "retry-after:");
    EXPECT_TEXT(answer.headers[0].value, "3");
    route_answer_release(&answer);
    (void)err_set(&why, ERR_UNAUTHENTICATED, "the token has expired");
    route_answer_error(&answer, &why, 0);
    EXPECT_EQ(answer.http_status, 401);
    EXPECT_TEXT(answer.headers[0].name, "www-authenticate:");
    EXPECT_TEXT(answer.headers[0].value, "Bearer");
    route_answer_release(&answer);
}

TEST(a_message_that_quotes_any_bytes_is_valid_json)
{
    struct http_kit kit;
    struct value value = VALUE_NONE;
    http_begin(&kit, false);
    EXPECT_CONTAINS(http_ask(&kit, "GET /./\xFFx", NULL), "'/\\\\xffx'");
    EXPECT_EQ(json_read(kit.answer.body.at,
                        kit.answer.body.length,
                        NULL,
                        &value,
                        NULL),
              ERR_OK);
    value_unref(value);
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a?\xFF=1", NULL), "\\\\xff");
    http_end(&kit);
}

/* -- Rights -------------------------------------------------------------- */

/* A request for each row of the table. */
static const struct {
    const char *what;
    const char *body;
    enum route_right right;
} requests[] = {
    {"GET /./healthz", NULL, RIGHT_ANYONE},
    {"GET /./readyz", NULL, RIGHT_ANYONE},
    {"GET /./metrics", NULL, RIGHT_OPERATOR},
    {"GET /./v1/openapi.json", NULL, RIGHT_ANYONE},
    {"GET /./v1/spaces", NULL, RIGHT_CALLER},
    {"GET /docs/a", NULL, RIGHT_READ},
    {"PUT /docs/a", "{}", RIGHT_WRITE},
    {"PATCH /docs/a", "[]", RIGHT_WRITE},
    {"DELETE /docs/a", NULL, RIGHT_WRITE},
    {"POST /pieces/cart/streams/add", "1", RIGHT_WRITE},
    {"GET /pieces", NULL, RIGHT_READ},
    {"GET /pieces/cart", NULL, RIGHT_READ},
    {"GET /watch?id=a", NULL, RIGHT_READ},
    {"GET /events/receipt:x", NULL, RIGHT_READ},
    {"GET /events", NULL, RIGHT_READ},
    {"GET /timers", NULL, RIGHT_READ},
    {"GET /log", NULL, RIGHT_READ},
    {"GET /graph", NULL, RIGHT_READ},
    {"GET /why/cart/count", NULL, RIGHT_READ},
    {"GET /./v1/spaces/space", NULL, RIGHT_READ},
};

TEST(every_route_is_for_those_with_its_right_and_nobody_else)
{
    /* Who asks, and which rights that is. */
    static const struct {
        const char *principal;
        const char *rights;
        bool has[RIGHT_COUNT];
    } callers[] = {
        {NULL, "", {[RIGHT_ANYONE] = true, [RIGHT_CALLER] = true}},
        {"eve", "", {[RIGHT_ANYONE] = true, [RIGHT_CALLER] = true}},
        {NULL,
         "r",
         {[RIGHT_ANYONE] = true, [RIGHT_CALLER] = true, [RIGHT_READ] = true}},
        {"bob",
         "r",
         {[RIGHT_ANYONE] = true, [RIGHT_CALLER] = true, [RIGHT_READ] = true}},
        {"ann",
         "rw",
         {[RIGHT_ANYONE] = true,
          [RIGHT_CALLER] = true,
          [RIGHT_READ] = true,
          [RIGHT_WRITE] = true}},
        {"ann",
         "rwo",
         {[RIGHT_ANYONE] = true,
          [RIGHT_CALLER] = true,
          [RIGHT_READ] = true,
          [RIGHT_WRITE] = true}},
        {"root",
         "O",
         {[RIGHT_ANYONE] = true,
          [RIGHT_CALLER] = true,
          [RIGHT_OPERATOR] = true}},
    };
    struct http_kit kit;
    EXPECT_EQ(COUNT_OF(requests), routes_count);
    http_begin(&kit, true);
    for (size_t who = 0; who < COUNT_OF(callers); who++) {
        http_as(&kit, callers[who].principal, callers[who].rights);
        const bool is_known = callers[who].principal != NULL;
        for (size_t i = 0; i < COUNT_OF(requests); i++) {
            const uint64_t before = kit.store.engine.seq;
            EXPECT_EQ(routes_table[i].right, requests[i].right);
            const char *answer =
                http_ask(&kit, requests[i].what, requests[i].body);
            const unsigned status = kit.answer.http_status;
            const bool refused = status == 401 || status == 403;
            if (!EXPECT_EQ(refused, !callers[who].has[requests[i].right])) {
                (void)test_fail(__FILE__,
                                __LINE__,
                                "%s: %s",
                                requests[i].what,
                                answer);
            }
            if (refused) {
                EXPECT_EQ(status, is_known ? 403 : 401);
                EXPECT_EQ(kit.store.engine.seq, before);
                EXPECT_EQ(strlen(http_header(&kit, "www-authenticate:")) > 0,
                          !is_known);
            }
        }
    }
    (void)http_step(&kit, 0);
    http_end(&kit);
}

TEST(a_caller_without_rights_learns_nothing_from_the_order_of_checks)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "PUT /docs/a", "{'value':1}");
    http_as(&kit, "eve", "");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a?nonsense=1", NULL), "403 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/b", NULL), "403 ");
    kit.if_match = "\"1\"";
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "not json"), "403 ");
    http_end(&kit);
}

TEST(a_principal_has_so_many_requests_per_second)
{
    struct http_kit kit;
    http_begin(&kit, false);
    kit.space->requests_per_second = 2;
    EXPECT_CONTAINS(http_ask(&kit, "PUT /docs/a", "{}"), "200 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a", NULL), "200 ");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a", NULL),
                    "429 {'code':'OVERLOADED'");
    EXPECT_TEXT(http_header(&kit, "retry-after:"), "1");
    EXPECT_CONTAINS(http_ask(&kit, "GET /./healthz", NULL), "200 ");
    http_as(&kit, "bob", "r");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a", NULL), "200 ");
    http_as(&kit, NULL, "r");
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a", NULL), "200 ");
    http_as(&kit, "ann", "rw");
    (void)http_step(&kit, 999);
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a", NULL), "429 ");
    (void)http_step(&kit, 1);
    EXPECT_CONTAINS(http_ask(&kit, "GET /docs/a", NULL), "200 ");
    http_end(&kit);
}

/* -- The server itself --------------------------------------------------- */

TEST(health_and_readiness)
{
    struct http_kit kit;
    http_begin(&kit, false);
    EXPECT_TEXT(http_ask(&kit, "GET /./healthz", NULL), "200 {'status':'ok'}");
    EXPECT_TEXT(http_ask(&kit, "GET /./readyz", NULL),
                "200 {'status':'ready'}");
    EXPECT_TEXT(http_ask(&kit, "HEAD /./readyz", NULL), "200");
    kit.server.is_ready = false;
    EXPECT_CONTAINS(http_ask(&kit, "GET /./readyz", NULL), "503 ");
    EXPECT_TEXT(http_header(&kit, "retry-after:"), "1");
    http_end(&kit);
}

TEST(answers_and_errors_are_counted)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "GET /docs/a", NULL);
    (void)http_ask(&kit, "PUT /docs/a", "{}");
    http_as(&kit, "eve", "O");
    (void)http_ask(&kit, "GET /docs/a", NULL);
    (void)http_ask(&kit, "GET /./metrics", NULL);
    EXPECT_TEXT(kit.answer.content_type, "text/plain; version=0.0.4");
    EXPECT_CONTAINS(buf_text(&kit.shown),
                    "|heddle_http_requests_total{code='2xx'} 1|");
    EXPECT_CONTAINS(buf_text(&kit.shown),
                    "|heddle_http_requests_total{code='4xx'} 2|");
    EXPECT_CONTAINS(buf_text(&kit.shown),
                    "|heddle_errors_total{code='ACCESS'} 1|");
    http_end(&kit);
}

TEST(spaces_are_listed_in_pages_and_others_are_not_named)
{
    static const char *const names[] = {"alpha", "beta", "secret", "zeta"};
    struct http_kit kit;
    http_begin(&kit, true);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char path[320];
        struct engine engine;
        (void)
            snprintf(path, sizeof path, "%s/%s.db", kit.store.folder, names[i]);
        const struct engine_options options = {.path = path};
        struct err_detail detail = {0};
        EXPECT_EQ(engine_open(&engine, &options, &detail), ERR_OK);
        engine_close(&engine);
    }
    EXPECT_TEXT(http_ask(&kit, "GET /./v1/spaces", NULL),
                "200 {'spaces':[{'space':'alpha'},{'space':'beta'},"
                "{'space':'space'},{'space':'zeta'}]}");
    /* Page by page; one ends behind the space that is not told. */
    struct buf all = {0};
    char what[128] = "GET /./v1/spaces?limit=1";
    for (unsigned pages = 0; pages < 10; pages++) {
        const char *answer = http_ask(&kit, what, NULL);
        EXPECT(strstr(answer, "secret") == NULL);
        buf_printf(&all, "%s ", answer);
        const char *next = strstr(answer, "'next':'");
        if (next == NULL) {
            EXPECT_EQ(pages, 4);
            break;
        }
        (void)snprintf(what,
                       sizeof what,
                       "GET /./v1/spaces?limit=1&after=%.43s",
                       next + strlen("'next':'"));
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        EXPECT_EQ(strstr(buf_text(&all), names[i]) != NULL,
                  strcmp(names[i], "secret") != 0);
    }
    EXPECT_CONTAINS(http_ask(&kit, "GET /./v1/spaces?after=nonsense", NULL),
                    "409 {'code':'LISTING_MOVED'");
    http_as(&kit, "eve", "");
    EXPECT_TEXT(http_ask(&kit, "GET /./v1/spaces", NULL), "200 {'spaces':[]}");
    buf_release(&all);
    http_end(&kit);
}

TEST(a_space_tells_its_state)
{
    struct http_kit kit;
    http_begin(&kit, false);
    (void)http_ask(&kit, "PUT /docs/a", "{}");
    EXPECT_TEXT(http_ask(&kit, "GET /./v1/spaces/space", NULL),
                "200 {'space':'space','seq':1,'horizon':0}");
    http_end(&kit);
}

/* -- OpenAPI ------------------------------------------------------------- */

TEST(the_file_of_the_description_is_what_the_table_says)
{
    struct buf made = {0};
    size_t length = 0;
    char *file =
        test_read_file(test_data_path("../../docs/openapi.json"), &length);
    routes_write_openapi(&made);
    if (file != NULL) {
        EXPECT_TEXT(file, buf_text(&made));
        test_release_file(file, length);
    }
    buf_release(&made);
}

TEST(every_route_is_described_and_every_description_is_a_route)
{
    struct http_kit kit;
    struct value all = VALUE_NONE;
    size_t described = 0;
    http_begin(&kit, false);
    EXPECT_CONTAINS(http_ask(&kit, "GET /./v1/openapi.json", NULL), "200 ");
    EXPECT_EQ(
        json_read(kit.answer.body.at, kit.answer.body.length, NULL, &all, NULL),
        ERR_OK);
    EXPECT(value_is_text(object_field(all, "openapi"), "3.1.0"));
    const struct value paths = object_field(all, "paths");
    for (size_t i = 0; i < routes_count; i++) {
        const struct route *route = &routes_table[i];
        char method[8] = "";
        for (size_t j = 0; route->method[j] != '\0'; j++) {
            method[j] = (char)(route->method[j] + 32);
        }
        const struct value operation =
            object_field(object_field(paths, route->pattern), method);
        EXPECT(value_is_object(operation));
        EXPECT(value_is_string(object_field(operation, "summary")));
        /* Each name in the pattern, and each parameter, is there. */
        size_t names = 0;
        for (const char *at = route->pattern; *at != '\0'; at++) {
            names += *at == '{';
        }
        const uint32_t bits = (uint32_t)(__builtin_popcount(route->parameters) +
                                         __builtin_popcount(route->headers));
        EXPECT_EQ(array_count(object_field(operation, "parameters")),
                  names + bits);
    }
    struct object_iter iter = object_iter(paths);
    struct value path;
    struct value methods;
    while (object_next(&iter, &path, &methods)) {
        described += object_count(methods);
    }
    EXPECT_EQ(described, routes_count);
    value_unref(all);
    http_end(&kit);
}
