/* A server without its network and threads, under a random schedule.
 *
 * One run follows from its seed. Clients with own sessions send lines to the
 * real I/O side (server/connection.h), which passes them to two real shards
 * (server/shard.h) on engines in memory. The schedule decides when bytes
 * arrive, which shard has its turn, when answers reach their client, and when a
 * connection breaks and loses what is on its way. A client that lost its
 * connection opens its sessions again and sends again what has no verdict.
 * Some clients send garbage.
 *
 * All the time
 *
 *   a verdict      comes before a sync that covers its commit
 *   the syncs      of a session begin where the previous one ended
 *   a document     of a user reaches that user only
 *
 * and at the end, when all is quiet, each increment has landed exactly
 * once. */

#ifndef TEST_LIB_SERVER_SIM_H
#define TEST_LIB_SERVER_SIM_H

#include <stdbool.h>
#include <stdint.h>

struct server_sim_counts {
    uint64_t runs;
    uint64_t turns;
    uint64_t commits;
    uint64_t resent;
    uint64_t breaks;
    uint64_t garbage;
    uint64_t syncs;
};

/* One run; adds to the counts. False after a failure of the test, which has
 * said what and with which seed. */
bool server_sim_run(uint64_t seed, struct server_sim_counts *counts);

#endif
