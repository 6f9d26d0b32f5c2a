/* Events under everything that can go wrong: runtimes on two stores, senders
 * who repeat themselves, links that lose and break, crashes at any step.
 *
 * One schedule follows from its seed and its profile: one to three runtimes,
 * each with two spaces on real hubs and real engines in memory, and with
 * handlers that read, write, merge, create documents, fail, and
 * send further events to both spaces. Callers deliver the same event again and
 * again, to any runtime; somebody else writes to what handlers have read;
 * runtimes are dropped between any two steps and begin anew on the same
 * stores, and so do the hubs. What waits in the stores is taken up by any
 * runtime, and sometimes by two at once. What landed is taken from the records
 * of the engines. All the time
 *
 *   each record      has an event id that none before it had, a receipt that
 *                    was never written before, and an origin that landed
 *   each attempt     is made when nothing that was sent to its lane earlier
 *                    still waits there; and if its origin was committed to
 *                    another space, when that has landed
 *   each sender      is told at most once; that it was done only if it landed,
 *                    with the receipt that did
 *
 * and when the faults have ceased and nothing moves any more
 *
 *   each sender      who was not dropped has been told, exactly once, and that
 *                    it failed only if it did not land
 *   each attempt     that landed had its call after the landing and no stop,
 *                    each other one had its stop and no call, exactly once
 *   each receipt     holds what the attempt that landed returned; so do the
 *                    documents that it created
 *   each event       that an attempt that landed has sent, and each that was
 *                    queued, has landed, whatever became of the runtime; or
 *                    the store holds why its handler failed. None waits
 *   counters         that were read and written, and that were incremented,
 *                    hold how often that landed
 *
 * A runtime that was dropped, or whose session was revoked, does not learn the
 * outcome of what it had outstanding: what it was told counts then only as far
 * as it was certain. */

#ifndef TEST_LIB_EVENTS_SIM_H
#define TEST_LIB_EVENTS_SIM_H

#include <stdbool.h>
#include <stdint.h>

struct events_stores;

struct events_profile {
    unsigned runtimes; /* at most; at least one */
    unsigned steps;    /* of a long one */
    unsigned callers;  /* events that are delivered again and again */
    unsigned depth;    /* of what handlers send, at most 3 */
    bool faults;       /* of links and hubs */
    bool crashes;      /* of runtimes */
};

/* Everything at once: what `./dev sim events` runs. */
extern const struct events_profile events_everything;

struct events_counts {
    uint64_t runs;
    uint64_t sent;
    uint64_t attempts;
    uint64_t landed;
    uint64_t done;
    uint64_t queued;
    uint64_t taken; /* from the stores, by another runtime or another life */
    uint64_t
        shared; /* of these, while the runtime that sent them was at work */
    uint64_t duplicates;
    uint64_t orphans;
    uint64_t failed;
    uint64_t unknown; /* dropped with their runtime, or their session */
    uint64_t retries;
    uint64_t descendants; /* that landed */
    uint64_t crashes;
    uint64_t hub_restarts;
    uint64_t messages;
    uint64_t faults;
};

/* Two engines, which many schedules share: opening one takes longer than a
 * schedule. All documents and sessions of a schedule bear its seed. */
struct events_stores *events_stores_new(void);
void events_stores_free(struct events_stores *stores);

/* One schedule; adds to the counts. False after a failure of the test, which
 * has said what and with which seed. *digest is the same for the same seed. */
bool events_sim_run(struct events_stores *stores,
                    const struct events_profile *profile,
                    uint64_t seed,
                    struct events_counts *counts,
                    uint64_t *digest);

#endif
