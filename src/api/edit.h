/* Transactions from outside: writes of their own (runtime/own_write.h), and
 * edits (front/commit_ticket.h).
 *
 * An edit is applied here at once. Its caller waits for the answer of the store
 * and may stop waiting; then the edit may have happened. */

#ifndef API_EDIT_H
#define API_EDIT_H

#include "api/runtime.h"
#include "runtime/own_write.h"

enum {
    EDIT_WAIT_MS = 30000, /* for the answer of a store */
};

/* Writes, on behalf of the innermost frame or as a transaction of its own. The
 * value is adopted, also on an error. */
MUST_CHECK enum err edit_write_adopt(hd_runtime *runtime,
                                     struct place *place,
                                     struct cell_writing writing,
                                     struct err_detail *detail);

/* A write of its own was refused for good: struct own_writes. */
void edits_report(void *runtime,
                  const struct place *place,
                  const struct err_detail *said);

#endif
