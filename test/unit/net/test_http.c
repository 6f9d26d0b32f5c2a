/* HTTP: requests of raw sockets, as a receiver sees them, and their answers. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/net_kit.h"
#include "lib/test.h"
#include "net/net.h"

static struct net_kit server;
static int fd;
static struct buf answer;

static bool begin(void)
{
    if (!net_kit_open(&server)) {
        return false;
    }
    fd = net_raw_connect(&server);
    return true;
}

static void end(void)
{
    if (server.net != NULL) {
        (void)close(fd);
    }
    buf_release(&answer);
    net_kit_close(&server);
}

static struct net_request *request(const char *text)
{
    EXPECT(net_raw_print(fd, text));
    const struct net_kit_event *event =
        net_kit_next(&server, NET_KIT_REQUESTED);
    return event != NULL ? event->request : NULL;
}

static void respond(const struct net_request *to,
                    unsigned status,
                    const char *body)
{
    net_respond(server.net,
                to->id,
                &(struct net_response){
                    .status = status,
                    .content_type = "text/plain",
                    .body = net_bytes_new(body, strlen(body)),
                });
}

/* Reads up to the end of a body that ends with `last`. */
static const char *read_answer(const char *last)
{
    buf_clear(&answer);
    EXPECT(net_raw_read(fd, &answer, last));
    return buf_text(&answer);
}

TEST(a_request_arrives_with_its_headers)
{
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        const struct net_request *got =
            request("PATCH /v1/spaces/a%20b/docs/x%3Ay?path=a%26b&at=3&c=d+e "
                    "HTTP/1.1\r\n"
                    "Host: localhost\r\n"
                    "Authorization: Bearer to.ken\r\n"
                    "If-Match: \"12\"\r\n"
                    "Idempotency-Key: key-1\r\n"
                    "Prefer: respond-async\r\n"
                    "Last-Event-ID: 44\r\n"
                    "Content-Type: application/json\r\n"
                    "Accept: text/event-stream\r\n"
                    "X-Other: other\r\n"
                    "Content-Length: 7\r\n\r\n"
                    "{\"a\":1}");
        if (got != NULL) {
            EXPECT_TEXT(got->method, "PATCH");
            EXPECT_TEXT(got->path, "/v1/spaces/a%20b/docs/x:y");
            EXPECT_TEXT(got->query, "path=a%26b&at=3&c=d%20e");
            EXPECT_TEXT(got->bearer, "to.ken");
            EXPECT_TEXT(got->if_match, "\"12\"");
            EXPECT_TEXT(got->idempotency_key, "key-1");
            EXPECT_TEXT(got->prefer, "respond-async");
            EXPECT_TEXT(got->last_event_id, "44");
            EXPECT_TEXT(got->content_type, "application/json");
            EXPECT_TEXT(got->accept, "text/event-stream");
            EXPECT_TEXT(got->address, "127.0.0.1");
            EXPECT(got->is_loopback);
            EXPECT_TEXT(got->body, "{\"a\":1}");
            EXPECT_EQ(got->body_length, 7);
            net_respond(
                server.net,
                got->id,
                &(struct net_response){
                    .status = 412,
                    .content_type = "application/json",
                    .headers = {{"etag:", "\"13\""}, {"x-bad:", "a\r\nb: c"}},
                    .body = net_bytes_new("{}", 2),
                });
            EXPECT_TEXT(read_answer("\r\n\r\n{}"),
                        "HTTP/1.1 412 Precondition Failed\r\n"
                        "content-type: application/json\r\n"
                        "etag: \"13\"\r\n"
                        "x-bad: a  b: c\r\n"
                        "content-length: 2\r\n"
                        "connection: keep-alive\r\n\r\n{}");
        }
    }
    end();
}

TEST(absent_headers_are_null)
{
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        const struct net_request *got =
            request("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
        if (got != NULL) {
            EXPECT_TEXT(got->method, "GET");
            EXPECT_TEXT(got->path, "/healthz");
            EXPECT(got->query == NULL && got->bearer == NULL &&
                   got->if_match == NULL && got->idempotency_key == NULL &&
                   got->prefer == NULL && got->last_event_id == NULL &&
                   got->content_type == NULL && got->accept == NULL);
            EXPECT_TEXT(got->body, "");
        }
    }
    end();
}

TEST(all_methods_arrive_on_one_connection)
{
    static const char *const methods[] =
        {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"};
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
            char text[128];
            const bool has_body = methods[i][0] == 'P';
            (void)snprintf(text,
                           sizeof text,
                           "%s /x HTTP/1.1\r\nHost: a\r\n%s\r\n%s",
                           methods[i],
                           has_body ? "Content-Length: 4\r\n" : "",
                           has_body ? "body" : "");
            const struct net_request *got = request(text);
            if (got == NULL || !EXPECT_TEXT(got->method, methods[i])) {
                break;
            }
            EXPECT_TEXT(got->body, has_body ? "body" : "");
            respond(got, 200, "done");
            const char *read = read_answer(
                strcmp(methods[i], "HEAD") == 0 ? "\r\n\r\n" : "\r\n\r\ndone");
            EXPECT_CONTAINS(read, "HTTP/1.1 200 OK\r\n");
            EXPECT_CONTAINS(read, "content-length: 4\r\n");
        }
    }
    end();
}

