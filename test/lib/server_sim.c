/* A server without its network and threads, under a random schedule. */

#include "lib/server_sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "lib/test.h"
#include "server/connection.h"
#include "server/shard.h"
#include "store/engine.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

enum {
    CLIENTS = 5,
    SPACES = 3,
    SHARDS = 2,
    STEPS = 120,
    QUIET_STEPS = 4000, /* until everything is settled */
    INCREMENTS = 6,     /* of each session */
};

/* One session of a client: in one space, on the channel 1 + its space. */
struct sim_session {
    bool is_attached;
    bool is_open;
    uint64_t connection; /* of the protocol */
    uint64_t sent;       /* messages on it */
    uint64_t issued;     /* increments */
    uint64_t landed;     /* verdicts, in order */
    uint64_t sent_seq;   /* sent on this connection */
    uint64_t covered;    /* by syncs of this connection */
    bool has_synced;
};

struct sim_client {
    struct sim *sim;
    net_id id; /* 0: not connected */
    struct sim_session sessions[SPACES];
    VEC(struct buf) in;  /* on its way to the server */
    VEC(struct buf) out; /* on its way to the client */
    char user[8];
};

struct sim {
    uint64_t seed;
    struct random random;
    mono_ms now;
    struct connections connections;
    struct shard shards[SHARDS];
    struct batch inboxes[SHARDS];
    struct sim_client clients[CLIENTS];
    struct metrics metrics;
    struct authenticator authenticator;
    const struct authenticator *_Atomic current;
    _Atomic uint32_t open_spaces;
    _Atomic bool is_draining;
    net_id next_id;
    bool has_failed;
    bool is_quiet;
    struct server_sim_counts *counts;
};

static void fail(struct sim *sim, const char *what)
{
    if (!sim->has_failed) {
        sim->has_failed = true;
        (void)test_fail(__FILE__,
                        __LINE__,
                        "seed %llu: %s",
                        (unsigned long long)sim->seed,
                        what);
    }
}

/* -- The environment of the server --------------------------------------- */

static struct sim_client *client_of(struct sim *sim, net_id id)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        if (sim->clients[i].id == id) {
            return &sim->clients[i];
        }
    }
    return NULL;
}

static void deliver(struct sim *sim, net_id id, const char *text, size_t length)
{
    struct sim_client *client = client_of(sim, id);
    if (client != NULL) {
        struct buf copy = {0};
        buf_append(&copy, text, length);
        vec_push(&client->out, copy);
    }
}

static void io_send(void *ctx, net_id id, const char *text, size_t length)
{
    deliver(ctx, id, text, length);
}

static void io_post(void *ctx, unsigned worker, struct batch *batch)
{
    struct sim *sim = ctx;
    struct batch *inbox = &sim->inboxes[worker];
    if (inbox->first == NULL) {
        *inbox = *batch;
    } else {
        inbox->last->next = batch->first;
        inbox->last = batch->last;
    }
    *batch = (struct batch){0};
}

static mono_ms io_now(void *ctx)
{
    return ((struct sim *)ctx)->now;
}

static void shard_send(void *ctx,
                       const struct net_outgoing *messages,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        deliver(ctx,
                messages[i].id,
                net_bytes_at(messages[i].head),
                net_bytes_length(messages[i].head));
        net_bytes_unref(messages[i].head);
        net_bytes_unref(messages[i].body);
    }
}

static void shard_resume(void *ctx, net_id id)
{
    (void)ctx;
    (void)id;
}

static uint64_t shard_random(void *ctx)
{
    return random_u64(&((struct sim *)ctx)->random);
}

static uint64_t shard_wall(void *ctx)
{
    return 1700000000000U + ((struct sim *)ctx)->now;
}

