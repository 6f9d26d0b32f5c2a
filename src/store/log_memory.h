/* A log in memory that several engines of one process share: an implementation
 * of store/log.h in which tests can inject faults.
 *
 * Each engine has its own handle, with its epoch. */

#ifndef STORE_LOG_MEMORY_H
#define STORE_LOG_MEMORY_H

#include "base/vec.h"
#include "store/log.h"

struct log_memory {
    VEC(struct log_record) records;
    uint64_t epoch; /* log-3: handles of older epochs are fenced */
};

/* Faults of the next appends of a handle, for tests. */
enum log_trouble {
    LOG_TROUBLE_NONE,
    LOG_TROUBLE_LOST_ANSWER,  /* appended, without an answer */
    LOG_TROUBLE_LOST_REQUEST, /* not appended, without an answer */
    LOG_TROUBLE_DOWN,         /* appends and reads fail */
};

struct log_memory_handle {
    struct commit_log log;
    struct log_memory *memory;
    uint64_t epoch;
    enum log_trouble trouble;
    uint32_t trouble_count; /* number of calls */
};

void log_memory_init(struct log_memory *memory);
void log_memory_release(struct log_memory *memory);

/* A handle of the current epoch. Borrows the log, which outlives it. */
void log_memory_open(struct log_memory_handle *handle,
                     struct log_memory *memory);

/* From now on only handles opened later may append. */
void log_memory_fence(struct log_memory *memory);

#endif
