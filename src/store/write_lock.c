/* The lock of one database, its queue, and its holder. */

#include "store/write_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/check.h"

enum {
    RETRY_MS = 1,           /* between two attempts */
    SHM_WRITE_BYTE = 120,   /* SQLite's write lock, in the -shm file */
    LOOKS = 5,              /* readings of /proc/locks */
    LOCKS_LINE_BYTES = 256, /* of /proc/locks */
};

/* -- Time ---------------------------------------------------------------- */

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    CHECK(clock_gettime(clock, &now) == 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t write_lock_clock(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t write_lock_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

/* A handled signal ends it: `interrupted` is asked next. */
static void pause_ms(unsigned ms)
{
    const struct timespec time = {.tv_nsec = (long)ms * 1000000};
    (void)nanosleep(&time, NULL);
}

/* -- The queue ----------------------------------------------------------- */

static bool has_ended(uint64_t pid)
{
    return pid > INT32_MAX ||
           (pid != 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH);
}

/* The ticket, if it is still this connection's: another process removes one
 * that was not used for too long (lock-3). */
static uint64_t own_ticket(const struct write_lock *lock)
{
    return lock->ticket != 0 && lock->queue != NULL &&
                   atomic_load(&lock->queue->at[lock->slot].number) ==
                       lock->ticket
               ? lock->ticket
               : 0;
}

static void take_ticket(struct write_lock *lock)
{
    struct lock_queue *queue = lock->queue;
    lock->ticket = own_ticket(lock);
    if (queue == NULL || lock->ticket != 0) {
        return;
    }
    const uint64_t number = atomic_fetch_add(&queue->tickets, 1) + 1;
    for (size_t i = 0; i < LOCK_TICKETS; i++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&queue->at[i].number,
                                           &none,
                                           number)) {
            atomic_store(&queue->at[i].pid, (uint64_t)getpid());
            lock->slot = i;
            lock->ticket = number;
            return;
        }
    }
}

static bool drop_ticket(struct write_lock *lock)
{
    uint64_t number = own_ticket(lock);
    lock->ticket = 0;
    if (number == 0) {
        return false;
    }
    struct lock_ticket *at = &lock->queue->at[lock->slot];
    atomic_store(&at->pid, 0);
    (void)atomic_compare_exchange_strong(&at->number, &number, 0);
    return true;
}

/* The lowest of the other tickets that is before this one, or NULL. */
static struct lock_ticket *find_earlier(const struct write_lock *lock)
{
    struct lock_ticket *first = NULL;
    const uint64_t own = own_ticket(lock);
    uint64_t lowest = own != 0 ? own : UINT64_MAX;
    for (size_t i = 0; lock->queue != NULL && i < LOCK_TICKETS; i++) {
        const uint64_t number = atomic_load(&lock->queue->at[i].number);
        if (number != 0 && number < lowest) {
            lowest = number;
            first = &lock->queue->at[i];
        }
    }
    return first;
}

/* lock-7. If the page has named the same holder for a while, the lock itself
 * decides. */
static bool is_held_by_any(struct write_lock *lock)
{
    uint64_t pid = atomic_load(&lock->queue->pid);
    const uint64_t since_ms = atomic_load(&lock->queue->since_ms);
    const uint64_t now = write_lock_clock();
    if (pid == 0 || has_ended(pid)) {
        return false;
    }
    if (lock->holder_since_ms != since_ms) {
        lock->holder_since_ms = since_ms;
        lock->holder_seen = now;
    }
    if (lock->held || now - lock->holder_seen < LOCK_PATIENCE_MS) {
        return true;
    }
    lock->holder_seen = now;
    if (flock(lock->fd, LOCK_EX | LOCK_NB) != 0) {
        return true;
    }
    (void)atomic_compare_exchange_strong(&lock->queue->pid, &pid, 0);
    (void)flock(lock->fd, LOCK_UN);
    return false;
}

/* lock-3. Time counts only while the lock is free. */
static bool is_overdue(struct write_lock *lock,
                       const struct lock_ticket *ticket,
                       uint64_t number)
{
    const uint64_t now = write_lock_clock();
    if (has_ended(atomic_load(&ticket->pid))) {
        return true;
    }
    if (is_held_by_any(lock)) {
        lock->first = 0;
        return false;
    }
    if (lock->first != number) {
        lock->first = number;
        lock->first_since = now;
    }
    return now - lock->first_since >= LOCK_PATIENCE_MS;
}

