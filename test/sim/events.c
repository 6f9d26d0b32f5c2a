/* Events at length: `./dev sim events` runs this.
 *
 *   schedules   of duplicates, crashes and faults (lib/events_sim.h).
 *               SIM_ROUNDS says how many (200000), SIM_SEED which is the first
 *               (1). A failure names its seed; SIM_SEED with it and
 *               SIM_ROUNDS=1 repeats that schedule
 *   contention  of sixteen runtimes, 1,000 events each, for one document
 *               (lib/contention.h); the slowest is reported */

#include <stdio.h>
#include <stdlib.h>

#include "lib/contention.h"
#include "lib/events_sim.h"
#include "lib/test.h"

enum {
    SHARED = 200,   /* schedules on the same two engines */
    REPORT = 10000, /* schedules between two reports */
    EACH = 1000,
};

static uint64_t number_of(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : fallback;
}

static void report(uint64_t seed, const struct events_counts *counts)
{
    (void)printf(
        "# up to seed %" PRIu64 ": %" PRIu64 " sent, %" PRIu64
        " attempts, %" PRIu64 " landed (%" PRIu64 " sent by handlers), %" PRIu64
        " retries; told: %" PRIu64 " done, %" PRIu64 " queued, %" PRIu64
        " duplicates, %" PRIu64 " orphans, %" PRIu64 " failed, %" PRIu64
        " unknown; %" PRIu64 " taken from the stores (%" PRIu64
        " of a sender at work); %" PRIu64 " messages, %" PRIu64
        " faults, %" PRIu64 " crashes, %" PRIu64 " restarts of a hub\n",
        seed,
        counts->sent,
        counts->attempts,
        counts->landed,
        counts->descendants,
        counts->retries,
        counts->done,
        counts->queued,
        counts->duplicates,
        counts->orphans,
        counts->failed,
        counts->unknown,
        counts->taken,
        counts->shared,
        counts->messages,
        counts->faults,
        counts->crashes,
        counts->hub_restarts);
    (void)fflush(stdout);
}

TEST(events_land_at_most_once_and_every_sender_is_told)
{
    const uint64_t seeds = number_of("SIM_ROUNDS", 200000);
    const uint64_t first = number_of("SIM_SEED", 1);
    struct events_counts counts = {0};
    bool held = true;
    for (uint64_t i = 0; i < seeds && held;) {
        struct events_stores *stores = events_stores_new();
        for (unsigned j = 0; j < SHARED && i < seeds && held; j++) {
            uint64_t digest;
            held = events_sim_run(stores,
                                  &events_everything,
                                  first + i++,
                                  &counts,
                                  &digest);
            if (i % REPORT == 0 || i == seeds || !held) {
                report(first + i - 1, &counts);
            }
        }
        events_stores_free(stores);
    }
    EXPECT_EQ(counts.runs, seeds);
    EXPECT(seeds < 1000 ||
           (counts.duplicates > 0 && counts.orphans > 0 &&
            counts.descendants > 0 && counts.failed > 0 && counts.crashes > 0 &&
            counts.hub_restarts > 0 && counts.queued > 0 && counts.taken > 0));
    EXPECT(seeds < 20000 || counts.shared > 0);
}

/* A schedule that is repeated is looked at alone. */
TEST(what_sixteen_runtimes_send_lands_or_fails_and_nobody_starves)
{
    if (number_of("SIM_ROUNDS", 200000) == 1) {
        return;
    }
    for (unsigned kind = 0; kind < CONTEND_KINDS; kind++) {
        struct contention_report done;
        if (EXPECT(contention_run((enum contention_kind)kind,
                                  EACH,
                                  number_of("SIM_SEED", 1),
                                  &done))) {
            contention_print((enum contention_kind)kind, &done);
        }
    }
}
