/* The history of a space as records, rebuilt from its rows.
 *
 * Every record that was ever applied can be made again from the tables, byte
 * for byte, back to the horizon of compaction: for `heddle store log`, for a
 * replica that begins empty, and to check the chain. */

#ifndef STORE_HISTORY_H
#define STORE_HISTORY_H

#include "store/commit_record.h"

/* A record, and the chain value in its row. Borrowed for the call. */
struct history_record {
    const struct commit_record *commit_record;
    struct value record; /* record_write */
    struct digest chain;
};

/* Any result but OK stops the walk and is returned. */
typedef enum err history_fn(void *ctx, const struct history_record *record);

/* All records with a number above `after`, in order, but none from before the
 * horizon. Inside a transaction. CORRUPT if a row that a record needs is
 * missing or damaged. */
MUST_CHECK enum err history_walk(struct engine *engine,
                                 uint64_t after,
                                 history_fn *visit,
                                 void *ctx,
                                 struct err_detail *detail);

#endif
