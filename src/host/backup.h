/* A copy of a whole data directory while others use it.
 *
 *   U1  Each space is copied as it was at one moment (a read transaction that
 *       is held while its pages are copied), and so are several spaces
 *       together, unless commits land in them without a pause.
 *   U2  The copy appears whole and durable, or not at all: it grows beside its
 *       place, as DIR.part-NUMBER, which a process that is killed leaves
 *       behind. */

#ifndef HOST_BACKUP_H
#define HOST_BACKUP_H

#include "base/err.h"
#include "store/maintain.h"
#include "value/value.h"

struct backup_options {
    const char *from; /* data directories */
    const char *to;   /* is not there, or is empty */
    maintain_progress_fn *progress;
    void *ctx;
};

/* {"spaces":[{"file":"main.db","seq":12}],"together":true}, new; "together":
 * the spaces are as they were at one moment. ARGUMENT: something is at `to`. */
MUST_CHECK enum err backup_make(const struct backup_options *options,
                                struct value *out,
                                struct err_detail *detail);

#endif