TEST(a_post_or_delete_without_and_with_a_body_is_handed_over)
{
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        const struct net_request *got =
            request("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        if (got != NULL) {
            EXPECT_TEXT(got->body, "");
            respond(got, 200, "1");
            (void)read_answer("\r\n\r\n1");
        }
        got = request("DELETE /a HTTP/1.1\r\nHost: a\r\n"
                      "Content-Length: 3\r\n\r\nabc");
        if (got != NULL) {
            EXPECT_TEXT(got->body, "abc");
            respond(got, 204, "");
            (void)read_answer("\r\n\r\n");
        }
        got = request("POST /b HTTP/1.1\r\nHost: a\r\n\r\n");
        if (got != NULL) {
            EXPECT_TEXT(got->body, "");
            respond(got, 200, "2");
            (void)read_answer("\r\n\r\n2");
        }
    }
    end();
}

TEST(pipelined_requests_are_answered_in_order)
{
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        EXPECT(net_raw_print(fd,
                             "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
                             "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
                             "GET /3 HTTP/1.1\r\nHost: a\r\n\r\n"));
        for (unsigned i = 1; i <= 3; i++) {
            char path[8];
            (void)snprintf(path, sizeof path, "/%u", i);
            const struct net_kit_event *event =
                net_kit_next(&server, NET_KIT_REQUESTED);
            if (event == NULL || !EXPECT_TEXT(event->request->path, path)) {
                break;
            }
            respond(event->request, 200, path);
            (void)read_answer(path);
        }
    }
    end();
}

TEST(a_request_behind_a_body_waits_for_the_answer)
{
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        EXPECT(net_raw_print(fd,
                             "POST /2 HTTP/1.1\r\nHost: a\r\n"
                             "Content-Length: 3\r\n\r\nabc"
                             "GET /3 HTTP/1.1\r\nHost: a\r\n\r\n"));
        const struct net_kit_event *event =
            net_kit_next(&server, NET_KIT_REQUESTED);
        if (event != NULL) {
            EXPECT_TEXT(event->request->body, "abc");
            respond(event->request, 200, "late");
            EXPECT(net_raw_read(fd, &answer, "late"));
        }
        event = net_kit_next(&server, NET_KIT_REQUESTED);
        EXPECT(event != NULL && strcmp(event->request->path, "/3") == 0);
    }
    end();
}

/* libwebsockets cannot do better: it would spin, or use freed memory. */
TEST(a_pipelined_body_ends_the_connection)
{
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        EXPECT(net_raw_print(fd,
                             "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
                             "POST /2 HTTP/1.1\r\nHost: a\r\n"
                             "Content-Length: 3\r\n\r\nabc"
                             "GET /3 HTTP/1.1\r\nHost: a\r\n\r\n"));
        const struct net_kit_event *event =
            net_kit_next(&server, NET_KIT_REQUESTED);
        if (event != NULL) {
            respond(event->request, 200, "first");
            EXPECT(net_raw_read(fd, &answer, "first"));
            EXPECT(net_raw_read(fd, &answer, NULL));
        }
        (void)close(fd);
        fd = net_raw_connect(&server);
        const struct net_request *got =
            request("GET /b HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT(got != NULL);
    }
    end();
}

TEST(a_large_body_and_a_large_answer_arrive_whole)
{
    enum {
        LENGTH = 3000000
    };
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        char *text = mem_alloc(LENGTH + 1);
        for (size_t i = 0; i < LENGTH; i++) {
            text[i] = (char)('a' + i % 23);
        }
        text[LENGTH] = '\0';
        EXPECT(net_raw_print(fd,
                             "PUT /big HTTP/1.1\r\nHost: a\r\n"
                             "Content-Length: 3000000\r\n\r\n"));
        const struct net_request *got = request(text);
        if (got != NULL && EXPECT_EQ(got->body_length, LENGTH)) {
            EXPECT(memcmp(got->body, text, LENGTH) == 0);
            text[LENGTH - 1] = '!';
            respond(got, 200, text);
            const char *read = read_answer("!");
            const char *body = strstr(read, "\r\n\r\n");
            EXPECT(body != NULL && strcmp(body + 4, text) == 0);
        }
        got = request("GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT(got != NULL);
        mem_free(text, LENGTH + 1);
    }
    end();
}

TEST(a_body_over_the_limit_is_refused_with_413)
{
    net_kit_init(&server, "127.0.0.1");
    server.options.request_bytes = 100;
    if (begin()) {
        EXPECT(net_raw_print(fd,
                             "PUT /big HTTP/1.1\r\nHost: a\r\n"
                             "Content-Length: 101\r\n\r\n"));
        EXPECT_CONTAINS(read_answer("}"), "HTTP/1.1 413 ");
        EXPECT_CONTAINS(answer.at, "connection: close");
        EXPECT_EQ(server.happened.count, 0);
    }
    end();
}

