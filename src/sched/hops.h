/* Hops: how many events are before an event in its chain.
 *
 * The event that a handler sends comes after the one that it handles. The event
 * that an effect sends comes after the one whose handler has made the effect
 * run, over any number of other runs: so a circle of an effect, an event and a
 * handler is as long as one of handlers alone, and ends at the same limit (V8
 * of sched/events.h).
 *
 * A chain of runs is found from their records (sched/introspection.h), when
 * something is sent; runs that send nothing cost nothing. Where a record is
 * missing, because a thousand runs came after it, the run follows from the last
 * handling if nothing outside has changed anything since. What is not known
 * counts as caused from outside. */

#ifndef SCHED_HOPS_H
#define SCHED_HOPS_H

#include "base/buf.h"
#include "sched/core.h"

/* The hops of what an open transaction sends that is not of a handling. */
uint32_t hops_after_run(struct sched *sched, struct transaction *transaction);

/* Whose run or handling it is: "the effect board/draw". */
void hops_write_sender(const struct sched *sched,
                       const struct transaction *transaction,
                       struct buf *to);

#endif
