/* struct host on the operating system: clock and randomness.
 *
 * Timers are not part of it: the owner of a runtime asks when to wake it, and
 * sleeps until then (host/live.h). */

#ifndef HOST_SYSTEM_H
#define HOST_SYSTEM_H

#include "base/host.h"

/* The host of this process: the monotonic clock, and the system's randomness,
 * which is unpredictable and different in each process. */
struct host *system_host(void);

/* Microseconds of the monotonic clock, to measure durations. */
uint64_t system_us(void);

/* Milliseconds since 1970, for people. */
uint64_t system_wall_ms(void);

#endif