/* Whether another connection comes first. */
static bool must_wait(struct write_lock *lock)
{
    struct lock_ticket *ticket = find_earlier(lock);
    while (ticket != NULL) {
        uint64_t number = atomic_load(&ticket->number);
        if (number != 0 && !is_overdue(lock, ticket, number)) {
            return true;
        }
        if (number != 0) {
            (void)atomic_compare_exchange_strong(&ticket->number, &number, 0);
        }
        ticket = find_earlier(lock);
    }
    return false;
}

bool write_lock_is_next(const struct write_lock *lock)
{
    return lock->queue == NULL ||
           (atomic_load(&lock->queue->pid) == 0 && find_earlier(lock) == NULL);
}

bool write_lock_queue(struct write_lock *lock)
{
    if (lock->queue == NULL || (!must_wait(lock) && !is_held_by_any(lock))) {
        return false;
    }
    take_ticket(lock);
    return true;
}

/* lock-5. A store to shared memory wakes no process, but a write to the file
 * does. */
static void notify(const struct write_lock *lock)
{
    const uint64_t any = 1;
    const size_t at = LOCK_QUEUE_AT + offsetof(struct lock_queue, notice);
    if (lock->queue != NULL) {
        const ssize_t written = pwrite(lock->fd, &any, sizeof any, (off_t)at);
        (void)written; /* a process that is not woken polls */
    }
}

/* -- The lock ------------------------------------------------------------ */

static enum err busy(struct err_detail *detail)
{
    return err_set(detail, ERR_BUSY, "another process holds the write lock");
}

enum err write_lock_try(struct write_lock *lock, struct err_detail *detail)
{
    CHECK(!lock->held);
    if (lock->fd < 0) {
        lock->held = true;
        return ERR_OK;
    }
    if (must_wait(lock)) {
        take_ticket(lock);
        return busy(detail);
    }
    if (flock(lock->fd, LOCK_EX | LOCK_NB) == 0) {
        lock->held = true;
        if (lock->queue != NULL) {
            atomic_store(&lock->queue->since_ms, read_clock(CLOCK_REALTIME));
            atomic_store(&lock->queue->pid, (uint64_t)getpid());
        }
        return ERR_OK;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) {
        return err_set(detail, ERR_IO, "cannot lock: %s", strerror(errno));
    }
    take_ticket(lock);
    return busy(detail);
}

enum err write_lock_wait(struct write_lock *lock, struct err_detail *detail)
{
    const uint64_t began = write_lock_clock();
    enum err err = write_lock_try(lock, detail);
    while (err == ERR_BUSY && write_lock_clock() - began < lock->wait_ms &&
           (lock->interrupted == NULL || !lock->interrupted(lock->ctx))) {
        pause_ms(RETRY_MS);
        err = write_lock_try(lock, detail);
    }
    if (err != ERR_OK) {
        write_lock_leave(lock);
    }
    return err;
}

void write_lock_release(struct write_lock *lock, bool wrote, bool stay)
{
    CHECK(lock->held);
    lock->held = false;
    if (lock->fd < 0) {
        return;
    }
    if (stay) {
        take_ticket(lock);
    } else {
        (void)drop_ticket(lock);
    }
    if (lock->queue != NULL) {
        atomic_store(&lock->queue->pid, 0);
    }
    (void)flock(lock->fd, LOCK_UN);
    if (wrote || (!stay && find_earlier(lock) != NULL)) {
        notify(lock);
    }
}

void write_lock_leave(struct write_lock *lock)
{
    if (lock->ticket != 0 && drop_ticket(lock) && find_earlier(lock) != NULL) {
        notify(lock);
    }
}

/* -- The holder ---------------------------------------------------------- */

/* Whether a line of /proc/locks describes a write lock on the file, and which
 * process has it:
 *
 *   1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF */
static bool read_line(const char *line,
                      const char *type,
                      uint64_t inode,
                      uint64_t byte,
                      uint64_t *pid)
{
    char kind[16];
    char access[16];
    int64_t owner = 0;
    uint64_t file = 0;
    uint64_t from = 0;
    const int fields = sscanf(line,
                              "%*[^:]: %15s %*s %15s %" SCNd64
                              " %*[^:]:%*[^:]:%" SCNu64 " %" SCNu64,
                              kind,
                              access,
                              &owner,
                              &file,
                              &from);
    *pid = owner > 0 ? (uint64_t)owner : 0;
    return fields == 5 && strcmp(kind, type) == 0 &&
           strcmp(access, "WRITE") == 0 && file == inode && from == byte;
}

/* Reads the system's list once. */
static bool look_for_lock(const char *type,
                          uint64_t inode,
                          uint64_t byte,
                          uint64_t *pid)
{
    char line[LOCKS_LINE_BYTES];
    bool found = false;
    FILE *locks = fopen("/proc/locks", "re");
    while (locks != NULL && !found && fgets(line, sizeof line, locks) != NULL) {
        found = read_line(line, type, inode, byte, pid);
    }
    if (locks != NULL) {
        (void)fclose(locks);
    }
    return found;
}

