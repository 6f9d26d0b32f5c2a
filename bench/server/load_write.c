/* Clients that write one key after the other, and clients that count. */

#include <stdio.h>

#include "load.h"

static struct {
    const char *document; /* that all share, or NULL */
    const char *key;      /* that all share, or NULL */
    bool increments;
    bool swaps;
    unsigned watching;
    unsigned writing; /* clients with a write under way */
    uint64_t acked;
    uint64_t conflicts;
    uint64_t last_seq; /* of all that was acknowledged */
    bool done;
} state;

static void write_next(struct client *client)
{
    char name[CLIENT_NAME_SIZE];
    char key[CLIENT_NAME_SIZE];
    (void)snprintf(name, sizeof name, "own-%u", client->index);
    (void)snprintf(key, sizeof key, "k%u", client->index);
    const char *document = state.document != NULL ? state.document : name;
    client->sent_ns = load_now();
    if (state.increments) {
        load.dialect->increment(client, document, state.key);
    } else if (state.swaps) {
        load.dialect->swap(client, document, state.key, client->value + 1);
    } else {
        load.dialect->put(client, document, key, (int64_t)client->acked + 1);
    }
}

static void on_acked(struct client *client, uint64_t local_seq, uint64_t seq)
{
    const uint64_t now = load_now();
    if (local_seq != client->local_seq) {
        load_fail("client %u: an acknowledgement out of order", client->index);
    }
    client->acked++;
    state.acked++;
    state.last_seq = seq > state.last_seq ? seq : state.last_seq;
    load_sample(client->sent_ns, now);
    if (state.swaps) {
        client->value++;
        client->seq = seq;
    }
    if (load_is_over(now)) {
        state.writing--;
        state.done = state.writing == 0;
    } else {
        write_next(client);
    }
}

/* -- Conflicts ----------------------------------------------------------- */

/* What was there instead arrives with the marker of this write. The time of a
 * write is that of all its attempts. */
static void on_refused(struct client *client, uint64_t local_seq)
{
    (void)local_seq;
    client->refused = true;
    state.conflicts++;
}

static void on_changed(struct client *client, int64_t value, uint64_t seq)
{
    if (seq >= client->seq) {
        client->value = value;
        client->seq = seq;
    }
}

static void on_caught_up(struct client *client, uint64_t local_seq)
{
    if (client->refused && local_seq >= client->local_seq) {
        const uint64_t sent_ns = client->sent_ns;
        client->refused = false;
        write_next(client);
        client->sent_ns = sent_ns;
    }
}

/* -- Runs ---------------------------------------------------------------- */

static void on_watched(struct client *client)
{
    (void)client;
    state.watching++;
    state.done = state.watching == load.client_count;
}

static void watch_all(void)
{
    state.done = false;
    for (unsigned i = 0; i < load.client_count; i++) {
        load.dialect->watch(&load.clients[i], state.document);
    }
    load_run_until(&state.done);
}

static void write_all(void)
{
    load_begin();
    state.done = false;
    state.writing = load.client_count;
    for (unsigned i = 0; i < load.client_count; i++) {
        write_next(&load.clients[i]);
    }
    load_run_until(&state.done);
}

/* Every write reaches every client: by its seq, or as a message of its own. */
static bool all_have_seen(void)
{
    for (unsigned i = 0; i < load.client_count; i++) {
        const struct client *client = &load.clients[i];
        if (state.last_seq > 0 ? client->seen_seq < state.last_seq
                               : client->documents < state.acked) {
            return false;
        }
    }
    return true;
}

static void wait_until_seen(void)
{
    while (!all_have_seen()) {
        if (sockets_turn(&load.sockets, 5000) == 0) {
            load_fail("a write did not reach all clients");
        }
    }
}

void workload_put(bool shared)
{
    load.events = (struct workload_events){
        .acked = on_acked,
        .watched = on_watched,
    };
    state.document = shared ? "shared" : NULL;
    load_open(load.client_count);
    if (shared) {
        watch_all();
    }
    write_all();
    load_print(0);
    if (shared) {
        wait_until_seen();
    }
    (void)printf(",\"acked\":%llu}\n", (unsigned long long)state.acked);
}

/* -- The counter --------------------------------------------------------- */

static void on_created(struct client *client, uint64_t local_seq, uint64_t seq)
{
    (void)client;
    (void)local_seq;
    (void)seq;
    state.done = true;
}

static void on_read(struct client *client)
{
    (void)client;
    state.done = true;
}

/* As a client that was not there before finds it. */
static int64_t read_counter(void)
{
    struct client *reader = load_open_extra();
    state.done = false;
    load.events.changed = on_changed;
    load.events.watched = on_read;
    load.dialect->watch(reader, state.document);
    load_run_until(&state.done);
    return reader->value;
}

void workload_counter(bool swap)
{
    if (swap && load.dialect->swap == NULL) {
        load_fail("the %s has no conflicts", load.dialect->name);
    }
    load.key = "n";
    load.events = (struct workload_events){.acked = on_created};
    state.document = "counter";
    state.key = "n";
    load_open(load.client_count);
    load.dialect->put(&load.clients[0], "counter", "n", 0);
    load_run_until(&state.done);
    load.events = (struct workload_events){
        .acked = on_acked,
        .watched = on_watched,
        .refused = on_refused,
        .changed = swap ? on_changed : NULL,
        .caught_up = on_caught_up,
    };
    watch_all();
    state.increments = !swap;
    state.swaps = swap;
    write_all();
    load_print(0);
    const int64_t landed = read_counter();
    (void)printf(",\"acked\":%llu,\"landed\":%lld,\"conflicts\":%llu}\n",
                 (unsigned long long)state.acked,
                 (long long)landed,
                 (unsigned long long)state.conflicts);
}
