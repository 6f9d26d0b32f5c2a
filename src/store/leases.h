/* Leases: which sessions belong to a live process.
 *
 * The rows of a session are needed as long as its process may resend a commit
 * (store/retention.h). So an engine holds a lease per session that it has
 * written commits of: a shared lock on one byte of the lock file, whose offset
 * follows from the session's number. The system releases it when the process
 * ends in any way; a stopped process keeps it.
 *
 *   lease-1  A lease is taken before the transaction that writes the session's
 *            first commit is committed. So a session whose rows are visible and
 *            that has no lease has ended.
 *   lease-2  Where the file system has no such locks, or the lock file was
 *            deleted, leases are missing for a while. Code that uses them must
 *            tolerate that. */

#ifndef STORE_LEASES_H
#define STORE_LEASES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

typedef VEC(uint64_t) lease_list;

struct leases {
    lease_list own; /* of this connection */
};

/* `fd` is the lock file's; -1: there is none, and only this connection knows of
 * the lease. Leases already held are not taken again. */
void leases_take(struct leases *leases, int fd, uint64_t number);

/* The lock file was replaced. */
void leases_renew(const struct leases *leases, int fd);

/* Adds the numbers up to `last` that have a lease of this or any other
 * connection. */
void leases_list(const struct leases *leases,
                 int fd,
                 uint64_t last,
                 lease_list *out);

/* The locks end with the lock file's descriptor. */
void leases_release(struct leases *leases);

#endif
