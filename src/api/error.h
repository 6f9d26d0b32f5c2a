/* What a public function leaves in its `error`: always exactly one of a
 * failure with its sentence, or all zero.
 *
 * A function collects what went wrong in a `struct err_detail` and goes
 * through one of these on every way out. All of them take NULL for "nobody
 * asks". */

#ifndef API_ERROR_H
#define API_ERROR_H

#include "api/status.h"

/* Fills `error` from a detail, or clears it if `err` is ERR_OK. A detail
 * without a sentence gets the one of the table. */
hd_status error_report(hd_error *error,
                       enum err err,
                       const struct err_detail *detail);

/* HD_ARGUMENT: `name` is NULL where it may not be. */
hd_status error_null(hd_error *error, const char *name);

#endif
