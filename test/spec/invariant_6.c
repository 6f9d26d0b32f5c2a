/* I6, bounded non-convergence: a pass has at most so many sweeps and runs of
 * one node; what does not settle goes on behind growing gates, and holds up
 * neither the others nor, for ever, whoever waits for idle. */

#include <stdio.h>

#include "lib/sched_kit.h"
#include "lib/test.h"

enum {
    RING_MAX = 6
};

/* n0 := n1 + 1, n1 := n2 + 1, ... round and round. */
static size_t build_ring(struct random *random,
                         struct sched_kit *kit,
                         struct kit_node *ring[RING_MAX])
{
    const size_t size = 2 + random_below(random, RING_MAX - 1);
    for (size_t i = 0; i < size; i++) {
        char name[8];
        char surface[24];
        (void)snprintf(name, sizeof name, "N%u", (unsigned)i);
        (void)snprintf(surface,
                       sizeof surface,
                       "n%u -> n%u",
                       (unsigned)((i + 1) % size),
                       (unsigned)i);
        ring[i] = kit_sum(kit, name, surface, 1);
    }
    return size;
}

PROPERTY(i6_what_never_settles_is_bounded_and_holds_up_nobody, 60)
{
    struct sched_kit kit;
    struct kit_node *ring[RING_MAX];
    kit_begin(&kit);
    kit_set(&kit, "u", "0");
    const size_t size = build_ring(random, &kit, ring);
    (void)kit_see(&kit, "R", "n0");
    (void)kit_sum(&kit, "U", "u -> v", 0);
    struct kit_node *effect = kit_see(&kit, "E", "v");
    for (int64_t i = 1; i <= 20; i++) {
        uint64_t runs[RING_MAX];
        for (size_t j = 0; j < size; j++) {
            runs[j] = ring[j]->runs;
        }
        const struct sched_counters before = kit.sched->counters;
        const uint64_t seen = effect->runs;
        kit_set_number(&kit, "u", i);
        kit_tick(&kit, random_below(random, 3000));
        const struct sched_counters *after = &kit.sched->counters;
        const uint64_t passes = after->passes - before.passes;
        EXPECT(passes > 0);
        EXPECT(after->sweeps - before.sweeps <= SCHED_SWEEPS_MAX * passes);
        for (size_t j = 0; j < size; j++) {
            EXPECT(ring[j]->runs - runs[j] <= SCHED_RUNS_MAX * passes);
        }
        EXPECT_EQ(effect->runs, seen + 1); /* at once */
        EXPECT_INT(kit_get_number(&kit, "v"), i);
    }
    EXPECT(kit.sched->counters.backoffs > 0);
    EXPECT(kit.sched->counters.not_settling > 0);
    EXPECT_IDLE(&kit); /* in bounded time */
    kit_end(&kit);
}
