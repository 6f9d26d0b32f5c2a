/* A server under random schedules, by the ten thousand: `./dev sim server` runs
 * this.
 *
 * SIM_ROUNDS says how many runs (10000), SIM_SEED which is the first (1). A
 * failure names its seed; SIM_SEED with it and SIM_ROUNDS=1 repeats that run.
 */

#include <stdio.h>
#include <stdlib.h>

#include "lib/server_sim.h"
#include "lib/test.h"

static uint64_t number_of(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : fallback;
}

static void report(uint64_t seed, const struct server_sim_counts *counts)
{
    (void)printf("# up to seed %" PRIu64 ": %" PRIu64 " turns, %" PRIu64
                 " commits, %" PRIu64 " sent again, %" PRIu64
                 " connections broken, %" PRIu64 " lines of garbage, %" PRIu64
                 " syncs\n",
                 seed,
                 counts->turns,
                 counts->commits,
                 counts->resent,
                 counts->breaks,
                 counts->garbage,
                 counts->syncs);
    (void)fflush(stdout);
}

TEST(every_commit_lands_once_whatever_the_schedule)
{
    const uint64_t seeds = number_of("SIM_ROUNDS", 10000);
    const uint64_t first = number_of("SIM_SEED", 1);
    struct server_sim_counts counts = {0};
    bool held = true;
    for (uint64_t i = 0; i < seeds && held; i++) {
        held = server_sim_run(first + i, &counts);
        if ((i + 1) % 1000 == 0 || i + 1 == seeds || !held) {
            report(first + i, &counts);
        }
    }
    EXPECT_EQ(counts.runs, seeds);
    EXPECT(seeds < 20 || (counts.commits > 0 && counts.resent > 0 &&
                          counts.breaks > 0 && counts.garbage > 0));
}
