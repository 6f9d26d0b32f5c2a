/* The environment of the core: time, one-shot timers and randomness. A host
 * implements it on an event loop, the tests on a counter (test/lib/sim_host.h).
 * No file of the core calls the operating system, so the same inputs give the
 * same outputs, byte for byte. */

#ifndef BASE_HOST_H
#define BASE_HOST_H

#include <stdint.h>

/* A point on the host's monotonic clock, in milliseconds. Zero is before any
 * time that the clock reports; MONO_NEVER is after all of them. */
typedef uint64_t mono_ms;
#define MONO_NEVER UINT64_MAX

/* One-shot timer, embedded in the structure that it wakes. */
struct host_timer {
    void (*fire)(struct host_timer *timer);
};

struct host {
    mono_ms (*now)(struct host *host);

    /* The same clock for frequent measurements of durations: it may be a few
     * milliseconds behind and then move by several at once, but never goes
     * back. NULL: `now` is as cheap. */
    mono_ms (*tick)(struct host *host);

    /* Arm `timer` for `at`, or move it there if it is armed. A past `at`
     * fires from the loop, never from inside this call. */
    void (*timer_set)(struct host *host, struct host_timer *timer, mono_ms at);
    void (*timer_clear)(struct host *host, struct host_timer *timer);

    /* 64 unpredictable bits, for session names and jitter. A test host draws
     * them from its seed. */
    uint64_t (*random)(struct host *host);
};

#endif
