/* Clocks and randomness of the operating system. */

#include "host/system.h"

#include <time.h>
#include <unistd.h>

#include "base/check.h"

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    CHECK(clock_gettime(clock, &now) == 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* From 1 on: zero is before any time (base/host.h). */
static mono_ms now(struct host *host)
{
    (void)host;
    return read_clock(CLOCK_MONOTONIC) + 1;
}

/* Without a look at the hardware: a quarter of the price of the other. */
static mono_ms tick(struct host *host)
{
    (void)host;
    return read_clock(CLOCK_MONOTONIC_COARSE) + 1;
}

static void timer_set(struct host *host, struct host_timer *timer, mono_ms at)
{
    (void)host;
    (void)timer;
    (void)at;
}

static void timer_clear(struct host *host, struct host_timer *timer)
{
    (void)host;
    (void)timer;
}

static uint64_t draw(struct host *host)
{
    (void)host;
    uint64_t bits;
    CHECK(getentropy(&bits, sizeof bits) == 0);
    return bits;
}

struct host *system_host(void)
{
    static struct host host = {
        .now = now,
        .tick = tick,
        .timer_set = timer_set,
        .timer_clear = timer_clear,
        .random = draw,
    };
    return &host;
}

uint64_t system_us(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t system_wall_ms(void)
{
    return read_clock(CLOCK_REALTIME);
}
