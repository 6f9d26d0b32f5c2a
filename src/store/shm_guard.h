/* Guards SQLite's shared memory, the -shm file, against truncation.
 *
 * SQLite touches that memory whenever it reads or writes, and the process would
 * be killed if the file became shorter meanwhile. shared_map.h protects each
 * part that SQLite maps: what is missing reads as zeros. Anything read from
 * then on may be wrong, so it is refused, and the next transaction begins with
 * a new connection, which rebuilds the file from the WAL. A commit is in the
 * WAL by then, with everything that another process needs to find it. */

#ifndef STORE_SHM_GUARD_H
#define STORE_SHM_GUARD_H

#include <sqlite3.h>
#include <stdbool.h>

enum {
    SHM_PARTS_MAX = 64, /* of 32 KiB, for 4,096 pages of the WAL each; further
                           parts are not protected */
};

struct shm_guard {
    sqlite3_io_methods methods;      /* of the file */
    const sqlite3_io_methods *usual; /* the methods they wrap; or NULL */
    void *parts[SHM_PARTS_MAX];
    unsigned part_count;
    unsigned losses; /* that do not concern it */
};

/* The connection is new, and has not touched its shared memory. The guard must
 * stay in place until the connection has ended. */
void shm_guard_begin(struct shm_guard *guard, sqlite3 *db);

/* Whether a part was lost. */
bool shm_guard_is_lost(struct shm_guard *guard);

#endif
