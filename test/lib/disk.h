/* A disk in memory that can lose its power.
 *
 * A disk is files and one folder of their names. It writes down every change;
 * a *replay* follows those notes up to any moment and says what the disk could
 * hold if the power went away right then. What is assumed, and nothing else:
 *
 *   disk-1  Syncing a file makes every earlier write and truncation of that
 *           file durable, and nothing of any other file.
 *   disk-2  What was written since then may be there or not, in any combination
 *           and order, in pieces of one sector (512 bytes at a multiple of
 *           512). Bytes beside those that were written keep their old content,
 *           which is what SQLite calls a power-safe overwrite and assumes of
 *           every disk.
 *   disk-3  A sector that was being written may hold neither the old nor the
 *           new bytes but any. A file that grew may have its new length with
 *           zeros.
 *   disk-4  A truncation is a change like a write: it may be lost while later
 *           writes are not.
 *   disk-5  A name (made or removed) is durable when the folder was synced.
 *           Before that each name is in one of the states that it went through
 *           since, independently of the others: a new file may be gone although
 *           its content was synced, and a removed one may be back.
 *   disk-6  After a sync that failed, what it should have made durable never
 *           will be: the system takes it for written, and no later sync tries
 *           again. Until the power goes, it reads back all the same.
 *   disk-7  What was durable once stays. A disk that lies about a sync is not
 *           modelled.
 *
 * Shared memory (the -shm file) is not on this disk at all: whoever connects
 * first builds it anew. Nor are locks, which end with their process. */

#ifndef TEST_LIB_DISK_H
#define TEST_LIB_DISK_H

#include "base/buf.h"
#include "base/random.h"
#include "base/vec.h"

enum {
    DISK_SECTOR = 512
};

struct disk_file {
    char name[320];
    struct buf content;
    bool linked;  /* has a name in the folder */
    bool stopped; /* for disk_survivor */
};

enum disk_change_kind {
    DISK_WRITE,
    DISK_TRUNCATE,
    DISK_SYNC,
    DISK_SYNC_FAILED,
    DISK_LINK,
    DISK_UNLINK,
    DISK_SYNC_FOLDER,
};

struct disk_change {
    enum disk_change_kind kind;
    uint32_t file; /* its index */
    uint64_t at;   /* write: the offset; truncate: the new length */
    struct buf bytes;
};

/* All zero is an empty disk. */
struct disk {
    VEC(struct disk_file *) files; /* also those without a name */
    VEC(struct disk_change) changes;
    bool forgetful; /* writes nothing down */
};

void disk_release(struct disk *disk);

/* A disk with the same files, all durable, and no changes. */
void disk_copy(struct disk *to, const struct disk *from);

/* -- Files --------------------------------------------------------------- */

/* NULL if nothing has that name. */
struct disk_file *disk_find(const struct disk *disk, const char *name);
struct disk_file *disk_create(struct disk *disk, const char *name);
void disk_remove(struct disk *disk, struct disk_file *file);
void disk_write(struct disk *disk,
                struct disk_file *file,
                uint64_t at,
                const void *bytes,
                size_t size);
void disk_truncate(struct disk *disk, struct disk_file *file, uint64_t length);
void disk_sync(struct disk *disk, struct disk_file *file);
void disk_sync_failed(struct disk *disk, struct disk_file *file);
void disk_sync_folder(struct disk *disk);

/* -- Losing power -------------------------------------------------------- */

/* What becomes of the changes that no sync covers. */
enum disk_outcome {
    DISK_LOSE_ALL,
    DISK_KEEP_ALL,
    DISK_KEEP_FIRST,   /* those before a random one, which is torn */
    DISK_KEEP_SOME,    /* any of them, whole */
    DISK_KEEP_SECTORS, /* any sectors of them */
    DISK_KEEP_GARBAGE, /* likewise, and some hold anything (disk-3) */
    DISK_OUTCOME_COUNT,
};

/* A disk at one moment: what is durable, and the changes that are not. */
struct disk_replay {
    const struct disk *disk;
    size_t position;             /* changes that have happened */
    VEC(struct disk_file) files; /* durable content and name */
    VEC(size_t) open;            /* changes that are not durable, in order */
};

/* One of the three kinds of sync. */
bool disk_is_sync(const struct disk_change *change);

/* Before the first change. `start` is the disk as it was then, durable. */
void disk_replay_init(struct disk_replay *replay,
                      const struct disk *disk,
                      const struct disk *start);
void disk_replay_release(struct disk_replay *replay);

/* After `position` changes, which are not fewer than before. */
void disk_replay_to(struct disk_replay *replay, size_t position);

/* One disk that could be found after a loss of power now. */
void disk_survivor(const struct disk_replay *replay,
                   enum disk_outcome outcome,
                   struct random *random,
                   struct disk *out);

#endif
