/* What a stranger can make large or slow, and what the net does about it. */

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/net_kit.h"
#include "lib/test.h"
#include "net/net.h"

static struct net_kit server;

/* -- Counting system calls ----------------------------------------------- */

static atomic_uint sends;

/* In the place of the function of the C library, also for libwebsockets. */
__attribute__((visibility("default"))) ssize_t send(int fd,
                                                    const void *bytes,
                                                    size_t count,
                                                    int flags)
{
    atomic_fetch_add(&sends, 1);
    return sendto(fd, bytes, count, flags, NULL, 0);
}

static void init(void)
{
    net_kit_init(&server, "127.0.0.1");
}

/* The peer sees the end of its connection. */
static void expect_end(int fd)
{
    struct buf rest = {0};
    EXPECT(net_raw_read(fd, &rest, NULL));
    buf_release(&rest);
    (void)close(fd);
}

static bool upgrade(int fd)
{
    return net_raw_upgrade(fd) &&
           net_kit_next(&server, NET_KIT_CONNECTED) != NULL;
}

TEST(a_connection_over_the_limit_is_refused)
{
    init();
    server.options.connections_max = 2;
    if (net_kit_open(&server)) {
        const int first = net_raw_connect(&server);
        const int second = net_raw_connect(&server);
        EXPECT(upgrade(first) && upgrade(second));
        expect_end(net_raw_connect(&server));
        struct net_counters counters;
        net_count(server.net, &counters);
        EXPECT_EQ(counters.refused, 1);
        EXPECT_EQ(counters.connections, 2);
        (void)close(first);
        (void)net_kit_next(&server, NET_KIT_CLOSED);
        const int third = net_raw_connect(&server);
        EXPECT(upgrade(third));
        (void)close(second);
        (void)close(third);
    }
    net_kit_close(&server);
}

TEST(connections_of_one_address_are_limited)
{
    init();
    server.options.connections_per_address = 1;
    if (net_kit_open(&server)) {
        const int first = net_raw_connect(&server);
        EXPECT(upgrade(first));
        expect_end(net_raw_connect(&server));
        (void)close(first);
        (void)net_kit_next(&server, NET_KIT_CLOSED);
        const int second = net_raw_connect(&server);
        EXPECT(upgrade(second));
        (void)close(second);
    }
    net_kit_close(&server);
}

/* Slow loris: one byte after another keeps nothing open. */
TEST(a_request_that_is_not_complete_in_time_ends_the_connection)
{
    static const char *const beginnings[] = {
        "",
        "GET / HTTP/1.1\r\nHost: a\r\nX: ",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n",
    };
    init();
    server.options.handshake_ms = 200;
    if (net_kit_open(&server)) {
        for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
            const int fd = net_raw_connect(&server);
            EXPECT(net_raw_print(fd, beginnings[i]));
            struct timeval wait = {.tv_usec = 20000};
            (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
            ssize_t got = -1;
            char byte;
            for (int n = 0; got < 0 && n < 5000; n++) {
                const bool written = i == 0 || net_raw_print(fd, "x");
                got = written ? recv(fd, &byte, 1, 0) : 0;
            }
            EXPECT_INT(got, 0);
            (void)close(fd);
        }
    }
    net_kit_close(&server);
}

TEST(an_idle_websocket_is_pinged_and_stays_if_it_answers)
{
    struct net_kit client;
    net_id client_id;
    net_id server_id;
    init();
    net_kit_init(&client, NULL);
    server.options.ping_ms = 50;
    if (net_kit_open(&server) && net_kit_open(&client) &&
        net_kit_connect(&client, &server, &client_id, &server_id)) {
        /* A raw peer does not answer; it lasts two periods. The client lasts
         * as long as several of them. */
        for (int i = 0; i < 3; i++) {
            const int fd = net_raw_connect(&server);
            EXPECT(upgrade(fd));
            struct buf rest = {0};
            EXPECT(net_raw_read(fd, &rest, "\x89"));
            buf_release(&rest);
            const struct net_kit_event *event =
                net_kit_next(&server, NET_KIT_CLOSED);
            if (event != NULL) {
                EXPECT_CONTAINS(event->text, "also after a ping");
                EXPECT(event->id != server_id);
            }
            (void)close(fd);
        }
        net_kit_send(&client, client_id, "still here");
        (void)net_kit_next(&server, NET_KIT_RECEIVED);
    }
    net_kit_close(&client);
    net_kit_close(&server);
}

TEST(a_reader_that_is_too_slow_is_disconnected)
{
    enum {
        SIZE = 100000
    };
    init();
    server.options.queue_bytes = 1000000;
    if (net_kit_open(&server)) {
        const int fd = net_raw_connect(&server);
        if (upgrade(fd)) {
            const net_id id = server.last.id;
            char *text = mem_alloc(SIZE);
            memset(text, 'x', SIZE);
            struct net_bytes *body = net_bytes_new(text, SIZE);
            mem_free(text, SIZE);
            for (int i = 0; i < 200; i++) {
                net_send(server.net,
                         id,
                         net_bytes_new("h", 1),
                         net_bytes_ref(body));
            }
            net_bytes_unref(body);
            const struct net_kit_event *event =
                net_kit_next(&server, NET_KIT_CLOSED);
            if (event != NULL) {
                EXPECT_CONTAINS(event->text, "reads too slowly");
            }
            struct net_counters counters;
            net_count(server.net, &counters);
            EXPECT_EQ(counters.slow, 1);
            EXPECT_EQ(counters.queued_bytes, 0);
        }
        (void)close(fd);
    }
    net_kit_close(&server);
}

