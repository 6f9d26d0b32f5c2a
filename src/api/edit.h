/* Transactions from outside, and what becomes of them at the store.
 *
 * A write of its own is made, in order, by runtime/own_write.h. A deed is an
 * edit: applied here at once, and answered by the store later, for which its
 * caller waits. If the answer is that another session was faster, its function
 * is called again.
 *
 *   D1  A deed is there until its answer has come, whoever has given up
 *       waiting, and whether the runtime is there any more.
 *   D2  A write of its own that is refused for good is reported. */

#ifndef API_EDIT_H
#define API_EDIT_H

#include "api/runtime.h"
#include "replica/transaction.h"
#include "runtime/own_write.h"

enum {
    EDIT_ATTEMPTS = 100,  /* of which others may have been faster */
    EDIT_WAIT_MS = 30000, /* for the answer of a store */
};

/* Writes, on behalf of the innermost frame or as a transaction of its own. The
 * value is adopted, also on an error. */
MUST_CHECK enum err edit_write_adopt(hd_runtime *runtime,
                                     struct place *place,
                                     struct cell_writing writing,
                                     struct err_detail *detail);

/* A write of its own was refused for good (D2): struct own_writes. */
void edits_report(void *runtime,
                  const struct place *place,
                  const struct err_detail *said);

/* What was refused is done again; whether there was something. */
bool edits_try_again(hd_runtime *runtime);

/* Nothing waits for an answer, or for another attempt. */
bool edits_are_over(const hd_runtime *runtime);

/* The runtime ends: nothing of the deeds is in it any more. */
void edits_end(hd_runtime *runtime);

#endif
