/* SQLite on a disk in memory (lib/disk.h), with calls that fail on demand.
 *
 * The VFS is named FAULT_VFS and does what SQLite's own one for Unix does
 * where it matters for a loss of power: the first sync of a journal or a WAL
 * that was opened to be created also syncs the folder, and so does removing a
 * journal when SQLite asks for it; nothing else does. Shared memory lives as
 * long as its connection. One connection at a time: locks are always granted.
 *
 * A plan lets the k-th call of one kind fail, once or until it is lifted. A
 * write that fails may have written a part.
 *
 * FAULT_REAL_VFS has the same plan on the files of a real disk: each call goes
 * to SQLite's own VFS, unless it is to fail.
 *
 * Not here: reads that give fewer bytes than asked for. To SQLite that is the
 * end of the file, and a disk that says so where it is not lies. A system call
 * may give fewer bytes; fault_calls_set replaces those of SQLite's own VFS by
 * such, for files on a real disk. */

#ifndef TEST_LIB_FAULT_VFS_H
#define TEST_LIB_FAULT_VFS_H

#include "lib/disk.h"

#define FAULT_VFS      "heddle-fault"
#define FAULT_REAL_VFS "heddle-fault-real"

enum fault_kind {
    FAULT_NONE,
    FAULT_OPEN,
    FAULT_READ,
    FAULT_WRITE, /* nothing was written */
    FAULT_FULL,  /* half of it was, and the disk is full */
    FAULT_TRUNCATE,
    FAULT_SYNC,
    FAULT_SIZE,
    FAULT_REMOVE,
    FAULT_ACCESS,
    FAULT_LOCK,
    FAULT_SHARED_MAP,
    FAULT_SHARED_LOCK,
    FAULT_KIND_COUNT,
};

struct fault_plan {
    enum fault_kind kind;
    uint64_t first; /* the call that fails, counted from 1 */
    bool lasting;   /* and all after it */
};

const char *fault_kind_name(enum fault_kind kind);

/* Registers the VFS if need be, and puts the disk in. The plan is FAULT_NONE.
 * With NULL nothing is in. */
void fault_vfs_use(struct disk *disk);

/* Registers FAULT_REAL_VFS if need be. */
void fault_vfs_use_real(void);

/* Calls of the kind are counted from here. */
void fault_vfs_plan(struct fault_plan plan);

/* How many calls failed since the plan was made. */
uint64_t fault_vfs_failures(void);

/* -- System calls -------------------------------------------------------- */

enum fault_calls {
    CALLS_PLAIN,
    CALLS_SHORT,       /* each read and write does a part, at least a byte */
    CALLS_INTERRUPTED, /* each is interrupted first (EINTR) */
};

/* Until it is called again with CALLS_PLAIN. */
void fault_calls_set(enum fault_calls kind);

/* How many calls were not plain. */
uint64_t fault_calls_count(void);

#endif
