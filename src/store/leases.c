/* Leases, as locks on bytes far behind the end of the lock file. */

#include "store/leases.h"

#include <fcntl.h>
#include <unistd.h>

/* Where the bytes begin: beyond any content of the lock file. */
#define LEASES_AT (INT64_C(1) << 40)

static struct flock lock_of(short type, uint64_t first, uint64_t count)
{
    return (struct flock){
        .l_type = type,
        .l_whence = SEEK_SET,
        .l_start = (off_t)(LEASES_AT + (int64_t)first),
        .l_len = (off_t)count,
    };
}

/* Without the lock, only this connection knows of the lease (lease-2). */
static void take_lock(int fd, uint64_t number)
{
    struct flock lock = lock_of(F_RDLCK, number, 1);
    if (fd >= 0) {
        (void)fcntl(fd, F_OFD_SETLK, &lock);
    }
}

/* Mostly the last one is asked for. */
static bool has_own(const struct leases *leases, uint64_t number)
{
    for (size_t i = leases->own.count; i-- > 0;) {
        if (leases->own.at[i] == number) {
            return true;
        }
    }
    return false;
}

void leases_take(struct leases *leases, int fd, uint64_t number)
{
    if (!has_own(leases, number)) {
        take_lock(fd, number);
        vec_push(&leases->own, number);
    }
}

void leases_renew(const struct leases *leases, int fd)
{
    VEC_FOREACH (&leases->own, number) {
        take_lock(fd, *number);
    }
}

/* The system names one lock in a range: then the rest of the range is
 * queried. */
static void find_foreign(int fd, uint64_t last, lease_list *out)
{
    struct range {
        uint64_t first;
        uint64_t last;
    };
    VEC(struct range) open = {0};
    const struct range all = {1, last};
    vec_push(&open, all);
    while (open.count > 0) {
        const struct range range = vec_pop(&open);
        const uint64_t count = range.last - range.first + 1;
        struct flock lock = lock_of(F_WRLCK, range.first, count);
        if (range.first > range.last || fcntl(fd, F_OFD_GETLK, &lock) != 0 ||
            lock.l_type == F_UNLCK) {
            continue;
        }
        const int64_t at = (int64_t)lock.l_start - LEASES_AT;
        const uint64_t begin =
            at > (int64_t)range.first ? (uint64_t)at : range.first;
        uint64_t end =
            lock.l_len > 0 ? (uint64_t)(at + lock.l_len - 1) : range.last;
        end = end < range.last ? end : range.last;
        for (uint64_t number = begin; number <= end; number++) {
            vec_push(out, number);
        }
        const struct range before = {range.first, begin - 1};
        const struct range behind = {end + 1, range.last};
        vec_push(&open, before);
        vec_push(&open, behind);
    }
    vec_release(&open);
}

void leases_list(const struct leases *leases,
                 int fd,
                 uint64_t last,
                 lease_list *out)
{
    VEC_FOREACH (&leases->own, number) {
        if (*number <= last) {
            vec_push(out, *number);
        }
    }
    if (fd >= 0 && last > 0) {
        find_foreign(fd, last, out);
    }
}

void leases_release(struct leases *leases)
{
    vec_release(&leases->own);
}
