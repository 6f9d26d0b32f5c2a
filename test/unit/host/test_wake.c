/* src/host/wake: interrupts and the descriptor. */

#include "host/wake.h"

#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "lib/test.h"

static bool is_readable(struct wake *wake)
{
    struct pollfd fd = {.fd = wake->epoll_fd, .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

/* The second half of an interrupt whose first half was seen long ago. */
static void write_late(const struct wake *wake)
{
    const uint64_t one = 1;
    EXPECT_EQ(write(wake->event_fd, &one, sizeof one), (ssize_t)sizeof one);
}

TEST(k2_an_interrupt_is_seen_once_also_if_nobody_sleeps)
{
    struct wake wake;
    struct err_detail detail;
    EXPECT_EQ(wake_init(&wake, NULL, &detail), ERR_OK);
    EXPECT(!wake_take_interrupt(&wake));
    wake_interrupt(&wake);
    wake_interrupt(&wake);
    EXPECT(wake_is_interrupted(&wake));
    EXPECT(wake_take_interrupt(&wake));
    EXPECT(!wake_is_interrupted(&wake));
    EXPECT(!wake_take_interrupt(&wake));
    EXPECT(!is_readable(&wake));
    wake_release(&wake);
}

/* Otherwise every sleep from then on would end at once. */
TEST(a_descriptor_that_is_readable_for_nothing_wakes_a_sleeper_once)
{
    struct wake wake;
    struct err_detail detail;
    EXPECT_EQ(wake_init(&wake, NULL, &detail), ERR_OK);
    write_late(&wake);
    wake_sleep(&wake, MONO_NEVER);
    EXPECT(!wake_take_interrupt(&wake));
    EXPECT(!is_readable(&wake));
    wake_release(&wake);
}

TEST(the_same_for_who_sleeps_by_the_descriptor)
{
    struct wake wake;
    struct err_detail detail;
    EXPECT_EQ(wake_init(&wake, NULL, &detail), ERR_OK);
    EXPECT(wake_fd(&wake) >= 0);
    write_late(&wake);
    EXPECT(is_readable(&wake));
    EXPECT(!wake_take_interrupt(&wake));
    EXPECT(!is_readable(&wake));
    wake_release(&wake);
}
