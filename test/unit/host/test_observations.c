/* Observations on their way: from a transaction to the rows of the store, and
 * to the others who listen. Two replicas and a store, over links that answer at
 * once or wait for the test. */

#include <stdio.h>
#include <string.h>

#include "host/hub_link.h"
#include "lib/observe_kit.h"
#include "lib/test.h"
#include "lib/values.h"
#include "replica/observe.h"
#include "replica/replica.h"
#include "replica/session.h"

enum {
    ACTORS = 2
};

struct actor {
    struct replica replica;
    struct hub_link link;
    struct space *space;
    struct buf heard; /* "a1@3 ": what others saw */
    struct buf lost;  /* "a1=stale " */
};

struct world {
    struct store_kit kit;
    struct hub hub;
    bool apart;
    struct store_kit other_kit; /* of the second actor, if so */
    struct hub other_hub;
    struct actor actors[ACTORS];
};

static void note(struct buf *to,
                 const struct observation *observation,
                 const char *rest)
{
    for (int i = 0; i < 10; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "a%d", i);
        const struct digest digest = observe_name(name);
        if (digest_equal(&digest, &observation->action)) {
            buf_printf(to, "%s%s ", name, rest);
        }
    }
}

static void on_told(void *ctx,
                    struct space *space,
                    uint64_t seq,
                    struct observation *observation)
{
    struct actor *actor = ctx;
    char rest[32];
    (void)snprintf(rest, sizeof rest, "@%llu", (unsigned long long)seq);
    EXPECT(space->seq >= seq); /* what it rests on has been told of */
    note(&actor->heard, observation, rest);
}

static void on_dropped(void *ctx,
                       const struct space *space,
                       const struct observation *observation,
                       enum observation_outcome fate)
{
    struct actor *actor = ctx;
    char rest[32];
    (void)snprintf(rest, sizeof rest, "=%s", observation_outcome_name(fate));
    EXPECT(space == actor->space);
    note(&actor->lost, observation, rest);
}

static void actor_begin(struct actor *actor,
                        const char *session,
                        struct hub *hub,
                        enum hub_link_mode mode,
                        bool listens)
{
    *actor = (struct actor){0};
    replica_init(&actor->replica, NULL);
    hub_link_init(&actor->link, hub, mode, VALUE_NONE);
    const struct space_options space = {
        .id = value_text_new("space"),
        .transport = &actor->link.transport,
        .session = value_text_new(session),
        .observer =
            {
                .told = listens ? on_told : NULL,
                .dropped = on_dropped,
                .ctx = actor,
            },
    };
    EXPECT_INT(space_open(&actor->replica, &space, &actor->space, NULL),
               ERR_OK);
    value_unref(space.id);
    value_unref(space.session);
}

static void world_begin(struct world *world,
                        enum hub_link_mode mode,
                        bool immediate,
                        bool second_listens)
{
    world->apart = false;
    kit_open_memory(&world->kit, NULL);
    const struct hub_options options = {.immediate = immediate, .seed = 1};
    hub_init(&world->hub, &world->kit.engine, &options, 0);
    actor_begin(&world->actors[0], "s1", &world->hub, mode, true);
    actor_begin(&world->actors[1], "s2", &world->hub, mode, second_listens);
}

/* Each behind a hub of its own, on one file; both listen. */
static void world_begin_apart(struct world *world, bool immediate)
{
    world->apart = true;
    kit_open_file(&world->kit, NULL);
    kit_open_beside(&world->other_kit, &world->kit);
    const struct hub_options options = {.immediate = immediate, .seed = 1};
    hub_init(&world->hub, &world->kit.engine, &options, 0);
    hub_init(&world->other_hub, &world->other_kit.engine, &options, 0);
    actor_begin(&world->actors[0], "s1", &world->hub, HUB_LINK_DIRECT, true);
    actor_begin(&world->actors[1],
                "s2",
                &world->other_hub,
                HUB_LINK_DIRECT,
                true);
}

static void world_end(struct world *world)
{
    for (int i = 0; i < ACTORS; i++) {
        struct actor *actor = &world->actors[i];
        replica_release(&actor->replica);
        hub_link_release(&actor->link);
        buf_release(&actor->heard);
        buf_release(&actor->lost);
    }
    if (world->apart) {
        hub_release(&world->other_hub);
        kit_close(&world->other_kit);
    }
    hub_release(&world->hub);
    kit_close(&world->kit);
}

