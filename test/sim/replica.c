/* Replicas and a store under faults, by the ten thousand: `./dev sim replica`
 * runs this.
 *
 * SIM_ROUNDS says how many runs (10000), SIM_SEED which is the first (1). A
 * failure names its seed; SIM_SEED with it and SIM_ROUNDS=1 repeats that run,
 * byte for byte. */

#include <stdio.h>
#include <stdlib.h>

#include "lib/replica_sim.h"
#include "lib/test.h"

static uint64_t number_of(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : fallback;
}

static void report(uint64_t seed,
                   uint64_t digest,
                   const struct replica_sim_counts *counts)
{
    (void)printf("# up to seed %" PRIu64 " (%016" PRIx64 "): %" PRIu64
                 " commits, %" PRIu64 " landed, %" PRIu64 " refused, %" PRIu64
                 " unknown, %" PRIu64 " stale, %" PRIu64 " reverts; %" PRIu64
                 " messages, %" PRIu64 " faults, %" PRIu64
                 " connections; %" PRIu64 " restarts, %" PRIu64
                 " of the hub, %" PRIu64 " sessions revoked, %" PRIu64
                 " deltas\n",
                 seed,
                 digest,
                 counts->commits,
                 counts->landed,
                 counts->refused,
                 counts->unknown,
                 counts->stale,
                 counts->reverts,
                 counts->messages,
                 counts->faults,
                 counts->connections,
                 counts->restarts,
                 counts->hub_restarts,
                 counts->revoked,
                 counts->deltas);
    (void)fflush(stdout);
}

TEST(replicas_agree_with_the_store_whatever_happens_between_them)
{
    const uint64_t seeds = number_of("SIM_ROUNDS", 10000);
    const uint64_t first = number_of("SIM_SEED", 1);
    struct replica_sim_counts counts = {0};
    bool held = true;
    for (uint64_t i = 0; i < seeds && held; i++) {
        uint64_t digest;
        held = replica_sim_run(first + i, &counts, &digest);
        if ((i + 1) % 500 == 0 || i + 1 == seeds || !held) {
            report(first + i, digest, &counts);
        }
    }
    EXPECT_EQ(counts.runs, seeds);
    EXPECT(seeds < 20 || (counts.landed > 0 && counts.refused > 0 &&
                          counts.restarts > 0 && counts.hub_restarts > 0));
}
