/* Which part of a database's WAL is durable (database-3 of database.h). All
 * calls are made under the write lock. */

#ifndef STORE_WAL_DURABILITY_H
#define STORE_WAL_DURABILITY_H

#include "store/database.h"

enum {
    WAL_FRAME_BYTES = 4096 + 24,
};

/* In the lock file, or in the database structure if that is not mapped. */
struct wal_state *wal_state_of(struct database *database);

/* Before a checkpoint; at full durability every commit has synced it. */
MUST_CHECK enum err wal_sync(struct database *database,
                             struct err_detail *detail);

/* After a checkpoint that found this many frames: they were synced before. */
void wal_note_synced(struct database *database, int frames);

/* Inside a write transaction: after a failed sync, writes what may not be
 * durable again, and syncs it. */
MUST_CHECK enum err wal_repair(struct database *database,
                               struct err_detail *detail);

#endif