static struct place *payload(struct actor *actor, const char *id)
{
    struct entity *entity = NULL;
    struct value name = value_text_new(id);
    EXPECT_INT(entity_of(actor->space, SCOPE_SPACE, name, &entity, NULL),
               ERR_OK);
    value_unref(name);
    return place_payload(entity);
}

static void read_in(struct transaction *transaction,
                    struct actor *actor,
                    const char *id,
                    unsigned flags)
{
    struct place *place = payload(actor, id);
    struct value seen = VALUE_NONE;
    (void)transaction_read(transaction, place, READ_DEEP, flags, &seen);
    value_unref(seen);
    place_unref(place);
}

/* Reads one document, writes a number to another, and says what it saw. */
static void run(struct actor *actor,
                const char *read,
                unsigned flags,
                const char *write,
                int64_t number,
                const char *observation)
{
    struct transaction *transaction = transaction_begin(&actor->replica, NULL);
    if (read != NULL) {
        read_in(transaction, actor, read, flags);
    }
    if (write != NULL) {
        struct place *place = payload(actor, write);
        EXPECT_INT(
            transaction_put_adopt(transaction, place, value_int(number), NULL),
            ERR_OK);
        place_unref(place);
    }
    if (observation != NULL) {
        transaction_observe(transaction,
                            actor->space,
                            observe_new(&actor->replica.paths, observation));
    }
    const enum err err = transaction_commit(transaction, NULL);
    EXPECT_INT(err, ERR_OK);
    struct observation *left = transaction_take_observation(transaction);
    if (left != NULL) {
        space_observe(actor->space, transaction, left);
    }
    transaction_release(transaction);
    space_flush(actor->space);
}

static const char *heard(struct buf *text)
{
    static char copy[200];
    (void)snprintf(copy, sizeof copy, "%s", buf_text(text));
    buf_clear(text);
    return copy;
}

TEST(an_observation_goes_with_its_commit)
{
    struct world world;
    world_begin(&world, HUB_LINK_DIRECT, true, true);
    struct actor *one = &world.actors[0];
    run(one, NULL, 0, "A", 1, NULL);
    run(one, "A", READ_FOR_BOTH, "B", 2, "p/a1 deep A out B");
    EXPECT_TEXT(observe_show(&world.kit, "p", "a1"),
                "computation clean @2 deep A/value out B/value");
    EXPECT_EQ(space_outstanding(one->space), 0);
    world_end(&world);
}

TEST(a_run_that_changes_nothing_is_sent_in_a_batch)
{
    struct world world;
    world_begin(&world, HUB_LINK_DIRECT, true, true);
    struct actor *one = &world.actors[0];
    run(one, NULL, 0, "A", 1, NULL);
    run(one, "A", READ_FOR_BOTH, "A", 1, "p/a1 deep A out A");
    EXPECT_TEXT(observe_resume(&world.kit, "p"), "a1=clean");
    EXPECT_EQ(world.kit.engine.seq, 1);
    EXPECT_EQ(space_outstanding(one->space), 0);
    /* And a commit behind it has the next seq, as if it had not been. */
    run(one, NULL, 0, "A", 2, NULL);
    EXPECT_EQ(world.kit.engine.seq, 2);
    EXPECT_TEXT(observe_resume(&world.kit, "p"), "a1=dirty");
    world_end(&world);
}

TEST(h6_others_who_listen_are_told_with_the_sync_that_covers_it)
{
    struct world world;
    world_begin(&world, HUB_LINK_DIRECT, true, true);
    struct actor *one = &world.actors[0];
    struct actor *two = &world.actors[1];
    run(two, "B", READ_FOR_BOTH, NULL, 0, NULL); /* watches it */
    run(one, NULL, 0, "A", 1, NULL);
    run(one, "A", READ_FOR_BOTH, "B", 2, "p/a1 deep A out B");
    EXPECT_TEXT(heard(&two->heard), "a1@2 ");
    EXPECT_TEXT(heard(&one->heard), "");
    run(one, "A", READ_FOR_BOTH, NULL, 0, "p/a2 deep A");
    EXPECT_TEXT(heard(&two->heard), "a2@2 ");
    EXPECT_EQ(world.hub.counters.observations, 2);
    world_end(&world);
}

/* R22: an observation that nothing landed with takes no seq. It is sent with
 * the head that it was proved at, which is one for all branches, at once and
 * once. */
