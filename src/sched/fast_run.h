/* The fast path of a run.
 *
 * Nearly every run is that of a live node that has run before, was invalidated
 * by a change, reads what it read the last time, and writes another number to
 * its only output. None of the special cases applies to it. This file has the
 * path of such a run, and of no other, from beginning to end. It leaves behind
 * what sched/runner.h would: reads, causes, records, statistics.
 *
 *   fast-run-1  What is known before a run decides whether it takes this path.
 *   fast-run-2  If anything differs at its end, the runner ends the run, and
 *               finds everything as if it had begun it.
 *   fast-run-3  sched->can_run_fast is false while there is something that this
 *               path does not handle: stores, labels, traces, the validator,
 *               nodes that wait for documents. It becomes true at the beginning
 *               of a pass only. */

#ifndef SCHED_FAST_RUN_H
#define SCHED_FAST_RUN_H

#include "sched/runner.h"

/* fast-run-3: a pass begins. */
static inline void fast_run_begin_pass(struct sched *sched)
{
    if (UNLIKELY(sched->runs.count == 0)) {
        runner_prepare(sched);
    }
    sched->can_run_fast = (sched->replica->sessions | (uintptr_t)sched->labels |
                           sched->validating | sched->waiting.count) == 0 &&
                          sched->hooks.run == NULL &&
                          sched->hooks.trigger == NULL;
}

/* Runs the nodes of the sweep, as long as they can take this path. Returns the
 * first that cannot, taken from the queue; or NULL. */
struct node *fast_run_sweep(struct sched *sched);

#endif
