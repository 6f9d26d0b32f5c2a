/* I10: what an attempt has launched survives only if its commit lands. Trees of
 * events, sent from handlers to both spaces; commits that are refused because
 * somebody else was faster, handlers that fail, attempts that are made again
 * and launch afresh (lib/events_sim.h has all that is checked). */

#include "lib/events_sim.h"
#include "lib/test.h"

enum {
    SCHEDULES = 25, /* a round: they share two engines */
};

static const struct events_profile growing = {
    .runtimes = 3,
    .steps = 40,
    .depth = 3,
};

PROPERTY(i10_what_an_attempt_launched_lives_and_dies_with_its_commit, 80)
{
    struct events_stores *stores = events_stores_new();
    struct events_counts counts = {0};
    bool held = true;
    for (unsigned i = 0; i < SCHEDULES && held; i++) {
        uint64_t digest;
        held = EXPECT(events_sim_run(stores,
                                     &growing,
                                     random_u64(random) >> 16,
                                     &counts,
                                     &digest));
    }
    EXPECT_EQ(counts.unknown, 0);
    events_stores_free(stores);
}

/* The property is worth something only if all of this happens. */
TEST(i10_there_are_orphans_retries_and_descendants_that_land)
{
    struct events_stores *stores = events_stores_new();
    struct events_counts counts = {0};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t digest;
        EXPECT(events_sim_run(stores, &growing, seed, &counts, &digest));
    }
    EXPECT(counts.orphans > 100);
    EXPECT(counts.descendants > 300);
    EXPECT(counts.retries > 20);
    EXPECT(counts.failed > 20);
    events_stores_free(stores);
}