TEST(r22_a_run_without_effect_is_told_with_the_head_of_all_branches)
{
    struct world world;
    world_begin(&world, HUB_LINK_DIRECT, true, true);
    struct actor *one = &world.actors[0];
    struct actor *two = &world.actors[1];
    run(two, "B", READ_FOR_BOTH, NULL, 0, NULL); /* watches it */
    run(one, NULL, 0, "A", 1, NULL);
    EXPECT_INT(kit_fork(&world.kit, "b", "", 1), ERR_OK);
    EXPECT_LANDED(&world.kit, 2, "x 1 | branch b | set A 7");
    EXPECT_LANDED(&world.kit, 3, "x 2 | branch b | set A 8");
    hub_poll(&world.hub);
    (void)heard(&two->heard);
    run(one, "A", READ_FOR_BOTH, NULL, 0, "p/a1 deep A");
    EXPECT_TEXT(heard(&two->heard), "a1@3 ");
    EXPECT_EQ(world.kit.engine.seq, 3);
    EXPECT_TEXT(observe_show(&world.kit, "p", "a1"),
                "computation clean @3 deep A/value");

    /* The same again has the same row, and is told once more. */
    static const char slot[] = "SELECT action FROM run";
    char first[16];
    (void)snprintf(first, sizeof first, "%s", kit_sql(&world.kit, slot));
    run(one, "A", READ_FOR_BOTH, NULL, 0, "p/a1 deep A");
    EXPECT_TEXT(heard(&two->heard), "a1@3 ");
    EXPECT_TEXT(kit_sql(&world.kit, slot), first);

    /* A commit moves it on; what nothing lands with does, too. */
    run(one, "A", READ_FOR_BOTH, "B", 2, "p/a1 deep A out B");
    EXPECT_TEXT(heard(&two->heard), "a1@4 ");
    EXPECT_LANDED(&world.kit, 5, "x 3 | branch b | set A 9");
    hub_poll(&world.hub);
    run(one, "A", READ_FOR_BOTH, NULL, 0, "p/a1 deep A out B");
    EXPECT_TEXT(heard(&two->heard), "a1@5 ");
    EXPECT_TEXT(kit_sql(&world.kit, slot), first);
    EXPECT_TEXT(observe_show(&world.kit, "p", "a1"),
                "computation clean @5 deep A/value out B/value");
    world_end(&world);
}

/* What the commit does not prove is told with the seq that is proved. */
TEST(h6_a_read_that_is_not_for_the_commit_is_told_as_old_as_it_is)
{
    struct world world;
    world_begin(&world, HUB_LINK_HELD, true, true);
    struct actor *one = &world.actors[0];
    struct actor *two = &world.actors[1];
    run(one, "A", READ_FOR_BOTH, NULL, 0, NULL); /* watches it */
    run(two, "A", READ_FOR_BOTH, NULL, 0, NULL);
    run(one, NULL, 0, "A", 1, NULL);
    hub_link_pump(&one->link);
    hub_link_pump(&two->link);
    run(two, NULL, 0, "A", 2, NULL);
    hub_link_pump_to_hub(&two->link); /* one does not know of it yet */
    run(one, "A", READ_NOT_FOR_COMMIT, "B", 2, "p/a1 deep A out B");
    hub_link_pump_to_hub(&one->link);
    hub_link_pump(&two->link);
    EXPECT_TEXT(heard(&two->heard), "a1@1 "); /* which is not adopted */
    EXPECT_TEXT(observe_resume(&world.kit, "p"), "a1=dirty");
    world_end(&world);
}

/* -- Between processes --------------------------------------------------- */

static void tell_all(struct world *world)
{
    hub_poll(&world->hub);
    hub_flush(&world->hub);
    hub_poll(&world->other_hub);
    hub_flush(&world->other_hub);
}

TEST(h6_who_listens_behind_another_hub_is_told_at_its_next_poll)
{
    struct world world;
    world_begin_apart(&world, true);
    struct actor *one = &world.actors[0];
    struct actor *two = &world.actors[1];
    run(one, "B", READ_FOR_BOTH, NULL, 0, NULL);
    run(two, "B", READ_FOR_BOTH, NULL, 0, NULL);
    EXPECT(!one->space->others);
    EXPECT(two->space->others); /* one was there first */
    run(one, NULL, 0, "A", 1, NULL);
    run(one, "A", READ_FOR_BOTH, "B", 2, "p/a1 deep A out B");
    EXPECT_TEXT(heard(&two->heard), "");
    tell_all(&world);
    EXPECT_TEXT(heard(&two->heard), "a1@2 ");
    EXPECT_TEXT(heard(&one->heard), "");
    run(one, "A", READ_FOR_BOTH, NULL, 0, "p/a2 deep A"); /* no commit */
    tell_all(&world);
    EXPECT_TEXT(heard(&two->heard), "a2@2 ");
    EXPECT_TEXT(heard(&one->heard), "");
    tell_all(&world);
    EXPECT_TEXT(heard(&two->heard), "");
    world_end(&world);
}

