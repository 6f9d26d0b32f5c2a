/* Whether the scheduler comes to rest, and who keeps it from that.
 *
 * An episode begins with the first pass after a rest. It ends when nothing
 * that anybody waits for is left and nothing is backed off, or when somebody
 * has waited for idle and goes on (scheduler_idle_over).
 *
 *   E1  People are told once an episode, with the nodes' names: when a pass
 *       leaves work that did not settle; or when the episode lasts longer than
 *       SCHED_RESTLESS_MS, and more than SCHED_RESTLESS_BUSY_MS and three
 *       tenths of it were spent in passes.
 *   E2  Every pass that leaves such work is counted, told of or not.
 *   E3  After SCHED_RESTLESS_SLIDE_MS the older half is forgotten.
 *   E4  A circle that was backed off SCHED_HOLD_PASSES times in a row, so that
 *       idle does not wait for it any more, is told once, as is one of which a
 *       run failed because it has no value to begin with (sched/circle.h).
 *
 * Durations are known only if the scheduler has a host. Nothing here decides
 * about any run. */

#ifndef SCHED_SETTLING_H
#define SCHED_SETTLING_H

#include "sched/core.h"

/* How restless it is at `now`, with the pass under way. */
struct restlessness {
    mono_ms window; /* since the episode began; 0: at rest */
    mono_ms busy;   /* of it, in passes */
    bool told;      /* E1: it was */
};
struct restlessness settling_look(const struct sched *sched, mono_ms now);

/* Whether E1 would have it told for its length. */
bool settling_is_too_long(const struct restlessness *restlessness);

/* A pass begins, and ends. */
static inline void settling_pass_begins(struct sched *sched)
{
    if (sched->host != NULL) {
        sched->pass_began = sched_time(sched);
        if (sched->restless_since == 0) { /* which no time may mean */
            sched->restless_since =
                sched->pass_began + (sched->pass_began == 0);
        }
    }
}

void settling_end_pass(struct sched *sched); /* the rest of it */
static inline void settling_pass_ends(struct sched *sched)
{
    /* No time that could be measured, and nothing left. */
    if (LIKELY(sched->clock_is_right && sched->clock == sched->restless_since &&
               (sched->unsettled.count | sched->failed_in_circle.count) == 0)) {
        sched->pass_began = 0;
    } else {
        settling_end_pass(sched);
    }
}

/* E4, after a run of a node in a component (sched/order.h) has failed. */
void settling_run_failed(struct sched *sched, struct node *node);

/* The episode is over. */
void settling_rests(struct sched *sched);

#endif
