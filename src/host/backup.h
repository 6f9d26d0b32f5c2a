/* An online backup of a whole data directory.
 *
 *   backup-1  Each space is copied as of one moment (a read transaction that is
 *             held while its pages are copied). So are several spaces together,
 *             unless commits land in them without a pause.
 *   backup-2  The copy appears whole and durable, or not at all. It is written
 *             beside its destination, as DIR.part-NUMBER; a process that is
 *             killed leaves that behind. */

#ifndef HOST_BACKUP_H
#define HOST_BACKUP_H

#include "base/err.h"
#include "store/maintain.h"
#include "value/value.h"

struct backup_options {
    const char *from; /* data directories */
    const char *to;   /* does not exist, or is empty */
    maintain_progress_fn *progress;
    void *ctx;
};

/* {"spaces":[{"file":"main.db","seq":12}],"together":true}, new; "together":
 * all spaces are as of one moment. ARGUMENT: `to` exists and is not empty. */
MUST_CHECK enum err backup_make(const struct backup_options *options,
                                struct value *out,
                                struct err_detail *detail);

#endif