/* -- A client: sending --------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void say(struct sim_client *client,
                                                      const char *format,
                                                      ...)
{
    char text[1024];
    struct buf copy = {0};
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    CHECK(length > 0 && (size_t)length < sizeof text);
    buf_append(&copy, text, (size_t)length);
    vec_push(&client->in, copy);
}

static size_t number_of(const struct sim_client *client)
{
    return (size_t)(client - client->sim->clients);
}

static void say_in(struct sim_client *client,
                   size_t space,
                   const char *kind,
                   const char *rest)
{
    struct sim_session *session = &client->sessions[space];
    say(client,
        "%zu {\"kind\":\"%s\",\"connection\":%llu,\"number\":%llu%s}",
        space + 1,
        kind,
        (unsigned long long)session->connection,
        (unsigned long long)++session->sent,
        rest);
}

static void connect(struct sim_client *client)
{
    struct sim *sim = client->sim;
    const struct net_peer peer = {.address = "sim", .is_loopback = true};
    client->id = ++sim->next_id;
    connections_opened(&sim->connections, client->id, &peer);
    say(client, "0 {\"kind\":\"hello\",\"version\":1}");
    for (size_t i = 0; i < SPACES; i++) {
        struct sim_session *session = &client->sessions[i];
        session->is_attached = false;
        session->is_open = false;
        session->has_synced = false;
        session->connection++;
        session->sent = 0;
        session->sent_seq = session->landed;
        say(client,
            "0 {\"kind\":\"attach\",\"channel\":%zu,\"space\":\"space%zu\","
            "\"session\":\"s%zu\",\"user\":\"%s\"}",
            i + 1,
            i,
            number_of(client),
            client->user);
    }
}

static void open_session(struct sim_client *client, size_t space)
{
    char rest[128];
    (void)snprintf(rest,
                   sizeof rest,
                   ",\"session\":\"s%zu\",\"seenSeq\":0",
                   number_of(client));
    say_in(client, space, "open", rest);
    say_in(client,
           space,
           "watch",
           ",\"targets\":[{\"id\":\"of:n\"},{\"id\":\"of:own\",\"scope\":"
           "\"user\"}]");
    client->sessions[space].is_open = true;
}

/* Each commit counts up, and writes the name of its user into a document of
 * that user. */
static void send_commit(struct sim_client *client, size_t space)
{
    struct sim_session *session = &client->sessions[space];
    char rest[512];
    const uint64_t local_seq = ++session->sent_seq;
    (void)snprintf(rest,
                   sizeof rest,
                   ",\"commits\":[{\"session\":\"s%zu\",\"localSeq\":%llu,"
                   "\"branch\":\"\",\"operations\":[{\"op\":\"patch\","
                   "\"id\":\"of:n\",\"patches\":[{\"op\":\"increment\","
                   "\"path\":\"/value\",\"by\":1}]},{\"op\":\"set\","
                   "\"id\":\"of:own\",\"scope\":\"user\",\"value\":"
                   "{\"value\":\"%s\"}}]}]",
                   number_of(client),
                   (unsigned long long)local_seq,
                   client->user);
    if (local_seq <= session->issued) {
        client->sim->counts->resent++;
    } else {
        session->issued = local_seq;
        client->sim->counts->commits++;
    }
    say_in(client, space, "commits", rest);
}

/* -- A client: receiving ------------------------------------------------- */

static void take_verdicts(struct sim_client *client,
                          size_t space,
                          struct value message)
{
    struct sim_session *session = &client->sessions[space];
    const struct value verdicts = object_field(message, "verdicts");
    for (uint32_t i = 0; i < array_count(verdicts); i++) {
        const struct value one = array_at(verdicts, i);
        const uint64_t seq = object_number(one, "seq");
        if (!value_is_absent(object_field(one, "error"))) {
            fail(client->sim, "an increment was refused");
        } else if (object_number(one, "localSeq") > session->landed + 1) {
            fail(client->sim, "a verdict is missing");
        } else if (object_number(one, "localSeq") == session->landed + 1) {
            session->landed++;
            if (session->has_synced && seq <= session->covered &&
                !value_is_same(object_field(one, "replayed"),
                               value_bool(true))) {
                fail(client->sim, "a sync came before the verdict");
            }
        }
    }
}

static void take_sync(struct sim_client *client,
                      size_t space,
                      struct value message)
{
    struct sim_session *session = &client->sessions[space];
    const struct value upserts = object_field(message, "upserts");
    const uint64_t from = object_number(message, "fromSeq");
    client->sim->counts->syncs++;
    if (session->has_synced && from != session->covered) {
        fail(client->sim, "the syncs of a session are not contiguous");
    }
    session->has_synced = true;
    session->covered = object_number(message, "toSeq");
    for (uint32_t i = 0; value_is_array(upserts) && i < array_count(upserts);
         i++) {
        const struct value one = array_at(upserts, i);
        const struct value owner =
            object_field(object_field(one, "document"), "value");
        if (value_is_text(object_field(one, "id"), "of:own") &&
            !value_is_absent(owner) && !value_is_text(owner, client->user)) {
            fail(client->sim, "a user got the document of another");
        }
    }
}

static void take_control(struct sim_client *client, struct value message)
{
    const struct value kind = object_field(message, "kind");
    const uint64_t channel = object_number(message, "channel");
    if (value_is_text(kind, "attached")) {
        client->sessions[channel - 1].is_attached = true;
        open_session(client, channel - 1);
    } else if (value_is_text(kind, "refused")) {
        fail(client->sim, "an attach was refused");
    }
}

