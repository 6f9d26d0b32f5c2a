/* Duplicates, crashes and faults of the network: a sample of what `./dev sim
 * events` does at length (test/sim/events.c). */

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
