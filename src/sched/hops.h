/* Hops: how many events come before an event in its chain.
 *
 * An event that a handler sends follows the one that it handles. An event that
 * an effect sends follows the one whose handler caused the effect to run,
 * directly or through other runs. So a cycle of an effect, an event and a
 * handler counts like one of handlers alone, and ends at the same limit
 * (events-8 of sched/events.h).
 *
 * A chain of runs is found from their records (sched/introspection.h) when
 * something is sent; runs that send nothing cost nothing. If a record has left
 * the ring, the run counts as following from the last handling, unless there
 * was a change from outside since. An unknown cause counts as a change from
 * outside. */

#ifndef SCHED_HOPS_H
#define SCHED_HOPS_H

#include "base/buf.h"
#include "sched/core.h"

/* The hops of an event that an open transaction outside a handling sends. */
uint32_t hops_after_run(struct sched *sched, struct transaction *transaction);

/* Names the run or handling of a transaction: "the effect board/draw". */
void hops_write_sender(const struct sched *sched,
                       const struct transaction *transaction,
                       struct buf *to);

#endif
