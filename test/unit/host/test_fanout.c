/* Fan-out against naive replicas: sessions on two hubs that share a file
 * commit, watch, lose their connections with all that was under way, and come
 * back. A naive replica keeps confirmed documents, and its own commits until
 * the marker; it applies what was not sent back by itself. After every sync
 * each document that it watches is the store's at the seq that the sync has
 * come to: nothing that was left out was missing. Some are only followed, from
 * a seq on of which the replica knows what was there: while it is told nothing
 * of them they are that, and what it is told first says what they were. */

#include <stdio.h>

#include "host/hub.h"
#include "lib/store_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"

enum {
    HUBS = 2,
    SESSIONS = 4,
    DOCUMENTS = 4,
    STEPS = 120,
};

struct outstanding {
    struct commit *commit;
    bool landed; /* has its verdict, and waits for the marker */
    uint64_t seq;
};

struct naive_document {
    bool watched;
    bool known; /* told of on this or an earlier connection */
    uint64_t seq;
    struct value value;

    /* Followed, and not told of: from where on, what it was then, and whether
     * the store has got that. */
    uint64_t since;
    struct value past;
    bool answered;
};

struct naive {
    struct world *world;
    struct hub *hub;
    struct store_kit *kit;
    char id[8];
    struct hub_peer *peer; /* NULL: no connection */
    bool deltas;           /* asked for with each connection, or not */
    uint64_t connection;
    uint64_t number;
    struct message_order order;
    uint64_t local_seq;
    uint64_t seen;
    VEC(struct outstanding) outstanding;
    VEC(struct message) inbox;
    struct naive_document documents[DOCUMENTS];
    uint64_t watches;          /* sent on this connection, */
    uint64_t pulls;            /* and answered; */
    uint64_t asked[DOCUMENTS]; /* which of them followed each */
};

struct world {
    struct random *random;
    struct path_table paths;
    struct store_kit kits[HUBS];
    struct hub hubs[HUBS];
    struct naive sessions[SESSIONS];
    mono_ms now;
    bool broken; /* by the hub: must not happen here */
    uint64_t resumed;
    uint64_t followed;
    uint64_t unwatched;
    uint64_t deferred;
};

static uint64_t deltas_taken; /* in all rounds */

static const char *const names[DOCUMENTS] = {"A", "B", "C", "D"};

static size_t document_of(struct value id)
{
    size_t at = 0;
    while (!value_is_text(id, names[at])) {
        at++;
        CHECK(at < DOCUMENTS);
    }
    return at;
}

/* -- What the replica does ----------------------------------------------- */

static void document_set(struct naive_document *document,
                         struct value value,
                         uint64_t seq)
{
    value_unref(document->value);
    document->value = value;
    document->seq = seq;
}

static void apply_own(struct naive *naive, const struct outstanding *one)
{
    uint64_t before[DOCUMENTS];
    for (size_t i = 0; i < DOCUMENTS; i++) {
        before[i] = naive->documents[i].seq;
    }
    for (size_t i = 0; i < one->commit->ops.count; i++) {
        const struct commit_op *op = &one->commit->ops.at[i];
        const size_t at = document_of(op->target.id);
        struct naive_document *document = &naive->documents[at];
        if (before[at] >= one->seq) {
            continue; /* it is in there */
        }
        struct value value = value_ref(op->document);
        if (op->kind == COMMIT_PATCH && patch_apply(&op->patch,
                                                    document->value,
                                                    PATCH_ROOT_DOCUMENT,
                                                    &value,
                                                    NULL,
                                                    NULL) != ERR_OK) {
            /* Not watched, so the base is not known. */
            EXPECT(!document->known);
            value = VALUE_NONE;
        }
        document_set(document, value, one->seq);
    }
}

static void forget(struct outstanding *one)
{
    commit_release(one->commit);
    mem_free(one->commit, sizeof *one->commit);
}

/* Settles what has its verdict, up to a local seq. */
static void settle(struct naive *naive, uint64_t marker)
{
    size_t kept = 0;
    for (size_t i = 0; i < naive->outstanding.count; i++) {
        struct outstanding one = naive->outstanding.at[i];
        if (one.landed && one.commit->local_seq <= marker) {
            apply_own(naive, &one);
            forget(&one);
        } else {
            naive->outstanding.at[kept++] = one;
        }
    }
    naive->outstanding.count = kept;
}