TEST(one_message_larger_than_the_queue_is_sent)
{
    enum {
        SIZE = 3000000
    };
    init();
    server.options.queue_bytes = 1000;
    if (net_kit_open(&server)) {
        const int fd = net_raw_connect(&server);
        if (upgrade(fd)) {
            char *text = mem_alloc(SIZE);
            memset(text, 'x', SIZE);
            text[SIZE - 1] = '!';
            net_send(server.net,
                     server.last.id,
                     net_bytes_new(text, SIZE),
                     NULL);
            mem_free(text, SIZE);
            struct buf got = {0};
            EXPECT(net_raw_read(fd, &got, "!"));
            buf_release(&got);
        }
        (void)close(fd);
    }
    net_kit_close(&server);
}

/* By default libwebsockets sends a kilobyte at a time. */
TEST(a_large_message_leaves_in_large_parts)
{
    enum {
        SIZE = 1000000,
        SENDS_MAX = 100
    };
    init();
    if (net_kit_open(&server)) {
        const int fd = net_raw_connect(&server);
        if (upgrade(fd)) {
            char *text = mem_alloc(SIZE);
            memset(text, 'x', SIZE);
            text[SIZE - 1] = '!';
            atomic_store(&sends, 0);
            net_send(server.net,
                     server.last.id,
                     net_bytes_new(text, SIZE),
                     NULL);
            mem_free(text, SIZE);
            struct buf got = {0};
            EXPECT(net_raw_read(fd, &got, "!"));
            buf_release(&got);
            EXPECT(atomic_load(&sends) > 0);
            EXPECT(atomic_load(&sends) <= SENDS_MAX);
        }
        (void)close(fd);
    }
    net_kit_close(&server);
}

TEST(after_stop_listening_connections_go_on_and_new_ones_are_refused)
{
    init();
    if (net_kit_open(&server)) {
        const int fd = net_raw_connect(&server);
        if (upgrade(fd)) {
            net_stop_listening(server.net);
            EXPECT(net_raw_frame(fd, 0x81, "a", 1));
            (void)net_kit_next(&server, NET_KIT_RECEIVED);
            EXPECT(!net_raw_can_connect(&server));
            EXPECT(net_raw_frame(fd, 0x81, "b", 1));
            (void)net_kit_next(&server, NET_KIT_RECEIVED);
        }
        (void)close(fd);
    }
    net_kit_close(&server);
}

/* Random bytes, before and after the upgrade; the net serves others as before,
 * and reports each connection that it opened as closed. */
PROPERTY(garbage_ends_only_its_own_connection, 30)
{
    init();
    if (net_kit_open(&server)) {
        unsigned char noise[2000];
        size_t length = 1 + random_below(random, sizeof noise);
        const bool is_socket = random_below(random, 2) == 0;
        const int fd = net_raw_connect(&server);
        for (size_t i = 0; i < length; i++) {
            noise[i] = (unsigned char)random_below(random, 256);
        }
        if (is_socket) {
            EXPECT(upgrade(fd));
        } else if (random_below(random, 2) == 0) {
            (void)net_raw_print(fd, "GET / HTTP/1.1\r\nHost: a\r\n");
        }
        (void)net_raw_write(fd, noise, length);
        const int other = net_raw_connect(&server);
        EXPECT(net_raw_upgrade(other));
        (void)close(other);
        (void)close(fd);
        net_close(server.net);
        server.net = NULL;
        size_t opened = 0;
        size_t closed = 0;
        VEC_FOREACH (&server.happened, event) {
            opened += event->kind == NET_KIT_CONNECTED;
            closed += event->kind == NET_KIT_CLOSED;
        }
        EXPECT_EQ(opened, closed);
    }
    net_kit_close(&server);
}

/* The masks of frames and their lengths as a client may choose them, cut into
 * pieces at random: each message arrives whole. */
PROPERTY(frames_cut_anywhere_arrive_whole, 10)
{
    init();
    if (net_kit_open(&server)) {
        const int fd = net_raw_connect(&server);
        if (upgrade(fd)) {
            struct buf bytes = {0};
            size_t lengths[20];
            for (size_t i = 0; i < 20; i++) {
                lengths[i] = random_below(random, 3000);
                net_raw_put_frame(&bytes, 0x81, NULL, lengths[i]);
            }
            for (size_t at = 0; at < bytes.length;) {
                size_t step = 1 + random_below(random, 2000);
                step = step < bytes.length - at ? step : bytes.length - at;
                EXPECT(net_raw_write(fd, bytes.at + at, step));
                at += step;
            }
            buf_release(&bytes);
            for (size_t i = 0; i < 20; i++) {
                const struct net_kit_event *event =
                    net_kit_next(&server, NET_KIT_RECEIVED);
                if (event == NULL || !EXPECT_EQ(event->length, lengths[i])) {
                    break;
                }
            }
        }
        (void)close(fd);
    }
    net_kit_close(&server);
}
