/* Clients that watch: fan-out, the way of one change, and cold joins. */

#include <stdio.h>
#include <string.h>

#include "load.h"

enum {
    RING = 4096, /* writes under way, at most */
    SEED_GROUP = 100,
    SEED_WINDOW = 8,
};

static struct {
    bool done;
    bool counting;
    unsigned watching;
    uint64_t sent;          /* writes */
    uint64_t reached_all;   /* writes that every watcher has */
    unsigned reached[RING]; /* watchers, by write */
    uint64_t sent_ns[RING];
    uint64_t messages; /* to watchers */
    bool acked;        /* seen: the write under way */
    bool seen;
    VEC(double) acks; /* seen: ns until acknowledged */
    unsigned groups_sent;
    unsigned groups_acked;
} state;

static void on_done(struct client *client)
{
    (void)client;
    state.done = true;
}

static void on_watched(struct client *client)
{
    (void)client;
    state.watching++;
    state.done = state.watching == load.client_count - 1;
}

/* All but the first. */
static void watch_all(const char *id)
{
    state.done = false;
    for (unsigned i = 1; i < load.client_count; i++) {
        load.dialect->watch(&load.clients[i], id);
    }
    load_run_until(&state.done);
}

/* -- Fan-out ------------------------------------------------------------- */

static void write_next(void)
{
    state.sent++;
    state.sent_ns[state.sent % RING] = load_now();
    load.dialect->put(&load.clients[0], "fan", "k", (int64_t)state.sent);
}

/* Writes are numbers: one message may bring a watcher several writes further.
 */
static void on_fan(struct client *client, int64_t value, uint64_t seq)
{
    (void)seq;
    if (!state.counting || client == &load.clients[0]) {
        return;
    }
    state.messages++;
    while (client->value < value) {
        client->value++;
        state.reached[client->value % RING]++;
    }
    while (state.reached_all < state.sent &&
           state.reached[(state.reached_all + 1) % RING] ==
               load.client_count - 1) {
        const uint64_t now = load_now();
        state.reached_all++;
        state.reached[state.reached_all % RING] = 0;
        load_sample(state.sent_ns[state.reached_all % RING], now);
        if (!load_is_over(now)) {
            write_next();
        } else {
            state.done = state.reached_all == state.sent;
        }
    }
}

static void on_created(struct client *client, uint64_t local_seq, uint64_t seq)
{
    (void)local_seq;
    (void)seq;
    if (!state.counting) {
        on_done(client);
    }
}

/* The first client creates the document, the others watch it. */
static void open_watchers(const char *id)
{
    load.events.acked = on_created;
    load.events.watched = on_watched;
    load_open(load.client_count + 1);
    load.dialect->put(&load.clients[0], id, "k", 0);
    load_run_until(&state.done);
    watch_all(id);
    state.done = false;
    state.counting = true;
}

void workload_fan(void)
{
    load.key = "k";
    load.events.changed = on_fan;
    open_watchers("fan");
    load_begin();
    for (unsigned i = 0; i < load.window; i++) {
        write_next();
    }
    load_run_until(&state.done);
    load_print(load.latencies.count * (load.client_count - 1));
    (void)printf(",\"writes\":%llu,\"messages\":%llu}\n",
                 (unsigned long long)state.sent,
                 (unsigned long long)state.messages);
}

/* -- One change ---------------------------------------------------------- */

static void write_one(void)
{
    const uint64_t now = load_now();
    if (load_is_over(now)) {
        state.done = true;
        return;
    }
    state.acked = false;
    state.seen = false;
    write_next();
}

static void on_one_acked(struct client *client,
                         uint64_t local_seq,
                         uint64_t seq)
{
    (void)client;
    (void)local_seq;
    (void)seq;
    const uint64_t now = load_now();
    if (now >= load.begin_ns && now < load.end_ns) {
        vec_push(&state.acks, (double)(now - state.sent_ns[state.sent % RING]));
    }
    state.acked = true;
    if (state.seen) {
        write_one();
    }
}

