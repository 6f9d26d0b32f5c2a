/* What the scheduler is measured by beside the signal workloads. */

#ifndef BENCH_SHAPES_SHAPES_H
#define BENCH_SHAPES_SHAPES_H

#include "lib/bench.h"

/* Sleepers, chains and memory (demand.c). */
void bench_demand(struct bench *bench);

/* Deeper and larger documents (sizes.c). */
void bench_sizes(struct bench *bench);

/* The design's own workloads, B01 to B29 and B32, but for those with events
 * (B15, B16, B23 to B26): graphs of a few nodes up to a thousand, in a space
 * that is its own authority and in one with a store in memory, where each run
 * is committed and confirmed. The counters are checked (design.c). */
void bench_shapes(struct bench *bench);

/* Who is told of a change: the matching part of B33 (matching.c). */
void bench_matching(struct bench *bench);

#endif