static void take_verdict(struct naive *naive, const struct message_verdict *one)
{
    for (size_t i = 0; i < naive->outstanding.count; i++) {
        struct outstanding *mine = &naive->outstanding.at[i];
        if (mine->commit->local_seq != one->local_seq) {
            continue;
        }
        mine->landed = true;
        mine->seq = one->verdict.seq;
        if (one->verdict.err != ERR_OK) {
            forget(mine);
            for (size_t j = i + 1; j < naive->outstanding.count; j++) {
                naive->outstanding.at[j - 1] = naive->outstanding.at[j];
            }
            naive->outstanding.count--;
        }
        return;
    }
}

/* What the store had at `seq`, new. */
static struct value stored(const struct naive *naive, size_t at, uint64_t seq)
{
    struct value branch = value_text_new("");
    struct value scope = value_text_new("space");
    struct value id = value_text_new(names[at]);
    const struct engine_address address = {branch, scope, id};
    struct value found = VALUE_NONE;
    EXPECT_INT(engine_read(&naive->kit->engine, &address, seq, &found, NULL),
               ERR_OK);
    return found;
}

/* It is what it was known to be, as far as anybody has said. */
static void check_followed(const struct naive *naive, size_t at, uint64_t seq)
{
    const struct naive_document *document = &naive->documents[at];
    if (document->answered && seq >= document->since) {
        const struct value want = stored(naive, at, seq);
        EXPECT_VALUE(document->past, want);
        value_unref(want);
    }
}

static void end_following(struct naive_document *document)
{
    value_unref(document->past);
    document->past = VALUE_NONE;
    document->since = 0;
}

/* The first that is told of a document that is followed. */
static void check_before(struct naive_document *document,
                         const struct upsert *upsert)
{
    if (document->since > 0) {
        EXPECT(upsert->has_before == (upsert->seq > document->since));
        if (upsert->has_before) {
            EXPECT_VALUE(upsert->before, document->past);
        }
        end_following(document);
    }
}

/* Everything that is watched is what the store had at `seq`, or later where it
 * was told of something later. */
static void check_documents(struct naive *naive, uint64_t seq)
{
    for (size_t i = 0; i < DOCUMENTS; i++) {
        const struct naive_document *document = &naive->documents[i];
        if (document->since > 0) {
            check_followed(naive, i, seq);
            continue;
        }
        if (!document->watched || !document->known) {
            continue;
        }
        const struct value want =
            stored(naive, i, document->seq > seq ? document->seq : seq);
        if (!EXPECT_VALUE(document->value, want)) {
            (void)test_fail(__FILE__,
                            __LINE__,
                            "%s: %s@%llu, told up to %llu",
                            naive->id,
                            names[i],
                            (unsigned long long)document->seq,
                            (unsigned long long)seq);
        }
        value_unref(want);
    }
}

/* It is for exactly what is held. */
static void take_delta(struct naive *naive,
                       struct naive_document *document,
                       const struct upsert *upsert)
{
    struct patch patch;
    struct value value = VALUE_NONE;
    EXPECT(naive->deltas && document->known);
    EXPECT_EQ(upsert->from, document->seq);
    EXPECT_INT(patch_read(upsert->patch, &naive->world->paths, &patch, NULL),
               ERR_OK);
    EXPECT_INT(patch_apply(&patch,
                           document->value,
                           PATCH_ROOT_DOCUMENT,
                           &value,
                           NULL,
                           NULL),
               ERR_OK);
    document_set(document, value, upsert->seq);
    patch_release(&patch);
    deltas_taken++;
}

static void take_sync(struct naive *naive, const struct message *message)
{
    EXPECT_EQ(message->from_seq, naive->seen);
    EXPECT(message->to_seq >= message->from_seq);
    for (size_t i = 0; i < message->upserts.count; i++) {
        const struct upsert *upsert = &message->upserts.at[i];
        struct naive_document *document =
            &naive->documents[document_of(upsert->target.id)];
        check_before(document, upsert);
        if (upsert->from > 0) {
            take_delta(naive, document, upsert);
        } else if (upsert->seq >= document->seq) {
            document_set(document, value_ref(upsert->document), upsert->seq);
        }
        document->known = true;
    }
    if (message->pull) {
        for (size_t i = 0; i < DOCUMENTS; i++) {
            naive->documents[i].answered |= naive->pulls == naive->asked[i];
        }
        naive->pulls++;
    }
    settle(naive, message->caught_up);
    naive->seen = message->to_seq;
    check_documents(naive, message->to_seq);
}

