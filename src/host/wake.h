/* What wakes a waiting process: time, a write of another process to a file, and
 * interrupts.
 *
 *   wake-1  One descriptor (wake_fd) becomes readable when there is something
 *           to do, so it fits into any event loop.
 *   wake-2  wake_interrupt may be called from a signal handler and from any
 *           thread. It is seen once, even if nothing was waiting.
 *   wake-3  A file that cannot be watched is no error: the caller polls it.
 *
 * It knows nothing of stores. Nothing else in this folder sleeps. */

#ifndef HOST_WAKE_H
#define HOST_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/host.h"

enum {
    WAKE_UNWATCHED = -1
};

/* Other things that the process waits for: sockets, children. */
struct wake_outside {
    int fd; /* readable when there is work */
    void (*step)(void *ctx, mono_ms now);
    mono_ms (*next_wake)(const void *ctx);
    void *ctx;
};

struct wake {
    struct wake_outside outside; /* `step` is NULL: none */
    int epoll_fd;                /* of the others */
    int event_fd;                /* interrupts */
    int inotify_fd;              /* files; -1: the system has none left */
    int answer_epoll_fd;         /* of a connection to a server and of
                                    interrupts; or -1 */
    int watches;                 /* files that are watched, or were */
    bool waited; /* a caller has slept, or may have, on the descriptor */
    _Atomic bool interrupted;
};

/* Waits include `outside` from now on, unless NULL. IO if the process is out of
 * descriptors. */
MUST_CHECK enum err wake_init(struct wake *wake,
                              const struct wake_outside *outside,
                              struct err_detail *detail);
void wake_release(struct wake *wake);

int wake_fd(struct wake *wake);

/* From now on, a descriptor that is readable wakes: at most one. IO. */
MUST_CHECK enum err wake_listen(struct wake *wake,
                                int fd,
                                struct err_detail *detail);

/* From now on, writes to the file wake. Its number, or WAKE_UNWATCHED. */
int wake_watch(struct wake *wake, const char *path);
void wake_unwatch(struct wake *wake, int watch);

/* Does the work outside; and when to call that again, or the given time if
 * earlier. Nothing after wake_clear_outside. */
void wake_step_outside(struct wake *wake, mono_ms now);
mono_ms wake_first(const struct wake *wake, mono_ms other);
void wake_clear_outside(struct wake *wake);

/* Reports each file that was written to since the last call, possibly more than
 * once; `gone`: it will not be reported again. */
void wake_take_writes(struct wake *wake,
                      void (*written)(void *ctx, int watch, bool gone),
                      void *ctx);

void wake_interrupt(struct wake *wake);

/* Whether an interrupt is pending; the second function also clears it. */
bool wake_is_interrupted(const struct wake *wake);
bool wake_take_interrupt(struct wake *wake);

/* Sleeps until there is something to do, a signal was handled, or that much
 * time has passed; MONO_NEVER: no limit. */
void wake_sleep(struct wake *wake, mono_ms most);

/* The same, but only for the descriptor of wake_listen and for interrupts: for
 * a caller that can do nothing else meanwhile. */
void wake_sleep_for_answer(struct wake *wake, mono_ms most);

#endif
