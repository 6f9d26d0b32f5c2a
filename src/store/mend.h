/* Texts that are not UTF-8, mended.
 *
 * Admission refuses them (admit.c), and no reader takes them. A file of an
 * earlier version can hold some: in the names of pieces and files, in ids and
 * in keys. The history with them is sound, as its chain shows when its bytes
 * are taken as they are; but nothing can be read from it.
 *
 *   M1  Each byte that is not UTF-8 becomes \xNN (value/utf8.h), in every row
 *       that has it. Equal bytes become equal text everywhere, so a link still
 *       leads to its document.
 *   M2  Only a history whose chain holds is mended. The chain is made anew
 *       from the first record that changed.
 *   M3  All in one write transaction, or nothing: also if two names would
 *       become one. */

#ifndef STORE_MEND_H
#define STORE_MEND_H

#include "store/engine.h"

/* Rows with a text that is not UTF-8. */
MUST_CHECK enum err engine_count_mangled(struct engine *engine,
                                         uint64_t *out,
                                         struct err_detail *detail);

/* Mends them, if the history holds; *out is the number of rows. OK also if it
 * does not hold: then it is 0, and the next check tells. */
MUST_CHECK enum err engine_mend(struct engine *engine,
                                uint64_t *out,
                                struct err_detail *detail);

/* Appends a text of JSON, with \\xNN for each byte that is not UTF-8: the
 * string that is read from it has \xNN. */
void mend_json_text(struct buf *to, struct text text);

#endif