static void send(struct naive *naive, struct message *message)
{
    message->connection = naive->connection;
    message->number = ++naive->number;
    hub_receive(naive->peer, message);
    message_release(message);
}

/* The same message as it comes from a network: it owns its commits, so that a
 * group can keep it. */
static void send_owned(struct naive *naive, struct message *message)
{
    struct message owned;
    message->number = 1;
    struct value written = message_write(message);
    EXPECT_INT(message_read(written, &naive->world->paths, &owned, NULL),
               ERR_OK);
    value_unref(written);
    send(naive, &owned);
}

static void send_outstanding(struct naive *naive, size_t from)
{
    struct message message = {.kind = MESSAGE_COMMITS};
    for (size_t i = from; i < naive->outstanding.count; i++) {
        if (!naive->outstanding.at[i].landed) {
            vec_push(&message.commits, naive->outstanding.at[i].commit);
        }
    }
    if (message.commits.count > 0 &&
        (!naive->hub->grouping || random_one_in(naive->world->random, 8))) {
        send(naive, &message);
    } else if (message.commits.count > 0) {
        send_owned(naive, &message);
        naive->world->deferred++;
    }
    vec_release(&message.commits);
}

static void send_watch(struct naive *naive, size_t only)
{
    struct message message = {.kind = MESSAGE_WATCH};
    for (size_t i = 0; i < DOCUMENTS; i++) {
        if (i == only || (only == DOCUMENTS && naive->documents[i].watched)) {
            naive->documents[i].watched = true;
            const struct target target = {value_text_new(names[i]),
                                          SCOPE_SPACE};
            vec_push(&message.targets, target);
            vec_push(&message.since, naive->documents[i].since);
            naive->asked[i] = naive->watches;
            naive->documents[i].answered = false;
        }
    }
    naive->watches++;
    send(naive, &message);
}

/* Nothing that was said before is on its way: it would be taken for what comes
 * of the next watch. */
static void unwatch(struct naive *naive, size_t at)
{
    struct naive_document *document = &naive->documents[at];
    if (naive->inbox.count > 0 || naive->pulls < naive->watches ||
        !document->known || document->since > 0) {
        return;
    }
    const struct target target = {value_text_new(names[at]), SCOPE_SPACE};
    struct message message = {.kind = MESSAGE_UNWATCH};
    vec_push(&message.targets, target);
    send(naive, &message);
    document->watched = false;
    document->known = false;
    naive->world->unwatched++;
}

/* From what is there now on; or, if it is followed, all of it after all. */
static void follow(struct naive *naive, size_t at)
{
    struct naive_document *document = &naive->documents[at];
    if (document->since > 0) {
        const uint64_t since = document->since;
        const struct value past = document->past;
        document->since = 0;
        send_watch(naive, at);
        document->since = since; /* until that has come */
        document->past = past;
    } else if (!document->watched && naive->kit->engine.seq > 0) {
        document->since = naive->kit->engine.seq;
        document->past = stored(naive, at, document->since);
        send_watch(naive, at);
        naive->world->followed++;
    }
}

static void take_opened(struct naive *naive, const struct message *message)
{
    naive->world->resumed += message->resumed ? 1 : 0;
    for (size_t i = 0; i < DOCUMENTS && message->resumed; i++) {
        naive->documents[i].answered = true; /* no request is ever lost */
    }
    if (!message->resumed) {
        /* No marker will come for what has its verdict. */
        settle(naive, UINT64_MAX);
        naive->seen = 0;
        for (size_t i = 0; i < DOCUMENTS; i++) {
            naive->documents[i].known = false;
        }
        send_watch(naive, DOCUMENTS);
    }
    send_outstanding(naive, 0);
}

static void take(struct naive *naive, struct message *message)
{
    EXPECT_INT(message_take(&naive->order, message), MESSAGE_NEXT);
    if (message->kind == MESSAGE_OPENED) {
        take_opened(naive, message);
    } else if (message->kind == MESSAGE_SYNC) {
        take_sync(naive, message);
    } else if (message->kind == MESSAGE_VERDICTS) {
        for (size_t i = 0; i < message->verdicts.count; i++) {
            take_verdict(naive, &message->verdicts.at[i]);
        }
    } else {
        naive->world->broken = true;
    }
    message_release(message);
}

/* -- The way between them ------------------------------------------------ */

static void on_send(void *ctx, struct message *message)
{
    struct naive *naive = ctx;
    vec_push(&naive->inbox, *message);
    *message = (struct message){0};
}

