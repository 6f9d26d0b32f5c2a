/* A server under random schedules: a sample of what `./dev sim server` does at
 * length (test/sim/server.c). */

#include "lib/server_sim.h"
#include "lib/test.h"

/* A round that fails names its own seed for `./dev sim server 1 SEED`. */
PROPERTY(every_commit_lands_once_whatever_the_schedule, 100)
{
    struct server_sim_counts counts = {0};
    EXPECT(server_sim_run(random_u64(random) >> 32, &counts));
}
