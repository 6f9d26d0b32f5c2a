/* The pass: runs what has to run, in order.
 *
 *   settle-1  A pass consists of sweeps; a sweep goes up by height. A node that
 *             becomes runnable at or below the height that the current node had
 *             when it was taken waits for the next sweep.
 *   settle-2  A node is checked again at its turn: it runs iff it is stale,
 *             live (or to run again), and eligible.
 *   settle-3  When nothing is left to sweep, the heads of the lanes are
 *             examined (sched/events.h): what a head needs is swept first. What
 *             a handled event has invalidated runs in the next pass.
 *             Materializers run when nothing else is left.
 *   settle-4  At most SCHED_SWEEPS_MAX sweeps, and SCHED_RUNS_MAX runs per
 *             node: nodes that are left are backed off, and reported.
 *   settle-5  The cost is that of what runs: no pass walks over all nodes.
 *   settle-6  A pass pauses after SCHED_BURST_MAX commits that wait for the
 *             store, and when the host is interrupted: the caller sends them,
 *             and the next call continues. So memory in flight is bounded,
 *             however many runs one read causes; the runs around such a read
 *             are abandoned, and run again then. A run that does much work by
 *             itself asks settle_gives_way. */

#ifndef SCHED_SETTLE_H
#define SCHED_SETTLE_H

#include "sched/core.h"

/* One pass. Stops early as settle-6 says. */
void settle_pass(struct sched *sched);

static inline bool settle_is_interrupted(const struct sched *sched)
{
    return sched->interrupted != NULL &&
           sched->interrupted(sched->interrupted_ctx);
}

/* The same in a loop that can be long, for every SCHED_GLANCE-th call: reading
 * the clock costs as much as a step of such a loop. */
static inline bool settle_glance(struct sched *sched)
{
    return ++sched->glances % SCHED_GLANCE == 0 && settle_is_interrupted(sched);
}

/* settle-6: whether the pass has to pause after the run that has just ended. */
static inline bool settle_must_pause(const struct sched *sched)
{
    return sched->inflight >= sched->burst_from + SCHED_BURST_MAX ||
           settle_is_interrupted(sched);
}

/* settle-6, for a step of a loop in a run: whether the host is interrupted and
 * the run is abandoned for that. Then it returns RUN_AGAIN. */
bool settle_gives_way(struct run *run);

/* The pass stops for now; the next call begins at the bottom again. */
void settle_pause(struct sched *sched);

#endif
