/* Maps that survive the loss of their file. */

#include "store/shared_map.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/check.h"

enum {
    MAPS_MAX = 256, /* further ones are not protected */
};

struct map_entry {
    _Atomic uintptr_t at; /* 0: free */
    _Atomic size_t bytes;
    _Atomic bool lost;
};

static struct map_entry entries[MAPS_MAX];
static _Atomic unsigned losses;

static struct map_entry *find(uintptr_t address)
{
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        const uintptr_t at = atomic_load(&entries[i].at);
        if (at != 0 && address >= at &&
            address - at < atomic_load(&entries[i].bytes)) {
            return &entries[i];
        }
    }
    return NULL;
}

/* SQLite shares its maps among the connections of a process: each has its own
 * entry. */
static void lose(uintptr_t at)
{
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        if (atomic_load(&entries[i].at) == at) {
            atomic_store(&entries[i].lost, true);
        }
    }
    atomic_fetch_add(&losses, 1);
}

/* The interrupted instruction is executed again. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    const int saved = errno;
    const uintptr_t address = (uintptr_t)info->si_addr;
    struct map_entry *entry = find(address);
    void *at = MAP_FAILED;
    if (entry != NULL) {
        lose(atomic_load(&entry->at));
        at = mmap((char *)info->si_addr - (address - atomic_load(&entry->at)),
                  atomic_load(&entry->bytes),
                  PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                  -1,
                  0);
    }
    if (at == MAP_FAILED) {
        const struct sigaction usual = {.sa_handler = SIG_DFL};
        (void)sigaction(number, &usual, NULL);
    }
    errno = saved;
}

static void protect(void)
{
    struct sigaction before;
    struct sigaction ours = {.sa_sigaction = on_bus_error};
    ours.sa_flags = SA_SIGINFO;
    if (sigaction(SIGBUS, NULL, &before) == 0 &&
        (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL) {
        (void)sigaction(SIGBUS, &ours, NULL);
    }
}

void shared_map_guard(void *at, size_t bytes)
{
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&entries[i].at,
                                           &none,
                                           (uintptr_t)at)) {
            atomic_store(&entries[i].lost, false);
            atomic_store(&entries[i].bytes, bytes);
            break;
        }
    }
    protect();
}

void shared_map_unguard(const void *at)
{
    struct map_entry *entry = find((uintptr_t)at);
    if (entry != NULL) {
        atomic_store(&entry->bytes, 0);
        atomic_store(&entry->at, 0);
    }
}

void *shared_map_open(int fd, size_t bytes, bool writable)
{
    const int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *at = mmap(NULL, bytes, access, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        return NULL;
    }
    shared_map_guard(at, bytes);
    return at;
}

void shared_map_close(void *at, size_t bytes)
{
    shared_map_unguard(at);
    (void)munmap(at, bytes);
}

bool shared_map_is_lost(const void *at)
{
    const struct map_entry *entry = find((uintptr_t)at);
    return entry != NULL && atomic_load(&entry->lost);
}

unsigned shared_map_losses(void)
{
    return atomic_load_explicit(&losses, memory_order_relaxed);
}
