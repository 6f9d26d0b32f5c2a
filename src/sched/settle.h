/* The pass: running what has to run, in order.
 *
 *   P1  A pass is a number of sweeps; a sweep goes up by height. What becomes
 *       runnable at or below the height that the current node had when it was
 *       picked waits for the next sweep.
 *   P2  At its turn a node is asked again: it runs iff it is stale, live (or
 *       to run again), and its time has come.
 *   P3  When nothing is left to sweep, the heads of the lanes are looked at
 *       (sched/events.h): what one needs is swept first. What a handled event
 *       has made to run comes in the next pass. Materializers come when
 *       nothing else is left.
 *   P4  At most SCHED_SWEEPS_MAX sweeps, and SCHED_RUNS_MAX runs of one node:
 *       what is left then waits behind a gate, and is named.
 *   P5  The cost is that of what runs: no pass walks over all nodes.
 *   P6  A pass pauses after SCHED_BURST_MAX commits that wait for the store,
 *       and when the host is interrupted: the caller sends what there is, and
 * the next call goes on. So what is in flight is bounded, however much one read
 * makes to run; the runs around such a read are given up, and run again when it
 * goes on. A run that does much by itself asks settle_gives_way. */

#ifndef SCHED_SETTLE_H
#define SCHED_SETTLE_H

#include "sched/core.h"

/* One pass. Stops early as P6 says. */
void settle_pass(struct sched *sched);

static inline bool settle_is_interrupted(const struct sched *sched)
{
    return sched->interrupted != NULL &&
           sched->interrupted(sched->interrupted_ctx);
}

/* The same in a loop that can be long, asked in one call of SCHED_GLANCE: a
 * look at the clock costs as much as a step of such a loop. */
static inline bool settle_glance(struct sched *sched)
{
    return ++sched->glances % SCHED_GLANCE == 0 && settle_is_interrupted(sched);
}

/* P6: whether the pass is to pause after the run that has just ended. */
static inline bool settle_must_pause(const struct sched *sched)
{
    return sched->flights >= sched->burst_from + SCHED_BURST_MAX ||
           settle_is_interrupted(sched);
}

/* P6, for a step of a loop in a run: whether the host is interrupted and the
 * run is given up for that. Then it returns RUN_AGAIN. */
bool settle_gives_way(struct run *run);

/* The pass ends here for now; the next call begins at the bottom again. */
void settle_pause(struct sched *sched);

#endif
