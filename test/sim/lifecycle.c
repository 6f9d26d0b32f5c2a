/* The service under random schedules by the ten thousand: `./dev sim
 * lifecycle` runs this.
 *
 * SIM_ROUNDS says how many (10000), SIM_SEED which is the first (1). A failure
 * prints its seed; SIM_SEED with it and SIM_ROUNDS=1 repeats the schedule. */

#include <stdio.h>
#include <stdlib.h>

#include "lib/lifecycle_sim.h"
#include "lib/test.h"

static uint64_t number_of(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : fallback;
}

static void report(const struct lifecycle_sim_counts *counts)
{
    (void)printf("# %" PRIu64 " schedules: %" PRIu64 " steps, %" PRIu64
                 " calls (%" PRIu64 " refused), %" PRIu64
                 " messages delivered and %" PRIu64 " lost, %" PRIu64
                 " sessions, %" PRIu64 " restarts, %" PRIu64
                 " events that did not apply\n",
                 counts->schedules,
                 counts->steps,
                 counts->calls,
                 counts->refused,
                 counts->letters,
                 counts->lost,
                 counts->sessions,
                 counts->restarts,
                 counts->not_applied);
    (void)fflush(stdout);
}

TEST(whatever_happens_everything_comes_to_rest_and_is_explained)
{
    const uint64_t rounds = number_of("SIM_ROUNDS", 10000);
    const uint64_t seed = number_of("SIM_SEED", 1);
    struct lifecycle_sim_counts counts = {0};
    bool held = true;
    for (uint64_t i = 0; held && i < rounds; i++) {
        held = lifecycle_sim_run(seed + i, &counts);
        if ((i + 1) % 1000 == 0) {
            report(&counts);
        }
    }
    report(&counts);
    if (held && rounds >= 5000) {
        EXPECT_EQ(lifecycle_sim_missing(&counts), 0);
    }
}
