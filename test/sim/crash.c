/* Losses of power by the hundred thousand: `./dev crash` runs this.
 *
 * CRASH_POINTS says how many (100000), CRASH_SEED where to begin (1). Each
 * workload has a seed of its own; a failure prints it, and CRASH_SEED with it
 * and CRASH_POINTS=1 repeats that workload. */

#include <stdio.h>
#include <stdlib.h>

#include "lib/power_loss.h"
#include "lib/test.h"

static uint64_t number_of(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : fallback;
}

static void report(uint64_t seed, const struct power_loss_counts *counts)
{
    (void)printf("# seed %" PRIu64 ": %" PRIu64 " losses of power (%" PRIu64
                 " in a second life) at %" PRIu64 " changes with %" PRIu64
                 " syncs; the step under way landed %" PRIu64
                 " times, was dropped %" PRIu64 "; at normal %" PRIu64
                 " had fewer\n",
                 seed,
                 counts->points,
                 counts->again,
                 counts->changes,
                 counts->syncs,
                 counts->landed,
                 counts->dropped,
                 counts->shortened);
    (void)fflush(stdout);
}

/* At full there are more syncs than at normal. */
static uint64_t failing_sync(uint64_t seed)
{
    if (seed % 3 == 1) {
        return 1 + seed % 50;
    }
    return seed % 6 == 0 ? 1 + seed / 6 % 17 : 0;
}

/* Every moment of every workload, with every outcome; two of three at full, and
 * half of either with a sync that fails. */
TEST(nothing_acknowledged_is_lost_and_nothing_is_damaged)
{
    const uint64_t points = number_of("CRASH_POINTS", 100000);
    uint64_t seed = number_of("CRASH_SEED", 1);
    struct power_loss_counts counts = {0};
    bool held = true;
    while (held && counts.points < points) {
        const struct power_loss_options options = {
            .seed = seed,
            .durability = seed % 3 == 0 ? DURABILITY_NORMAL : DURABILITY_FULL,
            .steps = 40,
            .failing_sync = failing_sync(seed),
            .one_sync_in = 1,
            .one_other_in = 1,
            .all_fates = true,
        };
        held = power_loss_run(&options, &counts);
        report(seed, &counts);
        seed++;
    }
    EXPECT(counts.points >= points);
    EXPECT(counts.landed > 0);
    EXPECT(counts.dropped > 0);
    EXPECT(counts.again > 0);
}
