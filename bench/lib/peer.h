/* A signal library under node that has the same workloads (peers/serve.mjs). */

#ifndef BENCH_LIB_PEER_H
#define BENCH_LIB_PEER_H

#include "lib/bench.h"
#include "lib/child.h"

/* A process of its own, for one workload: one that has seen others has compiled
 * its code for all of them, and is slower by up to the half. With --peers only;
 * what cannot be started is told once, and then there are none. */
void peer_start(struct bench *bench, struct child *child, const char *library);

/* Builds and warms up. False if it cannot do the workload. A checksum that is
 * not this one is a result that is wrong. */
bool peer_begin(struct bench *bench,
                struct child *child,
                const char *who,
                const char *workload,
                double checksum);

#endif