static void take_line(struct sim_client *client,
                      const char *text,
                      size_t length)
{
    struct value message;
    const char *space = memchr(text, ' ', length);
    CHECK(space != NULL);
    size_t channel = 0;
    for (const char *at = text; at < space; at++) {
        channel = channel * 10 + (size_t)(*at - '0');
    }
    const size_t head = (size_t)(space - text) + 1;
    if (json_read(text + head, length - head, NULL, &message, NULL) != ERR_OK) {
        fail(client->sim, "the server sent a line that is not JSON");
        return;
    }
    const struct value kind = object_field(message, "kind");
    if (channel == 0) {
        take_control(client, message);
    } else if (value_is_text(kind, "verdicts")) {
        take_verdicts(client, channel - 1, message);
    } else if (value_is_text(kind, "sync")) {
        take_sync(client, channel - 1, message);
    }
    value_unref(message);
}

static void take_message(struct sim_client *client, const struct buf *message)
{
    const char *end = message->at + message->length;
    for (const char *at = message->at; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop != NULL ? stop : end) - at);
        take_line(client, at, length);
        at += length + 1;
    }
}

/* -- The schedule -------------------------------------------------------- */

/* A vector of texts: its first is taken out. */
#define TAKE_FIRST(vec, into)                                                \
    do {                                                                     \
        (into) = (vec)->at[0];                                               \
        (vec)->count--;                                                      \
        memmove((vec)->at, (vec)->at + 1, (vec)->count * sizeof *(vec)->at); \
    } while (0)

static void drop_queues(struct sim_client *client)
{
    VEC_FOREACH (&client->in, one) {
        buf_release(one);
    }
    VEC_FOREACH (&client->out, one) {
        buf_release(one);
    }
    vec_clear(&client->in);
    vec_clear(&client->out);
}

static void break_connection(struct sim_client *client)
{
    if (client->id != 0) {
        connections_closed(&client->sim->connections, client->id);
        connections_turned(&client->sim->connections);
        client->id = 0;
        client->sim->counts->breaks++;
        drop_queues(client);
    }
}

static void move_bytes(struct sim_client *client)
{
    struct buf next = {0};
    if (client->in.count > 0 && random_one_in(&client->sim->random, 2)) {
        TAKE_FIRST(&client->in, next);
        (void)connections_received(&client->sim->connections,
                                   client->id,
                                   next.at,
                                   next.length);
        if (random_one_in(&client->sim->random, 2)) {
            connections_turned(&client->sim->connections);
        }
    } else if (client->out.count > 0) {
        TAKE_FIRST(&client->out, next);
        take_message(client, &next);
    }
    buf_release(&next);
}

static void turn(struct sim *sim, size_t number)
{
    struct item *items = sim->inboxes[number].first;
    sim->inboxes[number] = (struct batch){0};
    sim->counts->turns++;
    if (items != NULL) {
        shard_turn(&sim->shards[number], items, sim->now);
    } else {
        shard_tick(&sim->shards[number], sim->now);
    }
}

static void act(struct sim_client *client)
{
    struct sim *sim = client->sim;
    const size_t space = (size_t)random_below(&sim->random, SPACES);
    struct sim_session *session = &client->sessions[space];
    const uint64_t most = sim->is_quiet ? session->issued : INCREMENTS;
    if (client->id == 0) {
        connect(client);
    } else if (session->is_open && session->sent_seq < most) {
        send_commit(client, space);
    }
}

static void send_garbage(struct sim_client *client)
{
    static const char *const garbage[] = {
        "",
        "x",
        "0 {",
        "0 {\"kind\":\"detach\",\"channel\":77}",
        "900 {}",
        "0 {\"kind\":\"hello\",\"version\":9}",
    };
    struct sim *sim = client->sim;
    if (client->id != 0) {
        const size_t at = (size_t)random_below(&sim->random, COUNT_OF(garbage));
        (void)connections_received(&sim->connections,
                                   client->id,
                                   garbage[at],
                                   strlen(garbage[at]));
        sim->counts->garbage++;
    }
}

static void step(struct sim *sim)
{
    const size_t number = (size_t)random_below(&sim->random, CLIENTS);
    struct sim_client *client = &sim->clients[number];
    sim->now += random_below(&sim->random, 3);
    switch (random_below(&sim->random, 16)) {
    case 0:
    case 1:
    case 2:
        act(client);
        break;
    case 3:
    case 4:
    case 5:
        turn(sim, (size_t)random_below(&sim->random, SHARDS));
        break;
    case 6:
        connections_turned(&sim->connections);
        break;
    case 7:
        if (!sim->is_quiet && random_one_in(&sim->random, 4)) {
            break_connection(client);
        }
        break;
    case 8:
        if (!sim->is_quiet && number % 2 == 0) {
            send_garbage(client);
        }
        break;
    default:
        if (client->id != 0) {
            move_bytes(client);
        }
        break;
    }
}

