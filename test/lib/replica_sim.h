/* A few replicas, one store, and everything that can go wrong between them.
 *
 * One run follows from its seed: two to five replicas with random
 * transactions, on faulty links (lib/faulty_link.h) to a real hub on a real
 * engine in memory; connections break, replicas start again as new sessions,
 * the hub starts again and has forgotten all of them. All the time, what the
 * notifications say must be what is visible. At the end the faults cease, and
 * then
 *
 *   each replica     has nothing outstanding, and shows exactly what the store
 *                    has, confirmed and visible, at the same seq
 *   each commit      has had one COMMIT; at most one REVERT, and one exactly if
 *                    it did not land; one verdict, one settlement, both the
 *                    same
 *   each landed one  has its row in the store, at the seq that it was told;
 *                    none that was refused has one
 *   counters         that were read and written hold how often that landed;
 *                    so do those that were incremented; and a list holds
 *                    what was appended, each once
 *
 * A replica that starts again does not learn the outcome of what it had
 * outstanding; those are left out of the comparison of outcomes, not of the
 * counters. */

#ifndef TEST_LIB_REPLICA_SIM_H
#define TEST_LIB_REPLICA_SIM_H

#include <stdbool.h>
#include <stdint.h>

struct replica_sim_counts {
    uint64_t runs;
    uint64_t commits;
    uint64_t landed;
    uint64_t refused;
    uint64_t unknown; /* outstanding when their replica started again */
    uint64_t stale;   /* refused before they were applied */
    uint64_t reverts;
    uint64_t messages;
    uint64_t faults; /* lost, repeated, delayed or damaged */
    uint64_t connections;
    uint64_t restarts; /* of replicas */
    uint64_t hub_restarts;
    uint64_t revoked;
    uint64_t deltas;
};

/* One run; adds to the counts. False after a failure of the test, which has
 * said what and with which seed. *digest is the same for the same seed. */
bool replica_sim_run(uint64_t seed,
                     struct replica_sim_counts *counts,
                     uint64_t *digest);

#endif