static void on_broken(void *ctx)
{
    struct naive *naive = ctx;
    naive->world->broken = true;
}

/* At most `count` messages arrive. */
static void deliver(struct naive *naive, size_t count)
{
    while (count > 0 && naive->inbox.count > 0) {
        struct message message = naive->inbox.at[0];
        for (size_t i = 1; i < naive->inbox.count; i++) {
            naive->inbox.at[i - 1] = naive->inbox.at[i];
        }
        naive->inbox.count--;
        take(naive, &message);
        count--;
    }
}

/* What was under way is lost. */
static void lose(struct naive *naive)
{
    if (naive->peer == NULL) {
        return;
    }
    hub_detach(naive->peer);
    naive->peer = NULL;
    VEC_FOREACH (&naive->inbox, message) {
        message_release(message);
    }
    vec_clear(&naive->inbox);
}

static void connect(struct naive *naive)
{
    if (naive->peer != NULL) {
        return;
    }
    naive->peer = hub_attach(naive->hub, VALUE_NONE, on_send, on_broken, naive);
    naive->deltas = !random_one_in(naive->world->random, 4);
    naive->connection++;
    naive->number = 0;
    naive->watches = 0;
    naive->pulls = 0;
    naive->order = (struct message_order){.connection = naive->connection};
    struct message message = {
        .kind = MESSAGE_OPEN,
        .session = value_text_new(naive->id),
        .branch = value_text_new(""),
        .seen_seq = naive->seen,
        .deltas = naive->deltas,
    };
    send(naive, &message);
}

/* -- What happens -------------------------------------------------------- */

static void draw_op(struct world *world, struct buf *line)
{
    struct random *random = world->random;
    const char *name = names[random_below(random, DOCUMENTS)];
    const unsigned number = (unsigned)random_below(random, 9) + 1;
    switch (random_below(random, 6)) {
    case 0:
        buf_printf(line, " | set %s {'n':%u}", name, number);
        break;
    case 1:
        buf_printf(line, " | delete %s", name);
        break;
    case 2:
        buf_printf(line, " | append %s.l [%u]", name, number);
        break;
    default:
        buf_printf(line, " | increment %s.n %u", name, number);
        break;
    }
}

static void draw_commit(struct naive *naive)
{
    struct world *world = naive->world;
    struct buf line = {0};
    naive->local_seq++;
    buf_printf(&line, "%s %u", naive->id, (unsigned)naive->local_seq);
    if (random_one_in(world->random, 3)) {
        const size_t at = (size_t)random_below(world->random, DOCUMENTS);
        buf_printf(&line,
                   " | conf %s @%u",
                   names[at],
                   (unsigned)naive->documents[at].seq);
    }
    draw_op(world, &line);
    if (random_one_in(world->random, 3)) {
        draw_op(world, &line);
    }
    struct buf json = kit_commit_json(buf_text(&line));
    struct value value = from_json(buf_text(&json));
    struct outstanding one = {.commit = mem_alloc_zero(sizeof *one.commit)};
    EXPECT_INT(commit_read(value, &world->paths, one.commit, NULL), ERR_OK);
    vec_push(&naive->outstanding, one);
    value_unref(value);
    buf_release(&json);
    buf_release(&line);
}

/* Before its `opened` a session sends nothing else. */
static bool is_open(const struct naive *naive)
{
    return naive->peer != NULL && naive->order.received > 0;
}

static void commit_some(struct naive *naive)
{
    const size_t from = naive->outstanding.count;
    for (uint64_t n = 1 + random_below(naive->world->random, 3); n > 0; n--) {
        draw_commit(naive);
    }
    if (is_open(naive)) {
        send_outstanding(naive, from);
    }
}

static void switch_group(struct hub *hub)
{
    if (hub->grouping) {
        hub_group_end(hub);
    } else {
        hub_group_begin(hub);
    }
}

