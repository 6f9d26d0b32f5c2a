/* Whether the scheduler converges, and which nodes prevent it.
 *
 * An episode begins with the first pass after a rest. It ends when the
 * scheduler is idle and nothing is backed off, or after a caller has waited for
 * idle (sched_idle_over).
 *
 *   convergence-1  There is one report per episode, with the nodes' names: when
 *                  a pass leaves nodes that did not converge; or when the
 *                  episode lasts longer than SCHED_EPISODE_MS, and more than
 *                  SCHED_EPISODE_BUSY_MS and three tenths of it were spent in
 *                  passes.
 *   convergence-2  Every pass that leaves such nodes is counted, reported or
 *                  not.
 *   convergence-3  After SCHED_EPISODE_SLIDE_MS the older half is forgotten.
 *   convergence-4  A cycle that was backed off SCHED_HOLD_PASSES times in a
 *                  row, so that idle does not wait for it any more, is reported
 *                  once, as is one of which a run failed because it has no
 *                  initial value (sched/cycle.h).
 *
 * Durations are known only if the scheduler has a host. No run depends on this
 * file. */

#ifndef SCHED_CONVERGENCE_H
#define SCHED_CONVERGENCE_H

#include "sched/core.h"

/* The length of the episode at `now`, including the pass in progress. */
struct convergence {
    mono_ms window; /* since the episode began; 0: at rest */
    mono_ms busy;   /* of that, in passes */
    bool told;      /* convergence-1: was reported */
};
struct convergence convergence_look(const struct sched *sched, mono_ms now);

/* Whether convergence-1 reports it for its length. */
bool convergence_is_too_slow(const struct convergence *convergence);

/* A pass begins, and ends. */
static inline void convergence_pass_begins(struct sched *sched)
{
    if (sched->host != NULL) {
        sched->pass_began = sched_time(sched);
        if (sched->episode_began == 0) { /* 0 means none */
            sched->episode_began = sched->pass_began + (sched->pass_began == 0);
        }
    }
}

void convergence_end_pass(struct sched *sched); /* slow path */
static inline void convergence_pass_ends(struct sched *sched)
{
    /* No measurable time, and nothing left. */
    if (LIKELY(sched->clock_is_right && sched->clock == sched->episode_began &&
               (sched->unsettled.count | sched->failed_in_cycle.count) == 0)) {
        sched->pass_began = 0;
    } else {
        convergence_end_pass(sched);
    }
}

/* convergence-4, after a run of a node in a component (sched/order.h) has
 * failed. */
void convergence_run_failed(struct sched *sched, struct node *node);

/* Ends the episode. */
void convergence_reset(struct sched *sched);

#endif