static void on_one_seen(struct client *client, int64_t value, uint64_t seq)
{
    (void)seq;
    if (!state.counting || client == &load.clients[0] ||
        value != (int64_t)state.sent) {
        return;
    }
    load_sample(state.sent_ns[state.sent % RING], load_now());
    state.seen = true;
    if (state.acked) {
        write_one();
    }
}

/* The mean is enough: the median of what was seen is printed anyway. */
static double mean_ack(void)
{
    double sum = 0;
    VEC_FOREACH (&state.acks, ack) {
        sum += *ack;
    }
    return state.acks.count > 0 ? sum / (double)state.acks.count : 0;
}

void workload_seen(void)
{
    load.client_count = 1; /* besides the writer */
    load.key = "k";
    load.events.changed = on_one_seen;
    open_watchers("fan");
    load.events.acked = on_one_acked;
    load_begin();
    write_one();
    load_run_until(&state.done);
    load_print(0);
    (void)printf(",\"mean_ack_ns\":%.0f}\n", mean_ack());
}

/* -- Cold join ----------------------------------------------------------- */

static void seed_next(struct client *client)
{
    const unsigned first = state.groups_sent * SEED_GROUP;
    if (first < load.documents) {
        const unsigned rest = load.documents - first;
        state.groups_sent++;
        load.dialect->seed(client,
                           first,
                           rest < SEED_GROUP ? rest : SEED_GROUP);
    }
}

static void on_seeded(struct client *client, uint64_t local_seq, uint64_t seq)
{
    (void)local_seq;
    (void)seq;
    state.groups_acked++;
    seed_next(client);
    state.done = state.groups_acked * SEED_GROUP >= load.documents;
}

static void on_root_seeded(struct client *client,
                           uint64_t local_seq,
                           uint64_t seq)
{
    (void)local_seq;
    (void)seq;
    on_done(client);
}

void workload_seed(void)
{
    load.events.acked = on_seeded;
    load_open(1);
    for (unsigned i = 0; i < SEED_WINDOW; i++) {
        seed_next(&load.clients[0]);
    }
    load_run_until(&state.done);
    if (load.dialect->seed_root != NULL) {
        state.done = false;
        load.events.acked = on_root_seeded;
        load.dialect->seed_root(&load.clients[0], load.documents);
        load_run_until(&state.done);
    }
    (void)printf("{\"documents\":%u}\n", load.documents);
}

/* All documents as one JSON object, by id; with the root, if there is one. */
static uint64_t json_bytes(void)
{
    const bool has_root = load.dialect->seed_root != NULL;
    uint64_t bytes = 2 + (has_root ? strlen("\"of:root\":{\"value\":[]}") : 0);
    for (unsigned i = 0; i < load.documents; i++) {
        char document[512];
        char id[64];
        char link[LOAD_LINK_SIZE];
        bytes += has_root ? load_link(link, i) + 1 : 0;
        bytes += load_document(document, sizeof document, i);
        bytes +=
            (uint64_t)snprintf(id, sizeof id, "\"of:doc%u\":{\"value\":},", i);
    }
    return bytes;
}

void workload_join(void)
{
    load.events.watched = on_done;
    const uint64_t from = load_now();
    load_open(1);
    load.dialect->join(&load.clients[0], load.documents);
    load_run_until(&state.done);
    const uint64_t now = load_now();
    const unsigned expected =
        load.documents + (load.dialect->seed_root != NULL ? 1 : 0);
    if (load.clients[0].documents != expected) {
        load_fail("%llu of %u documents arrived",
                  (unsigned long long)load.clients[0].documents,
                  expected);
    }
    (void)printf("{\"join_ns\":%llu,\"bytes\":%llu,\"json_bytes\":%llu}\n",
                 (unsigned long long)(now - from),
                 (unsigned long long)load.sockets.bytes_received,
                 (unsigned long long)json_bytes());
}
