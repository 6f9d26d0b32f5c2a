/* Duplicates, crashes and faults of the network: a sample of what `./dev sim
 * events` does at length (test/sim/events.c). */

#include "lib/event_kit.h"
#include "lib/events_sim.h"
#include "lib/test.h"

enum {
    SCHEDULES = 50, /* a round: they share two engines */
};

/* A schedule that fails names its own seed for `./dev sim events 1 SEED`. */
PROPERTY(events_land_at_most_once_and_every_sender_is_told, 60)
{
    struct events_stores *stores = events_stores_new();
    struct events_counts counts = {0};
    bool held = true;
    for (unsigned i = 0; i < SCHEDULES && held; i++) {
        uint64_t digest;
        held = EXPECT(events_sim_run(stores,
                                     &events_everything,
                                     random_u64(random) >> 16,
                                     &counts,
                                     &digest));
    }
    events_stores_free(stores);
}

TEST(the_same_seed_is_the_same_schedule)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct events_counts counts = {0};
        uint64_t digests[2];
        for (unsigned i = 0; i < 2; i++) {
            struct events_stores *stores = events_stores_new();
            EXPECT(events_sim_run(stores,
                                  &events_everything,
                                  seed,
                                  &counts,
                                  &digests[i]));
            events_stores_free(stores);
        }
        EXPECT_EQ(digests[0], digests[1]);
    }
}

/* Two spaces have to answer, and they are closed one after the other: what the
 * handler has read is in the first, and the last answer is the second's. */
TEST(the_runtime_ends_while_an_event_waits_for_two_spaces)
{
    struct scene on;
    scene_begin(&on, AT_STORE_HELD);
    scene_open_second(&on, AT_STORE_HELD);
    kit_set_all(&on.kit, "a=1");
    kit_set_all(&on.kit, ">b=1");
    EXPECT_SETTLED(&on);
    const struct scene_handler_spec spec = {
        .stream = "s",
        .surface = "a -> r >q",
        .fn = handle_sum,
        .several_spaces = true,
    };
    scene_handle(&on, "H", &spec);
    scene_send(&on, "s", "1");
    EXPECT(kit_idle(&on.kit));
    EXPECT_EQ(on.handlers.at[0]->runs, 1);
    EXPECT_EQ(on.sent.at[0]->ended, 0);
    scene_drop(&on);
}
