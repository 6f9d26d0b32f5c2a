/* The swift way of a run.
 *
 * Nearly every run is one of a node that is live, has run before, is told by
 * a change to run again, reads what it has read the last time, and gives its
 * one output another number. Nothing of what else can happen to a node happens
 * to it: so here is the way of such a run, and of no other, from its beginning
 * to its end. It leaves behind what sched/runner.h would: reads, causes,
 * records, statistics.
 *
 *   W1  Whether a run begins this way is decided by what is known before.
 *   W2  If anything was different at its end, the runner ends it, and finds
 *       everything as if it had begun it.
 *   W3  sched->swift is false while there is something that such runs do not
 *       know of: stores, labels, traces, the validator, nodes that wait for
 *       documents. It becomes true at the beginning of a pass only. */

#ifndef SCHED_SWIFT_H
#define SCHED_SWIFT_H

#include "sched/runner.h"

/* W3: a pass begins. */
static inline void swift_begin_pass(struct sched *sched)
{
    if (UNLIKELY(sched->runs.count == 0)) {
        runner_prepare(sched);
    }
    sched->swift = (sched->replica->sessions | (uintptr_t)sched->labels |
                    sched->validating | sched->waiting.count) == 0 &&
                   sched->hooks.run == NULL && sched->hooks.trigger == NULL;
}

/* Runs the nodes of the sweep one after the other, as long as they can go this
 * way. The next one, which cannot and was taken from the queue; or NULL. */
struct node *swift_sweep(struct sched *sched);

#endif
