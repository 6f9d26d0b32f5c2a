/* A host (base/host.h) whose clock moves only when the test says so.
 *
 *   struct sim_host sim;
 *   sim_host_init(&sim, 1000, 42);        the time, and the seed of random
 *   gates_init(&gates, &sim.host, ...);   whatever is tested
 *   sim_host_advance(&sim, 1500);         fires what is due, in order
 *
 *   sim-host-1  Timers fire in the order of their times; of one time, in the
 *               order in which they were armed. A time that is past counts as
 *               now.
 *   sim-host-2  While a timer fires, the clock shows the time it was armed for.
 *   sim-host-3  A timer is disarmed before it fires, and may arm itself or
 *               others; it fires again in the same advance if that is due too.
 *   sim-host-4  Nothing here allocates: the ledger of lib/test.h sees only what
 *               is tested.
 *
 * All zero is not a host. There is nothing to release. */

#ifndef TEST_LIB_SIM_HOST_H
#define TEST_LIB_SIM_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/host.h"
#include "base/random.h"

enum {
    SIM_HOST_TIMERS_MAX = 64
};

struct sim_timer {
    struct host_timer *timer;
    mono_ms at;
    uint64_t order; /* how many were armed before it */
};

struct sim_host {
    struct host host; /* give out its address */
    mono_ms now;
    struct random random;
    struct sim_timer armed[SIM_HOST_TIMERS_MAX]; /* in no order */
    size_t armed_count;
    uint64_t arming_count;
};

/* `now` is at least 1: zero is before any time of a clock. */
void sim_host_init(struct sim_host *sim, mono_ms now, uint64_t seed);

/* Moves the clock to `to`, not before now, and fires what is due until then.
 * `to` equal to now fires what is due already. */
void sim_host_advance(struct sim_host *sim, mono_ms to);

/* Moves the clock to the earliest timer and fires that one only; false, and
 * nothing happens, if none will ever fire. */
bool sim_host_fire_next(struct sim_host *sim);

/* When the earliest timer fires, and when `timer` does; MONO_NEVER if it is
 * not armed. */
mono_ms sim_host_next_at(const struct sim_host *sim);
mono_ms sim_host_timer_at(const struct sim_host *sim,
                          const struct host_timer *timer);

#endif
