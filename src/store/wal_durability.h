/* What is durable of the WAL of a database (B3 of database.h). Each call is
 * made under the write lock. */

#ifndef STORE_WAL_DURABILITY_H
#define STORE_WAL_DURABILITY_H

#include "store/database.h"

enum {
    WAL_FRAME_BYTES = 4096 + 24,
};

/* In the lock file, or beside it if that is not mapped. */
struct wal_state *wal_state_of(struct database *database);

/* Before a checkpoint; at full every commit has synced it. */
MUST_CHECK enum err wal_sync(struct database *database,
                             struct err_detail *detail);

/* After a checkpoint that found so many frames: they were synced before. */
void wal_note_synced(struct database *database, int frames);

/* Inside a write transaction: after a sync that failed, what may not be durable
 * is written again and synced. */
MUST_CHECK enum err wal_mend(struct database *database,
                             struct err_detail *detail);

#endif
