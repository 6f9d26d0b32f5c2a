/* Names for a live host (host/live.h): creation and lookup. */

#ifndef HOST_NAMES_H
#define HOST_NAMES_H

#include "host/live.h"

/* A globally unique name, new: "session-3afc...". */
struct value names_new(struct host *host, const char *kind);

/* The branch of the first space, new; absent: the main one. BRANCH_UNKNOWN, and
 * BRANCH_CLOSED if it is to be written. */
MUST_CHECK enum err names_branch(const struct live_options *options,
                                 struct engine *engine,
                                 struct value *out,
                                 struct err_detail *detail);

#endif
