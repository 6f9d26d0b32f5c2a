/* The service under a seed: people, a daemon, and everything between them that
 * can go wrong.
 *
 * A schedule is a number of steps. In each, somebody asks for something, a
 * message arrives (late, twice, in any order, or never), the daemon gets on
 * with its work or fails at it, the connection breaks, the daemon or the
 * service is started again, or time passes. Then the faults end, and everything
 * must come to rest.
 *
 * After every step: each change that was told is an edge of its table, and the
 * rows are what the changes say; a document is as its row; a call that was
 * refused has changed nothing; every event that did not apply is in the log;
 * no run was sent twice, and nothing while the same is in flight; nothing
 * begins in a thread that nobody uses. At the
 * end: no thread and no environment is in a status that does not rest, nothing
 * is in flight, and no message waits that could be sent. */

#ifndef TEST_LIB_LIFECYCLE_SIM_H
#define TEST_LIB_LIFECYCLE_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "lifecycle/environment.h"
#include "lifecycle/thread.h"

/* What has happened, over all schedules. */
struct lifecycle_sim_counts {
    uint64_t schedules;
    uint64_t steps;
    uint64_t calls;
    uint64_t refused;
    uint64_t letters;     /* delivered */
    uint64_t lost;        /* not delivered */
    uint64_t not_applied; /* events */
    uint64_t sessions;
    uint64_t restarts;
    /* How often each edge was taken. */
    uint64_t threads[THREAD_STATUS_COUNT][THREAD_EVENT_COUNT];
    uint64_t environments[ENVIRONMENT_STATUS_COUNT][ENVIRONMENT_EVENT_COUNT];
};

/* False, and a failure of the test, if something did not hold. */
bool lifecycle_sim_run(uint64_t seed, struct lifecycle_sim_counts *counts);

/* How many edges of both machines were never taken, with their names as
 * failures of the test. */
unsigned lifecycle_sim_missing(const struct lifecycle_sim_counts *counts);

#endif