/* -- Beginning and end --------------------------------------------------- */

static void begin(struct sim *sim, uint64_t seed)
{
    sim->seed = seed;
    sim->now = 1;
    random_init(&sim->random, seed);
    sim->authenticator.is_insecure = true;
    atomic_store(&sim->current, &sim->authenticator);
    const struct connections_options io = {
        .limits = server_limits_default(),
        .audience = "sim",
        .workers = SHARDS,
        .post = io_post,
        .send = io_send,
        .now = io_now,
        .ctx = sim,
    };
    connections_init(&sim->connections, &io);
    for (unsigned i = 0; i < SHARDS; i++) {
        const struct shard_options options = {
            .idle_ms = MONO_NEVER / 2, /* in memory, they are not closed */
            .limits = server_limits_default(),
            .number = i,
            .authenticator = &sim->current,
            .metrics = &sim->metrics,
            .open_spaces = &sim->open_spaces,
            .is_draining = &sim->is_draining,
            .random = shard_random,
            .wall_ms = shard_wall,
            .send = shard_send,
            .resume = shard_resume,
            .ctx = sim,
        };
        shard_init(&sim->shards[i], &options, sim->now);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        struct sim_client *client = &sim->clients[i];
        client->sim = sim;
        (void)snprintf(client->user, sizeof client->user, "u%zu", i / 2);
    }
}

static bool is_settled(const struct sim *sim)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        const struct sim_client *client = &sim->clients[i];
        for (size_t j = 0; j < SPACES; j++) {
            if (client->sessions[j].landed < client->sessions[j].issued) {
                return false;
            }
        }
        if (client->in.count + client->out.count > 0) {
            return false;
        }
    }
    return true;
}

static struct shard_space *find_space(struct sim *sim, const char *name)
{
    for (size_t i = 0; i < SHARDS; i++) {
        MAP_FOREACH (&sim->shards[i].spaces, slot) {
            struct shard_space *space = slot->item;
            if (value_is_text(space->name, name)) {
                return space;
            }
        }
    }
    return NULL;
}

/* The counter of a space, from its engine. */
static uint64_t stored(struct sim *sim, size_t number)
{
    char name[16];
    (void)snprintf(name, sizeof name, "space%zu", number);
    struct shard_space *space = find_space(sim, name);
    if (space == NULL) {
        return 0;
    }
    const struct engine_address address = {
        .branch = value_text_new(""),
        .scope_key = value_text_new("space"),
        .id = value_text_new("of:n"),
    };
    struct value document = VALUE_NONE;
    CHECK(engine_read(&space->engine, &address, ENGINE_HEAD, &document, NULL) ==
          ERR_OK);
    const uint64_t value = object_number(document, "value");
    value_unref(document);
    return value;
}

static void compare(struct sim *sim)
{
    for (size_t space = 0; space < SPACES; space++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < CLIENTS; i++) {
            sum += sim->clients[i].sessions[space].landed;
        }
        if (stored(sim, space) != sum) {
            fail(sim, "an increment is missing, or landed twice");
        }
    }
}

static void end(struct sim *sim)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        break_connection(&sim->clients[i]);
        vec_release(&sim->clients[i].in);
        vec_release(&sim->clients[i].out);
    }
    for (size_t i = 0; i < SHARDS; i++) {
        turn(sim, i);
        shard_release(&sim->shards[i]);
    }
    connections_release(&sim->connections);
}

bool server_sim_run(uint64_t seed, struct server_sim_counts *counts)
{
    struct sim *sim = mem_alloc_zero(sizeof *sim);
    sim->counts = counts;
    begin(sim, seed);
    for (unsigned i = 0; i < STEPS * CLIENTS && !sim->has_failed; i++) {
        step(sim);
    }
    sim->is_quiet = true;
    unsigned quiet = 0;
    while (!sim->has_failed && !is_settled(sim) && quiet++ < QUIET_STEPS) {
        step(sim);
    }
    if (!is_settled(sim)) {
        fail(sim, "not settled");
    }
    if (!sim->has_failed) {
        compare(sim);
    }
    counts->runs++;
    end(sim);
    const bool held = !sim->has_failed;
    mem_free(sim, sizeof *sim);
    return held;
}
