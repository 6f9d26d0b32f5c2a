/* src/host/system: the clocks of the operating system. */

#include "host/system.h"
#include "lib/test.h"

enum {
    READINGS = 2000
};

/* Both ask the kernel, which moves the tick with its own timer. */
TEST(the_tick_is_never_ahead_of_the_clock_and_never_goes_back)
{
    struct host *host = system_host();
    mono_ms last_tick = 0;
    mono_ms last_now = 0;
    for (unsigned i = 0; i < READINGS; i++) {
        const mono_ms tick = host->tick(host);
        const mono_ms now = host->now(host);
        EXPECT(tick > 0);
        EXPECT(tick <= now);
        EXPECT(tick >= last_tick);
        EXPECT(now >= last_now);
        last_tick = tick;
        last_now = now;
    }
}

/* So that what is measured by it is right, if it is long enough. */
TEST(the_tick_follows_the_clock)
{
    struct host *host = system_host();
    const mono_ms from = host->now(host);
    while (host->tick(host) < from + 20) {
        if (host->now(host) > from + 10000) {
            break;
        }
    }
    EXPECT(host->tick(host) >= from + 20);
}
