/* The service under random schedules; `./dev sim lifecycle` runs many more. */

#include <stdio.h>

#include "lib/lifecycle_sim.h"
#include "lib/test.h"

enum {
    SCHEDULES = 300
};

static struct lifecycle_sim_counts counts;

PROPERTY(whatever_happens_everything_comes_to_rest_and_is_explained, SCHEDULES)
{
    (void)lifecycle_sim_run(random_u64(random), &counts);
}

/* A simulation that does not get anywhere proves nothing. Valgrind runs fewer
 * schedules, and then this asks for less; that every edge is taken is asked of
 * the many schedules of test/sim/lifecycle.c. */
TEST(the_schedules_get_somewhere)
{
    if (counts.schedules >= SCHEDULES) {
        EXPECT(counts.refused > 500);
        EXPECT(counts.refused < counts.calls / 2);
        EXPECT(counts.lost > 100);
        EXPECT(counts.not_applied > 500);
        EXPECT(counts.restarts > 30);
    }
    EXPECT(counts.schedules == 0 || counts.letters > counts.schedules);
}