/* Its own batch brings the engine up to date, and leaves nothing to poll
 * for. */
TEST(h6_who_writes_before_it_polls_is_told_all_the_same)
{
    struct world world;
    world_begin_apart(&world, false);
    struct actor *one = &world.actors[0];
    struct actor *two = &world.actors[1];
    run(two, "A", READ_FOR_BOTH, NULL, 0, NULL);
    run(one, NULL, 0, "A", 1, NULL);
    tell_all(&world);
    run(one, "A", READ_FOR_BOTH, NULL, 0, "p/a1 deep A");
    run(two, "A", READ_FOR_BOTH, NULL, 0, "p/a2 deep A");
    hub_flush(&world.other_hub);
    EXPECT_TEXT(heard(&two->heard), "a1@1 ");
    tell_all(&world);
    EXPECT_TEXT(heard(&one->heard), "a2@1 ");
    EXPECT_TEXT(heard(&two->heard), "");
    world_end(&world);
}

TEST(h6_a_poll_finds_word_of_runs_although_the_counter_is_as_it_was)
{
    struct world world;
    world_begin_apart(&world, false);
    struct actor *one = &world.actors[0];
    struct actor *two = &world.actors[1];
    run(two, "A", READ_FOR_BOTH, NULL, 0, NULL);
    run(one, NULL, 0, "A", 1, NULL);
    tell_all(&world);
    run(one, "A", READ_FOR_BOTH, NULL, 0, "p/a1 deep A");
    run(two, "A", READ_FOR_BOTH, NULL, 0, "p/a2 deep A");
    hub_poll(&world.other_hub); /* the last to write was its own engine */
    EXPECT_EQ(world.other_hub.counters.observations, 1);
    hub_flush(&world.other_hub);
    EXPECT_TEXT(heard(&two->heard), "a1@1 ");
    world_end(&world);
}

TEST(who_ends_is_company_no_more)
{
    struct world world;
    world_begin_apart(&world, true);
    struct actor *one = &world.actors[0];
    run(&world.actors[1], "A", READ_FOR_BOTH, NULL, 0, NULL);
    EXPECT(engine_has_peers(&world.kit.engine));
    hub_link_break(&world.actors[1].link);
    EXPECT(!engine_has_peers(&world.kit.engine));
    run(one, NULL, 0, "A", 1, "p/a1 out A");
    EXPECT(!engine_runs_are_waiting(&world.other_kit.engine));
    world_end(&world);
}

TEST(who_does_not_listen_is_not_told)
{
    struct world world;
    world_begin(&world, HUB_LINK_DIRECT, true, false);
    struct actor *one = &world.actors[0];
    struct actor *two = &world.actors[1];
    run(two, "B", READ_FOR_BOTH, NULL, 0, NULL);
    run(one, NULL, 0, "B", 2, "p/a1 out B");
    EXPECT_TEXT(heard(&two->heard), "");
    EXPECT_EQ(world.hub.counters.observations, 0);
    world_end(&world);
}

TEST(what_was_dropped_is_told_to_its_author_and_to_nobody_else)
{
    struct world world;
    world_begin(&world, HUB_LINK_DIRECT, true, true);
    struct actor *one = &world.actors[0];
    struct actor *two = &world.actors[1];
    run(two, "B", READ_FOR_BOTH, NULL, 0, NULL);
    run(one, NULL, 0, "B", 1, "p/a1 same deep A out B");
    EXPECT_TEXT(heard(&one->lost), "a1=set-unknown ");
    run(one, NULL, 0, NULL, 0, "p/a2 same deep A");
    EXPECT_TEXT(heard(&one->lost), "a2=set-unknown ");
    EXPECT_TEXT(heard(&two->heard), "");
    world_end(&world);
}

TEST(a_batch_names_the_layers_that_were_in_view)
{
    struct world world;
    world_begin(&world, HUB_LINK_HELD, true, true);
    struct actor *one = &world.actors[0];
    run(one, NULL, 0, "A", 1, NULL);
    run(one, "A", READ_FOR_BOTH, NULL, 0, "p/a1 deep A");
    run(one, "A", READ_FOR_BOTH, NULL, 0, "p/a2 deep A");
    hub_link_pump(&one->link);
    EXPECT_TEXT(observe_resume(&world.kit, "p"), "a1=clean a2=clean");
    EXPECT_EQ(space_outstanding(one->space), 0);
    world_end(&world);
}

