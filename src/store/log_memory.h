/* A log in memory that several engines of one process share: the first
 * implementation of store/log.h, and the one that tests can break on purpose.
 *
 * Each engine has a handle of its own, with its epoch. */

#ifndef STORE_LOG_MEMORY_H
#define STORE_LOG_MEMORY_H

#include "base/vec.h"
#include "store/log.h"

struct log_memory {
    VEC(struct log_record) records;
    uint64_t epoch; /* L3: handles of older epochs are fenced */
};

/* What the next appends of a handle meet, for tests. */
enum log_trouble {
    LOG_TROUBLE_NONE,
    LOG_TROUBLE_LOST_ANSWER,  /* appended, but nobody says so */
    LOG_TROUBLE_LOST_REQUEST, /* not appended, and nobody says so */
    LOG_TROUBLE_DOWN,         /* appends and reads fail */
};

struct log_memory_handle {
    struct commit_log log;
    struct log_memory *memory;
    uint64_t epoch;
    enum log_trouble trouble;
    uint32_t trouble_count; /* for how many calls */
};

void log_memory_init(struct log_memory *memory);
void log_memory_release(struct log_memory *memory);

/* A handle of the current epoch. Borrows the log, which outlives it. */
void log_memory_open(struct log_memory_handle *handle,
                     struct log_memory *memory);

/* From now on only handles opened later may append. */
void log_memory_fence(struct log_memory *memory);

#endif
