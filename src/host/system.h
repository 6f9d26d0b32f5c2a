/* The real world as the core sees it: struct host on the operating system.
 *
 * Timers are not among it: who runs a runtime asks when it wants to be woken,
 * and sleeps that long (host/live.h). */

#ifndef HOST_SYSTEM_H
#define HOST_SYSTEM_H

#include "base/host.h"

/* The one of this process: the monotonic clock, and the system's randomness,
 * which nobody can predict and no other process gets. */
struct host *system_host(void);

/* Milliseconds since 1970, for people. */
uint64_t system_wall_ms(void);

#endif
