/* SQLite's shared memory, the -shm file, guarded against being cut short.
 *
 * SQLite touches that memory wherever it reads or writes, and would be killed
 * if the file became shorter meanwhile. Each part that it maps is protected by
 * shared_map.h: what is missing reads as zeros. What was read from then on may
 * be wrong, so it is refused, and the next transaction begins with a new
 * connection, which makes the file anew from the WAL. A commit is in the WAL by
 * then, with everything that another process needs to find it there. */

#ifndef STORE_SHM_GUARD_H
#define STORE_SHM_GUARD_H

#include <sqlite3.h>
#include <stdbool.h>

enum {
    SHM_PARTS_MAX = 64, /* of 32 KiB, for 4,096 pages of the WAL each; those
                           beyond are not protected */
};

struct shm_guard {
    sqlite3_io_methods methods;      /* of the file */
    const sqlite3_io_methods *usual; /* what they stand before; or NULL */
    void *parts[SHM_PARTS_MAX];
    unsigned part_count;
    unsigned losses; /* that have nothing to do with it */
};

/* The connection is new, and has not touched its shared memory. The guard stays
 * where it is until the connection has ended. */
void shm_guard_begin(struct shm_guard *guard, sqlite3 *db);

/* Whether something is missing. */
bool shm_guard_is_lost(struct shm_guard *guard);

#endif
