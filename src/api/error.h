/* What a public function leaves in its `error`: always exactly one of a
 * failure with its sentence, or all zero.
 *
 * A function collects what went wrong in a `struct err_detail` and goes
 * through one of these on every way out. All of them take NULL for "nobody
 * asks". */

#ifndef API_ERROR_H
#define API_ERROR_H

#include "api/status.h"
#include "value/value.h"

struct buf;
struct place;

/* Fills `error` from a detail, or clears it if `err` is ERR_OK. A detail
 * without a sentence gets the one of the table. */
hd_status error_report(hd_error *error,
                       enum err err,
                       const struct err_detail *detail);

/* HD_ARGUMENT: `name` is NULL where it may not be. */
hd_status error_null(hd_error *error, const char *name);

/* As error_report, and says which place it is about; NULL: none. */
hd_status error_report_at(hd_error *error,
                          enum err err,
                          const struct err_detail *detail,
                          const struct place *place);

/* What it is about; a text that is too long is cut between two characters. */
void error_set_address(hd_error *error, struct text text);
void error_set_place(hd_error *error, const struct place *place);

/* Appends "main/cart#/items/0"; other scopes than that of the space stand
 * before the document. */
void place_write(struct buf *to, const struct place *place);

#endif
