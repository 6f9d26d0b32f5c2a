/* I11: at most one commit an event id, anywhere and ever. Callers deliver the
 * same few events again and again, to runtimes that race on the same stores,
 * crash and begin anew (lib/events_sim.h has all that is checked). */

#include "lib/events_sim.h"
#include "lib/test.h"

enum {
    SCHEDULES = 25, /* a round: they share two engines */
};

static const struct events_profile racing = {
    .runtimes = 3,
    .steps = 40,
    .callers = 2,
    .depth = 1,
    .crashes = true,
};

PROPERTY(i11_at_most_one_commit_lands_for_an_event_id, 80)
{
    struct events_stores *stores = events_stores_new();
    struct events_counts counts = {0};
    bool held = true;
    for (unsigned i = 0; i < SCHEDULES && held; i++) {
        uint64_t digest;
        held = EXPECT(events_sim_run(stores,
                                     &racing,
                                     random_u64(random) >> 16,
                                     &counts,
                                     &digest));
    }
    events_stores_free(stores);
}

/* The property is worth something only if all of this happens. */
TEST(i11_there_are_duplicates_crashes_and_events_that_land)
{
    struct events_stores *stores = events_stores_new();
    struct events_counts counts = {0};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t digest;
        EXPECT(events_sim_run(stores, &racing, seed, &counts, &digest));
    }
    EXPECT(counts.duplicates > 50);
    EXPECT(counts.crashes > 30);
    EXPECT(counts.landed > 300);
    EXPECT(counts.unknown > 20);
    events_stores_free(stores);
}
