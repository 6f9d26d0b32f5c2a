/* Repair of texts that are not UTF-8.
 *
 * Admission refuses them (admit.c), and no reader accepts them. A file of an
 * earlier version can hold some: in names of pieces and files, in ids and in
 * keys. The chain of such a history is valid when its bytes are taken as they
 * are; but nothing can be read from it.
 *
 *   repair-text-1  Each byte that is not UTF-8 becomes \xNN (value/utf8.h), in
 *                  every row that has it. Equal bytes become equal text
 *                  everywhere, so links still lead to their documents.
 *   repair-text-2  Only a history with a valid chain is repaired. The chain is
 *                  recomputed from the first record that changed.
 *   repair-text-3  All in one write transaction, or nothing: also if two names
 *                  would become equal. */

#ifndef STORE_REPAIR_TEXT_H
#define STORE_REPAIR_TEXT_H

#include "store/engine.h"

/* Counts rows with a text that is not UTF-8. */
MUST_CHECK enum err engine_count_invalid_text(struct engine *engine,
                                              uint64_t *out,
                                              struct err_detail *detail);

/* Repairs them, if the history is valid; *out is the number of rows. OK also if
 * it is not: then *out is 0, and the next check reports it. */
MUST_CHECK enum err engine_repair_text(struct engine *engine,
                                       uint64_t *out,
                                       struct err_detail *detail);

/* Appends a JSON text, with \\xNN for each byte that is not UTF-8: the string
 * parsed from it has \xNN. */
void repair_json_text(struct buf *to, struct text text);

#endif