TEST(a_batch_on_top_of_what_did_not_land_is_dropped)
{
    struct world world;
    world_begin(&world, HUB_LINK_HELD, true, true);
    struct actor *one = &world.actors[0];
    struct actor *two = &world.actors[1];
    run(one, "A", READ_FOR_BOTH, NULL, 0, NULL);
    hub_link_pump(&one->link);
    run(two, NULL, 0, "A", 5, NULL);
    hub_link_pump(&two->link);
    /* Another has written what this one read: its commit will be refused. */
    run(one, "A", READ_FOR_BOTH, "B", 1, NULL);
    run(one, "B", READ_FOR_BOTH, NULL, 0, "p/a1 deep B");
    hub_link_pump_to_hub(&one->link);
    hub_link_pump(&one->link);
    EXPECT_TEXT(heard(&one->lost), "a1=layer-missing ");
    EXPECT_TEXT(observe_resume(&world.kit, "p"), "");
    EXPECT_EQ(space_outstanding(one->space), 0);
    world_end(&world);
}

/* What it would have written is there, because of a commit that does not
 * land: the output is not what it says. */
TEST(a_run_whose_work_was_done_by_what_did_not_land_is_dropped)
{
    struct world world;
    world_begin(&world, HUB_LINK_HELD, true, true);
    struct actor *one = &world.actors[0];
    struct actor *two = &world.actors[1];
    run(one, "A", READ_FOR_BOTH, NULL, 0, NULL);
    hub_link_pump(&one->link);
    run(two, NULL, 0, "A", 5, NULL);
    hub_link_pump(&two->link);
    run(one, "A", READ_FOR_BOTH, "B", 1, NULL); /* will be refused */
    run(one, "C", READ_FOR_BOTH, "B", 1, "p/a1 deep C out B");
    hub_link_pump_to_hub(&one->link);
    hub_link_pump(&one->link);
    EXPECT_TEXT(heard(&one->lost), "a1=layer-missing ");
    EXPECT_TEXT(observe_resume(&world.kit, "p"), "");
    world_end(&world);
}

TEST(a_batch_whose_answer_was_lost_is_sent_again)
{
    struct world world;
    world_begin(&world, HUB_LINK_HELD, true, true);
    struct actor *one = &world.actors[0];
    run(one, NULL, 0, "A", 1, NULL);
    hub_link_pump(&one->link);
    run(one, "A", READ_FOR_BOTH, NULL, 0, "p/a1 deep A");
    hub_link_pump_to_hub(&one->link);
    EXPECT_TEXT(observe_resume(&world.kit, "p"), "a1=clean");
    hub_link_break(&one->link);
    EXPECT_EQ(space_outstanding(one->space), 1);
    for (mono_ms now = 0; now < 2000; now += 100) {
        replica_step(&one->replica, now);
        hub_link_pump(&one->link);
    }
    EXPECT_EQ(space_outstanding(one->space), 0);
    EXPECT_TEXT(observe_resume(&world.kit, "p"), "a1=clean");
    EXPECT_TEXT(observe_check(&world.kit), "");
    world_end(&world);
}

TEST(reads_that_the_store_is_not_told_of_are_as_old_as_the_replica)
{
    struct world world;
    world_begin(&world, HUB_LINK_DIRECT, true, true);
    struct actor *one = &world.actors[0];
    run(one, NULL, 0, "A", 1, NULL);
    run(one, "A", READ_NOT_FOR_COMMIT, "B", 1, "p/a1 deep A out B");
    EXPECT_TEXT(observe_show(&world.kit, "p", "a1"),
                "computation clean @1 deep A/value out B/value");
    world_end(&world);
}

TEST(a_space_without_a_store_forgets_what_was_seen)
{
    struct replica replica;
    struct space *space = NULL;
    replica_init(&replica, NULL);
    const struct space_options options = {.id = value_text_new("space")};
    EXPECT_INT(space_open(&replica, &options, &space, NULL), ERR_OK);
    struct transaction *transaction = transaction_begin(&replica, NULL);
    transaction_observe(transaction,
                        space,
                        observe_new(&replica.paths, "p/a1 deep A"));
    transaction_abort(transaction);
    struct observation *left = transaction_take_observation(transaction);
    space_observe(space, transaction, left);
    transaction_release(transaction);
    transaction = transaction_begin(&replica, NULL);
    transaction_observe(transaction,
                        space,
                        observe_new(&replica.paths, "p/a1 deep A"));
    transaction_release(transaction); /* nobody took it back */
    replica_release(&replica);
}