/* From the system's list: querying the lock with fcntl would need a descriptor,
 * and closing that would release SQLite's own locks on the file. The list is
 * read in parts, and a lock is missing if others are released between two of
 * them; so one reading that finds nothing is not enough. */
static bool find_lock(const char *path,
                      const char *ending,
                      const char *type,
                      uint64_t byte,
                      uint64_t *pid)
{
    struct buf name = {0};
    struct stat file;
    bool found = false;
    buf_printf(&name, "%s%s", path, ending);
    const bool is_there = stat(buf_text(&name), &file) == 0;
    buf_release(&name);
    for (unsigned i = 0; is_there && !found && i < LOOKS; i++) {
        found = look_for_lock(type, (uint64_t)file.st_ino, byte, pid);
    }
    return found;
}

/* Its name and its state, from "/proc/PID/stat": 4711 (heddle) T ... */
static void look_at_process(struct lock_holder *holder)
{
    char path[48];
    char text[LOCKS_LINE_BYTES];
    (void)snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", holder->pid);
    FILE *file = fopen(path, "re");
    const char *line = file != NULL ? fgets(text, sizeof text, file) : NULL;
    const char *name = line != NULL ? strchr(text, '(') : NULL;
    const char *end = name != NULL ? strrchr(name, ')') : NULL;
    if (end != NULL && strlen(end) >= 3) {
        (void)snprintf(holder->name,
                       sizeof holder->name,
                       "%.*s",
                       (int)(end - name - 1),
                       name + 1);
        holder->stopped = end[2] == 'T' || end[2] == 't';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

/* What the holder says about itself (lock-6). */
static void read_queue(const char *path, struct lock_holder *holder)
{
    struct buf name = {0};
    uint64_t words[2] = {0};
    buf_printf(&name, "%s-lock", path);
    const int fd = open(buf_text(&name), O_RDONLY | O_CLOEXEC);
    buf_release(&name);
    if (fd >= 0) {
        const ssize_t got = pread(fd, words, sizeof words, LOCK_QUEUE_AT);
        (void)close(fd);
        if (got == (ssize_t)sizeof words &&
            (holder->pid == 0 || holder->pid == words[0])) {
            holder->pid = words[0];
            holder->since_ms = words[1];
        }
    }
}

void lock_holder_find(const char *path, struct lock_holder *holder)
{
    *holder = (struct lock_holder){0};
    if (find_lock(path, "-lock", "FLOCK", 0, &holder->pid)) {
        holder->kind = LOCK_OURS;
        read_queue(path, holder);
    } else if (find_lock(path, "-shm", "POSIX", SHM_WRITE_BYTE, &holder->pid)) {
        holder->kind = LOCK_SQLITE;
    }
    if (holder->pid != 0) {
        look_at_process(holder);
    }
}

static void write_since(struct buf *to, uint64_t since_ms)
{
    const uint64_t now = read_clock(CLOCK_REALTIME);
    const time_t seconds = (time_t)(since_ms / 1000);
    struct tm parts;
    char text[32];
    if (since_ms == 0 || gmtime_r(&seconds, &parts) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts) == 0) {
        return;
    }
    const uint64_t passed = now > since_ms ? now - since_ms : 0;
    buf_printf(to,
               " since %s UTC (%" PRIu64 ".%" PRIu64 " s)",
               text,
               passed / 1000,
               passed % 1000 / 100);
}

enum err lock_holder_explain(const struct lock_holder *holder,
                             struct err_detail *detail)
{
    struct buf text = {0};
    if (holder->pid != 0) {
        buf_printf(&text, "process %" PRIu64, holder->pid);
    } else {
        buf_append_text(&text, "another process");
    }
    if (holder->name[0] != '\0') {
        buf_printf(&text, " (%s)", holder->name);
    }
    buf_append_text(&text, " holds the write lock");
    write_since(&text, holder->since_ms);
    if (holder->stopped) {
        buf_printf(&text,
                   " and is stopped: resume it (kill -CONT %" PRIu64
                   ") or end it",
                   holder->pid);
    } else {
        buf_append_text(&text,
                        holder->kind == LOCK_SQLITE
                            ? ", with a program other than Heddle: end its "
                              "transaction"
                            : ": wait for it, or end it");
    }
    const enum err err = err_set(detail, ERR_BUSY, "%s", buf_text(&text));
    buf_release(&text);
    return err;
}