static void step(struct world *world)
{
    struct random *random = world->random;
    struct naive *naive = &world->sessions[random_below(random, SESSIONS)];
    struct hub *hub = &world->hubs[random_below(random, HUBS)];
    switch (random_below(random, 15)) {
    case 0:
        lose(naive);
        break;
    case 1:
    case 2:
        connect(naive);
        break;
    case 3:
        if (is_open(naive)) {
            const size_t at = (size_t)random_below(random, DOCUMENTS);
            if (random_one_in(random, 4)) {
                unwatch(naive, at);
            } else if (random_one_in(random, 2)) {
                follow(naive, at);
            } else if (naive->documents[at].since == 0) {
                send_watch(naive, at);
            }
        }
        break;
    case 4:
    case 5:
    case 6:
        commit_some(naive);
        break;
    case 7:
        hub_poll(hub);
        break;
    case 8:
        hub_flush(hub);
        break;
    case 9:
        world->now += random_one_in(random, 5) ? HUB_KEEP_MS : 7;
        hub_step(hub, world->now);
        break;
    case 10:
    case 11:
        switch_group(hub);
        break;
    default:
        deliver(naive, (size_t)random_below(random, 4));
        break;
    }
}

/* -- From the beginning to the end --------------------------------------- */

static void world_begin(struct world *world, struct random *random)
{
    *world = (struct world){.random = random, .now = 1};
    path_table_init(&world->paths);
    kit_open_file(&world->kits[0],
                  &(struct engine_options){.durability = DURABILITY_NORMAL});
    kit_open_beside(&world->kits[1], &world->kits[0]);
    for (size_t i = 0; i < HUBS; i++) {
        const struct hub_options options = {
            .immediate = random_one_in(random, 2),
            .seed = i,
            .long_deltas = !random_one_in(random, 4),
        };
        hub_init(&world->hubs[i], &world->kits[i].engine, &options, world->now);
    }
    for (size_t i = 0; i < SESSIONS; i++) {
        struct naive *naive = &world->sessions[i];
        naive->world = world;
        naive->hub = &world->hubs[i % HUBS];
        naive->kit = &world->kits[i % HUBS];
        (void)snprintf(naive->id, sizeof naive->id, "s%zu", i);
    }
}

static void deliver_all(struct world *world)
{
    for (size_t i = 0; i < SESSIONS; i++) {
        deliver(&world->sessions[i], SIZE_MAX);
    }
}

/* Everybody is connected, and nothing is under way. */
static void settle_all(struct world *world)
{
    for (size_t i = 0; i < HUBS; i++) {
        if (world->hubs[i].grouping) {
            hub_group_end(&world->hubs[i]);
        }
    }
    for (size_t round = 0; round < 4; round++) {
        for (size_t i = 0; i < SESSIONS; i++) {
            connect(&world->sessions[i]);
        }
        deliver_all(world);
        for (size_t i = 0; i < HUBS; i++) {
            hub_poll(&world->hubs[i]);
            hub_flush(&world->hubs[i]);
        }
        deliver_all(world);
    }
}

static void world_end(struct world *world)
{
    for (size_t i = 0; i < SESSIONS; i++) {
        struct naive *naive = &world->sessions[i];
        lose(naive);
        VEC_FOREACH (&naive->outstanding, one) {
            forget(one);
        }
        for (size_t j = 0; j < DOCUMENTS; j++) {
            value_unref(naive->documents[j].value);
            value_unref(naive->documents[j].past);
        }
        vec_release(&naive->outstanding);
        vec_release(&naive->inbox);
    }
    for (size_t i = 0; i < HUBS; i++) {
        hub_release(&world->hubs[i]);
    }
    kit_close(&world->kits[1]);
    kit_close(&world->kits[0]);
    path_table_release(&world->paths);
}

PROPERTY(h3_what_is_left_out_of_syncs_is_never_missing, 60)
{
    struct world world;
    world_begin(&world, random);
    for (size_t i = 0; i < STEPS; i++) {
        step(&world);
    }
    settle_all(&world);
    EXPECT(!world.broken);
    for (size_t i = 0; i < SESSIONS; i++) {
        struct naive *naive = &world.sessions[i];
        EXPECT_EQ(naive->outstanding.count, 0);
        EXPECT_TEXT(kit_sql(naive->kit, "SELECT 1"), "1;");
        check_documents(naive, naive->kit->engine.seq);
        for (size_t j = 0; j < DOCUMENTS; j++) {
            EXPECT(!naive->documents[j].watched || naive->documents[j].known ||
                   naive->documents[j].since > 0);
        }
    }
    world_end(&world);
}

TEST(some_of_it_came_as_deltas)
{
    if (deltas_taken == 0) {
        struct random random;
        random_init(&random, 1);
        for (size_t i = 0; i < 20; i++) {
            test_h3_what_is_left_out_of_syncs_is_never_missing(&random);
        }
    }
    EXPECT(deltas_taken > 0);
}