TEST(a_chunked_body_is_refused_with_411)
{
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        EXPECT(net_raw_print(fd,
                             "PUT /big HTTP/1.1\r\nHost: a\r\n"
                             "Transfer-Encoding: chunked\r\n\r\n"));
        EXPECT_CONTAINS(read_answer("}"), "HTTP/1.1 411 ");
        EXPECT(net_raw_read(fd, &answer, NULL));
    }
    end();
}

TEST(old_and_closing_clients_get_a_closed_connection)
{
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        const struct net_request *got =
            request("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        if (got != NULL) {
            respond(got, 200, "one");
            EXPECT_CONTAINS(read_answer(NULL), "connection: close\r\n\r\none");
        }
        (void)close(fd);
        fd = net_raw_connect(&server);
        got = request("GET /b HTTP/1.0\r\n\r\n");
        if (got != NULL) {
            respond(got, 200, "two");
            EXPECT_CONTAINS(read_answer(NULL), "connection: close\r\n\r\ntwo");
        }
    }
    end();
}

TEST(a_client_that_leaves_before_the_answer_harms_nothing)
{
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        const struct net_request *got =
            request("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
        (void)close(fd);
        if (got != NULL) {
            respond(got, 200, "one");
        }
        fd = net_raw_connect(&server);
        got = request("GET /b HTTP/1.1\r\nHost: a\r\n\r\n");
        if (got != NULL) {
            respond(got, 200, "two");
            EXPECT_CONTAINS(read_answer("two"), "HTTP/1.1 200 OK");
        }
    }
    end();
}

TEST(without_a_receiver_every_request_is_not_found)
{
    net_kit_init(&server, "127.0.0.1");
    server.events.requested = NULL;
    if (begin()) {
        for (int i = 0; i < 2; i++) {
            EXPECT(net_raw_print(fd, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"));
            EXPECT_CONTAINS(read_answer("}"), "HTTP/1.1 404 Not Found");
        }
    }
    end();
}

TEST(a_client_that_waits_for_continue_gets_it)
{
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        EXPECT(net_raw_print(fd,
                             "PUT /a HTTP/1.1\r\nHost: a\r\n"
                             "Expect: 100-continue\r\n"
                             "Content-Length: 2\r\n\r\n"));
        EXPECT_TEXT(read_answer("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
        const struct net_request *got = request("ab");
        if (got != NULL) {
            EXPECT_TEXT(got->body, "ab");
            respond(got, 201, "made");
            EXPECT_CONTAINS(read_answer("made"), "HTTP/1.1 201 Created");
        }
    }
    end();
}

TEST(a_stream_goes_on_until_its_end)
{
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        const struct net_request *got =
            request("GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
        if (got != NULL) {
            const net_id id = got->id;
            net_respond(server.net,
                        id,
                        &(struct net_response){
                            .status = 200,
                            .content_type = "text/event-stream",
                            .is_stream = true,
                            .body = net_bytes_new(": hi\n\n", 6),
                        });
            EXPECT_CONTAINS(read_answer(": hi\n\n\r\n"),
                            "transfer-encoding: chunked\r\n");
            net_kit_send(&server, id, "data: 1\n\n");
            EXPECT_TEXT(read_answer("1\n\n\r\n"), "9\r\ndata: 1\n\n\r\n");
            net_send(server.net, id, net_bytes_new("", 0), NULL);
            net_send(server.net,
                     id,
                     net_bytes_new("data: ", 6),
                     net_bytes_new("2\n\n", 3));
            EXPECT_TEXT(read_answer("2\n\n\r\n"), "9\r\ndata: 2\n\n\r\n");
            net_end(server.net, id, 0, "drained");
            EXPECT_TEXT(read_answer("0\r\n\r\n"), "0\r\n\r\n");
            const struct net_kit_event *event =
                net_kit_next(&server, NET_KIT_CLOSED);
            if (event != NULL) {
                EXPECT_EQ(event->id, id);
                EXPECT_TEXT(event->text, "drained");
            }
        }
        got = request("GET /again HTTP/1.1\r\nHost: a\r\n\r\n");
        if (got != NULL) {
            respond(got, 200, "again");
            EXPECT_CONTAINS(read_answer("again"), "HTTP/1.1 200 OK");
        }
    }
    end();
}

TEST(a_stream_whose_reader_leaves_is_closed)
{
    net_kit_init(&server, "127.0.0.1");
    if (begin()) {
        const struct net_request *got = request("GET /watch HTTP/1.0\r\n\r\n");
        if (got != NULL) {
            const net_id id = got->id;
            net_respond(
                server.net,
                id,
                &(struct net_response){.status = 200, .is_stream = true});
            net_kit_send(&server, id, "data: 1\n\n");
            EXPECT_CONTAINS(read_answer("1\n\n"),
                            "connection: close\r\n\r\ndata: 1\n\n");
            (void)close(fd);
            const struct net_kit_event *event =
                net_kit_next(&server, NET_KIT_CLOSED);
            EXPECT(event != NULL && event->id == id);
            fd = net_raw_connect(&server);
        }
    }
    end();
}
