/* WebSockets between two nets, and with raw sockets for what a good client
 * never sends. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/net_kit.h"
#include "lib/test.h"
#include "net/net.h"

static struct net_kit server;
static struct net_kit client;
static net_id client_id;
static net_id server_id;

static bool begin(void)
{
    return net_kit_open(&server) && net_kit_open(&client) &&
           net_kit_connect(&client, &server, &client_id, &server_id);
}

static void init(void)
{
    net_kit_init(&server, "127.0.0.1");
    net_kit_init(&client, NULL);
}

static void end(void)
{
    net_kit_close(&client);
    net_kit_close(&server);
}

TEST(a_message_arrives_on_the_other_side_both_ways)
{
    init();
    if (begin()) {
        net_kit_send(&client, client_id, "hello");
        struct net_kit_event *event = net_kit_next(&server, NET_KIT_RECEIVED);
        if (event != NULL) {
            EXPECT_TEXT(event->text, "hello");
            EXPECT_EQ(event->id, server_id);
        }
        net_send(server.net,
                 server_id,
                 net_bytes_new("one ", 4),
                 net_bytes_new("and two", 7));
        event = net_kit_next(&client, NET_KIT_RECEIVED);
        if (event != NULL) {
            EXPECT_TEXT(event->text, "one and two");
        }
    }
    end();
}

TEST(an_end_is_told_to_both_sides_after_what_was_queued)
{
    init();
    if (begin()) {
        net_kit_send(&server, server_id, "last words");
        net_end(server.net, server_id, 1008, "no more");
        net_kit_send(&server, server_id, "too late");
        struct net_kit_event *event = net_kit_next(&client, NET_KIT_RECEIVED);
        if (event != NULL) {
            EXPECT_TEXT(event->text, "last words");
        }
        event = net_kit_next(&client, NET_KIT_CLOSED);
        if (event != NULL) {
            EXPECT_TEXT(event->text, "closed by the peer: 1008 no more");
            EXPECT_EQ(event->id, client_id);
        }
        event = net_kit_next(&server, NET_KIT_CLOSED);
        if (event != NULL) {
            EXPECT_TEXT(event->text, "no more");
            EXPECT_EQ(event->id, server_id);
        }
    }
    end();
}

static char *long_text(size_t length)
{
    char *text = mem_alloc(length);
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)('a' + i % 26);
    }
    return text;
}

static void expect_long(struct net_kit *kit, const char *text, size_t length)
{
    const struct net_kit_event *event = net_kit_next(kit, NET_KIT_RECEIVED);
    if (event != NULL && EXPECT_EQ(event->length, length)) {
        EXPECT(memcmp(event->text, text, length) == 0);
    }
}

TEST(messages_of_all_sizes_arrive_whole_and_in_order)
{
    static const size_t sizes[] = {
        0,     1,     125,   126,   127,    1023,   1024,    1025,   4096,
        65531, 65532, 65533, 65535, 65536,  65537,  131072,  200000, 1000000,
        5,     65532, 3,     8000,  100000, 300000, 3000000, 1,
    };
    init();
    if (begin()) {
        char *text = long_text(3000000);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const size_t half = sizes[i] / 2;
            net_send(server.net,
                     server_id,
                     net_bytes_new(text, half),
                     net_bytes_new(text + half, sizes[i] - half));
            net_send(client.net,
                     client_id,
                     net_bytes_new(text, half),
                     net_bytes_new(text + half, sizes[i] - half));
        }
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            expect_long(&client, text, sizes[i]);
            expect_long(&server, text, sizes[i]);
        }
        mem_free(text, 3000000);
    }
    end();
}

TEST(many_small_messages_stay_in_order)
{
    enum {
        COUNT = 20000
    };
    init();
    server.echoes = true;
    if (begin()) {
        struct net_outgoing batch[100];
        for (unsigned i = 0; i < COUNT; i += 100) {
            for (unsigned k = 0; k < 100; k++) {
                char text[16];
                (void)snprintf(text, sizeof text, "%u", i + k);
                batch[k] = (struct net_outgoing){
                    .id = client_id,
                    .head = net_bytes_new(text, strlen(text)),
                };
            }
            net_send_all(client.net, batch, 100);
        }
        for (unsigned i = 0; i < COUNT; i++) {
            char text[16];
            (void)snprintf(text, sizeof text, "%u", i);
            const struct net_kit_event *event =
                net_kit_next(&client, NET_KIT_RECEIVED);
            if (event == NULL || !EXPECT_TEXT(event->text, text)) {
                break;
            }
        }
    }
    end();
}

TEST(a_deferred_message_is_offered_again_and_nothing_overtakes_it)
{
    init();
    server.later = 3;
    if (begin()) {
        char text[16];
        for (unsigned i = 0; i < 1000; i++) {
            (void)snprintf(text, sizeof text, "%u", i);
            net_kit_send(&client, client_id, text);
        }
        for (unsigned times = 1; times <= 3; times++) {
            net_kit_await_deferred(&server, times);
            net_resume(server.net, server_id);
        }
        for (unsigned i = 0; i < 1000; i++) {
            const struct net_kit_event *event =
                net_kit_next(&server, NET_KIT_RECEIVED);
            (void)snprintf(text, sizeof text, "%u", i);
            if (event == NULL || !EXPECT_TEXT(event->text, text)) {
                break;
            }
        }
    }
    end();
}

TEST(closing_a_net_closes_its_connections_once)
{
    init();
    if (begin()) {
        net_close(server.net);
        server.net = NULL;
        const struct net_kit_event *event =
            net_kit_next(&server, NET_KIT_CLOSED);
        EXPECT(event != NULL && event->id == server_id);
        EXPECT_EQ(server.taken, server.happened.count);
        event = net_kit_next(&client, NET_KIT_CLOSED);
        if (event != NULL) {
            EXPECT_CONTAINS(event->text, "closed by the peer: 1001");
        }
    }
    end();
}

TEST(functions_ignore_ids_of_ended_connections)
{
    init();
    if (net_kit_open(&server)) {
        net_kit_send(&server, 77, "to none");
        net_end(server.net, 77, 1000, NULL);
        net_resume(server.net, 77);
        net_respond(server.net,
                    77,
                    &(struct net_response){.status = 200,
                                           .body = net_bytes_new("x", 1)});
    }
    end();
}

TEST(a_dial_that_reaches_no_server_ends_with_closed)
{
    init();
    net_id id = 0;
    struct err_detail detail = {0};
    if (net_kit_open(&server) && net_kit_open(&client)) {
        char url[64];
        (void)snprintf(url,
                       sizeof url,
                       "ws://127.0.0.1:%u",
                       net_port(server.net));
        net_close(server.net);
        server.net = NULL;
        EXPECT_EQ(net_dial(client.net, url, NULL, &id, &detail), ERR_OK);
        const struct net_kit_event *event =
            net_kit_next(&client, NET_KIT_CLOSED);
        EXPECT(event != NULL && event->id == id);
        EXPECT_EQ(net_dial(client.net,
                           "ws://no-such-host.invalid:1",
                           NULL,
                           &id,
                           &detail),
                  ERR_OK);
        event = net_kit_next(&client, NET_KIT_CLOSED);
        EXPECT(event != NULL && event->id == id);
    }
    end();
}

TEST(a_dial_to_another_path_is_refused)
{
    init();
    net_id id = 0;
    struct err_detail detail = {0};
    if (net_kit_open(&server) && net_kit_open(&client)) {
        char url[64];
        (void)snprintf(url,
                       sizeof url,
                       "ws://127.0.0.1:%u/elsewhere",
                       net_port(server.net));
        EXPECT_EQ(net_dial(client.net, url, NULL, &id, &detail), ERR_OK);
        const struct net_kit_event *event =
            net_kit_next(&client, NET_KIT_CLOSED);
        EXPECT(event != NULL && event->id == id);
    }
    end();
}

TEST(urls_that_are_not_of_a_websocket_are_refused)
{
    static const char *const urls[] = {
        "",
        "http://localhost",
        "ws://",
        "ws:///path",
        "ws://host:",
        "ws://host:0",
        "ws://host:65536",
        "ws://host:12x",
        "ws://[::1",
        "ws://[::1]x",
        "ws://ho st",
        "ws://user@host",
        "localhost:80",
    };
    init();
    if (net_kit_open(&client)) {
        for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
            net_id id = 0;
            struct err_detail detail = {0};
            EXPECT_EQ(net_dial(client.net, urls[i], NULL, &id, &detail),
                      ERR_ARGUMENT);
            EXPECT_CONTAINS(detail.text, "cannot dial");
        }
    }
    end();
}

TEST(the_bearer_of_a_dial_arrives)
{
    init();
    net_id id = 0;
    struct err_detail detail = {0};
    if (net_kit_open(&server) && net_kit_open(&client)) {
        char url[64];
        (void)snprintf(url,
                       sizeof url,
                       "ws://127.0.0.1:%u",
                       net_port(server.net));
        EXPECT_EQ(net_dial(client.net, url, "abc.def-1", &id, &detail), ERR_OK);
        const struct net_kit_event *event =
            net_kit_next(&server, NET_KIT_CONNECTED);
        if (event != NULL) {
            EXPECT_TEXT(event->text, "abc.def-1");
        }
        (void)snprintf(url,
                       sizeof url,
                       "ws://127.0.0.1:%u/v1/socket?access_token=q%%2Br",
                       net_port(server.net));
        EXPECT_EQ(net_dial(client.net, url, NULL, &id, &detail), ERR_OK);
        event = net_kit_next(&server, NET_KIT_CONNECTED);
        if (event != NULL) {
            EXPECT_TEXT(event->text, "q+r");
        }
    }
    end();
}

TEST(a_refused_connection_is_closed_and_not_reported)
{
    init();
    server.refuses = true;
    if (net_kit_open(&server)) {
        const int fd = net_raw_connect(&server);
        if (net_raw_upgrade(fd)) {
            struct buf rest = {0};
            EXPECT(net_raw_read(fd, &rest, NULL));
            buf_release(&rest);
        }
        (void)close(fd);
        net_close(server.net);
        server.net = NULL;
        EXPECT_EQ(server.happened.count, 0);
    }
    end();
}

TEST(a_message_in_fragments_is_offered_whole)
{
    init();
    if (net_kit_open(&server)) {
        const int fd = net_raw_connect(&server);
        if (net_raw_upgrade(fd) &&
            net_kit_next(&server, NET_KIT_CONNECTED) != NULL) {
            EXPECT(net_raw_frame(fd, 0x01, "one ", 4));
            EXPECT(net_raw_frame(fd, 0x89, "ping", 4));
            EXPECT(net_raw_frame(fd, 0x00, "two ", 4));
            EXPECT(net_raw_frame(fd, 0x00, "", 0));
            EXPECT(net_raw_frame(fd, 0x80, "three", 5));
            const struct net_kit_event *event =
                net_kit_next(&server, NET_KIT_RECEIVED);
            if (event != NULL) {
                EXPECT_TEXT(event->text, "one two three");
            }
            struct buf answer = {0};
            EXPECT(net_raw_read(fd, &answer, "ping"));
            buf_release(&answer);
        }
        (void)close(fd);
        (void)net_kit_next(&server, NET_KIT_CLOSED);
    }
    end();
}

/* Sends one frame on a new connection and expects a close with this code. */
static void expect_close(unsigned char first_byte,
                         const char *payload,
                         size_t length,
                         unsigned code)
{
    const int fd = net_raw_connect(&server);
    if (net_raw_upgrade(fd) &&
        net_kit_next(&server, NET_KIT_CONNECTED) != NULL) {
        struct buf answer = {0};
        (void)net_raw_frame(fd, first_byte, payload, length);
        EXPECT(net_raw_read(fd, &answer, NULL));
        if (EXPECT(answer.length >= 4)) {
            EXPECT_EQ((unsigned char)answer.at[0], 0x88);
            EXPECT_EQ((unsigned char)answer.at[2] * 256U +
                          (unsigned char)answer.at[3],
                      code);
        }
        buf_release(&answer);
        (void)net_kit_next(&server, NET_KIT_CLOSED);
    }
    (void)close(fd);
}

