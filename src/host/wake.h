/* What wakes a process that waits: time, another process that writes to a
 * file, and whoever interrupts it.
 *
 *   K1  One descriptor (wake_fd) becomes readable when there is something to
 *       look at, so it fits into any loop.
 *   K2  wake_interrupt may be called from a signal handler and from any thread.
 *       It is seen once, also if nobody was waiting.
 *   K3  A file that cannot be watched is no error: who asked looks from time to
 *       time.
 *
 * It knows nothing of stores. Nothing else of this folder sleeps. */

#ifndef HOST_WAKE_H
#define HOST_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/host.h"

enum {
    WAKE_UNWATCHED = -1
};

/* Something else that the process waits for: sockets, children. */
struct wake_outside {
    int fd; /* readable when there is something to do */
    void (*step)(void *ctx, mono_ms now);
    mono_ms (*next_wake)(const void *ctx);
    void *ctx;
};

struct wake {
    struct wake_outside outside; /* `step` is NULL: there is nothing */
    int epoll_fd;                /* of the others */
    int event_fd;                /* interrupts */
    int inotify_fd;              /* files; -1: the system has none left */
    int watches;                 /* files that are watched, or were */
    bool waited; /* somebody has slept, or may have, by the descriptor */
    _Atomic bool interrupted;
};

/* `outside` is part of the waiting from now on; or NULL. IO if the process has
 * no descriptor left. */
MUST_CHECK enum err wake_init(struct wake *wake,
                              const struct wake_outside *outside,
                              struct err_detail *detail);
void wake_release(struct wake *wake);

int wake_fd(struct wake *wake);

/* From now on writes to the file wake. Its number, or WAKE_UNWATCHED. */
int wake_watch(struct wake *wake, const char *path);
void wake_unwatch(struct wake *wake, int watch);

/* Does what is to be done outside; and when that is to be called again, or the
 * given time if that is earlier. From wake_clear_outside on, nothing. */
void wake_step_outside(struct wake *wake, mono_ms now);
mono_ms wake_first(const struct wake *wake, mono_ms other);
void wake_clear_outside(struct wake *wake);

/* Tells each file that was written to since the last call, perhaps more than
 * once; `gone`: it will not be told of any more. */
void wake_take_writes(struct wake *wake,
                      void (*written)(void *ctx, int watch, bool gone),
                      void *ctx);

void wake_interrupt(struct wake *wake);

/* Whether it was, and has not been seen yet; and the same, and it is seen. */
bool wake_is_interrupted(const struct wake *wake);
bool wake_take_interrupt(struct wake *wake);

/* Until something is to be looked at, a signal was handled, or so much time has
 * passed; MONO_NEVER: however long. */
void wake_sleep(struct wake *wake, mono_ms most);

#endif
