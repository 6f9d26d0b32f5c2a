/* Clients that stay: idle ones, and those that survive the end of a server. */

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "load.h"

enum {
    REDIAL_MS = 50,
    STILL_MS = 100,
    GIVE_UP_NS = 60,
};

static struct {
    unsigned writing;
    unsigned current;
    bool done;
    bool has_restarted;
    uint64_t lost; /* connections */
    uint64_t all_lost_ns;
    uint64_t resent;
    unsigned told; /* clients that saw the write after the restart */
} state;

static bool input_is_closed(void)
{
    char byte;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

/* -- Idle ---------------------------------------------------------------- */

void workload_idle(void)
{
    load_open(load.client_count);
    load_say("ready");
    while (!input_is_closed()) {
        (void)sockets_turn(&load.sockets, STILL_MS);
    }
    (void)printf("{\"connections\":%u}\n", load.client_count);
}

/* -- A server that ends -------------------------------------------------- */

static void on_lost(struct client *client)
{
    (void)client;
    state.lost++;
}

/* Connections that are closed are dialled again, after a short while. */
static void redial(void)
{
    static uint64_t last;
    const uint64_t now = load_now();
    if (now - last < REDIAL_MS * 1000000U) {
        return;
    }
    last = now;
    for (unsigned i = 0; i < load.client_count; i++) {
        struct socket *socket = &load.clients[i].socket;
        if (socket->state == SOCKET_CLOSED) {
            socket_dial(&load.sockets, socket);
        }
    }
}

static void run_lasting(void)
{
    uint64_t heard = load_now();
    while (!state.done) {
        const uint64_t now = load_now();
        heard = sockets_turn(&load.sockets, REDIAL_MS) > 0 ? now : heard;
        redial();
        if (now - heard > GIVE_UP_NS * 1000000000ULL) {
            load_fail("the server did not come back");
        }
    }
}

static void document_of(char *to, const struct client *client)
{
    (void)snprintf(to, CLIENT_NAME_SIZE, "crash-%u", client->index);
}

static void write_next(struct client *client)
{
    char document[CLIENT_NAME_SIZE];
    document_of(document, client);
    client->waiting = true;
    client->sent_ns = load_now();
    load.dialect->increment(client, document, "n");
}

static void on_acked(struct client *client, uint64_t local_seq, uint64_t seq)
{
    (void)seq;
    const uint64_t now = load_now();
    if (!client->waiting || local_seq != client->local_seq) {
        return; /* of a write that was sent again */
    }
    client->waiting = false;
    client->acked++;
    load_sample(client->sent_ns, now);
    if (load_is_over(now)) {
        state.writing--;
        state.done = state.writing == 0;
    } else {
        write_next(client);
    }
}

/* Another connection: what had no verdict is sent again, as the same write. */
static void on_ready(struct client *client)
{
    char document[CLIENT_NAME_SIZE];
    document_of(document, client);
    if (client->waiting) {
        state.resent++;
        load.dialect->repeat(client, document, "n");
    }
}

static void on_value(struct client *client, int64_t value, uint64_t seq)
{
    (void)seq;
    client->value = value;
}

static void on_watched(struct client *client)
{
    client->waiting = false;
}

/* What each document counts, beside what was acknowledged. */
static void compare(uint64_t *lost, uint64_t *twice, uint64_t *acked)
{
    load.events = (struct workload_events){
        .changed = on_value,
        .watched = on_watched,
    };
    struct client *reader = load_open_extra();
    for (unsigned i = 0; i < load.client_count; i++) {
        char document[CLIENT_NAME_SIZE];
        document_of(document, &load.clients[i]);
        reader->waiting = true;
        reader->value = 0;
        load.dialect->watch(reader, document);
        while (reader->waiting) {
            (void)sockets_turn(&load.sockets, STILL_MS);
        }
        const uint64_t landed = (uint64_t)reader->value;
        const uint64_t known = load.clients[i].acked;
        *acked += known;
        *lost += known > landed ? known - landed : 0;
        *twice += landed > known ? landed - known : 0;
    }
}

void workload_crash(void)
{
    if (load.dialect->repeat == NULL) {
        load_fail("the %s cannot repeat a write", load.dialect->name);
    }
    uint64_t lost = 0;
    uint64_t twice = 0;
    uint64_t acked = 0;
    load.key = "n";
    load.events = (struct workload_events){
        .ready = on_ready,
        .acked = on_acked,
        .lost = on_lost,
    };
    load_open(load.client_count);
    load_begin();
    load_say("ready");
    state.writing = load.client_count;
    for (unsigned i = 0; i < load.client_count; i++) {
        write_next(&load.clients[i]);
    }
    run_lasting();
    load_print(0);
    compare(&lost, &twice, &acked);
    (void)printf(",\"acked\":%llu,\"lost\":%llu,\"twice\":%llu,"
                 "\"disconnected\":%llu,\"resent\":%llu}\n",
                 (unsigned long long)acked,
                 (unsigned long long)lost,
                 (unsigned long long)twice,
                 (unsigned long long)state.lost,
                 (unsigned long long)state.resent);
}

/* -- All reconnect ------------------------------------------------------- */

static void on_ready_to_watch(struct client *client)
{
    load.dialect->watch(client, "shared");
}

static void on_current(struct client *client)
{
    if (!client->waiting) {
        client->waiting = true; /* it is current */
        state.current++;
        state.done = state.current == load.client_count;
    }
}

static void on_not_current(struct client *client)
{
    state.lost++;
    if (client->waiting) {
        client->waiting = false;
        state.current--;
    }
    if (!state.has_restarted && state.lost == load.client_count) {
        state.has_restarted = true;
        state.all_lost_ns = load_now();
    }
}

/* The write after the restart. */
static void on_told(struct client *client, int64_t value, uint64_t seq)
{
    (void)seq;
    if (value == 1 && client->value != 1) {
        client->value = 1;
        state.told++;
        state.done = state.told == load.client_count;
    }
}

void workload_reconnect(void)
{
    load.key = "k0";
    load.events = (struct workload_events){
        .ready = on_ready_to_watch,
        .watched = on_current,
        .lost = on_not_current,
    };
    load_open(load.client_count);
    run_lasting();
    load_say("ready");
    while (!state.has_restarted || state.current < load.client_count) {
        (void)sockets_turn(&load.sockets, REDIAL_MS);
        redial();
    }
    const uint64_t current_ns = load_now();
    state.done = false;
    load.events.changed = on_told;
    load.events.ready = NULL;
    struct client *writer = load_open_extra();
    load.dialect->put(writer, "shared", "k0", 1);
    run_lasting();
    (void)printf("{\"current_at_ns\":%llu,\"lost_at_ns\":%llu,"
                 "\"disconnected\":%llu}\n",
                 (unsigned long long)current_ns,
                 (unsigned long long)state.all_lost_ns,
                 (unsigned long long)state.lost);
}
