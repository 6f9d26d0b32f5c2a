/* A life of a store, planned from a seed: commits that set, patch and delete,
 * groups, a branch, compaction, checkpoints, and opening again in between.
 *
 * The plan says what each document is after each step, in numbers, so what an
 * engine has can be compared with what it should have without asking another
 * engine. Every step may be run again after a fault: commits keep their
 * numbers, so that the same again is a replay.
 *
 * For tests of what goes wrong (lib/fault_vfs.h): the engine's file is on the
 * disk that is in use there. Only its lock is real, in a folder of its own. */

#ifndef TEST_LIB_STORE_WORKLOAD_H
#define TEST_LIB_STORE_WORKLOAD_H

#include "base/random.h"
#include "lib/store_kit.h"

enum {
    WORKLOAD_DOCUMENTS = 4,
    WORKLOAD_BRANCHES = 2, /* the main one, and one that is forked from it */
    WORKLOAD_GROUP_MAX = 4,
};

enum workload_kind {
    WORK_COMMIT, /* one or a group */
    WORK_FORK,
    WORK_COMPACT,
    WORK_CHECKPOINT,
    WORK_REOPEN,
};

struct workload_document {
    bool alive;
    uint64_t number;
    uint64_t pad;  /* bytes */
    uint64_t list; /* elements */
};

struct workload_state {
    bool forked;
    struct workload_document at[WORKLOAD_BRANCHES][WORKLOAD_DOCUMENTS];
};

struct workload_step {
    enum workload_kind kind;
    size_t commit_count;
    struct buf commits[WORKLOAD_GROUP_MAX];
    enum err verdicts[WORKLOAD_GROUP_MAX]; /* expected */
    struct workload_state after;
};

struct workload {
    struct store_kit kit;
    bool is_open;
    uint64_t wal_bytes_max;
    uint64_t local_seq;
    struct workload_state state; /* at the end of the plan */
    VEC(struct workload_step) steps;
};

/* `count` steps, with all kinds among the first 12 of them. */
void workload_init(struct workload *workload,
                   uint64_t seed,
                   size_t count,
                   enum durability durability);
void workload_release(struct workload *workload);

/* Opening an open one does nothing; closing a closed one neither. A fault's
 * sentence is in kit.detail. */
MUST_CHECK enum err workload_open(struct workload *workload);
void workload_close(struct workload *workload);

/* Opens if need be. A verdict that is not as planned fails the test. */
MUST_CHECK enum err workload_run(struct workload *workload, size_t step);

/* Is every document as it should be after `done` steps? If not, *why says
 * where, in words. A document that was read and is another one is worse than
 * one that could not be read. */
enum workload_sight {
    WORKLOAD_EQUAL,
    WORKLOAD_UNREADABLE,
    WORKLOAD_DIFFERENT,
};
enum workload_sight workload_look(struct workload *workload,
                                  size_t done,
                                  struct buf *why);

/* engine_verify; fails the test if it finds anything. */
bool workload_verify(struct workload *workload);

#endif
