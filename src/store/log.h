/* An optional log in front of an engine.
 *
 * An embedded engine has no log: the SQLite transaction is the sequencer. When
 * several servers share a space, each has its own disposable file, and all
 * share one log; a record counts when it is in the log, and every engine
 * applies the same records in the same order.
 *
 * Appending is a compare-and-set: record n is appended iff n is the next. The
 * loser reads what the winner wrote and decides again. An append may also end
 * without an answer; then the engine reads the log to find out.
 *
 *   log-1  Records are numbered 1, 2, 3, ...; a record never changes.
 *   log-2  A record that was appended is found by log_read from then on.
 *   log-3  After a fence, appends under an older epoch are refused for ever, so
 *          that a server that was declared dead cannot come back and write. */

#ifndef STORE_LOG_H
#define STORE_LOG_H

#include "base/err.h"
#include "value/value.h"

enum log_outcome {
    LOG_APPENDED,
    LOG_CONFLICT, /* another record has this number */
    LOG_UNKNOWN,  /* no answer: it may be there or not */
    LOG_FENCED,   /* log-3 */
    LOG_FAILED,   /* certainly not appended; *detail has the reason */
};

/* One record as stored in the log. */
struct log_record {
    uint64_t number;
    struct value record;     /* commit_record.h */
    unsigned char chain[32]; /* over all records up to this one */
};

/* Called for each record in order; any result but OK stops the reading. */
typedef enum err log_record_fn(void *ctx, const struct log_record *record);

/* Implemented by a log, and embedded in its structure. */
struct commit_log {
    enum log_outcome (*append)(struct commit_log *log,
                               const struct log_record *record,
                               struct err_detail *detail);

    /* Records after number `after`. Returns what `visit` returned, or a
     * fault. */
    enum err (*read)(struct commit_log *log,
                     uint64_t after,
                     log_record_fn *visit,
                     void *ctx,
                     struct err_detail *detail);
};

#endif
