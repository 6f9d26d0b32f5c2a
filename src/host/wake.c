/* Sleeping, on Linux: epoll over an eventfd and inotify. */

#include "host/wake.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/check.h"

static bool add_to(int epoll_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool add(const struct wake *wake, int fd)
{
    return add_to(wake->epoll_fd, fd);
}

static void close_if_open(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

enum err wake_init(struct wake *wake,
                   const struct wake_outside *outside,
                   struct err_detail *detail)
{
    wake->outside =
        outside != NULL ? *outside : (struct wake_outside){.fd = -1};
    wake->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    wake->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    wake->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    wake->answer_epoll_fd = -1;
    wake->watches = 0;
    wake->waited = false;
    atomic_init(&wake->interrupted, false);
    if (wake->epoll_fd < 0 || !add(wake, wake->event_fd) ||
        (outside != NULL && !add(wake, outside->fd))) {
        const int code = errno;
        wake_release(wake);
        return err_set(detail,
                       ERR_IO,
                       "the process cannot open another descriptor: %s",
                       strerror(code));
    }
    if (wake->inotify_fd >= 0 && !add(wake, wake->inotify_fd)) {
        close_if_open(&wake->inotify_fd);
    }
    return ERR_OK;
}

void wake_release(struct wake *wake)
{
    close_if_open(&wake->answer_epoll_fd);
    close_if_open(&wake->inotify_fd);
    close_if_open(&wake->event_fd);
    close_if_open(&wake->epoll_fd);
}

enum err wake_listen(struct wake *wake, int fd, struct err_detail *detail)
{
    wake->answer_epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (wake->answer_epoll_fd < 0 || !add(wake, fd) ||
        !add_to(wake->answer_epoll_fd, fd) ||
        !add_to(wake->answer_epoll_fd, wake->event_fd)) {
        const int code = errno;
        return err_set(detail,
                       ERR_IO,
                       "the process cannot open another descriptor: %s",
                       strerror(code));
    }
    return ERR_OK;
}

int wake_fd(struct wake *wake)
{
    wake->waited = true; /* from now on it can be at any time */
    return wake->epoll_fd;
}

/* -- Work outside -------------------------------------------------------- */

void wake_clear_outside(struct wake *wake)
{
    if (wake->outside.step != NULL) {
        (void)epoll_ctl(wake->epoll_fd, EPOLL_CTL_DEL, wake->outside.fd, NULL);
        wake->outside = (struct wake_outside){.fd = -1};
    }
}

void wake_step_outside(struct wake *wake, mono_ms now)
{
    if (wake->outside.step != NULL) {
        wake->outside.step(wake->outside.ctx, now);
    }
}

mono_ms wake_first(const struct wake *wake, mono_ms other)
{
    const mono_ms own = wake->outside.step != NULL
                            ? wake->outside.next_wake(wake->outside.ctx)
                            : MONO_NEVER;
    return own < other ? own : other;
}

/* -- Files --------------------------------------------------------------- */

int wake_watch(struct wake *wake, const char *path)
{
    const int watch = wake->inotify_fd >= 0
                          ? inotify_add_watch(wake->inotify_fd, path, IN_MODIFY)
                          : -1;
    wake->watches += watch >= 0;
    return watch >= 0 ? watch : WAKE_UNWATCHED;
}

void wake_unwatch(struct wake *wake, int watch)
{
    if (watch != WAKE_UNWATCHED && wake->inotify_fd >= 0) {
        (void)inotify_rm_watch(wake->inotify_fd, watch);
    }
}

/* One record is at `at`; returns its length. */
static size_t tell(const char *at,
                   void (*written)(void *ctx, int watch, bool gone),
                   void *ctx)
{
    struct inotify_event event;
    memcpy(&event, at, sizeof event);
    written(ctx, event.wd, (event.mask & IN_IGNORED) != 0);
    return sizeof event + event.len;
}

void wake_take_writes(struct wake *wake,
                      void (*written)(void *ctx, int watch, bool gone),
                      void *ctx)
{
    char room[4096];
    ssize_t got = wake->watches; /* without any there is nothing to read */
    while (wake->inotify_fd >= 0 && got > 0) {
        got = read(wake->inotify_fd, room, sizeof room);
        for (size_t at = 0; got > 0 && at < (size_t)got;) {
            at += tell(&room[at], written, ctx);
        }
    }
}

/* -- Interrupts ---------------------------------------------------------- */

/* Only what a signal handler may do. A counter that is full is readable, which
 * is all that matters. */
void wake_interrupt(struct wake *wake)
{
    const int saved = errno;
    const uint64_t one = 1;
    atomic_store(&wake->interrupted, true);
    const ssize_t written = write(wake->event_fd, &one, sizeof one);
    (void)written;
    errno = saved;
}

bool wake_is_interrupted(const struct wake *wake)
{
    return atomic_load(&wake->interrupted);
}

/* Drains the descriptor first: an interrupt that comes in between is seen now
 * or makes it readable again. It may be readable without an interrupt, because
 * of one that was seen before its write was done. A sleeper must not be woken
 * by that for ever; a process that never sleeps need not drain it. */
bool wake_take_interrupt(struct wake *wake)
{
    if (!wake->waited && !wake_is_interrupted(wake)) {
        return false;
    }
    uint64_t count;
    const ssize_t got = read(wake->event_fd, &count, sizeof count);
    (void)got;
    return atomic_exchange(&wake->interrupted, false);
}

static void sleep_on(struct wake *wake, int epoll_fd, mono_ms most)
{
    wake->waited = true;
    struct epoll_event event;
    const int timeout = most == MONO_NEVER ? -1
                        : most > INT_MAX   ? INT_MAX
                                           : (int)most;
    /* A signal ends it as well, and that is all it has to do. */
    (void)epoll_wait(epoll_fd, &event, 1, timeout);
}

void wake_sleep(struct wake *wake, mono_ms most)
{
    sleep_on(wake, wake->epoll_fd, most);
}

void wake_sleep_for_answer(struct wake *wake, mono_ms most)
{
    sleep_on(wake, wake->answer_epoll_fd, most);
}
