/* Ordering a record: in the log, if there is one, then in the rows.
 *
 *   catch up apply what other servers have appended to the log
 *   land       append, and apply; or find out that another server was first
 *
 * Without a log the write transaction itself is the sequencer, and landing is
 * applying. */

#ifndef STORE_SEQUENCE_H
#define STORE_SEQUENCE_H

#include "store/commit_record.h"

/* Applies the records of the log that the rows lack. Inside a write
 * transaction. CORRUPT if the log and the rows have different histories. */
MUST_CHECK enum err sequence_catch_up(struct engine *engine,
                                      struct err_detail *detail);

/* *landed is false if another record took the place: the rows have caught up
 * with it, and the caller decides again. Errors: FENCED, faults. */
MUST_CHECK enum err sequence_land(struct engine *engine,
                                  const struct commit_record *commit_record,
                                  bool *landed,
                                  struct err_detail *detail);

/* Resolves a foreign record to our rows, and refuses one that no engine would
 * have made of them: SEQUENCE if it is not the next one, PROTOCOL and CORRUPT
 * as engine_apply. */
MUST_CHECK enum err sequence_bind(struct engine *engine,
                                  struct commit_record *commit_record,
                                  struct err_detail *detail);

#endif
