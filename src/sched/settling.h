/* Whether the scheduler converges, and which nodes prevent it.
 *
 * An episode begins with the first pass after a rest. It ends when the
 * scheduler is idle and nothing is backed off, or after a caller has waited for
 * idle (scheduler_idle_over).
 *
 *   E1  There is one report per episode, with the nodes' names: when a pass
 *       leaves nodes that did not converge; or when the episode lasts longer
 *       than SCHED_RESTLESS_MS, and more than SCHED_RESTLESS_BUSY_MS and three
 *       tenths of it were spent in passes.
 *   E2  Every pass that leaves such nodes is counted, reported or not.
 *   E3  After SCHED_RESTLESS_SLIDE_MS the older half is forgotten.
 *   E4  A circle that was backed off SCHED_HOLD_PASSES times in a row, so that
 *       idle does not wait for it any more, is reported once, as is one of
 *       which a run failed because it has no initial value (sched/circle.h).
 *
 * Durations are known only if the scheduler has a host. No run depends on this
 * file. */

#ifndef SCHED_SETTLING_H
#define SCHED_SETTLING_H

#include "sched/core.h"

/* The length of the episode at `now`, including the pass in progress. */
struct restlessness {
    mono_ms window; /* since the episode began; 0: at rest */
    mono_ms busy;   /* of that, in passes */
    bool told;      /* E1: was reported */
};
struct restlessness settling_look(const struct sched *sched, mono_ms now);

/* Whether E1 reports it for its length. */
bool settling_is_too_long(const struct restlessness *restlessness);

/* A pass begins, and ends. */
static inline void settling_pass_begins(struct sched *sched)
{
    if (sched->host != NULL) {
        sched->pass_began = sched_time(sched);
        if (sched->restless_since == 0) { /* 0 means none */
            sched->restless_since =
                sched->pass_began + (sched->pass_began == 0);
        }
    }
}

void settling_end_pass(struct sched *sched); /* slow path */
static inline void settling_pass_ends(struct sched *sched)
{
    /* No measurable time, and nothing left. */
    if (LIKELY(sched->clock_is_right && sched->clock == sched->restless_since &&
               (sched->unsettled.count | sched->failed_in_circle.count) == 0)) {
        sched->pass_began = 0;
    } else {
        settling_end_pass(sched);
    }
}

/* E4, after a run of a node in a component (sched/order.h) has failed. */
void settling_run_failed(struct sched *sched, struct node *node);

/* Ends the episode. */
void settling_rests(struct sched *sched);

#endif
