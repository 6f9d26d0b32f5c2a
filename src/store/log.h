/* The log that may stand in front of an engine.
 *
 * Embedded, there is no log: the SQLite transaction is the sequencer. When
 * several servers share a space, each has a disposable file of its own and one
 * log between them; a record counts when it is in the log, and every engine
 * applies the same records in the same order.
 *
 * Appending is a compare-and-set: record n goes in iff n is the next. Whoever
 * loses reads what the winner wrote and decides anew. An append may also end
 * without an answer; then the log is asked what is there.
 *
 *   L1  Records are numbered 1, 2, 3, ...; a record, once there, never
 *       changes.
 *   L2  A record that was appended is found by log_read from then on.
 *   L3  After a fence, appends under an older epoch are refused for ever, so
 *       that a server that was declared dead cannot come back and write. */

#ifndef STORE_LOG_H
#define STORE_LOG_H

#include "base/err.h"
#include "value/value.h"

enum log_outcome {
    LOG_APPENDED,
    LOG_CONFLICT, /* another record has this number */
    LOG_UNKNOWN,  /* no answer: it may be there or not */
    LOG_FENCED,   /* L3 */
    LOG_FAILED,   /* surely not there; *detail says why */
};

/* One record as the log keeps it. */
struct log_record {
    uint64_t number;
    struct value record;     /* effects.h */
    unsigned char chain[32]; /* over all records up to this one */
};

/* Called for each record in order; other than OK stops the reading. */
typedef enum err log_record_fn(void *ctx, const struct log_record *record);

/* Implemented by whoever keeps records; embedded in their structure. */
struct commit_log {
    enum log_outcome (*append)(struct commit_log *log,
                               const struct log_record *record,
                               struct err_detail *detail);

    /* Records after number `after`. What `visit` returned, or a fault. */
    enum err (*read)(struct commit_log *log,
                     uint64_t after,
                     log_record_fn *visit,
                     void *ctx,
                     struct err_detail *detail);
};

#endif
