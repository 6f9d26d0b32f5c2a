/* A net that sends each message back, for load generators.
 *
 *   net_echo [PORT [far]]   prints its port and serves until stdin ends; "far"
 *                           answers from another thread, as a worker does */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "net/net.h"

typedef VEC(struct net_outgoing) messages;

static struct net *net;
static bool is_far;
static messages received;
static messages handed;
static bool is_over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static bool on_connected(void *ctx, net_id id, const struct net_peer *peer)
{
    (void)ctx;
    (void)id;
    (void)peer;
    return true;
}

static enum net_taken on_received(void *ctx,
                                  net_id id,
                                  const char *text,
                                  size_t length)
{
    (void)ctx;
    const struct net_outgoing message = {.id = id,
                                         .head = net_bytes_new(text, length)};
    vec_push(&received, message);
    return NET_TAKEN;
}

static void on_closed(void *ctx, net_id id, const char *reason)
{
    (void)ctx;
    (void)id;
    (void)reason;
}

static void on_turned(void *ctx)
{
    (void)ctx;
    if (received.count == 0) {
        return;
    }
    if (!is_far) {
        net_send_all(net, received.at, received.count);
    } else {
        (void)pthread_mutex_lock(&lock);
        for (size_t i = 0; i < received.count; i++) {
            vec_push(&handed, received.at[i]);
        }
        (void)pthread_cond_signal(&changed);
        (void)pthread_mutex_unlock(&lock);
    }
    vec_clear(&received);
}

static void *answer(void *unused)
{
    messages taken = {0};
    (void)unused;
    (void)pthread_mutex_lock(&lock);
    while (!is_over) {
        if (handed.count == 0) {
            (void)pthread_cond_wait(&changed, &lock);
            continue;
        }
        const messages empty = taken;
        taken = handed;
        handed = empty;
        (void)pthread_mutex_unlock(&lock);
        net_send_all(net, taken.at, taken.count);
        vec_clear(&taken);
        (void)pthread_mutex_lock(&lock);
    }
    (void)pthread_mutex_unlock(&lock);
    vec_release(&taken);
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct net_events events = {
        .connected = on_connected,
        .received = on_received,
        .closed = on_closed,
        .turned = on_turned,
    };
    struct err_detail detail = {0};
    pthread_t thread;
    is_far = argc > 2 && strcmp(argv[2], "far") == 0;
    if (net_open(
            &(struct net_options){
                .address = "127.0.0.1",
                .port = argc > 1 ? (uint16_t)strtoul(argv[1], NULL, 10) : 0,
                .socket_path = "/",
                .events = &events,
            },
            &net,
            &detail) != ERR_OK) {
        (void)fprintf(stderr, "net_echo: %s\n", detail.text);
        return 1;
    }
    if (pthread_create(&thread, NULL, answer, NULL) != 0) {
        return 1;
    }
    (void)printf("%u\n", net_port(net));
    (void)fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    (void)pthread_mutex_lock(&lock);
    is_over = true;
    (void)pthread_cond_signal(&changed);
    (void)pthread_mutex_unlock(&lock);
    (void)pthread_join(thread, NULL);
    net_close(net);
    vec_release(&received);
    vec_release(&handed);
    return 0;
}
