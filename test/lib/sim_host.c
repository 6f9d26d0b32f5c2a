/* The simulated host: a number for a clock, and an array of timers that is
 * searched from end to end, because a test has few of them. */

#include "lib/sim_host.h"

#include "base/check.h"

enum {
    /* A timer that always arms itself for now would keep the clock from ever
     * moving; no test means to fire as many in one advance. */
    FIRES_MAX = 1000 * 1000
};

static struct sim_host *sim_of(struct host *host)
{
    return CONTAINER_OF(host, struct sim_host, host);
}

/* The place of `timer` among the armed ones, or their count. */
static size_t find_timer(const struct sim_host *sim,
                         const struct host_timer *timer)
{
    size_t i = 0;
    while (i < sim->armed_count && sim->armed[i].timer != timer) {
        i++;
    }
    return i;
}

/* The place of the timer that fires first (sim-host-1), or the count if none
 * is. */
static size_t find_earliest(const struct sim_host *sim)
{
    size_t earliest = 0;
    for (size_t i = 1; i < sim->armed_count; i++) {
        const struct sim_timer *best = &sim->armed[earliest];
        const struct sim_timer *other = &sim->armed[i];
        if (other->at < best->at ||
            (other->at == best->at && other->order < best->order)) {
            earliest = i;
        }
    }
    return earliest;
}

static void disarm(struct sim_host *sim, size_t place)
{
    CHECK(place < sim->armed_count);
    sim->armed_count--;
    sim->armed[place] = sim->armed[sim->armed_count];
}

static void fire(struct sim_host *sim, size_t place)
{
    const struct sim_timer due = sim->armed[place];
    CHECK(due.at >= sim->now);
    disarm(sim, place); /* sim-host-3: before the call, which may arm it
                           again */
    sim->now = due.at;
    due.timer->fire(due.timer);
}

static mono_ms sim_now(struct host *host)
{
    return sim_of(host)->now;
}

static void sim_timer_set(struct host *host,
                          struct host_timer *timer,
                          mono_ms at)
{
    struct sim_host *sim = sim_of(host);
    CHECK(timer != NULL);
    CHECK(timer->fire != NULL);

    const size_t place = find_timer(sim, timer);
    CHECK(place < SIM_HOST_TIMERS_MAX);
    if (place == sim->armed_count) {
        sim->armed_count++;
    }
    sim->armed[place] = (struct sim_timer){
        .timer = timer,
        .at = at > sim->now ? at : sim->now,
        .order = sim->arming_count++,
    };
}

static void sim_timer_clear(struct host *host, struct host_timer *timer)
{
    struct sim_host *sim = sim_of(host);
    const size_t place = find_timer(sim, timer);
    if (place < sim->armed_count) {
        disarm(sim, place);
    }
}

static uint64_t sim_random(struct host *host)
{
    return random_u64(&sim_of(host)->random);
}

void sim_host_init(struct sim_host *sim, mono_ms now, uint64_t seed)
{
    CHECK(now > 0);
    *sim = (struct sim_host){
        .host = {.now = sim_now,
                 .timer_set = sim_timer_set,
                 .timer_clear = sim_timer_clear,
                 .random = sim_random},
        .now = now,
    };
    random_init(&sim->random, seed);
}

void sim_host_advance(struct sim_host *sim, mono_ms to)
{
    CHECK(to >= sim->now);
    CHECK(to < MONO_NEVER);

    for (unsigned fired = 0; sim_host_next_at(sim) <= to; fired++) {
        CHECK(fired < FIRES_MAX);
        fire(sim, find_earliest(sim));
    }
    sim->now = to;
}

bool sim_host_fire_next(struct sim_host *sim)
{
    if (sim_host_next_at(sim) == MONO_NEVER) {
        return false;
    }
    fire(sim, find_earliest(sim));
    return true;
}

mono_ms sim_host_next_at(const struct sim_host *sim)
{
    const size_t earliest = find_earliest(sim);
    return earliest < sim->armed_count ? sim->armed[earliest].at : MONO_NEVER;
}

mono_ms sim_host_timer_at(const struct sim_host *sim,
                          const struct host_timer *timer)
{
    const size_t place = find_timer(sim, timer);
    return place < sim->armed_count ? sim->armed[place].at : MONO_NEVER;
}