TEST(a_message_that_is_too_large_closes_with_1009)
{
    init();
    server.options.message_bytes = 5000;
    if (net_kit_open(&server)) {
        char *text = long_text(5001);
        expect_close(0x81, text, 5001, 1009);
        mem_free(text, 5001);
        expect_close(0x82, "binary", 6, 1003);
        expect_close(0x83, "what", 4, 1002);
        expect_close(0x80, "what", 4, 1002);
    }
    end();
}

TEST(counters_count)
{
    init();
    server.echoes = true;
    if (begin()) {
        net_kit_send(&client, client_id, "12345");
        (void)net_kit_next(&client, NET_KIT_RECEIVED);
        struct net_counters counters;
        net_count(server.net, &counters);
        EXPECT_EQ(counters.connections, 1);
        EXPECT_EQ(counters.accepted, 1);
        EXPECT_EQ(counters.received_messages, 1);
        EXPECT_EQ(counters.received_bytes, 5);
        EXPECT_EQ(counters.sent_messages, 1);
        EXPECT_EQ(counters.sent_bytes, 5);
        EXPECT_EQ(counters.queued_bytes, 0);
        net_end(client.net, client_id, 1000, NULL);
        (void)net_kit_next(&server, NET_KIT_CLOSED);
        net_count(server.net, &counters);
        EXPECT_EQ(counters.connections, 0);
    }
    end();
}

TEST(an_address_that_cannot_be_listened_on_is_an_error)
{
    struct err_detail detail = {0};
    init();
    server.options.address = "not an address";
    EXPECT_EQ(net_open(&server.options, &server.net, &detail), ERR_ARGUMENT);
    EXPECT_CONTAINS(detail.text, "is not an IP address");
    server.options.address = "127.0.0.1";
    if (net_kit_open(&server)) {
        client.options.address = "127.0.0.1";
        client.options.port = net_port(server.net);
        EXPECT_EQ(net_open(&client.options, &client.net, &detail), ERR_BUSY);
        EXPECT_CONTAINS(detail.text, "cannot listen on 127.0.0.1 port");
    }
    end();
}
