/* Turns of a shard whose spaces are in memory: what is sent, and when. */

#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "server/shard.h"

enum {
    SENDS_MAX = 16,
};

struct fixture {
    struct shard shard;
    struct metrics metrics;
    struct authenticator authenticator;
    const struct authenticator *_Atomic current;
    _Atomic uint32_t open_spaces;
    _Atomic bool is_draining;
    mono_ms now;
    struct port *ports[2];

    /* What was sent since the last turn began: a text per call. */
    unsigned sends;
    struct buf sent[SENDS_MAX];
};

static void on_send(void *ctx,
                    const struct net_outgoing *messages,
                    size_t count)
{
    struct fixture *fixture = ctx;
    CHECK(fixture->sends < SENDS_MAX);
    struct buf *text = &fixture->sent[fixture->sends++];
    for (size_t i = 0; i < count; i++) {
        buf_printf(text,
                   "%llu: %s\n",
                   (unsigned long long)messages[i].id,
                   net_bytes_at(messages[i].head));
        net_bytes_unref(messages[i].head);
        net_bytes_unref(messages[i].body);
    }
}

static uint64_t any_number(void *ctx)
{
    (void)ctx;
    return 4;
}

static void begin(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->now = 1;
    fixture->authenticator.is_insecure = true;
    atomic_store(&fixture->current, &fixture->authenticator);
    const struct shard_options options = {
        .idle_ms = MONO_NEVER / 2,
        .limits = server_limits_default(),
        .authenticator = &fixture->current,
        .metrics = &fixture->metrics,
        .open_spaces = &fixture->open_spaces,
        .is_draining = &fixture->is_draining,
        .random = any_number,
        .wall_ms = any_number,
        .send = on_send,
        .ctx = fixture,
    };
    shard_init(&fixture->shard, &options, fixture->now);
    fixture->ports[0] = port_new(1);
    fixture->ports[1] = port_new(2);
}

static void forget(struct fixture *fixture)
{
    for (unsigned i = 0; i < fixture->sends; i++) {
        buf_release(&fixture->sent[i]);
    }
    fixture->sends = 0;
}

static void turn(struct fixture *fixture, struct batch *batch)
{
    forget(fixture);
    shard_turn(&fixture->shard, batch->first, ++fixture->now);
    *batch = (struct batch){0};
}

static void end(struct fixture *fixture)
{
    struct batch batch = {0};
    for (unsigned i = 0; i < 2; i++) {
        batch_add(&batch, item_new(ITEM_CLOSED, fixture->ports[i], 0, NULL, 0));
    }
    turn(fixture, &batch);
    forget(fixture);
    shard_release(&fixture->shard);
    port_unref(fixture->ports[0]);
    port_unref(fixture->ports[1]);
}

static void add_lines(struct fixture *fixture,
                      struct batch *batch,
                      unsigned port,
                      const char *text)
{
    atomic_fetch_add(&fixture->ports[port]->queued, (uint32_t)strlen(text));
    batch_add(
        batch,
        item_new(ITEM_LINES, fixture->ports[port], 0, text, strlen(text)));
}

/* A session of the port on a space, by channel 1. */
static void add_open(struct fixture *fixture,
                     struct batch *batch,
                     unsigned port,
                     const char *space)
{
    char text[256];
    (void)snprintf(text,
                   sizeof text,
                   "{\"kind\":\"attach\",\"channel\":1,\"space\":\"%s\","
                   "\"session\":\"s%u\",\"user\":\"u%u\"}",
                   space,
                   port,
                   port);
    struct item *item =
        item_new(ITEM_ATTACH, fixture->ports[port], 1, text, strlen(text));
    item->attach = mem_alloc_zero(sizeof *item->attach);
    batch_add(batch, item);
    (void)snprintf(text,
                   sizeof text,
                   "1 {\"kind\":\"open\",\"connection\":1,\"number\":1,"
                   "\"session\":\"s%u\",\"seenSeq\":0}",
                   port);
    add_lines(fixture, batch, port, text);
}

static void add_commit(struct fixture *fixture,
                       struct batch *batch,
                       unsigned port)
{
    char text[512];
    (void)snprintf(text,
                   sizeof text,
                   "1 {\"kind\":\"commits\",\"connection\":1,\"number\":2,"
                   "\"commits\":[{\"session\":\"s%u\",\"localSeq\":1,"
                   "\"operations\":[{\"op\":\"set\",\"id\":\"of:a\","
                   "\"value\":{\"value\":1}}]}]}",
                   port);
    add_lines(fixture, batch, port, text);
}

static bool has(const struct buf *text, const char *part)
{
    return strstr(buf_text(text), part) != NULL;
}

/* shard-5. */
TEST(answers_of_a_space_do_not_wait_for_another)
{
    struct fixture fixture;
    struct batch batch = {0};
    begin(&fixture);
    add_open(&fixture, &batch, 0, "one");
    add_open(&fixture, &batch, 1, "two");
    turn(&fixture, &batch);
    add_commit(&fixture, &batch, 0);
    add_commit(&fixture, &batch, 1);
    turn(&fixture, &batch);
    EXPECT_INT(fixture.sends, 2);
    EXPECT(has(&fixture.sent[0], "1: 1 {\"kind\":\"verdicts\""));
    EXPECT(!has(&fixture.sent[0], "2: "));
    EXPECT(has(&fixture.sent[1], "2: 1 {\"kind\":\"verdicts\""));
    end(&fixture);
}

TEST(answers_of_one_space_leave_together_one_message_per_connection)
{
    struct fixture fixture;
    struct batch batch = {0};
    begin(&fixture);
    add_open(&fixture, &batch, 0, "one");
    add_open(&fixture, &batch, 1, "one");
    turn(&fixture, &batch);
    add_commit(&fixture, &batch, 0);
    add_commit(&fixture, &batch, 1);
    turn(&fixture, &batch);
    EXPECT_INT(fixture.sends, 1);
    EXPECT(has(&fixture.sent[0], "1: 1 {\"kind\":\"verdicts\""));
    EXPECT(has(&fixture.sent[0], "2: 1 {\"kind\":\"verdicts\""));
    end(&fixture);
}
